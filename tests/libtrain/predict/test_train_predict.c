/* SPDX-License-Identifier: Apache-2.0
 * test_train_predict.c: training prediction as a whole: it learns, resumes
 * where it stopped, and needs the memory that it reports. */
#include "net/init.h"
#include "tests/lib/allocs.h"
#include "tests/lib/dots.h"
#include "tests/lib/stop.h"

#include <math.h>

static int same_weights(const struct ctt_model *a, const struct ctt_model *b)
{
    return memcmp(a->w, b->w, (size_t)a->g->weights * sizeof(float)) == 0;
}

static struct ctt_model *trained(const struct ctt_train_cfg *cfg)
{
    struct ctt_model *m = dots_model(dot_net, 1);
    struct ctt_result r;

    dots_open();
    CHECK_OK(ctt_train(m, cfg, dots, dots_val, NULL, &r));
    return m;
}

/* ---- learning ---- */

/* The recurrent part has a quarter of the frame's pixels. */
static const char coarse_net[] =
    "input x h=16 w=16 c=1 mean=0.1 std=0.5 colour=gray\n"
    "conv e in=x out=8 kernel=3 pad=1\n"
    "act f in=e kind=relu\n"
    "pool p in=f kind=max kernel=2\n"
    "convlstm h in=p hidden=16 kernel=3\n"
    "conv c in=h out=8 kernel=3 pad=1\n"
    "upsample u in=c by=2\n"
    "conv o in=f plus=u out=8 kernel=3 pad=1\n"
    "act g in=o kind=relu\n"
    "conv y in=g out=1 kernel=3 pad=1\n";

static void check_learnt(const char *net)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m = dots_model(net, 1);
    struct ctt_predict_scores *f = NULL;
    struct ctt_data *d, *v;
    struct ctt_result r;

    dots_pack(clip_path("many.pack"), 0, 120);
    dots_pack(clip_path("test.pack"), 500, 20);
    d = dots_read(clip_path("many.pack"));
    v = dots_read(clip_path("test.pack"));
    cfg.device = "cpu";
    cfg.epochs = 12;
    cfg.lr = 0.01f;
    cfg.sampling_start = "6";
    cfg.sampling_decay = 0.2f;
    CHECK_OK(ctt_train(m, &cfg, d, v, NULL, &r));
    CU_ASSERT(r.best_epoch > 0 && r.val.mse > 0 && r.val.ssim > 0);
    CU_ASSERT(m->history && strstr(m->history, "task=predict") &&
              strstr(m->history, "val_mse="));
    CHECK_OK(ctt_evaluate_predict(m, &cfg, v, &f));
    CU_ASSERT_DOUBLE_EQUAL(ctt_predict_scores_at(f, CTT_BY_MODEL, 0).mse,
                           r.val.mse, 1e-9);
    for (int k = 1; k <= AHEAD; k++)
        CU_ASSERT(ctt_predict_scores_at(f, CTT_BY_MODEL, k).mse <
                  0.7 * ctt_predict_scores_at(f, CTT_BY_LAST_FRAME, k).mse);
    ctt_predict_scores_free(&f);
    ctt_data_close(&d);
    ctt_data_close(&v);
    ctt_model_free(&m);
}

static void motion_is_learnt(void)
{
    check_learnt(dot_net);
    check_learnt(coarse_net);
}

/* ---- going on ---- */

struct watch { int64_t at; double least; int falls, starts; };

static void on_progress(void *arg, const struct ctt_progress *p)
{
    struct watch *w = arg;

    stop_now = w->at && p->step >= w->at;
    w->least = p->truth < w->least ? p->truth : w->least;
}

static void on_say(void *arg, const char *line)
{
    struct watch *w = arg;

    w->starts += strstr(line, "sampling starts") != NULL;
    w->falls += strstr(line, "rate begins to fall") != NULL;
}

/* 1 if two logs are equal except for the columns with times. */
static int same_logs(const char *a, const char *b)
{
    FILE *f = fopen(a, "r"), *g = fopen(b, "r");
    char s[512], t[512];
    int rows = 0, same = 1;

    CU_ASSERT_FATAL(f && g);
    while (same && fgets(s, sizeof(s), f)) {
        for (int k = 0; rows && k < 3; k++)    /* the last three */
            *strrchr(s, ',') = '\0';
        same = fgets(t, sizeof(t), g) && strncmp(s, t, strlen(s)) == 0;
        rows++;
    }
    same &= !fgets(t, sizeof(t), g);
    fclose(f);
    fclose(g);
    return same && rows > 5;    /* a heading and the epochs */
}

