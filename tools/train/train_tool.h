/* SPDX-License-Identifier: Apache-2.0
 * train_tool.h: functions and structures shared by convtt-train's files. */
#ifndef CTT_TRAIN_TOOL_H
#define CTT_TRAIN_TOOL_H

#include "base/newfile.h"
#include "base/opt.h"
#include "comm/comm.h"
#include "libtrain/search/search.h"
#include "libtrain/train.h"
#include "net/file/file.h"
#include "tools/shared/training.h"
#include "tools/train/train_page.h"

#include <sys/types.h>

/* ---- train_opt.c ---- */

extern const struct ctt_program ctt_train_program;

/* ---- train_job.c ---- */

/* A run: settings, model and clips. */
struct ctt_training {
    struct ctt_train_cfg cfg;
    const char       *text;         /* path of the model text, or NULL */
    char              ckpt[4096];
    int               own_ckpt;     /* not named by --checkpoint */
    struct ctt_graph *g;            /* of the text, until m is created */
    struct ctt_model *m;
    struct ctt_teachers teachers;
    struct ctt_data  *data, *val;
    struct ctt_data  *whole;        /* of which they are parts, or NULL */
    struct ctt_data  *test;         /* of --test, or NULL */
    const struct ctt_features *known;    /* what heads of --backbone read of
                                            all folds, or NULL */
    struct ctt_train_page page;     /* of --report-html */
    struct ctt_board *board;        /* of --log-tensorboard, or NULL */
    int64_t           board_step;   /* of its event */
    int               board_lost;   /* 1: it could not be written */
    struct ctt_newfile *claim[2];   /* on the model and the checkpoint */
    int               status;       /* of the program if it fails now */
};

void ctt_training_close(struct ctt_training *j);

/* ---- train_board.c ---- */

/* The event of an epoch, begun by its values and written with its weights.  A
 * folder that cannot be written is a warning only. */
void ctt_train_board_epoch(struct ctt_training *j, const struct ctt_epoch *e,
                           const struct ctt_metrics *val);
void ctt_train_board_weights(struct ctt_training *j, const struct ctt_model *m);
void ctt_train_board_close(struct ctt_training *j);

/* With the result: the validation clips that the model is most wrong about, if
 * j->page.on_val has answers. */
int  ctt_train_board_clips(struct ctt_training *j);

/* Loads the checkpoint, the model text or the model of --init, and the
 * teachers. */
int  ctt_training_start(struct ctt_training *j);

/* Returns the training graph and the types of its values, freed by the caller.
 * A wrong word of --amp-allow or --amp-deny is wrong usage. */
int  ctt_training_types(struct ctt_training *j, struct ctt_graph **g,
                        struct ctt_amp_plan **p);

/* Checks everything that does not depend on clips, before they are read. */
int  ctt_training_check(struct ctt_training *j);

/* ctt_data_open() with the model's input and labels. */
int  ctt_training_data(struct ctt_training *j, const char *path,
                       const char *split, struct ctt_data **out);

/* Prints the number of clips and classes, or of sequences, of d. */
void ctt_training_tell(const struct ctt_training *j, const char *what,
                       const struct ctt_data *d);

/* Creates the model from the text, unless there is one, with the classes of the
 * data, if it has any. */
int  ctt_training_model(struct ctt_training *j);

/* Claims the files of the model and the checkpoint; checks all outputs. */
int  ctt_training_claim(struct ctt_training *j);

/* Opens the model and the clips of a run, after ctt_training_start(). */
int  ctt_training_begin(struct ctt_training *j);

/* ---- train_amp.c ---- */

/* --amp-plan: prints the type of each node's values and the reason and, with
 * clips and --amp, magnitudes of some steps beside what 16 bits keep. */
int ctt_train_amp_plan(struct ctt_training *j);

/* ---- train_model.c ---- */

/* Sets the channels of the output, which must be a conv, or acts and pools
 * behind one, to the number of classes, and with symbols the rows of tables of
 * the input; replaces *g if they differ. */
