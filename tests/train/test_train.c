/* SPDX-License-Identifier: Apache-2.0
 * test_train.c: training as a whole: it learns, it is the same every time, it
 * goes on where it stopped, and it says what went wrong. */
#include "libtrain/state.h"
#include "tests/lib/allocs.h"
#include "tests/lib/check.h"
#include "tests/lib/toy.h"

#include <math.h>

static struct ctt_data *toy, *toy_val;

static struct ctt_train_cfg short_run(void)
{
    struct ctt_train_cfg c = clip_cfg();

    c.epochs = 3;
    c.jitter = c.flip = 1;
    c.contrast = 0.1f;
    c.buckets = "2";
    clips_open(&c, &toy, &toy_val);
    return c;
}

static struct ctt_model *trained(const char *net,
                                 const struct ctt_train_cfg *cfg, int model)
{
    struct ctt_model *m = NULL;
    struct ctt_result r;

    CHECK_OK(clip_model(net, model, &m));
    CHECK_OK(ctt_train(m, cfg, toy, toy_val, NULL, &r));
    CU_ASSERT_EQUAL(r.steps, cfg->max_steps ? cfg->max_steps : 3 * 6);
    return m;
}

static int same_weights(const struct ctt_model *a, const struct ctt_model *b)
{
    return memcmp(a->w, b->w, (size_t)a->g->weights * sizeof(float)) == 0;
}

/* ---- learning ---- */

static void eight_clips_are_learnt(void)
{
    static const char *const nets[] = { clip_net, clip_net_end };
    struct ctt_point end = { 1, 0 };

    for (int k = 0; k < 2; k++) {
        struct ctt_train_cfg cfg = clip_cfg();
        struct ctt_input in = clip_input();
        struct ctt_metrics *v = NULL;
        struct ctt_model *m = NULL;
        struct ctt_data *d = NULL;
        struct ctt_result r;

        CHECK_OK(clips_pack(clip_path("eight.pack"), 0, 8));
        CHECK_OK(ctt_data_open(clip_path("eight.pack"), "train", &in, NULL, 0,
                               &cfg, NULL, &d));
        CHECK_OK(clip_model(nets[k], 1, &m));
        cfg.device = "cpu";
        cfg.epochs = 120;
        cfg.lr = 0.01f;
        CHECK_OK(ctt_train(m, &cfg, d, NULL, NULL, &r));
        CU_ASSERT(r.loss < 0.5 && r.best_epoch == 0);
        CHECK_OK(ctt_evaluate(m, &cfg, d, &end, 1, NULL, &v));
        CU_ASSERT_EQUAL(v->clips, 8);
        CU_ASSERT(ctt_metrics_top1(v, 0) == 1);
        CU_ASSERT(m->history && strstr(m->history, "train clips=8"));
        ctt_metrics_free(&v);
        ctt_model_free(&m);
        ctt_data_close(&d);
    }
}

/* The gradient of the whole step, target and asks included, is that of its
 * loss: moves along it lower the loss as much as they should. */
static void gradient_is_of_the_loss(void)
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
        struct ctt_sums a = { 0 }, b = { 0 }, c = { 0 };
        struct ctt_step *s = NULL;
        struct ctt_loader *l = NULL;
        struct ctt_order *p = NULL;
        struct ctt_model *m = NULL;
        struct ctt_dev *dev = NULL;
        struct ctt_buckets bk;
        struct ctt_batch batch;
        double wait = 0, norm = 0, h, slope;
        float *dw;

        cfg.label_smooth = 0.1f;
        cfg.frame_loss = CTT_FRAME_LINEAR;
        cfg.frame_asks = 3;
        CHECK_OK(ctt_dev_open("ref", 2, &dev));
        CHECK_OK(clip_model(nets[k], 3, &m));
        CHECK_OK(ctt_buckets_find(toy, 4, "1", &bk));
        CHECK_OK(ctt_order_new(toy, 4, &p));
        ctt_order_make(toy, &bk, 1, 1, p);
        CHECK_OK(ctt_step_open(m->g, m->w, &cfg, dev, 4, toy->longest, &s));
        CHECK_OK(ctt_loader_open(toy, 4, toy->longest, &l));
        ctt_loader_start(l, p, &none, 0);
        CU_ASSERT_EQUAL_FATAL(ctt_loader_next(l, &batch, &wait), 1);
        CHECK_OK(ctt_step_run(s, toy, &batch, 1, 2, &a));
        dw = ctt_calloc((size_t)m->g->weights, sizeof(*dw));
        CU_ASSERT_FATAL(dw != NULL);
        memcpy(dw, s->x->dw, (size_t)m->g->weights * sizeof(*dw));
        for (int64_t i = 0; i < m->g->weights; i++)
            norm += (double)dw[i] * dw[i];
        h = 1e-2 / sqrt(norm);
        for (int64_t i = 0; i < m->g->weights; i++)
            m->w[i] += (float)(h * dw[i]);
        CHECK_OK(ctt_step_run(s, toy, &batch, 1, 2, &b));
        for (int64_t i = 0; i < m->g->weights; i++)
            m->w[i] -= (float)(2 * h * dw[i]);
        CHECK_OK(ctt_step_run(s, toy, &batch, 1, 2, &c));
        slope = (b.loss / b.weight - c.loss / c.weight) / (2 * h);
        CU_ASSERT(a.weight == b.weight && a.clips == 4);
        CU_ASSERT_DOUBLE_EQUAL(slope / norm, 1, 0.02);
        ctt_free(dw);
        ctt_loader_close(&l);
        ctt_step_close(&s);
        ctt_order_free(&p);
        ctt_model_free(&m);
        ctt_dev_close(&dev);
    }
}

