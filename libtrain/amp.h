/* SPDX-License-Identifier: Apache-2.0
 * amp.h: mixed precision (Micikevicius and others 2018): which values have 16
 * bits, and the scale of the loss that keeps their gradients from vanishing. */
#ifndef CTT_AMP_H
#define CTT_AMP_H

#include "libtrain/train.h"

/* ---- amp.c ---- */

/* The type of each node's values, and why, for a graph that is trained: the
 * model's with target and loss behind (struct ctt_task_kind).  O0: all floats.
 * O1: by the lists of ops.def.  O2: 16 bits, but for losses, what they are
 * compared with, and the number a sample that a mix takes.  The setting's lists
 * change O1 and O2 by op or node; an error names the word that cannot be. */
int  ctt_amp_plan(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                  struct ctt_amp_plan **out);

/* What struct ctt_memory is told: NULL if all are floats. */
const enum ctt_dtype *ctt_amp_types(const struct ctt_amp_plan *p,
                                    const struct ctt_train_cfg *cfg);

/* The type of 16 bits that the settings name. */
enum ctt_dtype ctt_amp_type(const struct ctt_train_cfg *cfg);

/* ---- scale.c ---- */

/* A loss counts `scale` times.  clean: updates since the last skip or change;
 * skips: steps in a row without an update; skipped: all of them. */
struct ctt_scale {
    int     dynamic;
    double  scale;
    int64_t clean, skips, skipped;
};

enum { CTT_SCALE_CLEAN = 2000,    /* updates until it doubles */
       CTT_SCALE_SKIPS = 20 };    /* in a row: training cannot go on */

/* Dynamic: 2^24; without mixed precision 1.  CTT_EINVAL: --loss-scale is no
 * number and not "dynamic". */
int  ctt_scale_begin(const struct ctt_train_cfg *cfg, struct ctt_scale *s);

/* After a step whose gradient (and loss) was finite, or not: what to do with
 * it, and the scale of the next. */
enum ctt_verdict { CTT_TAKE, CTT_LEAVE, CTT_COLLAPSED };
enum ctt_verdict ctt_scale_after(struct ctt_scale *s, int finite);

#endif
