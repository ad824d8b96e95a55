/* SPDX-License-Identifier: Apache-2.0
 * test_gpu_train.c: training on the device "cuda" has the loss curves of "cpu",
 * in fp32 and in mixed precision; the clips are generated in memory. */
#include "libtrain/amp.h"
#include "libtrain/data/load.h"
#include "libtrain/optim.h"
#include "libtrain/predict/predict.h"
#include "libtrain/recognise/aux_head.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"
#include "run/back/exec.h"
#include "tests/lib/gpu.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CLIPS = 12, BATCH = 4, SEEN = 4, AHEAD = 3, FRAMES = SEEN + AHEAD,
       SIDE = 12, CURVE = 50 };

static const char *const texts[] = {
    [CTT_RECOGNISE] =
        "input x h=12 w=12 c=1\n"
        "conv e in=x out=8 kernel=3 stride=2 pad=1\n"
        "norm n in=e kind=batch\n"
        "act f in=n kind=relu\n"
        "convttlstm h in=f hidden=8 kernel=3 order=3 steps=3 rank=4\n"
        "pool p in=h kind=avg\n"
        "dropout d in=p rate=0.1\n"
        "conv y in=d out=4\n",
    [CTT_PREDICT] =
        "input x h=12 w=12 c=1\n"
        "conv e in=x out=6 kernel=3 pad=1\n"
        "act f in=e kind=relu\n"
        "convlstm h in=f hidden=8 kernel=3\n"
        "conv y in=h out=1 kernel=3 pad=1\n",
    [CTT_BOTH] =
        "input x h=12 w=12 c=1\n"
        "conv e in=x out=8 kernel=3 stride=2 pad=1\n"
        "norm n in=e kind=batch\n"
        "act f in=n kind=relu\n"
        "convttlstm h in=f hidden=8 kernel=3 order=3 steps=3 rank=4\n"
        "deconv b in=h out=1 kernel=1,4,4 stride=1,2,2 pad=0,1,1\n"
        "add s in=x,b\n"
        "ahead a in=s\n"
        "pool p in=h kind=avg\n"
        "dropout d in=p rate=0.1\n"
        "conv y in=d out=4\n",
};

/* ---- the clips: a square that moves right, left, down or up ---- */

static float pixel(int clip, int t, int y, int x)
{
    static const int dy[] = { 0, 0, 1, -1 }, dx[] = { 1, -1, 0, 0 };
    uint64_t k = (uint64_t)clip;
    int y0 = (int)(ctt_random(3, k) % SIDE) + dy[clip % 4] * t;
    int x0 = (int)(ctt_random(4, k) % SIDE) + dx[clip % 4] * t;

    y = (y - y0 + 4 * SIDE) % SIDE;
    x = (x - x0 + 4 * SIDE) % SIDE;
    return y < 4 && x < 4 ? 1.6f : -0.4f;
}

/* Batch b of clips, [FRAMES][BATCH][SIDE, SIDE]. */
static void draw(int b, float *x, int *clip)
{
    for (int j = 0; j < BATCH; j++)
        clip[j] = (b * BATCH + j) % CLIPS;
    for (int i = 0; i < FRAMES * BATCH * SIDE * SIDE; i++) {
        int at = i / (SIDE * SIDE), p = i % (SIDE * SIDE);
        x[i] = pixel(clip[at % BATCH], at / BATCH, p / SIDE, p % SIDE);
    }
}

/* ---- a trainer ---- */

/* Of what learner_open() opens: models that teach it and a constraint, or
 * NULL. */
static const struct ctt_model *const *teachers;
static const struct ctt_constraint *bound;

struct learner {
    struct ctt_train_cfg cfg;
    struct ctt_graph   *g;
    struct ctt_dev     *dev;
    struct ctt_predict_step   *p;    /* of one of the tasks */
    struct ctt_recognise_step *s;
    struct ctt_exec    *x;
    struct ctt_optim   *o;
    struct ctt_scale    scale;
    struct ctt_clip     clip[CLIPS];
    struct ctt_data     data;
    struct ctt_batch    batch;
    float              *w, *frame;
    int                 which[BATCH], length[BATCH];
};

