/* SPDX-License-Identifier: Apache-2.0
 * sparse_tmpl.h: the kernels of sparse convs.  A tile is up to 12 registers of
 * neighbouring results of one output channel, whose sums stay in registers
 * while its list is read.  The sums of LANES channels are then turned, so that
 * what ends dense convs ends these.  The file that includes it has defined elem
 * and UNIT (elements of a unit), and
 *     dot(sum, x, w)       sum + the products of registers of units
 * and included int8_end_tmpl.h and int8_lay_tmpl.h. */

enum { REGS_MOST = CTT_SPARSE_REGS };

typedef int32_t ivec_at __attribute__((vector_size(LANES * 4), aligned(4),
                                       may_alias));

/* ---- values ---- */

/* LANES registers of LANES lanes, transposed: each step makes the highest bit
 * of a number's register the lowest bit of its lane. */
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

/* Pixels that are laid out at a time, and units of each. */
enum { PIXELS = 32, WIDE = 64, CHANNELS = WIDE * UNIT };

/* Units from plane to plane of a group. */
static int64_t apart_of(const struct ctt_sparse_job *j)
{
    return j->s.phases[0] * j->s.phases[1] * j->s.phases[2] * j->s.plane;
}

static int32_t blank_of(const struct ctt_sparse_job *j)
{
    elem unit[UNIT];
    int32_t bits;

    for (int i = 0; i < UNIT; i++)
        unit[i] = nothing(&j->j);
    memcpy(&bits, unit, sizeof(bits));
    return bits;
}

/* The first n lanes of a register, by pieces of constant size. */
INLINE void copy_few(int32_t *to, const int32_t *v, int64_t n)
{
    int64_t done = 0;

    UNROLL for (int piece = LANES / 2; piece > 0; piece /= 2)
        if (n & piece) {
            memcpy(to + done, v + done, (size_t)piece * sizeof(*to));
            done += piece;
        }
}

/* LANES units of n pixels, LANES of them or fewer, which are `step` rows apart:
 * to the first `groups` planes. */
INLINE void lay_turned(const int32_t *row, int64_t n, int64_t step,
                       int64_t groups, int32_t *to, int64_t apart)
{
    ivec v[LANES];

    UNROLL for (int i = 0; i < LANES; i++)
        v[i] = *(const ivec_at *)(row + (i < n ? i : 0) * step * WIDE);
    turn(v);
    for (int64_t g = 0; g < groups && g < LANES; g++, to += apart)
        if (n >= LANES)
            *(ivec_at *)to = v[g];
        else
            copy_few(to, (const int32_t *)&v[g], n);
}

/* n pixels that are `step` rows of `room` apart, to the planes of a phase. */
static void lay_phase(const int32_t *room, int64_t n, int64_t step,
                      int64_t groups, int32_t *to, int64_t apart)
{
    for (int64_t g = 0; g < groups; g += LANES)
        for (int64_t i = 0; i < n; i += LANES)
            lay_turned(room + i * step * WIDE + g, n - i, step, groups - g,
                       to + g * apart + i, apart);
}

/* n pixels from column `from` on of those that are there, from a channel on;
 * to: the line in the plane of the first group. */
static void lay_block(const struct ctt_sparse_job *j, struct line l,
                      int64_t from, int64_t n, int64_t channel, int32_t *to)
{
    int64_t left = j->j.c->in[0].c - channel, apart = apart_of(j);
    int64_t stride = j->j.c->node->attr.conv.stride[2];
    int32_t room[PIXELS * WIDE];    /* channels that are not there: any */

    left = left < CHANNELS ? left : CHANNELS;
    for (int64_t i = 0; i < n; i++)
        lay_some(&j->j, l.row + from + i, channel,
                 (elem *)(void *)(room + i * WIDE), left);
    to += channel / UNIT * apart;
    for (int64_t p = 0; p < j->s.phases[2]; p++, to += j->s.plane) {
        int64_t at = (l.left + from - p + stride - 1) / stride;
        int64_t first = at * stride + p - l.left - from;
        lay_phase(room + first * WIDE, (n - first + stride - 1) / stride,
                  stride, (left + UNIT - 1) / UNIT, to + at, apart);
    }
}

