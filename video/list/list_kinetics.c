/* SPDX-License-Identifier: Apache-2.0
 * list_kinetics.c: clips as Kinetics (Kay et al. 2017) lists them: csv files
 * with the columns label, youtube_id, time_start, time_end, split. */
#include "video/list/list_rows.h"
#include "base/newfile.h"
#include "base/visible.h"
#include "video/list/csv.h"
#include "video/disk.h"
#include "video/list/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LIMIT = 1 << 28 };

enum { LABEL, ID, START, END, SPLIT, KNOWN };
static const char *const column[KNOWN] = {
    "label", "youtube_id", "time_start", "time_end", "split",
};

struct sheet {
    char           *path, *text;
    struct ctt_rows rows;
    int             at[KNOWN];    /* number of each column, or -1 */
};

/* Finds the columns in the first line; 0 if it is not that of Kinetics. */
static int find_columns(struct sheet *t, struct ctt_csv *c)
{
    char *field[CTT_CSV_FIELDS];
    int n = ctt_csv_next(c, field);

    for (int k = 0; k < KNOWN; k++)
        t->at[k] = -1;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < KNOWN; k++)
            if (strcasecmp(field[i], column[k]) == 0)
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

/* number: the row's line; n: how many fields it has. */
static int take_row(struct sheet *t, char **field, int n, int number)
{
    char *value[KNOWN];
    int start, end, rc = 0;
    struct ctt_row *r;

    for (int k = 0; k < KNOWN; k++) {
        CTT_CHECK(t->at[k] < n, CTT_EFORMAT, "%s:%d: %s", t->path, number,
                  n < 0 ? "a quote that is not closed, or too many columns"
                        : "too few columns");
        value[k] = t->at[k] < 0 ? NULL : field[t->at[k]];
        CTT_CHECK(!value[k] || *value[k], CTT_EFORMAT, "%s:%d: no %s",
                  t->path, number, column[k]);
    }
    start = seconds(value[START]);
    end = seconds(value[END]);
    CTT_CHECK(start >= 0 && end >= 0, CTT_EFORMAT, "%s:%d: '%s' is no time in "
              "seconds", t->path, number, value[start < 0 ? START : END]);
    CTT_CHECK(ctt_row_id_is_good(value[ID]), CTT_EFORMAT, "%s:%d: a bad "
              "youtube_id", t->path, number);
    CTT_TRY(ctt_rows_add(&t->rows, &r));
    r->label = value[LABEL];
    r->id = value[ID];
    r->split = value[SPLIT];
    ctt_row_stem(r, start, end);
    if (ctt_part_between(value[START], value[END], 0, &r->part))
        r->part.or_all = 1;
    else
        r->part = (struct ctt_part){ .kind = CTT_PART_ALL };
    rc = 0;
out:
    return rc;
}

static int read_sheet(struct sheet *t)
{
    char *field[CTT_CSV_FIELDS];
    struct ctt_csv c = { .sep = ',' };
    int rc, n;
    size_t size;

    CTT_TRY(ctt_text_read(t->path, LIMIT, &t->text, &size));
    c.at = t->text;
    CTT_CHECK(find_columns(t, &c), CTT_EFORMAT, "%s:1: not the columns of "
              "Kinetics", t->path);
    while ((n = ctt_csv_next(&c, field)) != 0)
        CTT_TRY(take_row(t, field, n, c.line));
out:
    return rc;
}

/* ---- which file ---- */

/* 1 if the file at path begins with the columns of Kinetics. */
static int is_kinetics(const char *path)
{
    struct sheet t = { 0 };
    struct ctt_csv c = { .sep = ',' };
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
    c.at = some + ctt_mark_utf8(some, strlen(some));
    return find_columns(&t, &c);
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
    CTT_TRY(ctt_rows_list(s, &t.rows, t.path, dir));
    s->list->form = "Kinetics";
    rc = 1;
out:
    ctt_free(dir);
    ctt_free(t.path);
    ctt_free(t.text);
    ctt_rows_clear(&t.rows);
    return rc;
}
