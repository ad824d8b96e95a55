/* SPDX-License-Identifier: Apache-2.0
 * opt_value.c: values of settings as text, by type. */
#include "base/opt_inside.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_choice(const struct ctt_opt *o, const char *value)
{
    char all[256] = "";
    size_t n = 0;

    for (int i = 0; o->choices[i] && n < sizeof(all); i++)
        n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i ? ", " : "",
                              o->choices[i]);
    return ctt_error(CTT_EINVAL, "%s: no choice '%s' (%s)", o->name, value,
                     all);
}

static const char units[] = "KMGT";

/* In the largest unit of which it is a whole number. */
static void size_text(int64_t n, char text[32])
{
    int k = 0;

    while (n > 0 && n % 1024 == 0 && units[k]) {
        n /= 1024;
        k++;
    }
    snprintf(text, 32, "%lld%.*s", (long long)n, k > 0,
             units + (k > 0 ? k - 1 : 0));
}

static void number_text(const struct ctt_opt *o, double x, char text[32])
{
    if (o->type == CTT_SIZE)
        size_text((int64_t)x, text);
    else
        snprintf(text, 32, "%.15g", x);
}

static int has_range(const struct ctt_opt *o)
{
    return o->min != 0 || o->max != 0;
}

int ctt_opt_range(const struct ctt_opt *o, char text[CTT_OPT_RANGE])
{
    char min[32], max[32];

    number_text(o, o->min, min);
    number_text(o, o->max, max);
    snprintf(text, CTT_OPT_RANGE, "%s%s to %s%s%s", o->zero ? "0, or " : "",
             min, max, o->word ? ", or " : "", o->word ? o->word : "");
    return has_range(o);
}

static int bad(const struct ctt_opt *o, const char *value)
{
    char range[CTT_OPT_RANGE];

    if (o->choices)
        return no_choice(o, value);
    if (ctt_opt_range(o, range))
        return ctt_error(CTT_EINVAL, "%s: bad value '%s' (%s)", o->name, value,
                         range);
    return ctt_error(CTT_EINVAL, "%s: bad value '%s'", o->name, value);
}

static int in_range(const struct ctt_opt *o, double x)
{
    return !has_range(o) || (x >= o->min && x <= o->max) || (o->zero && x == 0);
}

/* strtol and strtof would skip blanks. */
static int is_blank(const char *s)
{
    return isspace((unsigned char)*s);
}

static int one_int(const struct ctt_opt *o, const char *s, char **end, int *out)
{
    long x;

    errno = 0;
    x = strtol(s, end, 10);
    if (is_blank(s) || errno || *end == s || x != (int)x ||
        !in_range(o, (double)x))
        return CTT_EINVAL;
    *out = (int)x;
    return 0;
}

static int one_float(const struct ctt_opt *o, const char *s, char **end,
                     float *out)
{
    float x = strtof(s, end);

    /* a limit written in the table may be no float: 0.99 is one above it */
    if (is_blank(s) || *end == s || !isfinite(x) ||
        !(in_range(o, x) || x == (float)o->min || x == (float)o->max))
        return CTT_EINVAL;
    *out = x;
    return 0;
}

static int is_word(const struct ctt_opt *o, const char *s)
{
    return o->word && strcmp(s, o->word) == 0;
}

static int get_int(const struct ctt_opt *o, const char *s, void *out)
{
    char *end;
    int x = CTT_OPT_WORD;

    if (!is_word(o, s) && (one_int(o, s, &end, &x) < 0 || *end))
        return bad(o, s);
    *(int *)out = x;
    return 0;
}

static int get_float(const struct ctt_opt *o, const char *s, void *out)
{
    char *end;
    float x = NAN;

    if (!is_word(o, s) && (one_float(o, s, &end, &x) < 0 || *end))
        return bad(o, s);
    *(float *)out = x;
    return 0;
}

static int get_double(const struct ctt_opt *o, const char *s, void *out)
{
    char *end;
    double x = strtod(s, &end);

    if (end == s || *end || !isfinite(x) || !in_range(o, x))
        return bad(o, s);
    *(double *)out = x;
    return 0;
}

static int get_size(const struct ctt_opt *o, const char *s, void *out)
{
    char *end;
    const char *unit;
    double x = strtod(s, &end);

    if (*end && (unit = strchr(units, *end)) != NULL) {
        x = ldexp(x, 10 * (int)(unit - units + 1));
        end++;
    }
    /* a part of 1 would be cut off to 0, which may mean something else */
    if (*s < '0' || *s > '9' || *end || !(x <= 0x1p62) || !in_range(o, x) ||
        (x > 0 && x < 1))
        return bad(o, s);
    *(int64_t *)out = (int64_t)x;
    return 0;
}

