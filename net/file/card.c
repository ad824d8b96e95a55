/* SPDX-License-Identifier: Apache-2.0
 * card.c: when, with which version and on which clips a model was trained. */
#include "net/file/card.h"
#include "base/ctt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VARIABLE "SOURCE_DATE_EPOCH"
#define LAST 253402300799    /* the end of the year 9999 */

/* Reproducible builds set the variable; its sense is theirs. */
int ctt_card_time(time_t *out)
{
    const char *epoch = getenv(VARIABLE);
    size_t n = epoch ? strlen(epoch) : 0;
    long long t = n && n < 16 ? atoll(epoch) : 0;
    int rc = 0;

    CTT_CHECK(!n || (strspn(epoch, "0123456789") == n && n < 16 && t <= LAST),
              CTT_EINVAL, VARIABLE "=%.40s: not a number of seconds since 1970 "
              "from 0 to %lld; unset it for today's date", epoch,
              (long long)LAST);
    *out = n ? (time_t)t : time(NULL);
out:
    return rc;
}

const char *ctt_card_find(const char *history, const char *name, int *n)
{
    const char *found = NULL;
    size_t len = strlen(name);

    for (const char *s = history; s && (s = strchr(s, ' ')) != NULL; s++)
        if (strncmp(s + 1, name, len) == 0 && s[1 + len] == '=')
            found = s + len + 2;
    if (found)
        *n = (int)strcspn(found, " \n");
    return found;
}

static void add(const char *history, const char *name, const char *value,
                char text[CTT_CARD])
{
    int n = 0;
    const char *old = ctt_card_find(history, name, &n);
    size_t used = strlen(text);

    if (!old || (size_t)n != strlen(value) || memcmp(old, value, (size_t)n))
        snprintf(text + used, CTT_CARD - used, " %s=%s", name, value);
}

int ctt_card(const char *history, uint32_t crc, char text[CTT_CARD])
{
    char day[16] = "", sum[16];
    struct tm tm;
    time_t t;
    int rc;

    CTT_TRY(ctt_card_time(&t));
    if (gmtime_r(&t, &tm))
        strftime(day, sizeof(day), "%Y-%m-%d", &tm);
    snprintf(sum, sizeof(sum), "%08x", (unsigned)crc);
    text[0] = '\0';
    add(history, "date", day, text);
    add(history, "convtt", CTT_VERSION, text);
    add(history, "data-crc", sum, text);
out:
    return rc;
}

int ctt_card_licence(const char *name)
{
    static const char signs[] = "abcdefghijklmnopqrstuvwxyz"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-";
    int rc = 0;

    CTT_CHECK(!name || (strlen(name) < 64 && !name[strspn(name, signs)]),
              CTT_EINVAL, "--licence=%s: not a name of SPDX, which has "
              "letters, digits and . + - only, such as CC-BY-4.0", name);
out:
    return rc;
}
