/* SPDX-License-Identifier: Apache-2.0
 * cfg_memory.c: reads the settings --keep, --offload and --window. */
#include "libtrain/cfg_memory.h"
#include "comm/comm.h"
#include "device/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A whole number of windows. */
static int parse_windows(const char *keep, const char *s, int least, int *n)
{
    char *end;
    long v;
    int rc = 0;

    errno = 0;
    v = strtol(s, &end, 10);
    CTT_CHECK(*s >= '0' && *s <= '9' && !*end && !errno && v >= least &&
              v <= 4096, CTT_EINVAL, "--keep: bad value '%s' (all, auto, "
              "depth, windows 0..4096, offload, or offload=1..4096)", keep);
    *n = (int)v;
out:
    return rc;
}

/* Two windows can be copied while others are computed. */
enum { OFFLOAD_KEEPS = 2 };

static int parse_keep(const char *s, struct ctt_memory *m)
{
    static const char offload[] = "offload";
    size_t n = sizeof(offload) - 1;
    int rc = 0;

    m->keep = CTT_KEEP_ALL;
    if (!*s || strcmp(s, "all") == 0)
        goto out;
    if (strcmp(s, "auto") == 0) {
        m->keep = CTT_KEEP_AUTO;
    } else if (strcmp(s, "depth") == 0) {
        m->keep = CTT_KEEP_DEPTH;
    } else if (strncmp(s, offload, n) == 0 && (!s[n] || s[n] == '=')) {
        m->rest = CTT_OFFLOADED;
        m->keep = OFFLOAD_KEEPS;
        if (s[n])
            CTT_TRY(parse_windows(s, s + n + 1, 1, &m->keep));
    } else {
        CTT_TRY(parse_windows(s, s, 0, &m->keep));
    }
out:
    return rc;
}

/* The folder of a file that another option names. */
static int folder_of(const char *path, struct ctt_memory *m)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    size_t n = slash ? (size_t)(slash - path) : 1;
    int rc = 0;

    if (slash == path)
        path = "/";
    n = n ? n : 1;
    CTT_CHECK(n < sizeof(m->folder), CTT_EINVAL, "--offload must be given: the "
              "folder of --out has too long a name");
    snprintf(m->folder, sizeof(m->folder), "%.*s", (int)n, slash ? path : ".");
out:
    return rc;
}

/* Where windows go that leave.  A disk wears, so --keep=auto uses none that was
 * not named. */
static int parse_offload(const struct ctt_train_cfg *cfg, struct ctt_memory *m)
{
    const char *to = cfg->offload ? cfg->offload : "";
    int host = ctt_dev_has(cfg->device, CTT_DEV_OWN_MEMORY), rc = 0;

    if (m->keep == CTT_KEEP_AUTO && (*to || host))
        m->rest = CTT_CHEAPEST;
    if (m->rest == CTT_RECOMPUTED || (!*to && host))
        goto out;
    if (!*to)
        to = getenv("TMPDIR");
    if (!to || !*to)
        return folder_of(cfg->out, m);
    CTT_CHECK(strlen(to) < sizeof(m->folder), CTT_EINVAL, "--offload: the name "
              "of the folder is too long");
    strcpy(m->folder, to);
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
                            .bytes = cfg->limits.memory,
                            .sharers =
                                ctt_comm_place(cfg->wiring.comm)->nears };
    int rc = 0;

    CTT_TRY(parse_keep(cfg->keep ? cfg->keep : "", &m));
    CTT_TRY(parse_offload(cfg, &m));
    m.whole = !m.window;
    if (!m.window && m.keep != CTT_KEEP_AUTO && cfg->task == CTT_PREDICT)
        m.window = PREDICT_WINDOW;
    CTT_CHECK(m.keep < 0 || m.window, CTT_EINVAL,
              "--keep=%s requires --window", cfg->keep);
    *out = m;
out:
    return rc;
}

int ctt_memory_auto(const struct ctt_train_cfg *cfg)
{
    return cfg->keep && strcmp(cfg->keep, "auto") == 0;
}
