/* SPDX-License-Identifier: Apache-2.0
 * open.c: opens a run: checks the graph, makes its schedules, allocates
 * memory. */
#include "run/bind.h"
#include "run/joint.h"
#include "run/layout.h"
#include "base/limits.h"
#include "net/op.h"

#include <assert.h>
#include <stdio.h>

/* The clip part reads the step part through window ops only. */
static int check_clip(const struct ctt_graph *g)
{
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];

        for (int k = 0; k < n->nin; k++)
            CTT_CHECK((n->in[k] < g->clip) ==
                      (i < g->clip || n->op == CTT_OP_WINDOW), CTT_EFORMAT,
                      "%s: '%s' is on the other side of 'clip'", n->name,
                      g->node[n->in[k]].name);
        CTT_CHECK(n->op != CTT_OP_STATE ||
                  (i < g->clip && n->source < g->clip), CTT_EFORMAT,
                  "%s: a state must be before 'clip'", n->name);
    }
out:
    return rc;
}

int ctt_run_check_norms(const struct ctt_run *r, int feedback)
{
    const struct ctt_schedule *s = r->sched[feedback && r->sched[1]];
    int rc = 0;

    for (int k = 0; k < s->comps; k++)
        for (int j = s->first[k]; s->bound[k] && j < s->first[k + 1]; j++) {
            const struct ctt_node *n = &r->g->node[s->order[j]];
            CTT_CHECK(!ctt_is_batch_norm(n), CTT_EUNSUP,
                      "%s: in a loop over time kind=batch would be the "
                      "statistics of one step; use kind=layer", n->name);
        }
out:
    return rc;
}

/* Only host memory is checked: other devices report a failed allocation before
 * the memory is used. */
int ctt_run_fits(const struct ctt_run *r, int64_t bytes)
{
    char what[80];

    if (!ctt_dev_shared(r->dev))
        return 0;
    snprintf(what, sizeof(what), "the model's values for %d clip%s and %d "
             "step%s", r->n, ctt_s(r->n), r->room,
             ctt_s(r->room));
    return ctt_memory_check(what, bytes);
}

int ctt_run_mixes(const struct ctt_graph *g)
{
    for (int i = 0; i < g->clip; i++)
        if (ctt_is_feedback(&g->node[i], 1))
            return 1;
    return 0;
}

static int schedules(struct ctt_run *r)
{
    int rc = 0;

    CTT_TRY(ctt_schedule_new(r->g, 0, &r->sched[0]));
    if (ctt_run_mixes(r->g))
        CTT_TRY(ctt_schedule_new(r->g, 1, &r->sched[1]));
out:
    return rc;
}

/* Allocates memory of the device. */
static int alloc_memory(struct ctt_run *r, const char *what, int64_t bytes,
                        void *out)
{
    void *p = NULL;
    int rc = ctt_dev_alloc(r->dev, what, bytes, &p);

    if (rc >= 0)
        *(void **)out = p;
    return rc;
}

/* Memory for the running statistics of a batch norm that must not be
 * updated. */
static int make_sink(struct ctt_run *r)
{
    int64_t most = 0;

    for (int i = 0; i < r->g->count; i++)
        if (ctt_is_batch_norm(&r->g->node[i]) && r->g->node[i].out.c > most)
            most = r->g->node[i].out.c;
    return most && r->dev ?
           alloc_memory(r, "statistics", most * (int64_t)sizeof(float),
                        &r->sink) : 0;
}

/* Memory of a device of its own for the key and the asks, which change from
 * batch to batch. */
static int make_live(struct ctt_run *r)
{
    int64_t bytes = ctt_run_live_bytes(r);
    int rc = 0;

    if (!r->dev || ctt_dev_shared(r->dev))
        goto out;
    r->live_host = ctt_calloc((size_t)bytes, 1);
    CTT_TRY(r->live_host ? 0 : CTT_ENOMEM);
    CTT_TRY(alloc_memory(r, "asks", bytes, &r->live));
    if (r->slides)
        r->place = ctt_calloc((size_t)ctt_run_places(r), sizeof(*r->place));
    CTT_TRY(r->place || !r->slides ? 0 : CTT_ENOMEM);
out:
    return rc;
}

static int check_run(const struct ctt_run *r)
{
    const struct ctt_graph *g = r->g;
    int rc = 0;

    CTT_CHECK(g->sealed, CTT_EINVAL, "the model is not sealed");
    CTT_CHECK(r->n > 0 && r->room > 0, CTT_EINVAL,
              "a run of %d samples and %d steps", r->n, r->room);
    CTT_CHECK(g->clip == g->count || r->max_asks > 0, CTT_EINVAL,
              "a model with a clip part needs at least one ask");
    CTT_TRY(check_clip(g));
out:
    return rc;
}

