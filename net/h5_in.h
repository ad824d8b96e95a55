/* SPDX-License-Identifier: Apache-2.0
 * h5_in.h: what h5.c, h5_attr.c and h5_set.c share; the only file that
 * includes hdf5.h. */
#ifndef CTT_H5_IN_H
#define CTT_H5_IN_H

#include "net/h5.h"

#include <hdf5.h>

/* image, room: the memory of a file that is made in memory. */
struct ctt_h5 {
    hid_t    file;
    int64_t  bytes;
    char    *path;
    uint8_t *image;
    size_t   room;
};

/* Between these two, HDF5 prints nothing and no other thread of ours is in it
 * (a build of HDF5 need not be thread-safe).  leave returns rc. */
struct ctt_h5_quiet {
    H5E_auto2_t func;
    void       *data;
};
struct ctt_h5_quiet ctt_h5_enter(void);
int ctt_h5_leave(struct ctt_h5_quiet q, int rc);

/* Records the error of HDF5 about the object of that name: CTT_EFORMAT. */
int ctt_h5_failed(const struct ctt_h5 *f, const char *name);

/* Closes an HDF5 object unless id is 0 or negative. */
void ctt_h5_drop(herr_t (*close_it)(hid_t), hid_t id);

/* Wraps every call of HDF5: a negative result is an error, whose message has
 * the name of the object. */
#define CTT_H5(f, name, expr) \
    CTT_TRY((expr) < 0 ? ctt_h5_failed(f, name) : 0)

#endif
