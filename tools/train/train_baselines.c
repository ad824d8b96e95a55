/* SPDX-License-Identifier: Apache-2.0
 * train_baselines.c: the table of a trained model beside answers without a
 * network, on the same clips. */
#include "tools/train/train_tool.h"
#include "base/statistics/statistics.h"
#include "libtrain/recognise/baseline.h"
#include "tools/shared/tool.h"

#include <stdio.h>
#include <string.h>

static const struct ctt_point shares[] = {
    { .ratio = 0.25 }, { .ratio = 0.5 }, { .ratio = 1 },
};
enum { SHARES = CTT_LEN(shares) };

/* The scores of m at the shares only. */
static int take_shares(const struct ctt_metrics *m, int clips,
                       struct ctt_metrics **out)
{
    int from[SHARES] = { 0 }, rc;

    CTT_TRY(ctt_metrics_new(m->classes, shares, SHARES, out));
    (*out)->verdict = ctt_calloc((size_t)clips * SHARES, 1);
    CTT_TRY((*out)->verdict ? 0 : CTT_ENOMEM);
    (*out)->clips = m->clips;
    for (int k = 0; k < SHARES; k++) {
        while (m->point[from[k]].frames ||
               m->point[from[k]].ratio < shares[k].ratio)
            from[k]++;
        (*out)->top1[k] = m->top1[from[k]];
    }
    for (int i = 0; i < clips * SHARES; i++)
        (*out)->verdict[i] = m->verdict[i / SHARES * m->points +
                                        from[i % SHARES]];
out:
    return rc;
}

void ctt_accuracy_head(struct ctt_table *t)
{
    ctt_table_row(t, "answer from\tat 25%%\t50%%\t100%%\t95%% at 100%%");
}

void ctt_accuracy_row(struct ctt_table *t, const char *name,
                      const struct ctt_metrics *m)
{
    int last = m->points - 1;
    char range[32];

    ctt_wilson_text(ctt_metrics_top1(m, last), m->clips, range, sizeof(range));
    ctt_table_row(t, "%s\t%.1f%%\t%.1f%%\t%.1f%%\t%s", name,
                  100 * ctt_metrics_top1(m, 0), 100 * ctt_metrics_top1(m, 1),
                  100 * ctt_metrics_top1(m, last), range);
}

static int tell_table(const struct ctt_baselines *b,
                      const struct ctt_metrics *m, const char *fitted,
                      const char *set)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    int rc;

    printf("\nthe same clips without a network (linear, fitted to %s), on %s\n",
           fitted, set);
    ctt_accuracy_head(&t);
    for (int k = 0; k < CTT_BASELINES; k++)
        ctt_accuracy_row(&t, ctt_baseline_names[k], b->of[k]);
    ctt_accuracy_row(&t, "the model", m);
    CTT_TRY(ctt_table_print(&t));
out:
    return rc;
}

static int best_of(const struct ctt_baselines *b, int point)
{
    int best = 0;

    for (int k = 1; k < CTT_BASELINES; k++)
        if (b->of[k]->top1[point] > b->of[best]->top1[point])
            best = k;
    return best;
}

static void tell_gain(const struct ctt_baselines *b,
                      const struct ctt_metrics *m, int clips)
{
    int last = m->points - 1, best = best_of(b, last);
    struct ctt_pair n = ctt_metrics_pair(m, b->of[best], clips);
    double more = 100 * (ctt_metrics_top1(m, last) -
                         ctt_metrics_top1(b->of[best], last));

    ctt_tool_say("the model beside the best of these at 100%% (%s): %+.1f "
                 "points; %lld clip%s more right, %lld more wrong (McNemar p = "
                 "%.2g)",
                 ctt_baseline_names[best], more, (long long)n.first,
                 ctt_s(n.first), (long long)n.second,
                 ctt_mcnemar(n.second, n.first));
}

