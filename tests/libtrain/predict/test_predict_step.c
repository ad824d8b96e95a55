/* SPDX-License-Identifier: Apache-2.0
 * test_predict_step.c: a training step of prediction: the graph with feedback,
 * its loss and its gradient. */
#include "libtrain/data/load.h"
#include "libtrain/predict/predict.h"
#include "libtrain/task.h"
#include "run/back/exec.h"
#include "tests/lib/dots.h"

#include <math.h>

/* ---- the training graph ---- */

static void graph_is_fed_by_a_mix(void)
{
    static const char want[] =
        "input train.frame h=8 w=6 c=2\n"
        "input train.seen h=1 w=1 c=1\n"
        "state train.back of=y like=train.frame c=2\n"
        "mix x in=train.frame,train.back,train.seen\n"
        "conv e in=x out=3 kernel=3 pad=1\n"
        "conv y in=e out=2\n"
        "input train.target h=8 w=6 c=2\n"
        "loss train.loss in=y,train.target kind=l1l2\n";
    struct ctt_graph *model = NULL, *g = NULL, *w = NULL;
    char *a = NULL, *b = NULL;

    CHECK_OK(ctt_net_parse("input x h=8 w=6 c=2 fps=5\n"
                           "conv e in=x out=3 kernel=3 pad=1\n"
                           "conv y in=e out=2\n", &model));
    CHECK_OK(ctt_predict_graph(model, "l1l2", &g));
    CHECK_OK(ctt_net_parse(want, &w));
    a = ctt_net_print(g);
    b = ctt_net_print(w);
    CU_ASSERT_FATAL(a && b);
    CU_ASSERT_STRING_EQUAL(a, b);
    CU_ASSERT_EQUAL(g->weights, model->weights);
    for (int i = 0; i < model->count; i++) {
        const struct ctt_node *n = &model->node[i];
        int k = ctt_graph_find(g, n->name);
        CU_ASSERT_FATAL(k >= 0);
        for (int j = 0; j < n->nw; j++)
            CU_ASSERT_EQUAL(g->node[k].at[j], n->at[j]);
    }
    ctt_free(a);
    ctt_free(b);
    ctt_graph_free(&model);
    ctt_graph_free(&g);
    ctt_graph_free(&w);
}

static void unfit_models_are_refused(void)
{
    static const struct { const char *net, *says; } bad[] = {
        { "input x h=64 w=64 c=1\npool p in=x kind=avg\n"
          "conv y in=p out=12\n",
          "y: the answer is 1x1x1x12; predicting needs the input's 1x64x64x1" },
        { "input x h=8 w=8 c=1\nclip\nwindow v in=x steps=1\n"
          "conv y in=v out=1\n", "once a clip" },
        { "input x h=8 w=8 c=1\nconv train.frame in=x out=1\n",
          "train.frame" },
    };

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_graph *model = NULL, *g = NULL;
        CHECK_OK(ctt_net_parse(bad[i].net, &model));
        CU_ASSERT(ctt_predict_graph(model, "mse", &g) < 0 && !g);
        CU_ASSERT(strstr(ctt_errmsg(), bad[i].says) != NULL);
        ctt_graph_free(&model);
    }
}

/* ---- a step ---- */

enum { N = 4 };

/* Steps of a batch that is made by hand. */
struct rig {
    struct ctt_train_cfg cfg;
    struct ctt_dev      *dev;
    struct ctt_model    *m;
    struct ctt_predict_step  *s;
    float               *x;
    int                  clip[N], length[N];
    struct ctt_batch     b;
    struct ctt_turn      turn;
};

static void rig_open(struct rig *r, const char *net, int loss, double truth,
                     const struct ctt_memory *mem)
{
    memset(r, 0, sizeof(*r));
    r->cfg = dots_cfg();
    r->cfg.loss = loss;
    CHECK_OK(ctt_dev_open("ref", 1, &r->dev));
    r->m = dots_model(net, 3);
    CHECK_OK(ctt_predict_step_open(r->m->g, r->m->w, &r->cfg, r->dev, mem,
                                   &r->s));
    r->x = ctt_calloc(FRAMES * N * PIXELS, sizeof(*r->x));
    CU_ASSERT_FATAL(r->x != NULL);
    ctt_check_fill(r->x, FRAMES * N * PIXELS, 9);
    for (int j = 0; j < N; j++) {
        r->clip[j] = 5 + j;
        r->length[j] = FRAMES;
    }
    r->b = (struct ctt_batch){ r->x, FRAMES, N, r->clip, r->length, NULL };
    r->turn = (struct ctt_turn){ .batch = &r->b, .seed = 1, .step = 2,
                                 .truth = truth };
}

