/* SPDX-License-Identifier: Apache-2.0
 * gpu_rate.c: the rate of a device, for the shares that bench_gpu states. */
#include "bench/gpu.h"
#include "bench/measure.h"
#include "base/half.h"

enum { ROUNDS = 6, CALLS = 10 };

struct product {
    struct ctt_graph *g;
    struct ctt_call   c;
    void             *cache, *in, *out, *w, *b;
    float            *x;
};

static int make_product(struct ctt_dev *d, enum ctt_dtype type, int n,
                        struct product *p)
{
    int64_t count = (int64_t)n * n, bytes = count * ctt_dtype_size(type);
    int rc = 0;

    p->x = ctt_calloc((size_t)count, sizeof(float));
    CTT_CHECK(p->x, CTT_ENOMEM, "out of memory");
    for (int64_t i = 0; i < count; i++)    /* zeros would be faster */
        p->x[i] = (float)ctt_random(5, (uint64_t)i) * 0x1p-31f - 1;
    CTT_TRY(ctt_graph_new(&p->g));
    CTT_TRY(ctt_graph_add(p->g, "input a w=%d c=%d", n, n));
    CTT_TRY(ctt_graph_add(p->g, "conv y in=a out=%d", n));
    CTT_TRY(ctt_dev_alloc(d, "a matrix", bytes, &p->in));
    CTT_TRY(ctt_dev_alloc(d, "a matrix", bytes, &p->out));
    CTT_TRY(ctt_dev_alloc(d, "a matrix", bytes, &p->w));
    CTT_TRY(ctt_dev_alloc(d, "a vector", n * (int64_t)sizeof(float), &p->b));
out:
    return rc;
}

static int bind(struct ctt_dev *d, enum ctt_dtype type, struct product *p)
{
    const struct ctt_node *node = &p->g->node[1];
    struct ctt_call *c = &p->c;
    int rc = 0;

    c->node = node;
    c->stamp = 1;
    c->cache = &p->cache;
    c->in[0] = p->g->node[0].out;
    c->out = node->out;
    c->w[0].t = node->w[0];
    c->w[1].t = node->w[1];
    c->in[0].data = p->in;
    c->out.data = p->out;
    c->w[0].t.data = p->w;
    c->w[1].t.data = p->b;
    c->in[0].dtype = c->out.dtype = c->w[0].t.dtype = type;
    CTT_TRY(ctt_dev_put(d, p->x, &c->in[0]));
    CTT_TRY(ctt_dev_put(d, p->x, &c->w[0].t));
out:
    return rc;
}

int bench_rate(struct ctt_dev *d, enum ctt_dtype type, int n, double *out)
{
    struct product p = { .g = NULL };
    double best = 1e30;
    int rc = 0;

    CTT_TRY(make_product(d, type, n, &p));
    CTT_TRY(bind(d, type, &p));
    for (int i = 0; i < ROUNDS; i++) {
        double t = ctt_seconds();
        for (int j = 0; j < CALLS; j++)
            CTT_TRY(ctt_dev_run(d, &p.c, CTT_FWD));
        CTT_TRY(ctt_dev_sync(d));
        t = (ctt_seconds() - t) / CALLS;
        best = i && t < best ? t : best;    /* the first prepares */
    }
    *out = 2e-9 * (double)n * n * n / best;
out:
    ctt_dev_forget(d, &p.cache);
    ctt_dev_free(d, &p.in);
    ctt_dev_free(d, &p.out);
    ctt_dev_free(d, &p.w);
    ctt_dev_free(d, &p.b);
    ctt_graph_free(&p.g);
    ctt_free(p.x);
    return rc;
}
