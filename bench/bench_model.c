/* SPDX-License-Identifier: Apache-2.0
 * bench_model.c: a whole model, trained and streamed, against the sgemm rate
 * of the same run; only the model's own multiplications count. */
#include "bench/measure.h"
#include "infer/infer.h"
#include "libtrain/amp.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/data/load.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"
#include "net/file/file.h"
#include "net/init.h"
#include "net/op.h"
#include "run/run.h"

#include <sys/resource.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cfg {
    int         batch, steps, threads, repeat, profile, window;
    int         no_lstm, no_pair, dw_each, deterministic, pairs, bf16;
    const char *device, *keep;
    int64_t     memory;
};

#define FIELD(f) offsetof(struct cfg, f)
static const struct ctt_opt opts[] = {
    { "batch", CTT_INT, FIELD(batch), "24", "clips per training step", 1,
      4096 },
    { "steps", CTT_INT, FIELD(steps), "20", "frames per clip", 1, 4096 },
    { "threads", CTT_INT, FIELD(threads), "0", "threads that compute; 0: "
      "one per processor", 0, 1024 },
    { "repeat", CTT_INT, FIELD(repeat), "5", "report the best of N runs", 1,
      1000 },
    { "profile", CTT_FLAG, FIELD(profile), "0", "print one line per node" },
    { "device", CTT_STRING, FIELD(device), "cpu", "device" },
    { "keep", CTT_STRING, FIELD(keep), "all", "like convtt-train --keep" },
    { "window", CTT_INT, FIELD(window), "0", "like convtt-train --window", 0,
      4096 },
    { "memory", CTT_SIZE, FIELD(memory), "0", "with --keep=auto, at most "
      "this for values and gradients", 0, 0x1p50 },
    { "deterministic", CTT_FLAG, FIELD(deterministic), "0", "like "
      "convtt-train --deterministic" },
    { "bf16", CTT_FLAG, FIELD(bf16), "0", "train like convtt-train --amp=O1 "
      "--amp-type=bf16" },
    { "pairs", CTT_INT, FIELD(pairs), "0", "instead train N times without and "
      "with --deterministic, in turns, and print the medians of both and of "
      "the ratio of the two of a turn, by the clock and by the time of "
      "processors", 0, 1000, .arg = "N" },
    { "no-lstm", CTT_FLAG, FIELD(no_lstm), "0", "do not apply LSTM gates "
      "inside the conv that computes them" },
    { "no-pair", CTT_FLAG, FIELD(no_pair), "0", "compute the two convs of a "
      "sum in two calls" },
    { "dw-each", CTT_FLAG, FIELD(dw_each), "0", "in a loop, compute weight "
      "gradients per step, not per window" },
    { .name = NULL }
};
static const struct ctt_program program = {
    .name = "bench_model", .synopsis = "[OPTION...] MODEL...", .opts = opts
};

static void fill_random(float *x, int64_t n, uint64_t key, float scale)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = scale * ((float)ctt_random(key, (uint64_t)i) * 0x1p-31f - 1);
}

/* Multiplications forward of a window, and backward: twice that, less the
 * gradients that lead to no weight and are not computed, such as that of the
 * frames. */
static double operations(const struct ctt_graph *g, const struct cfg *c,
                         const struct ctt_exec *x)
{
    double sum = 0;

    for (int i = 0; i < g->count; i++) {
        double runs = i < g->clip ? (double)c->steps * c->batch : 2 * c->batch;
        double one = 2 * (double)ctt_node_macs(g, i) * runs;
        sum += one * (g->node[i].nin && !ctt_exec_needs(x, g->node[i].in[0])
                      ? 2 : 3);
    }
    return sum;
}

static void print_profile(const struct ctt_graph *g, const struct cfg *c,
                          struct ctt_profile (*p)[CTT_PASSES], int rounds)
{
    printf("%-16s %-8s %9s %7s %9s %7s\n", "node", "op", "fwd ms", "GF/s",
           "bwd ms", "GF/s");
    for (int i = 0; i < g->count; i++) {
        double f = p[i][CTT_FWD].seconds / rounds;
        double b = p[i][CTT_BWD].seconds / rounds;
        double runs = i < g->clip ? (double)c->steps * c->batch : 2 * c->batch;
        double ops = 2 * (double)ctt_node_macs(g, i) * runs;
        if (f + b < 1e-6)
            continue;
        printf("%-16s %-8s %9.3f %7.0f %9.3f %7.0f\n", g->node[i].name,
               ctt_ops[g->node[i].op].name, f * 1e3, ops / f * 1e-9, b * 1e3,
               2 * ops / b * 1e-9);
    }
}

