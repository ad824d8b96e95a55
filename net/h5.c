/* SPDX-License-Identifier: Apache-2.0
 * h5.c: opening HDF5 files and making them in memory. */
#include "net/h5_in.h"
#include "net/code/zip.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes by which a file in memory grows; an upper bound of what HDF5 adds to an
 * object; bytes read at once. */
enum { STEP = 1 << 16, OBJECT = 1 << 10, PIECE = 1 << 16 };

/* ---- errors ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct ctt_h5_quiet ctt_h5_enter(void)
{
    struct ctt_h5_quiet q = { NULL, NULL };

    pthread_mutex_lock(&lock);
    H5Eget_auto2(H5E_DEFAULT, &q.func, &q.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return q;
}

int ctt_h5_leave(struct ctt_h5_quiet q, int rc)
{
    H5Eset_auto2(H5E_DEFAULT, q.func, q.data);
    pthread_mutex_unlock(&lock);
    return rc;
}

static herr_t innermost(unsigned n, const H5E_error2_t *e, void *text)
{
    if (n == 0 && e->desc)
        snprintf(text, 200, "%s", e->desc);
    return 0;
}

int ctt_h5_failed(const struct ctt_h5 *f, const char *name)
{
    char why[200] = "no reason given";

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, innermost, why);
    return ctt_error(CTT_EFORMAT, "%s: %s: HDF5: %s", f->path, name, why);
}

void ctt_h5_drop(herr_t (*close_it)(hid_t), hid_t id)
{
    if (id > 0)
        close_it(id);
}

/* ---- files ---- */

static int new_file(const char *path, struct ctt_h5 **out)
{
    struct ctt_h5 *f = ctt_calloc(1, sizeof(*f));
    int rc = 0;

    CTT_TRY(f ? 0 : CTT_ENOMEM);
    f->file = -1;
    f->path = ctt_strdup(path);
    CTT_TRY(f->path ? 0 : CTT_ENOMEM);
    *out = f;
    return 0;
out:
    ctt_free(f);
    return rc;
}

static void print_end(uint32_t crc, char end[CTT_H5_END])
{
    char text[CTT_H5_END + 1];

    snprintf(text, sizeof(text), "convtt %08" PRIx32 "\n", crc);
    memcpy(end, text, CTT_H5_END);
}

void ctt_h5_end(const uint8_t *p, int64_t n, char end[CTT_H5_END])
{
    print_end(ctt_crc32(0, p, 1, n), end);
}

/* As read(), but returns less than n only at the end of the file. */
static int64_t read_all(int fd, uint8_t *p, int64_t n)
{
    int64_t got = 0;

    while (got < n) {
        ssize_t k = read(fd, p + got, (size_t)(n - got));
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return -1;
        if (k == 0)
            break;
        got += k;
    }
    return got;
}

static int is_hdf5(const uint8_t *p, int64_t n)
{
    static const uint8_t sign[] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a,
                                    '\n' };

    return n > (int64_t)sizeof(sign) && memcmp(p, sign, sizeof(sign)) == 0;
}

/* Checks the CRC-32 of the whole file, PIECE bytes at a time. */
static int check_bytes(const struct ctt_h5 *f, int fd)
{
    int64_t left = f->bytes - CTT_H5_END, n;
    uint8_t *p = ctt_calloc(PIECE, 1);
    char end[CTT_H5_END];
    uint32_t crc = 0;
    int rc = 0, first = 1;

    CTT_TRY(p ? 0 : CTT_ENOMEM);
    for (; left > 0; left -= n, first = 0) {
        n = read_all(fd, p, left < PIECE ? left : PIECE);
        CTT_CHECK(n > 0, CTT_EIO, "%s: cannot read it: %s", f->path,
                  n < 0 ? strerror(errno) : "it became shorter");
        CTT_CHECK(!first || is_hdf5(p, n), CTT_EFORMAT,
                  "%s: not a model file (no HDF5 signature)", f->path);
        crc = ctt_crc32(crc, p, 1, n);
    }
    print_end(crc, end);
    CTT_CHECK(read_all(fd, p, CTT_H5_END) == CTT_H5_END &&
              memcmp(p, end, CTT_H5_END - 9) == 0, CTT_EFORMAT,
              "%s: cut short, or changed by another program", f->path);
    CTT_CHECK(memcmp(p, end, CTT_H5_END) == 0, CTT_EFORMAT,
              "%s: damaged (CRC-32)", f->path);
out:
    ctt_free(p);
    return rc;
}

