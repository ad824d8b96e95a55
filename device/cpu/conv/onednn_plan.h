/* SPDX-License-Identifier: Apache-2.0
 * onednn_plan.h: a convolution prepared by oneDNN. */
#ifndef CTT_ONEDNN_PLAN_H
#define CTT_ONEDNN_PLAN_H

#include "device/cpu/conv/dnnl_compat.h"
#include "device/cpu/conv/guard.h"
#include "device/fold.h"
#include "device/dev.h"

/* The key that identifies a plan.  views: bit 0 the large, 1 the small, 2 the
 * added tensor must be packed.  here: the added tensor shares the result's
 * memory. */
struct ctt_plan_key {
    struct ctt_fold f;
    int             act, bias, plus, here, views;
};

/* Offsets in the scratch of the device, in bytes. */
struct ctt_plan_room { size_t large, small, plus, dw, db, pad, all; };

/* weights: in the primitive's layout; plain: in the node's.  For
 * CTT_TO_WEIGHTS, reorder adds weights to plain, else it fills weights. */
struct ctt_plan {
    struct ctt_plan     *next;
    struct ctt_plan_key  key;
    struct ctt_plan_room room;
    int                  threads;
    int                  sums;    /* plus is in the result before the run */
    dnnl_primitive_t     prim, reorder;
    dnnl_memory_t        large, small, weights, plain, bias, plus, pad;
    void                *packed;
    uint64_t             stamp;
    char                 impl[64];
};

struct ctt_onednn {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
};

#define CTT_DNNL(expr)                                                  \
    do {                                                                \
        int status_ = (int)(expr);                                      \
        CTT_CHECK(status_ == dnnl_success,                              \
                  status_ == dnnl_out_of_memory ? CTT_ENOMEM            \
                                                : CTT_EUNSUP,           \
                  "oneDNN refuses with status %d: %s", status_, #expr); \
    } while (0)

/* Calls work(arg), which calls oneDNN; CTT_ENOMEM or CTT_EUNSUP if it throws.
 * Functions that destroy an object do not throw and need no guard. */
int  ctt_dnnl_try(int (*work)(void *arg), void *arg);

int  ctt_plan_new(const struct ctt_onednn *o, const struct ctt_plan_key *key,
                  int threads, struct ctt_plan **out);
void ctt_plan_free(struct ctt_plan **p);

#endif
