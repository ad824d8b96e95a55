/* SPDX-License-Identifier: Apache-2.0
 * int8_job.h: convs of quantised values by kernels for an instruction set: the
 * arguments of a kernel, and the table of kernels.
 *
 * Values are first laid out with their padding, a plane of
 * [sample][d][h][w][channel] per group.  The window of a result is then kd * kh
 * runs of kw * channels neighbours.  Weights are stored as integers in reading
 * order: [group][block of channels][run][step] [channel of the block][unit];
 * the last block has as many registers as are necessary.  A unit is the
 * neighbours of a run that one instruction multiplies and adds up; runs are
 * padded with zero weights to whole units.
 *
 * In a depthwise conv each channel is a group, but all are stored as one:
 * either as pairs of neighbours of each channel, so that a register of values
 * has as many channels as a register of sums, or unchanged, and registers are
 * interleaved. */
#ifndef CTT_INT8_JOB_H
#define CTT_INT8_JOB_H

#include "device/cpu/conv/int8/int8.h"

/* A conv, and the part of it computed at a time. */
struct ctt_int8_job {
    const struct ctt_call *c;
    int64_t  in[3], out[3];           /* d h w */
    int64_t  size[3];                 /* d h w of the values laid out */
    int64_t  groups, ins, outs;       /* ins, outs: channels of a group */
    int64_t  blocks;                  /* of the channels of a group */
    int64_t  together;                /* blocks in a task */
    int64_t  run, steps;              /* length of a run; units, rounded up */
    /* The part: whole samples from `first` on, or a band of one sample's image
     * that starts `top` pixels down; out[1] and size[1] are the band's. rows:
     * of the result, from first_row on, in `chunks` chunks of `chunk` rows.
     * Order of tasks: all blocks of a chunk together or, with by_blocks, all
     * chunks of a block. */
    int64_t  first, top, first_row, rows, chunk, chunks;
    int64_t  first_plane;    /* of the result: the part's first */
    int      by_blocks;
    /* The values, and the elements from one pixel, group or block of channels
     * to the next; apart is 0 if all blocks read the same values. */
    void          *x;
    int64_t        pixel, plane, apart;
    /* First row of the result; NULL: in the call's tensor.  (Intermediate
     * results of a chain have memory of their own.)  gap: pixels of padding
     * between two rows of its image there. */
    char          *to;
    int64_t        gap;
    /* Weights; by group, block and channel of the block: factors, bias (or
     * NULL) and the initial value of a sum. */
    const int8_t  *w;
    const int64_t *lists;     /* NULL, or w is lists of rows (sparse.h) */
    const float   *factor, *bias;
    const int32_t *start;
    char          *room;      /* scratch of thread 0, `each` bytes of each */
    int64_t        each;
};

/* Ring of image rows with padding, of a block of channels: row r begins r %
 * deep * row bytes after x. */
struct ctt_int8_band { uint8_t *x; int64_t row, deep; };

struct ctt_int8_isa {
    const char *name;
    int   unit, lanes, block; /* lanes: channels of a register of sums */
    enum ctt_dtype type;      /* of an element, if it is no integer */
    int   bytes;              /* of an element: 1: the stored byte minus `less`;
                                 2: the integer value */
    int   less;               /* of 1-byte elements: subtracted from the stored
                                 byte */
    int   depthwise;          /* 1: kernels of depthwise convs */
    int (*supported)(void);
    /* Lays out line `line` of the values, each sample has size[0] * size[1]. */
    void (*lay)(const struct ctt_int8_job *j, int64_t line);
    /* Computes a group of blocks of a chunk; tasks of a chunk have neighbouring
     * numbers.  who: the thread. */
    void (*task)(const struct ctt_int8_job *j, int64_t task, int who);
    /* NULL, or writes the sums of `rows` rows of a block from `row` on, of each
     * row its registers of channels one after another.  For jobs without a
     * gap. */
    void (*put)(const struct ctt_int8_job *j, int64_t block, int64_t row,
                int64_t rows, const void *sums);
    /* NULL, or bytes of scratch of a thread for task(), which then computes
     * several blocks of a chunk, and may read 16 pixels beyond the values that
     * were laid out. */
    int64_t (*room)(const struct ctt_int8_job *j);
    /* NULL, or adapts the shape of a job before blocks, together and steps are
     * set. */
    void (*plan)(struct ctt_int8_job *j);
    /* NULL for the order above, or packs weights q of channel o of a group into
     * `to`, which is zeros. */
    void (*pack)(const struct ctt_int8_job *j, int64_t group, int64_t o,
                 const int8_t *q, int8_t *to);
    /* NULL, or whether the kernels can compute a call. */
    int (*can)(const struct ctt_call *c);
    /* NULL, or computes a block of a 1x1 conv whose values are read in place: n
     * pixels from `row` on, to bytes `block` apart. */
    void (*pixels)(const struct ctt_int8_job *j, int64_t block, int64_t row,
                   int64_t n, uint8_t *y);
    /* NULL, or computes a block of a depthwise conv from a ring of rows: n rows
     * of the result's image from `high` on; `row` is the first one's number in
     * the whole result. */
    void (*filter)(const struct ctt_int8_job *j, int64_t block,
                   const struct ctt_int8_band *x, int64_t high, int64_t n,
                   int64_t row);
};

