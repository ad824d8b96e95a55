/* SPDX-License-Identifier: Apache-2.0
 * exec.c: the forward and backward pass of a batch through its windows. */
#include "run/back/backward.h"
#include "run/back/depth.h"
#include "net/op.h"

/* ---- open ---- */

/* Allocates memory of the device. */
static int alloc_bytes(struct ctt_dev *d, const char *what, int64_t bytes,
                       char **out)
{
    void *p = NULL;
    int rc = ctt_dev_alloc(d, what, bytes, &p);

    if (rc >= 0)
        *out = p;
    return rc;
}

static void give_back(struct ctt_dev *d, void *p)
{
    ctt_dev_free(d, &p);
}

/* After clip, a batch norm would see the few asks of one window only. */
static int check_norms(const struct ctt_graph *g)
{
    int rc = 0;

    for (int i = g->clip; i < g->count; i++)
        CTT_CHECK(!ctt_is_batch_norm(&g->node[i]), CTT_EUNSUP,
                  "%s: with several windows kind=batch after 'clip' would be "
                  "the statistics of few answers; use one window",
                  g->node[i].name);
out:
    return rc;
}

const char *ctt_exec_norm(const struct ctt_graph *g)
{
    for (int i = 0; i < g->count; i++)
        if (ctt_is_batch_norm(&g->node[i]))
            return g->node[i].name;
    return NULL;
}

static int new_back(const struct ctt_run_spec *spec, struct ctt_back **out)
{
    const struct ctt_graph *g = spec->g;
    struct ctt_back *y = ctt_calloc(1, sizeof(*y));
    size_t count = (size_t)g->count;
    int rc = y ? 0 : CTT_ENOMEM;

    *out = y;
    CTT_TRY(rc);
    y->room = spec->steps;
    y->asks = g->clip < g->count ? spec->asks : 0;
    y->mixes = ctt_run_mixes(g);
    y->norm = ctt_exec_norm(g);
    y->wanted = spec->wanted;
    y->need = ctt_calloc(count, 1);
    for (int f = 0; f < 2; f++)
        y->writer[f] = ctt_calloc(count, sizeof(*y->writer[f]));
    y->saved = ctt_calloc(count, 1);
    CTT_TRY(y->need && y->writer[0] && y->writer[1] && y->saved
            ? 0 : CTT_ENOMEM);
    ctt_back_needs(g, spec->wanted, y->need);
    ctt_back_saved(g, y->need, y->saved);
out:
    return rc;
}

/* A run whose values share memory and, unless whole, are recomputed one by one;
 * then of short windows if the clip does not fit and no norm needs its
 * statistics. */
static int open_depth(struct ctt_exec *x, const struct ctt_run_spec *spec,
                      const struct ctt_memory *m, int whole)
{
    struct ctt_back *y = x->back;
    struct ctt_memory part = *m;
    int rc = 0;

    if (m->window <= 0 || m->window > y->room)
        part.window = m->keep == CTT_KEEP_AUTO && !y->norm && !whole
                    ? 1 : y->room;
    CTT_TRY(ctt_run_open_bare(spec, y->saved, part.window < y->room, &x->r));
    x->r->shares = 1;
    CTT_TRY(ctt_back_plan_depth(y, x->r, &part, whole));
out:
    return rc;
}

/* On a device with streams calls run at the same time, and a section's values
 * are read by others. */
static int may_share(const struct ctt_run_spec *spec)
{
    return !spec->wanted && (!spec->dev || ctt_dev_shared(spec->dev));
}

/* Opens a run for a single window if the settings ask for one and it fits into
 * memory; otherwise a run for several windows, which read past steps. */
