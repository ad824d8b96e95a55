/* SPDX-License-Identifier: Apache-2.0
 * index.c: positions "index": the gaps between kept elements. */
#include "net/code/row.h"

#include <string.h>

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

/* 0, 1, or -1 after the end. */
static int next_bit(struct bits *b)
{
    int64_t at = b->at;

    if (at >= b->end)
        return -1;
    b->at++;
    return b->p[at / 8] >> at % 8 & 1;
}

/* The next gap, or -1 if the bits end or it is more than `most`. */
static int64_t get_gap(struct bits *b, int k, int64_t most)
{
    int64_t gap = 0;
    int bit;

    while ((bit = next_bit(b)) == 1)
        if ((gap += INT64_C(1) << k) > most)
            return -1;
    for (int i = 0; i < k && bit >= 0; i++)
        if ((bit = next_bit(b)) > 0)
            gap |= INT64_C(1) << i;
    return bit < 0 || gap > most ? -1 : gap;
}

/* 1 if fewer than 8 bits are left, all zeros. */
static int at_end(struct bits *b)
{
    int bit = 0;

    if (b->end - b->at >= 8)
        return 0;
    while (bit == 0)
        bit = next_bit(b);
    return bit < 0;
}

static int get_rice(const struct ctt_part *p, const uint8_t *in, int64_t size,
                    uint8_t *keep)
{
    struct bits b = { .p = in + 1, .end = 8 * (size - 1) };
    int64_t left = p->kept, i = 0;

    if (size < 1 || in[0] > MAX_RICE)
        return 0;
    memset(keep, 0, (size_t)p->count);
    for (; left > 0; left--, i++) {
        int64_t gap = get_gap(&b, in[0], p->count - 1 - i);
        if (gap < 0)
            return 0;
        keep[i += gap] = 1;
    }
    return at_end(&b);
}

const struct ctt_positions ctt_positions_index = {
    "index", rice_size, put_rice, get_rice
};
