/* SPDX-License-Identifier: Apache-2.0
 * wino_tmpl.h: the Winograd kernels for one instruction set; the including
 * file sets CTT_ISA, LANES (floats in a register), ROWS (tiles a micro-kernel
 * takes: ROWS x 2 sums and 3 more fit into the registers). */
#include "device/cpu/wino.h"
#include "device/cpu/wino_plan.h"
#include "device/ewise.h"

#include <string.h>

typedef float vec __attribute__((vector_size(LANES * 4), aligned(4)));

typedef int mask __attribute__((vector_size(LANES * 4)));

enum { PANEL = 2 * LANES, MAXT = 8 };

static inline vec load(const float *p)
{
    vec v;

    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void store(float *p, vec v)
{
    memcpy(p, &v, sizeof(v));
}

/* n < LANES of them. */
static inline vec load_some(const float *p, int64_t n)
{
    float t[LANES] = { 0 };

    memcpy(t, p, (size_t)n * sizeof(float));
    return load(t);
}

/* ---- the one-dimensional transforms, on registers ---- */

/* B^T of the points 0, 1, -1, 2, -2, infinity. */
static inline void in6(vec d[MAXT])
{
    vec a = d[4] - 4 * d[2], b = d[3] - 4 * d[1];
    vec c = d[4] - d[2], e = 2 * (d[3] - d[1]);

    d[0] = 4 * d[0] - 5 * d[2] + d[4];
    d[5] = 4 * d[1] - 5 * d[3] + d[5];
    d[1] = a + b;
    d[2] = a - b;
    d[3] = c + e;
    d[4] = c - e;
}

/* B^T of the points 0, 1, -1, 2, -2, 1/2, -1/2, infinity. */
static inline void in8(vec d[MAXT])
{
    vec a = d[2] + d[6] - 4.25f * d[4], b = d[1] + d[5] - 4.25f * d[3];
    vec c = d[6] + 0.25f * d[2] - 1.25f * d[4];
    vec e = 0.5f * d[1] - 2.5f * d[3] + 2 * d[5];
    vec f = d[6] + 4 * d[2] - 5 * d[4];
    vec g = 2 * d[1] - 2.5f * d[3] + 0.5f * d[5];

    d[0] = d[0] - d[6] + 5.25f * (d[4] - d[2]);
    d[7] = d[7] - d[1] + 5.25f * (d[3] - d[5]);
    d[1] = a + b;
    d[2] = a - b;
    d[3] = c + e;
    d[4] = c - e;
    d[5] = f + g;
    d[6] = f - g;
}

/* A^T: 6 frequencies to 4 results. */
static inline void out6(vec m[MAXT])
{
    vec s = m[1] + m[2], d = m[1] - m[2], t = m[3] + m[4], e = m[3] - m[4];

    m[0] = m[0] + s + t;
    m[1] = d + 2 * e;
    m[2] = s + 4 * t;
    m[3] = d + 8 * e + m[5];
}

static inline void out8(vec m[MAXT])
{
    vec s = m[1] + m[2], d = m[1] - m[2], t = m[3] + m[4], e = m[3] - m[4];
    vec u = m[5] + m[6], f = m[5] - m[6];

    m[0] = m[0] + s + t + 8 * u;
    m[1] = d + 2 * e + 4 * f;
    m[2] = s + 4 * t + 2 * u;
    m[3] = d + 8 * e + f + m[7];
}

/* A: 4 gradients to 6 frequencies. */
static inline void back6(vec y[MAXT])
{
    vec a = y[0] + y[2], b = y[1] + y[3];
    vec c = y[0] + 4 * y[2], e = 2 * y[1] + 8 * y[3];

    y[5] = y[3];
    y[1] = a + b;
    y[2] = a - b;
    y[3] = c + e;
    y[4] = c - e;
}

static inline void back8(vec y[MAXT])
{
    vec a = y[0] + y[2], b = y[1] + y[3];
    vec c = y[0] + 4 * y[2], e = 2 * y[1] + 8 * y[3];
    vec f = 8 * y[0] + 2 * y[2], g = 4 * y[1] + y[3];

    y[7] = y[3];
    y[1] = a + b;
    y[2] = a - b;
    y[3] = c + e;
    y[4] = c - e;
    y[5] = f + g;
    y[6] = f - g;
}

/* ---- tiles ---- */

/* Where the window of a tile lies in an image of h x w, from row i0 and column
 * j0, which may stand outside. */
struct place { int64_t n, i0, j0; };

static struct place place(int64_t tile, int64_t th, int64_t tw)
{
    return (struct place){ tile / (th * tw), tile / tw % th * 4,
                           tile % tw * 4 };
}

/* Reads side x side pixels of LANES channels (have of them), zeros outside. */
static inline void read_tile(const float *x, int64_t ld, int64_t h, int64_t w,
                             struct place p, int side, int64_t have,
                             vec d[MAXT][MAXT])
{
    for (int i = 0; i < side; i++) {
        int64_t y = p.i0 + i;
        const float *row = x + ((p.n * h + y) * w + p.j0) * ld;
        for (int j = 0; j < side; j++) {
            int in = y >= 0 && y < h && p.j0 + j >= 0 && p.j0 + j < w;
            d[i][j] = !in ? (vec){ 0 } : have >= LANES ? load(row + j * ld)
                                        : load_some(row + j * ld, have);
        }
    }
}

/* Both directions of a transform: rows, then columns. */
#define BOTH(name, one, from_rows, from_cols, to_rows)                    \
static inline void name(vec d[MAXT][MAXT])                                \
{                                                                         \
    for (int i = 0; i < from_rows; i++)                                   \
        one(d[i]);                                                        \
    for (int j = 0; j < from_cols; j++) {                                 \
        vec col[MAXT];                                                    \
        for (int i = 0; i < from_rows; i++)                               \
            col[i] = d[i][j];                                             \
        one(col);                                                         \
        for (int i = 0; i < to_rows; i++)                                 \
            d[i][j] = col[i];                                             \
    }                                                                     \
}
BOTH(both_in6, in6, 6, 6, 6)
BOTH(both_in8, in8, 8, 8, 8)
BOTH(both_out6, out6, 6, 4, 4)
BOTH(both_out8, out8, 8, 4, 4)
BOTH(both_back6, back6, 4, 6, 6)
BOTH(both_back8, back8, 4, 8, 8)

/* v[freq][tile of the block][channel of cp] = the tile's transform. */
#define SCATTER(name, both, side, freqs)                                  \
static void name(const float *x, int64_t ld, int64_t c, int64_t h,        \
                 int64_t w, struct place p, float *v, int64_t step,       \
                 int from)                                                \
{                                                                         \
    for (int64_t at = 0; at < c; at += LANES) {                           \
        vec d[MAXT][MAXT];                                                \
        read_tile(x + at, ld, h, w, p, from, c - at, d);                  \
        both(d);                                                          \
        for (int f = 0; f < freqs; f++)                                   \
            store(v + f * step + at, d[f / side][f % side]);              \
    }                                                                     \
}
SCATTER(scatter6, both_in6, 6, 36)
SCATTER(scatter8, both_in8, 8, 64)
SCATTER(spread6, both_back6, 6, 36)
SCATTER(spread8, both_back8, 8, 64)

/* ---- results ---- */

static inline vec finish(vec v, const struct ctt_wino_end *end,
                         const float *bias, const float *plus)
{
    if (bias)
        v += load(bias);
    if (plus)
        v += load(plus);
    if (end->act == CTT_ACT_RELU + 1)
        v = (vec)((mask)v & ~(mask)(v < 0));    /* a NaN stays one */
    return v;
}

/* The last channels of a pixel, or an act that is no relu. */
static void finish_some(const float *v, const struct ctt_wino_end *end,
                        const float *bias, const float *plus, float *y,
                        int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        float s = v[j] + (bias ? bias[j] : 0) + (plus ? plus[j] : 0);
        if (end->act == CTT_ACT_RELU + 1)
            s = ctt_relu(s);
        y[j] = end->add ? y[j] + s : s;
    }
}

