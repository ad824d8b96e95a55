/* SPDX-License-Identifier: Apache-2.0
 * test_train.c: training as a whole: it learns, it is reproducible, and its
 * error messages. */
#include "tests/lib/allocs.h"
#include "tests/lib/toy_run.h"

#include <math.h>

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
        CHECK_OK(ctt_evaluate_recognise(m, &cfg, d, &end, 1, &v));
        CU_ASSERT_EQUAL(v->clips, 8);
        CU_ASSERT(ctt_metrics_top1(v, 0) == 1);
        CU_ASSERT(m->history && strstr(m->history, "train clips=8"));
        ctt_metrics_free(&v);
        ctt_model_free(&m);
        ctt_data_close(&d);
    }
}

/* Whatever the order of the batches. */
static void verdicts_are_by_clip(void)
{
    static const struct ctt_point points[] = { { .ratio = 0.5 },
                                               { .ratio = 1 } };
    struct ctt_train_cfg cfg = short_run();
    struct ctt_metrics *v[2] = { NULL, NULL };
    struct ctt_model *m = NULL;
    int clips = ctt_data_clips(toy), found = 0;

    CHECK_OK(clip_model(clip_net, 1, &m));
    for (int i = 0; i < 2; i++) {
        cfg.val_batch = i ? 3 : 8;
        cfg.buckets = i ? "4" : "1";
        CHECK_OK(ctt_evaluate_recognise(m, &cfg, toy, points, 2, &v[i]));
    }
    for (int k = 0; k < 2; k++) {
        int64_t right = 0;

        for (int i = 0; i < clips; i++) {
            int is = v[0]->verdict[2 * i + k];
            CU_ASSERT_EQUAL(is, v[1]->verdict[2 * i + k]);
            found |= 1 << is;
            right += is == CTT_RIGHT;
        }
        CU_ASSERT_EQUAL(right, v[0]->top1[k]);
    }
    CU_ASSERT_EQUAL(found, 1 << CTT_RIGHT | 1 << CTT_WRONG);
    ctt_metrics_free(&v[0]);
    ctt_metrics_free(&v[1]);
    ctt_model_free(&m);
}

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

/* The learning rates of the last epochs of a longer run. */
struct rates { double lr[64]; int n; };

static void take_rate(void *arg, const struct ctt_progress *p)
{
    struct rates *r = arg;

    CU_ASSERT_FATAL(r->n < 64);
    r->lr[r->n++] = p->lr;
}

static void rates_are_rewound(void)
{
    struct rates all = { .n = 0 }, last = { .n = 0 };
    struct rates *const to[] = { &all, &last };

    for (int k = 0; k < 2; k++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_events ev = { .arg = to[k], .progress = take_rate };
        struct ctt_model *m = NULL;
        struct ctt_result r;

        cfg.epochs = k ? 2 : 5;
        cfg.wiring.last_of = k ? 5 : 0;
        CHECK_OK(clip_model(clip_net_end, 1, &m));
        CHECK_OK(ctt_train(m, &cfg, toy, NULL, &ev, &r));
        ctt_model_free(&m);
    }
    CU_ASSERT_FATAL(all.n == 5 * 6 && last.n == 2 * 6);
    CU_ASSERT(all.lr[20] != all.lr[2]);
    for (int i = 0; i < last.n; i++)
        CU_ASSERT_EQUAL(last.lr[i], all.lr[18 + i]);
}

/* After the sparse phase the rate is a tenth. */
static void dsd_lowers_the_rate(void)
{
    struct rates all = { .n = 0 }, dsd = { .n = 0 };
    struct rates *const to[] = { &all, &dsd };

    for (int k = 0; k < 2; k++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_events ev = { .arg = to[k], .progress = take_rate };
        struct ctt_model *m = NULL;
        struct ctt_result r;

        cfg.epochs = 5;
        cfg.dsd = k ? 0.3f : 0;
        CHECK_OK(clip_model(clip_net_end, 1, &m));
        CHECK_OK(ctt_train(m, &cfg, toy, NULL, &ev, &r));
        CU_ASSERT_PTR_NULL(m->constraint.keep);
        ctt_model_free(&m);
    }
    for (int i = 0; i < 30; i++)
        CU_ASSERT_DOUBLE_EQUAL(dsd.lr[i], all.lr[i] * (i < 24 ? 1 : 0.1),
                               1e-12);
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
    m->constraint.keep = ctt_calloc((size_t)m->g->weights, 1);
    before = ctt_calloc((size_t)m->g->weights, sizeof(*before));
    CU_ASSERT_FATAL(m->constraint.keep && before);
    memcpy(before, m->w, (size_t)m->g->weights * sizeof(*before));
    for (int64_t i = 0; i < m->g->weights; i++)
        m->constraint.keep[i] = 1;
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        for (int64_t j = 0; n->op == CTT_OP_CONV && j < ctt_volume(&n->w[0]);
             j++)
            m->constraint.keep[n->at[0] + j] = j % 4 == 0;
    }
    CHECK_OK(ctt_train(m, &cfg, toy, NULL, NULL, &r));
    for (int64_t i = 0; i < m->g->weights; i++) {
        pruned += !m->constraint.keep[i];
        moved += m->constraint.keep[i] && m->w[i] != before[i];
        CU_ASSERT(m->constraint.keep[i] || m->w[i] == 0);
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
        { "input x h=100 w=10 c=3\npool p in=x kind=avg\n"
          "conv y in=p out=4\n", "takes frames of 10x100x3" },
    };
    const struct ctt_point end = { .ratio = 1 };
    struct ctt_train_cfg cfg = short_run();
    struct ctt_metrics *x = NULL;

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_model *m = NULL;
        struct ctt_graph *g = NULL;
        struct ctt_result r;

        CHECK_OK(ctt_net_parse(bad[i].net, &g));
        CHECK_OK(ctt_model_new(g, &m));
        CU_ASSERT(ctt_train(m, &cfg, toy, toy_val, NULL, &r) < 0);
        CU_ASSERT(strstr(ctt_errmsg(), bad[i].says) != NULL);
        CU_ASSERT(ctt_evaluate_recognise(m, &cfg, toy_val, &end, 1, &x) < 0);
        CU_ASSERT(strstr(ctt_errmsg(), bad[i].says) != NULL);
        ctt_model_free(&m);
    }
}

