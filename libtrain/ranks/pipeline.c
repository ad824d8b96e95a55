/* SPDX-License-Identifier: Apache-2.0
 * pipeline.c: the sections of a training graph and their steps: a batch goes
 * through all of them. */
#include "libtrain/ranks/groups.h"
#include "libtrain/ranks/stage_messages.h"
#include "libtrain/ranks/strategy.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/ranks/pipeline.h"
#include "libtrain/data/load.h"
#include "libtrain/optim.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"

#include <string.h>

/* ---- settings ---- */

static const char *stages_option(const struct ctt_train_cfg *cfg)
{
    return cfg->stages && *cfg->stages ? "stages" : NULL;
}

static int stages_why_not(const struct ctt_train_cfg *cfg)
{
    struct ctt_memory m;
    int rc = 0;

    CTT_CHECK(cfg->task != CTT_PREDICT, CTT_EUNSUP, "--stages: a model that "
              "predicts frames reads its own answers, so all of it is one "
              "component");
    CTT_CHECK(cfg->task != CTT_BOTH, CTT_EUNSUP, "--stages is for "
              "--task=recognise and next");
    CTT_CHECK(cfg->amp == CTT_O0, CTT_EUNSUP, "--stages passes floats, so it "
              "does not go with --amp");
    CTT_TRY(ctt_memory_parse(cfg, &m));
    CTT_CHECK(m.keep == CTT_KEEP_ALL, CTT_EUNSUP, "--stages keeps all windows: "
              "frames are gone when others would be computed again, so --keep "
              "has no effect");
out:
    return rc;
}

static int share_by_stage(const struct ctt_train_cfg *cfg,
                          const struct ctt_comm_place *p,
                          struct ctt_share *out)
{
    char option[128];
    int sections = ctt_cuts_count(cfg->stages, p->ranks), rc = 0;

    CTT_CHECK(sections > 1, CTT_EINVAL, "--stages are at least two processes "
              "(mpirun -np N)");
    snprintf(option, sizeof(option), "stages=%s", cfg->stages);
    CTT_TRY(ctt_groups_share(option, sections, p, out));
out:
    return rc;
}

static void name_stages(const struct ctt_train_cfg *cfg, int ranks, char *text,
                        size_t size)
{
    (void)cfg;
    snprintf(text, size, "a pipeline of %d processes", ranks);
}

/* ---- opening ---- */

/* The gradients that the whole graph has of values that enter. */
static int find_wanted(struct ctt_pipeline *p, const struct ctt_graph *whole)
{
    char *need = ctt_calloc((size_t)whole->count, 1);
    int rc = need ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p->wanted = ctt_calloc((size_t)p->section->g->count, 1);
    CTT_TRY(p->wanted ? 0 : CTT_ENOMEM);
    ctt_exec_gradients(whole, need);
    for (int i = 0; i < p->section->ins; i++)
        p->wanted[p->section->in[i].node] = need[p->section->in[i].of];
out:
    ctt_free(need);
    return rc;
}

/* The ranks with this section add the gradients of its weights, and of those
 * that lie between them. */
static int narrow_sums(struct ctt_pipeline *p)
{
    int64_t from = INT64_MAX, end = 0;

    for (int i = 0; i < p->parts.parts; i++) {
        const struct ctt_weights_part *x = &p->parts.part[i];

        if (x->rank != p->rank || x->moved)
            continue;
        from = x->at < from ? x->at : from;
        end = x->at + x->count > end ? x->at + x->count : end;
    }
    return ctt_shards_narrow(&p->t->shards, end ? from : 0,
                             end ? end - from : 0);
}

