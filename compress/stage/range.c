/* SPDX-License-Identifier: Apache-2.0
 * range.c: the step and the zero byte of values, from two histograms whose bins
 * are as wide as a power of two: two bins become one of the next power without
 * looking at the values again. */
#include "compress/stage/range.h"

#include <math.h>
#include <string.h>

enum {
    BINS = CTT_RANGE_BINS,
    LOG_BINS = 11,
    LEAST_WIDTH = -100,    /* the inverse is a float; steps are larger */
    PART = 4096,           /* values at a time: they stay in the cache */
    LEVELS = 128,          /* of absolute values, for the entropy */
    COARSE = 80,           /* steps tried, an eighth of an octave apart: */
    FINE = 7               /* then so many to each side, a 64th apart */
};

/* ---- the values ---- */

void ctt_range_begin(struct ctt_range *r)
{
    memset(r, 0, sizeof(*r));
    r->width = LEAST_WIDTH;
}

/* Bins of at least 2^width. */
static void widen(struct ctt_range *r, int width)
{
    int by = width - r->width;

    if (by <= 0)
        return;
    by = by < LOG_BINS ? by : LOG_BINS;
    for (int s = 0; s < 2; s++)
        for (int k = 1; k < BINS; k++) {
            int64_t c = r->bins[s][k];
            r->bins[s][k] = 0;
            r->bins[s][k >> by] += c;
        }
    r->width = width;
}

/* The least width whose bins hold x >= 0. */
static int width_for(float x)
{
    int e;

    if (x == 0)
        return LEAST_WIDTH;
    frexpf(x, &e);
    return e - LOG_BINS > LEAST_WIDTH ? e - LOG_BINS : LEAST_WIDTH;
}

struct ends { float least, most; };

/* The smallest and the largest of n values, with 0; both 0 and *broken set if
 * one is not finite.  Floats are compared as whole numbers in the same order,
 * which compilers vectorise. */
static struct ends find_ends(const float *x, int n, int *broken)
{
    struct ends e;
    int32_t least = 0, most = 0;

    for (int i = 0; i < n; i++) {
        int32_t u;
        memcpy(&u, x + i, sizeof(u));
        u ^= (u >> 31) & 0x7fffffff;
        least = u < least ? u : least;
        most = u > most ? u : most;
    }
    least ^= (least >> 31) & 0x7fffffff;
    memcpy(&e.least, &least, sizeof(least));
    memcpy(&e.most, &most, sizeof(most));
    if (!isfinite(e.least) || !isfinite(e.most)) {
        *broken = 1;
        e.least = e.most = 0;
    }
    return e;
}

/* Four sums, which do not wait for each other. */
static double sum_of(const float *x, int n)
{
    double s[4] = { 0, 0, 0, 0 };
    int i = 0;

    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            s[k] += (double)x[i + k];
    for (; i < n; i++)
        s[0] += (double)x[i];
    return s[0] + s[1] + (s[2] + s[3]);
}

static int zeros_of(const float *x, int n)
{
    int zeros = 0;

    for (int i = 0; i < n; i++)
        zeros += x[i] == 0;
    return zeros;
}

/* The product with a power of two is exact, or less than 1.  The first loop is
 * vectorised. */
static void count_bins(struct ctt_range *r, const float *x, int n)
{
    float inv = ldexpf(1, -r->width);
    int64_t *bins = r->bins[0];
    int32_t at[PART];

    for (int i = 0; i < n; i++)
        at[i] = (x[i] < 0) * BINS + (int32_t)(fabsf(x[i]) * inv);
    for (int i = 0; i < n; i++)
        bins[at[i]]++;
}

static void take_ends(struct ctt_range *r, struct ends e)
{
    r->least = e.least < r->least ? e.least : r->least;
    r->most = e.most > r->most ? e.most : r->most;
    widen(r, width_for(r->most > -r->least ? r->most : -r->least));
}

void ctt_range_add(struct ctt_range *r, const float *x, int64_t n)
{
    for (int64_t at = 0; at < n && !r->broken; at += PART) {
        int part = n - at < PART ? (int)(n - at) : PART;
        struct ends e = find_ends(x + at, part, &r->broken);
        if (r->broken)
            return;
        take_ends(r, e);
        count_bins(r, x + at, part);
        r->count += part;
        r->zeros += zeros_of(x + at, part);
        r->sum += sum_of(x + at, part);
    }
}

/* ---- ends ---- */

/* The least absolute value beyond which lie at most `may` values of a side,
 * which are taken to lie evenly in their bin. */
