/* SPDX-License-Identifier: Apache-2.0
 * list_kinetics.c: clips as Kinetics (Kay et al. 2017) lists them: csv files
 * with the columns label, youtube_id, time_start, time_end, split. */
#include "video/list.h"
#include "net/newfile.h"
#include "net/visible.h"
#include "video/disk.h"
#include "video/split.h"
#include "video/videos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LIMIT = 1 << 28, COLUMNS = 16, STEM = 128, DEPTH = 3 };

enum { LABEL, ID, START, END, SPLIT, KNOWN };
static const char *const column[KNOWN] = {
    "label", "youtube_id", "time_start", "time_end", "split",
};

struct row {
    char *label, *id, *split;    /* NULL: the file has no such column */
    char  stem[STEM];            /* id_start_end */
    struct ctt_part part;        /* of the video called id */
    int   number;                /* its line */
};

struct sheet {
    char       *path, *text;
    struct row *row;
    int         rows, room;
    int         at[KNOWN];       /* number of each column, or -1 */
};

/* Cuts a line at its commas (RFC 4180: "a, ""b""" is one field); returns the
 * number of fields, or -1 if a quote is not closed or there are too many. */
static int cut(char *s, char *field[COLUMNS])
{
    int n = 0;

    for (;;) {
        char *to = s, end;
        int quoted = *s == '"', closed = 0;
        if (n == COLUMNS)
            return -1;
        field[n++] = to;
        for (s += quoted; *s && (quoted || *s != ','); s++) {
            closed = quoted && *s == '"' && *++s != '"';
            if (closed)
                break;
            *to++ = *s;
        }
        if (quoted && !closed)
            return -1;
        s += strspn(s, " \t");
        end = *s;
        *to = 0;
        if (end != ',')
            return end ? -1 : n;
        s++;
    }
}

/* Finds the columns in the first line; 0 if it is not that of Kinetics. */
static int find_columns(struct sheet *t, char *line)
{
    char *field[COLUMNS];
    int n = cut(line, field);

    for (int k = 0; k < KNOWN; k++)
        t->at[k] = -1;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < KNOWN; k++)
            if (strcasecmp(ctt_text_trim(field[i]), column[k]) == 0)
                t->at[k] = i;
    return t->at[ID] >= 0 && t->at[START] >= 0 && t->at[END] >= 0;
}

/* The seconds in a field; -1 if it has none from 0 to 999999. */
static int seconds(const char *s)
{
    char *end;
    double x = strtod(s, &end);

    return end != s && *end == 0 && x >= 0 && x < 1e6 ? (int)x : -1;
}

static int take_row(struct sheet *t, char *line, int number)
{
    char *field[COLUMNS], *value[KNOWN];
    int n = cut(line, field), start, end, rc = 0;
    struct row *more = ctt_grown(t->row, &t->room, t->rows, sizeof(*more));
    struct row *r;

    CTT_TRY(more ? 0 : CTT_ENOMEM);
    t->row = more;
    for (int k = 0; k < KNOWN; k++) {
        CTT_CHECK(t->at[k] < n, CTT_EFORMAT, "%s:%d: %s", t->path, number,
                  n < 0 ? "a quote that is not closed, or too many columns"
                        : "too few columns");
        value[k] = t->at[k] < 0 ? NULL : ctt_text_trim(field[t->at[k]]);
        CTT_CHECK(!value[k] || *value[k], CTT_EFORMAT, "%s:%d: no %s",
                  t->path, number, column[k]);
    }
    start = seconds(value[START]);
    end = seconds(value[END]);
    CTT_CHECK(start >= 0 && end >= 0, CTT_EFORMAT, "%s:%d: '%s' is no time in "
              "seconds", t->path, number, value[start < 0 ? START : END]);
    CTT_CHECK(strlen(value[ID]) < STEM - 16 && !strchr(value[ID], '/'),
              CTT_EFORMAT, "%s:%d: a bad youtube_id", t->path, number);
    r = &t->row[t->rows++];
    *r = (struct row){ .label = value[LABEL], .id = value[ID],
                       .split = value[SPLIT], .number = number };
    snprintf(r->stem, sizeof(r->stem), "%s_%06d_%06d", r->id, start, end);
    if (ctt_part_between(value[START], value[END], 0, &r->part))
        r->part.or_all = 1;
    else
        r->part = (struct ctt_part){ .kind = CTT_PART_ALL };
out:
    return rc;
}

