/* SPDX-License-Identifier: Apache-2.0
 * groupnorm.c: normalisation by statistics of a sample's pixels and some of its
 * channels (Wu and He 2018). */
#include "device/cpu/cpu.h"

#include <math.h>

/* groups of `wide` channels; rows of a sample; part: two sums per row and
 * group; mean, inv: of each sample and group; a, b: means of gamma dy and of
 * gamma dy xhat. */
struct grouping {
    const struct ctt_call *c;
    int64_t groups, wide, rows;
    float  *part, *mean, *inv, *a, *b;
};

static int grouping_open(struct ctt_dev *d, const struct ctt_call *c,
                         struct grouping *g)
{
    int64_t groups = c->node->attr.groupnorm.groups, all = ctt_rows(&c->out);
    int64_t lots = c->out.n * groups, sums = 2 * all * groups;
    int64_t chunks = 2 * CTT_CHUNKS * c->out.c;

    *g = (struct grouping){ .c = c, .groups = groups,
                            .wide = c->out.c / groups, .rows = all / c->out.n };
    sums = sums > chunks ? sums : chunks;
    g->part = ctt_dev_scratch(d, (size_t)(sums + 4 * lots) * sizeof(float));
    if (!g->part)
        return ctt_error(CTT_ENOMEM, "%s: no memory for sums", c->node->name);
    g->mean = g->part + sums;
    g->inv = g->mean + lots;
    g->a = g->inv + lots;
    g->b = g->a + lots;
    return 0;
}

/* The sums over the rows of a sample, divided by the count. */
static void grouping_means(const struct grouping *g, int64_t lot, double m[2])
{
    int64_t first = lot / g->groups * g->rows, k = lot % g->groups;

    m[0] = m[1] = 0;
    for (int64_t r = first; r < first + g->rows; r++) {
        const float *p = g->part + 2 * (r * g->groups + k);
        m[0] += (double)p[0];
        m[1] += (double)p[1];
    }
    m[0] /= (double)(g->rows * g->wide);
    m[1] /= (double)(g->rows * g->wide);
}

/* The first number of a group is the shift, which avoids cancellation in the
 * variance. */
static float grouping_shift(const struct grouping *g, int64_t lot)
{
    return ctt_row(&g->c->in[0], lot / g->groups * g->rows)
        [lot % g->groups * g->wide];
}

static void grouping_stats(struct ctt_dev *d, const struct grouping *g)
{
    int64_t all = ctt_rows(&g->c->out), lots = g->c->out.n * g->groups;

    PARALLEL(d, 2 * ctt_volume(&g->c->out))
    for (int64_t r = 0; r < all; r++)
        for (int64_t k = 0; k < g->groups; k++) {
            const float *x = ctt_row(&g->c->in[0], r) + k * g->wide;
            float *p = g->part + 2 * (r * g->groups + k), a = 0, b = 0;
            float shift = grouping_shift(g, r / g->rows * g->groups + k);
            CTT_PRAGMA(omp simd reduction(+ : a, b))
            for (int64_t j = 0; j < g->wide; j++) {
                float v = x[j] - shift;
                a += v;
                b += v * v;
            }
            p[0] = a;
            p[1] = b;
        }
    for (int64_t lot = 0; lot < lots; lot++) {
        double m[2], var;
        grouping_means(g, lot, m);
        var = fmax(m[1] - m[0] * m[0], 0);
        g->mean[lot] = (float)(m[0] + (double)grouping_shift(g, lot));
        g->inv[lot] = (float)(1 / sqrt(var + (double)g->c->node->attr
                                                 .groupnorm.eps));
    }
}

static void grouping_rows(const void *arg, int64_t from, int64_t to)
{
    const struct grouping *g = arg;
    const float *gamma = g->c->w[0].t.data, *beta = g->c->w[1].t.data;

    for (int64_t r = from; r < to; r++)
        for (int64_t k = 0; k < g->groups; k++) {
            int64_t lot = r / g->rows * g->groups + k, at = k * g->wide;
            const float *x = ctt_row(&g->c->in[0], r);
            float *y = ctt_row(&g->c->out, r), m = g->mean[lot];
            float inv = g->inv[lot];
            SIMD for (int64_t j = at; j < at + g->wide; j++)
                y[j] = (x[j] - m) * inv * gamma[j] + beta[j];
        }
}

int K(groupnorm_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct grouping g;
    int rc = 0;

    CTT_TRY(grouping_open(d, c, &g));
    grouping_stats(d, &g);
    ctt_dev_rows(d, 3 * (double)ctt_volume(&c->out), ctt_rows(&c->out),
                 grouping_rows, &g);
out:
    return rc;
}

