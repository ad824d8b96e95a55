/* SPDX-License-Identifier: Apache-2.0
 * list_text.c: lists of clips, one line each: path and label, or folder of
 * pictures, number of frames and label. */
#include "video/list.h"
#include "video/disk.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LIST_LIMIT = 1 << 28 };

struct line {
    char *path, *label;    /* label NULL: none */
    int   number;          /* in the file */
    int   value;           /* of the label, or -1: a name */
};

struct text {
    const char  *path;
    char        *dir;      /* the list's folder */
    char        *text;
    struct line *line;
    int          count, room;
};

/* 1 for a text file with one of these extensions. */
int ctt_text_is_list(const char *path)
{
    static const char *const ending[] = { ".txt", ".csv", ".list", ".lst",
                                          ".tsv", "" };
    char some[4096];
    FILE *f;
    size_t n;
    int known = 0;

    for (size_t i = 0; i < CTT_LEN(ending); i++)
        known |= strcasecmp(ctt_path_ending(path), ending[i]) == 0;
    f = known ? fopen(path, "rb") : NULL;
    if (!f)
        return 0;
    n = fread(some, 1, sizeof(some), f);
    fclose(f);
    return !memchr(some, 0, n);
}

static int read_lines(struct text *t)
{
    struct line *more;
    char *at, *s;
    size_t size;
    int rc, number = 0;

    CTT_TRY(ctt_text_read(t->path, LIST_LIMIT, &t->text, &size));
    for (at = t->text; (s = ctt_text_line(&at, &number)) != NULL;) {
        if (*s == 0 || *s == '#')
            continue;
        more = ctt_grown(t->line, &t->room, t->count, sizeof(*more));
        CTT_TRY(more ? 0 : CTT_ENOMEM);
        t->line = more;
        t->line[t->count++] = (struct line){ .path = s, .number = number,
                                             .value = -1 };
    }
out:
    return rc;
}

/* The last separator in s; for ' ' a tab counts too. */
static char *last(char *s, char sep)
{
    char *p = strrchr(s, sep), *tab = sep == ' ' ? strrchr(s, '\t') : NULL;

    return !p || (tab && tab > p) ? tab : p;
}

/* Counts lines with the separator, and lines with a number after it. */
static void count(const struct text *t, char sep, int *parted, int *numbers)
{
    *parted = *numbers = 0;
    for (int i = 0; i < t->count; i++) {
        char *p = last(t->line[i].path, sep);
        int value;
        if (!p)
            continue;
        ++*parted;
        p += 1 + strspn(p + 1, " \t");
        *numbers += ctt_text_number(p, &value);
    }
}

/* The separator that is followed by a number in every line, or else one that
 * every line contains; 0 if there is none. */
static char separator(const struct text *t)
{
    static const char sep[] = { ';', ',', '\t', ' ' };
    char any = 0;
    int parted, numbers;

    for (size_t i = 0; i < sizeof(sep); i++) {
        count(t, sep[i], &parted, &numbers);
        if (numbers == t->count)
            return sep[i];
        if (parted == t->count && !any)
            any = sep[i];
    }
    return any;
}

/* Kind of the path s, relative to the list's folder. */
static int kind(const struct text *t, const char *s, enum ctt_disk_kind *out)
{
    char *path = ctt_path_join(t->dir, s);

    if (!path)
        return CTT_ENOMEM;
    *out = ctt_disk_kind(path);
    ctt_free(path);
    return 0;
}

/* Splits "path<sep>number" and returns the number, or -1. */
static int cut_number(char *s, char sep)
{
    char *p = last(s, sep);
    int value;

    if (!p || !ctt_text_number(ctt_text_trim(p + 1), &value))
        return -1;
    *p = 0;
    ctt_text_trim(s);
    return value;
}

/* How many numbers are between path and label: 0, or for folders of pictures 1
 * or 2; from the first line, whose folder must exist. */
static int numbers_between(const struct text *t, char sep, int *out)
{
    char *copy = ctt_strdup(t->line[0].path);
    enum ctt_disk_kind k;
    int rc = copy ? 0 : CTT_ENOMEM, n = 0;

    CTT_TRY(rc);
    CTT_TRY(kind(t, copy, &k));
    while (k == CTT_DISK_NONE && n < 2 && cut_number(copy, sep) >= 0) {
        CTT_TRY(kind(t, copy, &k));
        n++;
    }
    *out = k == CTT_DISK_FOLDER ? n : 0;
out:
    ctt_free(copy);
    return rc;
}

/* Splits each line at its last separator. */
static int part_lines(struct text *t, char sep)
{
    int rc = 0;

    for (int i = 0; i < t->count; i++) {
        struct line *l = &t->line[i];
        char *p = last(l->path, sep);
        *p = 0;
        l->label = ctt_text_trim(p + 1);
        l->path = ctt_text_trim(l->path);
        CTT_CHECK(*l->path && *l->label, CTT_EFORMAT, "%s:%d: no %s", t->path,
                  l->number, *l->path ? "label" : "path");
    }
out:
    return rc;
}

