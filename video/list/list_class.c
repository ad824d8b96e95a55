/* SPDX-License-Identifier: Apache-2.0
 * list_class.c: clips in one folder per class. */
#include "video/list/list.h"
#include "base/limits.h"
#include "base/warn.h"
#include "video/disk.h"
#include "video/list/split.h"
#include "video/list/videos.h"
#include "video/pictures.h"

#include <stdatomic.h>
#include <string.h>

/* KTH (Schuldt et al. 2004): all persons, and those for training when frames
 * are predicted (Villegas et al. 2017). */
enum { PERSONS = 25, TRAINED = 16 };

static const char *const splits[] = { "train", "validation", "test" };

/* The names of a folder's subfolders, and the number of clips beside them. */
static int read_classes(struct ctt_listing *s, const char *dir,
                        struct ctt_names *out, int *files)
{
    struct ctt_folder f = { 0 };
    char *path;
    int rc = 0;

    *files = 0;
    CTT_TRY(ctt_folder_read(dir, &f));
    for (int i = 0; i < f.count; i++) {
        CTT_TRY(ctt_listing_folder(s, dir, f.name[i], &path));
        if (path)
            CTT_TRY(ctt_names_add(out, f.name[i]));
        else
            *files += !ctt_no_clip(f.name[i]);
        CTT_CHECK(out->count <= ctt_limits()->classes, CTT_EFORMAT,
                  "%s: more than %d folders, each of which would be a class",
                  dir, ctt_limits()->classes);
    }
    rc = 0;
out:
    ctt_folder_clear(&f);
    return rc;
}

/* Each file is a clip, and so is each folder, of pictures. */
static int add_clips(struct ctt_listing *s, const char *dir, int label)
{
    struct ctt_folder f = { 0 };
    int rc;

    CTT_TRY(ctt_folder_read(dir, &f));
    for (int i = 0; i < f.count; i++)
        if (!ctt_no_clip(f.name[i]))
            CTT_TRY(ctt_listing_add(s, dir, f.name[i], label));
out:
    ctt_folder_clear(&f);
    return rc;
}

/* Returns 1 if the class has clips. */
static int add_class(struct ctt_listing *s, const char *dir, const char *name)
{
    int rc, before = s->list->count, label;
    char *path;

    CTT_TRY(ctt_listing_join(s, dir, name, &path));
    CTT_TRY(label = ctt_names_add(&s->names, name));
    CTT_TRY(add_clips(s, path, label));
    rc = s->list->count > before;
out:
    return rc;
}

/* Folders without clips are no classes of a training. */
static int drop_classes(struct ctt_listing *s, const char *dir,
                        const struct ctt_names *empty)
{
    struct ctt_names left = { 0 };
    int rc = 0;

    for (int i = 0; i < s->names.count; i++)
        if (ctt_names_find(empty, s->names.name[i]) < 0)
            CTT_TRY(ctt_names_add(&left, s->names.name[i]));
    for (int i = 0; i < s->list->count; i++) {
        int *label = &s->list->item[i].label;

        *label = ctt_names_find(&left, s->names.name[*label]);
    }
    if (left.count)
        ctt_warn("%s: %d folder%s without clips %s no class%s: %s%s", dir,
                 empty->count, empty->count > 1 ? "s" : "",
                 empty->count > 1 ? "are" : "is", empty->count > 1 ? "es" : "",
                 empty->name[0], empty->count > 1 ? ", ..." : "");
    ctt_names_clear(&s->names);
    s->names = left;
    left = (struct ctt_names){ 0 };
    rc = 0;
out:
    ctt_names_clear(&left);
    return rc;
}

/* The subfolder named like the split, in any spelling, or NULL. */
static const char *find_name(const struct ctt_names *n, const char *split)
{
    const char *same[CTT_SPELLINGS];

    ctt_split_spellings(split, same);
    for (int i = 0; same[i]; i++)
        if (ctt_names_find(n, same[i]) >= 0)
            return same[i];
    return NULL;
}

/* The same, *out NULL unless it is a split: it has folders of its own, or there
 * is another split.  A class may be called "test", too. */
static int find_split(struct ctt_listing *s, const struct ctt_names *top,
                      const char *split, const char **out)
{
    const char *name = find_name(top, split);
    struct ctt_names here = { 0 };
    int rc = 0, files, named = 0;
    char *path;

    for (size_t i = 0; i < CTT_LEN(splits); i++)
        named += find_name(top, splits[i]) != NULL;
    if (name && named < 2) {
        CTT_TRY(ctt_listing_join(s, s->path, name, &path));
        CTT_TRY(read_classes(s, path, &here, &files));
        name = here.count ? name : NULL;
    }
    *out = name;
out:
    ctt_names_clear(&here);
    return rc;
}

/* Collects the classes of all splits, so that all have the same numbers. */
static int all_classes(struct ctt_listing *s, const struct ctt_names *top)
{
    struct ctt_names all = { 0 };
    int rc = 0, files;
    char *path;

    for (size_t i = 0; i < CTT_LEN(splits); i++) {
        const char *name = find_name(top, splits[i]);
        if (!name)
            continue;
        CTT_TRY(ctt_listing_join(s, s->path, name, &path));
        CTT_TRY(read_classes(s, path, &all, &files));
    }
    CTT_TRY(ctt_listing_names(s, &all));
out:
    ctt_names_clear(&all);
    return rc;
}

