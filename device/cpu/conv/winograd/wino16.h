/* SPDX-License-Identifier: Apache-2.0
 * wino16.h: Winograd convolution of quantised values, 3x3 with stride 1, in
 * integers: the sums equal those of the direct convolution, bit for bit
 * (integer scaling after Meng and Brothers 2019).
 *
 * Tiles of m x m results, m 4 or 3, use the points 0, 1, -1, 2, (-2 for m = 4)
 * and infinity.  With integers in both forward transforms, the inverse
 * transform gives 24 (m = 4) or 6 (m = 3) times the result per direction.
 * Values and weights of 8 bits have 16 bits in the transform domain, at most
 * 25,500 and 10,287.  Sums are modulo 2^32: the factor 9 is undone by its
 * inverse modulo 2^32, the power of two, at most 2^6 or 2^2, by a shift.  So a
 * result is exact if it has less than 26 or 30 bits. */
#ifndef CTT_WINO16_H
#define CTT_WINO16_H

#include "device/cpu/conv/int8/int8.h"

/* A convolution over n images of h x w pixels of c channels to k, zeros
 * around, in tiles of tile x tile results. */
struct ctt_wino16_shape {
    int64_t n, h, w, c, k;
    int     pad_h, pad_w, tile;
};

enum { CTT_WINO16_MOST_SIDE = 6 };

/* Most channels in for which tiles of 3x3 are exact whatever the weights:
 * 9 * 127 * 255 * channels < 2^29. */
enum { CTT_WINO16_CHANNELS = 1841 };

/* x: bytes, ldx from pixel to pixel; kernels read a multiple of 16 bytes of
 * each pixel. blank: a pixel of bytes `zero`. u: packed weights. */
struct ctt_wino16_job {
    const struct ctt_wino16_shape *s;
    const uint8_t                 *x, *blank;
    int64_t                        ldx;
    int                            zero;
    const int16_t                 *u;
    const struct ctt_int8_epilogue *end;
    struct ctt_dev                *dev;    /* whose threads; NULL: any */
};

/* One instruction set's kernels; lanes: sums in a register. */
struct ctt_wino16_isa {
    const char *name;
    int         lanes;
    int       (*supported)(void);
    /* Runs item `item` in scratch: block item / groups of tiles, and of the
     * panels of results the share item % groups. */
    void (*conv)(const struct ctt_wino16_job *j, int item, int groups,
                 int64_t block, void *scratch);
};

extern const struct ctt_wino16_isa ctt_wino16_avx2, ctt_wino16_avx512,
                                   ctt_wino16_vnni, ctt_wino16_neon;

/* The best instruction set of this processor; NULL: none. */
const struct ctt_wino16_isa *ctt_wino16_best(void);

/* The tile size (3 or 4) with fewer products for a result of oh x ow. */
int ctt_wino16_tile(int64_t oh, int64_t ow);

/* 1 if all results are exact in tiles of this size. q: weights, `each`
 * contiguous ones per output channel; zero: the byte of value 0. */
int ctt_wino16_exact(int tile, const int8_t *q, int64_t channels, int64_t each,
                     int zero);

/* Sizes: count of packed weights; bytes of scratch of `threads` threads. */
int64_t ctt_wino16_packed(const struct ctt_wino16_isa *i,
                          const struct ctt_wino16_shape *s);
int64_t ctt_wino16_scratch(const struct ctt_wino16_isa *i,
                           const struct ctt_wino16_shape *s, int threads);

/* Packs weights q, (out,3,3,in), into u. */
void ctt_wino16_pack(const struct ctt_wino16_isa *i,
                     const struct ctt_wino16_shape *s, const int8_t *q,
                     int threads, int16_t *u);

void ctt_wino16_conv(const struct ctt_wino16_isa *i,
                     const struct ctt_wino16_job *j, int threads,
                     void *scratch);

#endif
