/* SPDX-License-Identifier: Apache-2.0
 * sparse_pack.c: sparse convs: the lists of weights that are not 0. */
#include "device/cpu/conv/sparse/sparse.h"

/* A call's weights: integers q, or floats w.  tap: the offset of the values
 * that each tap, a pixel of the kernel, multiplies in the first group of
 * channels; pitch: from group to group. */
struct from {
    const struct ctt_call         *c;
    const struct ctt_sparse_shape *s;
    const int8_t                  *q;
    const float                   *w;
    int64_t                       *tap, pitch;
};

/* Bits of the integers of channel o, tap `tap` and group `group`. */
static int32_t unit_bits(const struct from *f, int64_t o, int64_t tap,
                         int64_t group)
{
    const struct ctt_tensor *w = &f->c->w[0].t;
    int64_t at = (o * w->d * w->h * w->w + tap) * w->c + group * f->s->units;
    int64_t left = w->c - group * f->s->units;
    int16_t two[2] = { 0 };
    int8_t four[4] = { 0 };
    int32_t bits;

    for (int64_t i = 0; i < f->s->units && i < left; i++)
        four[i] = f->q[at + i];
    for (int i = 0; i < 2; i++)
        two[i] = four[i];
    memcpy(&bits, f->s->units == 4 ? (void *)four : (void *)two, sizeof(bits));
    return bits;
}

/* Sets tap and pitch; with lists by columns the offsets are those of the first
 * tap in the row.  CTT_ENOMEM. */
static int find_offsets(struct from *f)
{
    const struct ctt_tensor *w = &f->c->w[0].t;
    int64_t taps = w->d * w->h * w->w;

    f->tap = ctt_calloc((size_t)taps, sizeof(*f->tap));
    if (!f->tap)
        return ctt_error(CTT_ENOMEM, "%s: out of memory", f->c->node->name);
    for (int64_t t = 0; t < taps; t++) {
        const int64_t of[3] = { t / w->w / w->h, t / w->w % w->h, t % w->w };
        int64_t phase = 0, at = 0, many = 1;

        for (int k = 0; k < 3; k++) {
            int64_t every = f->s->by_taps ? f->c->node->attr.conv.kernel[k]
                                          : f->c->node->attr.conv.stride[k];
            phase = phase * f->s->phases[k] + of[k] % every;
            at = at * f->s->pitch[k];
            at += k == 2 && f->s->columns > 1 ? 0 : of[k] / every;
            many *= f->s->phases[k];
        }
        f->tap[t] = phase * f->s->plane + at;
        f->pitch = many * f->s->plane;
    }
    return 0;
}

/* Writes the nonzero units of list l (of a channel or of a column of it) to
 * `to`, unless it is NULL; returns their number. */
static int64_t list_units(const struct from *f, int64_t l,
                          struct ctt_sparse_unit *to)
{
    const struct ctt_tensor *w = &f->c->w[0].t;
    int64_t o = l / f->s->columns, by = f->s->columns, n = 0;

    for (int64_t g = 0; g < f->s->groups; g++)
        for (int64_t t = l % by; t < w->d * w->h * w->w; t += by) {
            int32_t bits = unit_bits(f, o, t, g);
            if (bits && to)
                to[n] = (struct ctt_sparse_unit){
                    (int32_t)(f->tap[t] + g * f->pitch), bits };
            n += bits != 0;
        }
    return n;
}

/* 1 for bits of a float that is not 0; -0 is.  Comparisons of floats would take
 * subnormal ones for 0 where a program has set that they are. */
static inline int is_unit(int32_t bits)
{
    return (bits & INT32_MAX) != 0;
}

/* The same of floats; writes one unit more, as jumps that depend on random
 * zeros would take longer. */
static int64_t list_floats(const struct from *f, int64_t l,
                           struct ctt_sparse_unit *to)
{
    const struct ctt_tensor *w = &f->c->w[0].t;
    int64_t taps = w->d * w->h * w->w, by = f->s->columns, n = 0;
    const float *x = f->w + l / by * taps * w->c;

    for (int64_t g = 0; g < w->c; g++)
        for (int64_t t = l % by; t < taps; t += by) {
            int32_t bits;

            memcpy(&bits, x + t * w->c + g, sizeof(bits));
            to[n] = (struct ctt_sparse_unit){
                (int32_t)(f->tap[t] + g * f->pitch), bits };
            n += is_unit(bits);
        }
    return n;
}

/* Their number; of floats in the order of memory. */
static int64_t count_units(const struct from *f, int64_t l)
{
    const struct ctt_tensor *w = &f->c->w[0].t;
    int64_t taps = w->d * w->h * w->w, by = f->s->columns, n = 0;
    const float *x = f->w + l / by * taps * w->c;

    if (f->s->units != 1)
        return list_units(f, l, NULL);
    for (int64_t t = l % by; t < taps; t += by)
        SIMD for (int64_t i = t * w->c; i < (t + 1) * w->c; i++) {
            int32_t bits;

            memcpy(&bits, x + i, sizeof(bits));
            n += is_unit(bits);
        }
    return n;
}

