/* SPDX-License-Identifier: Apache-2.0
 * test_average.c: the average of the weights (--ema) and which weights become
 * the model (--pick). */
#include "libtrain/optim.h"
#include "tests/lib/toy_run.h"

#include <math.h>

/* ---- the average ---- */

static const char net[] =
    "input x c=3\n"
    "conv a in=x out=40\n"
    "norm n in=a kind=batch\n"
    "conv y in=n out=2\n";

enum { MEAN = 2, STEPS = 20 };    /* MEAN: weight of a norm, which is fixed */

struct averaged {
    struct ctt_model *m;
    struct ctt_dev   *dev;
    struct ctt_optim *o;
    int64_t           from, to;    /* a weight with a constraint */
};

/* Every third weight of it is pruned; the others share two values. */
static void constrain(struct averaged *a)
{
    struct ctt_constraint *c = &a->m->constraint;

    CHECK_OK(ctt_constraint_mask(c, a->m->g->weights));
    CHECK_OK(ctt_constraint_share(c, a->m->g->weights));
    for (int64_t i = a->from; i < a->to; i++) {
        c->keep[i] = i % 3 > 0;
        c->share[i] = (uint8_t)(i % 3 ? 1 + i % 2 : 0);
    }
    ctt_model_hold(a->m);
}

static void averaged_open(const struct ctt_train_cfg *cfg, struct averaged *a)
{
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse(net, &g));
    CHECK_OK(ctt_model_new(g, &a->m));
    ctt_init_weights(a->m, 4);
    a->from = g->node[1].at[0];
    a->to = a->from + ctt_volume(&g->node[1].w[0]);
    constrain(a);
    CHECK_OK(ctt_dev_open(cfg->device, 2, &a->dev));
    CHECK_OK(ctt_optim_open(g, cfg, &a->m->constraint, a->m->w, a->dev,
                            &a->o));
}

static void averaged_close(struct averaged *a)
{
    ctt_optim_close(&a->o);
    ctt_dev_close(&a->dev);
    ctt_model_free(&a->m);
}

/* Steps with any gradient; want: the average after each, in doubles. */
static void make_steps(struct averaged *a, double decay, double *want)
{
    int64_t n = a->m->g->weights;
    float *w = a->m->w, *dw = ctt_check_floats(n, 7);

    for (int64_t i = 0; i < n; i++)
        want[i] = (double)w[i];
    for (int k = 0; k < STEPS; k++) {
        double d = fmin(decay, (1.0 + k) / (10 + k)), norm;

        w[a->m->g->node[2].at[MEAN]] = (float)(k + 1);
        CHECK_OK(ctt_optim_norm(a->o, dw, &norm));
        CHECK_OK(ctt_optim_step(a->o, norm, 1, 0.02));
        for (int64_t i = 0; i < n; i++)
            want[i] = d * want[i] + (1 - d) * (double)w[i];
    }
    ctt_free(dw);
}

static void average_is_the_weighted_sum(void)
{
    static const float decays[] = { 0.05f, 0.5f, 0.999f };

    for (size_t k = 0; k < CTT_LEN(decays); k++)
        for (int dev = 0; ctt_check_hosts[dev]; dev++) {
            struct ctt_train_cfg cfg = { .momentum = 0.5f, .ema = decays[k],
                .optimizer = CTT_SGD, .device = ctt_check_hosts[dev] };
            struct averaged a = { NULL, NULL, NULL, 0, 0 };
            double *want;
            float *got;
            int64_t n;

            averaged_open(&cfg, &a);
            n = a.m->g->weights;
            want = ctt_calloc((size_t)n, sizeof(*want));
            got = ctt_check_floats(n, 0);
            make_steps(&a, (double)cfg.ema, want);
            CHECK_OK(ctt_optim_pick(a.o, got));
            for (int64_t i = 0; i < n; i++)
                CU_ASSERT_DOUBLE_EQUAL(got[i], want[i],
                                       1e-6 * (1 + fabs(want[i])));
            for (int64_t i = a.from; i < a.to; i++)
                CU_ASSERT(i % 3 ? i < a.from + 6 || got[i] == got[i - 6]
                                : got[i] == 0);
            CU_ASSERT(memcmp(got, a.m->w, (size_t)n * sizeof(*got)) != 0);
            ctt_free(want);
            ctt_free(got);
            averaged_close(&a);
        }
}

