/* SPDX-License-Identifier: Apache-2.0
 * winograd.c: when Winograd is faster than other ways to compute a conv. */
#include "net/winograd.h"

enum { TILE = 4 };    /* least tiles; pixels of a side of one */

const char *ctt_winograd_refuses(const struct ctt_node *n)
{
    const int *k = n->attr.conv.kernel, *s = n->attr.conv.stride;
    const int *p = n->attr.conv.pad;

    if (n->op != CTT_OP_CONV)
        return "a deconv";
    if (k[0] != 1 || k[1] != k[2] || (k[1] != 3 && k[1] != 5))
        return "the window is neither 3x3 nor 5x5";
    if (s[0] != 1 || s[1] != 1 || s[2] != 1)
        return "the stride is not 1";
    if (n->attr.conv.groups > 1)
        return "it has groups";
    if (ctt_is_dilated(n))
        return "the window is dilated";
    if (n->attr.conv.after[0] != CTT_OPT_WORD)
        return "the padding differs from end to end";
    if (p[0] != 0 || p[1] >= k[1] || p[2] >= k[2])
        return "the padding is as wide as the window";
    return NULL;
}

/* READING: tiles that are computed in the time that reading their weights takes
 * where these, of tiles of 4x4, are so MANY bytes that no cache keeps them from
 * frame to frame.  (An EPYC of the Zen 4 generation with 32 MB: 7x7 pixels, 512
 * channels 1.5 times as fast in tiles of 2x2, 320 alike, 192 0.84.) */
enum { FREQS = 36, SMALL_FREQS = 16, READING = 10, MANY = 12 << 20 };

static int64_t tiles_of(const struct ctt_tensor *t, int size)
{
    return (int64_t)t->n * t->d * ((t->h + size - 1) / size) *
           ((t->w + size - 1) / size);
}

static int64_t tiles_cost(int64_t tiles, int freqs)
{
    return freqs * (tiles < READING ? READING : tiles);
}

int ctt_winograd_small_tiles(const struct ctt_tensor *out, int64_t c)
{
    int64_t tiles = tiles_of(out, TILE);
    int64_t bytes = c * out->c * FREQS * (int64_t)sizeof(float);

    return bytes >= MANY && tiles >= TILE &&
           tiles_cost(tiles_of(out, TILE / 2), SMALL_FREQS) <
               tiles_cost(tiles, FREQS);
}

/* Compares how many products of half a register the direct sum and Winograd
 * take.  For Winograd the transform of half a register counts like TRANSFORM
 * products per frequency, and a gradient of weights like MORE further tiles,
 * for the sums and the inverse transform.  (Measured on 714 calls, 3x3 and 5x5,
 * 1 to 256 channels, images of 4x4 to 64x64: it chose the faster one, or one at
 * most a quarter slower, in 94 of 100; the others mostly take a few
 * microseconds.) */
enum { TRANSFORM = 8, MORE = 32 };

const char *ctt_winograd_loses(const struct ctt_winograd_work *w)
{
    int64_t half = w->lanes / 2, more = w->sums ? MORE : 0;
    int64_t in = (w->in + half - 1) / half, out = (w->out + half - 1) / half;
    int64_t direct = w->pixels * w->window * w->window * w->in * out;
    int64_t ours = (w->tiles + more) * w->in * out +
                   w->tiles * TRANSFORM * (in + out);

    if (w->tiles < TILE)
        return "fewer than 4 tiles of 4x4 pixels";
    return ours * w->freqs >= direct ? "transforms cost more than they save"
                                     : NULL;
}

/* Winograd's 5x5 needs 4 multiplications of floats where a sum of whole numbers
 * needs 25, at two (AVX2) to four (VNNI) times the rate.  It is used where
 * channels fill registers and there are a few tiles of 4x4. */
int ctt_winograd_beats_bytes(const struct ctt_node *n)
{
    return !ctt_winograd_refuses(n) && n->attr.conv.kernel[1] == 5 &&
           n->w[0].c >= 8 && n->out.c >= 8 && n->out.h * n->out.w >= 64;
}

/* Winograd multiplies floats 2.25 to 4 times less.  Of a result of 3x3 it
 * computes tiles of 4x4: where over two fifths of their pixels lie outside of
 * the image, or where its transformed weights, 36 floats for 9, are that long
 * to read for few tiles, bf16 is faster.  fp16, which is as many products per
 * instruction, is taken for as fast. */
enum { LONG = 2 << 20 };

int ctt_winograd_beats_half(const struct ctt_node *n)
{
    int64_t pixels = (int64_t)n->out.h * n->out.w, tiles =
        (n->out.h + TILE - 1) / TILE * ((n->out.w + TILE - 1) / TILE);
    int64_t bytes = n->w[0].c * n->out.c * FREQS * (int64_t)sizeof(float);

    if (ctt_winograd_refuses(n) || tiles < TILE)
        return 0;
    return n->attr.conv.kernel[1] == 5 ||
           (5 * pixels >= 3 * tiles * TILE * TILE && bytes < tiles * LONG);
}