/* One frame knows the class, and about as well as the model. */
static void warn_of_scene(const struct ctt_baselines *b,
                          const struct ctt_metrics *m, int clips)
{
    const struct ctt_metrics *frame = ctt_baselines_scene(b, clips);
    int last = m->points - 1;

    if (frame && ctt_metrics_better(m, b->of[CTT_LARGEST_CLASS], clips) &&
        !ctt_metrics_better(m, frame, clips))
        ctt_tool_warn("that one frame (%.1f%%) says less than the model "
                      "(%.1f%%) may be chance: the scene may decide, not the "
                      "action; film each class in several places, and validate "
                      "on others (doc/data.md)",
                      100 * ctt_metrics_top1(frame, last),
                      100 * ctt_metrics_top1(m, last));
}

static int tell_beside(const struct ctt_baselines *b,
                       const struct ctt_metrics *m, struct ctt_data *d,
                       const char *fitted, const char *set)
{
    int clips = ctt_data_clips(d), rc;

    CTT_TRY(tell_table(b, m, fitted, set));
    tell_gain(b, m, clips);
    if (ctt_data_all_frames(d) > clips)    /* not pictures */
        warn_of_scene(b, m, clips);
out:
    return rc;
}

int ctt_train_baselines(const struct ctt_train_cfg *cfg, struct ctt_data *train,
                        struct ctt_data *test, const struct ctt_metrics *scores,
                        struct ctt_train_page *page)
{
    struct ctt_baselines *b = &page->baselines;
    int clips = ctt_data_clips(test), rc = 0;
    char fitted[48];

    if (!cfg->baselines || scores->several)
        goto out;
    CTT_TRY(take_shares(scores, clips, &page->model));
    ctt_tool_progress(NULL, "measuring answers without a network");
    rc = ctt_baselines_measure(train, test, shares, SHARES, b);
    CTT_TRY(rc == CTT_EUNSUP ? 0 : rc);
    if (!b->trained)
        goto out;
    snprintf(fitted, sizeof(fitted), "%d training clip%s", b->trained,
             ctt_s(b->trained));
    CTT_TRY(tell_beside(b, page->model, test, fitted, page->set));
out:
    return rc;
}

/* ---- of folds ---- */

/* Adds m, of so many clips, behind the first `at` of `room`. */
static int join_scores(struct ctt_metrics **to, int room, int at,
                  const struct ctt_metrics *m, int clips)
{
    int rc = 0;

    if (!*to) {
        CTT_TRY(ctt_metrics_new(m->classes, shares, SHARES, to));
        (*to)->verdict = ctt_calloc((size_t)room * SHARES, 1);
    }
    CTT_TRY((*to)->verdict ? 0 : CTT_ENOMEM);
    memcpy((*to)->verdict + (size_t)at * SHARES, m->verdict,
           (size_t)clips * SHARES);
    for (int k = 0; k < SHARES; k++)
        (*to)->top1[k] += m->top1[k];
    (*to)->clips += m->clips;
out:
    return rc;
}

int ctt_beside_add(struct ctt_beside *s, const struct ctt_train_cfg *cfg,
                   struct ctt_data *train, struct ctt_data *val,
                   const struct ctt_metrics *scores)
{
    struct ctt_baselines b = { .trained = 0 };
    int clips = ctt_data_clips(val), room = clips + ctt_data_clips(train);
    int rc = 0;

    if (!cfg->baselines || scores->several)
        goto out;
    ctt_tool_progress(NULL, "measuring answers without a network");
    CTT_TRY(ctt_baselines_measure(train, val, shares, SHARES, &b));
    CTT_TRY(join_scores(&s->model, room, s->clips, scores, clips));
    for (int k = 0; k < CTT_BASELINES; k++)
        CTT_TRY(join_scores(&s->all.of[k], room, s->clips, b.of[k], clips));
    s->clips += clips;
out:
    ctt_baselines_free(&b);
    return rc;
}

int ctt_beside_tell(const struct ctt_beside *s, struct ctt_data *d)
{
    return s->clips ? tell_beside(&s->all, s->model, d, "the clips of the "
                                  "other folds", "all clips") : 0;
}

void ctt_beside_free(struct ctt_beside *s)
{
    ctt_metrics_free(&s->model);
    ctt_baselines_free(&s->all);
}
