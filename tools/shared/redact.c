/* SPDX-License-Identifier: Apache-2.0
 * redact.c: lines for the user without passwords: wherever a message comes
 * from, an address in it is without the user's name, the password and the
 * query. */
#include "tools/shared/tool.h"
#include "video/live/live.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { ADDRESS = 1 << 14 };

/* Where the scheme of an address begins whose "://" is at `colon`. */
static const char *begin_of(const char *line, const char *colon)
{
    while (colon > line && (isalnum((unsigned char)colon[-1]) ||
                            strchr("+-.", colon[-1])))
        colon--;
    return colon;
}

/* Length of the address, at least `least`, without punctuation of the sentence.
 * */
static size_t length_of(const char *address, size_t least)
{
    size_t n = strcspn(address, " \t\r\n");

    while (n > least && strchr(":;,.)'\"", address[n - 1]))
        n--;
    return n;
}

static void append_text(char *to, size_t size, const char *from, size_t n)
{
    size_t at = strlen(to);

    snprintf(to + at, size - at, "%.*s", (int)n, from);
}

char *ctt_redact(const char *line, char *to, size_t size)
{
    char address[ADDRESS], name[ADDRESS];
    const char *at = line, *colon;

    *to = '\0';
    while ((colon = strstr(at, "://"))) {
        const char *begin = begin_of(at, colon);
        size_t n = length_of(begin, (size_t)(colon + 3 - begin));

        append_text(to, size, at, (size_t)(begin - at));
        snprintf(address, sizeof(address), "%.*s", (int)n, begin);
        ctt_live_name(address, name, sizeof(name));
        append_text(to, size, name, strlen(name));
        at = begin + n;
    }
    append_text(to, size, at, strlen(at));
    return to;
}
