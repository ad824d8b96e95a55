/* SPDX-License-Identifier: Apache-2.0
 * gpu_net.h: a whole model on a device, and a batch of clips for it; for the
 * tests of the GPU. */
#ifndef CTT_TEST_GPU_NET_H
#define CTT_TEST_GPU_NET_H

#include "libtrain/amp.h"
#include "run/back/exec.h"
#include "tests/lib/gpu.h"

/* A model as text; feedback: the first step at which a mix takes its second
 * input, 0 if there is no mix.  Inputs of one number are 0 or 1. */
struct net_model { const char *text; int n, asks, feedback, steps; };

/* Value types as with --amp and --amp-type, with bounds on the relative
 * distance of answers and gradients from plain C in the same types. */
struct net_type {
    const char *word;
    int         amp, amp_type;
    double      y, dw;
};
enum { NET_TYPES = 5 };
extern const struct net_type net_types[NET_TYPES];

struct net {
    const struct net_model *m;
    struct ctt_graph     *g;
    struct ctt_dev       *dev;
    struct ctt_exec      *x;
    struct ctt_train_cfg  cfg;
    struct ctt_amp_plan  *plan;
    void                 *w, *w16;       /* of the device */
    float                *y, *dw, *now;  /* answers, gradients, weights as the
                                            last run left them */
    float                *coef, *frame;
    int                   clip, out, round;    /* round: selects the frames */
    int64_t               one, answers;  /* numbers of an answer, of all */
    struct ctt_ask        ask[8];
    struct ctt_job        job;
};

/* window and keep: as in struct ctt_memory.  Must be closed even if opening
 * failed. */
int  net_open(struct net *r, const struct net_model *m, struct ctt_dev *dev,
              const struct net_type *t, int window, int keep);
int  net_open_as(struct net *r, const struct net_model *m, struct ctt_dev *dev,
                 const struct net_type *t, const struct ctt_memory *memory);
void net_close(struct net *r);

/* Forward and backward pass on a round's clips from the initial weights; fills
 * y, dw and now. */
int  net_run(struct net *r, int round);

/* |a - b| / |b|. */
double net_off(const float *a, const float *b, int64_t n);

/* Asserts that answers, gradients and weights have the same bits. */
int  net_same(const struct net *a, const struct net *b);

#endif