/* Stops at a step and resumes from the file. */
static void check_resumed(struct ctt_train_cfg *cfg, int at,
                          const struct ctt_model *whole)
{
    struct watch w = { at, 1, 0, 0 };
    const struct ctt_events ev = { .arg = &w, .progress = on_progress };
    struct ctt_model *m = dots_model(dot_net, 1);
    struct ctt_result r;

    cfg->log_csv = clip_path("part.csv");
    remove(cfg->log_csv);
    CHECK_OK(stop_train(m, cfg, dots, dots_val, &ev, &r));
    CU_ASSERT(r.stopped && r.steps == at);
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(cfg->checkpoint, 1, &m));
    CHECK_OK(ctt_train(m, cfg, dots, dots_val, NULL, &r));
    CU_ASSERT(!r.stopped && r.steps == 5 * cfg->epochs);
    CU_ASSERT(same_weights(m, whole));
    CU_ASSERT(strcmp(m->history, whole->history) == 0);
    CU_ASSERT(same_logs(clip_path("whole.csv"), cfg->log_csv));
    ctt_model_free(&m);
}

/* Sampling that starts in the middle of an epoch, or automatically; with a rate
 * that is too high, which decreases when tests are worse again. */
static void resumed_is_uninterrupted(void)
{
    static const struct {
        const char *start;
        float lr;
        int at[3], starts, falls;
    } cases[] = {
        { "0.5", 0.003f, { 3, 10 }, 0, 0 },
        { "auto", 0.3f, { 13, 22 }, 1, 0 },    /* a test is worse */
        { "auto", 0.6f, { 10, 12, 17 }, 1, 1 },
    };

    for (size_t k = 0; k < CTT_LEN(cases); k++) {
        struct watch w = { 0, 1, 0, 0 };
        const struct ctt_events ev = { .arg = &w, .progress = on_progress,
                                       .say = on_say };
        struct ctt_train_cfg cfg = dots_cfg();
        struct ctt_model *whole = dots_model(dot_net, 1);
        struct ctt_result r;

        dots_open();
        cfg.sampling_start = cases[k].start;
        cfg.sampling_patience = 1;
        cfg.sampling_decay = 2;
        cfg.schedule = CTT_SAMPLED;
        cfg.step_epochs = 1;
        cfg.epochs = cases[k].falls ? 10 : 5;
        cfg.lr = cases[k].lr;
        cfg.log_csv = clip_path("whole.csv");
        CHECK_OK(ctt_train(whole, &cfg, dots, dots_val, &ev, &r));
        CU_ASSERT(w.least < 0.5);
        CU_ASSERT_EQUAL(w.starts, cases[k].starts);
        CU_ASSERT(w.falls >= cases[k].falls);
        cfg.checkpoint = clip_path("ckpt");
        for (int i = 0; i < 3 && cases[k].at[i]; i++)
            check_resumed(&cfg, cases[k].at[i], whole);
        ctt_model_free(&whole);
    }
}

static void keeping_less_changes_nothing(void)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *all, *none;

    cfg.max_steps = 8;
    cfg.window = 2;
    cfg.keep = "all";
    all = trained(&cfg);
    cfg.keep = "0";
    none = trained(&cfg);
    CU_ASSERT(same_weights(all, none));
    ctt_model_free(&all);
    ctt_model_free(&none);
}

/* ---- rates and logs ---- */

/* With --max-steps the cosine ends at the last step. */
static void cosine_ends_with_max_steps(void)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_model *m;
    char line[512];
    double lr = -1;
    FILE *f;

    cfg.max_steps = 5;
    cfg.warmup = 0;
    cfg.lr = 1;
    cfg.clip_norm = 1e-6f;
    cfg.log_csv = clip_path("steps.csv");
    m = trained(&cfg);
    f = fopen(cfg.log_csv, "r");
    CU_ASSERT_FATAL(f != NULL);
    CU_ASSERT(fgets(line, sizeof(line), f) && strstr(line, ",val_mse,") &&
              strstr(line, ",true_frames,") && !strstr(line, "top1"));
    CU_ASSERT(fscanf(f, "%*d,%*d,%lf", &lr) == 1);
    CU_ASSERT_DOUBLE_EQUAL(lr, 0.5 * (1 + cos(0.8 * acos(-1.0))), 1e-5);
    fclose(f);
    ctt_model_free(&m);
}

