/* SPDX-License-Identifier: Apache-2.0
 * softmax.c: exp(x) over its sum along the channels of a pixel, or along the
 * pixels of a channel; and local response normalisation. */
#include "device/cpu/cpu.h"

#include <math.h>
#include <string.h>

/* ---- softmax over the channels of a row ---- */

static float row_sum(const float *x, const float *w, int64_t n)
{
    double sum = 0;

    for (int64_t j = 0; j < n; j++)
        sum += (double)x[j] * (w ? (double)w[j] : 1);
    return (float)sum;
}

static void softmax_row(const float *x, float *y, int64_t n)
{
    float most = -INFINITY, part;

    for (int64_t j = 0; j < n; j++)
        most = x[j] > most ? x[j] : most;
    SIMD for (int64_t j = 0; j < n; j++)
        y[j] = ctt_exp(x[j] - most);
    part = 1 / row_sum(y, NULL, n);
    SIMD for (int64_t j = 0; j < n; j++)
        y[j] *= part;
}

/* dx (+)= dy times the Jacobian of y. */
static void softmax_row_back(const float *y, const float *dy, float *dx,
                             int64_t n, int add)
{
    float dot = row_sum(y, dy, n), v[CTT_PIECE];

    for (int64_t j = 0; j < n; j += CTT_PIECE) {
        int64_t len = ctt_piece(n, j);
        SIMD for (int64_t i = 0; i < len; i++)
            v[i] = y[j + i] * (dy[j + i] - dot);
        ctt_put(dx + j, v, len, add);
    }
}

static void softmax_rows(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;

    for (int64_t r = from; r < to; r++)
        softmax_row(ctt_row(&c->in[0], r), ctt_row(&c->out, r), c->out.c);
}

static void softmax_rows_back(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;

    for (int64_t r = from; r < to; r++)
        softmax_row_back(ctt_row(&c->out, r), ctt_row(&c->dout, r),
                         ctt_row(&c->din[0], r), c->out.c, c->add & 1);
}

/* ---- softmax over the pixels of a piece of channels ---- */

/* Channels from `at` on, n of them, of an image's rows, from `first` on. */
struct lot { int64_t first, rows, at, n; };

static struct lot lot_of(const struct ctt_tensor *t, int64_t i)
{
    int64_t pieces = (t->c + CTT_PIECE - 1) / CTT_PIECE;
    int64_t rows = ctt_rows(t) / t->n, at = i % pieces * CTT_PIECE;

    return (struct lot){ i / pieces * rows, rows, at, ctt_piece(t->c, at) };
}

static void softmax_lots(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;

    for (int64_t i = from; i < to; i++) {
        struct lot l = lot_of(&c->out, i);
        float most[CTT_PIECE], sum[CTT_PIECE] = { 0 };

        for (int64_t j = 0; j < l.n; j++)
            most[j] = -INFINITY;
        for (int64_t r = l.first; r < l.first + l.rows; r++) {
            const float *x = ctt_row(&c->in[0], r) + l.at;
            SIMD for (int64_t j = 0; j < l.n; j++)
                most[j] = x[j] > most[j] ? x[j] : most[j];
        }
        for (int64_t r = l.first; r < l.first + l.rows; r++) {
            const float *x = ctt_row(&c->in[0], r) + l.at;
            float *y = ctt_row(&c->out, r) + l.at;
            SIMD for (int64_t j = 0; j < l.n; j++) {
                y[j] = ctt_exp(x[j] - most[j]);
                sum[j] += y[j];
            }
        }
        for (int64_t r = l.first; r < l.first + l.rows; r++) {
            float *y = ctt_row(&c->out, r) + l.at;
            SIMD for (int64_t j = 0; j < l.n; j++)
                y[j] /= sum[j];
        }
    }
}

static void softmax_lots_back(const void *arg, int64_t from, int64_t to)
{
    const struct ctt_call *c = arg;

    for (int64_t i = from; i < to; i++) {
        struct lot l = lot_of(&c->out, i);
        float dot[CTT_PIECE] = { 0 }, v[CTT_PIECE];

        for (int64_t r = l.first; r < l.first + l.rows; r++) {
            const float *y = ctt_row(&c->out, r) + l.at;
            const float *dy = ctt_row(&c->dout, r) + l.at;
            SIMD for (int64_t j = 0; j < l.n; j++)
                dot[j] += y[j] * dy[j];
        }
        for (int64_t r = l.first; r < l.first + l.rows; r++) {
            const float *y = ctt_row(&c->out, r) + l.at;
            const float *dy = ctt_row(&c->dout, r) + l.at;
            SIMD for (int64_t j = 0; j < l.n; j++)
                v[j] = y[j] * (dy[j] - dot[j]);
            ctt_put(ctt_row(&c->din[0], r) + l.at, v, l.n, c->add & 1);
        }
    }
}

/* ---- both ---- */

static const struct { ctt_rows_fn *fwd, *bwd; } softmaxes[] = {
    [CTT_OVER_CHANNELS] = { softmax_rows, softmax_rows_back },
    [CTT_OVER_POSITIONS] = { softmax_lots, softmax_lots_back },
};

static void softmax_all(struct ctt_dev *d, const struct ctt_call *c,
                        ctt_rows_fn *f)
{
    int64_t n = ctt_rows(&c->out);

    if (c->node->attr.softmax.over == CTT_OVER_POSITIONS)
        n = c->out.n * ((c->out.c + CTT_PIECE - 1) / CTT_PIECE);
    ctt_dev_rows(d, 8 * (double)ctt_volume(&c->out), n, f, c);
}

