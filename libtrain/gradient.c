/* SPDX-License-Identifier: Apache-2.0
 * gradient.c: the gradient of a batch, whose shards are loaded and computed one
 * after the other, each rank its own. */
#include "libtrain/trainer.h"
#include "libtrain/chance.h"
#include "libtrain/data/load.h"
#include "libtrain/optim.h"
#include "libtrain/ranks/groups.h"
#include "base/span.h"
#include "run/back/exec.h"

#include <math.h>
#include <string.h>

/* Uploads the frames of a shard, or forgets those that were. */
static int send_frames(struct ctt_trainer *t, const struct ctt_batch *b)
{
    const struct ctt_input *in = &t->data->in;
    double start = ctt_span_begin();
    int rc;

    if (b && b->shots)
        rc = ctt_dev_render(t->dev, b->shots, (float *)b->x);
    else
        rc = ctt_dev_prefetch(t->dev, b ? b->x : NULL, b ? (int64_t)b->steps *
                              b->n * in->h * in->w * in->c : 0);
    if (b && !ctt_dev_shared(t->dev))
        ctt_span_end(CTT_SPAN_COPY, start);
    return rc;
}

/* Uploads the frames of the next shard while the backward pass runs. */
static int prefetch(struct ctt_trainer *t)
{
    struct ctt_batch b;
    int ready = ctt_loader_peek(t->loader, &b);

    t->ahead = ready ? b.x : NULL;
    return send_frames(t, ready ? &b : NULL);
}

void ctt_trainer_plan(struct ctt_trainer *t, int64_t epoch)
{
    t->plan->a = ctt_augment_of(t->cfg, ctt_key(ctt_key(t->seed,
                                CTT_KEY_IMAGE), (uint64_t)epoch) | 1);
    ctt_order_make(t->data, &t->buckets, 1,
                   ctt_key(ctt_key(t->seed, CTT_KEY_ORDER), (uint64_t)epoch),
                   t->plan);
}

int ctt_trainer_load(struct ctt_trainer *t, int k, struct ctt_batch *b)
{
    int rc;

    if (k) {
        CTT_TRY(ctt_dev_sync(t->dev));
        ctt_loader_done(t->loader);
    }
    CTT_TRY(ctt_loader_next(t->loader, b, &t->wait));
    CTT_CHECK(rc == 1, CTT_EINVAL, "a batch ends after %d of %d shards",
              t->shards.first + k, t->shards.count);
out:
    return ctt_groups_meet(t, b, rc < 0 ? rc : 0);
}

int ctt_trainer_frames(struct ctt_trainer *t, const struct ctt_batch *b)
{
    int rc = b->shots && t->ahead != b->x ? send_frames(t, b) : 0;

    t->ahead = NULL;
    return rc;
}

void ctt_trainer_add(struct ctt_sums *to, const struct ctt_sums *s)
{
    to->loss += s->loss;
    to->weight += s->weight;
    to->right += s->right;
    to->clips += s->clips;
    to->ahead += s->ahead;
    to->values += s->values;
    to->squares += s->squares;
}

/* ---- the gradient noise scale ---- */

/* Adds the squares of a shard's gradient; none of one that is not finite. */
static int hear_shard(struct ctt_trainer *t, float *dw, double *squares)
{
    struct ctt_stretch all = { 0, t->m->g->weights };
    double sum = 0;
    int rc = 0;

    if (t->hears && !t->optim->flat.constraint.share)
        CTT_TRY(ctt_optim_squares(t->optim, dw, all, &sum));
    *squares += isfinite(sum) ? sum : 0;
out:
    return rc;
}

/* A shard's gradient has been divided by the whole batch's clips. */
void ctt_noise_add(struct ctt_trainer *t, double squares, double norm,
                   double scale)
{
    double by = 1 / (scale * scale);

    if (squares > 0) {
        t->noise.shards += t->shards.count * squares * by;
        t->noise.batches += norm * norm * by;
    }
}

/* Of their appendix A.1: the squares that shards and batches of so many clips
 * have in the mean are those of the true gradient, plus noise / clips. */
