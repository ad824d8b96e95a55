/* SPDX-License-Identifier: Apache-2.0
 * oldfile.c: opens files to read that could be something else than files. */
#include "base/newfile.h"
#include "base/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Without O_NONBLOCK the opening of a FIFO waits for a writer. */
int ctt_file_code(int number)
{
    return number == EMFILE || number == ENFILE || number == ENOMEM ? CTT_ELACK
                                                                    : CTT_EIO;
}

static int open_to_look(const char *path, struct stat *st, int *fd)
{
    int rc = 0, d;

    d = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (d < 0 || fstat(d, st) < 0)
        rc = ctt_error(ctt_file_code(errno), "%s: %s", path, strerror(errno));
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

int ctt_file_read_at(const char *path, int fd, int64_t at, void *to,
                     int64_t n)
{
    enum { PIECE = 1 << 30 };    /* the most that Linux reads at once is 2^31 */
    uint8_t *byte = to;
    int rc = 0;

    while (n > 0) {
        ssize_t got = pread(fd, byte, n < PIECE ? (size_t)n : PIECE,
                            (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        CTT_CHECK(got > 0, CTT_EIO, "%s: cannot read it: %s", path,
                  got < 0 ? strerror(errno) : "it became shorter");
        byte += got;
        at += got;
        n -= got;
    }
out:
    return rc;
}

int ctt_file_take(const char *path, int fd, int64_t size, int64_t most,
                  char **out)
{
    char *text = NULL;
    int rc;

    CTT_CHECK(size <= most, CTT_EFORMAT, "%s: has more than %lld bytes", path,
              (long long)most);
    text = ctt_calloc((size_t)size + 1, 1);
    CTT_TRY(text ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_file_read_at(path, fd, 0, text, size));
    *out = text;
    text = NULL;
out:
    close(fd);
    ctt_free(text);
    return rc;
}

int ctt_file_text(const char *path, int64_t most, char **out, int64_t *size)
{
    int fd = -1, rc = ctt_file_open(path, &fd, size);

    return rc < 0 ? rc : ctt_file_take(path, fd, *size, most, out);
}

/* The descriptor that a user's name for a pipe means; -1 for other names.  They
 * are duplicated: opening them anew would wait for a writer that has ended. */
static int named_fd(const char *path)
{
    static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0)
        return STDIN_FILENO;
    for (size_t i = 0; i < CTT_LEN(folders); i++) {
        const char *number = path + strlen(folders[i]);
        if (strncmp(path, folders[i], strlen(folders[i])) == 0 && *number &&
            strspn(number, "0123456789") == strlen(number) &&
            strlen(number) < 8)
            return atoi(number);
    }
    return -1;
}

int ctt_stream_named(const char *path)
{
    return named_fd(path) >= 0;
}

int ctt_stream_is(const char *path)
{
    int fd = named_fd(path);
    struct stat st;

    return fd >= 0 && (strcmp(path, "-") == 0 ||
                       (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) ||
                        S_ISCHR(st.st_mode) || S_ISSOCK(st.st_mode))));
}

int ctt_stream_open(const char *path, int *fd, int64_t *size)
{
    int rc = 0, d;

    if (!ctt_stream_is(path))
        return ctt_file_open(path, fd, size);
    d = fcntl(named_fd(path), F_DUPFD_CLOEXEC, 3);
    CTT_CHECK(d >= 0, CTT_EIO, "%s: %s", path, strerror(errno));
    *fd = d;
    *size = -1;
out:
    return rc;
}

/* Waits until fd can be read. */
static int await(const char *path, int fd)
{
    enum { LOOK = 200 };    /* milliseconds between looks at the request */
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int rc = 0, n;

    do {
        CTT_CHECK(!ctt_stopped(), CTT_ESTOP, "%s: stopped", path);
        n = poll(&p, 1, LOOK);
        CTT_CHECK(n >= 0 || errno == EINTR, CTT_EIO, "%s: %s", path,
                  strerror(errno));
    } while (n <= 0);
out:
    return rc;
}

int ctt_stream_read(const char *path, int fd, void *to, size_t n, size_t *got)
{
    char *byte = to;
    size_t done = 0;
    ssize_t some = 1;
    int rc = 0;

    while (done < n && some != 0) {
        CTT_TRY(await(path, fd));
        some = read(fd, byte + done, n - done);
        CTT_CHECK(some >= 0 || errno == EINTR || errno == EAGAIN, CTT_EIO,
                  "%s: %s", path, strerror(errno));
        done += some > 0 ? (size_t)some : 0;
    }
    *got = done;
out:
    return rc;
}
