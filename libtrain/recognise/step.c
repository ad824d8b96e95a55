/* SPDX-License-Identifier: Apache-2.0
 * step.c: one training step of recognition, up to the gradient. */
#include "libtrain/recognise/recognise.h"
#include "libtrain/recognise/aux_head.h"
#include "libtrain/amp.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/chance.h"
#include "libtrain/data/load.h"
#include "libtrain/layers.h"
#include "libtrain/ranks/pipeline.h"
#include "libtrain/task.h"
#include "base/span.h"

#include <math.h>
#include <string.h>

/* ---- memory ---- */

static int take_memory(struct ctt_recognise_step *s, int n, int room)
{
    size_t goals = (size_t)n * (size_t)s->asks.total, rows = goals;
    size_t classes = (size_t)s->classes;
    int answers = s->cfg->task != CTT_NEXT;    /* or their losses alone */

    if (s->g->clip == s->g->count)
        rows = (size_t)n * (size_t)room;
    s->want = ctt_calloc((size_t)s->asks.total, sizeof(*s->want));
    s->goal = ctt_calloc(goals, sizeof(*s->goal));
    s->ask = ctt_calloc(goals, sizeof(*s->ask));
    s->row = ctt_calloc(rows, (size_t)s->wide * sizeof(*s->row));
    if (answers)
        s->answers = ctt_calloc(rows, classes * sizeof(*s->answers));
    if (ctt_has_aims(s->own, s->cfg))
        s->aim = ctt_calloc(goals, (size_t)s->wide * sizeof(*s->aim));
    if (s->own->several)
        s->hot = ctt_calloc((size_t)n, classes * sizeof(*s->hot));
    if (s->cfg->self_distil > 0)
        s->said = ctt_calloc(goals, classes * sizeof(*s->said));
    s->kept = ctt_calloc(1, sizeof(*s->kept));
    return s->kept && s->want && s->goal && s->ask && s->row &&
           (s->answers || !answers) &&
           (s->aim || !ctt_has_aims(s->own, s->cfg)) &&
           (s->hot || !s->own->several) &&
           (s->said || s->cfg->self_distil <= 0) ? 0 : CTT_ENOMEM;
}

/* Before the exec, which may take all memory that is left. */
static int open_teacher(struct ctt_recognise_step *s, struct ctt_dev *dev,
                        int n, int room)
{
    if (!ctt_is_taught(s->cfg) || s->loss < 0)
        return 0;
    return ctt_teacher_open(s->cfg->wiring.teachers, dev, n, room,
                            n * s->asks.total, &s->teacher);
}

/* Where the section, or the whole, has frames, answers and losses. */
static void find_nodes(struct ctt_recognise_step *s,
                       const struct ctt_graph *whole)
{
    const struct ctt_node *loss = &whole->node[whole->count - 1];
    int input = ctt_graph_input(whole);

    s->classes = (int)whole->node[loss->in[0]].out.c;
    s->wide = (int)whole->node[whole->count - 2].out.c;
    s->input = ctt_graph_find(s->g, whole->node[input].name);
    if (s->job && s->input >= 0 && !s->job->frames)
        s->input = -1;    /* they come from another section */
    s->loss = ctt_graph_find(s->g, loss->name);
    s->target = ctt_graph_find(s->g, whole->node[whole->count - 2].name);
    s->answer = ctt_graph_find(s->g, whole->node[loss->in[0]].name);
}

static int open_exec(struct ctt_recognise_step *s, const float *w,
                     struct ctt_dev *dev, int n, int room)
{
    struct ctt_memory m;
    int rc;

    CTT_TRY(ctt_memory_parse(s->cfg, &m));
    CTT_TRY(ctt_amp_plan(s->g, s->cfg, &s->amp));
    CTT_TRY(ctt_exec_open(&(struct ctt_run_spec){
        .g = s->g, .dev = dev, .w = w, .samples = n, .steps = room,
        .asks = n * s->asks.total,
        .type = ctt_amp_types(s->amp, s->cfg),
        .wanted = s->job ? s->job->wanted : NULL }, &m, &s->x));
out:
    return rc;
}

