/* SPDX-License-Identifier: Apache-2.0
 * bench_half.c: convs of bf16, or of fp16, against those of floats on the
 * device "cpu", alternately: the measurements behind the rule of run/half.c. */
#include "device/device.h"
#include "base/clock.h"
#include "base/half.h"
#include "base/random.h"

#include <stdio.h>
#include <stdlib.h>

/* The input's size and the conv's attributes. */
static const struct shape { const char *in, *conv; } shapes[] = {
    { "c=64 h=56 w=56", "out=64" },
    { "c=24 h=56 w=56", "out=144" },
    { "c=144 h=56 w=56", "out=24" },
    { "c=32 h=28 w=28", "out=192" },
    { "c=192 h=28 w=28", "out=32" },
    { "c=96 h=14 w=14", "out=576" },
    { "c=576 h=14 w=14", "out=96" },
    { "c=160 h=7 w=7", "out=960" },
    { "c=960 h=7 w=7", "out=320" },
    { "c=320 h=7 w=7", "out=1280" },
    { "c=16 h=112 w=112", "out=96" },
    { "c=32 h=112 w=112", "out=16" },
    { "c=64 h=6 w=6", "out=72" },
    { "c=64", "out=256" },
    { "c=512", "out=1000" },
    { "c=1280", "out=1000" },
    { "c=128", "out=12" },
    { "c=2048", "out=512" },
    { "c=3 h=224 w=224", "out=64 kernel=7 stride=2 pad=3" },
    { "c=3 h=224 w=224", "out=32 kernel=3 stride=2 pad=1" },
    { "c=3 h=48 w=48", "out=32 kernel=5 stride=2 pad=2" },
    { "c=32 h=24 w=24", "out=64 kernel=3 stride=2 pad=1" },
    { "c=64 h=12 w=12", "out=128 kernel=3 stride=2 pad=1" },
    { "c=64 h=56 w=56", "out=128 kernel=3 stride=2 pad=1" },
    { "c=256 h=14 w=14", "out=512 kernel=3 stride=2 pad=1" },
    { "c=64 h=56 w=56", "out=128 stride=2" },
    { "c=128 h=28 w=28", "out=256 kernel=3 stride=2 pad=1" },
    { "c=32 d=16 h=24 w=24", "out=64 kernel=3 stride=1,2,2 pad=1" },
    { "c=64 d=16 h=12 w=12", "out=96 kernel=3 stride=2 pad=1" },
    { "c=96 d=8 h=6 w=6", "out=128 kernel=3 stride=2 pad=1" },
    { "c=3 d=16 h=48 w=48", "out=32 kernel=3,5,5 stride=1,2,2 pad=1,2,2" },
    { "c=64 h=14 w=14", "out=64 kernel=3 pad=1 groups=4" },
    { "c=64 h=28 w=28", "out=64 kernel=3 pad=1 groups=16" },
    { "c=64 h=56 w=56", "out=64 kernel=3 pad=1" },
    { "c=128 h=28 w=28", "out=128 kernel=3 pad=1" },
    { "c=256 h=14 w=14", "out=256 kernel=3 pad=1" },
    { "c=512 h=7 w=7", "out=512 kernel=3 pad=1" },
    { "c=128 h=6 w=6", "out=128 kernel=3 pad=1" },
    { "c=64 h=6 w=6", "out=256 kernel=3 pad=1" },
    { "c=128 h=6 w=6", "out=256 kernel=3 pad=1" },
    { "c=64 h=12 w=12", "out=256 kernel=3 pad=1" },
    { "c=16 h=24 w=24", "out=16 kernel=3 pad=1" },
    { "c=32 h=16 w=16", "out=128 kernel=5 pad=2" },
    { "c=64 h=16 w=16", "out=256 kernel=5 pad=2" },
    { "c=48 h=16 w=16", "out=192 kernel=5 pad=2" },
    { "c=128 h=64 w=64", "out=128 kernel=5 pad=2" },
    { "c=8 h=32 w=32", "out=8 kernel=5 pad=2" },
    { "c=32 d=8 h=16 w=16", "out=32 kernel=3 pad=1" },
    { "c=24 h=20 w=20", "out=36 kernel=7 pad=3" },
    { "c=24 h=20 w=20", "out=36 kernel=1,1,9 pad=0,0,4" },
    { "c=32 h=112 w=112", "out=32 kernel=3 pad=1 groups=32" },
    { "c=96 h=112 w=112", "out=96 kernel=3 pad=1 stride=2 groups=96" },
    { "c=144 h=56 w=56", "out=144 kernel=3 pad=1 groups=144" },
    { "c=576 h=14 w=14", "out=576 kernel=3 pad=1 groups=576" },
    { "c=960 h=7 w=7", "out=960 kernel=3 pad=1 groups=960" },
    { "c=128 h=6 w=6", "out=64 kernel=3 pad=1" },
    { "c=64 h=56 w=56", "out=16" },
    { "c=144 h=56 w=56", "out=16" },
    { "c=144 h=56 w=56", "out=8" },
    { "c=32 h=28 w=28", "out=16" },
    { "c=32 h=28 w=28", "out=32" },
    { "c=24 h=28 w=28", "out=64" },
    { "c=16 h=28 w=28", "out=64" },
    { "c=16 h=14 w=14", "out=64" },
    { "c=8 h=14 w=14", "out=64" },
    { "c=8 h=14 w=14", "out=8" },
    { "c=3 h=64 w=64", "out=16 kernel=5 stride=2 pad=2" },
    { "c=3 h=64 w=64", "out=8 kernel=5 stride=2 pad=2" },
    { "c=1 h=64 w=64", "out=8 kernel=3 stride=2 pad=1" },
    { "c=1 h=64 w=64", "out=8 kernel=3 pad=1" },
    { "c=3 h=64 w=64", "out=16 kernel=3 pad=1" },
    { "c=3 h=64 w=64", "out=32 kernel=5 pad=2" },
    { "c=64 h=5 w=5", "out=64 kernel=3 pad=1" },
    { "c=256 h=6 w=6", "out=256 kernel=3 pad=1" },
    { "c=64 h=7 w=7", "out=64 kernel=3 pad=1" },
    { "c=128 h=7 w=7", "out=128 kernel=3 pad=1" },
    { "c=256 h=7 w=7", "out=256 kernel=3 pad=1" },
    { "c=512 h=8 w=8", "out=512 kernel=3 pad=1" },
    { "c=256 h=8 w=8", "out=256 kernel=3 pad=1" },
    { "c=128 h=8 w=8", "out=128 kernel=3 pad=1" },
    { "c=32 h=6 w=6", "out=32 kernel=3 pad=1" },
    { "c=16 h=6 w=6", "out=16 kernel=3 pad=1" },
    { "c=128 h=9 w=9", "out=128 kernel=3 pad=1" },
    { "c=64 h=9 w=9", "out=64 kernel=3 pad=1" },
    { "c=128 h=10 w=10", "out=128 kernel=3 pad=1" },
    { "c=512 h=14 w=14", "out=512 kernel=3 pad=1" },
    { "c=1024 h=14 w=14", "out=512 kernel=3 pad=1" },
    { "c=64 h=6 w=6", "out=64 kernel=5 pad=2" },
    { "c=128 h=7 w=7", "out=128 kernel=5 pad=2" },
    { "c=64 h=14 w=14", "out=64 kernel=3 pad=1 groups=2" },
    { "c=64 h=14 w=14", "out=64 kernel=3 pad=1 groups=8" },
    { "c=64 h=28 w=28", "out=64 groups=4" },
    { "c=64 h=28 w=28", "out=64 groups=2" },
};

