/* SPDX-License-Identifier: Apache-2.0
 * list_paths.c: lists the clips of rows whose paths are relative to a folder,
 * which is looked for. */
#include "video/list/rows.h"
#include "base/newfile.h"
#include "video/disk.h"
#include "video/list/videos.h"

#include <string.h>

enum { COLUMNS = 4 };

/* ---- the folder ---- */

/* Looks for the video that a path below dir names without its extension: its
 * path, which the caller frees, with the part; NULL: it is as it is named. kind
 * (may be NULL): of the video; a bad part is then nothing. */
static int find_clip(const char *dir, const char *s, char **file,
                     enum ctt_disk_kind *kind)
{
    char *path = ctt_path_join(dir, s), *all = NULL, *found = NULL;
    int rc = path ? 0 : CTT_ENOMEM;
    struct ctt_part part;

    CTT_TRY(rc);
    rc = ctt_part_of(path, &all, &part);
    if (kind) {
        *kind = rc < 0 ? CTT_DISK_NONE : ctt_disk_kind(all);
        rc = rc == CTT_EFORMAT ? 0 : rc;
    }
    if (rc < 0 || !all)
        goto out;
    CTT_TRY(ctt_videos_beside(all, &found));
    if (found && kind)
        *kind = CTT_DISK_FILE;
    else if (found)
        CTT_TRY((*file = ctt_part_path(found, &part)) ? 0 : CTT_ENOMEM);
    rc = 0;
out:
    ctt_free(path);
    ctt_free(all);
    ctt_free(found);
    return rc;
}

int ctt_row_kind(const char *dir, const char *s, enum ctt_disk_kind *out)
{
    return find_clip(dir, s, NULL, out);
}

/* Cuts the last field off; NULL: there is one only. */
static char *cut_last(char *s)
{
    char *end = s + strlen(s);

    while (end > s && !strchr(" \t,;", end[-1]))
        end--;
    if (end == s)
        return NULL;
    end[-1] = '\0';
    ctt_text_trim(s);
    return end;
}

/* 1 if a path at the beginning of the line exists below dir. */
static int starts_with_path(const char *dir, const char *line, int *yes)
{
    char *copy = ctt_strdup(line), *end = copy ? ctt_text_quote(copy) : NULL;
    int rc = copy ? 0 : CTT_ENOMEM;
    enum ctt_disk_kind k;

    CTT_TRY(rc);
    if (end) {
        end[1] = '\0';
        ctt_text_unquote(copy);
    }
    for (int i = 0; i < COLUMNS && !*yes; i++) {
        CTT_TRY(ctt_row_kind(dir, copy, &k));
        *yes = *copy && k != CTT_DISK_NONE;
        if (!cut_last(copy))
            break;
    }
out:
    ctt_free(copy);
    return rc;
}

/* 1 if dir contains one of the first clips. */
static int has_clips(const struct ctt_rows *r, const char *dir, int *yes)
{
    int rc = 0;

    for (int i = 0; i < r->count && i < CTT_ROWS_TRIED && !*yes; i++)
        CTT_TRY(starts_with_path(dir, r->row[i].path, yes));
out:
    return rc;
}

/* Tries a folder, and the folders in it: the one that has clips, or NULL. */
static int try_folders(struct ctt_rows *r, char *dir, char **out)
{
    struct ctt_folder f = { 0 };
    char *path = dir;
    int rc, yes = 0;

    CTT_TRY(has_clips(r, dir, &yes));
    rc = yes ? 0 : ctt_folder_read(dir, &f);
    rc = rc == CTT_EIO ? 0 : rc;    /* a folder of somebody else */
    for (int i = 0; rc >= 0 && i < f.count && !yes; i++) {
        CTT_TRY(ctt_listing_folder(r->s, dir, f.name[i], &path));
        if (path)
            CTT_TRY(has_clips(r, path, &yes));
    }
    *out = yes ? path : NULL;
out:
    ctt_folder_clear(&f);
    return rc;
}

int ctt_rows_folder(struct ctt_rows *r, char **dir)
{
    return ctt_stream_named(r->path) ? ctt_listing_join(r->s, ".", "", dir) :
                                       ctt_listing_dir(r->s, r->path, dir);
}

