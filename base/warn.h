/* SPDX-License-Identifier: Apache-2.0
 * warn.h: warnings, which libraries do not print but pass to a function of the
 * program. */
#ifndef CTT_WARN_H
#define CTT_WARN_H

/* Sets the function that gets each warning, a line without its end; NULL, as at
 * first: none.  Called in any thread, one at a time. */
void ctt_warn_to(void (*say)(void *arg, const char *text), void *arg);

void ctt_warn(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), cold));

#endif
