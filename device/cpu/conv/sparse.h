/* SPDX-License-Identifier: Apache-2.0
 * sparse.h: convs whose weights are mostly zeros: what a kernel is given, and
 * the table of kernels.
 *
 * A unit is the 4 bytes of neighbouring input channels that one lane multiplies
 * at a time: a float, 2 whole numbers of 16 bits, or 4 bytes.  The lanes of a
 * register are neighbouring pixels of the result.  The weights of an output
 * channel are a list of those units that are not 0, each with the place of the
 * values that it multiplies.  (After Park and others 2017 and Elsen and others
 * 2020, who do this in floats; the units are ours.)
 *
 * Values are laid out as planes of units, [group of channels][phase][sample][d]
 * [h][w], so that those of neighbouring results are neighbours.  A stride of s
 * has s phases a side: every s-th column, from the phase on.  Rows share their
 * padding: what follows one comes before the next.  So results lie one after
 * the other too, with some between the rows that are thrown away. */
#ifndef CTT_SPARSE_H
#define CTT_SPARSE_H

#include "device/cpu/conv/int8_job.h"

/* w: the bits of the weights; at: units from a result's first value on. */
struct ctt_sparse_unit { int32_t at, w; };

/* Where values lie, of so many samples. */
struct ctt_sparse_shape {
    int64_t samples;
    int64_t units;       /* a group has so many channels; groups */
    int64_t groups;
    int64_t pitch[3];    /* d h w from result to result, of a phase */
    int64_t phases[3];
    int64_t span;        /* from the first result to behind the last */
    int64_t plane;       /* units of a phase of a group */
};

/* Weights of a call; of a room all lie in. */
struct ctt_sparse_weights {
    void                    *room;
    int64_t                  bytes;
    struct ctt_sparse_unit  *unit;
    int64_t                 *first;    /* by channel, and one more */
    float                   *factor, *bias;
    int32_t                 *start;
};

struct ctt_sparse_job {
    struct ctt_int8_job       j;       /* call, sizes, values, factors, bias */
    struct ctt_sparse_shape   s;
    struct ctt_sparse_weights w;
    int64_t                   rows;    /* of the part's result; its span, */
    int64_t                   span;    /* divided into tiles of so many */
    int64_t                   tiles, regs;    /* registers */
    int64_t                   blocks;  /* of LANES output channels */
};

struct ctt_sparse_isa {
    const char *name;
    int   is_int8;
    int   unit, lanes;   /* channels of a unit; lanes of a register */
    int (*supported)(void);
    /* Lays out a line, of the pitch[0] * pitch[1] * strides of each sample, and
     * one more: what lies behind the last. */
    void (*lay)(const struct ctt_sparse_job *j, int64_t line);
    /* Computes a block of channels of a tile; the blocks of a tile come one
     * after the other. */
    void (*task)(const struct ctt_sparse_job *j, int64_t task);
};

enum { CTT_SPARSE_REGS = 12 };    /* of sums in a tile, at most */

extern const struct ctt_sparse_isa ctt_sparse_vnni, ctt_sparse_int16,
                                   ctt_sparse_avx512, ctt_sparse_avx2;

/* The kernels for a call, or NULL if this processor has none. */
const struct ctt_sparse_isa *ctt_sparse_best(const struct ctt_call *c);

/* sparse_plan.c: where the values of a call lie. */
struct ctt_sparse_shape ctt_sparse_plan(const struct ctt_sparse_isa *isa,
                                        const struct ctt_call *c);

/* sparse_pack.c: makes the lists of a call's weights. */
int  ctt_sparse_pack(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                     const struct ctt_call *c,
                     const struct ctt_sparse_shape *s,
                     struct ctt_sparse_weights *k);

/* sparse_run.c: the forward call with these weights, by so many threads. */
int  ctt_sparse_run(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                    const struct ctt_call *c,
                    const struct ctt_sparse_shape *s,
                    const struct ctt_sparse_weights *k);

#endif
