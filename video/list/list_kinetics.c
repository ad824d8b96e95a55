/* SPDX-License-Identifier: Apache-2.0
 * list_kinetics.c: clips as Kinetics (Kay et al. 2017) lists them: csv files
 * with the columns label, youtube_id, time_start, time_end, split. */
#include "video/list/columns.h"
#include "base/newfile.h"
#include "base/visible.h"
#include "video/list/files.h"
#include "video/list/list_rows.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LIMIT = 1 << 28 };

static const struct ctt_layout layout = {
    .form = "Kinetics", .prefix = { "", "v_" }, .place = { "" }, .depth = 3,
    .extension = ".mp4",
};

/* 1 if the file at path begins with the columns of Kinetics, 0 if not, or an
 * error. */
static int is_kinetics(const char *path)
{
    struct ctt_columns c;
    char some[512];
    int64_t size;
    ssize_t n;
    int fd, rc;

    if (strcasecmp(ctt_path_ending(path), ".csv") != 0 ||
        ctt_file_open(path, &fd, &size) < 0)
        return 0;
    n = pread(fd, some, sizeof(some) - 1, 0);
    close(fd);
    some[n > 0 ? n : 0] = 0;
    rc = ctt_table_heading(some + ctt_mark_utf8(some, strlen(some)), &c);
    return rc > 0 ? ctt_columns_are_ids(&c) : rc;
}

/* The seconds in a field; -1 if it has none from 0 to 999999. */
static int seconds(const char *s)
{
    char *end;
    double x = s ? strtod(s, &end) : -1;

    return s && end != s && *end == 0 && x >= 0 && x < 1e6 ? (int)x : -1;
}

/* The part of a video that a line names; the file may be only that part. */
static int take_line(const struct ctt_lines *t, const struct ctt_line *l,
                     struct ctt_rows *rows)
{
    int from = seconds(l->start), to = seconds(l->end), rc = 0;
    const char *bad = from < 0 ? l->start : l->end;
    struct ctt_row *r;

    CTT_CHECK(from >= 0 && to >= 0, CTT_EFORMAT, "%s:%d: '%s' is no time in "
              "seconds", t->path, l->number, bad ? bad : "");
    CTT_CHECK(ctt_row_id_is_good(l->path), CTT_EFORMAT, "%s:%d: '%s' is no "
              "youtube_id", t->path, l->number, l->path);
    CTT_TRY(ctt_rows_add(rows, l->path, &r));
    r->label = l->label;
    r->from = from;
    r->to = to;
    if (ctt_part_between(l->start, l->end, 0, &r->part))
        r->part.or_all = 1;
    else
        r->part = (struct ctt_part){ .kind = CTT_PART_ALL };
    rc = 0;
out:
    return rc;
}

static int list_file(struct ctt_listing *s, const char *path, const char *dir)
{
    struct ctt_rows rows = { .row = NULL };
    struct ctt_lines t = { .path = path };
    size_t size;
    int rc;

    CTT_TRY(ctt_text_read(path, LIMIT, &t.text, &size));
    CTT_TRY(ctt_lines_table(&t, s->split));
    for (int i = 0; i < t.count; i++)
        CTT_TRY(take_line(&t, &t.line[i], &rows));
    CTT_TRY(ctt_rows_list(s, &rows, &layout, path, dir));
out:
    ctt_lines_clear(&t);
    ctt_rows_clear(&rows);
    return rc;
}

int ctt_list_kinetics(struct ctt_listing *s)
{
    static const struct ctt_list_files files = {
        .place = { "", "annotations" },
        .name = { "%s.csv", "kinetics_%s.csv", "kinetics400_%s.csv",
                  "kinetics600_%s.csv", "kinetics700_%s.csv" },
        .is = is_kinetics,
    };
    int folder = ctt_disk_kind(s->path) == CTT_DISK_FOLDER, rc = 0;
    char *path = NULL, *dir = NULL;

    if (folder)
        CTT_TRY(ctt_list_split_file(s, &files, &path));
    else
        CTT_TRY(is_kinetics(s->path));
    if (rc > 0)
        CTT_TRY((path = ctt_strdup(s->path)) ? 0 : CTT_ENOMEM);
    if (!path)
        goto out;    /* not this layout */
    dir = folder ? ctt_strdup(s->path) : ctt_path_dir(path);
    CTT_TRY(dir ? 0 : CTT_ENOMEM);
    CTT_TRY(list_file(s, path, dir));
out:
    ctt_free(dir);
    ctt_free(path);
    return rc;
}
