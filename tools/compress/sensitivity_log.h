/* SPDX-License-Identifier: Apache-2.0
 * sensitivity_log.h: the results of --sense in a file, a JSON line each, from
 * which a run that was stopped goes on. */
#ifndef CTT_TOOL_SENSITIVITY_LOG_H
#define CTT_TOOL_SENSITIVITY_LOG_H

#include "compress/compress.h"

/* What results depend on, besides the weight, the option and the value. */
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

/* line() gets the lines that begin with CTT_BUDGET_LINE, and returns 1, 0 if
 * one is damaged, or an error.  ready() is called once all are read, before
 * anything is measured. */
struct ctt_sensitivity_extra {
    void *arg;
    int (*line)(void *arg, const char *line);
    int (*ready)(void *arg);
};
#define CTT_BUDGET_LINE "{\"budget\":"

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
#define CTT_SENSITIVITY_LOG_BEGIN "{\"sense\":1,"

#endif
