/* SPDX-License-Identifier: Apache-2.0
 * oldfile.c: opens files to read that could be something else than files. */
#include "net/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without O_NONBLOCK the opening of a FIFO waits for a writer. */
static int open_to_look(const char *path, struct stat *st, int *fd)
{
    int rc = 0, d;

    d = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (d < 0 || fstat(d, st) < 0)
        rc = ctt_error(CTT_EIO, "%s: %s", path, strerror(errno));
    if (rc < 0 && d >= 0)
        close(d);
    else
        *fd = d;
    return rc;
}

int ctt_file_open(const char *path, int *fd, int64_t *size)
{
    struct stat st;
    int rc = 0, d = -1;

    /* Opening some devices has an effect, so they are looked at before. */
    CTT_CHECK(stat(path, &st) < 0 || S_ISREG(st.st_mode), CTT_EIO,
              "%s: not a regular file", path);
    CTT_TRY(open_to_look(path, &st, &d));
    CTT_CHECK(S_ISREG(st.st_mode), CTT_EIO, "%s: not a regular file", path);
    *fd = d;
    *size = (int64_t)st.st_size;
    return 0;
out:
    if (d >= 0)
        close(d);
    return rc;
}

/* The names under which a user passes a pipe on purpose. */
static int is_stream(const char *path)
{
    static const char *const names[] = { "/dev/stdin", "/dev/fd/",
                                         "/proc/self/fd/" };
    struct stat st;

    if (strcmp(path, "-") == 0)
        return 1;
    for (size_t i = 0; i < CTT_LEN(names); i++)
        if (strncmp(path, names[i], strlen(names[i])) == 0)
            return stat(path, &st) == 0 &&
                   (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode) ||
                    S_ISSOCK(st.st_mode));
    return 0;
}

int ctt_stream_open(const char *path, int *fd, int64_t *size)
{
    int rc = 0, d;

    if (!is_stream(path))
        return ctt_file_open(path, fd, size);
    d = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) :
        open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    CTT_CHECK(d >= 0, CTT_EIO, "%s: %s", path, strerror(errno));
    *fd = d;
    *size = -1;
out:
    return rc;
}
