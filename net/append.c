/* SPDX-License-Identifier: Apache-2.0
 * append.c: lines of a model's text, printed and collected. */
#include "net/append.h"

#include <stdio.h>
#include <string.h>

int ctt_print_line(char line[CTT_MAX_LINE], const char *fmt, va_list ap)
{
    int n = vsnprintf(line, CTT_MAX_LINE, fmt, ap);

    if (n < 0 || n >= CTT_MAX_LINE)
        return ctt_error(CTT_EFORMAT, "line too long");
    return 0;
}

int ctt_append_line(char **text, const char *fmt, va_list ap)
{
    size_t old = *text ? strlen(*text) : 0, size;
    char line[CTT_MAX_LINE], *more;
    int rc = 0;

    CTT_TRY(ctt_print_line(line, fmt, ap));
    size = old + strlen(line) + 2;
    more = ctt_realloc(*text, size);
    CTT_TRY(more ? 0 : CTT_ENOMEM);
    snprintf(more + old, size - old, "%s\n", line);
    *text = more;
out:
    return rc;
}

int ctt_append(char **text, const char *fmt, ...)
{
    va_list ap;
    int rc;

    va_start(ap, fmt);
    rc = ctt_append_line(text, fmt, ap);
    va_end(ap);
    return rc;
}
