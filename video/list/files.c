/* SPDX-License-Identifier: Apache-2.0
 * files.c: finds the lists of a data set in its folder. */
#include "video/list/files.h"
#include "video/disk.h"
#include "video/list/split.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME = 256 };

/* 1 if a name has the beginning and the end of "BEGIN*END". */
static int fits_pattern(const char *name, const char *pattern)
{
    size_t begin = strcspn(pattern, "*"), end = strlen(pattern) - begin - 1;
    size_t n = strlen(name);

    return n >= begin + end && strncasecmp(name, pattern, begin) == 0 &&
           strcasecmp(name + n - end, pattern + begin + 1) == 0;
}

/* The file of that name in a folder, or of the first that fits; NULL: none. */
static int find_name(struct ctt_listing *s, const char *dir,
                     const char *pattern, char **out)
{
    const char *name = strchr(pattern, '*') ? NULL : pattern;
    struct ctt_folder f = { 0 };
    int rc = 0;

    if (!name)
        CTT_TRY(ctt_folder_read(dir, &f));
    for (int i = 0; i < f.count && !name; i++)
        name = fits_pattern(f.name[i], pattern) ? f.name[i] : NULL;
    *out = NULL;
    if (name)
        CTT_TRY(ctt_listing_join(s, dir, name, out));
out:
    ctt_folder_clear(&f);
    return rc;
}

static int find_in(struct ctt_listing *s, const struct ctt_list_files *f,
                   const char *dir, const char *split, char **out)
{
    const char *same[CTT_SPELLINGS];
    char name[NAME], *path;
    int rc = 0;

    ctt_split_spellings(split, same);
    for (int k = 0; f->name[k]; k++)
        for (int i = 0; same[i]; i++) {
            if (snprintf(name, NAME, f->name[k], same[i]) >= NAME)
                continue;
            CTT_TRY(find_name(s, dir, name, &path));
            if (!path || ctt_disk_kind(path) != CTT_DISK_FILE)
                continue;
            CTT_TRY(f->is ? f->is(s, path) : 1);
            if (rc == 0)
                continue;
            *out = path;
            return 0;
        }
out:
    return rc;
}

/* 1 if the first entry of a folder is a file. */
static int starts_with_file(const char *dir, int *yes)
{
    struct ctt_folder f = { 0 };
    char *path = NULL;
    int rc;

    CTT_TRY(ctt_folder_read(dir, &f));
    if (f.count)
        CTT_TRY((path = ctt_path_join(dir, f.name[0])) ? 0 : CTT_ENOMEM);
    *yes = path && ctt_disk_kind(path) == CTT_DISK_FILE;
out:
    ctt_folder_clear(&f);
    ctt_free(path);
    return rc;
}

static int find_below(struct ctt_listing *s, const struct ctt_list_files *f,
                      const char *root, const char *place, const char *split,
                      char **out)
{
    struct ctt_folder all = { 0 };
    int rc = 0, each = *place == '*', yes = 1;
    char *dir;

    if (each)
        CTT_TRY(ctt_folder_read(root, &all));
    for (int i = 0; i < all.count && !*out; i++)
        CTT_TRY(find_below(s, f, root, all.name[i], split, out));
    if (each)
        goto out;
    if (strcmp(place, "..") == 0)
        CTT_TRY(starts_with_file(root, &yes));
    CTT_TRY(ctt_listing_folder(s, root, place, &dir));
    if (dir && yes)
        CTT_TRY(find_in(s, f, dir, split, out));
out:
    ctt_folder_clear(&all);
    return rc;
}

int ctt_list_file(struct ctt_listing *s, const struct ctt_list_files *f,
                  const char *root, const char *split, char **out)
{
    int rc = 0;

    *out = NULL;
    for (int i = 0; f->place[i] && !*out; i++)
        CTT_TRY(find_below(s, f, root, f->place[i], split, out));
out:
    return rc;
}

int ctt_list_split_file(struct ctt_listing *s,
                        const struct ctt_list_files *f, char **out)
{
    static const char *const others[] = { "train", "validation", "test",
                                          "labels" };
    char *other = NULL, name[NAME];
    int rc;

    CTT_TRY(ctt_list_file(s, f, s->path, s->split, out));
    if (!*out && f->test_validates && ctt_split_number(s->split) == 1)
        CTT_TRY(ctt_list_file(s, f, s->path, "test", out));
    for (size_t i = 0; i < CTT_LEN(others) && !*out && !other; i++)
        CTT_TRY(ctt_list_file(s, f, s->path, others[i], &other));
    snprintf(name, NAME, f->name[0], s->split);
    CTT_CHECK(!other, CTT_ENOSPLIT, "%s: no %s in it", s->path, name);
    rc = 0;
out:
    return rc;
}
