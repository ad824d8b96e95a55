/* SPDX-License-Identifier: Apache-2.0
 * texts.c: the texts of a model file: one dataset in version 2, one each in
 * version 1. */
#include "net/file/texts.h"
#include "net/file/store.h"
#include "net/code/zip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The texts in the order in which they are stored. */
static const struct kind {
    const char *name;
    int64_t     most;
    int         must, zeros;    /* must be there; may contain zeros */
} kinds[CTT_TEXTS] = {
    [CTT_TEXT_NET]     = { "net", CTT_STORE_NET, 1, 0 },
    [CTT_TEXT_LABELS]  = { "labels", CTT_STORE_TEXT, 0, 1 },
    [CTT_TEXT_HISTORY] = { "history", CTT_STORE_TEXT, 0, 0 },
    [CTT_TEXT_INDEX]   = { "index", CTT_STORE_TEXT, 1, 0 },
};

enum { HEAD = 128 };    /* bytes of the line before the texts, at most */

static const char all[] = "texts";

void ctt_texts_free(struct ctt_texts *t)
{
    for (int k = 0; k < CTT_TEXTS; k++) {
        ctt_free(t->text[k]);
        t->text[k] = NULL;
    }
}

/* ---- a dataset ---- */

static int read_set(struct ctt_h5 *f, const char *name, int64_t most,
                    char **text, int64_t *n)
{
    struct ctt_h5_shape s;
    uint8_t *zip = NULL;
    int rc = 0;

    CTT_TRY(ctt_h5_shape(f, name, &s));
    CTT_CHECK(s.rank == 1 && s.size == 1, CTT_EFORMAT,
              "%s: %s is not a row of bytes", ctt_h5_path(f), name);
    zip = ctt_calloc((size_t)s.dim[0], 1);
    if (!zip)
        CTT_TRY(ctt_error(CTT_ENOMEM, "%s: %s", ctt_h5_path(f), ctt_errmsg()));
    CTT_TRY(ctt_h5_read(f, name, &s, zip));
    rc = ctt_gunzip(zip, s.dim[0], most, text, n);
    if (rc < 0)
        rc = ctt_error(rc, "%s: %s: %s", ctt_h5_path(f), name, ctt_errmsg());
out:
    ctt_free(zip);
    return rc;
}

static int check_zeros(struct ctt_h5 *f, const char *name, const char *text,
                       int64_t n)
{
    if ((int64_t)strlen(text) == n)
        return 0;
    return ctt_error(CTT_EFORMAT, "%s: %s is not a text", ctt_h5_path(f),
                     name);
}

int ctt_texts_one(struct ctt_h5 *f, const char *name, int must, int64_t most,
                  char **text)
{
    char *found = NULL;
    int64_t n = 0;
    int rc = 0;

    if (!must) {
        CTT_TRY(ctt_h5_has(f, name));
        if (!rc)
            goto out;
    }
    CTT_TRY(read_set(f, name, most, &found, &n));
    CTT_TRY(check_zeros(f, name, found, n));
    *text = found;
    found = NULL;
out:
    ctt_free(found);
    return rc;
}

/* ---- version 1: a dataset each ---- */

static int read_each(struct ctt_h5 *f, struct ctt_texts *t)
{
    int rc = 0, there;

    for (int k = 0; k < CTT_TEXTS; k++) {
        const struct kind *d = &kinds[k];
        CTT_TRY(there = d->must ? 1 : ctt_h5_has(f, d->name));
        if (!there)
            continue;
        CTT_TRY(read_set(f, d->name, d->most, &t->text[k], &t->size[k]));
        if (!d->zeros)
            CTT_TRY(check_zeros(f, d->name, t->text[k], t->size[k]));
    }
    rc = 0;
out:
    return rc;
}

/* ---- version 2: all in one ---- */

static int64_t most_of_all(void)
{
    int64_t most = HEAD;

    for (int k = 0; k < CTT_TEXTS; k++)
        most += kinds[k].most;
    return most;
}

/* Reads " 123" and moves *p behind it; 0: not so written. */
static int parse_size(char **p, int64_t *out)
{
    char *s = *p, *end;

    if (s[0] != ' ' || s[1] < '0' || s[1] > '9' ||
        (s[1] == '0' && s[2] >= '0' && s[2] <= '9'))
        return 0;
    *out = strtoll(s + 1, &end, 10);
    *p = end;
    return end - s < 12;
}