int ctt_recognise_section_open(const struct ctt_graph *model,
                               const struct ctt_section_job *job,
                               const float *w,
                               const struct ctt_train_cfg *cfg,
                               struct ctt_dev *dev, int n, int room,
                               struct ctt_recognise_step **out)
{
    struct ctt_recognise_step *s = ctt_calloc(1, sizeof(*s));
    int rc = s ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    s->cfg = cfg;
    s->scale = 1;
    s->job = job;
    CTT_TRY(ctt_asks_parse(cfg, &s->asks));
    if (cfg->task == CTT_NEXT)
        s->asks = (struct ctt_asks){ .total = room };    /* each step */
    CTT_TRY(ctt_recognise_graph(model, cfg, &s->own));
    CTT_CHECK(s->own->weights == model->weights, CTT_EFORMAT,
              "the training graph has %lld weights, the model %lld",
              (long long)s->own->weights, (long long)model->weights);
    s->g = job ? job->section->g : s->own;
    find_nodes(s, s->own);
    CTT_TRY(take_memory(s, n, room));
    CTT_TRY(open_teacher(s, dev, n, room));
    CTT_TRY(open_exec(s, w, dev, n, room));
    if (cfg->task == CTT_BOTH)
        CTT_TRY(
            ctt_aux_head_open(s->g, n * ctt_exec_plan(s->x).window, &s->ahead));
    *out = s;
    return 0;
out:
    ctt_recognise_step_close(&s);
    return rc;
}

int ctt_recognise_step_open(const struct ctt_graph *model, const float *w,
                            const struct ctt_train_cfg *cfg,
                            struct ctt_dev *dev, int n, int room,
                            struct ctt_recognise_step **out)
{
    return ctt_recognise_section_open(model, NULL, w, cfg, dev, n, room, out);
}

void ctt_recognise_step_close(struct ctt_recognise_step **s)
{
    if (!*s)
        return;
    ctt_exec_close(&(*s)->x);
    ctt_amp_free(&(*s)->amp);
    ctt_graph_free(&(*s)->own);
    ctt_free((*s)->kept);
    ctt_teacher_close(&(*s)->teacher);
    ctt_aux_head_close(&(*s)->ahead);
    ctt_free((*s)->aim);
    ctt_free((*s)->hot);
    ctt_free((*s)->share);
    ctt_free((*s)->said);
    ctt_free((*s)->row);
    ctt_free((*s)->answers);
    ctt_free((*s)->want);
    ctt_free((*s)->goal);
    ctt_free((*s)->ask);
    ctt_free(*s);
    *s = NULL;
}

/* ---- a step ---- */

static int has_clip(const struct ctt_recognise_step *s)
{
    return s->g->clip < s->g->count;
}

static int goals_of(const struct ctt_recognise_step *s)
{
    return s->batch->n * s->asks.total;
}

/* Rows of the answer in a window: one per ask, or one per step and sample. */
static int64_t answer_rows(const struct ctt_recognise_step *s,
                           const struct ctt_window *p)
{
    return has_clip(s) ? p->asks : (int64_t)p->steps * s->x->r->n;
}

/* The target of the clip at a place of the batch: its label, the label of the
 * clip that is mixed into it, the loss weight of both by their classes, and the
 * share of the first.  With several labels per clip s->hot has these. */
struct worth { int label, other; float weight, own; };