/* The padding of a line in all planes, before and after what is there. */
static void lay_blank(const struct ctt_sparse_job *j, struct line l,
                      int32_t *to)
{
    int64_t stride = j->j.c->node->attr.conv.stride[2], apart = apart_of(j);
    int32_t blank = blank_of(j);

    for (int64_t p = 0; p < j->s.phases[2]; p++, to += j->s.plane) {
        int64_t before = (l.left - p + stride - 1) / stride;
        int64_t behind = (l.left + l.n - p + stride - 1) / stride;
        for (int64_t g = 0; g < j->s.groups; g++) {
            for (int64_t i = 0; i < before; i++)
                to[g * apart + i] = blank;
            for (int64_t i = behind; i < j->s.pitch[2]; i++)
                to[g * apart + i] = blank;
        }
    }
}

/* What lies behind the lines. */
static void lay_rest(const struct ctt_sparse_job *j, int64_t lines)
{
    const int *stride = j->j.c->node->attr.conv.stride;
    int64_t planes = j->s.groups * j->s.phases[0] * j->s.phases[1] *
                     j->s.phases[2];
    int64_t from = lines / stride[0] / stride[1] * j->s.pitch[2];
    int32_t *to = j->j.x, blank = blank_of(j);

    for (int64_t p = 0; p < planes; p++, to += j->s.plane)
        for (int64_t i = from; i < j->s.plane; i++)
            to[i] = blank;
}

static void lay(const struct ctt_sparse_job *j, int64_t line)
{
    const int *stride = j->j.c->node->attr.conv.stride;
    int64_t high = j->j.size[1], deep = j->j.size[0];
    int64_t lines = j->rows / (j->j.out[0] * j->j.out[1] * j->j.out[2]) *
                    high * deep;
    int64_t h = line % high, d = line / high % deep;
    int64_t sample = line / high / deep;
    int64_t ph = h % stride[1], pd = d % stride[0];
    struct line l;
    int32_t *to;

    if (line == lines) {
        lay_rest(j, lines);
        return;
    }
    if (ph >= j->s.phases[1] || pd >= j->s.phases[0])
        return;
    l = line_of(&j->j, line);
    to = (int32_t *)j->j.x +
         (pd * j->s.phases[1] + ph) * j->s.phases[2] * j->s.plane +
         ((sample * j->s.pitch[0] + d / stride[0]) * j->s.pitch[1] +
          h / stride[1]) * j->s.pitch[2];
    lay_blank(j, l, to);
    for (int64_t i = 0; i < l.n; i += PIXELS)
        for (int64_t c = 0; c < j->j.c->in[0].c; c += CHANNELS)
            lay_block(j, l, i, l.n - i < PIXELS ? l.n - i : PIXELS, c, to);
}

/* ---- sums ---- */

INLINE ivec join(ivec a, ivec b)
{
#ifdef FLOATS
    return (ivec)((fvec)a + (fvec)b);
#else
    return a + b;
#endif
}

/* T registers, and S sums of each, so that one need not wait for the other:
 * constants. */
INLINE void walk(int T, int S, const int32_t *x,
                 const struct ctt_sparse_unit *u, int64_t n, ivec *to)
{
    ivec sum[REGS_MOST];

    UNROLL for (int i = 0; i < S * T; i++)
        sum[i] = (ivec){ 0 };
    for (; n >= S; n -= S, u += S)
        UNROLL for (int s = 0; s < S; s++) {
            const int32_t *at = x + u[s].at;
            ivec w = (ivec){ 0 } + u[s].w;
            UNROLL for (int t = 0; t < T; t++)
                sum[s * T + t] = dot(sum[s * T + t],
                    *(const ivec_at *)(at + t * LANES), w);
        }
    for (; S > 1 && n > 0; n--, u++) {
        ivec w = (ivec){ 0 } + u->w;
        UNROLL for (int t = 0; t < T; t++)
            sum[t] = dot(sum[t], *(const ivec_at *)(x + u->at + t * LANES),
                         w);
    }
    UNROLL for (int t = 0; t < T; t++) {
        UNROLL for (int s = 1; s < S; s++)
            sum[t] = join(sum[t], sum[s * T + t]);
        to[t] = sum[t];
    }
}