int ctt_fit_classes(struct ctt_graph **g, int classes, int symbols);

/* ctt_model_load() without a training state; CTT_ENAN, with the path, if a
 * weight is not finite. */
int ctt_model_load_finite(const char *path, struct ctt_model **out);

/* Copies weights of equal name and shape, with their masks of pruned values,
 * from the model file at path; an error if none is equal.  The rows of the last
 * layer go by the names of the classes; if these are others, it stays as it
 * is. */
int ctt_take_weights(struct ctt_model *m, const char *path);

/* ---- train_doctor.c ---- */

/* Quick checks at the start of a run: prints a line of results and a warning of
 * suspicious ones. */
int ctt_doctor_glance(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *train,
                      struct ctt_data *val);

/* --doctor: prints the table of all checks, writes the page, and
 * returns the number of suspicious results. */
int ctt_doctor_table(const struct ctt_model *m,
                     const struct ctt_train_cfg *cfg, struct ctt_data *train,
                     struct ctt_data *val);

/* ---- train_head.c ---- */

/* The graph of --backbone with a head on --nodes; path: a model file or a
 * text. */
int ctt_backbone_graph(const struct ctt_train_cfg *cfg, const char *path,
                       struct ctt_graph **out);

/* Fits the head of j->m, whose backbone has its weights, or random ones if it
 * is a text, and writes the model; *folded is the same without norms, which is
 * faster. */
int ctt_fit_head(struct ctt_training *j, struct ctt_model **folded);

/* Fits it, too, and prints the results of the model. */
int ctt_train_head(struct ctt_training *j);

/* ---- train_result.c ---- */

/* Prints the results of the trained model m on the validation clips of j, if
 * any, on its test clips or split test (ctt_held_out_open()), and those of
 * baselines.  No signal stops the program
 * from here on. */
int ctt_train_result(const struct ctt_train_cfg *cfg, const struct ctt_model *m,
                     struct ctt_training *j);

/* ---- train_baselines.c ---- */

struct ctt_table;

/* The first row of a table of accuracies, and one of m, whose points are 25, 50
 * and 100% of a clip. */
void ctt_accuracy_head(struct ctt_table *t);
void ctt_accuracy_row(struct ctt_table *t, const char *name,
                      const struct ctt_metrics *m);

/* Prints the table of a model with these scores on the clips `test`, which are
 * called page->set, beside answers without a network, fitted to `train`
 * (libtrain/recognise/baseline.h), and leaves both in the page; nothing with
 * several labels per clip. */
int ctt_train_baselines(const struct ctt_train_cfg *cfg, struct ctt_data *train,
                        struct ctt_data *test, const struct ctt_metrics *scores,
                        struct ctt_train_page *page);

/* The clips of all folds, as they are tested one after the other: right answers
 * of their models and of baselines.  Starts as zeros. */
struct ctt_beside {
    struct ctt_metrics  *model;
    struct ctt_baselines all;
    int                  clips;
};

/* Adds the clips val of a fold, on which its model has these scores at
 * ctt_fold_points.  tell prints the table of all clips, which are those of d;
 * nothing if none were added. */
int  ctt_beside_add(struct ctt_beside *s, const struct ctt_train_cfg *cfg,
                    struct ctt_data *train, struct ctt_data *val,
                    const struct ctt_metrics *scores);
int  ctt_beside_tell(const struct ctt_beside *s, struct ctt_data *d);
void ctt_beside_free(struct ctt_beside *s);

/* ---- train_folds.c ---- */

/* First bytes of the results of --folds in --log-csv and --log-json. */
#define CTT_FOLDS_CSV_BEGIN "fold,"
#define CTT_FOLDS_JSON_BEGIN "{\"fold\":"

/* Trains fold k >= 0 with its settings and tests its model on its clips at
 * ctt_fold_points.  Returns 1 if stopped. */
typedef int ctt_fold_train(void *arg, const struct ctt_train_cfg *cfg, int k,
                           struct ctt_metrics **out);