/* Checks a file before HDF5 opens it. */
static int look(struct ctt_h5 *f)
{
    struct stat st;
    int rc = 0, fd = -1;

    CTT_CHECK(stat(f->path, &st) == 0, CTT_EIO, "%s: %s", f->path,
              strerror(errno));
    CTT_CHECK(S_ISREG(st.st_mode), CTT_EIO, "%s: not a regular file", f->path);
    CTT_CHECK(st.st_size > 0, CTT_EFORMAT, "%s: the file is empty", f->path);
    CTT_CHECK(st.st_size > CTT_H5_END, CTT_EFORMAT, "%s: not a model file",
              f->path);
    fd = open(f->path, O_RDONLY | O_CLOEXEC);
    CTT_CHECK(fd >= 0, CTT_EIO, "%s: %s", f->path, strerror(errno));
    f->bytes = st.st_size;
    CTT_TRY(check_bytes(f, fd));
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

/* Files are replaced as a whole, so a reader needs no lock; some file systems
 * have none. */
static int open_file(struct ctt_h5 *f)
{
    hid_t fapl = -1;
    int rc = 0;

    CTT_H5(f, "settings", fapl = H5Pcreate(H5P_FILE_ACCESS));
    CTT_H5(f, "settings", H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG));
#if H5_VERSION_GE(1, 10, 7)
    CTT_H5(f, "settings", H5Pset_file_locking(fapl, 0, 1));
#endif
    f->file = H5Fopen(f->path, H5F_ACC_RDONLY, fapl);
    CTT_H5(f, "file", f->file);
out:
    ctt_h5_drop(H5Pclose, fapl);
    return rc;
}

int ctt_h5_open(const char *path, struct ctt_h5 **out)
{
    struct ctt_h5 *f = NULL;
    struct ctt_h5_quiet q;
    int rc = 0;

    CTT_TRY(new_file(path, &f));
    CTT_TRY(look(f));
    q = ctt_h5_enter();
    CTT_TRY(ctt_h5_leave(q, open_file(f)));
    *out = f;
    f = NULL;
out:
    ctt_h5_close(&f);
    return rc;
}

/* ---- a file in memory ---- */

/* HDF5 calls these for the memory of the file.  It gets the image that
 * ctt_h5_new allocated, since HDF5 never forgets a file that it could not
 * close, and leaves it to us when it closes the file: only then is the image
 * complete. (H5Fget_file_image of 1.10.8 gives one whose superblock fails its
 * own checksum.) */
static void *image_malloc(size_t size, H5FD_file_image_op_t op, void *file)
{
    struct ctt_h5 *f = file;

    (void)op;
    return size <= f->room ? f->image : NULL;
}

static void *image_realloc(void *p, size_t size, H5FD_file_image_op_t op,
                           void *file)
{
    (void)p;
    return image_malloc(size, op, file);
}

static herr_t image_free(void *p, H5FD_file_image_op_t op, void *file)
{
    (void)p;
    (void)op;
    (void)file;
    return 0;
}

static void *same_file(void *file)
{
    return file;
}

static herr_t keep_file(void *file)
{
    (void)file;
    return 0;
}

/* In memory, so that HDF5 never meets a full disk.  The format is that of HDF5
 * 1.8, the oldest with small headers; metadata is not allocated in blocks,
 * which would waste space. */