/* Everything except the memory of the values. */
static int set_up(struct ctt_run *r, const char *saved, int windows)
{
    size_t count = (size_t)r->g->count;
    int rc = 0;

    CTT_TRY(check_run(r));
    CTT_TRY(schedules(r));
    if (r->train)
        CTT_TRY(ctt_run_check_norms(r, 0));
    CTT_TRY(ctt_run_layout(r, saved, windows));
    CTT_TRY(ctt_run_flat_weights(r));
    CTT_TRY(make_sink(r));
    CTT_TRY(ctt_joint_open(r));
    CTT_TRY(make_live(r));
    r->ask = ctt_calloc((size_t)r->max_asks + 1, sizeof(*r->ask));
    r->cache = ctt_calloc(count, sizeof(*r->cache));
    CTT_TRY(r->ask && r->cache ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_streams_new(2 * r->g->count, &r->streams));
out:
    return rc;
}

static int new_run(const struct ctt_run_spec *spec, int train,
                   struct ctt_run **out)
{
    struct ctt_run *r = ctt_calloc(1, sizeof(*r));

    *out = r;
    if (!r)
        return CTT_ENOMEM;
    r->g = spec->g;
    r->dev = spec->dev;
    r->w = spec->w;
    r->type = spec->type;
    for (int i = 0; i < r->g->count; i++)
        r->firsts |= r->g->node[i].op == CTT_OP_STATE &&
                    r->g->node[i].attr.state.fill == CTT_FILL_FIRST;
    r->n = r->active = spec->samples;
    r->room = spec->steps;
    r->max_asks = spec->asks;
    r->train = train;
    r->slides = !train;
    if (r->slides && r->dev)
        r->bytes = ctt_dev_bytes(r->dev);
    r->stamp = 1;
    return 0;
}

int ctt_run_open_bare(const struct ctt_run_spec *spec, const char *saved,
                      int windows, struct ctt_run **out)
{
    struct ctt_run *r = NULL;
    int rc = 0;

    CTT_TRY(new_run(spec, 1, &r));
    CTT_TRY(set_up(r, saved, windows));
    *out = r;
    r = NULL;
out:
    ctt_run_close(&r);
    return rc;
}

int ctt_run_open(const struct ctt_run_spec *spec, struct ctt_run **out)
{
    struct ctt_run *r = NULL;
    int rc = 0;

    CTT_TRY(new_run(spec, spec->train, &r));
    assert(spec->multiply == CTT_F32 || (!spec->train && !spec->type));
    if (spec->multiply != CTT_F32)
        CTT_TRY(ctt_run_halve(r, spec->multiply));
    CTT_TRY(set_up(r, NULL, r->slides));
    if (r->train)
        r->values = ctt_extent_bytes(&r->extent[CTT_SAVED], r->room,
                                     r->max_asks);
    CTT_TRY(ctt_run_fits(r, r->values));
    CTT_TRY(alloc_memory(r, "values", r->values, &r->val));
    for (int b = 0; b < CTT_BLOCKS; b++)
        r->base[b] = r->val;
    if (r->bytes)    /* the byte of a value of 0 may be another than 0 */
        CTT_TRY(ctt_run_load_history(r, NULL));
    *out = r;
    r = NULL;
out:
    ctt_run_close(&r);
    return rc;
}

static void free_memory(struct ctt_dev *d, void *p)
{
    if (p)
        ctt_dev_free(d, &p);
}

static void forget_caches(struct ctt_run *r)
{
    for (int i = 0; r->dev && r->cache && i < r->g->count; i++)
        for (int k = 0; k < CTT_CACHES; k++)
            ctt_dev_forget(r->dev, &r->cache[i][k]);
}

void ctt_run_rest(struct ctt_run *r)
{
    if (ctt_dev_shared(r->dev))
        forget_caches(r);
}

void ctt_run_close(struct ctt_run **r)
{
    if (!*r)
        return;
    forget_caches(*r);
    for (int f = 0; f < 2; f++)
        ctt_schedule_free(&(*r)->sched[f]);
    for (int i = 0; (*r)->place && i < ctt_run_places(*r); i++)
        ctt_dev_drop((*r)->dev, &(*r)->place[i]);
    ctt_free((*r)->place);
    ctt_streams_free(&(*r)->streams);
    ctt_joint_close(*r);
    ctt_free((*r)->ask);
    ctt_free((*r)->past_of);
    ctt_free((*r)->cache);
    ctt_free((*r)->chain);
    ctt_free((*r)->slot);
    ctt_free((*r)->weight);
    ctt_free((*r)->round);
    ctt_free((*r)->mul);
    ctt_free((*r)->own_type);
    free_memory((*r)->dev, (*r)->rounded);
    free_memory((*r)->dev, (*r)->sink);
    free_memory((*r)->dev, (*r)->floats);
    free_memory((*r)->dev, (*r)->val);
    free_memory((*r)->dev, (*r)->live);
    ctt_free((*r)->live_host);
    ctt_free(*r);
    *r = NULL;
}
