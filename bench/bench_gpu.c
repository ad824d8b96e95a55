/* SPDX-License-Identifier: Apache-2.0
 * bench_gpu.c: what each idea gains when a model is trained on a GPU: the
 * 12-layer network models/mnist-convttlstm.net, whose published ladder is mixed
 * precision 1.67 times, a fused cell and optimizer 1.77, recomputation 2.38;
 * and a recogniser.  Shares are of the matrix rate measured in the same run.
 * Frames are random and made once. */
#include "bench/gpu.h"
#include "bench/rows.h"
#include "device/dev.h"
#include "libtrain/optim.h"
#include "libtrain/predict/predict.h"
#include "net/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct cfg {
    int         size, batch, input, future, threads;
    float       seconds, limit;
    const char *models, *rows, *device, *memory;
};

#define FIELD(f) offsetof(struct cfg, f)
static const struct ctt_opt opts[] = {
    { "models", CTT_STRING, FIELD(models), "models", "folder of the texts",
      .arg = "DIR" },
    { "rows", CTT_STRING, FIELD(rows), "", "only those whose names begin with "
      "one of these", .arg = "NAME,..." },
    { "device", CTT_STRING, FIELD(device), "cuda", "device" },
    { "threads", CTT_INT, FIELD(threads), "0", "0: all", 0, 1024 },
    { "seconds", CTT_FLOAT, FIELD(seconds), "1.5", "of each row, after three "
      "steps that prepare", 0, 1e3 },
    { "limit", CTT_FLOAT, FIELD(limit), "240", "no row is begun after so many "
      "seconds", 0, 1e5 },
    { "size", CTT_INT, FIELD(size), "0", "frames of so many rows and columns, "
      "for a quick look; 0: as in the table", 0, 4096 },
    { "batch", CTT_INT, FIELD(batch), "0", "sequences a step; 0: as in the "
      "table", 0, 4096 },
    { "input", CTT_INT, FIELD(input), "10", "frames seen", 1, 1000 },
    { "future", CTT_INT, FIELD(future), "10", "frames after them", 1, 1000 },
    { "memory", CTT_STRING, FIELD(memory), "", "what the largest batch may "
      "take; not given: 85% of what is free", .arg = "SIZE" },
    { .name = NULL }
};

/* ---- rows ---- */

/* What a row does without; what else it is. */
enum {
    NO_GRAPH  = 1,     /* kernels are started one by one */
    APART     = 2,     /* cells as nodes of their own, an update a weight */
    BF16      = 4,
    TRUE      = 8,     /* shown true frames, so that less is one loop */
    LARGEST   = 16,    /* the batch that fits */
    RECOMPUTE = 32,    /* values are computed again */
    WHOLE     = 64     /* one window of all steps */
};

/* In the order of their importance; a ladder's steps have one number each. */
static const struct row {
    const char *name, *model;
    int         size, channels, batch, amp, how, streams;
} rows[] = {
    { "ladder-64-1-fp32", "mnist-convttlstm", 64, 1, 16, CTT_O0,
      NO_GRAPH | APART, 1 },
    { "ladder-64-2-mixed", "mnist-convttlstm", 64, 1, 16, CTT_O1,
      NO_GRAPH | APART, 1 },
    { "ladder-64-3-fused", "mnist-convttlstm", 64, 1, 16, CTT_O1, NO_GRAPH,
      1 },
    { "ladder-64-4-graph", "mnist-convttlstm", 64, 1, 16, CTT_O1, 0, 1 },
    { "ladder-64-5-largest", "mnist-convttlstm", 64, 1, 0, CTT_O1, LARGEST,
      1 },
    { "ladder-64-6-recompute", "mnist-convttlstm", 64, 1, 0, CTT_O1,
      LARGEST | RECOMPUTE, 1 },
    { "ladder-128-1-fp32", "mnist-convttlstm", 128, 3, 8, CTT_O0,
      NO_GRAPH | APART, 1 },
    { "ladder-128-2-mixed", "mnist-convttlstm", 128, 3, 8, CTT_O1,
      NO_GRAPH | APART, 1 },
    { "ladder-128-3-fused", "mnist-convttlstm", 128, 3, 8, CTT_O1, NO_GRAPH,
      1 },
    { "ladder-128-4-graph", "mnist-convttlstm", 128, 3, 8, CTT_O1, 0, 1 },
    { "ladder-128-5-largest", "mnist-convttlstm", 128, 3, 0, CTT_O1, LARGEST,
      1 },
    { "ladder-128-6-recompute", "mnist-convttlstm", 128, 3, 0, CTT_O1,
      LARGEST | RECOMPUTE, 1 },
    { "streams-64-2", "mnist-convttlstm", 64, 1, 16, CTT_O1, 0, 2 },
    { "streams-64-4", "mnist-convttlstm", 64, 1, 16, CTT_O1, 0, 4 },
    { "true-64", "mnist-convttlstm", 64, 1, 16, CTT_O1, TRUE, 1 },
    { "true-64-streams-4", "mnist-convttlstm", 64, 1, 16, CTT_O1, TRUE, 4 },
    { "whole-64", "mnist-convttlstm", 64, 1, 16, CTT_O1, WHOLE, 1 },
    { "bf16-64", "mnist-convttlstm", 64, 1, 16, CTT_O1, BF16, 1 },
    { "O2-64", "mnist-convttlstm", 64, 1, 16, CTT_O2, 0, 1 },
    { "fp32-64-graph", "mnist-convttlstm", 64, 1, 16, CTT_O0, 0, 1 },
    { "lstm-64", "mnist-convlstm", 64, 1, 16, CTT_O1, 0, 1 },
    { "early-fp32", "early-convttlstm", 0, 0, 64, CTT_O0, 0, 1 },
    { "early-mixed", "early-convttlstm", 0, 0, 64, CTT_O1, 0, 1 },
};

