/* SPDX-License-Identifier: Apache-2.0
 * test_forecast.c: learning to predict, part by part: the graph that feeds
 * answers back, its loss and gradient, scheduled sampling, forecasts. */
#include "libtrain/optim.h"
#include "libtrain/predict/predict.h"
#include "tests/lib/dots.h"
#include "video/baseline.h"

#include <math.h>
#include <unistd.h>

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
    struct ctt_predict  *s;
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
    CHECK_OK(ctt_predict_open(r->m->g, r->m->w, &r->cfg, r->dev, mem, &r->s));
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
    ctt_predict_close(&r->s);
    ctt_model_free(&r->m);
    ctt_dev_close(&r->dev);
    ctt_free(r->x);
}

static double rig_loss(struct rig *r)
{
    struct ctt_sums sums = { 0 };

    CHECK_OK(ctt_predict_run(r->s, &r->turn, &sums));
    CU_ASSERT_FATAL(sums.weight > 0);
    return sums.loss / sums.weight;
}

/* y = a x + b, fed back by hand; the second sequence could not be read. */
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
        CU_ASSERT(ctt_sample(&r.turn, SEEN, FRAMES - 1, truth) < FRAMES - 1);
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

/* Of the whole step, through what was fed back, for any mask. */
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

/* Windows recomputed or kept: the same gradient, bit for bit; one window for
 * all: by rounding. */
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
    CU_ASSERT_EQUAL(ctt_predict_run(r.s, &r.turn, &sums), CTT_EINVAL);
    r.b.steps++;
    r.m->w[r.m->g->node[ctt_graph_find(r.m->g, "y")].at[1]] = NAN;
    CU_ASSERT_EQUAL(ctt_predict_run(r.s, &r.turn, &sums), CTT_ENAN);
    CU_ASSERT(strncmp(ctt_errmsg(), "y: ", 3) == 0);
    rig_close(&r);
}

/* Fed its own answers a model runs step by step, and then a batch norm would
 * see one step. */
static void norms_are_refused(void)
{
    static const char net[] =
        "input x h=16 w=16 c=1\nconv e in=x out=3 kernel=3 pad=1\n"
        "norm n in=e kind=batch\nconv y in=n out=1\n";
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m = dots_model(net, 1);
    struct ctt_predict *s = NULL;
    struct ctt_dev *dev = NULL;

    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CU_ASSERT_EQUAL(ctt_predict_open(m->g, m->w, &cfg, dev, NULL, &s),
                    CTT_EUNSUP);
    CU_ASSERT(!s && strncmp(ctt_errmsg(), "n: in a loop", 12) == 0 &&
              strstr(ctt_errmsg(), "--sampling-start=off"));
    cfg.sampling_start = "off";
    CHECK_OK(ctt_predict_open(m->g, m->w, &cfg, dev, NULL, &s));
    ctt_predict_close(&s);
    ctt_dev_close(&dev);
    ctt_model_free(&m);
}

/* ---- scheduled sampling ---- */

enum { WIDE = 50, LONG = 40, FROM = 10 };

