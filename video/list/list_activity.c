/* SPDX-License-Identifier: Apache-2.0
 * list_activity.c: clips as ActivityNet (Heilbron et al. 2015) lists them: a
 * JSON file with the segments of each video; Kinetics has one of each. */
#include "video/list/list_rows.h"
#include "video/disk.h"
#include "video/list/json.h"

#include <stdlib.h>
#include <string.h>

/* BARE: the videos are not in a "database". */
enum form { OTHER, DATABASE, BARE };

/* 1 if the object that follows has this key; reads part of it. */
static int has_key(struct ctt_json *j, const char *name)
{
    char *key;
    int rc, found = 0;

    CTT_TRY(ctt_json_enter(j, '{'));
    while (!found && (rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_key(j, &key));
        found = strcmp(key, name) == 0;
        if (!found)
            CTT_TRY(ctt_json_skip(j));
    }
    rc = rc < 0 ? rc : found;
out:
    return rc;
}

/* Which of the two the file is. */
static int find_form(const char *path, enum form *out)
{
    struct ctt_json *j = NULL;
    char *key;
    int rc;

    *out = OTHER;
    CTT_TRY(ctt_json_open(path, &j));
    if (!ctt_json_is(j, '{'))
        goto out;
    CTT_TRY(ctt_json_enter(j, '{'));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_key(j, &key));
        if (!ctt_json_is(j, '{')) {
            CTT_TRY(ctt_json_skip(j));
            continue;
        }
        *out = strcmp(key, "database") == 0 ? DATABASE : BARE;
        if (*out == BARE) {
            CTT_TRY(has_key(j, "annotations"));
            *out = rc ? BARE : OTHER;
            rc = 0;
        }
        break;
    }
out:
    ctt_json_close(&j);
    return rc;
}

/* ---- one video ---- */

static int read_number(struct ctt_json *j, double *out)
{
    char *text, *end;
    int rc;

    CTT_TRY(ctt_json_scalar(j, &text));
    *out = strtod(text, &end);
    if (end == text || *end || !(*out >= 0 && *out < CTT_PART_SECONDS))
        return ctt_json_error(j, "'%s' is no time in seconds", text);
out:
    return rc;
}

/* "[start, end]" */
static int read_segment(struct ctt_json *j, struct ctt_part *out)
{
    double t[2] = { 0, 0 };
    int rc, n = 0;

    CTT_TRY(ctt_json_enter(j, '['));
    while ((rc = ctt_json_next(j)) > 0) {
        if (n == 2)
            return ctt_json_error(j, "a segment of more than two times");
        CTT_TRY(read_number(j, &t[n++]));
    }
    CTT_TRY(rc);
    if (n < 2 || !ctt_part_times(t[0], t[1], out))
        return ctt_json_error(j, "a segment that is not two times, the first "
                              "below the second");
out:
    return rc;
}

static int read_note(struct ctt_json *j, struct ctt_rows *rows, const char *id)
{
    struct ctt_row *r;
    char *key, *label;
    int rc;

    CTT_TRY(ctt_rows_add(rows, &r));
    r->id = id;
    CTT_TRY(ctt_json_enter(j, '{'));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_key(j, &key));
        if (strcmp(key, "label") == 0) {
            CTT_TRY(ctt_json_string(j, &label));
            r->label = label;
        } else if (strcmp(key, "segment") == 0) {
            CTT_TRY(read_segment(j, &r->part));
        } else {
            CTT_TRY(ctt_json_skip(j));
        }
    }
    CTT_TRY(rc);
    if (!r->label || !*r->label)
        return ctt_json_error(j, "an annotation of '%s' without a label", id);
out:
    return rc;
}

/* One annotation, of which the video may have been cut; or many. */
static int read_notes(struct ctt_json *j, struct ctt_rows *rows,
                      const char *id)
{
    struct ctt_row *r;
    int rc;

    if (ctt_json_is(j, '{')) {
        CTT_TRY(read_note(j, rows, id));
        r = &rows->row[rows->count - 1];
        if (r->part.kind != CTT_PART_TIME)
            return 0;
        r->part.or_all = 1;
        ctt_row_stem(r, (int)r->part.start, (int)r->part.end);
        return 0;
    }
    if (!ctt_json_is(j, '['))
        return ctt_json_skip(j);
    CTT_TRY(ctt_json_enter(j, '['));
    while ((rc = ctt_json_next(j)) > 0)
        CTT_TRY(read_note(j, rows, id));
out:
    return rc;
}

/* What is said of all of a video: its split, and how long it is. */
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
static int read_video(struct ctt_json *j, struct ctt_rows *rows,
                      const char *id)
{
    int rc, first = rows->count;
    char *key, *split = NULL;
    struct ctt_row *r;
    double duration = 0;

    if (!ctt_row_id_is_good(id))
        return ctt_json_error(j, "a bad name of a video");
    CTT_TRY(ctt_json_enter(j, '{'));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_key(j, &key));
        if (strcmp(key, "subset") == 0)
            CTT_TRY(ctt_json_string(j, &split));
        else if (strcmp(key, "duration") == 0)
            CTT_TRY(read_number(j, &duration));
        else if (strcmp(key, "annotations") == 0)
            CTT_TRY(read_notes(j, rows, id));
        else
            CTT_TRY(ctt_json_skip(j));
    }
    CTT_TRY(rc);
    if (rows->count == first) {
        CTT_TRY(ctt_rows_add(rows, &r));
        r->id = id;
    }
    finish_video(rows, first, split, duration);
out:
    return rc;
}

/* ---- the file ---- */

static int read_videos(struct ctt_json *j, struct ctt_rows *rows)
{
    char *key;
    int rc;

    CTT_TRY(ctt_json_enter(j, '{'));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_key(j, &key));
        CTT_TRY(read_video(j, rows, key));
    }
out:
    return rc;
}

static int read_file(struct ctt_json *j, enum form form, struct ctt_rows *rows)
{
    char *key;
    int rc;

    if (form == BARE) {
        CTT_TRY(read_videos(j, rows));
        return ctt_json_end(j);
    }
    CTT_TRY(ctt_json_enter(j, '{'));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_key(j, &key));
        CTT_TRY(strcmp(key, "database") == 0 ? read_videos(j, rows)
                                             : ctt_json_skip(j));
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
    struct ctt_rows rows = { NULL, 0, 0 };
    struct ctt_json *j = NULL;
    char *dir = ctt_path_dir(path);
    int rc = dir ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_json_open(path, &j));
    CTT_TRY(read_file(j, form, &rows));
    CTT_TRY(ctt_rows_list(s, &rows, path, dir));
    s->list->form = form == DATABASE ? "ActivityNet" : "Kinetics";
    rc = 1;
out:
    ctt_json_close(&j);
    ctt_free(dir);
    ctt_free(rows.row);
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
