/* SPDX-License-Identifier: Apache-2.0
 * dev.h: an open device; included only in device/ and by the kernels. */
#ifndef CTT_DEV_H
#define CTT_DEV_H

#include "device/gpus.h"
#include "device/memory.h"
#include "device/peers.h"
#include "device/team.h"

typedef ctt_kernel *ctt_kernels[CTT_PASSES][CTT_NOPS];

/* The functions of memory.h that differ between devices, by subject; memory.c
 * has checked their arguments. */

/* Blocks of device memory and copies of their bytes.  sync, pin, unpin,
 * prefetch and all of transfer may be NULL: the device has nothing to do for
 * them. */
struct ctt_dev_memory {
    int     shared;     /* 1: the program may read and write it */
    int     (*alloc)(struct ctt_dev *d, const char *what, int64_t bytes,
                     void **out);
    void    (*free)(struct ctt_dev *d, void *p);
    int64_t (*room)(const struct ctt_dev *d);
    int64_t (*size)(const struct ctt_dev *d);
    int     (*fill)(struct ctt_dev *d, void *p, int byte, int64_t bytes);
    int     (*copy)(struct ctt_dev *d, enum ctt_direction way,
                    const void *from, void *to, int64_t bytes);
    int     (*sync)(struct ctt_dev *d);
    int     (*pin)(struct ctt_dev *d, void *p, int64_t bytes);
    void    (*unpin)(struct ctt_dev *d, void *p);
    int     (*prefetch)(struct ctt_dev *d, const float *from, int64_t n);
    int     (*transfer)(struct ctt_dev *d, enum ctt_direction way,
                        const void *from, void *to, int64_t bytes,
                        void **place);
    int     (*transfer_follow)(struct ctt_dev *d, void *place);
    int     (*transfer_wait)(struct ctt_dev *d, void *place);
    void    (*transfer_drop)(struct ctt_dev *d, void *place);
};

/* Numbers in device memory: conversion of types, sums. */
struct ctt_dev_numbers {
    int (*put)(struct ctt_dev *d, const float *from,
               const struct ctt_tensor *to);
    int (*get)(struct ctt_dev *d, const struct ctt_tensor *from, float *to);
    int (*render)(struct ctt_dev *d, const struct ctt_shots *s, float *x);
    int (*cast)(struct ctt_dev *d, const float *from, enum ctt_dtype type,
                void *to, int64_t n);
    int (*round8)(struct ctt_dev *d, const float *x, int64_t rows,
                  int64_t each, float *y);
    int (*sum)(struct ctt_dev *d, enum ctt_dtype type, const void *from,
               void *to, int64_t n);
    int (*group_sums)(struct ctt_dev *d, const struct ctt_tensor *x,
                      int64_t groups, double *sums);
    int (*group_fill)(struct ctt_dev *d, const float *value, int64_t groups,
                      const struct ctt_tensor *y);
};

/* The optimizer's updates of the flat block of weights. */
struct ctt_dev_optimizer {
    int (*constrain)(struct ctt_dev *d, const struct ctt_flat *f,
                     double *square_sum);
    int (*update)(struct ctt_dev *d, const struct ctt_flat *f,
                  const struct ctt_rule *rule);
    int (*average)(struct ctt_dev *d, const float *w, float share,
                   float *average, int64_t n);
};

/* The order of calls: recorded sequences (replay NULL: nothing is recorded)
 * and streams (lane and wait NULL: there is one). */
struct ctt_dev_order {
    int  (*replay)(struct ctt_dev *d, void **place);
    int  (*recorded)(struct ctt_dev *d, void **place, int rc);
    void (*drop)(struct ctt_dev *d, void *place);
    void (*lane)(struct ctt_dev *d, int lane);
    int  (*wait)(struct ctt_dev *d, int lane, int other);
};

/* The functions of peers.h.  leave may be called at any time. */
struct ctt_dev_peers {
    int  (*know)(struct ctt_dev *d, struct ctt_peer *out);
    int  (*id)(struct ctt_dev *d, char id[CTT_PEERS_ID]);
    int  (*meet)(struct ctt_dev *d, const char id[CTT_PEERS_ID], int rank,
                 int ranks);
    int  (*tell)(struct ctt_dev *d, const void *mine, int64_t n, void *all);
    int  (*trade)(struct ctt_dev *d, const void *from, void *to,
                  int64_t each);
    void (*leave)(struct ctt_dev *d);
};

/* A kind of device.  Functions other than open and sgemm may be NULL.  open
 * fills d->kernel and sets d->own; close frees what open allocated, also if
 * open failed after it set d->own; sgemm multiplies two n x n matrices
 * (pointers into the device's memory). */
