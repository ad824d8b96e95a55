/* SPDX-License-Identifier: Apache-2.0
 * append.h: lines of a model's text, printed and collected. */
#ifndef CTT_APPEND_H
#define CTT_APPEND_H

#include "net/graph.h"

#include <stdarg.h>

/* Prints one line, without newline; CTT_EFORMAT: longer than CTT_MAX_LINE. */
int ctt_print_line(char line[CTT_MAX_LINE], const char *fmt, va_list ap);

/* Appends a line and its newline to *text, a string that the caller frees;
 * NULL: an empty string.  On failure *text is unchanged. */
int ctt_append_line(char **text, const char *fmt, va_list ap);
int ctt_append(char **text, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
