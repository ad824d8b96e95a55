/* SPDX-License-Identifier: Apache-2.0
 * memory.h: device memory, and operations on whole blocks of it.  "cpu" and
 * "ref" use host memory; the memory of "cuda" cannot be read by the program.
 * Work is done in the order of the calls, but a call may return before its
 * work is done; only functions that return numbers to the program wait.  A
 * failure of earlier work may be reported by any later call. */
#ifndef CTT_MEMORY_H
#define CTT_MEMORY_H

#include "device/device.h"
#include "device/render.h"
#include "device/update.h"
#include "net/constraint.h"

/* Zeroed memory, 64-byte aligned.  what: its name in the message of CTT_ENOMEM
 * ("values"). */
int  ctt_dev_alloc(struct ctt_dev *d, const char *what, int64_t bytes,
                   void **out);
void ctt_dev_free(struct ctt_dev *d, void **p);

/* Free bytes of the device's memory; of host memory, those that the limit of
 * memory leaves (base/limits.h). */
int64_t ctt_dev_room(const struct ctt_dev *d);

/* All bytes of the device's own memory, whoever uses them; 0: it has none. */
int64_t ctt_dev_size(const struct ctt_dev *d);

/* 1 if the program may read and write the device's memory. */
int  ctt_dev_shared(const struct ctt_dev *d);

/* The type of bytes of quantised values (ctt_is_bytes()). */
enum ctt_dtype ctt_dev_bytes(const struct ctt_dev *d);

/* y: `rows` rows of `each` floats of x, rounded to 8 bits as the weights of
 * convs of quantised values are (ctt_quant_floats() of net/quant.h). */
int  ctt_dev_round8(struct ctt_dev *d, const float *x, int64_t rows,
                    int64_t each, float *y);

/* Sets every byte to 0, or to `byte`. */
int  ctt_dev_clear(struct ctt_dev *d, void *p, int64_t bytes);
int  ctt_dev_fill(struct ctt_dev *d, void *p, int byte, int64_t bytes);

/* The host's bytes may be changed as soon as CTT_TO_DEVICE returns, unless they
 * are pinned: then after ctt_dev_sync(). */
enum ctt_direction { CTT_WITHIN, CTT_TO_DEVICE, CTT_TO_HOST };
int  ctt_dev_copy(struct ctt_dev *d, enum ctt_direction way, const void *from,
                  void *to, int64_t bytes);

/* *where: an address at which the device can read n host floats x: x itself if
 * the device uses host memory (*own is not set), else a copy, *own, which the
 * caller frees with ctt_dev_free(). */
int  ctt_dev_show(struct ctt_dev *d, const char *what, const float *x,
                  int64_t n, void **own, const float **where);

/* Copies dense host floats to a tensor, and back, with conversion.  put, cast,
 * sum and group_fill are CTT_EUNSUP if the type they write is not a float type
 * (ctt_is_float_type()). */
int  ctt_dev_put(struct ctt_dev *d, const float *from,
                 const struct ctt_tensor *to);
int  ctt_dev_get(struct ctt_dev *d, const struct ctt_tensor *from, float *to);

/* cast: converts n floats to another type.  sum: to += from, n numbers of one
 * type. */
int  ctt_dev_cast(struct ctt_dev *d, const float *from, enum ctt_dtype type,
                  void *to, int64_t n);
int  ctt_dev_sum(struct ctt_dev *d, enum ctt_dtype type, const void *from,
                 void *to, int64_t n);

/* Of a tensor's rows in `groups` equal groups, such as samples.  sums: the sum
 * of each group, in host memory (waits).  fill: sets all elements of group g to
 * value[g].  For losses. */
int  ctt_dev_group_sums(struct ctt_dev *d, const struct ctt_tensor *x,
                        int64_t groups, double *sums);
int  ctt_dev_group_fill(struct ctt_dev *d, const float *value, int64_t groups,
                        const struct ctt_tensor *y);

/* Waits for all work. */
int  ctt_dev_sync(struct ctt_dev *d);

/* Page-locks host memory of many uploads, if the device can, so that these run
 * concurrently with other work.  Unpin the memory before it is freed. */
int  ctt_dev_pin(struct ctt_dev *d, void *p, int64_t bytes);
void ctt_dev_unpin(struct ctt_dev *d, void *p);

/* Starts to upload floats concurrently with other work; a later ctt_dev_put()
 * from within them uses the uploaded copy.  One range at a time; n 0: forgets
 * the range, as its content will change. */
