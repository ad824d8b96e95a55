/* SPDX-License-Identifier: Apache-2.0
 * gaps.c: positions "gaps" and "block": the gaps between kept elements, or kept
 * blocks of them, as bytes (the relative index of Han et al. 2016), for which
 * deflate finds the code. */
#include "net/code/row.h"
#include "net/unit.h"

enum { MORE = 255 };    /* this many pruned units, and the gap goes on */

static int64_t units(const struct ctt_part *p, enum ctt_prune_form f)
{
    return ctt_units(f, &p->w->t, 1);
}

enum { NONE, ALL, PART };    /* elements that a unit keeps */

static int kept_of(const struct ctt_part *p, enum ctt_prune_form f, int64_t k)
{
    struct ctt_unit u;
    int kept;

    if (f == CTT_PRUNE_ANY)    /* most weights: no division for each element */
        return ctt_part_keeps(p, k) ? ALL : NONE;
    u = ctt_unit_at(f, &p->w->t, 1, k);
    kept = ctt_unit_kept(&u, p->w->keep);
    return kept == 0 ? NONE : kept == ctt_unit_size(&u) ? ALL : PART;
}

/* -1: a unit is kept in part. */
static int64_t units_size(const struct ctt_part *p, enum ctt_prune_form f)
{
    int64_t n = 0, gap = 0, count = units(p, f);

    for (int64_t k = 0; k < count; k++, gap++) {
        int kept = kept_of(p, f, k);

        if (kept == NONE)
            continue;
        if (kept == PART)
            return -1;
        n += gap / MORE + 1;
        gap = -1;
    }
    return n;
}

static void put_units(const struct ctt_part *p, enum ctt_prune_form f,
                      uint8_t *out)
{
    int64_t gap = 0, count = units(p, f);

    for (int64_t k = 0; k < count; k++, gap++) {
        if (kept_of(p, f, k) == NONE)
            continue;
        for (; gap >= MORE; gap -= MORE)
            *out++ = MORE;
        *out++ = (uint8_t)gap;
        gap = -1;
    }
}

/* The kept units are in the order of their elements. */
static int get_units(const struct ctt_part *p, enum ctt_prune_form f,
                     const uint8_t *in, int64_t size, uint32_t *to)
{
    int64_t left = p->kept, count = units(p, f), k = 0;

    for (int64_t i = 0; i < size; i++) {
        struct ctt_unit u = { .at = k += in[i], .ins = 1 };

        if (in[i] == MORE)
            continue;
        if (k >= count)
            return 0;
        if (f != CTT_PRUNE_ANY)
            u = ctt_unit_at(f, &p->w->t, 1, k);
        k++;
        if ((left -= u.ins) < 0)
            return 0;
        for (int n = 0; n < u.ins; n++)
            *to++ = (uint32_t)(u.at + n);
    }
    return left == 0 && (size == 0 || in[size - 1] != MORE);
}

/* ---- the rows ---- */

static int64_t size_gaps(const struct ctt_part *p)
{
    return units_size(p, CTT_PRUNE_ANY);
}

static void put_gaps(const struct ctt_part *p, uint8_t *out)
{
    put_units(p, CTT_PRUNE_ANY, out);
}

static int get_gaps(const struct ctt_part *p, const uint8_t *in, int64_t size,
                    uint32_t *at)
{
    return get_units(p, CTT_PRUNE_ANY, in, size, at);
}

static int64_t size_block(const struct ctt_part *p)
{
    return units_size(p, CTT_PRUNE_BLOCK);
}

static void put_block(const struct ctt_part *p, uint8_t *out)
{
    put_units(p, CTT_PRUNE_BLOCK, out);
}

static int get_block(const struct ctt_part *p, const uint8_t *in, int64_t size,
                     uint32_t *at)
{
    return get_units(p, CTT_PRUNE_BLOCK, in, size, at);
}

const struct ctt_positions ctt_positions_gaps = {
    "gaps", size_gaps, put_gaps, get_gaps, 0
};
const struct ctt_positions ctt_positions_block = {
    "block", size_block, put_block, get_block, 0
};
