/* SPDX-License-Identifier: Apache-2.0
 * test_metric.c: metrics against counting by hand; the learning rate; the
 * optimizers against their formulas in double. */
#include "libtrain/optim.h"
#include "libtrain/chance.h"
#include "tests/lib/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- points ---- */

static void points_are_read(void)
{
    struct ctt_point p[CTT_MAX_POINTS];
    int n = 0;

    CHECK_OK(ctt_points_parse("0.25,0.5,1,3f", p, &n));
    CU_ASSERT_EQUAL(n, 4);
    CU_ASSERT_EQUAL(ctt_point_step(&p[0], 40), 9);
    CU_ASSERT_EQUAL(ctt_point_step(&p[1], 41), 19);
    CU_ASSERT_EQUAL(ctt_point_step(&p[2], 41), 40);
    CU_ASSERT_EQUAL(ctt_point_step(&p[3], 41), 2);
    CU_ASSERT_EQUAL(ctt_point_step(&p[3], 2), 1);
    CU_ASSERT_EQUAL(ctt_point_step(&p[0], 2), 0);
}

/* floor(r * N) with r a decimal fraction must not lose a frame to rounding. */
static void points_are_exact(void)
{
    for (int k = 1; k <= 10; k++) {
        struct ctt_point p = { k * 0.1, 0 };
        for (int n = 1; n <= 200; n++) {
            int frames = k * n / 10 > 1 ? k * n / 10 : 1;
            CU_ASSERT_EQUAL(ctt_point_step(&p, n), frames - 1);
        }
    }
}

static void bad_points_are_refused(void)
{
    static const char *const bad[] = { "", "0", "-1", "1.5", "0.5,", "a",
                                       "0.5;1", "0.5f", "nan", "1f2", "1,0.25",
                                       "0.5,0.5", "3f,2f", "2f,2f" };
    struct ctt_point p[CTT_MAX_POINTS];
    int n;

    for (size_t i = 0; i < CTT_LEN(bad); i++)
        CU_ASSERT_EQUAL(ctt_points_parse(bad[i], p, &n), CTT_EINVAL);
}

/* ---- metrics ---- */

enum { CLASSES = 7, ANSWERS = 200 };

/* How many classes are answered before the label, counted by sorting. */
static int place_of(const float *z, int label)
{
    int before = 0;

    for (int j = 0; j < CLASSES; j++)
        if (z[j] > z[label] || (z[j] == z[label] && j < label))
            before++;
    return before;
}

static void answers_are_counted(void)
{
    static const struct ctt_point p[] = { { 0.5, 0 }, { 1, 0 } };
    int64_t top1 = 0, top5 = 0, table[CLASSES][CLASSES] = { { 0 } };
    struct ctt_metrics *m = NULL;
    double loss = 0;
    float z[CLASSES];

    CHECK_OK(ctt_metrics_new(CLASSES, p, 2, &m));
    for (int i = 0; i < ANSWERS; i++) {
        int label = i * 5 % CLASSES, best = 0;
        double sum = 0;

        ctt_check_fill(z, CLASSES, (uint64_t)i);
        ctt_metrics_add(m, 0, z, (label + 1) % CLASSES);
        ctt_metrics_add(m, 1, z, label);
        top1 += place_of(z, label) == 0;
        top5 += place_of(z, label) < 5;
        for (int j = 0; j < CLASSES; j++) {
            sum += exp((double)z[j]);
            best = z[j] > z[best] ? j : best;
        }
        loss -= log(exp((double)z[label]) / sum);
        table[label][best]++;
    }
    CU_ASSERT_EQUAL(m->clips, ANSWERS);
    CU_ASSERT_EQUAL(m->top1[1], top1);
    CU_ASSERT_EQUAL(m->top5[1], top5);
    CU_ASSERT_DOUBLE_EQUAL(ctt_metrics_loss(m, 1), loss / ANSWERS, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ctt_metrics_top1(m, 1), (double)top1 / ANSWERS,
                           1e-12);
    CU_ASSERT(memcmp(m->confusion, table, sizeof(table)) == 0);
    for (int k = 0; k < CLASSES; k++) {
        int64_t all = 0;
        for (int j = 0; j < CLASSES; j++)
            all += table[k][j];
        CU_ASSERT_DOUBLE_EQUAL(ctt_metrics_class(m, k),
                               (double)table[k][k] / (double)all, 1e-12);
    }
    ctt_metrics_clear(m);
    CU_ASSERT_EQUAL(m->clips + m->top1[1] + m->confusion[0], 0);
    CU_ASSERT(ctt_metrics_class(m, 0) < 0);
    ctt_metrics_free(&m);
}

