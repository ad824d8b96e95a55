/* SPDX-License-Identifier: Apache-2.0
 * toy_compress.h: the calls of a recipe, which train and test on toy clips. */
#ifndef CTT_TEST_TOY_COMPRESS_H
#define CTT_TEST_TOY_COMPRESS_H

#include "compress/compress.h"
#include "libtrain/train.h"

struct toy_job {
    struct ctt_train_cfg cfg;
    struct ctt_data     *train, *val;
    double               loss;    /* of the last test */
};

static inline int toy_retrain(void *arg, const char *stage, int epochs,
                              const struct ctt_changes *during,
                              struct ctt_model *m)
{
    struct toy_job *j = arg;
    struct ctt_train_cfg c = j->cfg;
    struct ctt_result r;

    (void)stage;
    c.epochs = epochs;
    c.wiring.changes = during;
    return ctt_train(m, &c, j->train, j->val, NULL, &r);
}

static inline int toy_accuracy(void *arg, const char *stage,
                               const struct ctt_model *m,
                               struct ctt_score *s)
{
    const struct ctt_point end = { .ratio = 1 };
    struct ctt_metrics *r = NULL;
    struct toy_job *j = arg;
    int rc;

    (void)stage;
    CTT_TRY(ctt_evaluate_recognise(m, &j->cfg, j->val, &end, 1, &r));
    for (int i = 0; i < CTT_ACCURACIES; i++)
        s->top1[i] = ctt_metrics_top1(r, 0);
    s->clips = ctt_data_clips(j->val);
    j->loss = ctt_metrics_loss(r, 0);
out:
    ctt_metrics_free(&r);
    return rc;
}

static inline int toy_norms(void *arg, const char *stage,
                            struct ctt_model *m)
{
    struct toy_job *j = arg;

    (void)stage;
    return ctt_norms_estimate(m, &j->cfg, j->train, 8);
}

static inline int toy_sample(void *arg, const struct ctt_model *m, int clips,
                             const int *node, int nodes, enum ctt_sampled what,
                             void (*take)(void *to, int k, const float *row),
                             void *to)
{
    struct ctt_sample want = { node, nodes, what, take, to };
    struct toy_job *j = arg;

    return ctt_sample_values(m, &j->cfg, j->train, clips, &want);
}

static inline struct ctt_recipe_calls toy_calls(struct toy_job *j)
{
    return (struct ctt_recipe_calls){
        .arg = j, .retrain = toy_retrain, .accuracy = toy_accuracy,
        .norms = toy_norms, .sample = toy_sample,
        .clips = ctt_data_clips(j->val)
    };
}

#endif
