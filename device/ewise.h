/* SPDX-License-Identifier: Apache-2.0
 * ewise.h: every scalar formula, once (an LSTM cell in device/cpu/lstm_tmpl.h
 * once more).  The C compiler uses it in the loops of the CPU and nvcc in the
 * kernels, so the devices cannot disagree on a formula.
 * No branches and no library calls, so that loops over them are vectorised.
 * Plain C11 that is also C++: no restrict, no designated initialisers. */
#ifndef CTT_EWISE_H
#define CTT_EWISE_H

#include "base/byte.h"
#include "base/random.h"

#include <string.h>

CTT_FN uint32_t ctt_bits(float x)
{
    uint32_t u;

    memcpy(&u, &x, sizeof(u));
    return u;
}

CTT_FN float ctt_from_bits(uint32_t u)
{
    float x;

    memcpy(&x, &u, sizeof(x));
    return x;
}

/* yes ? a : b by masks: compilers turn a longer chain of conditional
 * expressions into branches, which prevents vectorisation. */
CTT_FN float ctt_choose(int yes, float a, float b)
{
    uint32_t m = 0u - (uint32_t)yes;

    return ctt_from_bits((ctt_bits(a) & m) | (ctt_bits(b) & ~m));
}

CTT_FN float ctt_abs(float x)
{
    return ctt_from_bits(ctt_bits(x) & 0x7fffffffu);
}

/* exp(x), relative error below 1.2e-7: x = n ln 2 + r, a polynomial in r, and
 * 2^n in the exponent.  Adding 1.5 * 2^23 rounds to an integer in the
 * low bits.  (Reduction and coefficients: Moshier, Cephes,
 * 1989.)  Outside -87..87 the value stays that of the bound; a NaN
 * passes through. */
CTT_FN float ctt_exp(float x)
{
    float t, r, p;
    uint32_t power;

    x = ctt_choose(x < -87.0f, -87.0f, x);
    x = ctt_choose(x > 87.0f, 87.0f, x);
    t = x * 1.44269504f + 12582912.0f;
    power = (ctt_bits(t) + 127u) << 23;
    t -= 12582912.0f;
    r = x - t * 0.693359375f + t * 2.12194440e-4f;
    p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    return p * ctt_from_bits(power);
}

/* log(x) of a normal number above 0, relative error below 1e-6 except around 1,
 * where the absolute one is below 1e-7: x = 2^n m with m in 0.7..1.4, and a
 * polynomial in m - 1 (Moshier). */
CTT_FN float ctt_log(float x)
{
    uint32_t up = ctt_bits(x) - 0x3f3504f3u;
    int32_t whole = (int32_t)up >> 23;
    float m = ctt_from_bits(ctt_bits(x) - ((uint32_t)whole << 23)) - 1.0f;
    float n = (float)whole, s = m * m, p = 7.0376836292e-2f;

    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * s - n * 2.12194440e-4f - 0.5f * s;
    return m + p + n * 0.693359375f;
}

/* x^y of such an x. */
CTT_FN float ctt_power(float x, float y) { return ctt_exp(y * ctt_log(x)); }

CTT_FN float ctt_relu(float x)    { return x < 0 ? 0 : x; }
CTT_FN float ctt_relu6(float x)   { return x < 0 ? 0 : x > 6 ? 6 : x; }
CTT_FN float ctt_sigmoid(float x) { return 1.0f / (1.0f + ctt_exp(-x)); }

/* tanh(x) by exp; near 0, where digits would cancel, by a polynomial
 * (Moshier). */
CTT_FN float ctt_tanh(float x)
{
    float s = x * x, e = ctt_exp(-2.0f * x), p = -5.70498872745e-3f;

    p = p * s + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    p = p * s * x + x;
    e = (1.0f - e) / (1.0f + e);
    return ctt_choose(s < 0.390625f, p, e);
}

CTT_FN float ctt_leaky(float x, float slope) { return x < 0 ? slope * x : x; }

/* 1 / x, but 0 of 0: the inverse of a count of nothing. */
CTT_FN float ctt_inverse(float x)
{
    return ctt_choose(x == 0, 0, 1 / ctt_choose(x == 0, 1, x));
}

/* The piecewise linear sigmoid, from 0 at -3 to 1 at 3 (Courbariaux and others
 * 2015), and x times it (Howard and others 2019). */
CTT_FN float ctt_hsigmoid(float x)
{
    float y = x * (1.0f / 6) + 0.5f;

    return y < 0 ? 0 : y > 1 ? 1 : y;
}
CTT_FN float ctt_hswish(float x) { return x * ctt_hsigmoid(x); }

/* x sigmoid(x) (Elfwing and others 2018). */
CTT_FN float ctt_silu(float x) { return x * ctt_sigmoid(x); }

/* The normal distribution's function, absolute error below 2.5e-7; e =
 * exp(-x x / 2).  (Abramowitz and Stegun 1964, 7.1.26, with the constant for x
 * in place of x / sqrt(2).) */
CTT_FN float ctt_normal(float x, float e)
{
    float t = 1 / (1 + 0.231641888f * ctt_abs(x)), p = 1.061405429f;

    p = p * t - 1.453152027f;
    p = p * t + 1.421413741f;
    p = p * t - 0.284496736f;
    p = p * t + 0.254829592f;
    p = 0.5f * p * t * e;
    return ctt_choose(x < 0, p, 1 - p);
}

/* x times that function (Hendrycks and Gimpel 2016). */
CTT_FN float ctt_gelu(float x)
{
    return x * ctt_normal(x, ctt_exp(-0.5f * x * x));
}

