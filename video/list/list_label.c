/* SPDX-License-Identifier: Apache-2.0
 * list_label.c: the names of the classes of a text list whose labels are
 * numbers or missing. */
#include "video/list/list.h"
#include "video/list/rows.h"
#include "base/limits.h"
#include "video/disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies the name of the folder that contains the file; 0: none. */
static int parent(const char *path, char *out, size_t room)
{
    const char *base = ctt_path_base(path), *end = base - 1, *from = end;

    if (base == path)
        return 0;
    while (from > path && from[-1] != '/')
        from--;
    if (from == end || (size_t)(end - from) >= room)
        return 0;
    memcpy(out, from, (size_t)(end - from));
    out[end - from] = 0;
    return 1;
}

/* Names the numbers, which are 0, 1 ... without a gap so that they stay the
 * places of the names, after the folders of their clips: 1; 0: a number has
 * several, two have the same, or one is called by a number. */
static int folder_names(const struct ctt_rows *r, int labels,
                        struct ctt_names *out)
{
    char **folder = ctt_calloc((size_t)labels, sizeof(*folder)), name[256];
    int rc = folder ? 0 : CTT_ENOMEM, good, value;

    CTT_TRY(rc);
    ctt_text_number(r->s->numbers.name[labels - 1], &value);
    good = value == labels - 1 && !r->several;
    for (int i = 0; i < r->count && good; i++) {
        char **f = &folder[r->row[i].tag.value];

        good = parent(r->row[i].path, name, sizeof(name)) &&
               (!*f || strcmp(*f, name) == 0);
        if (good && !*f)
            CTT_TRY((*f = ctt_pool_add(&r->s->texts, name)) ? 0 : CTT_ENOMEM);
    }
    for (int i = 0; i < labels && good; i++) {
        CTT_TRY(ctt_names_add(out, folder[i]));
        good = rc == i && !ctt_text_number(folder[i], &value);
    }
    if (!good)
        ctt_names_clear(out);
    rc = good;
out:
    ctt_free(folder);
    return rc;
}

static int add_number(struct ctt_names *n, int value)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", value);
    return ctt_names_add(n, text);
}

/* Reads classInd.txt of UCF101 (Soomro et al. 2012): lines "1 ApplyEyeMakeup".
 * *first becomes its first number, or stays -1 if there is no such file. */
static int index_names(struct ctt_listing *s, const char *path, int *first)
{
    struct ctt_names *out = &s->names;
    int rc = 0, number = 0, value;
    char *text, *line, *name;
    size_t n;

    if (ctt_disk_kind(path) != CTT_DISK_FILE)
        goto out;
    CTT_TRY(ctt_listing_text(s, path, &text));
    while ((line = ctt_text_line(&text, &number)) != NULL) {
        n = strcspn(line, " \t,");
        name = line + n + (line[n] != 0);
        line[n] = 0;
        if (*line == 0)
            continue;
        CTT_CHECK(ctt_text_number(line, &value) &&
                  *(name = ctt_text_trim(name)), CTT_EFORMAT,
                  "%s:%d: not a number and a name", path, number);
        *first = *first < 0 ? value : *first;
        CTT_CHECK(value == *first + out->count, CTT_EFORMAT,
                  "%s:%d: number %d is out of order", path, number, value);
        CTT_TRY(ctt_names_add(out, name));
        CTT_CHECK(rc == out->count - 1 && out->count <= ctt_limits()->classes,
                  CTT_EFORMAT, "%s:%d: a second '%s', or one too many", path,
                  number, name);
        CTT_TRY(add_number(&s->numbers, value));
    }
    rc = 0;
out:
    return rc;
}

static int by_number(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t n = strlen(x), m = strlen(y);

    return n != m ? (n > m) - (n < m) : strcmp(x, y);
}

/* Makes s->numbers the different numbers of the rows, sorted; each row gets the
 * place of its own.  A number that no clip has is no class. */
