/* SPDX-License-Identifier: Apache-2.0
 * pth.h: the common part of both forms of a .pth: a pickle, whose tensors lie
 * in storages that have keys. */
#ifndef CTT_PTH_H
#define CTT_PTH_H

#include "exchange/weights/pickle.h"
#include "exchange/weights/zip.h"

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
