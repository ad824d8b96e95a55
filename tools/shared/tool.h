/* SPDX-License-Identifier: Apache-2.0
 * tool.h: messages, tables and signals of the programs. */
#ifndef CTT_TOOL_H
#define CTT_TOOL_H

#include "base/ctt.h"
#include "base/telling.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* ---- tool.c ---- */

enum { CTT_EXIT_FAIL = 1, CTT_EXIT_USAGE = 2, CTT_EXIT_DOUBT = 3 };

/* The manual pages' words for CTT_EXIT_USAGE. */
#define CTT_USAGE_STATUS \
    "a wrong option or operand, also a file given twice or clips that do not " \
    "suit the model or have no such split; reported in one line."

/* The status for an error rc before the work: CTT_EINVAL and CTT_ENOSPLIT are
 * such operands. */
static inline int ctt_tool_status(int rc)
{
    return rc == CTT_EINVAL || rc == CTT_ENOSPLIT ? CTT_EXIT_USAGE
                                                  : CTT_EXIT_FAIL;
}

/* Call first.  Opens closed standard streams, so that no file takes their
 * place. name: the program, for messages; argv: that of main(), for a restart.
 * */
void ctt_tool_start(const char *name, char **argv);

/* Sets the rank of this process (-1: no change) and returns it.  Ranks other
 * than 0 print only errors, with their rank. */
int  ctt_tool_rank(int rank);

/* Messages escape control characters and bytes that are not UTF-8, as paths,
 * labels and texts of files may have them: \n, \t, \r, \xHH.  On stderr
 * passwords in addresses are removed (ctt_redact()). */

/* Prints "name: message" of the last error on stderr; returns status. */
int  ctt_tool_fail(int status);
/* The same with the given message. */
int  ctt_tool_die(int status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints a note, which is no error; any thread may call it. */
void ctt_tool_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Returns the value for main(): status, or CTT_EXIT_FAIL if stdout could not be
 * written completely or the work lacks something. */
int  ctt_tool_end(int status);
/* Sets what the finished work lacks, a constant sentence; NULL: nothing. */
void ctt_tool_lacks(const char *what);
/* Prints "name: warning: ..." on stderr: the first ten warnings of each fmt;
 * further ones are counted. */
void ctt_tool_warn(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
/* Prints the number of counted warnings and resets it; call it at the end of a
 * part of the work.  die, fail and end call it too. */
void ctt_tool_warned(void);

/* Prints a line on stdout, after an empty one for each \n that fmt begins with;
 * removes a progress line first. */
void ctt_tool_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A file at `path` stands for the one that the user gave as `name`: messages
 * name that; both texts stay.  given: name for that path, any other as it is:
 * for what is no message. */
void        ctt_tool_stands_for(const char *path, const char *name);
const char *ctt_tool_given(const char *path);

/* Clean stop on SIGINT, SIGTERM and, unless ignored, SIGHUP.  After
 * ctt_tool_catch() the first signal sets the flag that ctt_tool_stop() returns,
 * also to the libraries (ctt_stop_set()), so that decoding and waits for pipes
 * end; a second signal, at least half a second later, ends the program. */
void ctt_tool_catch(void);

/* A reader of standard output that ends counts as such a signal, in programs
 * that have files to put in order. */
void ctt_tool_catch_pipe(void);
int  ctt_tool_stop(void);
/* Sets a function that the second signal's handler calls first; only
 * async-signal-safe calls are allowed in it. */
void ctt_tool_at_last(void (*f)(void));

/* Formats n like "1.2 M", "340 k", "12"; returns buf. */
const char *ctt_tool_count(double n, char *buf, size_t size);

/* ---- progress.c ---- */

/* Sets how progress is told, and whether ctt_tool_note() says anything. */
void ctt_tool_tell(const struct ctt_telling *t);
int  ctt_tool_is_quiet(void);

/* Work that is told: done of all units; all 0: their number is unknown.  left:
 * seconds to the end, or NAN: estimated by the units that were done since the
 * first report of as many. */
struct ctt_work { double done, all, left; };

/* Progress on stderr, "TEXT, 42% done, 1:23 left": on a terminal the line
 * overwrites the last one, at most ten times a second; otherwise a line at most
 * every ten seconds; as JSON one at most every second.  w: NULL: nothing is
 * known. */
void ctt_tool_progress(const struct ctt_work *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same of done units of all, whose time is estimated. */
#define CTT_PROGRESS(done, all, ...) \
    ctt_tool_progress(&(struct ctt_work){ (done), (all), NAN }, __VA_ARGS__)

/* Removes a progress line from the terminal. */
void ctt_tool_clear(void);

/* Prepares the clock of progress lines, at the start of a program. */
void ctt_progress_begin(void);

/* ---- failure.c ---- */

/* The first error of several steps that are all done; zeros at first. */
struct ctt_failure { int rc; char *why; };

/* Keeps rc and its message if it is the first negative one. */
void ctt_failure_note(struct ctt_failure *f, int rc);

/* Restores the kept error and its message and returns it, or 0; frees it. */
int  ctt_failure_tell(struct ctt_failure *f);

/* ---- redact.c ---- */

/* Copies a line to `to` (size bytes), without passwords, and returns it: each
 * address, up to a blank, is replaced by its public name (ctt_live_name());
 * punctuation after the address stays. */
char *ctt_redact(const char *line, char *to, size_t size);

/* ---- stalling_write.c ---- */

/* Writes n bytes to fd.  Waits for a reader that stalls, but at most a second
 * after the user asked to stop (ctt_tool_stop()).  Returns 0 or an errno;
 * EAGAIN: given up. */
int  ctt_stalling_write(int fd, const char *p, size_t n);

/* Makes standard output and standard error write in this way.  Text after the
 * first failure is lost, and ferror() is set. */
void ctt_stalling_standard(void);

/* ---- table.c ---- */

/* A table with aligned columns.  Cells of a row are separated by the tabs of
 * fmt or, without any, by the tabs of the printed text; the first row is the
 * header.  Columns of numbers are right-aligned; control characters are
 * escaped.  ctt_table_print() returns errors of ctt_table_row(). */
struct ctt_table {
    char **row;
    int    rows, room, rc;
};
void ctt_table_row(struct ctt_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints to stdout and frees the rows. */
int  ctt_table_print(struct ctt_table *t);
void ctt_table_free(struct ctt_table *t);

/* A number of a row of CSV, and the comma; NAN: nothing before it. */
void ctt_csv_real(FILE *f, double x);

/* The same of a text; quoted, as a name may have commas. */
void ctt_csv_quoted(FILE *f, const char *s);

#endif
