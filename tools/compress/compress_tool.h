/* SPDX-License-Identifier: Apache-2.0
 * compress_tool.h: functions and structures shared by the files of
 * convtt-compress. */
#ifndef CTT_COMPRESS_TOOL_H
#define CTT_COMPRESS_TOOL_H

#include "base/newfile.h"
#include "base/opt.h"
#include "base/json.h"
#include "compress/compress.h"
#include "compress/search/search.h"
#include "libtrain/train.h"
#include "tools/shared/output.h"
#include "tools/shared/tool.h"
#include "tools/shared/training.h"

/* ---- compress_opt.c ---- */

/* Sets tab to all options as fields of struct ctt_compress_cfg: stages,
 * retraining, files. */
int ctt_compress_options(struct ctt_opt tab[CTT_OPT_MAX + 1]);

/* Without its table of options. */
extern const struct ctt_program ctt_compress_program;

/* ---- compress_say.c ---- */

/* Progress of a run. */
struct ctt_compress_watch {
    const char       *stage;    /* being retrained */
    struct ctt_epochs span;     /* of all retraining; zeros: none yet */
};

/* The work of all retraining after `part` epochs of the one under way. */
struct ctt_work ctt_compress_work(const struct ctt_epochs *s, double part);

/* Callbacks that print progress, epochs and bad clips of retraining. */
struct ctt_events ctt_compress_events(struct ctt_compress_watch *w);

/* Prints what each stage or round came to, and where the bytes are; all: every
 * table of the report. */
int ctt_compress_say(const struct ctt_report *r, int all);

/* 1 if the user asked for all: --report, --report-html. */
struct ctt_compress_cfg;
int ctt_compress_tells_all(const struct ctt_compress_cfg *c);

/* ---- compress_calls.c ---- */

/* All settings. */
struct ctt_compress_cfg {
    struct ctt_train_cfg train;
    struct ctt_recipe    recipe;
    const char          *out, *report, *report_html, *epochs,
                        *profile;
    int                  by_times, time_threads;
    int                  sense;       /* 1: --sense and its settings: */
    float                sense_kl;
    int                  sense_clips;
    const char          *sense_log, *sense_csv;
    int                  explain;     /* 1: --explain and its settings: */
    int                  explain_steps;
    const char          *dense, *explain_log, *explain_csv;
    const char          *budget;      /* --budget and its settings: */
    int                  dry_run, budget_steps;
    const char          *budget_csv;
};

struct ctt_compress_job {
    struct ctt_compress_cfg c;
    const struct ctt_opt *tab;      /* of all options */
    const char       *path;         /* of the original */
    char              ckpt[4096], log[4096];
    int               own_ckpt;     /* not named by --checkpoint */
    int               saved;        /* the checkpoint is of this run */
    char             *place;        /* the recipe's text in it */
    struct ctt_model *m, *from;     /* from: of the checkpoint */
    struct ctt_model *given;        /* a copy of m as given */
    struct ctt_teachers teachers;   /* teach m: that copy is in the list unless
                                       --teacher names others */
    struct ctt_data  *data, *val;
    struct ctt_data  *whole;        /* of which they are parts, or NULL */
    struct ctt_metrics *base;       /* of the given model on val; NULL: not
                                       yet tested */
    struct ctt_metrics *was;        /* of the reference model of losses */
    struct ctt_newfile *claim[2];   /* on the model and the checkpoint */
    struct ctt_compress_watch watch;
    char              busy[128];    /* purpose of the samples, for progress */
    struct ctt_work   around;       /* the measurements that a sample or a
                                       timing is part of; all 0: unknown */
    int               many_times;   /* 1: many models are timed, each with few
                                       turns */
    int               short_steps;  /* of a short retraining of --budget */
    struct ctt_events ev;
    int               status;       /* of the program if it fails now */
};

/* Returns 0 if choices must not be timed: times of the device "ref" (plain C)
 * say nothing about other devices, and --choose-by rules must give the same
 * result each time. */