struct ctt_dev_kind {
    const char *name;
    const struct ctt_dev_memory    *memory;
    const struct ctt_dev_numbers   *numbers;
    const struct ctt_dev_optimizer *optimizer;
    const struct ctt_dev_order     *order;
    const struct ctt_dev_peers     *peers;    /* NULL: none */
    int         (*open)(struct ctt_dev *d);
    void        (*close)(struct ctt_dev *d);
    /* Runs a kernel on a call; NULL: kernel(d, c).  For a device whose kernels
     * do not support all number types. */
    int         (*run)(struct ctt_dev *d, ctt_kernel *kernel,
                       const struct ctt_call *c, enum ctt_pass pass);
    void        (*forget)(void *cache);
    const char *(*impl)(void *cache, enum ctt_pass pass);
    const char *(*why)(void *cache, enum ctt_pass pass);
    /* 1 if the kernels of the node read weight k in this form, which is not one
     * of plain floats; NULL: never, so such weights are decoded.  Asked only of
     * a device whose memory is the program's. */
    int         (*takes)(const struct ctt_node *n, int k,
                         const struct ctt_weight *w);
    /* 1 if the kernel of this conv also computes its pair and lstm, or its
     * chain; if 0 or NULL, they are run as separate calls; negative: an
     * error. */
    int         (*along)(struct ctt_dev *d, const struct ctt_call *c);
    /* ctt_dev_links(); NULL: no convs are chained. */
    int         (*links)(const struct ctt_node *n,
                         const struct ctt_node *next,
                         enum ctt_dtype between, int behind);
    /* ctt_dev_fuses(); NULL: never. */
    int         (*fuses)(enum ctt_fusion what, const struct ctt_node *n,
                         const struct ctt_node *next, enum ctt_dtype between);
    int         (*sgemm)(struct ctt_dev *d, int n, const float *a,
                         const float *b, float *c);
    /* 1 if convs multiply a type of 16 bits faster than floats; NULL: they do
     * not. */
    int         (*multiplies)(enum ctt_dtype type);
    /* The processor, its instruction sets and the providers that are built in,
     * in words: what the choice of the fastest depends on; NULL: there is
     * nothing to choose by timing. */
    void        (*machine)(char *text, size_t size);
    /* ctt_gpus_list(); NULL: there is one. */
    int         (*list)(struct ctt_gpu out[CTT_GPUS]);
};

extern const struct ctt_dev_kind ctt_dev_cpu, ctt_dev_ref;

/* overlap.c: 1 if two input gradients of the call overlap in memory without
 * being the same view; the backward pass, one call per input. */
int ctt_din_overlaps(const struct ctt_call *c);
int ctt_run_per_input(struct ctt_dev *d, const struct ctt_call *c);

/* join.c: how many parts the group has, 1 without one, and which is this; and
 * CTT_EUNSUP if a collect is for other parts. */
int ctt_dev_parts(const struct ctt_dev *d);
int ctt_dev_part(const struct ctt_dev *d);

/* join.c: how many processes share the statistics of batch norms;
 * all[parts][n]: the numbers of each, in the program's memory. */
int ctt_dev_norms(const struct ctt_dev *d);
int ctt_dev_norms_tell(struct ctt_dev *d, const double *mine, int64_t n,
                       double *all);
int ctt_dev_check_parts(const struct ctt_dev *d, const struct ctt_call *c);

/* blame.c: CTT_ENAN, with a message that names the node, if a tensor that the
 * call wrote has a NaN or Inf. */
int ctt_dev_blame_call(struct ctt_dev *d, const struct ctt_call *c,
                       enum ctt_pass pass);

/* watch.c: 1 if each call is waited for and timed, so that none is recorded and
 * all run in one stream; who looks at calls, or NULL. */
int ctt_dev_is_timed(const struct ctt_dev *d);
ctt_call_watch *ctt_dev_watching(void);

struct ctt_dev {
    const struct ctt_dev_kind *kind;
    ctt_kernels                kernel;
    int                        threads;
    struct ctt_team           *team;     /* NULL: OpenMP's threads */
    int                        used;     /* threads of the team that are */
    int                        deterministic, tf32;
    int                        streams;      /* most lanes used; default 1 */
    const struct ctt_group    *group;    /* NULL: none */
    const struct ctt_group    *norms;    /* of batch norms; NULL: none */
    void                      *own;      /* the kind's own state, by open */
    char                      *scratch;  /* valid during one call */
    size_t                     room;
    int                        blame;
    double                     boundary; /* when the last of calls in a row
                                            ended; 0: none are in a row */
    const struct ctt_graph    *g;        /* whose nodes are profiled */
    struct ctt_profile       (*sum)[CTT_PASSES];
    const struct ctt_tuner    *tuner;    /* NULL: providers by rule */
    struct ctt_tune           *tune;     /* not owned */
    enum ctt_tuning            tuning;
    int                        unknown;  /* calls of which nothing is known */
    int                        number;   /* of several: gpus.h */
};

/* Scratch of at least `bytes` bytes, 64-byte aligned, not cleared; valid until
 * the next call of this function, which may move it.  NULL: out of memory. */
void *ctt_dev_scratch(struct ctt_dev *d, size_t bytes);

/* OpenMP's threads for work that takes about `work` ns on one: as starting them
 * costs about 5000 ns, short work gets one. */
static inline int ctt_dev_omp(const struct ctt_dev *d, double work)
{
    return work < 2e4 ? 1 : ctt_dev_used(d);
}

/* The same for ctt_dev_tasks(): a team's threads, which look for work, start
 * sooner. */
static inline int ctt_dev_team(const struct ctt_dev *d, double work)
{
    return d->team && work >= 4e3 ? ctt_dev_used(d) : ctt_dev_omp(d, work);
}

/* tasks.c: f(arg, i, who) for each of `tasks` tasks, shared by `threads`
 * threads of the device's team; without a team OpenMP's, as for d NULL.  Only
 * for tasks that are independent, so that no result depends on who runs them.
 * */
void ctt_dev_tasks(struct ctt_dev *d, int threads, int64_t tasks, ctt_task *f,
                   void *arg);

/* The same for n rows, a run of which, from .. to - 1, is a task.
 * ctt_dev_rows(): by ctt_dev_team(d, work) threads. */
typedef void ctt_rows_fn(const void *arg, int64_t from, int64_t to);
void ctt_dev_share(struct ctt_dev *d, int threads, int64_t n, ctt_rows_fn *f,
                   const void *arg);
void ctt_dev_rows(struct ctt_dev *d, double work, int64_t n, ctt_rows_fn *f,
                  const void *arg);

#endif