/* Frames that cost next to nothing to make: giving them is timed too. */
static void frames(float *x, int64_t n, int step)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)((i * 37 + step * 101) & 255) * 0x1p-7f - 1;
}

struct batch {
    const struct ctt_job *job;
    const struct ctt_ask *ask;
    float *x, *dy;    /* frames of a clip, gradient of the answers */
};

static int give_frames(void *arg, struct ctt_exec *x,
                       const struct ctt_window *p)
{
    const struct ctt_graph *g = x->r->g;
    const struct batch *b = arg;
    int in = ctt_graph_input(g);

    for (int t = 0; t < p->steps; t++)
        frames(b->x + t * x->r->slot[in].size, x->r->slot[in].size,
               p->first + t);
    return ctt_run_put(x->r, in, 0, b->x, p->steps * x->r->n *
                       ctt_rows(&g->node[in].out));
}

static int seed_gradient(void *arg, struct ctt_exec *x,
                         const struct ctt_window *p)
{
    const struct batch *b = arg;
    const struct ctt_tensor *y = &x->r->g->node[ctt_graph_output(x->r->g)].out;
    int last = ctt_graph_output(x->r->g), rc = 0;

    if (p->asks)
        CTT_TRY(ctt_exec_put_grad(x, last, 0, b->dy, p->asks * ctt_rows(y)));
    else if (!b->job->asks && p->first + p->steps == b->job->steps)
        CTT_TRY(ctt_exec_put_grad(x, last, p->steps - 1, b->dy,
                                  x->r->n * ctt_rows(y)));
out:
    return rc;
}

/* Room for frames and gradients; b->ask is set. */
static int new_batch(const struct ctt_graph *g, const struct cfg *c,
                     struct batch *b)
{
    int64_t in = ctt_volume(&g->node[ctt_graph_input(g)].out) * c->steps;
    int64_t out = ctt_volume(&g->node[ctt_graph_output(g)].out) * 2;

    b->x = ctt_calloc((size_t)(in * c->batch), sizeof(float));
    b->dy = ctt_calloc((size_t)(out * c->batch), sizeof(float));
    if (!b->x || !b->dy)
        return CTT_ENOMEM;
    fill_random(b->dy, out * c->batch, 5, 1e-3f);
    return 0;
}

static int time_step(struct ctt_exec *x, const struct cfg *c, struct batch *b)
{
    const struct ctt_graph *g = x->r->g;
    struct ctt_job job = { .steps = c->steps, .feedback = c->steps,
                           .ask = b->ask,
                           .asks = g->clip < g->count ? 2 * c->batch : 0,
                           .give = give_frames, .seed = seed_gradient };
    int rc = 0;

    b->job = &job;
    job.arg = b;
    CTT_TRY(ctt_exec_forward(x, &job));
    CTT_TRY(ctt_exec_backward(x, &job));
out:
    return rc;
}

/* An exec with the plan and without the gains that the options say. */
static int open_exec(const struct ctt_graph *g, const float *w,
                     struct ctt_dev *dev, const struct cfg *c,
                     struct ctt_amp_plan **amp, uint16_t *w16,
                     struct ctt_exec **out)
{
    struct ctt_train_cfg cfg = { .keep = c->keep, .window = c->window,
                                 .limits.memory = c->memory,
                                 .amp = c->bf16 ? CTT_O1 : CTT_O0,
                                 .amp_type = 1 };    /* bf16 */
    struct ctt_memory_plan plan;
    struct ctt_memory memory;
    int rc = 0;

    CTT_TRY(ctt_memory_parse(&cfg, &memory));
    CTT_TRY(ctt_amp_plan(g, &cfg, amp));
    CTT_TRY(ctt_exec_open(&(struct ctt_run_spec){
        .g = g, .dev = dev, .w = w, .samples = c->batch, .steps = c->steps,
        .asks = 2 * c->batch, .type = ctt_amp_types(*amp, &cfg) },
        &memory, out));
    (*out)->r->plain = (c->no_lstm ? CTT_RUN_NO_LSTM : 0u) |
                       (c->no_pair ? CTT_RUN_NO_PAIR : 0u) |
                       (c->dw_each ? CTT_RUN_DW_EACH : 0u);
    if (c->bf16) {
        CTT_TRY(ctt_dev_cast(dev, w, CTT_BF16, w16, g->weights));
        (*out)->r->w16 = w16;
    }
    plan = ctt_exec_plan(*out);
    printf("memory      %9.1f MB  %d of %d windows of %d steps kept\n",
           (double)plan.bytes / 1048576, plan.kept, plan.windows,
           plan.window);
out:
    return rc;
}

