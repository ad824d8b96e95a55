/* SPDX-License-Identifier: Apache-2.0
 * exec.h: the forward and backward pass of a batch of clips through a graph,
 * window by window: gradients of values and weights.
 *
 * The steps of a clip are cut into windows.  Values that the backward pass
 * reads are kept for some windows; for the others they are recomputed (Chen et
 * al. 2016), or offloaded: copied away and back (Rhu et al. 2016).  All of this
 * gives the same numbers bit for bit; gradients of values are kept for one
 * window only.  All steps of a window are before `feedback`, or none is. */
#ifndef CTT_EXEC_H
#define CTT_EXEC_H

#include "run/run.h"

enum { CTT_KEEP_ALL = -1, CTT_KEEP_AUTO = -2, CTT_KEEP_DEPTH = -3 };

/* The treatment of windows that are not kept.  CHEAPEST: chosen by
 * ctt_exec_choose(); until then they are recomputed. */
enum ctt_rest { CTT_RECOMPUTED, CTT_OFFLOADED, CTT_CHEAPEST };

/* The memory that the backward pass may use. */
enum { CTT_FOLDER = 512 };
struct ctt_memory {
    int     window;    /* steps per window; 0: the clip (CTT_KEEP_AUTO: any
                          length, or the clip if a norm needs its statistics) */
    int     keep;      /* windows whose values are kept: a number, or all, or
                          auto: as fits into bytes, recomputing the least;
                          depth: of one window, values at about sqrt(L) of its
                          L nodes */
    int64_t bytes;     /* for values and gradients; 0: ctt_exec_room() */
    int     whole;     /* 1: windows as long as the clip, if they take at most
                          half of the free memory of a device with its own */
    enum ctt_rest rest;
    int     sharers;   /* processes that offload to the host's memory; 0:
                          one */
    char    folder[CTT_FOLDER];    /* of the file that offloaded values are in;
                                      "": they are in the host's memory */
};

/* A window: steps first .. first + steps - 1 of the clip are the run's steps 0
 * .. steps - 1, and asks which[0 .. asks - 1] of the job its asks 0 .. */
struct ctt_window { int first, steps, asks; const int *which; };

struct ctt_exec;

/* A batch of clips.  give writes the inputs of a window with ctt_run_put(); it
 * is called again, and must write the same numbers, when a window is
 * recomputed.  take reads the results of each window once, in the forward pass.
 * seed sets (not adds) the gradient of the loss, or of other nodes, with
 * ctt_exec_put_grad(); the others are 0 then.  done may read gradients of
 * values with ctt_exec_get_grad(), after the backward pass through a window.
 * Each may be NULL; an error ends the job. */
struct ctt_job {
    int                   steps;
    int                   feedback;    /* first step at which a mix may take
                                     its second input; >= steps: none */
    const struct ctt_ask *ask;    /* steps count from the clip's start */
    int                   asks;
    void                 *arg;
    int (*give)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
    int (*take)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
    int (*seed)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
    int (*done)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
    const char           *before;    /* the states at its first step, NULL:
                                        zeros; no gradient goes through them */
    char                 *after;     /* set to those behind its last step, or
                                        NULL.  ctt_run_history_bytes() of the
                                        device's memory each */
};

struct ctt_exec {
    struct ctt_run *r;        /* forward run of the current window */
    float          *dw;       /* gradients of the flat block of weights, in
                                 the device's memory */
    struct ctt_back *back;    /* private to run/back */
};

/* spec: as for a run for training, but steps and asks are those of a clip at
 * most, and the types are also those of the gradients.  m NULL: one window. */
int  ctt_exec_open(const struct ctt_run_spec *spec,
                   const struct ctt_memory *m, struct ctt_exec **out);
void ctt_exec_close(struct ctt_exec **x);

/* The chosen plan: steps per window, windows of the longest clip, how many are
 * kept, bytes of values and gradients.  parts: a norm takes the statistics of a
 * window instead of the clip, which is another function. */
struct ctt_memory_plan {
    int     window, windows, kept, parts;
    int64_t bytes;
    int     offloaded;    /* windows of the longest clip */
    int64_t away, gone;   /* bytes of one of them, and of all, at most */
    int     again, calls; /* of the nodes of a window, runs of some that are
                             recomputed one by one */
    double  rate, times;  /* chosen by ctt_exec_choose(): bytes a second there
                             and back, and how many times the step takes that
                             keeps all windows; else 0 */
};
struct ctt_memory_plan ctt_exec_plan(const struct ctt_exec *x);

/* With CTT_CHEAPEST: measures the time of a window and of its copies, and
 * chooses the windows to offload.  Weights must be set.  CTT_EIO if there is no
 * room. */
int  ctt_exec_choose(struct ctt_exec *x);

/* The default limit in bytes for values and gradients: 3/4 of the device's free
 * memory, as kernels and copies need some too. */
static inline int64_t ctt_exec_room(const struct ctt_dev *dev)
{
    return ctt_dev_room(dev) / 4 * 3;
}

/* Bytes of values and gradients that ctt_exec_open() would allocate; allocates
 * none.  dev NULL: with CTT_KEEP_AUTO m->bytes must not be 0. */
int  ctt_exec_bytes(const struct ctt_run_spec *spec,
                    const struct ctt_memory *m, int64_t *bytes);

/* An exec without memory, to look at its run; dev may be NULL as above. */
int  ctt_exec_sketch(const struct ctt_run_spec *spec,
                     const struct ctt_memory *m, struct ctt_exec **out);

/* The name of the first norm with statistics over a whole clip, or NULL. */
const char *ctt_exec_norm(const struct ctt_graph *g);

/* Forward through all windows. */
int  ctt_exec_forward(struct ctt_exec *x, const struct ctt_job *job);

/* Runs the job again and checks each call, to find the node that computes a
 * loss or gradient that is not finite; if all are finite, blames the sum of the
 * loss node.  Always an error. */
int  ctt_exec_blame(struct ctt_exec *x, const struct ctt_job *job, int loss);

/* The backward pass through the windows of the last ctt_exec_forward(): sets
 * dw. */
int  ctt_exec_backward(struct ctt_exec *x, const struct ctt_job *job);

/* Sets rows of the gradient of a node's value at a step of the window (after
 * clip: at ask 0): put copies them as ctt_run_put() does, fill sets each of
 * `groups` equal groups of rows to one number (ctt_dev_group_fill). */
int   ctt_exec_put_grad(const struct ctt_exec *x, int node, int step,
                        const float *from, int64_t rows);
int   ctt_exec_fill_grad(const struct ctt_exec *x, int node, int step,
                         const float *value, int64_t groups, int64_t rows);

/* Copies rows of the gradient of a node's value, as ctt_run_get() does; only
 * for nodes of ctt_exec_needs(). */
int   ctt_exec_get_grad(const struct ctt_exec *x, int node, int step,
                        int64_t rows, float *to);

/* Sets need[i], of g->count bytes that are 0, for each node whose gradient a
 * weight gradient of g depends on. */
void  ctt_exec_gradients(const struct ctt_graph *g, char *need);

/* 1 if the gradient of the node's value is computed: a weight gradient depends
 * on it, or the caller wants it. */
int    ctt_exec_needs(const struct ctt_exec *x, int node);

#endif
