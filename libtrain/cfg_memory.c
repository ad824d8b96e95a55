/* SPDX-License-Identifier: Apache-2.0
 * cfg_memory.c: reads the settings --keep and --window. */
#include "libtrain/cfg_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int parse_keep(const char *s, int *keep)
{
    char *end;
    long n;
    int rc = 0;

    if (!*s || strcmp(s, "all") == 0) {
        *keep = CTT_KEEP_ALL;
        goto out;
    }
    if (strcmp(s, "auto") == 0) {
        *keep = CTT_KEEP_AUTO;
        goto out;
    }
    errno = 0;
    n = strtol(s, &end, 10);
    CTT_CHECK(*s >= '0' && *s <= '9' && !*end && !errno && n <= 4096,
              CTT_EINVAL, "--keep: bad value '%s' (all, auto, or windows "
              "0..4096)", s);
    *keep = (int)n;
out:
    return rc;
}

/* The default of --window in prediction: short windows need less memory for
 * gradients and cost no time.  predict/task.c uses the whole clip instead if a
 * norm needs its statistics. */
enum { PREDICT_WINDOW = 4 };

int ctt_memory_parse(const struct ctt_train_cfg *cfg, struct ctt_memory *out)
{
    struct ctt_memory m = { .window = cfg->window,
                            .bytes = cfg->limits.memory };
    int rc = 0;

    CTT_TRY(parse_keep(cfg->keep ? cfg->keep : "", &m.keep));
    if (!m.window && m.keep != CTT_KEEP_AUTO && cfg->task == CTT_PREDICT)
        m.window = PREDICT_WINDOW;
    CTT_CHECK(m.keep < 0 || m.window, CTT_EINVAL,
              "--keep=%d requires --window", m.keep);
    *out = m;
out:
    return rc;
}

int ctt_memory_auto(const struct ctt_train_cfg *cfg)
{
    return cfg->keep && strcmp(cfg->keep, "auto") == 0;
}
