/* SPDX-License-Identifier: Apache-2.0
 * fold.c: the stage "folding": batch norms go into the convs before them, and
 * channels that nothing reads are dropped. */
#include "compress/stage.h"
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Both models have the same nodes. */
static void count_dropped(const struct ctt_model *from,
                          const struct ctt_model *to, struct ctt_folded *done)
{
    for (int i = 0; i < from->g->count; i++) {
        int64_t less = from->g->node[i].out.c - to->g->node[i].out.c;

        if (!ctt_is_conv(&from->g->node[i]) || less == 0)
            continue;
        done->channels += less;
        done->layers++;
    }
}

/* ---- the report ---- */

static void note_dropped(struct ctt_weight_row *row, int64_t dropped)
{
    size_t n = strlen(row->reason);

    snprintf(row->reason + n, CTT_REASON - n, "%s%" PRId64 " outputs dropped",
             n ? "; " : "", dropped);
}

static void fill_row(const struct ctt_model *from, const struct ctt_model *to,
                     struct ctt_weight_row *row)
{
    int64_t dropped = 0;

    row->params_after = row->macs_after = 0;
    for (int i = 0; i < to->g->count; i++) {
        if (!ctt_is_conv(&to->g->node[i]) ||
            !ctt_row_has(row, to->g->node[i].name, ""))
            continue;
        row->params_after += ctt_volume(&to->g->node[i].w[0]);
        row->macs_after += ctt_node_macs(to->g, i);
        dropped += from->g->node[i].out.c - to->g->node[i].out.c;
    }
    if (dropped)
        note_dropped(row, dropped);
}

/* ---- the model ---- */

/* A norm gives each channel another factor, so that the weights of a conv would
 * share no value any more. */
static int norms_destroy(const struct ctt_model *m)
{
    return ctt_foldable_norms(m->g) > 0 &&
           ctt_constraint_shares(&m->constraint, m->g->weights);
}

int ctt_fold_model(const struct ctt_model *m, int what, struct ctt_report *r,
                   struct ctt_folded *done, struct ctt_model **out)
{
    struct ctt_model *folded = NULL, *to = NULL;
    int rc = 0;

    *done = (struct ctt_folded){ 0 };
    if (what == CTT_FOLD_AUTO)
        what = norms_destroy(m) ? CTT_FOLD_DEAD : CTT_FOLD_ALL;
    if (what & CTT_FOLD_NORMS) {
        done->norms = ctt_foldable_norms(m->g);
        CTT_TRY(ctt_without_norms(m, &folded));
    } else {
        CTT_TRY(ctt_model_copy(m, &folded));
    }
    if (what & CTT_FOLD_DEAD) {
        CTT_TRY(ctt_drop_dead(folded, &to));
        count_dropped(folded, to, done);
        for (int i = 0; i < r->weights; i++)
            fill_row(folded, to, &r->weight[i]);
    }
    *out = to ? to : folded;
    folded = to ? folded : NULL;
out:
    ctt_model_free(&folded);
    return rc;
}

/* ---- the stage ---- */

static const char *const words[] = { "none", "norms", "dead", "all", "auto",
                                     NULL };

static const struct ctt_opt options[] = {
    { .name = "fold", .type = CTT_CHOICE,
      .off = offsetof(struct ctt_recipe, fold.what), .dflt = "auto",
      .help = "after pruning, fold batch norms into the convs before them "
      "(norms), drop channels that have no effect (dead), or both; auto: both, "
      "in a run that does something else too (norms only if no weights are "
      "shared). The answers stay the same up to rounding; later training goes "
      "on without norms",
      .choices = words },
    { .name = NULL }
};

static int folding_asked(const struct ctt_recipe *o)
{
    return o->fold.what != CTT_FOLD_NONE;
}

static int given(const struct ctt_recipe *o)
{
    return folding_asked(o) && o->fold.what != CTT_FOLD_AUTO;
}

static int check_folding(const struct ctt_recipe *o, const struct ctt_model *m)
{
    int what = o->fold.what, rc = 0;

    if (what != CTT_FOLD_AUTO && (what & CTT_FOLD_NORMS))
        CTT_CHECK(!norms_destroy(m), CTT_EINVAL, "batch norms cannot be folded "
                  "into shared weights: fold before sharing, or give "
                  "--fold dead");
out:
    return rc;
}

static int fold_norms(struct ctt_walk *k, int round)
{
    struct ctt_model *m = NULL;
    struct ctt_folded f;
    int rc = 0;

    (void)round;
    CTT_TRY(ctt_fold_model(*k->m, k->o->fold.what, k->r, &f, &m));
    ctt_model_free(k->m);
    *k->m = m;
    if (!f.norms && !f.channels) {
        ctt_walk_same(k, "folded");
        goto out;
    }
    snprintf(k->name, sizeof(k->name), "folded");
    snprintf(k->line, sizeof(k->line), "folded: %d norms, %" PRId64
             " dead channels of %d convs dropped", f.norms, f.channels,
             f.layers);
out:
    return rc;
}

/* No retraining of its own: folding changes no answer. */
const struct ctt_stage ctt_stage_fold = {
    .section = "Folding", .options = options, .ask = "--fold",
    .asked = folding_asked, .given = given, .check = check_folding,
    .run = fold_norms,
};
