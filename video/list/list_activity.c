/* SPDX-License-Identifier: Apache-2.0
 * list_activity.c: clips as ActivityNet (Heilbron et al. 2015) lists them: a
 * JSON object with the segments of each video; Kinetics has one of each. */
#include "video/list/rows.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

/* The file, its rows, and the video that is read: texts that stay. */
struct reading {
    struct ctt_json *j;
    struct ctt_rows *rows;
    char            *id, *split, *duration;    /* NULL: not stated */
};

static int copy_text(const struct reading *r, const char *text, char **out)
{
    *out = ctt_pool_add(&r->rows->s->texts, text);
    return *out ? 0 : CTT_ENOMEM;
}

static int read_time(const struct reading *r, const struct ctt_value *v,
                     char **out)
{
    char digits[CTT_JSON_NUMBER], *end;
    const char *text = ctt_json_scalar(v, digits);
    double x = text ? strtod(text, &end) : -1;

    if (!text || end == text || *end || !(x >= 0 && x < CTT_PART_SECONDS))
        return ctt_json_error(r->j, "'%s': '%s' is no time in seconds", r->id,
                              text ? text : "null");
    return copy_text(r, text, out);
}

static int are_times(const char *start, const char *end)
{
    struct ctt_part p;

    return ctt_part_times(strtod(start, NULL), strtod(end, NULL), &p);
}

/* "[start, end]"; a segment ends with the video, from which it was not cut. */
static int read_segment(const struct reading *r, const struct ctt_value *v,
                        struct ctt_row *row)
{
    int rc = 0, n = ctt_json_kind(v) == '[' ? ctt_json_size(v) : 0;
    char *t[2], *length = row->cut ? NULL : r->duration;

    for (int i = 0; i < n && i < 2; i++)
        CTT_TRY(read_time(r, ctt_json_at(v, i), &t[i]));
    if (n != 2 || !are_times(t[0], t[1]))
        return ctt_json_error(r->j, "'%s': a segment that is not two times, "
                              "the first below the second", r->id);
    if (length && strtod(t[1], NULL) > strtod(length, NULL) &&
        are_times(t[0], length))
        t[1] = length;
    row->start = t[0];
    row->end = t[1];
out:
    return rc;
}

/* cut: the video may have been cut to the segment. */
static int read_note(const struct reading *r, const struct ctt_value *v,
                     int cut)
{
    const char *label = ctt_json_text(ctt_json_get(v, "label"));
    const struct ctt_value *segment = ctt_json_get(v, "segment");
    struct ctt_row *row;
    int rc;

    if (!label || !*label)
        return ctt_json_error(r->j, "an annotation of '%s' without a label",
                              r->id);
    CTT_TRY(ctt_rows_new(r->rows, r->id, 0, &row));
    CTT_TRY(copy_text(r, label, &row->tag.text));
    row->split = r->split;
    row->cut = cut && segment;
    if (segment)
        CTT_TRY(read_segment(r, segment, row));
out:
    return rc;
}

/* A video has one annotation or many; one without is a row without a class. */
static int read_notes(const struct reading *r, const struct ctt_value *v)
{
    int rc = 0, n = ctt_json_kind(v) == '[' ? ctt_json_size(v) : 0;
    struct ctt_row *row;

    if (ctt_json_kind(v) == '{')
        return read_note(r, v, 1);
    for (int i = 0; i < n; i++)
        CTT_TRY(read_note(r, ctt_json_at(v, i), 0));
    if (n > 0)
        goto out;
    CTT_TRY(ctt_rows_new(r->rows, r->id, 0, &row));
    row->split = r->split;
out:
    return rc;
}

static int read_video(struct reading *r, const struct ctt_value *v)
{
    const struct ctt_value *subset = ctt_json_get(v, "subset");
    const struct ctt_value *length = ctt_json_get(v, "duration");
    int rc;

    if (!ctt_id_is_good(r->id))
        return ctt_json_error(r->j, "'%s' is no name of a video", r->id);
    if (ctt_json_kind(v) != '{')
        return ctt_json_error(r->j, "'%s': expected an object", r->id);
    if (subset && !ctt_json_text(subset))
        return ctt_json_error(r->j, "the subset of '%s' is no text", r->id);
    r->split = r->duration = NULL;
    if (subset)
        CTT_TRY(copy_text(r, ctt_json_text(subset), &r->split));
    if (length)
        CTT_TRY(read_time(r, length, &r->duration));
    CTT_TRY(read_notes(r, ctt_json_get(v, "annotations")));
out:
    return rc;
}

/* Reads the members of an object as videos, once one of them has annotations;
 * or those of its member "database".  *form: of the file, or NULL; *inside: the
 * members that are read are videos. */
static int read_members(struct reading *r, const char **form, int inside)
{
    const struct ctt_value *v;
    struct ctt_names seen = { 0 };
    const char *key;
    int rc;

    CTT_TRY(ctt_json_enter(r->j, '{'));
    while ((rc = ctt_json_next(r->j)) > 0) {
        int before = seen.count;

        CTT_TRY(ctt_json_key(r->j, &key));
        CTT_TRY(ctt_names_add(&seen, key));
        if (rc < before)
            CTT_TRY(ctt_json_error(r->j, "the object has '%s' twice", key));
        if (!*form && strcmp(key, "database") == 0 && ctt_json_is(r->j, '{')) {
            *form = "ActivityNet";
            CTT_TRY(read_members(r, form, 1));
            continue;
        }
        CTT_TRY(copy_text(r, key, &r->id));
        CTT_TRY(ctt_json_value(r->j, &v));
        if (!*form && ctt_json_get(v, "annotations")) {
            *form = "Kinetics";
            inside = 1;
        }
        if (inside)
            CTT_TRY(read_video(r, v));
    }
out:
    ctt_names_clear(&seen);
    return rc;
}

int ctt_rows_activity(struct ctt_rows *r, struct ctt_json *j, const char *dir)
{
    struct reading of = { .j = j, .rows = r };
    const char *form = NULL;
    int rc;

    CTT_TRY(read_members(&of, &form, 0));
    CTT_TRY(ctt_json_end(j));
    if (!form)
        goto out;
    CTT_TRY(ctt_rows_choose(r, CTT_LABEL_DROP));
    CTT_TRY(ctt_rows_ids(r, &ctt_layout_segments, form, dir));
out:
    return rc;
}
