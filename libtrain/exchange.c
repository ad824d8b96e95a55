/* SPDX-License-Identifier: Apache-2.0
 * exchange.c: each rank gets one slice of what all have, adds these in the
 * order of the tree and tells the sum. */
#include "libtrain/exchange.h"

#include <string.h>

/* ---- left becomes what both are together ---- */

static void sum(void *left, const void *right, int64_t n)
{
    const float *y = right;
    float *x = left;

    for (int64_t i = 0; i < n; i++)
        x[i] += y[i];
}

/* As ctt_dev_average() forms those of shards. */
static void mean(void *left, const void *right, int64_t n)
{
    const float *y = right;
    float *x = left;

    for (int64_t i = 0; i < n; i++)
        x[i] = y[i] + 0.5f * (x[i] - y[i]);
}

static void sum_bf16(void *left, const void *right, int64_t n)
{
    const uint16_t *y = right;
    uint16_t *x = left;

    for (int64_t i = 0; i < n; i++)
        x[i] = ctt_bf16_of(ctt_of_bf16(x[i]) + ctt_of_bf16(y[i]));
}

static void sum_f16(void *left, const void *right, int64_t n)
{
    const uint16_t *y = right;
    uint16_t *x = left;

    for (int64_t i = 0; i < n; i++)
        x[i] = ctt_f16_of(ctt_of_f16(x[i]) + ctt_of_f16(y[i]));
}

static const struct {
    void  (*run)(void *left, const void *right, int64_t n);
    int64_t size;
} joins[] = {
    [CTT_JOIN_SUM] = { sum, sizeof(float) },
    [CTT_JOIN_BF16] = { sum_bf16, sizeof(uint16_t) },
    [CTT_JOIN_F16] = { sum_f16, sizeof(uint16_t) },
    [CTT_JOIN_MEAN] = { mean, sizeof(float) },
};

void ctt_join(enum ctt_join join, void *left, const void *right, int64_t n)
{
    joins[join].run(left, right, n);
}

int ctt_exchange_open(struct ctt_comm *comm, enum ctt_join join, int64_t count,
                      struct ctt_exchange *out)
{
    int ranks = ctt_comm_place(comm)->ranks, rc = 0;
    struct ctt_exchange x = {
        .comm = comm, .ranks = ranks, .join = join, .count = count,
        .slice = (count + ranks - 1) / ranks, .size = joins[join].size,
    };
    size_t room = (size_t)(x.slice * ranks);

    CTT_CHECK(!(ranks & (ranks - 1)), CTT_EINVAL,
              "%d processes: not a power of two", ranks);
    if (ranks > 1) {
        x.whole = ctt_calloc(room + 1, (size_t)x.size);
        x.pieces = ctt_calloc(room + 1, (size_t)x.size);
        CTT_TRY(x.whole && x.pieces ? 0 : CTT_ENOMEM);
    }
    *out = x;
    return 0;
out:
    ctt_exchange_close(&x);
    return rc;
}

void ctt_exchange_close(struct ctt_exchange *x)
{
    ctt_free(x->whole);
    ctt_free(x->pieces);
    memset(x, 0, sizeof(*x));
}

int ctt_exchange_run(struct ctt_exchange *x)
{
    int64_t bytes = x->slice * x->size;
    char *piece = x->pieces;
    int rc = 0;

    if (x->ranks == 1 || !x->count)
        goto out;
    CTT_TRY(ctt_comm_trade(x->comm, x->whole, piece, bytes));
    for (int step = 1; step < x->ranks; step *= 2)
        for (int r = 0; r < x->ranks; r += 2 * step)
            ctt_join(x->join, piece + r * bytes, piece + (r + step) * bytes,
                     x->slice);
    CTT_TRY(ctt_comm_tell(x->comm, piece, bytes, x->whole));
out:
    return rc;
}
