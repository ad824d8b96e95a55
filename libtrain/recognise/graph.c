/* SPDX-License-Identifier: Apache-2.0
 * graph.c: the training graph of recognition: the model with a target and its
 * loss. */
#include "libtrain/recognise/recognise.h"
#include "libtrain/recognise/aux_head.h"
#include "libtrain/layers.h"
#include "libtrain/task.h"
#include "net/rewrite/edit.h"

int ctt_answer_classes(const struct ctt_graph *g)
{
    return (int)g->node[ctt_graph_output(g)].out.c;
}

int ctt_answer_check(const struct ctt_graph *g)
{
    const struct ctt_node *n = &g->node[ctt_graph_output(g)];
    const struct ctt_tensor *in = &g->node[ctt_graph_input(g)].out;
    int rc = 0;

    CTT_CHECK(n->out.h * n->out.w == 1 || n->out.h != in->h ||
              n->out.w != in->w, CTT_EUNSUP, "%s: the answer is a frame of "
              "%lldx%lld, not a class; --task=predict trains a model that "
              "predicts frames", n->name, (long long)n->out.w,
              (long long)n->out.h);
    CTT_CHECK(n->out.d * n->out.h * n->out.w == 1, CTT_EUNSUP,
              "%s: the answer is %lldx%lldx%lld; a class needs 1x1x1", n->name,
              (long long)n->out.d, (long long)n->out.h, (long long)n->out.w);
out:
    return rc;
}

/* Without distributions as targets the loss spreads label_smooth itself. */
int ctt_recognise_graph(const struct ctt_graph *model,
                        const struct ctt_train_cfg *cfg,
                        struct ctt_graph **out)
{
    const char *answer = model->node[ctt_graph_output(model)].name;
    int soft = ctt_has_aims(model, cfg), classes = ctt_answer_classes(model);
    double smooth = soft ? 0 : (double)cfg->label_smooth;
    struct ctt_edit *e = NULL;
    int rc = 0, end = model->count;

    CTT_TRY(ctt_answer_check(model));
    CTT_TRY(ctt_aims_check(cfg));
    CTT_TRY(ctt_edit_begin(model, &e));
    if (cfg->task == CTT_BOTH)
        CTT_TRY(ctt_aux_head_graph(e, model));
    CTT_TRY(ctt_edit_add(e, end, "input train.target c=%d",
                         model->several ? 4 * classes : soft ? 2 * classes
                                                             : CTT_TARGET));
    CTT_TRY(ctt_edit_add(e, end, "loss train.loss in=%s,train.target "
                         "kind=%s smooth=%.9g temperature=%.9g", answer,
                         model->several ? "binary" : soft ? "soft" : "xent",
                         smooth,
                         soft ? (double)cfg->temperature : 1));
    CTT_TRY(ctt_edit_graph(e, out));
    ctt_freeze(*out, cfg);
out:
    ctt_edit_free(&e);
    return rc;
}
