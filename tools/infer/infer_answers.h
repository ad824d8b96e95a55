/* SPDX-License-Identifier: Apache-2.0
 * infer_answers.h: the answers of a model at each check of clips, from which
 * early decisions are calibrated. */
#ifndef CTT_INFER_ANSWERS_H
#define CTT_INFER_ANSWERS_H

#include "infer/calibrate.h"

/* How a table of answers begins. */
#define CTT_ANSWERS_BEGIN "clip,label,end,answer,frames,"

/* Of a clip of a known class. */
struct ctt_answer {
    char    *id;
    int      label, frames, end;    /* end: the answer there */
    uint32_t crc;                   /* of its frames */
    int      checks;                /* that it has */
    int      answer[CTT_DECISION_CHECKS];
    float    sure[CTT_DECISION_CHECKS];    /* confidences */
};

/* Zeros: none. */
struct ctt_answers {
    struct ctt_answer **of;
    int                 count, room;
};

/* add: a new one, zeros but for its id. */
int  ctt_answers_add(struct ctt_answers *a, const char *id,
                     struct ctt_answer **out);
void ctt_answers_free(struct ctt_answers *a);

/* 1 if a clip is of that class. */
int  ctt_answers_has(const struct ctt_answers *a, int label);

/* Removes all but one of the clips with the same frames, and sorts the others;
 * returns how many went. */
int  ctt_answers_unique(struct ctt_answers *a);

/* 1: whoever takes the answer at check k loses the right one at the end. */
int  ctt_answer_lost(const struct ctt_answer *a, int k);

/* What a calibration needs of them, in their order, with confidences of this
 * head; ctt_answers_trials_free() frees it. */
int  ctt_answers_trials(const struct ctt_answers *a,
                        const struct ctt_head *head, struct ctt_trials *out);
void ctt_answers_trials_free(struct ctt_trials *t);

/* Writes a table with a line per clip and check.  name: the classes. */
int  ctt_answers_write(const struct ctt_answers *a, char *const *name,
                       const char *path);

#endif
