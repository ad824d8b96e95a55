/* SPDX-License-Identifier: Apache-2.0
 * infer_store.h: the predicted frames of all clips, in one HDF5 file. */
#ifndef CTT_INFER_STORE_H
#define CTT_INFER_STORE_H

#include "net/graph.h"

struct ctt_store {
    const char             *path;
    const struct ctt_input *in;
    int                     seen, ahead;
    int                     clips, any_truth;
    float                  *truth, *guess;    /* [clips][ahead][h, w, c] */
    const char            **name;             /* of the clips */
};

/* Allocates room for `clips` clips; path, in, seen and ahead are set.
 * CTT_EINVAL if the machine has too little memory. */
int  ctt_store_open(struct ctt_store *s, int clips);
void ctt_store_clear(struct ctt_store *s);

/* Adds a clip.  truth: `known` frames from the first observed one on; unknown
 * frames are NaN in the file.  name must stay valid until write. */
void ctt_store_add(struct ctt_store *s, const char *name, const float *truth,
                   int known, const float *guess);

int  ctt_store_write(const struct ctt_store *s);

#endif
