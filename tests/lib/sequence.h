/* SPDX-License-Identifier: Apache-2.0
 * sequence.h: sequences that prediction is trained on, opened and read by
 * batches. */
#ifndef CTT_TEST_SEQUENCE_H
#define CTT_TEST_SEQUENCE_H

#include "libtrain/data/load.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "tests/lib/told.h"

#include <stdio.h>
#include <string.h>

enum { SIDE = 8, STEPS = 20, BATCH = 4 };

static const struct ctt_input small = { 1, SIDE, SIDE, 1, 0, { 0 },
    { 1, 1, 1 }, 1, CTT_FIT_CROP, CTT_GRAY };
static const struct ctt_input grey = { 1, 64, 64, 1, 0, { 0.1f },
    { 0.3f, 1, 1 }, 1, CTT_FIT_CROP, CTT_GRAY };

static inline struct ctt_train_cfg predict_cfg(void)
{
    return (struct ctt_train_cfg){ .task = CTT_PREDICT, .input_frames = 12,
        .future_frames = 8, .workers = 2, .cache = 16, .min_frames = 2,
        .sequences = 10, .val_sequences = 7, .digits = 2, .seed = 9 };
}

static const struct ctt_events events = { .clip = on_clip };

static inline struct ctt_data *open_data(const char *path, const char *split,
                                         const struct ctt_input *in,
                                         const struct ctt_train_cfg *cfg)
{
    struct ctt_data *d = NULL;

    CHECK_OK(ctt_data_open(path, split, in, NULL, 0, cfg, &events, &d));
    return d;
}

/* Calls see for each batch of an epoch. */
static inline void each_batch(struct ctt_data *d, uint64_t key,
                              void (*see)(struct ctt_data *d,
                                          const struct ctt_batch *b, void *arg),
                              void *arg)
{
    const struct ctt_augment a = { .key = key };
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_buckets buckets;
    struct ctt_batch b;
    double wait = 0;
    int rc;

    CHECK_OK(ctt_buckets_find(d, BATCH, "auto", &buckets));
    CU_ASSERT(buckets.count == 1 && buckets.bound[0] == STEPS);
    CHECK_OK(ctt_order_new(d, BATCH, &p));
    ctt_order_make(d, &buckets, key != 0, key, p);
    CHECK_OK(ctt_loader_open(d, BATCH, d->longest, &l));
    ctt_loader_start(l, p, &a, 0);
    while ((rc = ctt_loader_next(l, &b, &wait)) > 0) {
        CU_ASSERT(b.steps == STEPS && b.n == BATCH && !b.bad);
        for (int j = 0; j < BATCH; j++) {
            CU_ASSERT_EQUAL(b.length[j], b.clip[j] < 0 ? 0 : STEPS);
            CU_ASSERT(key == 0 || b.clip[j] >= 0);
        }
        see(d, &b, arg);
        ctt_loader_done(l);
    }
    CHECK_OK(rc);
    ctt_loader_close(&l);
    ctt_order_free(&p);
}

static inline void refuse(const char *path, const char *split,
                          const struct ctt_input *in,
                          const struct ctt_train_cfg *cfg, int code,
                          const char *says)
{
    struct ctt_data *d = NULL;
    int rc = ctt_data_open(path, split, in, NULL, 0, cfg, &events, &d);

    CU_ASSERT_EQUAL(rc, code);
    CU_ASSERT_PTR_NULL(d);
    if (rc >= 0 || !strstr(ctt_errmsg(), says)) {
        printf("\n    '%s' does not say '%s'",
               rc < 0 ? ctt_errmsg() : "success", says);
        CU_FAIL("message");
    }
}

static inline int use(const char *path, const struct ctt_input *in)
{
    struct ctt_train_cfg cfg = predict_cfg();
    const struct ctt_augment a = { .key = 3 };
    struct ctt_data *d = NULL;
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_buckets b;
    struct ctt_batch batch;
    double wait = 0;
    int rc;

    cfg.cache = 0;
    CTT_TRY(ctt_data_open(path, "train", in, NULL, 0, &cfg, NULL, &d));
    CTT_TRY(ctt_buckets_find(d, BATCH, "auto", &b));
    CTT_TRY(ctt_order_new(d, BATCH, &p));
    ctt_order_make(d, &b, 1, 1, p);
    CTT_TRY(ctt_loader_open(d, BATCH, d->longest, &l));
    ctt_loader_start(l, p, &a, 0);
    while ((rc = ctt_loader_next(l, &batch, &wait)) > 0)
        ctt_loader_done(l);
out:
    ctt_loader_close(&l);
    ctt_order_free(&p);
    ctt_data_close(&d);
    return rc;
}

/* Each allocation of an epoch fails in turn. */
static inline void check_allocations(const char *path,
                                     const struct ctt_input *in)
{
    long live = ctt_live_blocks(), k = 1;
    int rc = -1;

    for (; rc < 0 && k < 1000; k++) {
        ctt_fail_alloc(k);
        rc = use(path, in);
        ctt_fail_alloc(0);
        CU_ASSERT(rc <= 0);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CU_ASSERT(rc == 0 && k > 20);
}

#endif