double ctt_noise_scale(const struct ctt_trainer *t)
{
    double n = t->shards.count, batch = t->cfg->batch;
    double sum = n * t->noise.batches - t->noise.shards;    /* (n - 1) G^2 */
    double rest = batch * (t->noise.shards - t->noise.batches);

    return sum > 0 ? fmax(0, rest / sum) : NAN;
}

/* ---- a batch ---- */

/* row->none: 1 if the shard has no gradient. */
static int run_shard(struct ctt_trainer *t, struct ctt_turn *turn, int k,
                     struct ctt_row *row)
{
    struct ctt_exec *x = t->task->exec(t->step);
    int rc = 0;

    turn->shard = t->shards.first + k;
    CTT_TRY(ctt_trainer_frames(t, turn->batch));
    CTT_TRY(ctt_groups_run(t, turn, row));
    CTT_TRY(prefetch(t));
    if (!row->none)
        CTT_TRY(hear_shard(t, x->dw, &row->sums.squares));
    if (!row->none)
        CTT_TRY(ctt_shards_add(&t->shards, k, &t->m->constraint,
                               t->optim->flat.w, x->dw));
out:
    return rc < 0 ? rc : 0;
}

/* Of a shard that is not computed: its frames may be on their way to the
 * device, and their memory is for others next. */
static int skip_shard(struct ctt_trainer *t)
{
    int rc;

    t->ahead = NULL;
    CTT_TRY(ctt_dev_prefetch(t->dev, NULL, 0));    /* nobody puts them */
    CTT_TRY(ctt_dev_sync(t->dev));
out:
    return rc;
}

/* Loads shard k and computes its gradient; fills its row.  skip: 1: only loads
 * the shard. */
static int load_and_run(struct ctt_trainer *t, struct ctt_batch *b,
                        struct ctt_turn *turn, int k, int skip)
{
    struct ctt_row *row = &t->mine[k];
    int rc;

    CTT_TRY(ctt_shards_begin(&t->shards, k, t->optim->flat.w));
    CTT_TRY(ctt_trainer_load(t, k, b));
    if (skip)
        CTT_TRY(skip_shard(t));
    else
        CTT_TRY(run_shard(t, turn, k, row));
out:
    return rc;
}

int ctt_trainer_shards(struct ctt_trainer *t, struct ctt_batch *b,
                       struct ctt_turn *turn)
{
    int none = 0, rc = 0;

    turn->batch = b;
    memset(t->mine, 0, (size_t)t->shards.mine * sizeof(*t->mine));
    for (int k = 0; k < t->shards.mine && rc >= 0; k++) {
        struct ctt_row *row = &t->mine[k];

        rc = load_and_run(t, b, turn, k, none);
        none |= row->none;
        if (ctt_groups_apart(t, rc))
            return rc;
        if (rc < 0)
            ctt_groups_blame(rc, row);
    }
    return 0;
}

int ctt_trainer_rows(int rank, const struct ctt_row *row, int rows,
                     struct ctt_sums *sums)
{
    int none = 0;

    for (int k = 0; k < rows; k++, row++) {
        if (row->rc < 0)
            return ctt_rank_error(row->rc, rank, row->why);
        ctt_trainer_add(sums, &row->sums);
        none |= row->none;
    }
    return none;
}

void ctt_trainer_weigh(const struct ctt_trainer *t, struct ctt_turn *turn)
{
    turn->weight = t->shards.count > 1 ? t->task->weight(t->step, t->cfg->batch)
                                       : 0;
}

double ctt_trainer_scale(const struct ctt_turn *turn,
                         const struct ctt_sums *sums)
{
    if (turn->weight > 0 && sums->weight > 0)
        return turn->scale * (sums->weight / turn->weight);
    return turn->scale;
}

int ctt_trainer_undo(struct ctt_trainer *t, int rc, int none)
{
    int undone = 0;

    if (rc < 0 || none)
        undone = ctt_shards_undo(&t->shards, t->optim->flat.w);
    return rc < 0 ? rc : undone < 0 ? undone : none;
}
