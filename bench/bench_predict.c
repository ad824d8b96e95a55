/* SPDX-License-Identifier: Apache-2.0
 * bench_predict.c: the 12-layer networks that predict the next frame
 * (models/mnist-*.net): time and memory of a frame and of a training step, and
 * the gain of each optimisation.  Each row is a process of its own, so that its
 * peak memory is its own; its share is of the sgemm rate in that process. */
#include "bench/measure.h"
#include "bench/predict.h"
#include "bench/rows.h"
#include "device/cpu/cpu.h"
#include "run/run.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/data/load.h"
#include "libtrain/optim.h"
#include "libtrain/predict/predict.h"
#include "libtrain/task.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cfg {
    int         size, threads, repeat, batch, input, future, window, profile,
                bf16;
    float       seconds;
    const char *models, *rows, *keep;
    int64_t     memory;
};

#define FIELD(f) offsetof(struct cfg, f)
static const struct ctt_opt opts[] = {
    { "models", CTT_STRING, FIELD(models), "models", "folder with the model "
      "texts",
      .arg = "DIR" },
    { "rows", CTT_STRING, FIELD(rows), "", "only rows whose names begin with "
      "one of these", .arg = "NAME,..." },
    { "size", CTT_INT, FIELD(size), "0", "width and height of frames, for a "
      "quick look; 0: as in the table", 0, 4096 },
    { "threads", CTT_INT, FIELD(threads), "2", "threads that compute; 0: "
      "one per processor", 0, 1024 },
    { "seconds", CTT_FLOAT, FIELD(seconds), "2", "time of inference per row", 0,
      1e3 },
    { "repeat", CTT_INT, FIELD(repeat), "2", "training steps per row, after "
      "one warm-up step", 1, 1000 },
    { "batch", CTT_INT, FIELD(batch), "2", "sequences per training step", 1,
      1024 },
    { "input", CTT_INT, FIELD(input), "10", "observed frames", 1, 1000 },
    { "future", CTT_INT, FIELD(future), "10", "predicted frames", 1, 1000 },
    { "keep", CTT_STRING, FIELD(keep), "", "like convtt-train --keep, for all "
      "rows; not given: auto in the rows named so, all in the others",
      .arg = "N|all|auto" },
    { "memory", CTT_SIZE, FIELD(memory), "1G", "limit for --keep=auto", 1,
      0x1p50, .arg = "SIZE" },
    { "window", CTT_INT, FIELD(window), "0", "like convtt-train --window", 0,
      4096 },
    { "bf16", CTT_FLAG, FIELD(bf16), "0", "like convtt-train --amp=O1 "
      "--amp-type=bf16" },
    { "profile", CTT_FLAG, FIELD(profile), "0", "print the time per op" },
    { .name = NULL }
};
static const struct ctt_program program = {
    .name = "bench_predict", .synopsis = "[OPTION...]", .opts = opts
};

/* ---- rows ---- */

/* Optimisations that a row leaves out. */
enum {
    NO_WINO  = 1,     /* oneDNN and direct sums */
    NO_CORES = 2,     /* a conv for each core of a train */
    NO_BATCH = 4,     /* free components step by step: all is fed back */
    DW_EACH  = 8,     /* weight gradients step by step */
    NO_PAIR  = 16,    /* the two convs of the gates one after the other */
    NO_LSTM  = 32,    /* gates are written, then read by the lstm */
    NO_IDEA  = 63
};

/* Kind of a row: a frame at a time, `input` frames at once, a training step on
 * true frames, or one on its own predictions. */
enum kind { ONE, SEE, TRUE, FED };
static const char *const kinds[] = { "infer", "see", "train", "train-fed" };