/* Parses "net 120 index 96\n", the sizes of the texts that follow; returns
 * where they begin, or NULL. */
static char *parse_head(char *p, struct ctt_texts *t, int there[CTT_TEXTS])
{
    const char *start = p;

    for (int k = 0; k < CTT_TEXTS; k++) {
        size_t len = strlen(kinds[k].name);
        const char *gap = p == start ? "" : " ";
        there[k] = strncmp(p, gap, strlen(gap)) == 0 &&
                   strncmp(p + strlen(gap), kinds[k].name, len) == 0;
        if (!there[k])
            continue;
        p += strlen(gap) + len;
        if (!parse_size(&p, &t->size[k]) || t->size[k] > kinds[k].most)
            return NULL;
    }
    return *p == '\n' ? p + 1 : NULL;
}

static int take_text(struct ctt_h5 *f, int k, const char *p,
                     struct ctt_texts *t)
{
    int64_t n = t->size[k];
    int rc = 0;

    t->text[k] = ctt_calloc((size_t)n + 1, 1);
    if (!t->text[k])
        CTT_TRY(ctt_error(CTT_ENOMEM, "%s: %s", ctt_h5_path(f), ctt_errmsg()));
    memcpy(t->text[k], p, (size_t)n);
    if (!kinds[k].zeros)
        CTT_TRY(check_zeros(f, kinds[k].name, t->text[k], n));
out:
    return rc;
}

static int read_all(struct ctt_h5 *f, struct ctt_texts *t)
{
    int there[CTT_TEXTS] = { 0 }, rc = 0;
    char *text = NULL, *p;
    int64_t n = 0, left;

    CTT_TRY(read_set(f, all, most_of_all(), &text, &n));
    p = parse_head(text, t, there);
    CTT_CHECK(p, CTT_EFORMAT, "%s: the first line of %s is damaged",
              ctt_h5_path(f), all);
    left = n - (p - text);
    for (int k = 0; k < CTT_TEXTS; k++) {
        CTT_CHECK(there[k] || !kinds[k].must, CTT_EFORMAT,
                  "%s: %s has no '%s'", ctt_h5_path(f), all, kinds[k].name);
        if (!there[k])
            continue;
        CTT_CHECK(t->size[k] <= left, CTT_EFORMAT, "%s: %s ends in its '%s'",
                  ctt_h5_path(f), all, kinds[k].name);
        CTT_TRY(take_text(f, k, p, t));
        p += t->size[k];
        left -= t->size[k];
    }
    CTT_CHECK(left == 0, CTT_EFORMAT, "%s: %s goes on after its texts",
              ctt_h5_path(f), all);
out:
    ctt_free(text);
    return rc;
}

int ctt_texts_read(struct ctt_h5 *f, struct ctt_texts *t)
{
    int rc = 0, joined;

    CTT_TRY(joined = ctt_h5_has(f, all));
    rc = joined ? read_all(f, t) : read_each(f, t);
out:
    return rc;
}

/* ---- writing ---- */

static int check_sizes(const struct ctt_texts *t)
{
    int rc = 0;

    for (int k = 0; k < CTT_TEXTS; k++)
        CTT_CHECK(!t->text[k] || t->size[k] <= kinds[k].most, CTT_EINVAL,
                  "%s: %" PRId64 " bytes of text are more than %" PRId64,
                  kinds[k].name, t->size[k], kinds[k].most);
out:
    return rc;
}

int ctt_texts_pack(const struct ctt_texts *t, uint8_t **out, int64_t *size)
{
    char *text = NULL, *p;
    int64_t n = HEAD;
    int rc = 0;

    CTT_TRY(check_sizes(t));
    for (int k = 0; k < CTT_TEXTS; k++)
        n += t->text[k] ? t->size[k] : 0;
    p = text = ctt_calloc((size_t)n, 1);
    CTT_TRY(text ? 0 : CTT_ENOMEM);
    for (int k = 0; k < CTT_TEXTS; k++)
        if (t->text[k])
            p += snprintf(p, HEAD - (size_t)(p - text), "%s%s %" PRId64,
                          p == text ? "" : " ", kinds[k].name, t->size[k]);
    *p++ = '\n';
    for (int k = 0; k < CTT_TEXTS; k++) {
        if (!t->text[k])
            continue;
        memcpy(p, t->text[k], (size_t)t->size[k]);
        p += t->size[k];
    }
    CTT_TRY(ctt_gzip(text, p - text, out, size));
out:
    ctt_free(text);
    return rc;
}
