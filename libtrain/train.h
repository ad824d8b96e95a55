/* SPDX-License-Identifier: Apache-2.0
 * train.h: training and testing of models: settings, data, training,
 * evaluation. */
#ifndef CTT_TRAIN_H
#define CTT_TRAIN_H

#include "libtrain/metrics.h"
#include "net/file/file.h"
#include "base/limits.h"
#include "base/telling.h"
#include "video/video.h"

enum ctt_optimizer  { CTT_SGD, CTT_ADAM, CTT_ADAMW, CTT_NESTEROV, CTT_RMSPROP,
                      CTT_ADAGRAD, CTT_LARS, CTT_LARC };
enum ctt_sched      { CTT_CONSTANT, CTT_STEPS, CTT_COSINE, CTT_SAMPLED };
enum ctt_task       { CTT_RECOGNISE, CTT_PREDICT, CTT_BOTH, CTT_NEXT };
enum ctt_sampler    { CTT_PLAIN, CTT_BALANCED };    /* and class weights */
enum ctt_amp        { CTT_O0, CTT_O1, CTT_O2 };
enum ctt_pick       { CTT_PICK_AUTO, CTT_PICK_BEST, CTT_PICK_LAST, CTT_PICK_EMA,
                      CTT_PICK_EMA_LAST };
enum { CTT_MAGNITUDES = 10 };    /* the largest --magnitude */
enum ctt_preset     { CTT_AUGMENT_OFF, CTT_AUGMENT_LIGHT, CTT_AUGMENT_STRONG };
enum ctt_frame_loss { CTT_FRAME_NONE, CTT_FRAME_ALL, CTT_FRAME_LINEAR,
                      CTT_FRAME_EXP };

struct ctt_comm;

struct ctt_changes;

/* Connections of a training to the calling program, which no option sets.
 * Nothing is owned, and all may be 0. */
struct ctt_train_wiring {
    struct ctt_comm *comm;     /* the processes that share the work
                                  (comm/comm.h), which all call the functions
                                  below that train or test; NULL: one */
    const struct ctt_changes *changes;    /* called during the training */
    const struct ctt_model *const *teachers;    /* then NULL; for distil */
    int         unlabelled;    /* 1: a set may have no class at all: its clips
                                  have label 0 until ctt_data_label() */
    const char *recipe;        /* text that checkpoints hold for a program that
                                  trains several times */
    int   last_of;             /* the learning rates are those of the last
                                  epochs of so many; 0: of `epochs` */
    float lr_to;               /* above 0: the learning rate rises from lr to it
                                  over the steps, evenly in its logarithm */
    int   random;              /* 1: the weights of cfg.backbone are, so no maps
                                  of its nodes are known */
    int   or_given;            /* 1: without changes, the given weights are the
                                  best until an epoch is better */
};

/* All settings of the trainer; ctt_train_opts has a row for each.  Strings are
 * not owned, and NULL if not given. */
struct ctt_train_cfg {
    const char *data, *val, *test, *split, *val_split, *classes, *buckets;
    const char *background;
    float fps;
    int   workers, cache, min_frames, max_frames, strict, vocab;
    int   augment, jitter, flip, rand_augment;
    float crop_area, crop_aspect, speed, start, brightness, contrast;
    float random_gamma, saturation, grey, erase, mixup, cutmix;    /* NAN: as
                              augment says */
    float magnitude;
    const char *observe;
    int   frame_loss, frame_asks;
    float label_smooth, distil, self_distil;
    float temperature, dsd;
    int   epochs, batch, shards, max_steps, optimizer, schedule, step_epochs;
    float lr, lr_end, warmup, gamma, momentum, beta1, beta2, trust;
    float weight_decay, clip_norm, time_limit, ema;
    int   pick, class_weights, sampler, folds, baselines;
    const char *val_ratios;
    int   val_every, val_batch, early_stop, seed, threads;
    int   task, input_frames, future_frames, loss, reads;
    const char *sampling_start, *ahead_weight;
    int   sampling_patience;
    float sampling_decay;
    int   sequences, val_sequences, digits;
    const char *set, *keep, *offload, *freeze, *lr_scale, *squeeze, *sync;
    const char *stages;
    int   bands, filters, sync_norm;
    struct ctt_telling telling;
    struct ctt_limits limits;    /* a program passes them to
                                    ctt_limits_set() */
    int   window, deterministic, tf32, streams;
    int   amp, amp_type, amp_plan;
    const char *amp_allow, *amp_follow, *amp_deny, *loss_scale;
    int   doctor;
    int   affinity, stall;       /* of several processes */
    int   comm_by;               /* enum ctt_comm_by of direct.h */
    const char *device, *init, *teacher, *out, *checkpoint, *log_csv, *log_json;
    const char *backbone, *nodes;
    const char *licence, *report_html, *log_tensorboard, *profile;
    int   checkpoint_every, resume, pause;
    const char *search, *search_log, *search_csv;
    int   trials, search_method, search_factor, search_first, jobs, repeats;
    struct ctt_train_wiring wiring;
};

