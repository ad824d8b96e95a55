/* SPDX-License-Identifier: Apache-2.0
 * external.c: constants that lie in a file beside the model.  Only plain names
 * of the same folder are opened, and no links, as forged names have read other
 * files (CVE-2022-25882, CVE-2024-27318, CVE-2025-51480). */
#include "exchange/onnx/onnx.h"
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_plain(const struct ctt_onnx *o, const char *name)
{
    int rc = 0;

    CTT_CHECK(*name && !strchr(name, '/') && !strchr(name, '\\') &&
              strcmp(name, ".") != 0 && strcmp(name, "..") != 0, CTT_EFORMAT,
              "%s: its weights lie in '%s', which is no name of a file in the "
              "same folder: not opened", o->path, name);
out:
    return rc;
}

static int open_folder(const struct ctt_onnx *o, int *fd)
{
    const char *slash = strrchr(o->path, '/');
    char *folder = ctt_strdup(o->path);
    int rc = 0;

    CTT_TRY(folder ? 0 : CTT_ENOMEM);
    if (slash)
        folder[slash - o->path + 1] = '\0';
    *fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CTT_CHECK(*fd >= 0, CTT_EIO, "%s: its folder: %s", o->path,
              strerror(errno));
out:
    ctt_free(folder);
    return rc;
}

static int open_beside(const struct ctt_onnx *o, const char *name, int *fd,
                       int64_t *size)
{
    struct stat st;
    int folder = -1, rc;

    CTT_TRY(open_folder(o, &folder));
    *fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
                 O_CLOEXEC);
    CTT_CHECK(*fd >= 0, CTT_EIO, "%s: its weights lie in '%s', which must be "
              "in the same folder: %s", o->path, name, strerror(errno));
    CTT_CHECK(fstat(*fd, &st) == 0 && S_ISREG(st.st_mode), CTT_EIO,
              "%s: '%s' with its weights is no regular file", o->path, name);
    *size = (int64_t)st.st_size;
out:
    if (folder >= 0)
        close(folder);
    return rc;
}

int ctt_onnx_external(struct ctt_onnx *o, const char *name, int64_t at,
                      int64_t count, const uint8_t **out)
{
    int64_t size = 0;
    uint8_t *to;
    int fd = -1, rc;

    CTT_TRY(check_plain(o, name));
    CTT_TRY(open_beside(o, name, &fd, &size));
    CTT_CHECK(at >= 0 && at <= size && count <= size - at, CTT_EFORMAT,
              "%s: '%s' has %lld bytes, too few for %lld at %lld", o->path,
              name, (long long)size, (long long)count, (long long)at);
    to = ctt_arena_take(&o->data, count, 1);
    CTT_TRY(to ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_file_read_at(name, fd, at, to, count));
    *out = to;
out:
    if (fd >= 0)
        close(fd);
    return rc;
}
