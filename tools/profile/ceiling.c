/* SPDX-License-Identifier: Apache-2.0
 * ceiling.c: the rates that a device reaches, measured: products and copies. */
#include "tools/profile/profile.h"
#include "net/init.h"
#include "tools/bench/bench_tool.h"

/* Large enough that its conv of bytes runs at its full rate. */
static const char ints_net[] =
    "input x h=32 w=32 c=3 mean=0 std=1\n"
    "conv a in=x out=256 kernel=1\n"
    "quant q in=a scale=0.01\n"
    "conv y in=q out=256 kernel=1\n";

enum { FRAMES = 24 };

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

int ctt_ceiling_measure(const char *device, int threads, int ints,
                        int64_t bytes, struct ctt_ceiling *out)
{
    struct ctt_dev *d = NULL;
    int rc;

    *out = (struct ctt_ceiling){ .bytes = bytes };
    CTT_TRY(ctt_dev_open(device, threads, &d));
    out->threads = ctt_dev_threads(d);
    out->floats = ctt_dev_sgemm_rate(d);
    out->copy = ctt_dev_copy_rate(d, bytes);
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