/* A NaN is never the right answer. */
static void nan_is_wrong(void)
{
    static const struct ctt_point p = { 1, 0 };
    const float z[3] = { NAN, NAN, NAN };
    struct ctt_metrics *m = NULL;

    CHECK_OK(ctt_metrics_new(3, &p, 1, &m));
    for (int k = 0; k < 3; k++)
        ctt_metrics_add(m, 0, z, k);
    CU_ASSERT_EQUAL(m->top1[0], 0);
    ctt_metrics_free(&m);
}

/* ---- learning rate ---- */

static void rates_follow_the_schedule(void)
{
    struct ctt_train_cfg c = { .lr = 0.5f, .warmup = 1, .gamma = 0.1f,
                               .step_epochs = 2, .lr_end = 0.1f };

    c.schedule = CTT_CONSTANT;
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 0, 100, 9, -1), 0.05, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 4, 100, 9, -1), 0.25, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 9, 100, 9, -1), 0.5, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 99, 100, 9, -1), 0.5, 1e-7);
    c.warmup = 0;
    c.schedule = CTT_STEPS;
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 19, 100, 10, -1), 0.5, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 20, 100, 10, -1), 0.05, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 40, 100, 10, -1), 0.005, 1e-7);
    c.schedule = CTT_COSINE;
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 0, 100, 10, -1), 0.5, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 50, 100, 10, -1), 0.5 * 0.55, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 100, 100, 10, -1), 0.05, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(ctt_lr(&c, 130, 100, 10, -1), 0.05, 1e-7);
}

/* The rate of a step of `total` at which a share of the time is over. */
static double limited(const struct ctt_train_cfg *c, int step, int total,
                      double used)
{
    return ctt_lr(c, step, ctt_lr_until(c, step, total, 10, used), 10, -1);
}

/* Steps of a random pace, until the time is over: the rate rises in the warm-up
 * of 20 steps, never afterwards, and ends at that of the schedule. */
static void the_rate_ends_with_the_time(void)
{
    struct ctt_train_cfg c = { .lr = 0.5f, .warmup = 2, .lr_end = 0.1f,
                               .schedule = CTT_COSINE };
    double used = 0, last = 0, now = 0;
    int step = 0;

    for (; used < 1; step++) {
        now = limited(&c, step, 100000, used);
        CU_ASSERT(step <= 20 ? now > last : now <= last);
        last = now;
        used += 0.02 * (double)ctt_uniform(1, (uint64_t)step);
    }
    CU_ASSERT(step > 60 && step < 200);
    CU_ASSERT(last < 0.0505);
    CU_ASSERT_DOUBLE_EQUAL(limited(&c, step, 100000, 1), 0.05, 1e-7);
    CU_ASSERT_DOUBLE_EQUAL(limited(&c, 20 + 50, 120, 0.2), 0.5 * 0.55,
                           1e-7);    /* epochs end first */
    CU_ASSERT_DOUBLE_EQUAL(limited(&c, 60, 100000, 0.5), 0.5 *
                           (0.1 + 0.45 * (1 + cos(0.4 * acos(-1)))), 1e-7);
    CU_ASSERT_EQUAL(limited(&c, 70, 120, 0), ctt_lr(&c, 70, 120, 10, -1));
    CU_ASSERT_DOUBLE_EQUAL(limited(&c, 19, 120, 1), 0.5 * 20 / 21, 1e-7);
}