/* Gradients in terms of the output y, so that the input need not be kept. */
CTT_FN float ctt_relu_bwd(float y, float dy)    { return y > 0 ? dy : 0; }
CTT_FN float ctt_relu6_bwd(float y, float dy)
{
    return y > 0 && y < 6 ? dy : 0;
}
CTT_FN float ctt_sigmoid_bwd(float y, float dy) { return dy * y * (1 - y); }
CTT_FN float ctt_tanh_bwd(float y, float dy)    { return dy * (1 - y * y); }

CTT_FN float ctt_hsigmoid_bwd(float y, float dy)
{
    return y > 0 && y < 1 ? dy * (1.0f / 6) : 0;
}
CTT_FN float ctt_leaky_bwd(float y, float dy, float slope)
{
    return y > 0 ? dy : slope * dy;
}

CTT_FN float ctt_inverse_bwd(float y, float dy) { return -dy * y * y; }

/* Gradients in terms of the input: these functions first fall, so the output
 * does not say which x it is of. */
CTT_FN float ctt_abs_bwd(float x, float dy)
{
    return ctt_choose(x > 0, dy, ctt_choose(x < 0, -dy, 0));
}
CTT_FN float ctt_hswish_bwd(float x, float dy)
{
    float slope = x * (1.0f / 3) + 0.5f;

    return dy * ctt_choose(x <= -3, 0, ctt_choose(x >= 3, 1, slope));
}
CTT_FN float ctt_silu_bwd(float x, float dy)
{
    float s = ctt_sigmoid(x);

    return dy * s * (1 + x * (1 - s));
}
CTT_FN float ctt_gelu_bwd(float x, float dy)
{
    float e = ctt_exp(-0.5f * x * x);

    return dy * (ctt_normal(x, e) + x * e * 0.398942280f);
}

/* The last arguments of an activation, by its column in CTT_ACTS
 * (net/graph.h). */
#define CTT_ACT_PLAIN(slope)
#define CTT_ACT_SLOPE(slope) , slope

/* One channel of an LSTM cell.  z holds the gates i, f, o, g before their
 * nonlinearities. */
struct ctt_lstm { float i, f, o, g; };

CTT_FN float ctt_lstm_cell(float i, float f, float g, float c_old)
{
    return ctt_sigmoid(f) * c_old + ctt_sigmoid(i) * ctt_tanh(g);
}

CTT_FN float ctt_lstm_out(float o, float c)
{
    return ctt_sigmoid(o) * ctt_tanh(c);
}

CTT_FN void ctt_lstm_fwd(struct ctt_lstm z, float c_old, float *h, float *c)
{
    *c = ctt_lstm_cell(z.i, z.f, z.g, c_old);
    *h = ctt_lstm_out(z.o, *c);
}

CTT_FN struct ctt_lstm ctt_lstm_bwd(struct ctt_lstm z, float c_old, float dh,
                                    float dc, float *dc_old)
{
    float i = ctt_sigmoid(z.i), f = ctt_sigmoid(z.f), o = ctt_sigmoid(z.o);
    float g = ctt_tanh(z.g), t = ctt_tanh(f * c_old + i * g);
    struct ctt_lstm dz;

    dc += dh * o * (1 - t * t);
    dz.i = ctt_sigmoid_bwd(i, dc * g);
    dz.f = ctt_sigmoid_bwd(f, dc * c_old);
    dz.o = ctt_sigmoid_bwd(o, dh * t);
    dz.g = ctt_tanh_bwd(g, dc * i);
    *dc_old = dc * f;
    return dz;
}

/* A running average, updated with the current value.  A value that is not
 * finite is ignored: a step that overflows is skipped, the average stays. */
CTT_FN float ctt_running(float old, float now, float momentum)
{
    float next = old + momentum * (now - old);

    return ctt_choose(next - next == 0, next, old);
}

/* The loss of a difference e, and its derivative. */
CTT_FN float ctt_square(float e)     { return e * e; }
CTT_FN float ctt_square_bwd(float e) { return 2 * e; }
CTT_FN float ctt_l1l2(float e)       { return ctt_abs(e) + e * e; }
CTT_FN float ctt_l1l2_bwd(float e)
{
    return 2 * e + (float)(e > 0) - (float)(e < 0);
}

/* log(1 + exp(x)) without overflow, relative error below 1e-6.  With e =
 * exp(-|x|) and s = e / (2 + e), log(1 + e) is 2 artanh(s), whose series of
 * seven terms is exact to a float for s up to 1/3. */
CTT_FN float ctt_softplus(float x)
{
    float e = ctt_exp(-ctt_abs(x)), s = e / (2 + e), t = s * s, p = 1.0f / 13;

    p = p * t + 1.0f / 11;
    p = p * t + 1.0f / 9;
    p = p * t + 1.0f / 7;
    p = p * t + 1.0f / 5;
    p = p * t + 1.0f / 3;
    return ctt_choose(x > 0, x, 0) + 2 * (s + s * t * p);
}

/* The cross entropy of one class that is there with weight a and is not with
 * weight b, x its logit, and its derivative.  Without weight x is not seen. */
CTT_FN float ctt_binary(float x, float a, float b)
{
    float y = a * ctt_softplus(-x) + b * ctt_softplus(x);

    return ctt_choose(a + b == 0, 0, y);
}

CTT_FN float ctt_binary_bwd(float x, float a, float b)
{
    return ctt_choose(a + b == 0, 0, (a + b) * ctt_sigmoid(x) - a);
}

/* Dropout: the factor of element i of a call; keep = 1 / (1 - rate).
 * The top 24 bits make a number in 0..1 that is exact in a float. */
CTT_FN float ctt_drop(uint64_t key, uint64_t i, float rate, float keep)
{
    float u = (float)(int32_t)(ctt_random(key, i) >> 8) * (1.0f / 16777216);

    return u < rate ? 0 : keep;
}

#endif
