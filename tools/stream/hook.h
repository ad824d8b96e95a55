/* SPDX-License-Identifier: Apache-2.0
 * hook.h: a command of the user that runs for each event. */
#ifndef CTT_HOOK_H
#define CTT_HOOK_H

#include "base/ctt.h"

/* Commands at once; bytes of a text, which is the room that Linux gives a pipe
 * at once. */
enum { CTT_HOOK_ROOM = 4, CTT_HOOK_TEXT = 65536 };

struct ctt_hook;

/* Commands run by /bin/sh -c, each in a process group of its own, which is
 * killed when it ends, with what it left in the background, and when `limit`
 * seconds are over.  They inherit no file of this program; what they write to
 * standard output goes to standard error. */
int  ctt_hook_open(const char *command, double limit, struct ctt_hook **out);

/* Starts the command with the text as its standard input and the variables
 * (NAME=VALUE, NULL ends them) in its environment; nothing of them becomes part
 * of the command.  Never waits: 0 if CTT_HOOK_ROOM are running, or 4096 of all
 * hooks together; 1 if it was started; CTT_EIO if the text is too long or the
 * system refuses. */
int  ctt_hook_run(struct ctt_hook *h, const char *text, char *const *variable);

/* Takes note of commands that have ended, and kills those that ran too long,
 * without waiting for their death.  Returns how many are running. */
int  ctt_hook_look(struct ctt_hook *h);

/* Commands that failed, or were killed, until now. */
int64_t ctt_hook_failed(const struct ctt_hook *h);

/* Why one of them failed: 1 and a line of less than size bytes about the oldest
 * one that was not told; 0: there is none.  Of many at once some are only
 * counted. */
int  ctt_hook_tell(struct ctt_hook *h, char *to, size_t size);

/* Kills the commands of all hooks at once, for a handler of signals after which
 * the program ends: only such calls are made as a handler may make. */
void ctt_hook_kill_all(void);

/* Waits for those that run, `seconds` at most and no longer than their limit,
 * and kills the rest; one that a second later is not dead is left alone. */
void ctt_hook_wait(struct ctt_hook *h, double seconds);

/* Kills those that still run. */
void ctt_hook_close(struct ctt_hook **h);

#endif