static double tail(const struct ctt_range *r, int side, double may)
{
    int64_t above = 0;

    for (int k = BINS - 1; k >= 0; k--) {
        int64_t c = r->bins[side][k] - (k == 0 && side == 0 ? r->zeros : 0);
        if ((double)(above + c) > may)
            return ldexp(k + 1 - (may - (double)above) / (double)c, r->width);
        above += c;
    }
    return 0;
}

/* Sums of the first k bins of absolute values: of the counts, of counts times
 * their logarithms, and of bins that are not empty. */
struct sums { double count[BINS + 1], info[BINS + 1], full[BINS + 1]; };

/* Bin 0 is left out: zeros are very many and lose nothing. */
static void open_sums(const struct ctt_range *r, struct sums *s)
{
    s->count[0] = s->info[0] = s->full[0] = 0;
    for (int k = 0; k < BINS; k++) {
        double c = k > 0 ? (double)(r->bins[0][k] + r->bins[1][k]) : 0;
        s->count[k + 1] = s->count[k] + c;
        s->info[k + 1] = s->info[k] + (c > 0 ? c * log(c) : 0);
        s->full[k + 1] = s->full[k] + (c > 0);
    }
}

/* The Kullback-Leibler divergence of Q from P.  P: the first `bins` bins, all
 * counts behind them added to the last; Q: the counts of the same bins without
 * those, merged to LEVELS and spread evenly over the bins of a level in which P
 * is not 0.  Where only Q is 0, it is taken as a 10,000th of a value. */
static double divergence(const struct sums *s, int bins)
{
    const double none = 1e-4;
    double all = s->count[BINS], inside = s->count[bins];
    double beyond = all - inside, last = inside - s->count[bins - 1] + beyond;
    int extra = beyond > 0 && last == beyond;    /* P is not 0, the bin was */
    double info = s->info[bins - 1] + (last > 0 ? last * log(last) : 0);
    double cross = 0, mass = inside;

    for (int j = 0, from = 0, to; j < LEVELS; j++, from = to) {
        double c, p, full;
        to = ((j + 1) * bins + LEVELS - 1) / LEVELS;
        c = s->count[to] - s->count[from];
        p = c + (j == LEVELS - 1 ? beyond : 0);
        full = s->full[to] - s->full[from] + (j == LEVELS - 1 ? extra : 0);
        mass += p > 0 && c == 0 ? none : 0;
        cross += p > 0 ? p * log(c > 0 ? c / full : none) : 0;
    }
    return (info - cross) / all - log(all) + log(mass);
}

static int entropy_ends(const struct ctt_range *r, double *lo, double *hi)
{
    struct sums *s = ctt_calloc(1, sizeof(*s));
    double least = INFINITY, limit;
    int best = BINS, rc = 0;

    CTT_TRY(s ? 0 : CTT_ENOMEM);
    open_sums(r, s);
    for (int bins = LEVELS; bins <= BINS; bins++) {
        double d = s->count[bins] > 0 ? divergence(s, bins) : INFINITY;
        if (d < least) {
            least = d;
            best = bins;
        }
    }
    limit = ldexp(best + 0.5, r->width);
    *lo = fmax(*lo, -limit);
    *hi = fmin(*hi, limit);
out:
    ctt_free(s);
    return rc;
}

static int percentile_ends(const struct ctt_range *r, double percentile,
                           double *lo, double *hi)
{
    double may = (100 - percentile) / 100 * (double)r->count, low, high;
    int rc = 0;

    CTT_CHECK(percentile >= 50 && percentile <= 100, CTT_EINVAL,
              "percentile %g is not 50 to 100", percentile);
    high = tail(r, 0, may);
    low = tail(r, 1, may);
    if (high == 0 && low == 0)
        goto out;    /* nearly all values are 0: nothing is clipped */
    *hi = fmin(*hi, high);
    *lo = fmax(*lo, -low);
out:
    return rc;
}

/* The rule of range.h. */
static double fit(double lo, double hi, int *zero)
{
    double z = rint(-255 * lo / (hi - lo)), s = 0;

    z = lo < 0 && z < 1 ? 1 : z;
    z = hi > 0 && z > 254 ? 254 : z;
    s = hi > 0 ? fmax(s, hi / (255 - z)) : s;
    s = lo < 0 ? fmax(s, -lo / z) : s;
    *zero = (int)z;
    return s;
}

/* ---- least squares ---- */

/* The values of one sign, taken to lie evenly in their bins.  Sums over the
 * bins from k on of 1, |x| and x^2; the error of rounding all up to bin k. */
struct side {
    double density[BINS], m0[BINS + 1], m1[BINS + 1], m2[BINS + 1];
    double inner[BINS + 1];
    double cost[256];    /* if clipped at so many steps */
};

