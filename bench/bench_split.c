/* SPDX-License-Identifier: Apache-2.0
 * bench_split.c: time of a step of one process, and of each of several that
 * divide its graph (net/rewrite/split.h):
 *     bench_split MODEL HOW PARTS [--steps N] [--runs N] [--latency US]
 * HOW: bands or filters.  Computing is measured for one part after
 * the other, in CPU seconds on one thread, the least of N runs; messages from
 * the other parts are zeros.  Exchanges are simulated: latency plus bytes over
 * rate, once for messages to neighbours, parts - 1 times for an all-gather or
 * all-to-all as a ring.  Prints one line: milliseconds of the whole and of the
 * slowest part; share of the multiplications that is divided; messages and MB
 * of a rank; and for 100 and for 10 Gbit/s milliseconds of the exchange and how
 * many times as fast the parts are; MB of values and gradients of the whole and
 * of the largest part. */
#include "net/rewrite/split.h"
#include "run/back/exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NETS = 2 };

struct net { double gbit, seconds; };

/* Messages that would have passed. */
struct passed { double bytes; int64_t messages; struct net net[NETS]; };

struct bench {
    struct ctt_graph *g;
    const char       *how;
    int               parts, steps, runs;
    double            latency;
    struct passed     passed;
};

static const struct {
    const char *name;
    int (*split)(const struct ctt_graph *g, int part, int parts,
                 struct ctt_split **out);
} ways[] = { { "bands", ctt_split_bands }, { "filters", ctt_split_filters } };

static double clock_of_thread(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Counts `times` messages of `bytes` bytes, one after the other. */
static void count_messages(struct bench *b, double bytes, int times)
{
    struct passed *p = &b->passed;

    p->bytes += bytes * times;
    p->messages += times;
    for (int k = 0; k < NETS; k++)
        p->net[k].seconds += times * (b->latency * 1e-6 + bytes * 8 /
                                      (p->net[k].gbit * 1e9));
}

static int simulate_allgather(void *arg, const void *mine, int64_t n, void *all)
{
    struct bench *b = arg;

    memcpy(all, mine, (size_t)n);
    count_messages(b, (double)n, b->parts - 1);
    return 0;
}

/* Statistics of batch norms, of parts that are alike. */
static int simulate_norms(void *arg, const void *mine, int64_t n, void *all)
{
    struct bench *b = arg;

    for (int k = 0; k < b->parts; k++)
        memcpy((char *)all + k * n, mine, (size_t)n);
    count_messages(b, (double)n, b->parts - 1);
    return 0;
}

static int simulate_alltoall(void *arg, const void *from, void *to,
                             int64_t each)
{
    struct bench *b = arg;

    memcpy(to, from, (size_t)(each * b->parts));
    count_messages(b, (double)each, b->parts - 1);
    return 0;
}

/* To both sides over one link at the same time. */
static int simulate_swap(void *arg, const struct ctt_swap *s)
{
    int64_t out = s->sends[0] + s->sends[1], in = s->takes[0] + s->takes[1];

    for (int k = 0; k < 2; k++)
        if (s->takes[k])
            memset(s->from[k], 0, (size_t)s->takes[k]);
    count_messages(arg, (double)(out > in ? out : in), 1);
    return 0;
}

static int give_frames(void *arg, struct ctt_exec *x,
                       const struct ctt_window *p)
{
    int input = ctt_graph_input(x->r->g), rc = 0;
    const struct ctt_tensor *t = &x->r->g->node[input].out;
    int64_t n = ctt_volume(t) * p->steps;
    float *v = ctt_calloc((size_t)n, sizeof(*v));

    (void)arg;
    CTT_TRY(v ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < n; i++)
        v[i] = (float)(i * 37 % 101) / 101 - 0.5f;
    CTT_TRY(ctt_run_put(x->r, input, 0, v, p->steps * ctt_rows(t)));
out:
    ctt_free(v);
    return rc;
}

static int seed_gradient(void *arg, struct ctt_exec *x,
                         const struct ctt_window *p)
{
    int out = ctt_graph_output(x->r->g);
    const struct ctt_tensor *t = &x->r->g->node[out].out;
    float dy[4096];

    (void)arg;
    for (size_t i = 0; i < CTT_LEN(dy); i++)
        dy[i] = 0.1f;
    if (ctt_volume(t) * p->steps > (int64_t)CTT_LEN(dy))
        return ctt_error(CTT_EINVAL, "the answer is not one of classes");
    return ctt_exec_put_grad(x, out, 0, dy, p->steps * ctt_rows(t));
}

/* The sum of gradients of weights that the parts come to. */
static int fill_part(struct bench *b, const struct ctt_split *s,
                     struct ctt_dev *dev)
{
    float *x, *room;
    int64_t n = 0;
    int rc = 0;

    for (int i = 0; i < b->g->count; i++)
        n += s->partial[i] ? ctt_node_params(&b->g->node[i]) : 0;
    x = ctt_calloc((size_t)n + 1, sizeof(*x));
    room = ctt_calloc((size_t)ctt_dev_total_room(dev, n) + 1, sizeof(*room));
    CTT_TRY(x && room ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_dev_total(dev, x, n, room));
out:
    ctt_free(x);
    ctt_free(room);
    return rc;
}

/* Forward and back; the least seconds of the runs. */
static int measure_graph(struct bench *b, const struct ctt_graph *g,
                         struct ctt_dev *dev, double *least, int64_t *bytes)
{
    float *w = ctt_calloc((size_t)g->weights, sizeof(*w));
    struct ctt_job job = { .steps = b->steps, .feedback = b->steps,
                           .arg = b, .give = give_frames,
                           .seed = seed_gradient };
    struct ctt_exec *x = NULL;
    int rc = w ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int64_t i = 0; i < g->weights; i++)
        w[i] = (float)(i * 53 % 89) / 890 - 0.05f;
    CTT_TRY(ctt_exec_open(&(struct ctt_run_spec){
        .g = g, .dev = dev, .w = w, .samples = 1, .steps = b->steps }, NULL,
        &x));
    *least = 1e30;
    *bytes = ctt_exec_plan(x).bytes;
    for (int i = 0; i <= b->runs; i++) {
        double start = clock_of_thread(), took;

        b->passed = (struct passed){ .net = { { .gbit = 100 },
                                              { .gbit = 10 } } };
        CTT_TRY(ctt_exec_forward(x, &job));
        CTT_TRY(ctt_exec_backward(x, &job));
        took = clock_of_thread() - start;
        if (i > 0 && took < *least)    /* the first one prepares kernels */
            *least = took;
    }
out:
    ctt_exec_close(&x);
    ctt_free(w);
    return rc;
}

