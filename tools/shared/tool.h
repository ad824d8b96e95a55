/* SPDX-License-Identifier: Apache-2.0
 * tool.h: shared by the programs: messages, progress lines, signals. */
#ifndef CTT_TOOL_H
#define CTT_TOOL_H

#include "base/ctt.h"

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

#endif
