/* SPDX-License-Identifier: Apache-2.0
 * chain.h: convs of which each reads only the result of the one before,
 * computed as one: the factors of a weight (compress/stage/tt.c,
 * compress/stage/svd.c).
 *
 * A task computes a band of rows of the last result of a sample: first the rows
 * of the first conv's result that it needs, then those of the next, and so on,
 * in memory of its thread that stays in the cache.  Each result lies there with
 * the padding of the conv that reads it.  Rows that two bands need are computed
 * twice, so no thread waits for another between the convs.  The kernels are
 * those of single convs (int8_job.h). */
#ifndef CTT_CHAIN_H
#define CTT_CHAIN_H

#include "device/cpu/conv/dense/dense.h"

/* Convs; bytes of a band, which stay in the cache. */
enum { CTT_CHAIN_CONVS = CTT_CHAIN_MOST + 1, CTT_CHAIN_BYTES = 256 << 10 };

/* A conv.  job: of all rows of a sample; its x: where the values lie that it
 * reads, NULL: they are laid out with their padding. */
struct ctt_chain_conv {
    const struct ctt_int8_isa *isa;
    struct ctt_int8_job        job;
};

struct ctt_chain {
    struct ctt_chain_conv conv[CTT_CHAIN_CONVS];
    int                   convs;
    int64_t               bands, rows;    /* of a sample; rows of a band */
    int64_t               bytes, whole;   /* that a band needs; an image */
    int                   threads;
    char                 *room;           /* `bytes` for each thread */
};

/* The rows from .. to - 1 of a conv's result, and those that it reads: high of
 * them from `top` on, which may lie in the padding. */
struct ctt_chain_band { int64_t from, to, top, high; };

/* chain_plan.c: the kernels for a conv, or NULL. */
const struct ctt_int8_isa *ctt_chain_isa(const struct ctt_call *c);

/* 1 if the value between two convs has the layout that kernels of the next
 * read. */
int ctt_chain_follows(const struct ctt_call *c, const struct ctt_call *next);

/* The shapes and the bands of a call with a chain. */
void ctt_chain_plan(const struct ctt_dev *d, const struct ctt_call *c,
                    struct ctt_chain *p);

/* The rows of all convs for rows from .. to - 1 of the last result. */
void ctt_chain_bands(const struct ctt_chain *p, int64_t from, int64_t to,
                     struct ctt_chain_band *band);

/* Bytes of the values that conv k reads, of `rows` rows; 0: they are read where
 * they are. */
int64_t ctt_chain_bytes(const struct ctt_chain *p, int k, int64_t high);

/* chain_run.c: computes it; the jobs have their weights, and p its room. */
void ctt_chain_run(struct ctt_dev *d, struct ctt_chain *p);

#endif
