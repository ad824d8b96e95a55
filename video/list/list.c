/* SPDX-License-Identifier: Apache-2.0
 * list.c: lists clips and labels: detects the layout of a data set and reads
 * it. */
#include "video/list/list.h"
#include "base/newfile.h"
#include "video/disk.h"
#include "video/list/files.h"
#include "video/part.h"

#include <string.h>

/* The lists of data sets as they are published, in a folder. */
static const struct ctt_list_files published[] = {
    /* Something-Something V2 */
    { .place = { "", "labels", "annotations", ".." },
      .name = { "%s.json", "something-something-v2-%s.json" },
      .is = ctt_list_something_is },
    /* ActivityNet */
    { .place = { "" }, .name = { "activity_net*.json" } },
    /* Diving48: the second version has corrected labels.  There are no clips
     * for validation: that is "test", unless somebody made a list of some. */
    { .place = { "", "annotations" },
      .name = { "Diving48_V2_%s.json", "Diving48*_%s.json" },
      .test_validates = 1 },
    /* Kinetics */
    { .place = { "", "annotations" },
      .name = { "%s.csv", "kinetics_%s.csv", "kinetics400_%s.csv",
                "kinetics600_%s.csv", "kinetics700_%s.csv" },
      .is = ctt_list_kinetics_is },
};

/* A list of one of the two kinds of files. */
static int read_list(struct ctt_listing *s, const char *path, const char *dir)
{
    int rc;

    CTT_TRY(strcmp(ctt_path_ending(path), ".json") == 0 ?
            ctt_list_json(s, path, dir) : ctt_list_text(s, path, dir));
    rc = 1;
out:
    return rc;
}

static int read_published(struct ctt_listing *s)
{
    char *path = NULL;
    int rc = 0;

    for (size_t i = 0; i < CTT_LEN(published) && !path; i++) {
        CTT_TRY(ctt_list_split_file(s, &published[i], &path));
        s->parted = path && strchr(published[i].name[0], '%');
    }
    if (path)
        rc = read_list(s, path, s->path);
out:
    return rc;
}

static int read_file(struct ctt_listing *s)
{
    char *dir;
    int rc;

    if (strcmp(ctt_path_ending(s->path), ".json") != 0 &&
        !ctt_list_text_is(s->path))
        return 0;
    CTT_TRY(ctt_listing_dir(s, s->path, &dir));
    CTT_TRY(read_list(s, s->path, dir));
out:
    return rc;
}

/* The last resort: path itself is a clip. */
static int single_clip(struct ctt_listing *s)
{
    int rc;

    s->list->form = "a clip";
    CTT_TRY(ctt_listing_add(s, "", s->path, -1));
    rc = 1;
out:
    return rc;
}

/* The readers of layouts that a folder may have; the first that returns 1 has
 * read it. */
static int (*const folder_forms[])(struct ctt_listing *) = {
    ctt_list_pictures, read_published, ctt_list_hmdb, ctt_list_ucf,
    ctt_list_class,
};

/* And of files. */
static int (*const file_forms[])(struct ctt_listing *) = {
    ctt_list_hmdb, read_file, single_clip,
};

/* Whether the path is the part of a file or folder that is there. */
static int is_part(const char *path, int *yes)
{
    struct ctt_part p;
    char *file = NULL;
    int rc;

    CTT_TRY(ctt_part_of(path, &file, &p));
    *yes = strcmp(file, path) != 0 && ctt_disk_kind(file) != CTT_DISK_NONE;
out:
    ctt_free(file);
    return rc;
}

static int read_listing(struct ctt_listing *s)
{
    enum ctt_disk_kind kind = ctt_disk_kind(s->path);
    const char *special = ctt_disk_special(s->path);
    int folder = kind == CTT_DISK_FOLDER, pipe = ctt_stream_is(s->path);
    size_t n = folder ? CTT_LEN(folder_forms) : CTT_LEN(file_forms);
    int part = 0, rc = 0;

    if (kind == CTT_DISK_NONE)
        CTT_TRY(is_part(s->path, &part));
    CTT_CHECK(kind != CTT_DISK_NONE || part || pipe, CTT_EIO,
              "%s: no such file or folder", s->path);
    CTT_CHECK(!special || pipe, CTT_EIO, "%s: %s, not a clip, a list or a "
              "folder", s->path, special);
    for (size_t i = 0; i < n && rc == 0; i++)
        CTT_TRY((folder ? folder_forms : file_forms)[i](s));
    CTT_CHECK(s->list->count > 0 || !s->parted, CTT_EINVAL, "%s: no clips in "
              "split '%s'; --split takes another", s->path, s->split);
    CTT_CHECK(s->list->count > 0, CTT_EINVAL, "%s: no clips in it", s->path);
out:
    return rc;
}

/* 1 if the name is among those of a model's classes. */
static int has_class(const struct ctt_list_want *w, const char *name)
{
    for (int i = 0; w->known && i < w->nknown; i++)
        if (strcmp(w->known[i], name) == 0)
            return 1;
    return 0;
}

int ctt_list_find(const char *path, const struct ctt_list_want *w,
                  struct ctt_list **out)
{
    struct ctt_listing s = { .path = path, .fps = w->fps, .own = w->own,
                             .need = w->need,
                             .split = w->split ? w->split : "train" };
    int rc = 0;

    s.list = ctt_calloc(1, sizeof(*s.list));
    if (w->background)
        s.others = ctt_calloc(1, sizeof(*s.others));
    CTT_TRY(s.list && (s.others || !w->background) ? 0 : CTT_ENOMEM);
    CTT_TRY(read_listing(&s));
    CTT_CHECK(s.parted || !s.need, CTT_ENOSPLIT, "%s: no split '%s', as it has "
              "no splits; all its clips are one set", path, s.split);
    s.list->parted = s.parted;
    CTT_TRY(ctt_listing_rate(&s));
    if (w->background)
        CTT_TRY(ctt_listing_background(&s, w->background,
                                       !has_class(w, w->background)));
    CTT_TRY(ctt_listing_fit(&s, w->known, w->nknown, w->subset));
    *out = s.list;
    s.list = NULL;
out:
    ctt_listing_clear(&s);
    ctt_list_free(&s.list);
    ctt_list_free(&s.others);
    return rc;
}

int ctt_list_open(const char *path, const char *split, char *const *known,
                  int nknown, const char *subset, struct ctt_list **out)
{
    const struct ctt_list_want w = { .split = split, .known = known,
                                     .nknown = nknown, .subset = subset };

    return ctt_list_find(path, &w, out);
}
