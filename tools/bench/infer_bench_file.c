/* SPDX-License-Identifier: Apache-2.0
 * infer_bench_file.c: the model file to measure, made if only its text is
 * there. */
#include "tools/bench/bench_tool.h"
#include "net/rewrite/edit.h"
#include "net/rewrite/edit_quant.h"
#include "net/init.h"
#include "base/random.h"
#include "base/newfile.h"
#include "net/op.h"
#include "net/unit.h"
#include "net/file/file.h"
#include "tools/shared/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEED = 1 };

static int is_kernel(const struct ctt_node *n, int k)
{
    return ctt_ops[n->op].weight[k].start == CTT_START_SCALED;
}

/* Prunes weights of a kernel; counts all of them and the pruned ones. */
static void prune_kernel(struct ctt_model *m, const struct ctt_node *n, int k,
                         const struct ctt_bench_set *set, int64_t count[2])
{
    uint64_t key = ctt_key(SEED, (uint64_t)n->at[k]);
    uint8_t *keep = m->constraint.keep + n->at[k];
    int groups = ctt_is_grouped(n) ? n->attr.conv.groups : 1;
    int64_t units = ctt_units(set->zeros_form, &n->w[k], groups);

    memset(keep, 0, (size_t)ctt_volume(&n->w[k]));
    for (int64_t i = 0; i < units; i++) {
        struct ctt_unit u = ctt_unit_at(set->zeros_form, &n->w[k], groups, i);
        int pruned = ctt_random(key, (uint64_t)i) * 0x1p-32 < set->zeros;

        if (!pruned)
            ctt_unit_keep(&u, keep);
        count[pruned] += ctt_unit_size(&u);
    }
}

/* *share: that of the weights that were pruned. */
static int prune(struct ctt_model *m, const struct ctt_bench_set *set,
                 double *share)
{
    int64_t count[2] = { 0, 0 };
    int rc;

    CTT_TRY(ctt_constraint_mask(&m->constraint, m->g->weights));
    for (int i = 0; i < m->g->count; i++)
        for (int k = 0; k < m->g->node[i].nw; k++)
            if (is_kernel(&m->g->node[i], k))
                prune_kernel(m, &m->g->node[i], k, set, count);
    ctt_model_hold(m);
    *share = count[1] ? (double)count[1] / (double)(count[0] + count[1]) : 0;
out:
    return rc;
}

/* Models are large: the one before is not kept. */
static void become(struct ctt_model **m, struct ctt_model **next)
{
    ctt_model_free(m);
    *m = *next;
    *next = NULL;
}

/* Lets convs read bytes, as convtt-compress would. */
static int quantise(struct ctt_model **m)
{
    struct ctt_model *next = NULL;
    const struct ctt_graph *g;
    char *take = NULL;
    int rc, taken = 0;

    CTT_TRY(ctt_without_norms(*m, &next));
    become(m, &next);
    CTT_TRY(ctt_without_adds(*m, &next));
    become(m, &next);
    g = (*m)->g;
    take = ctt_calloc((size_t)g->count, 1);
    CTT_TRY(take ? 0 : CTT_ENOMEM);
    for (int i = 0; i < g->count; i++) {
        take[i] = !ctt_quantise_cannot(g, i) &&
                  ctt_quantise_pays(*m, i);
        taken += take[i];
    }
    CTT_CHECK(taken > 0, CTT_EUNSUP, "--type int8: no conv of this model would "
              "be faster with bytes");
    CTT_TRY(ctt_quantise_some(*m, take, &next));
    become(m, &next);
out:
    ctt_free(take);
    return rc;
}

static int make_model(const char *path, const struct ctt_bench_set *set,
                      struct ctt_model **out, double *share)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;
    int rc;

    CTT_TRY(ctt_tool_net_plain(path, &g));
    CTT_TRY(ctt_tool_new_model(path, g, &m));
    ctt_init_weights(m, SEED);
    if (set->zeros > 0)
        CTT_TRY(prune(m, set, share));
    if (set->type == CTT_TYPE_INT8)
        CTT_TRY(quantise(&m));
    *out = m;
    m = NULL;
out:
    ctt_model_free(&m);
    return rc;
}

/* Writes the model to a file that has lost its name when this returns.  It had
 * one in a folder of its own, which nobody else may enter. */
static int write_nameless(const struct ctt_model *m, int *fd)
{
    const char *where = getenv("TMPDIR");
    struct ctt_newfile *f = NULL;
    char folder[4096], path[4096 + 8];
    int rc = 0, made;

    snprintf(folder, sizeof(folder), "%s/convtt-bench.XXXXXX",
             where && *where ? where : "/tmp");
    made = mkdtemp(folder) != NULL;
    CTT_CHECK(made, CTT_EIO, "%s: %s", folder, strerror(errno));
    snprintf(path, sizeof(path), "%s/model", folder);
    CTT_TRY(ctt_newfile_open(path, &f));
    CTT_TRY(ctt_model_put(f, m));
    *fd = fcntl(ctt_newfile_fd(f), F_DUPFD_CLOEXEC, 0);
    CTT_CHECK(*fd >= 0, CTT_EIO, "%s: %s", path, strerror(errno));
out:
    ctt_newfile_drop(&f);
    if (made)
        rmdir(folder);
    return rc;
}

static int make(struct ctt_bench_file *f, const struct ctt_bench_set *set)
{
    struct ctt_model *m = NULL;
    int rc;

    CTT_TRY(make_model(f->name, set, &m, &f->zeros));
    CTT_TRY(write_nameless(m, &f->fd));
    f->made = 1;
    snprintf(f->path, sizeof(f->path), "/dev/fd/%d", f->fd);
out:
    ctt_model_free(&m);
    return rc;
}

int ctt_bench_file_open(const char *name, const struct ctt_bench_set *set,
                        struct ctt_bench_file *f)
{
    int rc = 0, fd;

    *f = (struct ctt_bench_file){ .name = name, .tune = set->tune,
                                  .type = ctt_type_run(set->type) };
    if (ctt_tool_is_net(name))
        CTT_TRY(make(f, set));
    CTT_TRY(ctt_file_open(f->made ? f->path : name, &fd, &f->bytes));
    close(fd);
out:
    return rc;
}

void ctt_bench_file_close(struct ctt_bench_file *f)
{
    if (f->made)
        close(f->fd);
    f->made = 0;
}

int ctt_bench_file_load(const struct ctt_bench_file *f, const char *device,
                        int threads, struct ctt_runner *r)
{
    int rc = ctt_runner_load(f->made ? f->path : f->name, device, f->type,
                             f->tune, threads, r);
    size_t n = strlen(f->path);
    char text[1024];

    if (rc < 0 && f->made && strncmp(ctt_errmsg(), f->path, n) == 0) {
        snprintf(text, sizeof(text), "%s", ctt_errmsg() + n);
        rc = ctt_error(rc, "%s%s", f->name, text);
    }
    return rc;
}