static struct worth worth_of(const struct ctt_recognise_step *s,
                             const struct ctt_data *d,
                             const struct ctt_batch *b, int j)
{
    struct worth w = { .own = 1 };
    float own = 1, rest;

    if (!b->length[j])
        return w;
    w.label = w.other = d->clip[b->clip[j]].label;
    if (s->hot) {
        w.weight = 1;
        return w;
    }
    if (b->blend) {
        w.other = d->clip[b->clip[b->blend[j].other]].label;
        own = b->blend[j].own;
    }
    rest = 1 - own;
    if (s->share) {
        own *= s->share[w.label];
        rest *= s->share[w.other];
    }
    w.weight = own + rest;
    w.own = w.weight > 0 ? own / w.weight : 1;
    return w;
}

/* Fills the goals; returns the sum of their weights. */
static double make_goals(struct ctt_recognise_step *s, const struct ctt_data *d,
                         const struct ctt_batch *b, uint64_t key)
{
    double sum = 0;

    if (s->cfg->task == CTT_NEXT)
        return ctt_next_goals(d, b, s->asks.total, s->goal);
    ctt_aims_hot(s, d, b);
    for (int j = 0; j < b->n; j++) {
        const struct ctt_clip *c = b->clip[j] < 0 ? NULL
                                                  : &d->clip[b->clip[j]];
        const struct worth w = worth_of(s, d, b, j);
        int length = b->length[j];

        ctt_asks_make(&s->asks, s->cfg, length ? length : 1,
                      c ? ctt_key(key, (uint64_t)c->item) : 0, s->want);
        for (int k = 0; k < s->asks.total; k++) {
            int i = j * s->asks.total + k;
            s->goal[i] = (struct ctt_goal){
                j, s->want[k].step, w.label, w.weight * s->want[k].weight,
                w.other, w.own };
            s->ask[i] = (struct ctt_ask){ j, s->want[k].step };
            sum += (double)s->goal[i].weight;
        }
    }
    return sum;
}

/* Iterates over the goals of a window and their rows in it. */
struct goal_iter { int64_t row; const struct ctt_goal *goal; int i; };

static int next_goal(const struct ctt_recognise_step *s,
                     const struct ctt_window *p, struct goal_iter *e)
{
    if (has_clip(s)) {
        if (e->i >= p->asks)
            return 0;
        e->row = e->i;
        e->goal = &s->goal[p->which[e->i++]];
        return 1;
    }
    while (e->i < goals_of(s)) {
        const struct ctt_goal *g = &s->goal[e->i++];

        if (g->step < p->first || g->step >= p->first + p->steps)
            continue;
        e->row = (int64_t)(g->step - p->first) * s->x->r->n + g->sample;
        e->goal = g;
        return 1;
    }
    return 0;
}

/* Adds the target of a goal to its row: several may be at one step. */
static void put_target(const struct ctt_recognise_step *s,
                       const struct ctt_goal *g, float *t)
{
    const float *aim = s->aim ? s->aim + (g - s->goal) * s->wide : NULL;

    for (int j = 0; aim && j < s->wide; j++)
        t[j] += aim[j];
    if (aim)
        return;
    t[0] = (float)g->label;
    t[1] += g->weight;
}

static int put_targets(const struct ctt_recognise_step *s,
                       const struct ctt_exec *x, const struct ctt_window *p)
{
    int64_t rows = answer_rows(s, p);
    struct goal_iter e = { 0 };

    memset(s->row, 0, (size_t)(rows * s->wide) * sizeof(*s->row));
    while (next_goal(s, p, &e))
        if (e.goal->weight > 0)
            put_target(s, e.goal, s->row + e.row * s->wide);
    return rows > 0 ? ctt_run_put(x->r, s->target, 0, s->row, rows) : 0;
}

static int put_frames(const struct ctt_recognise_step *s,
                      const struct ctt_exec *x, const struct ctt_window *p)
{
    const struct ctt_tensor *in = &s->g->node[s->input].out;
    int64_t frame = ctt_volume(in) * x->r->n;
    double start = ctt_span_begin();
    int rc = ctt_run_put(x->r, s->input, 0, s->batch->x + p->first * frame,
                         p->steps * ctt_rows(in) * x->r->n);

    ctt_span_end(CTT_SPAN_COPY, start);
    return rc;
}

