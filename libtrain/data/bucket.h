/* SPDX-License-Identifier: Apache-2.0
 * bucket.h: groups clips into batches by length. */
#ifndef CTT_BUCKET_H
#define CTT_BUCKET_H

#include "libtrain/data/augment.h"
#include "libtrain/data/data.h"

enum { CTT_MAX_BUCKETS = 64 };

/* Classes of clip length.  All clips of a bucket are padded to its bound. */
struct ctt_buckets {
    int    count, bound[CTT_MAX_BUCKETS];    /* most frames of each, rising */
    double before, after;    /* fraction of padding: in one bucket, in these */
    int    symbols;          /* of text */
};

/* Reads --buckets: "auto" (or NULL), the most buckets, or at least two bounds,
 * which it puts into b->bound and b->count; otherwise count is 0.  Returns the
 * most buckets; CTT_EINVAL if text is none of these. */
int ctt_buckets_check(const char *text, struct ctt_buckets *b);

/* Takes the bounds in text, of which the one of the longest clip or the longest
 * clip itself is the last.  Otherwise starts with one bucket and repeats the
 * cut that saves the most padding, up to the number in text; "auto": as long as
 * a cut saves 2% of all frames, of text 1% of those that are still computed,
 * and leaves at least a batch of n clips on both sides. */
int ctt_buckets_find(const struct ctt_data *d, int n, const char *text,
                     struct ctt_buckets *out);

/* Writes a line about the padding.  Returns 0 if one bucket has none. */
int ctt_buckets_tell(const struct ctt_buckets *b, char *line, size_t size);

/* The batches of an epoch. */
struct ctt_order {
    int  n, batches;
    int *steps;      /* [batches]: steps that clips are padded to */
    int *clip;       /* [batches][n]: clip number; -1: empty */
    int *turn;       /* balanced: [batches][n]: how often the epoch has had the
                        clip before; otherwise NULL */
    struct ctt_augment a;    /* which decides how long clips are; of zeros:
                                they have all their frames */
    int *draws, *nth;      /* balanced: the clips of the epoch and their turns,
                              in the order of the draws; otherwise NULL */
    int *times, *first;    /* draws of each clip; memory for them */
    int *length, *work;
};

/* Allocates the order of d's clips in batches of n. */
int  ctt_order_new(const struct ctt_data *d, int n, struct ctt_order **out);
void ctt_order_free(struct ctt_order **p);

/* From now on random orders of p are balanced: they have as many clips as d,
 * of each class equally many (ctt_balanced_draws). */
int  ctt_order_balance(const struct ctt_data *d, struct ctt_order *p);

/* Fills the order.  The clips left over in a bucket move to the next longer
 * one, so every clip, or every draw, is in a batch.  shuffle: in random order
 * by key, and the last batch is filled by repeating clips; 0 (for tests): in
 * order of length, and the last batch is filled with empty places.  Of one text
 * in both cases place j of all batches has the j-th of n equal stretches,
 * window after window; what is over is empty. */
void ctt_order_make(const struct ctt_data *d, const struct ctt_buckets *b,
                    int shuffle, uint64_t key, struct ctt_order *p);

/* Puts n numbers in a random order. */
void ctt_shuffle(int *v, int n, uint64_t key);

#endif
