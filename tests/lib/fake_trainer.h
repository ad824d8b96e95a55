/* SPDX-License-Identifier: Apache-2.0
 * fake_trainer.h: the retraining callback of a recipe, without clips. */
#ifndef CTT_TEST_FAKE_TRAINER_H
#define CTT_TEST_FAKE_TRAINER_H

#include "compress/compress.h"
#include "tests/lib/check.h"

#include <math.h>
#include <string.h>

/* Stands for a trainer: moves all that may move, and looks at the mask. */
struct trainer {
    int      epochs, stages, asked, timed;
    int      changes, last;    /* of the mask; the batch of the last one */
    uint8_t *mask;
    struct ctt_epochs span;
};

static inline void spanned(void *arg, const struct ctt_epochs *s)
{
    struct trainer *t = arg;

    CU_ASSERT_EQUAL(s->done, t->epochs);
    t->span = *s;
}

/* Each batch may prune more and never less. */
static inline void prune_meanwhile(const struct ctt_changes *during,
                                   int batches, struct trainer *t,
                                   struct ctt_model *m)
{
    double was = ctt_pruned(m, NULL);

    for (int k = 0; k < batches; k++) {
        if (!during->due(during->arg, k, batches))
            continue;
        CU_ASSERT_FATAL(m->constraint.keep != NULL);
        CHECK_OK(during->change(during->arg, m, k, batches));
        CU_ASSERT(ctt_pruned(m, NULL) > was);
        was = ctt_pruned(m, NULL);
        t->changes++;
        t->last = k;
    }
}

static inline int retrain(void *arg, const char *stage, int epochs,
                          const struct ctt_changes *during,
                          struct ctt_model *m)
{
    struct trainer *t = arg;

    if (during)
        prune_meanwhile(during, epochs * 10, t, m);
    CU_ASSERT(strlen(stage) > 0);
    CU_ASSERT(t->span.now == 0 || t->span.now == epochs);
    t->epochs += epochs;
    t->stages++;
    for (int64_t k = 0; k < m->g->weights; k++) {
        CU_ASSERT_FATAL(!t->mask || t->mask[k] ||
                        ctt_is_pruned(&m->constraint, k));
        /* Zero is pruned, or a value between two weights. */
        if (m->w[k] != 0)
            m->w[k] += 0.01f * sinf((float)(k + t->stages));
    }
    ctt_free(t->mask);
    t->mask = NULL;
    if (m->constraint.keep) {
        t->mask = ctt_calloc((size_t)m->g->weights, 1);
        memcpy(t->mask, m->constraint.keep, (size_t)m->g->weights);
    }
    return 0;
}

#endif
