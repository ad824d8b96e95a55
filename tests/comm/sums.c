/* SPDX-License-Identifier: Apache-2.0
 * sums.c: what each rank of test_comm.sh does: its part of some shards is added
 * with those of the others, and the sum has the bits of one process.
 * Usage: sums KIND SHARDS [LARGEST]: counts above that are left out. */
#include "libtrain/ranks/exchange.h"
#include "base/half.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 70001 };
static int shards;

static const int64_t counts[] = { 0, 1, 7, 16, 4099, MOST };

/* Of three sizes, so that another order gives other bits. */
static float number(int k, int64_t i)
{
    uint32_t x = (uint32_t)(i * 2654435761u) ^ (uint32_t)k * 2246822519u;

    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (float)ldexp((double)x - 2e9, -31 + 7 * (k % 3));
}

static const enum ctt_dtype types[] = {
    [CTT_JOIN_SUM] = CTT_F32, [CTT_JOIN_BF16] = CTT_BF16,
    [CTT_JOIN_F16] = CTT_F16, [CTT_JOIN_MEAN] = CTT_F32,
};

/* A number as the exchange holds it. */
static float held(enum ctt_join join, float x)
{
    float room = 0;

    ctt_store(&room, types[join], 0, x);
    return ctt_load(&room, types[join], 0);
}

/* A mean is the right half and one half of what the left one differs by. */
static float together(enum ctt_join join, int first, int n, int64_t i)
{
    float left, right;

    if (n == 1)
        return held(join, number(first, i));
    left = together(join, first, n / 2, i);
    right = together(join, first + n / 2, n / 2, i);
    if (join == CTT_JOIN_MEAN)
        return right + 0.5f * (left - right);
    return held(join, left + right);
}

static float in_a_row(int64_t i)
{
    float sum = 0;

    for (int k = 0; k < shards; k++)
        sum += number(k, i);
    return sum;
}

static int try_count(struct ctt_comm *c, enum ctt_join join, int64_t n,
                     float *one)
{
    int each = shards / ctt_comm_place(c)->ranks, wrong = 0, other = 0, rc;
    struct ctt_exchange x = { 0 };
    void *p;

    CTT_TRY(ctt_exchange_open(c, join, n, &x));
    p = x.ranks > 1 ? x.whole : one;
    for (int64_t i = 0; i < n; i++)
        ctt_store(p, types[join], i, together(join, each *
                  ctt_comm_place(c)->rank, each, i));
    CTT_TRY(ctt_exchange_run(&x));
    for (int64_t i = 0; i < n; i++) {
        float y = ctt_load(p, types[join], i);

        wrong += y != together(join, 0, shards, i);
        other += join != CTT_JOIN_MEAN && y != in_a_row(i);
    }
    CTT_CHECK(!wrong, CTT_EINVAL, "%d of %lld sums are wrong", wrong,
              (long long)n);
    CTT_CHECK(n < MOST || other || join == CTT_JOIN_MEAN, CTT_EINVAL,
              "the order does not matter");
out:
    ctt_exchange_close(&x);
    return rc;
}

int main(int argc, char **argv)
{
    static float p[MOST];
    struct ctt_comm *c = NULL;
    int largest, rc = 0;

    if (argc < 3)
        return 2;
    shards = atoi(argv[2]);
    largest = argc > 3 ? atoi(argv[3]) : MOST;
    CTT_TRY(ctt_comm_open(argv[1], &c));
    for (size_t i = 0; i < CTT_LEN(counts) && counts[i] <= largest; i++)
        for (int join = 0; join <= CTT_JOIN_MEAN; join++)
            CTT_TRY(try_count(c, (enum ctt_join)join, counts[i], p));
out:
    if (rc < 0)
        fprintf(stderr, "sums: %s\n", ctt_errmsg());
    if (c)
        ctt_comm_close(&c);
    return rc < 0;
}
