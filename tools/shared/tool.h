/* SPDX-License-Identifier: Apache-2.0
 * tool.h: messages, tables and signals of the programs. */
#ifndef CTT_TOOL_H
#define CTT_TOOL_H

#include "base/ctt.h"

#include <stddef.h>

/* ---- tool.c ---- */

enum { CTT_EXIT_FAIL = 1, CTT_EXIT_USAGE = 2, CTT_EXIT_DOUBT = 3 };

/* Call first: it also makes sure that files do not take the place of a standard
 * stream that is closed.  name: of the program, for messages; argv: that of
 * main(), with which the program may restart itself. */
void ctt_tool_start(const char *name, char **argv);

/* From now on this is process `rank` of several (-1: of no other than before):
 * unless that is 0 it prints nothing but errors, which name it.  Returns what
 * it is now. */
int  ctt_tool_rank(int rank);

/* Messages may hold paths, labels and texts of files: control characters and
 * bytes that are not UTF-8 are printed as \n, \t, \r or \xHH.  On stderr
 * addresses are without passwords (redact.h). */

/* Prints "name: message" of the last error on stderr; returns status. */
int  ctt_tool_fail(int status);
/* The same with the given message. */
int  ctt_tool_die(int status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The same as a note, which is no error; any thread may call it. */
void ctt_tool_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The value that main() returns: status, or CTT_EXIT_FAIL if stdout could not
 * be written completely. */
int  ctt_tool_end(int status);
/* Prints "name: warning: ..." on stderr; of the warnings with the same fmt only
 * the first ten, and the others are counted. */
void ctt_tool_warn(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
/* Prints how many were only counted, and begins anew; call it when a part of
 * the work is done.  die, fail and end call it too. */
void ctt_tool_warned(void);

/* Progress on stderr: on a terminal the line overwrites the last one, at most
 * ten times a second; otherwise a line at most every ten seconds.  last: print
 * it in any case. */
void ctt_tool_progress(int last, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Removes a progress line from the terminal. */
void ctt_tool_clear(void);

/* Prints a line on stdout, after an empty one for each \n that fmt begins with;
 * removes a progress line first. */
void ctt_tool_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Stop cleanly on SIGINT, SIGTERM and, unless it is ignored, SIGHUP: after
 * ctt_tool_catch() the first signal sets the flag that ctt_tool_stop() returns,
 * also to the libraries (ctt_stop_set()), so that decoding and waiting for a
 * pipe end; the second, half a second later or more, ends the program. */
void ctt_tool_catch(void);
int  ctt_tool_stop(void);
/* f is called by the handler of that second one, so it may do only what a
 * handler may. */
void ctt_tool_at_last(void (*f)(void));

/* Formats n like "1.2 M", "340 k", "12"; returns buf. */
const char *ctt_tool_count(double n, char *buf, size_t size);

/* ---- failure.c ---- */

/* Of zeros before the first step. */
struct ctt_failure { int rc; char *why; };

/* Keeps rc and its message if it is the first negative one. */
void ctt_failure_note(struct ctt_failure *f, int rc);

/* Returns what was kept, with its message again, or 0; frees it. */
int  ctt_failure_tell(struct ctt_failure *f);

/* ---- redact.c ---- */

/* Copies a line to `to`, at most size bytes, and returns it.  Each address in
 * it, up to a blank, gets its public name (ctt_live_name()); a mark that ends a
 * part of a sentence stays behind it. */
char *ctt_redact(const char *line, char *to, size_t size);

/* ---- stalling_write.c ---- */

/* Writes n bytes to fd.  A reader that takes nothing is waited for, but once
 * the user asked to stop (ctt_tool_stop()) not for more than a second.  0, or
 * the errno of what failed; EAGAIN: given up. */
int  ctt_stalling_write(int fd, const char *p, size_t n);

/* From now on standard output and standard error are written so; what comes
 * after the first failure is lost, and ferror() says it. */
void ctt_stalling_standard(void);

/* ---- table.c ---- */

/* A row is its cells, separated by the tabs of fmt, or, if that has none, by
 * those of what it prints; the first row is the header.  Columns that hold only
 * numbers are right-aligned.  What a terminal would obey is made visible.  If a
 * row cannot be stored, print returns the error. */
struct ctt_table {
    char **row;
    int    rows, room, rc;
};
void ctt_table_row(struct ctt_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints to stdout and frees the rows. */
int  ctt_table_print(struct ctt_table *t);
void ctt_table_free(struct ctt_table *t);

#endif