extern const struct ctt_int8_isa ctt_int8_avx2, ctt_int8_vnni, ctt_int8_amx,
                                 ctt_int8_avxvnni, ctt_int8_depthwise,
                                 ctt_int8_depthwise_vnni,
                                 ctt_int8_neon, ctt_int8_neondot,
                                 ctt_int8_neon_depthwise;

/* int8_plan.c: 1 if the kernels can compute a call. */
int ctt_int8_supports(const struct ctt_int8_isa *isa, const struct ctt_call *c);

/* Kernels of the processor's best instruction set for a call; NULL: none. */
const struct ctt_int8_isa *ctt_int8_best(const struct ctt_call *c);

/* Shape of a call's job, without its pointers. */
struct ctt_int8_job ctt_int8_plan(const struct ctt_int8_isa *isa,
                                  const struct ctt_call *c);

/* Channels of the block of channel o of a group, rounded up to registers. */
int64_t ctt_int8_block_width(const struct ctt_int8_isa *isa,
                             const struct ctt_int8_job *j, int64_t o);

/* Index of the first packed weight of channel o of a group. */
int64_t ctt_int8_weight_index(const struct ctt_int8_isa *isa,
                              const struct ctt_int8_job *j, int64_t group,
                              int64_t o);

/* Counts of packed weights and of channels, rounded up to blocks. */
int64_t ctt_int8_packed(const struct ctt_int8_isa *isa,
                        const struct ctt_int8_job *j);
int64_t ctt_int8_channels(const struct ctt_int8_isa *isa,
                          const struct ctt_int8_job *j);

/* Packed weights of a call; zeros before first use. */
struct ctt_int8_weights {
    char                      *room;
    int64_t                    bytes;
    int8_t                    *w;
    float                     *factor, *bias;
    int32_t                   *start;
    uint64_t                   stamp;
    float                      scale;   /* of the values */
    int                        zero;
};

/* int8_run.c: allocates packed weights of `size` bytes each, as zeros: lanes
 * without a channel stay 0.  CTT_ENOMEM. */
int  ctt_int8_alloc(const struct ctt_int8_isa *isa,
                    const struct ctt_int8_job *j, int64_t size,
                    struct ctt_int8_weights *k);

/* int8_run.c: packs the call's weights, unless k holds them already.
 * CTT_ENOMEM. */
int  ctt_int8_pack_weights(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                           const struct ctt_int8_job *j,
                           struct ctt_int8_weights *k);

/* int8_run.c: lays out the values and computes the result, part by part; j has
 * its weights.  Memory after the values reads as 0.  CTT_ENOMEM. */
int  ctt_int8_parts(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                    struct ctt_int8_job *j);

/* int8_run.c: sets *out to the job of a forward call, with its weights.
 * CTT_ENOMEM. */
int  ctt_int8_job(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                  const struct ctt_call *c, struct ctt_int8_weights *k,
                  struct ctt_int8_job *out);

/* int8_run.c: computes the forward call.  CTT_ENOMEM. */
int  ctt_int8_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                  const struct ctt_call *c, struct ctt_int8_weights *k);

/* int8_join.c: a depthwise conv computed with the conv that it reads. may_join:
 * 1 if `next` may be joined to n in a graph; joins: 1 if a call and the one
 * conv of its chain can be computed together; join computes them, with the
 * packed weights k[0] of the call and k[1] of its chain. */
int  ctt_int8_may_join(const struct ctt_node *n, const struct ctt_node *next);
int  ctt_int8_joins(const struct ctt_call *c);
int  ctt_int8_join(struct ctt_dev *d, const struct ctt_call *c,
                   struct ctt_int8_weights k[2]);

/* int8_gaps.c: a dilated conv as one with zeros between its taps.  g: its node
 * and weights, kept for a stamp; starts as zeros, and w is freed with
 * ctt_free().  may_fill: 1 if there are kernels for it and few enough zeros;
 * fill: sets *out to the call, which refers to g.  CTT_ENOMEM. */
struct ctt_int8_gaps {
    struct ctt_node node;
    float          *w;
    uint64_t        stamp;
};
int  ctt_int8_may_fill(const struct ctt_call *c);
int  ctt_int8_fill(const struct ctt_call *c, struct ctt_int8_gaps *g,
                   struct ctt_call *out);

#endif
