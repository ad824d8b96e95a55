/* SPDX-License-Identifier: Apache-2.0
 * group.c: ranks that compute each shard together. */
#include "libtrain/ranks/group.h"
#include "libtrain/ranks/group_comm.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/data/load.h"
#include "libtrain/layers.h"
#include "libtrain/optim.h"
#include "libtrain/task.h"
#include "net/code/zip.h"
#include "net/op.h"
#include "net/rewrite/split.h"
#include "run/back/exec.h"

#include <string.h>

/* What each rank tells before a shard is computed: whether it has its clips. */
struct word {
    int      rc;
    uint32_t clips;    /* CRC-32 of the lengths of what has been read */
    char     why[CTT_ROW_TEXT], bad[CTT_ROW_TEXT];
};

/* Where weights are whose gradients the parts add up to. */
struct stretch { int64_t at, count; };

struct ctt_grouped {
    struct ctt_group_comm between;
    struct ctt_graph  *model;      /* the whole, with what is frozen */
    struct ctt_split  *split;
    struct word       *word;       /* of all ranks */
    struct stretch    *stretch;
    int                stretches;
    int64_t            partial;    /* floats of the stretches */
    float             *sum;        /* these, and room to add them up */
    float             *w, *dw;     /* weights of the part and the gradient of
                                      the whole, where they are not in the same
                                      places; in the program's memory, which is
                                      the device's */
};

/* ---- settings ---- */

/* The ways to divide a graph. */
static const struct {
    const char *name, *parts, *rest;
    size_t      at;
    int       (*split)(const struct ctt_graph *g, int part, int parts,
                       struct ctt_split **out);
} ways[] = {
    { "bands", "bands of rows", "all compute alike from there on",
      offsetof(struct ctt_train_cfg, bands), ctt_split_bands },
    { "filters", "parts of the filters", "the first conv that is not",
      offsetof(struct ctt_train_cfg, filters), ctt_split_filters },
    { "channels", "parts of the channels", "the first conv that is not",
      offsetof(struct ctt_train_cfg, channels), ctt_split_channels },
};

static int number_of(const struct ctt_train_cfg *cfg, size_t way)
{
    return *(const int *)((const char *)cfg + ways[way].at);
}

/* The row of the way that is asked for; CTT_LEN(ways): none is. */
static size_t way_of(const struct ctt_train_cfg *cfg)
{
    size_t w = 0;

    while (w < CTT_LEN(ways) && number_of(cfg, w) < 2)
        w++;
    return w;
}

const char *ctt_group_name(const struct ctt_train_cfg *cfg)
{
    size_t w = way_of(cfg);

    return w < CTT_LEN(ways) ? ways[w].name : "";
}

int ctt_group_parts(const struct ctt_train_cfg *cfg)
{
    size_t w = way_of(cfg);

    return w < CTT_LEN(ways) ? number_of(cfg, w) : 0;
}

int ctt_group_suits(const struct ctt_train_cfg *cfg)
{
    size_t w = way_of(cfg);
    struct ctt_memory m;
    int rc = 0;

    for (size_t o = 0; o < CTT_LEN(ways); o++)
        CTT_CHECK(number_of(cfg, o) != 1, CTT_EINVAL, "--%s=1 divides nothing: "
                  "it is for 2 processes or more", ways[o].name);
    if (w == CTT_LEN(ways))
        goto out;
    for (size_t o = w + 1; o < CTT_LEN(ways); o++)
        CTT_CHECK(number_of(cfg, o) < 2, CTT_EINVAL, "--%s and --%s exclude "
                  "each other", ways[w].name, ways[o].name);
    CTT_CHECK(!cfg->stages || !*cfg->stages, CTT_EINVAL, "--%s and --stages "
              "exclude each other", ways[w].name);
    CTT_CHECK(cfg->task != CTT_BOTH, CTT_EUNSUP, "--%s: --task=both has a "
              "second loss, which is not divided", ways[w].name);
    CTT_CHECK(cfg->amp == CTT_O0, CTT_EUNSUP, "--%s passes floats, so it does "
              "not go with --amp", ways[w].name);
    CTT_CHECK(strcmp(cfg->device, "cuda") != 0, CTT_EUNSUP, "--%s passes what "
              "is in the program's memory, so it is for --device=cpu",
              ways[w].name);
    CTT_CHECK(cfg->deterministic, CTT_EUNSUP, "--%s: what is whole is computed "
              "by all, who must come to the same bits: --deterministic must be "
              "on", ways[w].name);
    CTT_TRY(ctt_memory_parse(cfg, &m));
    CTT_CHECK(m.keep == CTT_KEEP_ALL, CTT_EUNSUP, "--%s: processes that have "
              "parts of another size would recompute other windows: --keep "
              "must be all", ways[w].name);
out:
    return rc;
}

