/* SPDX-License-Identifier: Apache-2.0
 * int8_job.h: convs of quantised values by kernels for an instruction set: what
 * a kernel is given, and the table of kernels.
 *
 * The values are first laid out as kernels read them, with their padding, a
 * plane of [sample][d][h][w][channel] per group.  The window of a result is
 * then kd * kh runs of kw * channels neighbours.  Weights lie as whole numbers
 * in the order in which they are read: [group][block of channels][run][step]
 * [channel of the block][unit]; the last block has as many registers as it
 * needs.  A unit is the neighbours of a run that one
 * instruction multiplies and adds up; runs end with weights that are 0.
 *
 * Of a depthwise conv each channel is a group, but they lie as one: either as
 * pairs of neighbours of each channel, so that a register of them has as many
 * channels as one of sums, or as they are, and registers are interleaved. */
#ifndef CTT_INT8_JOB_H
#define CTT_INT8_JOB_H

#include "device/cpu/conv/int8/int8.h"

/* A conv, and the part of it that is computed at a time. */
struct ctt_int8_job {
    const struct ctt_call *c;
    int64_t  in[3], out[3];           /* d h w */
    int64_t  size[3];                 /* d h w of the values laid out */
    int64_t  groups, ins, outs;       /* ins, outs: channels of a group */
    int64_t  blocks;                  /* of the channels of a group */
    int64_t  together;                /* blocks in a task */
    int64_t  run, steps;              /* length of a run; units, rounded up */
    /* The part: its first sample, or of one sample a band of the rows of the
     * image, which starts `top` pixels down; out[1] and size[1] are those of
     * the band.  Its first row of the result, how many, and those in a task, a
     * chunk; how many chunks.  Tasks follow each other by chunk, the blocks of
     * one together, or by block. */
    int64_t  first, top, first_row, rows, chunk, chunks;
    int64_t  first_plane;    /* of the result, that the part begins with */
    int      by_blocks;
    /* The values; elements from pixel to pixel, from group to group, and from
     * block to block of channels: 0 if all blocks read the same. */
    void          *x;
    int64_t        pixel, plane, apart;
    /* The first row of the result; NULL: it is in the call's.  (Of a chain: one
     * that lies between convs.) */
    char          *to;
    /* Weights; by group, block and channel of the block: factors, bias or NULL,
     * and what a sum starts with. */
    const int8_t  *w;
    const int64_t *lists;     /* or NULL: w is lists of rows, see sparse.h */
    const float   *factor, *bias;
    const int32_t *start;
};

/* Rows of an image with its padding, of a block of channels: row r begins r %
 * deep * row bytes behind x. */
struct ctt_int8_band { uint8_t *x; int64_t row, deep; };

struct ctt_int8_isa {
    const char *name;
    int   unit, lanes, block; /* lanes: channels of a register of sums */
    int   bytes;              /* of an element of the values: 1: the bytes that
                                 stand for them, or less; 2: whole numbers */
    int   less;               /* of elements of 1 byte: by how much they are
                                 less than the bytes that stand for values */
    int   depthwise;          /* 1: for convs of each channel alone */
    int (*supported)(void);
    /* Lays out a line, of the size[0] * size[1] of each sample. */
    void (*lay)(const struct ctt_int8_job *j, int64_t line);
    /* Computes blocks of a chunk; the tasks of a chunk come one after the
     * other. */
    void (*task)(const struct ctt_int8_job *j, int64_t task);
    /* Or NULL: changes the shape of a job of which blocks, together and steps
     * are not set yet. */
    void (*plan)(struct ctt_int8_job *j);
    /* Or NULL, if they lie as above: puts the weights q of channel o of a group
     * among packed ones, which are 0 before. */
    void (*pack)(const struct ctt_int8_job *j, int64_t group, int64_t o,
                 const int8_t *q, int8_t *to);
    /* Or NULL: whether they can compute a call. */
    int (*can)(const struct ctt_call *c);
    /* Or NULL: a block of a 1x1 conv whose values are read where they are: n
     * pixels from `row` on, as bytes, `block` apart. */
    void (*pixels)(const struct ctt_int8_job *j, int64_t block, int64_t row,
                   int64_t n, uint8_t *y);
    /* Or NULL: a block of a depthwise conv from rows of its values: n rows of
     * the result's image from `high` on, which begin at row `row` of all. */
    void (*filter)(const struct ctt_int8_job *j, int64_t block,
                   const struct ctt_int8_band *x, int64_t high, int64_t n,
                   int64_t row);
};

extern const struct ctt_int8_isa ctt_int8_avx2, ctt_int8_vnni,
                                 ctt_int8_avxvnni, ctt_int8_depthwise,
                                 ctt_int8_depthwise_vnni,
                                 ctt_int8_neon, ctt_int8_neondot,
                                 ctt_int8_neon_depthwise;

/* int8_plan.c.  Whether kernels can compute a call. */
int ctt_int8_can(const struct ctt_int8_isa *isa, const struct ctt_call *c);

/* The kernels for a call, or NULL if there are none: those of the
 * best instruction set that the processor has. */
const struct ctt_int8_isa *ctt_int8_best(const struct ctt_call *c);

/* The shape of a call's job; the pointers are not set. */
struct ctt_int8_job ctt_int8_plan(const struct ctt_int8_isa *isa,
                                  const struct ctt_call *c);

/* Channels of the block of channel o of a group, rounded up to registers. */
int64_t ctt_int8_wide(const struct ctt_int8_isa *isa,
                      const struct ctt_int8_job *j, int64_t o);

/* The offset of the first weight of channel o of a group in packed weights. */
int64_t ctt_int8_first(const struct ctt_int8_isa *isa,
                       const struct ctt_int8_job *j, int64_t group, int64_t o);

/* Numbers of weights that are packed, and of channels, rounded up to blocks. */
int64_t ctt_int8_packed(const struct ctt_int8_isa *isa,
                        const struct ctt_int8_job *j);
int64_t ctt_int8_channels(const struct ctt_int8_isa *isa,
                          const struct ctt_int8_job *j);

/* A call's weights as kernels read them; starts all 0. */
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

/* int8_run.c: room for them, each weight of so many bytes; new room is zeros,
 * which lanes that no channel has keep. */
int  ctt_int8_room(const struct ctt_int8_isa *isa, const struct ctt_int8_job *j,
                   int64_t size, struct ctt_int8_weights *k);

/* int8_run.c: packs the weights of the call, if they are not those. */
int  ctt_int8_get(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                  const struct ctt_int8_job *j, struct ctt_int8_weights *k);

/* int8_run.c: lays out the values and computes the result, part by part; j has
 * its weights.  What lies behind the values reads as 0. */
int  ctt_int8_parts(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                    struct ctt_int8_job *j);

/* int8_run.c: the job of a forward call, with its weights. */
int  ctt_int8_job(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                  const struct ctt_call *c, struct ctt_int8_weights *k,
                  struct ctt_int8_job *out);

/* int8_run.c: the forward call by these kernels. */
int  ctt_int8_run(const struct ctt_int8_isa *isa, struct ctt_dev *d,
                  const struct ctt_call *c, struct ctt_int8_weights *k);

/* int8_join.c: whether the second conv may take the first along; whether a call
 * and the one conv of its chain can be computed together, and that; k: the
 * weights of the call, and those of its chain. */
int  ctt_int8_may_join(const struct ctt_node *n, const struct ctt_node *next);
int  ctt_int8_joins(const struct ctt_call *c);
int  ctt_int8_join(struct ctt_dev *d, const struct ctt_call *c,
                   struct ctt_int8_weights k[2]);

#endif