static int make_section(struct ctt_pipeline *p, const struct ctt_graph *whole)
{
    const struct ctt_trainer *t = p->t;
    int frames = ctt_graph_input(whole), window = t->cfg->window, rc = 0;

    p->number = ctt_calloc((size_t)whole->count, sizeof(*p->number));
    CTT_TRY(p->number ? 0 : CTT_ENOMEM);
    for (int i = 0; i < whole->count; i++)
        CTT_CHECK(!whole->node[i].aside, CTT_EUNSUP, "--stages: %s is for the "
                  "prediction of the next frame, which sections leave out",
                  whole->node[i].name);
    CTT_TRY(ctt_cuts_find(whole, t->cfg->stages, p->ranks, window > 0 &&
                          window < t->data->longest, p->number));
    CTT_TRY(ctt_section_new(whole, p->number, p->rank, &p->section));
    CTT_TRY(find_wanted(p, whole));
    p->job = (struct ctt_section_job){ p->section, p->wanted,
        p->number[frames] == p->rank, p, NULL, NULL, NULL, NULL };
    ctt_stage_messages_calls(&p->job);
    CTT_TRY(ctt_parts_open(whole, p->number, t->group, t->dev, &p->parts));
    CTT_TRY(narrow_sums(p));
out:
    return rc;
}

static int make_messages(struct ctt_pipeline *p)
{
    const struct ctt_section *s = p->section;
    int n = ctt_cfg_shard(p->t->cfg), steps = p->t->data->longest, rc = 0;
    int64_t in = ctt_stage_messages_bytes(s->in, s->ins, steps, n);
    int64_t out = ctt_stage_messages_bytes(s->out, s->outs, steps, n);

    p->room = in > out ? in : out;
    p->in = ctt_calloc(1, (size_t)p->room);
    p->out[0] = ctt_calloc(1, (size_t)p->room);
    p->out[1] = ctt_calloc(1, (size_t)p->room);
    CTT_TRY(p->in && p->out[0] && p->out[1] ? 0 : CTT_ENOMEM);
out:
    return rc;
}

/* The weights of the section's nodes, in their order. */
static int section_weights(const struct ctt_pipeline *p,
                           struct ctt_weight **out)
{
    const struct ctt_model *m = p->t->m;
    const struct ctt_graph *g = p->section->g;
    struct ctt_weight *w = ctt_calloc((size_t)ctt_weight_count(g) + 1,
                                      sizeof(*w));

    if (!w)
        return CTT_ENOMEM;
    *out = w;
    for (int i = 0; i < g->count; i++) {
        int of = ctt_graph_find(m->g, g->node[i].name);

        for (int k = 0; k < g->node[i].nw; k++)
            *w++ = ctt_model_weight(m, &m->g->node[of], k);
    }
    return 0;
}

static int open_steps(struct ctt_pipeline *p)
{
    struct ctt_trainer *t = p->t;
    struct ctt_weight *weight = NULL;
    int rc;

    CTT_TRY(section_weights(p, &weight));
    p->step = ctt_calloc((size_t)t->shards.mine, sizeof(*p->step));
    CTT_TRY(p->step ? 0 : CTT_ENOMEM);
    for (int k = 0; k < t->shards.mine; k++) {
        CTT_TRY(t->task->section(t->m->g, &p->job, t->optim->flat.w, t->cfg,
                                 t->dev, t->data, &p->step[k]));
        CTT_TRY(ctt_run_weights(t->task->exec(p->step[k])->r, weight));
    }
    t->step = p->step[0];
out:
    ctt_free(weight);
    return rc;
}

static int open_pipeline(struct ctt_trainer *t)
{
    struct ctt_pipeline *p = ctt_calloc(1, sizeof(*p));
    struct ctt_graph *whole = NULL;
    int rc = p ? 0 : CTT_ENOMEM;

    t->state = p;
    CTT_TRY(rc);
    p->t = t;
    p->rank = ctt_comm_place(t->group)->rank;
    p->ranks = ctt_comm_place(t->group)->ranks;
    CTT_TRY(t->task->graph(t->m->g, t->cfg, &whole));
    CTT_TRY(make_section(p, whole));
    CTT_TRY(make_messages(p));
    CTT_TRY(open_steps(p));
out:
    ctt_graph_free(&whole);
    return ctt_trainer_blame_memory(t, rc);
}