/* "3" means 3,3,3 and "1,3,3" means just that. */
static int get_three(const struct ctt_opt *o, const char *s, void *out)
{
    int i[3], n = 0;
    float f[3];
    char *end = NULL;

    if (is_word(o, s)) {
        if (o->type == CTT_INT3)
            memcpy(out, (const int[]){ CTT_OPT_WORD, CTT_OPT_WORD,
                                       CTT_OPT_WORD }, sizeof(i));
        else
            memcpy(out, (const float[]){ NAN, NAN, NAN }, sizeof(f));
        return 0;
    }
    for (const char *p = s; n < 3; p = end + 1) {
        int rc = o->type == CTT_INT3 ? one_int(o, p, &end, &i[n])
                                     : one_float(o, p, &end, &f[n]);
        if (rc < 0)
            return bad(o, s);
        n++;
        if (*end != ',')
            break;
    }
    if (*end || n == 2)
        return bad(o, s);
    for (int k = 0; k < 3; k++) {
        if (o->type == CTT_INT3)
            ((int *)out)[k] = i[n == 1 ? 0 : k];
        else
            ((float *)out)[k] = f[n == 1 ? 0 : k];
    }
    return 0;
}

/* Its index, or -1. */
static int choice_of(const struct ctt_opt *o, const char *s)
{
    for (int i = 0; o->choices[i]; i++)
        if (strcmp(o->choices[i], s) == 0)
            return i;
    return -1;
}

static int get_choice(const struct ctt_opt *o, const char *s, void *out)
{
    int i = choice_of(o, s);

    if (i < 0)
        return bad(o, s);
    *(int *)out = i;
    return 0;
}

static int get_string(const struct ctt_opt *o, const char *s, void *out)
{
    if (*s && o->choices && choice_of(o, s) < 0)
        return bad(o, s);
    *(const char **)out = *s ? s : NULL;
    return 0;
}

/* The fewest digits that read back as the same number. */
static void print_float(float x, FILE *f)
{
    char s[32];

    for (int digits = 1; digits <= 9; digits++) {
        snprintf(s, sizeof(s), "%.*g", digits, (double)x);
        if (strtof(s, NULL) == x)
            break;
    }
    fprintf(f, "%s", s);
}

static void put_int(const struct ctt_opt *o, const void *p, FILE *f)
{
    int x = *(const int *)p;

    if (o->word && x == CTT_OPT_WORD)
        fprintf(f, "%s", o->word);
    else
        fprintf(f, "%d", x);
}

static void put_three(const struct ctt_opt *o, const void *p, FILE *f)
{
    const int *i = p;
    const float *x = p;

    if (o->word && (o->type == CTT_INT3 ? i[0] == CTT_OPT_WORD
                                        : isnan(x[0]))) {
        fprintf(f, "%s", o->word);
        return;
    }
    if (o->type == CTT_INT3)
        fprintf(f, "%d,%d,%d", i[0], i[1], i[2]);
    for (int k = 0; k < 3 && o->type == CTT_FLOAT3; k++) {
        fprintf(f, "%s", k ? "," : "");
        print_float(x[k], f);
    }
}

static void put_float(const struct ctt_opt *o, const void *p, FILE *f)
{
    if (o->word && isnan(*(const float *)p))
        fprintf(f, "%s", o->word);
    else
        print_float(*(const float *)p, f);
}

static void put_double(const struct ctt_opt *o, const void *p, FILE *f)
{
    (void)o;
    fprintf(f, "%.17g", *(const double *)p);
}

static void put_size(const struct ctt_opt *o, const void *p, FILE *f)
{
    char text[32];

    (void)o;
    size_text(*(const int64_t *)p, text);
    fprintf(f, "%s", text);
}

static void put_string(const struct ctt_opt *o, const void *p, FILE *f)
{
    (void)o;
    fprintf(f, "%s", *(char *const *)p);
}

static void put_choice(const struct ctt_opt *o, const void *p, FILE *f)
{
    fprintf(f, "%s", o->choices[*(const int *)p]);
}

const struct ctt_opt_kind ctt_opt_kinds[] = {
    [CTT_FLAG]   = { get_int, put_int, sizeof(int) },
    [CTT_INT]    = { get_int, put_int, sizeof(int) },
    [CTT_INT3]   = { get_three, put_three, 3 * sizeof(int) },
    [CTT_FLOAT]  = { get_float, put_float, sizeof(float) },
    [CTT_FLOAT3] = { get_three, put_three, 3 * sizeof(float) },
    [CTT_DOUBLE] = { get_double, put_double, sizeof(double) },
    [CTT_SIZE]   = { get_size, put_size, sizeof(int64_t) },
    [CTT_STRING] = { get_string, put_string, sizeof(char *) },
    [CTT_CHOICE] = { get_choice, put_choice, sizeof(int) },
};