/* What is pruned later is zero in the average at once. */
static void pruned_later_is_zero(void)
{
    struct ctt_train_cfg cfg = { .ema = 0.9f, .optimizer = CTT_SGD,
                                 .device = "cpu" };
    struct averaged a = { NULL, NULL, NULL, 0, 0 };
    double *want;
    float *got;

    averaged_open(&cfg, &a);
    want = ctt_calloc((size_t)a.m->g->weights, sizeof(*want));
    got = ctt_check_floats(a.m->g->weights, 0);
    make_steps(&a, 0.9, want);
    for (int64_t i = a.from; i < a.to; i++)
        a.m->constraint.keep[i] = i % 3 > 1;
    ctt_model_hold(a.m);
    CHECK_OK(ctt_optim_constrain(a.o, &a.m->constraint));
    CHECK_OK(ctt_optim_pick(a.o, got));
    for (int64_t i = a.from; i < a.to; i++)
        CU_ASSERT(i % 3 > 1 ? got[i] != 0 : got[i] == 0);
    ctt_free(want);
    ctt_free(got);
    averaged_close(&a);
}

/* ---- a training ---- */

struct seen { struct ctt_test_score val; int epochs, best; };

static void on_epoch(void *arg, const struct ctt_epoch *e,
                     const struct ctt_metrics *val)
{
    struct seen *s = arg;

    (void)val;
    s->val = e->val;
    s->best |= e->best << s->epochs++;
}

static struct ctt_model *train(const struct ctt_train_cfg *cfg,
                               struct ctt_data *val, struct seen *s,
                               struct ctt_result *r)
{
    const struct ctt_events ev = { .arg = s, .epoch = on_epoch };
    struct ctt_model *m = NULL;

    *s = (struct seen){ .epochs = 0 };
    CHECK_OK(clip_model(clip_net, 1, &m));
    CHECK_OK(ctt_train(m, cfg, toy, val, &ev, r));
    return m;
}

/* The accuracy of the model is that of the epoch it is said to be of. */
static void check_val(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg,
                      const struct ctt_result *r)
{
    static const struct ctt_point end = { 1, 0 };
    struct ctt_metrics *v = NULL;

    CHECK_OK(ctt_evaluate_recognise(m, cfg, toy_val, &end, 1, &v));
    CU_ASSERT_DOUBLE_EQUAL(ctt_metrics_loss(v, 0), r->val.loss, 1e-6);
    ctt_metrics_free(&v);
}

static void picked_is_tested_and_kept(void)
{
    static const int picks[] = { CTT_PICK_BEST, CTT_PICK_LAST, CTT_PICK_EMA,
                                 CTT_PICK_EMA_LAST };
    struct ctt_model *m[CTT_LEN(picks)], *alone, *stored = NULL;
    struct ctt_train_cfg cfg = short_run();
    struct ctt_result r;
    struct seen s;

    for (size_t k = 0; k < CTT_LEN(picks); k++) {
        cfg.pick = picks[k];
        cfg.ema = k > 1 ? 0.9f : 0;
        cfg.out = clip_path("picked.h5");
        CHECK_OK(ctt_train_check(&cfg));
        m[k] = train(&cfg, toy_val, &s, &r);
        check_val(m[k], &cfg, &r);
        CHECK_OK(ctt_model_load(cfg.out, 0, &stored));
        CU_ASSERT(same_weights(stored, m[k]));
        ctt_model_free(&stored);
        if (k % 2 == 0)
            continue;
        CU_ASSERT(s.epochs == 3 && s.best == 1 << 2 && r.best_epoch == 3);
        alone = train(&cfg, NULL, &s, &r);    /* without validation */
        CU_ASSERT(same_weights(alone, m[k]));
        ctt_model_free(&alone);
    }
    CU_ASSERT(!same_weights(m[1], m[3]));
    cfg.pick = CTT_PICK_AUTO;
    for (int k = 0; k < 2; k++) {    /* auto is best, with an average ema */
        cfg.ema = k ? 0.9f : 0;
        alone = train(&cfg, toy_val, &s, &r);
        CU_ASSERT(same_weights(alone, m[2 * k]));
        ctt_model_free(&alone);
    }
    for (size_t k = 0; k < CTT_LEN(picks); k++)
        ctt_model_free(&m[k]);
}

