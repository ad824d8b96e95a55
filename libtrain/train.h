/* SPDX-License-Identifier: Apache-2.0
 * train.h: how a model learns and how good it is: settings, data, training,
 * evaluation. */
#ifndef CTT_TRAIN_H
#define CTT_TRAIN_H

#include "net/file.h"
#include "video/quality.h"
#include "video/video.h"

enum ctt_optimizer  { CTT_SGD, CTT_ADAM, CTT_ADAMW };
enum ctt_sched      { CTT_CONSTANT, CTT_STEPS, CTT_COSINE, CTT_SAMPLED };
enum ctt_task       { CTT_RECOGNISE, CTT_PREDICT };
enum ctt_amp        { CTT_O0, CTT_O1, CTT_O2 };
enum ctt_frame_loss { CTT_FRAME_NONE, CTT_FRAME_ALL, CTT_FRAME_LINEAR,
                      CTT_FRAME_EXP };

/* Every setting of the trainer; ctt_train_opts has a row for each.  Strings are
 * NULL if not given and are not owned. */
struct ctt_train_cfg {
    const char *data, *val, *split, *val_split, *classes, *buckets;
    int   workers, cache, min_frames, max_frames, strict, jitter, flip;
    float brightness, contrast;
    const char *observe;
    int   frame_loss, frame_asks;
    float observe_weight, full_weight, label_smooth;
    int   epochs, batch, max_steps, optimizer, schedule, step_epochs;
    float lr, lr_end, warmup, gamma, momentum, beta1, beta2, eps;
    float weight_decay, clip_norm, time_limit;
    const char *val_ratios;
    int   val_every, val_batch, early_stop, seed, threads;
    int   task, input_frames, future_frames, loss;
    const char *sampling_start;
    int   sampling_patience;
    float sampling_decay;
    int   sequences, val_sequences, digits;
    const char *keep, *memory;
    int   window, deterministic, streams;
    int   amp, amp_type, amp_plan;
    const char *amp_allow, *amp_deny, *loss_scale;
    const char *device, *init, *out, *checkpoint, *log_csv, *log_json;
    int   checkpoint_every, resume;
};

/* Bits of their column `tags`. */
enum {
    /* May change when training resumes: it affects where files lie, how fast
     * training is or when it ends.  With another --epochs or --max-steps the
     * learning rate takes another course, with other --threads, --window or
     * --device sums round differently, with other validation settings
     * scheduled sampling starts elsewhere: training then continues, but not
     * bit for bit. */
    CTT_CFG_RESUME = CTT_OPT_OWN,
    /* Of convtt-train only: retraining in convtt-compress does not have it. */
    CTT_CFG_TRAINER = CTT_OPT_OWN << 1,
};
extern const struct ctt_opt ctt_train_opts[];

/* Checks what option types and ranges cannot: settings that have no effect
 * without others, lists of ratios, numbers of buckets, sizes of memory, loss
 * scales, and weights that leave no loss. */
int ctt_train_check(const struct ctt_train_cfg *cfg);

/* ---- what happens meanwhile ---- */

/* Counted over the epoch so far. */
struct ctt_progress {
    int     task;
    int     epoch, epochs;            /* from 1 */
    int     batch, batches;           /* done in this epoch */
    int64_t step, steps;
    double  lr, loss, top1;           /* top1: full clips, 0..1 */
    double  clips_a_second, wait;     /* wait: share of time without data */
    double  seconds, left;            /* left: until the end, estimated */
    double  truth;                    /* predict: share of the future frames
                                         that are fed as they are */
    int     amp;                      /* 1: mixed precision, which has */
    double  scale;                    /* a loss scale and */
    int64_t skipped;                  /* steps without an update, so far */
};

/* What a test comes to.  Recognise: loss and shares of right answers, 0..1, of
 * full clips.  Predict: loss over all frames but the first, and the quality of
 * the future ones in mean. */
struct ctt_test_score { double loss, top1, top5, mse, psnr, ssim, ssim2; };

/* One row of the logs. */
struct ctt_epoch {
    struct ctt_progress p;
    int    tested;                    /* val is of this epoch */
    int    best;                      /* the best so far */
    struct ctt_test_score val;
};