static int give_inputs(void *arg, struct ctt_exec *x,
                       const struct ctt_window *p)
{
    const struct ctt_recognise_step *s = arg;
    int rc = 0;

    if (s->input >= 0)
        CTT_TRY(put_frames(s, x, p));
    if (s->loss >= 0)
        CTT_TRY(put_targets(s, x, p));
    if (s->job)
        CTT_TRY(s->job->give(s->job->arg, x, p));
    if (s->ahead)
        CTT_TRY(ctt_aux_head_give(s->ahead, x, p));
out:
    return rc;
}

static int is_largest(const float *z, int n, int label)
{
    for (int j = 0; j < n; j++)
        if (j != label && !(z[j] < z[label] ||
                            (z[j] == z[label] && j > label)))
            return 0;
    return 1;
}

/* 1 if the largest number is that of the clip's label, or one of them. */
static int is_right(const struct ctt_recognise_step *s,
                    const struct ctt_goal *g, const float *z)
{
    const float *hot = s->hot ? s->hot + (int64_t)g->sample * s->classes : NULL;

    if (!hot)
        return is_largest(z, s->classes, g->label);
    for (int j = 0; j < s->classes; j++)
        if (hot[j] >= 0.5f && is_largest(z, s->classes, j))
            return 1;
    return 0;
}

/* Adds up the losses, and the clips whose last answer is right; keeps answers
 * that become targets. */
static int take_answers(void *arg, struct ctt_exec *x,
                        const struct ctt_window *p)
{
    struct ctt_recognise_step *s = arg;
    int classes = s->classes;
    int64_t rows = answer_rows(s, p);
    struct goal_iter e = { 0 };
    int rc = 0;

    if (s->ahead)
        CTT_TRY(ctt_aux_head_take(s->ahead, x, p));
    if (s->job)
        CTT_TRY(s->job->take(s->job->arg, x, p));
    if (rows == 0 || s->loss < 0)
        goto out;
    CTT_TRY(ctt_run_get(x->r, s->loss, 0, rows, s->row));
    for (int64_t i = 0; i < rows; i++)
        s->sum += (double)s->row[i];
    if (s->answers)
        CTT_TRY(ctt_run_get(x->r, s->answer, 0, rows, s->answers));
    while (s->answers && next_goal(s, p, &e)) {
        const float *z = s->answers + e.row * classes;
        int64_t i = e.goal - s->goal;

        if (s->said)
            memcpy(s->said + i * classes, z, (size_t)classes * sizeof(*z));
        if (i % s->asks.total == s->asks.total - 1 &&
            s->batch->length[e.goal->sample])
            s->right += is_right(s, e.goal, z);
    }
out:
    return rc;
}

/* After all answers: makes targets of answers. */
static int seed_losses(void *arg, struct ctt_exec *x,
                       const struct ctt_window *p)
{
    const struct ctt_recognise_step *s = arg;
    int64_t rows = answer_rows(s, p);
    int rc = 0;

    if (s->job)
        CTT_TRY(s->job->seed(s->job->arg, x, p));
    if (s->said && s->loss >= 0)
        CTT_TRY(put_targets(s, x, p));
    for (int64_t i = 0; i < rows && s->loss >= 0; i++)
        s->row[i] = s->seed;
    if (rows > 0 && s->loss >= 0)
        CTT_TRY(ctt_exec_put_grad(x, s->loss, 0, s->row, rows));
    if (s->ahead)
        CTT_TRY(ctt_aux_head_seed(s->ahead, x, p, s->factor));
out:
    return rc;
}

static int done(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    const struct ctt_recognise_step *s = arg;

    return s->job ? s->job->done(s->job->arg, x, p) : 0;
}

