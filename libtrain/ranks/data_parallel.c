/* SPDX-License-Identifier: Apache-2.0
 * data_parallel.c: data parallel training: each rank has all weights, computes
 * its shards of a batch with the whole graph, and an all-reduce adds the
 * gradients.  One process is the case of one rank. */
#include "libtrain/ranks/groups.h"
#include "libtrain/ranks/strategy.h"
#include "libtrain/optim.h"

static int share_equally(const struct ctt_train_cfg *cfg,
                 const struct ctt_comm_place *p, struct ctt_share *out)
{
    int rc = 0, fewer = 1;

    (void)cfg;
    while (2 * fewer <= p->ranks)
        fewer *= 2;
    CTT_CHECK(fewer == p->ranks, CTT_EINVAL, "%d processes: not a power of two "
              "(mpirun -np %d or %d)", p->ranks, fewer, 2 * fewer);
    *out = (struct ctt_share){ .parts = p->ranks, .part = p->rank };
out:
    return rc;
}

static void name_processes(const struct ctt_train_cfg *cfg, int ranks,
                           char *text, size_t size)
{
    (void)cfg;
    snprintf(text, size, "%d process%s", ranks, ctt_es(ranks));
}

static int reduced_gradient(struct ctt_trainer *t, struct ctt_batch *b,
                    struct ctt_turn *turn, double *scale)
{
    struct ctt_sums sums = { 0 };
    int rc = 0, none = 0;

    ctt_trainer_weigh(t, turn);
    CTT_TRY(ctt_trainer_shards(t, b, turn));
    CTT_TRY(none = ctt_groups_rows(t, &sums));
    if (!none) {
        CTT_TRY(ctt_shards_end(&t->shards, turn->step, turn->scale,
                               t->optim->flat.w, t->dw));
        ctt_trainer_add(&t->at.sums, &sums);
    }
    *scale = ctt_trainer_scale(turn, &sums);
out:
    return ctt_trainer_undo(t, rc, none);
}

/* Says how few bytes --squeeze has sent. */
static int tell_squeezed(struct ctt_trainer *t)
{
    char line[128];

    if (t->shards.how.kind == CTT_SQUEEZE_NONE || t->at.step == t->first)
        return 0;
    snprintf(line, sizeof(line), "--squeeze=%s: %.2f%% of the bytes of "
             "--squeeze=none", t->cfg->squeeze,
             100 * ctt_shards_sent(&t->shards));
    ctt_trainer_say(t, line);
    return 0;
}

const struct ctt_strategy ctt_data_parallel = {
    .share = share_equally, .who = name_processes,
    .open = ctt_trainer_open_step, .gradient = reduced_gradient,
    .tell = tell_squeezed, .all_reduce = 1, .blames = 1,
};
