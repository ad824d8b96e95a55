/* SPDX-License-Identifier: Apache-2.0
 * settings.c: the settings of a run as text, for checkpoints and for a model's
 * history. */
#include "libtrain/settings.h"
#include "net/file/card.h"
#include "libtrain/data/data.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT = 1 << 14 };    /* bytes for all settings */

/* 1 if the setting of a line "name=value" may change when training resumes. */
static int is_free(const char *line)
{
    int k = ctt_opt_find_n(ctt_train_opts, line, strcspn(line, "="));

    return k >= 0 && (ctt_train_opts[k].tags & CTT_CFG_RESUME);
}

int ctt_settings_print(const struct ctt_train_cfg *cfg, char **out)
{
    char *text = ctt_calloc(TEXT, 1);
    FILE *f = NULL;
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    f = fmemopen(text, TEXT - 1, "w");
    CTT_CHECK(f, CTT_ENOMEM, "out of memory: settings");
    for (const struct ctt_opt *o = ctt_train_opts; o->name; o++) {
        struct ctt_opt one[2] = { *o };
        long at = ftell(f);
        ctt_opt_print(one, cfg, f);
        if (ftell(f) > at)
            fputc('\n', f);
    }
    CTT_CHECK(fflush(f) == 0 && !ferror(f), CTT_EINVAL,
              "the settings are too long");
    *out = text;
    text = NULL;
out:
    if (f)
        fclose(f);
    ctt_free(text);
    return rc;
}

static int has_line(const char *text, const char *line, size_t n)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (strcspn(text, "\n") == n && memcmp(text, line, n) == 0)
            return 1;
    return 0;
}

/* Replaces dflt by the lines of text that are not in it and must not change
 * when training resumes. */
static void leave_changed(const char *text, char *dflt)
{
    char *kept = dflt + strlen(dflt) + 1, *to = kept;

    for (const char *s = text; *s; s += *s == '\n') {
        size_t n = strcspn(s, "\n");
        if (!is_free(s + 1) && !has_line(dflt, s, n)) {
            memcpy(to, s, n);
            to += n;
        }
        s += n;
    }
    *to = '\0';
    memmove(dflt, kept, (size_t)(to - kept) + 1);
}

int ctt_settings_changed(const struct ctt_train_cfg *cfg, char **out)
{
    struct ctt_train_cfg plain = { .data = NULL };
    char *now = NULL, *dflt = NULL;
    int rc = 0;

    CTT_TRY(ctt_opt_defaults(ctt_train_opts, &plain));
    CTT_TRY(ctt_settings_print(cfg, &now));
    CTT_TRY(ctt_settings_print(&plain, &dflt));
    CTT_CHECK(strlen(now) + strlen(dflt) + 2 < TEXT, CTT_EINVAL,
              "the settings are too long");
    leave_changed(now, dflt);
    *out = dflt;
    dflt = NULL;
out:
    ctt_free(now);
    ctt_free(dflt);
    return rc;
}

int ctt_history(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                const struct ctt_data *d, int64_t steps, const char *test,
                char **out)
{
    const char *old = m->history ? m->history : "";
    char *changed = NULL, *s = NULL, card[CTT_CARD], length[32] = "";
    double frames = (double)ctt_data_all_frames(d);
    size_t room;
    int rc = 0;

    CTT_TRY(ctt_card(old, ctt_data_crc(d), card));
    CTT_TRY(ctt_settings_changed(cfg, &changed));
    room = strlen(old) + strlen(changed) + strlen(card) +
           strlen(test) + 160;
    s = ctt_calloc(room, 1);
    CTT_TRY(s ? 0 : CTT_ENOMEM);
    if (d->in.fps > 0 && !d->steps && frames > d->clips)    /* no pictures */
        snprintf(length, sizeof(length), " clip-seconds=%.3g",
                 frames / d->clips / (double)d->in.fps);
    snprintf(s, room, "%strain clips=%d%s steps=%lld epochs=%d%s%s%s\n",
             old, d->clips, length, (long long)steps, cfg->epochs, changed,
             card, test);
    *out = s;
out:
    ctt_free(changed);
    return rc;
}

