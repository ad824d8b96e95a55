/* SPDX-License-Identifier: Apache-2.0
 * bench_sparse.c: convs whose weights are mostly zeros against the dense convs
 * of the device "cpu", alternately: the measurements behind the cost model of
 * device/cpu/conv/sparse/sparse_provider.c.
 *
 * The floor of a row is the number of units that are not 0 times the registers
 * of results; a core multiplies one register of units a cycle (AVX-512). */
#include "device/cpu/conv/sparse/sparse.h"
#include "bench/measure.h"
#include "bench/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The input's size and the conv's attributes. */
static const struct shape { const char *name, *in, *conv; } shapes[] = {
    { "6x6", "c=64 h=6 w=6", "out=256 kernel=3 pad=1" },
    { "6x6b", "c=128 h=6 w=6", "out=128 kernel=3 pad=1" },
    { "12x12", "c=64 h=12 w=12", "out=128 kernel=3 stride=2 pad=1" },
    { "24x24", "c=32 h=24 w=24", "out=64 kernel=3 stride=2 pad=1" },
    { "cnn3d-2", "c=32 d=16 h=24 w=24", "out=64 kernel=3 stride=1,2,2 pad=1" },
    { "cnn3d-3", "c=64 d=16 h=12 w=12", "out=96 kernel=3 stride=2 pad=1" },
    { "cnn3d-4", "c=96 d=8 h=6 w=6", "out=128 kernel=3 stride=2 pad=1" },
    { "k5", "c=56 h=64 w=64", "out=192 kernel=5 pad=2" },
    { "k3", "c=64 h=32 w=32", "out=256 kernel=3 pad=1" },
    { "resnet-1", "c=64 h=56 w=56", "out=64 kernel=3 pad=1" },
    { "resnet-2", "c=128 h=28 w=28", "out=128 kernel=3 pad=1" },
    { "resnet-3", "c=256 h=14 w=14", "out=256 kernel=3 pad=1" },
    { "resnet-4", "c=512 h=7 w=7", "out=512 kernel=3 pad=1" },
    { "1x1", "c=256 h=14 w=14", "out=256" },
};

/* Numbers pruned together: as convtt-infer --zeros-form. */
static const struct form { const char *name; int ins, outs; } forms[] = {
    { "any", 1, 1 }, { "block", 4, 1 }, { "row", 1, 16 }
};

/* Types of values and of lists. */
static const struct kind { const char *name; int is_int8, by_rows; } kinds[] = {
    { "int8", 1, 0 }, { "fp32", 0, 0 }, { "rows", 0, 1 }
};
static const double shares[] = { 0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98 };

/* A conv with dense weights, by the device, and one with zeros. */
struct pair {
    struct ctt_graph         *g;
    struct ctt_call           dense, sparse;
    void                     *cache, *chosen;    /* of calls of the device */
    struct ctt_sparse_weights w;
    struct ctt_sparse_shape   s;
};

static float *random_floats(int64_t n, uint64_t key)
{
    float *p = ctt_calloc((size_t)n + 1, sizeof(*p));

    if (!p)
        exit(1);
    bench_fill(p, n, key, -1, 1);
    return p;
}

static void prune_form(const struct ctt_tensor *w, struct form f, double share)
{
    int64_t taps = w->d * w->h * w->w;

    for (int64_t i = 0; i < ctt_volume(w); i++) {
        int64_t o = i / w->c / taps, tap = i / w->c % taps, c = i % w->c;
        int64_t unit = (o / f.outs * taps + tap) * w->c + c / f.ins;
        if (ctt_random(9, (uint64_t)unit) * 0x1p-32 < share)
            ((float *)w->data)[i] = 0;
    }
}

static int open_pair(struct pair *p, const struct shape *s, int is_int8)
{
    const struct ctt_node *n;
    struct ctt_tensor x;
    char text[300];
    int rc;

    *p = (struct pair){ NULL };
    snprintf(text, sizeof(text), "input x %s\nquant q in=x scale=0.01\n"
             "conv y in=%s %s\n", s->in, is_int8 ? "q" : "x", s->conv);
    CTT_TRY(ctt_net_parse(text, &p->g));
    n = &p->g->node[2];
    x = p->g->node[is_int8].out;
    x.data = random_floats(ctt_volume(&x), 1);
    if (is_int8)
        x.dtype = CTT_U8;
    p->dense = (struct ctt_call){ .node = n, .stamp = 1, .cache = &p->cache,
                                  .in = { x }, .out = n->out };
    p->dense.out.data = random_floats(ctt_volume(&n->out), 2);
    if (is_int8) {
        p->dense.out.dtype = CTT_U8;
        p->dense.out.scale = 0.1f;
    }
    for (int k = 0; k < n->nw; k++) {
        p->dense.w[k].t = n->w[k];
        p->dense.w[k].t.data = random_floats(ctt_volume(&n->w[k]), 3);
    }
    p->sparse = p->dense;
    p->sparse.w[0].t.data = random_floats(ctt_volume(&n->w[0]), 3);
out:
    return rc;
}

