/* SPDX-License-Identifier: Apache-2.0
 * test_amp_train.c: training in mixed precision: it learns as well as in
 * floats, and a step that overflows is skipped. */
#include "tests/lib/allocs.h"
#include "tests/lib/amp_job.h"

#include <math.h>

/* ---- learning ---- */

static double learnt(int task, int level, int type)
{
    struct job j = job_of(task, level, type);
    struct ctt_model *m = model_of(&j, 1);
    struct ctt_result r;

    j.cfg.epochs = task == CTT_PREDICT ? 12 : 25;
    j.cfg.lr = 0.01f;
    j.cfg.sampling_start = "off";
    CHECK_OK(ctt_train(m, &j.cfg, j.data, NULL, NULL, &r));
    CU_ASSERT(r.skipped < 16);
    CU_ASSERT(r.skipped == 0 || (level != CTT_O0 && type == 0));
    ctt_model_free(&m);
    return r.loss;
}

/* Both tasks, both levels, both types: about as well as floats. */
static void it_learns_as_in_floats(void)
{
    for (int task = 0; task < 2; task++) {
        struct job j = job_of(task, CTT_O0, 0);
        struct ctt_model *m = model_of(&j, 1);
        struct ctt_result first;
        double floats;

        j.cfg.epochs = 1;
        CHECK_OK(ctt_train(m, &j.cfg, j.data, NULL, NULL, &first));
        floats = learnt(task, CTT_O0, 0);
        CU_ASSERT(floats < 0.7 * first.loss);
        for (int level = CTT_O1; level <= CTT_O2; level++)
            for (int type = 0; type < 2; type++) {
                double loss = learnt(task, level, type);
                if (!(loss < floats + 0.15 * first.loss)) {
                    printf("\n    task %d O%d type %d: loss %.4f, in floats "
                           "%.4f", task, level, type, loss, floats);
                    CU_FAIL("learns worse");
                }
            }
        ctt_model_free(&m);
    }
}

/* ---- steps that are left out ---- */

/* Watches the model and the scale in every step. */
struct watch {
    struct ctt_model *m;
    float            *w;        /* before the step */
    double            scale;
    int64_t           skipped;
    int               wrong;    /* steps that break the rule */
    int               plant;    /* after this step the model is made to fail, */
    int64_t           at;       /* by this weight, */
    float             bad;
    float             good;     /* until the next step */
};

/* Makes a step fail by setting a weight to `bad`.  It must be a bias or belong
 * to a node in --amp-deny, as other weights are read from the 16-bit copy.
 * backward: the gradient overflows, the loss is finite. */
static const struct planted {
    const char *deny, *node;
    int         weight, backward;
    float       bad;
} forward_fails = { NULL, "e", 1, 0, INFINITY },
  backward_fails = { "y", "y", 0, 1, 0x1p20f };

static void watch_step(void *arg, const struct ctt_progress *p)
{
    struct watch *w = arg;
    size_t size = (size_t)w->m->g->weights * sizeof(float);
    int same = memcmp(w->w, w->m->w, size) == 0;
    int left_out = p->skipped == w->skipped + 1;

    w->wrong += !p->amp || left_out != same ||
                p->skipped > w->skipped + 1 ||
                p->scale != (left_out ? w->scale / 2 : w->scale);
    w->skipped = p->skipped;
    w->scale = p->scale;
    if (w->plant && p->step == w->plant) {
        w->good = w->m->w[w->at];
        w->m->w[w->at] = w->bad;
    } else if (w->plant && p->step == w->plant + 1) {
        CU_ASSERT(left_out && isfinite(p->loss));
        CU_ASSERT((p->loss > 1000) == (isfinite(w->bad) != 0));
        w->m->w[w->at] = w->good;
    }
    memcpy(w->w, w->m->w, size);
}

static void watch_run(struct job *j, int plant, const struct planted *p,
                      struct ctt_result *r)
{
    struct ctt_model *m = model_of(j, 1);
    struct watch w = { .m = m, .scale = 0x1p24, .plant = plant,
                       .bad = p->bad };
    const struct ctt_events ev = { .arg = &w, .progress = watch_step };

    j->cfg.amp_deny = p->deny;
    w.at = m->g->node[ctt_graph_find(m->g, p->node)].at[p->weight];
    w.w = ctt_calloc((size_t)m->g->weights, sizeof(*w.w));
    CU_ASSERT_FATAL(w.w != NULL);
    memcpy(w.w, m->w, (size_t)m->g->weights * sizeof(float));
    j->cfg.warmup = 0;
    CHECK_OK(ctt_train(m, &j->cfg, j->data, NULL, &ev, r));
    CU_ASSERT_EQUAL(w.wrong, 0);
    CU_ASSERT(w.skipped == r->skipped && w.scale == r->scale);
    ctt_free(w.w);
    ctt_model_free(&m);
}

