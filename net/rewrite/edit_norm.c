/* SPDX-License-Identifier: Apache-2.0
 * edit_norm.c: folds batch norms into the convs before them. */
#include "net/late.h"
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <math.h>
#include <string.h>

/* The conv that node `norm` can be folded into, or -1. */
static int host(const struct ctt_graph *g, int norm)
{
    const struct ctt_node *n = &g->node[norm], *p;

    if (!ctt_is_batch_norm(n))
        return -1;
    p = &g->node[n->in[0]];
    if (!ctt_is_conv(p) || p->plus || ctt_node_readers(g, n->in[0]) != 1)
        return -1;
    return n->in[0];
}

int ctt_foldable_norms(const struct ctt_graph *g)
{
    int norms = 0;

    for (int i = 0; i < g->count; i++)
        norms += host(g, i) >= 0;
    return norms;
}

int ctt_edit_norms(struct ctt_edit *e, const struct ctt_graph *g,
                   int (*without)(struct ctt_edit *e, int node))
{
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        int conv = host(g, i);

        if (conv < 0)
            continue;
        CTT_TRY(ctt_edit_set(e, conv, "bias", "1"));
        CTT_TRY((i == ctt_graph_output(g) ? ctt_edit_bypass : without)(e, i));
    }
    rc = 0;
out:
    return rc;
}

/* n: the norm, of the model with weights w; p: the conv, of the model `to`.  A
 * kernel that is still in its file is scaled when it is read. */
static int fold(const struct ctt_node *n, const float *w,
                const struct ctt_node *p, struct ctt_model *to)
{
    const float *gamma = w + n->at[0], *beta = w + n->at[1];
    const float *mean = w + n->at[2], *var = w + n->at[3];
    int64_t each = ctt_volume(&p->w[0]) / p->out.c;
    struct ctt_late *late = ctt_late_find(to->late, p, 0);
    float *bias = to->w + p->at[1], *row = to->w + p->at[0];
    double *scale = ctt_calloc((size_t)p->out.c, sizeof(*scale));
    int rc = 0;

    CTT_TRY(scale ? 0 : CTT_ENOMEM);
    for (int64_t j = 0; j < p->out.c; j++, row += each) {
        scale[j] = (double)gamma[j] /
                   sqrt((double)var[j] + (double)n->attr.norm.eps);
        for (int64_t i = 0; i < each && !late; i++)
            row[i] = (float)(row[i] * scale[j]);
        bias[j] = (float)((double)beta[j] +
                          ((double)bias[j] - (double)mean[j]) * scale[j]);
    }
    CTT_TRY(late ? ctt_late_scale(late, scale) : 0);
out:
    ctt_free(scale);
    return rc;
}

/* A norm adds to every bias, so none stays pruned.  It multiplies each row of
 * the kernel by another number, so pruned values there stay zero, but none are
 * shared any more. */
static void loosen(struct ctt_model *m, const struct ctt_node *p)
{
    if (m->constraint.keep)
        memset(m->constraint.keep + p->at[1], 1, (size_t)p->out.c);
    if (m->constraint.share)
        memset(m->constraint.share + p->at[0], 0,
               (size_t)ctt_volume(&p->w[0]));
}

int ctt_fold_norms(const struct ctt_model *from, struct ctt_model *to)
{
    int rc = 0;

    for (int i = 0; i < from->g->count; i++) {
        int conv = host(from->g, i), at = -1;

        if (conv >= 0)
            at = ctt_graph_find(to->g, from->g->node[conv].name);
        if (at < 0)
            continue;
        CTT_TRY(fold(&from->g->node[i], from->w, &to->g->node[at], to));
        loosen(to, &to->g->node[at]);
    }
out:
    return rc;
}

int ctt_without_norms(const struct ctt_model *m, struct ctt_model **out)
{
    struct ctt_model *to = NULL;
    struct ctt_edit *e = NULL;
    int rc;

    CTT_TRY(ctt_edit_begin(m->g, &e));
    CTT_TRY(ctt_edit_norms(e, m->g, ctt_edit_unlink));
    CTT_TRY(ctt_edit_model(e, m, &to));
    CTT_TRY(ctt_fold_norms(m, to));
    *out = to;
    to = NULL;
out:
    ctt_model_free(&to);
    ctt_edit_free(&e);
    return rc;
}
