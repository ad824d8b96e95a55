/* SPDX-License-Identifier: Apache-2.0
 * bench_gpu.c: gain of each optimisation in training on a GPU: the 12-layer
 * network models/mnist-convttlstm.net, whose published ladder is mixed
 * precision 1.67 times, a fused cell and optimizer 1.77, recomputation 2.38;
 * and a recogniser.  Shares are of the matrix rate measured in the same run.
 * Frames are random and made once. */
#include "bench/gpu.h"
#include "bench/gpu_work.h"
#include "bench/measure.h"
#include "bench/rows.h"
#include "device/dev.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(f) offsetof(struct cfg, f)
static const struct ctt_opt opts[] = {
    { "models", CTT_STRING, FIELD(models), "models", "folder with the model "
      "texts",
      .arg = "DIR" },
    { "rows", CTT_STRING, FIELD(rows), "", "only rows whose names begin with "
      "one of these", .arg = "NAME,..." },
    { "device", CTT_STRING, FIELD(device), "cuda", "device" },
    { "threads", CTT_INT, FIELD(threads), "0", "threads that compute; 0: "
      "one per processor", 0, 1024 },
    { "seconds", CTT_FLOAT, FIELD(seconds), "1.5", "time per row, after three "
      "warm-up steps", 0, 1e3 },
    { "limit", CTT_FLOAT, FIELD(limit), "240", "start no row after this many "
      "seconds", 0, 1e5 },
    { "size", CTT_INT, FIELD(size), "0", "width and height of frames, for a "
      "quick look; 0: as in the table", 0, 4096 },
    { "batch", CTT_INT, FIELD(batch), "0", "sequences per step; 0: as in the "
      "table", 0, 4096 },
    { "input", CTT_INT, FIELD(input), "10", "observed frames", 1, 1000 },
    { "future", CTT_INT, FIELD(future), "10", "predicted frames", 1, 1000 },
    { "memory", CTT_SIZE, FIELD(memory), "0", "memory limit of the largest "
      "batch; 0: 85% of the free memory", 0, 0x1p50, .arg = "SIZE" },
    { .name = NULL }
};
static const struct ctt_program program = {
    .name = "bench_gpu", .synopsis = "[OPTION...]", .opts = opts
};

/* ---- rows ---- */

