/* SPDX-License-Identifier: Apache-2.0
 * compress_clips.c: the clips that convtt-compress reads. */
#include "tools/compress/compress_tool.h"
#include "base/statistics/statistics.h"
#include "tools/shared/measure.h"
#include "tools/shared/tool.h"
#include "tools/shared/training.h"

/* Clips without classes have those of the given model's answers. */
static int take_answers(struct ctt_compress_job *j, const char *path,
                        struct ctt_data *d)
{
    static const struct ctt_point end = { .ratio = 1 };
    int clips = ctt_data_clips(d), rc, *label;
    struct ctt_metrics *r = NULL;

    label = ctt_calloc((size_t)clips, sizeof(*label));
    CTT_TRY(label ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_answer_recognise(j->m, &j->c.train, d, &end, 1, &r));
    for (int i = 0; i < clips; i++)
        ctt_top(r->answer + (size_t)i * (size_t)r->classes, r->classes,
                &label[i], 1);
    ctt_data_label(d, label);
    ctt_tool_say("%s: no clip has a class: the answers of %s stand for them, "
                 "and top-1 is how often a model agrees with it", path,
                 j->path);
out:
    ctt_metrics_free(&r);
    ctt_free(label);
    return rc;
}

static int open_data(struct ctt_compress_job *j, const char *path,
                     const char *split, struct ctt_data **out)
{
    const struct ctt_graph *g = j->m->g;
    int rc;

    j->c.train.wiring.unlabelled = !g->several;
    rc = ctt_data_open(path, split, &g->node[ctt_graph_input(g)].attr.input,
                       j->m->label, j->m->labels, &j->c.train, &j->ev, out);
    j->c.train.wiring.unlabelled = 0;    /* not what proves the result */
    CTT_TRY(rc);
    if (ctt_data_unlabelled(*out))
        CTT_TRY(take_answers(j, path, *out));
out:
    return rc;
}

int ctt_compress_needs_data(const struct ctt_recipe *r)
{
    return r->epochs > 0 || r->svd.on == CTT_ON_RESPONSES ||
           r->tt.on == CTT_ON_RESPONSES || ctt_int8_given(&r->int8);
}

/* Whether it can do without, if the validation clips are the same. */
static int spares_data(const struct ctt_compress_job *j)
{
    return !ctt_compress_needs_data(&j->c.recipe) &&
           ctt_opt_is_default(j->tab + ctt_opt_find(j->tab, "norm-clips"),
                              &j->c);
}

/* Fewer clips hardly tell the ranges of values. */
enum { FEW_CLIPS = 8 };

static void tell_few(const struct ctt_compress_job *j)
{
    const struct ctt_recipe *r = &j->c.recipe;
    int clips = j->data ? ctt_data_clips(j->data) : 0;
    int may = j->c.train.data && j->val && ctt_recipe_opens_type(r);

    if (may && !j->data)
        ctt_tool_say("int8: nothing to choose, as ranges of values are "
                     "measured on training clips, and %s", r->norm_clips > 0
                     ? "those of --data are the validation clips"
                     : "--norm-clips 0 without retraining reads none");
    else if ((may || ctt_int8_given(&r->int8)) && clips < FEW_CLIPS)
        ctt_tool_say("int8: %d training clips are few to measure ranges of "
                     "values on: others may be clipped", clips);
}

/* Fewer clips do not tell a loss of 6 points from chance. */
enum { FEW_TO_JUDGE = 100 };

static void warn_few(const struct ctt_compress_job *j)
{
    int clips = ctt_data_clips(j->val);

    if (j->c.recipe.automatic && j->c.recipe.epochs > 0 &&
        clips < FEW_TO_JUDGE && !j->m->g->several)
        ctt_tool_warn("%d validation clip%s: a loss below %.0f points may be "
                      "chance, so this may compress harder than they can tell: "
                      "more clips, or --val with those of another day", clips,
                      ctt_s(clips), 100 * ctt_mcnemar_least(clips));
}

/* Of data without a split to validate on: a fifth, or of few clips that are not
 * trained on all. */
static int hold_out(struct ctt_compress_job *j)
{
    const struct ctt_train_cfg *c = &j->c.train;
    const struct ctt_graph *g = j->m->g;
    int rc;

    CTT_TRY(ctt_hold_out(c, &g->node[ctt_graph_input(g)].attr.input, &j->data,
                         &j->val, &j->whole));
    if (rc || j->val)
        return 0;
    CTT_CHECK(spares_data(j), CTT_EINVAL, "%s: has no split '%s' to validate "
              "on; pass --val", c->data, c->val_split);
    j->val = j->data;
    j->data = NULL;
out:
    return rc;
}

static int open_clips(struct ctt_compress_job *j)
{
    const struct ctt_train_cfg *c = &j->c.train;
    int rc = 0;

    if (c->data && (ctt_compress_needs_data(&j->c.recipe) ||
                    j->c.recipe.norm_clips > 0))
        CTT_TRY(open_data(j, c->data, c->split, &j->data));
    if (c->task != CTT_RECOGNISE) {
        if (j->data && c->val)
            CTT_TRY(open_data(j, c->val, c->val_split, &j->val));
        else if (j->data && j->c.recipe.epochs > 0)
            CTT_TRY(hold_out(j));
        CTT_CHECK(!j->val || !ctt_data_same(j->data, j->val), CTT_EINVAL,
                  "%s: --val has the same lines; without it a fifth is held "
                  "out", c->val);
        CTT_TRY(ctt_say_set("training", j->data));
        tell_few(j);
        goto out;
    }
    if (j->data && !c->val)
        CTT_TRY(hold_out(j));
    if (!j->val)
        CTT_TRY(open_data(j, c->val ? c->val : c->data, c->val_split,
                          &j->val));
    if (spares_data(j) && j->data && ctt_data_same(j->data, j->val))
        ctt_data_close(&j->data);
    CTT_CHECK(!j->data || !ctt_data_same(j->data, j->val), CTT_EINVAL,
              "%s: --val has the same clips; without it a fifth is held out",
              c->val);
    if (j->data) {
        CTT_TRY(ctt_say_set("training", j->data));
        CTT_TRY(ctt_say_shared("validation", j->val, "training",
                               j->data));
    }
    CTT_TRY(ctt_say_set("validation", j->val));
    CTT_TRY(ctt_check_several(j->m->g, ctt_data_several(j->val),
                              c->val ? c->val : c->data,
                              c->val ? NULL : c->val_split));
    CTT_TRY(ctt_held_out_check(c, j->m, j->data ? j->data : j->val, NULL));
    ctt_tool_say("%d training %s, %d validation %s",
                 j->data ? ctt_data_clips(j->data) : 0, ctt_word_clips(c),
                 ctt_data_clips(j->val), ctt_word_clips(c));
    warn_few(j);
    tell_few(j);
out:
    return rc;
}

int ctt_compress_open_clips(struct ctt_compress_job *j)
{
    int rc = open_clips(j);

    if (rc < 0)
        j->status = ctt_tool_status(rc);
    return rc;
}