/* Seconds by the clock, and of all processors. */
struct spent { double clock, cpu; };

static struct spent now(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (struct spent){ ctt_seconds(),
        (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
        (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6 };
}

static int by_seconds(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof(*x), by_seconds);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* p: room for 6 numbers a pair. */
static int pairs(struct ctt_exec *x, struct ctt_dev *dev, const struct cfg *c,
                 struct batch *b, double *p)
{
    static const char *const what[] = { "clock", "processors" };
    int n = c->pairs, rc = 0;

    for (int i = -1; i < n; i++) {    /* the first one prepares */
        for (int exact = 0; exact < 2; exact++) {
            struct spent t = now(), u;
            ctt_dev_deterministic(dev, exact);
            x->r->stamp++;
            CTT_TRY(time_step(x, c, b));
            u = now();
            if (i < 0)
                continue;
            p[exact * n + i] = u.clock - t.clock;
            p[(3 + exact) * n + i] = u.cpu - t.cpu;
        }
        for (int k = 0; i >= 0 && k < 6; k += 3)
            p[(k + 2) * n + i] = p[(k + 1) * n + i] / p[k * n + i];
    }
    for (int k = 0; k < 6; k += 3, p += 3 * n)
        printf("%-11s %9.1f ms without, %9.1f ms with --deterministic: "
               "%.3f times\n", what[k > 0], median(p, n) * 1e3,
               median(p + n, n) * 1e3, median(p + 2 * n, n));
out:
    return rc;
}

static int bench_train(const struct ctt_graph *g, const float *w,
                       struct ctt_dev *dev, const struct cfg *c, double rate)
{
    struct ctt_profile (*p)[CTT_PASSES] = NULL;
    struct ctt_amp_plan *amp = NULL;
    struct ctt_exec *x = NULL;
    struct ctt_ask *ask = ctt_calloc((size_t)c->batch * 2, sizeof(*ask));
    struct batch b = { .ask = ask };
    double best = 1e30, ops, t, *turns = NULL;
    int threads = strcmp(c->device, "cpu") == 0 ? c->threads : 0;
    uint16_t *w16 = ctt_calloc((size_t)g->weights, sizeof(*w16));
    int rc = ask && w16 ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int a = 0; a < 2 * c->batch; a++)
        ask[a] = (struct ctt_ask){ a / 2, a % 2 ? c->steps - 1
                                                : c->steps / 3 };
    CTT_TRY(new_batch(g, c, &b));
    CTT_TRY(open_exec(g, w, dev, c, &amp, w16, &x));
    if (c->pairs) {
        turns = ctt_calloc((size_t)c->pairs * 6, sizeof(*turns));
        CTT_TRY(turns ? 0 : CTT_ENOMEM);
        CTT_TRY(pairs(x, dev, c, &b, turns));
        goto out;
    }
    ops = operations(g, c, x);
    CTT_TRY(time_step(x, c, &b));    /* prepares */
    for (int i = 0; i < c->repeat; i++) {
        x->r->stamp++;      /* as after an optimizer's step */
        t = bench_seconds(threads);
        CTT_TRY(time_step(x, c, &b));
        t = bench_seconds(threads) - t;
        best = t < best ? t : best;
    }
    printf("training    %9.1f ms  %6.0f clips/s  %6.0f GFLOP/s  %5.1f%% of "
           "sgemm\n", best * 1e3, c->batch / best, ops / best * 1e-9,
           100 * ops / best * 1e-9 / rate);
    if (!c->profile)
        goto out;
    p = ctt_calloc((size_t)g->count, sizeof(*p));
    CTT_TRY(p ? 0 : CTT_ENOMEM);
    ctt_dev_profile(dev, g, p);
    for (int i = 0; i < c->repeat; i++)
        CTT_TRY(time_step(x, c, &b));
    ctt_dev_profile(dev, g, NULL);
    print_profile(g, c, p, c->repeat);
out:
    ctt_exec_close(&x);
    ctt_amp_free(&amp);
    ctt_free(b.x);
    ctt_free(b.dy);
    ctt_free(ask);
    ctt_free(w16);
    ctt_free(turns);
    ctt_free(p);
    return rc;
}

/* The answer: classes, or the next frame. */
static int get_answer(struct ctt_infer *m, struct ctt_session *s, float *y)
{
    return ctt_infer_predicts(m) ? ctt_session_predict(s, 1, y)
                                 : ctt_session_read(s, y);
}

/* Frames in pieces of `chunk`; the answer is read after each piece. */
static int bench_stream(struct ctt_infer *m, const struct cfg *c, int chunk,
                        const double each[2], double rate)
{
    const struct ctt_infer_input *in = ctt_infer_wants(m);
    size_t frame = (size_t)in->h * (size_t)in->w * (size_t)in->c;
    float *x = ctt_calloc(frame * (size_t)chunk, sizeof(float));
    float *y = ctt_calloc(ctt_infer_predicts(m)
                          ? frame : (size_t)ctt_infer_classes(m),
                          sizeof(float));
    struct ctt_session *s = NULL;
    double best = 1e30, ops = each[0] * chunk + each[1];
    int rc = x && y ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_session_open(m, &s));
    fill_random(x, (int64_t)frame * chunk, 9, 1);
    for (int i = 0; i < 20 * c->repeat; i++) {
        double t = ctt_seconds();
        CTT_TRY(ctt_session_push_float(s, x, chunk));
        CTT_TRY(get_answer(m, s, y));
        t = ctt_seconds() - t;
        if (i > 2 && t < best)
            best = t;
    }
    printf("stream x%-3d %9.3f ms/frame             %6.0f GFLOP/s  %5.1f%% of "
           "sgemm\n", chunk, best / chunk * 1e3, ops / best * 1e-9,
           100 * ops / best * 1e-9 / rate);
out:
    ctt_session_close(&s);
    ctt_free(x);
    ctt_free(y);
    return rc;
}

