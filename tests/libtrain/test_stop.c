/* SPDX-License-Identifier: Apache-2.0
 * test_stop.c: training and the reading of clips are stopped at any moment,
 * also while the loader decodes a clip; nothing is lost. */
#include "libtrain/train.h"
#include "net/init.h"
#include "base/limits.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { CLIPS = 6, TESTED = 3 };

static const char net[] =
    "input x h=8 w=8 c=1 colour=gray\n"
    "conv e in=x out=2 kernel=3\n"
    "convlstm h in=e hidden=2 kernel=3\n"
    "pool p in=h kind=avg\n"
    "conv y in=p out=2\n";

/* ---- who asks ---- */

static pthread_t main_thread;
static atomic_int asks, at, by_others;

/* 1 from ask number `at` on; counts the runs that another thread than the main
 * one was the first to hear it in. */
static int ask(void)
{
    int k = ++asks;

    by_others += k == at && !pthread_equal(pthread_self(), main_thread);
    return k >= at;
}

static void stop_at(int k)
{
    asks = 0;
    at = k;
    ctt_stop_set(ask);
}

/* ---- a run on files, which are decoded in each epoch ---- */

static struct ctt_train_cfg settings(void)
{
    struct ctt_train_cfg c;

    memset(&c, 0, sizeof(c));
    CHECK_OK(ctt_opt_defaults(ctt_train_opts, &c));
    c.device = "ref";
    c.threads = 1;
    c.batch = c.val_batch = 2;
    c.epochs = 2;
    c.cache = 0;
    c.checkpoint = clip_path("ckpt");
    return c;
}

static struct ctt_model *model(void)
{
    static char one[] = "1", none[] = "0", *label[] = { none, one };
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(net, &g));
    CHECK_OK(ctt_model_new(g, &m));
    CHECK_OK(ctt_model_labels(m, label, 2));
    ctt_init_weights(m, 1);
    return m;
}

/* A list of `count` clips of 4 to 6 frames. */
static const char *clips(const char *name, int count)
{
    char text[1024] = "", clip[64];

    for (int i = 0; i < count; i++) {
        snprintf(clip, sizeof(clip), "%s%d.mkv", name, i);
        clip_steady(clip, 4 + i % 3, 10);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s %d\n",
                 clip, i % 2);
    }
    snprintf(clip, sizeof(clip), "%s.txt", name);
    clip_text(clip, text);
    return clip_path("%s.txt", name);
}

static int open_clips(const char *path, const struct ctt_train_cfg *cfg,
                      struct ctt_data **out)
{
    struct ctt_model *m = model();
    int rc = ctt_data_open(path, "train", &m->g->node[0].attr.input, m->label,
                           m->labels, cfg, NULL, out);

    ctt_model_free(&m);
    return rc;
}

/* ---- tests ---- */

static int same(const struct ctt_model *a, const struct ctt_model *b)
{
    return memcmp(a->w, b->w, (size_t)a->g->weights * sizeof(float)) == 0;
}

/* Trains until ask number k, then to the end; 0 if it was not stopped. */
static int stopped_run(int k, const struct ctt_train_cfg *cfg,
                       struct ctt_data *d, struct ctt_data *val,
                       const struct ctt_model *whole)
{
    struct ctt_model *m = model();
    struct ctt_result r = { 0 };
    int stopped;

    remove(cfg->checkpoint);
    stop_at(k);
    CHECK_OK(ctt_train(m, cfg, d, val, NULL, &r));
    ctt_stop_set(NULL);
    stopped = r.stopped;
    if (stopped) {
        ctt_model_free(&m);
        CHECK_OK(ctt_model_load(cfg->checkpoint, 1, &m));
        CHECK_OK(ctt_train(m, cfg, d, val, NULL, &r));
        CU_ASSERT(!r.stopped);
    }
    CU_ASSERT(same(m, whole));
    CU_ASSERT_STRING_EQUAL(m->history, whole->history);
    ctt_model_free(&m);
    return stopped;
}

static void a_stopped_run_goes_on(void)
{
    struct ctt_train_cfg cfg = settings();
    struct ctt_data *d = NULL, *val = NULL;
    struct ctt_model *whole = model();
    struct ctt_result r;
    int k = 1;

    CHECK_OK(open_clips(clips("train", CLIPS), &cfg, &d));
    CHECK_OK(open_clips(clips("val", TESTED), &cfg, &val));
    CHECK_OK(ctt_train(whole, &cfg, d, val, NULL, &r));
    by_others = 0;
    while (stopped_run(k, &cfg, d, val, whole))
        k += 7;
    CU_ASSERT(k > 3 * CLIPS);
    CU_ASSERT(by_others > CLIPS);    /* the loader decoded at that moment */
    ctt_model_free(&whole);
    ctt_data_close(&d);
    ctt_data_close(&val);
}

/* It has the learning rates of all epochs; a pause at the end is none. */
static void a_paused_run_goes_on(void)
{
    struct ctt_train_cfg cfg = settings();
    struct ctt_data *d = NULL, *val = NULL;
    struct ctt_model *whole = model();
    struct ctt_result r;

    cfg.epochs = 3;
    CHECK_OK(open_clips(clips("train", CLIPS), &cfg, &d));
    CHECK_OK(open_clips(clips("val", TESTED), &cfg, &val));
    CHECK_OK(ctt_train(whole, &cfg, d, val, NULL, &r));
    for (int every = 0; every < 2; every++) {
        struct ctt_model *m = model();

        cfg.checkpoint_every = 100 * every;
        remove(cfg.checkpoint);
        for (cfg.pause = 1; cfg.pause <= cfg.epochs; cfg.pause++) {
            CHECK_OK(ctt_train(m, &cfg, d, val, NULL, &r));
            CU_ASSERT_EQUAL(r.epochs, cfg.pause);
            CU_ASSERT_EQUAL(r.paused, cfg.pause < cfg.epochs);
            CU_ASSERT(!r.stopped);
            if (r.paused) {
                ctt_model_free(&m);
                CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
            }
        }
        CU_ASSERT(same(m, whole));
        CU_ASSERT_STRING_EQUAL(m->history, whole->history);
        ctt_model_free(&m);
    }
    ctt_model_free(&whole);
    ctt_data_close(&d);
    ctt_data_close(&val);
}

static void reading_clips_is_stopped(void)
{
    const struct ctt_train_cfg cfg = settings();
    const char *path = clips("some", CLIPS);
    struct ctt_data *d = NULL;
    long live = ctt_live_blocks();
    int rc = CTT_ESTOP, k = 1;

    for (; rc == CTT_ESTOP; k += 3) {
        stop_at(k);
        rc = open_clips(path, &cfg, &d);
        ctt_stop_set(NULL);
        if (rc < 0) {
            ctt_check_refused(rc, CTT_ESTOP, "stopped");
            CU_ASSERT_PTR_NULL(d);
            CU_ASSERT_EQUAL(ctt_live_blocks(), live);
        }
    }
    CHECK_OK(rc);
    CU_ASSERT(k > 3 * CLIPS);
    ctt_data_close(&d);
}

static int clean(void)
{
    clip_clean();
    return 0;
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "a stopped run goes on", a_stopped_run_goes_on },
        { "a paused run goes on", a_paused_run_goes_on },
        { "reading clips is stopped", reading_clips_is_stopped },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "stop", NULL, clean, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    main_thread = pthread_self();
    if (!clip_can("ffv1"))
        return 77;
    return ctt_check_main(suites);
}
