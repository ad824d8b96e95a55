/* SPDX-License-Identifier: Apache-2.0
 * float.c: values "f32" and "f16": the bits of floats, and of IEEE half
 * precision for floats that it represents exactly, lowest byte first. */
#include "net/code/row.h"

enum { SINGLE = 4, HALF = 2 };

/* ---- encoding ---- */

static int lay_out(const struct ctt_part *p, int width, struct ctt_layout *l)
{
    *l = (struct ctt_layout){ 0, width * p->kept, width };
    return ctt_weight_is_floats(p->w) && !p->w->share;
}

static int layout_f32(const struct ctt_part *p, struct ctt_layout *l)
{
    return lay_out(p, SINGLE, l);
}

static int layout_f16(const struct ctt_part *p, struct ctt_layout *l)
{
    const float *w = p->w->t.data;

    if (!lay_out(p, HALF, l))
        return 0;
    for (int64_t i = 0; i < p->count; i++)
        if (ctt_part_keeps(p, i) && !ctt_is_f16(w[i]))
            return 0;
    return 1;
}

static void put_floats(const struct ctt_part *p, int width, uint8_t *out)
{
    const float *w = p->w->t.data;

    for (int64_t i = 0; i < p->count; i++) {
        if (!ctt_part_keeps(p, i))
            continue;
        ctt_put_number(out, width == HALF ? ctt_f16_of(w[i])
                                          : ctt_float_bits(w[i]), width);
        out += width;
    }
}

static void put_f32(const struct ctt_part *p, uint8_t *out)
{
    put_floats(p, SINGLE, out);
}

static void put_f16(const struct ctt_part *p, uint8_t *out)
{
    put_floats(p, HALF, out);
}

/* ---- decoding ---- */

static int64_t most_f32(const struct ctt_part *p) { return SINGLE * p->kept; }
static int64_t most_f16(const struct ctt_part *p) { return HALF * p->kept; }

static int64_t used_f32(const struct ctt_part *p, const uint8_t *in, int64_t n)
{
    (void)in;
    return most_f32(p) <= n ? most_f32(p) : -1;
}

static int64_t used_f16(const struct ctt_part *p, const uint8_t *in, int64_t n)
{
    (void)in;
    return most_f16(p) <= n ? most_f16(p) : -1;
}

static int get_f32(const struct ctt_part *p, const uint8_t *in,
                   const struct ctt_decoded *to)
{
    for (int64_t j = 0; j < p->kept; j++)
        ctt_set_bits(&to->w[ctt_part_place(p, j)],
                     ctt_get_number(in + SINGLE * j, SINGLE));
    return 1;
}

static int get_f16(const struct ctt_part *p, const uint8_t *in,
                   const struct ctt_decoded *to)
{
    for (int64_t j = 0; j < p->kept; j++)
        ctt_set_bits(&to->w[ctt_part_place(p, j)],
                     ctt_f16_bits(in + HALF * j));
    return 1;
}

const struct ctt_values ctt_values_f32 = {
    "f32", SINGLE, 0, layout_f32, put_f32, most_f32, used_f32, get_f32
};
const struct ctt_values ctt_values_f16 = {
    "f16", HALF, 0, layout_f16, put_f16, most_f16, used_f16, get_f16
};
