/* SPDX-License-Identifier: Apache-2.0
 * train_tool.h: functions and structures shared by the files of convtt-train.
 * */
#ifndef CTT_TRAIN_TOOL_H
#define CTT_TRAIN_TOOL_H

#include "base/newfile.h"
#include "base/opt.h"
#include "comm/comm.h"
#include "libtrain/search/search.h"
#include "libtrain/train.h"
#include "net/file/file.h"
#include "tools/shared/training.h"

#include <sys/types.h>

/* ---- train_opt.c ---- */

extern const struct ctt_program ctt_train_program;

/* ---- train_job.c ---- */

struct ctt_training {
    struct ctt_train_cfg cfg;
    const char       *text;         /* path of the model text, or NULL */
    char              ckpt[4096];
    int               own_ckpt;     /* not named by --checkpoint */
    struct ctt_graph *g;            /* of the text, until m is created */
    struct ctt_model *m;
    struct ctt_teachers teachers;
    struct ctt_data  *data, *val;
    struct ctt_data  *test;         /* of --test, or NULL */
    struct ctt_newfile *claim[2];   /* on the model and the checkpoint */
    int               status;       /* of the program if it fails now */
};

void ctt_training_close(struct ctt_training *j);

/* Loads the checkpoint, the model text, or the model of --init, and the
 * teachers; fails as what it reads does. */
int  ctt_training_start(struct ctt_training *j);

/* The input line of the model. */
void ctt_training_input(const struct ctt_training *j, struct ctt_input *in);

/* The training graph and the types of its values, which the caller frees; a
 * wrong word of --amp-allow or --amp-deny is wrong usage. */
int  ctt_training_types(struct ctt_training *j, struct ctt_graph **g,
                        struct ctt_amp_plan **p);

/* Tells whatever is wrong without the clips, before they are read. */
int  ctt_training_check(struct ctt_training *j);

/* ctt_data_open() with the model's input and labels. */
int  ctt_training_data(struct ctt_training *j, const char *path,
                       const char *split, struct ctt_data **out);

/* Prints how many clips of how many classes, or sequences, d has. */
void ctt_training_tell(const struct ctt_training *j, const char *what,
                       const struct ctt_data *d);

/* Creates the model of the text, with the classes of the data if it has any,
 * unless there is one. */
int  ctt_training_model(struct ctt_training *j);

/* Claims the model and the checkpoint, and checks that all outputs may be
 * replaced. */
int  ctt_training_claim(struct ctt_training *j);

/* After the start is open: the model and the clips of a run. */
int  ctt_training_begin(struct ctt_training *j);

/* ---- train_model.c ---- */

/* Gives the output, which must be a conv, as many channels as there are
 * classes; replaces *g if it had another number. */
int ctt_fit_classes(struct ctt_graph **g, int classes);

/* Copies the weights of the same name and shape, and which of their values are
 * pruned, from the model file at path; an error if there is none. */
int ctt_take_weights(struct ctt_model *m, const char *path);

/* ---- train_doctor.c ---- */

/* At the start of a run: a line on what matters most, a warning of what looks
 * wrong. */
int ctt_doctor_glance(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *train,
                      struct ctt_data *val);

/* --doctor: prints the table of all checks and writes cfg->sheet, if it is set;
 * returns how many look wrong. */
int ctt_doctor_table(const struct ctt_model *m,
                     const struct ctt_train_cfg *cfg, struct ctt_data *train,
                     struct ctt_data *val);

/* Fails if cfg->sheet cannot be written, or not of frames of this input. */
int ctt_doctor_check(const struct ctt_train_cfg *cfg,
                     const struct ctt_input *in);

/* ---- train_result.c ---- */

/* Prints the results of the trained model m on the validation clips, if there
 * are any, and on those that chose nothing, and that it is written.  given: the
 * clips of --test, or NULL: those of split test (held_out.h), if there are
 * validation clips.  From here on no signal stops the program. */
int ctt_train_result(const struct ctt_train_cfg *cfg, const struct ctt_model *m,
                     struct ctt_data *train, struct ctt_data *val,
                     struct ctt_data *given);

/* ---- train_folds.c ---- */

/* How the results of the folds begin in --log-csv and --log-json. */
#define CTT_FOLDS_CSV_BEGIN "fold,"
#define CTT_FOLDS_JSON_BEGIN "{\"fold\":"