static int rank_numbers(struct ctt_rows *r)
{
    struct ctt_names found = { 0 }, *all = &r->s->numbers;
    struct ctt_tag *t;
    int rc = 0;

    for (int i = 0; i < r->count; i++)
        for (t = &r->row[i].tag; t; t = ctt_tag_next(r, t))
            CTT_TRY(add_number(&found, t->value));
    CTT_CHECK(found.count <= ctt_limits()->classes, CTT_EFORMAT, "%s: more "
              "than %d classes", r->path, ctt_limits()->classes);
    qsort(found.name, (size_t)found.count, sizeof(*found.name), by_number);
    for (int i = 0; i < found.count; i++)
        CTT_TRY(ctt_names_add(all, found.name[i]));
    for (int i = 0; i < r->count; i++)
        for (t = &r->row[i].tag; t; t = ctt_tag_next(r, t))
            CTT_TRY(t->value = add_number(all, t->value));
    rc = 0;
out:
    ctt_names_clear(&found);
    return rc;
}

/* Classes of numbers without an index: named after their folders, or else by
 * the numbers. */
static int plain_numbers(struct ctt_rows *r)
{
    struct ctt_names *all = &r->s->numbers;
    int rc, good;

    r->s->numeric = 1;
    CTT_TRY(rank_numbers(r));
    CTT_TRY(good = folder_names(r, all->count, &r->s->names));
    for (int i = 0; i < all->count && !good; i++)
        CTT_TRY(ctt_names_add(&r->s->names, all->name[i]));
    rc = 0;
out:
    return rc;
}

/* The place of each number in the index that begins with `first`. */
static int indexed_numbers(struct ctt_rows *r, int first)
{
    int rc = 0;

    for (int i = 0; i < r->count; i++) {
        struct ctt_tag *t = &r->row[i].tag;

        for (; t; t = ctt_tag_next(r, t)) {
            t->value -= first;
            CTT_CHECK(t->value >= 0 && t->value < r->s->names.count,
                      CTT_EFORMAT, "%s:%d: no class has number %s", r->path,
                      r->row[i].number, t->text);
        }
    }
out:
    return rc;
}

/* Clips without labels have the classes that their folders are. */
static int indexed_folders(struct ctt_rows *r, const char *index)
{
    char name[256];
    int rc = 0;

    for (int i = 0; i < r->count; i++) {
        struct ctt_row *row = &r->row[i];

        if (parent(row->path, name, sizeof(name)))
            row->tag.value = ctt_names_find(&r->s->names, name);
        CTT_CHECK(row->tag.value >= 0, CTT_EFORMAT, "%s:%d: '%s' is in no "
                  "folder that %s names", r->path, row->number, row->path,
                  index);
    }
out:
    return rc;
}

/* Reads labels as numbers: 1; if one is a name, all are names: 0. */
static int read_numbers(struct ctt_rows *r)
{
    struct ctt_tag *t;
    int names = 0, rc = 0;

    for (int i = 0; i < r->count; i++)
        for (t = &r->row[i].tag; t; t = ctt_tag_next(r, t)) {
            if (ctt_text_number(t->text, &t->value))
                continue;
            CTT_CHECK(!ctt_text_is_number(t->text), CTT_EFORMAT, "%s:%d: the "
                      "label %s is no class number (0, 1, 2 ...); clips "
                      "without a class are listed without a label", r->path,
                      r->row[i].number, t->text);
            names = 1;
        }
    for (int i = 0; i < r->count && names; i++)
        for (t = &r->row[i].tag; t; t = ctt_tag_next(r, t))
            t->value = -1;
    rc = !names;
out:
    return rc;
}

int ctt_rows_classes(struct ctt_rows *r)
{
    int rc = 0, first = -1;
    char *index;

    if (r->labelled) {
        CTT_TRY(ctt_rows_several(r));
        CTT_TRY(read_numbers(r));
    }
    if (r->labelled && rc == 0)
        return ctt_rows_names(r);
    CTT_TRY(ctt_rows_folder(r, &index));
    CTT_TRY(ctt_listing_join(r->s, index, "classInd.txt", &index));
    CTT_TRY(index_names(r->s, index, &first));
    if (first >= 0)
        rc = r->labelled ? indexed_numbers(r, first) :
                           indexed_folders(r, index);
    else if (r->labelled)
        rc = plain_numbers(r);
out:
    return rc;
}