int ctt_sparse_alloc(const struct ctt_call *c, int64_t n, size_t size,
                     int64_t lists, struct ctt_sparse_weights *k)
{
    int64_t many = ctt_align(c->out.c, CTT_SPARSE_ROW);
    int64_t room = n * (int64_t)size;
    int64_t bytes = room + (lists + 1) * (int64_t)sizeof(*k->first) +
                    12 * many + 4 * lists;

    if (bytes > k->bytes) {
        ctt_free(k->room);
        k->bytes = 0;
        k->room = ctt_calloc_full((size_t)bytes, 1);
        if (!k->room)
            return ctt_error(CTT_ENOMEM, "%s: out of memory", c->node->name);
        k->bytes = bytes;
    }
    k->first = k->room;
    k->first[0] = 0;
    k->unit = (void *)(k->first + lists + 1);
    k->row = (void *)k->unit;
    k->factor = (void *)((char *)k->unit + room);
    k->bias = k->factor + many;
    k->start = (int32_t *)(k->bias + many);
    k->edge = k->start + many;
    memset(k->factor, 0, (size_t)(12 * many + 4 * lists));
    return 0;
}

/* Sum of a list over padding, whose bytes have the value 0. */
static int32_t edge_sum(const struct from *f, const struct ctt_sparse_unit *u,
                        int64_t n)
{
    int32_t sum = 0;

    for (int64_t i = 0; i < n && f->s->units == 4; i++) {
        int8_t w[4];
        memcpy(w, &u[i].w, sizeof(w));
        sum += w[0] + w[1] + w[2] + w[3];
    }
    return sum * f->c->in[0].zero;
}

static void pack_list(const struct from *f, int64_t l,
                      struct ctt_sparse_weights *k)
{
    struct ctt_sparse_unit *to = k->unit + k->first[l];
    int64_t n = (f->s->units == 1 ? list_floats : list_units)(f, l, to);

    k->first[l + 1] = k->first[l] + n;
    k->edge[l] = edge_sum(f, to, n);
}

static void pack_channel(const struct ctt_sparse_isa *isa,
                         const struct from *f, int64_t o, const float *step,
                         struct ctt_sparse_weights *k)
{
    int64_t each = ctt_volume(&f->c->w[0].t) / f->c->out.c;
    const float *bias = f->c->w[1].t.data;
    int32_t sum = 0;

    for (int64_t l = 0; l < f->s->columns; l++)
        pack_list(f, o * f->s->columns + l, k);
    k->bias[o] = bias ? bias[o] : 0;
    k->factor[o] = isa->is_int8 ? step[o] * f->c->in[0].scale : 1;
    /* Bytes are values + zero: the sum is corrected by zero times the
     * weights. */
    for (int64_t i = 0; i < each && f->s->units == 4; i++)
        sum += f->q[o * each + i];
    k->start[o] = -sum * f->c->in[0].zero;
}

/* Converts a call's weights to integers in scratch memory, with their steps.
 * CTT_ENOMEM. */
static int to_whole(struct ctt_dev *d, struct from *f, float **step)
{
    const struct ctt_tensor *w = &f->c->w[0].t;
    int64_t n = ctt_align(ctt_volume(w), 64), each = ctt_volume(w) / w->n;
    int8_t *q = ctt_dev_scratch(d, (size_t)(n + 4 * w->n));

    if (!q)
        return CTT_ENOMEM;
    *step = (float *)(void *)(q + n);
    PARALLEL(d, 4 * n)
    for (int64_t o = 0; o < w->n; o++)
        ctt_quant_weights(f->w + o * each, 1, each, q + o * each, *step + o);
    f->q = q;
    return 0;
}

int ctt_sparse_pack(const struct ctt_sparse_isa *isa, struct ctt_dev *d,
                    const struct ctt_call *c,
                    const struct ctt_sparse_shape *s,
                    struct ctt_sparse_weights *k)
{
    struct from f = { c, s, NULL, c->w[0].t.data, NULL, 0 };
    int64_t outs = c->out.c, lists = outs * s->columns;
    float *step = NULL;
    int rc = 0;

    CTT_TRY(find_offsets(&f));
    if (isa->is_int8)
        CTT_TRY(to_whole(d, &f, &step));
    k->units = 0;
    for (int64_t l = 0; l < lists; l++)
        k->units += count_units(&f, l);
    CTT_TRY(ctt_sparse_alloc(c, k->units + 1, sizeof(*k->unit), lists, k));
    for (int64_t o = 0; o < outs; o++)
        pack_channel(isa, &f, o, step, k);
out:
    ctt_free(f.tap);
    return rc;
}

void ctt_sparse_rebase(struct ctt_sparse_weights *k, int64_t units,
                       int64_t from, int64_t to)
{
    for (int64_t i = 0; i < units; i++) {
        int64_t at = k->unit[i].at;
        k->unit[i].at = (int32_t)(at / from * to + at % from);
    }
}
