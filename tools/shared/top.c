/* SPDX-License-Identifier: Apache-2.0
 * top.c: the largest of many numbers, in order: a heap of the best so far, with
 * the worst of them at its root (Williams 1964). */
#include "tools/shared/measure.h"

#include <math.h>

/* Returns 1 if number a ranks before number b. */
static int before(const float *x, int a, int b)
{
    if (isnan(x[a]) || isnan(x[b]))
        return isnan(x[a]) == isnan(x[b]) ? a < b : !isnan(x[a]);
    return x[a] > x[b] || (x[a] == x[b] && a < b);
}

static void swap_entries(int *order, int i, int j)
{
    int t = order[i];

    order[i] = order[j];
    order[j] = t;
}

/* Moves the root down until no child ranks after its parent. */
static void sift(const float *x, int *order, int n)
{
    for (int i = 0, child = 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && before(x, order[child], order[child + 1]))
            child++;
        if (!before(x, order[i], order[child]))
            return;
        swap_entries(order, i, child);
        i = child;
    }
}

static void push_heap(const float *x, int *order, int n, int new)
{
    order[n] = new;
    for (int i = n; i && before(x, order[(i - 1) / 2], order[i]);
         i = (i - 1) / 2)
        swap_entries(order, i, (i - 1) / 2);
}

void ctt_top(const float *x, int n, int *order, int k)
{
    for (int i = 0; i < n && k > 0; i++) {
        if (i < k) {
            push_heap(x, order, i, i);
        } else if (before(x, i, order[0])) {
            order[0] = i;
            sift(x, order, k);
        }
    }
    for (int m = k - 1; m > 0; m--) {
        swap_entries(order, 0, m);
        sift(x, order, m);
    }
}
