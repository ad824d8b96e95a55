/* SPDX-License-Identifier: Apache-2.0
 * test_loss_scale.c: the loss scale of mixed precision: small gradients and
 * small updates survive, and the rule by which it changes. */
#include "libtrain/amp.h"
#include "libtrain/optim.h"
#include "base/half.h"
#include "run/back/exec.h"
#include "tests/lib/dots.h"

#include <math.h>

/* ---- two convs, one pixel: numbers that can be followed ---- */

/* y = b a x; the gradient comes in at y. */
static const char chain_net[] = "input x c=1\n"
                                "conv a in=x out=1 bias=0\n"
                                "conv y in=a out=1 bias=0\n";

struct chain {
    struct ctt_train_cfg cfg;
    struct ctt_graph    *g;
    struct ctt_dev      *dev;
    struct ctt_amp_plan *p;
    struct ctt_exec     *x;
    struct ctt_optim    *o;
    float               *w, seed;
    float               *a, *b;      /* the weights */
};

static int chain_give(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    const float one = 1;

    (void)arg;
    (void)p;
    return ctt_run_put(x->r, 0, 0, &one, 1);
}

static int chain_seed(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    const struct chain *c = arg;

    (void)p;
    return ctt_exec_put_grad(x, 2, 0, &c->seed, 1);
}

/* a = b = 2^-6; plain gradient descent. */
static void chain_open(struct chain *c, int level)
{
    struct ctt_memory m = { .keep = CTT_KEEP_ALL };

    memset(c, 0, sizeof(*c));
    c->cfg = amp_cfg(CTT_RECOGNISE, level);
    c->cfg.optimizer = CTT_SGD;
    c->cfg.momentum = c->cfg.weight_decay = c->cfg.clip_norm = 0;
    CHECK_OK(ctt_dev_open("ref", 1, &c->dev));
    CHECK_OK(ctt_net_parse(chain_net, &c->g));
    c->w = ctt_calloc((size_t)c->g->weights, sizeof(*c->w));
    CU_ASSERT_FATAL(c->w != NULL);
    c->a = c->w + c->g->node[1].at[0];
    c->b = c->w + c->g->node[2].at[0];
    *c->a = *c->b = 0x1p-6f;
    CHECK_OK(ctt_amp_plan(c->g, &c->cfg, &c->p));
    CHECK_OK(ctt_optim_open(c->g, &c->cfg, NULL, c->w, c->dev, &c->o));
    CHECK_OK(ctt_exec_open(&(struct ctt_run_spec){
        .g = c->g, .dev = c->dev, .w = c->o->flat.w, .samples = 1, .steps = 1,
        .type = ctt_amp_types(c->p, &c->cfg) }, &m, &c->x));
    c->x->r->w16 = c->o->w16;
    c->x->r->train = 1;
}

static void chain_close(struct chain *c)
{
    ctt_exec_close(&c->x);
    ctt_optim_close(&c->o);
    ctt_amp_free(&c->p);
    ctt_graph_free(&c->g);
    ctt_free(c->w);
    ctt_dev_close(&c->dev);
}

/* The true gradient `g` of y, scaled; one step of rate 1. */
static void chain_step(struct chain *c, float g, double scale)
{
    struct ctt_job job = { .steps = 1, .feedback = 1, .arg = c,
                           .give = chain_give,
                           .seed = chain_seed };
    double norm;

    c->seed = (float)(scale * (double)g);
    c->x->r->stamp++;
    CHECK_OK(ctt_exec_forward(c->x, &job));
    CHECK_OK(ctt_exec_backward(c->x, &job));
    CHECK_OK(ctt_optim_norm(c->o, c->x->dw, &norm));
    CHECK_OK(ctt_optim_step(c->o, norm, scale, 1));
}

/* The gradient at y is 2^-20, at a it is 2^-26: half of fp16's smallest. */
static void small_gradients_survive(void)
{
    static const struct { int level; double scale; float step; } runs[] = {
        { CTT_O0, 1, 0x1p-26f }, { CTT_O1, 1, 0 },
        { CTT_O1, 0x1p24, 0x1p-26f }, { CTT_O2, 1, 0 },
        { CTT_O2, 0x1p24, 0x1p-26f },
    };

    for (size_t i = 0; i < CTT_LEN(runs); i++) {
        struct chain c;

        chain_open(&c, runs[i].level);
        chain_step(&c, 0x1p-20f, runs[i].scale);
        CU_ASSERT(*c.a == 0x1p-6f - runs[i].step);
        CU_ASSERT(*c.b == 0x1p-6f - 0x1p-26f);    /* 2^-20 a x */
        chain_close(&c);
    }
}

