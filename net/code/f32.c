/* SPDX-License-Identifier: Apache-2.0
 * f32.c: values "f32": the bits of floats, lowest byte first. */
#include "net/code/row.h"

#include <string.h>

enum { WIDTH = 4 };

static int64_t size(const struct ctt_part *p)
{
    return ctt_weight_is_floats(p->w) ? WIDTH * p->kept : -1;
}

static void put(const struct ctt_part *p, uint8_t *out)
{
    const float *w = p->w->t.data;

    for (int64_t i = 0; i < p->count; i++) {
        uint32_t u;

        if (!ctt_part_keeps(p, i))
            continue;
        memcpy(&u, &w[i], WIDTH);
        for (int k = 0; k < WIDTH; k++)
            *out++ = (uint8_t)(u >> 8 * k);
    }
}

static void get(const struct ctt_part *p, const uint8_t *in, float *to)
{
    for (int64_t i = 0; i < p->count; i++) {
        uint32_t u = 0;

        if (ctt_part_keeps(p, i))
            for (int k = 0; k < WIDTH; k++)
                u |= (uint32_t)*in++ << 8 * k;
        memcpy(&to[i], &u, WIDTH);
    }
}

const struct ctt_values ctt_values_f32 = { "f32", WIDTH, size, put, get };
