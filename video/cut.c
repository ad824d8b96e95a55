/* SPDX-License-Identifier: Apache-2.0
 * cut.c: how much a frame looks like the first one of another scene. */
#include "video/cut.h"

#include <math.h>
#include <string.h>

/* Where cell i of n begins on a side of `size` pixels. */
static int edge(int i, int n, int size)
{
    return (int)((int64_t)i * size / n);
}

static float cell_mean(const uint8_t *data, int row, int c, int y0, int y1,
                       int x0, int x1)
{
    uint64_t sum = 0;

    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++)
            sum += data[(int64_t)y * row + (int64_t)x * c];
    return (float)sum / (float)((int64_t)(y1 - y0) * (x1 - x0));
}

/* How many means there are. */
static int means(const uint8_t *data, int h, int w, int c, float *out)
{
    int rows = h < CTT_CUT_SIDE ? h : CTT_CUT_SIDE, n = 0;
    int columns = w < CTT_CUT_SIDE ? w : CTT_CUT_SIDE;

    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            for (int k = 0; k < c; k++)
                out[n++] = cell_mean(data + k, w * c, c, edge(i, rows, h),
                                     edge(i + 1, rows, h), edge(j, columns, w),
                                     edge(j + 1, columns, w));
    return n;
}

double ctt_cut_next(struct ctt_cut *s, const uint8_t *data, int h, int w,
                    int c)
{
    float now[CTT_CUT_MAX];
    int n = means(data, h, w, c, now);
    double sum = 0, change = 0, rise;

    if (s->begun && n == s->cells && c == s->channels) {
        for (int i = 0; i < n; i++)
            sum += fabs((double)now[i] - (double)s->mean[i]);
        change = sum / (255.0 * n);
    }
    rise = fabs(change - s->change);
    *s = (struct ctt_cut){ .begun = 1, .cells = n, .channels = c,
                           .change = change };
    memcpy(s->mean, now, (size_t)n * sizeof(now[0]));
    return change < rise ? change : rise;
}
