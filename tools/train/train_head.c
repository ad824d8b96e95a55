/* SPDX-License-Identifier: Apache-2.0
 * train_head.c: --backbone: a head on the maps of a model of others: its fit
 * and what is said of it. */
#include "tools/train/train_tool.h"
#include "libtrain/recognise/head.h"
#include "net/rewrite/edit.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"

#include <stdio.h>

int ctt_backbone_graph(const struct ctt_train_cfg *cfg, const char *path,
                       struct ctt_graph **out)
{
    struct ctt_model *m = NULL;
    struct ctt_graph *text = NULL;
    int rc;

    if (ctt_tool_is_net(path))
        CTT_TRY(ctt_tool_net(path, &text));
    else
        CTT_TRY(ctt_model_load_finite(path, &m));
    rc = ctt_head_graph(m ? m->g : text, cfg->nodes, out);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", path, ctt_errmsg()));
out:
    ctt_model_free(&m);
    ctt_graph_free(&text);
    return rc;
}

static const char *const parts_of[CTT_HEAD_BOTH + 1] = {
    [CTT_HEAD_MOTION] = "changes over 1/6 and 1/3 s",
    [CTT_HEAD_MAPS] = "maps themselves", [CTT_HEAD_BOTH] = "both",
};

static void tell_fit(const struct ctt_train_cfg *cfg, const struct ctt_model *m,
                     const struct ctt_head_fit *f)
{
    if (f->groups)
        ctt_tool_say("groups of clips that are left out together: %d, by their "
                     "names or frames", f->groups);
    else
        ctt_tool_say("groups of clips that are left out together: runs of the "
                     "list, as neighbours may be of one video");
    for (int k = CTT_HEAD_MOTION; k <= CTT_HEAD_BOTH; k++)
        if (!cfg->reads || cfg->reads == k)
            ctt_tool_say("%s of %s: %.1f%% of answers to clips left out are "
                         "right%s", parts_of[k], cfg->nodes,
                         100 * f->right[k], cfg->reads || (int)f->parts != k ?
                         "" : "; least squared error, so chosen");
    ctt_tool_say("head: %d inputs, %lld classes, penalty %g, fitted to %d "
                 "clips", f->inputs,
                 (long long)m->g->node[ctt_graph_output(m->g)].out.c,
                 f->penalty, f->clips);
}

/* Random weights need statistics of frames. */
static int randomise(struct ctt_training *j)
{
    int rc = 0;

    if (!ctt_tool_is_net(j->text))
        return 0;
    ctt_tool_say("%s is a text: its weights are random (--seed=%d), the "
                 "statistics of its norms those of frames; a control, to "
                 "compare learnt weights with", j->text, j->cfg.seed);
    j->cfg.wiring.random = 1;
    CTT_TRY(ctt_features_norms(j->m, &j->cfg, j->data));
out:
    return rc;
}

/* The fit behind the last clip calls no other process, so nothing could say
 * that it goes on. */
static void on_scan(void *arg, int done, int clips)
{
    ctt_say_events.scan(arg, done, clips);
    ctt_ranks_step(done);
    if (done == clips)
        ctt_ranks_unwatch();
}

int ctt_fit_head(struct ctt_training *j, struct ctt_model **folded)
{
    struct ctt_events ev = ctt_say_events;
    struct ctt_head_fit fit;
    int rc;

    CTT_TRY(randomise(j));
    ev.scan = on_scan;
    CTT_TRY(ctt_head_ridge(&j->m, &j->cfg, j->data, j->known, &ev, &fit));
    ctt_ranks_unwatch();
    CTT_TRY(ctt_model_finite(j->m));
    tell_fit(&j->cfg, j->m, &fit);
    CTT_TRY(ctt_train_note(j->m, &j->cfg, j->data));
    if (ctt_ranks_writes(&j->cfg))
        CTT_TRY(ctt_model_save_inference(j->cfg.out, j->m));
    CTT_TRY(ctt_without_norms(j->m, folded));
out:
    return rc;
}

int ctt_train_head(struct ctt_training *j)
{
    struct ctt_model *folded = NULL;
    int rc;

    CTT_TRY(ctt_fit_head(j, &folded));
    CTT_TRY(ctt_train_result(&j->cfg, folded, j));
out:
    ctt_model_free(&folded);
    return rc;
}
