/* SPDX-License-Identifier: Apache-2.0
 * update.c: the optimizer over a flat block in host memory: loops over the
 * trained numbers, with the formulas of device/update.h. */
#include "device/cpu/update.h"
#include "device/dev.h"

enum { PIECE = 16,         /* numbers per byte of `how` */
       BLOCK = 4096 };     /* of the norm's partial sums */

/* Constrains a piece of the gradient, dw, at number p of the block. */
static inline void constrain(const struct ctt_constraint *c, int64_t p,
                             float *dw)
{
    const uint8_t *keep = ctt_kept(c, p);

    for (int i = 0; keep && i < PIECE; i++)
        dw[i] = keep[i] ? dw[i] : 0;
}

/* Sum of squares of a piece, without shared values. */
static inline double squares(const struct ctt_constraint *c, int64_t p,
                             const float *dw)
{
    double s = 0;

    for (int i = 0; i < PIECE; i++)
        s += ctt_code(c, p + i) ? 0 : (double)dw[i] * dw[i];
    return s;
}

/* Sum of fixed blocks, in order and in double, so that it does not depend on
 * the number of threads. */
static double constrained_sum(const struct ctt_flat *f, int64_t from,
                              int64_t to)
{
    double s = 0;

    for (int64_t p = from; p < to; p += PIECE) {
        float *dw = f->dw + p;

        if (f->how[p / PIECE] == CTT_FIXED)
            continue;
        constrain(&f->constraint, p, dw);
        s += squares(&f->constraint, p, dw);
    }
    return s;
}

int ctt_host_constrain(struct ctt_dev *d, const struct ctt_flat *f,
                       double *square_sum)
{
    int64_t blocks = (f->n + BLOCK - 1) / BLOCK;
    double all = 0, *part;
    int rc = 0;

    CTT_TRY(ctt_host_share(d, f, &all));
    part = ctt_dev_scratch(d, (size_t)(blocks + 1) * sizeof(*part));
    CTT_TRY(part ? 0 : CTT_ENOMEM);
    #pragma omp parallel for num_threads(ctt_dev_omp(d, (double)f->n))
    for (int64_t b = 0; b < blocks; b++) {
        int64_t end = (b + 1) * BLOCK;
        part[b] = constrained_sum(f, b * BLOCK, end < f->n ? end : f->n);
    }
    for (int64_t b = 0; b < blocks; b++)
        all += part[b];
    *square_sum = all;
out:
    return rc;
}

static void update_sgd(const struct ctt_flat *f, const struct ctt_rule *rule,
                       int64_t at)
{
    float *w = f->w + at, *m = f->m + at;
    const float *dw = f->dw + at;
    struct ctt_sgd s = rule->sgd;

    if (f->how[at / PIECE] != CTT_DECAYS)
        s.decay = 0;
    for (int i = 0; i < PIECE; i++)
        w[i] = ctt_sgd_step(s, w[i], rule->scale * dw[i], &m[i]);
}

static void update_adam(const struct ctt_flat *f, const struct ctt_rule *rule,
                        int64_t at)
{
    float *w = f->w + at, *m = f->m + at, *v = f->v + at;
    const float *dw = f->dw + at;
    struct ctt_adam s = rule->adam;

    if (f->how[at / PIECE] != CTT_DECAYS)
        s.l2 = s.decay = 0;
    for (int i = 0; i < PIECE; i++)
        w[i] = ctt_adam_step(s, w[i], rule->scale * dw[i], &m[i], &v[i]);
}

int ctt_host_update(struct ctt_dev *d, const struct ctt_flat *f,
                    const struct ctt_rule *rule)
{
    #pragma omp parallel for num_threads(ctt_dev_omp(d, 2 * (double)f->n))
    for (int64_t p = 0; p < f->n; p += PIECE) {
        if (f->how[p / PIECE] == CTT_FIXED)
            continue;
        (rule->is_adam ? update_adam : update_sgd)(f, rule, p);
    }
    return 0;
}

int ctt_host_average(struct ctt_dev *d, const float *w, float share,
                     float *average, int64_t n)
{
    #pragma omp parallel for num_threads(ctt_dev_omp(d, (double)n))
    for (int64_t p = 0; p < n; p += PIECE)
        for (int64_t i = p; i < p + PIECE; i++)
            average[i] = ctt_average_step(share, average[i], w[i]);
    return 0;
}