static void leave_out(int task, int shards, const struct planted *p)
{
    struct job j = job_of(task, CTT_O1, 0);
    struct ctt_result clean, planted;

    j.cfg.shards = shards;

    if (p->backward)    /* otherwise the answer would be an input too */
        j.cfg.sampling_start = "off";
    watch_run(&j, 0, p, &clean);
    CU_ASSERT((clean.skipped > 0) == (task == CTT_RECOGNISE));
    CU_ASSERT(clean.steps >= 15);
    CU_ASSERT(clean.scale == ldexp(1, 24 - (int)clean.skipped));
    watch_run(&j, (int)clean.steps - 3, p, &planted);
    CU_ASSERT(planted.skipped == clean.skipped + 1);
    CU_ASSERT(planted.steps == clean.steps);
}

/* The first scale is too large for fp16 if a mean has few losses.  A step that
 * overflows changes no weight and halves the scale; every other one trains. */
static void an_overflow_is_left_out(void)
{
    for (int task = 0; task < 2; task++) {
        for (int shards = 1; shards <= 4; shards *= 4) {
            leave_out(task, shards, &forward_fails);
            leave_out(task, shards, &backward_fails);
        }
    }
}

static void check_statistics(void *arg, const struct ctt_progress *p)
{
    struct watch *w = arg;

    if (p->step == w->plant) {
        w->good = w->m->w[w->at];
        w->m->w[w->at] = w->bad;
    } else if (p->step == w->plant + 1) {
        CU_ASSERT(p->skipped == w->skipped + 1);
        w->m->w[w->at] = w->good;
        CHECK_OK(ctt_model_finite(w->m));
    }
    w->skipped = p->skipped;
}

/* A batch norm keeps its running statistics if its input is infinite. */
static void statistics_survive(void)
{
    struct job j = job_of(CTT_RECOGNISE, CTT_O1, 0);
    struct ctt_model *m = NULL;
    struct watch w = { .plant = 12, .bad = INFINITY };
    const struct ctt_events ev = { .arg = &w, .progress = check_statistics };
    struct ctt_result r;

    j.net = clip_net;
    w.m = m = model_of(&j, 1);
    w.at = m->g->node[ctt_graph_find(m->g, "e")].at[1];
    CHECK_OK(ctt_train(m, &j.cfg, j.data, NULL, &ev, &r));
    CU_ASSERT(r.steps > w.plant + 1 && r.skipped > 0);
    ctt_model_free(&m);
}

/* Tests use the weights that are saved: the master weights, in floats. */
static void tests_are_of_the_masters(void)
{
    static const struct ctt_point end = { .ratio = 1 };

    for (int level = CTT_O1; level <= CTT_O2; level++) {
        struct job j = job_of(CTT_RECOGNISE, level, 1);
        struct ctt_model *m = model_of(&j, 1);
        struct ctt_metrics *x = NULL;
        struct ctt_result r;

        j.cfg.val_ratios = "1";
        CHECK_OK(ctt_train(m, &j.cfg, j.data, j.val, NULL, &r));
        j.cfg.amp = CTT_O0;
        CHECK_OK(ctt_evaluate_recognise(m, &j.cfg, j.val, &end, 1, &x));
        CU_ASSERT(r.val.loss > 0 && r.val.loss == ctt_metrics_loss(x, 0));
        ctt_metrics_free(&x);
        ctt_model_free(&m);
    }
}

/* ---- memory ---- */

static void a_step_allocates_nothing(void)
{
    static const char *const devices[] = { "ref", "cpu" };

    for (int k = 0; k < 4; k++) {
        struct job j = job_of(k / 2, CTT_O1, 0);
        struct alloc_watch w = { .after = 2 };
        const struct ctt_events ev = { .arg = &w, .progress = watch_allocs };
        struct ctt_model *m = model_of(&j, 1);
        struct ctt_result r;

        j.cfg.device = devices[k % 2];
        j.cfg.epochs = 4;
        if (j.task == CTT_RECOGNISE)
            j.cfg.buckets = "1";
        CHECK_OK(ctt_train(m, &j.cfg, j.data, NULL, &ev, &r));
        CU_ASSERT_EQUAL(w.worst, 0);
        ctt_model_free(&m);
    }
}

static int run_once(void *job)
{
    const struct job *j = job;
    struct ctt_model *m = NULL;
    struct ctt_result r;
    int rc = 0;

    CTT_TRY(clip_model(j->net, 1, &m));
    CTT_TRY(ctt_train(m, &j->cfg, j->data, NULL, NULL, &r));
out:
    ctt_model_free(&m);
    CU_ASSERT(rc == 0 || rc == CTT_ENOMEM);
    return rc;
}

static void allocations_fail(void)
{
    struct job j = job_of(CTT_RECOGNISE, CTT_O1, 0);

    j.cfg.max_steps = 1;
    j.cfg.workers = 1;
    fail_allocs(run_once, &j, 100);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "it learns as in floats", it_learns_as_in_floats },
        { "an overflow is left out", an_overflow_is_left_out },
        { "statistics survive", statistics_survive },
        { "tests are of the masters", tests_are_of_the_masters },
        { "a step allocates nothing", a_step_allocates_nothing },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };

    return clips_main("amp_train", jobs_clean, tests);
}
