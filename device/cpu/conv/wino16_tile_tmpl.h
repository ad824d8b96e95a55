/* SPDX-License-Identifier: Apache-2.0
 * wino16_tile_tmpl.h: the transforms of tiles of whole numbers into the
 * transform domain and back. */

enum { SIDE = CTT_WINO16_MOST_SIDE };

/* A tile's first result in image n. */
struct place { int64_t n, i0, j0; };

static struct place place(const struct ctt_wino16_plan *p, int64_t tile)
{
    int m = p->side - 2;

    return (struct place){ tile / (p->th * p->tw), tile / p->tw % p->th * m,
                           tile % p->tw * m };
}

/* ---- forth ---- */

/* B^T of the points 0, 1, -1, 2, -2, infinity. */
INLINE void in6(shorts d[SIDE])
{
    shorts a = d[4] - 4 * d[2], b = d[3] - 4 * d[1];
    shorts c = d[4] - d[2], e = 2 * (d[3] - d[1]);

    d[0] = 4 * (d[0] - d[2]) + c;
    d[5] = d[5] - d[3] - 2 * e;
    d[1] = a + b;
    d[2] = a - b;
    d[3] = c + e;
    d[4] = c - e;
}

/* B^T of the points 0, 1, -1, 2, infinity. */
INLINE void in5(shorts d[SIDE])
{
    shorts a = d[3] - d[1], b = d[3] - d[2], c = d[1] - d[2];

    d[0] = 2 * (d[0] - d[2]) + a;
    d[4] = d[4] - d[2] - 2 * a;
    d[1] = b - 2 * d[1];
    d[2] = b + 2 * c;
    d[3] = a;
}

INLINE void in(int side, shorts d[SIDE])
{
    if (side == 6)
        in6(d);
    else
        in5(d);
}

/* v[freq] = the transform of 16 channels from `at` on; px: the tile's pixels.
 * Between the two directions the rows are stored in memory: there are not
 * enough registers, and the loops stay short. */
INLINE void scatter_tile(int side, const uint8_t *const *px, int64_t at,
                         shorts zero, int16_t *v, int64_t step)
{
    shorts d[SIDE][SIDE], col[SIDE];

    LOOP for (int i = 0; i < side; i++) {
        UNROLL for (int j = 0; j < side; j++)
            d[i][j] = load_bytes(px[i * side + j] + at) - zero;
        in(side, d[i]);
    }
    LOOP for (int j = 0; j < side; j++) {
        UNROLL for (int i = 0; i < side; i++)
            col[i] = d[i][j];
        in(side, col);
        UNROLL for (int i = 0; i < side; i++)
            store_shorts(v + (i * side + j) * step, col[i]);
    }
}

/* Where the pixels of a tile are, outside the image those of job->blank. */
static void find_pixels(const struct ctt_wino16_job *job, struct place at,
                        int side, const uint8_t **px)
{
    const struct ctt_wino16_shape *s = job->s;
    int64_t i0 = at.i0 - s->pad_h, j0 = at.j0 - s->pad_w;

    for (int i = 0; i < side; i++) {
        int inside = i0 + i >= 0 && i0 + i < s->h;
        const uint8_t *row = job->x + ((at.n * s->h + (inside ? i0 + i : 0)) *
                                       s->w) * job->ldx;
        for (int j = 0; j < side; j++)
            px[i * side + j] = inside && j0 + j >= 0 && j0 + j < s->w ?
                row + (j0 + j) * job->ldx : job->blank;
    }
}

/* v[freq][tile][channel] of the tiles from `first` on. */
static void scatter(const struct ctt_wino16_job *job,
                    const struct ctt_wino16_plan *p, int64_t first,
                    int64_t tiles, int16_t *v)
{
    shorts zero = (shorts){ 0 } + (int16_t)job->zero;
    const uint8_t *px[SIDE * SIDE];

    for (int64_t t = 0; t < tiles; t++, v += p->cp) {
        find_pixels(job, place(p, first + t), p->side, px);
        if (p->side == 6)
            for (int64_t c = 0; c < p->cp; c += 16)
                scatter_tile(6, px, c, zero, v + c, p->vstep);
        else
            for (int64_t c = 0; c < p->cp; c += 16)
                scatter_tile(5, px, c, zero, v + c, p->vstep);
    }
}

/* ---- back ---- */

/* The transforms back give 24, 12, 6 and 6 times the four results, or 6 times
 * each of the three: 3 and a power of two. */
INLINE void out6(vec m[SIDE])
{
    vec s = m[1] + m[2], d = m[1] - m[2];
    vec s2 = m[3] + m[4], d2 = m[3] - m[4];

    m[0] = m[0] - 4 * s + s2;
    m[1] = d2 - 2 * d;
    m[2] = s2 - s;
    m[3] = 2 * d2 - d + m[5];
}

