/* SPDX-License-Identifier: Apache-2.0
 * test_recognise_step.c: a training step of recognition: its loss and gradient,
 * and the frames at which a clip is classified. */
#include "libtrain/data/load.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"
#include "run/back/exec.h"
#include "tests/lib/toy_run.h"

#include <math.h>

/* ---- the gradient ---- */

/* A step along the gradient of this batch, and one back, change the loss as
 * the gradient says. */
static void check_slope(struct ctt_recognise_step *s, struct ctt_model *m,
                        const struct ctt_batch *batch)
{
    struct ctt_sums a = { 0 }, b = { 0 }, c = { 0 };
    float *dw = ctt_calloc((size_t)m->g->weights, sizeof(*dw));
    double norm = 0, h, slope;

    CU_ASSERT_FATAL(dw != NULL);
    CHECK_OK(ctt_recognise_step_run(s, toy, batch, 1, 2, &a));
    memcpy(dw, s->x->dw, (size_t)m->g->weights * sizeof(*dw));
    for (int64_t i = 0; i < m->g->weights; i++)
        norm += (double)dw[i] * dw[i];
    h = 1e-2 / sqrt(norm);
    for (int64_t i = 0; i < m->g->weights; i++)
        m->w[i] += (float)(h * dw[i]);
    CHECK_OK(ctt_recognise_step_run(s, toy, batch, 1, 2, &b));
    for (int64_t i = 0; i < m->g->weights; i++)
        m->w[i] -= (float)(2 * h * dw[i]);
    CHECK_OK(ctt_recognise_step_run(s, toy, batch, 1, 2, &c));
    slope = (b.loss / b.weight - c.loss / c.weight) / (2 * h);
    CU_ASSERT(a.weight == b.weight && a.clips == 4);
    CU_ASSERT_DOUBLE_EQUAL(slope / norm, 1, 0.02);
    ctt_free(dw);
}

/* The gradient of the whole step, with target and asks: a step along it lowers
 * the loss as expected.  taught: another model is the teacher. */
static void check_gradient(int taught)
{
    static const char *const nets[] = { clip_net_end,
        "input x h=10 w=10 c=3 fps=12 mean=0.2 std=0.3 scale=1.2\n"
        "conv e in=x out=6 kernel=3 stride=3 pad=0\n"
        "convttlstm h in=e hidden=6 kernel=3 order=2 steps=2 rank=3\n"
        "pool p in=h kind=avg\n"
        "conv y in=p out=4\n" };

    for (int k = 0; k < 2; k++) {
        struct ctt_train_cfg cfg = short_run();
        const struct ctt_augment none = { 0 };
        struct ctt_recognise_step *s = NULL;
        struct ctt_loader *l = NULL;
        struct ctt_order *p = NULL;
        struct ctt_model *m = NULL, *teacher = NULL;
        const struct ctt_model *teachers[2] = { NULL };
        struct ctt_dev *dev = NULL;
        struct ctt_buckets bk;
        struct ctt_batch batch;
        double wait = 0;

        cfg.label_smooth = 0.1f;
        cfg.frame_loss = CTT_FRAME_LINEAR;
        cfg.frame_asks = 3;
        CHECK_OK(ctt_dev_open("ref", 2, &dev));
        CHECK_OK(clip_model(nets[k], 3, &m));
        CHECK_OK(clip_model(nets[!k], 4, &teacher));
        cfg.distil = 0.6f;
        teachers[0] = teacher;
        cfg.wiring.teachers = taught ? teachers : NULL;
        CHECK_OK(ctt_buckets_find(toy, 4, "1", &bk));
        CHECK_OK(ctt_order_new(toy, 4, &p));
        ctt_order_make(toy, &bk, 1, 1, p);
        CHECK_OK(ctt_recognise_step_open(m->g, m->w, &cfg, dev, 4, toy->longest,
                                         &s));
        CHECK_OK(ctt_loader_open(toy, 4, toy->longest, &l));
        ctt_loader_start(l, p, &none, 0);
        CU_ASSERT_EQUAL_FATAL(ctt_loader_next(l, &batch, &wait), 1);
        check_slope(s, m, &batch);
        ctt_loader_close(&l);
        ctt_recognise_step_close(&s);
        ctt_order_free(&p);
        ctt_model_free(&m);
        ctt_model_free(&teacher);
        ctt_dev_close(&dev);
    }
}

static void gradient_is_of_the_loss(void)
{
    check_gradient(0);
}

static void gradient_with_a_teacher(void)
{
    check_gradient(1);
}

