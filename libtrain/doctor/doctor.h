/* SPDX-License-Identifier: Apache-2.0
 * doctor.h: the checks of ctt_doctor() and their measurements. */
#ifndef CTT_DOCTOR_H
#define CTT_DOCTOR_H

#include "libtrain/before.h"
#include "libtrain/data/data.h"

enum { CTT_FIRST_STEPS = 60 };    /* or as many as fit into two minutes */

/* The first steps of a training on the same few clips: loss of the first one
 * and the lowest.  failed: the message of a loss that is not finite, or "". */
struct ctt_first_steps {
    int    clips, steps;
    double first, lowest;
    char   failed[128];
};

/* Input of the checks. */
struct ctt_patient {
    const struct ctt_model     *m;
    const struct ctt_train_cfg *cfg;
    struct ctt_data            *train, *val;
    int                         deep;
    struct ctt_survey           of;
    struct ctt_first_steps      steps;
};

#define FOUND(f, ...) snprintf((f)->found, sizeof((f)->found), __VA_ARGS__)
#define MENDS(f, ...) snprintf((f)->mends, sizeof((f)->mends), __VA_ARGS__)

/* doctor_classes.c: as a check's look(). */
int ctt_find_classes(struct ctt_patient *p, struct ctt_finding *f);
int ctt_find_twice(struct ctt_patient *p, struct ctt_finding *f);
int ctt_find_skipped(struct ctt_patient *p, struct ctt_finding *f);
int ctt_find_shared(struct ctt_patient *p, struct ctt_finding *f);
int ctt_find_groups(struct ctt_patient *p, struct ctt_finding *f);
int ctt_find_scene(struct ctt_patient *p, struct ctt_finding *f);

/* Trains a copy of m with the optimizer and learning rate of cfg, and without
 * augmentation, for up to 60 steps or 2 minutes on a batch of up to 8 clips
 * that are spread over d.  CTT_ESTOP if ctt_stopped(). */
int ctt_first_steps(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                    const struct ctt_data *d, struct ctt_first_steps *out);

#endif
