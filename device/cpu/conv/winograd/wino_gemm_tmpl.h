/* SPDX-License-Identifier: Apache-2.0
 * wino_gemm_tmpl.h: the matrix products of a Winograd convolution, for panels
 * of two registers, one and half a one. */

/* R rows and N registers are constants: the loops over them are unrolled, and
 * the sums stay in registers. */

/* m[r][N registers] = sum over c of v[r][c] u[c][N registers]; more: is added
 * to m.  What is needed next is prefetched: from `next` on, each channel `each`
 * floats. */
INLINE void product_registers(int R, int N, const float *v, int64_t ldv,
                              const float *u, int64_t c, float *m, int more,
                              const float *next, int64_t each)
{
    vec s[ROWS][2];

    UNROLL for (int r = 0; r < R; r++)
        for (int n = 0; n < N; n++)
            s[r][n] = (vec){ 0 };
    if (more)
        UNROLL for (int r = 0; r < R; r++)
            for (int n = 0; n < N; n++)
                s[r][n] = load(m + (r * N + n) * LANES);
    for (int64_t i = 0; i < c; i++) {
        vec b[2];
        UNROLL for (int n = 0; n < N; n++)
            b[n] = load(u + (i * N + n) * LANES);
        for (int n = 0; n < N; n++)
            __builtin_prefetch(next + i * each + n * LANES);
        UNROLL for (int r = 0; r < R; r++)
            for (int n = 0; n < N; n++)
                s[r][n] += v[r * ldv + i] * b[n];
    }
    UNROLL for (int r = 0; r < R; r++)
        for (int n = 0; n < N; n++)
            store(m + (r * N + n) * LANES, s[r][n]);
}

/* Product for a panel of half a register, two channels of v at once: lane 2 k +
 * p is the sum of column k over the channels of parity p. */
INLINE void product_pairs(int R, const float *v, int64_t ldv, const float *u,
                          int64_t c, float *m)
{
    vec s[ROWS];

    UNROLL for (int r = 0; r < R; r++)
        s[r] = (vec){ 0 };
    for (int64_t i = 0; i < c; i += 2, u += LANES) {
        vec b = load(u);
        UNROLL for (int r = 0; r < R; r++)
            s[r] += load_halves(v + r * ldv + i) * b;
    }
    UNROLL for (int r = 0; r < R; r += 2) {
        vec both = add_pairs(s[r], s[r + 1 < R ? r + 1 : r]);
        if (r + 1 < R)
            store(m + r * HALF, both);
        else
            store_half(m + r * HALF, low(both));
    }
}

/* du[r][ldu] += sum over tiles t of v[t][r] m[t][N registers]. */
INLINE void outer_registers(int R, int N, const float *v, int64_t ldv,
                            const float *m, int64_t ldm, int64_t tiles,
                            float *du, int64_t ldu)
{
    vec s[ROWS][2];

    UNROLL for (int r = 0; r < R; r++)
        for (int n = 0; n < N; n++)
            s[r][n] = load(du + r * ldu + n * LANES);
    for (int64_t t = 0; t < tiles; t++) {
        vec b[2];
        UNROLL for (int n = 0; n < N; n++)
            b[n] = load(m + t * ldm + n * LANES);
        UNROLL for (int r = 0; r < R; r++)
            for (int n = 0; n < N; n++)
                s[r][n] += v[t * ldv + r] * b[n];
    }
    UNROLL for (int r = 0; r < R; r++)
        for (int n = 0; n < N; n++)
            store(du + r * ldu + n * LANES, s[r][n]);
}

/* Outer product for half a register. */
INLINE void outer_half(int R, const float *v, int64_t ldv, const float *m,
                       int64_t ldm, int64_t tiles, float *du, int64_t ldu)
{
    half s[ROWS];

    UNROLL for (int r = 0; r < R; r++)
        s[r] = load_half(du + r * ldu);
    for (int64_t t = 0; t < tiles; t++) {
        half b = load_half(m + t * ldm);
        UNROLL for (int r = 0; r < R; r++)
            s[r] += v[t * ldv + r] * b;
    }
    UNROLL for (int r = 0; r < R; r++)
        store_half(du + r * ldu, s[r]);
}

/* By the width of a panel, counted in halves of a register: 1, 2 or 4. */
INLINE void product(int R, int width, const float *v, int64_t ldv,
                    const float *u, int64_t c, float *m, int more,
                    const float *next, int64_t each)
{
    if (width == 1)
        product_pairs(R, v, ldv, u, c, m);
    else
        product_registers(R, width / 2, v, ldv, u, c, m, more, next, each);
}

INLINE void outer(int R, int width, const float *v, int64_t ldv,
                  const float *m, int64_t ldm, int64_t tiles, float *du,
                  int64_t ldu)
{
    if (width == 1)
        outer_half(R, v, ldv, m, ldm, tiles, du, ldu);
    else
        outer_registers(R, width / 2, v, ldv, m, ldm, tiles, du, ldu);
}

/* A function for each number of rows and each width, for the tables below; in C
 * only a macro can define them. */
#define PRODUCT(R, width)                                                 \
static void product_##width##_##R(const float *v, int64_t ldv,            \
                                  const float *u, int64_t c, float *m,    \
                                  int more, const float *next,            \
                                  int64_t each)                           \
{                                                                         \
    product(R, width, v, ldv, u, c, m, more, next, each);                 \
}
#define OUTER(R, width)                                                   \
static void outer_##width##_##R(const float *v, int64_t ldv,              \
                                const float *m, int64_t ldm,              \
                                int64_t tiles, float *du, int64_t ldu)    \
{                                                                         \
    outer(R, width, v, ldv, m, ldm, tiles, du, ldu);                      \
}
#define NAME(R, kind) kind##_##R,
#define EACH(X, ...) X(1, __VA_ARGS__) X(2, __VA_ARGS__)                  \
    X(3, __VA_ARGS__) X(4, __VA_ARGS__) X(5, __VA_ARGS__)                 \
    X(6, __VA_ARGS__) MORE(X, __VA_ARGS__)
#if ROWS > 6
#define MORE(X, ...) X(7, __VA_ARGS__) X(8, __VA_ARGS__)                  \
    X(9, __VA_ARGS__) X(10, __VA_ARGS__) X(11, __VA_ARGS__)               \
    X(12, __VA_ARGS__) X(13, __VA_ARGS__) X(14, __VA_ARGS__)
#else
#define MORE(X, ...)
#endif

EACH(PRODUCT, 4)
EACH(PRODUCT, 2)
EACH(PRODUCT, 1)
EACH(OUTER, 4)
EACH(OUTER, 2)
EACH(OUTER, 1)

typedef void product_fn(const float *, int64_t, const float *, int64_t,
                        float *, int, const float *, int64_t);
typedef void outer_fn(const float *, int64_t, const float *, int64_t, int64_t,
                      float *, int64_t);

/* By width and rows. */
static product_fn *const products[5][ROWS + 1] = {
    [1] = { NULL, EACH(NAME, product_1) },
    [2] = { NULL, EACH(NAME, product_2) },
    [4] = { NULL, EACH(NAME, product_4) },
};
static outer_fn *const outers[5][ROWS + 1] = {
    [1] = { NULL, EACH(NAME, outer_1) },
    [2] = { NULL, EACH(NAME, outer_2) },
    [4] = { NULL, EACH(NAME, outer_4) },
};

/* n rows in pieces as even as possible, none above ROWS. */
static int even_rows(int64_t n)
{
    int64_t parts = (n + ROWS - 1) / ROWS;

    return (int)((n + parts - 1) / parts);
}
