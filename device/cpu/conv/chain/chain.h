/* SPDX-License-Identifier: Apache-2.0
 * chain.h: a chain of convs, each the only reader of the previous result,
 * computed as one: the factors of a weight (compress/stage/tt.c,
 * compress/stage/svd.c).
 *
 * A task computes a band of rows of a sample's last result.  It computes the
 * necessary rows of each conv in turn, in memory of its thread that stays in
 * the cache.  Each intermediate result is stored with the padding of the conv
 * that reads it.  Rows that two bands need are computed twice, so no thread
 * waits for another between the convs.  The kernels are those of single convs
 * (int8_job.h). */
#ifndef CTT_CHAIN_H
#define CTT_CHAIN_H

#include "device/cpu/conv/dense/dense.h"

/* CONVS: most convs of a chain; BYTES: most memory of a band, so that it stays
 * in the cache. */
enum { CTT_CHAIN_CONVS = CTT_CHAIN_MOST + 1, CTT_CHAIN_BYTES = 256 << 10 };

/* A conv of a chain. job: all rows of a sample; job.x: input values in place,
 * NULL if they are laid out with padding. */
struct ctt_chain_conv {
    const struct ctt_int8_isa *isa;
    struct ctt_int8_job        job;
};

struct ctt_chain {
    struct ctt_chain_conv conv[CTT_CHAIN_CONVS];
    int                   convs;
    int64_t               bands, rows;    /* bands of a sample; rows of a
                                             band */
    int64_t               bytes, whole;   /* memory of a band; bytes of an
                                             image */
    int                   threads;
    char                 *room;           /* `bytes` for each thread */
};

/* Rows from .. to - 1 of a conv's result, and its `high` input rows from `top`
 * on, some of which may be padding. */
struct ctt_chain_band { int64_t from, to, top, high; };

/* chain_plan.c: kernels for one conv of a chain; NULL: none. */
const struct ctt_int8_isa *ctt_chain_isa(const struct ctt_call *c);

/* 1 if the next conv's kernels can read the first one's result as stored. */
int ctt_chain_follows(const struct ctt_call *c, const struct ctt_call *next);

/* Sets the shapes and bands of a call with a chain. */
void ctt_chain_plan(const struct ctt_dev *d, const struct ctt_call *c,
                    struct ctt_chain *p);

/* Sets band[k], for each conv k, to the rows necessary for rows from .. to - 1
 * of the last result. */
void ctt_chain_bands(const struct ctt_chain *p, int64_t from, int64_t to,
                     struct ctt_chain_band *band);

/* Bytes of `high` input rows of conv k; 0: they are read in place. */
int64_t ctt_chain_bytes(const struct ctt_chain *p, int k, int64_t high);

/* chain_run.c: computes the call; the jobs' weights and p->room are set. */
void ctt_chain_run(struct ctt_dev *d, struct ctt_chain *p);

#endif