static void rig_close(struct rig *r)
{
    ctt_predict_step_close(&r->s);
    ctt_model_free(&r->m);
    ctt_dev_close(&r->dev);
    ctt_free(r->x);
}

static double rig_loss(struct rig *r)
{
    struct ctt_sums sums = { 0 };

    CHECK_OK(ctt_predict_step_run(r->s, &r->turn, &sums));
    CU_ASSERT_FATAL(sums.weight > 0);
    return sums.loss / sums.weight;
}

/* y = a x + b with feedback computed by hand; the second sequence is
 * unreadable. */
static void loss_is_literal(void)
{
    float truth[(FRAMES - 1) * N];

    for (int loss = 0; loss < 2; loss++) {
        struct rig r;
        double sum = 0, a, b;

        rig_open(&r, "input x h=16 w=16 c=1\nconv y in=x out=1\n", loss, 0.5,
                 NULL);
        r.length[1] = 0;
        a = (double)(r.m->w[r.m->g->node[1].at[0]] = 0.7f);
        b = (double)(r.m->w[r.m->g->node[1].at[1]] = -0.2f);
        CU_ASSERT(ctt_sampling_draw(&r.turn, SEEN, FRAMES - 1,
                                    truth) < FRAMES - 1);
        for (int k = 0; k < N * PIXELS; k++) {
            double y = 0;
            if (k / PIXELS == 1)
                continue;
            for (int t = 0; t < FRAMES - 1; t++) {
                double x = (double)r.x[t * N * PIXELS + k], d;
                y = a * (truth[t * N + k / PIXELS] != 0 ? x : y) + b;
                d = y - (double)r.x[(t + 1) * N * PIXELS + k];
                sum += (loss ? 0 : fabs(d)) + d * d;
            }
        }
        sum /= (N - 1) * PIXELS * (FRAMES - 1);
        CU_ASSERT_DOUBLE_EQUAL(rig_loss(&r) / sum, 1, 1e-6);
        rig_close(&r);
    }
}

/* Moves all weights by h times a direction. */
static void move(struct rig *r, const float *dir, double h)
{
    for (int64_t i = 0; i < r->m->g->weights; i++)
        r->m->w[i] += (float)(h * (double)dir[i]);
}

static void check_slope(struct rig *r, const float *dw, const float *dir)
{
    double along = 0, gg = 0, dd = 0, h, up, down;

    for (int64_t i = 0; i < r->m->g->weights; i++) {
        along += (double)dw[i] * (double)dir[i];
        gg += (double)dw[i] * (double)dw[i];
        dd += (double)dir[i] * (double)dir[i];
    }
    h = 2e-3 / sqrt(dd);
    move(r, dir, h);
    up = rig_loss(r);
    move(r, dir, -2 * h);
    down = rig_loss(r);
    move(r, dir, h);
    CU_ASSERT_DOUBLE_EQUAL((up - down) / (2 * h) / sqrt(gg * dd),
                           along / sqrt(gg * dd), 0.01);
}

/* Finite differences of the whole step, through the feedback, for any mask. */
static void gradient_is_of_the_loss(void)
{
    static const double truths[] = { 1, 0.5, 0 };

    for (size_t k = 0; k < 2 * CTT_LEN(truths); k++) {
        struct ctt_memory mem = { .window = 2, .keep = k % 2 ? -1 : 0 };
        struct rig r;
        int64_t n;
        float *dw, *dir;

        rig_open(&r, dot_net, k % 2, truths[k / 2], &mem);
        n = r.m->g->weights;
        dw = ctt_calloc((size_t)n, sizeof(*dw));
        dir = ctt_calloc((size_t)n, sizeof(*dir));
        CU_ASSERT_FATAL(dw && dir);
        rig_loss(&r);
        memcpy(dw, r.s->x->dw, (size_t)n * sizeof(*dw));
        check_slope(&r, dw, dw);
        for (uint64_t i = 0; i < 3; i++) {
            ctt_check_fill(dir, n, 20 + i);
            for (int64_t j = 0; j < n; j++)    /* gaps stay zero */
                dir[j] = dw[j] != 0 ? dir[j] : 0;
            check_slope(&r, dw, dir);
        }
        ctt_free(dw);
        ctt_free(dir);
        rig_close(&r);
    }
}

