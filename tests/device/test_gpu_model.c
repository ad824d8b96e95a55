/* SPDX-License-Identifier: Apache-2.0
 * test_gpu_model.c: whole models on the device "cuda": forward and backward
 * against plain C, in windows, recomputed, replayed, on several streams,
 * streamed step by step; and that a step allocates nothing. */
#include "tests/lib/batch.h"
#include "tests/lib/gpu_net.h"
#include "run/joint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the models ---- */

/* The rows and columns of frames; 0: unchanged. */
static const struct file { const char *name; int side, n, steps; } files[] = {
    { "early-cnn3d", 24, 2, 4 },
    { "early-convlstm", 24, 2, 4 },
    { "early-convttlstm", 24, 2, 4 },
    { "early-lstm", 0, 2, 3 },
    { "early-tsm", 24, 2, 4 },
    { "early-2plus1d", 24, 2, 4 },
    { "mnist-convlstm", 8, 1, 3 },
    { "mnist-convttlstm", 8, 1, 4 },
    { "mnist-small", 16, 2, 5 },
    { "something-convttlstm", 24, 1, 3 },
};

/* "h=64" becomes "h=8": shorter, filled with blanks. */
static void resize(char *text, const char *word, int side)
{
    char *at = strstr(text, word), now[16];
    size_t n;

    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    n = strcspn(at, " \n");
    snprintf(now, sizeof(now), "%s%d", word, side);
    CU_ASSERT_FATAL(strlen(now) <= n);
    memset(at, ' ', n);
    memcpy(at, now, strlen(now));
}

static char *file_text(const struct file *f)
{
    const char *top = getenv("srcdir");
    char path[1024], *text = NULL;

    snprintf(path, sizeof(path), "%s/models/%s.net", top ? top : ".", f->name);
    CHECK_OK(ctt_net_read(path, &text));
    if (f->side) {
        resize(text, "h=", f->side);
        resize(text, "w=", f->side);
    }
    return text;
}

static struct net_model of_batch(const struct batch_model *b)
{
    return (struct net_model){ b->text, b->n, b->asks, b->feedback, STEPS };
}

/* ---- against plain C ---- */

static void compare(const char *name, const struct net_model *m,
                    const struct net_type *t)
{
    struct net a, b;
    double y, dw, w;

    CHECK_OK(net_open(&a, m, host, t, 0, CTT_KEEP_ALL));
    CHECK_OK(net_open(&b, m, gpu, t, 0, CTT_KEEP_ALL));
    CHECK_OK(net_run(&a, 0));
    CHECK_OK(net_run(&b, 0));
    y = net_off(b.y, a.y, a.answers);
    dw = net_off(b.dw, a.dw, a.g->weights);
    w = net_off(b.now, a.now, a.g->weights);
    if (!(y <= t->y && dw <= t->dw && w <= t->y))
        printf("\n    %s, %s: answers are off by %.2g, gradients by %.2g, "
               "weights by %.2g", name, t->word, y, dw, w);
    CU_ASSERT(y <= t->y && dw <= t->dw && w <= t->y);
    net_close(&a);
    net_close(&b);
}

/* Of a sample one model is always tried. */
static void test_models(void)
{
    for (size_t i = 0; i < CTT_LEN(files); i++) {
        const struct file *f = &files[i];
        char *text = file_text(f);
        struct net_model m = { text, f->n, 2, 0, f->steps };
        for (int t = 0; t < NET_TYPES; t += gpu_quick ? 3 : 1)
            if (ctt_check_tries() || (i == 2 && t == 0))
                compare(f->name, &m, &net_types[t]);
        ctt_free(text);
    }
}

static void test_small(void)
{
    for (int i = 0; i < BATCH_MODELS; i++) {
        struct net_model m = of_batch(&batch_models[i]);
        for (int t = 0; t < NET_TYPES && ctt_check_tries(); t++)
            compare(batch_models[i].text, &m, &net_types[t]);
    }
}

/* ---- cells whose convs are joined ---- */

/* Images of several tiles; sums of one and of two slices; states that are fed
 * back, so that nothing is free. */
