/* SPDX-License-Identifier: Apache-2.0
 * wino_tile_tmpl.h: between images and the transform domain, a tile at a time.
 * Where at most half a register of channels is left, two tiles share it. */

/* Where the window of a tile lies in an image of h x w, from row i0 and column
 * j0, which may stand outside. */
struct place { int64_t n, i0, j0; };

static struct place place(int64_t tile, int64_t th, int64_t tw, int64_t up,
                          int64_t left)
{
    return (struct place){ tile / (th * tw), tile / tw % th * 4 - up,
                           tile % tw * 4 - left };
}

/* Images, channels last. */
struct view { const float *x; int64_t ld, h, w; };

INLINE vec load_least(const float *p, int64_t n)
{
    return n >= LANES ? load(p) : load_some(p, n);
}

/* Row i of a tile's pixels, or NULL where that is outside. */
INLINE const float *row_of(const struct view *x, struct place p, int i,
                           int64_t at)
{
    int64_t y = p.i0 + i;

    return y < 0 || y >= x->h ? NULL
               : x->x + ((p.n * x->h + y) * x->w + p.j0) * x->ld + at;
}

/* n pixels of a row, `have` channels of each, zeros outside. */
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

/* A row of two tiles at once, up to HALF channels of each. */
INLINE void read_pair(const struct view *x, int64_t at,
                      const struct place p[2], int two, int i, int n,
                      int64_t have, vec d[MAXT])
{
    half a[MAXT], b[MAXT];

    read_half_row(x, row_of(x, p[0], i, at), p[0].j0, n, have, a);
    read_half_row(x, row_of(x, p[two], i, at), p[two].j0, n, have, b);
    UNROLL for (int j = 0; j < n; j++)
        d[j] = join(a[j], b[j]);
}

/* Asks for what tile p's successor but one will be the first to read: four
 * columns of the last four rows, wherever that is. */
INLINE void fetch_next(const struct view *x, int64_t at, struct place p,
                       int side)
{
    const float *top = x->x + ((p.n * x->h + p.i0) * x->w + p.j0) * x->ld + at;

    LOOP for (int i = side - 4; i < side; i++)
        UNROLL for (int j = side + 4; j < side + 8; j++)
            __builtin_prefetch(top + (i * x->w + j) * x->ld);
}

/* v[freq][tile][channel] = the transforms of a tile, or of two, which lie cp
 * floats apart; step from one frequency to the next; `one` makes `side`
 * numbers of `from`.  Up to a multiple of HALF channels are written.  The rows
 * go through memory between the two directions: that many registers there are
 * not, and the loops stay short. */
#define SCATTER(name, one, from, side)                                    \
INLINE void name##_columns(vec d[MAXT][MAXT], int j, vec col[MAXT])       \
{                                                                         \
    UNROLL for (int i = 0; i < from; i++)                                 \
        col[i] = d[i][j];                                                 \
    one(col);                                                             \
}                                                                         \
                                                                          \
static void name##_tile(const struct view *x, int64_t at, int64_t have,   \
                        struct place p, float *v, int64_t step)           \
{                                                                         \
    vec d[MAXT][MAXT], col[MAXT];                                         \
                                                                          \
    fetch_next(x, at, p, from);                                           \
    LOOP for (int i = 0; i < from; i++) {                                 \
        read_row(x, row_of(x, p, i, at), p.j0, from, have, d[i]);         \
        one(d[i]);                                                        \
    }                                                                     \
    LOOP for (int j = 0; j < side; j++) {                                 \
        name##_columns(d, j, col);                                        \
        UNROLL for (int i = 0; i < side; i++)                             \
            store(v + (i * side + j) * step, col[i]);                     \
    }                                                                     \
}                                                                         \
                                                                          \
static void name(const struct view *x, int64_t c,                         \
                 const struct place p[2], int two, float *v, int64_t cp,  \
                 int64_t step)                                            \
{                                                                         \
    vec d[MAXT][MAXT], col[MAXT];                                         \
    int64_t at = 0;                                                       \
                                                                          \
    for (; c - at > HALF; at += LANES)                                    \
        for (int t = 0; t <= two; t++)                                    \
            name##_tile(x, at, c - at, p[t], v + t * cp + at, step);      \
    if (at >= c)                                                          \
        return;                                                           \
    LOOP for (int i = 0; i < from; i++) {                                 \
        read_pair(x, at, p, two, i, from, c - at, d[i]);                  \
        one(d[i]);                                                        \
    }                                                                     \
    LOOP for (int j = 0; j < side; j++) {                                 \
        name##_columns(d, j, col);                                        \
        UNROLL for (int i = 0; i < side; i++)                             \
            store_half(v + at + (i * side + j) * step, low(col[i]));      \
        UNROLL for (int i = 0; i < side && two; i++)                      \
            store_half(v + cp + at + (i * side + j) * step,               \
                       high(col[i]));                                     \
    }                                                                     \
}
SCATTER(scatter6, in6, 6, 6)
SCATTER(scatter8, in8, 8, 8)
SCATTER(spread6, back6, 4, 6)
SCATTER(spread8, back8, 4, 8)

typedef void scatter_fn(const struct view *, int64_t, const struct place[2],
                        int, float *, int64_t, int64_t);

/* ---- results ---- */

