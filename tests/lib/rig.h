/* SPDX-License-Identifier: Apache-2.0
 * rig.h: one call of one kernel with all its tensors, made from a line of the
 * model language; and a list of such lines with at least one for every op. */
#ifndef CTT_RIG_H
#define CTT_RIG_H

#include "device/device.h"

#include <CUnit/Basic.h>

/* a, b: attributes of the input nodes a and b, or NULL; op: the line of node
 * y.  big: compare devices only: finite differences would take too long, or
 * are not the gradient. */
struct ctt_case { const char *a, *b, *op; int big; };

extern const struct ctt_case ctt_cases[];
extern const size_t ctt_case_count;

enum { RIG_VIEW = 1, RIG_ADD = 2, RIG_DIN = 4, RIG_DW = 8, RIG_TRAIN = 16,
       RIG_F16 = 32, RIG_BF16 = 64 };

/* The tensors of `whole` are the memory that `call` reads and writes: inputs of
 * a window with all steps, the others as in `call`. */
struct ctt_rig {
    struct ctt_graph *g;
    struct ctt_call   call;
    struct { struct ctt_tensor in[CTT_MAX_IN], din[CTT_MAX_IN]; } whole;
    struct ctt_ask    ask[8];
    void             *cache;
    void             *block[64];    /* blocks to free */
    int               blocks;
};

/* n samples.  RIG_VIEW: inputs, results and gradients are views of wider
 * tensors.  RIG_ADD: gradients are added to their tensors.  RIG_DIN, RIG_DW:
 * which gradients are wanted.  RIG_F16, RIG_BF16: values, their gradients and
 * the kernel of a conv or deconv are of that type; none: of floats. */
void ctt_rig_open(struct ctt_rig *r, const struct ctt_case *c, int n,
                  int flags, int act);
void ctt_rig_close(struct ctt_rig *r, struct ctt_dev *d);

/* Sets gradients before a run: to numbers to add to, or to NaN if all must be
 * overwritten. */
void ctt_rig_reset(struct ctt_rig *r, int flags);

/* Copies the inputs of another rig of the same case, of any type; and its
 * current results. */
void ctt_rig_take(struct ctt_rig *r, const struct ctt_rig *from);

/* Checks that two tensors of the same shape are close, also of different types,
 * and that the gaps between the rows of a view are unchanged. */
int ctt_rig_close_to(const struct ctt_tensor *a, const struct ctt_tensor *b,
                     double tol, const char *what, const struct ctt_case *c);

/* ctt_check_main() with the plain C device open as *ref; 99 without it, 1 if
 * something is not freed. */
int ctt_rig_main(CU_SuiteInfo *suites, struct ctt_dev **ref);

#endif
