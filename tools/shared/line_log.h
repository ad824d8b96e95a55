/* SPDX-License-Identifier: Apache-2.0
 * line_log.h: a file of results, a JSON line each, from which a run that was
 * stopped or killed goes on. */
#ifndef CTT_TOOL_LINE_LOG_H
#define CTT_TOOL_LINE_LOG_H

#include "base/json.h"

/* What a log is of. */
struct ctt_line_log_of {
    const char *option;    /* "--sense" */
    const char *begin;     /* how the file begins */
    const char *key;       /* its first line, with its end: what results
                              depend on */
    const char *other;     /* what is wrong if that is another, after
                              "PATH: " */
    void       *arg;
    /* Takes each of the other lines: 1; 0: it is damaged; or an error. */
    int       (*line)(void *arg, const struct ctt_value *line);
};

struct ctt_line_log;

/* Opens the log, which is made if it is not there, for this process alone, and
 * reads it.  A last line that a killed run left without its end is cut off.
 * CTT_EINVAL if it is no such log, or has another first line; CTT_EFORMAT,
 * naming the line, if one is damaged. */
int  ctt_line_log_open(const char *path, const struct ctt_line_log_of *of,
                       struct ctt_line_log **out);
void ctt_line_log_close(struct ctt_line_log **log);

/* Adds a line, with its end; print: the object that print(f, arg) writes. */
int  ctt_line_log_add(struct ctt_line_log *log, const char *line);
int  ctt_line_log_print(struct ctt_line_log *log,
                        int (*print)(FILE *f, const void *arg),
                        const void *arg);

/* A reason as a member that needs no escapes, which older versions do not read:
 * quotes, backslashes and control characters become apostrophes. */
void ctt_log_reason(struct ctt_json_out *o, const char *name, const char *s);

#endif
