/* SPDX-License-Identifier: Apache-2.0
 * gpu_exchange.c: ranks agree whether gradients go from GPU to GPU; the GPUs
 * connect and exchange them. */
#include "libtrain/ranks/gpu_exchange.h"
#include "device/memory.h"
#include "device/peers.h"
#include "libtrain/ranks/squeeze.h"
#include "libtrain/ranks/strategy.h"

#include <string.h>

/* ---- whether they can ---- */

/* State of a rank, sent to the others: whether its device is open, and whether
 * it asks for exchanges between GPUs and has one for them. */
struct card {
    int             open, asks, by, machine;
    int             rc;
    char            why[CTT_ROW_TEXT - 32];
    struct ctt_peer peer;
};

int ctt_gpu_exchange_suits(const struct ctt_train_cfg *cfg)
{
    struct ctt_squeeze squeeze;
    int rc;

    CTT_TRY(ctt_squeeze_parse(cfg->squeeze, &squeeze));
    CTT_CHECK(cfg->comm_by != CTT_COMM_NCCL ||
              !ctt_squeeze_is_sparse(&squeeze), CTT_EINVAL,
              "--comm=nccl: what --squeeze=%s sends is encoded by the host",
              cfg->squeeze);
out:
    return rc;
}

/* 1 if gradients of GPUs are exchanged at all. */
static int is_asked(const struct ctt_trainer *t)
{
    return t->strategy->all_reduce &&
           ctt_dev_has(t->cfg->device, CTT_DEV_PEERS);
}

/* A reason that the settings give, or NULL. */
static const char *forbidden(const struct ctt_trainer *t)
{
    struct ctt_squeeze s;

    if (t->cfg->comm_by == CTT_COMM_MPI)
        return "--comm=mpi";
    if (ctt_squeeze_parse(t->cfg->squeeze, &s) >= 0 &&
        ctt_squeeze_is_sparse(&s))
        return "what --squeeze sends is encoded there";
    return NULL;
}

static void fill_exchange_card(const struct ctt_trainer *t, int is_open,
                               struct card *c)
{
    memset(c, 0, sizeof(*c));
    c->open = is_open;
    c->by = t->cfg->comm_by;
    c->machine = ctt_comm_place(t->comm)->machine;
    c->asks = c->open && is_asked(t) && !forbidden(t);
    if (!c->asks)
        return;
    c->rc = ctt_peers_know(t->dev, &c->peer);
    if (c->rc < 0)
        snprintf(c->why, sizeof(c->why), "%s", ctt_errmsg());
}

/* The rank before r that has the same GPU, or -1. */
static int twin(const struct card *c, int r)
{
    for (int k = 0; k < r; k++)
        if (c[k].machine == c[r].machine &&
            strcmp(c[k].peer.place, c[r].peer.place) == 0)
            return k;
    return -1;
}

/* Writes why GPUs cannot exchange gradients, or "". */
static void judge_cards(const struct card *c, int ranks, char *why, size_t size)
{
    *why = 0;
    for (int r = 0; r < ranks && !*why; r++)
        if (c[r].rc < 0)
            snprintf(why, size, "rank %d: %s", r, c[r].why);
    for (int r = 0; r < ranks && !*why; r++) {
        int k = twin(c, r);

        if (k >= 0)
            snprintf(why, size, "ranks %d and %d have the same GPU (see "
                     "CUDA_VISIBLE_DEVICES)", k, r);
    }
}

static void say_way(const struct ctt_trainer *t, const char *how,
                    const char *what)
{
    char line[CTT_ROW_TEXT + 64];

    snprintf(line, sizeof(line), "gradients go %s%s", how, what);
    ctt_trainer_say(t, line);
}

/* Called with the devices of all ranks open; the result is the same on all. */
static int decide_exchange(struct ctt_trainer *t, const struct card *c,
                           int ranks)
{
    char why[CTT_ROW_TEXT];
    int all = 1, rc = 0;

    for (int r = 1; r < ranks; r++)
        CTT_CHECK(c[r].by == c[0].by, CTT_EINVAL, "ranks 0 and %d have another "
                  "--comm", r);
    for (int r = 0; r < ranks; r++)
        all &= c[r].asks;
    if (!is_asked(t))
        goto out;
    if (forbidden(t) || !all) {    /* not all: the settings differ */
        say_way(t, "through the host and MPI: ", all ? "" : forbidden(t)
                ? forbidden(t) : "ranks differ");
        goto out;
    }
    judge_cards(c, ranks, why, sizeof(why));
    CTT_CHECK(!*why || t->cfg->comm_by != CTT_COMM_NCCL, CTT_EUNSUP,
              "--comm=nccl: %s", why);
    t->direct = !*why;
    say_way(t, *why ? "through the host and MPI: " : "from GPU to GPU by ",
        *why ? why : c[0].peer.by);
out:
    return rc;
}

int ctt_gpu_exchange_agree(struct ctt_trainer *t, int is_open)
{
    int ranks = ctt_comm_place(t->comm)->ranks, rc = 0, open = 1;
    struct card mine, *all = NULL;

    CTT_CHECK(ranks > 1 || t->cfg->comm_by != CTT_COMM_NCCL || !is_open,
              CTT_EINVAL, "--comm=nccl is for several processes (mpirun -np "
              "N)");
    if (ranks == 1)
        goto out;
    fill_exchange_card(t, is_open, &mine);
    all = ctt_calloc((size_t)ranks, sizeof(*all));
    CTT_TRY(all ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_comm_allgather(t->comm, &mine, sizeof(mine), all));
    for (int r = 0; r < ranks; r++)
        open &= all[r].open;
    if (open)
        CTT_TRY(decide_exchange(t, all, ranks));
out:
    ctt_free(all);
    return rc;
}

