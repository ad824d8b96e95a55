/* SPDX-License-Identifier: Apache-2.0
 * gradient.c: the gradient of a batch, whose shards are loaded and computed one
 * after the other. */
#include "libtrain/trainer.h"
#include "libtrain/data/load.h"
#include "libtrain/optim.h"
#include "run/back/exec.h"

/* Uploads the frames of the next shard while the backward pass runs. */
static int prefetch(struct ctt_trainer *t)
{
    struct ctt_batch b;

    if (!ctt_loader_peek(t->loader, &b))
        return ctt_dev_prefetch(t->dev, NULL, 0);
    return ctt_dev_prefetch(t->dev, b.x, (int64_t)b.steps * b.n *
                            t->data->in.h * t->data->in.w * t->data->in.c);
}

/* Waits until the frames of a shard are read, and for the next one. */
static int next_shard(struct ctt_trainer *t, struct ctt_batch *b)
{
    int rc;

    CTT_TRY(ctt_dev_sync(t->dev));
    ctt_loader_done(t->loader);
    CTT_TRY(ctt_loader_next(t->loader, b, &t->wait));
    CTT_CHECK(rc == 1, CTT_EINVAL, "a batch ends after %d of %d "
              "shards", t->shards.count - 1, t->shards.count);
out:
    return rc < 0 ? rc : 0;
}

static void add(struct ctt_sums *to, const struct ctt_sums *s)
{
    to->loss += s->loss;
    to->weight += s->weight;
    to->right += s->right;
    to->clips += s->clips;
    to->ahead += s->ahead;
    to->values += s->values;
}

static void tell_bad(const struct ctt_trainer *t, const struct ctt_batch *b)
{
    if (b->bad && t->ev && t->ev->clip)
        t->ev->clip(t->ev->arg, b->bad);
}

/* Returns 1 if the shard has no gradient. */
static int run_shard(struct ctt_trainer *t, struct ctt_turn *turn,
                     struct ctt_sums *sums)
{
    struct ctt_exec *x = t->task->exec(t->step);
    struct ctt_sums one = { 0 };
    int rc = 0, none;

    CTT_TRY(ctt_shards_begin(&t->shards, turn->shard, t->optim->flat.w));
    CTT_TRY(none = t->task->run(t->step, turn, &one));
    CTT_TRY(prefetch(t));
    if (!none)
        CTT_TRY(ctt_shards_add(&t->shards, turn->shard, t->optim->flat.w,
                               x->dw));
    add(sums, &one);
    rc = none;
out:
    return rc;
}

int ctt_trainer_gradient(struct ctt_trainer *t, struct ctt_batch *b,
                         struct ctt_turn *turn, double *scale)
{
    int shards = t->shards.count, rc = 0, none = 0, undone = 0;
    struct ctt_sums sums = { 0 };

    turn->batch = b;
    turn->weight = shards > 1 ? t->task->weight(t->step, t->cfg->batch) : 0;
    for (int k = 0; k < shards; k++) {
        turn->shard = k;
        if (k)
            CTT_TRY(next_shard(t, b));
        tell_bad(t, b);
        if (!none)
            CTT_TRY(none = run_shard(t, turn, &sums));
        else    /* nobody puts its frames */
            CTT_TRY(ctt_dev_prefetch(t->dev, NULL, 0));
    }
    if (!none)
        add(&t->at.sums, &sums);
    *scale = turn->scale;
    if (turn->weight > 0 && sums.weight > 0)
        *scale *= sums.weight / turn->weight;
out:
    if (rc < 0 || none)
        undone = ctt_shards_undo(&t->shards, t->optim->flat.w);
    return rc < 0 ? rc : undone < 0 ? undone : none;
}
