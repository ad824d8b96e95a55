/* SPDX-License-Identifier: Apache-2.0
 * sample.h: the samples of a sliding run as streams of their own: the state
 * that a sample keeps from step to step is copied out of the run and back. */
#ifndef CTT_SAMPLE_H
#define CTT_SAMPLE_H

#include "run/run.h"

/* From now on each sample of the run has a past of its own (r->past_of), and
 * only the first r->active samples take part in a step: the caller sets it, and
 * runs one step at a time.  A run with values that are spread over the clip
 * (slots with `kept`) must have room for one step only.  Once, after the run
 * was opened and tuned. */
int  ctt_sample_begin(struct ctt_run *r);

/* The largest number of steps that such a run may have room for: `most`, or 1
 * if the model keeps values of the whole clip. */
int  ctt_sample_room(const struct ctt_graph *g, int most);

/* The state of a sample.  bytes: its size.  kind: a number that differs where
 * the bytes have another layout (other nodes, sizes, types or histories). */
int64_t  ctt_sample_bytes(const struct ctt_run *r);
uint32_t ctt_sample_kind(const struct ctt_run *r);

/* Copies the state of a sample after its last step, the one before the cursor,
 * out of the run (way: CTT_WITHIN or CTT_TO_HOST); bytes without a meaning yet
 * are 0, or in the program's memory unchanged.  The sample's age is at least
 * 1. */
int  ctt_sample_save(const struct ctt_run *r, int sample,
                     enum ctt_direction way, void *to);

/* Sets the state of a sample from such bytes (CTT_WITHIN or CTT_TO_DEVICE), as
 * if its last step were the one before the cursor, which must not be 0.  In a
 * run whose samples share their past the caller has set r->past. */
int  ctt_sample_load(struct ctt_run *r, int sample, int64_t age,
                     enum ctt_direction way, const void *from);

/* Clears the state of a sample: it is a new stream. */
int  ctt_sample_clear(struct ctt_run *r, int sample);

#endif
