/* SPDX-License-Identifier: Apache-2.0
 * step.c: one training step of prediction: the training graph, which feeds
 * predictions back as input, and the forward and backward pass. */
#include "libtrain/predict/predict.h"
#include "libtrain/amp.h"
#include "libtrain/chance.h"
#include "libtrain/data/load.h"
#include "libtrain/layers.h"
#include "libtrain/ranks/shards.h"
#include "libtrain/task.h"
#include "net/rewrite/edit.h"
#include "net/pixels.h"
#include "run/back/exec.h"
#include "base/span.h"

#include <math.h>

/* ---- the training graph ---- */

int ctt_predict_check(const struct ctt_graph *g)
{
    const struct ctt_node *in = &g->node[ctt_graph_input(g)];
    const struct ctt_node *n = &g->node[ctt_graph_output(g)];
    const struct ctt_tensor *a = &in->out, *b = &n->out;
    int rc = 0;

    CTT_TRY(ctt_pixels_reversible(in));
    CTT_CHECK(g->clip == g->count, CTT_EUNSUP, "%s: predicting needs an "
              "answer a frame; this model answers once a clip", n->name);
    CTT_CHECK(a->d == b->d && a->h == b->h && a->w == b->w && a->c == b->c,
              CTT_EUNSUP, "%s: the answer is %lldx%lldx%lldx%lld; predicting "
              "needs the input's %lldx%lldx%lldx%lld", n->name,
              (long long)b->d, (long long)b->h, (long long)b->w,
              (long long)b->c, (long long)a->d, (long long)a->h,
              (long long)a->w, (long long)a->c);
out:
    return rc;
}

/* An input of the size of node `like`. */
static int add_input(struct ctt_edit *e, int at, const char *name,
                     const struct ctt_node *like)
{
    const struct ctt_tensor *t = &like->out;

    return ctt_edit_add(e, at, "input %s d=%lld h=%lld w=%lld c=%lld", name,
                        (long long)t->d, (long long)t->h, (long long)t->w,
                        (long long)t->c);
}

/* Replaces the model's input by a mix of the same name. */
static int feed_back(struct ctt_edit *e, const struct ctt_graph *g)
{
    int input = ctt_graph_input(g), rc = 0;
    const struct ctt_node *in = &g->node[input];

    CTT_TRY(add_input(e, input, "train.frame", in));
    CTT_TRY(ctt_edit_add(e, input, "input train.seen c=1"));
    CTT_TRY(ctt_edit_add(e, input, "state train.back of=%s like=train.frame "
                         "c=%lld", g->node[ctt_graph_output(g)].name,
                         (long long)in->out.c));
    CTT_TRY(ctt_edit_add(e, input, "mix %s in=train.frame,train.back,"
                         "train.seen", in->name));
    ctt_edit_remove(e, input);
out:
    return rc;
}

int ctt_predict_graph(const struct ctt_graph *model, const char *loss,
                      struct ctt_graph **out)
{
    const struct ctt_node *answer = &model->node[ctt_graph_output(model)];
    struct ctt_edit *e = NULL;
    int rc = 0, end = model->count;

    CTT_TRY(ctt_predict_check(model));
    CTT_TRY(ctt_edit_begin(model, &e));
    CTT_TRY(feed_back(e, model));
    CTT_TRY(add_input(e, end, "train.target", answer));
    CTT_TRY(ctt_edit_add(e, end, "loss train.loss in=%s,train.target kind=%s",
                         answer->name, loss));
    CTT_TRY(ctt_edit_graph(e, out));
out:
    ctt_edit_free(&e);
    return rc;
}

/* ---- opening ---- */

const char *const ctt_predict_losses[] = { "l1l2", "mse", NULL };

static int find_nodes(struct ctt_predict_step *s, const struct ctt_graph *model)
{
    int rc = 0;

    CTT_CHECK(s->g->weights == model->weights, CTT_EFORMAT,
              "the training graph has %lld weights, the model %lld",
              (long long)s->g->weights, (long long)model->weights);
    s->frame = ctt_graph_find(s->g, "train.frame");
    s->seen = ctt_graph_find(s->g, "train.seen");
    s->loss = s->g->count - 1;
    s->target = s->loss - 1;
out:
    return rc;
}

