/* SPDX-License-Identifier: Apache-2.0
 * wino_tile_tmpl.h: the transforms of tiles into the transform domain and back.
 * If at most half a register of channels is left, two tiles share it. */

/* The window of a tile in an image of h x w: from row i0 and column j0 on,
 * which may be outside the image. */
struct place { int64_t n, i0, j0; };

static struct place place_of_tile(int64_t tile, int64_t th, int64_t tw,
                                  int size, int64_t up, int64_t left)
{
    return (struct place){ tile / (th * tw), tile / tw % th * size - up,
                           tile % tw * size - left };
}

/* Images, channels last. */
struct view { const float *x; int64_t ld, h, w; };

INLINE vec load_least(const float *p, int64_t n)
{
    return n >= LANES ? load(p) : load_some(p, n);
}

/* Row i of a tile's pixels, or NULL outside the image. */
INLINE const float *row_of(const struct view *x, struct place p, int i,
                           int64_t at)
{
    int64_t y = p.i0 + i;

    return y < 0 || y >= x->h ? NULL
               : x->x + ((p.n * x->h + y) * x->w + p.j0) * x->ld + at;
}

/* Reads n pixels of a row, `have` channels of each, zeros outside. */
INLINE void read_row(const struct view *x, const float *row, int64_t j0,
                     int n, int64_t have, vec d[MAXT])
{
    if (row && j0 >= 0 && j0 + n <= x->w && have >= LANES) {
        UNROLL for (int j = 0; j < n; j++)
            d[j] = load(row + j * x->ld);
        return;
    }
    LOOP for (int j = 0; j < n; j++)
        d[j] = !row || j0 + j < 0 || j0 + j >= x->w ? (vec){ 0 }
                   : load_least(row + j * x->ld, have);
}

INLINE void read_half_row(const struct view *x, const float *row, int64_t j0,
                          int n, int64_t have, half d[MAXT])
{
    if (row && j0 >= 0 && j0 + n <= x->w && have == HALF) {
        UNROLL for (int j = 0; j < n; j++)
            d[j] = load_half(row + j * x->ld);
        return;
    }
    LOOP for (int j = 0; j < n; j++)
        d[j] = !row || j0 + j < 0 || j0 + j >= x->w ? (half){ 0 }
                   : low(load_some(row + j * x->ld, have));
}

/* Reads a row of two tiles at once, up to HALF channels of each. */
INLINE void read_pair(const struct view *x, int64_t at,
                      const struct place p[2], int two, int i, int n,
                      int64_t have, vec d[MAXT])
{
    half a[MAXT], b[MAXT];

    read_half_row(x, row_of(x, p[0], i, at), p[0].j0, n, have, a);
    read_half_row(x, row_of(x, p[two], i, at), p[two].j0, n, have, b);
    UNROLL for (int j = 0; j < n; j++)
        d[j] = join_halves(a[j], b[j]);
}

/* Prefetches for the tile after the next: four columns of the last four
 * rows. */
INLINE void fetch_next(const struct view *x, int64_t at, struct place p,
                       int side)
{
    const float *top = x->x + ((p.n * x->h + p.i0) * x->w + p.j0) * x->ld + at;

    LOOP for (int i = side - 4; i < side; i++)
        UNROLL for (int j = side + 4; j < side + 8; j++)
            __builtin_prefetch(top + (i * x->w + j) * x->ld);
}

/* Source of a transform: the image, or the gradient of the result, which has
 * fewer numbers per tile. */
enum source { IMAGE, GRADIENT };

/* One direction: `side` frequencies of a row or column.  Callers pass side and
 * source as constants here and below, so that the other cases leave no code. */
INLINE void forward(enum source source, int side, vec d[MAXT])
{
    if (source == IMAGE && side == 4)
        in4(d);
    else if (source == IMAGE && side == 6)
        in6(d);
    else if (source == IMAGE)
        in8(d);
    else if (side == 6)
        back6(d);
    else
        back8(d);
}

INLINE int numbers(enum source source, int side)
{
    return source == IMAGE ? side : 4;
}

/* Second direction of the transform, of column j: col[i] are its
 * frequencies. */
INLINE void forward_column(enum source source, int side, vec d[MAXT][MAXT],
                           int j, vec col[MAXT])
{
    UNROLL for (int i = 0; i < numbers(source, side); i++)
        col[i] = d[i][j];
    forward(source, side, col);
}

/* v[freq] = the transform of a register of channels of a tile; step from one
 * frequency to the next.  Between the two directions the rows are stored in
 * memory: there are not enough registers, and the loops stay short. */
INLINE void scatter_tile(enum source source, int side, const struct view *x,
                         int64_t at, int64_t have, struct place p, float *v,
                         int64_t step)
{
    int from = numbers(source, side);
    vec d[MAXT][MAXT], col[MAXT];

    fetch_next(x, at, p, from);
    LOOP for (int i = 0; i < from; i++) {
        read_row(x, row_of(x, p, i, at), p.j0, from, have, d[i]);
        forward(source, side, d[i]);
    }
    LOOP for (int j = 0; j < side; j++) {
        forward_column(source, side, d, j, col);
        UNROLL for (int i = 0; i < side; i++)
            store(v + (i * side + j) * step, col[i]);
    }
}