/* Floats; products of 16 bits with values in floats, and in 16 bits; kernels of
 * floats whose result is stored in 16 bits. */
enum { FLOATS, ROUNDED, SHORT, STORED, WAYS };

static enum ctt_dtype type = CTT_BF16;

struct way {
    struct ctt_call call;
    void           *cache;
    double          best;
};

static void *memory(int64_t n)
{
    float *p = ctt_calloc((size_t)n + 1, sizeof(*p));

    for (int64_t i = 0; p && i < n; i++)
        p[i] = (float)ctt_random(1, (uint64_t)i) * 0x1p-32f - 0.5f;
    if (!p)
        exit(1);
    return p;
}

static void set_way(struct way *w, const struct ctt_graph *g, int way)
{
    const struct ctt_node *n = &g->node[1];

    w->call = (struct ctt_call){ .node = n, .stamp = 1, .cache = &w->cache,
        .mul = way == FLOATS || way == STORED ? CTT_F32 : type };
    w->call.in[0] = g->node[0].out;
    w->call.out = n->out;
    for (int k = 0; k < n->nw; k++) {
        w->call.w[k].t = n->w[k];
        w->call.w[k].t.data = memory(ctt_volume(&n->w[k]));
    }
    w->call.in[0].data = memory(ctt_volume(&w->call.in[0]));
    w->call.out.data = memory(ctt_volume(&w->call.out));
    if (way == SHORT)
        w->call.in[0].dtype = type;
    if (way == SHORT || way == STORED)
        w->call.out.dtype = type;
    if (way == SHORT)
        for (int64_t i = 0; i < ctt_volume(&w->call.in[0]); i++)
            ctt_store(w->call.in[0].data, type, i, (float)(i % 7) - 3);
    w->best = 1e9;
}

