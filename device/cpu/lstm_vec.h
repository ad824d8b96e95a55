/* SPDX-License-Identifier: Apache-2.0
 * lstm_vec.h: the LSTM cell of ewise.h on registers of LANES floats: its
 * operations in their order, so the same bits.  Bounds are one instruction
 * each, which compilers do not make of the formula, as a NaN must pass: a third
 * faster.  The file that includes it has defined fvec, such a register, and
 *     bigger(a, b), smaller(a, b)   b if one is a NaN
 *     less(a, b, yes, no)           yes where a < b */

#define INLINE static inline __attribute__((always_inline))

typedef int32_t ivec __attribute__((vector_size(LANES * 4)));
typedef float fvec_at __attribute__((vector_size(LANES * 4), aligned(4),
                                     may_alias));

INLINE fvec get(const float *p)
{
    return *(const fvec_at *)p;
}

INLINE fvec exp_of(fvec x)
{
    fvec t, r, p = (fvec){ 0 } + 1.9875691500e-4f;
    ivec power;

    x = bigger((fvec){ 0 } - 87.0f, x);
    x = smaller((fvec){ 0 } + 87.0f, x);
    t = x * 1.44269504f + 12582912.0f;
    power = ((ivec)t + 127) << 23;
    t -= 12582912.0f;
    r = x - t * 0.693359375f + t * 2.12194440e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return p * (fvec)power;
}

INLINE fvec sigmoid_of(fvec x)
{
    return 1.0f / (1.0f + exp_of(-x));
}

INLINE fvec tanh_of(fvec x)
{
    fvec s = x * x, e = exp_of(-2.0f * x), p = s * -5.70498872745e-3f;

    p = p + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    p = p * s * x + x;
    e = (1.0f - e) / (1.0f + e);
    return less(s, (fvec){ 0 } + 0.390625f, p, e);
}

/* As many of n cells as fill registers; their number. */
static int64_t lstm_vec(const float *z, int64_t apart, const float *old,
                        float *h, float *c, int64_t n)
{
    int64_t whole = n / LANES * LANES;

    for (int64_t j = 0; j < whole; j += LANES) {
        fvec in = sigmoid_of(get(z + j)) * tanh_of(get(z + 3 * apart + j));
        *(fvec_at *)(c + j) = sigmoid_of(get(z + apart + j)) * get(old + j) +
                              in;
    }
    for (int64_t j = 0; j < whole; j += LANES)
        *(fvec_at *)(h + j) = sigmoid_of(get(z + 2 * apart + j)) *
                              tanh_of(get(c + j));
    return whole;
}
