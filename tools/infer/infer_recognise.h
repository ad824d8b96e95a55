/* SPDX-License-Identifier: Apache-2.0
 * infer_recognise.h: answers which class a clip shows, after given ratios of it
 * or while its frames arrive. */
#ifndef CTT_INFER_RECOGNISE_H
#define CTT_INFER_RECOGNISE_H

#include "tools/infer/infer_opt.h"
#include "tools/shared/decode.h"
#include "tools/infer/infer_say.h"

enum { CTT_RECOGNISE_RATIOS = 16, CTT_RECOGNISE_BATCH = 8 };

/* The caller fills the first part; pointers stay the caller's. */
struct ctt_recogniser {
    const struct ctt_infer_set *set;
    struct ctt_session *session;
    struct ctt_input    in;
    char              **label;      /* the model's classes */
    int                 classes;
    uint8_t            *frames;     /* room for a batch in the model's size */
    float              *probs;      /* and for a value per class */
    int                *order;      /* the best classes, by falling
                                       probability */

    struct ctt_accuracy accuracy[CTT_RECOGNISE_RATIOS];
    int                 ratios;
    struct ctt_times    frame, answer;    /* with --time, and those below */
    struct ctt_decode_times decode;
    int                 read, skipped;    /* clips */

    /* Does something else with the frames of a decoded clip than answer at each
     * ratio; NULL: nothing. */
    int               (*watch)(struct ctt_recogniser *r,
                               const struct ctt_item *item,
                               const struct ctt_frames *f);
    struct ctt_decide_sums decided;       /* with --decide */
    struct ctt_calibrator *calibrator;    /* with --calibrate */
};

/* Reads --observe into the ratios of r. */
int ctt_recognise_ratios(struct ctt_recogniser *r);

/* The clip's class, if it is known and one of the model's, or -1. */
int ctt_recognise_label(const struct ctt_recogniser *r,
                        const struct ctt_item *item);

/* Gives the session the middle of that many stored frames, at most
 * CTT_RECOGNISE_BATCH, and adds the time to *ms. */
int ctt_recognise_push(struct ctt_recogniser *r, const uint8_t *data,
                       int frames, double *ms);

/* Answers for a decoded clip, whose frames it frees; or, with --every, for clip
 * i of the source as it is decoded.  A clip that cannot be read is skipped with
 * a warning, or with --strict an error. */
int ctt_recognise_decoded(struct ctt_recogniser *r, struct ctt_decoded *d);
int ctt_recognise_stream(struct ctt_recogniser *r,
                         const struct ctt_source *from, int i);

#endif
