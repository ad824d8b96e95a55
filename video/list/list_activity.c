/* SPDX-License-Identifier: Apache-2.0
 * list_activity.c: clips as ActivityNet (Heilbron et al. 2015) lists them: a
 * JSON file with the segments of each video; Kinetics has one of each. */
#include "video/list/list_rows.h"
#include "base/json.h"
#include "video/disk.h"

#include <stdlib.h>
#include <string.h>

/* BARE: the videos are not in a "database". */
enum form { OTHER, DATABASE, BARE };

/* The form of the file, from its first member that is an object. */
static int find_form(const char *path, enum form *out)
{
    const struct ctt_value *v;
    struct ctt_json *j = NULL;
    const char *key;
    int rc, database;

    *out = OTHER;
    CTT_TRY(ctt_list_json_open(path, &j));
    if (!ctt_json_is(j, '{'))
        goto out;
    CTT_TRY(ctt_json_enter(j, '{'));
    while (*out == OTHER && (rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_key(j, &key));
        database = strcmp(key, "database") == 0;
        if (database && ctt_json_is(j, '{')) {
            *out = DATABASE;
            break;
        }
        CTT_TRY(ctt_json_value(j, &v));
        if (ctt_json_kind(v) != '{')
            continue;
        *out = ctt_json_get(v, "annotations") ? BARE : OTHER;
        break;
    }
out:
    ctt_json_close(&j);
    return rc < 0 ? rc : 0;
}

/* ---- one video ---- */

/* The file, what its rows point to, and the video that is read. */
struct reading {
    struct ctt_json *j;
    struct ctt_rows *rows;
    const char      *id;
};

static int read_number(const struct reading *r, const struct ctt_value *v,
                       double *out)
{
    char digits[CTT_JSON_NUMBER], *end;
    const char *text = ctt_json_scalar(v, digits);

    *out = text ? strtod(text, &end) : -1;
    if (!text || end == text || *end || !(*out >= 0 &&
                                          *out < CTT_PART_SECONDS))
        return ctt_json_error(r->j, "'%s': '%s' is no time in seconds", r->id,
                              text ? text : "null");
    return 0;
}

/* "[start, end]" */
static int read_segment(const struct reading *r, const struct ctt_value *v,
                        struct ctt_part *out)
{
    double t[2] = { 0, 0 };
    int rc = 0, n = ctt_json_size(v);

    for (int i = 0; i < n && i < 2 && ctt_json_kind(v) == '['; i++)
        CTT_TRY(read_number(r, ctt_json_at(v, i), &t[i]));
    if (n != 2 || !ctt_part_times(t[0], t[1], out))
        return ctt_json_error(r->j, "'%s': a segment that is not two times, "
                              "the first below the second", r->id);
out:
    return rc;
}

static int read_note(const struct reading *r, const struct ctt_value *v)
{
    const char *label = ctt_json_text(ctt_json_get(v, "label"));
    const struct ctt_value *segment = ctt_json_get(v, "segment");
    struct ctt_row *row;
    int rc;

    if (!label || !*label)
        return ctt_json_error(r->j, "an annotation of '%s' without a label",
                              r->id);
    CTT_TRY(ctt_rows_add(r->rows, &row));
    row->id = r->id;
    CTT_TRY(ctt_rows_word(r->rows, label, &row->label));
    if (segment)
        CTT_TRY(read_segment(r, segment, &row->part));
out:
    return rc;
}

/* One annotation, of which the video may have been cut; or many. */
static int read_notes(const struct reading *r, const struct ctt_value *v)
{
    struct ctt_row *row;
    int rc = 0;

    for (int i = 0; ctt_json_kind(v) == '[' && i < ctt_json_size(v); i++)
        CTT_TRY(read_note(r, ctt_json_at(v, i)));
    if (ctt_json_kind(v) != '{')
        goto out;
    CTT_TRY(read_note(r, v));
    row = &r->rows->row[r->rows->count - 1];
    if (row->part.kind != CTT_PART_TIME)
        goto out;
    row->part.or_all = 1;
    ctt_row_stem(row, (int)row->part.start, (int)row->part.end);
out:
    return rc;
}

/* The split and the length of a video, which all its rows share. */
static void finish_video(struct ctt_rows *rows, int first, const char *split,
                         double duration)
{
    struct ctt_part part;

    for (int i = first; i < rows->count; i++) {
        struct ctt_part *p = &rows->row[i].part;
        rows->row[i].split = split;
        if (p->kind == CTT_PART_TIME && !p->or_all && p->end > duration &&
            ctt_part_times(p->start, duration, &part))
            *p = part;
    }
}

