/* SPDX-License-Identifier: Apache-2.0
 * dev.h: an open device, for the files of device and the kernels only. */
#ifndef CTT_DEV_H
#define CTT_DEV_H

#include "device/memory.h"

typedef ctt_kernel *ctt_kernels[CTT_PASSES][CTT_NOPS];

/* The functions of memory.h that differ from device to device; they are called
 * with checked arguments.  NULL: there is nothing to do (replay, wait, sync,
 * pin, prefetch, lane). */
struct ctt_dev_memory {
    int     shared;
    int     (*alloc)(struct ctt_dev *d, const char *what, int64_t bytes,
                     void **out);
    void    (*free)(struct ctt_dev *d, void *p);
    int64_t (*room)(const struct ctt_dev *d);
    int     (*clear)(struct ctt_dev *d, void *p, int64_t bytes);
    int     (*copy)(struct ctt_dev *d, enum ctt_direction way,
                    const void *from, void *to, int64_t bytes);
    int     (*put)(struct ctt_dev *d, const float *from,
                   const struct ctt_tensor *to);
    int     (*get)(struct ctt_dev *d, const struct ctt_tensor *from,
                   float *to);
    int     (*cast)(struct ctt_dev *d, const float *from, enum ctt_dtype type,
                    void *to, int64_t n);
    int     (*sum)(struct ctt_dev *d, enum ctt_dtype type, const void *from,
                   void *to, int64_t n);
    int     (*constrain)(struct ctt_dev *d, const struct ctt_flat *f,
                         double *square_sum);
    int     (*update)(struct ctt_dev *d, const struct ctt_flat *f,
                      const struct ctt_rule *rule);
    int     (*group_sums)(struct ctt_dev *d, const struct ctt_tensor *x,
                          int64_t groups, double *sums);
    int     (*group_fill)(struct ctt_dev *d, const float *value,
                          int64_t groups, const struct ctt_tensor *y);
    int     (*sync)(struct ctt_dev *d);
    int     (*pin)(struct ctt_dev *d, void *p, int64_t bytes);
    void    (*unpin)(struct ctt_dev *d, void *p);
    int     (*prefetch)(struct ctt_dev *d, const float *from, int64_t n);
    int     (*replay)(struct ctt_dev *d, void **place);
    int     (*recorded)(struct ctt_dev *d, void **place, int rc);
    void    (*drop)(struct ctt_dev *d, void *place);
    void    (*lane)(struct ctt_dev *d, int lane);
    int     (*wait)(struct ctt_dev *d, int lane, int other);
};

/* What makes a device: each function may be NULL, where there is nothing to
 * do.  open fills d->kernel and sets d->own; close frees what open made, also
 * where open failed; sgemm multiplies two n x n matrices (pointers into the
 * device's memory). */
struct ctt_dev_kind {
    const char *name;
    const struct ctt_dev_memory *memory;
    int         (*open)(struct ctt_dev *d);
    void        (*close)(struct ctt_dev *d);
    /* Runs a kernel on a call; NULL: kernel(d, c).  For a device whose kernels
     * do not know all types of numbers. */
    int         (*run)(struct ctt_dev *d, ctt_kernel *kernel,
                       const struct ctt_call *c, enum ctt_pass pass);
    void        (*forget)(void *cache);
    const char *(*impl)(void *cache, enum ctt_pass pass);
    const char *(*why)(void *cache, enum ctt_pass pass);
    /* 1 if the kernel of this conv takes its pair and lstm along; else, and if
     * NULL, they are calls of their own. */
    int         (*along)(struct ctt_dev *d, const struct ctt_call *c);
    int         (*sgemm)(struct ctt_dev *d, int n, const float *a,
                         const float *b, float *c);
};

extern const struct ctt_dev_kind ctt_dev_cpu, ctt_dev_ref;

/* module.c: the kind of a device whose code is a module "convtt-NAME.so"; an
 * error says where it was looked for. */
int ctt_dev_module(const char *name, const struct ctt_dev_kind **out);

/* apart.c: 1 if gradients of the call's inputs have numbers in common without
 * being the same; the call's way back, an input at a time. */
int ctt_is_shared(const struct ctt_call *c);
int ctt_run_apart(struct ctt_dev *d, const struct ctt_call *c);

/* blame.c: CTT_ENAN if what the call wrote is not finite, with a message that
 * names the node. */
int ctt_dev_blame_call(struct ctt_dev *d, const struct ctt_call *c,
                       enum ctt_pass pass);

struct ctt_dev {
    const struct ctt_dev_kind *kind;
    ctt_kernels                kernel;
    int                        threads;
    int                        deterministic;
    int                        streams;      /* lanes there may be; 1 */
    void                      *own;      /* of the kind: what open made */
    char                      *scratch;  /* for the length of a call */
    size_t                     room;
    int                        blame;
    const struct ctt_graph    *g;        /* of the profile */
    struct ctt_profile       (*sum)[CTT_PASSES];
};

/* At least so many bytes, 64-byte aligned, not cleared; valid until the next
 * call of this function, which may move it.  NULL if there is no memory. */
void *ctt_dev_scratch(struct ctt_dev *d, size_t bytes);

/* How many threads share some work (in ns, roughly): starting them costs 5000,
 * so a little is left to one. */
static inline int ctt_dev_team(const struct ctt_dev *d, double work)
{
    return work < 2e4 ? 1 : d->threads;
}

#endif
