/* SPDX-License-Identifier: Apache-2.0
 * times.c: measured times, how they spread, and the memory of this process. */
#include "tools/shared/measure.h"
#include "base/clock.h"
#include "base/ctt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int ctt_times_add(struct ctt_times *t, double ms)
{
    double *more = ctt_grown(t->ms, &t->room, t->count, sizeof(*more));

    if (!more)
        return CTT_ENOMEM;
    t->ms = more;
    t->ms[t->count++] = ms;
    return 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of sorted times. */
static double quantile(const struct ctt_times *t, double share)
{
    return t->ms[(int)ceil(share * t->count) - 1];
}

struct ctt_spread ctt_times_spread(struct ctt_times *t)
{
    double sum = 0;

    if (!t->count)
        return (struct ctt_spread){ .count = 0 };
    qsort(t->ms, (size_t)t->count, sizeof(*t->ms), by_size);
    for (int i = 0; i < t->count; i++)
        sum += t->ms[i];
    return (struct ctt_spread){ t->count, sum / t->count, quantile(t, 0.25),
        quantile(t, 0.5), quantile(t, 0.75), quantile(t, 0.9),
        quantile(t, 0.99), t->ms[t->count - 1] };
}

int ctt_pace_goes_on(const struct ctt_pace *p, int done, double start)
{
    return done < p->least ||
           (done < p->most && ctt_seconds() - start < p->seconds);
}

static double most_mb(void)
{
    struct rusage r;

    return getrusage(RUSAGE_SELF, &r) == 0 ? (double)r.ru_maxrss / 1024 : 0;
}

/* Linux: the second number is the count of resident pages. */
double ctt_resident_mb(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long long pages = 0;
    int got = f ? fscanf(f, "%*d %lld", &pages) : 0;

    if (f)
        fclose(f);
    return got == 1 ? (double)pages * (double)sysconf(_SC_PAGESIZE) / 1048576
                    : most_mb();
}

/* The system updates the peak a little later than the resident memory. */
double ctt_peak_mb(void)
{
    return fmax(most_mb(), ctt_resident_mb());
}