int ctt_train_note(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                   const struct ctt_data *d)
{
    char *now = NULL;
    int rc;

    CTT_TRY(ctt_history(m, cfg, d, 0, "", &now));
    ctt_free(m->history);
    m->history = now;
out:
    return rc;
}

/* Options of earlier versions, which are in their checkpoints, and the value
 * that this version computes with; NULL: any value had the same result. */
static const struct { const char *name, *value; } removed[] = {
    { "channels", NULL }, { "eps", "1e-8" },
    { "full-weight", "1" }, { "head", NULL }, { "observe-weight", "1" },
};

/* Returns 1 if a line "name=value" names a removed option; *same: the result
 * does not depend on its removal. */
static int is_removed(const char *line, int *same)
{
    size_t n = strcspn(line, "=");

    for (size_t i = 0; i < CTT_LEN(removed); i++)
        if (strlen(removed[i].name) == n &&
            memcmp(line, removed[i].name, n) == 0) {
            *same = !removed[i].value ||
                    strtof(line + n + 1, NULL) == strtof(removed[i].value,
                                                         NULL);
            return 1;
        }
    return 0;
}

/* 1 if the setting of a line has no effect with the others; an earlier version
 * took such options. */
static int has_no_use(const struct ctt_train_cfg *cfg, const char *line)
{
    int k = ctt_opt_find_n(ctt_train_opts, line, strcspn(line, "="));

    return k >= 0 && !ctt_opt_counts(ctt_train_opts, &ctt_train_opts[k], cfg);
}

/* CTT_EINVAL names the first line of `these` that is missing in `those` and
 * must not change. */
static int compare_settings(const struct ctt_train_cfg *cfg, const char *these,
                            const char *those, const char *how)
{
    int rc = 0;

    for (const char *s = these; *s; s += strcspn(s, "\n"), s += *s == '\n') {
        int n = (int)strcspn(s, "\n"), skip = *s == ' ', same = 0;

        if (is_removed(s + skip, &same)) {
            CTT_CHECK(same, CTT_EINVAL, "the checkpoint was made with --%.*s, "
                      "and this version has no such option", n - skip,
                      s + skip);
            continue;
        }
        CTT_CHECK(has_line(those, s, (size_t)n) || is_free(s + skip) ||
                  has_no_use(cfg, s + skip),
                  CTT_EINVAL, "the checkpoint was made %s --%.*s", how,
                  n - skip, s + skip);
    }
out:
    return rc;
}

int ctt_settings_same(const struct ctt_train_cfg *cfg, const char *was)
{
    char *now = NULL;
    int rc = 0;

    CTT_TRY(ctt_settings_print(cfg, &now));
    CTT_TRY(compare_settings(cfg, was, now, "with"));
    CTT_TRY(compare_settings(cfg, now, was, "without"));
out:
    ctt_free(now);
    return rc;
}

const char *ctt_resume_length(const struct ctt_model *m,
                              const struct ctt_train_cfg *cfg, char *buf,
                              size_t size)
{
    static const char *const names[] = { "epochs", "max-steps", "time-limit" };
    const char *was = m->train ? m->train->settings : NULL, *s;
    char value[32];
    size_t at = 0;
    int n;

    buf[0] = '\0';
    for (size_t i = 0; i < CTT_LEN(names); i++) {
        int k = ctt_opt_find(ctt_train_opts, names[i]);

        if (cfg->schedule != CTT_COSINE || !m->train ||
            ctt_state_find(m->train, "recipe") ||    /* convtt-compress */
            !(s = ctt_card_find(was, names[i], &n)))
            continue;
        snprintf(value, sizeof(value), "%.*s", n, s);
        if (at < size && !ctt_opt_is(&ctt_train_opts[k], cfg, value))
            at += (size_t)snprintf(buf + at, size - at, " --%s=%s", names[i],
                                   value);
    }
    return buf;
}
