/* SPDX-License-Identifier: Apache-2.0
 * h5_late.c: HDF5 files that are not read into memory as a whole: a driver of
 * HDF5 that reads blocks whose CRC-32 is known, so that HDF5 never sees a file
 * that was damaged or changed since. */
#include "net/file/h5_in.h"
#include "base/newfile.h"
#include "net/code/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 16 };

int ctt_h5_is_late(const struct ctt_h5 *f)
{
    return f->crc != NULL;
}

/* ---- blocks ---- */

static int64_t bytes_of_block(const struct ctt_h5 *f, int64_t i)
{
    int64_t left = f->bytes - i * BLOCK;

    return left < BLOCK ? left : BLOCK;
}

/* Reads block i unless it was read last. */
static int read_block(struct ctt_h5 *f, int64_t i)
{
    int64_t n = bytes_of_block(f, i);
    int rc = 0;

    if (f->at == i)
        return 0;
    f->at = -1;
    CTT_TRY(ctt_file_read_at(f->path, f->fd, i * BLOCK, f->block, n));
    CTT_CHECK(ctt_crc32(0, f->block, 1, n) == f->crc[i], CTT_EIO,
              "%s: changed while it was read", f->path);
    f->at = i;
out:
    return rc;
}

int ctt_h5_copy(struct ctt_h5 *f, int64_t at, int64_t n, void *to)
{
    char *byte = to;
    int rc = 0;

    CTT_CHECK(at >= 0 && n >= 0 && n <= f->bytes - at, CTT_EFORMAT,
              "%s: a part of it is behind its end", f->path);
    for (int64_t some; n > 0; at += some, byte += some, n -= some) {
        some = BLOCK - at % BLOCK < n ? BLOCK - at % BLOCK : n;
        CTT_TRY(read_block(f, at / BLOCK));
        memcpy(byte, f->block + at % BLOCK, (size_t)some);
    }
out:
    return rc;
}

/* Reads all blocks and compares their CRC-32 with that at the end. */
static int scan_blocks(struct ctt_h5 *f)
{
    char end[CTT_H5_END], want[CTT_H5_END];
    uint32_t all = 0;
    int rc = 0;

    for (int64_t i = 0; i * BLOCK < f->bytes; i++) {
        int64_t n = bytes_of_block(f, i);

        CTT_TRY(ctt_file_read_at(f->path, f->fd, i * BLOCK, f->block, n));
        f->crc[i] = ctt_crc32(0, f->block, 1, n);
        all = ctt_crc32_join(all, f->crc[i], n);
    }
    CTT_TRY(ctt_file_read_at(f->path, f->fd, f->bytes, end, CTT_H5_END));
    ctt_h5_end_of(all, want);
    CTT_CHECK(memcmp(end, want, CTT_H5_END) == 0, CTT_EFORMAT,
              "%s: damaged (CRC-32)", f->path);
out:
    return rc;
}

int ctt_h5_fd(const struct ctt_h5 *f, int *fd)
{
    int rc = 0, d = fcntl(f->fd, F_DUPFD_CLOEXEC, 3);

    CTT_CHECK(d >= 0, ctt_file_code(errno), "%s: %s", f->path,
              strerror(errno));
    *fd = d;
out:
    return rc;
}

/* ---- the driver ---- */

static struct ctt_h5 *owner_of(const H5FD_t *driver)
{
    return (struct ctt_h5 *)((uintptr_t)driver -
                             offsetof(struct ctt_h5, driver));
}

/* The settings hold the address of the file. */
static H5FD_t *begin_file(const char *name, unsigned flags, hid_t fapl,
                          haddr_t most)
{
    struct ctt_h5 *const *f = H5Pget_driver_info(fapl);

    (void)name;
    (void)flags;
    (void)most;
    return f ? &(*f)->driver : NULL;
}

static herr_t end_file(H5FD_t *driver)
{
    (void)driver;
    return 0;
}

static haddr_t get_eoa(const H5FD_t *driver, H5FD_mem_t type)
{
    (void)type;
    return owner_of(driver)->eoa;
}

