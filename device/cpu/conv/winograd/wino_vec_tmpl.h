/* SPDX-License-Identifier: Apache-2.0
 * wino_vec_tmpl.h: registers of one instruction set and the transforms on them;
 * the file that includes it has defined vec, half and their operations. */

enum { PANEL = 2 * LANES, HALF = LANES / 2, MAXT = 8 };

#define INLINE static inline __attribute__((always_inline))
#define SIMD_LOOP _Pragma("omp simd")
#define UNROLL _Pragma("GCC unroll 16")
#define LOOP _Pragma("GCC unroll 1")

/* Unaligned vector: loads and stores at any address in one instruction.  GCC 12
 * copies the 32 bytes of a memcpy in two halves, through the stack. */
typedef vec loose_vec __attribute__((aligned(4), may_alias));
typedef half loose_half __attribute__((aligned(4), may_alias));

INLINE vec load(const float *p)
{
    return *(const loose_vec *)p;
}

INLINE void store(float *p, vec v)
{
    *(loose_vec *)p = v;
}

INLINE half load_half(const float *p)
{
    return *(const loose_half *)p;
}

INLINE void store_half(float *p, half v)
{
    *(loose_half *)p = v;
}

/* ---- the one-dimensional transforms, on registers ---- */

/* B^T of the points 0, 1, -1, infinity. */
INLINE void in4(vec d[MAXT])
{
    vec a = d[1] + d[2], b = d[2] - d[1];

    d[0] = d[0] - d[2];
    d[3] = d[3] - d[1];
    d[1] = a;
    d[2] = b;
}

/* B^T of the points 0, 1, -1, 2, -2, infinity. */
INLINE void in6(vec d[MAXT])
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
INLINE void in8(vec d[MAXT])
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

/* A^T: 4 frequencies to 2 results, 6 to 4. */
INLINE void out4(vec m[MAXT])
{
    vec s = m[1] + m[2], d = m[1] - m[2];

    m[0] = m[0] + s;
    m[1] = d + m[3];
}

INLINE void out6(vec m[MAXT])
{
    vec s = m[1] + m[2], d = m[1] - m[2], t = m[3] + m[4], e = m[3] - m[4];

    m[0] = m[0] + s + t;
    m[1] = d + 2 * e;
    m[2] = s + 4 * t;
    m[3] = d + 8 * e + m[5];
}

INLINE void out8(vec m[MAXT])
{
    vec s = m[1] + m[2], d = m[1] - m[2], t = m[3] + m[4], e = m[3] - m[4];
    vec u = m[5] + m[6], f = m[5] - m[6];

    m[0] = m[0] + s + t + 8 * u;
    m[1] = d + 2 * e + 4 * f;
    m[2] = s + 4 * t + 2 * u;
    m[3] = d + 8 * e + f + m[7];
}

/* A: 4 gradients to 6 frequencies. */
INLINE void back6(vec y[MAXT])
{
    vec a = y[0] + y[2], b = y[1] + y[3];
    vec c = y[0] + 4 * y[2], e = 2 * y[1] + 8 * y[3];

    y[5] = y[3];
    y[1] = a + b;
    y[2] = a - b;
    y[3] = c + e;
    y[4] = c - e;
}

INLINE void back8(vec y[MAXT])
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
