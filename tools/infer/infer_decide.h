/* SPDX-License-Identifier: Apache-2.0
 * infer_decide.h: answers once per clip, as soon as the thresholds of the model
 * allow it. */
#ifndef CTT_INFER_DECIDE_H
#define CTT_INFER_DECIDE_H

#include "infer/calibrate.h"
#include "video/video.h"

/* Settings of --decide and --calibrate. */
struct ctt_decide_set {
    const char *answers;
    double      max_gap, delta, smooth;
    int         on, calibrate, guarantee;    /* ctt_promise_words */
    int         head;                        /* ctt_head_words */
};

/* "auto", and the words of enum ctt_guarantee from 1 on. */
extern const char *const ctt_promise_words[];

struct ctt_recogniser;

/* What was decided; of clips of a known class also what was right.  lost: right
 * only at the end, won: only early. */
struct ctt_decide_sums {
    int    clips, early, known, right, lost, won;
    double seen;    /* shares of clips */
};

/* Decides for a decoded clip, prints the answer and counts it in r->decided.  A
 * clip whose class is known is run to its end. */
int ctt_decide_clip(struct ctt_recogniser *r, const struct ctt_item *item,
                    const struct ctt_frames *f);

/* Prints what came of all clips, beside what was promised. */
int ctt_decide_say(const struct ctt_decide_sums *s, int json);

#endif
