/* SPDX-License-Identifier: Apache-2.0
 * recognise.h: training steps and tests of recognition: the training graph, the
 * steps at which a clip is classified, the gradient. */
#ifndef CTT_RECOGNISE_H
#define CTT_RECOGNISE_H

#include "libtrain/train.h"

struct ctt_aux_head;
struct ctt_batch;
struct ctt_dev;
struct ctt_exec;
struct ctt_run;
struct ctt_section_job;
struct ctt_sums;

/* The asks of a clip in training: the points at which it is classified.  The
 * last one is always the end of the clip. */
struct ctt_asks {
    int    random;                      /* 1: one ratio drawn from lo..hi */
    double lo, hi;
    int    points, frames;              /* frames: spread over the clip */
    struct ctt_point point[CTT_MAX_POINTS];
    int    total;                       /* asks per clip */
};

struct ctt_want { int step; float weight; };

/* An ask of the batch, its label and the weight of its loss; 0: empty place.
 * own: the share of the label in the target; the rest is that of `other`. */
struct ctt_goal {
    int   sample, step, label;
    float weight;
    int   other;
    float own;
};

/* asks.c: reads --observe and --frame-loss. */
int  ctt_asks_parse(const struct ctt_train_cfg *cfg, struct ctt_asks *out);
/* Fills want[total] for a clip of length frames; key: of the random ratio. */
void ctt_asks_make(const struct ctt_asks *a, const struct ctt_train_cfg *cfg,
                   int length, uint64_t key, struct ctt_want *want);

/* teacher.c: models whose answers are targets: of several, the mean of their
 * probabilities (Hinton and others 2015). */
struct ctt_teacher {
    const struct ctt_graph *g;
    struct ctt_dev *dev;
    struct ctt_run *r;
    void           *own;         /* its weights in a device's own memory */
    float          *answers;     /* of a batch: a row per ask, or per step and
                                    sample */
    float          *p;           /* of one answer: a number per class */
    struct ctt_teacher *next;    /* another one, or NULL */
};

/* 1 if a training with these settings has a teacher. */
int  ctt_is_taught(const struct ctt_train_cfg *cfg);

/* The probabilities p[n] of the logits z[n] at a temperature: of classes that
 * exclude each other, and with `several` of each class by itself. */
void ctt_probabilities(const float *z, int n, double temperature, float *p);
void ctt_probabilities_of(int several, const float *z, int n,
                          double temperature, float *p);

/* CTT_EINVAL if a teacher of cfg takes other frames than the model g, or
 * answers other classes than those of d. */
int  ctt_teacher_check(const struct ctt_train_cfg *cfg,
                       const struct ctt_graph *g, const struct ctt_data *d);

/* Prepares batches of n clips of at most room frames with at most asks asks.
 * The models m[0], m[1], ... until NULL must stay valid. */
int  ctt_teacher_open(const struct ctt_model *const *m, struct ctt_dev *dev,
                      int n, int room, int asks, struct ctt_teacher **out);
void ctt_teacher_close(struct ctt_teacher **t);

/* Writes the mean probabilities of all classes at this temperature to the
 * beginning of the second half of each row of p, which has one of `wide`
 * numbers for each goal; those of a goal of weight 0 are zeros. */
int  ctt_teacher_run(struct ctt_teacher *t, const struct ctt_batch *b,
                     const struct ctt_goal *goal, int goals,
                     float temperature, int wide, float *p);

struct ctt_recognise_step {
    const struct ctt_train_cfg *cfg;
    struct ctt_graph *own;       /* the training graph */
    const struct ctt_graph *g;   /* that, or a section of it */
    const struct ctt_section_job *job;    /* of a section; else NULL */
    struct ctt_batch *kept;      /* of a section: the size of its batch */
    int               classes;
    struct ctt_exec  *x;
    struct ctt_amp_plan *amp;
    struct ctt_asks   asks;
    struct ctt_want  *want;      /* of one clip */
    struct ctt_goal  *goal;      /* asks.total per clip of the batch */
    struct ctt_ask   *ask;       /* the same for the clip part */
    float            *row, *answers;    /* rows of the current window */
    struct ctt_teacher *teacher;        /* or NULL */
    float            *share;     /* weight of each class, or NULL: 1; with
                                    several labels per clip then that of each
                                    class that is not there */
    float            *hot;       /* with several labels: [clip of the batch]
                                    [class] the share of a label in the target;
                                    otherwise NULL */
    float            *aim;       /* the target distributions of the goals, times
                                    their weights: of labels, and of answers;
                                    NULL: targets are classes.  With several
                                    labels each of them is two numbers per
                                    class: that it is there, that it is not */
    float            *said;      /* with self_distil: the answer of each goal;
                                    otherwise NULL */
    struct ctt_aux_head *ahead;     /* of --task both; otherwise NULL */
    const struct ctt_batch *batch;
    const char       *before;    /* as of the turn */
    char             *after;
    double            sum, right;    /* of losses; of right last answers */
    double            least;         /* sum of losses of perfect answers: the
                                        entropy of the targets */
    double            scale;         /* loss scale; 1 unless set */
    double            whole;         /* weight of the turn, or 0 (task.h) */
    double            factor;        /* of the gradient: ctt_turn_scale() */
    int               skips;         /* a loss may be not finite */
    float             seed;          /* gradient of a loss */
    int input, answer, target, loss;    /* of a section: -1: in another */
    int wide;                    /* floats per row of the target */
};

