/* SPDX-License-Identifier: Apache-2.0
 * overflow.c: the last node of the graph with an infinite gradient of its
 * weights: the backward pass begins there, so it is infinite from there on. */
#include "libtrain/trainer.h"
#include "libtrain/optim.h"

#include <math.h>

static int is_finite_node(const struct ctt_node *n, const float *dw)
{
    for (int k = 0; k < n->nw; k++)
        for (int64_t i = 0; i < ctt_volume(&n->w[k]); i++)
            if (!isfinite(dw[n->at[k] + i]))
                return 0;
    return 1;
}

static int last_infinite(const struct ctt_graph *g, const float *dw)
{
    int i = g->count - 1;

    while (i >= 0 && is_finite_node(&g->node[i], dw))
        i--;
    return i;
}

int ctt_trainer_overflow(struct ctt_trainer *t)
{
    const struct ctt_graph *g = t->m->g;
    float *dw = ctt_calloc((size_t)g->weights + 1, sizeof(*dw));
    int rc = dw ? 0 : CTT_ENOMEM, node;

    CTT_TRY(rc);
    if (!t->overflows)
        t->overflows = ctt_calloc((size_t)g->count, sizeof(*t->overflows));
    CTT_TRY(t->overflows ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_dev_copy(t->dev, CTT_TO_HOST, t->dw, dw,
                         g->weights * (int64_t)sizeof(*dw)));
    CTT_TRY(ctt_dev_sync(t->dev));
    node = last_infinite(g, dw);
    if (node >= 0)
        t->overflows[node]++;
out:
    ctt_free(dw);
    return rc;
}

void ctt_trainer_overflowed(const struct ctt_trainer *t, struct ctt_result *r)
{
    const struct ctt_graph *g = t->m->g;

    r->overflows = 0;
    for (int i = g->count - 1; t->overflows && i >= 0; i--)
        if (t->overflows[i] > r->overflows) {
            r->overflows = t->overflows[i];
            snprintf(r->overflow, sizeof(r->overflow), "%s", g->node[i].name);
        }
}
