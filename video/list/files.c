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
static int fits(const char *name, const char *pattern)
{
    size_t begin = strcspn(pattern, "*"), end = strlen(pattern) - begin - 1;
    size_t n = strlen(name);

    return n >= begin + end && strncasecmp(name, pattern, begin) == 0 &&
           strcasecmp(name + n - end, pattern + begin + 1) == 0;
}

/* The file of that name in a folder, or of the first that fits. */
static int find_name(const char *dir, const char *pattern, char **out)
{
    struct ctt_folder f = { 0 };
    int rc = 0;

    if (!strchr(pattern, '*')) {
        *out = ctt_path_join(dir, pattern);
        return *out ? 0 : CTT_ENOMEM;
    }
    CTT_TRY(ctt_folder_read(dir, &f));
    for (int i = 0; i < f.count && !*out; i++)
        if (fits(f.name[i], pattern))
            CTT_TRY((*out = ctt_path_join(dir, f.name[i])) ? 0 : CTT_ENOMEM);
out:
    ctt_folder_clear(&f);
    return rc;
}

static int find_in(const struct ctt_list_files *f, const char *dir,
                   const char *split, char **out)
{
    const char *same[CTT_SPELLINGS];
    char name[NAME];
    int rc = 0;

    ctt_split_spellings(split, same);
    for (int k = 0; f->name[k]; k++)
        for (int i = 0; same[i]; i++) {
            if (snprintf(name, NAME, f->name[k], same[i]) >= NAME)
                continue;
            CTT_TRY(find_name(dir, name, out));
            rc = *out && ctt_disk_kind(*out) == CTT_DISK_FILE;
            if (rc && f->is)
                rc = f->is(*out);
            if (rc > 0)
                return 0;
            ctt_free(*out);
            *out = NULL;
            CTT_TRY(rc);
        }
out:
    return rc;
}

static int find_below(const struct ctt_list_files *f, const char *root,
                      const char *place, const char *split, char **out)
{
    char *dir = *place ? ctt_path_join(root, place) : ctt_strdup(root);
    int rc = dir ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    if (ctt_disk_kind(dir) == CTT_DISK_FOLDER)
        CTT_TRY(find_in(f, dir, split, out));
out:
    ctt_free(dir);
    return rc;
}

static int find_in_folders(const struct ctt_list_files *f, const char *root,
                           const char *split, char **out)
{
    struct ctt_folder all = { 0 };
    int rc;

    CTT_TRY(ctt_folder_read(root, &all));
    for (int i = 0; i < all.count && !*out; i++)
        CTT_TRY(find_below(f, root, all.name[i], split, out));
out:
    ctt_folder_clear(&all);
    return rc;
}

int ctt_list_file(const struct ctt_list_files *f, const char *root,
                  const char *split, char **out)
{
    int rc = 0;

    *out = NULL;
    for (int i = 0; f->place[i] && !*out; i++)
        CTT_TRY(*f->place[i] == '*' ?
                find_in_folders(f, root, split, out) :
                find_below(f, root, f->place[i], split, out));
out:
    return rc;
}

int ctt_list_split_file(const struct ctt_listing *s,
                        const struct ctt_list_files *f, char **out)
{
    static const char *const splits[] = { "train", "validation", "test" };
    char *other = NULL, name[NAME];
    int rc;

    CTT_TRY(ctt_list_file(f, s->path, s->split, out));
    if (!*out && f->test_validates && ctt_split_number(s->split) == 1)
        CTT_TRY(ctt_list_file(f, s->path, "test", out));
    for (size_t i = 0; i < CTT_LEN(splits) && !*out && !other; i++)
        CTT_TRY(ctt_list_file(f, s->path, splits[i], &other));
    snprintf(name, NAME, f->name[0], s->split);
    CTT_CHECK(!other, CTT_EINVAL, "%s: no %s in it", s->path, name);
    rc = 0;
out:
    ctt_free(other);
    return rc;
}
