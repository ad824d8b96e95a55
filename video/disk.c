/* SPDX-License-Identifier: Apache-2.0
 * disk.c: folders, paths and text files. */
#include "video/disk.h"
#include "base/newfile.h"
#include "base/random.h"
#include "base/visible.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
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

const char *ctt_disk_special(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return NULL;
    return S_ISFIFO(st.st_mode) ? "a FIFO" :
           S_ISSOCK(st.st_mode) ? "a socket" : "a device";
}

static uint64_t state_of(const struct stat *st)
{
    uint64_t nano = (uint64_t)st->st_mtim.tv_sec * 1000000000u +
                    (uint64_t)st->st_mtim.tv_nsec;

    return ctt_splitmix(ctt_splitmix((uint64_t)st->st_size) + nano) | 1;
}

/* Of a folder, that of each entry counts: a picture may be written anew. */
static uint64_t folder_state(const char *path)
{
    struct ctt_folder f = { 0 };
    uint64_t state = 1;
    struct stat st;

    if (ctt_folder_read(path, &f) < 0)
        return 0;
    for (int i = 0; i < f.count; i++) {
        char *name = ctt_path_join(path, f.name[i]);

        state = ctt_splitmix(state + (name && stat(name, &st) == 0 ?
                                      state_of(&st) : 0));
        ctt_free(name);
    }
    ctt_folder_clear(&f);
    return state | 1;
}

uint64_t ctt_disk_state(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return 0;
    return S_ISDIR(st.st_mode) ? folder_state(path) : state_of(&st);
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

    CTT_CHECK(d, ctt_file_code(errno), "%s: %s", path, strerror(errno));
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
    s = ctt_realloc(NULL, n + 1 + m);
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

/* ---- texts ---- */

/* The text of a pipe that was read. */
struct heard {
    dev_t         dev;
    ino_t         ino;
    char         *text;
    size_t        size;
    struct heard *next;
};
static struct heard *all_heard;
static pthread_mutex_t heard_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct heard *find_heard(const struct stat *st)
{
    const struct heard *h = all_heard;

    while (h && (h->dev != st->st_dev || h->ino != st->st_ino))
        h = h->next;
    return h;
}

static char *copy_of(const char *s, size_t n)
{
    char *copy = ctt_calloc(n + 1, 1);

    if (copy)
        memcpy(copy, s, n);
    return copy;
}

static int keep_heard(const struct stat *st, const char *s, size_t n)
{
    struct heard *h = ctt_calloc(1, sizeof(*h));

    if (h)
        *h = (struct heard){ st->st_dev, st->st_ino, copy_of(s, n), n,
                             all_heard };
    if (!h || !h->text) {
        ctt_free(h);
        return CTT_ENOMEM;
    }
    all_heard = h;
    return 0;
}

/* Reads all of fd, and appends a 0. */
static int read_all(const char *path, int fd, size_t limit, char **out,
                    size_t *size)
{
    char *s = NULL, *more;
    size_t room = 0, n = 0, some;
    int rc;

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
    s[n] = 0;
    *out = s;
    *size = n;
    s = NULL;
out:
    ctt_free(s);
    return rc;
}

/* The same of a pipe, from memory if it was read before. */
static int read_pipe(const char *path, int fd, size_t limit, char **out,
                     size_t *size)
{
    const struct heard *h;
    struct stat st;
    int rc = 0;

    pthread_mutex_lock(&heard_lock);
    CTT_CHECK(fstat(fd, &st) == 0, CTT_EIO, "%s: %s", path, strerror(errno));
    h = find_heard(&st);
    if (!h) {
        CTT_TRY(read_all(path, fd, limit, out, size));
        rc = keep_heard(&st, *out, *size);
        if (rc < 0)
            ctt_free(*out);
        goto out;
    }
    *out = copy_of(h->text, h->size);
    *size = h->size;
    CTT_TRY(*out ? 0 : CTT_ENOMEM);
out:
    pthread_mutex_unlock(&heard_lock);
    return rc;
}

void ctt_text_ends(char *s)
{
    char *end = strchr(s, '\n');

    if (end && end[1])
        return;
    while ((s = strchr(s, '\r')) != NULL)
        *s = '\n';
}

int ctt_text_read(const char *path, size_t limit, char **out, size_t *size)
{
    char *s = NULL;
    size_t n = 0, mark;
    int64_t stated;
    int rc, fd = -1;

    CTT_TRY(ctt_stream_open(path, &fd, &stated));
    CTT_TRY((stated < 0 ? read_pipe : read_all)(path, fd, limit, &s, &n));
    CTT_CHECK(!ctt_mark_utf16(s, n), CTT_EFORMAT, "%s: a text in UTF-16, not "
              "UTF-8", path);
    CTT_CHECK(!memchr(s, 0, n), CTT_EFORMAT, "%s: not a text, byte %zu is 0",
              path, strlen(s) + 1);
    mark = ctt_mark_utf8(s, n);
    memmove(s, s + mark, (n -= mark) + 1);
    ctt_text_ends(s);
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

char *ctt_text_quote(char *s)
{
    if (*s == '"')
        for (s++; *s; s++)
            if (*s == '"' && *++s != '"')
                return s - 1;
    return NULL;
}

char *ctt_text_unquote(char *s)
{
    char *end = ctt_text_quote(s), *to = s;

    if (!end || end[1])
        return s;
    for (const char *from = s + 1; from < end; from += 1 + (*from == '"'))
        *to++ = *from;
    *to = '\0';
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