static int read_sheet(struct sheet *t)
{
    char *at, *line;
    int rc, number = 0;
    size_t size;

    CTT_TRY(ctt_text_read(t->path, LIMIT, &t->text, &size));
    at = t->text;
    line = ctt_text_line(&at, &number);
    CTT_CHECK(line && find_columns(t, line), CTT_EFORMAT, "%s:1: not the "
              "columns of Kinetics", t->path);
    while ((line = ctt_text_line(&at, &number)) != NULL)
        if (*line)
            CTT_TRY(take_row(t, line, number));
out:
    return rc;
}

/* ---- the rows of the split ---- */

/* 1 if the file has rows of several splits. */
static int is_mixed(const struct sheet *t)
{
    for (int i = 1; i < t->rows; i++)
        if (t->row[i].split && strcmp(t->row[i].split, t->row[0].split) != 0)
            return 1;
    return 0;
}

static int same_split(const char *a, const char *b)
{
    int n = ctt_split_number(a);

    return strcmp(a, b) == 0 || (n >= 0 && n == ctt_split_number(b));
}

/* Drops the rows of other splits, if there are several. */
static int choose_rows(struct sheet *t, const char *split)
{
    int n = 0, rc = 0;

    if (!is_mixed(t))
        goto out;
    for (int i = 0; i < t->rows; i++)
        if (same_split(t->row[i].split, split))
            t->row[n++] = t->row[i];
    t->rows = n;
    CTT_CHECK(n, CTT_EINVAL, "%s: no clip of the split '%s'", t->path, split);
out:
    return rc;
}

static int name_classes(struct ctt_listing *s, const struct sheet *t)
{
    struct ctt_names n = { 0 };
    int rc = 0;

    for (int i = 0; i < t->rows && t->at[LABEL] >= 0; i++)
        CTT_TRY(ctt_names_add(&n, t->row[i].label));
    CTT_TRY(ctt_listing_names(s, &n));
out:
    ctt_names_clear(&n);
    return rc;
}

/* ---- the videos ---- */

static int want_videos(struct ctt_videos *v, const struct sheet *t)
{
    int rc = 0;

    for (int i = 0; i < t->rows; i++) {
        CTT_TRY(ctt_videos_want(v, t->row[i].stem));
        CTT_TRY(ctt_videos_want(v, t->row[i].id));
    }
out:
    return rc;
}

/* Looks in the list's folder, and beside it if it holds only lists. */
static int find_videos(struct ctt_videos *v, const char *dir)
{
    static const char *const lists[] = { "annotations", "annotation",
                                         "labels", "lists", "csv", "splits" };
    char *above = NULL;
    int rc, beside = 0;

    CTT_TRY(ctt_videos_find(v, dir, DEPTH));
    for (size_t i = 0; i < CTT_LEN(lists); i++)
        beside |= strcmp(ctt_path_base(dir), lists[i]) == 0;
    if (v->found || !beside)
        goto out;
    above = ctt_path_join(dir, "..");
    CTT_TRY(above ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_videos_find(v, above, DEPTH));
out:
    ctt_free(above);
    return rc;
}

static int add_rows(struct ctt_listing *s, const struct sheet *t,
                    const struct ctt_videos *v, const char *dir)
{
    char name[STEM + 8];
    int rc = 0;

    for (int i = 0; i < t->rows; i++) {
        const struct row *r = &t->row[i];
        const char *file = ctt_videos_file(v, r->stem);
        const char *all = file ? NULL : ctt_videos_file(v, r->id);
        int label = r->label ? ctt_names_find(&s->names, r->label) : -1;
        snprintf(name, sizeof(name), "%s.mp4", r->stem);
        if (all && ctt_disk_kind(all) == CTT_DISK_FOLDER) {
            file = all;    /* pictures, which have no times */
            all = NULL;
        }
        if (all)
            CTT_TRY(ctt_listing_part(s, "", all, &r->part, label));
        else
            CTT_TRY(ctt_listing_add(s, file ? "" : dir, file ? file : name,
                                    label));
    }
out:
    return rc;
}