static int make_file(struct ctt_h5 *f)
{
    H5FD_file_image_callbacks_t calls = {
        .image_malloc = image_malloc, .image_realloc = image_realloc,
        .image_free = image_free, .udata_copy = same_file,
        .udata_free = keep_file, .udata = f,
    };
    hid_t fapl = -1, fcpl = -1;
    int rc = 0;

    CTT_H5(f, "settings", fapl = H5Pcreate(H5P_FILE_ACCESS));
    CTT_H5(f, "settings", H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG));
    CTT_H5(f, "settings", H5Pset_libver_bounds(fapl, H5F_LIBVER_V18,
                                               H5F_LIBVER_V18));
    CTT_H5(f, "settings", H5Pset_meta_block_size(fapl, 0));
    CTT_H5(f, "settings", H5Pset_small_data_block_size(fapl, 0));
    CTT_H5(f, "settings", H5Pset_fapl_core(fapl, STEP, 0));
    CTT_H5(f, "settings", H5Pset_file_image_callbacks(fapl, &calls));
    CTT_H5(f, "settings", fcpl = H5Pcreate(H5P_FILE_CREATE));
    CTT_H5(f, "settings", H5Pset_obj_track_times(fcpl, 0));
    f->file = H5Fcreate(f->path, H5F_ACC_TRUNC, fcpl, fapl);
    CTT_H5(f, "file", f->file);
out:
    ctt_h5_drop(H5Pclose, fcpl);
    ctt_h5_drop(H5Pclose, fapl);
    return rc;
}

int ctt_h5_new(const char *path, int64_t bytes, int objects,
               struct ctt_h5 **out)
{
    struct ctt_h5 *f = NULL;
    struct ctt_h5_quiet q;
    int rc = 0;

    CTT_TRY(new_file(path, &f));
    f->room = (size_t)bytes + (size_t)objects * OBJECT + 2 * STEP;
    f->image = ctt_calloc(f->room, 1);
    CTT_TRY(f->image ? 0 : CTT_ENOMEM);
    q = ctt_h5_enter();
    CTT_TRY(ctt_h5_leave(q, make_file(f)));
    *out = f;
    f = NULL;
out:
    ctt_h5_close(&f);
    return rc;
}

void ctt_h5_close(struct ctt_h5 **f)
{
    struct ctt_h5_quiet q;

    if (!*f)
        return;
    q = ctt_h5_enter();
    ctt_h5_drop(H5Fclose, (*f)->file);
    ctt_h5_leave(q, 0);
    ctt_free((*f)->image);
    ctt_free((*f)->path);
    ctt_free(*f);
    *f = NULL;
}

const char *ctt_h5_path(const struct ctt_h5 *f)
{
    return f->path;
}

int64_t ctt_h5_bytes(const struct ctt_h5 *f)
{
    return f->bytes;
}

/* The superblock (version 2) says at 28 where the file ends. */
static int64_t end_of(const struct ctt_h5 *f)
{
    const uint8_t *p = f->image;
    uint64_t end = 0;

    for (int i = 0; f->room >= 48 && i < 8; i++)
        end |= (uint64_t)p[28 + i] << 8 * i;
    return end > 0 && end + CTT_H5_END <= f->room ? (int64_t)end : -1;
}

int ctt_h5_image(struct ctt_h5 *f, uint8_t **out, int64_t *size)
{
    struct ctt_h5_quiet q = ctt_h5_enter();
    hid_t file = f->file;
    int64_t n;
    int rc = 0;

    f->file = -1;
    CTT_H5(f, "file", H5Fclose(file));
    n = end_of(f);
    CTT_CHECK(n > 0, CTT_EIO, "%s: HDF5 made no file of it", f->path);
    ctt_h5_end(f->image, n, (char *)f->image + n);
    *size = n + CTT_H5_END;
    *out = f->image;
    f->image = NULL;
out:
    return ctt_h5_leave(q, rc);
}
