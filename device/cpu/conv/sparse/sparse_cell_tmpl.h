/* SPDX-License-Identifier: Apache-2.0
 * sparse_cell_tmpl.h: sparse convs with the LSTM that reads their gates.  Lanes
 * stay pixels: the gates of a tile's cells stay in the cache until they become
 * states, and only the states are transposed to the layout of tensors.  The
 * file that includes it has included sparse_tmpl.h. */

/* Sizes of a tile: the gates and states of LANES cells; c holds the old states
 * at first. */
enum { TILE = LANES * REGS_MOST * LANES };
struct tile { float z[4 * TILE], c[TILE], h[TILE]; };

/* Result rows of LANES positions, of which `left` exist; -1: no result. */
static void rows_at(const struct ctt_sparse_job *j, struct spot *p,
                    int64_t left, int64_t row[LANES])
{
    for (int64_t i = 0, n; i < LANES; i += n, advance(j, p, n)) {
        int64_t at = -1;
        n = LANES - i;
        if (i < left) {
            n = left - i < n ? left - i : n;
            at = row_at(j, p, &n);
        }
        for (int64_t k = i; k < i + n; k++)
            row[k] = at < 0 ? -1 : at + k - i;
    }
}

/* Reads n <= LANES channels at LANES positions, transposed: a register per
 * channel. */
static void get_turned(const struct ctt_tensor *t, const int64_t row[LANES],
                       int64_t from, int64_t n, float *to, int64_t apart)
{
    ivec v[LANES];

    for (int i = 0; i < LANES; i++)
        v[i] = row[i] < 0 ? (ivec){ 0 }
                          : (ivec)load_few(ctt_row(t, row[i]) + from, n);
    turn(v);
    for (int64_t i = 0; i < n; i++)
        store(to + i * apart, (fvec)v[i]);
}

static void put_turned(const struct ctt_tensor *t, const int64_t row[LANES],
                       int64_t from, int64_t n, const float *x, int64_t apart)
{
    ivec v[LANES];

    for (int i = 0; i < LANES; i++)
        v[i] = i < n ? (ivec)load(x + i * apart) : (ivec){ 0 };
    turn(v);
    for (int i = 0; i < LANES; i++)
        if (row[i] >= 0)
            store_few(ctt_row(t, row[i]) + from, (fvec)v[i], n);
}

/* Writes the sums of channel o of a conv to z, or adds them: the operations of
 * put_sums() that gates need. */
static void add_gate(const struct ctt_sparse_job *j, int64_t first,
                     int64_t regs, int64_t o, const struct edges *e, int add,
                     float *z)
{
    fvec factor = (fvec){ 0 } + j->j.factor[o], bias = -(fvec){ 0 };
    ivec start = (ivec){ 0 } + j->w.start[o], sum[REGS_MOST];

    if (j->j.bias)
        bias = (fvec){ 0 } + j->j.bias[o];
    sums_of(j, first, regs, o, e, sum);
    for (int64_t t = 0; t < regs; t++) {
        fvec v = SUMS(sum[t] + start) * factor + bias;
        store(z + t * LANES, add ? load(z + t * LANES) + v : v);
    }
}

/* Prefetches the states, which are read and written after the longer loops over
 * units. */
static void fetch(const struct ctt_tensor *t, const int64_t row[LANES],
                  int64_t from)
{
    for (int i = 0; i < LANES && t->data; i++)
        if (row[i] >= 0)
            __builtin_prefetch(ctt_row(t, row[i]) + from, 0, 2);
}

/* Finds the result rows of a tile, from register `first` on. */
static void tile_rows(const struct ctt_sparse_cell *k, int64_t first,
                      int64_t regs, int64_t from, int64_t row[][LANES])
{
    const struct ctt_sparse_job *j = &k->conv[0];
    struct spot p = spot_at(j, first * LANES);

    for (int64_t t = 0; t < regs; t++) {
        rows_at(j, &p, j->span - (first + t) * LANES, row[t]);
        fetch(&k->lstm->old, row[t], from);
        fetch(&k->lstm->h, row[t], from);
        fetch(&k->lstm->c, row[t], from);
    }
}

/* Computes the four gates of n cells from `from` on, `apart` floats each, one
 * conv after the other, so that its values stay in the cache. */
static void all_gates(const struct ctt_sparse_cell *k, int64_t first,
                      int64_t regs, int64_t from, int64_t n, float *z)
{
    for (int i = 0; i < k->convs; i++) {
        struct edges edges;
        find_edges(&k->conv[i], first, regs, &edges);
        for (int64_t o = 0; o < 4 * n; o++)
            add_gate(&k->conv[i], first, regs,
                     o % 4 * k->lstm->h.c + from + o / 4, &edges, i,
                     z + o * regs * LANES);
    }
}

static void cell(const struct ctt_sparse_cell *k, int64_t at)
{
    const struct ctt_sparse_job *j = &k->conv[0];
    const struct ctt_also_lstm *l = k->lstm;
    int64_t blocks = (l->h.c + LANES - 1) / LANES, from = at % blocks * LANES;
    int64_t first = at / blocks * j->regs, n = l->h.c - from, apart;
    int64_t regs = (j->span + LANES - 1) / LANES - first;
    int64_t row[REGS_MOST][LANES];
    struct tile s;

    regs = regs < j->regs ? regs : j->regs;
    n = n < LANES ? n : LANES;
    apart = regs * LANES;
    tile_rows(k, first, regs, from, row);
    all_gates(k, first, regs, from, n, s.z);
    for (int64_t t = 0; t < regs; t++)
        get_turned(&l->old, row[t], from, n, s.c + t * LANES, apart);
    for (int64_t o = 0; o < n * apart; o += apart)
        K(lstm_row)(s.z + 4 * o, apart, s.c + o, s.h + o, s.c + o, apart);
    for (int64_t t = 0; t < regs; t++) {
        put_turned(&l->h, row[t], from, n, s.h + t * LANES, apart);
        if (l->c.data)
            put_turned(&l->c, row[t], from, n, s.c + t * LANES, apart);
    }
}