static const struct net_model cells[] = {
    { "input x h=20 w=40 c=1\n"
      "convttlstm k in=x hidden=8 kernel=5 order=3 steps=4 rank=8\n"
      "convttlstm l in=k hidden=16 kernel=3 order=2 steps=2 rank=8\n"
      "conv y in=l out=1\n", 2, 0, 0, 6 },
    { "input frame h=18 w=10 c=1\n"
      "input seen c=1\n"
      "state back of=y like=frame c=1\n"
      "mix x in=frame,back,seen\n"
      "convttlstm k in=x hidden=8 kernel=3 order=3 steps=3 rank=8\n"
      "convttlstm l in=k hidden=8 kernel=7 order=1 steps=1 rank=8\n"
      "convttlstm m in=l hidden=8 kernel=3 order=2 steps=2 rank=8\n"
      "concat s in=m,k\n"
      "conv y in=s out=1\n", 2, 0, 3, 6 },
};

/* The gates' conv reads nothing of the loop and is free; the lstm is bound. */
static const struct net_model free_gates = {
    "input x c=8 h=8 w=8\n"
    "conv zx in=x out=32 kernel=3 pad=1\n"
    "conv a in=x out=8\n"
    "conv z in=a plus=zx out=32 kernel=3 pad=1 bias=0\n"
    "state c1 of=c like=z c=8\n"
    "lstm h in=z,c1\n"
    "cell c in=h\n"
    "conv y in=h out=1\n", 2, 0, 0, 4
};

static int count_linked(const struct net *r)
{
    int n = 0;

    for (int i = 0; i < r->g->count; i++)
        n += r->x->r->slot[i].link >= 0;
    return n;
}

/* As compare(); kernels of cores must have run. */
static void compare_cores(const struct net_model *m, const struct net_type *t)
{
    int64_t before = gpu_sim_runs("core");

    compare(m->text, m, t);
    CU_ASSERT(before < 0 || gpu_sim_runs("core") > before);
}

/* Trains of cores in kernels of their own, and each conv alone. */
static void trains_of(const struct net_model *m, const struct net_type *t,
                      int streams)
{
    struct net a, b;

    CHECK_OK(net_open(&a, m, gpu, t, 0, CTT_KEEP_ALL));
    ctt_dev_streams(gpu, streams);
    CHECK_OK(net_open(&b, m, gpu, t, 2, 1));
    CU_ASSERT(count_linked(&a) > 0);
    CU_ASSERT(a.x->r->joints > 0 && b.x->r->joints == a.x->r->joints);
    a.x->r->plain = CTT_RUN_NO_CHAIN;
    if (!m->feedback) {    /* values computed again node by node */
        net_close(&a);
        CHECK_OK(net_open(&a, m, gpu, t, 0, CTT_KEEP_DEPTH));
    }
    for (int k = 0; k < 3; k++) {
        CHECK_OK(net_run(&a, k));
        CHECK_OK(net_run(&b, k));
        CU_ASSERT(net_off(a.y, b.y, a.answers) <= t->y);
        CU_ASSERT(net_off(a.dw, b.dw, a.g->weights) <= t->dw);
    }
    ctt_dev_streams(gpu, 1);
    net_close(&a);
    net_close(&b);
}

static void test_cells(void)
{
    for (size_t i = 0; i < CTT_LEN(cells); i++)
        for (int t = 0; t < NET_TYPES; t++) {
            if (gpu_quick && t > 1)
                continue;
            compare_cores(&cells[i], &net_types[t]);
            trains_of(&cells[i], &net_types[t], 1 + 3 * (t & 1));
        }
}

/* 1 if the answers of two runs of a net have the same bits, of which the second
 * may use TF32. */
static int same_answers(const struct net_model *m, int tf32)
{
    struct net a, b;
    int same;

    CHECK_OK(net_open(&a, m, gpu, &net_types[0], 0, CTT_KEEP_ALL));
    CHECK_OK(net_run(&a, 0));
    ctt_dev_tf32(gpu, tf32);
    CHECK_OK(net_open(&b, m, gpu, &net_types[0], 0, CTT_KEEP_ALL));
    CHECK_OK(net_run(&b, 0));
    ctt_dev_tf32(gpu, 0);
    same = memcmp(a.y, b.y, (size_t)a.answers * sizeof(float)) == 0;
    net_close(&a);
    net_close(&b);
    return same;
}