/* ---- when clips are asked ---- */

static void asks_are_where_they_should_be(void)
{
    struct ctt_train_cfg cfg = { .observe = "0.25,0.5", .observe_weight = 2,
                                 .full_weight = 3, .frame_asks = 4 };
    struct ctt_want w[16];
    struct ctt_asks a;

    CHECK_OK(ctt_asks_parse(&cfg, &a));
    CU_ASSERT_EQUAL_FATAL(a.total, 3);
    ctt_asks_make(&a, &cfg, 41, 0, w);
    CU_ASSERT(w[0].step == 9 && w[1].step == 19 && w[2].step == 40);
    CU_ASSERT(w[0].weight == 2 && w[1].weight == 2 && w[2].weight == 3);
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

/* ---- the same again, and going on ---- */

static void same_seed_same_weights(void)
{
    static const char *const devices[] = { "ref", "cpu" };

    for (size_t k = 0; k < CTT_LEN(devices); k++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_model *a, *b, *c;

        cfg.device = devices[k];
        cfg.threads = k ? 2 : 1;
        a = trained(clip_net, &cfg, 1);
        cfg.workers = 5;
        b = trained(clip_net, &cfg, 1);
        cfg.seed = 2;
        c = trained(clip_net, &cfg, 1);
        CU_ASSERT(same_weights(a, b));
        CU_ASSERT(!same_weights(a, c));
        ctt_model_free(&a);
        ctt_model_free(&b);
        ctt_model_free(&c);
    }
}

struct stopper { int64_t at; int now; };

static void on_progress(void *arg, const struct ctt_progress *p)
{
    struct stopper *s = arg;

    s->now = p->step >= s->at;
}

static int on_stop(void *arg)
{
    return ((struct stopper *)arg)->now;
}

/* A run stopped after any step, at an epoch's end or within, and gone on with
 * from its file, ends with the weights of one that never stopped. */
static void resumed_is_uninterrupted(void)
{
    static const int at[] = { 1, 6, 11 };
    static const char *const devices[] = { "ref", "cpu" };
    static const char *const nets[] = { clip_net, clip_net_end };

    for (size_t k = 0; k < 2 * CTT_LEN(devices); k++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_model *whole;
        struct ctt_result r;

        cfg.device = devices[k / 2];
        cfg.optimizer = k == 1 ? CTT_SGD : CTT_ADAMW;
        whole = trained(nets[k % 2], &cfg, 1);
        cfg.checkpoint = clip_path("ckpt");
        for (size_t i = 0; i < CTT_LEN(at); i++) {
            struct stopper s = { at[i], 0 };
            const struct ctt_events ev = { .arg = &s, .stop = on_stop,
                                           .progress = on_progress };
            struct ctt_model *m = NULL;

            CHECK_OK(clip_model(nets[k % 2], 1, &m));
            CHECK_OK(ctt_train(m, &cfg, toy, toy_val, &ev, &r));
            CU_ASSERT(r.stopped && r.steps == at[i]);
            ctt_model_free(&m);
            CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
            CHECK_OK(ctt_train(m, &cfg, toy, toy_val, NULL, &r));
            CU_ASSERT(!r.stopped && r.steps == 18);
            CU_ASSERT(same_weights(m, whole));
            CU_ASSERT(strcmp(m->history, whole->history) == 0);
            ctt_model_free(&m);
        }
        ctt_model_free(&whole);
    }
}

/* Stopped while it tests: the epoch's end is done again. */
struct counter { int calls, stop_at; };

static int count_stop(void *arg)
{
    struct counter *c = arg;

    return ++c->calls >= c->stop_at;
}

static void stopped_in_a_test_is_resumed(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *whole = trained(clip_net, &cfg, 1), *m = NULL;
    struct counter c = { 0, 8 };    /* six batches, then the test's second */
    const struct ctt_events ev = { .arg = &c, .stop = count_stop };
    struct ctt_result r;

    cfg.checkpoint = clip_path("ckpt");
    CHECK_OK(clip_model(clip_net, 1, &m));
    CHECK_OK(ctt_train(m, &cfg, toy, toy_val, &ev, &r));
    CU_ASSERT(r.stopped && r.steps == 6 && r.epochs == 0);
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
    CHECK_OK(ctt_train(m, &cfg, toy, toy_val, NULL, &r));
    CU_ASSERT(same_weights(m, whole));
    ctt_model_free(&m);
    ctt_model_free(&whole);
}

static void other_settings_are_refused(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL;
    struct ctt_result r;

    cfg.checkpoint = clip_path("other");
    cfg.max_steps = 2;
    m = trained(clip_net, &cfg, 1);
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
    cfg.batch = 2;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, toy_val, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "batch=4") != NULL);
    cfg.batch = 4;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy_val, toy_val, NULL, &r),
                    CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "22 clips") != NULL);
    cfg.workers = 3;
    cfg.max_steps = 4;
    CHECK_OK(ctt_train(m, &cfg, toy, toy_val, NULL, &r));
    CU_ASSERT_EQUAL(r.steps, 4);
    ctt_model_free(&m);
}

