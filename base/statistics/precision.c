/* SPDX-License-Identifier: Apache-2.0
 * precision.c: the average precision of a class. */
#include "base/statistics/precision.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

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
