/* SPDX-License-Identifier: Apache-2.0
 * onednn_shares.h: a convolution computed by oneDNN in shares. */
#ifndef CTT_ONEDNN_SHARES_H
#define CTT_ONEDNN_SHARES_H

#include "device/cpu/conv/onednn/onednn_cut.h"
#include "device/cpu/conv/onednn/onednn_plan.h"
#include "device/provider.h"
#include "base/half.h"

/* Plans for a part of a call: the division into shares, and the plans of a full
 * share and of the last one. */
struct ctt_dnnl_found {
    struct ctt_cut   cut;
    struct ctt_plan *plan[2];
};

/* A part of a call while it runs. share: computes share i. x, y, plus: dense
 * tensors; x is the large and y the small one for a gradient of weights. sums:
 * gradients by share, `sum` bytes apart; pads: workspace by lane, `pad` bytes
 * apart; packed: the weights of each plan, if the call is alone. */
struct ctt_dnnl_job {
    const struct ctt_conv_ask   *q;
    const struct ctt_dnnl_found *f;
    int                        (*share)(struct ctt_dnnl_job *j,
                                        struct ctt_plan *p,
                                        struct ctt_plan_lane *l, int64_t i);
    struct ctt_tensor            x, y, plus;
    const float                 *bias;
    char                        *sums, *pads, *packed[2];
    size_t                       sum, pad;
    int                          rc;    /* error of a failed share */
};

/* Plan of share i. */
static inline struct ctt_plan *ctt_dnnl_plan(const struct ctt_dnnl_found *f,
                                             int64_t i)
{
    return f->plan[i + 1 == f->cut.shares];
}

/* Address of share i of a dense tensor. */
static inline void *ctt_dnnl_place(const struct ctt_dnnl_job *j,
                                   const struct ctt_tensor *t, int64_t i)
{
    const struct ctt_cut *c = &j->f->cut;

    return (char *)t->data + ctt_volume(t) / c->units * c->each * i *
                             ctt_dtype_size(t->dtype);
}

/* Tensor t with dense rows, at address `at`. */
static inline struct ctt_tensor ctt_dnnl_dense(const struct ctt_tensor *t,
                                               char *at)
{
    struct ctt_tensor s = *t;

    s.data = at;
    s.ld = s.c;
    return s;
}

/* Allocates scratch for n dense tensors, whose addresses it sets, and for sums
 * and pads.  CTT_ENOMEM. */
int  ctt_dnnl_scratch(struct ctt_dnnl_job *j, struct ctt_tensor *const *packed,
                      int n);

/* Runs all shares, by as many threads as the plans have lanes.  The caller sets
 * OpenMP's number of threads back. */
int  ctt_dnnl_shares(struct ctt_dnnl_job *j);

/* Runs a primitive on `threads` OpenMP threads. */
int  ctt_dnnl_execute(const struct ctt_conv_ask *q, dnnl_primitive_t f,
                      int threads, const struct ctt_plan_lane *l, int n,
                      const dnnl_exec_arg_t *arg);

/* Points a memory object at data. */
int  ctt_dnnl_set(dnnl_memory_t m, const void *data);

#endif
