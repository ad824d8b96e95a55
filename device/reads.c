/* SPDX-License-Identifier: Apache-2.0
 * reads.c: which values the kernel of an op reads on the way back. */
#include "device/device.h"

/* Bit k: input k.  OUT: its result.  WEIGHTS: only for a gradient of weights.
 * OTHER: only for the gradient of the other input. */
enum { IN0 = 1, IN1 = 2, IN2 = 4, OUT = CTT_READS_OUT, WEIGHTS = 1 << 9,
       OTHER = 1 << 10 };

static const short reads[CTT_NOPS] = {
    [CTT_OP_CONV] = IN0 | WEIGHTS, [CTT_OP_DECONV] = IN0 | WEIGHTS,
    [CTT_OP_POOL] = IN0 | OUT,     [CTT_OP_NORM] = IN0,
    [CTT_OP_ACT] = OUT,            [CTT_OP_MUL] = IN0 | IN1 | OTHER,
    [CTT_OP_LSTM] = IN0 | IN1,     [CTT_OP_MIX] = IN2,
    [CTT_OP_LOSS] = IN0 | IN1,
};

unsigned ctt_reads(const struct ctt_node *n, unsigned din, int dw)
{
    unsigned r = (unsigned)reads[n->op], other = din >> 1 | (din & 1) << 1;

    if ((r & WEIGHTS && !dw) ||
        (n->op == CTT_OP_POOL && n->attr.pool.kind == CTT_POOL_AVG))
        return 0;
    return r & (IN0 | IN1 | IN2 | OUT) & (r & OTHER ? other | OUT : ~0u);
}
