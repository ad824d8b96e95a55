/* SPDX-License-Identifier: Apache-2.0
 * reader.h: the batches of a data set, one after the other. */
#ifndef CTT_TEST_READER_H
#define CTT_TEST_READER_H

#include "libtrain/data/load.h"

struct reader {
    struct ctt_buckets buckets;
    struct ctt_order  *order;
    struct ctt_loader *loader;
    double             wait;
};

/* Opens the batches of n clips, shuffled by key or with key 0 in order.  A
 * reader that could not be opened must be closed too. */
static inline int reader_open(struct reader *r, struct ctt_data *d, int n,
                              const char *buckets, uint64_t key)
{
    int rc = 0;

    *r = (struct reader){ .order = NULL };
    CTT_TRY(ctt_buckets_find(d, n, buckets, &r->buckets));
    CTT_TRY(ctt_order_new(d, n, &r->order));
    ctt_order_make(d, &r->buckets, key != 0, key, r->order);
    CTT_TRY(ctt_loader_open(d, n, d->longest, &r->loader));
out:
    return rc;
}

static inline void reader_close(struct reader *r)
{
    ctt_loader_close(&r->loader);
    ctt_order_free(&r->order);
}

/* Begins with batch `first`. */
static inline void reader_start(struct reader *r, const struct ctt_augment *a,
                                int first)
{
    ctt_loader_start(r->loader, r->order, a, first);
}

/* As ctt_loader_next(). */
static inline int reader_next(struct reader *r, struct ctt_batch *b)
{
    return ctt_loader_next(r->loader, b, &r->wait);
}

/* Reads all batches, or returns the first error. */
static inline int reader_run(struct reader *r, const struct ctt_augment *a)
{
    struct ctt_batch b;
    int rc;

    reader_start(r, a, 0);
    while ((rc = reader_next(r, &b)) > 0)
        ctt_loader_done(r->loader);
    return rc;
}

#endif