static int open_run(struct ctt_exec *x, const struct ctt_run_spec *spec,
                    const struct ctt_memory *m)
{
    struct ctt_back *y = x->back;
    int several = y->mixes || (m->window > 0 && m->window < y->room);
    struct ctt_memory part = *m;
    int rc;

    if (m->keep == CTT_KEEP_DEPTH)
        return open_depth(x, spec, m, 0);
    if (!several && may_share(spec) &&
        (m->keep == CTT_KEEP_ALL || m->keep == CTT_KEEP_AUTO)) {
        rc = open_depth(x, spec, m, 1);
        if (rc != CTT_ENOMEM || m->keep == CTT_KEEP_ALL)
            return rc;
        ctt_depth_free(&y->depth);
        ctt_run_close(&x->r);
    }
    for (;; several = 1) {
        rc = ctt_run_open_bare(spec, y->saved, several, &x->r);
        if (rc < 0)
            break;
        part.window = several ? m->window : y->room;
        rc = ctt_back_plan(y, x->r, &part);
        if (rc != CTT_ENOMEM || several || m->window > 0 || y->norm)
            break;
        ctt_run_close(&x->r);
    }
    if (rc == CTT_ENOMEM && x->r && m->keep == CTT_KEEP_AUTO && !y->mixes) {
        ctt_run_close(&x->r);
        rc = open_depth(x, spec, m, 0);
    }
    return rc;
}

int ctt_back_offload(struct ctt_exec *x, int windows)
{
    struct ctt_back *y = x->back;

    y->plan.gone = ctt_back_bytes(y, x->r, y->plan.window, windows);
    return ctt_offload_open(&(struct ctt_offload_spec){
        .dev = x->r->dev, .folder = y->folder, .slots = y->plan.kept,
        .each = y->plan.away, .bytes = y->plan.gone }, &y->offload);
}

static int make_memory(struct ctt_exec *x)
{
    struct ctt_back *y = x->back;
    size_t parts = (size_t)y->plan.windows;
    struct ctt_dev *d = x->r->dev;
    char *dw = NULL;
    int rc = 0;

    CTT_TRY(ctt_run_fits(x->r, y->plan.bytes));
    y->part = ctt_calloc(parts, sizeof(*y->part));
    y->lie = ctt_calloc(parts, sizeof(*y->lie));
    y->which = ctt_calloc((size_t)y->asks + 1, sizeof(*y->which));
    CTT_TRY(y->part && y->lie && y->which ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_back_replays_new(x));
    CTT_TRY(alloc_bytes(d, "gradients of weights",
                        x->r->g->weights * (int64_t)sizeof(float), &dw));
    x->dw = (float *)(void *)dw;
    CTT_TRY(alloc_bytes(d, "values", y->values, &y->value));
    CTT_TRY(alloc_bytes(d, "values", y->transient, &y->transient_at));
    CTT_TRY(alloc_bytes(d, "gradients", y->grads, &y->grad));
    CTT_TRY(alloc_bytes(d, "states", y->stores * y->history, &y->store));
    CTT_TRY(alloc_bytes(d, "states", y->history, &y->carry));
    x->r->base[CTT_SAVED] = y->value;
    x->r->base[CTT_TRANSIENT] = y->depth ? y->value : y->transient_at;
    if (y->plan.offloaded)
        CTT_TRY(ctt_back_offload(x, y->plan.offloaded));
out:
    return rc;
}

/* Everything except the memory. */
static int prepare(const struct ctt_run_spec *spec,
                   const struct ctt_memory *m, struct ctt_exec **out)
{
    static const struct ctt_memory one = { .keep = CTT_KEEP_ALL };
    struct ctt_exec *x = ctt_calloc(1, sizeof(*x));
    int rc = x ? 0 : CTT_ENOMEM;

    *out = x;
    CTT_TRY(rc);
    CTT_TRY(new_back(spec, &x->back));
    CTT_TRY(open_run(x, spec, m ? m : &one));
    if (x->back->plan.windows > 1)
        CTT_TRY(check_norms(spec->g));
    x->back->plan.parts = x->back->norm && x->back->plan.window < spec->steps;
out:
    return rc;
}

int ctt_exec_sketch(const struct ctt_run_spec *spec,
                    const struct ctt_memory *m, struct ctt_exec **out)
{
    int rc = prepare(spec, m, out);

    if (rc < 0)
        ctt_exec_close(out);
    return rc;
}

int ctt_exec_bytes(const struct ctt_run_spec *spec,
                   const struct ctt_memory *m, int64_t *bytes)
{
    struct ctt_exec *x = NULL;
    int rc = 0;

    CTT_TRY(prepare(spec, m, &x));
    *bytes = x->back->plan.bytes;
out:
    ctt_exec_close(&x);
    return rc;
}

