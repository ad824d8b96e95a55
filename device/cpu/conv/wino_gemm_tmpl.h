/* SPDX-License-Identifier: Apache-2.0
 * wino_gemm_tmpl.h: the matrix products of a Winograd convolution, for panels
 * of two registers, one and half a one. */

/* m[r][WIDE] = sum over c of v[r][c] u[c][WIDE], r < R rows; N registers T. */
#define PRODUCT(name, R, T, N)                                            \
static void name##R(const float *v, int64_t ldv, const float *u,          \
                    int64_t c, float *m)                                  \
{                                                                         \
    enum { WIDE = N * sizeof(T) / sizeof(float), ONE = WIDE / N };        \
    T s[R][N];                                                            \
                                                                          \
    UNROLL for (int r = 0; r < R; r++)                                    \
        for (int n = 0; n < N; n++)                                       \
            s[r][n] = (T){ 0 };                                           \
    for (int64_t i = 0; i < c; i++) {                                     \
        T b[N];                                                           \
        UNROLL for (int n = 0; n < N; n++)                                \
            memcpy(&b[n], u + i * WIDE + n * ONE, sizeof(T));             \
        for (int n = 0; n < N; n++)                                       \
            __builtin_prefetch(u + (i + c) * WIDE + n * ONE);             \
        UNROLL for (int r = 0; r < R; r++)                                \
            for (int n = 0; n < N; n++)                                   \
                s[r][n] += v[r * ldv + i] * b[n];                         \
    }                                                                     \
    UNROLL for (int r = 0; r < R; r++)                                    \
        for (int n = 0; n < N; n++)                                       \
            memcpy(m + r * WIDE + n * ONE, &s[r][n], sizeof(T));          \
}

/* The same for a panel of half a register, two channels of v at once: lane 2 k
 * + p of a sum is that of column k over the channels of parity p. */
#define PRODUCT_PAIRS(name, R)                                            \
static void name##R(const float *v, int64_t ldv, const float *u,          \
                    int64_t c, float *m)                                  \
{                                                                         \
    vec s[R];                                                             \
                                                                          \
    UNROLL for (int r = 0; r < R; r++)                                    \
        s[r] = (vec){ 0 };                                                \
    for (int64_t i = 0; i < c; i += 2, u += LANES) {                      \
        vec b = load(u);                                                  \
        UNROLL for (int r = 0; r < R; r++)                                \
            s[r] += load_pair(v + r * ldv + i) * b;                       \
    }                                                                     \
    UNROLL for (int r = 0; r < R; r += 2) {                               \
        vec both = add_pairs(s[r], s[r + 1 < R ? r + 1 : r]);             \
        if (r + 1 < R)                                                    \
            store(m + r * HALF, both);                                    \
        else                                                              \
            store_half(m + r * HALF, low(both));                          \
    }                                                                     \
}

/* du[r][ldu] += sum over tiles t of v[t][r] m[t][WIDE]. */
#define OUTER(name, R, T, N)                                              \
static void name##R(const float *v, int64_t ldv, const float *m,          \
                    int64_t ldm, int64_t tiles, float *du, int64_t ldu)   \
{                                                                         \
    enum { ONE = sizeof(T) / sizeof(float) };                             \
    T s[R][N];                                                            \
                                                                          \
    UNROLL for (int r = 0; r < R; r++)                                    \
        for (int n = 0; n < N; n++)                                       \
            memcpy(&s[r][n], du + r * ldu + n * ONE, sizeof(T));          \
    for (int64_t t = 0; t < tiles; t++) {                                 \
        T b[N];                                                           \
        UNROLL for (int n = 0; n < N; n++)                                \
            memcpy(&b[n], m + t * ldm + n * ONE, sizeof(T));              \
        UNROLL for (int r = 0; r < R; r++)                                \
            for (int n = 0; n < N; n++)                                   \
                s[r][n] += v[t * ldv + r] * b[n];                         \
    }                                                                     \
    UNROLL for (int r = 0; r < R; r++)                                    \
        for (int n = 0; n < N; n++)                                       \
            memcpy(du + r * ldu + n * ONE, &s[r][n], sizeof(T));          \
}

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
#define MAKE(R, kind, name, T, N) kind(name, R, T, N)
#define PRODUCT_HALF(R, none) PRODUCT_PAIRS(product_half, R)
#define NAME(R, name) name##R,

EACH(MAKE, PRODUCT, product_two, vec, 2)
EACH(MAKE, PRODUCT, product_one, vec, 1)
EACH(PRODUCT_HALF, )
EACH(MAKE, OUTER, outer_two, vec, 2)
EACH(MAKE, OUTER, outer_one, vec, 1)
EACH(MAKE, OUTER, outer_half, half, 1)

typedef void product_fn(const float *, int64_t, const float *, int64_t,
                        float *);
typedef void outer_fn(const float *, int64_t, const float *, int64_t, int64_t,
                      float *, int64_t);

/* By the width of the panel, counted in halves of a register, and rows. */
static product_fn *const products[5][ROWS + 1] = {
    [1] = { NULL, EACH(NAME, product_half) },
    [2] = { NULL, EACH(NAME, product_one) },
    [4] = { NULL, EACH(NAME, product_two) },
};
static outer_fn *const outers[5][ROWS + 1] = {
    [1] = { NULL, EACH(NAME, outer_half) },
    [2] = { NULL, EACH(NAME, outer_one) },
    [4] = { NULL, EACH(NAME, outer_two) },
};

/* n rows in pieces as even as possible, none above ROWS. */
static int piece(int64_t n)
{
    int64_t parts = (n + ROWS - 1) / ROWS;

    return (int)((n + parts - 1) / parts);
}
