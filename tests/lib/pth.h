/* SPDX-License-Identifier: Apache-2.0
 * pth.h: files as torch.save() writes them, byte by byte, for tests of their
 * reader. */
#ifndef CTT_TEST_PTH_H
#define CTT_TEST_PTH_H

#include "base/ctt.h"

/* Bytes that are appended to; fixed room, which a test must not exceed. */
struct pth_bytes { uint8_t p[1 << 13]; size_t n; };

void pth_add(struct pth_bytes *b, const void *p, size_t n);

/* A tensor: its name, storage (a key, a class of torch and how many numbers),
 * where it begins in it, its shape and strides, each ended by -1. */
struct pth_tensor {
    const char *name, *key, *class;
    int         numbers, offset, dim[5], stride[5];
};

/* Appends a state_dict of tensors as a pickle.  old: with the sixth member that
 * storages of the older form have. */
void pth_pickle(struct pth_bytes *b, const struct pth_tensor *t, int tensors,
                int old);

/* The older form, with storages of floats 0, 1, 2, ... under the keys "a" and
 * "b" of so many numbers. */
void pth_old(struct pth_bytes *b, const struct pth_tensor *t, int tensors,
             int a, int count_b);

/* A zip archive of that pickle, and of storages "a" and "b" of such numbers. */
void pth_zip(struct pth_bytes *b, const struct pth_bytes *pickle, int a,
             int count_b);

#endif