INLINE void out5(vec m[SIDE])
{
    vec s = m[1] + m[2], d = m[1] - m[2];

    m[0] = m[0] + d + m[3];
    m[1] = s + 2 * m[3];
    m[2] = d + 4 * m[3] + m[4];
}

INLINE void out(int side, vec m[SIDE])
{
    if (side == 6)
        out6(m);
    else
        out5(m);
}

/* The power of two in result i. */
INLINE int power(int side, int i)
{
    return side == 5 || i > 1 ? 1 : 3 - i;
}

/* What becomes of the sums of a register of channels, from..from + n - 1: see
 * ctt_int8_end.  plain: 0: K(int8_end) does it. */
struct finish {
    const struct ctt_int8_end *end;
    const float *plus;
    fvec         factor, bias;
    int64_t      from, n;
    int          plain, relu, biased, bytes;
};

static struct finish finish_of(const struct ctt_int8_end *end, int64_t from,
                               int64_t n)
{
    const struct ctt_call *c = end->c;
    const float *bias = c->w[1].t.data, *plus = c->in[1].data;
    struct finish f = { .end = end, .from = from, .n = n < LANES ? n : LANES };

    f.relu = c->act == CTT_ACT_RELU + 1;
    f.plain = !c->act || f.relu;
    f.bytes = ctt_is_bytes(&c->out);
    f.biased = bias != NULL;
    f.plus = c->node->plus && plus ? plus + from : NULL;
    f.factor = load_some(end->factor + from, f.n);
    if (bias)
        f.bias = load_some(bias + from, f.n);
    return f;
}

/* ctt_quant() of a register. */
INLINE vec quantised(fvec y, const struct ctt_tensor *to)
{
    float zero = (float)to->zero;

    y = y * (1 / to->scale);
    y = larger(y, (fvec){ 0 } - zero);
    y = smaller(y, (fvec){ 0 } + (255.0f - zero));
    y = (y + 12582912.0f) - 12582912.0f;
    return to_whole(y) + (uint32_t)to->zero;
}

INLINE void finish(const struct finish *f, int64_t row, vec sum)
{
    const struct ctt_call *c = f->end->c;
    fvec y = to_floats(sum);

    if (!f->plain) {
        int32_t s[LANES];
        memcpy(s, &sum, sizeof(s));
        K(int8_end)(f->end, row, f->from, f->n, s);
        return;
    }
    y = y * f->factor;
    if (f->biased)
        y = y + f->bias;
    if (f->plus)
        y = y + load_some(f->plus + row * c->in[1].ld, f->n);
    if (f->relu)
        y = larger((fvec){ 0 }, y);
    if (f->bytes)
        store_bytes((uint8_t *)c->out.data + row * c->out.ld + f->from,
                    quantised(y, &c->out), f->n);
    else
        store_some(ctt_row(&c->out, row) + f->from, y, f->n);
}

/* A register of channels of a tile; m: its sums, mstep from one frequency to
 * the next. */
INLINE void gather_tile(int side, const uint32_t *m,
                        const struct ctt_wino16_plan *p, struct place at,
                        const struct finish *f)
{
    int tile = side - 2, cols = p->ow - at.j0 < tile ? (int)(p->ow - at.j0)
                                                     : tile;
    vec t[SIDE][SIDE], col[SIDE];

    LOOP for (int i = 0; i < side; i++) {
        UNROLL for (int j = 0; j < side; j++)
            t[i][j] = load(m + (i * side + j) * p->mstep);
        out(side, t[i]);
    }
    LOOP for (int j = 0; j < cols; j++) {
        int64_t row = (at.n * p->oh + at.i0) * p->ow + at.j0 + j;
        UNROLL for (int i = 0; i < side; i++)
            col[i] = t[i][j];
        out(side, col);
        UNROLL for (int i = 0; i < tile; i++)
            if (at.i0 + i < p->oh)
                finish(f, row + i * p->ow, shift(col[i] * INVERSE,
                       power(side, i) + power(side, j)));
    }
}

/* Panel k of the tiles from `first` on; m is [freq][tile][width]. */
static void gather(const struct ctt_wino16_job *job,
                   const struct ctt_wino16_plan *p, int64_t first,
                   int64_t tiles, int64_t k, const uint32_t *m, int64_t width)
{
    int64_t from = k * PANEL;

    for (int64_t c = 0; c < width && from + c < job->s->k; c += LANES) {
        struct finish f = finish_of(job->end, from + c, job->s->k - from - c);

        for (int64_t t = 0; t < tiles; t++) {
            struct place at = place(p, first + t);
            if (p->side == 6)
                gather_tile(6, m + t * width + c, p, at, &f);
            else
                gather_tile(5, m + t * width + c, p, at, &f);
        }
    }
}