/* With scheduled sampling the model will run step by step. */
static int check_norms(const struct ctt_predict_step *s)
{
    int rc = 0;

    if (ctt_sampling_off(s->cfg))
        goto out;
    rc = ctt_run_check_norms(s->x->r, 1);
    if (rc < 0)
        rc = ctt_error(rc, "%s or --sampling-start=off", ctt_errmsg());
out:
    return rc;
}

static size_t floats_of(const struct ctt_predict_step *s, int node)
{
    return (size_t)ctt_volume(&s->g->node[node].out);
}

static int open_exec(struct ctt_predict_step *s, const float *w,
                     struct ctt_dev *dev, const struct ctt_memory *m)
{
    int n = ctt_cfg_shard(s->cfg), window, rc = 0;

    CTT_TRY(ctt_amp_plan(s->g, s->cfg, &s->amp));
    CTT_TRY(ctt_exec_open(&(struct ctt_run_spec){
        .g = s->g, .dev = dev, .w = w, .samples = n, .steps = s->frames - 1,
        .type = ctt_amp_types(s->amp, s->cfg) }, m, &s->x));
    window = ctt_exec_plan(s->x).window;
    s->losses = ctt_calloc((size_t)window * (size_t)n, sizeof(*s->losses));
    s->grads = ctt_calloc((size_t)window * (size_t)n, sizeof(*s->grads));
    CTT_TRY(s->losses && s->grads ? 0 : CTT_ENOMEM);
out:
    return rc;
}

int ctt_predict_step_open(const struct ctt_graph *model, const float *w,
                          const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                          const struct ctt_memory *m,
                          struct ctt_predict_step **out)
{
    struct ctt_predict_step *s = ctt_calloc(1, sizeof(*s));
    int rc = s ? 0 : CTT_ENOMEM, steps;

    CTT_TRY(rc);
    s->cfg = cfg;
    s->scale = 1;
    s->observed = cfg->input_frames;
    s->frames = ctt_cfg_frames(cfg);
    steps = s->frames - 1;
    CTT_TRY(ctt_predict_graph(model, ctt_predict_losses[cfg->loss], &s->g));
    ctt_freeze(s->g, cfg);
    CTT_TRY(find_nodes(s, model));
    s->truth = ctt_calloc((size_t)steps * (size_t)ctt_cfg_shard(cfg),
                          sizeof(*s->truth));
    CTT_TRY(s->truth ? 0 : CTT_ENOMEM);
    CTT_TRY(open_exec(s, w, dev, m));
    CTT_TRY(check_norms(s));
    *out = s;
    return 0;
out:
    ctt_predict_step_close(&s);
    return rc;
}

void ctt_predict_step_close(struct ctt_predict_step **s)
{
    if (!*s)
        return;
    ctt_exec_close(&(*s)->x);
    ctt_amp_free(&(*s)->amp);
    ctt_graph_free(&(*s)->g);
    ctt_free((*s)->truth);
    ctt_free((*s)->losses);
    ctt_free((*s)->grads);
    ctt_free(*s);
    *s = NULL;
}

/* ---- a step ---- */

/* Rows (pixels) of a node in a window. */
static int64_t window_rows(const struct ctt_predict_step *s, int node,
                           const struct ctt_window *p)
{
    return ctt_rows(&s->g->node[node].out) * s->batch->n * p->steps;
}

static int give_frames(void *arg, struct ctt_exec *x,
                       const struct ctt_window *p)
{
    const struct ctt_predict_step *s = arg;
    size_t n = (size_t)s->batch->n, first = (size_t)p->first;
    size_t frame = n * floats_of(s, s->frame);
    const float *from = s->batch->x + first * frame;
    double start = ctt_span_begin();
    int rc = 0;

    CTT_TRY(ctt_run_put(x->r, s->frame, 0, from, window_rows(s, s->frame, p)));
    CTT_TRY(ctt_run_put(x->r, s->target, 0, from + frame,
                        window_rows(s, s->target, p)));
    ctt_span_end(CTT_SPAN_COPY, start);
    CTT_TRY(ctt_run_put(x->r, s->seen, 0, s->truth + first * n,
                        window_rows(s, s->seen, p)));
out:
    return rc;
}

