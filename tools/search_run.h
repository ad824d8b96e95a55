/* SPDX-License-Identifier: Apache-2.0
 * search_run.h: a search of convtt-train --search: its log, the processes that
 * train its trials, and what it says. */
#ifndef CTT_TOOL_SEARCH_RUN_H
#define CTT_TOOL_SEARCH_RUN_H

#include "libtrain/search/search.h"
#include "tools/train_job.h"

#include <sys/types.h>

/* How --search-csv begins. */
#define CTT_SEARCH_CSV_BEGIN "trial,seed,epochs,score,"

enum { CTT_SEARCH_PATH = 4096 };

/* A process that trains a trial. */
struct ctt_search_child {
    pid_t                 id;       /* 0: none */
    struct ctt_search_job job;
    double                began;
};

struct ctt_search_run {
    struct ctt_training     *j;
    struct ctt_space        *space;
    struct ctt_search       *s;
    struct ctt_search_key    key;
    struct ctt_search_child *child;           /* [jobs] */
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

/* Starts a process that trains a trial up to a rung, from its checkpoint if
 * there is one. */
int  ctt_search_start(struct ctt_search_run *r,
                      const struct ctt_search_job *job);

/* Waits for one of them.  *failed: why the trial has no model, to be freed, or
 * NULL.  CTT_ESTOP: the user asked to stop; other errors: the process was
 * killed, or stopped by somebody else. */
int  ctt_search_wait(struct ctt_search_run *r, struct ctt_search_job *job,
                     double *seconds, char **failed);

int  ctt_search_running(const struct ctt_search_run *r);

/* Stops those that still run, which write checkpoints, and waits for them. */
void ctt_search_stop(struct ctt_search_run *r);

/* Removes the files of the trials, and their folder if nothing else is in
 * it. */
void ctt_search_clear(const struct ctt_search_run *r);

/* ---- search_say.c ---- */

/* "top-1 81.2%" or "MSE 3.21e-3"; returns text. */
char *ctt_search_score(const struct ctt_search *s, double score,
                       char text[32]);

void ctt_search_say_result(const struct ctt_search_run *r,
                           const struct ctt_search_job *job);
void ctt_search_progress(const struct ctt_search_run *r);

/* Tables: the best trials, their repeats, and what mattered; CTT_ENOMEM. */
int  ctt_search_say(const struct ctt_search_run *r);
int  ctt_search_csv(const struct ctt_search_run *r, const char *path);

/* ---- search_plot.c ---- */

/* An SVG: an axis per setting and one of the scores, a line per trial. */
int  ctt_search_plot(const struct ctt_search_run *r, const char *path);

#endif