/* Recomputed and kept windows give the same gradient, bit for bit; one window
 * the same except for rounding. */
static void windows_do_not_matter(void)
{
    static const struct ctt_memory mem[] = {
        { .window = 2, .keep = CTT_KEEP_ALL }, { .window = 2, .keep = 0 },
        { .window = 2, .keep = 1 }, { .window = 0, .keep = CTT_KEEP_ALL },
    };
    float *dw[CTT_LEN(mem)];
    size_t bytes = 0;

    for (size_t k = 0; k < CTT_LEN(mem); k++) {
        struct rig r;
        rig_open(&r, dot_net, 0, 0.5, &mem[k]);
        bytes = (size_t)r.m->g->weights * sizeof(float);
        dw[k] = ctt_calloc(1, bytes);
        CU_ASSERT_FATAL(dw[k] != NULL);
        rig_loss(&r);
        memcpy(dw[k], r.s->x->dw, bytes);
        rig_close(&r);
        if (mem[k].window)
            CU_ASSERT(memcmp(dw[k], dw[0], bytes) == 0)
        else
            CHECK_CLOSE(dw[k], dw[0], (int64_t)(bytes / sizeof(float)), 1e-5);
    }
    for (size_t k = 0; k < CTT_LEN(mem); k++)
        ctt_free(dw[k]);
}

static void what_cannot_be_is_refused(void)
{
    struct ctt_sums sums = { 0 };
    struct rig r;

    rig_open(&r, dot_net, 0, 0.5, NULL);
    r.b.steps--;
    CU_ASSERT_EQUAL(ctt_predict_step_run(r.s, &r.turn, &sums), CTT_EINVAL);
    r.b.steps++;
    r.m->w[r.m->g->node[ctt_graph_find(r.m->g, "y")].at[1]] = NAN;
    CU_ASSERT_EQUAL(ctt_predict_step_run(r.s, &r.turn, &sums), CTT_ENAN);
    CU_ASSERT(strncmp(ctt_errmsg(), "y: ", 3) == 0);
    rig_close(&r);
}

/* With feedback a model runs step by step, so a batch norm would see one
 * step. */
static void norms_are_refused(void)
{
    static const char net[] =
        "input x h=16 w=16 c=1\nconv e in=x out=3 kernel=3 pad=1\n"
        "norm n in=e kind=batch\nconv y in=n out=1\n";
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m = dots_model(net, 1);
    struct ctt_predict_step *s = NULL;
    struct ctt_dev *dev = NULL;

    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CU_ASSERT_EQUAL(ctt_predict_step_open(m->g, m->w, &cfg, dev, NULL, &s),
                    CTT_EUNSUP);
    CU_ASSERT(!s && strncmp(ctt_errmsg(), "n: in a loop", 12) == 0 &&
              strstr(ctt_errmsg(), "--sampling-start=off"));
    cfg.sampling_start = "off";
    CHECK_OK(ctt_predict_step_open(m->g, m->w, &cfg, dev, NULL, &s));
    ctt_predict_step_close(&s);
    ctt_dev_close(&dev);
    ctt_model_free(&m);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "the graph is fed by a mix", graph_is_fed_by_a_mix },
        { "unfit models are refused", unfit_models_are_refused },
        { "the loss is literal", loss_is_literal },
        { "the gradient is of the loss", gradient_is_of_the_loss },
        { "windows do not matter", windows_do_not_matter },
        { "what cannot be is refused", what_cannot_be_is_refused },
        { "norms are refused", norms_are_refused },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "predict_step", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
