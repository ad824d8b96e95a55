/* SPDX-License-Identifier: Apache-2.0
 * tensor_parallel.c: --bands and --filters: the ranks of a group compute each
 * of its shards together, each a part of the nodes' values
 * (net/rewrite/split.h): rows (spatial partition) or filters.  Each rank has
 * all weights and updates them all, by the sum of the parts' gradients. */
#include "libtrain/ranks/groups.h"
#include "libtrain/ranks/strategy.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/layers.h"
#include "libtrain/optim.h"
#include "libtrain/task.h"
#include "net/op.h"
#include "net/rewrite/split.h"
#include "run/back/exec.h"

#include <string.h>

/* Weights whose gradient is the sum of the parts. */
struct stretch { int64_t at, count; };

struct tensor_parallel {
    struct ctt_group_comm between;
    struct ctt_graph  *model;      /* the whole, with frozen nodes marked */
    struct ctt_split  *split;
    struct stretch    *stretch;
    int                stretches;
    int64_t            partial;    /* floats of the stretches */
    float             *sum;        /* copy of the stretches, and room to add */
    float             *w, *dw;     /* weights of the part and the gradient of
                                      the whole, if their places differ; in the
                                      program's memory, also the device's */
};

/* ---- settings ---- */

/* The divisions of a graph. */
static const struct division {
    const char *name, *parts, *rest;
    size_t      at;
    int       (*split)(const struct ctt_graph *g, int part, int parts,
                       struct ctt_split **out);
} divisions[] = {
    { "bands", "bands of rows", "all compute alike from there on",
      offsetof(struct ctt_train_cfg, bands), ctt_split_bands },
    { "filters", "parts of the filters", "the first conv that is not",
      offsetof(struct ctt_train_cfg, filters), ctt_split_filters },
};
enum { DIVISIONS = CTT_LEN(divisions) };

static int parts_of(const struct ctt_train_cfg *cfg, const struct division *d)
{
    return *(const int *)((const char *)cfg + d->at);
}

/* The division that the settings ask for, or NULL. */
static const struct division *division_of(const struct ctt_train_cfg *cfg)
{
    for (int k = 0; k < DIVISIONS; k++)
        if (parts_of(cfg, &divisions[k]))
            return &divisions[k];
    return NULL;
}

static const char *division_option(const struct ctt_train_cfg *cfg)
{
    const struct division *d = division_of(cfg);

    return d ? d->name : NULL;
}

static int division_why_not(const struct ctt_train_cfg *cfg)
{
    const struct division *d = division_of(cfg);
    struct ctt_memory m;
    int rc = 0;

    CTT_CHECK(parts_of(cfg, d) > 1, CTT_EINVAL, "--%s=1 divides nothing: "
              "it is for 2 processes or more", d->name);
    for (const struct division *o = d + 1; o < divisions + DIVISIONS; o++)
        CTT_CHECK(!parts_of(cfg, o), CTT_EINVAL, "--%s and --%s exclude "
                  "each other", d->name, o->name);
    CTT_CHECK(cfg->task != CTT_BOTH, CTT_EUNSUP, "--%s: --task=both has a "
              "second loss, which is not divided", d->name);
    CTT_CHECK(!ctt_dev_has(cfg->device, CTT_DEV_OWN_MEMORY), CTT_EUNSUP,
              "--%s passes values in the program's memory, so it is for "
              "--device=cpu", d->name);
    CTT_CHECK(cfg->deterministic, CTT_EUNSUP, "--%s: all processes compute the "
              "undivided nodes, to the same bits: --deterministic must be on",
              d->name);
    CTT_TRY(ctt_memory_parse(cfg, &m));
    CTT_CHECK(m.keep == CTT_KEEP_ALL, CTT_EUNSUP, "--%s: processes with parts "
              "of another size would recompute other windows: --keep must be "
              "all", d->name);
out:
    return rc;
}

static int share_by_part(const struct ctt_train_cfg *cfg,
                         const struct ctt_comm_place *p, struct ctt_share *out)
{
    const struct division *d = division_of(cfg);
    int parts = parts_of(cfg, d);
    char option[32];

    snprintf(option, sizeof(option), "%s=%d", d->name, parts);
    return ctt_groups_share(option, parts, p, out);
}

static void name_parts(const struct ctt_train_cfg *cfg, int ranks, char *text,
                       size_t size)
{
    snprintf(text, size, "%d processes with %s", ranks,
             division_of(cfg)->parts);
}

