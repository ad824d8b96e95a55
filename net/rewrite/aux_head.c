/* SPDX-License-Identifier: Apache-2.0
 * aux_head.c: a model without the prediction of its line `ahead`. */
#include "net/rewrite/aux_head.h"
#include "net/rewrite/edit.h"

int ctt_aux_head_drop(const struct ctt_graph *g, struct ctt_graph **out)
{
    struct ctt_edit *e = NULL;
    int rc;

    CTT_TRY(ctt_edit_begin(g, &e));
    for (int i = 0; i < g->count; i++)
        if (g->node[i].aside)
            ctt_edit_remove(e, i);
    CTT_TRY(ctt_edit_graph(e, out));
out:
    ctt_edit_free(&e);
    return rc;
}

int ctt_aux_head_drop_model(const struct ctt_model *m, struct ctt_model **out)
{
    struct ctt_graph *g = NULL;
    int rc;

    CTT_TRY(ctt_aux_head_drop(m->g, &g));
    CTT_TRY(ctt_model_with(g, m, out));
out:
    return rc;
}

int ctt_aux_head_drop_from(struct ctt_model **m)
{
    struct ctt_model *plain = NULL;
    int rc = 0;

    if (ctt_graph_ahead((*m)->g) < 0)
        goto out;
    CTT_TRY(ctt_aux_head_drop_model(*m, &plain));
    ctt_model_free(m);
    *m = plain;
out:
    return rc;
}