/* Bits of their column `tags`. */
enum {
    /* May change when training resumes: it affects file names, speed or when
     * training ends.  A change of --epochs or --max-steps changes the learning
     * rate schedule, one of --threads, --window or --device the rounding of
     * sums, one of validation settings the start of scheduled sampling:
     * training then continues, but not bit for bit as without the change. */
    CTT_CFG_RESUME = CTT_OPT_OWN,
    /* Of convtt-train only: convtt-compress has no such option. */
    CTT_CFG_TRAINER = CTT_OPT_OWN << 1,
    /* Has no effect in a program that does not train, or reads no clips. */
    CTT_CFG_STEP = CTT_OPT_OWN << 2,
    CTT_CFG_CLIPS = CTT_OPT_OWN << 3,
};
/* Of a number that is found before the training (auto.c). */
#define CTT_CFG_WORD "auto"

/* " name=value" for each setting that is not at its default and affects the
 * result (no CTT_CFG_RESUME); the caller frees the text. */
int ctt_settings_changed(const struct ctt_train_cfg *cfg, char **out);

/* 1 if the task is to find the classes of clips. */
static inline int ctt_cfg_recognises(const struct ctt_train_cfg *cfg)
{
    return cfg->task == CTT_RECOGNISE || cfg->task == CTT_BOTH;
}

/* Frames of a sequence to predict. */
static inline int ctt_cfg_frames(const struct ctt_train_cfg *cfg)
{
    return cfg->input_frames + cfg->future_frames;
}

/* 1 if the model gets the weights of the last epoch, 0 if the weights that
 * validation chooses. */
static inline int ctt_picks_last(const struct ctt_train_cfg *cfg)
{
    return cfg->pick == CTT_PICK_LAST || cfg->pick == CTT_PICK_EMA_LAST;
}

extern const struct ctt_opt ctt_train_opts[];

/* Checks beyond types and ranges of options: settings that have no effect
 * without others, lists of ratios, numbers of buckets, sizes of memory, loss
 * scales, and weights that leave no loss. */
int ctt_train_check(const struct ctt_train_cfg *cfg);

/* ---- events ---- */

/* Staleness of gradients that came to a server (--sync), dropped ones too: the
 * steps since it had sent the weights. */
enum { CTT_STALE = 8 };
struct ctt_staleness {
    int64_t came[CTT_STALE + 1];      /* 0, 1, .. steps; [CTT_STALE]: or more */
    int64_t all, dropped, most;
    double  sum;
};

/* Progress; loss, top1, speed and the like are means over the epoch so far.
 * loss, top1: NAN if no step so far had a finite loss. */
struct ctt_progress {
    int     task;
    const char *clips;                /* ctt_word_clips() */
    int     epoch, epochs;            /* from 1 */
    int     batch, batches;           /* done, and all of this epoch */
    int     ranks;                    /* processes that share them */
    int64_t step, steps;
    double  lr, loss, top1;           /* top1: full clips, 0..1 */
    double  last;                     /* loss of the last step; NAN: it was not
                                         finite */
    double  clips_a_second, wait;     /* wait: fraction of time without data */
    double  seconds, left;            /* so far; estimate until the end */
    double  truth;                    /* predict: probability of a true frame as
                                         input, in scheduled sampling */
    double  ahead, ahead_weight;      /* both: mean square error of the next
                                         frame, and its weight in the loss */
    int     amp;                      /* 1: mixed precision */
    double  scale;                    /* its loss scale */
    int64_t skipped;                  /* its steps without an update, so far */
    struct ctt_staleness stale;       /* of this epoch */
    double  stale_mean;               /* NAN: none came */
    double  noise;                    /* gradient noise scale of this epoch, in
                                         clips (ctt_noise_scale()); NAN: not
                                         known */
};

