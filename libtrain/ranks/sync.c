/* SPDX-License-Identifier: Apache-2.0
 * sync.c: the words of --sync, and what they need. */
#include "libtrain/ranks/sync.h"
#include "libtrain/before.h"
#include "libtrain/ranks/group.h"
#include "libtrain/ranks/squeeze.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char        *word;    /* with "=": a number follows */
    enum ctt_sync_kind kind;
} words[] = {
    { "all", CTT_SYNC_ALL },
    { "central", CTT_SYNC_CENTRAL },
    { "backup=", CTT_SYNC_CENTRAL },
    { "async", CTT_SYNC_ASYNC },
};

enum { MOST = 1 << 16 };    /* workers that are not waited for */

static int number(const char *text, int *out)
{
    char *end;
    long n = strtol(text, &end, 10);
    int rc = 0;

    CTT_CHECK(end > text && !*end && n > 0 && n <= MOST, CTT_EINVAL,
              "--sync=backup=%s: not a number from 1 to %d", text, MOST);
    *out = (int)n;
out:
    return rc;
}

static int parse(const char *text, struct ctt_sync *out)
{
    size_t i = 0, n;
    int rc = 0;

    text = text && *text ? text : words[0].word;
    n = strcspn(text, "=");
    n += text[n] == '=';
    while (i < CTT_LEN(words) && (strlen(words[i].word) != n ||
                                  strncmp(words[i].word, text, n) != 0))
        i++;
    CTT_CHECK(i < CTT_LEN(words), CTT_EINVAL,
              "--sync=%s: not all, central, backup=B or async", text);
    *out = (struct ctt_sync){ .kind = words[i].kind };
    if (text[n - 1] == '=')
        CTT_TRY(number(text + n, &out->backup));
    else
        CTT_CHECK(!text[n], CTT_EINVAL, "--sync=%s: no number is wanted", text);
out:
    return rc;
}

int ctt_sync_parse(const struct ctt_train_cfg *cfg, struct ctt_sync *out)
{
    int rc = parse(cfg->sync, out);

    if (rc >= 0 && out->kind == CTT_SYNC_ALL && cfg->stages && *cfg->stages)
        out->kind = CTT_SYNC_STAGES;
    else if (rc >= 0 && out->kind == CTT_SYNC_ALL && ctt_group_parts(cfg))
        out->kind = CTT_SYNC_GROUP;
    return rc;
}

int ctt_train_has_server(const struct ctt_train_cfg *cfg)
{
    struct ctt_sync s;

    return ctt_sync_parse(cfg, &s) >= 0 && ctt_sync_serves(&s);
}

int ctt_sync_parts(const struct ctt_sync *s, int ranks)
{
    return s->kind == CTT_SYNC_ALL ? ranks :
           s->kind == CTT_SYNC_CENTRAL ? ranks - 1 : 1;
}

int ctt_sync_check(const struct ctt_sync *s, int ranks)
{
    int parts = ctt_sync_parts(s, ranks), rc = 0;

    CTT_CHECK(!ctt_sync_serves(s) || ranks > 1, CTT_EINVAL,
              "--sync: a server and its workers are at least two processes "
              "(mpirun -np N)");
    CTT_CHECK(s->kind != CTT_SYNC_STAGES || ranks > 1, CTT_EINVAL,
              "--stages are at least two processes (mpirun -np N)");
    CTT_CHECK(!(parts & (parts - 1)), CTT_EINVAL, s->kind == CTT_SYNC_ALL
              ? "%d processes: not a power of two"
              : "--sync: a server and %d workers: not a power of two", parts);
    CTT_CHECK(s->backup < parts, CTT_EINVAL, "--sync=backup=%d: of %d worker%s "
              "at least one must be waited for", s->backup, parts,
              parts > 1 ? "s" : "");
out:
    return rc;
}

int ctt_sync_suits(const struct ctt_train_cfg *cfg)
{
    struct ctt_squeeze squeeze;
    struct ctt_sync s;
    int rc;

    CTT_TRY(ctt_sync_parse(cfg, &s));
    CTT_TRY(ctt_squeeze_parse(cfg->squeeze, &squeeze));
    CTT_CHECK(s.kind == CTT_SYNC_ALL || squeeze.kind == CTT_SQUEEZE_NONE,
              CTT_EINVAL, "--squeeze is for --sync=all: other ways "
              "send whole gradients");
    CTT_CHECK(!ctt_sync_serves(&s) || !cfg->stages || !*cfg->stages, CTT_EINVAL,
              "--stages and --sync=%s exclude each other", cfg->sync);
    CTT_CHECK(!ctt_sync_serves(&s) || !ctt_group_parts(cfg), CTT_EINVAL,
              "--%s and --sync=%s exclude each other", ctt_group_name(cfg),
              cfg->sync);
    if (!ctt_sync_serves(&s))
        goto out;
    CTT_CHECK(!cfg->deterministic || (s.kind == CTT_SYNC_CENTRAL && !s.backup),
              CTT_EINVAL, "--sync=%s: which gradients make a step depends on "
              "time: it needs --deterministic=off", cfg->sync);
out:
    return rc;
}
