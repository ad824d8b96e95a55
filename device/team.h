/* SPDX-License-Identifier: Apache-2.0
 * team.h: threads that share the tasks of a loop; a loop does not wait for
 * threads that have not started on it. */
#ifndef CTT_TEAM_H
#define CTT_TEAM_H

#include <stdint.h>

struct ctt_team;

/* One task of a loop; who: the thread that runs it, 0 (the caller) to the
 * number of threads - 1, so that each may have memory of its own. */
typedef void ctt_task(void *arg, int64_t task, int who);

/* The most tasks that ctt_team_run() shares; with more, all run in order. */
#define CTT_TEAM_TASKS INT64_C(0x1ffffff)

/* A team of the caller and threads - 1 others; of fewer if the system does not
 * start as many.  CTT_ENOMEM: no memory. */
int  ctt_team_open(int threads, struct ctt_team **out);
void ctt_team_close(struct ctt_team **t);

/* The number of threads of a team, with the caller; 1 for NULL. */
int  ctt_team_size(const struct ctt_team *t);

/* Calls f(arg, i, who) once for each i of 0 .. tasks - 1 and returns when all
 * are done, by the caller and threads - 1 others, or as many as there are.
 * Each thread, the caller too, takes an equal run of tasks in order and then
 * steals tasks that others have not begun (Blumofe and Leiserson 1999), so that
 * a thread without a processor is waited for only within a task.  One caller at
 * a time; called within a task of the same team, it runs all tasks in order. */
void ctt_team_run(struct ctt_team *t, int threads, int64_t tasks, ctt_task *f,
                  void *arg);

#endif