static herr_t set_eoa(H5FD_t *driver, H5FD_mem_t type, haddr_t to)
{
    (void)type;
    owner_of(driver)->eoa = to;
    return 0;
}

static haddr_t get_eof(const H5FD_t *driver, H5FD_mem_t type)
{
    (void)type;
    return (haddr_t)owner_of(driver)->bytes;
}

static herr_t read_some(H5FD_t *driver, H5FD_mem_t type, hid_t dxpl, haddr_t at,
                        size_t n, void *to)
{
    (void)type;
    (void)dxpl;
    return at > INT64_MAX || n > INT64_MAX ? -1 :
           ctt_h5_copy(owner_of(driver), (int64_t)at, (int64_t)n, to);
}

static herr_t write_none(H5FD_t *driver, H5FD_mem_t type, hid_t dxpl,
                         haddr_t at, size_t n, const void *from)
{
    (void)driver;
    (void)type;
    (void)dxpl;
    (void)at;
    (void)n;
    (void)from;
    return -1;
}

static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
    .version = H5FD_CLASS_VERSION, .value = 600,
#endif
    .name = "convtt-blocks", .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG, .fapl_size = sizeof(struct ctt_h5 *),
    .open = begin_file, .close = end_file, .get_eoa = get_eoa,
    .set_eoa = set_eoa, .get_eof = get_eof, .read = read_some,
    .write = write_none, .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* The driver is there until the file is closed: HDF5 releases it before it
 * calls it for the last time (ctt_h5_close). */
static int open_blocks(struct ctt_h5 *f)
{
    hid_t fapl = -1;
    int rc = 0;

    CTT_H5(f, "settings", f->id = H5FDregister(&driver));
    CTT_H5(f, "settings", fapl = H5Pcreate(H5P_FILE_ACCESS));
    CTT_H5(f, "settings", ctt_h5_access(fapl));
    CTT_H5(f, "settings", H5Pset_driver(fapl, f->id, &f));
    CTT_H5(f, "file", f->file = H5Fopen(f->path, H5F_ACC_RDONLY, fapl));
out:
    CTT_H5_SHUT(f, "settings", H5Pclose, fapl);
    return rc;
}

/* ---- opening ---- */

static int alloc_blocks(const char *path, struct ctt_h5 *f)
{
    int64_t blocks = (f->bytes + BLOCK - 1) / BLOCK;
    int rc = 0;

    f->path = ctt_strdup(path);
    f->crc = ctt_calloc((size_t)blocks, sizeof(*f->crc));
    f->block = ctt_calloc(BLOCK, 1);
    CTT_TRY(f->path && f->crc && f->block ? 0 : CTT_ENOMEM);
out:
    return rc;
}

int ctt_h5_open_late(const char *path, struct ctt_h5 **out)
{
    struct ctt_h5 *f = NULL;
    struct ctt_h5_quiet q;
    int64_t size = 0;
    int rc = 0, fd = -1;

    CTT_TRY(ctt_file_open(path, &fd, &size));
    CTT_TRY(ctt_h5_check_ends(path, fd, size));
    f = ctt_calloc(1, sizeof(*f));
    CTT_TRY(f ? 0 : ctt_error(CTT_ENOMEM, "%s: %s", path, ctt_errmsg()));
    f->file = f->at = -1;
    f->bytes = size - CTT_H5_END;
    rc = alloc_blocks(path, f);
    if (f->crc) {
        f->fd = fd;
        fd = -1;
    }
    CTT_TRY(rc < 0 ? ctt_error(rc, "%s: %s", path, ctt_errmsg()) : 0);
    CTT_TRY(scan_blocks(f));
    CTT_TRY(ctt_h5_enter(&q, 0));
    CTT_TRY(ctt_h5_leave(&q, open_blocks(f)));
    *out = f;
    f = NULL;
out:
    if (fd >= 0)
        close(fd);
    ctt_h5_close(&f);
    return rc;
}
