/* SPDX-License-Identifier: Apache-2.0
 * server.c: --sync=central, backup=B and async: a parameter server, rank 0,
 * sends batches and weights to workers, adds the gradients that they push and
 * updates the weights.  It waits for all workers but B (Chen and others 2016),
 * or for one (Dean and others 2012). */
#include "libtrain/ranks/server_messages.h"
#include "libtrain/ranks/strategy.h"
#include "libtrain/ranks/sync.h"
#include "libtrain/optim.h"

#include <string.h>

struct member {
    struct ctt_pull *pull;    /* the last message to it */
    struct ctt_push *push;    /* its answer, until the next pull */
    int              busy;
    int              counts;  /* 1: the answer belongs to this step */
};

struct server {
    struct ctt_server_messages  size;
    struct ctt_sync  sync;
    int              workers;
    int64_t          epoch, batch;    /* async: the next to hand out */
    float          **sums;            /* per worker: a branch of the tree */
    int             *there;           /* gradients in the branch */
    struct member   *member;
};

/* ---- settings ---- */

static const char *sync_option(const struct ctt_train_cfg *cfg)
{
    struct ctt_sync sync;

    return ctt_sync_parse(cfg, &sync) < 0 || sync.kind != CTT_SYNC_ALL
           ? "sync" : NULL;
}

static int sync_why_not(const struct ctt_train_cfg *cfg)
{
    struct ctt_sync s;
    int rc;

    CTT_TRY(ctt_sync_parse(cfg, &s));
    CTT_CHECK(!cfg->deterministic || (s.kind == CTT_SYNC_CENTRAL && !s.backup),
              CTT_EINVAL, "--sync=%s: which gradients make a step depends on "
              "time: it needs --deterministic=off", cfg->sync);
out:
    return rc;
}

/* Asynchronous workers have a batch each; the others share one.  A server
 * computes no part and prepares the first. */
static int share_workers(const struct ctt_train_cfg *cfg,
                 const struct ctt_comm_place *p, struct ctt_share *out)
{
    int workers = p->ranks - 1, parts, rc;
    struct ctt_sync s;

    CTT_TRY(ctt_sync_parse(cfg, &s));
    parts = s.kind == CTT_SYNC_ASYNC ? 1 : workers;
    CTT_CHECK(workers > 0, CTT_EINVAL, "--sync: a server and its workers are "
              "at least two processes (mpirun -np N)");
    CTT_CHECK(!(parts & (parts - 1)), CTT_EINVAL, "--sync: a server and %d "
              "workers: not a power of two", parts);
    CTT_CHECK(s.backup < parts, CTT_EINVAL, "--sync=backup=%d: of %d worker%s "
              "at least one must be waited for", s.backup, parts,
              ctt_s(parts));
    *out = (struct ctt_share){ .parts = parts, .apart = 1,
        .part = p->rank && parts > 1 ? p->rank - 1 : 0 };
out:
    return rc;
}

static void name_workers(const struct ctt_train_cfg *cfg, int ranks,
                         char *text, size_t size)
{
    (void)cfg;
    snprintf(text, size, "a server and %d worker%s", ranks - 1,
             ranks > 2 ? "s" : "");
}

/* ---- opening ---- */

static int open_members(struct server *s, int workers)
{
    int rc = 0;

    for (; s->workers < workers; s->workers++) {
        struct member *m = &s->member[s->workers];

        m->pull = ctt_calloc(1, (size_t)ctt_pull_bytes(&s->size));
        m->push = ctt_calloc(1, (size_t)ctt_push_bytes(&s->size));
        if (!m->pull || !m->push)
            rc = CTT_ENOMEM;
        else
            m->pull->next = -1;    /* no batch is loaded */
    }
    return rc;
}

static int open_server(struct ctt_trainer *t)
{
    size_t ranks = (size_t)ctt_comm_place(t->comm)->ranks;
    struct server *s = ctt_calloc(1, sizeof(*s));
    int rc = s ? 0 : CTT_ENOMEM;

    t->state = s;
    CTT_TRY(rc);
    CTT_TRY(ctt_sync_parse(t->cfg, &s->sync));
    s->size = ctt_server_messages_size(t);
    s->epoch = t->at.epoch;
    s->batch = t->at.batch;
    s->member = ctt_calloc(ranks, sizeof(*s->member));
    s->sums = ctt_calloc(ranks, sizeof(*s->sums));
    s->there = ctt_calloc(ranks, sizeof(*s->there));
    CTT_TRY(s->member && s->sums && s->there ? 0 : CTT_ENOMEM);
    CTT_TRY(open_members(s, (int)ranks - 1));
out:
    return rc;
}

