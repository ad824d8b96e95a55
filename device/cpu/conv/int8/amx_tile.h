/* SPDX-License-Identifier: Apache-2.0
 * amx_tile.h: products of tiles.  f: the chunks of a sum; x: addresses of
 * strips of 16 pixels; w: of 16 channels each, 64 bytes apart; start: first
 * values of sums, or NULL: 0.  Sums leave to y: `ld` bytes from pixel to pixel,
 * 64 from register to register.  Of the eight tile registers 0 to 3 hold sums,
 * 4 and 5 pixels, 6 and 7 weights; instructions name them by constants. */
#ifndef CTT_AMX_TILE_H
#define CTT_AMX_TILE_H

#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { AMX_ROWS = 16, AMX_UNITS = 16, AMX_RUNS = 64 };

/* Runs of chunks of at most 16 units.  Run r begins at[r] bytes after a strip's
 * address, its chunks are `step` bytes apart.  Chunk k of all has the weights
 * of `units` units from unit k * units on, at most from unit `last` on. */
struct amx_feed {
    int64_t ldx, ldw;    /* bytes from row to row of a tile */
    int64_t runs, chunks, step, units, last;
    int64_t at[AMX_RUNS];
};

/* u: the chunk's unit; c: bytes after a strip's address. */
#define EACH_CHUNK(f)                                                      \
    for (int64_t r = 0, u = 0; r < (f)->runs; r++)                         \
        for (int64_t i = 0, c = (f)->at[r]; i < (f)->chunks;               \
             i++, u += (f)->units, c += (f)->step)

INLINE const char *amx_weights(const struct amx_feed *f, const char *w,
                               int64_t u)
{
    return w + (u < f->last ? u : f->last) * f->ldw;
}

#ifndef CTT_EMULATED
#include <immintrin.h>
#define TILE_LOAD(t, p, ld)  _tile_loadd(t, p, ld)
#define TILE_STORE(t, p, ld) _tile_stored(t, p, ld)
#define TILE_ZERO(t)         _tile_zero(t)
#define TILE_BYTES(y, x, w)  _tile_dpbusd(y, x, w)
#define TILE_PAIRS(y, x, w)  _tile_dpbf16ps(y, x, w)
#define TILES_BEGIN(config)  _tile_loadconfig(config)
#define TILES_END()          _tile_release()
#endif

/* Instructions of tiles read memory of which the compiler is not told. */
#define TILES_READ()         __asm__ volatile ("" ::: "memory")

/* PAIRS: a constant: products of bfloat16, not of bytes. */
#define TILE_PRODUCT(y, x, w) do {                                         \
        if (PAIRS)                                                         \
            TILE_PAIRS(y, x, w);                                           \
        else                                                               \
            TILE_BYTES(y, x, w);                                           \
    } while (0)

#define TILE_START(y, start) do {                                          \
        if (PAIRS)                                                         \
            TILE_ZERO(y);                                                  \
        else                                                               \
            TILE_LOAD(y, start, 0);                                        \
    } while (0)

/* Two strips, two registers of channels. */
INLINE void amx_square(int PAIRS, const struct amx_feed *f,
                       const char *const *x, const char *w,
                       const int32_t *start, char *const *y, int64_t ld)
{
    TILE_START(0, start);
    TILE_START(1, start + 16);
    TILE_START(2, start);
    TILE_START(3, start + 16);
    EACH_CHUNK(f) {
        const char *b = amx_weights(f, w, u);
        TILE_LOAD(4, x[0] + c, f->ldx);
        TILE_LOAD(6, b, f->ldw);
        TILE_PRODUCT(0, 4, 6);
        TILE_LOAD(7, b + 64, f->ldw);
        TILE_PRODUCT(1, 4, 7);
        TILE_LOAD(5, x[1] + c, f->ldx);
        TILE_PRODUCT(2, 5, 6);
        TILE_PRODUCT(3, 5, 7);
    }
    TILE_STORE(0, y[0], ld);
    TILE_STORE(1, y[0] + 64, ld);
    TILE_STORE(2, y[1], ld);
    TILE_STORE(3, y[1] + 64, ld);
}

