/* SPDX-License-Identifier: Apache-2.0
 * kmeans.c: k-means of numbers with a price for bits.  The numbers that take a
 * value are an interval, because their costs are parabolas of one shape; with
 * the numbers sorted and their sums at hand, a step takes no more than a search
 * per value. */
#include "compress/stage/kmeans.h"
#include "base/random.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 100, MOST = CTT_MOST_CODES };

struct work {
    const struct ctt_kmeans *o;
    float  *x;                /* sorted */
    double *sum, *square;     /* of the first i numbers */
    int64_t n;
    double  variance;
    int     count;            /* values so far, ascending */
    double  value[MOST], bits[MOST];
    int64_t first[MOST + 1];  /* value k is of x[first[k]] .. */
    double  from[MOST];
};

/* ---- the numbers ---- */

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static int open_work(struct work *t, const float *x, int64_t n)
{
    double mean;
    int rc = 0;

    t->n = n;
    t->x = ctt_calloc((size_t)n, sizeof(*t->x));
    t->sum = ctt_calloc((size_t)n + 1, sizeof(*t->sum));
    t->square = ctt_calloc((size_t)n + 1, sizeof(*t->square));
    CTT_TRY(t->x && t->sum && t->square ? 0 : CTT_ENOMEM);
    memcpy(t->x, x, (size_t)n * sizeof(*x));
    qsort(t->x, (size_t)n, sizeof(*x), ascending);
    for (int64_t i = 0; i < n; i++) {
        t->sum[i + 1] = t->sum[i] + (double)t->x[i];
        t->square[i + 1] = t->square[i] + (double)t->x[i] * (double)t->x[i];
    }
    mean = t->sum[n] / (double)n;
    t->variance = t->square[n] / (double)n - mean * mean;
    t->variance = t->variance > DBL_MIN ? t->variance : DBL_MIN;
out:
    return rc;
}

static void close_work(struct work *t)
{
    ctt_free(t->x);
    ctt_free(t->sum);
    ctt_free(t->square);
}