static int time_way(struct ctt_dev *d, struct way *w, double for_s)
{
    double start = ctt_seconds();
    int rc = 0;

    for (int i = 0; i < 20 || ctt_seconds() - start < for_s; i++)
        for (int k = 0; k < WAYS; k++) {
            double t = ctt_seconds();
            CTT_TRY(ctt_dev_run(d, &w[k].call, CTT_FWD));
            t = ctt_seconds() - t;
            w[k].best = t < w[k].best ? t : w[k].best;
        }
out:
    return rc;
}

static int bench_shape(struct ctt_dev *d, const struct shape *s)
{
    char text[300];
    struct ctt_graph *g = NULL;
    struct way w[WAYS] = { { .cache = NULL } };
    int rc;

    snprintf(text, sizeof(text), "input x %s\nconv y in=x %s bias=1\n",
             s->in, s->conv);
    CTT_TRY(ctt_net_parse(text, &g));
    for (int k = 0; k < WAYS; k++)
        set_way(&w[k], g, k);
    CTT_TRY(time_way(d, w, 0.3));
    printf("%-22s %-40s %9.2f us", s->in, s->conv, w[0].best * 1e6);
    for (int k = 1; k < WAYS; k++)
        printf(" %5.2f", w[k].best / w[0].best);
    printf("  %s", ctt_dev_impl(d, w[0].cache, CTT_FWD));
    printf(", %s\n", ctt_dev_impl(d, w[1].cache, CTT_FWD));
    fflush(stdout);
    for (int k = 0; k < WAYS; k++) {
        ctt_dev_forget(d, &w[k].cache);
        ctt_free(w[k].call.in[0].data);
        ctt_free(w[k].call.out.data);
        for (int i = 0; i < g->node[1].nw; i++)
            ctt_free(w[k].call.w[i].t.data);
    }
out:
    ctt_graph_free(&g);
    return rc;
}

int main(int argc, char **argv)
{
    struct ctt_dev *d = NULL;
    int rc;

    if (argc > 2 && strcmp(argv[2], "fp16") == 0)
        type = CTT_F16;
    CTT_TRY(ctt_dev_open("cpu", argc > 1 ? atoi(argv[1]) : 1, &d));
    puts("best of many calls in turns: floats; 16 bits with values in floats, "
         "in 16 bits, floats with a result of 16 bits, each : floats");
    for (size_t i = 0; i < CTT_LEN(shapes); i++)
        CTT_TRY(bench_shape(d, &shapes[i]));
out:
    if (rc < 0)
        fprintf(stderr, "%s\n", ctt_errmsg());
    ctt_dev_close(&d);
    return rc < 0;
}