static int open_one_thread(struct ctt_dev **dev)
{
    int rc = ctt_dev_open("cpu", 1, dev);

    if (rc >= 0)
        ctt_dev_deterministic(*dev, 1);
    return rc;
}

/* Of each part; the slowest, whose exchange stays in b->passed. */
static int measure_parts(struct bench *b, double *slowest, double *share,
                         int64_t *largest)
{
    struct passed most = { .bytes = 0 };
    struct ctt_split *s = NULL;
    struct ctt_dev *dev = NULL;
    int rc = 0;
    size_t w = 0;

    while (w < CTT_LEN(ways) && strcmp(ways[w].name, b->how) != 0)
        w++;
    CTT_CHECK(w < CTT_LEN(ways), CTT_EINVAL, "%s: no way to divide", b->how);
    *slowest = 0;
    for (int k = 0; k < b->parts; k++) {
        struct ctt_group group = { k, b->parts, b, simulate_allgather,
                                   simulate_alltoall, simulate_swap };
        struct ctt_group norms = { k, b->parts, b, simulate_norms, NULL, NULL };
        int64_t bytes;
        double took;

        CTT_TRY(open_one_thread(&dev));
        CTT_TRY(ctt_dev_join(dev, &group));
        if (strcmp(b->how, "bands") == 0)
            CTT_TRY(ctt_dev_join_norms(dev, &norms));
        CTT_TRY(ways[w].split(b->g, k, b->parts, &s));
        CTT_TRY(measure_graph(b, s->g, dev, &took, &bytes));
        CTT_TRY(fill_part(b, s, dev));
        if (took > *slowest)
            *slowest = took;
        *largest = bytes > *largest ? bytes : *largest;
        if (b->passed.bytes > most.bytes)
            most = b->passed;
        *share = s->share;
        ctt_split_free(&s);
        ctt_dev_close(&dev);
    }
    b->passed = most;
out:
    ctt_split_free(&s);
    ctt_dev_close(&dev);
    return rc;
}

static int bench(struct bench *b)
{
    struct ctt_dev *dev = NULL;
    double whole = 0, slowest = 0, share = 0;
    int64_t bytes = 0, largest = 0;
    int rc;

    CTT_TRY(open_one_thread(&dev));
    CTT_TRY(measure_graph(b, b->g, dev, &whole, &bytes));
    CTT_TRY(measure_parts(b, &slowest, &share, &largest));
    printf("%.4g %.4g %.1f%% %lld %.3g", 1000 * whole, 1000 * slowest,
           100 * share, (long long)b->passed.messages, b->passed.bytes / 1e6);
    for (int k = 0; k < NETS; k++)
        printf(" %.3g %.2f", 1000 * b->passed.net[k].seconds,
               whole / (slowest + b->passed.net[k].seconds));
    printf(" %.0f %.0f\n", (double)bytes / 1e6, (double)largest / 1e6);
out:
    ctt_dev_close(&dev);
    return rc;
}

int main(int argc, char **argv)
{
    struct bench b = { .steps = 4, .runs = 3, .latency = 2 };
    char *text = NULL;
    int rc = 0;

    if (argc < 4)
        return 2;
    b.how = argv[2];
    b.parts = atoi(argv[3]);
    for (int i = 4; i + 1 < argc; i += 2) {
        b.steps = strcmp(argv[i], "--steps") ? b.steps : atoi(argv[i + 1]);
        b.runs = strcmp(argv[i], "--runs") ? b.runs : atoi(argv[i + 1]);
        b.latency = strcmp(argv[i], "--latency") ? b.latency
                                                 : atof(argv[i + 1]);
    }
    CTT_TRY(ctt_net_read(argv[1], &text));
    CTT_TRY(ctt_net_parse(text, &b.g));
    CTT_TRY(bench(&b));
out:
    if (rc < 0)
        fprintf(stderr, "bench_split: %s\n", ctt_errmsg());
    ctt_free(text);
    ctt_graph_free(&b.g);
    return rc < 0;
}
