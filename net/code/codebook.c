/* SPDX-License-Identifier: Apache-2.0
 * codebook.c: values "codebook" and "codebook-bits": the few values that a
 * weight's elements share (Han et al. 2016), then for each kept element which
 * of them it has, as a byte or as few bits as their count needs. */
#include "net/code/row.h"

enum { HEAD = 2, SINGLE = 4, HALF = 2, MOST = 255, BYTE = 8 };

struct book {
    int      count;          /* values; code k is entry k - 1 */
    int      width;          /* bytes per entry: HALF if that is exact */
    uint32_t entry[MOST + 1];    /* the bits of floats; 0 for a code that no
                                    element has */
};

/* The bits that tell `count` codes apart. */
static int bits_for(int count)
{
    int bits = 0;

    while (1 << bits < count)
        bits++;
    return bits;
}

static int64_t codes_at(const struct book *b)
{
    return HEAD + (int64_t)b->width * b->count;
}

/* ---- encoding ---- */

/* 0 unless each kept element has a code, and all of one code one value. */
static int collect(const struct ctt_part *p, struct book *b)
{
    const float *w = p->w->t.data;
    const uint8_t *share = p->w->share;

    *b = (struct book){ .width = HALF };
    if (!ctt_weight_is_floats(p->w) || !share)
        return 0;
    for (int64_t i = 0; i < p->count; i++) {
        int at = share[i] - 1;
        if (!ctt_part_keeps(p, i))
            continue;
        if (at < 0)
            return 0;
        b->count = at >= b->count ? at + 1 : b->count;
        b->entry[at] = ctt_float_bits(w[i]);
        if (!ctt_is_f16(w[i]))
            b->width = SINGLE;
    }
    for (int64_t i = 0; i < p->count; i++)
        if (ctt_part_keeps(p, i) &&
            ctt_float_bits(w[i]) != b->entry[share[i] - 1])
            return 0;
    return b->count > 0;
}

static int lay_out(const struct ctt_part *p, struct ctt_layout *l, int packed)
{
    struct book b;

    if (!collect(p, &b))
        return 0;
    *l = (struct ctt_layout){ codes_at(&b), p->kept, 1 };
    if (packed)
        l->values = ctt_bytes_of_bits(p->kept * bits_for(b.count));
    return 1;
}

static void put_book(const struct book *b, uint8_t *out)
{
    out[0] = (uint8_t)b->count;
    out[1] = (uint8_t)b->width;
    for (int i = 0; i < b->count; i++) {
        float x;

        ctt_set_bits(&x, b->entry[i]);
        ctt_put_number(out + HEAD + i * b->width, b->width == HALF
                       ? ctt_f16_of(x) : b->entry[i], b->width);
    }
}

static void put_codes(const struct ctt_part *p, uint8_t *out, int packed)
{
    int64_t at = 0;
    struct book b;
    int bits;

    if (!collect(p, &b))    /* not after lay_out() */
        return;
    bits = packed ? bits_for(b.count) : BYTE;
    put_book(&b, out);
    out += codes_at(&b);
    for (int64_t i = 0; i < p->count; i++) {
        if (!ctt_part_keeps(p, i))
            continue;
        for (int k = 0; k < bits; k++, at++)
            out[at / 8] |= (uint8_t)(((p->w->share[i] - 1) >> k & 1) << at % 8);
    }
}

static int layout_bytes(const struct ctt_part *p, struct ctt_layout *l)
{
    return lay_out(p, l, 0);
}

static int layout_bits(const struct ctt_part *p, struct ctt_layout *l)
{
    return lay_out(p, l, 1);
}

static void put_bytes(const struct ctt_part *p, uint8_t *out)
{
    put_codes(p, out, 0);
}

static void put_bits(const struct ctt_part *p, uint8_t *out)
{
    put_codes(p, out, 1);
}

/* ---- decoding ---- */

static int64_t most(const struct ctt_part *p)
{
    return HEAD + SINGLE * MOST + p->kept;
}

/* 0 if in[n] does not begin with a codebook. */
static int get_book(const uint8_t *in, int64_t n, struct book *b)
{
    if (n < HEAD || in[0] == 0 || (in[1] != HALF && in[1] != SINGLE))
        return 0;
    b->count = in[0];
    b->width = in[1];
    if (codes_at(b) > n)
        return 0;
    for (int i = 0; i < b->count; i++) {
        const uint8_t *at = in + HEAD + i * b->width;
        b->entry[i] = b->width == HALF ? ctt_f16_bits(at)
                                       : ctt_get_number(at, SINGLE);
    }
    return 1;
}

static int64_t used(const struct ctt_part *p, const uint8_t *in, int64_t n,
                    int packed)
{
    struct book b;
    int64_t size;

    if (!get_book(in, n, &b))
        return -1;
    size = codes_at(&b) + (packed ? ctt_bytes_of_bits(p->kept *
                                                      bits_for(b.count))
                                  : p->kept);
    return size <= n ? size : -1;
}

static int64_t used_bytes(const struct ctt_part *p, const uint8_t *in,
                          int64_t n)
{
    return used(p, in, n, 0);
}

static int64_t used_bits(const struct ctt_part *p, const uint8_t *in, int64_t n)
{
    return used(p, in, n, 1);
}

/* Codes are `bits` bits each; the bits after the last are 0. */
static int get_codes(const struct ctt_part *p, const struct book *b,
                     const uint8_t *in, int bits, const struct ctt_decoded *to)
{
    uint32_t most = 0, mask = (1u << bits) - 1;
    int64_t at = 0;

    for (int64_t j = 0; j < p->kept; j++, at += bits) {
        uint32_t code = ctt_get_number(in + at / 8, 2) >> at % 8 & mask;
        int64_t i = ctt_part_place(p, j);

        most = code > most ? code : most;
        ctt_set_bits(&to->w[i], b->entry[code]);
        if (to->share)
            to->share[i] = (uint8_t)(code + 1);
    }
    return most < (uint32_t)b->count &&
           (at % 8 == 0 || in[at / 8] >> at % 8 == 0);
}

static int get_values(const struct ctt_part *p, const uint8_t *in, int packed,
                      const struct ctt_decoded *to)
{
    struct book b = { .count = 0 };

    return get_book(in, most(p), &b) &&
           get_codes(p, &b, in + codes_at(&b),
                     packed ? bits_for(b.count) : BYTE, to);
}

static int get_bytes(const struct ctt_part *p, const uint8_t *in,
                     const struct ctt_decoded *to)
{
    return get_values(p, in, 0, to);
}

static int get_bits(const struct ctt_part *p, const uint8_t *in,
                    const struct ctt_decoded *to)
{
    return get_values(p, in, 1, to);
}

const struct ctt_values ctt_values_codebook = {
    "codebook", 1, 1, layout_bytes, put_bytes, most, used_bytes, get_bytes
};
const struct ctt_values ctt_values_codebook_bits = {
    "codebook-bits", 1, 1, layout_bits, put_bits, most, used_bits, get_bits
};