int K(softmax_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    softmax_all(d, c, softmaxes[c->node->attr.softmax.over].fwd);
    return 0;
}

int K(softmax_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    if (c->din[0].data)
        softmax_all(d, c, softmaxes[c->node->attr.softmax.over].bwd);
    return 0;
}

/* ---- local response normalisation ---- */

/* v[i] += the sum of t over channels from - `left` to + `right` of channel
 * at + i, for `len` channels of n. */
static void window_sums(const float *t, int64_t n, int64_t at, int64_t len,
                        int64_t left, int64_t right, float *v)
{
    int64_t far = at + len - 1;

    left = left < far ? left : far;
    right = right < n - at ? right : n - at;
    for (int64_t o = -left; o <= right; o++) {
        int64_t from = at + o < 0 ? -(at + o) : 0;
        int64_t to = at + len + o > n ? n - at - o : len;
        SIMD for (int64_t i = from; i < to; i++)
            v[i] += t[at + i + o];
    }
}

/* The sums s = k + alpha / size times the sums of squares, of a piece; square:
 * the squares of a row. */
static void lrn_sums(const struct ctt_node *node, const float *square,
                     int64_t n, int64_t at, int64_t len, float *s)
{
    int size = node->attr.lrn.size;
    float share = node->attr.lrn.alpha / (float)size;

    memset(s, 0, (size_t)len * sizeof(*s));
    window_sums(square, n, at, len, (size - 1) / 2, size / 2, s);
    SIMD for (int64_t i = 0; i < len; i++)
        s[i] = node->attr.lrn.k + share * s[i];
}

/* n: channels; square, t: scratch of as many. */
struct lrn { const struct ctt_call *c; float *square, *t; int64_t n; };

static void square_row(const struct lrn *l, const float *x)
{
    SIMD for (int64_t j = 0; j < l->n; j++)
        l->square[j] = x[j] * x[j];
}

static void lrn_row(const struct lrn *l, int64_t r)
{
    const float *x = ctt_row(&l->c->in[0], r);
    float *y = ctt_row(&l->c->out, r), beta = l->c->node->attr.lrn.beta;
    float s[CTT_PIECE];

    square_row(l, x);
    for (int64_t j = 0; j < l->n; j += CTT_PIECE) {
        int64_t len = ctt_piece(l->n, j);
        lrn_sums(l->c->node, l->square, l->n, j, len, s);
        SIMD for (int64_t i = 0; i < len; i++)
            y[j + i] = x[j + i] * ctt_power(s[i], -beta);
    }
}

/* t = dy x s^(-beta - 1), which is summed over the channels whose windows have
 * the one. */
static void lrn_row_back(const struct lrn *l, int64_t r)
{
    const struct ctt_node *node = l->c->node;
    const float *x = ctt_row(&l->c->in[0], r), *dy = ctt_row(&l->c->dout, r);
    float *dx = ctt_row(&l->c->din[0], r), beta = node->attr.lrn.beta;
    float v[CTT_PIECE], s[CTT_PIECE];
    int size = node->attr.lrn.size;
    float share = 2 * node->attr.lrn.alpha * beta / (float)size;

    square_row(l, x);
    for (int64_t j = 0; j < l->n; j += CTT_PIECE) {
        int64_t len = ctt_piece(l->n, j);
        lrn_sums(node, l->square, l->n, j, len, s);
        SIMD for (int64_t i = 0; i < len; i++)
            l->t[j + i] = dy[j + i] * x[j + i] * ctt_power(s[i], -beta) /
                          s[i];
    }
    for (int64_t j = 0; j < l->n; j += CTT_PIECE) {
        int64_t len = ctt_piece(l->n, j);
        float sum[CTT_PIECE] = { 0 };
        lrn_sums(node, l->square, l->n, j, len, s);
        window_sums(l->t, l->n, j, len, size / 2, (size - 1) / 2, sum);
        SIMD for (int64_t i = 0; i < len; i++)
            v[i] = dy[j + i] * ctt_power(s[i], -beta) -
                   share * x[j + i] * sum[i];
        ctt_put(dx + j, v, len, l->c->add & 1);
    }
}

/* Chunks of rows, each with two rows of scratch. */
static int lrn_chunks(struct ctt_dev *d, const struct ctt_call *c,
                      void (*row)(const struct lrn *l, int64_t r))
{
    int64_t rows = ctt_rows(&c->out), n = c->out.c, wide = ctt_align(n, 16);
    float *room = ctt_dev_scratch(d, (size_t)(2 * CTT_CHUNKS * wide) *
                                     sizeof(float));

    if (!room)
        return ctt_error(CTT_ENOMEM, "%s: no memory for squares",
                         c->node->name);
    PARALLEL(d, ctt_volume(&c->out) * (8 + c->node->attr.lrn.size))
    for (int k = 0; k < CTT_CHUNKS; k++) {
        struct lrn l = { c, room + 2 * k * wide, room + (2 * k + 1) * wide, n };

        for (int64_t r = ctt_chunk(rows, k); r < ctt_chunk(rows, k + 1); r++)
            row(&l, r);
    }
    return 0;
}

int K(lrn_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    return lrn_chunks(d, c, lrn_row);
}

int K(lrn_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    return c->din[0].data ? lrn_chunks(d, c, lrn_row_back) : 0;
}