static const struct row {
    const char *name, *model;
    enum kind   kind;
    int         size, channels, without, automatic;    /* --keep auto */
} rows[] = {
    { "infer-tt", "convttlstm", ONE, 64, 1 },
    { "infer-lstm", "convlstm", ONE, 64, 1 },
    { "infer-tt-128", "convttlstm", ONE, 128, 3 },
    { "see-tt", "convttlstm", SEE, 64, 1 },
    { "see-lstm", "convlstm", SEE, 64, 1 },
    { "see-tt-128", "convttlstm", SEE, 128, 3 },
    { "train-tt", "convttlstm", TRUE, 64, 1 },
    { "train-tt-fed", "convttlstm", FED, 64, 1 },
    { "train-tt-auto", "convttlstm", TRUE, 64, 1, 0, 1 },
    { "train-tt-fed-auto", "convttlstm", FED, 64, 1, 0, 1 },
    { "train-lstm", "convlstm", TRUE, 64, 1 },
    { "train-lstm-fed", "convlstm", FED, 64, 1 },
    { "train-lstm-auto", "convlstm", TRUE, 64, 1, 0, 1 },
    { "gain-infer-0-none", "convttlstm", ONE, 64, 1, NO_IDEA },
    { "gain-infer-1-winograd", "convttlstm", ONE, 64, 1, NO_IDEA - NO_WINO },
    { "gain-infer-2-one-conv-for-cores", "convttlstm", ONE, 64, 1,
      NO_PAIR | NO_LSTM },
    { "gain-infer-3-both-convs-of-gates", "convttlstm", ONE, 64, 1, NO_LSTM },
    { "gain-infer-4-gates-in-the-conv", "convttlstm", ONE, 64, 1, 0 },
    { "gain-train-0-none", "convttlstm", TRUE, 64, 1, NO_IDEA },
    { "gain-train-1-winograd", "convttlstm", TRUE, 64, 1, NO_IDEA - NO_WINO },
    { "gain-train-2-one-conv-for-cores", "convttlstm", TRUE, 64, 1,
      NO_BATCH | DW_EACH | NO_PAIR | NO_LSTM },
    { "gain-train-3-one-batch", "convttlstm", TRUE, 64, 1,
      DW_EACH | NO_PAIR | NO_LSTM },
    { "gain-train-4-one-weight-gradient", "convttlstm", TRUE, 64, 1,
      NO_PAIR | NO_LSTM },
    { "gain-train-5-both-convs-of-gates", "convttlstm", TRUE, 64, 1, NO_LSTM },
    { "gain-train-6-gates-in-the-conv", "convttlstm", TRUE, 64, 1, 0 },
};

/* ---- a row at work ---- */

struct work {
    const struct cfg *c;
    const struct row *r;
    struct ctt_graph *g;
    struct ctt_dev   *dev;
    float            *w, *x;      /* weights; frames */
    double            best;       /* ms a frame, or a training step */
    struct ctt_memory_plan plan;
};

/* Takes Winograd, the first row, out of the table of providers. */
static void no_winograd(struct ctt_dev *d)
{
    struct ctt_conv_set *s = &ctt_cpu_of(d)->conv;

    memmove(s->row, s->row + 1, sizeof(s->row) - sizeof(s->row[0]));
    s->count--;
}

static unsigned without(const struct row *r)
{
    return (r->without & NO_LSTM ? CTT_RUN_NO_LSTM : 0) |
           (r->without & NO_PAIR ? CTT_RUN_NO_PAIR : 0) |
           (r->without & DW_EACH ? CTT_RUN_DW_EACH : 0);
}

static int64_t frame_floats(const struct work *k)
{
    return ctt_volume(&k->g->node[ctt_graph_input(k->g)].out);
}

static int work_open(const struct cfg *c, const struct row *r, struct work *k)
{
    int64_t frames = (int64_t)c->batch * (c->input + c->future);
    int rc = 0;

    *k = (struct work){ .c = c, .r = r, .best = 1e30 };
    CTT_TRY(bench_predict_graph(c->models, r->model,
                                c->size ? c->size : r->size, r->channels,
                                r->without & NO_CORES, &k->g));
    CTT_TRY(ctt_dev_open("cpu", c->threads, &k->dev));
    if (r->without & NO_WINO)
        no_winograd(k->dev);
    k->w = ctt_calloc((size_t)k->g->weights, sizeof(float));
    k->x = ctt_calloc((size_t)(frames * frame_floats(k)), sizeof(float));
    CTT_TRY(k->w && k->x ? 0 : CTT_ENOMEM);
    bench_fill(k->w, k->g->weights, 3, -0.05f, 0.05f);
    bench_fill(k->x, frames * frame_floats(k), 4, 0, 1);
out:
    return rc;
}

static void work_close(struct work *k)
{
    ctt_dev_close(&k->dev);
    ctt_graph_free(&k->g);
    ctt_free(k->w);
    ctt_free(k->x);
}