static int open_rank(struct ctt_trainer *t)
{
    int rc;

    CTT_TRY(ctt_trainer_open_step(t));
    if (ctt_comm_place(t->comm)->rank == 0)
        CTT_TRY(open_server(t));
out:
    return rc;
}

static void close_server(struct ctt_trainer *t)
{
    struct server *s = t->state;

    for (int k = 0; k < s->workers; k++) {
        ctt_free(s->member[k].pull);
        ctt_free(s->member[k].push);
    }
    ctt_free(s->member);
    ctt_free(s->sums);
    ctt_free(s->there);
    ctt_free(s);
    t->state = NULL;
}

/* ---- messages to workers ---- */

static int send_pull(struct ctt_trainer *t, int k)
{
    struct server *s = t->state;
    struct member *m = &s->member[k];
    int rc;

    CTT_TRY(ctt_comm_send(t->comm, k + 1, m->pull, ctt_pull_bytes(&s->size)));
    if (m->pull->ends)
        goto out;
    CTT_TRY(ctt_comm_recv(t->comm, k + 1, m->push, ctt_push_bytes(&s->size)));
    m->busy = 1;
out:
    return rc;
}

/* The batch of the step, whose shards the workers share. */
static void same_batch(const struct ctt_trainer *t, struct ctt_pull *p)
{
    p->epoch = t->at.epoch;
    p->batch = t->at.batch;
    p->next = p->batch + 1 < t->plan->batches ? p->batch + 1 : -1;
    p->step = t->at.step;
}

/* The next batch that no worker has.  Workers go on with the next epoch before
 * the last batches of this one have come. */
