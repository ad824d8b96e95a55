/* SPDX-License-Identifier: Apache-2.0
 * pack.c: places values in one block, those that are needed longest first, and
 * each at the lowest offset that is free at its times. */
#include "run/back/pack.h"

#include <stdlib.h>

/* As in memory planners of compilers (Pisarchyk and Lee 2020, "greedy by
 * size"), but long lives first: they would cut the block into pieces. */
static int by_length(const void *a, const void *b)
{
    const struct ctt_packed *x = *(struct ctt_packed *const *)a;
    const struct ctt_packed *y = *(struct ctt_packed *const *)b;
    int lx = x->to - x->from, ly = y->to - y->from;

    if (lx != ly)
        return lx < ly ? 1 : -1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

static int lives_meet(const struct ctt_packed *a, const struct ctt_packed *b)
{
    return a->from <= b->to && b->from <= a->to;
}

/* placed: `count` items in the order of their offsets. */
static void place_item(struct ctt_packed **placed, int count,
                       struct ctt_packed *x)
{
    int64_t at = 0;
    int i;

    for (i = 0; i < count; i++) {
        const struct ctt_packed *p = placed[i];

        if (!lives_meet(p, x))
            continue;
        if (p->at >= at + x->bytes)
            break;
        if (p->at + p->bytes > at)
            at = p->at + p->bytes;
    }
    x->at = at;
    for (i = count; i > 0 && placed[i - 1]->at > at; i--)
        placed[i] = placed[i - 1];
    placed[i] = x;
}

int64_t ctt_pack(struct ctt_packed *item, int count)
{
    struct ctt_packed **order, **placed;
    int64_t most = 0;

    order = ctt_calloc((size_t)count + 1, sizeof(*order));
    placed = ctt_calloc((size_t)count + 1, sizeof(*placed));
    if (!order || !placed)
        most = CTT_ENOMEM;
    for (int i = 0; i < count && most >= 0; i++)
        order[i] = &item[i];
    if (most >= 0)
        qsort(order, (size_t)count, sizeof(*order), by_length);
    for (int i = 0; i < count && most >= 0; i++) {
        place_item(placed, i, order[i]);
        if (order[i]->at + order[i]->bytes > most)
            most = order[i]->at + order[i]->bytes;
    }
    ctt_free(order);
    ctt_free(placed);
    return most;
}