/* The result of a test.  Recognise: loss and accuracy, 0..1, at the last of
 * --val-ratios, and their means over all of these.  Predict: loss over all
 * frames but the first, and the mean quality of the future frames.  top1_95:
 * the 95% confidence interval of top1; checkpoints do not hold it.  map: the
 * mean average precision, 0 where clips have one label. */
struct ctt_test_score { double loss, top1, top5, mse, psnr, ssim, ssim2,
                               mean_loss, mean_top1, top1_95[2], map,
                               mean_map; };

/* One row of the logs. */
struct ctt_epoch {
    struct ctt_progress p;
    int    tested;                    /* 1: val is set */
    int    best;                      /* the best so far; with cfg->pick last:
                                         the last */
    struct ctt_test_score val;
};


/* Callbacks, each may be NULL, in the caller's thread.  ctt_stop_set() stops a
 * run. */
struct ctt_events {
    void *arg;
    void (*clip)(void *arg, const char *what);     /* why a clip is skipped */
    void (*warn)(void *arg, const char *what);     /* of a clip that is used */
    void (*say)(void *arg, const char *line);
    void (*scan)(void *arg, int done, int clips);  /* reading the clips */
    void (*progress)(void *arg, const struct ctt_progress *p);
    void (*epoch)(void *arg, const struct ctt_epoch *e,
                  const struct ctt_metrics *val);  /* recognise; or NULL */
    void (*weights)(void *arg, const struct ctt_model *m);  /* then, as they
                                                               are now */
};

/* Passes a line to ev->say, if both are set. */
static inline void ctt_say(const struct ctt_events *ev, const char *line)
{
    if (ev && ev->say)
        ev->say(ev->arg, line);
}

/* ---- log.c ---- */

/* Passes the name and the value of each column of such a run to take; those of
 * a test only if it took place. */
void ctt_log_values(const struct ctt_train_cfg *cfg, int several,
                    const struct ctt_epoch *e,
                    void (*take)(void *arg, const char *name, double x),
                    void *arg);

/* ---- data/data.c ---- */

struct ctt_data;

/* Lists the clips at path (video/source.h) and reads each stored one once:
 * checks it, counts its frames, keeps the decoded frames of the first
 * cfg->cache MiB as long as nothing else needs the memory.  in: the format of
 * the model's input.  known: the model's labels, or NULL to take them from the
 * data.  Bad clips are reported to ev->clip and left out; with cfg->strict they
 * are an error.  An empty set is an error; CTT_ENOSPLIT if there is no such
 * split, which data without splits has if it is the usual one of cfg->data,
 * cfg->val or cfg->test; CTT_EUNSUP if recognition finds no clip with a class.
 *
 * In prediction labels are ignored.  A clip of L frames is L / T sequences of T
 * = input_frames + future_frames, which begin anywhere in training and at k * T
 * in tests; a clip with less than T frames is bad.  "mnist:DIR" (video.h) draws
 * sequences of cfg->digits digits, for a model of 64x64x1: cfg->sequences per
 * training epoch, different ones in each; the cfg->val_sequences of
 * "validation" and "test" do not depend on cfg->seed.  ctt_data_clips counts
 * sequences. */
int  ctt_data_open(const char *path, const char *split,
                   const struct ctt_input *in, char *const *known, int nknown,
                   const struct ctt_train_cfg *cfg,
                   const struct ctt_events *ev, struct ctt_data **out);
void ctt_data_close(struct ctt_data **d);
/* 1 if `split` of the same path has other clips than d, 0 if it has the same
 * ones; no clip is read.  *several: a clip has several labels.  CTT_ENOSPLIT:
 * there is no such split, as in a list without splits; CTT_EINVAL: it does not
 * fit, as its classes are others than those of d; and other errors of
 * ctt_data_open(). */
int  ctt_data_has_split(const struct ctt_data *d, const char *path,
                        const char *split, const struct ctt_input *in,
                        const struct ctt_train_cfg *cfg, int *several);
int  ctt_data_clips(const struct ctt_data *d);
int  ctt_data_skipped(const struct ctt_data *d);

/* 1 if no clip has a class of its own (wiring.unlabelled); label: that of each
 * clip instead. */
