/* SPDX-License-Identifier: Apache-2.0
 * search_run.h: a search of convtt-train --search: its log, the processes and
 * ranks that train its trials, and what it says. */
#ifndef CTT_TOOL_SEARCH_RUN_H
#define CTT_TOOL_SEARCH_RUN_H

#include "libtrain/search/search.h"
#include "tools/train/train_job.h"

#include <sys/types.h>

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
