/* SPDX-License-Identifier: Apache-2.0
 * share.c: the gradient of a value that weights share: the sum of theirs (Han
 * et al. 2016), which each of them gets, so that their moments and the weights
 * themselves stay equal. */
#include "device/cpu/update.h"
#include "device/dev.h"

#include <string.h>

enum { CODES = CTT_MOST_CODES + 1,
       BLOCK = 1 << 15 };    /* weights of a partial sum */

/* Adds gradients by code; code 0 marks weights without a shared value, and its
 * sum is unused. */
static void sum_shared(const uint8_t *share, const float *dw, int64_t n,
                       double sum[CODES])
{
    memset(sum, 0, CODES * sizeof(*sum));
    for (int64_t i = 0; i < n; i++)
        sum[share[i]] += (double)dw[i];
}

static void set_shared(const uint8_t *share, const double sum[CODES], int64_t n,
                       float *dw)
{
    for (int64_t i = 0; i < n; i++)
        if (share[i])
            dw[i] = (float)sum[share[i]];
}

static int64_t block_len(const struct ctt_stretch *s, int64_t block)
{
    int64_t left = s->count - block * BLOCK;

    return left < BLOCK ? left : BLOCK;
}

/* Fixed blocks are added in order, so that the result does not depend on the
 * number of threads. */
static int share_range(struct ctt_dev *d, const struct ctt_flat *f,
                      const struct ctt_stretch *s, double *square_sum)
{
    int64_t blocks = (s->count + BLOCK - 1) / BLOCK;
    double *sum = ctt_dev_scratch(d, (size_t)(blocks * CODES) * sizeof(*sum));
    const uint8_t *share = f->constraint.share + s->at;
    float *dw = f->dw + s->at;

    if (!sum)
        return CTT_ENOMEM;
    #pragma omp parallel for num_threads(ctt_dev_omp(d, 2 * (double)s->count))
    for (int64_t b = 0; b < blocks; b++)
        sum_shared(share + b * BLOCK, dw + b * BLOCK, block_len(s, b),
                   sum + b * CODES);
    for (int64_t b = 1; b < blocks; b++)
        for (int k = 1; k < CODES; k++)
            sum[k] += sum[b * CODES + k];
    for (int k = 1; k < CODES; k++)
        *square_sum += sum[k] * sum[k];
    #pragma omp parallel for num_threads(ctt_dev_omp(d, 2 * (double)s->count))
    for (int64_t b = 0; b < blocks; b++)
        set_shared(share + b * BLOCK, sum, block_len(s, b), dw + b * BLOCK);
    return 0;
}

int ctt_host_share(struct ctt_dev *d, const struct ctt_flat *f,
                   double *square_sum)
{
    int rc = 0;

    for (int i = 0; i < f->spans; i++)
        CTT_TRY(share_range(d, f, &f->shared[i], square_sum));
out:
    return rc;
}
