/* SPDX-License-Identifier: Apache-2.0
 * carry.c: states that go from window to window of a text. */
#include "libtrain/trainer.h"
#include "libtrain/data/data.h"
#include "net/code/zip.h"
#include "run/back/exec.h"
#include "run/sample.h"

#include <string.h>

static struct ctt_run *run_of(const struct ctt_trainer *t)
{
    return t->task->exec(t->step)->r;
}

static int group_of(const struct ctt_trainer *t)
{
    return t->share.group > 1 ? t->share.group : 1;
}

int ctt_carry_open(struct ctt_trainer *t)
{
    struct ctt_carry *c = &t->carry;
    void *p[2] = { NULL, NULL };
    int rc = 0;

    if (!t->data->one)
        goto out;
    c->each = ctt_align(ctt_run_history_bytes(run_of(t)), 64);
    c->bytes = ctt_calloc((size_t)group_of(t), sizeof(*c->bytes));
    CTT_TRY(c->bytes ? 0 : CTT_ENOMEM);
    for (int k = 0; k < 2 && c->each; k++) {
        CTT_TRY(ctt_dev_alloc(t->dev, "states of a text",
                              c->each * t->shards.mine, &p[k]));
        CTT_TRY(ctt_dev_clear(t->dev, p[k], c->each * t->shards.mine));
    }
out:
    c->now = p[0];
    c->next = p[1];
    return rc;
}

void ctt_carry_close(struct ctt_trainer *t)
{
    void *p[2] = { t->carry.now, t->carry.next };

    for (int k = 0; k < 2; k++)
        if (p[k])
            ctt_dev_free(t->dev, &p[k]);
    ctt_free(t->carry.bytes);
    ctt_free(t->carry.kept);
}

/* ---- a step ---- */

int ctt_carry_begin(struct ctt_trainer *t)
{
    if (t->at.batch || !t->carry.each)
        return 0;
    return ctt_dev_clear(t->dev, t->carry.now,
                         t->carry.each * t->shards.mine);
}

void ctt_carry_turn(const struct ctt_trainer *t, int k, struct ctt_turn *turn)
{
    int64_t at = k * t->carry.each;

    turn->before = t->carry.each && t->at.batch ? t->carry.now + at : NULL;
    turn->after = t->carry.each ? t->carry.next + at : NULL;
}

void ctt_carry_keep(struct ctt_trainer *t)
{
    char *now = t->carry.now;

    t->carry.now = t->carry.next;
    t->carry.next = now;
}

/* ---- checkpoints ---- */

/* The place of shard k of a rank: the shards follow each other, and in a shard
 * the parts of the ranks that compute it together. */
static int64_t place_of(const struct ctt_trainer *t, int rank, int k)
{
    int64_t at = t->carry.all *
                 ((int64_t)(rank / group_of(t)) * t->shards.mine + k);

    for (int r = 0; r < rank % group_of(t); r++)
        at += t->carry.bytes[r];
    return at;
}

/* The states of shard k of this rank, or NULL: none. */
static char *states_of(const struct ctt_carry *c, int k)
{
    return c->each ? c->now + k * c->each : NULL;
}

int64_t ctt_carry_count(const struct ctt_trainer *t)
{
    return t->data->one && t->at.batch ? t->carry.all * t->shards.count : 0;
}

int ctt_carry_save(struct ctt_trainer *t, char *to)
{
    int ranks = ctt_comm_place(t->peers)->ranks, rc = 0;
    const struct ctt_carry *c = &t->carry;
    char *mine = ctt_calloc((size_t)c->most, 1);
    char *all = ctt_calloc((size_t)ranks, (size_t)c->most);

    CTT_TRY(mine && all ? 0 : CTT_ENOMEM);
    for (int k = 0; k < t->shards.mine; k++) {
        CTT_TRY(ctt_dev_copy(t->dev, CTT_TO_HOST, states_of(c, k), mine,
                             c->each));
        CTT_TRY(ctt_comm_allgather(t->peers, mine, c->most, all));
        for (int r = 0; to && r < ranks; r++)
            memcpy(to + place_of(t, r, k), all + r * c->most,
                   (size_t)c->bytes[r % group_of(t)]);
    }
out:
    ctt_free(mine);
    ctt_free(all);
    return rc;
}

static int restore_states(struct ctt_trainer *t)
{
    const struct ctt_carry *c = &t->carry;
    int rank = ctt_comm_place(t->peers)->rank, rc = 0;

    CTT_CHECK(!c->kept || c->kept_kind == c->kind, CTT_EINVAL, "the "
              "checkpoint's 'states' are of another division of the model: "
              "--resume with its --stages, --bands and --filters");
    CTT_CHECK(c->kept && c->count == ctt_carry_count(t), CTT_EFORMAT,
              "the checkpoint has no usable 'states'");
    for (int k = 0; k < t->shards.mine; k++)
        CTT_TRY(ctt_dev_copy(t->dev, CTT_TO_DEVICE, c->kept +
                             place_of(t, rank, k), states_of(c, k), c->each));
out:
    return rc;
}

int ctt_carry_meet(struct ctt_trainer *t)
{
    struct { int64_t bytes, kind; } mine = { 0, 0 }, *all = NULL;
    struct ctt_carry *c = &t->carry;
    const uint16_t one = 1;    /* values lie in this machine's order of bytes */
    uint32_t kind = ctt_crc32(0, &one, 1, sizeof(one));
    int rc = 0;

    if (!t->data->one)
        goto out;
    mine.bytes = c->each;
    mine.kind = ctt_sample_kind(run_of(t));
    all = ctt_calloc((size_t)ctt_comm_place(t->peers)->ranks, sizeof(*all));
    CTT_TRY(all ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_comm_allgather(t->peers, &mine, sizeof(mine), all));
    for (int r = 0; r < group_of(t); r++) {
        c->bytes[r] = all[r].bytes;
        c->all += all[r].bytes;
        c->most = all[r].bytes > c->most ? all[r].bytes : c->most;
        kind = ctt_crc32(kind, &all[r].kind, sizeof(all[r].kind), 1);
    }
    c->kind = kind;
    if (ctt_carry_count(t))
        CTT_TRY(restore_states(t));
    ctt_free(c->kept);
    c->kept = NULL;
out:
    ctt_free(all);
    return rc;
}