/* ---- optimizers ---- */

static const char net[] = "input x h=4 w=4 c=3\n"
                          "conv a in=x out=5 kernel=3 pad=1\n"
                          "norm b in=a kind=batch\n"
                          "conv y in=b out=2 bias=0\n";

struct reference { double *w, *m, *v; };

/* One update of one weight, by the formulas of the papers. */
static void update(const struct ctt_train_cfg *c, struct reference *r,
                   int64_t i, double g, int t, int decays)
{
    double wd = decays ? (double)c->weight_decay : 0, lr = (double)c->lr;
    double b1 = (double)c->beta1, b2 = (double)c->beta2;

    if (c->optimizer != CTT_ADAMW)
        g += wd * r->w[i];
    if (c->optimizer == CTT_SGD) {
        r->m[i] = (double)c->momentum * r->m[i] + g;
        r->w[i] -= lr * r->m[i];
        return;
    }
    r->m[i] = b1 * r->m[i] + (1 - b1) * g;
    r->v[i] = b2 * r->v[i] + (1 - b2) * g * g;
    if (c->optimizer == CTT_ADAMW)
        r->w[i] -= lr * wd * r->w[i];
    r->w[i] -= lr * (r->m[i] / (1 - pow(b1, t))) /
               (sqrt(r->v[i] / (1 - pow(b2, t))) + 1e-8);
}

static int node_of(const struct ctt_graph *g, int64_t i, int *k)
{
    for (int n = 0; n < g->count; n++)
        for (*k = 0; *k < g->node[n].nw; ++*k)
            if (i >= g->node[n].at[*k] && i < g->node[n].at[*k] +
                ctt_volume(&g->node[n].w[*k]))
                return n;
    return -1;
}

/* Random numbers; between the weights are zeros, as always. */
static void fill(const struct ctt_graph *g, float *x, uint64_t key)
{
    int k;

    ctt_check_fill(x, g->weights, key);
    for (int64_t i = 0; i < g->weights; i++)
        x[i] = node_of(g, i, &k) < 0 ? 0 : x[i];
}

static void compare(const struct ctt_graph *g, const struct ctt_train_cfg *c,
                    uint8_t *keep, float *w, float *dw, double *ref)
{
    const struct ctt_constraint pruned = { .keep = keep };
    int64_t n = g->weights;
    struct reference r = { ref, ref + n, ref + 2 * n };
    struct ctt_optim *o = NULL;
    struct ctt_dev *dev = NULL;

    CHECK_OK(ctt_dev_open("ref", 2, &dev));
    CHECK_OK(ctt_optim_open(g, c, &pruned, w, dev, &o));
    fill(g, w, 3);
    for (int64_t i = 0; i < n; i++) {
        w[i] = keep[i] ? w[i] : 0;
        r.w[i] = (double)w[i];
        r.m[i] = r.v[i] = 0;
    }
    for (int t = 1; t <= 20; t++) {
        double norm = 0, got, scale;
        int k;

        fill(g, dw, (uint64_t)t + 100);
        for (int64_t i = 0; i < n; i++) {
            int at = node_of(g, i, &k);
            if (at >= 0 && !(g->node[at].fixed >> k & 1) && keep[i])
                norm += (double)dw[i] * dw[i];
        }
        norm = sqrt(norm);
        CHECK_OK(ctt_optim_norm(o, dw, &got));
        CU_ASSERT_DOUBLE_EQUAL(got, norm, 1e-9 * norm);
        scale = norm > (double)c->clip_norm ? (double)c->clip_norm / norm : 1;
        for (int64_t i = 0; i < n; i++) {
            int at = node_of(g, i, &k);
            if (at >= 0 && !(g->node[at].fixed >> k & 1) && keep[i])
                update(c, &r, i, (double)dw[i] * scale, t,
                       g->node[at].op == CTT_OP_CONV && k == 0);
        }
        CHECK_OK(ctt_optim_step(o, got, 1, (double)c->lr));
    }
    for (int64_t i = 0; i < n; i++) {
        CU_ASSERT_DOUBLE_EQUAL(w[i], r.w[i], 2e-6 * (1 + fabs(r.w[i])));
        CU_ASSERT(keep[i] || w[i] == 0);
    }
    ctt_optim_close(&o);
    ctt_dev_close(&dev);
}