/* ---- which file ---- */

/* 1 if the file at path begins with the columns of Kinetics. */
static int is_kinetics(const char *path)
{
    struct sheet t = { 0 };
    char some[512];
    int64_t size;
    ssize_t n;
    int fd;

    if (strcasecmp(ctt_path_ending(path), ".csv") != 0 ||
        ctt_file_open(path, &fd, &size) < 0)
        return 0;
    n = pread(fd, some, sizeof(some) - 1, 0);
    close(fd);
    some[n > 0 ? n : 0] = 0;
    some[strcspn(some, "\r\n")] = 0;
    return find_columns(&t, some + ctt_mark_utf8(some, strlen(some)));
}

/* The csv file of the split in dir, or NULL. */
static int find_sheet(const char *dir, const char *split, char **out)
{
    static const char *const form[] = { "%s/%s.csv", "%s/kinetics_%s.csv",
        "%s/kinetics400_%s.csv", "%s/kinetics600_%s.csv",
        "%s/kinetics700_%s.csv", "%s/annotations/%s.csv",
        "%s/annotations/kinetics_%s.csv" };
    const char *same[CTT_SPELLINGS];
    size_t room = strlen(dir) + strlen(split) + 64;
    char *path = ctt_calloc(room, 1);

    *out = NULL;
    if (!path)
        return CTT_ENOMEM;
    ctt_split_spellings(split, same);
    for (size_t k = 0; k < CTT_LEN(form) && !*out; k++)
        for (int i = 0; same[i] && !*out; i++) {
            snprintf(path, room, form[k], dir, same[i]);
            if (is_kinetics(path))
                *out = path;
        }
    if (!*out)
        ctt_free(path);
    return 0;
}

/* The file of the split in the folder s->path; NULL if it has no such files. */
static int choose_sheet(const struct ctt_listing *s, char **out)
{
    static const char *const split[] = { "train", "validation", "test" };
    char *other = NULL;
    int rc;

    CTT_TRY(find_sheet(s->path, s->split, out));
    for (size_t i = 0; i < CTT_LEN(split) && !*out && !other; i++)
        CTT_TRY(find_sheet(s->path, split[i], &other));
    CTT_CHECK(!other, CTT_EINVAL, "%s: no %s.csv in it", s->path, s->split);
out:
    ctt_free(other);
    return rc;
}

int ctt_list_kinetics(struct ctt_listing *s)
{
    int folder = ctt_disk_kind(s->path) == CTT_DISK_FOLDER, rc = 0;
    struct ctt_videos v = { 0 };
    struct sheet t = { 0 };
    char *dir = NULL;

    if (folder)
        CTT_TRY(choose_sheet(s, &t.path));
    else if (is_kinetics(s->path))
        CTT_TRY((t.path = ctt_strdup(s->path)) ? 0 : CTT_ENOMEM);
    if (!t.path)
        goto out;    /* not this layout */
    dir = folder ? ctt_strdup(s->path) : ctt_path_dir(t.path);
    CTT_TRY(dir ? 0 : CTT_ENOMEM);
    CTT_TRY(read_sheet(&t));
    CTT_TRY(choose_rows(&t, s->split));
    CTT_TRY(name_classes(s, &t));
    CTT_TRY(want_videos(&v, &t));
    CTT_TRY(find_videos(&v, dir));
    CTT_CHECK(v.found || !t.rows, CTT_EFORMAT, "%s: there is no video of its "
              "%d clips, such as %s.mp4, in %s or below", t.path, t.rows,
              t.row[0].stem, dir);
    CTT_TRY(add_rows(s, &t, &v, dir));
    s->list->form = "Kinetics";
    rc = 1;
out:
    ctt_videos_clear(&v);
    ctt_free(dir);
    ctt_free(t.path);
    ctt_free(t.text);
    ctt_free(t.row);
    return rc;
}
