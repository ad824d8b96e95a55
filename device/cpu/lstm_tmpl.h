/* SPDX-License-Identifier: Apache-2.0
 * lstm_tmpl.h: the LSTM cell of ewise.h on registers of LANES floats: its
 * operations in their order, so the same bits.  Bounds are one instruction
 * each, which compilers do not make of the formula, as a NaN must pass, and
 * several exp() are computed side by side, so that none waits for itself: 39%
 * less time with AVX-512.  The file that includes it has defined fvec, such a
 * register, AT_ONCE, registers of cells, and
 *     lanes_max(a, b), lanes_min(a, b)   b if one is a NaN
 *     less(a, b, yes, no)           yes where a < b */

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

typedef uint32_t uvec __attribute__((vector_size(LANES * 4)));
typedef float fvec_at __attribute__((vector_size(LANES * 4), aligned(4),
                                     may_alias));

INLINE fvec get(const float *p)
{
    return *(const fvec_at *)p;
}

/* p = p * r + c of N registers, a constant. */
INLINE void horner(int N, fvec *p, const fvec *r, float c)
{
    UNROLL for (int i = 0; i < N; i++)
        p[i] = p[i] * r[i] + c;
}

/* exp() of N registers, in place. */
INLINE void exps(int N, fvec *x)
{
    fvec t[3 * AT_ONCE], r[3 * AT_ONCE], p[3 * AT_ONCE];
    uvec power[3 * AT_ONCE];

    UNROLL for (int i = 0; i < N; i++)
        x[i] = lanes_max((fvec){ 0 } - 87.0f, x[i]);
    UNROLL for (int i = 0; i < N; i++)
        x[i] = lanes_min((fvec){ 0 } + 87.0f, x[i]);
    UNROLL for (int i = 0; i < N; i++)
        t[i] = x[i] * 1.44269504f + 12582912.0f;
    UNROLL for (int i = 0; i < N; i++) {
        power[i] = ((uvec)t[i] + 127) << 23;
        t[i] -= 12582912.0f;
        r[i] = x[i] - t[i] * 0.693359375f + t[i] * 2.12194440e-4f;
        p[i] = (fvec){ 0 } + 1.9875691500e-4f;
    }
    horner(N, p, r, 1.3981999507e-3f);
    horner(N, p, r, 8.3334519073e-3f);
    horner(N, p, r, 4.1665795894e-2f);
    horner(N, p, r, 1.6666665459e-1f);
    horner(N, p, r, 5.0000001201e-1f);
    UNROLL for (int i = 0; i < N; i++)
        p[i] = p[i] * r[i] * r[i] + r[i] + 1.0f;
    UNROLL for (int i = 0; i < N; i++)
        x[i] = p[i] * (fvec)power[i];
}

/* tanh() of N registers; y: exp(-2 x) before. */
INLINE void tanhs(int N, const fvec *x, fvec *y)
{
    fvec s[AT_ONCE], p[AT_ONCE];

    UNROLL for (int i = 0; i < N; i++) {
        s[i] = x[i] * x[i];
        p[i] = (fvec){ 0 } - 5.70498872745e-3f;
    }
    horner(N, p, s, 2.06390887954e-2f);
    horner(N, p, s, -5.37397155531e-2f);
    horner(N, p, s, 1.33314422036e-1f);
    horner(N, p, s, -3.33332819422e-1f);
    UNROLL for (int i = 0; i < N; i++) {
        p[i] = p[i] * s[i] * x[i] + x[i];
        y[i] = (1.0f - y[i]) / (1.0f + y[i]);
        y[i] = less(s[i], (fvec){ 0 } + 0.390625f, p[i], y[i]);
    }
}

/* New cell states of N registers. */
INLINE void cells(int N, const float *z, int64_t apart, const float *old,
                  float *c)
{
    fvec g[AT_ONCE], e[3 * AT_ONCE];

    UNROLL for (int i = 0; i < N; i++) {
        g[i] = get(z + 3 * apart + i * LANES);
        e[i] = -2.0f * g[i];
        e[N + i] = -get(z + i * LANES);
        e[2 * N + i] = -get(z + apart + i * LANES);
    }
    exps(3 * N, e);
    tanhs(N, g, e);
    UNROLL for (int i = 0; i < N; i++)
        *(fvec_at *)(c + i * LANES) =
            1.0f / (1.0f + e[2 * N + i]) * get(old + i * LANES) +
            1.0f / (1.0f + e[N + i]) * e[i];
}

/* Hidden states of N registers of gates o and cell states. */
INLINE void outs(int N, const float *o, const float *c, float *h)
{
    fvec x[AT_ONCE], e[3 * AT_ONCE];

    UNROLL for (int i = 0; i < N; i++) {
        x[i] = get(c + i * LANES);
        e[i] = -2.0f * x[i];
        e[N + i] = -get(o + i * LANES);
    }
    exps(2 * N, e);
    tanhs(N, x, e);
    UNROLL for (int i = 0; i < N; i++)
        *(fvec_at *)(h + i * LANES) = 1.0f / (1.0f + e[N + i]) * e[i];
}

/* Computes the cells that fill whole registers; returns how many. */
static int64_t lstm_vec(const float *z, int64_t apart, const float *old,
                        float *h, float *c, int64_t n)
{
    int64_t whole = n / LANES * LANES, many = AT_ONCE * LANES;
    int64_t full = n / many * many;

    for (int64_t j = 0; j < full; j += many)
        cells(AT_ONCE, z + j, apart, old + j, c + j);
    for (int64_t j = full; j < whole; j += LANES)
        cells(1, z + j, apart, old + j, c + j);
    for (int64_t j = 0; j < full; j += many)
        outs(AT_ONCE, z + 2 * apart + j, c + j, h + j);
    for (int64_t j = full; j < whole; j += LANES)
        outs(1, z + 2 * apart + j, c + j, h + j);
    return whole;
}
