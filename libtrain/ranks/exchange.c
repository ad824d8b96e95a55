/* SPDX-License-Identifier: Apache-2.0
 * exchange.c: a reduce-scatter and an all-gather: each rank gets one slice of
 * all ranks, adds the slices in the order of the tree and sends the sum. */
#include "libtrain/ranks/exchange.h"
#include "base/span.h"

#include <string.h>

/* ---- joining two branches ---- */

static void sum(void *left, const void *right, int64_t n)
{
    const float *y = right;
    float *x = left;

    for (int64_t i = 0; i < n; i++)
        x[i] += y[i];
}

/* A mean as ctt_dev_average() forms means of shards. */
static void mean_shards(void *left, const void *right, int64_t n)
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
    [CTT_JOIN_MEAN] = { mean_shards, sizeof(float) },
};

void ctt_join(enum ctt_join join, void *left, const void *right, int64_t n)
{
    joins[join].run(left, right, n);
}

/* ---- the host's memory ---- */

static int host_alloc(const struct ctt_exchange *x, int64_t bytes, void **out)
{
    (void)x;
    *out = ctt_calloc((size_t)bytes, 1);
    return *out ? 0 : CTT_ENOMEM;
}

static void host_free(const struct ctt_exchange *x, void *p)
{
    (void)x;
    ctt_free(p);
}

static int host_alltoall(const struct ctt_exchange *x, const void *from,
                         void *to, int64_t each)
{
    return ctt_comm_alltoall(x->comm, from, to, each);
}

static int host_allgather(const struct ctt_exchange *x, const void *mine,
                          int64_t n, void *all)
{
    return ctt_comm_allgather(x->comm, mine, n, all);
}

static int host_join(const struct ctt_exchange *x, void *left, void *right,
                     int64_t n)
{
    ctt_join(x->how, left, right, n);
    return 0;
}

static const struct ctt_transport host = {
    host_alloc, host_free, host_alltoall, host_allgather, host_join,
};

/* ---- any memory ---- */

int ctt_exchange_open(struct ctt_comm *comm, enum ctt_join join, int64_t count,
                      struct ctt_exchange *out)
{
    return ctt_exchange_open_at(NULL, NULL, comm, join, count, out);
}

int ctt_exchange_open_at(struct ctt_dev *dev,
                         const struct ctt_transport *by,
                         struct ctt_comm *comm, enum ctt_join join,
                         int64_t count, struct ctt_exchange *out)
{
    int ranks = ctt_comm_place(comm)->ranks, rc = 0;
    struct ctt_exchange x = {
        .comm = comm, .dev = dev, .by = dev ? by : &host, .ranks = ranks,
        .how = join, .count = count,
        .slice = ctt_align((count + ranks - 1) / ranks, 16),
        .size = joins[join].size,
    };
    int64_t bytes = x.slice * ranks * x.size;

    CTT_CHECK(!(ranks & (ranks - 1)), CTT_EINVAL,
              "%d processes: not a power of two", ranks);
    if (ranks > 1 && count) {
        CTT_TRY(x.by->alloc(&x, bytes, &x.whole));
        CTT_TRY(x.by->alloc(&x, bytes, &x.pieces));
    }
    *out = x;
    return 0;
out:
    ctt_exchange_close(&x);
    return rc;
}

void ctt_exchange_close(struct ctt_exchange *x)
{
    if (x->whole)
        x->by->release(x, x->whole);
    if (x->pieces)
        x->by->release(x, x->pieces);
    memset(x, 0, sizeof(*x));
}

int ctt_exchange_run(struct ctt_exchange *x)
{
    int64_t bytes = x->slice * x->size;
    double start = ctt_span_begin();
    char *piece = x->pieces;
    int rc = 0;

    if (x->ranks == 1 || !x->count)
        goto out;
    CTT_TRY(x->by->alltoall(x, x->whole, piece, bytes));
    for (int step = 1; step < x->ranks; step *= 2)
        for (int r = 0; r < x->ranks; r += 2 * step)
            CTT_TRY(x->by->join(x, piece + r * bytes,
                                 piece + (r + step) * bytes, x->slice));
    CTT_TRY(x->by->allgather(x, piece, bytes, x->whole));
    ctt_span_end(CTT_SPAN_EXCHANGE, start);
out:
    return rc;
}