/* Once more, with the clock at each node. */
static int profile(struct work *k, const struct ctt_graph *g,
                   int (*once)(struct work *k, void *arg), void *arg)
{
    struct ctt_profile (*p)[CTT_PASSES] = NULL;
    int rc = 0;

    if (!k->c->profile)
        goto out;
    p = ctt_calloc((size_t)g->count, sizeof(*p));
    CTT_TRY(p ? 0 : CTT_ENOMEM);
    ctt_dev_profile(k->dev, g, p);
    rc = once(k, arg);
    ctt_dev_profile(k->dev, g, NULL);
    CTT_TRY(rc);
    bench_profile(g, p);
out:
    ctt_free(p);
    return rc;
}

/* Least time of `runs` runs, after one that prepares. */
static int least_time(struct work *k, int (*once)(struct work *k, void *arg),
                      void *arg, double seconds, int least)
{
    int threads = k->c->threads;
    double end = bench_seconds(threads) + seconds, t;
    int rc = 0;

    CTT_TRY(once(k, arg));
    for (int i = 0; i < least || bench_seconds(threads) < end; i++) {
        t = bench_seconds(threads);
        CTT_TRY(once(k, arg));
        t = (bench_seconds(threads) - t) * 1e3;
        k->best = t < k->best ? t : k->best;
    }
out:
    return rc;
}

/* ---- inference ---- */

static int frames_at_once(const struct work *k)
{
    return k->r->kind == SEE ? k->c->input : 1;
}

static int frame(struct work *k, void *arg)
{
    struct ctt_run *r = arg;
    int in = ctt_graph_input(k->g), steps = frames_at_once(k), rc = 0;

    CTT_TRY(ctt_run_make_room(r, steps));
    CTT_TRY(ctt_run_put(r, in, r->cursor, k->x,
                        steps * ctt_rows(&k->g->node[in].out)));
    CTT_TRY(ctt_run_steps(r, steps));
out:
    return rc;
}

static int infer(struct work *k)
{
    struct ctt_run *r = NULL;
    int rc = 0;

    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = k->g, .dev = k->dev, .w = k->w, .samples = 1,
        .steps = frames_at_once(k) }, &r));
    r->plain = without(k->r);
    CTT_TRY(least_time(k, frame, r, (double)k->c->seconds, 3));
    CTT_TRY(profile(k, k->g, frame, r));
    k->best /= frames_at_once(k);
out:
    ctt_run_close(&r);
    return rc;
}

/* ---- training ---- */

struct learner {
    struct ctt_train_cfg  cfg;
    struct ctt_predict_step   *s;
    struct ctt_optim     *o;
    struct ctt_batch      batch;
    int                   clip[1024], length[1024];
};

static int predict_step(struct work *k, void *arg)
{
    struct learner *l = arg;
    struct ctt_turn turn = { .batch = &l->batch, .seed = 1,
                             .truth = k->r->kind == TRUE };
    struct ctt_sums sums = { 0 };
    double norm;
    int rc = 0;

    if (k->r->without & NO_BATCH)
        turn.truth = 0;
    CTT_TRY(ctt_predict_step_run(l->s, &turn, &sums));
    CTT_TRY(ctt_optim_norm(l->o, l->s->x->dw, &norm));
    CTT_TRY(ctt_optim_step(l->o, norm, 1, 1e-5));
out:
    return rc;
}

static void learner_settings(const struct work *k, struct learner *l)
{
    const struct cfg *c = k->c;
    const char *keep = c->keep ? c->keep : k->r->automatic ? "auto" : "all";

    l->cfg.batch = c->batch;
    l->cfg.amp = c->bf16 ? CTT_O1 : CTT_O0;
    l->cfg.amp_type = 1;    /* bf16 */
    l->cfg.optimizer = CTT_ADAM;
    l->cfg.keep = keep;
    l->cfg.window = c->window;
    l->cfg.limits.memory = strcmp(keep, "auto") == 0 ? c->memory : 0;
    l->cfg.input_frames = k->r->without & NO_BATCH ? 1 : c->input;
    l->cfg.future_frames = c->input + c->future - l->cfg.input_frames;
    l->batch = (struct ctt_batch){ .x = k->x, .steps = c->input + c->future,
                                   .n = c->batch, .clip = l->clip,
                                   .length = l->length };
    for (int j = 0; j < c->batch; j++)
        l->length[j] = c->input + c->future;
}

