/* SPDX-License-Identifier: Apache-2.0
 * list_text.c: lists of clips in a text, one line each: path and label; folder
 * of pictures, number of frames and label; video, start, end and label. */
#include "video/list/list.h"
#include "video/list/rows.h"
#include "base/newfile.h"
#include "base/visible.h"
#include "video/disk.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

ssize_t ctt_list_begin(const char *path, char *some, size_t room)
{
    int64_t size;
    ssize_t n;
    int fd;

    if (ctt_file_open(path, &fd, &size) < 0)
        return -1;
    n = pread(fd, some, room, 0);
    close(fd);
    return n;
}

/* Whether a text comes before the first 0 byte, as no container begins. */
static int begins_as_text(const char *some, size_t n)
{
    size_t k = 0;

    while (k < n && ((unsigned char)some[k] >= ' ' ||
                     (some[k] && strchr("\t\r\n", some[k]))))
        k++;
    return k >= 8 && k < n && some[k] == '\0';
}

int ctt_list_text_is(const char *path)
{
    static const char *const ending[] = { ".txt", ".csv", ".list", ".lst",
                                          ".tsv", "" };
    char some[4096];
    ssize_t n;
    int known = 0;

    for (size_t i = 0; i < CTT_LEN(ending); i++)
        known |= strcasecmp(ctt_path_ending(path), ending[i]) == 0;
    if (ctt_stream_is(path))
        return 1;
    n = known ? ctt_list_begin(path, some, sizeof(some)) : -1;
    return n >= 0 && (!memchr(some, 0, (size_t)n) ||
                      ctt_mark_utf16(some, (size_t)n) ||
                      (*ctt_path_ending(path) &&
                       begins_as_text(some, (size_t)n)));
}

/* Whether a line is the heading of a table, "path label", which no clip has as
 * its path and label. */
static int is_heading(const char *s)
{
    static const char sep[] = ";,\t ";
    size_t m = strlen(s), n = m;

    while (m > 0 && !strchr(sep, s[m - 1]))
        m--;
    return ctt_column_of(&ctt_words_usual, s, strcspn(s, sep)) ==
           CTT_COLUMN_PATH &&
           ctt_column_of(&ctt_words_usual, s + m, n - m) == CTT_COLUMN_LABEL;
}

/* A heading such as start_frame says that numbers are frames. */
static int names_frames(const char *s)
{
    static const char frame[] = "frame";

    while (*s && strncasecmp(s, frame, sizeof(frame) - 1) != 0)
        s++;
    return *s != '\0';
}

static int read_lines(struct ctt_rows *r, char *text, int *frames)
{
    struct ctt_row *row;
    int rc = 0, number = 0;

    *frames = 0;
    for (char *at = text, *s; (s = ctt_text_line(&at, &number)) != NULL;) {
        CTT_CHECK(*s != '"' || ctt_text_quote(s), CTT_EFORMAT, "%s:%d: a quote "
                  "that is not closed", r->path, number);
        if (r->count == 0 && is_heading(s))
            *frames = names_frames(s);
        else if (*s && *s != '#')
            CTT_TRY(ctt_rows_new(r, ctt_text_unquote(s), number, &row));
    }
out:
    return rc;
}

/* ---- separators ---- */

/* 1 if p is the comma between the times of a path, "#t=1,2". */
static int is_in_times(const char *s, const char *p)
{
    const char *t = p;

    while (t > s && strchr("0123456789.", t[-1]))
        t--;
    return t - s >= 3 && strncmp(t - 3, "#t=", 3) == 0;
}

/* The last separator in s that no quotes enclose; for ' ' a tab counts too. */
static char *last_separator(char *s, char sep)
{
    char *p = strrchr(s, sep), *tab = sep == ' ' ? strrchr(s, '\t') : NULL;

    p = !p || (tab && tab > p) ? tab : p;
    if (p && strchr(s, '"')) {
        p = NULL;
        for (char *at = s; *at; at++) {
            int begins = at == s || strchr(" \t,;", at[-1]) != NULL;
            char *end = begins ? ctt_text_quote(at) : NULL;

            at = end ? end : at;
            p = *at == sep || (sep == ' ' && *at == '\t') ? at : p;
        }
    }
    return p && sep == ',' && is_in_times(s, p) ? NULL : p;
}

