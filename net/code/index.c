/* SPDX-License-Identifier: Apache-2.0
 * index.c: positions "index": the gaps between kept elements. */
#include "net/code/row.h"

/* The gaps between kept elements (the relative index of Han et al. 2016), each
 * in the code of Rice and Plaunt (1971): its high part in unary, its k low
 * bits as they are.  The first byte is the k with the fewest bits in all.  The
 * result is at most one byte longer than a mask: k = 0 is the mask itself. */
enum { MAX_RICE = 30 };

struct bits {
    const uint8_t *p;
    int64_t        at, end;
};

static int64_t rice_bits(const struct ctt_part *p, int *best)
{
    int64_t bits[MAX_RICE + 1] = { 0 }, gap = 0;

    for (int64_t i = 0; i < p->count; i++, gap++) {
        if (!ctt_part_keeps(p, i))
            continue;
        for (int k = 0; k <= MAX_RICE; k++)
            bits[k] += (gap >> k) + 1 + k;
        gap = -1;
    }
    *best = 0;
    for (int k = 1; k <= MAX_RICE; k++)
        if (bits[k] < bits[*best])
            *best = k;
    return bits[*best];
}

static int64_t rice_size(const struct ctt_part *p)
{
    int k;

    return 1 + ctt_bytes_of_bits(rice_bits(p, &k));
}

/* Unary: ones, then a zero; the memory is zeroed. */
static int64_t put_gap(uint8_t *out, int64_t at, int64_t gap, int k)
{
    for (int64_t q = gap >> k; q > 0; q--, at++)
        out[at / 8] |= (uint8_t)(1u << at % 8);
    at++;
    for (int i = 0; i < k; i++, at++)
        out[at / 8] |= (uint8_t)((gap >> i & 1) << at % 8);
    return at;
}

static void put_rice(const struct ctt_part *p, uint8_t *out)
{
    int64_t gap = 0, at = 0;
    int k;

    rice_bits(p, &k);
    *out++ = (uint8_t)k;
    for (int64_t i = 0; i < p->count; i++, gap++) {
        if (!ctt_part_keeps(p, i))
            continue;
        at = put_gap(out, at, gap, k);
        gap = -1;
    }
}

/* The next bits, at least 57 of them, with zeros behind the end. */
static uint64_t window(const struct bits *b)
{
    const uint8_t *p = b->p + b->at / 8;
    int64_t left = (b->end - b->at / 8 * 8) / 8;
    uint64_t x = 0;

    if (left >= 8)
        x = ctt_get_eight(p);
    for (int k = 0; k < left && left < 8; k++)
        x |= (uint64_t)p[k] << 8 * k;
    return x >> b->at % 8;
}

/* The next gap, or -1 if the bits end or it is more than `most`. */
static int64_t get_gap(struct bits *b, int k, int64_t most)
{
    enum { SURE = 56 };
    const uint64_t TOP = UINT64_C(1) << 63;
    uint64_t x = window(b);
    int64_t gap = 0;
    int ones;

    for (; (ones = __builtin_ctzll(~x | TOP)) + 1 + k > SURE; x = window(b)) {
        ones = ones < SURE - MAX_RICE - 1 ? ones : SURE - MAX_RICE - 1;
        gap += (int64_t)ones << k;
        b->at += ones;
        if (gap > most || b->at >= b->end)
            return -1;
    }
    gap += ((int64_t)ones << k) |
           (int64_t)(x >> (ones + 1) & ((UINT64_C(1) << k) - 1));
    b->at += ones + 1 + k;
    return b->at > b->end || gap > most ? -1 : gap;
}

/* 1 if fewer than 8 bits are left, all zeros. */
static int at_end(const struct bits *b)
{
    return b->end - b->at < 8 && (b->at == b->end || window(b) == 0);
}

static int get_rice(const struct ctt_part *p, const uint8_t *in, int64_t size,
                    uint32_t *to)
{
    struct bits b = { .p = in + 1, .end = 8 * (size - 1) };
    int64_t i = 0;

    if (size < 1 || in[0] > MAX_RICE)
        return 0;
    for (int64_t j = 0; j < p->kept; j++, i++) {
        int64_t gap = get_gap(&b, in[0], p->count - 1 - i);

        if (gap < 0)
            return 0;
        to[j] = (uint32_t)(i += gap);
    }
    return at_end(&b);
}

const struct ctt_positions ctt_positions_index = {
    "index", rice_size, put_rice, get_rice, 0
};
