/* SPDX-License-Identifier: Apache-2.0
 * sparse_layout_tmpl.h: the values of sparse convs, laid out as planes of
 * units: a register of positions of each group at a time, transposed from as
 * many pixels of the input.  The file that includes it has defined elem, LANES
 * and UNIT (elements of a unit), has included int8_layout_tmpl.h and perhaps
 * defined LOAD_BYTES(p, n): a register of n bytes at p, and 0, and
 * LOAD_TWO(p, q, n): one of n bytes at p and, in its second half, at q. */

typedef int32_t ivec_at __attribute__((vector_size(LANES * 4), aligned(4),
                                       may_alias));

/* Unaligned: bytes of pixels begin at any address. */
typedef int32_t ivec_any __attribute__((vector_size(LANES * 4), aligned(1),
                                        may_alias));

/* Transposes LANES registers of LANES lanes: each step makes the highest bit of
 * a number's register index the lowest bit of its lane index. */
INLINE void turn(ivec *v)
{
    ivec low, high, next[LANES];

    UNROLL for (int i = 0; i < LANES; i++) {
        low[i] = i / 2 + i % 2 * LANES;
        high[i] = low[i] + LANES / 2;
    }
    UNROLL for (int step = 1; step < LANES; step *= 2) {
        UNROLL for (int i = 0; i < LANES / 2; i++) {
            next[2 * i] = __builtin_shuffle(v[i], v[i + LANES / 2], low);
            next[2 * i + 1] = __builtin_shuffle(v[i], v[i + LANES / 2], high);
        }
        UNROLL for (int i = 0; i < LANES; i++)
            v[i] = next[i];
    }
}

/* ---- places ---- */

/* Position in the values: coordinates of the result there, if there is one. */
struct spot { int64_t w, h, d, sample; };

static struct spot spot_at(const struct ctt_sparse_job *j, int64_t at)
{
    int64_t up = at / j->s.pitch[2], further = up / j->s.pitch[1];

    return (struct spot){ at % j->s.pitch[2], up % j->s.pitch[1],
                          further % j->s.pitch[0], further / j->s.pitch[0] };
}

/* Advances by n positions, at most to the first one of the next row. */
static void advance(const struct ctt_sparse_job *j, struct spot *p, int64_t n)
{
    p->w += n;
    if (p->w < j->s.pitch[2])
        return;
    p->w = 0;
    if (++p->h < j->s.pitch[1])
        return;
    p->h = 0;
    if (++p->d < j->s.pitch[0])
        return;
    p->d = 0;
    p->sample++;
}

/* ---- elements ---- */

/* Converts a row of the call's pixels for the part. */
static void convert_row(const struct ctt_sparse_job *j, int64_t line)
{
    int64_t wide = j->j.in[2], c = j->j.c->in[0].c, row = line * wide;
    int64_t first = j->j.first * j->j.in[0] * j->j.in[1] * wide;
    elem *to = (elem *)j->room + row * c;

    if (j->j.c->in[0].ld == c) {
        lay_some(&j->j, first + row, 0, to, wide * c);
        return;
    }
    for (int64_t i = 0; i < wide; i++)
        lay_some(&j->j, first + row + i, 0, to + i * c, c);
}

/* Fills j->blank with the value of padding. */
static void blank(const struct ctt_sparse_job *j)
{
    elem *to = j->blank, zero = nothing(&j->j);

    for (int64_t i = 0; i < j->s.groups * UNIT; i++)
        to[i] = zero;
}

/* ---- units ---- */

/* Row of pixels for row h of plane d of a phase; -1 in the padding. */
static int64_t phase_row(const struct ctt_sparse_job *j, const int64_t phase[3],
                         const struct spot *p)
{
    const int *stride = j->j.c->node->attr.conv.stride;
    const int *pad = j->j.c->node->attr.conv.pad;
    int64_t d = p->d * stride[0] + phase[0] - pad[0];
    int64_t h = p->h * stride[1] + phase[1] - pad[1];

    if (d < 0 || h < 0 || d >= j->j.in[0] || h >= j->j.in[1] ||
        p->sample >= j->samples)
        return -1;
    return (p->sample * j->j.in[0] + d) * j->j.in[1] + h;
}

