/* SPDX-License-Identifier: Apache-2.0
 * groups.c: the groups of ranks, and what they agree on in a batch. */
#include "libtrain/ranks/groups.h"
#include "libtrain/data/load.h"
#include "libtrain/ranks/strategy.h"
#include "libtrain/task.h"
#include "net/code/zip.h"

/* ---- who works with whom ---- */

int ctt_groups_share(const char *option, int of,
                     const struct ctt_comm_place *p, struct ctt_share *out)
{
    int groups = p->ranks / of, rc = 0;

    CTT_CHECK(groups * of == p->ranks && groups && !(groups & (groups - 1)),
              CTT_EINVAL, "--%s is for %d processes, or 2, 4, 8 .. times as "
              "many (mpirun -np %d, %d, %d), and there %s %d", option, of, of,
              2 * of, 4 * of, p->ranks > 1 ? "are" : "is", p->ranks);
    *out = (struct ctt_share){ .parts = groups, .part = p->rank / of,
                               .group = of };
out:
    return rc;
}

/* The ranks whose batch norms have statistics together: without --sync-norm
 * those that have rows of the same images.  A section is computed by one rank
 * of each group. */
static struct ctt_comm *norms_of(const struct ctt_trainer *t)
{
    if (!t->cfg->sync_norm)
        return t->cfg->bands ? t->group : NULL;
    return t->strategy->together ? t->peers : t->across;
}

static int check_at_once(const struct ctt_trainer *t)
{
    int shards = t->cfg->batch / ctt_cfg_shard(t->cfg), rc = 0;

    CTT_CHECK(!t->cfg->sync_norm || shards <= t->share.parts, CTT_EINVAL,
              "--sync-norm needs all shards at once, and --shards=%d would be "
              "%d one after the other in a process: --shards=%d", shards,
              shards / t->share.parts, t->share.parts);
out:
    return rc;
}

int ctt_groups_open(struct ctt_trainer *t)
{
    const struct ctt_comm_place *p = ctt_comm_place(t->comm);
    int rc;

    CTT_TRY(t->strategy->share(t->cfg, p, &t->share));
    CTT_TRY(check_at_once(t));
    t->across = t->peers;
    if (t->share.group > 1) {
        t->across = NULL;
        CTT_TRY(ctt_comm_split(t->peers, t->share.part, &t->group));
        CTT_TRY(ctt_comm_split(t->peers, p->rank % t->share.group,
                               &t->across));
    }
    t->lock = t->cfg->sync_norm ? t->peers :
              t->strategy->together ? t->group : NULL;
    ctt_group_comm_open(norms_of(t), &t->norms);
    t->met = ctt_calloc((size_t)ctt_comm_place(t->lock)->ranks,
                        sizeof(*t->met));
    CTT_TRY(t->met ? 0 : CTT_ENOMEM);
out:
    return rc;
}

void ctt_groups_close(struct ctt_trainer *t)
{
    ctt_group_comm_close(&t->norms);
    if (t->group)
        ctt_comm_close(&t->group);
    if (t->across && t->across != t->peers)
        ctt_comm_close(&t->across);
    ctt_free(t->met);
}

/* ---- a batch ---- */

int ctt_groups_meet(struct ctt_trainer *t, const struct ctt_batch *b,
                    int loaded)
{
    const struct ctt_comm_place *p = ctt_comm_place(t->lock);
    struct ctt_met mine = { .rc = loaded, .part = t->share.part };
    int rc = loaded;

    t->told = 0;
    if (!t->lock)
        goto out;
    if (loaded >= 0)
        mine.clips = ctt_crc32(0, b->length, sizeof(*b->length), b->n);
    CTT_TRY(ctt_comm_allgather(t->lock, &mine, sizeof(mine), t->met));
    t->told = 1;
    CTT_TRY(loaded);
    for (int r = 0; r < p->ranks; r++)
        if (t->met[r].rc < 0)    /* its row says why */
            return ctt_error(t->met[r].rc, "%s", "");
    for (int r = 1; r < p->ranks; r++)
        CTT_CHECK(t->met[r].part != t->met[r - 1].part || t->met[r].clips ==
                  t->met[r - 1].clips, CTT_EIO, "processes that compute a "
                  "shard together read different clips: --data must be the "
                  "same on each machine");
    t->told = 0;
out:
    return rc;
}

int ctt_groups_apart(const struct ctt_trainer *t, int rc)
{
    return rc < 0 && t->lock && !t->told;
}

void ctt_groups_blame(int rc, struct ctt_row *row)
{
    row->rc = rc;
    snprintf(row->why, sizeof(row->why), "%s", ctt_errmsg());
}

/* Sets *none to 1 if it is 1 on a rank. */
static int agree(struct ctt_trainer *t, int *none)
{
    const struct ctt_met mine = { .rc = *none };
    int rc;

    CTT_TRY(ctt_comm_allgather(t->lock, &mine, sizeof(mine), t->met));
    for (int r = 0; r < ctt_comm_place(t->lock)->ranks; r++)
        *none |= t->met[r].rc;
out:
    return rc;
}

int ctt_groups_run(struct ctt_trainer *t, struct ctt_turn *turn,
                   struct ctt_row *row)
{
    struct ctt_turn own;
    int rc;

    ctt_carry_turn(t, turn->shard - t->shards.first, turn);
    own = *turn;
    own.skips |= t->lock != NULL;    /* who looked for the node would run the
                                        passes alone */
    if (!t->lock || !t->cfg->sync_norm) {
        CTT_TRY(row->none = t->task->run(t->step, &own, &row->sums));
        goto out;
    }
    CTT_TRY(row->none = t->task->forward(t->step, &own, &row->sums));
    CTT_TRY(agree(t, &row->none));
    if (!row->none)
        CTT_TRY(t->task->backward(t->step));
out:
    return rc < 0 ? rc : 0;
}

int ctt_groups_rows(struct ctt_trainer *t, struct ctt_sums *sums)
{
    int n = t->shards.mine, ranks = ctt_comm_place(t->peers)->ranks;
    int of = t->share.group > 1 ? t->share.group : 1, rc = 0, none = 0;

    CTT_TRY(ctt_comm_allgather(t->peers, t->mine, n * (int64_t)sizeof(*t->mine),
                               t->row));
    for (int i = 0; i < ranks * n; i++)
        if (t->row[i].rc < 0 && t->row[i].why[0])
            return ctt_rank_error(t->row[i].rc, i / n, t->row[i].why);
    for (int r = of - 1; r < ranks; r += of) {
        CTT_TRY(ctt_trainer_rows(r, t->row + r * n, n, sums));
        none |= rc;
    }
    rc = none;
out:
    return rc;
}