/* The gradient of a shared value is the sum over its weights, each of them gets
 * it, and the norm counts it once; after any steps they are still equal. */
static void shared_weights_move_together(void)
{
    struct ctt_train_cfg c = { .lr = 0.01f, .beta1 = 0.9f, .beta2 = 0.99f,
        .weight_decay = 0.1f, .optimizer = CTT_ADAMW };
    struct ctt_optim *o = NULL;
    struct ctt_dev *dev = NULL;
    struct ctt_model *m = NULL;
    struct ctt_graph *g = NULL;
    float *dw, *raw;
    int64_t at, end;
    int k;

    CHECK_OK(ctt_net_parse(net, &g));
    CHECK_OK(ctt_model_new(g, &m));
    dw = ctt_calloc((size_t)g->weights, sizeof(*dw));
    raw = ctt_calloc((size_t)g->weights, sizeof(*raw));
    CHECK_OK(ctt_constraint_share(&m->constraint, g->weights));
    at = g->node[1].at[0];
    end = at + ctt_volume(&g->node[1].w[0]);
    for (int64_t i = at; i < end; i++)
        m->constraint.share[i] = (uint8_t)(i % 4);    /* 0: their own */
    fill(g, m->w, 3);
    ctt_model_hold(m);
    CHECK_OK(ctt_dev_open("cpu", 2, &dev));
    CHECK_OK(ctt_optim_open(g, &c, &m->constraint, m->w, dev, &o));
    for (int t = 1; t <= 5; t++) {
        double sum[4] = { 0 }, squares = 0, norm;

        fill(g, dw, (uint64_t)t + 100);
        memcpy(raw, dw, (size_t)g->weights * sizeof(*dw));
        for (int64_t i = 0; i < g->weights; i++) {
            int node = node_of(g, i, &k), code = m->constraint.share[i];
            sum[code] += code ? (double)dw[i] : 0;
            if (!code && node >= 0 && !(g->node[node].fixed >> k & 1))
                squares += (double)dw[i] * dw[i];
        }
        for (int j = 1; j < 4; j++)
            squares += sum[j] * sum[j];
        CHECK_OK(ctt_optim_norm(o, dw, &norm));
        CU_ASSERT_DOUBLE_EQUAL(norm, sqrt(squares), 1e-6 * norm);
        for (int64_t i = 0; i < g->weights; i++) {
            int code = m->constraint.share[i];
            CU_ASSERT_DOUBLE_EQUAL(dw[i], code ? sum[code] : (double)raw[i],
                                   1e-5);
        }
        CHECK_OK(ctt_optim_step(o, norm, 1, 0.01));
        for (int64_t i = at + 4; i < end; i++)
            CU_ASSERT(i % 4 == 0 || m->w[i] == m->w[i - 4]);
        CU_ASSERT(m->w[at + 4] != m->w[at]);
    }
    ctt_optim_close(&o);
    ctt_dev_close(&dev);
    ctt_model_free(&m);
    ctt_free(dw);
    ctt_free(raw);
}

