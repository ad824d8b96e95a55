/* SPDX-License-Identifier: Apache-2.0
 * warn.h: warnings: libraries do not print them, but hand them to whoever
 * asked. */
#ifndef CTT_WARN_H
#define CTT_WARN_H

/* Who gets warnings, a line each without its end; NULL: nobody, as at first.
 * It may be called in any thread, one at a time. */
void ctt_warn_to(void (*say)(void *arg, const char *text), void *arg);

void ctt_warn(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), cold));

#endif