static int add_classes(struct ctt_listing *s, const char *dir, int train)
{
    struct ctt_names here = { 0 }, empty = { 0 };
    int rc, files;

    CTT_TRY(read_classes(s, dir, &here, &files));
    for (int i = 0; i < here.count; i++) {
        CTT_TRY(add_class(s, dir, here.name[i]));
        if (rc == 0)
            CTT_TRY(ctt_names_add(&empty, here.name[i]));
    }
    rc = 0;
    if (train && empty.count)
        CTT_TRY(drop_classes(s, dir, &empty));
out:
    ctt_names_clear(&here);
    ctt_names_clear(&empty);
    return rc;
}

/* The number NN in a name that contains personNN_, as in KTH, or 0. */
static int person_of(const char *name)
{
    int n = 0;

    for (const char *p = name; n == 0 && (p = strstr(p, "person")) != NULL;) {
        p += 6;
        if (p[0] >= '0' && p[0] <= '9' && p[1] >= '0' && p[1] <= '9' &&
            p[2] == '_')
            n = 10 * (p[0] - '0') + p[1] - '0';
    }
    return n;
}

/* Keeps the persons of the split, or all clips if this is not KTH. */
static int take_persons(struct ctt_listing *s)
{
    int part = ctt_split_number(s->split), n = 0;
    struct ctt_list *l = s->list;

    for (int i = 0; i < l->count; i++) {
        int person = person_of(l->item[i].id);
        if (person < 1 || person > PERSONS || part < 0)
            return 0;
    }
    for (int i = 0; i < l->count; i++)
        if ((person_of(l->item[i].id) > TRAINED) == (part > 0))
            l->item[n++] = l->item[i];
    if (l->count > 0 && n == 0)
        return ctt_error(CTT_ENOSPLIT, "%s: no clip of persons %d to %d, "
                         "who are '%s'", s->path, part ? TRAINED + 1 : 1,
                         part ? PERSONS : TRAINED, s->split);
    l->count = n;
    s->parted = n > 0;
    return 0;
}

/* The folders are classes, not splits, of which none is the one asked for. */
static int add_unsplit(struct ctt_listing *s, const struct ctt_names *top)
{
    int train = strncmp(s->split, "train", 5) == 0, rc = 0;
    const char *other;

    for (size_t i = 0; i < CTT_LEN(splits); i++) {
        CTT_TRY(find_split(s, top, splits[i], &other));
        CTT_CHECK(!other, CTT_ENOSPLIT, "%s: no folder '%s' in it, but '%s'",
                  s->path, s->split, other);
    }
    CTT_TRY(add_classes(s, s->path, train));
    CTT_TRY(take_persons(s));
out:
    return rc;
}

/* The folder of the split has classes, or clips without a class. */
static int add_split(struct ctt_listing *s, const struct ctt_names *top,
                     const char *name)
{
    int rc, files, train = strncmp(name, "train", 5) == 0;
    struct ctt_names here = { 0 };
    char *path;

    s->parted = 1;
    CTT_TRY(all_classes(s, top));
    CTT_TRY(ctt_listing_join(s, s->path, name, &path));
    CTT_TRY(read_classes(s, path, &here, &files));
    CTT_TRY(here.count ? add_classes(s, path, train) : add_clips(s, path, -1));
    CTT_CHECK(s->list->count, CTT_ENOSPLIT, "%s: no clips in '%s'", s->path,
              name);
out:
    ctt_names_clear(&here);
    return rc;
}

/* A picture among videos is hardly meant to be a clip. */
static void tell_pictures(const struct ctt_listing *s)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const struct ctt_list *l = s->list;
    const char *one = NULL;
    int n = 0;

    for (int i = 0; i < l->count; i++)
        if (ctt_pictures_is_one(l->item[i].path)) {
            one = l->item[i].path;
            n++;
        }
    if (n && n < l->count && !atomic_flag_test_and_set(&told))
        ctt_warn("%s: %d of %d clips %s picture%s among videos, as %s; each is "
                 "a clip of one frame (said once)", s->path, n, l->count,
                 n > 1 ? "are" : "is a", ctt_s(n), one);
}

int ctt_list_class(struct ctt_listing *s)
{
    struct ctt_names top = { 0 };
    const char *name;
    int rc, files;

    CTT_TRY(read_classes(s, s->path, &top, &files));
    CTT_CHECK(top.count || files, CTT_EFORMAT, "%s: no clips in it", s->path);
    CTT_TRY(find_split(s, &top, s->split, &name));
    if (name) {
        CTT_TRY(add_split(s, &top, name));
    } else if (top.count == 0) {
        CTT_TRY(add_clips(s, s->path, -1));
        CTT_TRY(take_persons(s));
    } else {
        CTT_TRY(add_unsplit(s, &top));
    }
    s->list->form = top.count ? "a folder per class" : "a folder of clips";
    tell_pictures(s);
    rc = 1;
out:
    ctt_names_clear(&top);
    return rc;
}
