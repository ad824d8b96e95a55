/* SPDX-License-Identifier: Apache-2.0
 * list_text.c: lists of clips, one line each: path and label; folder of
 * pictures, number of frames and label; video, start, end and label. */
#include "video/list/list_text.h"
#include "base/limits.h"
#include "base/newfile.h"
#include "base/visible.h"
#include "video/disk.h"
#include "video/list/videos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LIST_LIMIT = 1 << 28 };

/* 1 for a text file with one of these extensions. */
static int is_list(const char *path)
{
    static const char *const ending[] = { ".txt", ".csv", ".list", ".lst",
                                          ".tsv", "" };
    char some[4096];
    int64_t size;
    ssize_t n;
    int known = 0, fd;

    for (size_t i = 0; i < CTT_LEN(ending); i++)
        known |= strcasecmp(ctt_path_ending(path), ending[i]) == 0;
    if (ctt_stream_is(path))
        return 1;
    if (!known || ctt_file_open(path, &fd, &size) < 0)
        return 0;
    n = pread(fd, some, sizeof(some), 0);
    close(fd);
    return n >= 0 && (!memchr(some, 0, (size_t)n) ||
                      ctt_mark_utf16(some, (size_t)n));
}

static int is_among(const char *const *words, const char *s, size_t n)
{
    for (; *words; words++)
        if (strlen(*words) == n && strncasecmp(*words, s, n) == 0)
            return 1;
    return 0;
}

/* Whether a line is the heading of a table, "path,label", which no clip has as
 * its path and label. */
static int is_heading(const char *s)
{
    static const char *const first[] = { "path", "file", "filename",
        "file_name", "video", "video_path", "video_name", "clip", "clip_path",
        "name", NULL };
    static const char *const last[] = { "label", "labels", "class",
        "class_name", "category", "target", NULL };
    static const char sep[] = ";,\t ";
    size_t n = strcspn(s, sep), m = strlen(s);

    while (m > 0 && !strchr(sep, s[m - 1]))
        m--;
    return is_among(first, s, n) && is_among(last, s + m, strlen(s + m));
}

/* A heading such as start_frame says that numbers are frames. */
static int names_frames(const char *s)
{
    static const char frame[] = "frame";

    while (*s && strncasecmp(s, frame, sizeof(frame) - 1) != 0)
        s++;
    return *s != '\0';
}

static int read_lines(struct ctt_lines *t)
{
    struct ctt_line *more;
    char *at, *s;
    int rc = 0, number = 0;

    for (at = t->text; (s = ctt_text_line(&at, &number)) != NULL;) {
        if (t->count == 0 && is_heading(s)) {
            t->frames = names_frames(s);
            continue;
        }
        if (*s == 0 || *s == '#')
            continue;
        more = ctt_grown(t->line, &t->room, t->count, sizeof(*more));
        CTT_TRY(more ? 0 : CTT_ENOMEM);
        t->line = more;
        t->line[t->count++] = (struct ctt_line){ .path = s,
                                                 .number = number,
                                                 .value = -1 };
    }
out:
    return rc;
}

/* 1 if p is the comma between the times of a path, "#t=1,2". */
static int is_in_times(const char *s, const char *p)
{
    const char *t = p;

    while (t > s && strchr("0123456789.", t[-1]))
        t--;
    return t - s >= 3 && strncmp(t - 3, "#t=", 3) == 0;
}

/* The last separator in s; for ' ' a tab counts too. */
static char *last(char *s, char sep)
{
    char *p = strrchr(s, sep), *tab = sep == ' ' ? strrchr(s, '\t') : NULL;

    if (p && sep == ',' && is_in_times(s, p))
        return NULL;
    return !p || (tab && tab > p) ? tab : p;
}

/* Counts lines with the separator, and lines with a number after it. */
static void count(const struct ctt_lines *t, char sep, int *parted,
                  int *numbers)
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
static char separator(const struct ctt_lines *t)
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

/* Cuts the text behind the last separator off s; NULL: there is none. */
static char *cut_field(char *s, char sep)
{
    char *p = last(s, sep);

    if (!p)
        return NULL;
    *p = 0;
    ctt_text_trim(s);
    return ctt_text_trim(p + 1);
}

/* Cuts "path<sep>number" and returns the number, or -1. */
static int cut_number(char *s, char sep)
{
    const char *field = cut_field(s, sep);
    int value;

    return field && ctt_text_number(field, &value) ? value : -1;
}

/* 1 for a number of any kind, such as -1, 2.5 or 1e9. */
static int is_any_number(const char *s)
{
    char *end;

    if (s[strspn(s, "0123456789+-.eE")] != 0)
        return 0;
    strtod(s, &end);
    return end != s && *end == 0;
}

