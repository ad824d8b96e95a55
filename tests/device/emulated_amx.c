/* SPDX-License-Identifier: Apache-2.0
 * emulated_amx.c: the kernels of amx.c and int8_amx.c, emulated: tiles in plain
 * C, by the definitions of Intel's manual.  What the processor refuses stops
 * the test. */
#define _GNU_SOURCE    /* syscall() of amx.c */
#include "tests/device/emulated.h"
#include "base/half.h"

#if defined(CTT_EMULATED) && defined(CTT_X86_HALVES)
#include <stdlib.h>
#include <string.h>

/* The shapes, as in memory, and the registers of a thread. */
static _Thread_local struct {
    uint8_t palette, row, none[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} shape;
static _Thread_local uint32_t tile[8][16][16];

static inline void load_config(const void *from)
{
    memcpy(&shape, from, sizeof(shape));
    memset(tile, 0, sizeof(tile));
    for (int t = 0; t < 8; t++)
        if (shape.palette != 1 || shape.rows[t] > 16 || shape.bytes[t] > 64)
            abort();
}

static inline void release(void)
{
    memset(&shape, 0, sizeof(shape));
}

static inline void load_tile(int t, const void *from, int64_t ld)
{
    if (!shape.rows[t])
        abort();
    memset(tile[t], 0, sizeof(tile[t]));
    for (int r = 0; r < shape.rows[t]; r++)
        memcpy(tile[t][r], (const char *)from + r * ld, shape.bytes[t]);
}

static inline void store_tile(int t, void *to, int64_t ld)
{
    if (!shape.rows[t])
        abort();
    for (int r = 0; r < shape.rows[t]; r++)
        memcpy((char *)to + r * ld, tile[t][r], shape.bytes[t]);
}

typedef uint32_t add_unit(uint32_t sum, uint32_t x, uint32_t w);

/* Sums wrap. */
static inline uint32_t add_bytes(uint32_t sum, uint32_t x, uint32_t w)
{
    for (int i = 0; i < 32; i += 8)
        sum += (uint32_t)((uint8_t)(x >> i) * (int8_t)(w >> i));
    return sum;
}

static inline uint32_t add_pairs(uint32_t sum, uint32_t x, uint32_t w)
{
    float y;

    memcpy(&y, &sum, sizeof(y));
    for (int i = 0; i < 32; i += 16)
        y += ctt_of_bf16((uint16_t)(x >> i)) * ctt_of_bf16((uint16_t)(w >> i));
    memcpy(&sum, &y, sizeof(sum));
    return sum;
}

static inline void multiply(int y, int x, int w, add_unit *add)
{
    int units = shape.rows[w];

    if (shape.rows[y] != shape.rows[x] || shape.bytes[y] != shape.bytes[w] ||
        shape.bytes[x] != 4 * units || !units || !shape.rows[y])
        abort();
    for (int r = 0; r < shape.rows[y]; r++)
        for (int k = 0; k < units; k++)
            for (int n = 0; n < shape.bytes[y] / 4; n++)
                tile[y][r][n] = add(tile[y][r][n], tile[x][r][k],
                                    tile[w][k][n]);
}

#define TILE_LOAD load_tile
#define TILE_STORE store_tile
#define TILE_ZERO(t) memset(tile[t], 0, sizeof(tile[t]))
#define TILE_BYTES(y, x, w) multiply(y, x, w, add_bytes)
#define TILE_PAIRS(y, x, w) multiply(y, x, w, add_pairs)
#define TILES_BEGIN load_config
#define TILES_END release

/* Those that SIMDe does not have. */
static inline __m512i load_some(uint64_t some, const void *from)
{
    uint8_t x[64] = { 0 };

    memcpy(x, from, (size_t)__builtin_popcountll(some));
    return _mm512_loadu_si512(x);
}

static inline __m512i expand(unsigned mask, __m512i v)
{
    uint32_t x[16], y[16] = { 0 };

    memcpy(x, &v, sizeof(x));
    for (int i = 0, k = 0; i < 16; i++)
        if (mask >> i & 1)
            y[i] = x[k++];
    return _mm512_loadu_si512(y);
}

#define __mmask16 simde__mmask16
#define __mmask64 simde__mmask64
#define _mm512_maskz_loadu_epi8 load_some
#define _mm512_maskz_expand_epi32 expand

#define ctt_has_amx emulated_has_amx
#define ctt_amx_can emulated_amx_can
#define ctt_amx_room emulated_amx_room
#define ctt_amx_task emulated_amx_task
#define ctt_int8_vnni ctt_emulated_vnni
#define ctt_int8_amx ctt_emulated_amx
#include "device/cpu/conv/int8/amx.c"
#include "device/cpu/conv/int8/int8_amx.c"
#else
const struct ctt_int8_isa ctt_emulated_amx = { NULL };
#endif
