/* SPDX-License-Identifier: Apache-2.0
 * list_ids.c: lists the clips of rows that name videos by ids, whose files are
 * looked for. */
#include "video/list/rows.h"
#include "video/disk.h"
#include "video/list/videos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEM = 512,    /* bytes of an id, at most */
       NAME = STEM + 32 };

const struct ctt_layout ctt_layout_segments = {
    .prefix = { "", "v_" }, .place = { "" }, .depth = 3, .extension = ".mp4",
};

int ctt_id_is_good(const char *id)
{
    return *id && strlen(id) < STEM && !strchr(id, '/');
}

/* The part of a row; all if it names none, or one without length. */
static struct ctt_part part_of(const struct ctt_row *row)
{
    struct ctt_part all = { .kind = CTT_PART_ALL }, p;

    if (!row->start || !ctt_part_times(strtod(row->start, NULL),
                                       strtod(row->end, NULL), &p))
        return all;
    p.or_all = row->cut;
    return p;
}

/* The names that the file of a row may have: number 0 is that of a file that is
 * only the part.  Returns 0 behind the last one. */
static int name_of(const struct ctt_layout *l, const struct ctt_row *row,
                   int i, char out[NAME])
{
    const char *ending = l->files ? ctt_path_ending(row->path) : "";

    *out = 0;
    if (i > 2 || (i > 0 && !l->prefix[i - 1]))
        return 0;
    if (i > 0)
        snprintf(out, NAME, "%s%.*s", l->prefix[i - 1],
                 (int)(strlen(row->path) - strlen(ending)), row->path);
    else if (row->cut)
        snprintf(out, NAME, "%s_%06d_%06d", row->path,
                 (int)strtod(row->start, NULL), (int)strtod(row->end, NULL));
    return 1;
}

/* ---- their videos ---- */

static int want_videos(struct ctt_videos *v, const struct ctt_layout *l,
                       const struct ctt_rows *r)
{
    char name[NAME];
    int rc = 0;

    for (int i = 0; i < r->count; i++)
        for (int k = 0; name_of(l, &r->row[i], k, name); k++)
            if (*name)
                CTT_TRY(ctt_videos_want(v, name));
out:
    return rc;
}

/* Looks in the places below dir; *first: the first of them that is there. */
static int find_below(struct ctt_videos *v, const struct ctt_layout *l,
                      struct ctt_listing *s, const char *dir, char **first)
{
    char *path;
    int rc = 0;

    for (int i = 0; l->place[i]; i++) {
        CTT_TRY(ctt_listing_folder(s, dir, l->place[i], &path));
        if (!path)
            continue;
        CTT_TRY(ctt_videos_find(v, path, l->depth));
        *first = *first ? *first : path;
    }
out:
    return rc;
}

/* Looks below the list's folder, and beside it if it holds only lists. */
static int find_videos(struct ctt_videos *v, const struct ctt_layout *l,
                       struct ctt_listing *s, const char *dir, char **first)
{
    static const char *const lists[] = { "annotations", "annotation",
                                         "labels", "lists", "csv", "splits" };
    int rc, beside = 0;
    char *above;

    CTT_TRY(find_below(v, l, s, dir, first));
    for (size_t i = 0; i < CTT_LEN(lists); i++)
        beside |= strcmp(ctt_path_base(dir), lists[i]) == 0;
    if (v->found || !beside || l->may_miss)
        goto out;
    CTT_TRY(ctt_listing_join(s, dir, "..", &above));
    CTT_TRY(find_below(v, l, s, above, first));
out:
    return rc;
}

/* ---- the clips ---- */

/* The video of a row, or NULL; *whole: the clip is all of it. */
static const char *find_file(const struct ctt_videos *v,
                             const struct ctt_layout *l,
                             const struct ctt_row *row, int *whole)
{
    const char *file = NULL;
    char name[NAME];
    int k;

    for (k = 0; !file && name_of(l, row, k, name); k++)
        file = *name ? ctt_videos_file(v, name) : NULL;
    *whole = file ? k == 1 : row->cut;
    /* Pictures have no times. */
    *whole |= file && row->cut && ctt_disk_kind(file) == CTT_DISK_FOLDER;
    return file;
}

/* The name of a video if it is missing. */
static const char *missing_name(const struct ctt_layout *l,
                                const struct ctt_row *row, char name[NAME])
{
    if (row->cut)
        name_of(l, row, 0, name);
    else
        snprintf(name, NAME, "%s", row->path);
    snprintf(name + strlen(name), NAME - strlen(name), "%s", l->extension);
    return name;
}

static int add_video(const struct ctt_rows *r, const struct ctt_row *row,
                     const struct ctt_videos *v, const struct ctt_layout *l,
                     const char *dir)
{
    int whole, rc;
    const char *file = find_file(v, l, row, &whole);
    struct ctt_part part = { .kind = CTT_PART_ALL };
    char name[NAME];

    if (!whole)
        part = part_of(row);
    CTT_TRY(ctt_listing_part(r->s, file ? "" : dir,
                             file ? file : missing_name(l, row, name), &part,
                             ctt_tag_class(r, &row->tag)));
    CTT_TRY(ctt_row_further(r, row));
out:
    return rc;
}

int ctt_rows_ids(struct ctt_rows *r, const struct ctt_layout *l,
                 const char *form, const char *dir)
{
    struct ctt_videos v = { 0 };
    char *first = NULL, name[NAME];
    int rc = 0;

    if (r->s->names.count == 0) {
        CTT_TRY(ctt_rows_several(r));
        CTT_TRY(ctt_rows_names(r));
    }
    CTT_TRY(want_videos(&v, l, r));
    CTT_TRY(find_videos(&v, l, r->s, dir, &first));
    CTT_CHECK(v.found || !r->count || l->may_miss, CTT_EFORMAT, "%s: there is "
              "no video of its %d clips, such as %s, in %s or below", r->path,
              r->count, missing_name(l, r->row, name), dir);
    for (int i = 0; i < r->count; i++)
        CTT_TRY(add_video(r, &r->row[i], &v, l, first ? first : dir));
    r->s->list->form = form;
    rc = 1;
out:
    ctt_videos_clear(&v);
    return rc;
}
