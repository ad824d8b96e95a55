/* SPDX-License-Identifier: Apache-2.0
 * h5_image.c: HDF5 files that lie in memory: HDF5 itself opens no file on
 * disk. */
#include "net/file/h5_in.h"

#include <stdio.h>
#include <string.h>

enum { STEP = 1 << 16, NAME = 32 };    /* bytes by which an image grows */

/* ---- the memory of an image ---- */

/* HDF5 calls these.  All memory that it asks for is the image itself, which is
 * thus never copied.  It is ours: HDF5 never forgets a file that it could not
 * close, and a new image is complete only when HDF5 has closed it.
 * (H5Fget_file_image of 1.10.8 gives one whose superblock fails its own
 * checksum.) */
static void *image_malloc(size_t size, H5FD_file_image_op_t op, void *file)
{
    struct ctt_h5 *f = file;

    (void)op;
    return size <= (size_t)f->room ? f->image : NULL;
}

static void *image_memcpy(void *to, const void *from, size_t size,
                          H5FD_file_image_op_t op, void *file)
{
    (void)op;
    (void)file;
    return to == from ? to : memcpy(to, from, size);
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

/* ---- files ---- */

/* HDF5 takes two files of one name for the same file, so each gets another
 * one; nothing on disk is called so. */
static void new_name(char name[NAME])
{
    static unsigned long count;    /* under the lock of ctt_h5_enter() */

    snprintf(name, NAME, "convtt-image-%lu", ++count);
}

/* Closing a file closes what is in it.  There is no buffer for small pieces of
 * data, with which HDF5 1.10 damages the heap if it gets no memory for it. */
herr_t ctt_h5_access(hid_t fapl)
{
    herr_t rc = H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);

    return rc < 0 ? rc : H5Pset_sieve_buf_size(fapl, 0);
}

/* The format is that of HDF5 1.8, the oldest with small headers; without
 * times. */
herr_t ctt_h5_form(hid_t fapl, hid_t fcpl)
{
    herr_t rc = H5Pset_libver_bounds(fapl, H5F_LIBVER_V18, H5F_LIBVER_V18);

    return rc < 0 ? rc : H5Pset_obj_track_times(fcpl, 0);
}

static int settings(struct ctt_h5 *f, hid_t fapl)
{
    H5FD_file_image_callbacks_t calls = {
        .image_malloc = image_malloc, .image_memcpy = image_memcpy,
        .image_realloc = image_realloc, .image_free = image_free,
        .udata_copy = same_file, .udata_free = keep_file, .udata = f,
    };
    int rc = 0;

    CTT_H5(f, "settings", ctt_h5_access(fapl));
    CTT_H5(f, "settings", H5Pset_fapl_core(fapl, STEP, 0));
    CTT_H5(f, "settings", H5Pset_file_image_callbacks(fapl, &calls));
out:
    return rc;
}

int ctt_h5_image_open(struct ctt_h5 *f)
{
    char name[NAME];
    hid_t fapl = -1;
    int rc = 0;

    new_name(name);
    CTT_H5(f, "settings", fapl = H5Pcreate(H5P_FILE_ACCESS));
    CTT_TRY(settings(f, fapl));
    CTT_H5(f, "settings", H5Pset_file_image(fapl, f->image, (size_t)f->bytes));
    CTT_H5(f, "file", f->file = H5Fopen(name, H5F_ACC_RDONLY, fapl));
out:
    CTT_H5_SHUT(f, "settings", H5Pclose, fapl);
    return rc;
}

/* Metadata is not allocated in blocks, which would waste space. */
int ctt_h5_image_make(struct ctt_h5 *f)
{
    hid_t fapl = -1, fcpl = -1;
    char name[NAME];
    int rc = 0;

    new_name(name);
    CTT_H5(f, "settings", fapl = H5Pcreate(H5P_FILE_ACCESS));
    CTT_TRY(settings(f, fapl));
    CTT_H5(f, "settings", H5Pset_meta_block_size(fapl, 0));
    CTT_H5(f, "settings", H5Pset_small_data_block_size(fapl, 0));
    CTT_H5(f, "settings", fcpl = H5Pcreate(H5P_FILE_CREATE));
    CTT_H5(f, "settings", ctt_h5_form(fapl, fcpl));
    CTT_H5(f, "file", f->file = H5Fcreate(name, H5F_ACC_TRUNC, fcpl, fapl));
out:
    CTT_H5_SHUT(f, "settings", H5Pclose, fcpl);
    CTT_H5_SHUT(f, "settings", H5Pclose, fapl);
    return rc;
}
