/* SPDX-License-Identifier: Apache-2.0
 * list_rows.c: lists that name videos by ids, whose files are looked for. */
#include "video/list/list_rows.h"
#include "video/disk.h"
#include "video/list/split.h"
#include "video/list/videos.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { NAME = CTT_STEM + 32 };

int ctt_rows_add(struct ctt_rows *r, const char *id, struct ctt_row **out)
{
    struct ctt_row *more = ctt_grown(r->row, &r->room, r->count,
                                     sizeof(*more));

    if (!more)
        return CTT_ENOMEM;
    r->row = more;
    *out = &r->row[r->count++];
    **out = (struct ctt_row){ .id = id, .from = -1,
                              .part = { .kind = CTT_PART_ALL } };
    return 0;
}

int ctt_rows_word(struct ctt_rows *r, const char *s, const char **out)
{
    *out = ctt_pool_add(&r->texts, s);
    return *out ? 0 : CTT_ENOMEM;
}

void ctt_rows_clear(struct ctt_rows *r)
{
    ctt_free(r->row);
    ctt_pool_clear(&r->texts);
}

int ctt_row_id_is_good(const char *id)
{
    return *id && strlen(id) < CTT_STEM && !strchr(id, '/');
}

/* The names that the file of a row may have: number 0 is that of a file that is
 * only the part.  Returns 0 behind the last one. */
static int name_of(const struct ctt_layout *l, const struct ctt_row *r, int i,
                   char out[NAME])
{
    *out = 0;
    if (i > 2 || (i > 0 && !l->prefix[i - 1]))
        return 0;
    if (i > 0)
        snprintf(out, NAME, "%s%s", l->prefix[i - 1], r->id);
    else if (r->from >= 0)
        snprintf(out, NAME, "%s_%06d_%06d", r->id, r->from, r->to);
    return 1;
}

/* ---- the rows of the split ---- */

static int choose_rows(struct ctt_rows *r, const struct ctt_layout *l,
                       const char *path, const char *split)
{
    int rc = 0, n = r->count, labelled = 0;

    r->count = ctt_split_rows(r->row, n, sizeof(*r->row),
                              offsetof(struct ctt_row, split), split);
    CTT_CHECK(r->count || !n, CTT_EINVAL, "%s: no clip of the split '%s'",
              path, split);
    for (int i = 0; i < r->count; i++)
        labelled |= r->row[i].label != NULL;
    n = r->count;
    r->count = 0;
    for (int i = 0; i < n; i++)
        if (r->row[i].label || !labelled || l->unlabelled)
            r->row[r->count++] = r->row[i];
out:
    return rc;
}

static int name_classes(struct ctt_listing *s, const struct ctt_rows *r)
{
    struct ctt_names n = { 0 };
    int rc = 0;

    for (int i = 0; i < r->count && !s->names.count; i++)
        if (r->row[i].label)
            CTT_TRY(ctt_names_add(&n, r->row[i].label));
    CTT_TRY(ctt_listing_names(s, &n));
out:
    ctt_names_clear(&n);
    return rc;
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
                      const char *dir, char **first)
{
    char *path = NULL;
    int rc = 0;

    for (int i = 0; l->place[i]; i++) {
        path = *l->place[i] ? ctt_path_join(dir, l->place[i])
                            : ctt_strdup(dir);
        CTT_TRY(path ? 0 : CTT_ENOMEM);
        CTT_TRY(ctt_videos_find(v, path, l->depth));
        if (!*first && ctt_disk_kind(path) == CTT_DISK_FOLDER) {
            *first = path;
            path = NULL;
        }
        ctt_free(path);
        path = NULL;
    }
out:
    ctt_free(path);
    return rc;
}

/* Looks below the list's folder, and beside it if it holds only lists. */
static int find_videos(struct ctt_videos *v, const struct ctt_layout *l,
                       const char *dir, char **first)
{
    static const char *const lists[] = { "annotations", "annotation",
                                         "labels", "lists", "csv", "splits" };
    char *above = NULL;
    int rc, beside = 0;

    CTT_TRY(find_below(v, l, dir, first));
    for (size_t i = 0; i < CTT_LEN(lists); i++)
        beside |= strcmp(ctt_path_base(dir), lists[i]) == 0;
    if (v->found || !beside || l->may_miss)
        goto out;
    above = ctt_path_join(dir, "..");
    CTT_TRY(above ? 0 : CTT_ENOMEM);
    CTT_TRY(find_below(v, l, above, first));
out:
    ctt_free(above);
    return rc;
}

/* The video of a row, or NULL; *whole: the clip is all of it. */
static const char *find_file(const struct ctt_videos *v,
                             const struct ctt_layout *l,
                             const struct ctt_row *r, int *whole)
{
    const char *file = NULL;
    char name[NAME];
    int k;

    for (k = 0; !file && name_of(l, r, k, name); k++)
        file = *name ? ctt_videos_file(v, name) : NULL;
    *whole = file ? k == 1 : r->from >= 0;
    /* Pictures have no times. */
    *whole |= file && r->part.kind == CTT_PART_TIME && r->part.or_all &&
              ctt_disk_kind(file) == CTT_DISK_FOLDER;
    return file;
}

/* The name of the video of a row if it is missing. */
static const char *missing(const struct ctt_layout *l, const struct ctt_row *r,
                           char name[NAME])
{
    if (r->file)
        return r->file;
    if (r->from >= 0)
        name_of(l, r, 0, name);
    else
        snprintf(name, NAME, "%s", r->id);
    snprintf(name + strlen(name), NAME - strlen(name), "%s", l->extension);
    return name;
}

static int add_row(struct ctt_listing *s, const struct ctt_row *r,
                   const struct ctt_videos *v, const struct ctt_layout *l,
                   const char *dir)
{
    static const struct ctt_part all = { .kind = CTT_PART_ALL };
    int label = r->label ? ctt_names_find(&s->names, r->label) : -1, whole;
    const char *file = find_file(v, l, r, &whole);
    char name[NAME];

    return ctt_listing_part(s, file ? "" : dir, file ? file : missing(l, r,
                            name), whole ? &all : &r->part, label);
}

int ctt_rows_list(struct ctt_listing *s, struct ctt_rows *r,
                  const struct ctt_layout *l, const char *path,
                  const char *dir)
{
    struct ctt_videos v = { 0 };
    char *first = NULL, name[NAME];
    int rc = 0;

    CTT_TRY(choose_rows(r, l, path, s->split));
    CTT_TRY(name_classes(s, r));
    CTT_TRY(want_videos(&v, l, r));
    CTT_TRY(find_videos(&v, l, dir, &first));
    CTT_CHECK(v.found || !r->count || l->may_miss, CTT_EFORMAT, "%s: there is "
              "no video of its %d clips, such as %s, in %s or below", path,
              r->count, missing(l, r->row, name), dir);
    for (int i = 0; i < r->count; i++)
        CTT_TRY(add_row(s, &r->row[i], &v, l, first ? first : dir));
    s->list->form = l->form;
    rc = 1;
out:
    ctt_videos_clear(&v);
    ctt_free(first);
    return rc;
}
