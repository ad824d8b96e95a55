/* SPDX-License-Identifier: Apache-2.0
 * statistics.c: tests, intervals and scores of answers. */
#include "base/statistics/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Terms that are this much smaller than the sum do not matter. */
static const double tiny = 1e-18;

static double term(int64_t k, int64_t n, double p)
{
    double a = (double)k, b = (double)(n - k);

    return exp(lgamma(a + b + 1) - lgamma(a + 1) - lgamma(b + 1) +
               a * log(p) + b * log1p(-p));
}

/* Terms only fall away from the largest one, or from k if that is below it. */
double ctt_binomial_tail(int64_t k, int64_t n, double p)
{
    double odds = p / (1 - p), sum, t;
    int64_t top = (int64_t)((double)(n + 1) * p);
    double first;

    if (k < 0)
        return 0;
    if (k >= n)
        return 1;
    top = top < k ? top : k;
    first = sum = term(top, n, p);
    t = first;
    for (int64_t i = top; i > 0 && t > tiny * sum; i--) {
        t *= (double)i / ((double)(n - i + 1) * odds);
        sum += t;
    }
    t = first;
    for (int64_t i = top + 1; i <= k && t > tiny * sum; i++) {
        t *= (double)(n - i + 1) * odds / (double)i;
        sum += t;
    }
    return sum < 1 ? sum : 1;
}

int64_t ctt_binomial_least(double p, double delta)
{
    int64_t n = (int64_t)floor(log(delta) / log1p(-p));

    n = n > 1 ? n - 1 : 1;
    while (ctt_binomial_tail(0, n, p) > delta)
        n++;
    return n;
}

double ctt_binomial_bound(int64_t n, double delta)
{
    return -expm1(log(delta) / (double)n);
}

/* ---- two models on the same clips ---- */

double ctt_mcnemar(int64_t lost, int64_t won)
{
    return fmin(1, 2 * ctt_binomial_tail(lost < won ? lost : won, lost + won,
                                         0.5));
}

/* p is 2 / 2^6 then, and 2 / 2^5 is above 5%. */
enum { LEAST_LOST = 6 };

double ctt_mcnemar_least(int64_t clips)
{
    return clips > LEAST_LOST ? (double)LEAST_LOST / (double)clips : 1;
}

/* ---- confidence ---- */

static const double z = CTT_WILSON_Z;

void ctt_wilson(double share, int64_t of, double interval[2])
{
    double n = (double)of, d = 1 + z * z / n;
    double middle = (share + z * z / (2 * n)) / d;
    double half = z / d * sqrt(share * (1 - share) / n + z * z / (4 * n * n));

    interval[0] = of > 0 ? fmax(0, middle - half) : 0;
    interval[1] = of > 0 ? fmin(1, middle + half) : 1;
}

const char *ctt_wilson_text(double share, int64_t of, char *text, size_t size)
{
    double x[2];

    ctt_wilson(share, of, x);
    snprintf(text, size, "%.1f-%.1f", 100 * x[0], 100 * x[1]);
    return text;
}

/* ---- precision ---- */

static float rank_of(const struct ctt_scored *s)
{
    return isnan(s->score) ? -INFINITY : s->score;
}

static int high_first(const void *a, const void *b)
{
    float x = rank_of(a), y = rank_of(b);

    return (x < y) - (x > y);
}

double ctt_average_precision(struct ctt_scored *s, int n)
{
    int64_t right = 0, all = 0;
    double sum = 0;

    qsort(s, (size_t)n, sizeof(*s), high_first);
    for (int i = 0, end; i < n; i = end) {
        int64_t some = 0;

        for (end = i; end < n && high_first(&s[i], &s[end]) == 0; end++)
            some += s[end].there;
        right += some;
        sum += (double)some * (double)right / end;
    }
    for (int i = 0; i < n; i++)
        all += s[i].there;
    return all ? sum / (double)all : NAN;
}

float ctt_best_threshold(struct ctt_scored *s, int n, double *f1)
{
    int64_t right = 0, all = 0;
    float best = NAN;

    *f1 = 0;
    qsort(s, (size_t)n, sizeof(*s), high_first);
    for (int i = 0; i < n; i++)
        all += s[i].there;
    for (int i = 0; i < n && all; i++) {
        double now;

        right += s[i].there;
        if (i + 1 < n && high_first(&s[i], &s[i + 1]) == 0)
            continue;
        now = 2 * (double)right / (double)(i + 1 + all);
        if (now <= *f1)
            continue;
        *f1 = now;
        best = rank_of(&s[i]) / 2 + (i + 1 < n ? rank_of(&s[i + 1]) / 2 : 0);
    }
    return best;
}