/* ---- constraints ---- */

static void pruned_weights_stay_zero(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL;
    struct ctt_result r;
    int64_t pruned = 0, moved = 0;
    float *before;

    CHECK_OK(clip_model(clip_net, 1, &m));
    m->keep = ctt_calloc((size_t)m->g->weights, 1);
    before = ctt_calloc((size_t)m->g->weights, sizeof(*before));
    CU_ASSERT_FATAL(m->keep && before);
    memcpy(before, m->w, (size_t)m->g->weights * sizeof(*before));
    for (int64_t i = 0; i < m->g->weights; i++)
        m->keep[i] = 1;
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        for (int64_t j = 0; n->op == CTT_OP_CONV && j < ctt_volume(&n->w[0]);
             j++)
            m->keep[n->at[0] + j] = j % 4 == 0;
    }
    CHECK_OK(ctt_train(m, &cfg, toy, NULL, NULL, &r));
    for (int64_t i = 0; i < m->g->weights; i++) {
        pruned += !m->keep[i];
        moved += m->keep[i] && m->w[i] != before[i];
        CU_ASSERT(m->keep[i] || m->w[i] == 0);
    }
    CU_ASSERT(pruned > 1000 && moved > 400);
    ctt_free(before);
    ctt_model_free(&m);
}

/* ---- what goes wrong ---- */

static void nan_is_named(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL;
    struct ctt_result r;
    struct ctt_model *saved = NULL;

    cfg.checkpoint = clip_path("good");
    cfg.checkpoint_every = 1;
    cfg.clip_norm = 0;
    cfg.lr = 1e38f;    /* overflows in a step or two */
    cfg.warmup = 0;
    cfg.optimizer = CTT_SGD;
    CHECK_OK(clip_model(clip_net_end, 1, &m));
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, toy_val, NULL, &r), CTT_ENAN);
    CU_ASSERT(strstr(ctt_errmsg(), "step ") != NULL);
    CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &saved));
    for (int64_t i = 0; i < saved->g->weights; i++)
        CU_ASSERT(isfinite(saved->w[i]));
    ctt_model_free(&saved);
    ctt_model_free(&m);
    CHECK_OK(clip_model(clip_net_end, 1, &m));
    m->w[m->g->node[ctt_graph_find(m->g, "c")].at[1]] = NAN;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, toy_val, NULL, &r), CTT_ENAN);
    CU_ASSERT(strstr(ctt_errmsg(), "c: ") != NULL);
    ctt_model_free(&m);
}

static void wrong_models_are_refused(void)
{
    static const struct { const char *net, *says; } bad[] = {
        { "input x h=10 w=10 c=3\nconv y in=x out=4 kernel=3\n", "8x8" },
        { "input x h=10 w=10 c=3\npool p in=x kind=avg\n"
          "conv y in=p out=5\n", "5 classes" },
    };
    struct ctt_train_cfg cfg = short_run();

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_model *m = NULL;
        struct ctt_graph *g = NULL;
        struct ctt_result r;

        CHECK_OK(ctt_net_parse(bad[i].net, &g));
        CHECK_OK(ctt_model_new(g, &m));
        CU_ASSERT(ctt_train(m, &cfg, toy, toy_val, NULL, &r) < 0);
        CU_ASSERT(strstr(ctt_errmsg(), bad[i].says) != NULL);
        ctt_model_free(&m);
    }
}

