/* SPDX-License-Identifier: Apache-2.0
 * winograd.h: the convs that Winograd's algorithm (Lavin and Gray 2016) can
 * compute, and measured rules for those for which it is faster on a processor
 * than other kernels. */
#ifndef CTT_WINOGRAD_H
#define CTT_WINOGRAD_H

#include "net/op.h"

/* The reason why Winograd cannot compute a conv or deconv, in a few words;
 * NULL: it can. */
const char *ctt_winograd_refuses(const struct ctt_node *n);

/* A pass of such a conv: pixels of the result, its tiles of 4x4, frequencies of
 * a tile, channels in and out, the side of the window, numbers in a register;
 * sums: 1 for the gradient of the weights, whose sums are transformed. */
struct ctt_winograd_work {
    int64_t pixels, tiles, freqs, in, out;
    int     window, lanes, sums;
};

/* 1 if a conv of 3x3 with c channels in and this result takes less time in
 * tiles of 2x2 than of 4x4: their 16 weights for 36 are read sooner than few
 * tiles are computed. */
int ctt_winograd_small_tiles(const struct ctt_tensor *out, int64_t c);

/* The reason why direct sums of floats are as fast, in a few words; NULL: they
 * are slower. */
const char *ctt_winograd_loses(const struct ctt_winograd_work *w);

/* 1 if Winograd of floats is faster than direct sums of bytes, or of 16 bits,
 * in the forward pass. */
int ctt_winograd_beats_bytes(const struct ctt_node *n);
int ctt_winograd_beats_half(const struct ctt_node *n);

#endif
