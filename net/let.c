/* SPDX-License-Identifier: Apache-2.0
 * let.c: named values of a model text, and what is calculated with them. */
#include "net/let.h"
#include "base/ctt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

static int find_let(const struct ctt_lets *l, const char *name, size_t n)
{
    for (int i = 0; i < l->count; i++)
        if (strlen(l->let[i].name) == n &&
            memcmp(l->let[i].name, name, n) == 0)
            return i;
    return -1;
}

/* The value that the list gives a name, its length in *n, or NULL. */
static const char *value_in(const char *set, const char *name, size_t *n)
{
    size_t len = strlen(name);

    for (const char *p = set; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, name, len) == 0 && p[len] == '=') {
            *n = strcspn(p + len + 1, ",");
            return p + len + 1;
        }
    return NULL;
}

/* ---- a line "let" ---- */

int ctt_let_count(struct ctt_lets *l, const char *name, size_t n)
{
    int rc = 0;

    CTT_CHECK(n && n < CTT_LET_NAME && strspn(name, letters) == n, CTT_EFORMAT,
              "'%.*s' is no name of 1 to %d letters, digits and _", (int)n,
              name, CTT_LET_NAME - 1);
    CTT_CHECK(find_let(l, name, n) < 0, CTT_EFORMAT, "let: '%.*s' has a value "
              "already", (int)n, name);
    CTT_CHECK(l->count < CTT_LETS, CTT_EFORMAT, "let: more than %d values",
              CTT_LETS);
    memset(&l->let[l->count], 0, sizeof(l->let[0]));
    memcpy(l->let[l->count++].name, name, n);
out:
    return rc;
}

static int add_let(struct ctt_lets *l, const char *word)
{
    size_t n = strspn(word, letters), len;
    const char *value = word + n + 1, *other;
    int rc = 0;

    CTT_CHECK(n && n < CTT_LET_NAME && word[n] == '=', CTT_EFORMAT, "let: '%s' "
              "is not NAME=VALUE", word);
    CTT_TRY(ctt_let_count(l, word, n));
    len = strlen(value);
    other = value_in(l->set, l->let[l->count - 1].name, &len);
    CTT_CHECK(len && len < CTT_LET_VALUE, CTT_EFORMAT, "let: '%.*s': a value "
              "has 1 to %d characters", (int)n, word, CTT_LET_VALUE - 1);
    memcpy(l->let[l->count - 1].value, other ? other : value, len);
out:
    return rc;
}

/* ---- $name in other lines ---- */

/* Writes value*by, value/by, value+by or value-by, a whole number, in place of
 * the value. */
static int calculate(const char *name, char op, long by,
                     char value[CTT_LET_VALUE])
{
    char *end;
    long x = strtol(value, &end, 10);
    int rc = 0;

    CTT_CHECK(end != value && !*end && x > -1000000 && x < 1000000, CTT_EFORMAT,
              "$%s%c%ld: %s is no whole number below a million", name, op, by,
              value);
    CTT_CHECK(op != '/' || x % by == 0, CTT_EFORMAT, "$%s/%ld: %ld cannot be "
              "divided by it", name, by, x);
    snprintf(value, CTT_LET_VALUE, "%ld", op == '*' ? x * by : op == '/'
             ? x / by : op == '+' ? x + by : x - by);
out:
    return rc;
}

/* 1 if a number goes on here: .5 or e-3. */
static int is_fraction(const char *p)
{
    int sign = p[0] && p[1] && strchr("+-", p[1]);

    return (*p == '.' && strchr("0123456789", p[1]) && p[1]) ||
           (*p && strchr("eE", *p) && p[1 + sign] &&
            strchr("0123456789", p[1 + sign]));
}

/* Reads a name at *p and what is calculated with it from left to right; *p
 * moves behind it. */
static int take_value(const struct ctt_lets *l, const char **p,
                      char value[CTT_LET_VALUE])
{
    size_t n = strspn(*p, letters);
    int i = find_let(l, *p, n), rc = 0;

    CTT_CHECK(i >= 0, CTT_EFORMAT, "$%.*s: no line 'let %.*s=...' before it",
              (int)n, *p, (int)n, *p);
    memcpy(value, l->let[i].value, CTT_LET_VALUE);
    *p += n;
    while (**p && strchr("*/+-", **p)) {
        char op = **p;
        size_t digits = strspn(*p + 1, "0123456789");

        if (!digits && strchr("+-", op))    /* no sum, the text's own sign */
            break;
        CTT_CHECK(digits > 0 && digits < 7 && strtol(*p + 1, NULL, 10) > 0,
                  CTT_EFORMAT, "$%s%c: a whole number from 1 to 999999 must "
                  "follow", l->let[i].name, op);
        CTT_CHECK(!is_fraction(*p + 1 + digits), CTT_EFORMAT, "$%s%c%.*s: "
                  "whole numbers are calculated with", l->let[i].name, op,
                  (int)digits + 2, *p + 1);
        CTT_TRY(calculate(l->let[i].name, op, strtol(*p + 1, NULL, 10), value));
        *p += 1 + digits;
    }
out:
    return rc;
}

int ctt_let_replace(const struct ctt_lets *l, char *line, size_t size)
{
    char *was = NULL;
    size_t n = 0;
    int rc = 0;

    if (!strchr(line, '$'))
        goto out;
    was = ctt_strdup(line);
    CTT_TRY(was ? 0 : CTT_ENOMEM);
    for (const char *p = was; *p; ) {
        char value[CTT_LET_VALUE] = { *p, '\0' };

        if (*p++ == '$')
            CTT_TRY(take_value(l, &p, value));
        CTT_CHECK(n + strlen(value) < size, CTT_EFORMAT, "line too long");
        memcpy(line + n, value, strlen(value));
        n += strlen(value);
    }
    line[n] = '\0';
out:
    ctt_free(was);
    return rc;
}

int ctt_let_line(struct ctt_lets *l, char *line)
{
    char *save = NULL, *word = line + strspn(line, " \t");
    int rc = 0;

    if (strcspn(word, " \t\r") != 3 || strncmp(word, "let", 3) != 0)
        goto out;
    strtok_r(word, " \t\r", &save);
    while ((word = strtok_r(NULL, " \t\r", &save)) != NULL)
        CTT_TRY(add_let(l, word));
    rc = 1;
out:
    return rc;
}

int ctt_let_check(const struct ctt_lets *l)
{
    int rc = 0;

    for (const char *p = l->set; p && *p; ) {
        size_t n = strspn(p, letters), len = strcspn(p, ",");

        CTT_CHECK(p[n] == '=' && len > n + 1, CTT_EINVAL, "'%.*s' is not "
                  "NAME=VALUE", (int)len, p);
        CTT_CHECK(find_let(l, p, n) >= 0, CTT_EINVAL, "'%.*s': no line 'let "
                  "%.*s=...' in the model text", (int)n, p, (int)n, p);
        for (const char *q = l->set; q < p; q += strcspn(q, ",") + 1)
            CTT_CHECK(strncmp(q, p, n + 1) != 0, CTT_EINVAL, "'%.*s' has two "
                      "values", (int)n, p);
        CTT_CHECK(p[len] != ',' || p[len + 1], CTT_EINVAL, "'%s' ends with a "
                  "comma", l->set);
        p += len + (p[len] == ',');
    }
out:
    return rc;
}
