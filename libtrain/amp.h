/* SPDX-License-Identifier: Apache-2.0
 * amp.h: mixed precision (Micikevicius and others 2018): types of values, and
 * the loss scale that keeps 16-bit gradients from underflowing. */
#ifndef CTT_AMP_H
#define CTT_AMP_H

#include "libtrain/train.h"

/* ---- amp.c ---- */

/* Chooses the type of each node's values, with the reason, for a training
 * graph: the model with target and loss appended (struct ctt_task_kind).  O0:
 * all floats.  O1: by the lists of ops.def.  O2: 16 bits except for losses,
 * their targets, and the number per sample that selects the input of a mix.
 * --amp-allow, --amp-follow and --amp-deny change O1 and O2 per op or node;
 * CTT_EINVAL names an invalid word. */
int  ctt_amp_plan(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                  struct ctt_amp_plan **out);

/* The types for struct ctt_run_spec: NULL if all are floats. */
const enum ctt_dtype *ctt_amp_types(const struct ctt_amp_plan *p,
                                    const struct ctt_train_cfg *cfg);

/* The 16-bit type that --amp-type selects. */
enum ctt_dtype ctt_amp_type(const struct ctt_train_cfg *cfg);

/* ---- scale.c ---- */

/* The loss is multiplied by `scale`.  dynamic: the scale may change; clean:
 * updates since the last skip or doubling; skips: consecutive steps without an
 * update; skipped: all steps without one. */
struct ctt_scale {
    int     dynamic;
    double  scale;
    int64_t clean, skips, skipped;
};

enum { CTT_SCALE_CLEAN = 2000,    /* updates until it doubles */
       CTT_SCALE_SKIPS = 20 };    /* skips in a row that end the training */

/* The scale of the first step: 2^24 if dynamic, 1 without mixed precision.
 * CTT_EINVAL: --loss-scale is neither "dynamic" nor a number from 1 to 2^40,
 * which may be written 2^N. */
int  ctt_scale_begin(const struct ctt_train_cfg *cfg, struct ctt_scale *s);

/* After a step: returns whether to apply its gradient, and updates the scale
 * for the next step.  finite: 1 if loss and gradient are finite. */
enum ctt_verdict { CTT_TAKE, CTT_LEAVE, CTT_COLLAPSED };
enum ctt_verdict ctt_scale_after(struct ctt_scale *s, int finite);

#endif
