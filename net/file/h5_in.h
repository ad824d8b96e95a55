/* SPDX-License-Identifier: Apache-2.0
 * h5_in.h: the parts shared by h5.c, h5_attr.c, h5_set.c and h5_image.c; the
 * only header that includes hdf5.h. */
#ifndef CTT_H5_IN_H
#define CTT_H5_IN_H

#include "net/file/h5.h"

#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

enum { CTT_H5_NAME = 256 };    /* room for the name of an object */

/* image[bytes] is the file without its last CTT_H5_END bytes; there is memory
 * for room bytes.  read: bytes of datasets read so far.  group: the last group
 * found in this file, or "". */
struct ctt_h5 {
    hid_t          file;
    char          *path;
    uint8_t       *image;
    int            owns;      /* the image */
    int            stuck;     /* HDF5 failed to close it */
    int64_t        bytes, room, read;
    int            objects;
    char           group[CTT_H5_NAME];
    struct ctt_h5 *next;
    /* Of a file that is not in memory (h5_late.c): the CRC-32 of each of its
     * blocks, NULL: it is in memory; the number of the block read last, or -1,
     * and its bytes; what HDF5 knows of it: id: the number of its driver, or
     * 0. */
    uint32_t      *crc;
    int            fd;
    int64_t        at;
    uint8_t       *block;
    hid_t          id;
    H5FD_t         driver;
    haddr_t        eoa;
};

/* Between enter and leave, HDF5 prints nothing and no other thread of ours is
 * in it (a build of HDF5 need not be thread-safe).  enter fails with CTT_ENOMEM
 * if the system does not give, at that moment, the memory that HDF5 may need
 * for a file of that many objects.  HDF5 is then unlikely to run out of memory,
 * but it can: the memory is given back before HDF5 asks for it, and other
 * threads may take it.  enter_anyway does not ask, since closing must not fail.
 * leave returns rc. */
struct ctt_h5_quiet {
    H5E_auto2_t func;
    void       *data;
};
int  ctt_h5_enter(struct ctt_h5_quiet *q, int objects);
void ctt_h5_enter_anyway(struct ctt_h5_quiet *q);
int  ctt_h5_leave(const struct ctt_h5_quiet *q, int rc);

/* Records the error of HDF5 about the object of that name: CTT_EFORMAT, or
 * CTT_ENOMEM. */
int ctt_h5_failed(const char *path, const char *name);

/* Wraps every call of HDF5: a negative result is an error, whose message has
 * the name of the object. */
#define CTT_H5(f, name, expr) \
    CTT_TRY((expr) < 0 ? ctt_h5_failed((f)->path, name) : 0)

/* Closes an object unless id is 0 or negative; after the label out.  HDF5 may
 * write only now, so a failure is an error as any other. */
#define CTT_H5_SHUT(f, name, close_it, id) \
    do { \
        if ((id) > 0 && close_it(id) < 0 && rc >= 0) \
            rc = ctt_h5_failed((f)->path, name); \
    } while (0)

/* Settings of all files: how HDF5 opens one, and the form of a new one, so that
 * the same content gives the same bytes; negative if HDF5 fails. */
herr_t ctt_h5_access(hid_t fapl);
herr_t ctt_h5_form(hid_t fapl, hid_t fcpl);

/* h5.c: looks at both ends of a file on disk; the last bytes of a file whose
 * other bytes have that CRC-32. */
int  ctt_h5_check_ends(const char *path, int fd, int64_t size);
void ctt_h5_end_of(uint32_t crc, char end[CTT_H5_END]);

/* h5_image.c: opens the image for HDF5, and starts an empty one. */
int ctt_h5_image_open(struct ctt_h5 *f);
int ctt_h5_image_make(struct ctt_h5 *f);

#endif