int ctt_compress_may_time(const struct ctt_compress_cfg *c);

/* Batches of an epoch of retraining. */
int64_t ctt_compress_batches(const struct ctt_compress_job *j);

/* Callbacks of the recipe: retraining and tests (if there are clips), and
 * checkpoints (if there is retraining). */
struct ctt_recipe_calls ctt_compress_calls(struct ctt_compress_job *j);

/* ---- compress_check.c ---- */

/* CTT_EINVAL, naming the first setting without effect: a setting of the
 * trainer without retraining or clips; one of a stage without retraining. */
int ctt_compress_check_trainer(const struct ctt_compress_cfg *c);
int ctt_compress_check_stages(const struct ctt_compress_cfg *c,
                              const struct ctt_opt *tab);

/* The same for --for and the settings of INT8, if nothing is left to choose.
 * tab: all options; clips: 1: there are clips with classes to train and to
 * test on. */
int ctt_compress_check_choices(const struct ctt_compress_cfg *c,
                               const struct ctt_opt *tab, int clips);

/* CTT_EINVAL, as wrong usage, unless the model m of this file is dense: not
 * pruned, shared or quantised. */
int ctt_compress_check_dense(struct ctt_compress_job *j,
                             const struct ctt_model *m, const char *path);

/* CRC-32 of the settings and training clips (if any) that decide the results
 * of --budget and --explain. */
int ctt_compress_how(const struct ctt_compress_job *j, uint32_t *how);

/* ctt_output_check(); a file of another kind is wrong usage. */
int ctt_compress_can_log(struct ctt_compress_job *j, const char *path,
                         const struct ctt_output_kind *kind);

/* Returns rc, the result of opening a log; a damaged log, or one of another
 * kind, is wrong usage. */
int ctt_compress_log_fault(struct ctt_compress_job *j, int rc);

/* ---- compress_clips.c ---- */

/* Returns 1 if a recipe requires training clips. */
int ctt_compress_needs_data(const struct ctt_recipe *r);

/* Opens the validation clips and, if the recipe reads them, the training
 * clips; prints their numbers.  CTT_EINVAL if a list without splits would use
 * the same clips for both.  Sets j->status for an error. */
int ctt_compress_open_clips(struct ctt_compress_job *j);

/* ---- compress_retrain.c ---- */

/* Reads --retrain-epochs: a number or auto.  NULL or "": auto if there are
 * training clips (data), else no retraining. */
int  ctt_retrain_epochs(const char *text, int data, struct ctt_recipe *o);

/* Learning rate rewinding (Renda and others 2020): sets the learning rates of
 * cfg to those of the last training in the history of m, and wiring.last_of to
 * its epochs.  CTT_EINVAL without such a training, or if the user gave one of
 * these settings. */
int  ctt_retrain_rewind(const struct ctt_model *m, struct ctt_train_cfg *cfg);

/* ---- compress_test.c ---- */

/* Tests are after 25, 50 and 100% of a clip. */
extern const struct ctt_point ctt_compress_points[CTT_ACCURACIES];

/* Tests m on the clips of d.  base: the result of the given model on the same
 * clips, for comparison; NULL: m is that model.  *all (unless all is NULL): the
 * full result, freed by the caller. */
int ctt_compress_test(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *d,
                      const struct ctt_metrics *base, struct ctt_score *s,
                      struct ctt_metrics **all);

/* Prints the perplexity of a model of text on the validation lines, if there
 * are. */
int ctt_compress_perplexity(const struct ctt_compress_job *j, const char *who,
                            const struct ctt_model *m);

/* Loss of the model of `is` against that of `was` on the same clips: the mean
 * over points and over the clips that both have read. */
void ctt_compress_loss(const struct ctt_metrics *was,
                       const struct ctt_metrics *is, int clips,
                       struct ctt_loss *out);

/* ---- compress_time.c ---- */