/* a and b of every sample and group. */
static void grouping_sums(struct ctt_dev *d, const struct grouping *g)
{
    int64_t all = ctt_rows(&g->c->out), lots = g->c->out.n * g->groups;
    const float *gamma = g->c->w[0].t.data;

    PARALLEL(d, 3 * ctt_volume(&g->c->out))
    for (int64_t r = 0; r < all; r++)
        for (int64_t k = 0; k < g->groups; k++) {
            int64_t lot = r / g->rows * g->groups + k, at = k * g->wide;
            const float *x = ctt_row(&g->c->in[0], r);
            const float *dy = ctt_row(&g->c->dout, r);
            float *p = g->part + 2 * (r * g->groups + k), a = 0, b = 0;
            float m = g->mean[lot], inv = g->inv[lot];
            CTT_PRAGMA(omp simd reduction(+ : a, b))
            for (int64_t j = at; j < at + g->wide; j++) {
                a += gamma[j] * dy[j];
                b += gamma[j] * dy[j] * ((x[j] - m) * inv);
            }
            p[0] = a;
            p[1] = b;
        }
    for (int64_t lot = 0; lot < lots; lot++) {
        double m[2];
        grouping_means(g, lot, m);
        g->a[lot] = (float)m[0];
        g->b[lot] = (float)m[1];
    }
}

/* dx of some channels of a row, from `at` on. */
static void grouping_piece(const struct grouping *g, int64_t r, int64_t lot,
                           int64_t at, int64_t len)
{
    const float *x = ctt_row(&g->c->in[0], r) + at;
    const float *dy = ctt_row(&g->c->dout, r) + at;
    const float *gamma = (const float *)g->c->w[0].t.data + at;
    float v[CTT_PIECE], m = g->mean[lot], inv = g->inv[lot];
    float a = g->a[lot], b = g->b[lot];

    SIMD for (int64_t j = 0; j < len; j++)
        v[j] = inv * (gamma[j] * dy[j] - a - (x[j] - m) * inv * b);
    ctt_put(ctt_row(&g->c->din[0], r) + at, v, len, g->c->add & 1);
}

static void grouping_din(struct ctt_dev *d, const struct grouping *g)
{
    int64_t all = ctt_rows(&g->c->out);

    PARALLEL(d, 4 * ctt_volume(&g->c->out))
    for (int64_t r = 0; r < all; r++)
        for (int64_t k = 0; k < g->groups; k++)
            for (int64_t j = 0; j < g->wide; j += CTT_PIECE)
                grouping_piece(g, r, r / g->rows * g->groups + k,
                               k * g->wide + j, ctt_piece(g->wide, j));
}

/* part: per chunk the sums of dy xhat, then of dy, of each channel. */
static void grouping_dw(struct ctt_dev *d, const struct grouping *g)
{
    int64_t all = ctt_rows(&g->c->out), n = g->c->out.c;

    memset(g->part, 0, (size_t)(2 * CTT_CHUNKS * n) * sizeof(float));
    PARALLEL(d, 3 * ctt_volume(&g->c->out))
    for (int q = 0; q < CTT_CHUNKS; q++)
        for (int64_t r = ctt_chunk(all, q); r < ctt_chunk(all, q + 1); r++)
            for (int64_t k = 0; k < g->groups; k++) {
                int64_t lot = r / g->rows * g->groups + k, at = k * g->wide;
                const float *x = ctt_row(&g->c->in[0], r);
                const float *dy = ctt_row(&g->c->dout, r);
                float *a = g->part + 2 * q * n, *b = a + n;
                float m = g->mean[lot], inv = g->inv[lot];
                SIMD for (int64_t j = at; j < at + g->wide; j++) {
                    a[j] += dy[j] * ((x[j] - m) * inv);
                    b[j] += dy[j];
                }
            }
    if (g->c->dw[0].data)
        ctt_join(g->part, 2 * n, n, g->c->dw[0].data);
    if (g->c->dw[1].data)
        ctt_join(g->part + n, 2 * n, n, g->c->dw[1].data);
}

int K(groupnorm_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct grouping g;
    int rc = 0;

    CTT_TRY(grouping_open(d, c, &g));
    grouping_stats(d, &g);
    if (c->din[0].data) {
        grouping_sums(d, &g);
        grouping_din(d, &g);
    }
    if (c->dw[0].data || c->dw[1].data)
        grouping_dw(d, &g);
out:
    return rc;
}