/* Floats that tensor cores multiply as TF32, in the cores, too: which give
 * other bits than without.  Cores alone multiply by warps. */
static void test_tf32(void)
{
    struct net_type t = net_types[0];
    int64_t before = gpu_sim_runs("mma.tf32");

    t.y = net_types[3].y;
    t.dw = net_types[3].dw;
    ctt_dev_tf32(gpu, 1);
    for (size_t i = 0; i < (gpu_quick ? 1 : CTT_LEN(cells)); i++)
        compare_cores(&cells[i], &t);
    ctt_dev_tf32(gpu, 0);
    CU_ASSERT(before < 0 || gpu_sim_runs("mma.tf32") > before);
    ctt_dev_deterministic(gpu, 1);
    for (size_t i = 0; i < (gpu_quick ? 1 : CTT_LEN(cells)); i++) {
        CU_ASSERT(same_answers(&cells[i], 0));
        CU_ASSERT(!same_answers(&cells[i], 1));
    }
    ctt_dev_deterministic(gpu, 0);
}

/* Cores of other ranks, in 16 bits: columns and rows that are no multiples of a
 * tile's, taps of an odd and of an even number of planes. */
static const struct { int n, h, w, hidden, kernel, order, rank; } ranks[] = {
    { 1, 9, 33, 6, 5, 3, 3 }, { 3, 7, 5, 4, 3, 3, 4 },
    { 1, 17, 31, 3, 1, 3, 5 }, { 3, 5, 18, 8, 3, 4, 7 },
    { 1, 8, 32, 8, 1, 3, 8 }, { 3, 3, 50, 8, 7, 2, 8 },
    { 1, 10, 35, 4, 3, 3, 9 }, { 2, 11, 9, 8, 5, 3, 12 },
    { 3, 6, 19, 4, 1, 2, 13 }, { 1, 19, 37, 8, 5, 3, 16 },
    { 2, 8, 16, 16, 7, 2, 16 },
};

static void test_ranks(void)
{
    enum { QUICK = 1 << 0 | 1 << 5 | 1 << 9 | 1 << 10 };
    char text[300];
    int taken = 0;
    struct net b;

    for (size_t i = 0; i < CTT_LEN(ranks); i++) {
        struct net_model m = { text, ranks[i].n, 0, 0, 6 };
        if (gpu_quick ? !(QUICK >> i & 1)
                      : !ctt_check_tries() && ranks[i].rank % 8)
            continue;
        snprintf(text, sizeof(text), "input x h=%d w=%d c=1\n"
                 "convttlstm k in=x hidden=%d kernel=%d order=%d steps=4 "
                 "rank=%d\nconv y in=k out=1\n", ranks[i].h, ranks[i].w,
                 ranks[i].hidden, ranks[i].kernel, ranks[i].order,
                 ranks[i].rank);
        compare_cores(&m, &net_types[3 + taken++ % 2]);
        CHECK_OK(net_open(&b, &m, gpu, &net_types[3], 0, CTT_KEEP_ALL));
        CU_ASSERT(count_linked(&b) >= 2 * (ranks[i].order - 1) - 1);
        net_close(&b);
    }
}

/* The gradient of a joint kernel of one tap is a sum over all pixels that does
 * not fit fp16, though the gradients of the pixels do. */
static void test_one_tap(void)
{
    static const struct net_model m = {
        "input x h=20 w=40 c=1\n"
        "convttlstm k in=x hidden=8 kernel=3 order=2 steps=2 rank=8\n"
        "convttlstm l in=k hidden=16 kernel=1 order=2 steps=2 rank=8\n"
        "conv y in=l out=1\n", 2, 0, 0, 4
    };
    const struct net_type *t = &net_types[3];
    struct net a, b;

    CHECK_OK(net_open(&a, &m, host, t, 0, CTT_KEEP_ALL));
    CHECK_OK(net_open(&b, &m, gpu, t, 0, CTT_KEEP_ALL));
    CU_ASSERT(b.x->r->joints > 0);
    for (int64_t i = 0; i < a.answers; i++)
        a.coef[i] = b.coef[i] = 300;
    CHECK_OK(net_run(&a, 0));
    CHECK_OK(net_run(&b, 0));
    CU_ASSERT(net_off(b.dw, a.dw, a.g->weights) <= t->dw);
    net_close(&a);
    net_close(&b);
}

