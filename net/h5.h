/* SPDX-License-Identifier: Apache-2.0
 * h5.h: the little of HDF5 that a model file needs, with every answer checked.
 * Any thread may call these; HDF5's own error output stays silent. */
#ifndef CTT_H5_H
#define CTT_H5_H

#include "net/ctt.h"

struct ctt_h5;

enum { CTT_H5_RANK = 5, CTT_H5_TEXT = 64, CTT_H5_END = 16 };

/* The shape of a dataset: size is 1, 4 or 8 for bytes, floats and 64-bit
 * integers, as the elements of struct ctt_array. */
struct ctt_h5_shape {
    int     size, rank;
    int64_t dim[CTT_H5_RANK];
};

/* Opens a file to read.  The last CTT_H5_END bytes of a file are "convtt ", the
 * CRC-32 of all before them in eight hexadecimal digits, and a line feed, so
 * that HDF5 never sees a damaged file: it would not always survive that, nor be
 * quiet about it. */
int  ctt_h5_open(const char *path, struct ctt_h5 **out);

/* A new file in memory, with room for objects of so many bytes in all; path is
 * for messages. */
int  ctt_h5_new(const char *path, int64_t bytes, int objects,
                struct ctt_h5 **out);
void ctt_h5_close(struct ctt_h5 **f);

const char *ctt_h5_path(const struct ctt_h5 *f);
int64_t     ctt_h5_bytes(const struct ctt_h5 *f);    /* of the opened file */

/* Attributes of the root: text[CTT_H5_TEXT], and a number. */
int  ctt_h5_get_text(struct ctt_h5 *f, const char *name, char *text);
int  ctt_h5_get_int(struct ctt_h5 *f, const char *name, int *out);
int  ctt_h5_put_text(struct ctt_h5 *f, const char *name, const char *text);
int  ctt_h5_put_int(struct ctt_h5 *f, const char *name, int x);

/* Whether a name ("net", "w/c1.w") stands there as a link of its own, not one
 * to another file: 1, 0. */
int  ctt_h5_has(struct ctt_h5 *f, const char *name);

/* Asks for the shape first and reads only what was asked for: data has room
 * for exactly that. */
int  ctt_h5_shape(struct ctt_h5 *f, const char *name, struct ctt_h5_shape *s);
int  ctt_h5_read(struct ctt_h5 *f, const char *name,
                 const struct ctt_h5_shape *s, void *data);

/* entries: how many members the group is made for. */
int  ctt_h5_group(struct ctt_h5 *f, const char *name, int entries);
int  ctt_h5_write(struct ctt_h5 *f, const char *name,
                  const struct ctt_h5_shape *s, const void *data);

/* Ends a file made by ctt_h5_new, which can then only be closed, and gives its
 * bytes with those that end it; the caller frees them. */
int  ctt_h5_image(struct ctt_h5 *f, uint8_t **out, int64_t *size);

/* Writes the end of a file whose other bytes are p[n]. */
void ctt_h5_end(const uint8_t *p, int64_t n, char end[CTT_H5_END]);

#endif
