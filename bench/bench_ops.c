/* SPDX-License-Identifier: Apache-2.0
 * bench_ops.c: how fast kernels are: forward, gradient of the input, gradient
 * of the weights, forward with weights that have changed; GFLOP/s and the
 * share of the sgemm rate of the same run.
 * Usage: bench_ops [DEVICE [THREADS [WORD]]]; WORD: only lines that hold it. */
#include "bench/measure.h"
#include "device/memory.h"
#include "net/quant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct { int n; const char *a, *b, *op; } rows[] = {
    { 40, "c=3 h=48 w=48", NULL, "conv y in=a out=32 kernel=5 stride=2 "
      "pad=2" },
    { 40, "c=32 h=24 w=24", NULL, "conv y in=a out=64 kernel=3 stride=2 "
      "pad=1" },
    { 40, "c=64 h=6 w=6", NULL, "conv y in=a out=256 kernel=3 pad=1" },
    { 40, "c=64 h=12 w=12", NULL, "conv y in=a out=24 kernel=3 pad=1" },
    { 16, "c=64 h=12 w=12", "c=256 h=12 w=12", "conv y in=a plus=b out=256 "
      "kernel=3 pad=1" },
    { 16, "c=64 h=12 w=12", "c=256 h=12 w=12", "conv y in=a plus=b out=256 "
      "kernel=5 pad=2" },
    { 16, "c=64 h=12 w=12", NULL, "conv y in=a out=24 kernel=3 pad=1" },
    { 16, "c=8 h=12 w=12", "c=8 h=12 w=12", "conv y in=a plus=b out=8 "
      "kernel=3 pad=1" },
    { 16, "c=8 h=12 w=12", "c=256 h=12 w=12", "conv y in=a plus=b out=256 "
      "kernel=3 pad=1" },
    { 16, "c=128", "c=512", "conv y in=a plus=b out=512" },
    { 64, "c=9216", NULL, "conv y in=a out=12" },
    { 16, "c=16 d=16 h=12 w=12", NULL, "conv y in=a out=32 kernel=3 pad=1" },
    { 38, "c=48 h=64 w=64", NULL, "conv y in=a out=192 kernel=5 pad=2" },
    { 2, "c=8 h=64 w=64", "c=192 h=64 w=64", "conv y in=a plus=b out=192 "
      "kernel=5 pad=2" },
    { 1, "c=56 h=64 w=64", NULL, "conv y in=a out=192 kernel=5 pad=2" },
    { 1, "c=48 h=64 w=64", NULL, "conv y in=a out=24 kernel=5 pad=2" },
    { 1, "c=8 h=64 w=64", "c=8 h=64 w=64", "conv y in=a plus=b out=8 "
      "kernel=5 pad=2" },
    { 1, "c=3 h=48 w=48", NULL, "conv y in=a out=32 kernel=5 stride=2 pad=2" },
    { 1, "c=32 h=24 w=24", NULL, "conv y in=a out=64 kernel=3 stride=2 "
      "pad=1" },
    { 1, "c=64 h=12 w=12", "c=256 h=12 w=12", "conv y in=a plus=b out=256 "
      "kernel=3 pad=1" },
    { 1, "c=64 h=12 w=12", "c=256 h=12 w=12", "conv y in=a plus=b out=256 "
      "kernel=5 pad=2" },
    { 1, "c=64 h=12 w=12", NULL, "conv y in=a out=24 kernel=3 pad=1" },
    { 1, "c=8 h=12 w=12", NULL, "conv y in=a out=8 kernel=3 pad=1" },
    { 16, "c=64 h=12 w=12", NULL, "conv y in=q out=256 kernel=3 pad=1" },
    { 1, "c=64 h=12 w=12", NULL, "conv y in=q out=256 kernel=3 pad=1" },
    { 1, "c=128 h=28 w=28", NULL, "conv y in=q out=128 kernel=3 pad=1" },
    { 1, "c=64", NULL, "conv y in=a out=12" },
    { 1, "c=96 h=112 w=112", NULL, "conv y in=a out=96 kernel=3 stride=2 pad=1 "
      "groups=96" },
    { 1, "c=144 h=56 w=56", NULL, "conv y in=a out=144 kernel=3 pad=1 "
      "groups=144" },
    { 1, "c=576 h=14 w=14", NULL, "conv y in=a out=576 kernel=3 pad=1 "
      "groups=576" },
    { 16, "c=64 h=12 w=12", NULL, "conv y in=a out=64 kernel=3 pad=1 "
      "groups=64" },
    { 16, "c=64 h=12 w=12", NULL, "conv y in=a out=64 kernel=3 pad=1 "
      "groups=4" },
    { 16, "c=256 h=12 w=12", "c=64 h=12 w=12", "lstm y in=a,b" },
    { 1, "c=256 h=12 w=12", "c=64 h=12 w=12", "lstm y in=a,b" },
    { 40, "c=64 h=12 w=12", NULL, "act y in=a kind=relu" },
    { 40, "c=64 h=12 w=12", NULL, "act y in=a kind=tanh" },
    { 40, "c=64 h=12 w=12", NULL, "act y in=a kind=hswish" },
    { 40, "c=64 h=12 w=12", NULL, "act y in=a kind=gelu" },
    { 40, "c=64 h=12 w=12", NULL, "softmax y in=a over=channels" },
    { 40, "c=64 h=12 w=12", NULL, "softmax y in=a over=positions" },
    { 40, "c=64 h=12 w=12", NULL, "lrn y in=a size=5" },
    { 40, "c=64 h=12 w=12", "c=64", "mul y in=a,b" },
    { 40, "c=64 h=12 w=12", NULL, "norm y in=a kind=batch" },
    { 40, "c=64 h=12 w=12", NULL, "norm y in=a kind=layer" },
    { 40, "c=64 h=12 w=12", NULL, "groupnorm y in=a" },
    { 4, "c=64 d=2 h=12 w=12", "c=256 d=2 h=12 w=12", "attend y in=a,b" },
    { 40, "c=64 h=12 w=12", NULL, "patch y in=a by=2" },
    { 40, "c=64 h=12 w=12", NULL, "pool y in=a kind=max kernel=2" },
    { 40, "c=64 h=12 w=12", NULL, "pool y in=a kind=avg kernel=2" },
    { 40, "c=64 h=6 w=6", NULL, "upsample y in=a by=2" },
    { 40, "c=64 h=12 w=12", NULL, "halo y in=a up=1 down=1" },
    { 40, "c=64 h=12 w=12", "c=64 h=12 w=12", "add y in=a,b" },
    { 40, "c=64 h=12 w=12", "c=64 h=12 w=12", "concat y in=a,b" },
    { 40, "c=64 h=12 w=12", NULL, "dropout y in=a rate=0.5" },
};