static void test_free_gates(void)
{
    struct net b;

    for (int t = 0; t < (gpu_quick ? 2 : NET_TYPES); t++)
        compare(free_gates.text, &free_gates, &net_types[t]);
    CHECK_OK(net_open(&b, &free_gates, gpu, &net_types[0], 0, CTT_KEEP_ALL));
    CU_ASSERT_EQUAL(b.x->r->joints, 1);
    CU_ASSERT(b.x->r->joint[0].lstm < 0);
    net_close(&b);
}

/* ---- the same bits ---- */

static void same(const struct net *a, const struct net *b, const char *what)
{
    struct ctt_memory_plan p = ctt_exec_plan(b->x);
    int good = net_same(a, b);

    if (!good)
        printf("\n    %s, %s, windows of %d steps, %d of %d kept:\n%s", what,
               a->cfg.amp ? "16 bits" : "fp32", p.window, p.kept, p.windows,
               a->m->text);
    CU_ASSERT(good);
}

/* Recomputed windows give the same bits as windows whose values were kept. */
static void windows_of(const struct net_model *m, const struct net_type *t,
                       int window)
{
    struct net a, b;

    CHECK_OK(net_open(&a, m, gpu, t, window, CTT_KEEP_ALL));
    CHECK_OK(net_run(&a, 0));
    for (int keep = 0; keep < 2; keep++) {
        CHECK_OK(net_open(&b, m, gpu, t, window, keep));
        CHECK_OK(net_run(&b, 0));
        same(&a, &b, "recomputed");
        net_close(&b);
    }
    net_close(&a);
}

static void test_windows(void)
{
    ctt_dev_deterministic(gpu, 1);
    for (int i = 0; i < BATCH_MODELS; i++)
        for (int window = gpu_quick ? 4 : 2; window <= 4; window++) {
            struct net_model m = of_batch(&batch_models[i]);
            if (batch_models[i].batch || !ctt_check_tries())
                continue;
            windows_of(&m, &net_types[0], window);
            windows_of(&m, &net_types[1 + window % 2], window);
        }
    ctt_dev_deterministic(gpu, 0);
}

/* Windows whose values left the device, to the host's memory or to a file, and
 * came back; while the work is recorded and replayed, too. */
static void offloaded_of(const struct net_model *m, const struct net_type *t,
                         int kept, enum ctt_rest rest, const char *folder)
{
    struct ctt_memory y = { .window = 2, .keep = kept, .rest = rest };
    struct net a, b;

    snprintf(y.folder, sizeof(y.folder), "%s", folder);
    CHECK_OK(net_open(&a, m, gpu, t, 2, CTT_KEEP_ALL));
    CHECK_OK(net_open_as(&b, m, gpu, t, &y));
    CHECK_OK(ctt_exec_choose(b.x));
    CU_ASSERT((rest == CTT_CHEAPEST ? ctt_exec_plan(b.x).rate
                                    : ctt_exec_plan(b.x).offloaded) > 0);
    for (int k = 0; k < (gpu_quick ? 2 : 4); k++) {
        CHECK_OK(net_run(&a, k));
        CHECK_OK(net_run(&b, k));
        same(&a, &b, *folder ? "offloaded to a file" : "offloaded");
    }
    net_close(&b);
    net_close(&a);
}

static void test_offloaded(void)
{
    ctt_dev_deterministic(gpu, 1);
    for (int i = 0; i < BATCH_MODELS; i++)
        for (int kept = 1; kept < 4 && !batch_models[i].batch; kept++) {
            struct net_model m = of_batch(&batch_models[i]);
            const struct net_type *t = &net_types[kept % 2];

            if (!ctt_check_tries())
                continue;
            ctt_dev_streams(gpu, kept == 3 ? 4 : 1);
            offloaded_of(&m, t, kept, CTT_OFFLOADED, "");
            offloaded_of(&m, t, kept, CTT_OFFLOADED, ".");
            offloaded_of(&m, t, kept, CTT_CHEAPEST, "");
            offloaded_of(&m, t, kept, CTT_CHEAPEST, ".");
        }
    ctt_dev_streams(gpu, 1);
    ctt_dev_deterministic(gpu, 0);
}

