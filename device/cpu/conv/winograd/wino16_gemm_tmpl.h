/* SPDX-License-Identifier: Apache-2.0
 * wino16_gemm_tmpl.h: the matrix products of a Winograd convolution in whole
 * numbers, for panels of two registers and one. */

/* Prefetch distance of weights, in pairs of channels: a panel is in no near
 * cache if an image is small and has many channels. */
enum { AHEAD = 32 };

/* m[r][N registers] = sum over pairs of channels of v[r][pair] u[pair].  R rows
 * and N registers are constants: the loops over them are unrolled, and the sums
 * stay in registers. */
INLINE void product(int R, int N, const int16_t *v, int64_t ldv,
                    const int16_t *u, int64_t pairs, uint32_t *m)
{
    vec s[ROWS][2];

    UNROLL for (int r = 0; r < R; r++)
        for (int n = 0; n < N; n++)
            s[r][n] = (vec){ 0 };
    for (int64_t i = 0; i < pairs; i++) {
        wvec b[2];
        UNROLL for (int n = 0; n < N; n++)
            b[n] = load_weights(u + (i * N + n) * 2 * LANES);
        for (int n = 0; n < N; n++)
            __builtin_prefetch(u + ((i + AHEAD) * N + n) * 2 * LANES);
        UNROLL for (int r = 0; r < R; r++) {
            pvec a = load_pair(v + r * ldv + 2 * i);
            for (int n = 0; n < N; n++)
                s[r][n] = add_products(s[r][n], a, b[n]);
        }
    }
    UNROLL for (int r = 0; r < R; r++)
        for (int n = 0; n < N; n++)
            store(m + (r * N + n) * LANES, s[r][n]);
}

/* A function for each number of rows and registers, for the table below; in C
 * only a macro can define them. */
#define PRODUCT(R, N)                                                     \
static void product_##N##_##R(const int16_t *v, int64_t ldv,              \
                              const int16_t *u, int64_t pairs,            \
                              uint32_t *m)                                \
{                                                                         \
    product(R, N, v, ldv, u, pairs, m);                                   \
}
#define NAME(R, N) product_##N##_##R,
#define EACH(X, N) X(1, N) X(2, N) X(3, N) X(4, N) X(5, N) X(6, N) MORE(X, N)
#if ROWS > 6
#define MORE(X, N) X(7, N) X(8, N) X(9, N) X(10, N) X(11, N) X(12, N) \
    X(13, N) X(14, N)
#else
#define MORE(X, N)
#endif

EACH(PRODUCT, 1)
EACH(PRODUCT, 2)

typedef void product_fn(const int16_t *, int64_t, const int16_t *, int64_t,
                        uint32_t *);

/* Table by registers and rows. */
static product_fn *const products[3][ROWS + 1] = {
    [1] = { NULL, EACH(NAME, 1) },
    [2] = { NULL, EACH(NAME, 2) },
};

/* n rows in pieces as even as possible, none above ROWS. */
static int even_rows(int64_t n)
{
    int64_t parts = (n + ROWS - 1) / ROWS;

    return (int)((n + parts - 1) / parts);
}
