/* SPDX-License-Identifier: Apache-2.0
 * test_optimizers.c: the update of each --optimizer beside the formula of its
 * paper, in doubles. */
#include "libtrain/optim.h"
#include "tests/lib/toy_run.h"

#include <math.h>

static const char net[] = "input x c=3\nconv y in=x out=5 kernel=3 pad=1\n";

enum { STEPS = 6 };

#define LR 0.01
#define DECAY 0.1
#define EPS 1e-8

/* A weight and its two moments. */
struct at { double w, m, v; };

static void polyak(struct at *a, double g, double decay, int t)
{
    (void)t;
    g += decay * a->w;
    a->m = 0.9 * a->m + g;
    a->w -= LR * a->m;
}

/* Sutskever et al. 2013, for the weights that the gradient is taken at. */
static void nesterov(struct at *a, double g, double decay, int t)
{
    (void)t;
    g += decay * a->w;
    a->m = 0.9 * a->m + g;
    a->w -= LR * (g + 0.9 * a->m);
}

static double adam_step(struct at *a, double g, int t)
{
    a->m = 0.9 * a->m + 0.1 * g;
    a->v = 0.99 * a->v + 0.01 * g * g;
    return LR * a->m / (1 - pow(0.9, t)) /
           (sqrt(a->v / (1 - pow(0.99, t))) + EPS);
}

static void adam(struct at *a, double g, double decay, int t)
{
    a->w -= adam_step(a, g + decay * a->w, t);
}

static void adamw(struct at *a, double g, double decay, int t)
{
    double step = adam_step(a, g, t);

    a->w -= LR * decay * a->w + step;
}

static void rmsprop(struct at *a, double g, double decay, int t)
{
    (void)t;
    g += decay * a->w;
    a->v = 0.99 * a->v + 0.01 * g * g;
    a->w -= LR * g / (sqrt(a->v) + EPS);
}

static void adagrad(struct at *a, double g, double decay, int t)
{
    (void)t;
    g += decay * a->w;
    a->v += g * g;
    a->w -= LR * g / (sqrt(a->v) + EPS);
}

static const struct {
    enum ctt_optimizer which;
    void             (*step)(struct at *a, double g, double decay, int t);
} papers[] = {
    { CTT_SGD, polyak }, { CTT_NESTEROV, nesterov }, { CTT_ADAM, adam },
    { CTT_ADAMW, adamw }, { CTT_RMSPROP, rmsprop }, { CTT_ADAGRAD, adagrad },
};

/* Makes the same steps twice and compares weights: kernels decay. */
static void check_paper(size_t k, const char *device)
{
    struct ctt_train_cfg cfg = { .optimizer = papers[k].which,
        .device = device, .momentum = 0.9f, .beta1 = 0.9f, .beta2 = 0.99f,
        .weight_decay = (float)DECAY };
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;
    struct ctt_dev *dev = NULL;
    struct ctt_optim *o = NULL;
    int64_t n, kernel;
    struct at *want;
    double norm;

    CHECK_OK(ctt_net_parse(net, &g));
    CHECK_OK(ctt_model_new(g, &m));
    ctt_init_weights(m, 4);
    n = g->weights;
    kernel = ctt_volume(&g->node[1].w[0]);
    want = ctt_calloc((size_t)n, sizeof(*want));
    for (int64_t i = 0; i < n; i++)
        want[i].w = (double)m->w[i];
    CHECK_OK(ctt_dev_open(device, 2, &dev));
    CHECK_OK(ctt_optim_open(g, &cfg, &m->constraint, m->w, dev, &o));
    for (int t = 1; t <= STEPS; t++) {
        float *dw = ctt_check_floats(n, (unsigned)t);

        CHECK_OK(ctt_optim_norm(o, dw, &norm));
        CHECK_OK(ctt_optim_step(o, norm, 1, LR));
        for (int64_t i = 0; i < n; i++)
            papers[k].step(&want[i], (double)dw[i], i < kernel ? DECAY : 0, t);
        ctt_free(dw);
    }
    for (int64_t i = 0; i < kernel; i++)
        CU_ASSERT_DOUBLE_EQUAL(m->w[i], want[i].w, 2e-6);
    ctt_free(want);
    ctt_optim_close(&o);
    ctt_dev_close(&dev);
    ctt_model_free(&m);
}

static void updates_are_those_of_the_papers(void)
{
    for (size_t k = 0; k < CTT_LEN(papers); k++)
        for (int dev = 0; ctt_check_hosts[dev]; dev++)
            check_paper(k, ctt_check_hosts[dev]);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "updates are those of the papers", updates_are_those_of_the_papers },
        CU_TEST_INFO_NULL
    };

    return clips_main("optimizers", toy_clean, tests);
}