INLINE vec finish(vec v, const struct ctt_wino_end *end, vec bias,
                  const float *plus, const float *y, int64_t n)
{
    v += bias;
    if (plus)
        v += load_least(plus, n);
    if (end->act == CTT_ACT_RELU + 1)
        v = (vec)((mask)v & ~(mask)(v < 0));    /* a NaN stays one */
    return end->add ? v + load_least(y, n) : v;
}

/* n channels of a pixel, from channel `at` on. */
INLINE void write_pixel(vec v, const struct ctt_wino_job *job, vec bias,
                        int64_t at, int64_t pixel, int64_t n)
{
    const struct ctt_wino_end *end = job->end;
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

INLINE vec get_bias(const struct ctt_wino_end *end, int64_t at, int64_t n)
{
    vec b = { 0 };

    if (end->bias)
        b += load_least(end->bias + at, n);
    if (end->bias2)
        b += load_least(end->bias2 + at, n);
    return b;
}

/* d[row][column] = the first direction of the way back, of m[freq]. */
#define HALFWAY(name, one, side)                                          \
INLINE void name(const float *m, int64_t step, vec d[4][MAXT])            \
{                                                                         \
    vec col[MAXT];                                                        \
                                                                          \
    LOOP for (int j = 0; j < side; j++) {                                 \
        UNROLL for (int i = 0; i < side; i++)                             \
            col[i] = load(m + (i * side + j) * step);                     \
        one(col);                                                         \
        UNROLL for (int i = 0; i < 4; i++)                                \
            d[i][j] = col[i];                                             \
    }                                                                     \
}
HALFWAY(halfway6, out6, 6)
HALFWAY(halfway8, out8, 8)

/* The same of two tiles, which lie ldm apart. */
#define HALFWAY_PAIR(name, one, side)                                     \
INLINE void name(const float *m, int64_t ldm, int64_t step,               \
                 vec d[4][MAXT])                                          \
{                                                                         \
    vec col[MAXT];                                                        \
                                                                          \
    LOOP for (int j = 0; j < side; j++) {                                 \
        UNROLL for (int i = 0; i < side; i++) {                           \
            const float *f = m + (i * side + j) * step;                   \
            col[i] = join(load_half(f), load_half(f + ldm));              \
        }                                                                 \
        one(col);                                                         \
        UNROLL for (int i = 0; i < 4; i++)                                \
            d[i][j] = col[i];                                             \
    }                                                                     \
}
HALFWAY_PAIR(halfway_pair6, out6, 6)
HALFWAY_PAIR(halfway_pair8, out8, 8)

/* More than half a register of channels of one tile, n of them. */
#define GATHER(name, half, one)                                           \
static void name(const float *m, int64_t step, struct place p,            \
                 const struct ctt_wino_plan *w, int64_t at, int64_t n,    \
                 const struct ctt_wino_job *job)                          \
{                                                                         \
    vec d[4][MAXT], bias = get_bias(job->end, at, n);                     \
    int64_t top = (p.n * w->oh + p.i0) * w->ow + p.j0;                    \
                                                                          \
    half(m, step, d);                                                     \
    for (int i = 0; i < 4 && p.i0 + i < w->oh; i++) {                     \
        one(d[i]);                                                        \
        if (n >= LANES && p.j0 + 4 <= w->ow)                              \
            UNROLL for (int j = 0; j < 4; j++)                            \
                write_pixel(d[i][j], job, bias, at, top + i * w->ow + j,  \
                            LANES);                                       \
        else                                                              \
            for (int j = 0; j < 4 && p.j0 + j < w->ow; j++)               \
                write_pixel(d[i][j], job, bias, at, top + i * w->ow + j,  \
                            n);                                           \
    }                                                                     \
}
GATHER(gather6, halfway6, out6)
GATHER(gather8, halfway8, out8)

/* n <= HALF channels of the pixels of a row of two tiles. */
INLINE void write_pairs(const vec d[4], const struct ctt_wino_job *job,
                        vec bias, const struct place p[2], int two, int i,
                        const struct ctt_wino_plan *w, int64_t at, int64_t n)
{
    for (int t = 0; t <= two; t++) {
        int64_t r = (p[t].n * w->oh + p[t].i0 + i) * w->ow + p[t].j0;
        if (p[t].i0 + i >= w->oh)
            continue;
        for (int j = 0; j < 4 && p[t].j0 + j < w->ow; j++) {
            half v = t ? high(d[j]) : low(d[j]);
            write_pixel(join(v, v), job, bias, at, r + j, n);
        }
    }
}

#define GATHER_PAIR(name, half, one)                                      \
static void name(const float *m, int64_t ldm, int64_t step,               \
                 const struct place p[2], int two,                        \
                 const struct ctt_wino_plan *w, int64_t at, int64_t n,    \
                 const struct ctt_wino_job *job)                          \
{                                                                         \
    vec d[4][MAXT], bias = get_bias(job->end, at, n);                     \
                                                                          \
    half(m, two * ldm, step, d);                                          \
    LOOP for (int i = 0; i < 4; i++) {                                    \
        one(d[i]);                                                        \
        write_pairs(d[i], job, bias, p, two, i, w, at, n);                \
    }                                                                     \
}
GATHER_PAIR(pair6, halfway_pair6, out6)
GATHER_PAIR(pair8, halfway_pair8, out8)
