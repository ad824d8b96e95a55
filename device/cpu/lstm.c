/* SPDX-License-Identifier: Apache-2.0
 * lstm.c: the gates of an LSTM cell and its two states, in one pass. */
#include "device/cpu/cpu.h"

#ifdef LANES
#include "device/cpu/lstm_tmpl.h"

/* The rest of a row, less than a register, as a register of copies. */
static void lstm_left(const float *z, int64_t apart, const float *old,
                      float *h, float *c, int64_t n)
{
    float of[4 * LANES] = { 0 }, before[LANES] = { 0 }, out[LANES],
          cell[LANES];
    size_t bytes = (size_t)n * sizeof(float);

    for (int k = 0; k < 4; k++)
        memcpy(of + k * LANES, z + k * apart, bytes);
    memcpy(before, old, bytes);
    lstm_vec(of, LANES, before, out, cell, LANES);
    memcpy(c, cell, bytes);
    memcpy(h, out, bytes);
}
#else
#define lstm_vec(z, apart, old, h, c, n) 0

/* In plain C: two loops, as the second would wait for the first: nearly a fifth
 * faster. */
static void lstm_left(const float *z, int64_t apart, const float *old,
                      float *h, float *c, int64_t n)
{
    SIMD for (int64_t j = 0; j < n; j++)
        c[j] = ctt_lstm_cell(z[j], z[apart + j], z[3 * apart + j], old[j]);
    SIMD for (int64_t j = 0; j < n; j++)
        h[j] = ctt_lstm_out(z[2 * apart + j], c[j]);
}
#endif

void K(lstm_row)(const float *z, int64_t apart, const float *old, float *h,
                 float *c, int64_t n)
{
    int64_t from = lstm_vec(z, apart, old, h, c, n);

    if (from < n)
        lstm_left(z + from, apart, old + from, h + from, c + from, n - from);
}

static void lstm_rows(const void *arg, int64_t first, int64_t last)
{
    const struct ctt_call *c = arg;
    int64_t H = c->out.c;

    for (int64_t r = first; r < last; r++)
        for (int64_t at = 0; at < H; at += CTT_PIECE) {
            const float *z = ctt_row(&c->in[0], r) + at;
            const float *old = ctt_row(&c->in[1], r) + at;
            float *h = ctt_row(&c->out, r) + at, cell[CTT_PIECE];
            int64_t n = ctt_piece(H, at);
            K(lstm_row)(z, H, old, h, cell, n);
            if (c->also.data)
                ctt_put(ctt_row(&c->also, r) + at, cell, n, 0);
        }
}

int K(lstm_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    ctt_dev_rows(d, 8 * (double)ctt_volume(&c->out), ctt_rows(&c->out),
                 lstm_rows, c);
    return 0;
}

/* The gradients of up to CTT_PIECE channels of a row. */
struct back { float z[4][CTT_PIECE], old[CTT_PIECE]; };

static void cell_gradients(const struct ctt_call *c, int64_t r, int64_t at,
                           int64_t n, struct back *b)
{
    static const float zeros[CTT_PIECE];
    int64_t H = c->out.c;
    const float *z = ctt_row(&c->in[0], r) + at;
    const float *old = ctt_row(&c->in[1], r) + at;
    const float *dh = c->dout.data ? ctt_row(&c->dout, r) + at : zeros;
    const float *dc = c->dalso.data ? ctt_row(&c->dalso, r) + at : zeros;

    SIMD for (int64_t j = 0; j < n; j++) {
        struct ctt_lstm g = { z[j], z[H + j], z[2 * H + j], z[3 * H + j] };
        g = ctt_lstm_bwd(g, old[j], dh[j], dc[j], &b->old[j]);
        b->z[0][j] = g.i;
        b->z[1][j] = g.f;
        b->z[2][j] = g.o;
        b->z[3][j] = g.g;
    }
}

/* Gradients of one of the two results may be absent, and gradients of one of
 * the two inputs unwanted. */
int K(lstm_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int64_t rows = ctt_rows(&c->out), H = c->out.c;

    PARALLEL(d, 12 * rows * H)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t at = 0; at < H; at += CTT_PIECE) {
            struct back b;
            int64_t n = ctt_piece(H, at);
            cell_gradients(c, r, at, n, &b);
            for (int k = 0; k < 4 && c->din[0].data; k++)
                ctt_put(ctt_row(&c->din[0], r) + k * H + at, b.z[k], n,
                        c->add & 1);
            if (c->din[1].data)
                ctt_put(ctt_row(&c->din[1], r) + at, b.old, n,
                        c->add >> 1 & 1);
        }
    return 0;
}
