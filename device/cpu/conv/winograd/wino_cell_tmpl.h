/* SPDX-License-Identifier: Apache-2.0
 * wino_cell_tmpl.h: LSTM cells out of the transform domain: a panel holds the
 * four gates of HALF cells. */

/* Gates of one tile: [gate][pixel][cell]. */
struct gates { float z[4][16][HALF]; };

/* Loads n <= HALF floats. */
INLINE half some(const float *p, int64_t n)
{
    return n >= HALF ? load_half(p) : low(load_some(p, n));
}

INLINE void put_some(float *p, half v, int64_t n)
{
    if (n >= HALF)
        store_half(p, v);
    else
        store_some(p, join_halves(v, v), n);
}

/* Computes two gates, `gate` and the next, of all pixels of a tile. */
INLINE void gates(int side, const float *m, int64_t step, int gate,
                  struct gates *g)
{
    vec d[4][MAXT];

    halfway(side, m, step, d);
    LOOP for (int i = 0; i < 4; i++) {
        backward(side, d[i]);
        UNROLL for (int j = 0; j < 4; j++) {
            store_half(g->z[gate][i * 4 + j], low(d[i][j]));
            store_half(g->z[gate + 1][i * 4 + j], high(d[i][j]));
        }
    }
}

static void gates6(const float *m, int64_t step, int gate, struct gates *g)
{
    gates(6, m, step, gate, g);
}

static void gates8(const float *m, int64_t step, int gate, struct gates *g)
{
    gates(8, m, step, gate, g);
}

/* Adds bias and plus input to n cells of pixel q of the tile, which is pixel r
 * of the image, and stores the sum if it is wanted. */
INLINE void add_some(const struct ctt_wino_job *job, struct gates *g, int q,
                     int64_t r, int64_t at, int64_t n)
{
    const struct ctt_wino_epilogue *end = job->end;
    int64_t hidden = job->s->hidden;

    UNROLL for (int k = 0; k < 4; k++) {
        int64_t j = k * hidden + at;
        half v = load_half(g->z[k][q]);
        if (end->bias)
            v += some(end->bias + j, n);
        if (end->bias2)
            v += some(end->bias2 + j, n);
        if (end->plus)
            v += some(end->plus + r * end->ldplus + j, n);
        store_half(g->z[k][q], v);
        if (job->y)
            put_some(job->y + r * job->ldy + j, v, n);
    }
}

static void cells(struct gates *g, const float *old, float *h, float *c)
{
    const float *z = g->z[0][0];

    SIMD_LOOP for (int j = 0; j < 16 * HALF; j++)
        ctt_lstm_fwd((struct ctt_lstm){ z[j], z[16 * HALF + j],
                                        z[32 * HALF + j], z[48 * HALF + j] },
                     old[j], &h[j], &c[j]);
}

/* Prefetches the inputs of pixel r. */
INLINE void fetch(const struct ctt_wino_job *job, int64_t r, int64_t at)
{
    const struct ctt_wino_epilogue *end = job->end;
    int64_t hidden = job->s->hidden;

    __builtin_prefetch(end->cell->old + r * end->cell->ldold + at);
    for (int k = 0; k < 4 && end->plus; k++)
        __builtin_prefetch(end->plus + r * end->ldplus + k * hidden + at);
}

/* Computes n cells of a tile, from cell `at` on. */
static void cell_tile(const float *m, int64_t step, struct place p,
                      const struct ctt_wino_plan *w, int64_t at, int64_t n,
                      const struct ctt_wino_job *job)
{
    const struct ctt_wino_cell *cell = job->end->cell;
    int64_t top = (p.n * w->oh + p.i0) * w->ow + p.j0;
    float old[16][HALF], h[16][HALF], c[16][HALF];
    int rows = w->oh - p.i0 < 4 ? (int)(w->oh - p.i0) : 4;
    int cols = w->ow - p.j0 < 4 ? (int)(w->ow - p.j0) : 4;
    struct gates g;

    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            fetch(job, top + i * w->ow + j, at);
    if (rows < 4 || cols < 4)
        memset(old, 0, sizeof(old));
    for (int k = 0; k < 2; k++)
        (w->side == 6 ? gates6 : gates8)(m + k * LANES, step, 2 * k, &g);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            int64_t r = top + i * w->ow + j;
            add_some(job, &g, i * 4 + j, r, at, n);
            store_half(old[i * 4 + j],
                       some(cell->old + r * cell->ldold + at, n));
        }
    cells(&g, old[0], h[0], c[0]);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            int64_t r = top + i * w->ow + j;
            int q = i * 4 + j;
            put_some(cell->h + r * cell->ldh + at, load_half(h[q]), n);
            if (cell->c)
                put_some(cell->c + r * cell->ldc + at, load_half(c[q]), n);
        }
}
