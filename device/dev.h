/* SPDX-License-Identifier: Apache-2.0
 * dev.h: an open device, for device.c and the kernels only. */
#ifndef CTT_DEV_H
#define CTT_DEV_H

#include "device/device.h"

typedef ctt_kernel *ctt_kernels[CTT_PASSES][CTT_NOPS];

/* What makes a device: each function may be NULL, where there is nothing to
 * do.  open fills d->kernel; sgemm multiplies two n x n matrices. */
struct ctt_dev_kind {
    const char *name;
    int         (*open)(struct ctt_dev *d);
    void        (*close)(struct ctt_dev *d);
    void        (*forget)(void *cache);
    const char *(*impl)(const void *cache, enum ctt_pass pass);
    /* 1 if the kernel of this conv takes its pair and lstm along; else, and if
     * NULL, they are calls of their own. */
    int         (*along)(struct ctt_dev *d, const struct ctt_call *c);
    int         (*sgemm)(struct ctt_dev *d, int n, const float *a,
                         const float *b, float *c);
};

extern const struct ctt_dev_kind ctt_dev_cpu, ctt_dev_ref;

struct ctt_dev {
    const struct ctt_dev_kind *kind;
    ctt_kernels                kernel;
    ctt_kernels                plain;    /* cpu: what oneDNN replaces */
    ctt_kernels                inner;    /* cpu: what Winograd replaces */
    const struct ctt_dev_kind *below;    /* whose caches inner makes */
    int                        threads;
    int                        deterministic;
    void                      *own;      /* of the kind */
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
