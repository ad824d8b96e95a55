/* SPDX-License-Identifier: Apache-2.0
 * pth.h: the common part of both forms of a .pth: a pickle, whose tensors lie
 * in storages that have keys. */
#ifndef CTT_PTH_H
#define CTT_PTH_H

#include "exchange/weights/pickle.h"
#include "base/ctt.h"

/* ---- the archive of the newer form ---- */

/* A file: its name, not ended by a 0, and its place in the archive. */
struct ctt_zipped {
    const char    *name;
    int            length;
    const uint8_t *data;
    int64_t        size;
    uint32_t       crc;      /* CRC-32 of the data; 0: not given */
};

struct ctt_zip {
    struct ctt_zipped *file;    /* sorted by name */
    int                count;
};

/* Finds the files of an archive, image[size]; path is for messages.
 * CTT_EFORMAT if it, or a file by its CRC-32, is damaged, CTT_EUNSUP if a file
 * is compressed or the archive has 4 GiB or more. */
int  ctt_zip_open(const char *path, const uint8_t *image, int64_t size,
                  struct ctt_zip *out);
void ctt_zip_close(struct ctt_zip *z);

/* The file of that name; NULL: there is none. */
const struct ctt_zipped *ctt_zip_find(const struct ctt_zip *z,
                                      const char *name);

enum { CTT_PTH_NAME = 1024 };    /* bytes of a name with its 0, at most */

/* A storage of the older form: its key, and its bytes; NULL: not there. */
struct ctt_old_storage {
    const struct ctt_pickled *key;
    const uint8_t            *data;
    int64_t                   bytes;
};

struct ctt_pth {
    struct ctt_tensors     *t;
    struct ctt_pickle       k;
    /* The storage of that key, which must have so many bytes. */
    int                   (*find)(const struct ctt_pth *s, const char *key,
                                  int64_t bytes, const uint8_t **data);
    int                     visits;    /* of entries of dictionaries */
    struct ctt_zip          zip;       /* of an archive */
    char                    folder[CTT_PTH_NAME];
    struct ctt_old_storage *old;       /* of the older form, sorted by key */
    int                     olds;
};

/* Adds all tensors of the pickle to t. */
int  ctt_pth_tensors(struct ctt_pth *s);

#endif