/* Runs the model files path and base in turns on a device, one frame at a time
 * as from a camera.  threads 0: one per processor; few 1: a quarter of the
 * turns.  Sets milliseconds per frame, their ratio, and the bytes that the
 * runtime allocates for the model and a session (without those of oneDNN and
 * of GPUs). */
int ctt_compress_time(const char *base, const char *path, const char *device,
                      int threads, int few, struct ctt_speed *out);

/* ---- compress_prove.c ---- */

/* Prints and adds to r the use of the clips: training, choices, proof.  If
 * choices were made by the validation clips, the given model and the result are
 * tested on split "test", if there is one with classes. */
int ctt_compress_prove(const struct ctt_compress_job *j, struct ctt_report *r);

/* ---- compress_page.c ---- */

/* Writes the page of --report-html, if it is given. */
void ctt_compress_page(const struct ctt_compress_job *j,
                       const struct ctt_report *r);

/* ---- compress_measure.c ---- */

/* Whether a list that NULL ends has the name. */
int ctt_compress_listed(const char *name, const char *const *list);

/* Sets *file, if it is NULL, to the name `of` with an end, in `to`. */
int ctt_compress_name(const char *of, const char *end, char *to, size_t size,
                      const char **file);

/* CTT_EINVAL if a file to be made is named twice, or is read. */
int ctt_compress_spare(const struct ctt_compress_job *j,
                       const char *const *made, int n);

/* Answers of models on clips beside those of a first one, and how many of all
 * measurements are done. */
struct ctt_answers {
    struct ctt_compress_job *j;
    struct ctt_data         *clips;
    struct ctt_metrics      *was;      /* of the first model */
    double                  *p, *q;    /* probabilities: classes each */
    int                      done, all;
};
int  ctt_answers_open(struct ctt_answers *a, const struct ctt_model *m,
                      const char *option);
void ctt_answers_close(struct ctt_answers *a);

/* The figures of m against that first model; the caller frees *out. */
int  ctt_answers_of(const struct ctt_answers *a, const struct ctt_model *m,
                    struct ctt_metrics **out);

/* The divergence of answer `at` of `is` from that of the first model. */
double ctt_answers_divergence(const struct ctt_answers *a,
                              const struct ctt_metrics *is, int64_t at);

/* Shows progress before a measurement; CTT_ESTOP: the user stops it. */
int  ctt_answers_begin(const struct ctt_answers *a, const char *what);

/* ---- sensitivity_log.c ---- */

/* Key of results, besides the weight, the option and the value. */
struct ctt_sensitivity_key {
    uint32_t    model, data;    /* CRC-32 of the model's weights and text, and
                                   of the clips it is tested on */
    int         clips;
    const char *device;
    int         threads, timed;
    uint32_t    machine;        /* of the words for the processor; 0: not
                                   timed */
};

/* Prints them as a line of JSON that begins with begin; more: further members,
 * each with a comma behind. */
int ctt_sensitivity_key_print(const struct ctt_sensitivity_key *k,
                              const char *begin, const char *more, char *line,
                              size_t size);

struct ctt_sensitivity_log;

/* line() takes each line of --budget (it has the member "budget") and returns
 * 1, 0 if it is damaged, or an error. */
struct ctt_sensitivity_extra {
    void *arg;
    int (*line)(void *arg, const struct ctt_value *line);
};

/* Opens the log, which is made if it is not there, for this process alone, and
 * sets the points that it has; *known: how many.  What a run that was killed
 * wrote of its last line is cut off.  CTT_EINVAL if the log is of another
 * model, other clips, or another device; CTT_EFORMAT, naming the line, if it is
 * damaged.  extra: NULL, or for lines of --budget, which are else left out. */
int ctt_sensitivity_log_open(const char *path,
                             const struct ctt_sensitivity_key *key,
                             const struct ctt_sensitivity_extra *extra,
                             struct ctt_sensitivity *s, int *known,
                             struct ctt_sensitivity_log **out);
