/* SPDX-License-Identifier: Apache-2.0
 * calibrate_head.h: the confidence head of a calibration, and which clips it is
 * fitted on. */
#ifndef CTT_CALIBRATE_HEAD_H
#define CTT_CALIBRATE_HEAD_H

#include "tools/infer/infer_answers.h"

/* --head, and its words in this order. */
enum ctt_head_choice { CTT_HEAD_AUTO, CTT_HEAD_ON, CTT_HEAD_OFF };
extern const char *const ctt_head_words[];

/* Whether there is to be a head, with so many clips of so many classes; looks
 * at nothing else, or the choice itself would need a test. */
int ctt_calibrate_wants_head(enum ctt_head_choice choice, int clips,
                             int classes);

/* Fits a head on a third of the clips, drawn at random, and moves these to the
 * front; returns how many they are.  All others remain to calibrate with. */
int ctt_calibrate_head(struct ctt_answers *a, int classes,
                       struct ctt_head *out);

#endif
