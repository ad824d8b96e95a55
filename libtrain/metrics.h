/* SPDX-License-Identifier: Apache-2.0
 * metrics.h: scores of a test: right answers at points of a clip, and the
 * quality of predicted frames. */
#ifndef CTT_METRICS_H
#define CTT_METRICS_H

#include "video/quality.h"

#include <stdint.h>

/* ---- recognise/metric.c ---- */

/* A time of a clip at which it is classified: after max(1, floor(ratio *
 * length)) frames, or after min(frames, length) if frames > 0. */
struct ctt_point { double ratio; int frames; };

/* The 0-based step of a point in a clip of length frames. */
int ctt_point_step(const struct ctt_point *p, int length);

/* Reads a list of points such as "0.25,0.5,1": ratios, or "1f" for a number of
 * frames; CTT_EINVAL unless both rise. */
enum { CTT_MAX_POINTS = 32 };
int ctt_points_parse(const char *text, struct ctt_point *out, int *count);

/* Result of a clip at a point; UNREAD: the clip cannot be read. */
enum ctt_clip_verdict { CTT_UNREAD, CTT_WRONG, CTT_RIGHT };

/* Sums over the clips, per point. */
struct ctt_metrics {
    int      points, classes;
    struct ctt_point point[CTT_MAX_POINTS];
    int64_t  clips;
    double   loss[CTT_MAX_POINTS];        /* sums of -log p(label) */
    int64_t  top1[CTT_MAX_POINTS], top5[CTT_MAX_POINTS];    /* right */
    int64_t *confusion;    /* [label][answer] at the last point */
    uint8_t *verdict;      /* enum ctt_clip_verdict of [clip of the set]
                              [point]; NULL unless of
                              ctt_evaluate_recognise() */
    float   *answer;       /* logits of [clip of the set][point][class]; NULL
                              unless of ctt_answer_recognise(), or several */

    /* Of clips with several labels: */
    int      several, set;            /* 1; clips of the set */
    uint8_t *there;                   /* [clip of the set][class]: a label */
    double   map[CTT_MAX_POINTS];     /* mean average precision
                                         (base/statistics/statistics.h) */
    double  *ap;                      /* of each class at the last point; NAN:
                                         no clip has it */
};


int  ctt_metrics_new(int classes, const struct ctt_point *point, int points,
                     struct ctt_metrics **out);
void ctt_metrics_free(struct ctt_metrics **m);
void ctt_metrics_clear(struct ctt_metrics *m);
/* Counts one answer (logits of all classes) at one point, and returns its
 * verdict.  A clip must be counted at every point; the last one also fills the
 * confusion matrix. */
enum ctt_clip_verdict ctt_metrics_add(struct ctt_metrics *m, int point,
                                      const float *logits, int label);

/* With several labels per clip, of a set of so many clips: there gives a clip a
 * label, add_clip then counts an answer, which is right if its largest number
 * is that of one of them, and rank sets map and ap when all are counted.
 * CTT_ENOMEM. */
int  ctt_metrics_several(struct ctt_metrics *m, int clips);
void ctt_metrics_there(struct ctt_metrics *m, int clip, int label);
enum ctt_clip_verdict ctt_metrics_add_clip(struct ctt_metrics *m, int point,
                                           int clip, const float *logits);
int  ctt_metrics_rank(struct ctt_metrics *m);

/* The score that counts at a point: the mean average precision, or top-1; its
 * name in texts and in JSON. */
double ctt_metrics_score(const struct ctt_metrics *m, int point);
const char *ctt_score_word(int several);
const char *ctt_score_key(int several);

/* Accuracy, 0..1, and mean loss at a point. */
double ctt_metrics_top1(const struct ctt_metrics *m, int point);
double ctt_metrics_top5(const struct ctt_metrics *m, int point);
double ctt_metrics_loss(const struct ctt_metrics *m, int point);
/* Accuracy at the last point for the clips of one class, or -1 if it has
 * none. */
double ctt_metrics_class(const struct ctt_metrics *m, int label);

/* ---- predict/evaluate.c ---- */

/* Methods that predict future frames: the model, or a baseline: a copy of the
 * last frame, or linear motion (video/baseline.h). */
enum ctt_predict_method { CTT_BY_MODEL, CTT_BY_LAST_FRAME, CTT_BY_LINEAR_MOTION,
                   CTT_PREDICT_METHODS };

/* Sums over the sequences, per future frame. */
struct ctt_predict_scores {
    int     observed, future;
    int64_t sequences;
    double  loss;                              /* over all frames but the
                                                  first */
    struct ctt_quality *sum[CTT_PREDICT_METHODS];    /* [future]; zeros if the
                                                        method was not run */
};

int  ctt_predict_scores_new(int observed, int future,
                            struct ctt_predict_scores **out);
void ctt_predict_scores_free(struct ctt_predict_scores **f);
/* The mean quality of the `ahead`-th future frame, from 1; 0: of all. */
struct ctt_quality ctt_predict_scores_at(const struct ctt_predict_scores *f,
                                         enum ctt_predict_method who,
                                         int ahead);

#endif