/* The norm of the gradient and the loss of the first batch. */
static double first_gradient(const struct ctt_train_cfg *cfg,
                             struct ctt_model *m, double *loss)
{
    const struct ctt_augment none = { 0 };
    struct ctt_recognise_step *s = NULL;
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_sums sums = { 0 };
    struct ctt_dev *dev = NULL;
    struct ctt_buckets bk;
    struct ctt_batch batch;
    double wait = 0, norm = 0;

    CHECK_OK(ctt_dev_open("cpu", 2, &dev));
    CHECK_OK(ctt_buckets_find(toy, 4, "1", &bk));
    CHECK_OK(ctt_order_new(toy, 4, &p));
    ctt_order_make(toy, &bk, 1, 1, p);
    CHECK_OK(ctt_recognise_step_open(m->g, m->w, cfg, dev, 4, toy->longest,
                                     &s));
    CHECK_OK(ctt_loader_open(toy, 4, toy->longest, &l));
    ctt_loader_start(l, p, &none, 0);
    CU_ASSERT_EQUAL_FATAL(ctt_loader_next(l, &batch, &wait), 1);
    CHECK_OK(ctt_recognise_step_run(s, toy, &batch, 1, 2, &sums));
    for (int64_t i = 0; i < m->g->weights; i++)
        norm += (double)s->x->dw[i] * s->x->dw[i];
    *loss = sums.loss / sums.weight;
    ctt_loader_close(&l);
    ctt_recognise_step_close(&s);
    ctt_order_free(&p);
    ctt_dev_close(&dev);
    return sqrt(norm);
}

/* A model that is its own teacher has nothing to learn from it; a share of 0
 * leaves the loss of the labels. */
static void a_model_teaches_itself_nothing(void)
{
    static const char *const nets[] = { clip_net_end, clip_net_lstm };

    for (int k = 0; k < 2; k++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_model *m = NULL;
        const struct ctt_model *teachers[3] = { NULL };
        double plain, norm, loss, same;

        CHECK_OK(clip_model(nets[k], 3, &m));
        plain = first_gradient(&cfg, m, &loss);
        teachers[0] = teachers[1] = m;    /* the mean of two is that of one */
        cfg.wiring.teachers = teachers;
        cfg.distil = 1;
        norm = first_gradient(&cfg, m, &same);
        CU_ASSERT(plain > 1e-3 && norm < 1e-4 * plain);
        CU_ASSERT_DOUBLE_EQUAL(same, 0, 1e-5 * cfg.temperature *
                               cfg.temperature);
        cfg.distil = 1e-6f;
        CU_ASSERT_DOUBLE_EQUAL(first_gradient(&cfg, m, &same) / plain, 1,
                               1e-4);
        CU_ASSERT_DOUBLE_EQUAL(same, loss, 1e-4);
        cfg.distil = 0;
        CU_ASSERT(first_gradient(&cfg, m, &same) == plain && same == loss);
        ctt_model_free(&m);
    }
}

/* What does not suit is refused before the first step. */
static void another_teacher_is_refused(void)
{
    struct ctt_train_cfg cfg = short_run();
    char *more[] = { "right", "left", "down", "up", "more" };
    struct ctt_model *m = NULL, *bad = NULL;
    const struct ctt_model *teachers[3] = { NULL };
    struct ctt_result r;

    CHECK_OK(clip_model(clip_net_end, 3, &m));
    cfg.distil = 0.5f;
    cfg.wiring.teachers = teachers;
    CHECK_OK(clip_model("input x h=10 w=10 c=3 fps=12 mean=0.2 std=0.3 "
                        "scale=1.2\nconv y in=x out=5 kernel=10\n", 3, &bad));
    teachers[0] = bad;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, NULL, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "the teacher answers 5 classes, the data "
                     "has 4") != NULL);
    ctt_model_free(&bad);
    CHECK_OK(clip_model("input x h=12 w=12 c=3 fps=12\n"
                        "conv y in=x out=4 kernel=12\n", 3, &bad));
    teachers[0] = bad;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, NULL, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "the teacher takes other frames than the "
                     "model: 12x12x3 at fps=12, not 10x10x3 at") != NULL);
    ctt_model_free(&bad);
    CHECK_OK(clip_model("input x h=10 w=10 c=3 fps=12\n"
                        "conv y in=x out=4 kernel=10\n", 3, &bad));
    teachers[0] = m;
    teachers[1] = bad;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, NULL, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "teacher 2 takes other frames than the "
                     "model: mean, std") != NULL);
    teachers[1] = NULL;
    ctt_model_free(&bad);
    CHECK_OK(clip_model(clip_net, 3, &bad));
    CHECK_OK(ctt_model_labels(bad, more, 5));
    teachers[0] = bad;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, NULL, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "has 5 labels for 4 classes") != NULL);
    ctt_model_free(&bad);
    ctt_model_free(&m);
}

