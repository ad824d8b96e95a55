/* SPDX-License-Identifier: Apache-2.0
 * server.c: rank 0 with --sync: hands out batches and weights, adds the
 * gradients that workers push and updates the weights.  It waits for all but
 * some of them (Chen and others 2016), or for one (Dean and others 2012). */
#include "libtrain/ranks/server_messages.h"
#include "libtrain/optim.h"
#include "run/back/exec.h"

#include <string.h>

struct member {
    struct ctt_pull *pull;    /* what it was told last */
    struct ctt_push *push;    /* what came back, until the next pull */
    int              busy;
    int              counts;  /* what came back belongs to this step */
};

struct ctt_server {
    struct ctt_server_messages  size;
    int              workers, stops;
    int64_t          epoch, batch;    /* async: what is handed out next */
    float          **sums;            /* of each worker, for fold(), and of */
    int             *there;           /* how many they are */
    struct member   *member;
};

int ctt_server_open(struct ctt_trainer *t)
{
    int ranks = ctt_comm_place(t->comm)->ranks, rc;
    struct ctt_server *s = ctt_calloc(1, sizeof(*s));

    t->server = s;
    CTT_TRY(s ? 0 : CTT_ENOMEM);
    s->size = (struct ctt_server_messages){ t->shards.mine, t->m->g->weights,
                                 t->shards.moved };
    s->epoch = t->at.epoch;
    s->batch = t->at.batch;
    s->member = ctt_calloc((size_t)ranks, sizeof(*s->member));
    s->sums = ctt_calloc((size_t)ranks, sizeof(*s->sums));
    s->there = ctt_calloc((size_t)ranks, sizeof(*s->there));
    CTT_TRY(s->member && s->sums && s->there ? 0 : CTT_ENOMEM);
    for (; s->workers < ranks - 1; s->workers++) {
        struct member *m = &s->member[s->workers];

        m->pull = ctt_calloc(1, (size_t)ctt_pull_bytes(&s->size));
        m->push = ctt_calloc(1, (size_t)ctt_push_bytes(&s->size));
        if (!m->pull || !m->push)
            rc = CTT_ENOMEM;
        else
            m->pull->next = -1;    /* it has loaded nothing */
    }
out:
    return rc;
}

void ctt_server_close(struct ctt_server **p)
{
    struct ctt_server *s = *p;

    if (!s)
        return;
    for (int k = 0; k < s->workers; k++) {
        ctt_free(s->member[k].pull);
        ctt_free(s->member[k].push);
    }
    ctt_free(s->member);
    ctt_free(s->sums);
    ctt_free(s->there);
    ctt_free(s);
    *p = NULL;
}

int ctt_server_stops(const struct ctt_server *s)
{
    return s->stops;
}

/* ---- what is handed out ---- */

static int send(struct ctt_trainer *t, int k)
{
    struct ctt_server *s = t->server;
    struct member *m = &s->member[k];
    int rc;

    CTT_TRY(ctt_comm_send(t->comm, k + 1, m->pull, ctt_pull_bytes(&s->size)));
    if (m->pull->ends)
        goto out;
    CTT_TRY(ctt_comm_take(t->comm, k + 1, m->push, ctt_push_bytes(&s->size)));
    m->busy = 1;
out:
    return rc;
}

/* The batch of the step, of which each worker has its shards. */
static void same_batch(const struct ctt_trainer *t, struct ctt_pull *p)
{
    p->epoch = t->at.epoch;
    p->batch = t->at.batch;
    p->next = p->batch + 1 < t->plan->batches ? p->batch + 1 : -1;
    p->step = t->at.step;
}

/* The next batch that nobody has.  An epoch does not wait for its last ones:
 * workers go on with those of the next epoch. */
static void own_batch(const struct ctt_trainer *t, struct ctt_pull *p)
{
    struct ctt_server *s = t->server;

    if (p->next >= 0) {    /* the one that the worker has loaded */
        p->batch = p->next;
    } else {
        if (s->batch == t->plan->batches) {
            s->batch = 0;
            s->epoch++;
        }
        p->epoch = s->epoch;
        p->batch = s->batch++;
    }
    p->step = p->epoch * t->plan->batches + p->batch;
    p->next = p->epoch == s->epoch && s->batch < t->plan->batches ? s->batch++
                                                                  : -1;
}

/* Sends worker k the weights, and what to compute with them. */
static int give(struct ctt_trainer *t, const struct ctt_turn *turn, int k)
{
    struct ctt_pull *p = t->server->member[k].pull;
    int rc;

    p->skips = turn->skips;
    p->truth = turn->truth;
    p->ahead = turn->ahead;
    p->scale = turn->scale;
    p->version = t->at.step;
    if (t->sync.kind == CTT_SYNC_ASYNC)
        own_batch(t, p);
    else
        same_batch(t, p);
    CTT_TRY(ctt_dev_copy(t->dev, CTT_TO_HOST, t->optim->flat.w,
                         ctt_pull_weights(p), t->server->size.weights *
                         (int64_t)sizeof(float)));
    CTT_TRY(send(t, k));
out:
    return rc;
}

static int give_idle(struct ctt_trainer *t, const struct ctt_turn *turn)
{
    int rc = 0;

    for (int k = 0; k < t->server->workers; k++) {
        t->server->member[k].counts = 0;
        if (!t->server->member[k].busy)
            CTT_TRY(give(t, turn, k));
    }
out:
    return rc;
}

/* ---- what comes back ---- */

static void count(struct ctt_staleness *s, int64_t late, int dropped)
{
    s->came[late < CTT_STALE ? late : CTT_STALE]++;
    s->most = late > s->most ? late : s->most;
    s->sum += (double)late;
    s->dropped += dropped;
    s->all++;
}