/* ctt_train_opts would link everything that reads clips. */
static struct ctt_train_cfg settings(int task, int amp, int type)
{
    return (struct ctt_train_cfg){ .task = task, .batch = BATCH,
        .input_frames = SEEN, .future_frames = AHEAD, .optimizer = CTT_ADAM,
        .beta1 = 0.9f, .beta2 = 0.999f, .clip_norm = 5,
        .observe = "uniform:0.1-1",
        .amp = amp, .amp_type = type, .loss_scale = "1024",
        .wiring.teachers = teachers, .distil = 0.7f, .temperature = 1 };
}

static void first_weights(const struct ctt_graph *g, float *w)
{
    ctt_check_fill(w, g->weights, 2);
    for (int64_t i = 0; i < g->weights; i++)
        w[i] *= 0.15f;
    for (int i = 0; i < g->count; i++)
        for (int64_t j = 0; g->node[i].nw == 4 && j < g->node[i].out.c; j++)
            w[g->node[i].at[0] + j] = w[g->node[i].at[3] + j] = 1;
}

/* Gives all weights of a code one value. */
static void hold(float *w, int64_t n)
{
    ctt_constraint_clear(bound, n, w);
    for (int64_t i = 0; i < n; i++)
        if (bound->share[i])
            w[i] = 0.06f * (float)bound->share[i] - 0.17f;
}

static void open_task(struct learner *l)
{
    if (l->cfg.task == CTT_PREDICT) {
        CHECK_OK(ctt_predict_step_open(l->g, l->o->flat.w, &l->cfg, l->dev,
                                       NULL, &l->p));
        l->x = l->p->x;
        l->p->scale = l->scale.scale;
    } else {
        CHECK_OK(ctt_recognise_step_open(l->g, l->o->flat.w, &l->cfg, l->dev,
                                         BATCH, FRAMES, &l->s));
        l->x = l->s->x;
        l->s->scale = l->scale.scale;
        if (l->s->ahead)
            l->s->ahead->weight = 0.3;
    }
    l->x->r->w16 = l->o->w16;
}

static void learner_open(struct learner *l, struct ctt_dev *dev, int task,
                         int amp, int type)
{
    memset(l, 0, sizeof(*l));
    l->cfg = settings(task, amp, type);
    l->dev = dev;
    CHECK_OK(ctt_net_parse(texts[task], &l->g));
    l->w = ctt_calloc((size_t)l->g->weights, sizeof(float));
    l->frame = ctt_calloc(FRAMES * BATCH * SIDE * SIDE, sizeof(float));
    CU_ASSERT_FATAL(l->w && l->frame);
    first_weights(l->g, l->w);
    for (int i = 0; i < CLIPS; i++)
        l->clip[i] = (struct ctt_clip){ .item = i, .label = i % 4,
                                        .length = FRAMES };
    l->data = (struct ctt_data){ .clip = l->clip, .clips = CLIPS };
    for (int j = 0; j < BATCH; j++)
        l->length[j] = FRAMES;
    l->batch = (struct ctt_batch){ .x = l->frame, .steps = FRAMES, .n = BATCH,
                                   .clip = l->which, .length = l->length };
    CHECK_OK(ctt_scale_begin(&l->cfg, &l->scale));
    if (bound)
        hold(l->w, l->g->weights);
    CHECK_OK(ctt_optim_open(l->g, &l->cfg, bound, l->w, dev, &l->o));
    open_task(l);
}

static void learner_close(struct learner *l)
{
    ctt_predict_step_close(&l->p);
    ctt_recognise_step_close(&l->s);
    ctt_optim_close(&l->o);
    ctt_graph_free(&l->g);
    ctt_free(l->w);
    ctt_free(l->frame);
}

/* One step of training; its mean loss. */
static double learn(struct learner *l, int step)
{
    struct ctt_turn turn = { .data = &l->data, .batch = &l->batch, .seed = 1,
        .step = (uint64_t)step, .truth = 0.5, .scale = l->scale.scale };
    struct ctt_sums sums = { 0 };
    double norm = 0;

    draw(step, l->frame, l->which);
    if (l->p)
        CHECK_OK(ctt_predict_step_run(l->p, &turn, &sums));
    else
        CHECK_OK(ctt_recognise_step_run(l->s, &l->data, &l->batch,
                                        (uint64_t)step, 7, &sums));
    CHECK_OK(ctt_optim_norm(l->o, l->x->dw, &norm));
    CU_ASSERT(isfinite(norm));
    CHECK_OK(ctt_optim_step(l->o, norm, l->scale.scale, 5e-3));
    return sums.loss / sums.weight;
}