/* Transforms up to HALF channels, from `at` on, of two tiles, stored cp floats
 * apart in v; two: 0 for a single tile. */
INLINE void scatter_pair(enum source source, int side, const struct view *x,
                         int64_t at, int64_t have, const struct place p[2],
                         int two, float *v, int64_t cp, int64_t step)
{
    int from = numbers(source, side);
    vec d[MAXT][MAXT], col[MAXT];

    LOOP for (int i = 0; i < from; i++) {
        read_pair(x, at, p, two, i, from, have, d[i]);
        forward(source, side, d[i]);
    }
    LOOP for (int j = 0; j < side; j++) {
        forward_column(source, side, d, j, col);
        UNROLL for (int i = 0; i < side; i++)
            store_half(v + at + (i * side + j) * step, low(col[i]));
        UNROLL for (int i = 0; i < side && two; i++)
            store_half(v + cp + at + (i * side + j) * step, high(col[i]));
    }
}

/* v[freq][tile][channel] = the transforms of c channels of a tile, or of two.
 * Up to a multiple of HALF channels are written.  A function for each source
 * and side, as its code is long. */
#define SCATTER(name, source, side)                                       \
static void name##_tile(const struct view *x, int64_t at, int64_t have,   \
                        struct place p, float *v, int64_t step)           \
{                                                                         \
    scatter_tile(source, side, x, at, have, p, v, step);                  \
}                                                                         \
                                                                          \
static void name(const struct view *x, int64_t c,                         \
                 const struct place p[2], int two, float *v, int64_t cp,  \
                 int64_t step)                                            \
{                                                                         \
    int64_t at = 0;                                                       \
                                                                          \
    for (; c - at > HALF; at += LANES)                                    \
        for (int t = 0; t <= two; t++)                                    \
            name##_tile(x, at, c - at, p[t], v + t * cp + at, step);      \
    if (at < c)                                                           \
        scatter_pair(source, side, x, at, c - at, p, two, v, cp, step);   \
}
SCATTER(scatter4, IMAGE, 4)
SCATTER(scatter6, IMAGE, 6)
SCATTER(scatter8, IMAGE, 8)
SCATTER(spread6, GRADIENT, 6)
SCATTER(spread8, GRADIENT, 8)

typedef void scatter_fn(const struct view *, int64_t, const struct place[2],
                        int, float *, int64_t, int64_t);

/* ---- results ---- */

INLINE vec finish(vec v, const struct ctt_wino_epilogue *end, vec bias,
                  const float *plus, const float *y, int64_t n)
{
    v += bias;
    if (plus)
        v += load_least(plus, n);
    if (end->act == CTT_ACT_RELU + 1)
        v = (vec)((mask)v & ~(mask)(v < 0));    /* a NaN stays */
    return end->add ? v + load_least(y, n) : v;
}

/* Writes n channels of a pixel, from channel `at` on. */
INLINE void write_pixel(vec v, const struct ctt_wino_job *job, vec bias,
                        int64_t at, int64_t pixel, int64_t n)
{
    const struct ctt_wino_epilogue *end = job->end;
    float *y = job->y + pixel * job->ldy + at;

    v = finish(v, end, bias,
               end->plus ? end->plus + pixel * end->ldplus + at : NULL, y, n);
    if (n >= LANES && job->far)
        store_far(y, v);
    else if (n >= LANES)
        store(y, v);
    else
        store_some(y, v, n);
}

INLINE vec get_bias(const struct ctt_wino_epilogue *end, int64_t at, int64_t n)
{
    vec b = { 0 };

    if (end->bias)
        b += load_least(end->bias + at, n);
    if (end->bias2)
        b += load_least(end->bias2 + at, n);
    return b;
}

/* Results of a row of a tile of `side` frequencies. */
INLINE int results(int side)
{
    return side == 4 ? 2 : 4;
}

/* One direction of the inverse transform. */
INLINE void backward(int side, vec d[MAXT])
{
    if (side == 4)
        out4(d);
    else if (side == 6)
        out6(d);
    else
        out8(d);
}

/* d[row][column] = the first direction of the inverse transform of m[freq]. */
INLINE void halfway(int side, const float *m, int64_t step, vec d[4][MAXT])
{
    vec col[MAXT];

    LOOP for (int j = 0; j < side; j++) {
        UNROLL for (int i = 0; i < side; i++)
            col[i] = load(m + (i * side + j) * step);
        backward(side, col);
        UNROLL for (int i = 0; i < results(side); i++)
            d[i][j] = col[i];
    }
}

