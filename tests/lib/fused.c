/* SPDX-License-Identifier: Apache-2.0
 * fused.c: calls of convs with fused nodes. */
#include "tests/lib/check.h"
#include "tests/lib/fused.h"

#include <math.h>

static struct ctt_tensor random_values(struct ctt_fused *r, struct ctt_tensor t,
                                       int64_t n, int view, uint64_t key)
{
    float *p;

    t.n = n;
    t.ld = t.c + (view ? 7 : 0);
    p = ctt_calloc((size_t)(ctt_rows(&t) * t.ld), sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    ctt_check_fill(p, ctt_rows(&t) * t.ld, key);
    r->block[r->blocks++] = t.data = p;
    return t;
}

/* Small, so that the gates do not saturate. */
static struct ctt_tensor weights(struct ctt_fused *r,
                                 const struct ctt_tensor *t, uint64_t key)
{
    struct ctt_tensor w = random_values(r, *t, t->n, 0, key);

    for (int64_t i = 0; i < ctt_volume(&w); i++)
        ((float *)w.data)[i] *= 0.06f;
    return w;
}

void ctt_fused_open(struct ctt_fused *r, const struct ctt_fused_case *a, int n,
                    int flags)
{
    struct ctt_call *c = &r->call;
    int view = flags & CTT_FUSED_VIEW;
    struct ctt_tensor state;
    const struct ctt_node *z, *p;

    *r = (struct ctt_fused){ .g = NULL };
    CHECK_OK(ctt_graph_new(&r->g));
    CHECK_OK(ctt_graph_add(r->g, "input a %s", a->a));
    CHECK_OK(ctt_graph_add(r->g, "input b %s", a->b));
    CHECK_OK(ctt_graph_add(r->g, "conv p in=b out=%d %s",
                           (int)a->hidden * 4, a->pair));
    CHECK_OK(ctt_graph_add(r->g, "conv z in=a plus=p out=%d %s",
                           (int)a->hidden * 4, a->conv));
    CHECK_OK(ctt_graph_add(r->g, "state s of=l like=z c=%d", (int)a->hidden));
    CHECK_OK(ctt_graph_add(r->g, "lstm l in=z,s"));
    p = &r->g->node[2];
    z = c->node = &r->g->node[3];
    c->stamp = 1;
    c->cache = &r->cache[0];
    c->in[0] = random_values(r, r->g->node[0].out, n, view, 1);
    c->out = random_values(r, z->out, n, view, 2);
    if (!(flags & CTT_FUSED_PAIR))
        c->in[1] = c->out;    /* accumulated in place */
    for (int k = 0; k < 2; k++)
        c->w[k].t = weights(r, &z->w[k], 3 + (uint64_t)k);
    if (flags & CTT_FUSED_PAIR) {
        c->pair.node = p;
        c->pair.in = random_values(r, r->g->node[1].out, n, view, 5);
        for (int k = 0; k < 2; k++)
            c->pair.w[k].t = weights(r, &p->w[k], 6 + (uint64_t)k);
        c->pair.cache = &r->cache[1];
    }
    if (!(flags & CTT_FUSED_LSTM))
        return;
    state = z->out;
    state.c = a->hidden;
    c->lstm.node = &r->g->node[5];
    c->lstm.keep = !!(flags & CTT_FUSED_KEEP);
    c->lstm.old = random_values(r, state, n, view, 8);
    c->lstm.h = random_values(r, state, n, view, 9);
    c->lstm.c = random_values(r, state, n, view, 10);
}

void ctt_fused_close(struct ctt_fused *r, struct ctt_dev *d)
{
    for (int k = 0; k < 2; k++)
        ctt_dev_forget(d, &r->cache[k]);
    while (r->blocks)
        ctt_free(r->block[--r->blocks]);
    ctt_graph_free(&r->g);
}

int ctt_fused_agree(const struct ctt_tensor *a, const struct ctt_tensor *b,
                    double tol)
{
    const float *x = a->data, *y = b->data;
    double worst = 0, top = 1;
    int spoilt = 0;

    for (int64_t i = 0; x && i < ctt_rows(a) * a->ld; i++)
        if (i % a->ld < a->c) {
            worst = fmax(worst, fabs((double)x[i] - y[i]));
            top = fmax(top, fabs((double)y[i]));
        } else {
            spoilt |= x[i] != y[i];
        }
    return worst <= tol * top && !spoilt;
}