int  ctt_data_unlabelled(const struct ctt_data *d);
void ctt_data_label(struct ctt_data *d, const int *label);

/* The name of clip i as its list has it, and its label, from 0. */
const char *ctt_data_clip(const struct ctt_data *d, int i, int *label);

/* Frames evenly spread over a clip: bytes [frames][h, w, c], to be freed. */
struct ctt_strip { uint8_t *data; int frames, w, h, c; };
int ctt_data_strip(struct ctt_data *d, int i, int frames,
                   struct ctt_strip *out);

/* The frames of all its clips. */
int64_t ctt_data_all_frames(const struct ctt_data *d);
/* The names of the classes, valid until d is closed. */
char *const *ctt_data_labels(const struct ctt_data *d, int *count);

/* The number of classes with a clip; 0 in prediction.  clips: of each class, to
 * be freed.  CTT_ENOMEM. */
int  ctt_data_classes(const struct ctt_data *d, int **clips);

/* 1 if a clip of the list has several labels; 0 in prediction. */
int  ctt_data_several(const struct ctt_data *d);

/* 1 if the clips are windows of one text, which is read in order. */
int  ctt_data_is_one(const struct ctt_data *d);

/* A CRC-32 of the classes and clips (ctt_source_crc), in prediction without
 * their classes: another set has another one.  Clips that were skipped count
 * too. */
uint32_t ctt_data_crc(const struct ctt_data *d);

/* Duplicates: clips with the same frames, whatever their names.  With
 * cfg->strict two classes for them are an error of ctt_data_open(). */
int ctt_data_duplicates(const struct ctt_data *d, struct ctt_duplicates *out);

/* The number of clips of b that are in a too, whatever their names, by the
 * checksum of their decoded frames; the paths of the first one.  Drawn
 * sequences are not compared. */
int ctt_data_shared(const struct ctt_data *a, const struct ctt_data *b,
                    const char **in_a, const char **in_b);

/* 1 if the clips are the same files in the same order: a list without splits is
 * the training set of every split. */
int  ctt_data_same(const struct ctt_data *a, const struct ctt_data *b);

/* Statistics of a set.  mean, dev: per channel, for values in 0..1; black,
 * white: share of values of 0 and of 255; flat: how many of `clips` clips show
 * one value only; still: share of frames that equal the one before; fps: rates
 * of the clips at the model's rate (0: unknown); lengths in frames.  Up to 16
 * frames of each clip count, or 64 drawn sequences. */
struct ctt_survey {
    int    channels, clips, flat;
    double mean[3], dev[3], black, white, still;
    float  fps_least, fps_most, file_least, file_most;
    int    shortest, median, longest;
    double between, within;
};
int  ctt_data_survey(struct ctt_data *d, struct ctt_survey *out);

/* Puts the mean and deviation of d, rounded to 4 digits, where g has mean=auto
 * or std=auto, tells them and uses them for d too.  Where all values of
 * a channel are the same, std is 1, with a warning. */
int  ctt_data_measure(struct ctt_data *d, struct ctt_graph *g,
                      const struct ctt_events *ev);

/* Fold k, from 0, of the cfg->folds of d: the clips to validate on, and all
 * others, to train on.  cfg->seed decides the fold of a clip.  Clips with the
 * same frames, or with names of one person or video, are in one fold; each has
 * equally many of every class as far as that allows.  CTT_EINVAL if there are
 * fewer such groups.  Both live no longer than d and are freed by
 * ctt_fold_close(). */
int  ctt_fold_open(const struct ctt_data *d, const struct ctt_train_cfg *cfg,
                   int k, struct ctt_data **train, struct ctt_data **val);
void ctt_fold_close(struct ctt_data **d);

/* Of a text whose pieces are these sets: the vocabulary becomes that of the
 * first set, which is trained on, unless it is a model's. */
int  ctt_folds_count(struct ctt_data *const *set, int sets);

/* words.c: the words for what a training reads: clips, sequences, lines or
 * windows; frames or symbols. */
const char *ctt_word_clips(const struct ctt_train_cfg *cfg);
const char *ctt_word_frame(const struct ctt_train_cfg *cfg);

/* How the logs of --log-csv and --log-json begin. */
#define CTT_LOG_CSV_BEGIN "epoch,"
#define CTT_LOG_JSON_BEGIN "{\"epoch\":"

/* ---- amp.c ---- */

