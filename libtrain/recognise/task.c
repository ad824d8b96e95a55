/* SPDX-License-Identifier: Apache-2.0
 * task.c: recognition as a task: its row of functions. */
#include "libtrain/recognise/recognise.h"
#include "libtrain/recognise/aux_head.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/chance.h"
#include "libtrain/data/balance.h"
#include "libtrain/ranks/shards.h"
#include "libtrain/task.h"
#include "base/statistics/statistics.h"

static int check_classes(const struct ctt_graph *g,
                         const struct ctt_train_cfg *cfg,
                         const struct ctt_data *d)
{
    int rc = 0, classes = ctt_answer_classes(g);

    (void)cfg;
    CTT_TRY(ctt_answer_check(g));
    CTT_TRY(ctt_data_check(d, g));
    CTT_CHECK(d->list->labels == classes, CTT_EINVAL,
              "the model answers %d class%s, the data has %d", classes,
              ctt_es(classes), d->list->labels);
    CTT_CHECK(g->several || !ctt_data_several(d), CTT_EINVAL, "clips have "
              "several labels, and the model's classes exclude each other: "
              "train one on clips with several labels");
out:
    return rc;
}

static int graph(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                 struct ctt_graph **out)
{
    return ctt_recognise_graph(g, cfg, out);
}

static struct ctt_size clip_size(const struct ctt_train_cfg *cfg, int longest)
{
    struct ctt_asks asks = { .total = 0 };

    ctt_asks_parse(cfg, &asks);
    return (struct ctt_size){ longest, asks.total };
}

static int memory(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                  struct ctt_memory *m)
{
    (void)g;
    return ctt_memory_parse(cfg, m);
}

static int open_section(const struct ctt_graph *g,
                        const struct ctt_section_job *job, const float *w,
                        const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                        const struct ctt_data *d, void **out)
{
    struct ctt_recognise_step *s = NULL;
    int rc = 0;

    if (ctt_is_taught(cfg))
        CTT_TRY(ctt_teacher_check(cfg, g, d));
    CTT_TRY(ctt_recognise_section_open(g, job, w, cfg, dev, ctt_cfg_shard(cfg),
                                       d->longest, &s));
    if (cfg->class_weights == CTT_BALANCED)
        CTT_TRY(ctt_class_weights(d, s->own->several, &s->share));
    *out = s;
    s = NULL;
out:
    ctt_recognise_step_close(&s);
    return rc;
}

static int open_step(const struct ctt_graph *g, const float *w,
                     const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                     const struct ctt_data *d, void **out)
{
    return open_section(g, NULL, w, cfg, dev, d, out);
}

static void close_step(void **s)
{
    struct ctt_recognise_step *x = *s;

    ctt_recognise_step_close(&x);
    *s = NULL;
}

static struct ctt_exec *exec(const void *s)
{
    return ((const struct ctt_recognise_step *)s)->x;
}

static double weight(const void *s, int clips)
{
    return (double)clips * ((const struct ctt_recognise_step *)s)->asks.total;
}

static int forward_turn(void *arg, const struct ctt_turn *t,
                        struct ctt_sums *sums)
{
    struct ctt_recognise_step *s = arg;
    uint64_t observe = ctt_key(ctt_key(t->seed, CTT_KEY_OBSERVE), t->epoch);
    uint64_t key = ctt_turn_key(t, CTT_KEY_DROPOUT);

    s->scale = t->scale;
    s->whole = t->weight;
    if (s->ahead)
        s->ahead->weight = t->ahead;
    s->skips = t->skips;
    s->before = t->before;
    s->after = t->after;
    return ctt_recognise_step_losses(s, t->data, t->batch, key, observe, sums);
}

static int backward(void *s)
{
    return ctt_recognise_step_backward(s);
}

static int run_turn(void *s, const struct ctt_turn *t, struct ctt_sums *sums)
{
    int rc;

    CTT_TRY(forward_turn(s, t, sums));
    if (rc == 0)
        CTT_TRY(backward(s));
out:
    return rc;
}

static int blame(void *s, const struct ctt_turn *t)
{
    return ctt_recognise_step_blame(s, t->batch);
}

/* ---- tests ---- */

struct recognise_test {
    struct ctt_recognise_eval    *eval;
    struct ctt_metrics *metrics;
};

static void close_test(void **e)
{
    struct recognise_test *t = *e;

    if (!t)
        return;
    ctt_recognise_eval_close(&t->eval);
    ctt_metrics_free(&t->metrics);
    ctt_free(t);
    *e = NULL;
}

