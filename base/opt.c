/* SPDX-License-Identifier: Apache-2.0
 * opt.c: setting, comparing and printing settings by their table. */
#include "base/opt_inside.h"

#include <string.h>

int ctt_opt_set_row(const struct ctt_opt *o, void *cfg, const char *text)
{
    return ctt_opt_kinds[o->type].get(o, text, (char *)cfg + o->off);
}

int ctt_opt_find_n(const struct ctt_opt *tab, const char *name, size_t n)
{
    for (int i = 0; tab[i].name; i++)
        if (strlen(tab[i].name) == n && memcmp(tab[i].name, name, n) == 0)
            return i;
    return -1;
}

int ctt_opt_find(const struct ctt_opt *tab, const char *name)
{
    return ctt_opt_find_n(tab, name, strlen(name));
}

int ctt_opt_defaults(const struct ctt_opt *tab, void *cfg)
{
    int rc = 0;

    for (; tab->name; tab++)
        if (tab->dflt)
            CTT_TRY(ctt_opt_set_row(tab, cfg, tab->dflt));
out:
    return rc;
}

int ctt_opt_set(const struct ctt_opt *tab, void *cfg, const char *name,
                const char *value)
{
    int i = ctt_opt_find(tab, name);

    if (i < 0)
        return ctt_error(CTT_EINVAL, "unknown setting '%s'", name);
    return ctt_opt_set_row(&tab[i], cfg, value);
}

int ctt_opt_is(const struct ctt_opt *o, const void *cfg, const char *value)
{
    union { int i[3]; float f[3]; const char *s; int64_t n; double d; }
        other = { { 0 } };
    const struct ctt_opt_kind *kind = &ctt_opt_kinds[o->type];
    const char *p = (const char *)cfg + o->off, *s;

    if (kind->get(o, value, &other) < 0)
        return 0;
    if (o->type != CTT_STRING)
        return memcmp(p, &other, kind->size) == 0;
    s = *(char *const *)p;
    return s == other.s || (s && other.s && strcmp(s, other.s) == 0);
}

int ctt_opt_is_default(const struct ctt_opt *o, const void *cfg)
{
    return o->dflt && ctt_opt_is(o, cfg, o->dflt);
}

void ctt_opt_note(int row, struct ctt_opt_seen *seen)
{
    if (row < CTT_OPT_MAX)
        seen->row[row] = 1;
}

int ctt_opt_word(const struct ctt_opt *tab, void *cfg, char *word,
                 struct ctt_opt_seen *seen)
{
    char *eq = strchr(word, '=');
    int rc = 0, row;

    CTT_CHECK(eq, CTT_EFORMAT, "'%s' is not key=value", word);
    *eq = '\0';
    row = ctt_opt_find(tab, word);
    CTT_CHECK(row < 0 || row >= CTT_OPT_MAX || !seen->row[row], CTT_EFORMAT,
              "%s= is given twice", word);
    CTT_TRY(ctt_opt_set(tab, cfg, word, eq + 1));
    ctt_opt_note(row, seen);
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

        if ((tab->type == CTT_STRING && !*(char *const *)p) ||
            (tab->tags & CTT_OPT_QUIET && ctt_opt_is_default(tab, cfg)))
            continue;
        fprintf(f, " %s=", tab->name);
        ctt_opt_kinds[tab->type].put(tab, p, f);
    }
}