/* The type of each node's values, and the reason. */
enum { CTT_AMP_WHY = 96 };
struct ctt_amp_plan {
    enum ctt_dtype *type;
    char          (*why)[CTT_AMP_WHY];
};
void ctt_amp_free(struct ctt_amp_plan **a);

/* ---- train.c ---- */

/* CTT_EINVAL if a pattern of cfg->freeze or cfg->lr_scale matches no node with
 * weights, or if all of them are frozen. */
int  ctt_train_layers(const struct ctt_graph *g,
                      const struct ctt_train_cfg *cfg);

/* CTT_EUNSUP if the model does not suit cfg->task. */
int  ctt_train_suits(const struct ctt_graph *model,
                     const struct ctt_train_cfg *cfg);
/* An error if cfg->device cannot be used. */
int  ctt_train_device(const struct ctt_train_cfg *cfg);

/* The training graph of a model and the types of its values, for --amp-plan.
 * The caller frees both. */
int  ctt_train_plan(const struct ctt_graph *model,
                    const struct ctt_train_cfg *cfg, struct ctt_graph **g,
                    struct ctt_amp_plan **plan);

enum { CTT_BEST_GIVEN = -1 };
struct ctt_result {
    int     epochs, stopped;      /* stopped: 1: by ctt_stopped(), before the
                                     end */
    int     paused;               /* 1: by cfg->pause, before the end */
    int64_t steps, made;          /* of all runs; of this one */
    int64_t skipped;              /* of steps, without an update */
    int64_t overflows;            /* of these, of this run, the most in which
                                     one node was the last with an infinite
                                     gradient; its name */
    char    overflow[CTT_NAME];
    double  scale;                /* the loss scale at the end */
    double  loss, top1;           /* of the last training epoch */
    int     best_epoch;           /* 0: never validated, or not after the last
                                     change; CTT_BEST_GIVEN: the
                                     weights as given were the best */
    struct ctt_test_score val;         /* of the best epoch */
    double  seconds, clips_a_second, wait;
};

/* Trains m->w in place; m->constraint always holds.  With m->train (from a
 * checkpoint) training resumes, bit for bit as if it had not been interrupted.
 * With val, m->w ends as the best weights on it (recognise: the highest mean
 * accuracy over val_ratios; predict: the lowest MSE of future frames), and
 * cfg->out, if set, is written at each improvement; without val, or if
 * cfg->pick says so, m->w ends as the last weights.  With cfg->ema it is their
 * average that is tested and becomes m->w.  With wiring.or_given the given
 * weights are tested too, and kept if no epoch is better.  cfg->checkpoint, if
 * set, is written every checkpoint_every steps (0: every epoch) and when
 * ctt_stopped() or cfg->pause, a number of epochs, ends training.  Weights that
 * wiring.changes or --dsd prune lose their moments, and the best epoch is one
 * after the last change.  A checkpoint at or beyond the end of the run trains
 * no step.  If a loss or gradient is not finite:
 * CTT_ENAN, which names the first node; files keep their last content.  With
 * cfg->amp such a step counts but changes no weight, and a dynamic loss scale
 * is halved (scale.c); only a scale below 1, or 20 such steps in a row, are
 * CTT_ENAN. */
int  ctt_train(struct ctt_model *m, const struct ctt_train_cfg *cfg,
               struct ctt_data *train, struct ctt_data *val,
               const struct ctt_events *ev, struct ctt_result *out);

/* ---- settings.c ---- */

/* Adds a line to the history of m: that it was fitted to d with these
 * settings. */
int  ctt_train_note(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                    const struct ctt_data *d);

/* ---- recognise/norms.c ---- */

/* Sets the running statistics of the batch norms of m to the means and
 * variances over `clips` clips of d, or all if there are fewer: m sees them as
 * in training, in the batches and the order of its first epoch, with no other
 * weight changed (the "precise" statistics of Wu and Johnson 2021).  Sums over
 * the batches are doubles; an incomplete batch is left out unless it is the
 * only one.  Does nothing if m has no batch norm.  On failure m is unchanged;
 * CTT_ESTOP if ctt_stopped(). */
int  ctt_norms_estimate(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                        struct ctt_data *d, int clips);

/* ---- sample.c ---- */