/* Fields between the path and the label of each line, from the first of the
 * lines whose file or folder exists. */
enum between { NOTHING, FRAMES, OFFSET_FRAMES, TIMES };

static int line_between(const struct ctt_lines *t, const char *line, char sep,
                        enum between *out, int *known)
{
    char *copy = ctt_strdup(line), *field = "0";
    enum ctt_disk_kind k;
    int rc = copy ? 0 : CTT_ENOMEM, n = 0;

    CTT_TRY(rc);
    CTT_TRY(ctt_lines_kind(t, copy, &k));
    while (k == CTT_DISK_NONE && n < 2 && field) {
        field = cut_field(copy, sep);
        if (!field || !is_any_number(field + (*field == '#')))
            break;
        CTT_TRY(ctt_lines_kind(t, copy, &k));
        n++;
    }
    *known = k != CTT_DISK_NONE;
    *out = k == CTT_DISK_FOLDER ? (enum between)n :
           k == CTT_DISK_FILE && n == 2 ? TIMES : NOTHING;
out:
    ctt_free(copy);
    return rc;
}

static int find_between(const struct ctt_lines *t, char sep,
                        enum between *out)
{
    int known = 0, rc = 0;

    for (int i = 0; i < t->count && i < CTT_LINES_TRIED && !known; i++)
        CTT_TRY(line_between(t, t->line[i].path, sep, out, &known));
out:
    return rc;
}