static int take_losses(void *arg, struct ctt_exec *x,
                       const struct ctt_window *p)
{
    struct ctt_predict_step *s = arg;
    int frames = p->steps * s->batch->n;
    int rc = ctt_run_sums(x->r, s->loss, 0, window_rows(s, s->loss, p), frames,
                          s->losses);

    for (int k = 0; rc >= 0 && k < frames; k++)
        if (s->batch->length[k % s->batch->n])
            s->sum += s->losses[k];
    return rc;
}

/* The gradient of the mean loss over all pixels that count. */
static int seed_gradient(void *arg, struct ctt_exec *x,
                         const struct ctt_window *p)
{
    const struct ctt_predict_step *s = arg;
    float one = s->rows ? (float)(s->factor / (double)s->rows) : 0;
    int frames = p->steps * s->batch->n;

    for (int k = 0; k < frames; k++)
        s->grads[k] = s->batch->length[k % s->batch->n] ? one : 0;
    return ctt_exec_fill_grad(x, s->loss, 0, s->grads, frames,
                              window_rows(s, s->loss, p));
}

static struct ctt_job job_of(struct ctt_predict_step *s, int feedback)
{
    return (struct ctt_job){ .steps = s->frames - 1, .feedback = feedback,
        .arg = s, .give = give_frames, .take = take_losses,
        .seed = seed_gradient };
}

static int check_batch(const struct ctt_predict_step *s,
                       const struct ctt_batch *b)
{
    int n = ctt_cfg_shard(s->cfg), rc = 0;

    CTT_CHECK(b->steps == s->frames && b->n == n, CTT_EINVAL,
              "a batch of %d sequences of %d frames; %d of %d are trained on",
              b->n, b->steps, n, s->frames);
out:
    return rc;
}

int64_t ctt_predict_step_rows(const struct ctt_predict_step *s, int clips)
{
    return clips * (int64_t)floats_of(s, s->loss) * (s->frames - 1);
}

/* Sets the current batch; returns the first step with feedback. */
static int begin_step(struct ctt_predict_step *s, const struct ctt_turn *t)
{
    int clips = 0;

    s->batch = t->batch;
    s->sum = 0;
    for (int j = 0; j < t->batch->n; j++)
        clips += t->batch->length[j] > 0;
    s->rows = ctt_predict_step_rows(s, clips);
    s->factor = ctt_turn_scale(s->scale, (double)s->rows, t->weight);
    s->x->r->key = ctt_turn_key(t, CTT_KEY_DROPOUT);
    s->x->r->stamp++;
    return ctt_sampling_draw(t, s->observed, s->frames - 1, s->truth);
}

int ctt_predict_step_blame(struct ctt_predict_step *s, const struct ctt_turn *t)
{
    struct ctt_job job = job_of(s, begin_step(s, t));

    return ctt_exec_blame(s->x, &job, s->loss);
}

int ctt_predict_step_run(struct ctt_predict_step *s, const struct ctt_turn *t,
                         struct ctt_sums *sums)
{
    struct ctt_job job;
    int rc = 0;

    CTT_TRY(check_batch(s, t->batch));
    job = job_of(s, begin_step(s, t));
    CTT_TRY(ctt_exec_forward(s->x, &job));
    if (!isfinite(s->sum) && s->skips)
        return 1;
    if (!isfinite(s->sum))
        CTT_TRY(ctt_predict_step_blame(s, t));
    for (int j = 0; j < t->batch->n; j++)
        sums->clips += t->batch->length[j] > 0;
    sums->loss += s->sum;
    sums->weight += (double)s->rows;
    CTT_TRY(ctt_exec_backward(s->x, &job));
out:
    return rc;
}
