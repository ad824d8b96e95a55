/* SPDX-License-Identifier: Apache-2.0
 * ceiling.c: what a device reaches, measured: products and copies. */
#include "tools/profile/profile.h"
#include "base/clock.h"
#include "device/memory.h"
#include "net/init.h"
#include "tools/bench/bench_tool.h"

/* Large enough that its conv of bytes runs at its full rate. */
static const char ints_net[] =
    "input x h=32 w=32 c=3 mean=0 std=1\n"
    "conv a in=x out=256 kernel=1\n"
    "quant q in=a scale=0.01\n"
    "conv y in=q out=256 kernel=1\n";

enum { FRAMES = 24, COPIES = 12 };

static double rate_of(const struct ctt_nodes *n, const struct ctt_graph *g,
                      double *before)
{
    int last = g->count - 1;
    double ms = 1e3 * n->sum[last][CTT_FWD].seconds - *before;

    *before += ms;
    return ms > 0 ? 2e-6 * (double)ctt_node_macs(g, last) / ms : 0;
}

/* GFLOP/s of the conv that reads bytes, best of a few. */
static int measure_ints(const char *device, int threads, double *best)
{
    struct ctt_stepper s = { .g = NULL };
    struct ctt_nodes n = { .run = NULL };
    struct ctt_model *m = NULL;
    struct ctt_graph *g = NULL;
    double before = 0;
    int rc;

    CTT_TRY(ctt_net_parse(ints_net, &g));
    CTT_TRY(ctt_model_new(g, &m));
    ctt_init_weights(m, 1);
    CTT_TRY(ctt_stepper_open(m, device, threads, 0, &s));
    CTT_TRY(ctt_nodes_open(s.run, &n));
    for (int i = 0; i < FRAMES; i++) {
        double rate;

        CTT_TRY(ctt_stepper_step(&s));
        rate = rate_of(&n, m->g, &before);
        *best = rate > *best ? rate : *best;
    }
out:
    ctt_nodes_close(&n);
    ctt_stepper_close(&s);
    ctt_model_free(&m);
    return rc;
}

/* A share of a copy: from the first half of the block to the second. */
struct copy { char *block; int64_t half; };

static void copy_rows(const void *arg, int64_t from, int64_t to)
{
    const struct copy *c = arg;

    memcpy(c->block + c->half + from, c->block + from, (size_t)(to - from));
}

static int copy_once(struct ctt_dev *d, const struct copy *c)
{
    if (!ctt_dev_shared(d))
        return ctt_dev_copy(d, CTT_WITHIN, c->block, c->block + c->half,
                            c->half);
    ctt_dev_over(d, c->half, copy_rows, c);
    return 0;
}

static int measure_copy(struct ctt_dev *d, int64_t bytes, double *best)
{
    struct copy c = { .half = bytes / 2 };
    void *block = NULL;
    int rc;

    CTT_TRY(ctt_dev_alloc(d, "a copy", bytes, &block));
    c.block = block;
    for (int i = 0; i < COPIES; i++) {
        double t;

        CTT_TRY(ctt_dev_sync(d));
        t = ctt_seconds();
        CTT_TRY(copy_once(d, &c));
        CTT_TRY(ctt_dev_sync(d));
        t = 2e-9 * (double)c.half / (ctt_seconds() - t);
        *best = t > *best ? t : *best;
    }
out:
    ctt_dev_free(d, &block);
    return rc;
}

int ctt_ceiling_measure(const char *device, int threads, int ints,
                        int64_t bytes, struct ctt_ceiling *out)
{
    struct ctt_dev *d = NULL;
    int rc;

    *out = (struct ctt_ceiling){ .bytes = bytes };
    CTT_TRY(ctt_dev_open(device, threads, &d));
    out->threads = ctt_dev_threads(d);
    out->floats = ctt_dev_sgemm_rate(d);
    CTT_TRY(measure_copy(d, bytes, &out->copy));
    if (ints)
        CTT_TRY(measure_ints(device, threads, &out->ints));
out:
    ctt_dev_close(&d);
    return rc;
}

struct ctt_bound ctt_bound_of(const struct ctt_ceiling *c,
                              const struct ctt_node_row *r)
{
    double rate = strcmp(r->type, "int8") == 0 ? c->ints : c->floats;
    double work = rate > 0 ? 1e-9 * r->flops / rate : 0;
    double move = c->copy > 0 ? 1e-9 * r->bytes / c->copy : 0;
    struct ctt_bound b = { work > move ? work : move, 0,
                           work > move ? "arithmetic" : "memory" };

    b.share = r->seconds > 0 ? b.best / r->seconds : 0;
    return b;
}
