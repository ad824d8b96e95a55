/* SPDX-License-Identifier: Apache-2.0
 * parts.c: the convs of a compressed model that replace a weight of the dense
 * one, and their product as one conv. */
#include "compress/explain/undo.h"
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <stdio.h>
#include <string.h>

/* ---- the parts ---- */

void ctt_parts_find(const struct ctt_graph *dense, int node,
                    const struct ctt_graph *small, struct ctt_parts *out)
{
    const char *own = dense->node[node].name;
    char name[CTT_NAME + 16];
    int at = ctt_graph_find(small, own);

    out->count = 0;
    if (at < 0 || !ctt_is_conv(&small->node[at]))
        return;
    for (int k = 1; k < CTT_MAX_CORES; k++) {
        int core;

        snprintf(name, sizeof(name), "%s.t%d", own, k);
        core = ctt_graph_find(small, name);
        if (core < 0 || !ctt_is_conv(&small->node[core]) ||
            ctt_graph_find(dense, name) >= 0)
            break;
        out->node[out->count++] = core;
    }
    out->node[out->count++] = at;
}

int ctt_kernel_shares(const struct ctt_model *m, int i)
{
    const struct ctt_node *n = &m->g->node[i];

    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
        if (ctt_code(&m->constraint, n->at[0] + k))
            return 1;
    return 0;
}

int ctt_kernel_pruned(const struct ctt_model *m, int i)
{
    const struct ctt_node *n = &m->g->node[i];

    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
        if (ctt_is_pruned(&m->constraint, n->at[0] + k))
            return 1;
    return 0;
}

int ctt_parts_together(const struct ctt_graph *g, const struct ctt_parts *p,
                       struct ctt_slide *out)
{
    *out = (struct ctt_slide){ { 1, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 },
                               { 0, 0, 0 }, { 1, 1, 1 } };
    for (int k = 0; k < p->count; k++) {
        struct ctt_slide s = ctt_slide_of(&g->node[p->node[k]]);

        for (int a = 0; a < 3; a++) {
            if (s.kernel[a] * s.stride[a] == 1 && s.pad[a] == 0)
                continue;
            if (out->kernel[a] * out->stride[a] > 1 || out->pad[a] > 0)
                return 0;
            out->kernel[a] = s.kernel[a];
            out->stride[a] = s.stride[a];
            out->pad[a] = s.pad[a];
            out->after[a] = s.after[a];
            out->dilation[a] = s.dilation[a];
        }
    }
    return 1;
}

/* ---- the product ---- */

/* A kernel (out, d, h, w, in); one of d, h and w of two is 1 each. */
struct kernel {
    int64_t out, size[3], in;
    float  *w;
};

static struct kernel of_node(const struct ctt_model *m, int i)
{
    const struct ctt_node *n = &m->g->node[i];
    const struct ctt_tensor *t = &n->w[0];

    return (struct kernel){ t->n, { t->d, t->h, t->w }, t->c,
                            m->w + n->at[0] };
}

static float *at(const struct kernel *k, int64_t o, const int64_t tap[3])
{
    return k->w + (((o * k->size[0] + tap[0]) * k->size[1] + tap[1]) *
                   k->size[2] + tap[2]) * k->in;
}

/* Adds b's row for output o and a tap, times a, to the result's. */
static void add_product_row(const struct kernel *a, const struct kernel *b,
                            int64_t o, const int64_t ta[3], const int64_t tb[3],
                            const struct kernel *to)
{
    const int64_t t[3] = { ta[0] + tb[0], ta[1] + tb[1], ta[2] + tb[2] };
    const float *by = at(b, o, tb);
    float *row = at(to, o, t);

    for (int64_t r = 0; r < b->in; r++) {
        const float *from = at(a, r, ta);

        for (int64_t i = 0; i < a->in; i++)
            row[i] += by[r] * from[i];
    }
}

static int64_t taps(const struct kernel *k)
{
    return k->size[0] * k->size[1] * k->size[2];
}

static void tap_of(const struct kernel *k, int64_t i, int64_t tap[3])
{
    tap[0] = i / (k->size[1] * k->size[2]);
    tap[1] = i / k->size[2] % k->size[1];
    tap[2] = i % k->size[2];
}

/* The kernel of a and then b; the caller frees to->w. */
static int multiply(const struct kernel *a, const struct kernel *b,
                    struct kernel *to)
{
    int64_t ta[3], tb[3];

    *to = (struct kernel){ b->out, { 0, 0, 0 }, a->in, NULL };
    for (int k = 0; k < 3; k++)
        to->size[k] = a->size[k] * b->size[k];
    to->w = ctt_calloc((size_t)(to->out * taps(to) * to->in),
                       sizeof(*to->w));
    if (!to->w)
        return CTT_ENOMEM;
    for (int64_t o = 0; o < b->out; o++)
        for (int64_t i = 0; i < taps(b); i++)
            for (int64_t j = 0; j < taps(a); j++) {
                tap_of(b, i, tb);
                tap_of(a, j, ta);
                add_product_row(a, b, o, ta, tb, to);
            }
    return 0;
}