/* One strip, N registers of channels (a constant, 1 to 4). */
INLINE void amx_wide(int PAIRS, int N, const struct amx_feed *f,
                     const char *const *x, const char *w,
                     const int32_t *start, char *const *y, int64_t ld)
{
    TILE_START(0, start);
    if (N > 1)
        TILE_START(1, start + 16);
    if (N > 2)
        TILE_START(2, start + 32);
    if (N > 3)
        TILE_START(3, start + 48);
    EACH_CHUNK(f) {
        const char *b = amx_weights(f, w, u);
        TILE_LOAD(4, x[0] + c, f->ldx);
        TILE_LOAD(6, b, f->ldw);
        TILE_PRODUCT(0, 4, 6);
        if (N > 1) {
            TILE_LOAD(7, b + 64, f->ldw);
            TILE_PRODUCT(1, 4, 7);
        }
        if (N > 2) {
            TILE_LOAD(6, b + 128, f->ldw);
            TILE_PRODUCT(2, 4, 6);
        }
        if (N > 3) {
            TILE_LOAD(7, b + 192, f->ldw);
            TILE_PRODUCT(3, 4, 7);
        }
    }
    TILE_STORE(0, y[0], ld);
    if (N > 1)
        TILE_STORE(1, y[0] + 64, ld);
    if (N > 2)
        TILE_STORE(2, y[0] + 128, ld);
    if (N > 3)
        TILE_STORE(3, y[0] + 192, ld);
}

/* M strips (a constant, 2 to 4), one register of channels. */
INLINE void amx_tall(int PAIRS, int M, const struct amx_feed *f,
                     const char *const *x, const char *w,
                     const int32_t *start, char *const *y, int64_t ld)
{
    TILE_START(0, start);
    TILE_START(1, start);
    if (M > 2)
        TILE_START(2, start);
    if (M > 3)
        TILE_START(3, start);
    EACH_CHUNK(f) {
        const char *b = amx_weights(f, w, u);
        TILE_LOAD(6, b, f->ldw);
        TILE_LOAD(4, x[0] + c, f->ldx);
        TILE_PRODUCT(0, 4, 6);
        TILE_LOAD(5, x[1] + c, f->ldx);
        TILE_PRODUCT(1, 5, 6);
        if (M > 2) {
            TILE_LOAD(4, x[2] + c, f->ldx);
            TILE_PRODUCT(2, 4, 6);
        }
        if (M > 3) {
            TILE_LOAD(5, x[3] + c, f->ldx);
            TILE_PRODUCT(3, 5, 6);
        }
    }
    TILE_STORE(0, y[0], ld);
    TILE_STORE(1, y[1], ld);
    if (M > 2)
        TILE_STORE(2, y[2], ld);
    if (M > 3)
        TILE_STORE(3, y[3], ld);
}

typedef void amx_fn(const struct amx_feed *, const char *const *x,
                    const char *w, const int32_t *start, char *const *y,
                    int64_t ld);

#define AMX_KERNEL(NAME, CALL)                                             \
    static void NAME(const struct amx_feed *f, const char *const *x,       \
                     const char *w, const int32_t *start, char *const *y,  \
                     int64_t ld)                                           \
    {                                                                      \
        TILES_READ();                                                      \
        CALL;                                                              \
    }
#define AMX_KERNELS(TYPE, PAIRS)                                           \
    AMX_KERNEL(TYPE##_square, amx_square(PAIRS, f, x, w, start, y, ld))    \
    AMX_KERNEL(TYPE##_wide1, amx_wide(PAIRS, 1, f, x, w, start, y, ld))    \
    AMX_KERNEL(TYPE##_wide2, amx_wide(PAIRS, 2, f, x, w, start, y, ld))    \
    AMX_KERNEL(TYPE##_wide3, amx_wide(PAIRS, 3, f, x, w, start, y, ld))    \
    AMX_KERNEL(TYPE##_wide4, amx_wide(PAIRS, 4, f, x, w, start, y, ld))    \
    AMX_KERNEL(TYPE##_tall2, amx_tall(PAIRS, 2, f, x, w, start, y, ld))    \
    AMX_KERNEL(TYPE##_tall3, amx_tall(PAIRS, 3, f, x, w, start, y, ld))    \
    AMX_KERNEL(TYPE##_tall4, amx_tall(PAIRS, 4, f, x, w, start, y, ld))
AMX_KERNELS(bytes, 0)
AMX_KERNELS(pairs, 1)

/* Kernels of a type: two strips and registers; one strip, by registers; one
 * register, by strips. */
static const struct amx_kernels { amx_fn *square, *wide[5], *tall[5]; }
amx_kernels[] = {
    { bytes_square,
      { NULL, bytes_wide1, bytes_wide2, bytes_wide3, bytes_wide4 },
      { NULL, bytes_wide1, bytes_tall2, bytes_tall3, bytes_tall4 } },
    { pairs_square,
      { NULL, pairs_wide1, pairs_wide2, pairs_wide3, pairs_wide4 },
      { NULL, pairs_wide1, pairs_tall2, pairs_tall3, pairs_tall4 } },
};

#endif