/* Waits for the next one, from worker *k.  Returns 1 if it is to be dropped. */
static int take(struct ctt_trainer *t, int *k)
{
    struct ctt_server *s = t->server;
    struct member *m;
    int64_t late;
    int from, rc;

    CTT_TRY(ctt_comm_wait(t->comm, &from));
    *k = from - 1;
    m = &s->member[*k];
    m->busy = 0;
    s->stops |= m->push->stop;
    late = t->at.step - m->pull->version;
    rc = t->sync.kind != CTT_SYNC_ASYNC && late > 0;
    count(&t->stale, late, rc);
    count(&t->stale_all, late, rc);
out:
    return rc;
}

/* What moved becomes its mean: of branches that are alike as in the tree of
 * shards, bit for bit. */
static void join_moved(float *left, int lefts, const float *right, int rights,
                       int64_t n)
{
    float part = (float)rights / (float)(lefts + rights);

    if (lefts == rights)
        ctt_join(CTT_JOIN_MEAN, left, right, n);
    for (int64_t i = 0; i < n && lefts != rights; i++)
        left[i] += part * (right[i] - left[i]);
}

/* The sum of those that are there, in the order of the tree of shards: ((0 + 1)
 * + (2 + 3)) + .. */
static float *fold(struct ctt_server *s)
{
    int64_t n = s->size.weights;

    for (int k = 0; k < s->workers; k++) {
        const struct member *m = &s->member[k];

        s->sums[k] = m->counts ? ctt_push_sums(&s->size, m->push) : NULL;
        s->there[k] = m->counts;
    }
    for (int step = 1; step < s->workers; step *= 2)
        for (int k = 0; k + step < s->workers; k += 2 * step) {
            float *left = s->sums[k], *right = s->sums[k + step];

            if (left && right) {
                ctt_join(CTT_JOIN_SUM, left, right, n);
                join_moved(left + n, s->there[k], right + n, s->there[k + step],
                           s->size.moved);
            }
            s->sums[k] = left ? left : right;
            s->there[k] += s->there[k + step];
        }
    return s->sums[0];
}

/* The rows of those that count; *scale: the loss scale that they have. */
static int add_rows(struct ctt_trainer *t, struct ctt_turn *turn,
                    struct ctt_sums *sums)
{
    struct ctt_server *s = t->server;
    int rc = 0, none = 0;

    for (int k = 0; k < s->workers; k++) {
        struct member *m = &s->member[k];

        if (!m->counts)
            continue;
        CTT_TRY(ctt_trainer_rows(t, k + 1, ctt_push_rows(m->push),
                                 s->size.rows, sums));
        none |= rc;
        turn->scale = m->pull->scale;
    }
    rc = none;
out:
    return rc;
}

/* What no step has a use for may still say that a clip could not be read, or
 * why its worker fails. */
static int drop(struct ctt_trainer *t, int k)
{
    struct ctt_server *s = t->server;
    struct ctt_sums none = { 0 };
    int rc = ctt_trainer_rows(t, k + 1, ctt_push_rows(s->member[k].push),
                              s->size.rows, &none);

    return rc < 0 ? rc : 0;
}

/* Until as many have come as the step is made of. */
static int collect(struct ctt_trainer *t, const struct ctt_turn *turn)
{
    int async = t->sync.kind == CTT_SYNC_ASYNC, k, rc = 0;
    int left = async ? 1 : t->server->workers - t->sync.backup;

    CTT_TRY(give_idle(t, turn));
    while (left) {
        CTT_TRY(take(t, &k));
        if (rc == 1) {
            CTT_TRY(drop(t, k));
            CTT_TRY(give(t, turn, k));
        } else {
            t->server->member[k].counts = 1;
            left--;
        }
    }
out:
    return rc;
}

int ctt_server_gradient(struct ctt_trainer *t, struct ctt_turn *turn,
                        double *scale)
{
    int since = t->sync.kind == CTT_SYNC_ASYNC, rc, none;
    struct ctt_sums sums = { 0 };

    ctt_trainer_weigh(t, turn);
    CTT_TRY(collect(t, turn));
    CTT_TRY(none = add_rows(t, turn, &sums));
    *scale = ctt_trainer_scale(turn, &sums);
    if (none)
        goto out;
    CTT_TRY(ctt_shards_put(&t->shards, since, fold(t->server),
                           t->optim->flat.w, t->task->exec(t->step)->dw));
    ctt_trainer_add(&t->at.sums, &sums);
out:
    return rc;
}

/* ---- the end ---- */

static int end(struct ctt_trainer *t, int k, const struct ctt_result *r)
{
    struct ctt_server *s = t->server;
    struct ctt_pull *p = s->member[k].pull;

    p->ends = 1;
    p->result = *r;
    memcpy(ctt_pull_weights(p), t->m->w, (size_t)s->size.weights *
                                         sizeof(float));
    return send(t, k);
}

int ctt_server_messages_end(struct ctt_comm *c)
{
    char one = 0, *all = ctt_calloc((size_t)ctt_comm_place(c)->ranks, 1);
    int rc = all ? ctt_comm_allgather(c, &one, 1, all) : CTT_ENOMEM;

    ctt_free(all);
    return rc;
}

int ctt_server_end(struct ctt_trainer *t, const struct ctt_result *r)
{
    struct ctt_server *s = t->server;
    int busy = 0, from, rc = 0;

    for (int k = 0; k < s->workers; k++) {
        busy += s->member[k].busy;
        if (!s->member[k].busy)
            CTT_TRY(end(t, k, r));
    }
    for (; busy; busy--) {
        CTT_TRY(ctt_comm_wait(t->comm, &from));
        CTT_TRY(end(t, from - 1, r));
    }
    CTT_TRY(ctt_server_messages_end(t->comm));
out:
    return rc;
}
