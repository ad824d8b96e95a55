/* SPDX-License-Identifier: Apache-2.0
 * packed.h: weights in the form that a provider multiplies, in the GPU's
 * memory: one copy for all calls, of all sessions, that read the same ones. */
#ifndef CTT_PACKED_H
#define CTT_PACKED_H

#include "device/cuda/core.h"

/* Begins the structure of a provider.  block: from ctt_cuda_malloc(); block[0]
 * NULL: these weights do not suit the provider. */
struct ctt_packed {
    struct ctt_packed **list, *next;
    int                 users;
    const void         *w;
    uint64_t            stamp;
    int64_t             count;
    enum ctt_dtype      type;
    float               scale;
    void               *block[2];
};

typedef int ctt_pack(const struct ctt_conv_ask *q, struct ctt_packed *p);

/* Sets *mine to the packed weights of the call: its own of before, those of
 * another call, or new ones of `size` bytes that `pack` fills in.  Returns 1,
 * or 0 if they were to be made while a graph is recorded. */
int  ctt_packed_find(const struct ctt_conv_ask *q, struct ctt_packed **list,
                     size_t size, ctt_pack *pack, struct ctt_packed **mine);

/* The call lets go of them; the last one waits for kernels that read them and
 * frees them. */
void ctt_packed_drop(struct ctt_packed **mine);

#endif