/* ---- opening ---- */

/* A copy of the model's graph, with frozen nodes marked. */
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

static int find_stretches(struct tensor_parallel *p, const struct ctt_dev *dev)
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
    const struct division *d = division_of(t->cfg);
    const struct tensor_parallel *p = t->state;
    const struct ctt_split *s = p->split;
    char line[256];

    snprintf(line, sizeof(line), "--%s: %d of %d nodes with %.1f%% of the "
             "multiplications are divided%s%s%s%s", d->name, s->nodes,
             p->model->count, 100 * s->share, s->whole ? "; " : "",
             s->whole ? d->rest : "", s->whole ? ": " : "",
             s->whole ? s->whole : "");
    ctt_trainer_say(t, line);
}

/* A part with weights in other places has a copy of them, in floats. */
static int open_apart(struct ctt_trainer *t)
{
    struct tensor_parallel *p = t->state;
    int rc;

    p->w = ctt_calloc((size_t)p->split->g->weights, sizeof(*p->w));
    p->dw = ctt_calloc((size_t)t->m->g->weights, sizeof(*p->dw));
    CTT_TRY(p->w && p->dw ? 0 : CTT_ENOMEM);
    t->dw = p->dw;
    CTT_TRY(t->task->open(p->split->g, p->w, t->cfg, t->dev, t->data,
                          &t->step));
out:
    return rc;
}

static int open_split(struct ctt_trainer *t)
{
    const struct tensor_parallel *p = t->state;
    struct ctt_weight *weight = NULL;
    int rc;

    if (p->split->piece)
        return open_apart(t);
    CTT_TRY(t->task->open(p->split->g, t->optim->flat.w, t->cfg, t->dev,
                          t->data, &t->step));
    CTT_TRY(ctt_model_weights(t->m, &weight));
    CTT_TRY(ctt_run_weights(t->task->exec(t->step)->r, weight));
out:
    ctt_free(weight);
    return rc;
}

/* Teachers run whole on each rank, on the device that passes values. */
static int check_teachers(const struct ctt_train_cfg *cfg)
{
    int rc = 0;

    for (int k = 0; cfg->wiring.teachers && cfg->wiring.teachers[k]; k++) {
        const struct ctt_graph *g = cfg->wiring.teachers[k]->g;

        for (int i = 0; i < g->count; i++)
            CTT_CHECK(!ctt_is_exchange(&g->node[i]), CTT_EUNSUP, "--teacher: "
                      "%s passes values between processes, which --%s does "
                      "for itself", g->node[i].name, division_option(cfg));
    }
out:
    return rc;
}

static int open_parts(struct ctt_trainer *t)
{
    struct tensor_parallel *p = ctt_calloc(1, sizeof(*p));
    const struct ctt_comm_place *place = ctt_comm_place(t->group);
    int rc = p ? 0 : CTT_ENOMEM;

    t->state = p;
    CTT_TRY(rc);
    CTT_TRY(check_teachers(t->cfg));
    ctt_group_comm_open(t->group, &p->between);
    CTT_TRY(ctt_dev_join(t->dev, &p->between.group));
    CTT_TRY(copy_graph(t, &p->model));
    CTT_TRY(division_of(t->cfg)->split(p->model, place->rank, place->ranks,
                                       &p->split));
    CTT_TRY(find_stretches(p, t->dev));
    CTT_TRY(open_split(t));
    say_split(t);
out:
    return rc;
}

static void close_parts(struct ctt_trainer *t)
{
    struct tensor_parallel *p = t->state;

    t->task->close(&t->step);
    if (t->dev)
        ctt_dev_join(t->dev, NULL);
    ctt_group_comm_close(&p->between);
    ctt_split_free(&p->split);
    ctt_graph_free(&p->model);
    ctt_free(p->stretch);
    ctt_free(p->sum);
    ctt_free(p->w);
    ctt_free(p->dw);
    ctt_free(p);
    t->state = NULL;
}

/* ---- a batch ---- */

/* Before a step: the weights of the part. */
static void take_weights(const struct ctt_trainer *t)
{
    const struct tensor_parallel *p = t->state;

    if (p->w)
        ctt_split_take(p->split, t->optim->flat.w, p->w);
}

/* After a step: the weights that it has moved, and its gradient, 0 for other
 * parts. */