static void paths_that_fail_are_named(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL;
    struct ctt_result r;

    CHECK_OK(clip_model(clip_net, 1, &m));
    cfg.log_csv = "/nowhere/log.csv";
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, toy_val, NULL, &r), CTT_EIO);
    CU_ASSERT(strstr(ctt_errmsg(), "/nowhere/log.csv") != NULL);
    cfg.log_csv = NULL;
    cfg.out = "/nowhere/model";
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, toy_val, NULL, &r), CTT_EIO);
    CU_ASSERT(strstr(ctt_errmsg(), "/nowhere/model") != NULL);
    ctt_model_free(&m);
}

/* ---- logs ---- */

static int count_lines(const char *path, char *last, size_t size)
{
    FILE *f = fopen(path, "r");
    int n = 0;

    CU_ASSERT_FATAL(f != NULL);
    while (fgets(last, (int)size, f))
        n++;
    fclose(f);
    return n;
}

static void logs_have_a_row_an_epoch(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m;
    char csv[512], json[512];

    cfg.log_csv = clip_path("log.csv");
    cfg.log_json = clip_path("log.json");
    m = trained(clip_net, &cfg, 1);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(count_lines(cfg.log_csv, csv, sizeof(csv)), 4);
    CU_ASSERT_EQUAL(count_lines(cfg.log_json, json, sizeof(json)), 3);
    CU_ASSERT(strncmp(csv, "3,18,", 5) == 0);
    CU_ASSERT(strncmp(json, "{\"epoch\":3,\"step\":18,", 21) == 0);
    CU_ASSERT(strcmp(json + strlen(json) - 2, "}\n") == 0);
}

/* ---- memory ---- */

static void a_step_allocates_nothing(void)
{
    static const char *const devices[] = { "ref", "cpu" };

    for (size_t k = 0; k < CTT_LEN(devices); k++) {
        struct alloc_watch w = { .after = 2 };
        const struct ctt_events ev = { .arg = &w, .progress = watch_allocs };
        struct ctt_train_cfg cfg = short_run();
        struct ctt_model *m = NULL;
        struct ctt_result r;

        cfg.device = devices[k];
        cfg.buckets = "1";
        CHECK_OK(clip_model(clip_net_end, 1, &m));
        CHECK_OK(ctt_train(m, &cfg, toy, NULL, &ev, &r));
        CU_ASSERT_EQUAL(w.worst, 0);
        ctt_model_free(&m);
    }
}

static int run_once(const struct ctt_train_cfg *cfg)
{
    struct ctt_model *m = NULL;
    struct ctt_result r;
    int rc = 0;

    CTT_TRY(clip_model(clip_net_end, 1, &m));
    CTT_TRY(ctt_train(m, cfg, toy, toy_val, NULL, &r));
out:
    ctt_model_free(&m);
    return rc;
}

/* Every k-th allocation up to the first steps, a test, and both files. */
static void allocations_fail(void)
{
    struct ctt_train_cfg cfg = short_run();
    long live, k = 1, done = 0;

    cfg.max_steps = 1;
    cfg.workers = 1;
    cfg.val_batch = 16;
    cfg.out = clip_path("fail.out");
    cfg.checkpoint = clip_path("fail.ckpt");
    live = ctt_live_blocks();
    for (; !done && k < 4000; k++) {
        int rc;

        ctt_fail_alloc(k);
        rc = run_once(&cfg);
        ctt_fail_alloc(0);
        CU_ASSERT(rc <= 0);    /* HDF5's own failures are no CTT_ENOMEM */
        if (ctt_live_blocks() != live) {
            CU_FAIL("a block is lost");
            break;
        }
        done = rc == 0;
    }
    CU_ASSERT(k > 100 && done);
}

static int clean(void)
{
    char line[128];

    ctt_data_close(&toy);
    ctt_data_close(&toy_val);
    snprintf(line, sizeof(line), "rm -rf '%s'", clip_dir);
    return system(line);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "eight clips are learnt", eight_clips_are_learnt },
        { "the gradient is of the loss", gradient_is_of_the_loss },
        { "asks are where they should be", asks_are_where_they_should_be },
        { "bad asks are refused", bad_asks_are_refused },
        { "same seed, same weights", same_seed_same_weights },
        { "resumed = uninterrupted", resumed_is_uninterrupted },
        { "stopped in a test, resumed", stopped_in_a_test_is_resumed },
        { "other settings are refused", other_settings_are_refused },
        { "pruned weights stay zero", pruned_weights_stay_zero },
        { "nan is named", nan_is_named },
        { "wrong models are refused", wrong_models_are_refused },
        { "paths that fail are named", paths_that_fail_are_named },
        { "logs have a row an epoch", logs_have_a_row_an_epoch },
        { "a step allocates nothing", a_step_allocates_nothing },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "train", NULL, clean, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    if (clips_dir() < 0)
        return 99;
    return ctt_check_main(suites);
}