/* Reads labels as numbers; if one is a name, all are names: 0. */
static int read_numbers(struct text *t)
{
    int n = 0, value;

    for (int i = 0; i < t->count; i++)
        n += ctt_text_number(t->line[i].label, &value);
    for (int i = 0; i < t->count && n == t->count; i++)
        ctt_text_number(t->line[i].label, &t->line[i].value);
    return n == t->count;
}

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
static int folder_names(const struct text *t, int labels,
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
static int index_names(const struct text *t, struct ctt_names *out,
                       int *first)
{
    char *path = ctt_path_join(t->dir, "classInd.txt"), *text = NULL;
    char *at, *s, *name;
    int rc = path ? 0 : CTT_ENOMEM, line = 0, value;
    size_t size, n;

    CTT_TRY(rc);
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
        CTT_CHECK(rc == out->count - 1 && out->count <= CTT_LABELS_MAX,
                  CTT_EFORMAT, "%s:%d: a second '%s', or one too many", path,
                  line, name);
    }
    rc = 0;
out:
    ctt_free(path);
    ctt_free(text);
    return rc;
}

/* Names for labels that are numbers. */
static int name_numbers(struct ctt_listing *s, const struct text *t)
{
    int rc = 0, most = -1, good = 0, first = -1;
    char name[16];

    CTT_TRY(index_names(t, &s->names, &first));
    for (int i = 0; i < t->count; i++) {
        struct line *l = &t->line[i];
        if (first >= 0)
            l->value -= first;
        most = l->value > most ? l->value : most;
        CTT_CHECK(l->value >= 0 && l->value < CTT_LABELS_MAX &&
                  (first < 0 || l->value < s->names.count), CTT_EFORMAT,
                  "%s:%d: no class has number %s", t->path, l->number,
                  l->label);
    }
    if (first < 0)
        CTT_TRY(folder_names(t, most + 1, &s->names, &good));
    for (int i = 0; first < 0 && !good && i <= most; i++) {
        snprintf(name, sizeof(name), "%d", i);
        CTT_TRY(ctt_names_add(&s->names, name));
    }
    s->numeric = first < 0;
    rc = 0;
out:
    return rc;
}

/* Numbers named labels in sorted order, because the order of the lines differs
 * between the lists of the splits. */
static int sort_names(struct ctt_listing *s, const struct text *t)
{
    struct ctt_names n = { 0 };
    int rc = 0;

    for (int i = 0; i < t->count; i++) {
        CTT_TRY(ctt_names_add(&n, t->line[i].label));
        CTT_CHECK(n.count <= CTT_LABELS_MAX, CTT_EFORMAT,
                  "%s: more than %d classes", t->path, CTT_LABELS_MAX);
    }
    ctt_sort_strings(n.name, n.count);
    for (int i = 0; i < n.count; i++)
        CTT_TRY(ctt_names_add(&s->names, n.name[i]));
    rc = 0;
out:
    ctt_names_clear(&n);
    return rc;
}

/* Adds line l; between: how many numbers are between path and label. */
static int add_line(struct ctt_listing *s, const struct text *t,
                    struct line *l, char sep, int between)
{
    int frames = 0, offset = 0, rc = 0, label = l->value;
    char *folder = NULL;
    size_t room;

    if (between > 0)
        frames = cut_number(l->path, sep);
    if (between > 1)
        offset = cut_number(l->path, sep);
    CTT_CHECK(!between || (frames > 0 && offset >= 0), CTT_EFORMAT,
              "%s:%d: not a folder, %snumber of frames and label", t->path,
              l->number, between > 1 ? "offset, " : "");
    if (l->label && label < 0)
        label = ctt_names_find(&s->names, l->label);
    if (!between)
        return ctt_listing_add(s, t->dir, l->path, label);
    room = strlen(l->path) + 32;
    folder = ctt_calloc(room, 1);
    CTT_TRY(folder ? 0 : CTT_ENOMEM);
    snprintf(folder, room, "%s#%d+%d", l->path, offset, frames);
    CTT_TRY(ctt_listing_add(s, t->dir, folder, label));
out:
    ctt_free(folder);
    return rc;
}

/* Detects the separator and splits the lines; *sep is 0 if they are just paths.
 */
static int find_form(struct text *t, char *sep, int *between)
{
    enum ctt_disk_kind k;
    int rc = 0;

    *sep = separator(t);
    *between = 0;
    CTT_TRY(kind(t, t->line[0].path, &k));
    if (k != CTT_DISK_NONE)
        *sep = 0;
    if (*sep == 0)
        goto out;
    CTT_TRY(part_lines(t, *sep));
    CTT_TRY(numbers_between(t, *sep, between));
out:
    return rc;
}

int ctt_list_text(struct ctt_listing *s)
{
    struct text t = { .path = s->path };
    int rc, between;
    char sep;

    CTT_TRY(read_lines(&t));
    t.dir = ctt_path_dir(s->path);
    CTT_TRY(t.dir ? 0 : CTT_ENOMEM);
    if (t.count == 0)
        goto out;    /* list.c says that it is empty */
    CTT_TRY(find_form(&t, &sep, &between));
    if (sep)
        CTT_TRY(read_numbers(&t) ? name_numbers(s, &t) : sort_names(s, &t));
    for (int i = 0; i < t.count; i++)
        CTT_TRY(add_line(s, &t, &t.line[i], sep, between));
out:
    ctt_free(t.dir);
    ctt_free(t.text);
    ctt_free(t.line);
    return rc;
}
