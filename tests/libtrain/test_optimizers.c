/* SPDX-License-Identifier: Apache-2.0
 * test_optimizers.c: the update of each --optimizer beside the formula of its
 * paper, in doubles. */
#include "libtrain/optim.h"
#include "tests/lib/toy_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two kernels of whole pieces, and their biases. */
static const char net[] = "input x c=4\nconv h in=x out=4 kernel=3 pad=1\n"
                          "conv y in=h out=8 kernel=2 pad=1\n";

enum { STEPS = 6 };

#define LR 0.01
#define DECAY 0.1
#define EPS 1e-8
#define TRUST 0.02

/* A weight and its two moments. */
struct at { double w, m, v; };

/* Of the tensor of a weight: whether it is a kernel, and the norms of weights
 * and gradients. */
static struct { int kernel; double w, g; } layer;

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

/* You and others 2017, algorithm 1; not a kernel: without a rate of its own. */
static double local_rate(double decay)
{
    return layer.kernel ? TRUST * layer.w / (layer.g + decay * layer.w) : 1;
}

static void lars(struct at *a, double g, double decay, int t)
{
    (void)t;
    a->m = 0.9 * a->m + LR * local_rate(decay) * (g + decay * a->w);
    a->w -= a->m;
}

/* Clipped, as LARC of NVIDIA's Apex: the rate is at most LR. */
static void larc(struct at *a, double g, double decay, int t)
{
    double by = fmin(local_rate(decay) / LR, 1);

    (void)t;
    a->m = 0.9 * a->m + by * (g + decay * a->w);
    a->w -= LR * a->m;
}

static const struct {
    enum ctt_optimizer which;
    void             (*step)(struct at *a, double g, double decay, int t);
} papers[] = {
    { CTT_SGD, polyak }, { CTT_NESTEROV, nesterov }, { CTT_ADAM, adam },
    { CTT_ADAMW, adamw }, { CTT_RMSPROP, rmsprop }, { CTT_ADAGRAD, adagrad },
    { CTT_LARS, lars }, { CTT_LARC, larc },
};

static double norm_of_tensor(const struct at *want, const float *dw, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += dw ? (double)dw[i] * (double)dw[i] : want[i].w * want[i].w;
    return sqrt(sum);
}

/* A step of all weights; kernels decay. */
static void step_by_formula(size_t k, const struct ctt_graph *g,
                            const float *dw, int t, struct at *want)
{
    for (int i = 0; i < g->count; i++)
        for (int j = 0; j < g->node[i].nw; j++) {
            int64_t from = g->node[i].at[j];
            int64_t n = ctt_volume(&g->node[i].w[j]);

            layer.kernel = j == 0;
            layer.w = norm_of_tensor(want + from, NULL, n);
            layer.g = norm_of_tensor(NULL, dw + from, n);
            for (int64_t p = from; p < from + n; p++)
                papers[k].step(&want[p], (double)dw[p],
                               layer.kernel ? DECAY : 0, t);
        }
}

/* A gradient, with zeros between the tensors; that of y is 100 times as
 * large. */
static float *gradient_of(const struct ctt_graph *g, int t)
{
    float *dw = ctt_check_floats(g->weights, 0);

    for (int i = 0; i < g->count; i++)
        for (int j = 0; j < g->node[i].nw; j++) {
            float *at = dw + g->node[i].at[j];
            int64_t n = ctt_volume(&g->node[i].w[j]);

            ctt_check_fill(at, n, (unsigned)(100 * t + 10 * i + j));
            for (int64_t p = 0; i == 2 && p < n; p++)
                at[p] *= 100;
        }
    return dw;
}

static void compare_to_formula(const struct ctt_graph *g, const float *w,
                    const struct at *want)
{
    for (int i = 0; i < g->count; i++)
        for (int j = 0; j < g->node[i].nw; j++)
            for (int64_t p = 0; p < ctt_volume(&g->node[i].w[j]); p++) {
                int64_t at = g->node[i].at[j] + p;
                double tol = 2e-6 * fmax(1, fabs(want[at].w));
                CU_ASSERT_DOUBLE_EQUAL(w[at], want[at].w, tol);
            }
}

/* Makes the same steps twice and compares weights.  Gradients are multiplied
 * by a loss scale. */
static void check_paper(size_t k, const char *device)
{
    struct ctt_train_cfg cfg = { .optimizer = papers[k].which,
        .device = device, .momentum = 0.9f, .beta1 = 0.9f, .beta2 = 0.99f,
        .weight_decay = (float)DECAY, .trust = (float)TRUST };
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;
    struct ctt_dev *dev = NULL;
    struct ctt_optim *o = NULL;
    struct at *want;
    double norm;

    CHECK_OK(ctt_net_parse(net, &g));
    CHECK_OK(ctt_model_new(g, &m));
    ctt_init_weights(m, 4);
    want = ctt_calloc((size_t)g->weights, sizeof(*want));
    for (int64_t i = 0; i < g->weights; i++)
        want[i].w = (double)m->w[i];
    CHECK_OK(ctt_dev_open(device, 2, &dev));
    CHECK_OK(ctt_optim_open(g, &cfg, &m->constraint, m->w, dev, &o));
    for (int t = 1; t <= STEPS; t++) {
        float *dw = gradient_of(g, t), *there;
        void *own = NULL;

        step_by_formula(k, g, dw, t, want);
        for (int64_t i = 0; i < g->weights; i++)
            dw[i] *= 8;
        CHECK_OK(ctt_dev_show(dev, "gradient", dw, g->weights, &own,
                              (const float **)&there));
        CHECK_OK(ctt_optim_norm(o, there, &norm));
        CHECK_OK(ctt_optim_step(o, norm, 8, LR));
        ctt_dev_free(dev, &own);
        ctt_free(dw);
    }
    CHECK_OK(ctt_optim_pull(o));
    compare_to_formula(g, m->w, want);
    ctt_free(want);
    ctt_optim_close(&o);
    ctt_dev_close(&dev);
    ctt_model_free(&m);
}

static void updates_are_those_of_the_papers(void)
{
    const char *require = getenv("CTT_REQUIRE");

    for (size_t k = 0; k < CTT_LEN(papers); k++) {
        for (int dev = 0; ctt_check_hosts[dev]; dev++)
            check_paper(k, ctt_check_hosts[dev]);
        if (require && strcmp(require, "cuda") == 0)
            check_paper(k, "cuda");
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "updates are those of the papers", updates_are_those_of_the_papers },
        CU_TEST_INFO_NULL
    };

    return clips_main("optimizers", toy_clean, tests);
}
