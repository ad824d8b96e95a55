/* SPDX-License-Identifier: Apache-2.0
 * infer_calibrate.h: finds the thresholds of early decisions for a model file
 * and stores them in it. */
#ifndef CTT_INFER_CALIBRATE_H
#define CTT_INFER_CALIBRATE_H

#include "tools/infer/infer_decide.h"
#include "video/source.h"

struct ctt_recogniser;
struct ctt_calibrator;

/* path: of the model; type: what its convs multiply.  Fails if the file cannot
 * be replaced. */
int  ctt_calibrator_open(const struct ctt_decide_set *set, const char *path,
                         const char *type, int classes,
                         struct ctt_calibrator **out);
void ctt_calibrator_close(struct ctt_calibrator **c);

/* CTT_EINVAL if the model was trained or tested on the clips of the source, as
 * far as the file tells. */
int ctt_calibrator_source(const struct ctt_calibrator *c, const char *path,
                          const struct ctt_source *s);

/* Collects the answers for a decoded clip in r->calibrator. */
int ctt_calibrate_clip(struct ctt_recogniser *r, const struct ctt_item *item,
                       const struct ctt_frames *f);

/* Finds thresholds from all clips, prints them and what they do to these clips,
 * and stores them.  name: the classes. */
int ctt_calibrator_finish(struct ctt_calibrator *c, char *const *name,
                          int json);

#endif