enum { CTT_FOLD_POINTS = 3 };
extern const struct ctt_point ctt_fold_points[CTT_FOLD_POINTS];

/* Calls `one` for each of the cfg->folds, with .foldN in the names of its
 * outputs; --resume continues folds that have a checkpoint.  Checkpoints
 * without a name of the user (own) are removed after the last fold.  Prints the
 * table of the folds and writes it to cfg->log_csv and cfg->log_json.  Returns
 * 1 if a fold was stopped. */
int ctt_train_folds(const struct ctt_train_cfg *cfg, int own,
                    ctt_fold_train *one, void *arg);

/* CTT_EINVAL if an output of a fold is an input of later ones. */
int ctt_train_folds_spare(const struct ctt_train_cfg *cfg, int own);

/* ---- train_fold.c ---- */

/* Trains a model for each of --folds; data of all folds are read once.  Sets
 * *status if stopped. */
int ctt_train_all_folds(struct ctt_training *j, int *status);

/* ---- ranks.c ---- */

/* Call before any message: of the processes of a launcher only rank 0 prints
 * (ctt_tool_rank()). */
void ctt_ranks_hush(void);

/* Opens wiring.comm, if a launcher has started this process; divides processors
 * (cfg->threads, cfg->affinity) and GPUs.  CTT_EINVAL: settings for one process
 * only; CTT_EUNSUP: convtt-mpi.so is missing or of another MPI than the
 * launcher. */
int  ctt_ranks_open(struct ctt_train_cfg *cfg);

/* Returns 1 if this process writes the files. */
int  ctt_ranks_writes(const struct ctt_train_cfg *cfg);

/* Start and stop a watch that ends all processes if this one makes no call of
 * the comm for cfg->stall seconds.  CTT_EIO: no thread. */
int  ctt_ranks_watch(const struct ctt_train_cfg *cfg);
void ctt_ranks_unwatch(void);

/* Sets the step, or with --search the trial, that the watch names. */
void ctt_ranks_step(int64_t step);

/* Prints the last error and ends all processes with status 1; returns status in
 * a single process.  Rank 0 prints an error that all ranks have: other ranks
 * wait first. */
int  ctt_ranks_fail(const struct ctt_train_cfg *cfg, int status);

/* Ends a run; all processes call it. */
void ctt_ranks_close(struct ctt_train_cfg *cfg);

/* ---- train_search.c ---- */

/* Trains the trials of --search (one per rank), writes the best model and
 * scores the test clips once.  A wrong space, or a log of another search, is
 * wrong usage.  Sets *status to 1, after a message, if a signal stopped it. */
int ctt_train_search(struct ctt_training *j, int *status);

/* First bytes of --search-csv. */
#define CTT_SEARCH_CSV_BEGIN "trial,seed,epochs,score,"

/* Beginning of the names of the trials' files. */
#define CTT_SEARCH_STEM "trial"

enum { CTT_SEARCH_PATH = 4096 };

/* A place for a trial in training: a child process, or another rank with one.
 * */
struct ctt_search_child {
    int                   busy;
    pid_t                 id;       /* 0: none here */
    struct ctt_search_job job;
    double                began;
    int                   ended, status;    /* status: of waitpid() */
    double                seconds;
};

struct ctt_search_row;

/* An order of rank 0 to another rank. */
struct ctt_search_order {
    enum { CTT_SEARCH_NOTHING, CTT_SEARCH_TRAIN, CTT_SEARCH_END } what;
    struct ctt_search_job job;      /* END: the best trial */
    int                   test;     /* END: test the model */
};

