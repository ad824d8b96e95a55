/* SPDX-License-Identifier: Apache-2.0
 * opt_main.c: the command line, read by a table of options. */
#include "base/opt_inside.h"
#include "base/warn.h"

#include <string.h>

/* The row that one word of the command line names, and the value that stands in
 * the same word, or NULL. */
static int option_row(const struct ctt_opt *tab, const char *word,
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
    *value = word[n] ? word + n + 1 : NULL;
    return ctt_opt_find_n(tab, word, n);
}

/* The edits of a letter that make the n letters of a name another one
 * (Levenshtein 1966), or a large number. */
static int edits(const char *a, size_t n, const char *b)
{
    enum { NAME = 40 };
    int row[NAME + 1], m = (int)strlen(b);

    if (n > NAME || m > NAME)
        return NAME;
    for (int k = 0; k <= m; k++)
        row[k] = k;
    for (size_t i = 0; i < n; i++)
        for (int k = 0, corner = row[0]++; k < m; k++) {
            int up = row[k + 1], change = corner + (a[i] != b[k]);
            int least = up < row[k] ? up + 1 : row[k] + 1;

            row[k + 1] = change < least ? change : least;
            corner = up;
        }
    return row[m];
}

int ctt_opt_meant(const char *word, size_t n, const char *name, int *most)
{
    int far = edits(word, n, name), limit = *most ? *most : n > 4 ? 3 : 2;

    /* the same but for the end, as slide and sliding */
    if (n > 3 && strncmp(word, name, n - 1) == 0 && far > 2)
        far = 2;
    if (n < 2 || far >= limit)
        return 0;
    *most = far;
    return 1;
}

/* The option that a misspelt word most likely means, or NULL. */
static const char *meant(const struct ctt_opt *tab, const char *word)
{
    size_t n = strcspn(word += strspn(word, "-"), "=");
    const char *best = NULL;
    int most = 0;

    for (; tab->name; tab++)
        if (ctt_opt_meant(word, n, tab->name, &most))
            best = tab->name;
    return best;
}

static int unknown(const struct ctt_opt *tab, const char *word)
{
    const char *name = meant(tab, word);
    char sections[CTT_OPT_TEXT];

    ctt_opt_sections(tab, sections);
    if (strncmp(word, "--help=", 7) == 0)
        return ctt_error(CTT_EINVAL, "%s: no section of that name; there are "
                         "all, %s", word, sections);
    return name ? ctt_error(CTT_EINVAL, "unknown option '%s': is --%s meant?",
                            word, name)
                : ctt_error(CTT_EINVAL, "unknown option '%s' (--help=all lists "
                            "them)", word);
}

/* An option that is given again counts as given last: of settings a line may
 * have defaults, but clips or a part of a list would be lost without a word. */
static int adds_up(const struct ctt_opt *o)
{
    static const char list[] = ",...";
    size_t n = o->arg ? strlen(o->arg) : 0;

    return n && (strcmp(o->arg, "PATH") == 0 ||
                 (n >= sizeof(list) && strcmp(o->arg + n + 1 - sizeof(list),
                                              list) == 0));
}

/* Takes argv[*at] and, if it needs one, the value behind it. */
static int option(const struct ctt_opt *tab, void *cfg, int argc, char **argv,
                  int *at, struct ctt_opt_seen *seen)
{
    const char *word = argv[*at], *value;
    int i = option_row(tab, word, &value), rc = 0;

    if (i < 0)
        return unknown(tab, word);
    if (tab[i].type == CTT_FLAG) {
        CTT_CHECK(!value, CTT_EINVAL, "%s takes no value", word);
        value = "1";
    } else if (!value) {
        CTT_CHECK(*at + 1 < argc, CTT_EINVAL, "%s needs a value", word);
        value = argv[++*at];
    }
    CTT_CHECK(*value, CTT_EINVAL, "--%s: the value is empty", tab[i].name);
    if (seen->row[i] && adds_up(&tab[i]))
        ctt_warn("--%s is given twice: only %s counts; a list can have both",
                 tab[i].name, value);
    rc = ctt_opt_set_row(&tab[i], cfg, value);
    if (rc < 0)
        rc = ctt_error(rc, "--%s", ctt_errmsg());
    ctt_opt_note(i, seen);
out:
    return rc;
}

int ctt_opt_main(const struct ctt_program *p, void *cfg, int argc,
                 char **argv, int *done)
{
    const struct ctt_opt *tab = p->opts;
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
        } else if (ctt_opt_answer(p, s)) {
            *done = 1;
            goto out;
        } else {
            CTT_TRY(option(tab, cfg, argc, argv, &i, &seen));
        }
    }
    rc = ctt_opt_missing(tab, &seen);
    if (rc < 0) {
        const char *name = ctt_errmsg() + 1;    /* 'NAME' must be given */

        CTT_TRY(ctt_error(rc, "--%.*s must be given (see --help)",
                          (int)strcspn(name, "'"), name));
    }
    for (int i = 0; i < operands; i++)
        argv[argc - operands + i] = word[i];
    rc = argc - operands;
out:
    ctt_free(word);
    return rc;
}
