/* SPDX-License-Identifier: Apache-2.0
 * idx.h: idx files, the format of MNIST (LeCun et al. 1998): images or their
 * labels, a byte each value. */
#ifndef CTT_IDX_H
#define CTT_IDX_H

#include "base/ctt.h"

enum ctt_idx_kind { CTT_IDX_IMAGES, CTT_IDX_LABELS };

struct ctt_idx {
    char    *file;             /* its path */
    uint8_t *data;             /* [count][h][w]; of labels [count] */
    int      count, room, h, w;
};

/* Reads the whole file, which may be compressed by gzip.  side: the images must
 * have so many rows and columns; 0: they may have any size.  CTT_EFORMAT unless
 * the file is of this kind and has exactly the items that its header says, 1 to
 * 2^22. */
int  ctt_idx_open(const char *file, enum ctt_idx_kind kind, int side,
                  struct ctt_idx *out);
void ctt_idx_close(struct ctt_idx *x);

#endif