static int bench_training(struct work *k)
{
    struct learner *l = ctt_calloc(1, sizeof(*l));
    struct ctt_memory m;
    int rc = l ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_opt_defaults(ctt_train_opts, &l->cfg));
    learner_settings(k, l);
    CTT_TRY(ctt_memory_parse(&l->cfg, &m));
    CTT_TRY(ctt_predict_step_open(k->g, k->w, &l->cfg, k->dev, &m, &l->s));
    CTT_TRY(ctt_optim_open(k->g, &l->cfg, NULL, k->w, k->dev, &l->o));
    l->s->x->r->w16 = l->o->w16;
    l->s->x->r->plain = without(k->r);
    CTT_TRY(least_time(k, predict_step, l, 0, k->c->repeat));
    CTT_TRY(profile(k, l->s->g, predict_step, l));
    k->plan = ctt_exec_plan(l->s->x);
out:
    if (l) {
        ctt_predict_step_close(&l->s);
        ctt_optim_close(&l->o);
    }
    ctt_free(l);
    return rc;
}

/* ---- reporting a row ---- */

/* Backward counts twice the forward pass. */
static void print_memory(const struct work *k, long megabytes)
{
    const struct row *r = k->r;
    int size = k->c->size ? k->c->size : r->size, trains = r->kind >= TRUE;
    double ops = 0, rate = ctt_dev_sgemm_rate(k->dev);

    for (int i = 0; i < k->g->count; i++)
        ops += 2 * (double)ctt_node_macs(k->g, i);
    if (trains)
        ops *= 3.0 * k->c->batch * (k->c->input + k->c->future - 1);
    printf("convtt %s %s %dx%dx%d %s %.2f ms %ld MB %.0f GFLOP/s %.0f%% of "
           "sgemm", kinds[r->kind], r->model, size, size, r->channels, r->name,
           k->best, megabytes, ops / k->best * 1e-6,
           ops / k->best * 1e-4 / rate);
    if (trains)
        printf(" windows %d of %d steps, %d kept, %lld MB planned",
               k->plan.windows, k->plan.window, k->plan.kept,
               (long long)k->plan.bytes >> 20);
    printf("\n");
}

static int do_row(const struct cfg *c, const struct row *r)
{
    struct rusage use;
    struct work k;
    int rc = 0;

    CTT_TRY(work_open(c, r, &k));
    CTT_TRY(r->kind >= TRUE ? bench_training(&k) : infer(&k));
    getrusage(RUSAGE_SELF, &use);
    print_memory(&k, use.ru_maxrss / 1024);
out:
    work_close(&k);
    return rc;
}

/* Forks a process for the row, as its peak memory is measured; this process
 * never starts threads, so forking is safe. */
static int row_apart(const struct cfg *c, const struct row *r)
{
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        int rc = do_row(c, r);
        if (rc < 0)
            fprintf(stderr, "bench_predict: %s: %s\n", r->name, ctt_errmsg());
        fflush(stdout);
        _exit(rc < 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    if (WIFSIGNALED(status))
        fprintf(stderr, "bench_predict: %s: killed by signal %d\n", r->name,
                WTERMSIG(status));
    return status != 0;
}

int main(int argc, char **argv)
{
    struct cfg c = { 0 };
    int at, done, failed = 0;

    at = ctt_opt_main(&program, &c, argc, argv, &done);
    if (done)
        return 0;
    if (at < 0 || at < argc) {
        fprintf(stderr, "bench_predict: %s\n",
                at < 0 ? ctt_errmsg() : "no arguments are taken");
        return 2;
    }
    /* Waiting threads give way soon, as in the tools. */
    if (!getenv("GOMP_SPINCOUNT") && !getenv("OMP_WAIT_POLICY")) {
        setenv("GOMP_SPINCOUNT", "2000", 1);
        execv("/proc/self/exe", argv);
    }
    for (size_t i = 0; i < CTT_LEN(rows); i++)
        if (bench_wanted(c.rows, rows[i].name))
            failed |= row_apart(&c, &rows[i]);
    return failed;
}
