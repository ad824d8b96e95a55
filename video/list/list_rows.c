/* SPDX-License-Identifier: Apache-2.0
 * list_rows.c: lists that name videos by ids, whose files are looked for. */
#include "video/list/list_rows.h"
#include "video/disk.h"
#include "video/list/split.h"
#include "video/list/videos.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH = 3 };

/* What the file of a row may be called; %s is its id. */
static const char *const called[] = { "%s", "v_%s" /* ActivityNet */ };

int ctt_rows_add(struct ctt_rows *r, struct ctt_row **out)
{
    struct ctt_row *more = ctt_grown(r->row, &r->room, r->count,
                                     sizeof(*more));

    if (!more)
        return CTT_ENOMEM;
    r->row = more;
    *out = &r->row[r->count++];
    **out = (struct ctt_row){ .part = { .kind = CTT_PART_ALL } };
    return 0;
}

int ctt_rows_word(struct ctt_rows *r, const char *s, const char **out)
{
    int i = ctt_names_add(&r->words, s);

    *out = i < 0 ? NULL : r->words.name[i];
    return i < 0 ? i : 0;
}

void ctt_rows_clear(struct ctt_rows *r)
{
    ctt_free(r->row);
    ctt_names_clear(&r->words);
}

int ctt_row_id_is_good(const char *id)
{
    return *id && strlen(id) < CTT_STEM - 16 && !strchr(id, '/');
}

void ctt_row_stem(struct ctt_row *r, int start, int end)
{
    snprintf(r->stem, sizeof(r->stem), "%s_%06d_%06d", r->id, start, end);
}

static void name_of(const struct ctt_row *r, size_t i, char out[CTT_STEM])
{
    snprintf(out, CTT_STEM, called[i], r->id);
}

/* ---- the rows of the split ---- */

static int choose_rows(struct ctt_rows *r, const char *path, const char *split)
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
        if (r->row[i].label || !labelled)
            r->row[r->count++] = r->row[i];
out:
    return rc;
}

static int name_classes(struct ctt_listing *s, const struct ctt_rows *r)
{
    struct ctt_names n = { 0 };
    int rc = 0;

    for (int i = 0; i < r->count; i++)
        if (r->row[i].label)
            CTT_TRY(ctt_names_add(&n, r->row[i].label));
    CTT_TRY(ctt_listing_names(s, &n));
out:
    ctt_names_clear(&n);
    return rc;
}

/* ---- their videos ---- */

static int want_videos(struct ctt_videos *v, const struct ctt_rows *r)
{
    char name[CTT_STEM];
    int rc = 0;

    for (int i = 0; i < r->count; i++) {
        if (*r->row[i].stem)
            CTT_TRY(ctt_videos_want(v, r->row[i].stem));
        for (size_t k = 0; k < CTT_LEN(called); k++) {
            name_of(&r->row[i], k, name);
            CTT_TRY(ctt_videos_want(v, name));
        }
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

/* The video of a row, or NULL; *whole: it has only the part. */
static const char *find_file(const struct ctt_videos *v,
                             const struct ctt_row *r, int *whole)
{
    const char *file = *r->stem ? ctt_videos_file(v, r->stem) : NULL;
    char name[CTT_STEM];

    *whole = file != NULL;
    for (size_t k = 0; k < CTT_LEN(called) && !file; k++) {
        name_of(r, k, name);
        file = ctt_videos_file(v, name);
    }
    /* Pictures have no times. */
    *whole |= file && r->part.kind == CTT_PART_TIME && r->part.or_all &&
              ctt_disk_kind(file) == CTT_DISK_FOLDER;
    return file;
}

static int add_row(struct ctt_listing *s, const struct ctt_row *r,
                   const struct ctt_videos *v, const char *dir)
{
    int label = r->label ? ctt_names_find(&s->names, r->label) : -1, whole;
    const char *file = find_file(v, r, &whole);
    char name[CTT_STEM + 8];

    snprintf(name, sizeof(name), "%s.mp4", *r->stem ? r->stem : r->id);
    whole |= !file && *r->stem;
    return whole ? ctt_listing_add(s, file ? "" : dir, file ? file : name,
                                   label)
                 : ctt_listing_part(s, file ? "" : dir, file ? file : name,
                                    &r->part, label);
}

int ctt_rows_list(struct ctt_listing *s, struct ctt_rows *r,
                  const char *path, const char *dir)
{
    struct ctt_videos v = { 0 };
    int rc = 0;

    CTT_TRY(choose_rows(r, path, s->split));
    CTT_TRY(name_classes(s, r));
    CTT_TRY(want_videos(&v, r));
    CTT_TRY(find_videos(&v, dir));
    CTT_CHECK(v.found || !r->count, CTT_EFORMAT, "%s: there is no video of "
              "its %d clips, such as %s.mp4, in %s or below", path, r->count,
              *r->row[0].stem ? r->row[0].stem : r->row[0].id, dir);
    for (int i = 0; i < r->count; i++)
        CTT_TRY(add_row(s, &r->row[i], &v, dir));
out:
    ctt_videos_clear(&v);
    return rc;
}