struct ctt_metrics;

/* Each may be NULL.  They are called from the thread that called in. */
struct ctt_events {
    void *arg;
    void (*clip)(void *arg, const char *what);     /* a clip is skipped */
    void (*say)(void *arg, const char *line);
    void (*scan)(void *arg, int done, int clips);  /* reading the clips */
    void (*progress)(void *arg, const struct ctt_progress *p);
    void (*epoch)(void *arg, const struct ctt_epoch *e,
                  const struct ctt_metrics *val);  /* recognise; or NULL */
    int  (*stop)(void *arg);                       /* 1: stop cleanly */
};

/* ---- data/data.c ---- */

struct ctt_data;

/* Lists the clips at path (video/source.h) and reads each stored one once:
 * counts its frames, finds the bad ones, keeps the decoded frames of the first
 * cfg->cache MiB.  in: what the model wants of its frames.  known: the model's
 * labels, or NULL: they come from the data.  Bad clips are told to ev->clip and
 * left out, or with cfg->strict an error.  An empty set is an error.
 *
 * For the task predict labels do not matter.  A clip of L frames is max(1, L /
 * T) sequences of T = input_frames + future_frames, which begin anywhere in
 * training and at k * T in tests; one with fewer than T is bad.  "mnist:DIR"
 * (video.h) is sequences of cfg->digits digits drawn on the fly, for a model of
 * 64x64x1: cfg->sequences a training epoch, other ones each; the
 * cfg->val_sequences of "validation" and "test" do not depend on cfg->seed.
 * ctt_data_clips counts sequences. */
int  ctt_data_open(const char *path, const char *split,
                   const struct ctt_input *in, char *const *known, int nknown,
                   const struct ctt_train_cfg *cfg,
                   const struct ctt_events *ev, struct ctt_data **out);
void ctt_data_close(struct ctt_data **d);
int  ctt_data_clips(const struct ctt_data *d);
int  ctt_data_skipped(const struct ctt_data *d);
/* The names of the classes; valid as long as d. */
char *const *ctt_data_labels(const struct ctt_data *d, int *count);

/* 1 if the clips are the same files in the same order: a list without splits
 * gives the training set for every split. */
int  ctt_data_same(const struct ctt_data *a, const struct ctt_data *b);

/* ---- recognise/metric.c, recognise/evaluate.c ---- */

/* When a clip is asked: after max(1, floor(ratio * frames)) frames, or after
 * min(frames, its length) if frames > 0. */
struct ctt_point { double ratio; int frames; };

/* The 0-based step of a point in a clip of length frames. */
int ctt_point_step(const struct ctt_point *p, int length);

/* "0.25,0.5,1": ratios, and "1f" for a number of frames. */
enum { CTT_MAX_POINTS = 32 };
int ctt_points_parse(const char *text, struct ctt_point *out, int *count);

/* Sums over the clips; a point's own row by its index. */
struct ctt_metrics {
    int      points, classes;
    struct ctt_point point[CTT_MAX_POINTS];
    int64_t  clips;
    double   loss[CTT_MAX_POINTS];        /* sums of -log p(label) */
    int64_t  top1[CTT_MAX_POINTS], top5[CTT_MAX_POINTS];
    int64_t *confusion;    /* [label][answer] at the last point */
};

int  ctt_metrics_new(int classes, const struct ctt_point *point, int points,
                     struct ctt_metrics **out);
void ctt_metrics_free(struct ctt_metrics **m);
void ctt_metrics_clear(struct ctt_metrics *m);
/* Counts one answer (logits of all classes) at one point.  A clip must be
 * counted at every point; the last one also fills the confusion matrix. */
void ctt_metrics_add(struct ctt_metrics *m, int point, const float *logits,
                     int label);
/* Share of right answers, 0..1, and mean loss at a point. */
double ctt_metrics_top1(const struct ctt_metrics *m, int point);
double ctt_metrics_top5(const struct ctt_metrics *m, int point);
double ctt_metrics_loss(const struct ctt_metrics *m, int point);
/* Share of right answers among the clips of one class, or -1: no clip. */
double ctt_metrics_class(const struct ctt_metrics *m, int label);