/* ---- norms ---- */

/* Sums of a channel of all frames of the first batch of 8 clips, and of their
 * squares. */
static double channel(struct ctt_data *d, int c, double *square)
{
    const struct ctt_augment none = { 0 };
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_buckets bk;
    struct ctt_batch b;
    double wait = 0, sum = 0;
    int64_t n;

    CHECK_OK(ctt_buckets_find(d, 8, "1", &bk));
    CHECK_OK(ctt_order_new(d, 8, &p));
    ctt_order_make(d, &bk, 0, 0, p);
    CHECK_OK(ctt_loader_open(d, 8, d->longest, &l));
    ctt_loader_start(l, p, &none, 0);
    CU_ASSERT_EQUAL_FATAL(ctt_loader_next(l, &b, &wait), 1);
    n = (int64_t)b.steps * b.n * 10 * 10;
    *square = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = (double)b.x[3 * i + c];
        sum += x / (double)n;
        *square += x * x / (double)n;
    }
    ctt_loader_close(&l);
    ctt_order_free(&p);
    return sum;
}

/* Over all clips, in batches of 2, the statistics of a norm that reads the
 * frames are those of the frames, also if training has windows of one frame;
 * over 2 clips they are others. */
static void norms_are_estimated_again(void)
{
    static const char net[] =
        "input x h=10 w=10 c=3 fps=12 mean=0.2 std=0.3 scale=1.2\n"
        "norm n in=x kind=batch\npool p in=n kind=avg\nconv y in=p out=4\n";
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in = clip_input();
    struct ctt_model *m = NULL, *few = NULL;
    struct ctt_data *d = NULL;
    const struct ctt_node *n;
    float kept;

    cfg.max_frames = CLIP_SHORTEST;    /* no clip is padded */
    cfg.batch = 2;
    CHECK_OK(clips_pack(clip_path("norm.pack"), 0, 8));
    CHECK_OK(ctt_data_open(clip_path("norm.pack"), "train", &in, NULL, 0, &cfg,
                           NULL, &d));
    CHECK_OK(clip_model(net, 1, &m));
    n = &m->g->node[ctt_graph_find(m->g, "n")];
    for (int c = 0; c < 3; c++) {
        m->w[n->at[2] + c] = 50;
        m->w[n->at[3] + c] = 7;
    }
    kept = m->w[n->at[0]];
    CHECK_OK(ctt_model_copy(m, &few));
    CHECK_OK(ctt_norms_estimate(few, &cfg, d, 2));
    cfg.window = 1;
    CHECK_OK(ctt_norms_estimate(m, &cfg, d, 100));
    for (int c = 0; c < 3; c++) {
        double square, mean = channel(d, c, &square);
        CU_ASSERT_DOUBLE_EQUAL(m->w[n->at[2] + c], mean, 1e-5);
        CU_ASSERT_DOUBLE_EQUAL(m->w[n->at[3] + c], square - mean * mean, 1e-4);
        CU_ASSERT(fabs(few->w[n->at[2] + c] - mean) > 1e-4);
        CU_ASSERT(fabs(few->w[n->at[2] + c] - mean) < 1);
    }
    CU_ASSERT(m->w[n->at[0]] == kept && n->attr.norm.momentum < 1);
    ctt_model_free(&m);
    ctt_model_free(&few);
    ctt_data_close(&d);
}

/* ---- when clips are asked ---- */

static void asks_are_where_they_should_be(void)
{
    struct ctt_train_cfg cfg = { .observe = "0.25,0.5", .frame_asks = 4 };
    struct ctt_want w[16];
    struct ctt_asks a;

    CHECK_OK(ctt_asks_parse(&cfg, &a));
    CU_ASSERT_EQUAL_FATAL(a.total, 3);
    ctt_asks_make(&a, &cfg, 41, 0, w);
    CU_ASSERT(w[0].step == 9 && w[1].step == 19 && w[2].step == 40);
    CU_ASSERT(w[0].weight == 1 && w[1].weight == 1 && w[2].weight == 1);
    cfg.observe = "1";
    cfg.frame_loss = CTT_FRAME_LINEAR;
    CHECK_OK(ctt_asks_parse(&cfg, &a));
    CU_ASSERT_EQUAL_FATAL(a.total, 5);
    ctt_asks_make(&a, &cfg, 40, 0, w);
    for (int k = 0; k < 4; k++)
        CU_ASSERT(w[k].step == 10 * (k + 1) - 1 &&
                  fabsf(w[k].weight - 0.25f * (float)(k + 1)) < 1e-6f);
    cfg.frame_loss = CTT_FRAME_EXP;
    ctt_asks_make(&a, &cfg, 40, 0, w);
    CU_ASSERT_DOUBLE_EQUAL(w[1].weight, exp(-2.0), 1e-6);
    cfg.frame_loss = CTT_FRAME_NONE;
    cfg.observe = "uniform:0.1-0.5";
    CHECK_OK(ctt_asks_parse(&cfg, &a));
    CU_ASSERT_EQUAL_FATAL(a.total, 2);
    for (int seen[2] = { 0, 0 }, i = 0; i < 400; i++) {
        ctt_asks_make(&a, &cfg, 100, (uint64_t)i, w);
        CU_ASSERT(w[0].step >= 9 && w[0].step <= 49 && w[1].step == 99);
        seen[w[0].step > 29]++;
        CU_ASSERT(i < 399 || (seen[0] > 150 && seen[1] > 150));
    }
}