static void masks_are_drawn(void)
{
    static float a[LONG * WIDE], b[LONG * WIDE];
    int clip[WIDE], back[WIDE], none = 0, same = 1;
    struct ctt_batch batch = { .n = WIDE, .clip = clip };
    struct ctt_turn t = { .batch = &batch, .seed = 4, .step = 7,
                          .truth = 0.3 };

    for (int j = 0; j < WIDE; j++) {
        clip[j] = 3 * j;
        back[j] = 3 * (WIDE - 1 - j);
    }
    CU_ASSERT_EQUAL(ctt_sample(&t, FROM, LONG, a), FROM);
    for (int k = 0; k < LONG * WIDE; k++) {
        CU_ASSERT(a[k] == 1 || (a[k] == 0 && k / WIDE >= FROM));
        none += a[k] == 0;
    }
    CU_ASSERT_DOUBLE_EQUAL((double)none / ((LONG - FROM) * WIDE), 0.7, 0.04);
    batch.clip = back;    /* its place in the batch is nothing to a sequence */
    ctt_sample(&t, FROM, LONG, b);
    for (int k = 0; k < LONG * WIDE; k++)
        CU_ASSERT(b[k] == a[k / WIDE * WIDE + WIDE - 1 - k % WIDE]);
    batch.clip = clip;
    t.step++;
    ctt_sample(&t, FROM, LONG, b);
    for (int k = 0; k < LONG * WIDE; k++)
        same &= b[k] == a[k];
    CU_ASSERT(!same);
    t.truth = 1;
    CU_ASSERT_EQUAL(ctt_sample(&t, FROM, LONG, a), LONG);
    t.truth = 0;
    clip[2] = -1;
    ctt_sample(&t, FROM, LONG, a);
    for (int k = 0; k < LONG * WIDE; k++)
        CU_ASSERT(a[k] == (float)(k / WIDE < FROM || k % WIDE == 2));
}

static void sampling_begins(void)
{
    static const char *const bad[] = { "soon", "-1", "", "3x", "nan" };
    struct ctt_train_cfg c = { .sampling_patience = 2, .sampling_decay = 0.1f };
    struct ctt_sampling s;

    ctt_sampling_begin(&c, 20, &s);    /* auto */
    CU_ASSERT(s.start == -1 && ctt_sampling_truth(&c, &s, 900, 20) == 1);
    CU_ASSERT(!ctt_sampling_tested(&c, 0.5, 20, &s));
    CU_ASSERT(!ctt_sampling_tested(&c, 0.6, 40, &s));
    CU_ASSERT(!ctt_sampling_tested(&c, 0.4, 60, &s));
    CU_ASSERT(!ctt_sampling_tested(&c, 0.4, 80, &s));
    CU_ASSERT(ctt_sampling_tested(&c, 0.45, 100, &s) && s.start == 100);
    CU_ASSERT(s.stalled == 0 && s.falls == -1);
    CU_ASSERT(!ctt_sampling_tested(&c, 0.45, 120, &s) && s.start == 100);
    CU_ASSERT_EQUAL(ctt_sampling_truth(&c, &s, 100, 20), 1);
    CU_ASSERT_DOUBLE_EQUAL(ctt_sampling_truth(&c, &s, 130, 20), 0.85, 1e-7);
    CU_ASSERT_EQUAL(ctt_sampling_truth(&c, &s, 1000, 20), 0);
    CU_ASSERT(!ctt_sampling_tested(&c, 0.39, 140, &s));    /* better */
    CU_ASSERT(!ctt_sampling_tested(&c, 0.39, 160, &s) && s.falls == -1);
    CU_ASSERT(ctt_sampling_tested(&c, 0.5, 180, &s));
    CU_ASSERT(s.start == 100 && s.falls == 180);
    for (int k = 10; k < 20; k++)
        CU_ASSERT(!ctt_sampling_tested(&c, 1, 20 * k, &s) && s.falls == 180);
    c.sampling_start = "2.5";
    CHECK_OK(ctt_sampling_check(&c));
    ctt_sampling_begin(&c, 20, &s);
    CU_ASSERT_EQUAL(s.start, 50);
    CU_ASSERT_EQUAL(ctt_sampling_truth(&c, &s, 50, 20), 1);
    CU_ASSERT(ctt_sampling_truth(&c, &s, 51, 20) < 1);
    for (int k = 1; k < 4; k++)    /* only those behind the start count */
        CU_ASSERT(!ctt_sampling_tested(&c, 1, 20 * k, &s));
    CU_ASSERT(ctt_sampling_tested(&c, 1, 80, &s) && s.falls == 80);
    c.sampling_start = "off";
    CHECK_OK(ctt_sampling_check(&c));
    ctt_sampling_begin(&c, 20, &s);
    for (int k = 0; k < 9; k++)
        CU_ASSERT(!ctt_sampling_tested(&c, 1, 20 * k, &s) && s.falls == -1);
    CU_ASSERT_EQUAL(ctt_sampling_truth(&c, &s, 900, 20), 1);
    for (size_t k = 0; k < CTT_LEN(bad); k++) {
        c.sampling_start = bad[k];
        CU_ASSERT_EQUAL(ctt_sampling_check(&c), CTT_EINVAL);
    }
}

