/* SPDX-License-Identifier: Apache-2.0
 * h5.h: the part of HDF5 that model files need, with every result checked.
 * Any thread may call these functions; HDF5 itself prints nothing and opens no
 * file on disk.
 *
 * Memory.  HDF5 may crash when malloc fails inside it (1.10.8 frees twice), so
 * each function first requests the memory that HDF5 may need, 2 MiB and 10 KiB
 * per object up to 24 MiB (as measured), and fails with CTT_ENOMEM if it is not
 * there; the data are always in our own blocks.  That cannot help if another
 * thread takes the memory in between, if the kernel grants memory that it does
 * not have, or if a forged file has more objects than its net. */
#ifndef CTT_H5_H
#define CTT_H5_H

#include "net/kind.h"

struct ctt_h5;

enum { CTT_H5_RANK = 5, CTT_H5_TEXT = 64,
       CTT_H5_END = CTT_MODEL_END };

/* The shape of a dataset: size is 1, 4 or 8 for bytes, floats and 64-bit
 * integers, as the elements of struct ctt_array. */
struct ctt_h5_shape {
    int     size, rank;
    int64_t dim[CTT_H5_RANK];
};

/* For programs, before any other call: HDF5 does not close its files when the
 * program exits.  HDF5 would crash there after a failed allocation, and loop
 * and print after a forged file.  Not for a library, whose program may use HDF5
 * itself. */
void ctt_h5_stay_open(void);

/* Opens a file to read: all of it is read into memory, from which HDF5 then
 * reads, so the file may be replaced meanwhile.  The last CTT_H5_END bytes of a
 * file are "convtt ", the CRC-32 of all before them in eight hexadecimal
 * digits, and a line feed, so that HDF5, which may crash on damaged files,
 * never sees one. */
int  ctt_h5_open(const char *path, struct ctt_h5 **out);

/* The same without the whole file in memory: all of it is read once, block by
 * block, and what is read again must have the CRC-32 that its block had. */
int  ctt_h5_open_late(const char *path, struct ctt_h5 **out);

/* The same for a file whose bytes are p[size], which must stay until it is
 * closed; path is used in messages. */
int  ctt_h5_open_image(const char *path, const uint8_t *p, int64_t size,
                       struct ctt_h5 **out);

/* A new file in memory, for that many objects of `bytes` bytes together; path
 * is used in messages. */
int  ctt_h5_new(const char *path, int64_t bytes, int objects,
                struct ctt_h5 **out);
void ctt_h5_close(struct ctt_h5 **f);

/* Sets the number of objects that will be read, for the memory to request. */
void ctt_h5_expect(struct ctt_h5 *f, int objects);

const char *ctt_h5_path(const struct ctt_h5 *f);
int64_t     ctt_h5_bytes(const struct ctt_h5 *f);    /* of the opened file */

/* Attributes of the root: text[CTT_H5_TEXT], and a number. */
int  ctt_h5_get_text(struct ctt_h5 *f, const char *name, char *text);
int  ctt_h5_get_int(struct ctt_h5 *f, const char *name, int *out);
int  ctt_h5_put_text(struct ctt_h5 *f, const char *name, const char *text);
int  ctt_h5_put_int(struct ctt_h5 *f, const char *name, int x);

/* 1 if the name ("net", "w/c1.w") exists and is in this file, not a link to
 * another one, else 0; CTT_ENOMEM or CTT_EFORMAT if that cannot be told. */
int  ctt_h5_has(struct ctt_h5 *f, const char *name);

/* Reads the shape of a dataset, and its elements to data; CTT_EFORMAT unless
 * its shape and type are exactly *s, or if more bytes than the file has were
 * read from its datasets. */
int  ctt_h5_shape(struct ctt_h5 *f, const char *name, struct ctt_h5_shape *s);
int  ctt_h5_read(struct ctt_h5 *f, const char *name,
                 const struct ctt_h5_shape *s, void *data);

/* Of a file that was opened late, else 0. */
int  ctt_h5_is_late(const struct ctt_h5 *f);

/* Where the elements of a dataset of this shape lie in a file opened late; 0:
 * in no place of their own.  copy: copies bytes of that file.  fd: another
 * descriptor of it, which the caller closes. */
int  ctt_h5_place(struct ctt_h5 *f, const char *name,
                  const struct ctt_h5_shape *s, int64_t *at);
int  ctt_h5_copy(struct ctt_h5 *f, int64_t at, int64_t n, void *to);
int  ctt_h5_fd(const struct ctt_h5 *f, int *fd);

/* CTT_EIO unless a dataset has this shape and these elements, bit for bit. */
int  ctt_h5_check(struct ctt_h5 *f, const char *name,
                  const struct ctt_h5_shape *s, const void *data);

/* group: creates a group for that many entries.  write: writes a dataset. */
int  ctt_h5_group(struct ctt_h5 *f, const char *name, int entries);
int  ctt_h5_write(struct ctt_h5 *f, const char *name,
                  const struct ctt_h5_shape *s, const void *data);

/* Completes a file made by ctt_h5_new, which can then only be closed: its
 * bytes, with the last CTT_H5_END ones, which the caller frees. */
int  ctt_h5_image(struct ctt_h5 *f, uint8_t **out, int64_t *size);

/* The last bytes of a file whose other bytes are p[n]. */
void ctt_h5_end(const uint8_t *p, int64_t n, char end[CTT_H5_END]);

#endif
