/* SPDX-License-Identifier: Apache-2.0
 * peers.c: what each rank of test_nccl_cli.sh does: trade and tell between the
 * memories of GPUs against what plain loops expect, and sums of an exchange
 * there against those of one in the host's memory, bit for bit. */
#include "device/memory.h"
#include "device/peers.h"
#include "libtrain/ranks/gpu_exchange.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct ctt_comm *comm;
static struct ctt_dev *dev;
static const struct ctt_comm_place *place;

/* ---- bytes ---- */

static unsigned char byte_of(int from, int to, int64_t i)
{
    return (unsigned char)(i * 31 + i / 251 + from * 7 + to * 101);
}

/* Rows of this rank: what it has for each, or (to 0 or more) for one. */
static void fill(unsigned char *p, int64_t n, int to)
{
    for (int64_t i = 0; i < (to < 0 ? place->ranks : 1) * n; i++)
        p[i] = byte_of(place->rank, to < 0 ? (int)(i / n) : to, i % n);
}

static int count_wrong(const unsigned char *p, int64_t n, int to)
{
    int wrong = 0;

    for (int64_t i = 0; i < place->ranks * n; i++)
        wrong += p[i] != byte_of((int)(i / n), to, i % n);
    return wrong;
}

static int try_bytes(int64_t n)
{
    int64_t all = n * place->ranks;
    unsigned char *p = ctt_calloc((size_t)all + 1, 1);
    void *from = NULL, *to = NULL;
    int wrong = 0, rc = p ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_dev_alloc(dev, "a test", all, &from));
    CTT_TRY(ctt_dev_alloc(dev, "a test", all, &to));
    fill(p, n, 0);
    CTT_TRY(ctt_dev_copy(dev, CTT_TO_DEVICE, p, from, n));
    CTT_TRY(ctt_peers_tell(dev, from, n, to));
    CTT_TRY(ctt_dev_copy(dev, CTT_TO_HOST, to, p, all));
    wrong += count_wrong(p, n, 0);
    fill(p, n, -1);
    CTT_TRY(ctt_dev_copy(dev, CTT_TO_DEVICE, p, from, all));
    CTT_TRY(ctt_peers_trade(dev, from, to, n));
    CTT_TRY(ctt_dev_copy(dev, CTT_TO_HOST, to, p, all));
    wrong += count_wrong(p, n, place->rank);
    CTT_CHECK(!wrong, CTT_EINVAL, "%d of %lld bytes are wrong", wrong,
              (long long)n);
out:
    ctt_dev_free(dev, &from);
    ctt_dev_free(dev, &to);
    ctt_free(p);
    return rc;
}

/* ---- sums ---- */

/* Of three sizes, so that another order gives other bits. */
static float number(int64_t i)
{
    uint32_t x = (uint32_t)(i * 2654435761u) ^
                 (uint32_t)place->rank * 2246822519u;

    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (float)ldexp((double)x - 2e9, -31 + 7 * (place->rank % 3));
}

static int open_both(enum ctt_join join, int64_t n, struct ctt_exchange x[2])
{
    int rc;

    memset(x, 0, 2 * sizeof(*x));
    CTT_TRY(ctt_exchange_open(comm, join, n, &x[0]));
    CTT_TRY(
        ctt_exchange_open_at(dev, &ctt_gpu_transport, comm, join, n, &x[1]));
out:
    return rc;
}

static int try_sums(enum ctt_join join, int64_t n)
{
    static const enum ctt_dtype types[] = { CTT_F32, CTT_BF16, CTT_F16,
                                            CTT_F32 };
    int64_t calls = ctt_comm_calls(comm), bytes;
    struct ctt_exchange x[2];
    void *got = NULL;
    int rc;

    CTT_TRY(open_both(join, n, x));
    bytes = n * x->size;
    got = ctt_calloc((size_t)bytes + 1, 1);
    CTT_TRY(got ? 0 : CTT_ENOMEM);
    if (x->ranks == 1)
        goto out;
    for (int64_t i = 0; i < n; i++)
        ctt_store(x->whole, types[join], i, number(i));
    CTT_TRY(ctt_dev_copy(dev, CTT_TO_DEVICE, x->whole, x[1].whole, bytes));
    CTT_TRY(ctt_exchange_run(&x[0]));
    CTT_TRY(ctt_exchange_run(&x[1]));
    CTT_CHECK(ctt_comm_calls(comm) == calls + 8, CTT_EINVAL, "%lld calls were "
              "counted", (long long)(ctt_comm_calls(comm) - calls));
    CTT_TRY(ctt_dev_copy(dev, CTT_TO_HOST, x[1].whole, got, bytes));
    CTT_CHECK(memcmp(got, x->whole, (size_t)bytes) == 0, CTT_EINVAL,
              "sums %d of %lld numbers differ from the host's", (int)join,
              (long long)n);
out:
    ctt_exchange_close(&x[0]);
    ctt_exchange_close(&x[1]);
    ctt_free(got);
    return rc;
}

static int meet(void)
{
    char mine[CTT_PEERS_ID], all[8][CTT_PEERS_ID];
    struct ctt_peer p;
    int rc;

    CTT_CHECK(place->ranks <= 8, CTT_EINVAL, "more than 8 ranks");
    CTT_TRY(ctt_peers_know(dev, &p));
    CTT_TRY(ctt_peers_id(dev, mine));
    CTT_TRY(ctt_comm_allgather(comm, mine, sizeof(mine), all));
    CTT_TRY(ctt_peers_meet(dev, all[0], place->rank, place->ranks));
out:
    return rc;
}

int main(void)
{
    static const int64_t counts[] = { 1, 7, 16, 4099, 70001 };
    int rc = 0;

    CTT_TRY(ctt_comm_open("mpi", &comm));
    place = ctt_comm_place(comm);
    CTT_TRY(ctt_dev_open("cuda", 1, &dev));
    CTT_TRY(meet());
    for (size_t i = 0; i < CTT_LEN(counts); i++) {
        CTT_TRY(try_bytes(counts[i]));
        for (int join = 0; join <= CTT_JOIN_MEAN; join++)
            CTT_TRY(try_sums((enum ctt_join)join, counts[i]));
    }
out:
    if (rc < 0)
        fprintf(stderr, "peers: %s\n", ctt_errmsg());
    ctt_dev_close(&dev);
    if (comm)
        ctt_comm_close(&comm);
    return rc < 0;
}
