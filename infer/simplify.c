/* SPDX-License-Identifier: Apache-2.0
 * simplify.c: removes the nodes that only training needs: batch norms and
 * dropouts. */
#include "infer/inside.h"
#include "net/rewrite/edit.h"

static int edit(struct ctt_edit *e, const struct ctt_graph *g)
{
    int rc = 0;

    CTT_TRY(ctt_edit_norms(e, g, ctt_edit_bypass));
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_DROPOUT)
            CTT_TRY(ctt_edit_bypass(e, i));
out:
    return rc;
}

int ctt_simplify(struct ctt_model **m)
{
    struct ctt_edit *e = NULL;
    struct ctt_model *simpler = NULL;
    int rc = 0;

    CTT_TRY(ctt_edit_begin((*m)->g, &e));
    CTT_TRY(edit(e, (*m)->g));
    CTT_TRY(ctt_edit_model(e, *m, &simpler));
    CTT_TRY(ctt_fold_norms(*m, simpler));
    ctt_edit_free(&e);
    ctt_model_free(m);
    *m = simpler;
    simpler = NULL;
out:
    ctt_model_free(&simpler);
    ctt_edit_free(&e);
    return rc;
}
