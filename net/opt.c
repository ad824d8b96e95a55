/* SPDX-License-Identifier: Apache-2.0
 * opt.c: reading and printing settings by table. */
#include "net/opt.h"

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

static int bad(const struct ctt_opt *o, const char *value)
{
    if (o->choices)
        return no_choice(o, value);
    if (o->min != 0 || o->max != 0)
        return ctt_error(CTT_EINVAL, "%s: bad value '%s' (%g to %g)", o->name,
                         value, o->min, o->max);
    return ctt_error(CTT_EINVAL, "%s: bad value '%s'", o->name, value);
}

static int in_range(const struct ctt_opt *o, double x)
{
    return (o->min == 0 && o->max == 0) || (x >= o->min && x <= o->max);
}

static int one_int(const struct ctt_opt *o, const char *s, char **end, int *out)
{
    long x;

    errno = 0;
    x = strtol(s, end, 10);
    if (errno || *end == s || x != (int)x || !in_range(o, (double)x))
        return CTT_EINVAL;
    *out = (int)x;
    return 0;
}

static int one_float(const struct ctt_opt *o, const char *s, char **end,
                     float *out)
{
    float x = strtof(s, end);

    /* a limit written in the table may be no float: 0.99 is one above it */
    if (*end == s || !isfinite(x) ||
        !(in_range(o, x) || x == (float)o->min || x == (float)o->max))
        return CTT_EINVAL;
    *out = x;
    return 0;
}

static int get_int(const struct ctt_opt *o, const char *s, void *out)
{
    char *end;
    int x;

    if (one_int(o, s, &end, &x) < 0 || *end)
        return bad(o, s);
    *(int *)out = x;
    return 0;
}

static int get_float(const struct ctt_opt *o, const char *s, void *out)
{
    char *end;
    float x;

    if (one_float(o, s, &end, &x) < 0 || *end)
        return bad(o, s);
    *(float *)out = x;
    return 0;
}