static inline void write_pixel(vec v, const struct ctt_wino_end *end,
                               int64_t at, int64_t pixel, float *y,
                               int64_t ldy, int64_t n)
{
    const float *bias = end->bias ? end->bias + at : NULL;
    const float *plus = end->plus ? end->plus + pixel * end->ldplus + at
                                  : NULL;
    float t[LANES];

    y += pixel * ldy + at;
    if (n >= LANES) {
        v = finish(v, end, bias, plus);
        store(y, end->add ? v + load(y) : v);
        return;
    }
    store(t, v);
    finish_some(t, end, bias, plus, y, n);
}

/* One tile's LANES channels from `at` on, of m[freq][tile][PANEL]. */
#define GATHER(name, both, side, freqs)                                   \
static void name(const float *m, int64_t step, struct place p,            \
                 int64_t oh, int64_t ow, int64_t at, int64_t have,        \
                 float *y, int64_t ldy, const struct ctt_wino_end *end)   \
{                                                                         \
    vec d[MAXT][MAXT];                                                    \
                                                                          \
    for (int f = 0; f < freqs; f++)                                       \
        d[f / side][f % side] = load(m + f * step);                       \
    both(d);                                                              \
    for (int i = 0; i < 4 && p.i0 + i < oh; i++)                          \
        for (int j = 0; j < 4 && p.j0 + j < ow; j++)                      \
            write_pixel(d[i][j], end, at,                                 \
                        (p.n * oh + p.i0 + i) * ow + p.j0 + j, y, ldy,    \
                        have);                                            \
}
GATHER(gather6, both_out6, 6, 36)
GATHER(gather8, both_out8, 8, 64)