int ctt_group_check(const struct ctt_train_cfg *cfg, int ranks)
{
    int parts = ctt_group_parts(cfg), rc = 0;

    CTT_CHECK(!parts || parts == ranks, CTT_EINVAL, "--%s=%d is for %d "
              "processes (mpirun -np %d), and there %s %d",
              ways[way_of(cfg)].name, parts, parts, parts,
              ranks > 1 ? "are" : "is", ranks);
out:
    return rc;
}

void ctt_group_say(const struct ctt_train_cfg *cfg,
                   const struct ctt_comm_place *p, char *line, size_t size)
{
    int each = cfg->shards > 1 ? cfg->batch / cfg->shards : cfg->batch;

    snprintf(line, size, "%d processes on %d machine%s with %s: %d shard%s of "
             "a batch, %d clip%s each", p->ranks, p->machines,
             p->machines > 1 ? "s" : "", ways[way_of(cfg)].parts, cfg->shards,
             cfg->shards > 1 ? "s" : "", each, each > 1 ? "s" : "");
}

/* ---- opening ---- */

/* The model's graph, which knows what --freeze names. */
static int copy_graph(const struct ctt_trainer *t, struct ctt_graph **out)
{
    char *text = ctt_net_print(t->m->g);
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_net_parse(text, out));
    ctt_freeze(*out, t->cfg);
out:
    ctt_free(text);
    return rc;
}

static int is_summed(const struct ctt_node *n, int k)
{
    return !(n->fixed >> k & 1);
}

static int find_stretches(struct ctt_grouped *p, const struct ctt_dev *dev)
{
    const struct ctt_graph *g = p->model;
    int64_t room;
    int rc = 0;

    p->stretch = ctt_calloc((size_t)ctt_weight_count(g) + 1,
                            sizeof(*p->stretch));
    CTT_TRY(p->stretch ? 0 : CTT_ENOMEM);
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw && p->split->partial[i]; k++) {
            const struct ctt_node *n = &g->node[i];
            struct stretch *s = &p->stretch[p->stretches];

            if (!is_summed(n, k))
                continue;
            *s = (struct stretch){ n->at[k], ctt_volume(&n->w[k]) };
            p->stretches++;
            p->partial += s->count;
        }
    room = ctt_dev_total_room(dev, p->partial);
    p->sum = ctt_calloc((size_t)(p->partial + room) + 1, sizeof(*p->sum));
    CTT_TRY(p->sum ? 0 : CTT_ENOMEM);
out:
    return rc;
}

static void say_split(const struct ctt_trainer *t)
{
    const struct ctt_split *s = t->group->split;
    const char *rest = ways[way_of(t->cfg)].rest;
    char line[256];

    snprintf(line, sizeof(line), "--%s: %d of %d nodes with %.1f%% of the "
             "multiplications are divided%s%s%s%s", ways[way_of(t->cfg)].name,
             s->nodes, t->group->model->count, 100 * s->share,
             s->whole ? "; " : "", s->whole ? rest : "",
             s->whole ? ": " : "", s->whole ? s->whole : "");
    ctt_trainer_say(t, line);
}

/* A part with weights in other places has some of its own, which are none of
 * the model's codings. */
static int open_apart(struct ctt_trainer *t)
{
    struct ctt_grouped *p = t->group;
    int rc;

    p->w = ctt_calloc((size_t)p->split->g->weights, sizeof(*p->w));
    p->dw = ctt_calloc((size_t)t->m->g->weights, sizeof(*p->dw));
    CTT_TRY(p->w && p->dw ? 0 : CTT_ENOMEM);
    CTT_TRY(t->task->open(p->split->g, p->w, t->cfg, t->dev, t->data,
                          &t->step));
out:
    return rc;
}

static int open_step(struct ctt_trainer *t)
{
    struct ctt_weight *weight = NULL;
    int rc;

    if (t->group->split->piece)
        return open_apart(t);
    CTT_TRY(t->task->open(t->group->split->g, t->optim->flat.w, t->cfg, t->dev,
                          t->data, &t->step));
    CTT_TRY(ctt_model_weights(t->m, &weight));
    CTT_TRY(ctt_run_weights(t->task->exec(t->step)->r, weight));
out:
    ctt_free(weight);
    return rc;
}

