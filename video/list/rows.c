/* SPDX-License-Identifier: Apache-2.0
 * rows.c: the clips that a list names, while it is read: adding them, and
 * choosing those of a split. */
#include "video/list/rows.h"
#include "video/list/split.h"

#include <stdio.h>

int ctt_rows_new(struct ctt_rows *r, char *path, int number,
                 struct ctt_row **out)
{
    struct ctt_row *more = ctt_grown(r->row, &r->room, r->count,
                                     sizeof(*more));

    if (!more)
        return CTT_ENOMEM;
    r->row = more;
    *out = &r->row[r->count++];
    **out = (struct ctt_row){ .path = path, .number = number, .tag.value = -1 };
    return 0;
}

static int is_given(const char *s)
{
    return s && *s;
}

/* The part that columns state.  If they have seconds and frames, seconds
 * count. */
static void set_part(struct ctt_row *row, char *const value[CTT_COLUMNS])
{
    char *const *t = value + CTT_COLUMN_START, *const *f = t + 2;

    if (is_given(f[0]) + is_given(f[1]) > is_given(t[0]) + is_given(t[1])) {
        t = f;
        row->unit = CTT_ROW_FRAMES;
    }
    if (!is_given(t[0]) && !is_given(t[1]))
        return;
    row->start = t[0];
    row->end = t[1];
}

int ctt_rows_add(struct ctt_rows *r, char *const value[CTT_COLUMNS],
                 int number, const char *unnamed)
{
    struct ctt_row *row;
    int rc;

    CTT_CHECK(is_given(value[CTT_COLUMN_PATH]), CTT_EFORMAT, "%s:%d: %s",
              r->path, number, unnamed);
    CTT_TRY(ctt_rows_new(r, value[CTT_COLUMN_PATH], number, &row));
    row->tag.text = value[CTT_COLUMN_LABEL];
    row->split = value[CTT_COLUMN_SPLIT];
    set_part(row, value);
out:
    return rc;
}

void ctt_rows_clear(struct ctt_rows *r)
{
    ctt_free(r->row);
    ctt_free(r->tag);
}

/* ---- the rows of a split ---- */

static const char *split_of(const struct ctt_row *row)
{
    return row->split ? row->split : "";
}

/* Moves the rows of the split to the front, if there are several splits. */
static int part_rows(struct ctt_rows *r, const char *split)
{
    int n = r->count, mixed = 0;

    for (int i = 1; i < n && !mixed; i++)
        mixed = !ctt_split_same(split_of(r->row), split_of(&r->row[i]));
    if (!mixed)
        return 0;
    r->count = 0;
    for (int i = 0; i < n; i++) {
        struct ctt_row row = r->row[i];

        if (!ctt_split_same(split_of(&row), split))
            continue;
        r->row[i] = r->row[r->count];
        r->row[r->count++] = row;
    }
    r->others = n - r->count;
    return 1;
}

/* Whether the clips of a list that states one split for all may be those of
 * the split asked for.  Those for training are no others unless the list was
 * given for others alone. */
static int may_be(const struct ctt_listing *s, const char *stated)
{
    return ctt_split_same(stated, s->split) ||
           (!s->need && (s->own || ctt_split_number(stated) != 0));
}

static int no_split(const struct ctt_rows *r)
{
    struct ctt_names n = { 0 };
    char has[160] = "";
    size_t used = 0;
    int rc, all = r->count + r->others;

    for (int i = 0; i < all && n.count < 6; i++) {
        int old = n.count;

        CTT_TRY(ctt_names_add(&n, split_of(&r->row[i])));
        if (n.count > old && used < sizeof(has) - 32)
            used += (size_t)snprintf(has + used, sizeof(has) - used,
                                     "%s'%.20s'", old ? ", " : "", n.name[old]);
    }
    rc = ctt_error(CTT_ENOSPLIT, "%s: no clip of the split '%s'; the splits "
                   "are %s", r->path, r->s->split, has);
out:
    ctt_names_clear(&n);
    return rc;
}

/* Takes the rows of the split.  A file whose name says the split is of that. */
static int take_split(struct ctt_rows *r)
{
    struct ctt_listing *s = r->s;
    int named = s->parted, mixed;

    mixed = part_rows(r, s->split);
    s->parted |= mixed || (r->count && *split_of(r->row));
    if (mixed ? r->count == 0
              : s->parted && !named && !may_be(s, split_of(r->row)))
        return no_split(r);
    return 0;
}

int ctt_rows_choose(struct ctt_rows *r, enum ctt_unlabelled rule)
{
    int n, rc;

    CTT_TRY(take_split(r));
    for (int i = 0; i < r->count; i++)
        r->labelled |= is_given(r->row[i].tag.text);
    n = r->count;
    r->count = 0;
    for (int i = 0; i < n; i++) {
        struct ctt_row row = r->row[i];

        if (!is_given(row.tag.text))
            row.tag.text = NULL;
        CTT_CHECK(row.tag.text || !r->labelled || rule != CTT_LABEL_ALL,
                  CTT_EFORMAT, "%s:%d: no label", r->path, row.number);
        if (row.tag.text || !r->labelled || rule != CTT_LABEL_DROP)
            r->row[r->count++] = row;
    }
out:
    return rc;
}

int ctt_rows_names(struct ctt_rows *r)
{
    struct ctt_names n = { 0 };
    int rc = 0;

    for (int i = 0; i < r->count; i++) {
        const struct ctt_tag *t = &r->row[i].tag;

        for (; t && t->text; t = ctt_tag_next(r, t))
            CTT_TRY(ctt_names_add(&n, t->text));
    }
    CTT_TRY(ctt_listing_names(r->s, &n));
out:
    ctt_names_clear(&n);
    return rc;
}

int ctt_tag_class(const struct ctt_rows *r, const struct ctt_tag *t)
{
    return t->value >= 0 || !t->text ? t->value
                                     : ctt_names_find(&r->s->names, t->text);
}

int ctt_row_further(const struct ctt_rows *r, const struct ctt_row *row)
{
    int rc = 0;

    for (const struct ctt_tag *t = &row->tag; (t = ctt_tag_next(r, t)) != NULL;)
        CTT_TRY(ctt_listing_also(r->s, ctt_tag_class(r, t)));
out:
    return rc;
}