static int product(const struct ctt_model *m, const struct ctt_parts *p,
                   struct kernel *out)
{
    struct kernel all = of_node(m, p->node[0]), next;
    int rc = 0;

    for (int k = 1; k < p->count; k++) {
        struct kernel b = of_node(m, p->node[k]);

        rc = multiply(&all, &b, &next);
        if (k > 1)
            ctt_free(all.w);
        CTT_TRY(rc);
        all = next;
    }
    *out = all;
out:
    return rc;
}

/* ---- the text ---- */

static int is_part(const struct ctt_parts *p, int i)
{
    for (int k = 0; k < p->count - 1; k++)
        if (p->node[k] == i)
            return 1;
    return 0;
}

/* Whether a node only brings the values of a part to the next one. */
static int is_between(const struct ctt_graph *g, const struct ctt_parts *p,
                      int i)
{
    return g->node[i].op == CTT_OP_QUANT && is_part(p, g->node[i].in[0]);
}

static int check_readers(const struct ctt_graph *g, const struct ctt_parts *p)
{
    int last = p->node[p->count - 1], rc = 0;

    for (int k = 0; k < p->count - 1; k++)
        CTT_CHECK(!g->node[p->node[k]].attr.conv.bias, CTT_EUNSUP, "%s: has a "
                  "bias between the cores of %s", g->node[p->node[k]].name,
                  g->node[last].name);
    for (int i = 0; i < g->count; i++) {
        if (i == last || is_part(p, i) || is_between(g, p, i))
            continue;
        for (int k = 0; k < ctt_node_inputs(&g->node[i]); k++) {
            int from = ctt_node_input(&g->node[i], k);

            CTT_CHECK(!is_part(p, from) && !is_between(g, p, from),
                      CTT_EUNSUP, "%s: is read between the cores of %s",
                      g->node[from].name, g->node[last].name);
        }
    }
out:
    return rc;
}

/* A core of a deconv that only mixes channels is a conv. */
static enum ctt_opcode op_of(const struct ctt_graph *g,
                             const struct ctt_parts *p)
{
    for (int k = 0; k < p->count; k++)
        if (g->node[p->node[k]].op == CTT_OP_DECONV)
            return CTT_OP_DECONV;
    return CTT_OP_CONV;
}

static int edit(const struct ctt_model *m, const struct ctt_parts *p,
                const struct ctt_slide *v, struct ctt_model **out)
{
    const struct ctt_graph *g = m->g;
    int i = p->node[p->count - 1], rc;
    const struct ctt_node *n = &g->node[i], *first = &g->node[p->node[0]];
    struct ctt_edit *e = NULL;
    char text[CTT_SLIDE_TEXT];

    CTT_TRY(ctt_edit_begin(g, &e));
    ctt_slide_text(v, text);
    CTT_TRY(ctt_edit_add(e, i, "%s %s in=%s%s%s out=%lld%s bias=%d",
                         ctt_ops[op_of(g, p)].name,
                         n->name, g->node[first->in[0]].name,
                         n->plus ? " plus=" : "",
                         n->plus ? g->node[n->in[1]].name : "",
                         (long long)n->out.c, text, n->attr.conv.bias));
    ctt_edit_remove(e, i);
    for (int k = 0; k < g->count; k++)
        if (is_part(p, k) || is_between(g, p, k))
            ctt_edit_remove(e, k);
    CTT_TRY(ctt_edit_model(e, m, out));
out:
    ctt_edit_free(&e);
    return rc;
}

/* Sets the product as weight and clears the mask and codes, which a core of the
 * same shape may have left. */
static void put_product(struct ctt_model *m, const char *name,
                        const struct kernel *k)
{
    const struct ctt_node *n = &m->g->node[ctt_graph_find(m->g, name)];
    size_t count = (size_t)ctt_volume(&n->w[0]);

    memcpy(m->w + n->at[0], k->w, count * sizeof(*k->w));
    if (m->constraint.keep)
        memset(m->constraint.keep + n->at[0], 1, count);
    if (m->constraint.share)
        memset(m->constraint.share + n->at[0], 0, count);
}

int ctt_parts_multiply(const struct ctt_model *m, const struct ctt_parts *p,
                       struct ctt_model **out)
{
    const char *name = m->g->node[p->node[p->count - 1]].name;
    struct ctt_slide v;
    struct ctt_model *to = NULL;
    struct kernel k = { .w = NULL };
    int rc = 0;

    CTT_CHECK(p->count > 1, CTT_EINVAL, "%s: is not factorised", name);
    CTT_CHECK(ctt_parts_together(m->g, p, &v), CTT_EUNSUP, "%s: its cores are "
              "no single conv", name);
    CTT_TRY(check_readers(m->g, p));
    CTT_TRY(product(m, p, &k));
    CTT_TRY(edit(m, p, &v, &to));
    put_product(to, name, &k);
    *out = to;
    to = NULL;
out:
    ctt_model_free(&to);
    ctt_free(k.w);
    return rc;
}
