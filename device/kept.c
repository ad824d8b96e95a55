/* SPDX-License-Identifier: Apache-2.0
 * kept.c: one file for each thing that is kept: a line with the version and the
 * key, the thing, and a sum of both. */
#include "device/kept.h"
#include "base/newfile.h"
#include "base/warn.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "kept"
#define ENDING ".kept"
#define BEGIN "convtt "

enum { FIRST = CTT_KEPT_KEY + 64, SUM = 16, NAME = 16, DAY = 24 * 60 * 60 };

/* ---- folders and files of this user ---- */

/* The folder of caches: an absolute path, or "". */
static void caches_place(char *path, size_t room)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    path[0] = '\0';
    if (xdg && *xdg == '/')
        snprintf(path, room, "%s", xdg);
    else if (home && *home == '/')
        snprintf(path, room, "%s/.cache", home);
}

/* A folder of this user that nobody else can write. */
static int is_own_folder(const char *path)
{
    struct stat s;

    return lstat(path, &s) == 0 && S_ISDIR(s.st_mode) &&
           s.st_uid == geteuid() && !(s.st_mode & 022);
}

int ctt_own_folder(const char *name, int make, char *path, size_t room)
{
    char base[2048], folder[2100];
    int rc = 0;

    caches_place(base, sizeof(base));
    CTT_CHECK(*base && strlen(base) + 1 < sizeof(base), CTT_EIO,
              "no folder of caches");
    snprintf(folder, sizeof(folder), "%s/convtt", base);
    CTT_CHECK(snprintf(path, room, "%s%s%s", folder, *name ? "/" : "", name) <
              (int)room, CTT_EIO, "%s: the path is too long", folder);
    if (make) {
        mkdir(base, 0700);
        mkdir(folder, 0700);
        mkdir(path, 0700);
    }
    CTT_CHECK(is_own_folder(folder) && is_own_folder(path), CTT_EIO,
              "%s: not a folder that only its user writes", path);
out:
    return rc;
}

int ctt_own_file(const char *path, int *out, int64_t *size)
{
    struct stat at, is;
    int fd = -1, rc = 0;

    CTT_CHECK(lstat(path, &at) == 0, CTT_EIO, "%s: not there", path);
    CTT_CHECK(S_ISREG(at.st_mode) && at.st_uid == geteuid(), CTT_EIO,
              "%s: not a file of this user", path);
    CTT_TRY(ctt_file_open(path, &fd, size));
    CTT_CHECK(fstat(fd, &is) == 0 && is.st_dev == at.st_dev &&
              is.st_ino == at.st_ino, CTT_EIO, "%s: it changed", path);
    *out = fd;
    return 0;
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

int ctt_own_text(const char *path, int64_t most, char **out, int64_t *size)
{
    int fd = -1, rc = ctt_own_file(path, &fd, size);

    return rc < 0 ? rc : ctt_file_take(path, fd, *size, most, out);
}

/* ---- what is kept ---- */

/* FNV-1a (Fowler, Noll, Vo 1991). */
static uint64_t fnv_sum(const void *p, size_t n)
{
    const unsigned char *at = p;
    uint64_t h = 14695981039346656037u;

    while (n--)
        h = (h ^ *at++) * 1099511628211u;
    return h;
}

static int first_line(const char *key, char line[FIRST])
{
    int n = snprintf(line, FIRST, BEGIN CTT_VERSION " %s\n", key);

    return strchr(key, '\n') || n >= FIRST ? -1 : n;
}

static int kept_place(const char *key, int make, char *path, size_t room)
{
    char folder[2200];
    int rc = 0;

    CTT_TRY(ctt_own_folder(FOLDER, make, folder, sizeof(folder)));
    CTT_CHECK(snprintf(path, room, "%s/%0*" PRIx64 ENDING, folder, NAME,
                       fnv_sum(key, strlen(key))) < (int)room, CTT_EIO,
              "%s: the path is too long", folder);
out:
    return rc;
}

/* A kept plan is code: the sum tells damage, not who wrote it. */
static int others_write(const char *path)
{
    struct stat at;

    return lstat(path, &at) < 0 || (at.st_mode & (S_IWGRP | S_IWOTH));
}

static void print_sum(const char *text, int64_t n, char sum[SUM + 1])
{
    snprintf(sum, SUM + 1, "%0*" PRIx64, SUM, fnv_sum(text, (size_t)n));
}

int ctt_kept_read(const char *key, char **data, int64_t *size)
{
    char path[2400], line[FIRST], sum[SUM + 1], *text = NULL;
    int n = first_line(key, line), found = 0;
    int64_t all = 0;

    if (n < 0 || kept_place(key, 0, path, sizeof(path)) < 0 ||
        others_write(path) ||
        ctt_own_text(path, CTT_KEPT_BYTES + FIRST + SUM, &text, &all) < 0)
        return 0;
    if (all >= SUM)
        print_sum(text, all - SUM, sum);
    if (all - SUM >= n && memcmp(text, line, (size_t)n) == 0 &&
        memcmp(text + all - SUM, sum, SUM) == 0) {
        *size = all - SUM - n;
        memmove(text, text + n, (size_t)*size);
        text[*size] = '\0';
        *data = text;
        text = NULL;
        found = 1;
    }
    ctt_free(text);
    return found;
}

static int is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec < b.tv_sec || (a.tv_sec == b.tv_sec &&
                                   a.tv_nsec < b.tv_nsec);
}