static int one_frame_pack(const char *path)
{
    static uint8_t frame[CLIP_SIZE * CLIP_SIZE * 3];
    struct ctt_frames f = { frame, 1, CLIP_SIZE, CLIP_SIZE, 3, 12 };
    struct ctt_input in = clip_input();
    struct ctt_pack *p = NULL;
    char id[] = "0";
    int rc = 0;

    CTT_TRY(ctt_pack_create(path, &in, (char *const *)clip_labels,
                            CLIP_CLASSES, &p));
    for (int i = 0; i < 8; i++, id[0]++) {
        clip_draw(i, 0, frame);
        CTT_TRY(ctt_pack_add(p, id, i % CLIP_CLASSES, &f));
    }
    CTT_TRY(ctt_pack_finish(&p));
out:
    ctt_pack_close(&p);
    return rc;
}

/* One clip of one frame, pooled: whatever comes in, 0 goes out. */
static void norm_of_one_value_is_refused(void)
{
    static const char net[] =
        "input x h=10 w=10 c=3 fps=12\nconv c in=x out=4 kernel=3\n"
        "pool p in=c kind=avg\nnorm n in=p kind=batch\nconv y in=n out=4\n";
    static const char behind[] =
        "input x h=10 w=10 c=3 fps=12\nconv c in=x out=4 kernel=3\n"
        "pool p in=c kind=avg\nclip\nwindow w in=p steps=3 fill=first\n"
        "conv s in=w out=4 kernel=3,1,1\nnorm n in=s kind=batch\n"
        "conv y in=n out=4\n";
    struct ctt_train_cfg cfg = short_run();
    struct ctt_input in = clip_input();
    struct ctt_model *m = NULL;
    struct ctt_data *d = NULL;
    struct ctt_result r;

    CHECK_OK(one_frame_pack(clip_path("one.pack")));
    CHECK_OK(ctt_data_open(clip_path("one.pack"), "train", &in, NULL, 0, &cfg,
                           NULL, &d));
    CHECK_OK(clip_model(net, 1, &m));
    cfg.batch = cfg.shards = 1;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, d, NULL, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "n: a batch norm over a single") != NULL);
    cfg.batch = 2;
    CHECK_OK(ctt_train(m, &cfg, d, NULL, NULL, &r));
    ctt_model_free(&m);
    ctt_data_close(&d);
    /* Behind the line `clip` a clip has one value, however many frames. */
    CHECK_OK(clip_model(behind, 1, &m));
    cfg.batch = 1;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, NULL, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "n: a batch norm over a single") != NULL);
    ctt_model_free(&m);
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

static int run_once(void *cfg)
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

    cfg.max_steps = 1;
    cfg.workers = 1;
    cfg.val_batch = 16;
    cfg.out = clip_path("fail.out");
    cfg.checkpoint = clip_path("fail.ckpt");
    fail_allocs(run_once, &cfg, 100);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "eight clips are learnt", eight_clips_are_learnt },
        { "verdicts are by clip", verdicts_are_by_clip },
        { "same seed, same weights", same_seed_same_weights },
        { "rates are rewound", rates_are_rewound },
        { "dsd lowers the rate", dsd_lowers_the_rate },
        { "pruned weights stay zero", pruned_weights_stay_zero },
        { "nan is named", nan_is_named },
        { "wrong models are refused", wrong_models_are_refused },
        { "a norm of one value is refused", norm_of_one_value_is_refused },
        { "paths that fail are named", paths_that_fail_are_named },
        { "logs have a row an epoch", logs_have_a_row_an_epoch },
        { "a step allocates nothing", a_step_allocates_nothing },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };

    return clips_main("train", toy_clean, tests);
}
