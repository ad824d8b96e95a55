/* SPDX-License-Identifier: Apache-2.0
 * sequence.h: sequences for training prediction, opened and read in batches. */
#ifndef CTT_TEST_SEQUENCE_H
#define CTT_TEST_SEQUENCE_H

#include "tests/lib/allocs.h"
#include "tests/lib/clip.h"
#include "tests/lib/reader.h"
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
    struct ctt_batch b;
    struct reader r;
    int rc;

    CHECK_OK(reader_open(&r, d, BATCH, "auto", key));
    CU_ASSERT(r.buckets.count == 1 && r.buckets.bound[0] == STEPS);
    reader_start(&r, &a, 0);
    while ((rc = reader_next(&r, &b)) > 0) {
        CU_ASSERT(b.steps == STEPS && b.n == BATCH);
        for (int j = 0; j < BATCH; j++) {
            CU_ASSERT_EQUAL(b.length[j], b.clip[j] < 0 ? 0 : STEPS);
            CU_ASSERT(key == 0 || b.clip[j] >= 0);
        }
        see(d, &b, arg);
        ctt_loader_done(r.loader);
    }
    CHECK_OK(rc);
    reader_close(&r);
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

/* The data set of read_epoch(). */
struct epoch { const char *path; const struct ctt_input *in; };

static inline int read_epoch(void *arg)
{
    const struct epoch *e = arg;
    struct ctt_train_cfg cfg = predict_cfg();
    const struct ctt_augment a = { .key = 3 };
    struct ctt_data *d = NULL;
    struct reader r = { .order = NULL };
    int rc;

    cfg.cache = 0;
    CTT_TRY(ctt_data_open(e->path, "train", e->in, NULL, 0, &cfg, NULL, &d));
    CTT_TRY(reader_open(&r, d, BATCH, "auto", 1));
    rc = reader_run(&r, &a);
out:
    reader_close(&r);
    ctt_data_close(&d);
    return rc;
}

/* Each allocation of an epoch fails in turn. */
static inline void check_allocations(const char *path,
                                     const struct ctt_input *in)
{
    struct epoch e = { path, in };

    fail_allocs(read_epoch, &e, 20);
}

#endif