void ctt_sensitivity_log_close(struct ctt_sensitivity_log **log);

/* Adds a line, with its end. */
int ctt_sensitivity_log_line(struct ctt_sensitivity_log *log, const char *line);

/* Adds a point that was measured. */
int ctt_sensitivity_log_add(struct ctt_sensitivity_log *log,
                            const struct ctt_sensitivity *s, int point);

/* How the file begins. */
#define CTT_SENSITIVITY_LOG_BEGIN "{\"sense\":2,"

/* ---- sensitivity_page.c ---- */

/* The page at path, if it is given: a chart per option; x: its values, y: the
 * mean divergence of the answers (logarithmic); a curve per weight, those that
 * bear least; a line at kl. */
void ctt_sensitivity_page(const struct ctt_sensitivity *s, double kl,
                          const char *path);

/* ---- sensitivity_say.c ---- */

/* Prints a table per weight, and one with each weight's strongest values whose
 * fitted divergence is at most kl. */
int ctt_sensitivity_say(const struct ctt_sensitivity *s, double kl);

/* Writes a row per point; cells without a measurement are empty. */
int ctt_sensitivity_csv(const struct ctt_sensitivity *s, const char *path);

/* How the file begins. */
#define CTT_SENSITIVITY_CSV_BEGIN "weight,option,value,kl25,"

/* ---- compress_sensitivity.c ---- */

extern const struct ctt_output_kind ctt_output_sensitivity_log;

/* CTT_EINVAL if a setting has no effect with --sense, clips are missing, or a
 * file is named twice. */
int ctt_compress_check_sensitivity(struct ctt_compress_job *j);

/* Measures, prints and writes all that is not in the log yet. */
int ctt_compress_sensitivity(struct ctt_compress_job *j);

/* Loads a model without training state, thresholds of early decisions,
 * auxiliary heads and nodes that nothing reads.  CTT_EUNSUP, naming the option,
 * if it predicts frames.  The caller frees *out. */
int ctt_compress_load(const char *path, const char *option,
                      struct ctt_model **out);

/* Key of the results of the model m on these clips. */
int ctt_compress_key(const struct ctt_compress_job *j,
                     const struct ctt_model *m, const struct ctt_data *clips,
                     int timed, struct ctt_sensitivity_key *out);

/* Measures the points of s that are not in the log at j->c.sense_log, which
 * stays open for the caller to add lines to and close.  timed: their times too,
 * if these can be measured. */
int ctt_compress_measure(struct ctt_compress_job *j,
                         const struct ctt_sensitivity_extra *extra, int timed,
                         struct ctt_sensitivity *s,
                         struct ctt_sensitivity_log **log);

/* ---- explain_log.c ---- */

/* Key of results, besides the weight and its compression. */
struct ctt_explain_key {
    struct ctt_sensitivity_key of; /* the compressed model, clips and machine */
    uint32_t             dense;    /* CRC-32 of the dense model, */
    uint32_t             how;      /* and of the settings and training clips */
};

/* Opens the log and sets the points that it has; *known: how many.  Errors as
 * of ctt_line_log_open(), CTT_EFORMAT, naming the line, if it is damaged. */
int ctt_explain_log_open(const char *path, const struct ctt_explain_key *key,
                         struct ctt_explain *e, int *known,
                         struct ctt_line_log **out);

/* Adds a point that was measured. */
int ctt_explain_log_add(struct ctt_line_log *log, const struct ctt_explain *e,
                        int point);

/* How the file begins. */
#define CTT_EXPLAIN_LOG_BEGIN "{\"explain\":1,"

/* ---- explain_page.c ---- */

/* The page at path, if it is given: a row per weight and thing that was done to
 * it, those that cost most at the top, with a bar each for the divergence that
 * it costs, the bytes and the time that it saves. */
void ctt_explain_page(const struct ctt_explain *e, const char *path);

