/* SPDX-License-Identifier: Apache-2.0
 * zip.h: the files of a zip archive that is in memory, stored as they are. */
#ifndef CTT_STORED_ZIP_H
#define CTT_STORED_ZIP_H

#include "base/ctt.h"

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

#endif