static void give_gradient(const struct ctt_trainer *t)
{
    const struct tensor_parallel *p = t->state;

    if (!p->w)
        return;
    memset(p->dw, 0, (size_t)t->m->g->weights * sizeof(*p->dw));
    ctt_split_give(p->split, 0, t->task->exec(t->step)->dw, p->dw);
    ctt_split_give(p->split, 1, p->w, t->optim->flat.w);
}

/* skip: 1: only loads the shard. */
static int run_shard(struct ctt_trainer *t, struct ctt_batch *b,
                     struct ctt_turn *turn, int k, int skip)
{
    struct ctt_row *row = &t->mine[k];
    int rc;

    CTT_TRY(ctt_shards_begin(&t->shards, k, t->optim->flat.w));
    CTT_TRY(ctt_trainer_load(t, k, b));
    if (skip)
        goto out;
    CTT_TRY(ctt_trainer_frames(t, b));
    turn->batch = b;
    turn->shard = t->shards.first + k;
    take_weights(t);
    CTT_TRY(ctt_groups_run(t, turn, row));
    give_gradient(t);
    if (!row->none)
        CTT_TRY(ctt_shards_add(&t->shards, k, &t->m->constraint,
                               t->optim->flat.w, t->dw));
out:
    return rc;
}

/* The group's shards, until one has failed.  After one without gradient they
 * are only loaded. */
static int run_shards(struct ctt_trainer *t, struct ctt_batch *b,
                      struct ctt_turn *turn)
{
    int rc = 0, none = 0;

    memset(t->mine, 0, (size_t)t->shards.mine * sizeof(*t->mine));
    for (int k = 0; k < t->shards.mine && rc >= 0; k++) {
        rc = run_shard(t, b, turn, k, none);
        none |= t->mine[k].none;
        if (ctt_groups_apart(t, rc))
            return rc;
        if (rc < 0)
            ctt_groups_blame(rc, &t->mine[k]);
    }
    return 0;
}

/* The stretches of dw go to p->sum, or come from it. */
static int copy_stretches(const struct ctt_trainer *t, enum ctt_direction way,
                          float *dw)
{
    const struct tensor_parallel *p = t->state;
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
    struct tensor_parallel *p = t->state;
    int rc;

    CTT_TRY(copy_stretches(t, CTT_TO_HOST, dw));
    CTT_TRY(ctt_dev_total(t->dev, p->sum, p->partial, p->sum + p->partial));
    CTT_TRY(copy_stretches(t, CTT_TO_DEVICE, dw));
out:
    return rc;
}

static int parts_gradient(struct ctt_trainer *t, struct ctt_batch *b,
                          struct ctt_turn *turn, double *scale)
{
    struct ctt_sums sums = { 0 };
    int rc = 0, none = 0;

    ctt_trainer_weigh(t, turn);
    CTT_TRY(run_shards(t, b, turn));
    CTT_TRY(none = ctt_groups_rows(t, &sums));
    if (!none) {
        CTT_TRY(ctt_shards_end(&t->shards, turn->step, turn->scale,
                               t->optim->flat.w, t->dw));
        CTT_TRY(add_parts(t, t->dw));
        ctt_trainer_add(&t->at.sums, &sums);
    }
    *scale = ctt_trainer_scale(turn, &sums);
out:
    return ctt_trainer_undo(t, rc, none);
}

static int tell_exchanges(struct ctt_trainer *t)
{
    const struct tensor_parallel *p = t->state;
    const struct ctt_group_comm *b = &p->between, *n = &t->norms;
    double steps = (double)(t->at.step - t->first);
    char line[192];

    if (steps <= 0)
        return 0;
    snprintf(line, sizeof(line), "--%s: %.3g MB sent in %.0f exchanges and "
             "%.0f%% of the time of a step, waits included",
             division_option(t->cfg), (b->bytes + n->bytes) / steps / 1e6,
             (double)(b->calls + n->calls) / steps, t->train_seconds > 0
             ? 100 * (b->seconds + n->seconds) / t->train_seconds : 0);
    ctt_trainer_say(t, line);
    return 0;
}

const struct ctt_strategy ctt_tensor_parallel = {
    .option = division_option, .why_not = division_why_not,
    .share = share_by_part, .who = name_parts, .open = open_parts,
    .close = close_parts, .gradient = parts_gradient, .tell = tell_exchanges,
    .together = 1,
};