/* First direction of the inverse transform of two tiles, ldm apart. */
INLINE void halfway_pair(int side, const float *m, int64_t ldm, int64_t step,
                         vec d[4][MAXT])
{
    vec col[MAXT];

    LOOP for (int j = 0; j < side; j++) {
        UNROLL for (int i = 0; i < side; i++) {
            const float *f = m + (i * side + j) * step;
            col[i] = join_halves(load_half(f), load_half(f + ldm));
        }
        backward(side, col);
        UNROLL for (int i = 0; i < results(side); i++)
            d[i][j] = col[i];
    }
}

/* Writes n > HALF channels of one tile, from channel `at` on. */
INLINE void gather_tile(int side, const float *m, int64_t step,
                        struct place p, const struct ctt_wino_plan *w,
                        int64_t at, int64_t n, const struct ctt_wino_job *job)
{
    vec d[4][MAXT], bias = get_bias(job->end, at, n);
    int64_t top = (p.n * w->oh + p.i0) * w->ow + p.j0;
    int many = results(side);

    halfway(side, m, step, d);
    for (int i = 0; i < many && p.i0 + i < w->oh; i++) {
        backward(side, d[i]);
        if (n >= LANES && p.j0 + many <= w->ow)
            UNROLL for (int j = 0; j < results(side); j++)
                write_pixel(d[i][j], job, bias, at, top + i * w->ow + j,
                            LANES);
        else
            for (int j = 0; j < many && p.j0 + j < w->ow; j++)
                write_pixel(d[i][j], job, bias, at, top + i * w->ow + j, n);
    }
}

static void gather4(const float *m, int64_t step, struct place p,
                    const struct ctt_wino_plan *w, int64_t at, int64_t n,
                    const struct ctt_wino_job *job)
{
    gather_tile(4, m, step, p, w, at, n, job);
}

static void gather6(const float *m, int64_t step, struct place p,
                    const struct ctt_wino_plan *w, int64_t at, int64_t n,
                    const struct ctt_wino_job *job)
{
    gather_tile(6, m, step, p, w, at, n, job);
}

static void gather8(const float *m, int64_t step, struct place p,
                    const struct ctt_wino_plan *w, int64_t at, int64_t n,
                    const struct ctt_wino_job *job)
{
    gather_tile(8, m, step, p, w, at, n, job);
}

/* Writes n <= HALF channels of the pixels of a row of two tiles. */
INLINE void write_pairs(const vec d[4], const struct ctt_wino_job *job,
                        vec bias, const struct place p[2], int two, int i,
                        const struct ctt_wino_plan *w, int64_t at, int64_t n)
{
    for (int t = 0; t <= two; t++) {
        int64_t r = (p[t].n * w->oh + p[t].i0 + i) * w->ow + p[t].j0;
        if (p[t].i0 + i >= w->oh)
            continue;
        for (int j = 0; j < w->tile && p[t].j0 + j < w->ow; j++) {
            half v = t ? high(d[j]) : low(d[j]);
            write_pixel(join_halves(v, v), job, bias, at, r + j, n);
        }
    }
}

INLINE void gather_pair(int side, const float *m, int64_t ldm, int64_t step,
                        const struct place p[2], int two,
                        const struct ctt_wino_plan *w, int64_t at, int64_t n,
                        const struct ctt_wino_job *job)
{
    vec d[4][MAXT], bias = get_bias(job->end, at, n);

    halfway_pair(side, m, two * ldm, step, d);
    LOOP for (int i = 0; i < results(side); i++) {
        backward(side, d[i]);
        write_pairs(d[i], job, bias, p, two, i, w, at, n);
    }
}

static void pair4(const float *m, int64_t ldm, int64_t step,
                  const struct place p[2], int two,
                  const struct ctt_wino_plan *w, int64_t at, int64_t n,
                  const struct ctt_wino_job *job)
{
    gather_pair(4, m, ldm, step, p, two, w, at, n, job);
}

static void pair6(const float *m, int64_t ldm, int64_t step,
                  const struct place p[2], int two,
                  const struct ctt_wino_plan *w, int64_t at, int64_t n,
                  const struct ctt_wino_job *job)
{
    gather_pair(6, m, ldm, step, p, two, w, at, n, job);
}

static void pair8(const float *m, int64_t ldm, int64_t step,
                  const struct place p[2], int two,
                  const struct ctt_wino_plan *w, int64_t at, int64_t n,
                  const struct ctt_wino_job *job)
{
    gather_pair(8, m, ldm, step, p, two, w, at, n, job);
}

/* By the side of a tile. */
static scatter_fn *scatter_of(int side)
{
    return side == 4 ? scatter4 : side == 6 ? scatter6 : scatter8;
}

typedef void gather_fn(const float *, int64_t, struct place,
                       const struct ctt_wino_plan *, int64_t, int64_t,
                       const struct ctt_wino_job *);
typedef void pair_fn(const float *, int64_t, int64_t, const struct place *, int,
                     const struct ctt_wino_plan *, int64_t, int64_t,
                     const struct ctt_wino_job *);

static gather_fn *gather_of(int side)
{
    return side == 4 ? gather4 : side == 6 ? gather6 : gather8;
}

static pair_fn *pair_of(int side)
{
    return side == 4 ? pair4 : side == 6 ? pair6 : pair8;
}