/* Eight updates of 2^-13 of a weight, each too small for fp16. */
static void small_updates_are_kept(void)
{
    static const char *const names[] = { "fp16", "bf16" };

    for (int type = 0; type < 2; type++) {
        uint16_t before, now;
        struct chain c;
        enum ctt_dtype t;
        double norm;

        chain_open(&c, CTT_O1);
        c.o->type = t = type ? CTT_BF16 : CTT_F16;
        *c.a = 1;
        *c.b = 0x1p-3f;
        CHECK_OK(ctt_optim_push(c.o));
        CU_ASSERT_STRING_EQUAL(ctt_dtype_word(t), names[type]);
        ctt_store(&before, t, 0, 1);
        ctt_store(&now, t, 0, 1 - 0x1p-13f);
        CU_ASSERT_EQUAL(now, before);
        CHECK_OK(ctt_optim_norm(c.o, c.x->dw, &norm));
        for (int k = 1; k <= 8; k++) {
            c.x->dw[c.a - c.w] = 0x1p-3f;    /* scaled by 2^10 */
            c.x->dw[c.b - c.w] = 0;
            CHECK_OK(ctt_optim_step(c.o, 0, 0x1p10, 1));
            CU_ASSERT(*c.a == 1 - (float)k * 0x1p-13f);
            if (k == 1)
                CU_ASSERT(((uint16_t *)c.o->w16)[c.a - c.w] == before);
        }
        CU_ASSERT(ctt_load(c.o->w16, t, c.a - c.w) ==
                  (t == CTT_F16 ? 1 - 0x1p-10f : 1));
        chain_close(&c);
    }
}

/* --clip-norm applies to the unscaled gradient. */
static void the_scale_is_taken_out_first(void)
{
    float seen[2];

    for (int k = 0; k < 2; k++) {
        struct chain c;

        chain_open(&c, CTT_O1);
        c.cfg.clip_norm = 0x1p-10f;
        c.cfg.weight_decay = 0.5f;
        chain_step(&c, 0.5f, k ? 0x1p12 : 1);
        seen[k] = *c.a;
        chain_close(&c);
    }
    /* |g| = sqrt(2) * 2^-7, cut to 2^-10; the decay is not cut */
    CU_ASSERT_DOUBLE_EQUAL(seen[0], 0x1p-6 - 0x1p-7 - 0x1p-10 / sqrt(2), 1e-8);
    CU_ASSERT_DOUBLE_EQUAL(seen[1], seen[0], 1e-9);
}

/* ---- the scale ---- */

static void the_scale_follows_its_rule(void)
{
    struct ctt_train_cfg cfg = amp_cfg(CTT_RECOGNISE, CTT_O1);
    struct ctt_scale s;

    CHECK_OK(ctt_scale_begin(&cfg, &s));
    CU_ASSERT(s.dynamic && s.scale == 0x1p24);
    CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_LEAVE);
    CU_ASSERT(s.scale == 0x1p23 && s.skips == 1 && s.skipped == 1);
    for (int k = 1; k < CTT_SCALE_CLEAN; k++) {
        CU_ASSERT_EQUAL(ctt_scale_after(&s, 1), CTT_TAKE);
        CU_ASSERT(s.scale == 0x1p23 && s.clean == k && s.skips == 0);
    }
    ctt_scale_after(&s, 1);
    CU_ASSERT(s.scale == 0x1p24 && s.clean == 0);
    for (int k = 1; k < CTT_SCALE_SKIPS; k++)
        CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_LEAVE);
    CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_COLLAPSED);
    CU_ASSERT(s.scale == 0x1p4 && s.skipped == 1 + CTT_SCALE_SKIPS);
    s = (struct ctt_scale){ .dynamic = 1, .scale = 2 };
    CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_LEAVE);
    CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_COLLAPSED);
    for (int k = 0; k < 60; k++) {
        s.clean = CTT_SCALE_CLEAN - 1;
        ctt_scale_after(&s, 1);
    }
    CU_ASSERT(s.scale == 0x1p40);    /* a float gradient does not overflow */
}

static void other_scales_stay(void)
{
    struct ctt_train_cfg cfg = amp_cfg(CTT_RECOGNISE, CTT_O1);
    struct ctt_scale s;

    cfg.amp_type = 1;
    CHECK_OK(ctt_scale_begin(&cfg, &s));
    CU_ASSERT(!s.dynamic && s.scale == 1);
    CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_LEAVE);
    CU_ASSERT(s.scale == 1);
    cfg.amp_type = 0;
    cfg.loss_scale = "512";
    CHECK_OK(ctt_scale_begin(&cfg, &s));
    for (int k = 0; k < CTT_SCALE_SKIPS - 1; k++)
        CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_LEAVE);
    CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_COLLAPSED);
    for (int k = 0; k <= CTT_SCALE_CLEAN; k++)
        ctt_scale_after(&s, 1);
    CU_ASSERT(s.scale == 512);
    cfg.amp = CTT_O0;
    cfg.loss_scale = NULL;
    CHECK_OK(ctt_scale_begin(&cfg, &s));
    CU_ASSERT(s.scale == 1);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "small gradients survive", small_gradients_survive },
        { "small updates are kept", small_updates_are_kept },
        { "the scale is taken out first", the_scale_is_taken_out_first },
        { "the scale follows its rule", the_scale_follows_its_rule },
        { "other scales stay", other_scales_stay },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "loss_scale", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
