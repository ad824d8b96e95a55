/* SPDX-License-Identifier: Apache-2.0
 * npz.h: arrays of numbers that numpy saved (.npz: a zip of .npy). */
#ifndef CTT_NPZ_H
#define CTT_NPZ_H

#include "base/ctt.h"

enum { CTT_NPZ_RANK = 8 };

/* An array in row-major order, as floats. */
struct ctt_npz_array {
    char    name[64];    /* without .npy */
    int     rank;
    int64_t dim[CTT_NPZ_RANK], count;
    float  *x;
};

struct ctt_npz { struct ctt_npz_array *array; int count; };

/* Reads a file of less than 2 GiB.  CTT_EFORMAT: damaged; CTT_EUNSUP: an array
 * that is neither of floats nor of whole numbers of 64 bits, or in column-major
 * order. */
int  ctt_npz_open(const char *path, struct ctt_npz **out);
void ctt_npz_close(struct ctt_npz **z);

/* The array of that name, or NULL. */
const struct ctt_npz_array *ctt_npz_find(const struct ctt_npz *z,
                                         const char *name);

#endif