#define WALK(T, S)                                                          \
    static void walk_##T(const int32_t *x, const struct ctt_sparse_unit *u, \
                         int64_t n, ivec *to)                               \
    {                                                                       \
        walk(T, S, x, u, n, to);                                            \
    }
WALK(1, 6) WALK(2, 4) WALK(3, 4) WALK(4, 3) WALK(5, 2) WALK(6, 2) WALK(7, 1)
WALK(8, 1) WALK(9, 1) WALK(10, 1) WALK(11, 1) WALK(12, 1)

/* By registers. */
static void (*const walks[REGS_MOST + 1])(const int32_t *,
                                          const struct ctt_sparse_unit *,
                                          int64_t, ivec *) = {
    NULL, walk_1, walk_2, walk_3, walk_4, walk_5, walk_6, walk_7, walk_8,
    walk_9, walk_10, walk_11, walk_12
};

/* ---- results ---- */

/* A place in the values: the result there, if it is one. */
struct spot { int64_t w, h, d, sample; };

static struct spot spot_at(const struct ctt_sparse_job *j, int64_t at)
{
    int64_t up = at / j->s.pitch[2], further = up / j->s.pitch[1];

    return (struct spot){ at % j->s.pitch[2], up % j->s.pitch[1],
                          further % j->s.pitch[0], further / j->s.pitch[0] };
}

/* n places on, which may be the next row's first. */
static void go_on(const struct ctt_sparse_job *j, struct spot *p, int64_t n)
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

static int is_row(const struct ctt_sparse_job *j, const struct spot *p)
{
    return p->w < j->j.out[2] && p->h < j->j.out[1] && p->d < j->j.out[0];
}

static __attribute__((noinline))
void put_run(const struct ending *e, int64_t row, int64_t rows, int64_t from,
             int64_t channels, const ivec *sum)
{
    put_tile(1, e, row, rows, from, from, channels, sum);
}

/* LANES places, of which those that are results are written. */
static void put_places(const struct ctt_sparse_job *j, const struct ending *e,
                       struct spot *p, int64_t places, int64_t from,
                       const ivec *sum)
{
    for (int64_t i = 0, n; i < places; i += n, go_on(j, p, n)) {
        int64_t end = is_row(j, p) ? j->j.out[2] : j->s.pitch[2];
        n = end - p->w < places - i ? end - p->w : places - i;
        if (is_row(j, p))
            put_run(e, j->j.first_row + ((p->sample * j->j.out[0] + p->d) *
                    j->j.out[1] + p->h) * j->j.out[2] + p->w, n, from,
                    j->j.c->out.c - from, sum + i);
    }
}

/* sum: `regs` registers of each of LANES channels. */
static void put_block(const struct ctt_sparse_job *j, int64_t at,
                      int64_t regs, int64_t from, const ivec *sum)
{
    struct ending e = ending_of(&j->j);
    struct spot p = spot_at(j, at);
    ivec start = *(const ivec_at *)(j->w.start + from), v[LANES];

    for (int64_t t = 0; t < regs; t++, at += LANES) {
        UNROLL for (int i = 0; i < LANES; i++)
            v[i] = sum[i * regs + t];
        turn(v);
        UNROLL for (int i = 0; i < LANES; i++)
            v[i] += start;
        put_places(j, &e, &p, j->span - at < LANES ? j->span - at : LANES,
                   from, v);
    }
}

static void task(const struct ctt_sparse_job *j, int64_t at)
{
    int64_t from = at % j->blocks * LANES, first = at / j->blocks * j->regs;
    int64_t regs = (j->span + LANES - 1) / LANES - first;
    int64_t many = j->j.c->out.c - from;
    const int32_t *x = (const int32_t *)j->j.x + first * LANES;
    ivec sum[LANES * REGS_MOST];

    regs = regs < j->regs ? regs : j->regs;
    many = many < LANES ? many : LANES;
    for (int64_t o = 0; o < many; o++)
        walks[regs](x, j->w.unit + j->w.first[from + o],
                    j->w.first[from + o + 1] - j->w.first[from + o],
                    sum + o * regs);
    memset(sum + many * regs, 0, (size_t)((LANES - many) * regs) *
                                 sizeof(*sum));
    put_block(j, first * LANES, regs, from, sum);
}
