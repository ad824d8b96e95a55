/* SPDX-License-Identifier: Apache-2.0
 * entropy.c: how much information a weight holds, one symbol at a time. */
#include "compress/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int ascending_bits(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Bits of n symbols, which are sorted, at their entropy; *kinds: different
 * ones. */
static double bits_of(uint32_t *symbol, int64_t n, int64_t *kinds)
{
    double bits = 0;

    qsort(symbol, (size_t)n, sizeof(*symbol), ascending_bits);
    *kinds = 0;
    for (int64_t i = 0, end; i < n; i = end, ++*kinds) {
        for (end = i; end < n && symbol[end] == symbol[i]; )
            end++;
        bits += (double)(end - i) * log2((double)n / (double)(end - i));
    }
    return bits;
}

int ctt_entropy(const struct ctt_weight *w, struct ctt_entropy *out)
{
    const float *x = w->t.data;
    int64_t all = ctt_volume(&w->t), n = 0, gap = 0, kinds;
    uint32_t *value = ctt_calloc((size_t)all, sizeof(*value));
    uint32_t *gaps = ctt_calloc((size_t)all, sizeof(*gaps));
    int rc = 0;

    CTT_TRY(value && gaps ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < all; i++, gap++) {
        if (w->keep && !w->keep[i])
            continue;
        memcpy(&value[n], &x[i], sizeof(*value));
        gaps[n++] = (uint32_t)gap;
        gap = -1;
    }
    out->value_bits = bits_of(value, n, &out->values);
    out->gap_bits = bits_of(gaps, n, &kinds);
out:
    ctt_free(value);
    ctt_free(gaps);
    return rc;
}