/* "3" means 3,3,3 and "1,3,3" means just that. */
static int get_three(const struct ctt_opt *o, const char *s, void *out)
{
    int i[3], n = 0;
    float f[3];
    char *end = NULL;

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

static int get_choice(const struct ctt_opt *o, const char *s, void *out)
{
    for (int i = 0; o->choices[i]; i++) {
        if (strcmp(o->choices[i], s) == 0) {
            *(int *)out = i;
            return 0;
        }
    }
    return bad(o, s);
}

static int get_string(const struct ctt_opt *o, const char *s, void *out)
{
    (void)o;
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
    (void)o;
    fprintf(f, "%d", *(const int *)p);
}

static void put_three(const struct ctt_opt *o, const void *p, FILE *f)
{
    const int *i = p;
    const float *x = p;

    if (o->type == CTT_INT3)
        fprintf(f, "%d,%d,%d", i[0], i[1], i[2]);
    for (int k = 0; k < 3 && o->type == CTT_FLOAT3; k++) {
        fprintf(f, "%s", k ? "," : "");
        print_float(x[k], f);
    }
}

static void put_float(const struct ctt_opt *o, const void *p, FILE *f)
{
    (void)o;
    print_float(*(const float *)p, f);
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

static const struct {
    int (*get)(const struct ctt_opt *, const char *, void *);
    void (*put)(const struct ctt_opt *, const void *, FILE *);
    size_t size;
} types[] = {
    [CTT_FLAG]   = { get_int, put_int, sizeof(int) },
    [CTT_INT]    = { get_int, put_int, sizeof(int) },
    [CTT_INT3]   = { get_three, put_three, 3 * sizeof(int) },
    [CTT_FLOAT]  = { get_float, put_float, sizeof(float) },
    [CTT_FLOAT3] = { get_three, put_three, 3 * sizeof(float) },
    [CTT_STRING] = { get_string, put_string, sizeof(char *) },
    [CTT_CHOICE] = { get_choice, put_choice, sizeof(int) },
};

static int set(const struct ctt_opt *o, void *cfg, const char *value)
{
    return types[o->type].get(o, value, (char *)cfg + o->off);
}

int ctt_opt_find(const struct ctt_opt *tab, const char *name)
{
    for (int i = 0; tab[i].name; i++)
        if (strcmp(tab[i].name, name) == 0)
            return i;
    return -1;
}

int ctt_opt_defaults(const struct ctt_opt *tab, void *cfg)
{
    int rc = 0;

    for (; tab->name; tab++)
        if (tab->dflt)
            CTT_TRY(set(tab, cfg, tab->dflt));
out:
    return rc;
}

int ctt_opt_set(const struct ctt_opt *tab, void *cfg, const char *name,
                const char *value)
{
    int i = ctt_opt_find(tab, name);

    if (i < 0)
        return ctt_error(CTT_EINVAL, "unknown setting '%s'", name);
    return set(&tab[i], cfg, value);
}

int ctt_opt_is_default(const struct ctt_opt *o, const void *cfg)
{
    union { int i[3]; float f[3]; const char *s; } plain = { { 0 } };
    const char *p = (const char *)cfg + o->off, *s;

    if (types[o->type].get(o, o->dflt, &plain) < 0)
        return 0;
    if (o->type != CTT_STRING)
        return memcmp(p, &plain, types[o->type].size) == 0;
    s = *(char *const *)p;
    return s == plain.s || (s && plain.s && strcmp(s, plain.s) == 0);
}

static void note(int row, struct ctt_opt_seen *seen)
{
    if (row < CTT_OPT_MAX)
        seen->row[row] = 1;
}

int ctt_opt_word(const struct ctt_opt *tab, void *cfg, char *word,
                 struct ctt_opt_seen *seen)
{
    char *eq = strchr(word, '=');
    int rc = 0;

    CTT_CHECK(eq, CTT_EFORMAT, "'%s' is not key=value", word);
    *eq = '\0';
    CTT_TRY(ctt_opt_set(tab, cfg, word, eq + 1));
    note(ctt_opt_find(tab, word), seen);
out:
    return rc;
}

int ctt_opt_missing(const struct ctt_opt *tab, const struct ctt_opt_seen *seen)
{
    for (int i = 0; tab[i].name; i++)
        if (!tab[i].dflt && !(i < CTT_OPT_MAX && seen->row[i]))
            return ctt_error(CTT_EINVAL, "'%s' must be given", tab[i].name);
    return 0;
}

void ctt_opt_print(const struct ctt_opt *tab, const void *cfg, FILE *f)
{
    for (; tab->name; tab++) {
        const void *p = (const char *)cfg + tab->off;

        if (tab->type == CTT_STRING && !*(char *const *)p)
            continue;
        fprintf(f, " %s=", tab->name);
        types[tab->type].put(tab, p, f);
    }
}

/* ---- the command line ---- */

static void help_row(const struct ctt_opt *o)
{
    const char *arg = o->arg ? o->arg : "VALUE";
    char left[64];

    snprintf(left, sizeof(left), "%c%c%c --%s%s%s", o->letter ? '-' : ' ',
             o->letter ? o->letter : ' ', o->letter ? ',' : ' ', o->name,
             o->type == CTT_FLAG ? "" : "=", o->type == CTT_FLAG ? "" : arg);
    printf("  %-28s %s", left, o->help);
    for (int i = 0; o->choices && o->choices[i]; i++)
        printf("%s%s", i ? ", " : ": ", o->choices[i]);
    if (!o->dflt)
        printf(" (must be given)");
    else if (o->dflt[0] && o->type != CTT_FLAG)
        printf(" [%s]", o->dflt);
    printf("\n");
}

static void help(const struct ctt_opt *tab, const char *usage)
{
    printf("Usage: %s\n\nOptions:\n", usage);
    for (; tab->name; tab++)
        help_row(tab);
    printf("      --%-22s %s\n      --%-22s %s\n", "help", "show this help",
           "version", "show the version");
}

/* Of one word of the command line: the row it names, and the value that stands
 * in the same word, or NULL. */
static int row_of(const struct ctt_opt *tab, const char *word,
                  const char **value)
{
    size_t n;
    int i;

    *value = NULL;
    if (word[1] != '-') {
        for (i = 0; tab[i].name && tab[i].letter != word[1]; i++)
            ;
        if (word[2] && tab[i].name && tab[i].type == CTT_FLAG)
            return -1;
        *value = word[2] ? word + 2 : NULL;
        return tab[i].name ? i : -1;
    }
    n = strcspn(word += 2, "=");
    for (i = 0; tab[i].name; i++)
        if (strlen(tab[i].name) == n && strncmp(tab[i].name, word, n) == 0)
            break;
    *value = word[n] ? word + n + 1 : NULL;
    return tab[i].name ? i : -1;
}

/* Takes argv[*at] and, if it needs one, the value behind it. */
static int option(const struct ctt_opt *tab, void *cfg, int argc, char **argv,
                  int *at, struct ctt_opt_seen *seen)
{
    const char *word = argv[*at], *value;
    int i = row_of(tab, word, &value), rc = 0;

    CTT_CHECK(i >= 0, CTT_EINVAL, "unknown option '%s' (--help lists them)",
              word);
    if (tab[i].type == CTT_FLAG) {
        CTT_CHECK(!value, CTT_EINVAL, "%s takes no value", word);
        value = "1";
    } else if (!value) {
        CTT_CHECK(*at + 1 < argc, CTT_EINVAL, "%s needs a value", word);
        value = argv[++*at];
    }
    CTT_CHECK(*value, CTT_EINVAL, "--%s: the value is empty", tab[i].name);
    rc = set(&tab[i], cfg, value);
    if (rc < 0)
        rc = ctt_error(rc, "--%s", ctt_errmsg());
    note(i, seen);
out:
    return rc;
}

static int answered(const struct ctt_opt *tab, const char *usage,
                    const char *word)
{
    if (strcmp(word, "--help") == 0)
        help(tab, usage);
    else if (strcmp(word, "--version") == 0)
        printf("convtt %s\n", CTT_VERSION);
    else
        return 0;
    return 1;
}

int ctt_opt_main(const struct ctt_opt *tab, const char *usage, void *cfg,
                 int argc, char **argv, int *done)
{
    int rc = 0, operands = 0, last = argc;
    struct ctt_opt_seen seen = { { 0 } };
    char **word = ctt_calloc((size_t)argc + 1, sizeof(*word));

    *done = 0;
    CTT_TRY(word ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_opt_defaults(tab, cfg));
    for (int i = 1; i < argc; i++) {
        const char *s = argv[i];
        if (i > last || s[0] != '-' || !s[1]) {
            word[operands++] = argv[i];
        } else if (strcmp(s, "--") == 0) {
            last = i;
        } else if (answered(tab, usage, s)) {
            *done = 1;
            goto out;
        } else {
            CTT_TRY(option(tab, cfg, argc, argv, &i, &seen));
        }
    }
    rc = ctt_opt_missing(tab, &seen);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "option --%s (see --help)", ctt_errmsg()));
    for (int i = 0; i < operands; i++)
        argv[argc - operands + i] = word[i];
    rc = argc - operands;
out:
    ctt_free(word);
    return rc;
}
