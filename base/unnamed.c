/* SPDX-License-Identifier: Apache-2.0
 * unnamed.c: a file without a name, for what memory has no room for. */
#define _GNU_SOURCE    /* O_TMPFILE, fallocate */
#include "base/unnamed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 1 << 30 };    /* bytes of a call: Linux moves less than 2^31 */

static int folder_error(const char *folder, const char *what)
{
    return ctt_error(CTT_EIO, "%s: %s: %s", folder, what, strerror(errno));
}

/* On a file system without nameless files the file has a name for a moment (NFS
 * keeps it under another one until it is closed). */
static int make_named(const char *folder)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/convtt.offload.XXXXXX", folder);
    int fd;

    if (n >= (int)sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

int ctt_unnamed_open(const char *folder, int *fd)
{
    struct stat st;
    int f, rc = 0;

    if (stat(folder, &st) < 0)
        return folder_error(folder, "cannot write a file there");
    CTT_CHECK(S_ISDIR(st.st_mode), CTT_EIO, "%s: no folder", folder);
    f = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (f < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT ||
                  errno == EINVAL))
        f = make_named(folder);
    if (f < 0)
        return folder_error(folder, "cannot write a file there");
    *fd = f;
out:
    return rc;
}

int ctt_unnamed_reserve(const char *folder, int fd, int64_t bytes)
{
    struct rlimit most;
    int e = 0, rc = 0;

    CTT_CHECK(getrlimit(RLIMIT_FSIZE, &most) < 0 ||
              most.rlim_cur == RLIM_INFINITY ||
              (uint64_t)bytes <= most.rlim_cur, CTT_EIO,
              "%s: a file of %lld MB is larger than ulimit -f allows", folder,
              (long long)(bytes >> 20) + 1);
    do {
        e = fallocate(fd, 0, 0, bytes) < 0 ? errno : 0;
    } while (e == EINTR);
    CTT_CHECK(!e || e == EOPNOTSUPP || e == ENOSYS, CTT_EIO, "%s: a file of "
              "%lld MB: %s", folder, (long long)(bytes >> 20) + 1, strerror(e));
out:
    return rc;
}

int ctt_unnamed_write(const char *folder, int fd, int64_t at,
                      const void *from, int64_t n)
{
    const char *p = from;

    for (ssize_t some; n > 0; n -= some, at += some, p += some) {
        do {
            some = pwrite(fd, p, (size_t)(n < MOST ? n : MOST), at);
        } while (some < 0 && errno == EINTR);
        if (some < 0)
            return folder_error(folder, "cannot write");
    }
    return 0;
}

int ctt_unnamed_read(const char *folder, int fd, int64_t at, void *to,
                     int64_t n)
{
    char *p = to;

    for (ssize_t some; n > 0; n -= some, at += some, p += some) {
        do {
            some = pread(fd, p, (size_t)(n < MOST ? n : MOST), at);
        } while (some < 0 && errno == EINTR);
        if (some == 0)
            errno = EIO;    /* the file is too short */
        if (some <= 0)
            return folder_error(folder, "cannot read");
    }
    return 0;
}

int ctt_unnamed_flush(const char *folder, int fd)
{
    if (fdatasync(fd) < 0)
        return folder_error(folder, "cannot write");
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    return 0;
}
