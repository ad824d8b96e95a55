/* SPDX-License-Identifier: Apache-2.0
 * tool.h: what the programs share: error lines, a progress line, tables. */
#ifndef CTT_TOOL_H
#define CTT_TOOL_H

#include "net/ctt.h"

enum { CTT_EXIT_FAIL = 1, CTT_EXIT_USAGE = 2 };

/* Call first; name is the program's, for the error lines; argv is main's, with
 * which the program may start itself again. */
void ctt_tool_start(const char *name, char **argv);

/* "name: message" of the last error on stderr; returns the exit status given.
 */
int  ctt_tool_fail(int status);
/* The same with a message of its own. */
int  ctt_tool_die(int status, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* What main returns in the end: status, or a failure if not all of stdout could
 * be written. */
int  ctt_tool_end(int status);
/* "name: warning: ..." on stderr. */
void ctt_tool_warn(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* A line about what goes on, on stderr: on a terminal it overwrites the last
 * one; elsewhere a plain line at most every ten seconds (always if last). */
void ctt_tool_progress(int last, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Removes a progress line from the terminal. */
void ctt_tool_clear(void);

/* A line on stdout, which first clears a progress line. */
void ctt_tool_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Stop cleanly on SIGINT and SIGTERM: after ctt_tool_catch() the first signal
 * sets the flag that ctt_tool_stop() returns, the second ends the program. */
void ctt_tool_catch(void);
int  ctt_tool_stop(void);

/* "1.2 M", "340 k", "12": for parameters and multiplications. */
const char *ctt_tool_count(double n, char *buf, size_t size);

#endif
