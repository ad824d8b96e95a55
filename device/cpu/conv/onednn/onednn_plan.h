/* SPDX-License-Identifier: Apache-2.0
 * onednn_plan.h: a convolution prepared by oneDNN. */
#ifndef CTT_ONEDNN_PLAN_H
#define CTT_ONEDNN_PLAN_H

#include "device/cpu/conv/onednn/dnnl_compat.h"
#include "device/cpu/conv/guard.h"
#include "device/fold.h"
#include "device/dev.h"

/* Key of a plan. type: of values and their gradients, CTT_F32 or CTT_BF16,
 * and of weights that are read; bias and gradients of weights are floats.
 * here: the plus input shares the result's memory.  threads: of oneDNN;
 * lanes: how many may run the plan at a time; team: threads that convert
 * weights. */
struct ctt_plan_key {
    struct ctt_fold f;
    enum ctt_dtype  type;
    int             act, bias, plus, here, threads, lanes, team;
};

/* Bytes of scratch: gradients of weights and bias of a run, oneDNN's workspace,
 * and packed weights. */
struct ctt_plan_size { size_t dw, db, pad, packed; };

/* Objects of one run of a plan; weights: in the primitive's layout. */
struct ctt_plan_lane {
    dnnl_stream_t stream;
    dnnl_memory_t large, small, weights, bias, plus, pad;
};

/* plain: weights in the node's layout. reorder: adds weights to plain for
 * CTT_TO_WEIGHTS, else converts plain into the weights that all lanes read. */
struct ctt_plan {
    struct ctt_plan      *next;
    struct ctt_plan_key   key;
    struct ctt_plan_size  size;
    int                   sums;   /* the plus input is copied to the result
                                     before the run */
    dnnl_primitive_t      prim, reorder;
    dnnl_memory_t         plain;
    struct ctt_plan_lane *lane;   /* key.lanes of them */
    void                 *packed; /* weights of calls that are not alone */
    uint64_t              stamp;
    char                  impl[64];
};

struct ctt_onednn { dnnl_engine_t engine; };

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

/* Sets OpenMP's number of threads; the caller sets it back. */
int  ctt_plan_new(const struct ctt_onednn *o, const struct ctt_plan_key *key,
                  struct ctt_plan **out);
void ctt_plan_free(struct ctt_plan **p);

/* 1 if a plan can have this activation: ctt_act_kind + 1, or 0 for none. */
int  ctt_plan_takes_act(int act);

#endif
