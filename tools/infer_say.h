/* SPDX-License-Identifier: Apache-2.0
 * infer_say.h: what convtt-infer prints: answers, accuracy, times; as text or
 * as lines of JSON. */
#ifndef CTT_INFER_SAY_H
#define CTT_INFER_SAY_H

/* An answer after `frame` of `frames` frames. */
struct ctt_said {
    const char  *file, *id;
    const char  *label;      /* the right class; NULL: not known */
    int          frame, frames;      /* frames 0: not known yet */
    double       seconds;    /* of the clip; < 0: not known */
    double       ms;         /* spent computing on this clip so far */
    char *const *name;       /* of the classes */
    const float *probs;
    const int   *order;      /* the classes by falling probability */
    int          top;        /* how many to print */
};
void ctt_say_answer(const struct ctt_said *a, int json);

/* Clips with a known label, and for how many of them the first class, or one
 * of the first five, was right after a share of the clip. */
struct ctt_score { double seen; int clips, top1, top5; };
int  ctt_say_scores(const struct ctt_score *s, int scores, int json);

/* Measured times; free ms with ctt_free.  Printing sorts them. */
struct ctt_times { double *ms; int count, room; };
int  ctt_times_add(struct ctt_times *t, double ms);
int  ctt_say_times(double open_ms, struct ctt_times *frame,
                   struct ctt_times *answer, int json);

#endif