int ctt_exec_open(const struct ctt_run_spec *spec,
                  const struct ctt_memory *m, struct ctt_exec **out)
{
    struct ctt_exec *x = NULL;
    int rc = 0;

    CTT_TRY(prepare(spec, m, &x));
    CTT_TRY(ctt_back_writers(x->r, x->back->writer));
    CTT_TRY(make_memory(x));
    *out = x;
    x = NULL;
out:
    ctt_exec_close(&x);
    return rc;
}

static void free_back(struct ctt_back *y)
{
    ctt_depth_free(&y->depth);
    ctt_free(y->need);
    ctt_free(y->writer[0]);
    ctt_free(y->writer[1]);
    ctt_free(y->saved);
    ctt_free(y->part);
    ctt_free(y->which);
    ctt_free(y->lie);
    ctt_free(y);
}

/* Frees the memory of the device. */
static void free_memory(struct ctt_exec *x)
{
    struct ctt_dev *d = x->r->dev;
    struct ctt_back *y = x->back;

    ctt_offload_close(&y->offload);
    ctt_back_replays_free(x);
    give_back(d, x->dw);
    give_back(d, y->value);
    give_back(d, y->transient_at);
    give_back(d, y->grad);
    give_back(d, y->store);
    give_back(d, y->carry);
}

void ctt_exec_close(struct ctt_exec **x)
{
    if (!*x)
        return;
    if ((*x)->r)
        free_memory(*x);
    ctt_run_close(&(*x)->r);
    if ((*x)->back)
        free_back((*x)->back);
    ctt_free(*x);
    *x = NULL;
}

struct ctt_memory_plan ctt_exec_plan(const struct ctt_exec *x)
{
    return x->back->plan;
}

/* ---- windows ---- */

/* Makes window k the current one and lays it out; the values of a window
 * that was not kept are not there yet. */
static void enter_window(struct ctt_exec *x, const struct ctt_job *job, int k)
{
    const struct ctt_window *p = &x->back->part[k];
    struct ctt_run *r = x->r;

    x->back->hand = k;
    x->back->before = job->before;
    r->base[CTT_SAVED] = x->back->value + x->back->lie[k].at;
    if (x->back->depth)
        ctt_depth_begin(x);
    else
        ctt_run_place(r, p->steps, p->asks);
    r->cursor = p->steps;    /* as if it had been run */
    r->past = p->first + (job->before ? x->back->room : 0);
    r->once = x->back->parts == 1 ? p->steps : 0;
    r->feedback = p->first >= job->feedback;
    r->asks = p->asks;
    r->which = p->which;
    for (int i = 0; i < p->asks; i++) {
        r->ask[i] = job->ask[p->which[i]];
        r->ask[i].step -= p->first;
    }
}

/* The stored history at the start of window k. */
static char *stored(const struct ctt_exec *x, int k)
{
    const struct ctt_back *y = x->back;

    return y->store + y->lie[k].store * y->history;
}

/* The forward pass through the current window from its stored history; the
 * first has been given the states before it, which lie anywhere. */
static int forward_window(struct ctt_exec *x)
{
    int k = x->back->hand, rc = 0;
    const struct ctt_window *p = &x->back->part[k];

    if (k > 0 || !x->back->before)
        CTT_TRY(ctt_run_load_history(x->r, k > 0 ? stored(x, k) : NULL));
    if (x->back->depth)
        return ctt_depth_forward(x);
    x->r->cursor = 0;
    CTT_TRY(ctt_run_steps(x->r, p->steps));
    if (p->asks > 0)
        CTT_TRY(ctt_run_clip(x->r, p->asks));
out:
    return rc;
}

/* Runs window k, which has been entered. */
static int run_window(struct ctt_exec *x, const struct ctt_job *job, int k)
{
    int rc = 0;

    if (job->give)
        CTT_TRY(job->give(job->arg, x, &x->back->part[k]));
    CTT_TRY(ctt_run_upload(x->r));
    if (k == 0 && job->before)    /* a recording would keep the address */
        CTT_TRY(ctt_run_load_history(x->r, job->before));
    CTT_TRY(ctt_back_replay(x, CTT_PHASE_FORWARD, forward_window));
out:
    return rc;
}

/* ---- windows that leave ---- */

/* Begins to copy the values of window k out, or back, if the window is
 * offloaded. */