struct squares { double width; struct side side[2]; };

static void open_side(struct side *s, const int64_t *bins, int64_t zeros,
                      double w)
{
    for (int k = BINS - 1; k >= 0; k--) {
        double c = (double)(bins[k] - (k == 0 ? zeros : 0));
        double x = (k + 0.5) * w;
        s->density[k] = c / w;
        s->m0[k] = s->m0[k + 1] + c;
        s->m1[k] = s->m1[k + 1] + c * x;
        s->m2[k] = s->m2[k + 1] + c * (x * x + w * w / 12);
    }
}

/* The integral from 0 to x of the squared error of rounding to steps. */
static double rounding(double x, double step)
{
    double u = x / step, k = floor(u + 0.5), f = u - k;

    return step * step * step * (k / 12 + f * f * f / 3);
}

static double clipped_at(const struct side *s, double w, double step, double t)
{
    int k = t / w < BINS ? (int)(t / w) : BINS;
    double a = k * w, rest = a + w - t;

    if (k == BINS)
        return s->inner[BINS];
    return s->inner[k] +
        s->density[k] * (rounding(t, step) - rounding(a, step) +
                         rest * rest * rest / 3) +
        s->m2[k + 1] - 2 * t * s->m1[k + 1] + t * t * s->m0[k + 1];
}

static void find_costs(struct side *s, double w, double step)
{
    double before = 0;

    for (int k = 0; k < BINS; k++) {
        double after = rounding((k + 1) * w, step);
        s->inner[k + 1] = s->inner[k] + s->density[k] * (after - before);
        before = after;
    }
    for (int t = 0; t < 256; t++)
        s->cost[t] = clipped_at(s, w, step, t * step);
}

struct choice { double error, step; int zero; };

/* Tries a step with all zero bytes that suit the signs. */
static void try_step(struct squares *q, double step, struct choice *best)
{
    int from = q->side[0].m0[0] > 0 ? 0 : 255;
    int to = q->side[1].m0[0] > 0 ? 255 : 0;

    find_costs(&q->side[0], q->width, step);
    find_costs(&q->side[1], q->width, step);
    for (int z = from < to ? from : to; z <= (from < to ? to : from); z++) {
        double error = q->side[0].cost[255 - z] + q->side[1].cost[z];
        if (error < best->error)
            *best = (struct choice){ error, step, z };
    }
}

/* Tries the step without clipping, and smaller ones. */
static int least_squares(const struct ctt_range *r, double *step, int *zero)
{
    struct squares *q = ctt_calloc(1, sizeof(*q));
    struct choice best = { INFINITY, *step, *zero };
    double around;
    int rc = 0;

    CTT_TRY(q ? 0 : CTT_ENOMEM);
    q->width = ldexp(1, r->width);
    open_side(&q->side[0], r->bins[0], r->zeros, q->width);
    open_side(&q->side[1], r->bins[1], 0, q->width);
    for (int i = 0; i < COARSE; i++)
        try_step(q, *step * exp2(-i / 8.0), &best);
    around = best.step;
    for (int i = -FINE; i <= FINE; i++)
        if (i != 0 && around * exp2(i / 64.0) <= *step)
            try_step(q, around * exp2(i / 64.0), &best);
    *step = best.step;
    *zero = best.zero;
out:
    ctt_free(q);
    return rc;
}

/* ---- the choice ---- */

int ctt_range_choose(const struct ctt_range *r, enum ctt_range_method method,
                     double percentile, float *scale, int *zero)
{
    double lo = (double)r->least, hi = (double)r->most, step = 1;
    int z = 0, rc = 0;

    CTT_CHECK(!r->broken, CTT_ENAN, "a value is not finite");
    CTT_CHECK(r->count > 0, CTT_EINVAL, "there are no values");
    if (method == CTT_RANGE_PERCENTILE)
        CTT_TRY(percentile_ends(r, percentile, &lo, &hi));
    else if (method == CTT_RANGE_ENTROPY)
        CTT_TRY(entropy_ends(r, &lo, &hi));
    if (hi > lo)
        step = fmax(fit(lo, hi, &z), 0x1p-66);
    CTT_CHECK(step <= 0x1p66, CTT_EINVAL,
              "values from %g to %g are too large to be bytes", lo, hi);
    if (method == CTT_RANGE_MSE && hi > lo && step > 0x1p-66)
        CTT_TRY(least_squares(r, &step, &z));
    *scale = (float)fmax(step, 0x1p-66);
    *zero = z;
out:
    return rc;
}
