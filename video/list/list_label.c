/* SPDX-License-Identifier: Apache-2.0
 * list_label.c: the names of the classes of a text list whose labels are
 * numbers or missing. */
#include "video/list/list_text.h"
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

/* Names each number after its clips' folder; *good: 1 if each number has
 * exactly one folder of its own. */
static int folder_names(const struct ctt_lines *t, int labels,
                        struct ctt_names *out, int *good)
{
    struct ctt_names seen = { 0 };    /* folder i belongs to label of[i] */
    int *of = ctt_calloc((size_t)labels, sizeof(*of));
    int *folder = ctt_calloc((size_t)labels, sizeof(*folder));
    int rc = of && folder ? 0 : CTT_ENOMEM;
    char name[256];

    *good = 0;
    CTT_TRY(rc);
    for (int i = 0; i < t->count; i++) {
        int label = t->line[i].value, new = seen.count;
        if (!parent(t->line[i].path, name, sizeof(name)))
            goto out;
        CTT_TRY(ctt_names_add(&seen, name));
        if (rc == new && (new == labels || folder[label]))
            goto out;    /* a second folder of this label */
        if (rc == new) {
            of[new] = label;
            folder[label] = new + 1;
        } else if (of[rc] != label) {
            goto out;    /* a folder of two labels */
        }
    }
    if (seen.count < labels)
        goto out;
    for (int i = 0; i < labels; i++)
        CTT_TRY(ctt_names_add(out, seen.name[folder[i] - 1]));
    *good = 1;
out:
    ctt_names_clear(&seen);
    ctt_free(of);
    ctt_free(folder);
    return rc < 0 ? rc : 0;
}

/* Reads classInd.txt of UCF101 (Soomro et al. 2012): lines "1 ApplyEyeMakeup".
 * *first becomes its first number, or stays -1 if there is no such file. */
static int index_names(const struct ctt_lines *t, struct ctt_names *out,
                       int *first)
{
    char *text = NULL, *at, *s, *name;
    const char *path = t->index;
    int rc = 0, line = 0, value;
    size_t size, n;

    if (ctt_disk_kind(path) != CTT_DISK_FILE)
        goto out;
    CTT_TRY(ctt_text_read(path, 1 << 24, &text, &size));
    for (at = text; (s = ctt_text_line(&at, &line)) != NULL;) {
        n = strcspn(s, " \t,");
        name = s + n + (s[n] != 0);
        s[n] = 0;
        if (*s == 0)
            continue;
        CTT_CHECK(ctt_text_number(s, &value) && *(name = ctt_text_trim(name)),
                  CTT_EFORMAT, "%s:%d: not a number and a name", path, line);
        *first = *first < 0 ? value : *first;
        CTT_CHECK(value == *first + out->count, CTT_EFORMAT,
                  "%s:%d: number %d is out of order", path, line, value);
        CTT_TRY(ctt_names_add(out, name));
        CTT_CHECK(rc == out->count - 1 && out->count <= ctt_limits()->classes,
                  CTT_EFORMAT, "%s:%d: a second '%s', or one too many", path,
                  line, name);
    }
    rc = 0;
out:
    ctt_free(text);
    return rc;
}

static int by_size(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* The different numbers of the lines, sorted; each line gets the place of its
 * own.  A number that no clip has is no class. */
static int rank_numbers(struct ctt_lines *t, int **out, int *count)
{
    int *number = ctt_calloc((size_t)t->count, sizeof(*number));
    int n = 0, rc = number ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < t->count; i++)
        number[i] = t->line[i].value;
    qsort(number, (size_t)t->count, sizeof(*number), by_size);
    for (int i = 0; i < t->count; i++)
        if (n == 0 || number[i] != number[n - 1])
            number[n++] = number[i];
    CTT_CHECK(n <= ctt_limits()->classes, CTT_EFORMAT, "%s: more than %d "
              "classes", t->path, ctt_limits()->classes);
    for (int i = 0; i < t->count; i++) {
        const int *at = bsearch(&t->line[i].value, number, (size_t)n,
                                sizeof(*number), by_size);
        t->line[i].value = (int)(at - number);
    }
    *count = n;
    *out = number;
    number = NULL;
out:
    ctt_free(number);
    return rc;
}

/* Classes of numbers without an index: named after their folders, or else by
 * the numbers. */
static int plain_numbers(struct ctt_listing *s, struct ctt_lines *t)
{
    int *number = NULL, n = 0, good = 0, rc;
    char name[16];

    CTT_TRY(rank_numbers(t, &number, &n));
    CTT_TRY(folder_names(t, n, &s->names, &good));
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "%d", number[i]);
        CTT_TRY(ctt_names_add(&s->numbers, name));
        if (!good)
            CTT_TRY(ctt_names_add(&s->names, name));
    }
    s->numeric = 1;
    rc = 0;
out:
    ctt_free(number);
    return rc;
}

int ctt_label_numbers(struct ctt_listing *s, struct ctt_lines *t)
{
    int rc = 0, first = -1;

    CTT_TRY(index_names(t, &s->names, &first));
    if (first < 0)
        return plain_numbers(s, t);
    for (int i = 0; i < t->count; i++) {
        struct ctt_line *l = &t->line[i];
        l->value -= first;
        CTT_CHECK(l->value >= 0 && l->value < s->names.count, CTT_EFORMAT,
                  "%s:%d: no class has number %s", t->path, l->number,
                  l->label);
    }
    rc = 0;
out:
    return rc;
}

int ctt_label_by_folder(struct ctt_listing *s, struct ctt_lines *t)
{
    int rc = 0, first = -1;
    char name[256];

    CTT_TRY(index_names(t, &s->names, &first));
    for (int i = 0; i < t->count && first >= 0; i++) {
        struct ctt_line *l = &t->line[i];
        if (parent(l->path, name, sizeof(name)))
            l->value = ctt_names_find(&s->names, name);
        CTT_CHECK(l->value >= 0, CTT_EFORMAT, "%s:%d: '%s' is in no folder "
                  "that %s names", t->path, l->number, l->path, t->index);
    }
    rc = 0;
out:
    return rc;
}