/* In the order of their importance; a ladder's steps have one number each. */
static const struct row rows[] = {
    { "ladder-64-1-fp32", "mnist-convttlstm", 64, 1, 16, CTT_O0,
      NO_GRAPH | APART, 1 },
    { "ladder-64-1-tf32", "mnist-convttlstm", 64, 1, 16, CTT_O0,
      NO_GRAPH | APART | TF32, 1 },
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

/* ---- a step ---- */

/* One update for all weights, or one for each. */
static int apply_update(struct work *k, double norm)
{
    static const struct ctt_rule rule = { .is_adam = 1, .scale = 0x1p-10f,
        .adam = { .lr = 1e-5f, .b1 = 0.9f, .b2 = 0.999f, .add = 0.001f,
                  .eps = 1e-8f, .c1 = 1, .c2 = 1 } };
    struct ctt_optim *o = k->o;
    int rc = 0;

    if (!(k->r->how & APART))
        return ctt_optim_step(o, norm, 1024, 1e-5);
    for (int i = 0; i < k->g->count; i++)
        for (int j = 0; j < k->g->node[i].nw; j++) {
            int64_t at = k->g->node[i].at[j];
            int64_t n = ctt_align(ctt_volume(&k->g->node[i].w[j]), 16);
            struct ctt_flat one = { n, o->flat.w + at, o->flat.dw + at,
                o->flat.m + at, o->flat.v + at, o->flat.how + at / 16,
                { NULL } };
            CTT_TRY(ctt_dev_update(k->dev, &one, &rule));
        }
    if (o->w16)
        CTT_TRY(ctt_dev_cast(k->dev, o->flat.w, o->type, o->w16, o->weights));
out:
    return rc;
}

static int train_step(struct work *k)
{
    struct ctt_turn turn = { .data = &k->data, .batch = &k->batch, .seed = 1,
        .truth = !!(k->r->how & TRUE), .scale = 1024 };
    struct ctt_sums sums = { 0, 0, 0, 0 };
    double norm = 0;
    int rc = 0;

    if (k->p) {
        k->p->scale = 1024;
        CTT_TRY(ctt_predict_step_run(k->p, &turn, &sums));
    } else {
        k->s->scale = 1024;
        CTT_TRY(ctt_recognise_step_run(k->s, &k->data, &k->batch, 1, 2, &sums));
    }
    CTT_TRY(ctt_optim_norm(k->o, k->x->dw, &norm));
    CTT_CHECK(isfinite(norm), CTT_ENAN, "the gradient is not finite");
    CTT_TRY(apply_update(k, norm));
    CTT_TRY(ctt_dev_sync(k->dev));
out:
    return rc;
}

static int by_seconds(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

enum { REPEATS = 400 };

/* The median of some steps. */
static int measure_row(struct work *k)
{
    static double t[REPEATS];
    double end;
    int n = 0, rc = 0;

    for (int i = 0; i < 3; i++)
        CTT_TRY(train_step(k));
    end = ctt_seconds() + (double)k->c->seconds;
    while (n < 3 || (n < REPEATS && ctt_seconds() < end)) {
        double from = ctt_seconds();
        CTT_TRY(train_step(k));
        t[n++] = (ctt_seconds() - from) * 1e3;
    }
    qsort(t, (size_t)n, sizeof(t[0]), by_seconds);
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
    return 3 * sum * k->n * (k->steps - row_predicts(k->r));
}

static void print_rates(const struct work *k, const double rate[2])
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

enum { ENGINES = 48 };

struct engine { char name[96]; const char *pass; int convs; };

/* Adds one to the row of that name; without room for it, to the last one. */
static void count_engine(const char *name, const char *pass, int *used,
                         struct engine *e)
{
    int i = 0;

    while (i < *used && (e[i].pass != pass || strcmp(e[i].name, name) != 0))
        i++;
    if (i >= ENGINES - 1) {
        i = ENGINES - 1;
        name = "others";
        pass = "any";
    }
    if (i == *used) {
        snprintf(e[i].name, sizeof(e[i].name), "%s", name);
        e[i].pass = pass;
        ++*used;
    }
    e[i].convs++;
}

/* Engines of the convs of the last step, and how many each computed. */
static void print_engines(const struct work *k)
{
    static const struct { enum ctt_run_cache at; enum ctt_pass pass;
                          const char *word; } parts[] = {
        { CTT_CACHE_FWD, CTT_FWD, "forward" },
        { CTT_CACHE_BWD, CTT_BWD, "gradient" },
        { CTT_CACHE_DW, CTT_BWD, "weights" },
    };
    const struct ctt_run *r = k->x->r;
    struct engine e[ENGINES] = { { .convs = 0 } };
    int used = 0;

    for (int i = 0; i < r->g->count; i++)
        for (size_t p = 0; p < CTT_LEN(parts); p++) {
            void *cache = r->cache[i][parts[p].at];
            const char *name = cache ? ctt_dev_impl(k->dev, cache,
                                                    parts[p].pass) : "";
            if (*name)
                count_engine(name, parts[p].word, &used, e);
        }
    for (int i = 0; i < used; i++)
        printf("convtt engine %s %s %d %s\n", k->r->name, e[i].pass,
               e[i].convs, e[i].name);
    fflush(stdout);
}

static int do_row(const struct cfg *c, const struct row *r, struct ctt_dev *d,
                  const double rate[2])
{
    struct work k = { .c = c, .r = r, .dev = d };
    int64_t before = ctt_dev_room(d);
    int rc = 0;

    CTT_TRY(work_open(&k));
    CTT_TRY(measure_row(&k));
    k.bytes = before - ctt_dev_room(d);
    print_rates(&k, rate);
    print_engines(&k);
out:
    work_close(&k);
    return rc;
}

/* A device that records nothing; how it is put back. */
static void graphs(struct ctt_dev *d, const struct ctt_dev_kind *kind, int on)
{
    static struct ctt_dev_order order;
    static struct ctt_dev_kind without;

    order = *kind->order;
    order.replay = NULL;
    without = *kind;
    without.order = &order;
    d->kind = on ? kind : &without;
}

static int do_rows(const struct cfg *c, struct ctt_dev *d)
{
    const struct ctt_dev_kind *kind = d->kind;
    double rate[2] = { 1, 1 }, end = ctt_seconds() + (double)c->limit;
    int m = c->size ? 64 : 8192, rc = 0, failed = 0;

    CTT_TRY(bench_rate(d, CTT_F32, m / 2, &rate[0]));
    CTT_TRY(bench_rate(d, CTT_F16, m, &rate[1]));
    printf("convtt peak fp32 %.0f GFLOP/s fp16 %.0f GFLOP/s\n", rate[0],
           rate[1]);
    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        const struct row *r = &rows[i];
        if (!bench_wanted(c->rows, r->name))
            continue;
        if (ctt_seconds() > end) {
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

    at = ctt_opt_main(&program, &c, argc, argv, &done);
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