/* Count of numbers less than `limit`. */
static int64_t count_below(const struct work *t, double limit)
{
    int64_t from = 0, to = t->n;

    while (from < to) {
        int64_t mid = from + (to - from) / 2;
        if ((double)t->x[mid] < limit)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* ---- initial values ---- */

static void start_linear(struct work *t)
{
    double low = (double)t->x[0], high = (double)t->x[t->n - 1];
    int k = t->o->codes;

    for (int i = 0; i < k; i++)
        t->value[i] = k > 1 ? low + (high - low) * i / (k - 1)
                            : t->sum[t->n] / (double)t->n;
}

static void start_density(struct work *t)
{
    for (int i = 0; i < t->o->codes; i++)
        t->value[i] = (double)t->x[(2 * i + 1) * t->n / (2 * t->o->codes)];
}

static double distance(const struct work *t, int count, double x)
{
    double least = INFINITY;

    for (int i = 0; i < count; i++)
        least = fmin(least, (x - t->value[i]) * (x - t->value[i]));
    return least;
}

/* Draws each next value with a probability proportional to its squared distance
 * from those before. */
static void start_plusplus(struct work *t)
{
    t->value[0] = (double)t->x[t->n / 2];
    for (int k = 1; k < t->o->codes; k++) {
        double all = 0, at;
        int64_t i = 0;

        for (int64_t j = 0; j < t->n; j++)
            all += distance(t, k, (double)t->x[j]);
        at = all * (double)ctt_random(1, (uint64_t)k) * 0x1p-32;
        for (; i < t->n - 1 && at >= 0; i++)
            at -= distance(t, k, (double)t->x[i]);
        t->value[k] = (double)t->x[i];
    }
}

static void (*const start[])(struct work *t) = {
    [CTT_INIT_LINEAR] = start_linear, [CTT_INIT_DENSITY] = start_density,
    [CTT_INIT_PLUSPLUS] = start_plusplus,
};

static int ascending_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Distinct values in order, of equal probability. */
static void begin_clusters(struct work *t)
{
    int k = t->o->codes, count = 0;

    start[t->o->init](t);
    qsort(t->value, (size_t)k, sizeof(*t->value), ascending_double);
    for (int i = 0; i < k; i++)
        if (count == 0 || t->value[i] > t->value[count - 1])
            t->value[count++] = t->value[i];
    t->count = count;
    for (int i = 0; i < count; i++)
        t->bits[i] = log2(count);
}

/* ---- a step ---- */

/* The number from which value j is better than value i < j. */
static double border(const struct work *t, int i, int j)
{
    double price = (double)t->o->lambda * t->variance;
    double bi = t->value[i] * t->value[i] + price * t->bits[i];
    double bj = t->value[j] * t->value[j] + price * t->bits[j];

    return (bj - bi) / (2 * (t->value[j] - t->value[i]));
}

static void move_cluster(struct work *t, int from, int to)
{
    t->value[to] = t->value[from];
    t->bits[to] = t->bits[from];
}

/* Drops values that are nowhere the best, which leaves the lower envelope of
 * the costs; finds where each interval begins. */
static void find_intervals(struct work *t)
{
    int top = 0;

    for (int j = 0; j < t->count; j++) {
        double at = -INFINITY;
        move_cluster(t, j, top);
        while (top > 0 && (at = border(t, top - 1, top)) <= t->from[top - 1]) {
            move_cluster(t, top, top - 1);
            top--;
        }
        t->from[top] = top > 0 ? at : -INFINITY;
        top++;
    }
    t->count = top;
    for (int k = 0; k < t->count; k++)
        t->first[k] = count_below(t, t->from[k]);
    t->first[t->count] = t->n;
}

/* Moves each value to the mean of its numbers and drops those without any.
 * Returns whether any has moved. */
static int centre(struct work *t)
{
    int kept = 0, moved = 0;

    for (int k = 0; k < t->count; k++) {
        int64_t a = t->first[k], b = t->first[k + 1];
        double mean = b > a ? (t->sum[b] - t->sum[a]) / (double)(b - a) : 0;

        if (a == b)
            continue;
        moved |= mean != t->value[k] || kept != k;
        t->value[kept] = mean;
        t->bits[kept] = -log2((double)(b - a) / (double)t->n);
        kept++;
    }
    moved |= kept != t->count;
    t->count = kept;
    return moved;
}

/* ---- the result ---- */

/* As a float that is not 0, which would look pruned. */
static float float_of(double x)
{
    float y = (float)x;

    return y != 0 ? y : FLT_MIN;
}

static void measure_clusters(const struct work *t, struct ctt_clusters *out)
{
    double lost = 0;

    *out = (struct ctt_clusters){ .count = t->count };
    for (int k = 0; k < t->count; k++) {
        int64_t a = t->first[k], b = t->first[k + 1];
        double v, share = (double)(b - a) / (double)t->n;

        out->value[k] = float_of(t->value[k]);
        v = (double)out->value[k];
        out->members[k] = b - a;
        out->from[k] = t->from[k];
        out->entropy -= b > a ? share * log2(share) : 0;
        lost += t->square[b] - t->square[a] -
                2 * v * (t->sum[b] - t->sum[a]) + (double)(b - a) * v * v;
    }
    out->error = t->square[t->n] > 0 && lost > 0
        ? sqrt(lost / t->square[t->n]) : 0;
}

int ctt_kmeans(const float *x, int64_t n, const struct ctt_kmeans *o,
               struct ctt_clusters *out)
{
    struct work t = { .o = o };
    int rc = 0;

    CTT_CHECK(o->codes >= 1 && o->codes <= MOST && n > 0, CTT_EINVAL,
              "%lld numbers cannot share %d values", (long long)n, o->codes);
    CTT_TRY(open_work(&t, x, n));
    begin_clusters(&t);
    find_intervals(&t);
    for (int i = 0; i < ROUNDS && centre(&t); i++)
        find_intervals(&t);
    measure_clusters(&t, out);
out:
    close_work(&t);
    return rc;
}

int ctt_kmeans_find(const struct ctt_clusters *c, float x)
{
    int k = 0;

    while (k + 1 < c->count && (double)x >= c->from[k + 1])
        k++;
    return k;
}