static void close_pipeline(struct ctt_trainer *t)
{
    struct ctt_pipeline *p = t->state;

    for (int k = 0; k < t->shards.mine && p->step; k++)
        t->task->close(&p->step[k]);
    t->step = NULL;
    ctt_section_free(&p->section);
    ctt_parts_close(&p->parts);
    ctt_free(p->step);
    ctt_free(p->number);
    ctt_free(p->wanted);
    ctt_free(p->in);
    ctt_free(p->out[0]);
    ctt_free(p->out[1]);
    ctt_free(p);
    t->state = NULL;
}

/* ---- a batch ---- */

/* 1 if the section has the input of the graph, or teachers, which have one. */
static int section_sees_frames(const struct ctt_pipeline *p)
{
    return p->job.frames ||
           (p->rank + 1 == p->ranks && ctt_is_taught(p->t->cfg));
}

/* Forward pass of shard k; fills its row. */
static int forward_shard(struct ctt_pipeline *p, struct ctt_batch *b,
                    struct ctt_turn *turn, int k)
{
    struct ctt_trainer *t = p->t;
    struct ctt_row *row = &t->mine[k];
    float *w = t->optim->flat.w;
    int rc;

    CTT_TRY(ctt_shards_begin(&t->shards, k, w));
    CTT_TRY(ctt_trainer_load(t, k, b));
    if (section_sees_frames(p))
        CTT_TRY(ctt_trainer_frames(t, b));
    p->shard = k;
    turn->shard = t->shards.first + k;
    ctt_carry_turn(t, k, turn);
    p->steps = b->steps;
    CTT_TRY(row->none = t->task->forward(p->step[k], turn, &row->sums));
    CTT_TRY(ctt_shards_moved(&t->shards, k, w));
out:
    return rc < 0 ? rc : 0;
}

/* Ends a batch early: tells the next section, and receives the remaining
 * messages of the section before. */
static int leave_batch(struct ctt_pipeline *p)
{
    int rc = 0;

    if (p->rank + 1 < p->ranks) {
        *ctt_stage_messages_next(p) =
            (struct ctt_stage_messages_head){ .ends = 1 };
        CTT_TRY(ctt_stage_messages_send(
            p, p->rank + 1, ctt_stage_messages_bytes(NULL, 0, 0, 0)));
    }
    while (p->rank > 0 && !p->over) {
        CTT_TRY(ctt_stage_messages_take(p, p->rank - 1));
        p->over = p->in->ends || p->in->last;
    }
out:
    return rc;
}

static int all_forward(struct ctt_pipeline *p, struct ctt_batch *b,
                     struct ctt_turn *turn)
{
    struct ctt_trainer *t = p->t;
    double used = ctt_stage_messages_clock() - p->posted;
    int rc = 0;

    turn->batch = b;
    p->over = p->told = 0;
    memset(t->mine, 0, (size_t)t->shards.mine * sizeof(*t->mine));
    for (int k = 0; k < t->shards.mine; k++) {
        struct ctt_row *row = &t->mine[k];

        row->rc = forward_shard(p, b, turn, k);
        if (row->rc >= 0)
            continue;
        if (ctt_groups_apart(t, row->rc))
            return row->rc;
        if (!p->told)
            ctt_groups_blame(row->rc, row);
        rc = leave_batch(p);
        break;
    }
    p->took.forward += ctt_stage_messages_clock() - p->posted - used;
    return rc;
}

