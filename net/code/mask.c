/* SPDX-License-Identifier: Apache-2.0
 * mask.c: positions "mask": one bit per element, 1 if it is kept. */
#include "net/code/row.h"

static int64_t mask_size(const struct ctt_part *p)
{
    return ctt_bytes_of_bits(p->count);
}

static void put_mask(const struct ctt_part *p, uint8_t *out)
{
    for (int64_t i = 0; i < p->count; i++)
        if (ctt_part_keeps(p, i))
            out[i / 8] |= (uint8_t)(1u << i % 8);
}

static int get_mask(const struct ctt_part *p, const uint8_t *in, int64_t size,
                    uint32_t *at)
{
    int64_t left = p->kept, n = p->count;

    if (size != ctt_bytes_of_bits(n))
        return 0;
    for (int64_t i = 0; i < size; i++) {
        unsigned bits = in[i];

        if ((left -= __builtin_popcount(bits)) < 0)
            return 0;
        for (; bits; bits &= bits - 1)
            *at++ = (uint32_t)(8 * i + __builtin_ctz(bits));
    }
    return left == 0 && (n % 8 == 0 || in[size - 1] >> n % 8 == 0);
}

const struct ctt_positions ctt_positions_mask = {
    "mask", mask_size, put_mask, get_mask, 0
};