/* Answers of m for all clips of d at all points, in one forward pass.  cfg
 * gives device, threads, workers, val_batch and buckets. */
int  ctt_evaluate_recognise(const struct ctt_model *m,
                            const struct ctt_train_cfg *cfg, struct ctt_data *d,
                            const struct ctt_point *point, int points,
                            const struct ctt_events *ev,
                            struct ctt_metrics **out);

/* ---- predict/evaluate.c ---- */

/* What predicts the coming frames: the model, or a baseline: the last frame
 * again, or linear motion (video/baseline.h). */
enum ctt_predict_method { CTT_BY_MODEL, CTT_BY_LAST_FRAME, CTT_BY_LINEAR_MOTION,
                   CTT_PREDICT_METHODS };

/* Sums over the sequences, of frames 1 .. future after the `observed` ones. */
struct ctt_predict_scores {
    int     observed, future;
    int64_t sequences;
    double  loss;                              /* over all frames but the
                                                  first */
    struct ctt_quality *sum[CTT_PREDICT_METHODS];    /* [future]; 0: a method
                                                        that was not run */
};

int  ctt_predict_scores_new(int observed, int future,
                            struct ctt_predict_scores **out);
void ctt_predict_scores_free(struct ctt_predict_scores **f);
void ctt_predict_scores_clear(struct ctt_predict_scores *f);
/* The mean quality `ahead` frames after the last one seen; 0: of all. */
struct ctt_quality ctt_predict_scores_at(const struct ctt_predict_scores *f,
                                         enum ctt_predict_method who,
                                         int ahead);

/* Lets m and the baselines predict every sequence of d.  cfg gives
 * input_frames, future_frames, loss, device, threads and val_batch. */
int  ctt_evaluate_predict(const struct ctt_model *m,
                          const struct ctt_train_cfg *cfg, struct ctt_data *d,
                          const struct ctt_events *ev,
                          struct ctt_predict_scores **out);

/* ---- init.c ---- */

/* Fresh weights: He and others 2015 before a relu, Glorot and Bengio 2010
 * elsewhere, forget gates open (bias 1), norms the identity. */
void ctt_init_weights(struct ctt_model *m, uint64_t seed);

/* ---- amp.c ---- */

/* The type of each node's values, and why. */
enum { CTT_AMP_WHY = 96 };
struct ctt_amp_plan {
    enum ctt_dtype *type;
    char          (*why)[CTT_AMP_WHY];
};
void ctt_amp_free(struct ctt_amp_plan **a);

/* ---- train.c ---- */

/* What --amp-plan tells: the graph that is trained, which is the model's with
 * more nodes, and the types of its values.  The caller frees both. */
int  ctt_train_plan(const struct ctt_graph *model,
                    const struct ctt_train_cfg *cfg, struct ctt_graph **g,
                    struct ctt_amp_plan **plan);

struct ctt_result {
    int     epochs, stopped;      /* stopped: by the caller, before the end */
    int64_t steps;
    int64_t skipped;              /* of them, without an update */
    double  scale;                /* of the loss, at the end */
    double  loss, top1;           /* of the last training epoch */
    int     best_epoch;           /* 0: never validated */
    struct ctt_test_score val;         /* of the best epoch */
    double  seconds, clips_a_second, wait;
};

/* Trains m->w in place.  m->constraint holds all the way.  With m->train (from
 * a checkpoint) it goes on there, bit for bit.  With val, m->w is in the end
 * what did best on it (recognise: most right at the last of val_ratios;
 * predict: the smallest MSE of future frames) and out, if cfg->out is set, has
 * been written each time it got better; without val it is the last.
 * cfg->checkpoint, if set, is written every checkpoint_every steps (0: every
 * epoch) and when ev->stop says so.  A loss or gradient that is not finite is
 * CTT_ENAN and names the first node; the files keep their last good content.
 * With cfg->amp such a step counts but changes no weight and halves the loss
 * scale (scale.c); only a scale under 1, or 20 such steps in a row, are
 * CTT_ENAN. */
int  ctt_train(struct ctt_model *m, const struct ctt_train_cfg *cfg,
               struct ctt_data *train, struct ctt_data *val,
               const struct ctt_events *ev, struct ctt_result *out);

#endif
