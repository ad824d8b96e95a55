/* SPDX-License-Identifier: Apache-2.0
 * list_activity.c: clips as ActivityNet (Heilbron et al. 2015) lists them: a
 * JSON file with the segments of each video; Kinetics has one of each. */
#include "video/list/list_rows.h"
#include "base/json.h"
#include "video/disk.h"
#include "video/list/files.h"

#include <stdlib.h>
#include <string.h>

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
    CTT_TRY(ctt_rows_add(r->rows, r->id, &row));
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
    row->from = (int)row->part.start;
    row->to = (int)row->part.end;
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
static int read_video(const struct reading *r, const struct ctt_value *v)
{
    const struct ctt_value *subset, *length;
    int rc, first = r->rows->count;
    const char *split = NULL;
    struct ctt_row *row;
    double duration = 0;

    if (!ctt_row_id_is_good(r->id))
        return ctt_json_error(r->j, "'%s' is no name of a video", r->id);
    if (ctt_json_kind(v) != '{')
        return ctt_json_error(r->j, "'%s': expected an object", r->id);
    subset = ctt_json_get(v, "subset");
    length = ctt_json_get(v, "duration");
    if (subset && !ctt_json_text(subset))
        return ctt_json_error(r->j, "the subset of '%s' is no text", r->id);
    if (subset)
        CTT_TRY(ctt_rows_word(r->rows, ctt_json_text(subset), &split));
    if (length)
        CTT_TRY(read_number(r, length, &duration));
    CTT_TRY(read_notes(r, ctt_json_get(v, "annotations")));
    if (r->rows->count == first)
        CTT_TRY(ctt_rows_add(r->rows, r->id, &row));
    finish_video(r->rows, first, split, duration);
out:
    return rc;
}

/* ---- the file ---- */

/* Reads the members of an object as videos, once one of them has annotations;
 * or those of its member "database".  *form: of the file, or NULL. */
static int read_members(struct reading *r, const char **form)
{
    const struct ctt_value *v;
    const char *key;
    int rc;

    CTT_TRY(ctt_json_enter(r->j, '{'));
    while ((rc = ctt_json_next(r->j)) > 0) {
        CTT_TRY(ctt_json_key(r->j, &key));
        if (!*form && strcmp(key, "database") == 0 && ctt_json_is(r->j, '{')) {
            *form = "ActivityNet";
            CTT_TRY(read_members(r, form));
            *form = "";
            continue;
        }
        CTT_TRY(ctt_rows_word(r->rows, key, &r->id));
        CTT_TRY(ctt_json_value(r->j, &v));
        if (!*form && ctt_json_get(v, "annotations"))
            *form = "Kinetics";
        if (*form && **form)
            CTT_TRY(read_video(r, v));
    }
out:
    return rc;
}

static int list_file(struct ctt_listing *s, const char *path)
{
    struct ctt_layout layout = { .prefix = { "", "v_" }, .place = { "" },
                                 .depth = 3, .extension = ".mp4" };
    struct ctt_rows rows = { .row = NULL };
    struct reading r = { .rows = &rows };
    char *dir = ctt_path_dir(path);
    int rc = dir ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_list_json_open(path, &r.j));
    if (!ctt_json_is(r.j, '{'))
        goto out;
    CTT_TRY(read_members(&r, &layout.form));
    CTT_TRY(ctt_json_end(r.j));
    if (!layout.form)
        goto out;
    if (!*layout.form)
        layout.form = "ActivityNet";
    CTT_TRY(ctt_rows_list(s, &rows, &layout, path, dir));
out:
    ctt_json_close(&r.j);
    ctt_free(dir);
    ctt_rows_clear(&rows);
    return rc;
}

int ctt_list_activity(struct ctt_listing *s)
{
    static const struct ctt_list_files files = {
        .place = { "" }, .name = { "activity_net*.json" },
    };
    char *path = NULL;
    int rc = 0;

    if (ctt_disk_kind(s->path) == CTT_DISK_FOLDER)
        CTT_TRY(ctt_list_file(&files, s->path, "", &path));
    else if (strcmp(ctt_path_ending(s->path), ".json") == 0)
        CTT_TRY((path = ctt_strdup(s->path)) ? 0 : CTT_ENOMEM);
    if (path)
        rc = list_file(s, path);
out:
    ctt_free(path);
    return rc;
}
