/* SPDX-License-Identifier: Apache-2.0
 * test_both.c: --task both: recognition with the prediction of the next frame
 * as a second loss. */
#include "libtrain/checkpoint.h"
#include "libtrain/data/load.h"
#include "libtrain/recognise/aux_head.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"
#include "net/rewrite/aux_head.h"
#include "run/back/exec.h"
#include "tests/lib/toy_run.h"

#include <math.h>

#define INPUT "input x h=10 w=10 c=3 fps=12 mean=0.2 std=0.3 scale=1.2\n"
#define ENCODER \
    "conv e in=x out=8 kernel=3 stride=2 pad=1\n" \
    "act f in=e kind=relu\n" \
    "convlstm h in=f hidden=8 kernel=3\n"
#define BRANCH \
    "deconv b in=h out=3 kernel=1,4,4 stride=1,2,2 pad=0,1,1\n" \
    "add n in=x,b\n" \
    "ahead a in=n\n"
#define ANSWER "pool p in=h kind=avg\ndropout d in=p rate=0.1\n" \
    "conv y in=d out=4\n"
#define CLIP "clip\nwindow v in=h steps=3 every=2\npool p in=v kind=avg\n" \
    "dropout d in=p rate=0.1\nconv y in=d out=4\n"

static const char *const nets[] = { INPUT ENCODER BRANCH ANSWER,
                                    INPUT ENCODER BRANCH CLIP };
static const char *const plain[] = { INPUT ENCODER ANSWER,
                                     INPUT ENCODER CLIP };

static struct ctt_train_cfg both(const char *weight)
{
    struct ctt_train_cfg cfg = short_run();

    cfg.task = CTT_BOTH;
    cfg.ahead_weight = weight;
    return cfg;
}

/* ---- a step ---- */

struct rig {
    struct ctt_dev    *dev;
    struct ctt_model  *m;
    struct ctt_order  *p;
    struct ctt_loader *l;
    struct ctt_batch   b;
    struct ctt_recognise_step *s;
};

static void rig_open(struct rig *r, const char *net,
                     const struct ctt_train_cfg *cfg)
{
    const struct ctt_augment none = { 0 };
    struct ctt_buckets bk;
    double wait = 0;

    memset(r, 0, sizeof(*r));
    CHECK_OK(ctt_dev_open("ref", 2, &r->dev));
    CHECK_OK(clip_model(net, 3, &r->m));
    CHECK_OK(ctt_buckets_find(toy, 4, "1", &bk));
    CHECK_OK(ctt_order_new(toy, 4, &r->p));
    ctt_order_make(toy, &bk, 1, 1, r->p);
    CHECK_OK(ctt_recognise_step_open(r->m->g, r->m->w, cfg, r->dev, 4,
                                     toy->longest, &r->s));
    CHECK_OK(ctt_loader_open(toy, 4, toy->longest, &r->l));
    ctt_loader_start(r->l, r->p, &none, 0);
    CU_ASSERT_EQUAL_FATAL(ctt_loader_next(r->l, &r->b, &wait), 1);
}

static void rig_close(struct rig *r)
{
    ctt_loader_close(&r->l);
    ctt_recognise_step_close(&r->s);
    ctt_order_free(&r->p);
    ctt_model_free(&r->m);
    ctt_dev_close(&r->dev);
}

static double loss_of(struct rig *r, double weight)
{
    struct ctt_sums s = { 0 };

    r->s->ahead->weight = weight;
    CHECK_OK(ctt_recognise_step_run(r->s, toy, &r->b, 1, 2, &s));
    CU_ASSERT_FATAL(s.weight > 0 && s.values > 0);
    return s.loss / s.weight + weight * s.ahead / s.values;
}

static void move(struct rig *r, const float *dw, double by)
{
    for (int64_t i = 0; i < r->m->g->weights; i++)
        r->m->w[i] += (float)(by * dw[i]);
}

/* A step along the gradient, and one back, change the sum of both losses as the
 * gradient says. */
static void check_slope(struct rig *r, double weight)
{
    int64_t n = r->m->g->weights;
    float *dw = ctt_calloc((size_t)n, sizeof(*dw));
    double norm = 0, h, up, down;

    CU_ASSERT_FATAL(dw != NULL);
    loss_of(r, weight);
    memcpy(dw, r->s->x->dw, (size_t)n * sizeof(*dw));
    for (int64_t i = 0; i < n; i++)
        norm += (double)dw[i] * dw[i];
    h = 1e-2 / sqrt(norm);
    move(r, dw, h);
    up = loss_of(r, weight);
    move(r, dw, -2 * h);
    down = loss_of(r, weight);
    CU_ASSERT_DOUBLE_EQUAL((up - down) / (2 * h) / norm, 1, 0.02);
    ctt_free(dw);
}