/* From the third run on the recorded graph is replayed, with other frames and
 * other random numbers each time. */
static void test_replayed(void)
{
    enum { ROUNDS = 5 };

    ctt_dev_deterministic(gpu, 1);
    for (int i = 0; i < BATCH_MODELS; i++)
        for (int t = 0; t < 2; t++) {
            struct net_model m = of_batch(&batch_models[i]);
            int window = batch_models[i].batch ? 0 : 3;
            struct net a, b;

            if (!ctt_check_tries())
                continue;
            CHECK_OK(net_open(&a, &m, gpu, &net_types[t], window, 1));
            for (int k = 0; k < ROUNDS; k++) {
                CHECK_OK(net_open(&b, &m, gpu, &net_types[t], window, 1));
                CHECK_OK(net_run(&a, k));
                CHECK_OK(net_run(&b, k));
                same(&a, &b, "replayed");
                net_close(&b);
            }
            net_close(&a);
        }
    ctt_dev_deterministic(gpu, 0);
}

static void test_streams(void)
{
    ctt_dev_deterministic(gpu, 1);
    for (int i = 0; i < BATCH_MODELS; i++)
        for (int t = 0; t < 2; t++) {
            struct net_model m = of_batch(&batch_models[i]);
            struct net a, b;

            if (!ctt_check_tries())
                continue;
            CHECK_OK(net_open(&a, &m, gpu, &net_types[t], 0, CTT_KEEP_ALL));
            CHECK_OK(net_run(&a, 0));
            ctt_dev_streams(gpu, 4);
            CHECK_OK(net_open(&b, &m, gpu, &net_types[t], 0, CTT_KEEP_ALL));
            for (int k = 0; k < 4; k++) {
                CHECK_OK(net_run(&b, 0));
                same(&a, &b, "streams");
            }
            net_close(&b);
            ctt_dev_streams(gpu, 1);
            net_close(&a);
        }
    ctt_dev_deterministic(gpu, 0);
}

/* ---- memory ---- */

/* What other programs may take or give meanwhile: none is on a simulated GPU,
 * unless CTT_SIM_JITTER says so. */
static int64_t bytes_of_others(void)
{
    int alone = gpu_sim("ctt_sim_runs") && !getenv("CTT_SIM_JITTER");

    return alone ? 0 : 64 << 20;
}

/* Neither the program nor the device allocates memory in a step. */
static void test_no_allocation(void)
{
    for (int i = 0; i < BATCH_MODELS; i++)
        for (int t = 0; t < 2; t++) {
            struct net_model m = of_batch(&batch_models[i]);
            int window = batch_models[i].batch ? 0 : 3;
            int64_t room = 0;
            long calls = 0;
            struct net r;

            if (!ctt_check_tries())
                continue;
            CHECK_OK(net_open(&r, &m, gpu, &net_types[t], window, 1));
            for (int k = 0; k < 6; k++) {
                CHECK_OK(net_run(&r, k));
                if (k < 3) {
                    calls = ctt_alloc_calls();
                    room = ctt_dev_room(gpu);
                }
            }
            CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
            CU_ASSERT(llabs(ctt_dev_room(gpu) - room) <= bytes_of_others());
            net_close(&r);
        }
}

static void test_no_memory(void)
{
    char *text = file_text(&(struct file){ "mnist-convttlstm", 0, 0, 0 });
    struct net_model m = { text, 4096, 0, 0, 20 };
    struct ctt_graph *g = NULL;
    struct ctt_exec *x = NULL;
    int rc;

    CHECK_OK(ctt_net_parse(text, &g));
    rc = ctt_exec_open(&(struct ctt_run_spec){
        .g = g, .dev = gpu, .samples = m.n, .steps = m.steps }, NULL, &x);
    CU_ASSERT_EQUAL(rc, CTT_ENOMEM);
    CU_ASSERT_PTR_NULL(x);
    CU_ASSERT(strstr(ctt_errmsg(), "free") != NULL);
    CU_ASSERT(strchr(ctt_errmsg(), '\n') == NULL);
    ctt_graph_free(&g);
    ctt_free(text);
    m = of_batch(&batch_models[0]);    /* the device still works */
    compare(m.text, &m, &net_types[0]);
}