/* Floats per row of a target that is a class: label, weight. */
enum { CTT_TARGET = 2 };

/* Fills s->hot; does nothing without it. */
void ctt_aims_hot(struct ctt_recognise_step *s, const struct ctt_data *d,
                  const struct ctt_batch *b);

/* The training graph: the model with target and loss appended, with --task both
 * also those of its line `ahead`; weights keep their offsets. */
int  ctt_recognise_graph(const struct ctt_graph *model,
                         const struct ctt_train_cfg *cfg,
                         struct ctt_graph **out);

/* Prepares batches of n clips of at most room frames.  w: the model's weights
 * in the device's memory, which are not copied.  In mixed precision x->r->w16
 * must be set before the first step. */
int  ctt_recognise_step_open(const struct ctt_graph *model, const float *w,
                             const struct ctt_train_cfg *cfg,
                             struct ctt_dev *dev, int n, int room,
                             struct ctt_recognise_step **out);
void ctt_recognise_step_close(struct ctt_recognise_step **s);

/* The same of a section of the training graph, whose values stay until
 * back. */
int  ctt_recognise_section_open(const struct ctt_graph *model,
                                const struct ctt_section_job *job,
                                const float *w,
                                const struct ctt_train_cfg *cfg,
                                struct ctt_dev *dev, int n, int room,
                                struct ctt_recognise_step **out);

/* Computes the gradient, times s->factor, in s->x->dw and adds to sums.  key:
 * of dropout in this step; observe: of the random ratios of its clips.  If the
 * loss is not finite: CTT_ENAN, which names the first node that is not; with
 * s->skips returns 1 instead, without a gradient. */
int  ctt_recognise_step_run(struct ctt_recognise_step *s,
                            const struct ctt_data *d, const struct ctt_batch *b,
                            uint64_t key, uint64_t observe,
                            struct ctt_sums *sums);

/* Its two parts: there returns as run, and back computes the gradient after it.
 * Between them there may be other steps, and the clips of b may go. */
int ctt_recognise_step_losses(struct ctt_recognise_step *s,
                              const struct ctt_data *d,
                              const struct ctt_batch *b, uint64_t key,
                              uint64_t observe, struct ctt_sums *sums);
int  ctt_recognise_step_backward(struct ctt_recognise_step *s);

/* The forward pass of such a step only, without its losses. */
int  ctt_recognise_step_forward(struct ctt_recognise_step *s,
                                const struct ctt_data *d,
                                const struct ctt_batch *b);

/* After a gradient that is not finite: names the node; always an error. */
int  ctt_recognise_step_blame(struct ctt_recognise_step *s,
                              const struct ctt_batch *b);

/* aims.c: distributions as targets.  1 if a training of g with these settings
 * has them; CTT_EINVAL if their shares are more than the whole loss. */
int  ctt_has_aims(const struct ctt_graph *g, const struct ctt_train_cfg *cfg);
int  ctt_aims_check(const struct ctt_train_cfg *cfg);

/* Makes s->aim of the labels and the teacher's answers, before the forward
 * pass; does nothing without s->aim. */
int  ctt_aims_make(struct ctt_recognise_step *s);

/* After the forward pass: adds the model's answer to the whole clip to the
 * targets of its earlier answers, and their loss to s->sum.  No gradient goes
 * through a target (self-distillation over time, after Wang and others 2019,
 * whose teacher is another network). */
void ctt_aims_later(struct ctt_recognise_step *s);

/* next.c: --task next, which is recognition of a class at each step: the symbol
 * that follows.  check: as that of struct ctt_task_kind.  goals: fills `each`
 * goals for each clip of a batch, of weight 1 for its steps and 0 for those
 * behind them; returns the sum of the weights. */
int    ctt_next_check(const struct ctt_graph *g,
                      const struct ctt_train_cfg *cfg,
                      const struct ctt_data *d);
double ctt_next_goals(const struct ctt_data *d, const struct ctt_batch *b,
                      int each, struct ctt_goal *goal);

/* Repeated tests: as in struct ctt_task_kind, which has the loss per symbol. */
int  ctt_next_test_open(const struct ctt_graph *g, const float *w,
                        const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                        struct ctt_data *d, void **out);
void ctt_next_test_close(void **e);
int  ctt_next_test(void *e, const struct ctt_events *ev,
                   struct ctt_test_score *out);

/* CTT_EUNSUP unless the answer is one vector per step or ask; its length. */
int  ctt_answer_check(const struct ctt_graph *g);
int  ctt_answer_classes(const struct ctt_graph *g);

/* evaluate.c: repeated tests of a model while w changes.  They always run in
 * floats with the master weights, also in mixed precision: these are the
 * weights that are saved. */
struct ctt_recognise_eval;
int  ctt_recognise_eval_open(const struct ctt_graph *g, const float *w,
                             const struct ctt_train_cfg *cfg,
                             struct ctt_dev *dev, struct ctt_data *d,
                             const struct ctt_point *point, int points,
                             struct ctt_recognise_eval **out);
void ctt_recognise_eval_close(struct ctt_recognise_eval **e);
/* Returns 1 if ctt_stopped() ended it early. */
int  ctt_recognise_eval_run(struct ctt_recognise_eval *e,
                            struct ctt_metrics *m);

#endif