static int predicts(const struct row *r)
{
    return strncmp(r->name, "early", 5) != 0;
}

/* ---- a row at work ---- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { CLASSES = 12, EARLY_STEPS = 20, REPEATS = 400 };

struct work {
    const struct cfg    *c;
    const struct row    *r;
    struct ctt_dev      *dev;
    struct ctt_train_cfg cfg;
    struct ctt_graph    *g;
    struct ctt_predict  *p;       /* of one of the tasks */
    struct ctt_step     *s;
    struct ctt_exec     *x;
    struct ctt_optim    *o;
    struct ctt_data      data;
    struct ctt_batch     batch;
    struct ctt_clip     *clip;
    float               *w, *frame;
    int                 *which, *length;
    int64_t              frames;  /* numbers in frame */
    int                  n, steps, pinned;
    double               ms;
    int64_t              bytes;   /* of the device */
};

static int frames_of(const struct work *k)
{
    return predicts(k->r) ? k->c->input + k->c->future : EARLY_STEPS;
}

static int size_of(const struct work *k)
{
    return k->r->size && k->c->size ? k->c->size : k->r->size;
}

static void fill(float *x, int64_t n, uint64_t key, float from, float to)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = from + (to - from) * (float)ctt_random(key, (uint64_t)i) *
                      0x1p-32f;
}

static void fill_weights(const struct ctt_graph *g, float *w)
{
    fill(w, g->weights, 3, -0.05f, 0.05f);
    for (int i = 0; i < g->count; i++)    /* norms: the identity */
        for (int64_t j = 0; g->node[i].nw == 4 && j < g->node[i].out.c; j++)
            w[g->node[i].at[0] + j] = w[g->node[i].at[3] + j] = 1;
}

/* ctt_train_opts would bring all that reads clips with it.  With a fixed scale
 * no step is skipped while time is taken. */
static struct ctt_train_cfg settings(const struct work *k)
{
    int how = k->r->how;

    return (struct ctt_train_cfg){
        .task = predicts(k->r) ? CTT_PREDICT : CTT_RECOGNISE, .batch = k->n,
        .input_frames = k->c->input, .future_frames = k->c->future,
        .optimizer = CTT_ADAM, .beta1 = 0.9f, .beta2 = 0.999f, .eps = 1e-8f,
        .observe = "uniform:0.1-1", .observe_weight = 1, .full_weight = 1,
        .amp = k->r->amp, .amp_type = !!(how & BF16), .loss_scale = "1024",
        .keep = how & RECOMPUTE ? "0" : "all",
        .window = how & WHOLE ? frames_of(k) : how & RECOMPUTE ? 4 : 0 };
}

/* ---- the batch that fits ---- */

static int64_t budget(const struct work *k)
{
    struct ctt_train_cfg c = { .keep = "auto", .memory = k->c->memory };
    struct ctt_memory m = { 0 };

    if (k->c->memory && ctt_memory_parse(&c, &m) >= 0)
        return m.bytes;
    return ctt_dev_room(k->dev) * 85 / 100;
}