int ctt_rows_base(struct ctt_rows *r, char **dir)
{
    char *here, *above, *found;
    int rc;

    CTT_TRY(ctt_rows_folder(r, &here));
    CTT_TRY(ctt_listing_join(r->s, here, "..", &above));
    CTT_TRY(try_folders(r, here, &found));
    if (!found)
        CTT_TRY(try_folders(r, above, &found));
    *dir = found ? found : here;
out:
    return rc;
}

/* ---- the clips ---- */

/* Reads the part of a row. */
static int read_part(const struct ctt_rows *r, const struct ctt_row *row,
                     struct ctt_part *p)
{
    int rc = 0, count = row->unit == CTT_ROW_COUNT;

    *p = (struct ctt_part){ .kind = CTT_PART_ALL };
    if (!row->start && !row->end)
        goto out;
    CTT_CHECK(count || (row->start && row->end && *row->path &&
              ctt_part_between(row->start, row->end, row->unit, p)),
              CTT_EFORMAT, "%s:%d: not a video, start, end (later, in seconds "
              "or as #FRAME) and label; several labels are written 0|3",
              r->path, row->number);
    if (!count)
        goto out;
    p->kind = CTT_PART_FRAMES;
    CTT_CHECK(ctt_text_number(row->end, &p->count) && p->count > 0 &&
              (!row->start || ctt_text_number(row->start, &p->first)),
              CTT_EFORMAT, "%s:%d: not a folder, %snumber of frames and label",
              r->path, row->number, row->start ? "offset, " : "");
out:
    return rc;
}

/* A video that is missing, but is there without the last fields of its path,
 * has labels there. */
static int check_labels(const struct ctt_rows *r, const char *dir,
                        const struct ctt_row *row)
{
    char *copy = strpbrk(row->path, " \t,;") ? ctt_strdup(row->path) : NULL;
    const char *label = "";
    enum ctt_disk_kind k;
    int rc = copy || !strpbrk(row->path, " \t,;") ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    while (copy && label && !strchr(label, '.')) {
        CTT_TRY(ctt_row_kind(dir, copy, &k));
        CTT_CHECK(!*label || k != CTT_DISK_FILE, CTT_EFORMAT, "%s:%d: %s "
                  "behind '%s'%s", r->path, row->number, r->labelled
                  ? "several labels" : "a label that others lack", copy,
                  r->labelled ? "; a name of several words stands in quotes, "
                  "several labels are one word, 0|3, and times are seconds, "
                  "3.5" : "");
        label = k == CTT_DISK_NONE ? cut_last(copy) : NULL;
    }
out:
    ctt_free(copy);
    return rc;
}

static int add_clip(const struct ctt_rows *r, const char *dir,
                    const struct ctt_row *row)
{
    struct ctt_part part;
    char *file = NULL;
    int rc;

    CTT_TRY(read_part(r, row, &part));
    rc = find_clip(dir, row->path, &file, NULL);
    CTT_CHECK(rc != CTT_EFORMAT, rc, "%s:%d: %s", r->path, row->number,
              ctt_errmsg());
    CTT_TRY(rc);
    if (!file)
        CTT_TRY(check_labels(r, dir, row));
    CTT_TRY(ctt_listing_part(r->s, file ? "" : dir, file ? file : row->path,
                             &part, ctt_tag_class(r, &row->tag)));
    CTT_TRY(ctt_row_further(r, row));
out:
    ctt_free(file);
    return rc;
}

/* Rows of other splits are only for the background. */
int ctt_rows_paths(struct ctt_rows *r, const char *dir)
{
    struct ctt_list *list = r->s->list;
    int rc;

    CTT_TRY(ctt_rows_classes(r));
    for (int i = 0; i < r->count; i++)
        CTT_TRY(add_clip(r, dir, &r->row[i]));
    r->s->list = r->s->others;
    for (int i = 0; i < r->others && r->s->others; i++)
        CTT_TRY(add_clip(r, dir, &r->row[r->count + i]));
out:
    r->s->list = list;
    return rc;
}