/* Trains fold k, from 0, with its settings, and tests its model on its clips at
 * ctt_fold_points.  Returns 1 if it was stopped. */
typedef int ctt_fold_train(void *arg, const struct ctt_train_cfg *cfg, int k,
                           struct ctt_metrics **out);

enum { CTT_FOLD_POINTS = 3 };
extern const struct ctt_point ctt_fold_points[CTT_FOLD_POINTS];

/* Calls one for each of the cfg->folds, whose outputs are those of cfg with
 * .foldN in their names; --resume goes on with the folds that have
 * a checkpoint.  Checkpoints stay until all folds are trained, then those that
 * are the program's own (own) go.  Prints the table of the folds and writes it
 * to cfg->log_csv and cfg->log_json.  Returns 1 if one was stopped. */
int ctt_train_folds(const struct ctt_train_cfg *cfg, int own,
                    ctt_fold_train *one, void *arg);

/* ---- train_fold.c ---- */

/* Trains a model for each of --folds; what all of them share is read once.
 * Sets *status if they were stopped; fails as a training does. */
int ctt_train_all_folds(struct ctt_training *j, int *status);

/* ---- ranks.c ---- */

/* Before anything is said: only rank 0 of what a launcher has started speaks
 * (ctt_tool_rank()). */
void ctt_ranks_hush(void);

/* Opens wiring.comm, if a launcher has started this process; then divides the
 * processors: cfg->threads and cfg->affinity; and the GPUs.  CTT_EINVAL:
 * settings for one process only; CTT_EUNSUP: convtt-mpi.so is not there or of
 * another MPI than the launcher. */
int  ctt_ranks_open(struct ctt_train_cfg *cfg);

/* 1 if this process writes the files. */
int  ctt_ranks_writes(const struct ctt_train_cfg *cfg);

/* Between the two, all processes end if this one's calls of the comm do not go
 * on for cfg->stall seconds.  CTT_EIO: a thread cannot be started. */
int  ctt_ranks_watch(const struct ctt_train_cfg *cfg);
void ctt_ranks_unwatch(void);

/* The step, or with --search the trial, that the watch is to name. */
void ctt_ranks_step(int64_t step);

/* Prints the last error and ends all processes with status 1, or this one by
 * returning status if it is the only one.  An error that all have is that of
 * rank 0: the others wait for their end first. */
int  ctt_ranks_fail(const struct ctt_train_cfg *cfg, int status);

/* All processes come to the end of a run. */
void ctt_ranks_close(struct ctt_train_cfg *cfg);

/* ---- train_search.c ---- */

/* Trains the trials of --search, on several ranks one on each, writes the best
 * model, and scores the test clips once.  Fails as a training does; what is
 * wrong with the space, or with a log of another search, is wrong usage.
 * *status becomes 1 if a signal stopped it, which then has been said. */
int ctt_train_search(struct ctt_training *j, int *status);

/* ---- search_run.c ---- */

/* How --search-csv begins. */
#define CTT_SEARCH_CSV_BEGIN "trial,seed,epochs,score,"

/* How the names of its trials' files begin. */
#define CTT_SEARCH_STEM "trial"

enum { CTT_SEARCH_PATH = 4096 };

/* A place where a trial is trained: a process of this program, or another
 * rank, which has it. */
struct ctt_search_child {
    int                   busy;
    pid_t                 id;       /* 0: none here */
    struct ctt_search_job job;
    double                began;
    int                   ended, status;    /* of the process, as waitpid() */
    double                seconds;
};

struct ctt_search_row;

/* What rank 0 tells another rank to do. */
struct ctt_search_order {
    enum { CTT_SEARCH_NOTHING, CTT_SEARCH_TRAIN, CTT_SEARCH_END } what;
    struct ctt_search_job job;      /* that, or the one that has won */
    int                   test;     /* at the end: the model is tested */
};