/* Small numbers, not zero, in the device's memory. */
static int fill_tensor(struct ctt_dev *d, const struct ctt_tensor *shape,
                       int64_t n, struct ctt_tensor *t)
{
    float *p;
    int rc = 0;

    *t = *shape;
    t->n = n;
    t->ld = t->c;
    p = ctt_calloc((size_t)ctt_volume(t), sizeof(float));
    CTT_CHECK(p, CTT_ENOMEM, "out of memory");
    for (int64_t i = 0; i < ctt_volume(t); i++)
        p[i] = (float)(i * 7 % 31) * 0.01f + 0.01f;
    CTT_TRY(ctt_dev_alloc(d, "numbers", ctt_volume(t) * (int64_t)sizeof(float),
                          &t->data));
    CTT_TRY(ctt_dev_put(d, p, t));
out:
    ctt_free(p);
    return rc;
}

static int open_call(struct ctt_dev *d, struct ctt_graph *g, int n,
                     struct ctt_call *c)
{
    const struct ctt_node *y = &g->node[g->count - 1];
    int rc = 0;

    c->node = y;
    c->train = 1;
    c->stamp = 1;
    for (int k = 0; k < y->nin; k++) {
        CTT_TRY(fill_tensor(d, &g->node[y->in[k]].out, n, &c->in[k]));
        CTT_TRY(fill_tensor(d, &g->node[y->in[k]].out, n, &c->din[k]));
    }
    for (int k = 0; k < y->nw; k++) {
        CTT_TRY(fill_tensor(d, &y->w[k], y->w[k].n, &c->w[k].t));
        CTT_TRY(fill_tensor(d, &y->w[k], y->w[k].n, &c->dw[k]));
    }
    CTT_TRY(fill_tensor(d, &y->out, n, &c->out));
    CTT_TRY(fill_tensor(d, &y->out, n, &c->dout));
    if (y->op == CTT_OP_LSTM) {
        CTT_TRY(fill_tensor(d, &y->out, n, &c->also));
        CTT_TRY(fill_tensor(d, &y->out, n, &c->dalso));
    }
out:
    return rc;
}

static void close_call(struct ctt_dev *d, struct ctt_call *c)
{
    for (int k = 0; k < CTT_MAX_IN; k++) {
        ctt_dev_free(d, &c->in[k].data);
        ctt_dev_free(d, &c->din[k].data);
    }
    for (int k = 0; k < CTT_MAX_W; k++) {
        ctt_dev_free(d, &c->w[k].t.data);
        ctt_dev_free(d, &c->dw[k].data);
    }
    ctt_dev_free(d, &c->out.data);
    ctt_dev_free(d, &c->dout.data);
    ctt_dev_free(d, &c->also.data);
    ctt_dev_free(d, &c->dalso.data);
}