/* They run whole on each rank, on the device that passes values. */
static int check_teachers(const struct ctt_train_cfg *cfg)
{
    int rc = 0;

    for (int k = 0; cfg->taught_by && cfg->taught_by[k]; k++) {
        const struct ctt_graph *g = cfg->taught_by[k]->g;

        for (int i = 0; i < g->count; i++)
            CTT_CHECK(!ctt_is_exchange(&g->node[i]), CTT_EUNSUP, "--teacher: "
                      "%s passes values between processes, which --%s does "
                      "for itself", g->node[i].name, ctt_group_name(cfg));
    }
out:
    return rc;
}

int ctt_group_open(struct ctt_trainer *t)
{
    struct ctt_grouped *p = ctt_calloc(1, sizeof(*p));
    const struct ctt_comm_place *place = ctt_comm_place(t->comm);
    int rc = p ? 0 : CTT_ENOMEM;

    t->group = p;
    CTT_TRY(rc);
    CTT_TRY(check_teachers(t->cfg));
    ctt_group_comm_open(t->comm, &p->between);
    CTT_TRY(ctt_dev_join(t->dev, &p->between.group));
    p->word = ctt_calloc((size_t)place->ranks + 1, sizeof(*p->word));
    CTT_TRY(p->word ? 0 : CTT_ENOMEM);
    CTT_TRY(copy_graph(t, &p->model));
    CTT_TRY(ways[way_of(t->cfg)].split(p->model, place->rank, place->ranks,
                                       &p->split));
    CTT_TRY(find_stretches(p, t->dev));
    CTT_TRY(open_step(t));
    say_split(t);
out:
    return rc;
}

void ctt_group_close(struct ctt_trainer *t)
{
    struct ctt_grouped *p = t->group;

    if (!p)
        return;
    t->task->close(&t->step);
    if (t->dev)
        ctt_dev_join(t->dev, NULL);
    ctt_group_comm_close(&p->between);
    ctt_split_free(&p->split);
    ctt_graph_free(&p->model);
    ctt_free(p->word);
    ctt_free(p->stretch);
    ctt_free(p->sum);
    ctt_free(p->w);
    ctt_free(p->dw);
    ctt_free(p);
    t->group = NULL;
}

/* ---- a batch ---- */

/* The first error of a rank, or clips that not all of them have. */
static int agree(const struct ctt_trainer *t, const struct word *mine)
{
    const struct word *all = t->group->word + 1;
    int ranks = ctt_comm_place(t->comm)->ranks, rc = 0;

    CTT_TRY(
        ctt_comm_allgather(t->comm, mine, sizeof(*mine), t->group->word + 1));
    for (int r = 0; r < ranks; r++)
        if (all[r].rc < 0)
            return ctt_rank_error(all[r].rc, r, all[r].why);
    for (int r = 1; r < ranks; r++)
        CTT_CHECK(!all[r].bad[0] == !all[0].bad[0] &&
                  all[r].clips == all[0].clips, CTT_EIO, "rank %d and "
                  "rank 0 do not both read the clips: %s", r,
                  all[r].bad[0] ? all[r].bad : all[0].bad);
out:
    return rc;
}

/* Loads shard k.  What fails is told before anybody waits for values. */
static int load(struct ctt_trainer *t, struct ctt_batch *b, int k)
{
    struct word *mine = t->group->word;
    int rc;

    memset(mine, 0, sizeof(*mine));
    CTT_TRY(ctt_shards_begin(&t->shards, k, t->optim->flat.w));
    CTT_TRY(ctt_trainer_load(t, k, b));
    mine->clips = ctt_crc32(0, b->length, sizeof(*b->length), b->n);
    if (b->bad)
        snprintf(mine->bad, sizeof(mine->bad), "%s", b->bad);
out:
    mine->rc = rc < 0 ? rc : 0;
    if (rc < 0)
        snprintf(mine->why, sizeof(mine->why), "%s", ctt_errmsg());
    return agree(t, mine);
}

float *ctt_group_dw(const struct ctt_trainer *t)
{
    return t->group->dw ? t->group->dw : t->task->exec(t->step)->dw;
}