static struct ctt_job job_of(struct ctt_recognise_step *s)
{
    return (struct ctt_job){ .steps = s->batch->steps,
        .feedback = s->batch->steps, .ask = s->ask,
        .asks = has_clip(s) ? goals_of(s) : 0, .arg = s,
        .give = give_inputs, .take = take_answers, .seed = seed_losses,
        .done = done, .before = s->before, .after = s->after };
}

static void begin_batch(struct ctt_recognise_step *s, const struct ctt_batch *b)
{
    s->batch = b;
    s->sum = s->right = s->least = 0;
    if (s->ahead)
        ctt_aux_head_begin(s->ahead, b);
}

/* 1 if all losses of the step are numbers. */
static int is_finite(const struct ctt_recognise_step *s)
{
    return isfinite(s->sum) && (!s->ahead || isfinite(s->ahead->sum));
}

int ctt_recognise_step_blame(struct ctt_recognise_step *s,
                             const struct ctt_batch *b)
{
    struct ctt_job job;

    begin_batch(s, b);
    job = job_of(s);
    return ctt_exec_blame(s->x, &job, s->loss);
}

static void add_sums(const struct ctt_recognise_step *s, double weight,
                     struct ctt_sums *sums)
{
    for (int j = 0; j < s->batch->n; j++)
        sums->clips += s->batch->length[j] > 0;
    sums->right += s->right;
    sums->loss += s->sum - s->least;
    sums->weight += weight;
    if (!s->ahead)
        return;
    sums->ahead += s->ahead->sum;
    sums->values += (double)s->ahead->values;
}

/* A section in the middle has no losses, and a section's clips go before its
 * gradient is computed. */
static int find_answers(struct ctt_recognise_step *s)
{
    struct ctt_job job = job_of(s);
    int rc = 0;

    if (s->loss >= 0)
        CTT_TRY(ctt_aims_make(s));
    CTT_TRY(ctt_exec_forward(s->x, &job));
    if (s->loss >= 0)
        ctt_aims_later(s);
out:
    return rc;
}

int ctt_recognise_step_losses(struct ctt_recognise_step *s,
                              const struct ctt_data *d,
                              const struct ctt_batch *b, uint64_t key,
                              uint64_t observe, struct ctt_sums *sums)
{
    double weight;
    int rc = 0;

    s->x->r->key = key;
    s->x->r->stamp++;
    begin_batch(s, b);
    weight = make_goals(s, d, b, observe);
    s->factor = ctt_turn_scale(s->scale, weight, s->whole);
    s->seed = weight > 0 ? (float)(s->factor / weight) : 0;
    CTT_TRY(find_answers(s));
    if (!is_finite(s) && s->skips)
        return 1;
    CTT_CHECK(is_finite(s) || !s->job, CTT_ENAN, "the loss is not finite "
              "(without --stages the node is looked for)");
    if (!is_finite(s))
        CTT_TRY(ctt_recognise_step_blame(s, b));
    add_sums(s, weight, sums);
    *s->kept = *b;
    s->batch = s->kept;
out:
    return rc;
}

int ctt_recognise_step_backward(struct ctt_recognise_step *s)
{
    struct ctt_job job = job_of(s);

    return ctt_exec_backward(s->x, &job);
}

int ctt_recognise_step_run(struct ctt_recognise_step *s,
                           const struct ctt_data *d, const struct ctt_batch *b,
                           uint64_t key, uint64_t observe,
                           struct ctt_sums *sums)
{
    int rc;

    CTT_TRY(ctt_recognise_step_losses(s, d, b, key, observe, sums));
    if (rc == 0)
        CTT_TRY(ctt_recognise_step_backward(s));
out:
    return rc;
}

int ctt_recognise_step_forward(struct ctt_recognise_step *s,
                               const struct ctt_data *d,
                               const struct ctt_batch *b)
{
    struct ctt_job job;

    s->x->r->stamp++;
    begin_batch(s, b);
    make_goals(s, d, b, 0);
    job = job_of(s);
    return ctt_exec_forward(s->x, &job);
}
