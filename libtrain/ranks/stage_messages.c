/* SPDX-License-Identifier: Apache-2.0
 * stage_messages.c: messages between two sections, one per window of a shard:
 * forward the values, backward their gradients. */
#include "libtrain/ranks/stage_messages.h"
#include "libtrain/ranks/server_messages.h"
#include "base/clock.h"
#include "run/back/exec.h"

#include <time.h>

static float *values_of(struct ctt_stage_messages_head *p)
{
    return (float *)((char *)p + ctt_server_messages_whole(sizeof(*p)));
}

int64_t ctt_stage_messages_bytes(const struct ctt_section_value *v, int n,
                                 int64_t steps, int samples)
{
    int64_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += v[i].volume;
    return ctt_server_messages_whole(sizeof(struct ctt_stage_messages_head)) +
           ctt_server_messages_whole(sum * steps * samples *
                                     (int64_t)sizeof(float));
}

/* The one that the next message may be written to: that before last, which has
 * been taken when send returns. */
struct ctt_stage_messages_head *ctt_stage_messages_next(struct ctt_pipeline *p)
{
    return p->out[p->sent & 1];
}

double ctt_stage_messages_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int ctt_stage_messages_send(struct ctt_pipeline *p, int to, int64_t bytes)
{
    double start = ctt_seconds(), used = ctt_stage_messages_clock();
    int rc = ctt_comm_send(p->t->group, to, ctt_stage_messages_next(p), bytes);

    p->sent++;
    p->took.bytes += (double)bytes;
    p->took.waits += ctt_seconds() - start;
    p->posted += ctt_stage_messages_clock() - used;
    return rc;
}

/* Messages are as long as their sender has made them, at most p->room. */
int ctt_stage_messages_take(struct ctt_pipeline *p, int from)
{
    double start = ctt_seconds(), used = ctt_stage_messages_clock();
    int rc, who;

    CTT_TRY(ctt_comm_recv(p->t->group, from, p->in, p->room));
    CTT_TRY(ctt_comm_wait(p->t->group, &who));
    p->took.waits += ctt_seconds() - start;
    p->posted += ctt_stage_messages_clock() - used;
out:
    return rc;
}

/* ---- functions of a step ---- */

static int64_t value_rows(const struct ctt_exec *x, int node,
                          const struct ctt_window *p)
{
    return ctt_rows(&x->r->g->node[node].out) * p->steps * x->r->n;
}

static int64_t floats_of(const struct ctt_exec *x,
                         const struct ctt_section_value *v,
                         const struct ctt_window *p)
{
    return v->volume * p->steps * x->r->n;
}

/* Values that enter a window. */
static int give_values(void *arg, struct ctt_exec *x,
                       const struct ctt_window *w)
{
    struct ctt_pipeline *p = arg;
    const float *at;
    int rc = 0;

    if (p->rank == 0)
        goto out;
    CTT_TRY(ctt_stage_messages_take(p, p->rank - 1));
    p->over = p->in->ends || p->in->last;
    p->told = p->in->ends;
    CTT_CHECK(!p->told, CTT_ESTOP, "the section before has ended");
    at = values_of(p->in);
    for (int i = 0; i < p->section->ins; i++) {
        const struct ctt_section_value *v = &p->section->in[i];

        CTT_TRY(ctt_run_put(x->r, v->node, 0, at, value_rows(x, v->node, w)));
        at += floats_of(x, v, w);
    }
out:
    return rc;
}

static int is_last(const struct ctt_pipeline *p, const struct ctt_window *w)
{
    return p->shard + 1 == p->t->shards.mine &&
           w->first + w->steps == p->steps;
}

/* Values that leave it. */
static int pass_on(void *arg, struct ctt_exec *x, const struct ctt_window *w)
{
    struct ctt_pipeline *p = arg;
    const struct ctt_section *s = p->section;
    struct ctt_stage_messages_head *to = ctt_stage_messages_next(p);
    float *at = values_of(to);
    int rc = 0;

    p->took.units++;
    if (p->rank + 1 == p->ranks)
        goto out;
    *to = (struct ctt_stage_messages_head){ .last = is_last(p, w) };
    for (int i = 0; i < s->outs; i++) {
        const struct ctt_section_value *v = &s->out[i];

        CTT_TRY(ctt_run_get(x->r, v->node, 0, value_rows(x, v->node, w), at));
        at += floats_of(x, v, w);
    }
    CTT_TRY(ctt_stage_messages_send(
        p, p->rank + 1,
        ctt_stage_messages_bytes(s->out, s->outs, w->steps, x->r->n)));
out:
    return rc;
}

/* Gradients of the values that have left it. */
static int seed_outputs(void *arg, struct ctt_exec *x,
                        const struct ctt_window *w)
{
    struct ctt_pipeline *p = arg;
    const float *at;
    int rc = 0;

    if (p->rank + 1 == p->ranks)
        goto out;
    CTT_TRY(ctt_stage_messages_take(p, p->rank + 1));
    at = values_of(p->in);
    for (int i = 0; i < p->section->outs; i++) {
        const struct ctt_section_value *v = &p->section->out[i];

        if (ctt_exec_needs(x, v->node))
            CTT_TRY(ctt_exec_put_grad(x, v->node, 0, at,
                                      value_rows(x, v->node, w)));
        at += floats_of(x, v, w);
    }
out:
    return rc;
}

/* Sends the gradients of values that have entered. */
static int pass_back(void *arg, struct ctt_exec *x, const struct ctt_window *w)
{
    struct ctt_pipeline *p = arg;
    const struct ctt_section *s = p->section;
    struct ctt_stage_messages_head *to = ctt_stage_messages_next(p);
    float *at = values_of(to);
    int rc = 0;

    if (p->rank == 0)
        goto out;
    *to = (struct ctt_stage_messages_head){ .ends = 0 };
    for (int i = 0; i < s->ins; i++) {
        const struct ctt_section_value *v = &s->in[i];

        if (ctt_exec_needs(x, v->node))
            CTT_TRY(ctt_exec_get_grad(x, v->node, 0, value_rows(x, v->node, w),
                                      at));
        at += floats_of(x, v, w);
    }
    CTT_TRY(ctt_stage_messages_send(
        p, p->rank - 1,
        ctt_stage_messages_bytes(s->in, s->ins, w->steps, x->r->n)));
out:
    return rc;
}

void ctt_stage_messages_calls(struct ctt_section_job *job)
{
    job->give = give_values;
    job->take = pass_on;
    job->seed = seed_outputs;
    job->done = pass_back;
}