struct ctt_search_run {
    struct ctt_training     *j;
    struct ctt_space        *space;
    struct ctt_search       *s;
    struct ctt_search_key    key;
    const struct ctt_comm_place *place;
    int                      places;          /* --jobs, or one a rank */
    struct ctt_search_child *child;           /* [places] */
    struct ctt_search_order *order;           /* [ranks] sent by rank 0;
                                                 [rank]: the last one received
                                                 here */
    struct ctt_search_order *told;            /* [ranks] received */
    struct ctt_search_row   *row;             /* [ranks]: search_ranks.c */
    int                      trained;         /* trials of this run */
    int                      stopped;         /* by a signal, on all ranks */
    int                      log, known;      /* known: lines at the start */
    char                     log_path[CTT_SEARCH_PATH];
    char                     folder[CTT_SEARCH_PATH];    /* of the trials */
    double                   began, done;     /* done: epochs at the start */
};

/* ---- search_log.c ---- */

/* Opens the log, which must be of this search, and reads its results; an
 * incomplete last line is removed.  A new log gets its first line. */
int  ctt_search_log_open(struct ctt_search_run *r);
int  ctt_search_log_add(struct ctt_search_run *r, const char *line);

/* ---- search_child.c ---- */

/* The path of a trial's file; ending: "h5", "ckpt", "jsonl", "txt". */
int  ctt_search_file(const struct ctt_search_run *r,
                     const struct ctt_search_job *job, const char *ending,
                     char path[CTT_SEARCH_PATH]);

/* Creates the folder of the trials' files, if missing. */
int  ctt_search_folder(const struct ctt_search_run *r);

/* Starts a child process that trains a trial up to a rung, from its checkpoint
 * if there is one. */
int  ctt_search_spawn(const struct ctt_search_run *r,
                      const struct ctt_search_job *job,
                      struct ctt_search_child *child);

/* Returns 1 if the child process has ended, and reaps it. */
int  ctt_search_look(struct ctt_search_child *child);

/* Interprets the status and the messages of a child process.  *failed: why the
 * trial has no model, freed by the caller, or NULL.  An error: the process was
 * killed, or stopped from outside. */
int  ctt_search_judge(const struct ctt_search_run *r,
                      const struct ctt_search_job *job, int status,
                      char **failed);

/* Ends the child processes that still run, and waits for them.  They write
 * checkpoints after a signal, but not after an error. */
void ctt_search_stop(struct ctt_search_run *r);

/* Removes the files of the trials, and their folder if nothing else is in
 * it. */
void ctt_search_clear(const struct ctt_search_run *r);

/* ---- search_ranks.c ---- */

/* Allocates places for the trials that are trained at a time; close stops the
 * child processes. */
int  ctt_search_open(struct ctt_search_run *r);
void ctt_search_close(struct ctt_search_run *r);

/* Called by all ranks once their clips are open.  CTT_EINVAL: a rank has other
 * data or settings than rank 0, or does not see its folder of trials. */
int  ctt_search_meet(struct ctt_search_run *r);

/* Rank 0: starts a trial at a free place, up to a rung. */
int  ctt_search_start(struct ctt_search_run *r,
                      const struct ctt_search_job *job);
int  ctt_search_running(const struct ctt_search_run *r);

/* Rank 0: waits for the next trial to end; *failed as above.  CTT_ESTOP, on all
 * ranks: a signal to any rank. */
int  ctt_search_wait(struct ctt_search_run *r, struct ctt_search_job *job,
                     double *seconds, char **failed);

/* Other ranks: serve trains trials for rank 0 until that calls end with the
 * best trial; test 1: all ranks test its model. */
int  ctt_search_serve(struct ctt_search_run *r, struct ctt_search_job *won,
                      int *test);
int  ctt_search_end(struct ctt_search_run *r, const struct ctt_search_job *won,
                    int test);

/* ---- search_say.c ---- */

void ctt_search_say_result(const struct ctt_search_run *r,
                           const struct ctt_search_job *job);
/* Prints the expected number of trials and epochs. */
void ctt_search_say_plan(const struct ctt_search_run *r);
void ctt_search_progress(const struct ctt_search_run *r);

/* Prints tables: best trials, repeats, importance of settings; CTT_ENOMEM. */
int  ctt_search_say(const struct ctt_search_run *r);
int  ctt_search_csv(const struct ctt_search_run *r, const char *path);

#endif
