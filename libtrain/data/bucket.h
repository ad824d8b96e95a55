/* SPDX-License-Identifier: Apache-2.0
 * bucket.h: which clips make a batch. */
#ifndef CTT_BUCKET_H
#define CTT_BUCKET_H

#include "libtrain/data/data.h"

enum { CTT_MAX_BUCKETS = 64 };

/* Clips by length.  Clips of one bucket are padded to its longest. */
struct ctt_buckets {
    int    count, bound[CTT_MAX_BUCKETS];    /* longest clip of each, rising */
    double before, after;    /* share of padding: in one bucket, in these */
};

/* How many buckets a text allows: "auto" (or NULL) means CTT_MAX_BUCKETS.
 * CTT_EINVAL if it is neither that nor a number from 1 to CTT_MAX_BUCKETS. */
int ctt_buckets_check(const char *text, int *most);

/* Starts with one bucket and repeats the cut that saves the most padding, as
 * often as ctt_buckets_check() allows; "auto": while a cut saves 2% of the
 * frames and leaves a batch of n clips on both sides. */
int ctt_buckets_find(const struct ctt_data *d, int n, const char *text,
                     struct ctt_buckets *out);

/* Writes a line about the padding; 0: there is none. */
int ctt_buckets_tell(const struct ctt_buckets *b, char *line, size_t size);

/* The batches of an epoch. */
struct ctt_order {
    int  n, batches;
    int *steps;      /* [batches]: length they are padded to */
    int *clip;       /* [batches][n]: -1: empty */
    int *work;
};

/* For batches of n clips. */
int  ctt_order_new(const struct ctt_data *d, int n, struct ctt_order **out);
void ctt_order_free(struct ctt_order **p);

/* Shuffled: the clips left over in a bucket move to the next longer one, and
 * the last batch is filled with clips a second time.  So every clip is seen.
 * Not shuffled (for tests): in order of length, the rest empty. */
void ctt_order_make(const struct ctt_data *d, const struct ctt_buckets *b,
                    int shuffle, uint64_t key, struct ctt_order *p);

#endif
