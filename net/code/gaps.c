/* SPDX-License-Identifier: Apache-2.0
 * gaps.c: positions "gaps": the gaps between kept elements as bytes (the
 * relative index of Han et al. 2016), for which deflate finds the code. */
#include "net/code/row.h"

enum { MORE = 255 };    /* this many pruned elements, and the gap goes on */

static int64_t size(const struct ctt_part *p)
{
    int64_t n = 0, gap = 0;

    for (int64_t i = 0; i < p->count; i++, gap++) {
        if (!ctt_part_keeps(p, i))
            continue;
        n += gap / MORE + 1;
        gap = -1;
    }
    return n;
}

static void put(const struct ctt_part *p, uint8_t *out)
{
    int64_t gap = 0;

    for (int64_t i = 0; i < p->count; i++, gap++) {
        if (!ctt_part_keeps(p, i))
            continue;
        for (; gap >= MORE; gap -= MORE)
            *out++ = MORE;
        *out++ = (uint8_t)gap;
        gap = -1;
    }
}

static int get(const struct ctt_part *p, const uint8_t *in, int64_t size,
               uint8_t *keep)
{
    int64_t left = p->kept, i = 0;

    memset(keep, 0, (size_t)p->count);
    for (int64_t at = 0; at < size; at++) {
        i += in[at];
        if (in[at] == MORE)
            continue;
        if (i >= p->count || left-- == 0)
            return 0;
        keep[i++] = 1;
    }
    return left == 0 && (size == 0 || in[size - 1] != MORE);
}

const struct ctt_positions ctt_positions_gaps = { "gaps", size, put, get };