/* Best seconds of a call.  fresh: with new weights each time. */
static int time_call(struct ctt_dev *d, struct ctt_call c, enum ctt_pass pass,
                     int fresh, double *best, char *impl)
{
    void *cache = NULL;
    double t, end = ctt_seconds() + 0.25;
    int rc = 0;

    c.cache = &cache;
    *best = 1e9;
    for (int i = 0; i < 3 || ctt_seconds() < end; i++) {
        c.stamp += (uint64_t)fresh;
        t = ctt_seconds();
        CTT_TRY(ctt_dev_run(d, &c, pass));
        CTT_TRY(ctt_dev_sync(d));
        t = ctt_seconds() - t;
        *best = t < *best ? t : *best;
    }
    snprintf(impl, 80, "%s", ctt_dev_impl(d, cache, pass));
out:
    ctt_dev_forget(d, &cache);
    return rc;
}

enum { FORWARD, DIN, DW, FRESH, INT8, BYTES, WAYS };

/* Sets the call of a measured pass; returns 0 if the op has no such pass. */
static int call_of(const struct ctt_call *c, double flop, int way,
                   struct ctt_call *part)
{
    *part = *c;
    if (way == DIN)
        memset(part->dw, 0, sizeof(part->dw));
    if (way == DW)
        memset(part->din, 0, sizeof(part->din));
    if (way >= INT8) {
        part->in[0].scale = 0.01f;
        part->in[0].zero = 16;
    }
    if (way == BYTES)
        part->in[0].dtype = CTT_U8;
    return way == DW ? c->node->nw > 0 : way == FRESH ? flop > 0 :
           way < INT8 || c->node->op == CTT_OP_CONV;
}

static int run_row(struct ctt_dev *d, size_t i, double ceiling)
{
    static const char *const what[WAYS] = { "forward", "din", "dw",
                                            "new weights", "int8",
                                            "int8, bytes" };
    struct ctt_graph *g = NULL;
    struct ctt_call c = { .node = NULL }, part;
    double t, flop;
    char impl[80];
    int rc = 0;

    CTT_TRY(ctt_graph_new(&g));
    CTT_TRY(ctt_graph_add(g, "input a %s", rows[i].a));
    if (rows[i].b)
        CTT_TRY(ctt_graph_add(g, "input b %s", rows[i].b));
    if (strstr(rows[i].op, "in=q"))
        CTT_TRY(ctt_graph_add(g, "quant q in=a scale=0.01"));
    CTT_TRY(ctt_graph_add(g, "%s", rows[i].op));
    CTT_TRY(ctt_graph_quantise(g));
    CTT_TRY(open_call(d, g, rows[i].n, &c));
    flop = 2e-9 * (double)ctt_node_macs(g, g->count - 1) * rows[i].n;
    printf("%d x %s: %s\n", rows[i].n, rows[i].a, rows[i].op);
    for (int k = 0; k < WAYS; k++) {
        if (!call_of(&c, flop, k, &part))
            continue;
        CTT_TRY(time_call(d, part, k == DIN || k == DW ? CTT_BWD : CTT_FWD,
                          k == FRESH, &t, impl));
        printf("    %-12s %9.4f ms", what[k], t * 1e3);
        if (flop > 0)
            printf(" %7.1f GFLOP/s %4.0f%%  %s\n", flop / t,
                   100 * flop / t / ceiling, impl);
        else
            printf(" %7.2f ns an element of the result\n",
                   t * 1e9 / (double)ctt_volume(&c.out));
    }
out:
    close_call(d, &c);
    ctt_graph_free(&g);
    return rc;
}

int main(int argc, char **argv)
{
    struct ctt_dev *d = NULL;
    double ceiling;
    int rc = 0;

    CTT_TRY(ctt_dev_open(argc > 1 ? argv[1] : ctt_dev_names[0],
                         argc > 2 ? atoi(argv[2]) : 0, &d));
    ceiling = ctt_dev_sgemm_rate(d);
    printf("%s, %d threads: sgemm %.1f GFLOP/s\n",
           argc > 1 ? argv[1] : ctt_dev_names[0], ctt_dev_threads(d), ceiling);
    for (size_t i = 0; i < CTT_LEN(rows); i++)
        if (argc < 4 || strstr(rows[i].op, argv[3]))
            CTT_TRY(run_row(d, i, ceiling));
out:
    if (rc < 0)
        fprintf(stderr, "bench_ops: %s\n", ctt_errmsg());
    ctt_dev_close(&d);
    return rc < 0;
}