/* Coordinates of the first pixel at or after a position, and the input column
 * of its row's start.  With lists by columns the first `pad` positions are
 * padding, and lanes that read them are replaced. */
INLINE struct spot pixel_at(const struct ctt_sparse_job *j, int64_t phase,
                            int64_t at, int64_t *left)
{
    int64_t pad = j->j.c->node->attr.conv.pad[2];

    *left = j->s.columns > 1 ? 0 : phase - pad;
    if (j->s.columns == 1)
        return spot_at(j, at);
    if (at < pad)
        return (struct spot){ j->s.pitch[2] + at - pad, -1, 0, 0 };
    return spot_at(j, at - pad);
}

/* Addresses of n pixels of a row, from column w on, `stride` apart. */
INLINE void find_row(const struct ctt_sparse_job *j, int64_t row, int64_t w,
                     int64_t stride, int64_t n, const elem **from)
{
    int64_t in = row < 0 ? 0 : j->j.in[2], i = 0;
    int64_t at = (row * in + w) * j->ld, step = stride * j->ld;

    for (; i < n && (w < 0 || in == 0); i++, w += stride, at += step)
        from[i] = j->blank;
    for (; i < n && w < in; i++, w += stride, at += step)
        from[i] = (const elem *)j->from + at;
    for (; i < n; i++)
        from[i] = j->blank;
}

/* Addresses of the pixels at LANES positions of a phase from *p on; *p advances
 * behind them. */
INLINE void find(const struct ctt_sparse_job *j, const int64_t phase[3],
                 int64_t left, struct spot *p, const elem **from)
{
    int64_t stride = j->j.c->node->attr.conv.stride[2], n;

    for (int64_t i = 0; i < LANES; i += n, advance(j, p, n)) {
        n = j->s.pitch[2] - p->w < LANES - i ? j->s.pitch[2] - p->w
                                             : LANES - i;
        find_row(j, phase_row(j, phase, p), p->w * stride + left, stride, n,
                 from + i);
    }
}

#ifndef LOAD_BYTES
INLINE ivec load_bytes(const elem *p, int64_t n)
{
    ivec v = { 0 };

    if (n >= (int64_t)sizeof(v))
        return *(const ivec_any *)(const void *)p;
    memcpy(&v, p, (size_t)n);
    return v;
}
#define LOAD_BYTES load_bytes
#endif

/* Most groups read unit by unit: transposing takes as long for one as for
 * all. */
enum { FEW = 2 };

/* A unit of n < 4 bytes, the first in the lowest bits; units of other types are
 * complete.  (memcpy() would build it on the stack.) */
INLINE int32_t part_of(const elem *p, int n)
{
    uint32_t unit = 0, bits = 8 * sizeof(elem);

    UNROLL for (int i = 0; i < n; i++)
        unit |= ((uint32_t)p[i] & ((1u << bits % 32) - 1)) << i * bits % 32;
    return (int32_t)unit;
}

/* Lays out three bytes of a pixel by one load, with the byte before them.  Not
 * for the input's first pixel; no thread writes that byte meanwhile. */
INLINE int lay_three(const elem *const *from, const elem *input, int32_t *to)
{
    int before = 0;

    for (int i = 0; i < LANES; i++)
        before |= from[i] == input;
    UNROLL for (int i = 0; i < LANES && !before; i++) {
        uint32_t unit;
        memcpy(&unit, from[i] - 1, sizeof(unit));
        to[i] = (int32_t)(unit >> 8);
    }
    return !before;
}

