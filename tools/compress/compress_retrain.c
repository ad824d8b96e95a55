/* SPDX-License-Identifier: Apache-2.0
 * compress_retrain.c: how long convtt-compress retrains, and at which learning
 * rates. */
#include "tools/compress/compress_tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPOCHS = 12,    /* unless the user says otherwise */
       MOST = 100000 };

int ctt_retrain_epochs(const char *text, int data, struct ctt_recipe *o)
{
    char *end = NULL;
    long n = data ? EPOCHS : 0;
    int rc = 0, given = text && *text;

    o->automatic = given ? strcmp(text, "auto") == 0 : data;
    if (given && !o->automatic) {
        n = strtol(text, &end, 10);
        CTT_CHECK(end != text && !*end && n >= 0 && n <= MOST, CTT_EINVAL,
                  "retrain-epochs: bad value '%s' (0 to %d, or auto)", text,
                  MOST);
    }
    CTT_CHECK(data || (!o->automatic && n == 0), CTT_EINVAL,
              "--retrain-epochs=%s requires --data", text);
    o->epochs = (int)n;
    CTT_CHECK(!o->automatic || o->limit >= EPOCHS, CTT_EINVAL,
              "--retrain-limit=%d: auto begins with %d epochs", o->limit,
              EPOCHS);
out:
    return rc;
}

/* ---- learning rate rewinding ---- */

/* The settings that make the learning rate of a step. */
static const char *const names[] = { "lr", "schedule", "warmup", "lr-end",
                                     "step-epochs", "gamma" };

/* The last line of the history that is a training, or NULL. */
static const char *last_training(const char *history)
{
    const char *last = NULL;

    for (const char *s = history; s && *s; s += *s == '\n') {
        if (strncmp(s, "train ", 6) == 0)
            last = s;
        s += strcspn(s, "\n");
    }
    return last;
}

/* Copies the value of " name=value" in a line to value; 0: it has none. */
static int read_setting(const char *line, const char *name, char *value,
                        size_t size)
{
    size_t all = strcspn(line, "\n"), n = strlen(name);

    for (const char *s = line; s + n + 2 < line + all; s++)
        if (*s == ' ' && strncmp(s + 1, name, n) == 0 && s[n + 1] == '=') {
            snprintf(value, size, "%.*s", (int)strcspn(s + n + 2, " \n"),
                     s + n + 2);
            return 1;
        }
    return 0;
}

/* 0: no such number; histories are not trusted. */
static int number_of_epochs(const char *value)
{
    char *end;
    long n = strtol(value, &end, 10);

    return end != value && !*end && n > 0 && n <= MOST ? (int)n : 0;
}

int ctt_retrain_rewind(const struct ctt_model *m, struct ctt_train_cfg *cfg)
{
    const char *line = last_training(m->history);
    char value[32];
    int rc = 0;

    CTT_CHECK(line && read_setting(line, "epochs", value, sizeof(value)) &&
              (cfg->wiring.last_of = number_of_epochs(value)) > 0, CTT_EINVAL,
              "--retrain-schedule=rewind: the model's history has no training");
    for (size_t i = 0; i < CTT_LEN(names); i++) {
        int k = ctt_opt_find(ctt_train_opts, names[i]);
        CTT_CHECK(ctt_opt_is_default(&ctt_train_opts[k], cfg), CTT_EINVAL,
                  "--%s: --retrain-schedule=rewind takes it from the model's "
                  "history", names[i]);
        if (read_setting(line, names[i], value, sizeof(value)))
            CTT_TRY(ctt_opt_set(ctt_train_opts, cfg, names[i], value));
    }
out:
    return rc;
}