/* The rate falls every few epochs from where the loss stalls again. */
static void rate_falls_while_sampling(void)
{
    struct ctt_train_cfg c = { .lr = 1, .schedule = CTT_SAMPLED,
                               .gamma = 0.98f, .step_epochs = 5 };

    CU_ASSERT_EQUAL(ctt_lr(&c, 500, 1000, 10, -1), 1);
    CU_ASSERT_EQUAL(ctt_lr(&c, 149, 1000, 10, 100), 1);
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 150, 1000, 10, 100), 0.98, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 200, 1000, 10, 100), 0.98 * 0.98, 1e-6);
}

/* ---- forecasts ---- */

/* What a stream would predict: windows of three steps, then its own answers. */
static void stream(const struct ctt_model *m, struct ctt_dev *dev,
                   const float *seen, float *ahead)
{
    int in = ctt_graph_input(m->g), y = ctt_graph_output(m->g), left = SEEN;
    struct ctt_run *r = NULL;

    CHECK_OK(ctt_run_open(m->g, dev, m->w, 1, 3, 0, 0, &r));
    for (int now; left; left -= now, seen += now * PIXELS) {
        now = left < 3 ? left : 3;
        CHECK_OK(ctt_run_make_room(r, now));
        memcpy(ctt_run_value(r, in, r->cursor), seen,
               (size_t)now * PIXELS * sizeof(*seen));
        CHECK_OK(ctt_run_steps(r, now));
    }
    for (int k = 0; k < AHEAD; k++) {
        memcpy(ahead + k * PIXELS, ctt_run_value(r, y, r->cursor - 1),
               PIXELS * sizeof(*ahead));
        CHECK_OK(ctt_run_make_room(r, 1));
        memcpy(ctt_run_value(r, in, r->cursor), ahead + k * PIXELS,
               PIXELS * sizeof(*ahead));
        CHECK_OK(ctt_run_steps(r, 1));
    }
    ctt_run_close(&r);
}

/* Adds the squared error of the model and of the last frame, by frame. */
static void errors_of(const float *x, const float *y, double *mse, double *last)
{
    for (int k = 0; k < AHEAD * PIXELS; k++) {
        double truth = 0.5 * (double)x[SEEN * PIXELS + k] + 0.1;
        double was = 0.5 * (double)x[(SEEN - 1) * PIXELS + k % PIXELS] + 0.1;
        double v = fmin(fmax(0.5 * (double)y[k] + 0.1, 0), 1);

        mse[k / PIXELS] += (v - truth) * (v - truth) / PIXELS;
        last[k / PIXELS] += (was - truth) * (was - truth) / PIXELS;
    }
}

static void forecast_is_streaming(void)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m = dots_model(dot_net, 5);
    double mse[AHEAD] = { 0 }, last[AHEAD] = { 0 };
    static float x[FRAMES * PIXELS], y[AHEAD * PIXELS];
    struct ctt_forecast *f = NULL;
    struct ctt_dev *dev = NULL;

    dots_open();
    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    for (int i = 0; i < 7; i++) {
        for (int k = 0; k < FRAMES * PIXELS; k++)
            x[k] = ((float)dot(100 + i, k / PIXELS, k % PIXELS / SIDE,
                               k % SIDE) / 255 - 0.1f) / 0.5f;
        stream(m, dev, x, y);
        errors_of(x, y, mse, last);
    }
    CHECK_OK(ctt_forecast(m, &cfg, dots_val, NULL, &f));
    CU_ASSERT_EQUAL(f->sequences, 7);
    for (int k = 0; k < AHEAD; k++) {
        CU_ASSERT_DOUBLE_EQUAL(ctt_forecast_at(f, CTT_MODEL, k + 1).mse,
                               mse[k] / 7, 1e-6);
        CU_ASSERT_DOUBLE_EQUAL(ctt_forecast_at(f, CTT_LAST_FRAME, k + 1).mse,
                               last[k] / 7, 1e-6);
    }
    CU_ASSERT_DOUBLE_EQUAL(ctt_forecast_at(f, CTT_MODEL, 0).mse,
                           (mse[0] + mse[1] + mse[2]) / 21, 1e-6);
    ctt_forecast_free(&f);
    ctt_model_free(&m);
    ctt_dev_close(&dev);
}