/* ---- memory ---- */

/* The reported plan if a norm needs the statistics of the whole clip. */
static void watch_memory(void *arg, const char *line)
{
    if (strncmp(line, "memory: ", 8) == 0)
        snprintf(arg, 256, "%s", line);
}

static void memory_is_told(void)
{
    static const char net[] =
        "input x h=16 w=16 c=1 mean=0.1 std=0.5 colour=gray\n"
        "conv e in=x out=3 kernel=3 pad=1\nnorm n in=e kind=batch\n"
        "conv y in=n out=1\n";
    static const struct { const char *keep; int window; const char *says; }
    cases[] = {
        { "all", 0, "" },
        { "auto", 0, "2 of 2 windows of up to 6 steps are kept\n" },
        { "all", 2, "4 of 4 windows of up to 2 steps are kept; norms then "
          "use the statistics of a window\n" },
        { "1", 2, "1 of 4 windows of up to 2 steps are kept, the others "
          "are recomputed; norms then use the statistics of a window\n" },
    };

    dots_open();
    for (size_t k = 0; k < CTT_LEN(cases); k++) {
        struct ctt_train_cfg cfg = dots_cfg();
        struct ctt_model *m = dots_model(net, 1);
        char line[256] = "";
        const struct ctt_events ev = { .arg = line, .say = watch_memory };
        struct ctt_result r;

        cfg.sampling_start = "off";
        cfg.max_steps = 1;
        cfg.keep = cases[k].keep;
        cfg.window = cases[k].window;
        CHECK_OK(ctt_train(m, &cfg, dots, NULL, &ev, &r));
        if (*line)
            strcat(line, "\n");
        CU_ASSERT(!*cases[k].says == !*line &&
                  strstr(line, cases[k].says) != NULL);
        ctt_model_free(&m);
    }
}

static void a_step_allocates_nothing(void)
{
    static const char *const devices[] = { "ref", "cpu" };

    for (size_t k = 0; k < CTT_LEN(devices); k++) {
        struct alloc_watch w = { .after = 1 };
        const struct ctt_events ev = { .arg = &w, .progress = watch_allocs };
        struct ctt_train_cfg cfg = dots_cfg();
        struct ctt_model *m = dots_model(dot_net, 1);
        struct ctt_result r;

        dots_open();
        cfg.device = devices[k];
        cfg.sampling_start = "0";
        cfg.sampling_decay = 1e6f;
        CHECK_OK(ctt_train(m, &cfg, dots, NULL, &ev, &r));
        CU_ASSERT_EQUAL(w.worst, 0);
        ctt_model_free(&m);
    }
}

/* The arguments of run_once(). */
struct run { const struct ctt_train_cfg *cfg; struct ctt_data *d; };

static int run_once(void *arg)
{
    const struct run *run = arg;
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;
    struct ctt_result r;
    int rc = 0;

    CTT_TRY(ctt_net_parse(dot_net, &g));
    CTT_TRY(ctt_model_new(g, &m));
    ctt_init_weights(m, 1);
    CTT_TRY(ctt_train(m, run->cfg, run->d, run->d, NULL, &r));
out:
    ctt_model_free(&m);
    return rc;
}

/* Every k-th allocation through a step, a test, and both files. */
static void allocations_fail(void)
{
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_data *d;
    struct run run;

    dots_pack(clip_path("one.pack"), 0, 1);
    d = dots_read(clip_path("one.pack"));
    cfg.max_steps = cfg.batch = 1;
    cfg.workers = 1;
    cfg.window = 3;
    cfg.keep = "1";
    cfg.sampling_start = "0";
    cfg.out = clip_path("fail.out");
    cfg.checkpoint = clip_path("fail.ckpt");
    run = (struct run){ &cfg, d };
    fail_allocs(run_once, &run, 100);
    ctt_data_close(&d);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "motion is learnt", motion_is_learnt },
        { "resumed = uninterrupted", resumed_is_uninterrupted },
        { "keeping less changes nothing", keeping_less_changes_nothing },
        { "cosine ends with --max-steps", cosine_ends_with_max_steps },
        { "memory is told", memory_is_told },
        { "a step allocates nothing", a_step_allocates_nothing },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };

    return clips_main("train predict", dots_clean, tests);
}
