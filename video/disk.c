/* SPDX-License-Identifier: Apache-2.0
 * disk.c: folders, paths and text files. */
#include "video/disk.h"
#include "net/newfile.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum ctt_disk_kind ctt_disk_kind(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return CTT_DISK_NONE;
    return S_ISDIR(st.st_mode) ? CTT_DISK_FOLDER : CTT_DISK_FILE;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void ctt_sort_strings(char **s, int count)
{
    if (count > 1)
        qsort(s, (size_t)count, sizeof(*s), by_bytes);
}

static int folder_add(struct ctt_folder *f, const char *name)
{
    char **more = ctt_grown(f->name, &f->room, f->count, sizeof(*more));

    if (!more)
        return CTT_ENOMEM;
    f->name = more;
    f->name[f->count] = ctt_strdup(name);
    if (!f->name[f->count])
        return CTT_ENOMEM;
    f->count++;
    return 0;
}

int ctt_folder_read(const char *path, struct ctt_folder *out)
{
    struct ctt_folder f = { 0 };
    struct dirent *e;
    DIR *d = opendir(path);
    int rc = 0;

    CTT_CHECK(d, CTT_EIO, "%s: %s", path, strerror(errno));
    while (errno = 0, (e = readdir(d)) != NULL)
        if (e->d_name[0] != '.')
            CTT_TRY(folder_add(&f, e->d_name));
    CTT_CHECK(errno == 0, CTT_EIO, "%s: %s", path, strerror(errno));
    ctt_sort_strings(f.name, f.count);
    *out = f;
    f = (struct ctt_folder){ 0 };
out:
    if (d)
        closedir(d);
    ctt_folder_clear(&f);
    return rc;
}

void ctt_folder_clear(struct ctt_folder *f)
{
    for (int i = 0; i < f->count; i++)
        ctt_free(f->name[i]);
    ctt_free(f->name);
    *f = (struct ctt_folder){ 0 };
}

char *ctt_path_join(const char *dir, const char *name)
{
    size_t n = strlen(dir), m = strlen(name) + 1;
    char *s;

    if (n == 0 || name[0] == '/')
        return ctt_strdup(name);
    s = ctt_calloc(n + 1 + m, 1);
    if (!s)
        return NULL;
    memcpy(s, dir, n);
    if (s[n - 1] != '/')
        s[n++] = '/';
    memcpy(s + n, name, m);
    return s;
}

char *ctt_path_dir(const char *path)
{
    const char *base = ctt_path_base(path);
    char *s;

    if (base == path)
        return ctt_strdup(".");
    s = ctt_strdup(path);
    if (s)    /* keep the slash of "/" */
        s[base - path > 1 ? base - path - 1 : 1] = 0;
    return s;
}

const char *ctt_path_base(const char *path)
{
    const char *p = strrchr(path, '/');

    return p ? p + 1 : path;
}

const char *ctt_path_ending(const char *path)
{
    const char *base = ctt_path_base(path), *p = strrchr(base, '.');

    return p && p != base ? p : base + strlen(base);
}

int ctt_text_read(const char *path, size_t limit, char **out, size_t *size)
{
    char *s = NULL, *more;
    size_t room = 0, n = 0, some;
    int64_t stated;
    int rc, fd = -1;

    CTT_TRY(ctt_stream_open(path, &fd, &stated));
    do {
        CTT_CHECK(n <= limit, CTT_EFORMAT, "%s: larger than %zu bytes", path,
                  limit);
        room = room ? 2 * room : 1 << 16;
        more = ctt_realloc(s, room);
        if (!more)
            CTT_TRY(CTT_ENOMEM);
        s = more;
        CTT_TRY(ctt_stream_read(path, fd, s + n, room - 1 - n, &some));
        n += some;
    } while (n == room - 1);
    CTT_CHECK(n <= limit, CTT_EFORMAT, "%s: larger than %zu bytes", path,
              limit);
    CTT_CHECK(!memchr(s, 0, n), CTT_EFORMAT, "%s: not a text", path);
    s[n] = 0;
    if (n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0)
        memmove(s, s + 3, (n -= 3) + 1);
    *out = s;
    *size = n;
    s = NULL;
out:
    ctt_free(s);
    if (fd >= 0)
        close(fd);
    return rc;
}

char *ctt_text_trim(char *s)
{
    size_t n;

    s += strspn(s, " \t\r");
    n = strlen(s);
    while (n && strchr(" \t\r", s[n - 1]))
        s[--n] = 0;
    return s;
}

char *ctt_text_line(char **at, int *line)
{
    char *s = *at, *end;

    if (!*s)
        return NULL;
    end = strchr(s, '\n');
    *at = end ? end + 1 : s + strlen(s);
    if (end)
        *end = 0;
    ++*line;
    return ctt_text_trim(s);
}

int ctt_text_number(const char *s, int *out)
{
    size_t n = strlen(s);

    if (n == 0 || n > 9 || strspn(s, "0123456789") != n)
        return 0;
    *out = atoi(s);
    return 1;
}