/* The gradient and the mean loss of clips 0, 1, 2 and `last` (-1: none), of
 * classes 0, 1 and 2; share: the weights of classes, or NULL. */
static void batch_of(int last, const float *share, struct ctt_model *m,
                     float *dw, double *loss)
{
    const struct ctt_train_cfg cfg = short_run();
    const struct ctt_augment none = { 0 };
    int clip[] = { 0, 1, 2, last }, steps = toy->longest;
    struct ctt_order p = { .n = 4, .batches = 1, .steps = &steps,
                           .clip = clip };
    struct ctt_recognise_step *s = NULL;
    struct ctt_loader *l = NULL;
    struct ctt_sums sums = { 0 };
    struct ctt_dev *dev = NULL;
    struct ctt_batch batch;
    double wait = 0;

    CHECK_OK(ctt_dev_open("ref", 2, &dev));
    CHECK_OK(ctt_recognise_step_open(m->g, m->w, &cfg, dev, 4, toy->longest,
                                     &s));
    if (share)
        s->share = ctt_calloc(CLIP_CLASSES, sizeof(*share));
    for (int k = 0; share && k < CLIP_CLASSES; k++)
        s->share[k] = share[k];
    CHECK_OK(ctt_loader_open(toy, 4, toy->longest, &l));
    ctt_loader_start(l, &p, &none, 0);
    CU_ASSERT_EQUAL_FATAL(ctt_loader_next(l, &batch, &wait), 1);
    CHECK_OK(ctt_recognise_step_run(s, toy, &batch, 1, 2, &sums));
    memcpy(dw, s->x->dw, (size_t)m->g->weights * sizeof(*dw));
    *loss = sums.loss / sums.weight;
    ctt_loader_close(&l);
    ctt_recognise_step_close(&s);
    ctt_dev_close(&dev);
}

/* A class of weight 2 is as if its clips were there twice. */
static void weight_is_repetition(void)
{
    static const float twice[CLIP_CLASSES] = { 1, 1, 2, 1 };
    struct ctt_model *m = NULL;
    double want, got, plain;
    float *a, *b;

    CHECK_OK(clip_model(clip_net_end, 3, &m));
    a = ctt_check_floats(m->g->weights, 0);
    b = ctt_check_floats(m->g->weights, 0);
    batch_of(-1, NULL, m, a, &plain);
    batch_of(2, NULL, m, a, &want);
    batch_of(-1, twice, m, b, &got);
    CU_ASSERT_DOUBLE_EQUAL(got, want, 1e-6);
    CU_ASSERT(fabs(got - plain) > 1e-5);
    CHECK_CLOSE(b, a, m->g->weights, 1e-6);
    ctt_free(a);
    ctt_free(b);
    ctt_model_free(&m);
}

static void bad_asks_are_refused(void)
{
    static const char *const bad[] = { "uniform:", "uniform:0-1", "x", "2",
        "uniform:0.5-0.1", "uniform:0.1-1.5", "uniform:0.1-1x" };
    struct ctt_asks a;

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_train_cfg cfg = { .observe = bad[i] };
        CU_ASSERT_EQUAL(ctt_asks_parse(&cfg, &a), CTT_EINVAL);
        CU_ASSERT(strstr(ctt_errmsg(), "observe") != NULL);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "the gradient is of the loss", gradient_is_of_the_loss },
        { "the gradient with a teacher", gradient_with_a_teacher },
        { "a model teaches itself nothing", a_model_teaches_itself_nothing },
        { "another teacher is refused", another_teacher_is_refused },
        { "a class's weight is repetition", weight_is_repetition },
        { "norms are estimated again", norms_are_estimated_again },
        { "asks are where they should be", asks_are_where_they_should_be },
        { "bad asks are refused", bad_asks_are_refused },
        CU_TEST_INFO_NULL
    };

    return clips_main("recognise_step", toy_clean, tests);
}
