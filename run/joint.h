/* SPDX-License-Identifier: Apache-2.0
 * joint.h: the conv of a cell's gates and that of its plus input as one, in
 * training on devices that prefer it. */
#ifndef CTT_JOINT_H
#define CTT_JOINT_H

#include "run/run.h"

/* z = conv(a) + x; copy: takes x's input into the joint one, of `wide`
 * channels; lstm: adds the bias, or -1; w, dw: in the device's memory; part:
 * sums of the gates' gradients, by the lstm's kernel step by step. */
struct ctt_joint {
    int             x, z, a, lstm;
    int64_t         wide;
    struct ctt_node copy;
    char           *w, *dw;
    float          *part;
};

static inline const struct ctt_joint *ctt_joint_of(const struct ctt_run *r,
                                                   int node)
{
    return r->slot[node].joint ? &r->joint[r->slot[node].joint - 1] : NULL;
}

/* Joins what suits the device; after fusion, before sizes are known. */
int  ctt_layout_join(struct ctt_run *r, const int *readers);
int  ctt_joint_open(struct ctt_run *r);
void ctt_joint_close(struct ctt_run *r);

/* Makes the joint kernels of the present weights. */
int  ctt_joint_weights(struct ctt_run *r);

/* Which part of a joint conv a node is. */
int  ctt_joint_copies(const struct ctt_run *r, int node);
int  ctt_joint_convolves(const struct ctt_run *r, int node);

/* Changes a bound call of a node of a joint conv; of its conv, the gradients of
 * weights too, which the call overwrites and give adds to dw. */
void ctt_joint_bind(const struct ctt_run *r, int node, struct ctt_call *c);
void ctt_joint_bind_dw(const struct ctt_run *r, int node, float *dw,
                       struct ctt_call *c);
int  ctt_joint_give(const struct ctt_run *r, int node, float *dw);

/* Of a backward call of the lstm, the k-th of a window: lets it sum up the
 * gradient of the bias; or, dw not NULL, add the sums of k calls to it. */
void ctt_joint_bind_sums(const struct ctt_run *r, int node, int k, float *dw,
                         struct ctt_call *c);
int  ctt_joint_sums(const struct ctt_run *r, int node);

#endif
