/* SPDX-License-Identifier: Apache-2.0
 * newfile.c: files that appear complete or not at all. */
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Temporary names per path; bytes read back at once. */
enum { NAMES = 16, PIECE = 1 << 16 };

#define TAKEN "%s: another program is running that writes it"

struct ctt_newfile {
    char *path;                    /* as given, for messages */
    char  real[PATH_MAX];          /* without links */
    char  temp[PATH_MAX + 32];
    int   fd;
};

static int file_error(const struct ctt_newfile *f, const char *what)
{
    return ctt_error(CTT_EIO, "%s: %s: %s", f->path, what, strerror(errno));
}

/* ---- temporary names ---- */

static void set_temp(struct ctt_newfile *f, int i)
{
    snprintf(f->temp, sizeof(f->temp), "%s.convtt%d.tmp", f->real, i);
}

/* 1 if fd has the lock; *can: 1 if this file system has locks. */
static int lock(int fd, int *can)
{
    int rc;

    do {
        rc = flock(fd, LOCK_EX | LOCK_NB);
    } while (rc < 0 && errno == EINTR);
    *can = rc == 0 || errno == EWOULDBLOCK;
    return rc == 0;
}

int ctt_file_lock(int fd, const char *path)
{
    static const struct timespec moment = { 0, 10 * 1000 * 1000 };
    struct stat st;
    int rc = 0, can;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    if (!lock(fd, &can) && can) {    /* perhaps by a program that looks */
        nanosleep(&moment, NULL);
        CTT_CHECK(lock(fd, &can) || !can, CTT_EIO, TAKEN, path);
    }
out:
    return rc;
}

/* 1 if fd is the file at path itself, and a regular one. */
static int is_at(int fd, const char *path)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && S_ISREG(a.st_mode) &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Removes the file at the temporary name if its owner is dead.  An owner
 * renames the file while it has the lock, so a file that is locked here and
 * still has its temporary name has no owner. */
static void remove_orphan(const char *temp)
{
    int fd = open(temp, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), can;

    if (fd < 0)
        return;
    if (lock(fd, &can) && is_at(fd, temp))
        unlink(temp);
    close(fd);
}