struct ctt_search_run {
    struct ctt_training     *j;
    struct ctt_space        *space;
    struct ctt_search       *s;
    struct ctt_search_key    key;
    const struct ctt_comm_place *place;
    int                      places;          /* --jobs, or one a rank */
    struct ctt_search_child *child;           /* [places] */
    struct ctt_search_order *order;           /* [ranks] of rank 0; [rank]: what
                                                 this rank was told last */
    struct ctt_search_order *told;            /* [ranks]: of each */
    struct ctt_search_row   *row;             /* [ranks]: search_ranks.c */
    int                      trained;         /* trials of this run */
    int                      stopped;         /* by a signal, on all ranks */
    int                      log, known;      /* known: its lines at the start
                                                 */
    char                     log_path[CTT_SEARCH_PATH];
    char                     folder[CTT_SEARCH_PATH];    /* of the trials */
    double                   began, done;     /* and epochs trained by then */
};

/* ---- search_log.c ---- */

/* Opens the log, which must be of this search, and takes over its results; a
 * line that was cut is removed.  A new one gets its head. */
int  ctt_search_log_open(struct ctt_search_run *r);
int  ctt_search_log_add(struct ctt_search_run *r, const char *line);

/* ---- search_child.c ---- */

/* The file of a trial with that ending: "h5", "ckpt", "jsonl", "txt". */
int  ctt_search_file(const struct ctt_search_run *r,
                     const struct ctt_search_job *job, const char *ending,
                     char path[CTT_SEARCH_PATH]);

/* Creates their folder, unless it is there. */
int  ctt_search_folder(const struct ctt_search_run *r);

/* Starts a process here that trains a trial up to a rung, from its checkpoint
 * if there is one. */
int  ctt_search_spawn(const struct ctt_search_run *r,
                      const struct ctt_search_job *job,
                      struct ctt_search_child *child);

/* Whether a process that was started here has ended since; then it is gone. */
int  ctt_search_look(struct ctt_search_child *child);

/* What a status means, and what the process said.  *failed: why the trial has
 * no model, to be freed, or NULL; an error: it was killed, or stopped by
 * somebody else. */
int  ctt_search_judge(const struct ctt_search_run *r,
                      const struct ctt_search_job *job, int status,
                      char **failed);

/* Ends those that still run here and waits for them: after a signal they write
 * checkpoints; after an error they have no time for it. */
void ctt_search_stop(struct ctt_search_run *r);

/* Removes the files of the trials, and their folder if nothing else is in
 * it. */
void ctt_search_clear(const struct ctt_search_run *r);

/* ---- search_ranks.c ---- */

/* Makes places for as many trials as are trained at a time.  close: stops those
 * that run here. */
int  ctt_search_open(struct ctt_search_run *r);
void ctt_search_close(struct ctt_search_run *r);

/* All ranks come to it, once their clips are open: CTT_EINVAL if one of them
 * has not what rank 0 has, or not its folder of trials. */
int  ctt_search_meet(struct ctt_search_run *r);

/* Of rank 0: has a trial trained at a free place, up to a rung. */
int  ctt_search_start(struct ctt_search_run *r,
                      const struct ctt_search_job *job);
int  ctt_search_running(const struct ctt_search_run *r);

/* Of rank 0: waits for one of them; *failed as above.  CTT_ESTOP: a user of any
 * rank asked to stop, and so does each. */
int  ctt_search_wait(struct ctt_search_run *r, struct ctt_search_job *job,
                     double *seconds, char **failed);

/* Of the other ranks: train what rank 0 says, until it calls end with the trial
 * that has won; test: whether its model is to be tested by all. */
int  ctt_search_serve(struct ctt_search_run *r, struct ctt_search_job *won,
                      int *test);
int  ctt_search_end(struct ctt_search_run *r, const struct ctt_search_job *won,
                    int test);

/* ---- search_say.c ---- */

/* "top-1 81.2%" or "MSE 3.21e-3"; returns text. */
char *ctt_search_score(const struct ctt_search *s, double score,
                       char text[32]);

void ctt_search_say_result(const struct ctt_search_run *r,
                           const struct ctt_search_job *job);
/* How many trials and epochs are expected. */
void ctt_search_say_plan(const struct ctt_search_run *r);
void ctt_search_progress(const struct ctt_search_run *r);

/* Tables: the best trials, their repeats, and what mattered; CTT_ENOMEM. */
int  ctt_search_say(const struct ctt_search_run *r);
int  ctt_search_csv(const struct ctt_search_run *r, const char *path);

/* ---- search_plot.c ---- */

/* An SVG: an axis per setting and one of the scores, a line per trial. */
int  ctt_search_plot(const struct ctt_search_run *r, const char *path);

#endif
