/* SPDX-License-Identifier: Apache-2.0
 * exchange.c: each rank gets one slice of what all have, adds these in the
 * order of the tree and tells the sum. */
#include "libtrain/exchange.h"

#include <string.h>

int ctt_exchange_open(struct ctt_comm *comm, int64_t floats,
                      struct ctt_exchange *out)
{
    int ranks = ctt_comm_place(comm)->ranks, rc = 0;
    struct ctt_exchange x = {
        .comm = comm, .ranks = ranks, .floats = floats,
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

static void add(float *to, const float *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
}

int ctt_exchange_sum(struct ctt_exchange *x, float *p)
{
    int64_t bytes = x->slice * (int64_t)sizeof(*p);
    size_t size = (size_t)x->floats * sizeof(*p);
    int rc = 0;

    if (x->ranks == 1)
        goto out;
    memcpy(x->whole, p, size);
    CTT_TRY(ctt_comm_trade(x->comm, x->whole, x->pieces, bytes));
    for (int step = 1; step < x->ranks; step *= 2)
        for (int r = 0; r < x->ranks; r += 2 * step)
            add(x->pieces + r * x->slice, x->pieces + (r + step) * x->slice,
                x->slice);
    CTT_TRY(ctt_comm_tell(x->comm, x->pieces, bytes, x->whole));
    memcpy(p, x->whole, size);
out:
    return rc;
}
