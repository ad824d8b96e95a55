/* SPDX-License-Identifier: Apache-2.0
 * fuse.c: what training needs and serving does not: batch norms and dropouts
 * disappear. */
#include "infer/fuse.h"

#include <math.h>
#include <string.h>

static int readers(const struct ctt_graph *g, int node)
{
    int n = 0;

    for (int i = 0; i < g->count; i++) {
        for (int k = 0; k < g->node[i].nin; k++)
            n += g->node[i].in[k] == node;
        n += g->node[i].op == CTT_OP_STATE && g->node[i].source == node;
    }
    return n;
}

/* The conv that a norm can go into: what it makes is seen by the norm only,
 * and nothing else is added to it. */
static struct ctt_node *host(const struct ctt_graph *g, int norm)
{
    const struct ctt_node *n = &g->node[norm];
    struct ctt_node *p;

    if (n->op != CTT_OP_NORM || n->attr.norm.kind != CTT_NORM_BATCH)
        return NULL;
    p = &g->node[n->in[0]];
    if ((p->op != CTT_OP_CONV && p->op != CTT_OP_DECONV) || p->plus ||
        readers(g, n->in[0]) != 1)
        return NULL;
    return p;
}

static void add_bias(struct ctt_graph *g, struct ctt_node *p)
{
    if (p->nw == 2)
        return;
    p->w[1] = (struct ctt_tensor){ .n = 1, .d = 1, .h = 1, .w = 1,
                                   .c = p->out.c, .ld = p->out.c };
    p->at[1] = g->weights;
    p->nw = 2;
    p->attr.conv.bias = 1;
    g->weights += ctt_align(p->out.c, 16);
}

/* A copy of `old` elements with room for `now`. */
static void *grown(const void *p, size_t size, int64_t old, int64_t now)
{
    void *q = ctt_calloc((size_t)now, size);

    return q ? memcpy(q, p, (size_t)old * size) : NULL;
}

/* Room for the biases of the convs that had none. */
static int make_room(struct ctt_model *m)
{
    int64_t old = m->g->weights;
    uint8_t *keep = NULL;
    float *w;

    for (int i = 0; i < m->g->count; i++) {
        struct ctt_node *p = host(m->g, i);
        if (p)
            add_bias(m->g, p);
    }
    w = grown(m->w, sizeof(*w), old, m->g->weights);
    if (w && m->constraint.keep)
        keep = grown(m->constraint.keep, 1, old, m->g->weights);
    if (!w || (m->constraint.keep && !keep)) {
        ctt_free(w);
        return CTT_ENOMEM;
    }
    ctt_free(m->w);
    ctt_free(m->constraint.keep);
    m->w = w;
    m->constraint.keep = keep;
    return 0;
}

/* gamma (conv + bias - mean) / sqrt(var + eps) + beta is a conv with other
 * weights. */
static void fold(const struct ctt_node *n, const struct ctt_node *p, float *w)
{
    const float *gamma = w + n->at[0], *beta = w + n->at[1];
    const float *mean = w + n->at[2], *var = w + n->at[3];
    int64_t each = ctt_volume(&p->w[0]) / p->out.c;
    float *bias = w + p->at[1];

    for (int64_t j = 0; j < p->out.c; j++) {
        float *row = w + p->at[0] + j * each;
        double scale = (double)gamma[j] /
                       sqrt((double)var[j] + (double)n->attr.norm.eps);
        for (int64_t i = 0; i < each; i++)
            row[i] = (float)(row[i] * scale);
        bias[j] = (float)((double)beta[j] +
                          ((double)bias[j] - (double)mean[j]) * scale);
    }
}

/* A norm adds to every bias, pruned ones too.  (It multiplies the kernel, in
 * which what is pruned stays zero.) */
static void keep_bias(struct ctt_model *m, const struct ctt_node *p)
{
    if (m->constraint.keep)
        memset(m->constraint.keep + p->at[1], 1, (size_t)p->out.c);
}

static void make_name(struct ctt_node *n)
{
    const struct ctt_tensor *t = &n->out;

    n->op = CTT_OP_RESHAPE;
    n->attr.reshape.d = (int)t->d;
    n->attr.reshape.h = (int)t->h;
    n->attr.reshape.w = (int)t->w;
    n->attr.reshape.c = (int)t->c;
    n->nw = 0;
    n->fixed = 0;
}

int ctt_fuse(struct ctt_model *m)
{
    int rc = 0;

    CTT_TRY(make_room(m));
    for (int i = 0; i < m->g->count; i++) {
        struct ctt_node *p = host(m->g, i);
        if (p) {
            fold(&m->g->node[i], p, m->w);
            keep_bias(m, p);
        }
        if (p || m->g->node[i].op == CTT_OP_DROPOUT)
            make_name(&m->g->node[i]);
    }
out:
    return rc;
}