/* 1 for the temporary file of a writer that was killed: it is a day old. */
static int is_orphan(const char *name, const struct stat *s)
{
    return strstr(name, ENDING ".convtt") && time(NULL) - s->st_mtime > DAY;
}

/* Removes the oldest file of the folder if it is full, and orphans. */
static void make_place(const char *path)
{
    char folder[2400], at[2700], oldest[2700] = "";
    struct dirent *e;
    struct stat s;
    struct timespec first = { 0, 0 };
    int files = 0;
    DIR *dir;

    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path),
             path);
    dir = opendir(folder);
    while (dir && (e = readdir(dir))) {
        snprintf(at, sizeof(at), "%s/%s", folder, e->d_name);
        if (lstat(at, &s) < 0)
            continue;
        if (is_orphan(e->d_name, &s))
            unlink(at);
        if (strlen(e->d_name) != NAME + sizeof(ENDING) - 1 ||
            !strstr(e->d_name, ENDING))
            continue;
        files++;
        if (!*oldest || is_before(s.st_mtim, first)) {
            first = s.st_mtim;
            snprintf(oldest, sizeof(oldest), "%s", at);
        }
    }
    if (dir)
        closedir(dir);
    if (files >= CTT_KEPT_FILES && access(path, F_OK) < 0)
        unlink(oldest);
}

/* 1 if a kept file may be written at path: nothing is there, or one of this
 * user that begins as they do. */
static int may_write(const char *path)
{
    char begin[sizeof(BEGIN)] = "";
    int64_t size = 0;
    struct stat at;
    int fd = -1, rc;

    if (lstat(path, &at) < 0)
        return errno == ENOENT;
    rc = ctt_own_file(path, &fd, &size);
    if (rc >= 0 && size >= SUM)
        rc = ctt_file_read_at(path, fd, 0, begin, sizeof(BEGIN) - 1);
    if (fd >= 0)
        close(fd);
    return rc >= 0 && strcmp(begin, BEGIN) == 0;
}

void ctt_kept_write(const char *key, const void *data, int64_t size)
{
    char path[2400], line[FIRST], sum[SUM + 1], *text;
    int n = first_line(key, line);

    if (n < 0 || size > CTT_KEPT_BYTES ||
        kept_place(key, 1, path, sizeof(path)) < 0 || !may_write(path))
        return;
    text = ctt_calloc((size_t)(n + size + SUM), 1);
    if (!text)
        return;
    make_place(path);
    memcpy(text, line, (size_t)n);
    memcpy(text + n, data, (size_t)size);
    print_sum(text, n + size, sum);
    memcpy(text + n + size, sum, SUM);
    if (ctt_file_replace(path, text, n + size + SUM) >= 0)
        chmod(path, S_IRUSR | S_IWUSR);
    ctt_free(text);
}

const struct ctt_dev_host ctt_dev_host = {
    ctt_kept_read, ctt_kept_write, ctt_warn
};
