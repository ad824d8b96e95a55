/* SPDX-License-Identifier: Apache-2.0
 * memory.c: what --keep, --window and --memory say of the way back. */
#include "libtrain/step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int parse_keep(const char *s, int *keep)
{
    char *end;
    long n;
    int rc = 0;

    if (!*s || strcmp(s, "all") == 0) {
        *keep = -1;
        goto out;
    }
    if (strcmp(s, "auto") == 0) {
        *keep = -2;
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

/* Megabytes need not be whole: 1.5G. */
static int parse_bytes(const char *s, int64_t *bytes)
{
    static const char units[] = "KMGT";
    double n = 0, unit = 1;
    const char *at;
    char *end = NULL;
    int rc = 0;

    if (!*s)
        goto out;
    n = strtod(s, &end);
    if (*end && (at = strchr(units, *end)) != NULL) {
        for (; at >= units; at--)
            unit *= 1024;
        end++;
    }
    CTT_CHECK(*s >= '0' && *s <= '9' && !*end && n * unit >= 1 &&
              n * unit <= 0x1p50, CTT_EINVAL,
              "--memory: bad value '%s' (such as 900M or 2G)", s);
out:
    *bytes = rc < 0 ? 0 : (int64_t)(n * unit);
    return rc;
}

int ctt_memory_parse(const struct ctt_train_cfg *cfg, struct ctt_memory *out)
{
    struct ctt_memory m = { .window = cfg->window };
    const char *size = cfg->memory ? cfg->memory : "";
    int rc = 0;

    CTT_TRY(parse_keep(cfg->keep ? cfg->keep : "", &m.keep));
    CTT_TRY(parse_bytes(size, &m.bytes));
    CTT_CHECK(!*size || m.keep == -2, CTT_EINVAL,
              "--memory: goes with --keep auto");
    *out = m;
out:
    return rc;
}