static int infer(const char *path, const struct ctt_graph *g,
                 const struct cfg *c, double rate)
{
    struct ctt_infer *m = NULL;
    double t = ctt_seconds(), ops[2] = { 0, 0 };    /* a frame's, an answer's */
    int rc = 0;

    for (int i = 0; i < g->count; i++)
        ops[i >= g->clip] += 2 * (double)ctt_node_macs(g, i);
    CTT_TRY(ctt_infer_open(path, c->device, c->threads, &m));
    printf("open        %9.1f ms\n", (ctt_seconds() - t) * 1e3);
    CTT_TRY(bench_stream(m, c, 1, ops, rate));
    CTT_TRY(bench_stream(m, c, 8, ops, rate));
    CTT_TRY(bench_stream(m, c, 32, ops, rate));
out:
    ctt_infer_close(&m);
    return rc;
}

static int load_bench_model(const char *path, struct ctt_model **m)
{
    struct ctt_graph *g = NULL;
    char *text = NULL;
    size_t n = strlen(path);
    int rc = 0;

    if (n < 4 || strcmp(path + n - 4, ".net") != 0)
        return ctt_model_load(path, 0, m);
    CTT_TRY(ctt_net_read(path, &text));
    CTT_TRY(ctt_net_parse(text, &g));
    CTT_TRY(ctt_model_new(g, m));
    ctt_init_weights(*m, 3);    /* a variance may not be negative */
out:
    ctt_free(text);
    return rc;
}

static int bench(const char *path, const struct cfg *c)
{
    char temp[] = "/tmp/bench_modelXXXXXX";
    struct ctt_model *m = NULL;
    struct ctt_dev *dev = NULL;
    double rate;
    int fd = mkstemp(temp), rc = 0;

    CTT_CHECK(fd >= 0, CTT_EIO, "%s: cannot make it", temp);
    CTT_TRY(load_bench_model(path, &m));
    CTT_TRY(ctt_model_save(temp, m));
    CTT_TRY(ctt_dev_open(c->device, c->threads, &dev));
    ctt_dev_deterministic(dev, c->deterministic);
    rate = ctt_dev_sgemm_rate(dev);
    printf("%s: sgemm %.0f GFLOP/s on %d threads\n", path, rate,
           ctt_dev_threads(dev));
    if (!c->pairs)
        CTT_TRY(infer(temp, m->g, c, rate));
    CTT_TRY(bench_train(m->g, m->w, dev, c, rate));
out:
    if (fd >= 0) {
        close(fd);
        unlink(temp);
    }
    ctt_dev_close(&dev);
    ctt_model_free(&m);
    return rc;
}

int main(int argc, char **argv)
{
    struct cfg c = { 0 };
    int done, rc, at;

    at = ctt_opt_main(&program, &c, argc, argv, &done);
    if (done)
        return 0;
    if (at < 0 || at >= argc) {
        fprintf(stderr, "bench_model: %s\n",
                at < 0 ? ctt_errmsg() : "no model given");
        return 2;
    }
    for (rc = 0; at < argc && rc >= 0; at++)
        rc = bench(argv[at], &c);
    if (rc < 0)
        fprintf(stderr, "bench_model: %s\n", ctt_errmsg());
    return rc < 0;
}
