/* SPDX-License-Identifier: Apache-2.0
 * ternary.c: writes and reads the code of sparse signs. */
#include "libtrain/ternary.h"

#include <math.h>
#include <string.h>

/* The best power of two if each number is 0 or not by chance: that of Sattler
 * and others 2019, where phi is the golden ratio. */
static int low_bits(int64_t n, int64_t count)
{
    double share = (double)count / (double)n, phi = 1.6180339887498949;
    double gap;

    if (share <= 0 || share >= 1)
        return 0;
    gap = log(phi - 1) / log1p(-share);
    return gap < 1 ? 0 : 1 + (int)floor(log2(gap));
}

int64_t ctt_ternary_room(int64_t n, int64_t count)
{
    int low = low_bits(n, count);

    return ((n >> low) + count * (low + 2)) / 8 + 1;
}

/* ---- bits, the lowest of a byte first ---- */

struct bits {
    uint8_t *to;
    uint64_t word;
    int      n;         /* in word; fewer than 8 after put() */
};

/* At most 32 bits. */
static void put(struct bits *b, uint64_t x, int n)
{
    b->word |= x << b->n;
    for (b->n += n; b->n >= 8; b->n -= 8) {
        *b->to++ = (uint8_t)b->word;
        b->word >>= 8;
    }
}

static void put_gap(struct bits *b, uint32_t gap, int low, int minus)
{
    uint32_t ones = gap >> low;

    for (; ones >= 32; ones -= 32)
        put(b, 0xffffffffu, 32);
    put(b, (1ull << ones) - 1, (int)ones + 1);
    put(b, (gap & ((1u << low) - 1)) | (uint64_t)minus << low, low + 1);
}

void ctt_ternary_encode(const int32_t *at, int64_t count, int64_t n,
                        const float *from, uint8_t *code,
                        struct ctt_ternary *t)
{
    struct bits b = { .to = code };
    int32_t next = 0;

    t->count = count;
    t->low = low_bits(n, count);
    for (int64_t i = 0; i < count; i++) {
        put_gap(&b, (uint32_t)(at[i] - next), t->low, from[at[i]] < 0);
        next = at[i] + 1;
    }
    if (b.n)
        *b.to++ = (uint8_t)b.word;
    t->bytes = b.to - code;
}

/* ---- reading ---- */

struct reader {
    const uint8_t *code;
    int64_t        at, bits;
};

static int one_bit(struct reader *r)
{
    int bit = r->code[r->at / 8] >> r->at % 8 & 1;

    r->at++;
    return bit;
}

/* Returns -1 if the code ends before. */
static int64_t get_gap(struct reader *r, int low, int *minus)
{
    int64_t gap = 0;

    while (r->at < r->bits && one_bit(r))
        gap++;
    if (r->at + low + 1 > r->bits)
        return -1;
    gap <<= low;
    for (int k = 0; k < low; k++)
        gap |= (int64_t)one_bit(r) << k;
    *minus = one_bit(r);
    return gap;
}

int ctt_ternary_add(const struct ctt_ternary *t, const uint8_t *code,
                    int64_t n, float scale, float *to)
{
    struct reader r = { .code = code, .bits = t->bytes * 8 };
    const float add[2] = { scale * t->value, -scale * t->value };
    int64_t next = 0;
    int minus, rc = 0;

    CTT_CHECK(t->low >= 0 && t->low < 32, CTT_EFORMAT, "a squeezed gradient "
              "is damaged");
    for (int64_t i = 0; i < t->count; i++) {
        int64_t gap = get_gap(&r, t->low, &minus);

        CTT_CHECK(gap >= 0 && gap < n - next, CTT_EFORMAT,
                  "a squeezed gradient is damaged");
        to[next + gap] += add[minus];
        next += gap + 1;
    }
out:
    return rc;
}