/* The receiver of values: take is called with to, k and the channels of node[k]
 * of a graph at one place; or, with CTT_SAMPLE_INPUTS, with all values that the
 * conv or deconv node[k] reads for its result at one place, in the order of a
 * row of its weight (kd, kh, kw, in), 0 outside the frame; the node has no
 * groups then. */
struct ctt_sample {
    const int *node;
    int        nodes;
    enum ctt_sampled what;
    void     (*take)(void *to, int k, const float *row);
    void      *to;
};

/* Runs m on that many clips of d, or all of fewer, in a random order that
 * cfg->seed determines, and draws from each frame (after clip: from each whole
 * clip) 10 random places of each node, or all (CTT_SAMPLE_ALL, or if there are
 * fewer).  clips 0: as many as have 3,000 frames, the number of pictures that
 * Zhang and others 2015 use (3,000 clips if a part of m stands after clip).
 * Norms and dropout act as in a test.  Uses device, threads, val_batch and seed
 * of cfg. */
int  ctt_sample_values(const struct ctt_model *m,
                       const struct ctt_train_cfg *cfg, struct ctt_data *d,
                       int clips, const struct ctt_sample *want);

/* ---- checkpoint.c ---- */

/* For a program that trains several times: saves a checkpoint with
 * wiring.recipe between two trainings. */
int  ctt_pause_save(const char *path, struct ctt_model *m,
                    const struct ctt_train_cfg *cfg, const struct ctt_data *d,
                    const struct ctt_data *val);

/* CTT_EINVAL if the training whose state a model was loaded with is beyond the
 * end of the run, its epochs or steps; CTT_EFORMAT if the state is damaged. */
int  ctt_checkpoint_suits(const struct ctt_model *m,
                          const struct ctt_train_cfg *cfg);

/* " --epochs=40": what of the length of that run, on which a cosine schedule
 * depends, was otherwise; "": nothing. */
const char *ctt_resume_length(const struct ctt_model *m,
                              const struct ctt_train_cfg *cfg, char *buf,
                              size_t size);

/* Finds in a model, loaded with its training state, the text wiring.recipe of
 * the run that saved it, which the caller frees.  CTT_EINVAL if a setting that
 * affects the result differs, CTT_EFORMAT if m is no such checkpoint. */
int  ctt_pause_open(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                    char **recipe);

/* Then, with the clips: CTT_EINVAL if one of the sets is another than that of
 * the run that saved it.  m->train stays if a training was under way, otherwise
 * it is freed. */
int  ctt_pause_end(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                   const struct ctt_data *d, const struct ctt_data *val);

/* ---- recognise/evaluate.c ---- */

/* Tests m on all clips of d at all points, in one forward pass per batch.  Uses
 * device, threads, val_batch and buckets of cfg. */
int  ctt_evaluate_recognise(const struct ctt_model *m,
                            const struct ctt_train_cfg *cfg, struct ctt_data *d,
                            const struct ctt_point *point, int points,
                            struct ctt_metrics **out);

/* The same, and keeps the answers; zeros for unreadable clips. */
int  ctt_answer_recognise(const struct ctt_model *m,
                          const struct ctt_train_cfg *cfg, struct ctt_data *d,
                          const struct ctt_point *point, int points,
                          struct ctt_metrics **out);

/* ---- recognise/next.c, ngram.c ---- */

/* The mean of -log p of each symbol of d (text), in nats, by m.  Uses device,
 * threads, val_batch and buckets of cfg. */
int  ctt_evaluate_next(const struct ctt_model *m,
                       const struct ctt_train_cfg *cfg, struct ctt_data *d,
                       double *nats);

/* The same by counts of the symbols of `train`: of each with one added, and of
 * pairs, smoothed by Kneser and Ney's discount; how many symbols test has, and
 * how many of them are beyond the vocabulary. */
enum ctt_ngram { CTT_UNIGRAM, CTT_BIGRAM, CTT_NGRAMS };
int  ctt_ngram_scores(struct ctt_data *train, struct ctt_data *test,
                      double nats[CTT_NGRAMS], int64_t *symbols,
                      int64_t *unknown);

/* ---- predict/evaluate.c ---- */

/* Tests m and the baselines on every sequence of d.  Uses input_frames,
 * future_frames, loss, device, threads and val_batch of cfg. */
int  ctt_evaluate_predict(const struct ctt_model *m,
                          const struct ctt_train_cfg *cfg, struct ctt_data *d,
                          struct ctt_predict_scores **out);

#endif