/* Splits each line at its last separator. */
static int part_lines(struct ctt_lines *t, char sep)
{
    int rc = 0;

    for (int i = 0; i < t->count; i++) {
        struct ctt_line *l = &t->line[i];
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

/* Reads labels as numbers: 1; if one is a name, all are names: 0. */
static int read_numbers(struct ctt_lines *t)
{
    int n = 0, rc = 0;

    for (int i = 0; i < t->count; i++) {
        struct ctt_line *l = &t->line[i];
        if (ctt_text_number(l->label, &l->value)) {
            n++;
            continue;
        }
        CTT_CHECK(!is_any_number(l->label), CTT_EFORMAT, "%s:%d: the label %s "
                  "is no class number (0, 1, 2 ...); clips without a class "
                  "are listed without a label", t->path, l->number, l->label);
    }
    for (int i = 0; i < t->count && n < t->count; i++)
        t->line[i].value = -1;
    rc = n == t->count;
out:
    return rc;
}

/* Names as labels. */
static int take_names(struct ctt_listing *s, const struct ctt_lines *t)
{
    struct ctt_names n = { 0 };
    int rc = 0;

    for (int i = 0; i < t->count; i++)
        CTT_TRY(ctt_names_add(&n, t->line[i].label));
    CTT_TRY(ctt_listing_names(s, &n));
out:
    ctt_names_clear(&n);
    return rc;
}

/* The numbers between path and label of l, which are cut off. */
static int read_part(const struct ctt_lines *t, struct ctt_line *l, char sep,
                     enum between between, struct ctt_part *p)
{
    const char *start = l->start, *end = l->end;
    int rc = 0, columns = start || end;

    *p = (struct ctt_part){ .kind = CTT_PART_FRAMES };
    if (between == TIMES) {
        end = columns ? end : cut_field(l->path, sep);
        start = columns ? start : end ? cut_field(l->path, sep) : NULL;
        CTT_CHECK(start && end && *l->path &&
                  ctt_part_between(start, end, t->frames || l->frames, p),
                  CTT_EFORMAT,
                  "%s:%d: not a video, start, end (later, in seconds or as "
                  "#FRAME) and label", t->path, l->number);
        return 0;
    }
    p->count = cut_number(l->path, sep);
    if (between == OFFSET_FRAMES)
        p->first = cut_number(l->path, sep);
    CTT_CHECK(p->count > 0 && p->first >= 0, CTT_EFORMAT,
              "%s:%d: not a folder, %snumber of frames and label", t->path,
              l->number, between == OFFSET_FRAMES ? "offset, " : "");
out:
    return rc;
}

/* rc, with the line in the message. */
static int of_line(const struct ctt_lines *t, const struct ctt_line *l, int rc)
{
    return rc != CTT_EFORMAT ? rc : ctt_error(rc, "%s:%d: %s", t->path,
                                              l->number, ctt_errmsg());
}

/* The file that is named by the path of a line, which may have no extension:
 * 1; 0: it is as it is named.  A part that the path states must be right. */
static int find_file(const struct ctt_lines *t, const struct ctt_line *l,
                     char **file)
{
    char *path = ctt_path_join(t->dir, l->path), *all = NULL;
    int rc = path ? 0 : CTT_ENOMEM;
    struct ctt_part part;

    CTT_TRY(rc);
    CTT_TRY(of_line(t, l, ctt_part_of(path, &all, &part)));
    CTT_TRY(of_line(t, l, ctt_videos_beside(all, file)));
    if (rc && strcmp(all, path) != 0) {
        ctt_free(path);
        path = *file;
        *file = ctt_part_path(path, &part);
        rc = *file ? 1 : CTT_ENOMEM;
    }
out:
    ctt_free(path);
    ctt_free(all);
    return rc;
}

static int add_line(struct ctt_listing *s, const struct ctt_lines *t,
                    struct ctt_line *l, char sep, enum between between)
{
    struct ctt_part part = { .kind = CTT_PART_ALL };
    int rc = 0, label = l->value;
    char *file = NULL;

    between = l->start || l->end ? TIMES : between;
    if (between != NOTHING)
        CTT_TRY(read_part(t, l, sep, between, &part));
    if (l->label && label < 0)
        label = ctt_names_find(&s->names, l->label);
    CTT_TRY(find_file(t, l, &file));
    CTT_TRY(ctt_listing_part(s, file ? "" : t->dir, file ? file : l->path,
                             &part, label));
out:
    ctt_free(file);
    return rc;
}

/* The lines of other splits, which only the background is to know. */
static int add_others(struct ctt_listing *s, const struct ctt_lines *t)
{
    struct ctt_list *list = s->list;
    int rc = 0;

    s->list = s->others;
    for (int i = 0; i < t->others && rc >= 0; i++)
        rc = add_line(s, t, &t->line[t->count + i], 0, NOTHING);
    s->list = list;
    return rc;
}

/* Detects the separator and splits the lines; *sep is 0 if they are just paths.
 */
static int find_form(struct ctt_lines *t, char *sep, enum between *between)
{
    enum ctt_disk_kind k;
    int rc = 0;

    *sep = separator(t);
    *between = NOTHING;
    CTT_TRY(ctt_lines_kind(t, t->line[0].path, &k));
    if (k != CTT_DISK_NONE)
        *sep = 0;
    if (*sep == 0)
        goto out;
    CTT_TRY(part_lines(t, *sep));
    CTT_TRY(find_between(t, *sep, between));
out:
    return rc;
}

/* Labels and their names: a column, or with classInd.txt the folders. */
static int take_labels(struct ctt_listing *s, struct ctt_lines *t, int column)
{
    int rc;

    if (!column)
        return ctt_label_by_folder(s, t);
    CTT_TRY(read_numbers(t));
    CTT_TRY(rc ? ctt_label_numbers(s, t) : take_names(s, t));
out:
    return rc;
}

int ctt_list_lines(struct ctt_listing *s, struct ctt_lines *t, int table)
{
    enum between between = NOTHING;
    char sep = 0;
    int rc = 0;

    if (t->count == 0)
        goto out;    /* list.c says that it is empty */
    t->dir = ctt_stream_named(t->path) ? ctt_strdup(".")
                                       : ctt_path_dir(t->path);
    t->index = t->dir ? ctt_path_join(t->dir, "classInd.txt") : NULL;
    CTT_TRY(t->index ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_lines_base(t));
    if (!table)
        CTT_TRY(find_form(t, &sep, &between));
    CTT_TRY(take_labels(s, t, t->labelled || sep != 0));
    for (int i = 0; i < t->count; i++)
        CTT_TRY(add_line(s, t, &t->line[i], sep, between));
    if (s->others)
        CTT_TRY(add_others(s, t));
out:
    return rc;
}

void ctt_lines_clear(struct ctt_lines *t)
{
    ctt_free(t->dir);
    ctt_free(t->index);
    ctt_free(t->text);
    ctt_free(t->line);
}

int ctt_list_text_at(struct ctt_listing *s, const char *path)
{
    struct ctt_lines t = { .path = path };
    int rc, table;
    size_t size;

    CTT_TRY(ctt_text_read(path, LIST_LIMIT, &t.text, &size));
    CTT_TRY(table = ctt_lines_table(&t, s->split));
    if (!table)
        CTT_TRY(read_lines(&t));
    CTT_TRY(ctt_list_lines(s, &t, table));
out:
    ctt_lines_clear(&t);
    return rc;
}

int ctt_list_text(struct ctt_listing *s)
{
    int rc;

    if (!is_list(s->path))
        return 0;
    s->list->form = "a list";
    CTT_TRY(ctt_list_text_at(s, s->path));
    rc = 1;
out:
    return rc;
}