/* ---- explain_say.c ---- */

/* Prints what each part costs and saves, most costly first; the same of all
 * weights and of everything together; and what could not be measured.  steps:
 * of training; 0: none. */
int ctt_explain_say(const struct ctt_explain *e, int steps);

/* Writes a row per point; what was not measured is empty. */
int ctt_explain_csv(const struct ctt_explain *e, const char *path);

/* How the file begins. */
#define CTT_EXPLAIN_CSV_BEGIN "weight,what,trained_kl25,"

/* ---- compress_explain.c ---- */

/* CTT_EINVAL if a setting has no effect with --explain, clips are missing, or a
 * file is named twice. */
int ctt_compress_check_explain(struct ctt_compress_job *j);

/* Measures, prints and writes all that is not in the log yet. */
int ctt_compress_explain(struct ctt_compress_job *j);

/* ---- budget_log.c ---- */

/* Takes lines of a log; arg: a struct ctt_budget_rows. */
int ctt_budget_row_read(void *arg, const struct ctt_value *line);

/* Adds a row to the log. */
int ctt_budget_row_log(struct ctt_sensitivity_log *log,
                       const struct ctt_budget_row *row);

/* ---- compress_budget.c ---- */

/* A run: the search, its log, and the halves of the validation clips, those of
 * the search first, with the answers of the original. */
struct ctt_budget_job {
    struct ctt_compress_job    *j;
    struct ctt_budget_run           s;
    struct ctt_budget_calls     calls;
    struct ctt_recipe_calls     times;
    struct ctt_sensitivity_log *log;
    struct ctt_data            *whole, *half[2], *trained, *untested;
    struct ctt_metrics         *was[2];
};

/* ---- budget_check.c ---- */

/* CTT_EINVAL if the budget cannot be read, a setting has no effect beside it,
 * clips are missing, or a file is named twice. */
int ctt_compress_check_budget(struct ctt_compress_job *j);

/* Whether the files can be written, which are claimed. */
int ctt_budget_outputs(struct ctt_compress_job *j);

/* ---- compress_budget.c again ---- */

/* Searches, prints, and writes the model if it is accepted. */
int ctt_compress_budget(struct ctt_compress_job *j);

/* Tests m on the clips of d; the caller frees *out. */
int ctt_budget_test(const struct ctt_budget_job *r, const struct ctt_model *m,
                    struct ctt_data *d, struct ctt_metrics **out);

/* Counts clips that both have read, of so many. */
void ctt_budget_pair(const struct ctt_metrics *was,
                     const struct ctt_metrics *is, int clips,
                     struct ctt_paired out[CTT_ACCURACIES]);

/* ---- budget_train.c ---- */

/* The call train() of struct ctt_budget_calls; arg: the job. */
int ctt_budget_train(void *arg, const struct ctt_recipe *o, int steps,
                     const char *what, const char *path, struct ctt_model **m,
                     struct ctt_report **report);

/* ---- budget_prove.c ---- */

/* The call prove() of struct ctt_budget_calls; arg: the job.  Tests m and the
 * model as given on the split "test", if there is one.  The log keeps the
 * result, and a model is tested once. */
int ctt_budget_prove(void *arg, const struct ctt_model *m,
                     const struct ctt_budget_row *row);

/* ---- budget_page.c ---- */

/* The page of --report-html; one that cannot be written is a warning. */
void ctt_budget_page(const struct ctt_budget_job *r);

/* ---- budget_csv.c ---- */

/* Row i, and what it is; that of the original has its accuracy besides. */
struct ctt_budget_row ctt_budget_result(const struct ctt_budget_job *r, int i,
                                        const char **kind);

/* All rows of the log but those of split "test". */
int ctt_budget_csv(const struct ctt_budget_job *r, const char *path);

/* How the file begins. */
#define CTT_BUDGET_CSV_BEGIN "what,bytes,ms,macs,ram,"

#endif