/* Before and after a step: weights of the part; what it has moved, and its
 * gradient, of which other parts' is 0. */
static void take_weights(const struct ctt_trainer *t)
{
    const struct ctt_grouped *p = t->group;

    if (p->w)
        ctt_split_take(p->split, t->optim->flat.w, p->w);
}

static void give_gradient(const struct ctt_trainer *t)
{
    const struct ctt_grouped *p = t->group;

    if (!p->w)
        return;
    memset(p->dw, 0, (size_t)t->m->g->weights * sizeof(*p->dw));
    ctt_split_give(p->split, 0, t->task->exec(t->step)->dw, p->dw);
    ctt_split_give(p->split, 1, p->w, t->optim->flat.w);
}

/* Which node made a loss that is not finite is not looked for, as each rank
 * would end at its own. */
static int run_shard(struct ctt_trainer *t, struct ctt_batch *b,
                     struct ctt_turn *turn, int k)
{
    struct ctt_row *row = &t->mine[k];
    struct ctt_turn own = *turn;
    int rc;

    memset(row, 0, sizeof(*row));
    CTT_TRY(load(t, b, k));
    snprintf(row->bad, sizeof(row->bad), "%s", t->group->word->bad);
    own.batch = b;
    own.shard = k;
    own.skips = 1;
    take_weights(t);
    CTT_TRY(row->none = t->task->run(t->step, &own, &row->sums));
    give_gradient(t);
    if (!row->none)
        CTT_TRY(ctt_shards_add(&t->shards, k, &t->m->constraint,
                               t->optim->flat.w, ctt_group_dw(t)));
out:
    return rc < 0 ? rc : 0;
}

/* The stretches of dw go to p->sum, or come from it. */
static int move(const struct ctt_trainer *t, enum ctt_direction way, float *dw)
{
    const struct ctt_grouped *p = t->group;
    float *host = p->sum;
    int rc = 0;

    for (int i = 0; i < p->stretches; i++) {
        const struct stretch *s = &p->stretch[i];
        float *at = dw + s->at;

        CTT_TRY(ctt_dev_copy(t->dev, way, way == CTT_TO_HOST ? at : host,
                             way == CTT_TO_HOST ? host : at,
                             s->count * (int64_t)sizeof(*at)));
        host += s->count;
    }
out:
    return rc;
}

static int add_parts(struct ctt_trainer *t, float *dw)
{
    struct ctt_grouped *p = t->group;
    int rc;

    CTT_TRY(move(t, CTT_TO_HOST, dw));
    CTT_TRY(ctt_dev_total(t->dev, p->sum, p->partial, p->sum + p->partial));
    CTT_TRY(move(t, CTT_TO_DEVICE, dw));
out:
    return rc;
}

int ctt_group_gradient(struct ctt_trainer *t, struct ctt_batch *b,
                       struct ctt_turn *turn, double *scale)
{
    float *w = t->optim->flat.w, *dw = ctt_group_dw(t);
    struct ctt_sums sums = { 0 };
    int rc = 0, none = 0, undone = 0;

    ctt_trainer_weigh(t, turn);
    for (int k = 0; k < t->shards.mine && !none; k++) {
        CTT_TRY(run_shard(t, b, turn, k));
        CTT_TRY(none = ctt_trainer_rows(t, 0, &t->mine[k], 1, &sums));
    }
    if (!none) {
        CTT_TRY(ctt_shards_end(&t->shards, turn->step, turn->scale, w, dw));
        CTT_TRY(add_parts(t, dw));
        ctt_trainer_add(&t->at.sums, &sums);
    }
    *scale = ctt_trainer_scale(turn, &sums);
out:
    if (rc < 0 || none)
        undone = ctt_shards_undo(&t->shards, w);
    return rc < 0 ? rc : undone < 0 ? undone : none;
}

void ctt_group_tell(const struct ctt_trainer *t)
{
    const struct ctt_group_comm *b = &t->group->between;
    double steps = (double)(t->at.step - t->first);
    char line[192];

    if (steps <= 0)
        return;
    snprintf(line, sizeof(line), "--%s: %.3g MB sent in %.0f exchanges and "
             "%.0f%% of the time of a step, waits included",
             ways[way_of(t->cfg)].name, b->bytes / steps / 1e6,
             (double)b->calls / steps, t->train_seconds > 0
             ? 100 * b->seconds / t->train_seconds : 0);
    ctt_trainer_say(t, line);
}