static void optimizers_are_the_formulas(void)
{
    struct ctt_train_cfg c = { .lr = 0.01f, .momentum = 0.9f, .beta1 = 0.9f,
        .beta2 = 0.99f, .weight_decay = 0.1f };
    static const float clip[] = { 0.5f, 1e9f };
    struct ctt_graph *g = NULL;
    uint8_t *keep;
    float *w, *dw;
    double *ref;

    CHECK_OK(ctt_net_parse(net, &g));
    w = ctt_calloc((size_t)g->weights, sizeof(*w));
    dw = ctt_calloc((size_t)g->weights, sizeof(*dw));
    ref = ctt_calloc((size_t)g->weights, 3 * sizeof(*ref));
    keep = ctt_calloc((size_t)g->weights, 1);
    CU_ASSERT_FATAL(w && dw && ref && keep);
    for (int64_t i = 0; i < g->weights; i++)
        keep[i] = i % 3 != 0;
    for (c.optimizer = CTT_SGD; c.optimizer <= CTT_ADAMW; c.optimizer++)
        for (int k = 0; k < 2; k++) {
            c.clip_norm = clip[k];
            compare(g, &c, keep, w, dw, ref);
        }
    ctt_free(keep);
    ctt_free(w);
    ctt_free(dw);
    ctt_free(ref);
    ctt_graph_free(&g);
}

static void norm_sees_what_is_not_finite(void)
{
    struct ctt_train_cfg c = { .optimizer = CTT_SGD };
    static const float bad[] = { INFINITY, NAN };
    struct ctt_graph *g = NULL;
    struct ctt_optim *o = NULL;
    struct ctt_dev *dev = NULL;
    double norm = 1;
    float *w, *dw;

    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CHECK_OK(ctt_net_parse(net, &g));
    w = ctt_calloc((size_t)g->weights, sizeof(*w));
    dw = ctt_calloc((size_t)g->weights, sizeof(*dw));
    CU_ASSERT_FATAL(w && dw);
    CHECK_OK(ctt_optim_open(g, &c, NULL, w, dev, &o));
    CHECK_OK(ctt_optim_norm(o, dw, &norm));
    CU_ASSERT(norm == 0);
    for (size_t k = 0; k < CTT_LEN(bad); k++) {
        dw[g->node[1].at[0] + 7] = bad[k];
        CHECK_OK(ctt_optim_norm(o, dw, &norm));
        CU_ASSERT(!isfinite(norm));
    }
    ctt_optim_close(&o);
    ctt_free(w);
    ctt_free(dw);
    ctt_graph_free(&g);
    ctt_dev_close(&dev);
}

static void allocations_fail(void)
{
    static const struct ctt_point p = { 1, 0 };
    struct ctt_train_cfg c = { .optimizer = CTT_ADAM };
    struct ctt_graph *g = NULL;
    struct ctt_dev *dev = NULL;
    float *w;
    long live;

    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CHECK_OK(ctt_net_parse(net, &g));
    w = ctt_calloc((size_t)g->weights, sizeof(*w));
    CU_ASSERT_FATAL(w != NULL);
    live = ctt_live_blocks();
    for (long k = 1, done = 0; !done && k < 100; k++) {
        struct ctt_optim *o = NULL;
        struct ctt_metrics *m = NULL;
        int rc;

        ctt_fail_alloc(k);
        rc = ctt_optim_open(g, &c, NULL, w, dev, &o);
        if (rc >= 0)
            rc = ctt_metrics_new(4, &p, 1, &m);
        ctt_fail_alloc(0);
        CU_ASSERT(rc == 0 || rc == CTT_ENOMEM);
        done = rc == 0;
        ctt_metrics_free(&m);
        ctt_optim_close(&o);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
        CU_ASSERT(done || k < 99);
    }
    ctt_free(w);
    ctt_graph_free(&g);
    ctt_dev_close(&dev);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "points are read", points_are_read },
        { "points are exact", points_are_exact },
        { "bad points are refused", bad_points_are_refused },
        { "answers are counted", answers_are_counted },
        { "nan is wrong", nan_is_wrong },
        { "rates follow the schedule", rates_follow_the_schedule },
        { "the rate ends with the time", the_rate_ends_with_the_time },
        { "optimizers are the formulas", optimizers_are_the_formulas },
    { "shared weights", shared_weights_move_together },
        { "the norm sees what is not finite", norm_sees_what_is_not_finite },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "metric", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