static void lay_few(const elem *const *from, const elem *input, int64_t channel,
                    int64_t left, int32_t *to)
{
    if (UNIT == 4 && channel == 0 && left == 3 && lay_three(from, input, to))
        return;
    UNROLL for (int n = 1; n < UNIT; n++)
        if (left == n) {
            UNROLL for (int i = 0; i < LANES; i++)
                to[i] = part_of(from[i] + channel, n);
            return;
        }
    UNROLL for (int i = 0; i < LANES; i++)
        memcpy(to + i, from[i] + channel, sizeof(*to));
}

/* Lays out up to LANES groups from a channel on, of which `left` exist, to
 * planes `apart` units from each other. */
INLINE void lay_turned(const elem *const *from, const elem *input,
                       int64_t channel, int64_t left, int32_t *to,
                       int64_t apart)
{
    int64_t bytes = left * (int64_t)sizeof(elem);
    ivec v[LANES];

    if (left <= FEW * UNIT) {
        for (; left > 0; left -= UNIT, channel += UNIT, to += apart)
            lay_few(from, input, channel, left, to);
        return;
    }
    if (bytes >= (int64_t)sizeof(ivec))
        UNROLL for (int i = 0; i < LANES; i++)
            v[i] = *(const ivec_any *)(const void *)(from[i] + channel);
    else
        UNROLL for (int i = 0; i < LANES; i++)
            v[i] = LOAD_BYTES(from[i] + channel, bytes);
    turn(v);
    for (int g = 0; g < LANES && left > 0; g++, left -= UNIT, to += apart)
        *(ivec_at *)to = v[g];
}

#ifdef LOAD_TWO
/* Lays out two registers of positions of pixels of at most half a register. */
static void lay_two(const elem *const *from, const elem *const *next,
                    int64_t left, int32_t *to, int64_t apart)
{
    int64_t bytes = left * (int64_t)sizeof(elem);
    ivec v[LANES];

    UNROLL for (int i = 0; i < LANES; i++)
        v[i] = LOAD_TWO(from[i], next[i], bytes);
    turn(v);
    for (int g = 0; left > 0; g++, left -= UNIT, to += apart) {
        *(ivec_at *)to = v[g];
        *(ivec_at *)(to + LANES) = v[LANES / 2 + g];
    }
}
#define TWO(j) ((j)->there > FEW * UNIT && (j)->there <= LANES / 2 * UNIT)
#else
#define TWO(j) 0
#define lay_two(from, next, left, to, apart) ((void)(next))
#endif

/* Lays out registers first .. last - 1 of one phase. */
static void lay_phase(const struct ctt_sparse_job *j, int64_t plane,
                      int64_t first, int64_t last)
{
    int64_t planes = j->s.phases[0] * j->s.phases[1] * j->s.phases[2], left;
    int64_t phase[3] = { plane / j->s.phases[2] / j->s.phases[1],
                         plane / j->s.phases[2] % j->s.phases[1],
                         plane % j->s.phases[2] };
    int32_t *to = (int32_t *)j->j.x + plane * j->s.plane + first * LANES;
    struct spot p = pixel_at(j, phase[2], first * LANES, &left);

    for (int64_t at = first; at < last; at++, to += LANES) {
        const elem *from[LANES], *next[LANES];
        find(j, phase, left, &p, from);
        if (TWO(j) && at + 1 < last) {
            find(j, phase, left, &p, next);
            lay_two(from, next, j->there, to, planes * j->s.plane);
            at++;
            to += LANES;
            continue;
        }
        for (int64_t c = 0; c < j->there; c += LANES * UNIT)
            lay_turned(from, j->from, c, j->there - c,
                       to + c / UNIT * planes * j->s.plane,
                       planes * j->s.plane);
    }
}

static void lay_registers(const struct ctt_sparse_job *j, int64_t from,
                          int64_t to)
{
    int64_t regs = j->s.plane / LANES;

    while (from < to) {
        int64_t plane = from / regs, end = (plane + 1) * regs;
        end = end < to ? end : to;
        lay_phase(j, plane, from - plane * regs, end - plane * regs);
        from = end;
    }
}