static int copy_window(struct ctt_exec *x, int k,
                       int (*way)(struct ctt_offload *o, int slot, char *mem,
                                  int64_t at, int64_t bytes))
{
    const struct ctt_back *y = x->back;
    const struct ctt_lie *lie = &y->lie[k];

    if (k < 0 || lie->away < 0)
        return 0;
    return way(y->offload, k % y->plan.kept, y->value + lie->at, lie->away,
               ctt_extent_bytes(&x->r->extent[CTT_SAVED], y->part[k].steps,
                                y->part[k].asks));
}

/* Waits for the last copy from or to the slot of window k. */
static int ready(const struct ctt_exec *x, int k)
{
    const struct ctt_back *y = x->back;

    return y->offload ? ctt_offload_ready(y->offload, k % y->plan.kept) : 0;
}

int ctt_exec_forward(struct ctt_exec *x, const struct ctt_job *job)
{
    struct ctt_back *y = x->back;
    int rc = 0;

    if (y->offload)    /* a job may have ended halfway */
        ctt_offload_rest(y->offload);
    CTT_TRY(ctt_back_cut(y, x->r, job));
    for (int k = 0; k < y->parts; k++) {
        enter_window(x, job, k);
        CTT_TRY(ready(x, k));
        CTT_TRY(run_window(x, job, k));
        if (job->take)
            CTT_TRY(job->take(job->arg, x, &y->part[k]));
        if (k + 1 < y->parts)
            CTT_TRY(ctt_run_save_history(x->r, stored(x, k + 1)));
        else if (job->after)
            CTT_TRY(ctt_run_save_history(x->r, job->after));
        CTT_TRY(copy_window(x, k, ctt_offload_out));
    }
out:
    return rc;
}

/* The values of window k are in memory afterwards. */
static int bring(struct ctt_exec *x, const struct ctt_job *job, int k)
{
    int rc = 0;

    CTT_TRY(ready(x, k));
    if (k >= x->back->dropped || x->back->lie[k].away >= 0)
        return ctt_run_upload(x->r);
    x->r->recompute = 1;
    rc = run_window(x, job, k);
    x->r->recompute = 0;
out:
    return rc;
}

/* The backward pass through the current window. */
static int back(struct ctt_exec *x)
{
    const struct ctt_back *y = x->back;
    int rc = 0;

    if (y->hand + 1 < y->parts)
        CTT_TRY(ctt_back_carry_in(x));
    CTT_TRY(ctt_back_window(x));
    if (y->hand > 0)
        CTT_TRY(ctt_back_carry_out(x));
out:
    return rc;
}

static int seed_gradients(struct ctt_exec *x, const struct ctt_job *job, int k)
{
    int rc = 0;

    x->back->seeding = 1;
    if (job->seed)
        rc = job->seed(job->arg, x, &x->back->part[k]);
    x->back->seeding = 0;
    return rc;
}

int ctt_exec_backward(struct ctt_exec *x, const struct ctt_job *job)
{
    struct ctt_back *y = x->back;
    int rc = 0;

    CTT_TRY(ctt_dev_clear(x->r->dev, x->dw,
                          x->r->g->weights * (int64_t)sizeof(float)));
    for (int k = y->parts - 1; k >= 0; k--) {
        enter_window(x, job, k);
        CTT_TRY(bring(x, job, k));
        CTT_TRY(ctt_back_replay(x, CTT_PHASE_CLEAR, ctt_back_clear));
        CTT_TRY(seed_gradients(x, job, k));
        CTT_TRY(ctt_back_replay(x, CTT_PHASE_BACK, back));
        if (job->done)
            CTT_TRY(job->done(job->arg, x, &y->part[k]));
        CTT_TRY(copy_window(x, k - y->plan.kept, ctt_offload_in));
    }
out:
    return rc;
}

static int forward_and_back(struct ctt_exec *x, const struct ctt_job *job)
{
    int rc = 0;

    CTT_TRY(ctt_exec_forward(x, job));
    CTT_TRY(ctt_exec_backward(x, job));
out:
    return rc;
}

int ctt_exec_blame(struct ctt_exec *x, const struct ctt_job *job, int loss)
{
    int rc;

    ctt_dev_blame(x->r->dev, 1);
    rc = forward_and_back(x, job);
    ctt_dev_blame(x->r->dev, 0);
    return rc < 0 ? rc
                  : ctt_error(CTT_ENAN, "%s: the sum of the loss is not finite",
                              x->r->g->node[loss].name);
}
