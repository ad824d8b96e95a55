/* SPDX-License-Identifier: Apache-2.0
 * rig.h: one call of one kernel with all its tensors, made from a line of the
 * model language; and the list of such lines that every op must be in. */
#ifndef CTT_RIG_H
#define CTT_RIG_H

#include "device/device.h"

/* a, b: attributes of the input nodes a and b, or NULL; op: the line of node
 * y.  big: compare devices only, finite differences would take too long. */
struct ctt_case { const char *a, *b, *op; int big; };

extern const struct ctt_case ctt_cases[];
extern const size_t ctt_case_count;

enum { RIG_VIEW = 1, RIG_ADD = 2, RIG_DIN = 4, RIG_DW = 8, RIG_TRAIN = 16,
       RIG_F16 = 32, RIG_BF16 = 64 };

/* The tensors of `whole` are those whose memory `call` looks at: a window's
 * inputs have all steps there, the others are the same. */
struct ctt_rig {
    struct ctt_graph *g;
    struct ctt_call   call;
    struct { struct ctt_tensor in[CTT_MAX_IN], din[CTT_MAX_IN]; } whole;
    struct ctt_ask    ask[8];
    void             *cache;
    void             *block[64];    /* what to free */
    int               blocks;
};

/* n samples.  RIG_VIEW: inputs, results and gradients are views of wider
 * tensors.  RIG_ADD: gradients are added to what is there.  RIG_DIN, RIG_DW:
 * which gradients are wanted.  RIG_F16, RIG_BF16: values, their gradients and
 * the kernel of a conv or deconv are of that type; none: of floats. */
void ctt_rig_open(struct ctt_rig *r, const struct ctt_case *c, int n,
                  int flags, int act);
void ctt_rig_close(struct ctt_rig *r, struct ctt_dev *d);

/* Gradients as they are before a run: what is added to, or, where all must be
 * written, NaN. */
void ctt_rig_reset(struct ctt_rig *r, int flags);

/* What the call reads, of another rig of the same case, whatever the types of
 * the two; and its results as they are now. */
void ctt_rig_take(struct ctt_rig *r, const struct ctt_rig *from);

/* Rows of two tensors of the same shape are close; and nothing was written
 * between the rows of a view.  They may be of different types. */
int ctt_rig_close_to(const struct ctt_tensor *a, const struct ctt_tensor *b,
                     double tol, const char *what, const struct ctt_case *c);

#endif