static int all_backward(struct ctt_pipeline *p)
{
    struct ctt_trainer *t = p->t;
    float *dw = t->dw;
    double used = ctt_stage_messages_clock() - p->posted;
    int rc = 0;

    for (int k = 0; k < t->shards.mine; k++) {
        float *own = t->task->exec(p->step[k])->dw;

        CTT_TRY(t->task->backward(p->step[k]));
        if (own != dw)
            CTT_TRY(ctt_dev_copy(t->dev, CTT_WITHIN, own, dw,
                                 t->m->g->weights * (int64_t)sizeof(*dw)));
        CTT_TRY(ctt_shards_sum(&t->shards, k, &t->m->constraint, dw));
    }
    p->took.backward += ctt_stage_messages_clock() - p->posted - used;
out:
    return rc;
}

static int pipeline_gradient(struct ctt_trainer *t, struct ctt_batch *b,
                             struct ctt_turn *turn, double *scale)
{
    struct ctt_pipeline *p = t->state;
    float *w = t->optim->flat.w;
    struct ctt_sums sums = { 0 };
    int rc, none = 0;

    ctt_trainer_weigh(t, turn);
    CTT_TRY(all_forward(p, b, turn));
    CTT_TRY(none = ctt_groups_rows(t, &sums));
    if (!none) {
        CTT_TRY(all_backward(p));
        CTT_TRY(ctt_shards_end(&t->shards, turn->step, turn->scale, w, t->dw));
        CTT_TRY(ctt_parts_share(&p->parts, w, t->dw));
        ctt_trainer_add(&t->at.sums, &sums);
    }
    *scale = ctt_trainer_scale(turn, &sums);
out:
    return ctt_trainer_undo(t, rc, none);
}

/* ---- the end ---- */

/* The first and the last node of a section. */
static void name_section(const struct ctt_pipeline *p, int at,
                         char text[2 * CTT_NAME + 8])
{
    const struct ctt_graph *g = p->t->m->g;
    int first = -1, last = -1;

    for (int i = 0; i < g->count; i++) {
        int here = p->number[i] == at && g->node[i].op != CTT_OP_INPUT;

        first = here && first < 0 ? i : first;
        last = here ? i : last;
    }
    snprintf(text, 2 * CTT_NAME + 8, "%s to %s", g->node[first].name,
             g->node[last].name);
}

static void say_section(const struct ctt_pipeline *p, int at,
                        const struct ctt_section_seconds *s, double seconds)
{
    double units = s->units > 0 ? (double)s->units : 1;
    char name[2 * CTT_NAME + 8], line[320];

    name_section(p, at, name);
    snprintf(line, sizeof(line), "section %d, %s: %.4g ms forward and %.4g ms "
             "back a shard and window, %.3g MB sent; waits for others %.0f%% "
             "of the time", at + 1, name, 1000 * s->forward / units,
             1000 * s->backward / units, s->bytes / units / 1e6,
             seconds > 0 ? 100 * s->waits / seconds : 0);
    ctt_trainer_say(p->t, line);
}

static int tell_stages(struct ctt_trainer *t)
{
    struct ctt_pipeline *p = t->state;
    struct ctt_section_seconds *all = ctt_calloc((size_t)p->ranks,
                                                 sizeof(*all));
    double steps = (double)(t->at.step - t->first), units;
    char line[192];
    int rc = all ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_comm_allgather(t->group, &p->took, sizeof(p->took), all));
    units = steps > 0 ? (double)p->took.units / steps : 0;
    for (int r = 0; r < p->ranks && steps > 0; r++)
        say_section(p, r, &all[r], t->train_seconds);
    snprintf(line, sizeof(line), "--stages: %.1f shards and windows a batch "
             "through %d sections: each waits at least %.0f%% of the time if "
             "all are equally fast", units, p->ranks, 100 * (p->ranks - 1) /
             (units + p->ranks - 1));
    if (steps > 0)
        ctt_trainer_say(t, line);
out:
    ctt_free(all);
    return rc;
}

const struct ctt_strategy ctt_pipeline_parallel = {
    .option = stages_option, .why_not = stages_why_not,
    .share = share_by_stage, .who = name_stages, .open = open_pipeline,
    .close = close_pipeline, .gradient = pipeline_gradient,
    .tell = tell_stages,
};
