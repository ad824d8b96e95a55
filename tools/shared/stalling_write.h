/* SPDX-License-Identifier: Apache-2.0
 * stalling_write.h: writing to a reader that may stall. */
#ifndef CTT_STALLING_WRITE_H
#define CTT_STALLING_WRITE_H

#include <stddef.h>

/* Writes n bytes to fd.  A reader that takes nothing is waited for, but once
 * the user asked to stop (ctt_tool_stop()) not for more than a second.  0, or
 * the errno of what failed; EAGAIN: given up. */
int  ctt_stalling_write(int fd, const char *p, size_t n);

/* From now on standard output and standard error are written so; what comes
 * after the first failure is lost, and ferror() says it. */
void ctt_stalling_standard(void);

#endif
