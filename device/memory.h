/* SPDX-License-Identifier: Apache-2.0
 * memory.h: what lies in a device's memory, and what is done with whole blocks
 * of it.  Host memory is the memory of "cpu" and "ref"; what "cuda" has cannot
 * be read by the program.  Work is done in the order of the calls, but a call
 * may return before its work is done: what hands numbers to the program waits.
 * A failure of earlier work may be reported by any later call. */
#ifndef CTT_MEMORY_H
#define CTT_MEMORY_H

#include "device/device.h"
#include "device/update.h"
#include "net/constraint.h"

/* Cleared bytes, 64-byte aligned.  what: for the message ("values"), which says
 * how much was asked and how much is free (CTT_ENOMEM). */
int  ctt_dev_alloc(struct ctt_dev *d, const char *what, int64_t bytes,
                   void **out);
void ctt_dev_free(struct ctt_dev *d, void **p);

/* Bytes that could be had now; for host memory, what the machine has. */
int64_t ctt_dev_room(const struct ctt_dev *d);

/* 1 if the program may read and write its memory. */
int  ctt_dev_shared(const struct ctt_dev *d);

int  ctt_dev_clear(struct ctt_dev *d, void *p, int64_t bytes);

/* The host's bytes may be changed as soon as CTT_TO_DEVICE returns, unless they
 * are pinned: then after ctt_dev_sync(). */
enum ctt_direction { CTT_WITHIN, CTT_TO_DEVICE, CTT_TO_HOST };
int  ctt_dev_copy(struct ctt_dev *d, enum ctt_direction way, const void *from,
                  void *to, int64_t bytes);

/* n of the program's floats where the device reads them: where they are, if it
 * can see them (own stays as it is), else a copy, *own, for ctt_dev_free(). */
int  ctt_dev_show(struct ctt_dev *d, const char *what, const float *x,
                  int64_t n, void **own, const float **where);

/* Rows of a tensor from and to dense floats of the program; converts.  put (and
 * what else writes numbers of a given type: cast, sum, group_fill) is
 * CTT_EUNSUP for a type without rounding (ctt_is_float_type()). */
int  ctt_dev_put(struct ctt_dev *d, const float *from,
                 const struct ctt_tensor *to);
int  ctt_dev_get(struct ctt_dev *d, const struct ctt_tensor *from, float *to);

/* n numbers into another type; to += from. */
int  ctt_dev_cast(struct ctt_dev *d, const float *from, enum ctt_dtype type,
                  void *to, int64_t n);
int  ctt_dev_sum(struct ctt_dev *d, enum ctt_dtype type, const void *from,
                 void *to, int64_t n);

/* A tensor's rows in `groups` equal stretches, such as samples: the sum of
 * each, which waits; every number of each set.  What a loss needs of it. */
int  ctt_dev_group_sums(struct ctt_dev *d, const struct ctt_tensor *x,
                        int64_t groups, double *sums);
int  ctt_dev_group_fill(struct ctt_dev *d, const float *value, int64_t groups,
                        const struct ctt_tensor *y);

/* Waits for all work. */
int  ctt_dev_sync(struct ctt_dev *d);

/* Host memory that many uploads will come from; a device may lock it so that
 * they go on beside other work.  Unpin before it is freed. */
int  ctt_dev_pin(struct ctt_dev *d, void *p, int64_t bytes);
void ctt_dev_unpin(struct ctt_dev *d, void *p);

/* Begins to upload floats beside the work at hand; a later ctt_dev_put() from
 * anywhere among them takes what has been uploaded.  One stretch at a time; n
 * 0: forgets it, as what lies there will change. */
int  ctt_dev_prefetch(struct ctt_dev *d, const float *from, int64_t n);

/* ---- work that is the same each time ---- */

/* What a stretch of calls does may be recorded when it is done for the second
 * time and from then on be started as one (a CUDA graph).  It must be the same
 * but for what the memory holds; no put, get, alloc or sync is in it.  place:
 * the caller's, NULL at first, given back by ctt_dev_drop().  1: the work has
 * been started; 0: the caller does the work and then calls ctt_dev_recorded(),
 * on failure too, which passes rc on, or says 1: it could not be recorded, and
 * nothing has been done.  ctt_dev_repeat() is all of that. */
int  ctt_dev_replay(struct ctt_dev *d, void **place);
int  ctt_dev_recorded(struct ctt_dev *d, void **place, int rc);
int  ctt_dev_repeat(struct ctt_dev *d, void **place, int (*work)(void *arg),
                    void *arg);
void ctt_dev_drop(struct ctt_dev *d, void **place);

/* Streams: calls of different streams may run side by side.  Which stream the
 * next calls belong to; the stream's next calls wait for all that `other` was
 * given so far.  One stream: everything is in order by itself. */
int  ctt_dev_stream_count(const struct ctt_dev *d);
void ctt_dev_stream(struct ctt_dev *d, int stream);
int  ctt_dev_wait(struct ctt_dev *d, int stream, int other);

/* ---- the flat block of weights ---- */

/* how: a byte for every 16 numbers (a weight starts at a multiple of 16):
 * CTT_FIXED, or how they are trained.  All pointers are into the device's
 * memory, those of the constraint too. */
enum ctt_how { CTT_FIXED, CTT_TRAINED, CTT_DECAYS };
struct ctt_flat {
    int64_t        n;         /* a multiple of 16 */
    float         *w, *dw;
    float         *m, *v;     /* moments; v NULL: sgd */
    const uint8_t *how;
    struct ctt_constraint constraint;
};

/* Before an update: makes the trained gradient one that f->constraint allows
 * (pruned: zero) and gives the sum of its squares, not finite if any of it is
 * not, both in one pass over the block.  The sum does not depend on the number
 * of threads.  Waits. */
int  ctt_dev_constrain(struct ctt_dev *d, const struct ctt_flat *f,
                       double *square_sum);

/* One update of the trained numbers (update.h) with the gradient of
 * ctt_dev_constrain(), which counts times rule->scale. */
int  ctt_dev_update(struct ctt_dev *d, const struct ctt_flat *f,
                    const struct ctt_rule *rule);

#endif
