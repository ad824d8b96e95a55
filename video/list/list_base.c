/* SPDX-License-Identifier: Apache-2.0
 * list_base.c: the folder that the paths in a list are relative to. */
#include "video/list/list_text.h"
#include "video/disk.h"
#include "video/list/videos.h"

#include <string.h>

enum { COLUMNS = 4 };

int ctt_lines_kind(const struct ctt_lines *t, const char *s,
                   enum ctt_disk_kind *out)
{
    char *path = ctt_path_join(t->dir, s), *all = NULL, *file = NULL;
    struct ctt_part part;
    int rc = path ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    *out = CTT_DISK_NONE;
    rc = ctt_part_of(path, &all, &part);
    if (rc == CTT_EFORMAT) {
        rc = 0;    /* list_text.c says it of the line */
        goto out;
    }
    CTT_TRY(rc);
    *out = ctt_disk_kind(all);
    CTT_TRY(ctt_videos_beside(all, &file));
    *out = rc ? CTT_DISK_FILE : *out;
    rc = 0;
out:
    ctt_free(path);
    ctt_free(all);
    ctt_free(file);
    return rc;
}

/* 1 if a path at the beginning of the line exists below dir. */
static int starts_with_path(const char *dir, const char *line, int *yes)
{
    const struct ctt_lines t = { .dir = (char *)(uintptr_t)dir };
    char *copy = ctt_strdup(line), *sep;
    int rc = copy ? 0 : CTT_ENOMEM;
    enum ctt_disk_kind k;

    *yes = 0;
    CTT_TRY(rc);
    for (int i = 0; i < COLUMNS && !*yes; i++) {
        CTT_TRY(ctt_lines_kind(&t, copy, &k));
        *yes = *copy && k != CTT_DISK_NONE;
        sep = copy + strlen(copy);
        while (sep > copy && (!*sep || !strchr(" \t,;", *sep)))
            sep--;
        *sep = 0;
        ctt_text_trim(copy);
    }
out:
    ctt_free(copy);
    return rc;
}

/* Makes dir the base of the list if it contains one of the first clips. */
static int try_base(struct ctt_lines *t, const char *dir, int *found)
{
    int rc = 0;

    for (int i = 0; i < t->count && i < CTT_LINES_TRIED && !*found; i++)
        CTT_TRY(starts_with_path(dir, t->line[i].path, found));
    if (*found) {
        char *copy = ctt_strdup(dir);
        CTT_TRY(copy ? 0 : CTT_ENOMEM);
        ctt_free(t->dir);
        t->dir = copy;
    }
out:
    return rc;
}

/* Tries the folders in dir. */
static int try_folders(struct ctt_lines *t, const char *dir, int *found)
{
    struct ctt_folder f = { 0 };
    char *path = NULL;
    int rc;

    rc = ctt_folder_read(dir, &f);
    if (rc == CTT_EIO)
        return 0;
    CTT_TRY(rc);
    for (int i = 0; i < f.count && !*found; i++) {
        path = ctt_path_join(dir, f.name[i]);
        CTT_TRY(path ? 0 : CTT_ENOMEM);
        if (ctt_disk_kind(path) == CTT_DISK_FOLDER)
            CTT_TRY(try_base(t, path, found));
        ctt_free(path);
        path = NULL;
    }
out:
    ctt_free(path);
    ctt_folder_clear(&f);
    return rc;
}

int ctt_lines_base(struct ctt_lines *t)
{
    char *here = ctt_strdup(t->dir), *above = ctt_path_join(t->dir, "..");
    int rc = here && above ? 0 : CTT_ENOMEM, found = 0;

    CTT_TRY(rc);
    CTT_TRY(try_base(t, here, &found));
    if (!found)
        CTT_TRY(try_folders(t, here, &found));
    if (!found)
        CTT_TRY(try_base(t, above, &found));
    if (!found)
        CTT_TRY(try_folders(t, above, &found));
out:
    ctt_free(here);
    ctt_free(above);
    return rc;
}
