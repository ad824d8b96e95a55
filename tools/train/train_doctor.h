/* SPDX-License-Identifier: Apache-2.0
 * train_doctor.h: what convtt-train says of the checks of clips and settings.
 */
#ifndef CTT_TRAIN_DOCTOR_H
#define CTT_TRAIN_DOCTOR_H

#include "libtrain/train.h"

/* At the start of a run: a line on what matters most, a warning of what looks
 * wrong. */
int ctt_doctor_glance(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *train,
                      struct ctt_data *val);

/* --doctor: prints the table of all checks and writes cfg->sheet, if it is set;
 * returns how many look wrong. */
int ctt_doctor_table(const struct ctt_model *m,
                     const struct ctt_train_cfg *cfg, struct ctt_data *train,
                     struct ctt_data *val);

/* Fails if cfg->sheet cannot be written, or not of frames of this input. */
int ctt_doctor_check(const struct ctt_train_cfg *cfg,
                     const struct ctt_input *in);

#endif
