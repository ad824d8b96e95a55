/* SPDX-License-Identifier: Apache-2.0
 * videos.c: finds the files of clips that a list names without folder or
 * extension. */
#include "video/list/videos.h"
#include "video/disk.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* NAME: longer ones are not wanted by any list. */
enum { NAME = 512, PATH = 4096 };

int ctt_no_clip(const char *name)
{
    static const char *const ending[] = { ".txt", ".json", ".csv", ".md",
        ".xml", ".py", ".db", ".ini", ".zip", ".tar", ".gz" };

    for (size_t i = 0; i < CTT_LEN(ending); i++)
        if (strcasecmp(ctt_path_ending(name), ending[i]) == 0)
            return 1;
    return strcmp(name, "LICENSE") == 0 || strcmp(name, "README") == 0;
}

/* Of videos; other texts behind a dot, as in v.1, belong to the name. */
static const char *const ending[] = { ".mp4", ".webm", ".avi", ".mkv", ".mov",
    ".m4v", ".mpg", ".mpeg", ".wmv", ".flv", ".ts", ".3gp", ".ogv", ".MP4",
    ".AVI", ".MOV" };

static int has_ending(const char *path)
{
    for (size_t i = 0; i < CTT_LEN(ending); i++)
        if (strcmp(ctt_path_ending(path), ending[i]) == 0)
            return 1;
    return 0;
}

int ctt_videos_beside(const char *path, char **out)
{
    char file[PATH];
    size_t n = strlen(path);
    int rc = 0, found = -1;

    if (has_ending(path) || n + 8 > sizeof(file) ||
        ctt_disk_kind(path) != CTT_DISK_NONE)
        return 0;
    memcpy(file, path, n);
    for (int i = 0; i < (int)CTT_LEN(ending); i++) {
        snprintf(file + n, 8, "%s", ending[i]);
        if (ctt_disk_kind(file) != CTT_DISK_FILE)
            continue;
        CTT_CHECK(found < 0, CTT_EFORMAT, "%s: is %s%s or %s; name one", path,
                  path, ending[found], file);
        found = i;
    }
    if (found < 0)
        goto out;
    snprintf(file + n, 8, "%s", ending[found]);
    *out = ctt_strdup(file);
    rc = *out ? 1 : CTT_ENOMEM;
out:
    return rc;
}

int ctt_videos_want(struct ctt_videos *v, const char *name)
{
    char **more = ctt_grown(v->file, &v->room, v->wanted.count, sizeof(*more));
    int rc, before = v->wanted.count;

    if (!more)
        return CTT_ENOMEM;
    v->file = more;
    rc = ctt_names_add(&v->wanted, name);
    if (rc == before)
        v->file[rc] = NULL;
    return rc < 0 ? rc : 0;
}

/* The number of the wanted clip that an entry of the folder `parent` is, as
 * it is called or without its extension; -1: none. */
static int wanted(const struct ctt_videos *v, const char *parent,
                  const char *entry)
{
    size_t cut[2] = { strlen(entry),
                      strlen(entry) - strlen(ctt_path_ending(entry)) };
    char name[NAME];
    int i = -1;

    if (ctt_no_clip(entry))
        return -1;
    for (int k = 0; k < 2 && i < 0; k++) {
        int n = snprintf(name, sizeof(name), "%s/%.*s", parent, (int)cut[k],
                         entry);
        if (n < 0 || n >= (int)sizeof(name))
            continue;
        i = ctt_names_find(&v->wanted, name);
        if (i < 0)
            i = ctt_names_find(&v->wanted, name + strlen(parent) + 1);
    }
    return i;
}

static int find_entry(struct ctt_videos *v, const char *dir,
                      const char *entry, int depth)
{
    int i = wanted(v, ctt_path_base(dir), entry), rc = 0;
    char *path = NULL;

    if (i < 0 ? depth == 0 : v->file[i] != NULL)
        return 0;
    path = ctt_path_join(dir, entry);
    CTT_TRY(path ? 0 : CTT_ENOMEM);
    if (i >= 0) {
        v->file[i] = path;
        v->found++;
        return 0;
    }
    rc = ctt_videos_find(v, path, depth - 1);
    rc = rc == CTT_EIO ? 0 : rc;    /* a folder of somebody else */
out:
    ctt_free(path);
    return rc;
}

int ctt_videos_find(struct ctt_videos *v, const char *dir, int depth)
{
    struct ctt_folder f = { 0 };
    int rc = 0;

    if (ctt_disk_kind(dir) != CTT_DISK_FOLDER)
        return 0;
    CTT_TRY(ctt_folder_read(dir, &f));
    for (int i = 0; i < f.count; i++)
        CTT_TRY(find_entry(v, dir, f.name[i], depth));
out:
    ctt_folder_clear(&f);
    return rc;
}

const char *ctt_videos_file(const struct ctt_videos *v, const char *name)
{
    int i = ctt_names_find(&v->wanted, name);

    return i >= 0 ? v->file[i] : NULL;
}

void ctt_videos_clear(struct ctt_videos *v)
{
    for (int i = 0; i < v->wanted.count; i++)
        ctt_free(v->file[i]);
    ctt_free(v->file);
    ctt_names_clear(&v->wanted);
    *v = (struct ctt_videos){ 0 };
}