/* A multiple of 4, at most 1024; bytes grow with n. */
static int largest(struct work *k)
{
    struct ctt_amp_plan *plan = NULL;
    struct ctt_graph *g = NULL;
    struct ctt_memory m = { .window = 0, .keep = CTT_KEEP_ALL };
    int64_t most = budget(k), bytes = 0;
    int rc = 0, low = 1, high = 256;

    CTT_TRY(ctt_predict_graph(k->g, ctt_predict_losses[k->cfg.loss], &g));
    CTT_TRY(ctt_amp_plan(g, &k->cfg, &plan));
    CTT_TRY(ctt_memory_parse(&k->cfg, &m));
    m.type = ctt_amp_types(plan, &k->cfg);
    while (low < high) {
        int n = (low + high + 1) / 2;
        CTT_TRY(ctt_exec_bytes(g, k->dev, 4 * n, frames_of(k) - 1, 0, &m,
                               &bytes));
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
    fill_weights(k->g, k->w);
    fill(k->frame, k->frames, 4, 0, 1);
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
    if (predicts(k->r)) {
        CTT_TRY(ctt_memory_parse(&k->cfg, &m));
        CTT_TRY(ctt_predict_open(k->g, k->o->flat.w, &k->cfg, k->dev, &m,
                                 &k->p));
        k->x = k->p->x;
    } else {
        CTT_TRY(ctt_step_open(k->g, k->o->flat.w, &k->cfg, k->dev, k->n,
                              k->steps, &k->s));
        k->x = k->s->x;
    }
    k->x->r->w16 = k->o->w16;
out:
    return rc;
}

static int work_open(struct work *k)
{
    const struct row *r = k->r;
    int rc = 0;

    CTT_TRY(bench_graph(k->c->models, r->model, size_of(k), r->channels,
                        r->how & APART, &k->g));
    k->n = k->c->batch ? k->c->batch : r->batch;
    k->cfg = settings(k);
    if (r->how & LARGEST)
        CTT_TRY(largest(k));
    k->cfg.batch = k->n;
    CTT_TRY(open_batch(k));
    ctt_dev_streams(k->dev, r->streams);
    CTT_TRY(open_task(k));
out:
    return rc;
}

static void work_close(struct work *k)
{
    ctt_predict_close(&k->p);
    ctt_step_close(&k->s);
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

/* ---- a step ---- */

/* One update for all weights, or one for each. */
static int update(struct work *k, double norm)
{
    static const struct ctt_rule rule = { .is_adam = 1, .adam = { 1e-5f, 0.9f,
        0.999f, 1e-8f, 1, 1, 0, 0 }, .scale = 0x1p-10f };
    struct ctt_optim *o = k->o;
    int rc = 0;

    if (!(k->r->how & APART))
        return ctt_optim_step(o, norm, 1024, 1e-5);
    for (int i = 0; i < k->g->count; i++)
        for (int j = 0; j < k->g->node[i].nw; j++) {
            int64_t at = k->g->node[i].at[j];
            int64_t n = ctt_align(ctt_volume(&k->g->node[i].w[j]), 16);
            struct ctt_flat one = { n, o->flat.w + at, o->flat.dw + at,
                o->flat.m + at, o->flat.v + at, o->flat.how + at / 16, NULL };
            CTT_TRY(ctt_dev_update(k->dev, &one, &rule));
        }
    if (o->w16)
        CTT_TRY(ctt_dev_cast(k->dev, o->flat.w, o->type, o->w16, o->weights));
out:
    return rc;
}

static int step(struct work *k)
{
    struct ctt_turn turn = { .data = &k->data, .batch = &k->batch, .seed = 1,
        .truth = !!(k->r->how & TRUE), .scale = 1024 };
    struct ctt_sums sums = { 0, 0, 0, 0 };
    double norm = 0;
    int rc = 0;

    if (k->p) {
        k->p->scale = 1024;
        CTT_TRY(ctt_predict_run(k->p, &turn, &sums));
    } else {
        k->s->scale = 1024;
        CTT_TRY(ctt_step_run(k->s, &k->data, &k->batch, 1, 2, &sums));
    }
    CTT_TRY(ctt_optim_norm(k->o, k->x->dw, &norm));
    CTT_CHECK(isfinite(norm), CTT_ENAN, "the gradient is not finite");
    CTT_TRY(update(k, norm));
    CTT_TRY(ctt_dev_sync(k->dev));
out:
    return rc;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median of some steps. */
static int measure(struct work *k)
{
    static double t[REPEATS];
    double end;
    int n = 0, rc = 0;

    for (int i = 0; i < 3; i++)
        CTT_TRY(step(k));
    end = now() + (double)k->c->seconds;
    while (n < 3 || (n < REPEATS && now() < end)) {
        double from = now();
        CTT_TRY(step(k));
        t[n++] = (now() - from) * 1e3;
    }
    qsort(t, (size_t)n, sizeof(t[0]), by_size);
    k->ms = t[n / 2];
out:
    return rc;
}

/* ---- a row told ---- */

/* Forward, and twice that backward. */
static double operations(const struct work *k)
{
    double sum = 0;

    for (int i = 0; i < k->g->count; i++)
        sum += 2 * (double)ctt_node_macs(k->g, i);
    return 3 * sum * k->n * (k->steps - predicts(k->r));
}

static void tell(const struct work *k, const double rate[2])
{
    const struct ctt_tensor *in = &k->g->node[ctt_graph_input(k->g)].out;
    double ops = operations(k), peak = rate[k->r->amp != CTT_O0];

    printf("convtt train %s %lldx%lldx%lld %s %.2f ms %lld MB %.0f GFLOP/s "
           "%.1f%% of peak batch %d %.1f clips/s floor %.2f ms\n",
           k->r->model, (long long)in->h, (long long)in->w, (long long)in->c,
           k->r->name, k->ms, (long long)k->bytes >> 20, ops / k->ms * 1e-6,
           ops / k->ms * 1e-4 / peak, k->n, k->n / k->ms * 1e3,
           ops / peak * 1e-6);
    fflush(stdout);
}

static int do_row(const struct cfg *c, const struct row *r, struct ctt_dev *d,
                  const double rate[2])
{
    struct work k = { .c = c, .r = r, .dev = d };
    int64_t before = ctt_dev_room(d);
    int rc = 0;

    CTT_TRY(work_open(&k));
    CTT_TRY(measure(&k));
    k.bytes = before - ctt_dev_room(d);
    tell(&k, rate);
out:
    work_close(&k);
    return rc;
}

/* A device that records nothing; how it is put back. */
static void graphs(struct ctt_dev *d, const struct ctt_dev_kind *kind, int on)
{
    static struct ctt_dev_memory memory;
    static struct ctt_dev_kind without;

    memory = *kind->memory;
    memory.replay = NULL;
    without = *kind;
    without.memory = &memory;
    d->kind = on ? kind : &without;
}

static int do_rows(const struct cfg *c, struct ctt_dev *d)
{
    const struct ctt_dev_kind *kind = d->kind;
    double rate[2] = { 1, 1 }, end = now() + (double)c->limit;
    int m = c->size ? 64 : 8192, rc = 0, failed = 0;

    CTT_TRY(bench_rate(d, CTT_F32, m / 2, &rate[0]));
    CTT_TRY(bench_rate(d, CTT_F16, m, &rate[1]));
    printf("convtt peak fp32 %.0f GFLOP/s fp16 %.0f GFLOP/s\n", rate[0],
           rate[1]);
    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        const struct row *r = &rows[i];
        if (!bench_wanted(c->rows, r->name))
            continue;
        if (now() > end) {
            printf("convtt late %s\n", r->name);
            continue;
        }
        graphs(d, kind, !(r->how & NO_GRAPH));
        if (do_row(c, r, d, rate) < 0) {
            printf("convtt failed %s: %s\n", r->name, ctt_errmsg());
            failed = 1;
        }
        graphs(d, kind, 1);
    }
out:
    return rc < 0 ? rc : failed;
}

int main(int argc, char **argv)
{
    struct ctt_dev *d = NULL;
    struct cfg c = { 0 };
    int at, done, rc;

    at = ctt_opt_main(opts, "bench_gpu [options]", &c, argc, argv, &done);
    if (done)
        return 0;
    if (at < 0 || at < argc) {
        fprintf(stderr, "bench_gpu: %s\n",
                at < 0 ? ctt_errmsg() : "no arguments are taken");
        return 2;
    }
    rc = ctt_dev_open(c.device, c.threads, &d);
    if (rc >= 0)
        rc = do_rows(&c, d);
    if (rc < 0)
        fprintf(stderr, "bench_gpu: %s\n", ctt_errmsg());
    ctt_dev_close(&d);
    return rc != 0;
}