static void gradient_is_of_both(void)
{
    static const double weights[] = { 0, 0.3, 2 };

    for (size_t k = 0; k < CTT_LEN(nets); k++)
        for (size_t i = 0; i < CTT_LEN(weights); i++)
            for (int window = 0; window < 2; window++) {
                struct ctt_train_cfg cfg = both("1");
                struct rig r;

                cfg.window = window ? 3 : 0;
                cfg.keep = window ? "1" : "all";
                rig_open(&r, nets[k], &cfg);
                check_slope(&r, weights[i]);
                rig_close(&r);
            }
}

/* A prediction that is the frame itself: the mean square of what changes, up to
 * the last frame of each clip. */
static void loss_is_literal(void)
{
    enum { PIXELS = 10 * 10, FRAME = PIXELS * 3 };

    for (int window = 0; window < 2; window++) {
        struct ctt_train_cfg cfg = both("1");
        struct ctt_sums s = { 0 };
        double sum = 0, values = 0;
        struct rig r;

        cfg.window = window ? 2 : 0;
        rig_open(&r, INPUT ENCODER "ahead a in=x\n" ANSWER, &cfg);
        for (int j = 0; j < r.b.n; j++)
            for (int t = 0; t + 1 < r.b.length[j]; t++, values += PIXELS)
                for (int i = 0; i < FRAME; i++) {
                    const float *x = r.b.x + (t * r.b.n + j) * FRAME + i;
                    double d = (double)x[r.b.n * FRAME] - (double)x[0];
                    sum += d * d / 3;
                }
        CHECK_OK(ctt_recognise_step_run(r.s, toy, &r.b, 1, 2, &s));
        CU_ASSERT_EQUAL(s.values, values);
        CU_ASSERT_DOUBLE_EQUAL(s.ahead / sum, 1, 1e-5);
        rig_close(&r);
    }
}

/* ---- a training ---- */

/* With weight 0 the weights of the recogniser are those of --task recognise, to
 * the bit, dropout too. */
static void weight_0_is_recognition(void)
{
    static const char *const devices[] = { "ref", "cpu" };

    for (size_t k = 0; k < 2 * CTT_LEN(devices); k++) {
        struct ctt_train_cfg cfg = both("0");
        struct ctt_model *a, *b;

        cfg.device = devices[k / 2];
        cfg.augment = k % 2 ? CTT_AUGMENT_STRONG : CTT_AUGMENT_LIGHT;
        a = trained(nets[k % 2], &cfg, 1);
        cfg.task = CTT_RECOGNISE;
        b = trained(plain[k % 2], &cfg, 1);
        CU_ASSERT(a->g->weights > b->g->weights);
        CU_ASSERT_EQUAL(memcmp(a->w, b->w, (size_t)b->g->weights *
                               sizeof(float)), 0);
        ctt_model_free(&a);
        ctt_model_free(&b);
    }
}

/* What a run says of its steps. */
struct told { double ahead[64], weight[64]; int n; };

static void listen(void *arg, const struct ctt_progress *p)
{
    struct told *t = arg;

    CU_ASSERT_FATAL(t->n < 64);
    t->ahead[t->n] = p->ahead;
    t->weight[t->n++] = p->ahead_weight;
}

/* The weight goes evenly from the first step to the last; predictions improve
 * with it, beside mixed clips and whatever else changes the targets. */
static void both_are_learnt(void)
{
    for (int k = 0; k < 4; k++) {
        struct ctt_train_cfg cfg = both("2:0.5");
        struct told told = { .n = 0 };
        const struct ctt_events ev = { .arg = &told, .progress = listen };
        struct ctt_model *m = NULL;
        struct ctt_result r;

        cfg.augment = k == 1 ? CTT_AUGMENT_STRONG : CTT_AUGMENT_OFF;
        cfg.self_distil = k == 2 ? 0.5f : 0;
        cfg.amp = k == 3 ? CTT_O1 : CTT_O0;
        cfg.epochs = 9;
        cfg.lr = 0.01f;
        CHECK_OK(clip_model(nets[k % 2], 1, &m));
        CHECK_OK(ctt_train(m, &cfg, toy, NULL, &ev, &r));
        CU_ASSERT_FATAL(told.n == 9 * 6);
        for (int i = 0; i < told.n; i++)
            CU_ASSERT_DOUBLE_EQUAL(told.weight[i],
                                   2 - 1.5 * i / (told.n - 1), 1e-12);
        CU_ASSERT(told.ahead[53] < 0.9 * told.ahead[5]);
        ctt_model_free(&m);
    }
}