/* Counts lines with the separator, and lines with a number after it. */
static void count_separators(const struct ctt_rows *r, char sep, int *parted,
                             int *numbers)
{
    *parted = *numbers = 0;
    for (int i = 0; i < r->count; i++) {
        char *p = last_separator(r->row[i].path, sep);
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
static char find_separator(const struct ctt_rows *r)
{
    static const char sep[] = { ';', ',', '\t', ' ' };
    char any = 0;
    int parted, numbers;

    for (size_t i = 0; i < sizeof(sep); i++) {
        count_separators(r, sep[i], &parted, &numbers);
        if (numbers == r->count)
            return sep[i];
        if (parted == r->count && !any)
            any = sep[i];
    }
    return any;
}

/* Cuts the text behind the last separator off s; NULL: there is none. */
static char *cut_field(char *s, char sep)
{
    char *p = last_separator(s, sep);

    if (!p)
        return NULL;
    *p = 0;
    ctt_text_trim(s);
    ctt_text_unquote(s);
    return ctt_text_unquote(ctt_text_trim(p + 1));
}

int ctt_text_is_number(const char *s)
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

static int line_between(const char *dir, const char *line, char sep,
                        enum between *out, int *known)
{
    char *copy = ctt_strdup(line), *field = "0";
    enum ctt_disk_kind k;
    int rc = copy ? 0 : CTT_ENOMEM, n = 0;

    CTT_TRY(rc);
    CTT_TRY(ctt_row_kind(dir, copy, &k));
    while (k == CTT_DISK_NONE && n < 2 && field) {
        field = cut_field(copy, sep);
        if (!field || !ctt_text_is_number(field + (*field == '#')))
            break;
        CTT_TRY(ctt_row_kind(dir, copy, &k));
        n++;
    }
    *known = k != CTT_DISK_NONE;
    *out = k == CTT_DISK_FOLDER ? (enum between)n :
           k == CTT_DISK_FILE && n == 2 ? TIMES : NOTHING;
out:
    ctt_free(copy);
    return rc;
}

/* Splits each line at its last separator. */
static int part_lines(struct ctt_rows *r, char sep)
{
    int rc = 0;

    for (int i = 0; i < r->count; i++) {
        struct ctt_row *row = &r->row[i];

        row->tag.text = cut_field(row->path, sep);
        row->path = ctt_text_trim(row->path);
        CTT_CHECK(*row->path && *row->tag.text, CTT_EFORMAT, "%s:%d: no %s",
                  r->path, row->number, *row->path ? "label" : "path");
    }
    r->labelled = 1;
out:
    return rc;
}

/* Cuts the fields between path and label off; one that is missing is "". */
static void cut_parts(struct ctt_rows *r, char sep, enum between between,
                      int frames)
{
    static char none[] = "";

    for (int i = 0; i < r->count && between != NOTHING; i++) {
        struct ctt_row *row = &r->row[i];

        row->unit = between != TIMES ? CTT_ROW_COUNT :
                    frames ? CTT_ROW_FRAMES : CTT_ROW_SECONDS;
        row->end = cut_field(row->path, sep);
        if (between != FRAMES)
            row->start = row->end ? cut_field(row->path, sep) : NULL;
        if (between != FRAMES && !row->start)
            row->start = none;
        row->end = row->end ? row->end : none;
    }
}

/* A comma in every line may also stand in labels behind a blank, "a.mp4 0,3":
 * 1 if one of the first lines then names a file or folder, and with the comma
 * none does. */
static int is_in_labels(const struct ctt_rows *r, const char *dir, int *yes)
{
    static const char seps[] = { ',', ' ' };
    enum between between;
    char *copy = NULL;
    int rc = 0, known[2] = { 0, 0 };

    for (int i = 0; i < r->count && i < CTT_ROWS_TRIED; i++)
        for (int k = 0; k < 2 && !known[k]; k++) {
            ctt_free(copy);
            copy = ctt_strdup(r->row[i].path);
            CTT_TRY(copy ? 0 : CTT_ENOMEM);
            if (cut_field(copy, seps[k]))
                CTT_TRY(line_between(dir, copy, seps[k], &between, &known[k]));
        }
    *yes = known[1] && !known[0];
out:
    ctt_free(copy);
    return rc;
}

/* Detects the separator and splits the lines, unless they are just paths. */
static int split_lines(struct ctt_rows *r, const char *dir, int frames)
{
    enum between between = NOTHING;
    char sep = find_separator(r);
    enum ctt_disk_kind k;
    int known = 0, rc, labels;

    CTT_TRY(ctt_row_kind(dir, r->row->path, &k));
    if (k != CTT_DISK_NONE || sep == 0)
        goto out;
    if (sep == ',') {
        CTT_TRY(is_in_labels(r, dir, &labels));
        sep = labels ? ' ' : sep;
    }
    r->blanks = sep == ' ' || sep == '\t';
    CTT_TRY(part_lines(r, sep));
    for (int i = 0; i < r->count && i < CTT_ROWS_TRIED && !known; i++)
        CTT_TRY(line_between(dir, r->row[i].path, sep, &between, &known));
    cut_parts(r, sep, between, frames);
out:
    return rc;
}

/* ---- the list ---- */

int ctt_list_text(struct ctt_listing *s, const char *path, const char *dir)
{
    struct ctt_rows r = { .s = s, .path = path };
    struct ctt_columns columns;
    int rc, table, frames = 0;
    char *text, *base;

    s->list->form = "a list";
    CTT_TRY(ctt_listing_text(s, path, &text));
    CTT_TRY(table = ctt_rows_table(&r, text, &columns));
    if (table && ctt_columns_are_ids(&columns) &&
        strcasecmp(ctt_path_ending(path), ".csv") == 0) {
        CTT_TRY(ctt_rows_kinetics(&r, dir));
        goto out;
    }
    if (!table)
        CTT_TRY(read_lines(&r, text, &frames));
    if (r.count == 0)
        goto out;    /* list.c says that it is empty */
    CTT_TRY(ctt_rows_base(&r, &base));
    if (!table)
        CTT_TRY(split_lines(&r, base, frames));
    CTT_TRY(ctt_rows_paths(&r, base));
out:
    ctt_rows_clear(&r);
    return rc;
}
