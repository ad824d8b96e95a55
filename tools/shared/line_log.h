/* SPDX-License-Identifier: Apache-2.0
 * line_log.h: a file of results, a JSON line each, from which a run that was
 * stopped or killed goes on. */
#ifndef CTT_TOOL_LINE_LOG_H
#define CTT_TOOL_LINE_LOG_H

#include "base/ctt.h"

/* What a log is of. */
struct ctt_line_log_of {
    const char *option;    /* "--sense" */
    const char *begin;     /* how the file begins */
    const char *key;       /* its first line, with its end: what results
                              depend on */
    const char *other;     /* what is wrong if that is another, after
                              "PATH: " */
    void       *arg;
    /* Gets each of the other lines, without its end, and its number.  Returns
     * an error, or not. */
    int       (*line)(void *arg, const char *path, int number,
                      const char *line);
};

struct ctt_line_log;

/* Opens the log, which is made if it is not there, for this process alone, and
 * reads it.  What a run that was killed wrote of its last line is cut off.
 * CTT_EINVAL if it is no such log, or has another first line. */
int  ctt_line_log_open(const char *path, const struct ctt_line_log_of *of,
                       struct ctt_line_log **out);
void ctt_line_log_close(struct ctt_line_log **log);

/* Adds a line, with its end. */
int  ctt_line_log_add(struct ctt_line_log *log, const char *line);

/* For a line: text without what JSON would have to escape (reasons hold names
 * of nodes and numbers, but no text of strangers); a number, NAN as null. */
void ctt_log_text(const char *from, char *to, size_t size);
void ctt_log_number(double x, char text[32]);

/* Of a line that is read: what follows the word or the number at p (null is
 * NAN); NULL if something else is there, or p is NULL. */
const char *ctt_log_pass(const char *p, const char *word);
const char *ctt_log_take(const char *p, double *x);

#endif
