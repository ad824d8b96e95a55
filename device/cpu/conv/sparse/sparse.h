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
 * the other too, with some between the rows that are thrown away.
 *
 * Or a row is whole registers, and padding at its sides is not stored: place p
 * of a plane holds pixel p - pad of the rows one after the other.  The list of
 * an output channel is then by columns of the window, and a unit's place is
 * that of the first column (sparse_shift_tmpl.h).
 *
 * Or, of floats, the lanes are 16 neighbouring output channels: their weights
 * for one value are a row, and such a block has a list of those rows that are
 * not all 0.  Values and results lie as those of dense convs (dense.h).  This
 * multiplies at twice the rate, so it is faster where rows were pruned. */
#ifndef CTT_SPARSE_H
#define CTT_SPARSE_H

#include "device/cpu/conv/dense/dense.h"

/* w: the bits of the weights; at: units from a result's first value on. */
struct ctt_sparse_unit { int32_t at, w; };

enum { CTT_SPARSE_ROW = 16 };    /* output channels of a row */

/* at: elements from where a window begins. */
struct ctt_sparse_row { int32_t at; float w[CTT_SPARSE_ROW]; };

/* The layout of the values of `samples` samples. */
struct ctt_sparse_shape {
    int64_t samples;
    int64_t units;       /* a group has so many channels; groups */
    int64_t groups;
    int64_t columns;     /* lists of a channel; 1: of all columns */
    int64_t pitch[3];    /* d h w from result to result, of a phase */
    int64_t phases[3];
    int64_t span;        /* from the first result to behind the last */
    int64_t plane;       /* units of a phase of a group, whole registers */
};

/* Weights of a call, units or rows; of a room all lie in. */
struct ctt_sparse_weights {
    void                    *room;
    int64_t                  bytes;
    struct ctt_sparse_unit  *unit;
    struct ctt_sparse_row   *row;
    int64_t                 *first;    /* by list or block, and one more */
    int64_t                  units;
    float                   *factor, *bias;
    int32_t                 *start;
    int32_t                 *edge;     /* by list: what it gives in padding */
};

struct ctt_sparse_job {
    struct ctt_int8_job       j;       /* call, sizes, values, factors, bias */
    struct ctt_sparse_shape   s;
    struct ctt_sparse_weights w;
    int64_t                   rows;    /* of the part's result; its span, */
    int64_t                   span;    /* divided into tiles of so many */
    int64_t                   tiles, regs;    /* registers */
    int64_t                   blocks;  /* of LANES output channels */
    /* Pixels of the part's samples, as the call has them or converted to
     * elements in a room; elements from one to the next, and channels that can
     * be read; what padding holds. */
    const void               *from;
    void                     *room, *blank;
    int64_t                   samples, ld, there;
};

/* An LSTM that is computed with the conv of its gates, and perhaps a second
 * conv that is added to it, whose values lie alike; both have the tiles of the
 * first. */
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
    /* Converts a row of pixels of the part; fills `blank`. */
    void (*convert)(const struct ctt_sparse_job *j, int64_t row);
    void (*blank)(const struct ctt_sparse_job *j);
    /* Lays out registers of all groups, from one to before another: of s.plane
     * / lanes of each phase. */
    void (*lay)(const struct ctt_sparse_job *j, int64_t from, int64_t to);
    /* Computes a block of channels of a tile; the blocks of a tile come one
     * after the other. */
    void (*task)(const struct ctt_sparse_job *j, int64_t task);
    /* Computes the gates of LANES cells of a tile, and these. */
    void (*cell)(const struct ctt_sparse_cell *k, int64_t task);
};

/* Registers of sums in a tile, and columns with lists of their own, at most. */
enum { CTT_SPARSE_REGS = 12, CTT_SPARSE_COLUMNS = 8 };

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

/* Changes the offsets of `units` units from planes of size `from` to planes of
 * size `to`. */
void ctt_sparse_move(struct ctt_sparse_weights *k, int64_t units, int64_t from,
                     int64_t to);

/* sparse_run.c: the forward call with these weights. */
int  ctt_sparse_run(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                    const struct ctt_call *c,
                    const struct ctt_sparse_shape *s,
                    const struct ctt_sparse_weights *k);

/* sparse_run.c: the job of a call. */
struct ctt_sparse_job ctt_sparse_job(const struct ctt_sparse_isa *isa,
                                     const struct ctt_call *c,
                                     const struct ctt_sparse_shape *s,
                                     const struct ctt_sparse_weights *k);

/* Memory of a job, in units, and where it lies: the call's for each part. */
int64_t ctt_sparse_memory(const struct ctt_sparse_isa *isa,
                          const struct ctt_sparse_job *j);
void    ctt_sparse_place(const struct ctt_sparse_isa *isa,
                         struct ctt_sparse_job *j, int32_t *at);

/* A part of n samples from `first` on, in tiles that are as even as possible;
 * then where its values are; then how many registers isa->lay() lays out. */
void    ctt_sparse_part(const struct ctt_sparse_isa *isa,
                        struct ctt_sparse_job *j, int64_t first, int64_t n);
void    ctt_sparse_bring(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                         struct ctt_sparse_job *j, int threads);
int64_t ctt_sparse_registers(const struct ctt_sparse_isa *isa,
                             const struct ctt_sparse_job *j);

/* Threads for a job. */
int     ctt_sparse_team(const struct ctt_dev *d,
                        const struct ctt_sparse_job *j);

/* ---- sparse_cell.c: with an LSTM ---- */

/* 1 if kernels of units can compute the call with its pair and lstm. */
int  ctt_sparse_has_cell(const struct ctt_call *c);

/* 1 if the values of two calls have the same layout. */
int ctt_sparse_same(const struct ctt_sparse_shape *a,
                    const struct ctt_sparse_shape *b);

/* The call with its lstm; shape and weights of the conv and, if it has one, of
 * its pair; CTT_ENOMEM. */
int  ctt_sparse_cell_run(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                         const struct ctt_call *c,
                         const struct ctt_sparse_shape *const s[2],
                         const struct ctt_sparse_weights *const k[2]);

/* ---- sparse_rows.c: by rows ---- */

extern const struct ctt_int8_isa ctt_sparse_rows_avx512, ctt_sparse_rows_avx2;

/* The kernels for a call, or NULL: it is not of floats, or this processor has
 * none. */
const struct ctt_int8_isa *ctt_sparse_rows_best(const struct ctt_call *c);

/* Rows of the call's weights that are not all 0. */
int64_t ctt_sparse_rows_count(const struct ctt_call *c);

/* Makes the lists of rows; CTT_ENOMEM. */
int  ctt_sparse_rows_pack(const struct ctt_int8_isa *isa,
                          const struct ctt_call *c,
                          struct ctt_sparse_weights *k);

/* The forward call with these weights; CTT_ENOMEM. */
int  ctt_sparse_rows_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                         const struct ctt_call *c,
                         const struct ctt_sparse_weights *k);

/* sparse_pack.c: room for a call's weights: n units or rows of so many bytes,
 * in lists; factors, biases and what sums start with are 0, lanes that no
 * channel has too.  CTT_ENOMEM. */
int  ctt_sparse_room(const struct ctt_call *c, int64_t n, size_t size,
                     int64_t lists, struct ctt_sparse_weights *k);

#endif
