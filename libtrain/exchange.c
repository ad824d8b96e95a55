/* SPDX-License-Identifier: Apache-2.0
 * exchange.c: each rank gets one slice of what all have, adds these in the
 * order of the tree and tells the sum. */
#include "libtrain/exchange.h"

#include <string.h>

int ctt_exchange_open(struct ctt_comm *comm, int64_t sums, int64_t means,
                      struct ctt_exchange *out)
{
    int ranks = ctt_comm_place(comm)->ranks, rc = 0;
    int64_t floats = sums + means;
    struct ctt_exchange x = {
        .comm = comm, .ranks = ranks, .sums = sums, .floats = floats,
        .slice = (floats + ranks - 1) / ranks,
    };
    size_t room = (size_t)(x.slice * ranks);

    CTT_CHECK(!(ranks & (ranks - 1)), CTT_EINVAL,
              "%d processes: not a power of two", ranks);
    if (ranks > 1) {
        x.whole = ctt_calloc(room + 1, sizeof(float));
        x.pieces = ctt_calloc(room + 1, sizeof(float));
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

/* Slices begin at number `at` of the whole; right follows left in the tree.
 * Means are formed as ctt_dev_average() forms those of shards. */
static void join(const struct ctt_exchange *x, int64_t at, float *left,
                 const float *right)
{
    for (int64_t i = 0; i < x->slice; i++)
        left[i] = at + i < x->sums ? left[i] + right[i]
                  : right[i] + 0.5f * (left[i] - right[i]);
}

int ctt_exchange_run(struct ctt_exchange *x)
{
    int64_t bytes = x->slice * (int64_t)sizeof(*x->whole);
    int64_t at = x->slice * ctt_comm_place(x->comm)->rank;
    int rc = 0;

    if (x->ranks == 1)
        goto out;
    CTT_TRY(ctt_comm_trade(x->comm, x->whole, x->pieces, bytes));
    for (int step = 1; step < x->ranks; step *= 2)
        for (int r = 0; r < x->ranks; r += 2 * step)
            join(x, at, x->pieces + r * x->slice,
                 x->pieces + (r + step) * x->slice);
    CTT_TRY(ctt_comm_tell(x->comm, x->pieces, bytes, x->whole));
out:
    return rc;
}