/* The weights that are trained do not depend on their average. */
static void average_changes_no_step(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_result a, b;
    struct seen s;
    struct ctt_model *m = train(&cfg, NULL, &s, &a);

    ctt_model_free(&m);
    cfg.ema = 0.99f;
    m = train(&cfg, NULL, &s, &b);
    CU_ASSERT(a.loss == b.loss);
    ctt_model_free(&m);
}

static void resumed_is_uninterrupted(void)
{
    static const int at[] = { 1, 6, 11 };
    struct ctt_train_cfg cfg = short_run();
    struct ctt_result r;
    struct seen none;

    for (int k = 0; k < 2; k++) {
        struct ctt_model *whole, *m = NULL;

        cfg.ema = 0.9f;
        cfg.pick = k ? CTT_PICK_EMA_LAST : CTT_PICK_EMA;
        cfg.dsd = k ? 0.4f : 0;    /* from step 9 to 15 */
        cfg.checkpoint = NULL;
        whole = train(&cfg, toy_val, &none, &r);
        cfg.checkpoint = clip_path("average.ckpt");
        for (size_t i = 0; i < CTT_LEN(at); i++) {
            struct stopper s = { at[i] };
            const struct ctt_events ev = { .arg = &s,
                                           .progress = on_progress };

            CHECK_OK(clip_model(clip_net, 1, &m));
            CHECK_OK(stop_train(m, &cfg, toy, toy_val, &ev, &r));
            CU_ASSERT(r.stopped && r.steps == at[i]);
            ctt_model_free(&m);
            CHECK_OK(ctt_model_load(cfg.checkpoint, 1, &m));
            CHECK_OK(ctt_train(m, &cfg, toy, toy_val, NULL, &r));
            CU_ASSERT(same_weights(m, whole));
            ctt_model_free(&m);
        }
        ctt_model_free(&whole);
    }
}

static void what_has_no_effect_is_refused(void)
{
    static const struct { float ema; int pick, stop; const char *says; }
    wrong[] = {
        { 0, CTT_PICK_EMA, 0, "require --ema" },
        { 0, CTT_PICK_EMA_LAST, 0, "require --ema" },
        { 0.9f, CTT_PICK_BEST, 0, "--ema has no effect" },
        { 0.9f, CTT_PICK_LAST, 0, "--ema has no effect" },
        { 0, CTT_PICK_LAST, 2, "--early-stop" },
    };

    for (size_t k = 0; k < CTT_LEN(wrong); k++) {
        struct ctt_train_cfg cfg = clip_cfg();

        cfg.data = "x";
        cfg.ema = wrong[k].ema;
        cfg.pick = wrong[k].pick;
        cfg.early_stop = wrong[k].stop;
        ctt_check_refused(ctt_train_check(&cfg), CTT_EINVAL, wrong[k].says);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "weighted sum", average_is_the_weighted_sum },
        { "pruned later", pruned_later_is_zero },
        { "picked is tested and kept", picked_is_tested_and_kept },
        { "average changes no step", average_changes_no_step },
        { "resumed", resumed_is_uninterrupted },
        { "no effect", what_has_no_effect_is_refused },
        CU_TEST_INFO_NULL
    };

    return clips_main("average", toy_clean, tests);
}
