/* SPDX-License-Identifier: Apache-2.0
 * worker.c: a rank with --sync that is not the server: pulls weights, computes
 * the gradient of its shards of a batch and pushes it. */
#include "libtrain/ranks/server_messages.h"
#include "libtrain/ranks/sync.h"
#include "libtrain/data/load.h"
#include "libtrain/optim.h"

#include <string.h>

struct worker {
    struct ctt_trainer *t;
    struct ctt_server_messages size;
    struct ctt_sync     sync;
    struct ctt_pull    *pull;
    struct ctt_push    *push;
    int64_t epoch, next;    /* of t->plan; batch that the loader has next; -1 */
};

static int pull_weights(struct worker *w)
{
    struct ctt_trainer *t = w->t;
    int from, rc;

    CTT_TRY(ctt_comm_recv(t->comm, 0, w->pull, ctt_pull_bytes(&w->size)));
    CTT_TRY(ctt_comm_wait(t->comm, &from));
    memcpy(t->m->w, ctt_pull_weights(w->pull),
           (size_t)w->size.weights * sizeof(float));
    if (!w->pull->ends)
        CTT_TRY(ctt_optim_push(t->optim));
out:
    return rc;
}

/* Starts loading a batch that was not loaded ahead. */
static int load_batch(struct worker *w, int64_t batch)
{
    struct ctt_trainer *t = w->t;
    const struct ctt_order *part;
    int rc = 0;

    ctt_loader_rest(t->loader);
    t->ahead = NULL;
    CTT_TRY(ctt_dev_prefetch(t->dev, NULL, 0));    /* of one that is not next */
    if (w->pull->epoch != w->epoch)
        ctt_trainer_plan(t, w->pull->epoch);
    w->epoch = w->pull->epoch;
    CTT_CHECK(batch >= 0 && batch < t->plan->batches, CTT_EFORMAT,
              "the server asks for batch %lld of %d", (long long)batch,
              t->plan->batches);
    ctt_shards_clear(&t->shards, t->plan);
    part = ctt_shards_append(&t->shards, t->plan, (int)batch);
    ctt_loader_start(t->loader, part, &t->plan->a, 0);
out:
    return rc;
}

/* Loads the batch, unless it is loaded, and then the next. */
static int load_next(struct worker *w)
{
    const struct ctt_pull *p = w->pull;
    struct ctt_trainer *t = w->t;
    int rc = 0;

    if (p->epoch != w->epoch || p->batch != w->next)
        CTT_TRY(load_batch(w, p->batch));
    w->next = -1;
    if (p->next >= 0 && p->next < t->plan->batches &&
        ctt_shards_append(&t->shards, t->plan, (int)p->next)) {
        ctt_loader_more(t->loader);
        w->next = p->next;
    }
out:
    return rc;
}

/* 1 if all shards have a gradient. */
static int has_gradients(const struct ctt_trainer *t)
{
    for (int k = 0; k < t->shards.mine; k++)
        if (t->mine[k].none || t->mine[k].rc < 0)
            return 0;
    return 1;
}

/* Computes the batch; an error of a shard is in its row. */
static int compute_gradient(struct worker *w)
{
    struct ctt_trainer *t = w->t;
    const struct ctt_pull *p = w->pull;
    struct ctt_turn turn = {
        .data = t->data, .seed = t->seed, .epoch = (uint64_t)p->epoch,
        .step = (uint64_t)p->step, .truth = p->truth, .scale = p->scale,
        .ahead = p->ahead, .skips = p->skips,
    };
    struct ctt_batch b;
    int rc = 0;

    ctt_trainer_weigh(t, &turn);
    CTT_TRY(ctt_trainer_shards(t, &b, &turn));
    if (has_gradients(t))
        CTT_TRY(ctt_shards_get(&t->shards, w->sync.kind == CTT_SYNC_ASYNC,
                               t->dw, ctt_push_sums(&w->size, w->push)));
    CTT_TRY(ctt_dev_sync(t->dev));
    ctt_loader_done(t->loader);
out:
    return rc;
}

static int push_gradient(struct worker *w)
{
    struct ctt_trainer *t = w->t;

    w->push->stop = ctt_stopped() != 0;
    memcpy(ctt_push_rows(w->push), t->mine,
           (size_t)w->size.rows * sizeof(struct ctt_row));
    return ctt_comm_send(t->comm, 0, w->push, ctt_push_bytes(&w->size));
}

int ctt_server_messages_end(struct ctt_comm *c)
{
    char one = 0, *all = ctt_calloc((size_t)ctt_comm_place(c)->ranks, 1);
    int rc = all ? ctt_comm_allgather(c, &one, 1, all) : CTT_ENOMEM;

    ctt_free(all);
    return rc;
}

int ctt_worker_run(struct ctt_trainer *t, struct ctt_result *r)
{
    struct worker w = { .t = t, .epoch = -1, .next = -1,
                        .size = ctt_server_messages_size(t) };
    int rc;

    CTT_TRY(ctt_sync_parse(t->cfg, &w.sync));
    w.pull = ctt_calloc(1, (size_t)ctt_pull_bytes(&w.size));
    w.push = ctt_calloc(1, (size_t)ctt_push_bytes(&w.size));
    CTT_TRY(w.pull && w.push ? 0 : CTT_ENOMEM);
    for (;;) {
        CTT_TRY(pull_weights(&w));
        if (w.pull->ends)
            break;
        CTT_TRY(load_next(&w));
        CTT_TRY(compute_gradient(&w));
        CTT_TRY(push_gradient(&w));
    }
    *r = w.pull->result;
    CTT_TRY(ctt_server_messages_end(t->comm));
out:
    ctt_free(w.pull);
    ctt_free(w.push);
    return rc;
}
