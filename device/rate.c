/* SPDX-License-Identifier: Apache-2.0
 * rate.c: how fast a device multiplies matrices and copies: the ceiling of
 * benchmarks and profiles. */
#include "device/dev.h"
#include "base/clock.h"

#include <omp.h>

enum { SIDE = 1024, COPIES = 12 };

/* Seconds of the shortest measurement of copies. */
static const double copying = 0.05;

/* Two matrices and room for their product. */
static int matrices(struct ctt_dev *d, float **out)
{
    const int64_t bytes = 2 * SIDE * SIDE * (int64_t)sizeof(float);
    float *m = ctt_calloc((size_t)bytes, 1);
    void *p = NULL;
    int rc = m ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < 2 * SIDE * SIDE; i++)
        m[i] = (float)(i % 7) - 3;
    CTT_TRY(ctt_dev_alloc(d, "matrices", bytes / 2 * 3, &p));
    *out = p;
    CTT_TRY(ctt_dev_copy(d, CTT_TO_DEVICE, m, p, bytes));
out:
    ctt_free(m);
    return rc;
}

double ctt_dev_sgemm_rate(struct ctt_dev *d)
{
    const double work = 2e-9 * SIDE * SIDE * SIDE;
    float *m = NULL;
    double best = 0;
    void *p;
    int rc = matrices(d, &m);

    omp_set_num_threads(d->threads);
    for (int i = 0; rc >= 0 && i < 8; i++) {
        double t;

        rc = ctt_dev_sync(d);
        t = ctt_seconds();
        if (rc < 0 || d->kind->sgemm(d, SIDE, m, m + SIDE * SIDE,
                                     m + 2 * SIDE * SIDE) < 0 ||
            ctt_dev_sync(d) < 0)
            break;
        t = ctt_seconds() - t;
        best = work / t > best ? work / t : best;
    }
    p = m;
    ctt_dev_free(d, &p);
    return best;
}

/* Bytes of the first half of a block, copied to the second. */
struct halves { char *block; int64_t half; };

static void copy_bytes(const void *arg, int64_t from, int64_t to)
{
    const struct halves *c = arg;

    memcpy(c->block + c->half + from, c->block + from, (size_t)(to - from));
}

static int copy_half(struct ctt_dev *d, const struct halves *c)
{
    if (!ctt_dev_shared(d))
        return ctt_dev_copy(d, CTT_WITHIN, c->block, c->block + c->half,
                            c->half);
    ctt_dev_share(d, ctt_dev_used(d), c->half, copy_bytes, c);
    return 0;
}

double ctt_dev_copy_rate(struct ctt_dev *d, int64_t bytes)
{
    struct halves c = { .half = bytes / 2 };
    void *block = NULL;
    double best = 0, begin = ctt_seconds();
    int rc = ctt_dev_alloc(d, "copies", bytes, &block);

    c.block = block;
    for (int i = 0; rc >= 0 && (i < COPIES || ctt_seconds() < begin + copying);
         i++) {
        double t;

        rc = ctt_dev_sync(d);
        t = ctt_seconds();
        if (rc < 0 || copy_half(d, &c) < 0 || ctt_dev_sync(d) < 0)
            break;
        t = 2e-9 * (double)c.half / (ctt_seconds() - t);
        best = t > best ? t : best;
    }
    ctt_dev_free(d, &block);
    return best;
}
