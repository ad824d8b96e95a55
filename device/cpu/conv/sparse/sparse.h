/* SPDX-License-Identifier: Apache-2.0
 * sparse.h: convs with sparse weights: the arguments of a kernel, and the table
 * of kernels.
 *
 * A unit is the 4 bytes of neighbouring input channels that one lane multiplies
 * at a time: a float, 2 integers of 16 bits, or 4 bytes.  The lanes of a
 * register are neighbouring pixels of the result.  The weights of an output
 * channel are a list of its nonzero units, each with the offset of the values
 * that it multiplies.  (After Park and others 2017 and Elsen and others 2020,
 * for floats; the units are ours.)
 *
 * Values are laid out as planes of units, [group of channels][phase][sample][d]
 * [h][w], so that neighbouring results have neighbouring values.  A stride of s
 * has s phases per axis: every s-th column, from the phase on.  Neighbouring
 * rows share the padding between them.  Results are contiguous too, and the
 * ones at padding positions are discarded.
 *
 * A second layout has rows of whole registers and no padding at their sides:
 * position p of a plane holds pixel p - pad of the contiguous rows.  An output
 * channel then has a list per column of the window, and a unit's offset is that
 * of the first column (sparse_shift_tmpl.h).
 *
 * With strides and few values each tap has planes of its own, with the values
 * of all results in a row and no padding, so that all loads are aligned.
 *
 * A last layout, for floats, has 16 neighbouring output channels as lanes:
 * their weights for one value are a row, and a block of channels has a list of
 * its nonzero rows.  Values and results have the layout of dense convs
 * (dense.h).
 * Its rate of products is twice as high, so it is faster if rows were
 * pruned. */
#ifndef CTT_SPARSE_H
#define CTT_SPARSE_H

#include "device/cpu/conv/dense/dense.h"

/* w: bits of the weights; at: offset of the values from the result's first one,
 * in units. */
struct ctt_sparse_unit { int32_t at, w; };

enum { CTT_SPARSE_ROW = 16 };    /* output channels of a row */

/* at: offset of the value from the first one of the window, in elements. */
struct ctt_sparse_row { int32_t at; float w[CTT_SPARSE_ROW]; };

/* Layout of the values of `samples` samples. */
struct ctt_sparse_shape {
    int64_t samples;
    int64_t units;       /* channels of a group; groups of channels */
    int64_t groups;
    int64_t columns;     /* lists of a channel; 1: of all columns */
    int64_t pitch[3];    /* d h w from result to result, of a phase */
    int64_t phases[3];   /* taps, if these have planes */
    int64_t by_taps;
    int64_t span;        /* from the first result to behind the last */
    int64_t plane;       /* units of a phase of a group, whole registers */
};

/* Packed weights of a call, as units or rows. room: the block that holds all
 * arrays. */
struct ctt_sparse_weights {
    void                    *room;
    int64_t                  bytes;
    struct ctt_sparse_unit  *unit;
    struct ctt_sparse_row   *row;
    int64_t                 *first;    /* by list or block, and one more */
    int64_t                  units;
    float                   *factor, *bias;
    int32_t                 *start;
    int32_t                 *edge;     /* by list: its sum in padding */
};

struct ctt_sparse_job {
    struct ctt_int8_job       j;       /* call, sizes, values, factors, bias */
    struct ctt_sparse_shape   s;
    struct ctt_sparse_weights w;
    int64_t                   rows;    /* of the part's result; its span */
    int64_t                   span;    /* is divided into `tiles` tiles */
    int64_t                   tiles, regs;    /* registers */
    int64_t                   blocks;  /* of LANES output channels */
    /* Pixels of the part's samples: the call's, or converted to elements in
     * `room`. ld: elements from pixel to pixel; there: readable channels;
     * blank: value of padding. */
    const void               *from;
    void                     *room, *blank;
    int64_t                   samples, ld, there;
};

/* An LSTM computed with the conv of its gates and, if convs is 2, a second conv
 * with the same layout of values, which is added to the first.  Both use the
 * first one's tiles. */
struct ctt_sparse_cell {
    const struct ctt_also_lstm *lstm;
    int                         convs;
    struct ctt_sparse_job       conv[2];
};

struct ctt_sparse_isa {
    const char *name;
    int   is_int8;
    int   unit, lanes;   /* channels of a unit; lanes of a register */
    int   columns;       /* whether lists may be by columns */
    int (*supported)(void);
    int   bytes;         /* of an element */
    /* Converts a row of pixels of the part; fills j->blank. */
    void (*convert)(const struct ctt_sparse_job *j, int64_t row);
    void (*blank)(const struct ctt_sparse_job *j);
    /* Lays out registers from .. to - 1 of all groups; a phase has s.plane /
     * lanes registers. */
    void (*lay)(const struct ctt_sparse_job *j, int64_t from, int64_t to);
    /* Computes a block of channels of a tile; blocks of a tile have
     * neighbouring numbers. */
    void (*task)(const struct ctt_sparse_job *j, int64_t task);
    /* Computes the gates of LANES cells of a tile, then the cells. */
    void (*cell)(const struct ctt_sparse_cell *k, int64_t task);
};