/* Creates the file at the temporary name; 0: another program has it. */
static int create(struct ctt_newfile *f)
{
    int can;

    f->fd = open(f->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (f->fd < 0)
        return errno == EEXIST ? 0 : file_error(f, "cannot write");
    if ((lock(f->fd, &can) || !can) && is_at(f->fd, f->temp))
        return 1;
    close(f->fd);    /* someone took it for an orphan before it was locked */
    f->fd = -1;
    return 0;
}

static int create_any(struct ctt_newfile *f)
{
    int rc = 0;

    for (int i = 0; i < NAMES; i++) {
        set_temp(f, i);
        remove_orphan(f->temp);
    }
    for (int i = 0; i < NAMES && rc == 0; i++) {
        set_temp(f, i);
        CTT_TRY(create(f));
    }
    CTT_CHECK(rc, CTT_EIO, "%s: all temporary names up to %s are in use; "
              "remove them if no program writes them", f->path, f->temp);
out:
    return rc;
}

/* ---- opening ---- */

/* Replaces a path that is a symbolic link by the path that it leads to. */
static void follow_links(char path[PATH_MAX])
{
    char link[PATH_MAX];
    ssize_t n;

    for (int i = 0; i < 16; i++) {
        char *tail = strrchr(path, '/');
        n = readlink(path, link, sizeof(link));
        if (n <= 0)
            return;
        tail = tail && link[0] != '/' ? tail + 1 : path;
        if (n >= PATH_MAX - (tail - path))
            return;
        memcpy(tail, link, (size_t)n);
        tail[n] = '\0';
    }
}

static int open_new(struct ctt_newfile *f)
{
    struct stat old;
    int rc = 0, there;

    there = stat(f->real, &old) == 0;
    CTT_CHECK(!there || S_ISREG(old.st_mode), CTT_EIO,
              "%s: not a regular file", f->path);
    CTT_TRY(create_any(f));
    if (there && fchmod(f->fd, old.st_mode & 07777) < 0)
        CTT_TRY(file_error(f, "cannot set permissions"));
out:
    return rc;
}

/* Takes the lock of a path.  Its file may be removed by the last owner between
 * opening and locking. */
static int open_lock(struct ctt_newfile *f)
{
    int rc = 0, can, has;

    snprintf(f->temp, sizeof(f->temp), "%s.convtt.lock", f->real);
    for (int i = 0; i < NAMES; i++) {
        int fd = open(f->temp, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
                      O_CLOEXEC, 0666);
        if (fd < 0)
            return file_error(f, "cannot write");
        has = lock(fd, &can);
        if ((has || !can) && is_at(fd, f->temp)) {
            f->fd = fd;
            return 0;
        }
        close(fd);
        CTT_CHECK(has || !can, CTT_EIO, TAKEN, f->path);
    }
    CTT_CHECK(0, CTT_EIO, "%s: cannot lock %s", f->path, f->temp);
out:
    return rc;
}

static int open_by(const char *path, int (*open_it)(struct ctt_newfile *f),
                   struct ctt_newfile **out)
{
    struct ctt_newfile *f = ctt_calloc(1, sizeof(*f));
    int rc = f ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    f->fd = -1;
    f->path = ctt_strdup(path);
    CTT_TRY(f->path ? 0 : CTT_ENOMEM);
    CTT_CHECK(strlen(path) < PATH_MAX, CTT_EINVAL, "%s: the path is too long",
              path);
    strcpy(f->real, path);
    follow_links(f->real);
    CTT_TRY(open_it(f));
    *out = f;
    f = NULL;
out:
    ctt_newfile_drop(&f);
    return rc < 0 ? rc : 0;
}

int ctt_newfile_open(const char *path, struct ctt_newfile **out)
{
    return open_by(path, open_new, out);
}

int ctt_newfile_claim(const char *path, struct ctt_newfile **out)
{
    return open_by(path, open_lock, out);
}

int ctt_newfile_fd(const struct ctt_newfile *f)
{
    return f->fd;
}

const char *ctt_newfile_path(const struct ctt_newfile *f)
{
    return f->path;
}

const char *ctt_newfile_temp(const struct ctt_newfile *f)
{
    return f->temp;
}

int ctt_newfile_write(struct ctt_newfile *f, const void *from, int64_t n)
{
    const uint8_t *p = from;

    while (n > 0) {
        ssize_t done = write(f->fd, p, n < INT_MAX / 2 ? (size_t)n :
                                                         INT_MAX / 2);
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = ENOSPC;
        if (done <= 0)
            return file_error(f, "cannot write");
        p += done;
        n -= done;
    }
    return 0;
}

/* ---- finishing ---- */

/* Writes the new name to the disk.  Failure is ignored: the file is complete
 * under either name. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX] = ".";
    int fd;

    if (slash)
        snprintf(folder, sizeof(folder), "%.*s",
                 slash == path ? 1 : (int)(slash - path), path);
    fd = open(folder, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

/* A network file system may report a failed write only when a descriptor is
 * closed.  The other one keeps the lock until the file has its name. */
static int sync_file(struct ctt_newfile *f)
{
    int second = fsync(f->fd) < 0 ? -1 : dup(f->fd);

    return second < 0 || close(second) < 0 ? file_error(f, "cannot write") : 0;
}

int ctt_newfile_finish(struct ctt_newfile **file)
{
    struct ctt_newfile *f = *file;
    int rc = 0;

    CTT_TRY(sync_file(f));
    if (rename(f->temp, f->real) < 0)
        CTT_TRY(file_error(f, "cannot rename"));
    close(f->fd);
    f->fd = -1;    /* nothing is left to remove */
    sync_folder(f->real);
out:
    ctt_newfile_drop(file);
    return rc;
}

void ctt_newfile_drop(struct ctt_newfile **file)
{
    struct ctt_newfile *f = *file;

    if (!f)
        return;
    if (f->fd >= 0) {
        unlink(f->temp);
        close(f->fd);
    }
    ctt_free(f->path);
    ctt_free(f);
    *file = NULL;
}

/* ---- a file from memory ---- */

/* The last n bytes of the file must be p. */
static int read_back(const struct ctt_newfile *f, const uint8_t *p, int64_t n)
{
    int64_t at = 0, start = (int64_t)lseek(f->fd, 0, SEEK_CUR) - n;
    uint8_t piece[PIECE];
    int rc = 0;

    while (at < n) {
        int64_t some = n - at < PIECE ? n - at : PIECE;
        CTT_TRY(ctt_file_read_at(f->path, f->fd, start + at, piece, some));
        CTT_CHECK(memcmp(piece, p + at, (size_t)some) == 0, CTT_EIO,
                  "%s: the file returns other bytes than written", f->path);
        at += some;
    }
out:
    return rc;
}

int ctt_newfile_put(struct ctt_newfile *f, const void *p, int64_t n)
{
    int rc = 0;

    CTT_TRY(ctt_newfile_write(f, p, n));
    CTT_TRY(read_back(f, p, n));
out:
    return rc;
}

int ctt_file_replace(const char *path, const void *p, int64_t n)
{
    struct ctt_newfile *f = NULL;
    int rc = 0;

    CTT_TRY(ctt_newfile_open(path, &f));
    CTT_TRY(ctt_newfile_put(f, p, n));
    CTT_TRY(ctt_newfile_finish(&f));
out:
    ctt_newfile_drop(&f);
    return rc;
}

int ctt_text_collect(const char *what, int (*print)(FILE *f, const void *arg),
                     const void *arg, char **out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    int rc = 0, bad;

    CTT_CHECK(f, CTT_ENOMEM, "%s: out of memory", what);
    rc = print(f, arg);
    bad = ferror(f);
    bad |= fclose(f);
    CTT_TRY(rc);
    CTT_CHECK(!bad && text, CTT_ENOMEM, "%s: out of memory", what);
    *out = ctt_strdup(text);
    CTT_CHECK(*out, CTT_ENOMEM, "%s: out of memory", what);
out:
    free(text);
    return rc;
}

int ctt_file_print(const char *path, int (*print)(FILE *f, const void *arg),
                   const void *arg)
{
    char *text = NULL;
    int rc;

    CTT_TRY(ctt_text_collect(path, print, arg, &text));
    CTT_TRY(ctt_file_replace(path, text, (int64_t)strlen(text)));
out:
    ctt_free(text);
    return rc;
}