static int open_test(const struct ctt_graph *g, const float *w,
                     const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                     struct ctt_data *d, void **out)
{
    void *made = ctt_calloc(1, sizeof(struct recognise_test));
    struct ctt_point point[CTT_MAX_POINTS];
    struct recognise_test *t = made;
    int points, rc = t ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_points_parse(cfg->val_ratios ? cfg->val_ratios : "1", point,
                             &points));
    CTT_TRY(ctt_recognise_eval_open(g, w, cfg, dev, d, point, points,
                                    &t->eval));
    CTT_TRY(ctt_metrics_new(ctt_answer_classes(g), point, points,
                            &t->metrics));
    if (g->several)
        CTT_TRY(ctt_metrics_several(t->metrics, d->clips));
    *out = made;
    made = NULL;
out:
    close_test(&made);
    return rc;
}

/* The right answers are added up first, so that equal numbers of them are equal
 * means. */
static double mean_top1(const struct ctt_metrics *m)
{
    int64_t right = 0;

    for (int k = 0; k < m->points; k++)
        right += m->top1[k];
    return m->clips ? (double)right / (double)(m->points * m->clips) : 0;
}

static double mean_map(const struct ctt_metrics *m)
{
    double sum = 0;

    for (int k = 0; k < m->points; k++)
        sum += m->map[k];
    return sum / m->points;
}

static double mean_loss(const struct ctt_metrics *m)
{
    double sum = 0;

    for (int k = 0; k < m->points; k++)
        sum += ctt_metrics_loss(m, k);
    return sum / m->points;
}

static int test_clips(void *e, const struct ctt_events *ev,
                      struct ctt_test_score *out)
{
    struct recognise_test *t = e;
    int last = t->metrics->points - 1;
    int rc = ctt_recognise_eval_run(t->eval, t->metrics);

    (void)ev;
    if (rc < 0)
        return rc;
    *out = (struct ctt_test_score){
        .mean_loss = mean_loss(t->metrics),
        .mean_top1 = mean_top1(t->metrics),
        .loss = ctt_metrics_loss(t->metrics, last),
        .top1 = ctt_metrics_top1(t->metrics, last),
        .top5 = ctt_metrics_top5(t->metrics, last),
        .map = t->metrics->map[last], .mean_map = mean_map(t->metrics) };
    ctt_wilson(out->top1, t->metrics->clips, out->top1_95);
    return rc;
}

static const struct ctt_metrics *counts(const void *e)
{
    return ((const struct recognise_test *)e)->metrics;
}

static int better(const struct ctt_test_score *a,
                  const struct ctt_test_score *b)
{
    if (a->mean_map != b->mean_map)    /* 0 where clips have one label */
        return a->mean_map > b->mean_map;
    return a->mean_top1 > b->mean_top1 ||
           (a->mean_top1 == b->mean_top1 && a->mean_loss < b->mean_loss);
}

const struct ctt_task_kind ctt_recognise_task = {
    .check = check_classes, .graph = graph, .size = clip_size, .memory = memory,
    .open = open_step, .close = close_step, .exec = exec,
    .weight = weight, .run = run_turn, .section = open_section,
    .forward = forward_turn, .backward = backward, .blame = blame,
    .test_open = open_test,
    .test_close = close_test, .test = test_clips, .counts = counts,
    .better = better, .saves = "--max-frames, ", .word = "val_top1",
    .score = offsetof(struct ctt_test_score, top1),
};

/* ---- the next symbol ---- */

static struct ctt_size symbols_size(const struct ctt_train_cfg *cfg,
                                    int longest)
{
    (void)cfg;
    return (struct ctt_size){ longest, longest };
}

static const struct ctt_metrics *no_counts(const void *e)
{
    (void)e;
    return NULL;
}

static int has_less_loss(const struct ctt_test_score *a,
                         const struct ctt_test_score *b)
{
    return a->loss < b->loss;
}

const struct ctt_task_kind ctt_next_task = {
    .check = ctt_next_check, .graph = graph, .size = symbols_size,
    .memory = memory, .open = open_step, .close = close_step, .exec = exec,
    .weight = weight, .run = run_turn, .section = open_section,
    .forward = forward_turn, .backward = backward, .blame = blame,
    .test_open = ctt_next_test_open, .test_close = ctt_next_test_close,
    .test = ctt_next_test, .counts = no_counts, .better = has_less_loss,
    .saves = "--max-frames, ", .word = "val_loss",
    .score = offsetof(struct ctt_test_score, loss),
};
