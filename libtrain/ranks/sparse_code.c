/* SPDX-License-Identifier: Apache-2.0
 * sparse_code.c: writes and reads the code of sparse powers of two. */
#include "libtrain/ranks/sparse_code.h"

#include <math.h>

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

int64_t ctt_sparse_code_room(int64_t n, int64_t count)
{
    int low = low_bits(n, count);

    return ((n >> low) + count * (low + 3 + CTT_SPARSE_CODE_MOST)) / 8 + 1;
}

/* ---- bits, the lowest of a byte first ---- */

struct bits {
    uint8_t *to;
    uint64_t word;
    int      n;         /* in word; fewer than 8 after put_bits() */
};

/* At most 32 bits. */
static void put_bits(struct bits *b, uint64_t x, int n)
{
    b->word |= x << b->n;
    for (b->n += n; b->n >= 8; b->n -= 8) {
        *b->to++ = (uint8_t)b->word;
        b->word >>= 8;
    }
}

/* So many ones, and a zero. */
static void put_unary(struct bits *b, uint32_t ones)
{
    for (; ones >= 32; ones -= 32)
        put_bits(b, 0xffffffffu, 32);
    put_bits(b, (1ull << ones) - 1, (int)ones + 1);
}

static void put_power(struct bits *b, uint32_t gap, int low, int power,
                      int minus)
{
    put_unary(b, gap >> low);
    put_bits(b, gap & ((1u << low) - 1), low);
    put_unary(b, (uint32_t)power);
    put_bits(b, (uint64_t)minus, 1);
}

static int power_of(float magnitude, float least)
{
    int power = 0;

    while (power < CTT_SPARSE_CODE_MOST && magnitude >= 2 * least) {
        magnitude /= 2;
        power++;
    }
    return power;
}

void ctt_sparse_code_encode(const int32_t *at, int64_t count, int64_t n,
                            const float *from, float least, uint8_t *code,
                            struct ctt_sparse_code *t)
{
    struct bits b = { .to = code };
    int32_t next = 0;

    t->count = count;
    t->low = low_bits(n, count);
    for (int64_t i = 0; i < count; i++) {
        float x = from[at[i]];

        put_power(&b, (uint32_t)(at[i] - next), t->low,
                  power_of(fabsf(x), least), x < 0);
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

/* Ones before a zero; -1 if the code ends before. */
static int64_t get_unary(struct reader *r)
{
    int64_t ones = 0;

    while (r->at < r->bits && one_bit(r))
        ones++;
    return r->at < r->bits ? ones : -1;
}

/* Returns the gap, or -1 if the code ends before or is wrong; *by: the number,
 * of which value is one. */
static int64_t get_number(struct reader *r, int low, float *by)
{
    int64_t gap = get_unary(r), power;

    if (gap < 0 || r->at + low > r->bits)
        return -1;
    gap <<= low;
    for (int k = 0; k < low; k++)
        gap |= (int64_t)one_bit(r) << k;
    power = get_unary(r);
    if (power < 0 || power > CTT_SPARSE_CODE_MOST)
        return -1;
    *by = (float)(1 << power) * (one_bit(r) ? -1 : 1);
    return gap;
}

int ctt_sparse_code_add(const struct ctt_sparse_code *t, const uint8_t *code,
                        int64_t n, float scale, float *to)
{
    struct reader r = { .code = code, .bits = t->bytes * 8 };
    int64_t next = 0;
    float by;
    int rc = 0;

    CTT_CHECK(t->low >= 0 && t->low < 32, CTT_EFORMAT, "a squeezed gradient "
              "is damaged");
    for (int64_t i = 0; i < t->count; i++) {
        int64_t gap = get_number(&r, t->low, &by);

        CTT_CHECK(gap >= 0 && gap < n - next, CTT_EFORMAT,
                  "a squeezed gradient is damaged");
        to[next + gap] += scale * (by * t->value);
        next += gap + 1;
    }
out:
    return rc;
}