/* ---- curves ---- */

/* Both devices train from the same weights and clips; the drop of the loss must
 * be much larger than the difference between them. */
static void compare(int task, int amp, int type, double tol)
{
    static const char *const names[] = { "recognise", "predict", "both" };
    struct ctt_dev *cpu = NULL;
    struct learner a, b;
    double first = 0, last = 0, worst = 0;
    int steps = gpu_quick ? CURVE / 2 : CURVE;
    double most = gpu_quick ? 0.97 : 0.8;
    long calls = 0;

    CHECK_OK(ctt_dev_open("cpu", 0, &cpu));
    learner_open(&a, cpu, task, amp, type);
    learner_open(&b, gpu, task, amp, type);
    for (int i = 0; i < steps; i++) {
        double x = learn(&a, i), y;
        if (i == steps / 2)
            calls = ctt_alloc_calls();
        y = learn(&b, i);
        CU_ASSERT(i != steps / 2 || ctt_alloc_calls() == calls);
        first += i < CLIPS / BATCH ? x : 0;
        last += i >= steps - CLIPS / BATCH ? x : 0;
        worst = fmax(worst, fabs(x - y) / x);
    }
    if (!(worst <= tol) || !(last < most * first))
        printf("\n    %s, %s %s: losses %.3g to %.3g, apart by %.2g of them",
               names[task], amp ? "O1" : "O0", type ? "bf16" : "fp16", first,
               last, worst);
    CU_ASSERT(worst <= tol);
    CU_ASSERT(last < most * first);
    learner_close(&a);
    learner_close(&b);
    ctt_dev_close(&cpu);
}

static void test_recognise(void)
{
    compare(CTT_RECOGNISE, CTT_O0, 0, 2e-3);
}

static void test_recognise_mixed(void)
{
    compare(CTT_RECOGNISE, CTT_O1, 0, 2e-2);
    if (!gpu_quick)
        compare(CTT_RECOGNISE, CTT_O1, 1, 1e-1);
}

static void test_predict(void)
{
    compare(CTT_PREDICT, CTT_O0, 0, 2e-3);
}

static void test_predict_mixed(void)
{
    if (!gpu_quick)
        compare(CTT_PREDICT, CTT_O1, 0, 2e-2);
    compare(CTT_PREDICT, CTT_O2, 1, 1e-1);
}

static void test_both(void)
{
    compare(CTT_BOTH, CTT_O0, 0, 2e-3);
    if (!gpu_quick)
        compare(CTT_BOTH, CTT_O1, 0, 2e-2);
}

/* Two deterministic runs give the same bits. */
static void test_deterministic(void)
{
    ctt_dev_deterministic(gpu, 1);
    for (int task = 0; task < (int)CTT_LEN(texts); task++) {
        struct learner a, b;
        size_t bytes;
        learner_open(&a, gpu, task, CTT_O1, 0);
        learner_open(&b, gpu, task, CTT_O1, 0);
        for (int i = 0; i < 6; i++)
            CU_ASSERT(learn(&a, i) == learn(&b, i));
        CHECK_OK(ctt_optim_pull(a.o));
        CHECK_OK(ctt_optim_pull(b.o));
        bytes = (size_t)a.g->weights * sizeof(float);
        CU_ASSERT(memcmp(a.w, b.w, bytes) == 0);
        learner_close(&a);
        learner_close(&b);
    }
    ctt_dev_deterministic(gpu, 0);
}

/* A mask that comes in the middle of training: the device gets it, moments of
 * pruned weights are cleared, and what is pruned stays zero. */