/* ---- the products ---- */

/* m[r][PANEL] = sum over c of v[r][c] u[c][PANEL], r < R rows. */
#define PRODUCT(R)                                                        \
static void product##R(const float *v, int64_t ldv, const float *u,       \
                       int64_t c, float *m)                               \
{                                                                         \
    vec s[R][2];                                                          \
                                                                          \
    for (int r = 0; r < R; r++)                                           \
        s[r][0] = s[r][1] = (vec){ 0 };                                   \
    for (int64_t i = 0; i < c; i++) {                                     \
        vec b0 = load(u + i * PANEL), b1 = load(u + i * PANEL + LANES);   \
        _Pragma("GCC unroll 16") for (int r = 0; r < R; r++) {            \
            s[r][0] += v[r * ldv + i] * b0;                               \
            s[r][1] += v[r * ldv + i] * b1;                               \
        }                                                                 \
    }                                                                     \
    for (int r = 0; r < R; r++) {                                         \
        store(m + r * PANEL, s[r][0]);                                    \
        store(m + r * PANEL + LANES, s[r][1]);                            \
    }                                                                     \
}

/* du[r][ldu] += sum over tiles t of v[t][r] m[t][PANEL wide]. */
#define OUTER(R)                                                          \
static void outer##R(const float *v, int64_t ldv, const float *m,         \
                     int64_t ldm, int64_t tiles, float *du, int64_t ldu)  \
{                                                                         \
    vec s[R][2];                                                          \
                                                                          \
    for (int r = 0; r < R; r++) {                                         \
        s[r][0] = load(du + r * ldu);                                     \
        s[r][1] = load(du + r * ldu + LANES);                             \
    }                                                                     \
    for (int64_t t = 0; t < tiles; t++) {                                 \
        vec b0 = load(m + t * ldm), b1 = load(m + t * ldm + LANES);       \
        _Pragma("GCC unroll 16") for (int r = 0; r < R; r++) {            \
            s[r][0] += v[t * ldv + r] * b0;                               \
            s[r][1] += v[t * ldv + r] * b1;                               \
        }                                                                 \
    }                                                                     \
    for (int r = 0; r < R; r++) {                                         \
        store(du + r * ldu, s[r][0]);                                     \
        store(du + r * ldu + LANES, s[r][1]);                             \
    }                                                                     \
}
#define EACH(X) X(1) X(2) X(3) X(4) X(5) X(6) MORE(X)
#if ROWS > 6
#define MORE(X) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#else
#define MORE(X)
#endif
EACH(PRODUCT)
EACH(OUTER)

