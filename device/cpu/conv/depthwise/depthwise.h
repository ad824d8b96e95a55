/* SPDX-License-Identifier: Apache-2.0
 * depthwise.h: depthwise convs of floats, alone or with the 1x1 conv before and
 * the 1x1 conv behind them, computed as one.
 *
 * Channels go in blocks of a few registers.  Of each block the 1x1 conv before,
 * "wide", computes some rows, with the padding of the depthwise conv around
 * them, into a ring of rows; the depthwise conv computes rows from these; and
 * the 1x1 conv behind, "narrow", adds the block's share to its result.  So what
 * lies between the convs stays in the cache.  Every sum has the order of its
 * inputs, whatever the division into tasks. */
#ifndef CTT_DEPTHWISE_H
#define CTT_DEPTHWISE_H

#include "device/cpu/cpu.h"
#include "device/provider.h"

enum { CTT_DW_ROWS = 8 };    /* most rows of a depthwise window */

/* How sums become a result: bounds, which are infinite without relu and relu6;
 * other acts are applied to whole rows. */
struct ctt_dw_ending { float least, most; int act; };

/* Packed weights and bias of a 1x1 conv: [block][input][lane of the block];
 * regs: registers of a block, the last one may have fewer. */
struct ctt_dw_sum {
    const struct ctt_call *c;
    const float *w, *bias;
    int64_t ins, outs, regs, blocks;
    struct ctt_dw_ending end;
};

/* Pixels of a result: `line` neighbours, ld floats apart, then `gap` floats
 * more. */
struct ctt_dw_place { float *y; int64_t ld, line, gap; };

/* Neighbouring results of a depthwise conv in a row: the rows of their windows,
 * `pixel` floats from one pixel to the next; weights [tap][lane of the
 * block]. */
struct ctt_dw_line {
    const float *row[CTT_DW_ROWS];
    int64_t      pixel, kernel[2], stride;
    const float *w, *bias;
    int64_t      tap, n, channels;
    float       *y;
    int64_t      ld;
    struct ctt_dw_ending end;
};

struct ctt_dw_isa {
    const char *name;
    int         lanes, regs;    /* of a block, at most */
    int       (*supported)(void);
    /* n pixels of a block of a 1x1 conv: `few` inputs from x on, ld floats from
     * pixel to pixel; w: their weights; first: bias is added, else what the
     * result holds; last: the ending follows. */
    void      (*sum)(const struct ctt_dw_sum *s, int64_t block, const float *x,
                     int64_t ld, int64_t n, int64_t from, int64_t few,
                     struct ctt_dw_place to);
    void      (*line)(const struct ctt_dw_line *l);
    void      (*act)(int act, float *y, int64_t n);
};

extern const struct ctt_dw_isa ctt_dw_avx2, ctt_dw_avx512;

/* A call's packed weights. */
struct ctt_dw_weights {
    char    *room;
    uint64_t stamp;
};

/* depthwise_run.c: the kernels for this processor; NULL: none. */
const struct ctt_dw_isa *ctt_dw_best(void);

/* depthwise_run.c: computes a forward call, alone or with its chain.
 * CTT_ENOMEM. */
int ctt_dw_run(struct ctt_dev *d, const struct ctt_call *c,
               struct ctt_dw_weights *k);

/* depthwise_provider.c: as ctt_dev_links(), of floats. */
int ctt_dw_links(const struct ctt_node *n, const struct ctt_node *next,
                 int behind);

#endif