static void own_batch(const struct ctt_trainer *t, struct ctt_pull *p)
{
    struct server *s = t->state;

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

/* Sends worker k the weights and a batch to compute. */
static int push_weights(struct ctt_trainer *t, const struct ctt_turn *turn,
                        int k)
{
    struct server *s = t->state;
    struct ctt_pull *p = s->member[k].pull;
    int rc;

    p->skips = turn->skips;
    p->truth = turn->truth;
    p->ahead = turn->ahead;
    p->scale = turn->scale;
    p->version = t->at.step;
    if (s->sync.kind == CTT_SYNC_ASYNC)
        own_batch(t, p);
    else
        same_batch(t, p);
    CTT_TRY(ctt_dev_copy(t->dev, CTT_TO_HOST, t->optim->flat.w,
                         ctt_pull_weights(p), s->size.weights *
                         (int64_t)sizeof(float)));
    CTT_TRY(send_pull(t, k));
out:
    return rc;
}

static int push_idle(struct ctt_trainer *t, const struct ctt_turn *turn)
{
    struct server *s = t->state;
    int rc = 0;

    for (int k = 0; k < s->workers; k++) {
        s->member[k].counts = 0;
        if (!s->member[k].busy)
            CTT_TRY(push_weights(t, turn, k));
    }
out:
    return rc;
}

/* ---- gradients from workers ---- */

static void count_late(struct ctt_staleness *s, int64_t late, int dropped)
{
    s->came[late < CTT_STALE ? late : CTT_STALE]++;
    s->most = late > s->most ? late : s->most;
    s->sum += (double)late;
    s->dropped += dropped;
    s->all++;
}

/* Waits for the next gradient, from worker *k.  Returns 1 if it is too late. */
static int wait_gradient(struct ctt_trainer *t, int *k)
{
    struct server *s = t->state;
    struct member *m;
    int64_t late;
    int from, rc;

    CTT_TRY(ctt_comm_wait(t->comm, &from));
    *k = from - 1;
    m = &s->member[*k];
    m->busy = 0;
    t->stops |= m->push->stop;
    late = t->at.step - m->pull->version;
    rc = s->sync.kind != CTT_SYNC_ASYNC && late > 0;
    count_late(&t->stale, late, rc);
    count_late(&t->stale_all, late, rc);
out:
    return rc;
}

/* Mean of the moved weights of two branches; of branches of equal size the bits
 * of the tree of shards. */
static void join_moved(float *left, int lefts, const float *right, int rights,
                       int64_t n)
{
    float part = (float)rights / (float)(lefts + rights);

    if (lefts == rights)
        ctt_join(CTT_JOIN_MEAN, left, right, n);
    for (int64_t i = 0; i < n && lefts != rights; i++)
        left[i] += part * (right[i] - left[i]);
}

/* The sum of the counted gradients, in the order of the tree of shards: ((0 +
 * 1) + (2 + 3)) + .. */
static float *add_gradients(struct server *s)
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

/* Adds the rows of counted gradients; turn->scale becomes their loss scale. */
static int add_counted(struct ctt_trainer *t, struct ctt_turn *turn,
                    struct ctt_sums *sums)
{
    struct server *s = t->state;
    int rc = 0, none = 0;

    for (int k = 0; k < s->workers; k++) {
        struct member *m = &s->member[k];

        if (!m->counts)
            continue;
        CTT_TRY(ctt_trainer_rows(k + 1, ctt_push_rows(m->push),
                                 s->size.rows, sums));
        none |= rc;
        turn->scale = m->pull->scale;
    }
    rc = none;
out:
    return rc;
}

/* A late gradient: the error of its worker, if it fails. */
static int drop_late(struct ctt_trainer *t, int k)
{
    struct server *s = t->state;
    struct ctt_sums none = { 0 };
    int rc = ctt_trainer_rows(k + 1, ctt_push_rows(s->member[k].push),
                              s->size.rows, &none);

    return rc < 0 ? rc : 0;
}

/* Waits for the gradients of a step. */
static int collect_gradients(struct ctt_trainer *t, const struct ctt_turn *turn)
{
    struct server *s = t->state;
    int left = s->sync.kind == CTT_SYNC_ASYNC ? 1
               : s->workers - s->sync.backup;
    int k, rc = 0;

    CTT_TRY(push_idle(t, turn));
    while (left) {
        CTT_TRY(wait_gradient(t, &k));
        if (rc == 1) {
            CTT_TRY(drop_late(t, k));
            CTT_TRY(push_weights(t, turn, k));
        } else {
            s->member[k].counts = 1;
            left--;
        }
    }
out:
    return rc;
}

static int server_gradient(struct ctt_trainer *t, struct ctt_batch *b,
                           struct ctt_turn *turn, double *scale)
{
    struct server *s = t->state;
    struct ctt_sums sums = { 0 };
    int rc, none;

    (void)b;    /* the workers load */
    ctt_trainer_weigh(t, turn);
    CTT_TRY(collect_gradients(t, turn));
    CTT_TRY(none = add_counted(t, turn, &sums));
    *scale = ctt_trainer_scale(turn, &sums);
    if (none)
        goto out;
    CTT_TRY(ctt_shards_put(&t->shards, s->sync.kind == CTT_SYNC_ASYNC,
                           add_gradients(s), t->optim->flat.w, t->dw));
    ctt_trainer_add(&t->at.sums, &sums);
out:
    return rc;
}

/* ---- the end ---- */

static int end_worker(struct ctt_trainer *t, int k, const struct ctt_result *r)
{
    struct server *s = t->state;
    struct ctt_pull *p = s->member[k].pull;

    p->ends = 1;
    p->result = *r;
    memcpy(ctt_pull_weights(p), t->m->w, (size_t)s->size.weights *
                                         sizeof(float));
    return send_pull(t, k);
}

static int end_workers(struct ctt_trainer *t, const struct ctt_result *r)
{
    struct server *s = t->state;
    int busy = 0, from, rc = 0;

    for (int k = 0; k < s->workers; k++) {
        busy += s->member[k].busy;
        if (!s->member[k].busy)
            CTT_TRY(end_worker(t, k, r));
    }
    for (; busy; busy--) {
        CTT_TRY(ctt_comm_wait(t->comm, &from));
        CTT_TRY(end_worker(t, from - 1, r));
    }
    CTT_TRY(ctt_server_messages_end(t->comm));
out:
    return rc;
}

static int tell_late(struct ctt_trainer *t)
{
    const struct ctt_staleness *s = &t->stale_all;
    char line[192];

    if (!s->all)
        return 0;
    snprintf(line, sizeof(line), "--sync=%s: %lld gradients, on average %.2f "
             "steps late, at most %lld; %lld dropped", t->cfg->sync,
             (long long)s->all, s->sum / (double)s->all,
             (long long)s->most, (long long)s->dropped);
    ctt_trainer_say(t, line);
    return 0;
}

const struct ctt_strategy ctt_parameter_server = {
    .option = sync_option, .why_not = sync_why_not, .share = share_workers,
    .who = name_workers, .open = open_rank, .close = close_server,
    .gradient = server_gradient, .work = ctt_worker_run, .end = end_workers,
    .tell = tell_late,
};