static void close_pair(struct pair *p, struct ctt_dev *d)
{
    ctt_dev_forget(d, &p->cache);
    ctt_dev_forget(d, &p->chosen);
    ctt_free(p->dense.in[0].data);
    ctt_free(p->dense.out.data);
    ctt_free(p->sparse.w[0].t.data);
    for (int k = 0; p->g && k < p->g->node[2].nw; k++)
        ctt_free(p->dense.w[k].t.data);
    ctt_free(p->w.room);
    ctt_graph_free(&p->g);
}

/* Makes the lists of the call's weights; the registers of products of them. */
static int pack_pair(struct ctt_dev *d, struct pair *p, int by_rows,
                     double *floor)
{
    const struct ctt_sparse_isa *isa = ctt_sparse_best(&p->sparse);
    const struct ctt_int8_isa *rows = ctt_sparse_rows_best(&p->sparse);
    int rc = 0;

    if (by_rows) {
        CTT_TRY(ctt_sparse_rows_pack(rows, &p->sparse, &p->w));
        *floor = (double)ctt_sparse_rows_count(&p->sparse) *
                 (double)(ctt_rows(&p->sparse.out) * rows->block / rows->lanes);
        goto out;
    }
    CTT_TRY(ctt_sparse_pack(isa, d, &p->sparse, &p->s, &p->w));
    *floor = (double)p->w.units * (double)p->s.span /
             isa->lanes;
out:
    return rc;
}

static int run_kernel(struct ctt_dev *d, struct pair *p, int by_rows)
{
    return by_rows ? ctt_sparse_rows_run(ctt_sparse_rows_best(&p->sparse), d,
                                         &p->sparse, &p->w)
                   : ctt_sparse_run(ctt_sparse_best(&p->sparse), d, &p->sparse,
                                    &p->s, &p->w);
}

/* Best times in seconds of both, in turns. */
static int time_pair(struct ctt_dev *d, struct pair *p, int by_rows,
                     double best[2])
{
    double start = ctt_seconds(), t;
    int rc = 0;

    best[0] = best[1] = 1e9;
    for (int i = 0; i < 10 || ctt_seconds() - start < 0.1; i++) {
        t = ctt_seconds();
        CTT_TRY(ctt_dev_run(d, &p->dense, CTT_FWD));
        t = ctt_seconds() - t;
        best[0] = t < best[0] ? t : best[0];
        t = ctt_seconds();
        CTT_TRY(run_kernel(d, p, by_rows));
        t = ctt_seconds() - t;
        best[1] = t < best[1] ? t : best[1];
    }
out:
    return rc;
}

/* The device's choice for the call: '*' for these kernels. */
static char chosen(struct ctt_dev *d, const struct pair *p, int by_rows)
{
    const char *impl = ctt_dev_impl(d, p->chosen, CTT_FWD);

    return strncmp(impl, "sparse", 6) == 0 &&
           (strstr(impl, "rows") != NULL) == by_rows ? '*' : ' ';
}

/* A line: how many times faster than dense, by share. */
static int bench_conv(struct ctt_dev *d, const struct shape *s, struct kind k,
                      struct form f)
{
    struct pair p;
    double best[2] = { 0, 0 };
    int rc;

    CTT_TRY(open_pair(&p, s, k.is_int8));
    CTT_CHECK(ctt_sparse_best(&p.sparse), CTT_EUNSUP,
              "this processor has no AVX2");
    p.s = ctt_sparse_plan(ctt_sparse_best(&p.sparse), &p.sparse);
    printf("%-9s %-4s %-5s", s->name, k.name, f.name);
    for (size_t i = 0; i < CTT_LEN(shares); i++) {
        double floor;
        prune_form(&p.sparse.w[0].t, f, shares[i]);
        CTT_TRY(pack_pair(d, &p, k.by_rows, &floor));
        CTT_TRY(time_pair(d, &p, k.by_rows, best));
        p.sparse.stamp = i + 2;
        p.sparse.cache = &p.chosen;
        CTT_TRY(ctt_dev_run(d, &p.sparse, CTT_FWD));
        printf("  %5.2f%c(%.2f)", best[0] / best[1], chosen(d, &p, k.by_rows),
               floor / best[1] * 1e-9);
    }
    printf("  %9.1f us %s\n", best[0] * 1e6,
           ctt_dev_impl(d, p.cache, CTT_FWD));
    fflush(stdout);
out:
    close_pair(&p, d);
    return rc;
}

int main(int argc, char **argv)
{
    const char *list = argc > 2 ? argv[2] : NULL;
    struct ctt_dev *d = NULL;
    int rc = ctt_dev_open("cpu", argc > 1 ? atoi(argv[1]) : 1, &d);

    printf("conv; times faster than dense with 0 50 70 80 90 95 98%% of zeros "
           "(*: chosen; registers of units a ns); the dense one\n");
    for (size_t i = 0; rc >= 0 && i < CTT_LEN(shapes); i++)
        for (int k = 0; k < 9 && rc >= 0; k++)
            if (bench_wanted(list, shapes[i].name) &&
                bench_wanted(argc > 3 ? argv[3] : NULL, kinds[k / 3].name))
                rc = bench_conv(d, &shapes[i], kinds[k / 3], forms[k % 3]);
    if (rc < 0)
        fprintf(stderr, "bench_sparse: %s\n", ctt_errmsg());
    ctt_dev_close(&d);
    return rc < 0;
}
