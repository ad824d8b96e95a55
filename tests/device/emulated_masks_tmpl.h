/* SPDX-License-Identifier: Apache-2.0
 * emulated_masks_tmpl.h: loads and stores by a mask, which SIMDe lacks. */
static inline void put_shorts(void *to, unsigned mask, __m256i v)
{
    uint16_t x[16];

    memcpy(x, &v, sizeof(x));
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            memcpy((char *)to + 2 * i, &x[i], 2);
}

static inline void put_floats(void *to, unsigned mask, __m512 v)
{
    float x[16];

    memcpy(x, &v, sizeof(x));
    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            memcpy((char *)to + 4 * i, &x[i], 4);
}

static inline __m512 get_floats(unsigned mask, const float *from)
{
    float x[16] = { 0 };

    for (int i = 0; i < 16; i++)
        if (mask >> i & 1)
            x[i] = from[i];
    return _mm512_loadu_ps(x);
}

#define _mm256_mask_storeu_epi16 put_shorts
#define _mm512_mask_storeu_ps put_floats
#define _mm512_maskz_loadu_ps get_floats