/* Neither a black picture nor a good score. */
static void answers_must_be_finite(void)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m = dots_model(dot_net, 5);
    struct ctt_forecast *f = NULL;

    dots_open();
    m->w[m->g->node[ctt_graph_find(m->g, "y")].at[1]] = NAN;
    CU_ASSERT_EQUAL(ctt_forecast(m, &cfg, dots_val, NULL, &f), CTT_ENAN);
    CU_ASSERT(!f && strcmp(ctt_errmsg(), "y: the answer is not finite") == 0);
    ctt_model_free(&m);
}

/* A file that got lost since its clips were counted. */
static void nothing_read_is_an_error(void)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m = dots_model(dot_net, 5);
    struct ctt_input in = m->g->node[ctt_graph_input(m->g)].attr.input;
    struct ctt_forecast *f = NULL;
    struct ctt_data *d = NULL;

    dots_pack(clip_path("lost.pack"), 0, 9);
    cfg.cache = 0;
    CHECK_OK(ctt_data_open(clip_path("lost.pack"), "train", &in, NULL, 0, &cfg,
                           NULL, &d));
    CU_ASSERT_EQUAL(truncate(clip_path("lost.pack"), 100), 0);
    CU_ASSERT_EQUAL(ctt_forecast(m, &cfg, d, NULL, &f), CTT_EIO);
    CU_ASSERT(!f && strcmp(ctt_errmsg(),
                           "no test sequence could be read") == 0);
    ctt_data_close(&d);
    ctt_model_free(&m);
}

/* A square moves on; a still picture stays; what leaves is gone. */
static void linear_motion(void)
{
    enum { H = 21, W = 30, C = 2, ALL = H * W * C };
    static float a[ALL], b[ALL], to[ALL], out[ALL];
    const struct { float *p; int t; } pic[] = { { a, 0 }, { b, 1 }, { to, 4 } };

    for (size_t k = 0; k < CTT_LEN(pic); k++)
        for (int i = 0; i < ALL; i++) {
            int y = i / C / W - 12 + 2 * pic[k].t;
            int x = i / C % W - 3 - 3 * pic[k].t;
            pic[k].p[i] = y >= 0 && y < 5 && x >= 0 && x < 5 ? 0.9f : 0.2f;
        }
    CHECK_OK(ctt_baseline_linear(a, b, H, W, C, 3, out));
    CHECK_CLOSE(out, to, ALL, 0);
    CHECK_OK(ctt_baseline_linear(b, b, H, W, C, 9, out));
    CHECK_CLOSE(out, b, ALL, 0);
    CHECK_OK(ctt_baseline_linear(a, b, H, W, C, 1000000, out));
    for (int i = 0; i < ALL; i++)
        CU_ASSERT(out[i] == 0.2f);
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
        { "masks are drawn", masks_are_drawn },
        { "sampling begins", sampling_begins },
        { "the rate falls while sampling", rate_falls_while_sampling },
        { "a forecast is streaming", forecast_is_streaming },
        { "answers must be finite", answers_must_be_finite },
        { "nothing read is an error", nothing_read_is_an_error },
        { "linear motion", linear_motion },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "forecast", NULL, dots_clean, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    if (clips_dir() < 0)
        return 99;
    return ctt_check_main(suites);
}