/* REGS: most registers of sums in a tile; COLUMNS: most columns with lists of
 * their own. */
enum { CTT_SPARSE_REGS = 12, CTT_SPARSE_COLUMNS = 8 };

extern const struct ctt_sparse_isa ctt_sparse_vnni, ctt_sparse_int16,
                                   ctt_sparse_avx512, ctt_sparse_avx2;

/* Kernels of units for a call; NULL if this processor has none. */
const struct ctt_sparse_isa *ctt_sparse_best(const struct ctt_call *c);

/* sparse_plan.c: layout of a call's values. */
struct ctt_sparse_shape ctt_sparse_plan(const struct ctt_sparse_isa *isa,
                                        const struct ctt_call *c);

/* sparse_pack.c: makes the lists of a call's weights.  CTT_ENOMEM. */
int  ctt_sparse_pack(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                     const struct ctt_call *c,
                     const struct ctt_sparse_shape *s,
                     struct ctt_sparse_weights *k);

/* Adapts the lists' offsets from planes of `from` units to planes of `to`;
 * units: channels of a unit. */
void ctt_sparse_rebase(struct ctt_sparse_weights *k, int64_t units,
                       int64_t from, int64_t to);

/* sparse_run.c: computes the forward call with these weights.  CTT_ENOMEM. */
int  ctt_sparse_run(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                    const struct ctt_call *c,
                    const struct ctt_sparse_shape *s,
                    const struct ctt_sparse_weights *k);

/* sparse_run.c: the job of a call. */
struct ctt_sparse_job ctt_sparse_job(const struct ctt_sparse_isa *isa,
                                     const struct ctt_call *c,
                                     const struct ctt_sparse_shape *s,
                                     const struct ctt_sparse_weights *k);

/* Scratch of a job in units, the same for each part; sets the job's addresses
 * in it. */
int64_t ctt_sparse_memory(const struct ctt_sparse_isa *isa,
                          const struct ctt_sparse_job *j);
void    ctt_sparse_place(const struct ctt_sparse_isa *isa,
                         struct ctt_sparse_job *j, int32_t *at);

/* Sets the part of n samples from `first` on, in tiles that are as even as
 * possible; converts its values, if necessary; counts the registers for
 * isa->lay(). */
void    ctt_sparse_part(const struct ctt_sparse_isa *isa,
                        struct ctt_sparse_job *j, int64_t first, int64_t n);
void    ctt_sparse_convert(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                           struct ctt_sparse_job *j, int threads);
int64_t ctt_sparse_registers(const struct ctt_sparse_isa *isa,
                             const struct ctt_sparse_job *j);

/* Threads for a job. */
int     ctt_sparse_threads(const struct ctt_dev *d,
                           const struct ctt_sparse_job *j);

/* ---- sparse_cell.c: with an LSTM ---- */

/* 1 if kernels of units can compute the call with its pair and lstm. */
int  ctt_sparse_has_cell(const struct ctt_call *c);

/* 1 if the values of two calls have the same layout. */
int ctt_sparse_same_layout(const struct ctt_sparse_shape *a,
                           const struct ctt_sparse_shape *b);

/* Computes the call with its lstm. s, k: layout and weights of the conv and of
 * its pair, NULL if it has none.  CTT_ENOMEM. */
int  ctt_sparse_cell_run(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                         const struct ctt_call *c,
                         const struct ctt_sparse_shape *const s[2],
                         const struct ctt_sparse_weights *const k[2]);

/* ---- sparse_rows.c: by rows ---- */

extern const struct ctt_int8_isa ctt_sparse_rows_avx512, ctt_sparse_rows_avx2;

/* Kernels of rows for a call; NULL if it is not of floats or this processor has
 * none. */
const struct ctt_int8_isa *ctt_sparse_rows_best(const struct ctt_call *c);

/* Count of the nonzero rows of the call's weights. */
int64_t ctt_sparse_rows_count(const struct ctt_call *c);

/* Makes the lists of rows; CTT_ENOMEM. */
int  ctt_sparse_rows_pack(const struct ctt_int8_isa *isa,
                          const struct ctt_call *c,
                          struct ctt_sparse_weights *k);

/* Computes the forward call with these weights.  CTT_ENOMEM. */
int  ctt_sparse_rows_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                         const struct ctt_call *c,
                         const struct ctt_sparse_weights *k);

/* sparse_pack.c: allocates weights of a call: n units or rows of `size` bytes,
 * in `lists` lists.  Factors, biases and initial sums are 0.  CTT_ENOMEM. */
int  ctt_sparse_alloc(const struct ctt_call *c, int64_t n, size_t size,
                      int64_t lists, struct ctt_sparse_weights *k);

#endif
