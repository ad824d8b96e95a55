/* SPDX-License-Identifier: Apache-2.0
 * data_mnist.h: convtt-data mnist. */
#ifndef CTT_DATA_MNIST_H
#define CTT_DATA_MNIST_H

struct ctt_mnist_job {
    int         sequences, frames, digits, seed;
    const char *split;
};

/* Writes the pack out, with sequences of the MNIST digits at path. */
int ctt_mnist_pack(const struct ctt_mnist_job *j, const char *path,
                   const char *out);

#endif
