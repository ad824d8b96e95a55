/* SPDX-License-Identifier: Apache-2.0
 * names.c: patterns that choose weights by name. */
#include "compress/compress.h"
#include "net/op.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* Copies a name without the ".t2" of a core. */
static void base_name(const char *name, char *base)
{
    size_t n = strlen(name);

    memcpy(base, name, n + 1);
    if (n > 3 && base[n - 3] == '.' && base[n - 2] == 't' &&
        base[n - 1] >= '1' && base[n - 1] <= '9')
        base[n - 3] = '\0';
}

int ctt_name_matches(const char *patterns, const char *name)
{
    char one[CTT_NAME + 1], base[CTT_NAME];

    base_name(name, base);
    for (const char *p = patterns; p && *p; p += strspn(p, ",")) {
        size_t n = strcspn(p, ",");
        if (n < sizeof(one)) {
            memcpy(one, p, n);
            one[n] = '\0';
            if (one[0] == '=' ? strcmp(one + 1, name) == 0
                              : fnmatch(one, name, 0) == 0 ||
                                fnmatch(one, base, 0) == 0)
                return 1;
        }
        p += n;
    }
    return 0;
}

int ctt_names_check(const struct ctt_model *m, const char *patterns)
{
    char one[CTT_NAME + 1];
    int rc = 0;

    for (const char *p = patterns; p && *p; p += strspn(p, ",")) {
        size_t n = strcspn(p, ",");
        int found = 0;

        CTT_CHECK(n < sizeof(one), CTT_EINVAL, "no weight matches '%.*s'",
                  (int)n, p);
        memcpy(one, p, n);
        one[n] = '\0';
        for (int i = 0; i < m->g->count; i++)
            found |= ctt_is_conv(&m->g->node[i]) &&
                     ctt_name_matches(one, m->g->node[i].name);
        CTT_CHECK(found, CTT_EINVAL, "no weight matches '%s'", one);
        p += n;
    }
out:
    return rc;
}

/* ---- numbers for names ---- */

/* "PATTERN=NUMBER", of n characters: the pattern may begin with '='. */
static int split_item(const char *p, size_t n, char pattern[CTT_NAME + 1],
                      double *number)
{
    size_t at = n;
    char *end;

    while (at > 0 && p[at - 1] != '=')
        at--;
    if (at < 2 || at == n || at - 1 > CTT_NAME)
        return 0;
    memcpy(pattern, p, at - 1);
    pattern[at - 1] = '\0';
    *number = strtod(p + at, &end);
    return end == p + n;
}

int ctt_names_number(const char *list, const char *name, double *number)
{
    char pattern[CTT_NAME + 1];
    int found = 0;
    double x;

    for (const char *p = list; p && *p; p += strspn(p, ",")) {
        size_t n = strcspn(p, ",");

        if (split_item(p, n, pattern, &x) && ctt_name_matches(pattern, name)) {
            *number = x;
            found = 1;
        }
        p += n;
    }
    return found;
}

int ctt_names_check_numbers(const struct ctt_model *m, const char *option,
                            const char *list, double least, double most)
{
    char pattern[CTT_NAME + 1];
    double x;
    int rc = 0;

    for (const char *p = list; p && *p; p += strspn(p, ",")) {
        size_t n = strcspn(p, ",");

        CTT_CHECK(split_item(p, n, pattern, &x) && x >= least && x <= most,
                  CTT_EINVAL, "--%s: '%.*s' is not NAME=NUMBER with a number "
                  "from %g to %g", option, (int)n, p, least, most);
        CTT_TRY(ctt_names_check(m, pattern));
        p += n;
    }
out:
    return rc;
}