#define NAME_P(R) product##R,
#define NAME_O(R) outer##R,
static void (*const products[])(const float *, int64_t, const float *, int64_t,
                                float *) = { NULL, EACH(NAME_P) };
static void (*const outers[])(const float *, int64_t, const float *, int64_t,
                              int64_t, float *, int64_t) =
    { NULL, EACH(NAME_O) };

/* n rows in pieces as even as possible, none above ROWS. */
static int piece(int64_t n)
{
    int64_t parts = (n + ROWS - 1) / ROWS;

    return (int)((n + parts - 1) / parts);
}

/* ---- a block of tiles ---- */

static void panel(const struct ctt_wino_plan *p, int64_t tiles, const float *v,
                  const float *u, float *m)
{
    for (int f = 0; f < p->freqs; f++) {
        const float *vf = v + f * p->block * p->cp;
        const float *uf = u + f * p->c * PANEL;
        float *mf = m + f * p->block * PANEL;
        for (int64_t t = 0, r; t < tiles; t += r) {
            r = piece(tiles - t);
            products[r](vf + t * p->cp, p->cp, uf, p->c, mf + t * PANEL);
        }
    }
}

static void conv(const struct ctt_wino_shape *s, int item, int groups,
                 int64_t block, const float *x, int64_t ldx, const float *u,
                 float *y, int64_t ldy, const struct ctt_wino_end *end,
                 float *scratch)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, LANES, block);
    int64_t first = item / groups * block;
    int64_t tiles = p.tiles - first < block ? p.tiles - first : block;
    int g = item % groups, from = (int)(p.panels * g / groups);
    int to = (int)(p.panels * (g + 1) / groups);
    float *v = scratch, *m = scratch + p.freqs * block * p.cp;

    for (int64_t t = 0; t < tiles; t++) {
        struct place at = place(first + t, p.th, p.tw);
        at.i0 -= s->pad_h;
        at.j0 -= s->pad_w;
        (s->r == 3 ? scatter6 : scatter8)(x, ldx, s->c, s->h, s->w, at,
                                          v + t * p.cp, block * p.cp, p.side);
    }
    for (int k = from; k < to; k++) {
        panel(&p, tiles, v, u + k * p.freqs * p.c * PANEL, m);
        for (int64_t t = 0; t < tiles; t++) {
            struct place at = place(first + t, p.th, p.tw);
            for (int half = 0; half < 2; half++) {
                int64_t c = k * PANEL + half * LANES;
                if (c < s->k)
                    (s->r == 3 ? gather6 : gather8)
                        (m + t * PANEL + half * LANES, block * PANEL, at,
                         p.oh, p.ow, c, s->k - c, y, ldy, end);
            }
        }
    }
}

static void grad(const struct ctt_wino_shape *s, int64_t first, int64_t last,
                 int64_t block, const float *x, int64_t ldx, const float *dy,
                 int64_t lddy, float *du, float *scratch)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, LANES, block);
    int64_t kp = p.panels * PANEL, tiles = last - first;
    float *v = scratch, *m = scratch + p.freqs * block * p.cp;

    for (int64_t t = 0; t < tiles; t++) {
        struct place at = place(first + t, p.th, p.tw), in = at;
        in.i0 -= s->pad_h;
        in.j0 -= s->pad_w;
        (s->r == 3 ? scatter6 : scatter8)(x, ldx, s->c, s->h, s->w, in,
                                          v + t * p.cp, block * p.cp, p.side);
        (s->r == 3 ? spread6 : spread8)(dy, lddy, s->k, p.oh, p.ow, at,
                                        m + t * kp, block * kp, 4);
    }
    for (int f = 0; f < p.freqs; f++) {
        for (int64_t c = 0, r; c < p.c; c += r) {
            r = piece(p.c - c);
            for (int64_t k = 0; k < kp; k += PANEL)
                outers[r](v + f * block * p.cp + c, p.cp,
                          m + f * block * kp + k, kp, tiles,
                          du + (f * p.c + c) * kp + k, kp);
        }
    }
}