int  ctt_dev_prefetch(struct ctt_dev *d, const float *from, int64_t n);

/* Makes the floats of a batch, [steps][n][h, w, c], of its bytes, concurrently
 * with other work.  A device that shares the program's memory writes them to x.
 * For another x is an address alone: a ctt_dev_put() from within these floats
 * uses the device's, until the next call of this function or of
 * ctt_dev_prefetch().  The block may be x itself there. */
int  ctt_dev_render(struct ctt_dev *d, const struct ctt_shots *s, float *x);

/* A copy that runs concurrently with later calls, once all earlier ones are
 * done; such copies run one after the other.  Unlike those of ctt_dev_copy()
 * the host's bytes must stay until the copy is over.  place: the caller's
 * handle, NULL at first, freed by drop, once the last copy with it is over.
 * follow: later calls wait for the copy.  wait: the program waits, in any
 * thread.  A device without such concurrency copies at once. */
int  ctt_dev_transfer(struct ctt_dev *d, enum ctt_direction way,
                      const void *from, void *to, int64_t bytes,
                      void **place);
int  ctt_dev_transfer_follow(struct ctt_dev *d, void *place);
int  ctt_dev_transfer_wait(struct ctt_dev *d, void *place);
void ctt_dev_transfer_drop(struct ctt_dev *d, void **place);

/* ---- work that is the same each time ---- */

/* A sequence of calls may be recorded in its second run and replayed as one
 * from then on (a CUDA graph).  Each run must make the same calls on the same
 * memory, without put, get, alloc or sync; only the content of the memory may
 * differ.  place: the caller's handle, NULL at first, freed by ctt_dev_drop().
 * ctt_dev_replay(): 1: replayed; 0: the caller runs the work and then calls
 * ctt_dev_recorded() with its result rc, also after a failure, which returns
 * rc, or 1 if recording failed and the work has not been done.
 * ctt_dev_repeat() does all of this with `work`. */
int  ctt_dev_replay(struct ctt_dev *d, void **place);
int  ctt_dev_recorded(struct ctt_dev *d, void **place, int rc);
int  ctt_dev_repeat(struct ctt_dev *d, void **place, int (*work)(void *arg),
                    void *arg);
void ctt_dev_drop(struct ctt_dev *d, void **place);

/* Streams: calls in different streams may run concurrently.  ctt_dev_stream():
 * the stream of the calls that follow; ctt_dev_wait(): later calls in `stream`
 * wait for all earlier calls in `other`.  With one stream, all calls run in
 * order. */
int  ctt_dev_stream_count(const struct ctt_dev *d);
void ctt_dev_stream(struct ctt_dev *d, int stream);
int  ctt_dev_wait(struct ctt_dev *d, int stream, int other);

/* ---- the flat block of weights ---- */

/* Weights `at` to at + count - 1 of the block. */
struct ctt_stretch { int64_t at, count; };

/* how: an enum ctt_how per 16 numbers (a weight starts at a multiple of 16).
 * All pointers but `shared` are to device memory, also those of the
 * constraint. */
enum ctt_how { CTT_FIXED, CTT_TRAINED, CTT_DECAYS };
struct ctt_flat {
    int64_t        n;         /* a multiple of 16 */
    float         *w, *dw;
    float         *m, *v;     /* moments; v NULL: sgd */
    const uint8_t *how;
    struct ctt_constraint constraint;
    const struct ctt_stretch *shared;    /* [spans]: the tensors with shared
                                            values, all of them trained */
    int            spans;
};

/* Before an update: makes the gradient of the trained weights that of
 * f->constraint (pruned: zero; a shared value: the sum over its weights, in
 * each of them) and returns the sum of its squares, each shared value counted
 * once, not finite if an element is not.  The sums do not depend on the number
 * of threads.  Waits. */
int  ctt_dev_constrain(struct ctt_dev *d, const struct ctt_flat *f,
                       double *square_sum);

/* One update of the trained weights (update.h) with the gradient of
 * ctt_dev_constrain() times rule->scale. */
int  ctt_dev_update(struct ctt_dev *d, const struct ctt_flat *f,
                    const struct ctt_rule *rule);

/* Moves n averages by a share, 0..1, of the way to the weights, fixed ones too
 * (update.h).  n: a multiple of 16. */
int  ctt_dev_average(struct ctt_dev *d, const float *w, float share,
                     float *average, int64_t n);

#endif