/* A video without annotations is a row without a class. */
static int read_video(struct reading *r)
{
    const struct ctt_value *v, *subset, *length;
    int rc, first = r->rows->count;
    const char *split = NULL;
    struct ctt_row *row;
    double duration = 0;

    CTT_TRY(ctt_json_value(r->j, &v));
    if (ctt_json_kind(v) != '{')
        return ctt_json_error(r->j, "'%s' is no object", r->id);
    subset = ctt_json_get(v, "subset");
    length = ctt_json_get(v, "duration");
    if (subset && !ctt_json_text(subset))
        return ctt_json_error(r->j, "the subset of '%s' is no text", r->id);
    if (subset)
        CTT_TRY(ctt_rows_word(r->rows, ctt_json_text(subset), &split));
    if (length)
        CTT_TRY(read_number(r, length, &duration));
    CTT_TRY(read_notes(r, ctt_json_get(v, "annotations")));
    if (r->rows->count == first) {
        CTT_TRY(ctt_rows_add(r->rows, &row));
        row->id = r->id;
    }
    finish_video(r->rows, first, split, duration);
out:
    return rc;
}

/* ---- the file ---- */

static int read_videos(struct ctt_json *j, struct ctt_rows *rows)
{
    struct reading r = { j, rows, NULL };
    const char *key;
    int rc;

    CTT_TRY(ctt_json_enter(j, '{'));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_key(j, &key));
        if (!ctt_row_id_is_good(key))
            return ctt_json_error(j, "'%s' is no name of a video", key);
        CTT_TRY(ctt_rows_word(rows, key, &r.id));
        CTT_TRY(read_video(&r));
    }
out:
    return rc;
}

static int read_file(struct ctt_json *j, enum form form, struct ctt_rows *rows)
{
    const struct ctt_value *v;
    const char *key;
    int rc;

    if (form == BARE) {
        CTT_TRY(read_videos(j, rows));
        return ctt_json_end(j);
    }
    CTT_TRY(ctt_json_enter(j, '{'));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_key(j, &key));
        CTT_TRY(strcmp(key, "database") == 0 ? read_videos(j, rows)
                                             : ctt_json_value(j, &v));
    }
    CTT_TRY(rc);
    CTT_TRY(ctt_json_end(j));
out:
    return rc;
}

/* The file activity_net.v1-3.min.json or alike in the folder dir, or NULL. */
static int find_file(const char *dir, char **out)
{
    static const char name[] = "activity_net";
    struct ctt_folder f = { 0 };
    int rc;

    CTT_TRY(ctt_folder_read(dir, &f));
    for (int i = 0; i < f.count && !*out; i++) {
        if (strncmp(f.name[i], name, sizeof(name) - 1) != 0 ||
            strcmp(ctt_path_ending(f.name[i]), ".json") != 0)
            continue;
        *out = ctt_path_join(dir, f.name[i]);
        CTT_TRY(*out ? 0 : CTT_ENOMEM);
    }
out:
    ctt_folder_clear(&f);
    return rc;
}

static int list_file(struct ctt_listing *s, const char *path, enum form form)
{
    struct ctt_rows rows = { .row = NULL };
    struct ctt_json *j = NULL;
    char *dir = ctt_path_dir(path);
    int rc = dir ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_list_json_open(path, &j));
    CTT_TRY(read_file(j, form, &rows));
    CTT_TRY(ctt_rows_list(s, &rows, path, dir));
    s->list->form = form == DATABASE ? "ActivityNet" : "Kinetics";
    rc = 1;
out:
    ctt_json_close(&j);
    ctt_free(dir);
    ctt_rows_clear(&rows);
    return rc;
}

int ctt_list_activity(struct ctt_listing *s)
{
    enum form form = OTHER;
    char *path = NULL;
    int rc = 0;

    if (ctt_disk_kind(s->path) == CTT_DISK_FOLDER)
        CTT_TRY(find_file(s->path, &path));
    else if (strcmp(ctt_path_ending(s->path), ".json") == 0)
        CTT_TRY((path = ctt_strdup(s->path)) ? 0 : CTT_ENOMEM);
    if (path)
        CTT_TRY(find_form(path, &form));
    if (form != OTHER)
        rc = list_file(s, path, form);
out:
    ctt_free(path);
    return rc;
}