/* ---- streaming ---- */

/* The answers of all steps of a clip, several steps per call. */
static void stream_clip(const struct net *r, struct ctt_run *run, int chunk,
                        float *x, float *y)
{
    int64_t in = ctt_volume(&r->g->node[0].out) * r->m->n;
    int64_t rows = ctt_rows(&r->g->node[r->out].out) * r->m->n;

    for (int t = 0; t < r->m->steps; t += chunk) {
        int steps = chunk < r->m->steps - t ? chunk : r->m->steps - t;
        CHECK_OK(ctt_run_make_room(run, steps));
        for (int k = 0; k < steps; k++) {
            ctt_check_fill(x, in, 100 + (uint64_t)(t + k));
            for (int64_t i = 0; i < in && in == r->m->n; i++)
                x[i] = x[i] > 0.2f;    /* as batch_input() */
            CHECK_OK(ctt_run_put(run, 0, run->cursor + k, x,
                                 ctt_rows(&r->g->node[0].out) * r->m->n));
        }
        CHECK_OK(ctt_run_steps(run, steps));
        for (int k = 0; k < steps; k++)
            CHECK_OK(ctt_run_get(run, r->out, run->cursor - steps + k, rows,
                                 y + (t + k) * r->one));
    }
}

/* The answers of the last of some clips, one after the other: the first steps
 * of a clip are recorded with others at the same cursor. */
static void stream(const struct net *r, int chunk, float *y)
{
    int64_t in = ctt_volume(&r->g->node[0].out) * r->m->n;
    float *x = ctt_calloc((size_t)in, sizeof(float));
    struct ctt_run *run = NULL;

    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
        .g = r->g, .dev = r->dev, .w = r->w, .samples = r->m->n,
        .steps = chunk }, &run));
    for (int clip = 0; clip < 3; clip++) {
        stream_clip(r, run, chunk, x, y);
        ctt_run_reset(run);
    }
    ctt_run_close(&run);
    ctt_free(x);
}

/* One step at a time, three at a time, and the whole clip as in training. */
static void test_streaming(void)
{
    for (int i = 0; i < BATCH_MODELS; i++) {
        struct net_model m = of_batch(&batch_models[i]);
        float *y;
        struct net r, plain;
        if (m.feedback || m.asks)
            continue;
        CHECK_OK(net_open(&r, &m, gpu, &net_types[0], 0, CTT_KEEP_ALL));
        CHECK_OK(net_open(&plain, &m, host, &net_types[0], 0, CTT_KEEP_ALL));
        y = ctt_calloc((size_t)r.answers, sizeof(float));
        CU_ASSERT_PTR_NOT_NULL_FATAL(y);
        r.x->r->train = plain.x->r->train = 0;
        CHECK_OK(net_run(&r, 0));
        CHECK_OK(net_run(&plain, 0));
        CU_ASSERT(net_off(r.y, plain.y, r.answers) <= net_types[0].y);
        for (int chunk = 1; chunk <= 3; chunk += 2) {
            stream(&r, chunk, y);
            CU_ASSERT(net_off(y, plain.y, r.answers) <= net_types[0].y);
        }
        ctt_free(y);
        net_close(&r);
        net_close(&plain);
    }
}

static CU_TestInfo tests[] = {
    { "models", test_models },
    { "small models", test_small },
    { "cells", test_cells }, { "cells in TF32", test_tf32 },
    { "ranks", test_ranks },
    { "a joint kernel of one tap", test_one_tap },
    { "free gates", test_free_gates },
    { "windows", test_windows },
    { "offloaded", test_offloaded },
    { "replayed", test_replayed },
    { "streams", test_streams },
    { "no allocation in a step", test_no_allocation },
    { "no memory", test_no_memory },
    { "streaming", test_streaming },
    CU_TEST_INFO_NULL
};

int main(int argc, char **argv)
{
    CU_SuiteInfo suites[] = {
        { .pName = "gpu models", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return gpu_main(suites, argc, argv);
}
