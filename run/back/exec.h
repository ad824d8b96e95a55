/* SPDX-License-Identifier: Apache-2.0
 * exec.h: a batch of clips forward and back through a graph, window by window:
 * gradients of values and weights.
 *
 * A clip's steps are cut into windows.  Values that the backward pass reads are
 * kept for some windows and computed again for the others (Chen et al. 2016),
 * which gives the same numbers bit for bit; gradients of values are held for
 * one window only.  A window lies before `feedback` or behind it. */
#ifndef CTT_EXEC_H
#define CTT_EXEC_H

#include "run/run.h"

enum { CTT_KEEP_ALL = -1, CTT_KEEP_AUTO = -2 };

/* What may be used for the backward pass. */
struct ctt_memory {
    int     window;    /* steps a window; 0: the clip (CTT_KEEP_AUTO: any, but
                          the clip where a norm takes its statistics) */
    int     keep;      /* windows whose values stay: a number, or all, or auto:
                          what fits into bytes, recomputing the least */
    int64_t bytes;     /* for values and gradients; 0: ctt_exec_room() */
};

/* A window: steps first .. first + steps - 1 of the clip are the run's steps 0
 * .. steps - 1, and asks which[0 .. asks - 1] of the job its asks 0 .. */
struct ctt_window { int first, steps, asks; const int *which; };

struct ctt_exec;

/* A batch of clips.  give hands over the inputs of a part by ctt_run_put(); it
 * is called again, for the same numbers, when a part is recomputed.  take looks
 * at what came out, once a part, forwards.  seed sets (not adds) the gradient
 * of the nodes that have one from outside by ctt_exec_put_grad(); it was
 * cleared.  Each may be NULL; an error ends the job. */
struct ctt_job {
    int                   steps;
    int                   feedback;    /* first step at which a mix may take its
                                     second input; >= steps: none */
    const struct ctt_ask *ask;    /* steps count from the clip's start */
    int                   asks;
    void                 *arg;
    int (*give)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
    int (*take)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
    int (*seed)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
};

struct ctt_exec {
    struct ctt_run *r;        /* forward, of the window at hand */
    float          *dw;       /* gradients of the flat block of weights, in
                                 the device's memory */
    struct ctt_back *back;      /* exec.c's own */
};

/* spec: as of a run for training, but its steps and asks are the most of a
 * clip, and its types also those of the gradients.  m NULL: one window. */
int  ctt_exec_open(const struct ctt_run_spec *spec,
                   const struct ctt_memory *m, struct ctt_exec **out);
void ctt_exec_close(struct ctt_exec **x);

/* What was chosen: windows that the longest clip has, how many are kept, steps
 * of one, bytes of values and gradients.  parts: a norm takes the statistics of
 * a window, not of the clip: another function. */
struct ctt_memory_plan { int window, windows, kept, parts; int64_t bytes; };
struct ctt_memory_plan ctt_exec_plan(const struct ctt_exec *x);

/* Bytes that values and gradients should take at most: 3/4 of what the device
 * has, as kernels and copies need some too. */
static inline int64_t ctt_exec_room(const struct ctt_dev *dev)
{
    return ctt_dev_room(dev) / 4 * 3;
}

/* Bytes of values and gradients that the same would take, of which none is
 * taken; dev NULL: m->bytes must not be 0 with CTT_KEEP_AUTO. */
int  ctt_exec_bytes(const struct ctt_run_spec *spec,
                    const struct ctt_memory *m, int64_t *bytes);

/* The first norm that takes the statistics of a whole clip, or NULL. */
const char *ctt_exec_norm(const struct ctt_graph *g);

/* Forward through all windows. */
int  ctt_exec_forward(struct ctt_exec *x, const struct ctt_job *job);

/* Forward and back once more, to find who made a loss or gradient that is not
 * finite; if nobody did, the sum of that loss node: always an error. */
int  ctt_exec_blame(struct ctt_exec *x, const struct ctt_job *job, int loss);

/* Back through the windows of the last ctt_exec_forward(): sets dw. */
int  ctt_exec_backward(struct ctt_exec *x, const struct ctt_job *job);

/* The gradient of a node's value at a step of the window (ask 0 after clip), in
 * the device's memory; and rows of it from the program, as of ctt_run_put(), or
 * one number for each stretch of them (ctt_dev_group_fill). */
void *ctt_exec_grad(const struct ctt_exec *x, int node, int step);
int   ctt_exec_put_grad(const struct ctt_exec *x, int node, int step,
                        const float *from, int64_t rows);
int   ctt_exec_fill_grad(const struct ctt_exec *x, int node, int step,
                         const float *value, int64_t groups, int64_t rows);
int   ctt_exec_get_grad(const struct ctt_exec *x, int node, int step,
                        int64_t rows, float *to);

/* 1 if that gradient is computed: it leads to a weight. */
int    ctt_exec_needs(const struct ctt_exec *x, int node);

#endif
