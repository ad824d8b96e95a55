/* SPDX-License-Identifier: Apache-2.0
 * several.c: several labels of a clip in a list: "a|b", "0,3", and names with
 * commas between them where columns are separated by blanks. */
#include "video/list/rows.h"

#include <string.h>

struct ctt_tag *ctt_tag_next(const struct ctt_rows *r, const struct ctt_tag *t)
{
    return t->next ? &r->tag[t->next] : NULL;
}

/* The last label of a row, or NULL if it has that text already. */
static struct ctt_tag *last_tag(struct ctt_rows *r, struct ctt_row *row,
                                const char *text)
{
    struct ctt_tag *t = &row->tag, *next = t;

    for (; next; next = ctt_tag_next(r, t = next))
        if (strcmp(next->text, text) == 0)
            return NULL;
    return t;
}

int ctt_row_tag(struct ctt_rows *r, struct ctt_row *row, char *text)
{
    struct ctt_tag *more, *last;

    if (!row->tag.text) {
        row->tag.text = text;
        return 0;
    }
    more = ctt_grown(r->tag, &r->tag_room, r->tags + 2, sizeof(*more));
    if (!more)
        return CTT_ENOMEM;
    r->tag = more;
    last = last_tag(r, row, text);
    if (!last)
        return 0;
    r->tags += r->tags ? 1 : 2;    /* number 0 is none */
    last->next = r->tags - 1;
    r->tag[last->next] = (struct ctt_tag){ .text = text, .value = -1 };
    r->several = 1;
    return 0;
}

/* ---- which texts are several labels ---- */

/* "a|b", or numbers with ',', ';' or blanks between them. */
static int is_several(const char *s)
{
    size_t n = strspn(s, "0123456789");

    return strchr(s, '|') || (n && s[n] && strchr(",; ", s[n]) &&
                              !s[strspn(s, "0123456789,; ")]);
}

/* Notes the parts of a label between commas.  Returns 1 if one of them has
 * stood in another text, as those of names with commas do not. */
static int note_parts(struct ctt_names *part, int **of, int *room, char *text,
                      int number)
{
    int *more, k, rc = 0, known, again = 0;

    for (char *s = text; s; s = s[strcspn(s, ",")] ? s + strcspn(s, ",") + 1
                                                   : NULL) {
        size_t n = strcspn(s, ",");
        char end = s[n];

        s[n] = '\0';
        known = part->count;
        k = ctt_names_add(part, s);
        s[n] = end;
        CTT_TRY(k);
        more = ctt_grown(*of, room, part->count, sizeof(*more));
        CTT_TRY(more ? 0 : CTT_ENOMEM);
        *of = more;
        if (part->count > known)
            (*of)[k] = number;
        again |= (*of)[k] != number;
    }
    rc = again;
out:
    return rc;
}

static int has_gap(const char *s)
{
    size_t n = strlen(s);

    return s[0] == ',' || strstr(s, ",,") || (n && s[n - 1] == ',');
}

static int may_separate(const struct ctt_rows *r)
{
    int any = 0, gap = 0;

    for (int i = 0; i < r->count && r->blanks; i++) {
        const char *s = r->row[i].tag.text ? r->row[i].tag.text : "";

        any |= strchr(s, ',') != NULL;
        gap |= has_gap(s);
    }
    return any && !gap;
}

/* Whether commas separate labels: a part of one is a label or a part of others
 * too, and none is empty. */
static int commas_separate(const struct ctt_rows *r, int *yes)
{
    struct ctt_names part = { 0 }, text = { 0 };
    int *of = NULL, room = 0, rc = 0, may = may_separate(r), k;

    *yes = 0;
    for (int i = 0; i < r->count && may; i++) {
        char *s = r->row[i].tag.text;

        if (!s)
            continue;
        CTT_TRY(k = ctt_names_add(&text, s));
        CTT_TRY(k = note_parts(&part, &of, &room, s, k));
        *yes |= k;
    }
    rc = 0;
out:
    ctt_names_clear(&part);
    ctt_names_clear(&text);
    ctt_free(of);
    return rc;
}

/* ---- splitting ---- */

/* Splits the text of a row at any of these; each part is a label. */
static int split_row(struct ctt_rows *r, struct ctt_row *row, const char *at)
{
    char *text = row->tag.text, *s = text, *end;
    int rc = 0;

    row->tag.text = NULL;
    for (; s; s = end) {
        end = strpbrk(s, at);
        if (end)
            *end++ = '\0';
        s = ctt_text_trim(s);
        CTT_CHECK(*s || strchr(at, ' '), CTT_EFORMAT, "%s:%d: several labels, "
                  "one of which is empty", r->path, row->number);
        if (*s)
            CTT_TRY(ctt_row_tag(r, row, s));
    }
    CTT_CHECK(row->tag.text, CTT_EFORMAT, "%s:%d: no label", r->path,
              row->number);
out:
    return rc;
}

int ctt_rows_several(struct ctt_rows *r)
{
    int rc = 0, commas = 0;

    CTT_TRY(commas_separate(r, &commas));
    for (int i = 0; i < r->count; i++) {
        struct ctt_row *row = &r->row[i];
        const char *s = row->tag.text;

        if (!s || row->tag.next)
            continue;
        if (is_several(s))
            CTT_TRY(split_row(r, row, strchr(s, '|') ? "|" : ",; "));
        else if (commas && strchr(s, ','))
            CTT_TRY(split_row(r, row, ","));
    }
out:
    return rc;
}
