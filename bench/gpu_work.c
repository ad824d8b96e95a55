/* SPDX-License-Identifier: Apache-2.0
 * gpu_work.c: a row of bench_gpu at work: its model, batch and trainer on a
 * device. */
#include "bench/gpu.h"
#include "bench/gpu_work.h"
#include "bench/measure.h"
#include "device/dev.h"

#include <string.h>

enum { CLASSES = 12, EARLY_STEPS = 20 };

int row_predicts(const struct row *r)
{
    return strncmp(r->name, "early", 5) != 0;
}

static int frames_of(const struct work *k)
{
    return row_predicts(k->r) ? k->c->input + k->c->future : EARLY_STEPS;
}

static int frame_side(const struct work *k)
{
    return k->r->size && k->c->size ? k->c->size : k->r->size;
}

static void random_weights(const struct ctt_graph *g, float *w)
{
    bench_fill(w, g->weights, 3, -0.05f, 0.05f);
    for (int i = 0; i < g->count; i++)    /* norms: the identity */
        for (int64_t j = 0; g->node[i].nw == 4 && j < g->node[i].out.c; j++)
            w[g->node[i].at[0] + j] = w[g->node[i].at[3] + j] = 1;
}

/* ctt_train_opts would bring all that reads clips with it.  With a fixed scale
 * no step is skipped while time is taken. */
static struct ctt_train_cfg train_settings(const struct work *k)
{
    int how = k->r->how;

    return (struct ctt_train_cfg){
        .task = row_predicts(k->r) ? CTT_PREDICT : CTT_RECOGNISE, .batch = k->n,
        .input_frames = k->c->input, .future_frames = k->c->future,
        .optimizer = CTT_ADAM, .beta1 = 0.9f, .beta2 = 0.999f,
        .observe = "uniform:0.1-1",
        .amp = k->r->amp, .amp_type = !!(how & BF16), .loss_scale = "1024",
        .keep = how & RECOMPUTE ? "0" : "all",
        .window = how & WHOLE ? frames_of(k) : how & RECOMPUTE ? 4 : 0 };
}

/* ---- the batch that fits ---- */

static int64_t budget(const struct work *k)
{
    if (k->c->memory)
        return k->c->memory;
    return ctt_dev_room(k->dev) * 85 / 100;
}

/* A multiple of 4, at most 1024; bytes grow with n. */
static int largest_batch(struct work *k)
{
    struct ctt_amp_plan *plan = NULL;
    struct ctt_graph *g = NULL;
    struct ctt_memory m = { .window = 0, .keep = CTT_KEEP_ALL };
    int64_t most = budget(k), bytes = 0;
    int rc = 0, low = 1, high = 256;

    CTT_TRY(ctt_predict_graph(k->g, ctt_predict_losses[k->cfg.loss], &g));
    CTT_TRY(ctt_amp_plan(g, &k->cfg, &plan));
    CTT_TRY(ctt_memory_parse(&k->cfg, &m));
    while (low < high) {
        int n = (low + high + 1) / 2;
        CTT_TRY(ctt_exec_bytes(&(struct ctt_run_spec){
            .g = g, .dev = k->dev, .samples = 4 * n, .steps = frames_of(k) - 1,
            .type = ctt_amp_types(plan, &k->cfg) }, &m, &bytes));
        if (bytes <= most)
            low = n;
        else
            high = n - 1;
    }
    k->n = 4 * low;
out:
    ctt_amp_free(&plan);
    ctt_graph_free(&g);
    return rc;
}

/* ---- open ---- */

static int open_batch(struct work *k)
{
    size_t n = (size_t)k->n;
    int rc = 0;

    k->steps = frames_of(k);
    k->frames = k->steps * k->n *
                ctt_volume(&k->g->node[ctt_graph_input(k->g)].out);
    k->w = ctt_calloc((size_t)k->g->weights, sizeof(float));
    k->frame = ctt_calloc((size_t)k->frames, sizeof(float));
    k->which = ctt_calloc(n, sizeof(int));
    k->length = ctt_calloc(n, sizeof(int));
    k->clip = ctt_calloc(n, sizeof(*k->clip));
    CTT_CHECK(k->w && k->frame && k->which && k->length && k->clip, CTT_ENOMEM,
              "out of memory");
    random_weights(k->g, k->w);
    bench_fill(k->frame, k->frames, 4, 0, 1);
    for (int j = 0; j < k->n; j++) {
        k->which[j] = j;
        k->length[j] = k->steps;
        k->clip[j] = (struct ctt_clip){ .item = j, .label = j % CLASSES,
                                        .length = k->steps };
    }
    k->data = (struct ctt_data){ .clip = k->clip, .clips = k->n };
    k->batch = (struct ctt_batch){ .x = k->frame, .steps = k->steps,
        .n = k->n, .clip = k->which, .length = k->length };
    CTT_TRY(ctt_dev_pin(k->dev, k->frame, k->frames *
                        (int64_t)sizeof(float)));
    k->pinned = 1;
out:
    return rc;
}

static int open_task(struct work *k)
{
    struct ctt_memory m;
    int rc = 0;

    CTT_TRY(ctt_optim_open(k->g, &k->cfg, NULL, k->w, k->dev, &k->o));
    if (row_predicts(k->r)) {
        CTT_TRY(ctt_memory_parse(&k->cfg, &m));
        CTT_TRY(ctt_predict_step_open(k->g, k->o->flat.w, &k->cfg, k->dev, &m,
                                      &k->p));
        k->x = k->p->x;
    } else {
        CTT_TRY(ctt_recognise_step_open(k->g, k->o->flat.w, &k->cfg, k->dev,
                                        k->n, k->steps, &k->s));
        k->x = k->s->x;
    }
    k->x->r->w16 = k->o->w16;
out:
    return rc;
}

int work_open(struct work *k)
{
    const struct row *r = k->r;
    int rc = 0;

    CTT_TRY(bench_graph(k->c->models, r->model, frame_side(k), r->channels,
                        r->how & APART, &k->g));
    k->n = k->c->batch ? k->c->batch : r->batch;
    k->cfg = train_settings(k);
    if (r->how & LARGEST)
        CTT_TRY(largest_batch(k));
    k->cfg.batch = k->n;
    CTT_TRY(open_batch(k));
    ctt_dev_streams(k->dev, r->streams);
    ctt_dev_tf32(k->dev, (r->how & TF32) != 0);
    CTT_TRY(open_task(k));
out:
    return rc;
}

void work_close(struct work *k)
{
    ctt_predict_step_close(&k->p);
    ctt_recognise_step_close(&k->s);
    ctt_optim_close(&k->o);
    if (k->pinned)
        ctt_dev_unpin(k->dev, k->frame);
    ctt_graph_free(&k->g);
    ctt_free(k->w);
    ctt_free(k->frame);
    ctt_free(k->which);
    ctt_free(k->length);
    ctt_free(k->clip);
    ctt_dev_streams(k->dev, 1);
}