static void test_pruned_meanwhile(void)
{
    struct ctt_constraint c = { .keep = NULL };
    struct learner a;
    float *m;

    learner_open(&a, gpu, CTT_RECOGNISE, CTT_O0, 0);
    m = ctt_calloc((size_t)a.g->weights, sizeof(*m));
    CU_ASSERT_FATAL(m != NULL);
    learn(&a, 0);
    for (int k = 2; k < 4; k++) {    /* once new, once changed */
        CHECK_OK(ctt_optim_pull(a.o));
        CHECK_OK(ctt_constraint_mask(&c, a.g->weights));
        memset(c.keep, 1, (size_t)a.g->weights);
        for (int i = 0; i < a.g->count; i++)
            for (int64_t j = 0; a.g->node[i].op == CTT_OP_CONV &&
                 j < ctt_volume(&a.g->node[i].w[0]); j++)
                c.keep[a.g->node[i].at[0] + j] = j % k != 0;
        ctt_constraint_clear(&c, a.g->weights, a.w);
        CHECK_OK(ctt_optim_constrain(a.o, &c));
        gpu_read(a.o->flat.m, CTT_F32, a.g->weights, m);
        for (int64_t i = 0; i < a.g->weights; i++)
            CU_ASSERT_FATAL(c.keep[i] || m[i] == 0);
        learn(&a, k);
        CHECK_OK(ctt_optim_pull(a.o));
        for (int64_t i = 0; i < a.g->weights; i++)
            CU_ASSERT_FATAL(c.keep[i] || a.w[i] == 0);
    }
    ctt_constraint_free(&c);
    ctt_free(m);
    learner_close(&a);
}

/* Each weight of a conv in five has no value, the others have one of four. */
static void get_bound(const struct ctt_graph *g, struct ctt_constraint *c)
{
    CHECK_OK(ctt_constraint_mask(c, g->weights));
    CHECK_OK(ctt_constraint_share(c, g->weights));
    for (int i = 0; i < g->count; i++)
        for (int64_t j = 0; g->node[i].op == CTT_OP_CONV &&
             j < ctt_volume(&g->node[i].w[0]); j++) {
            int64_t at = g->node[i].at[0] + j;
            c->keep[at] = j % 5 != 0;
            c->share[at] = (uint8_t)(c->keep[at] ? j % 5 : 0);
        }
}

/* The weights of a conv that share a code are equal. */
static void check_shared(const struct ctt_graph *g, const float *w)
{
    for (int i = 0; i < g->count; i++)
        for (int64_t j = 5; g->node[i].op == CTT_OP_CONV &&
             j < ctt_volume(&g->node[i].w[0]); j++)
            CU_ASSERT_FATAL(w[g->node[i].at[0] + j] ==
                            (j % 5 ? w[g->node[i].at[0] + j - 5] : 0));
}

/* With a teacher and a constraint, as convtt-compress trains. */
static void test_compressed(void)
{
    struct ctt_constraint c = { .keep = NULL };
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;
    const struct ctt_model *teacher[2] = { NULL };
    struct learner a;

    CHECK_OK(ctt_net_parse(texts[CTT_RECOGNISE], &g));
    CHECK_OK(ctt_model_new(g, &m));
    ctt_check_fill(m->w, m->g->weights, 5);
    for (int i = 0; i < m->g->count; i++)
        for (int64_t j = 0; m->g->node[i].nw == 4 &&
             j < m->g->node[i].out.c; j++)
            m->w[m->g->node[i].at[3] + j] = 1;    /* no variance is negative */
    get_bound(m->g, &c);
    teacher[0] = m;
    teachers = teacher;
    bound = &c;
    compare(CTT_RECOGNISE, CTT_O0, 0, 2e-3);
    learner_open(&a, gpu, CTT_RECOGNISE, CTT_O0, 0);
    for (int i = 0; i < 3; i++)
        learn(&a, i);
    CHECK_OK(ctt_optim_pull(a.o));
    check_shared(a.g, a.w);
    learner_close(&a);
    teachers = NULL;
    bound = NULL;
    ctt_constraint_free(&c);
    ctt_model_free(&m);
}

static CU_TestInfo tests[] = {
    { "recognise", test_recognise },
    { "recognise, mixed precision", test_recognise_mixed },
    { "predict", test_predict },
    { "predict, mixed precision", test_predict_mixed },
    { "both", test_both },
    { "deterministic", test_deterministic },
    { "pruned meanwhile", test_pruned_meanwhile },
    { "taught, pruned and shared", test_compressed },
    CU_TEST_INFO_NULL
};

int main(int argc, char **argv)
{
    CU_SuiteInfo suites[] = {
        { .pName = "gpu training", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return gpu_main(suites, argc, argv);
}