static void resumed_is_uninterrupted(void)
{
    static const int at[] = { 1, 6, 11 };

    for (size_t k = 0; k < CTT_LEN(nets); k++) {
        struct ctt_train_cfg cfg = both("1:0");
        struct ctt_model *whole = trained(nets[k], &cfg, 1);

        cfg.checkpoint = clip_path("ckpt");
        for (size_t i = 0; i < CTT_LEN(at); i++) {
            struct stopper s = { at[i] };
            const struct ctt_events ev = { .arg = &s,
                                           .progress = on_progress };
            struct ctt_model *m = NULL;
            struct ctt_result r;

            CHECK_OK(clip_model(nets[k], 1, &m));
            CHECK_OK(stop_train(m, &cfg, toy, toy_val, &ev, &r));
            CU_ASSERT(r.stopped && r.steps == at[i]);
            ctt_model_free(&m);
            CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
            CU_ASSERT(ctt_graph_ahead(m->g) >= 0);
            CHECK_OK(ctt_train(m, &cfg, toy, toy_val, NULL, &r));
            CU_ASSERT(same_weights(m, whole));
            ctt_model_free(&m);
        }
        ctt_model_free(&whole);
    }
}

/* The file is that of a recogniser, with the answers of the model in memory. */
static void file_is_a_recogniser(void)
{
    static const struct ctt_point end = { .ratio = 1 };

    for (size_t k = 0; k < CTT_LEN(nets); k++) {
        struct ctt_train_cfg cfg = both("1");
        struct ctt_model *m, *file = NULL, *p = NULL;
        struct ctt_metrics *v[2] = { NULL, NULL };
        char *a, *b;

        cfg.out = clip_path("out.h5");
        m = trained(nets[k], &cfg, 1);
        CHECK_OK(ctt_model_load(cfg.out, 1, &file));
        CHECK_OK(clip_model(plain[k], 1, &p));
        a = ctt_net_print(file->g);
        b = ctt_net_print(p->g);
        CU_ASSERT_FATAL(a && b);
        CU_ASSERT_STRING_EQUAL(a, b);
        CU_ASSERT(!file->train && file->labels == CLIP_CLASSES);
        CU_ASSERT_STRING_EQUAL(file->history, m->history);
        CU_ASSERT_EQUAL(memcmp(file->w, m->w, (size_t)p->g->weights *
                               sizeof(float)), 0);
        CHECK_OK(ctt_evaluate_recognise(m, &cfg, toy, &end, 1, &v[0]));
        CHECK_OK(ctt_evaluate_recognise(file, &cfg, toy, &end, 1, &v[1]));
        CU_ASSERT(v[0]->loss[0] == v[1]->loss[0]);
        ctt_metrics_free(&v[0]);
        ctt_metrics_free(&v[1]);
        ctt_free(a);
        ctt_free(b);
        ctt_model_free(&m);
        ctt_model_free(&file);
        ctt_model_free(&p);
    }
}

/* ---- what is refused ---- */

static void unfit_settings_are_refused(void)
{
    static const char *const bad[] = { "x", "1:", ":1", "-1", "1:-1", "1:2:3",
                                       "nan", "inf", "1001", "1,0" };
    struct ctt_train_cfg cfg = both("1");
    struct ctt_model *m = NULL;
    struct ctt_result r;

    CHECK_OK(ctt_train_check(&cfg));
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        cfg.ahead_weight = bad[i];
        CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
        CU_ASSERT(strstr(ctt_errmsg(), "is not FROM or FROM:TO") != NULL);
    }
    cfg.ahead_weight = "0.5";
    cfg.task = CTT_RECOGNISE;
    CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "requires --task=both") != NULL);
    cfg = both("1");
    CHECK_OK(clip_model(plain[0], 1, &m));
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, NULL, NULL, &r), CTT_EUNSUP);
    CU_ASSERT(strstr(ctt_errmsg(), "needs a line 'ahead'") != NULL);
    ctt_model_free(&m);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "gradient", gradient_is_of_both }, { "loss", loss_is_literal },
        { "weight 0", weight_0_is_recognition },
        { "both are learnt", both_are_learnt },
        { "resumed", resumed_is_uninterrupted },
        { "the file", file_is_a_recogniser },
        { "refused", unfit_settings_are_refused },
        CU_TEST_INFO_NULL
    };

    return clips_main("both", toy_clean, tests);
}