/* ---- meeting ---- */

/* Each rank has a number for each other one. */
static int64_t word_for(int from, int to)
{
    return ((int64_t)(from + 1) << 32) + to + 1;
}

static int compare_words(const struct ctt_comm_place *p, const int64_t *word)
{
    int rc = 0;

    for (int r = 0; r < p->ranks; r++)
        CTT_CHECK(word[r] == word_for(r, p->rank), CTT_EIO, "what GPUs send "
                  "each other is not what comes: from rank %d (--comm=mpi goes "
                  "another way)", r);
out:
    return rc;
}

/* The first messages, which are compared: links that bring wrong numbers would
 * not be seen later.  NCCL connects GPUs now, not after memory is planned. */
static int compare_first(struct ctt_trainer *t, const struct ctt_comm_place *p)
{
    int64_t bytes = p->ranks * (int64_t)sizeof(int64_t);
    int64_t *word = ctt_calloc((size_t)p->ranks, sizeof(*word));
    void *from = NULL, *to = NULL;
    int rc = word ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_dev_alloc(t->dev, "the first messages", bytes, &from));
    CTT_TRY(ctt_dev_alloc(t->dev, "the first messages", bytes, &to));
    for (int r = 0; r < p->ranks; r++)
        word[r] = word_for(p->rank, r);
    CTT_TRY(ctt_dev_copy(t->dev, CTT_TO_DEVICE, word, from, bytes));
    CTT_TRY(ctt_peers_trade(t->dev, from, to, (int64_t)sizeof(*word)));
    CTT_TRY(ctt_dev_copy(t->dev, CTT_TO_HOST, to, word, bytes));
    CTT_TRY(compare_words(p, word));
out:
    ctt_dev_free(t->dev, &from);
    ctt_dev_free(t->dev, &to);
    ctt_free(word);
    return rc;
}

static int connect_gpus(struct ctt_trainer *t, const struct ctt_comm_place *p,
                        char *ids)
{
    char mine[CTT_PEERS_ID] = { 0 };
    int rc = 0;

    if (p->rank == 0)
        CTT_TRY(ctt_peers_id(t->dev, mine));
    CTT_TRY(ctt_comm_allgather(t->comm, mine, sizeof(mine), ids));
    ctt_comm_count(t->comm);
    rc = ctt_peers_meet(t->dev, ids, p->rank, p->ranks);
    if (rc < 0)
        rc = ctt_error(rc, "%s (--comm=mpi goes another way)", ctt_errmsg());
    if (rc >= 0)
        rc = compare_first(t, p);
    ctt_comm_count(t->comm);
out:
    return rc;
}

int ctt_gpu_exchange_meet(struct ctt_trainer *t)
{
    const struct ctt_comm_place *p = ctt_comm_place(t->comm);
    char *ids = NULL;
    int rc = 0;

    if (!t->direct)
        goto out;
    ids = ctt_calloc((size_t)p->ranks, CTT_PEERS_ID);
    CTT_TRY(ids ? 0 : CTT_ENOMEM);
    CTT_TRY(connect_gpus(t, p, ids));
out:
    ctt_free(ids);
    return rc;
}

/* ---- the exchange ---- */

static int gpu_alloc(const struct ctt_exchange *x, int64_t bytes, void **out)
{
    return ctt_dev_alloc(x->dev, "the exchange of gradients", bytes, out);
}

static void gpu_free(const struct ctt_exchange *x, void *p)
{
    ctt_dev_free(x->dev, &p);
}

static int gpu_alltoall(const struct ctt_exchange *x, const void *from,
                        void *to, int64_t each)
{
    int rc;

    ctt_comm_count(x->comm);
    rc = ctt_peers_trade(x->dev, from, to, each);
    ctt_comm_count(x->comm);
    return rc;
}

static int gpu_allgather(const struct ctt_exchange *x, const void *mine,
                         int64_t n, void *all)
{
    int rc;

    ctt_comm_count(x->comm);
    rc = ctt_peers_tell(x->dev, mine, n, all);
    ctt_comm_count(x->comm);
    return rc;
}

/* The device leaves a mean where the right one was. */
static int gpu_join(const struct ctt_exchange *x, void *left, void *right,
                    int64_t n)
{
    static const enum ctt_dtype type[] = {
        [CTT_JOIN_SUM] = CTT_F32, [CTT_JOIN_BF16] = CTT_BF16,
        [CTT_JOIN_F16] = CTT_F16,
    };
    int rc;

    if (x->how != CTT_JOIN_MEAN)
        return ctt_dev_sum(x->dev, type[x->how], right, left, n);
    CTT_TRY(ctt_dev_average(x->dev, left, 0.5f, right, n));
    CTT_TRY(ctt_dev_copy(x->dev, CTT_WITHIN, right, left, n * x->size));
out:
    return rc;
}

const struct ctt_transport ctt_gpu_transport = {
    gpu_alloc, gpu_free, gpu_alltoall, gpu_allgather, gpu_join,
};
