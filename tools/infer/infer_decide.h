/* SPDX-License-Identifier: Apache-2.0
 * infer_decide.h: early decisions: settings, results, calibration. */
#ifndef CTT_INFER_DECIDE_H
#define CTT_INFER_DECIDE_H

#include "infer/calibrate.h"
#include "video/source.h"

#include <stdint.h>

/* ---- infer_decide.c ---- */

/* Settings of --decide and --calibrate. */
struct ctt_decide_set {
    const char *answers;
    double      max_gap, delta;
    int         on, calibrate, guarantee;    /* ctt_promise_words */
    int         head;                        /* ctt_head_words */
};

/* "auto", and the words of enum ctt_guarantee from 1 on. */
extern const char *const ctt_promise_words[];

struct ctt_recogniser;

/* Numbers of clips: all, decided early, of a known class; of these: right, lost
 * (right only at the end), won (right only early). */
enum { CTT_DECIDE_TENTHS = 10 };
struct ctt_decide_sums {
    int    clips, early, known, right, lost, won;
    int    at[CTT_DECIDE_TENTHS], right_at[CTT_DECIDE_TENTHS];    /* by the
                       share seen: all, and right ones */
    double seen;    /* shares of clips */
};

/* Decides for a decoded clip, prints the answer and counts it in r->decided.
 * Clips of a known class are run to their end. */
int ctt_decide_clip(struct ctt_recogniser *r, const struct ctt_item *item,
                    const struct ctt_frames *f);

/* Prints the results of all clips beside the guarantee. */
int ctt_decide_say(const struct ctt_decide_sums *s, int json);

/* ---- infer_answers.c ---- */

/* First bytes of a table of answers. */
#define CTT_ANSWERS_BEGIN "clip,label,end,answer,frames,"

/* Answers for a clip of a known class. */
struct ctt_answer {
    char    *id;
    int      label, frames, end;    /* end: the answer at the end */
    uint32_t crc;                   /* of the frames */
    int      checks;                /* number of checks within the clip */
    int      answer[CTT_DECISION_CHECKS];
    float    sure[CTT_DECISION_CHECKS];    /* confidences */
};

/* Zeros at first. */
struct ctt_answers {
    struct ctt_answer **of;
    int                 count, room;
};

/* Adds an answer: zeros but for its id. */
int  ctt_answers_add(struct ctt_answers *a, const char *id,
                     struct ctt_answer **out);
void ctt_answers_free(struct ctt_answers *a);

/* Returns 1 if a clip has that class. */
int  ctt_answers_has(const struct ctt_answers *a, int label);

/* Keeps one of the clips with the same frames and sorts the rest; returns the
 * number of removed clips. */
int  ctt_answers_unique(struct ctt_answers *a);

/* Returns 1 if the answer at check k is wrong and the one at the end right. */
int  ctt_answer_lost(const struct ctt_answer *a, int k);

/* The trials of a calibration, in the order of the answers, with confidences of
 * this head; ctt_answers_trials_free() frees them. */
int  ctt_answers_trials(const struct ctt_answers *a,
                        const struct ctt_head *head, struct ctt_trials *out);
void ctt_answers_trials_free(struct ctt_trials *t);

/* Writes a table with a line per clip and check.  name: the classes. */
int  ctt_answers_write(const struct ctt_answers *a, char *const *name,
                       const char *path);

/* ---- calibrate_head.c ---- */

/* --head, and its words in this order. */
enum ctt_head_choice { CTT_HEAD_AUTO, CTT_HEAD_ON, CTT_HEAD_OFF };
extern const char *const ctt_head_words[];

/* Returns 1 if a head is to be fitted; depends on nothing else, as a choice by
 * results would need a test of its own. */
int ctt_calibrate_wants_head(enum ctt_head_choice choice, int clips,
                             int classes);

/* Fits a head on a random third of the clips, moves these to the front and
 * returns their number.  The calibration uses the others. */
int ctt_calibrate_head(struct ctt_answers *a, int classes,
                       struct ctt_head *out);

/* ---- infer_calibrate.c ---- */

struct ctt_calibrator;
struct ctt_kept_answers;

/* path: of the model; type: the numbers that its convs multiply.  Fails if the
 * file cannot be replaced. */
int  ctt_calibrator_open(const struct ctt_decide_set *set, const char *path,
                         const char *type, int classes,
                         struct ctt_calibrator **out);
void ctt_calibrator_close(struct ctt_calibrator **c);

/* Collects the answers for a decoded clip in r->calibrator. */
int ctt_calibrate_clip(struct ctt_recogniser *r, const struct ctt_item *item,
                       const struct ctt_frames *f);

/* Finds thresholds from all clips, prints them and their effect on these clips,
 * and stores them.  name: the classes. */
int ctt_calibrator_finish(struct ctt_calibrator *c, char *const *name,
                          int json);

/* The same of a model whose clips have several labels: thresholds of its
 * classes, from the probabilities that are kept of all clips at their ends. */
int ctt_calibrate_classes(const struct ctt_kept_answers *k, const char *path,
                          char *const *name, int json);

/* Keeps these of a decoded clip. */
int ctt_calibrate_several(struct ctt_recogniser *r,
                          const struct ctt_item *item,
                          const struct ctt_frames *f);

/* Fails if the model at path cannot be calibrated: a checkpoint, or a file that
 * cannot be replaced. */
int ctt_calibrate_check(const char *path);

/* Warns if the clips at path, of this checksum (ctt_source_crc), are those that
 * the model was trained on. */
void ctt_calibrate_judge(const struct ctt_calibrator *c, const char *path,
                         uint32_t crc);

#endif
