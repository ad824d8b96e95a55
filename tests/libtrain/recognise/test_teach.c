/* SPDX-License-Identifier: Apache-2.0
 * test_teach.c: training on the answers of several teachers, and on a model's
 * own later answers. */
#include "libtrain/data/load.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"
#include "run/back/exec.h"
#include "tests/lib/toy_run.h"

#include <math.h>

static const char net_steps[] =
    "input x h=10 w=10 c=3 fps=12 mean=0.2 std=0.3 scale=1.2\n"
    "conv e in=x out=6 kernel=3 stride=3 pad=0\n"
    "convlstm h in=e hidden=6 kernel=3\n"
    "pool p in=h kind=avg\n"
    "conv y in=p out=4\n";

static const char *const nets[] = { clip_net_end, net_steps };

/* A step on the first batch of the toy clips. */
struct one {
    struct ctt_dev   *dev;
    struct ctt_loader *l;
    struct ctt_order *p;
    struct ctt_batch  b;
    struct ctt_recognise_step *s;
};

static void one_open(const struct ctt_train_cfg *cfg, struct ctt_model *m,
                     struct one *o)
{
    const struct ctt_augment none = { 0 };
    struct ctt_buckets bk;
    double wait = 0;

    *o = (struct one){ .dev = NULL };
    CHECK_OK(ctt_dev_open("ref", 1, &o->dev));
    CHECK_OK(ctt_buckets_find(toy, 4, "1", &bk));
    CHECK_OK(ctt_order_new(toy, 4, &o->p));
    ctt_order_make(toy, &bk, 1, 1, o->p);
    CHECK_OK(ctt_recognise_step_open(m->g, m->w, cfg, o->dev, 4, toy->longest,
                                     &o->s));
    CHECK_OK(ctt_loader_open(toy, 4, toy->longest, &o->l));
    ctt_loader_start(o->l, o->p, &none, 0);
    CU_ASSERT_EQUAL_FATAL(ctt_loader_next(o->l, &o->b, &wait), 1);
}

static void one_close(struct one *o)
{
    ctt_loader_close(&o->l);
    ctt_recognise_step_close(&o->s);
    ctt_order_free(&o->p);
    ctt_dev_close(&o->dev);
}

/* Runs it; returns the loss per weight. */
static double one_run(struct one *o)
{
    struct ctt_sums sums = { 0 };

    CHECK_OK(ctt_recognise_step_run(o->s, toy, &o->b, 1, 2, &sums));
    return sums.loss / sums.weight;
}

static float *gradient_of(const struct one *o)
{
    size_t n = (size_t)o->s->g->weights;
    float *dw = ctt_calloc(n, sizeof(*dw));

    CU_ASSERT_FATAL(dw != NULL);
    memcpy(dw, o->s->x->dw, n * sizeof(*dw));
    return dw;
}

/* ---- the loss, computed again ---- */

/* -t^2 sum q log softmax(z / t). */
static double cross(const float *z, const float *q, int n, double t)
{
    double top = -INFINITY, sum = 0, all = 0;

    for (int j = 0; j < n; j++)
        top = fmax(top, (double)z[j] / t);
    for (int j = 0; j < n; j++)
        sum += exp((double)z[j] / t - top);
    for (int j = 0; j < n; j++)
        all -= (double)q[j] * ((double)z[j] / t - top - log(sum));
    return t * t * all;
}

/* The loss of the last answers for targets that stay the same. */
static double loss_for(const struct one *o, const float *aim)
{
    const struct ctt_recognise_step *s = o->s;
    double sum = 0, weight = 0;

    for (int i = 0; i < 4 * s->asks.total; i++) {
        const float *z = s->said + i * CLIP_CLASSES;
        const float *q = aim + i * 2 * CLIP_CLASSES;
        weight += (double)s->goal[i].weight;
        sum += cross(z, q, CLIP_CLASSES, 1) +
               cross(z, q + CLIP_CLASSES, CLIP_CLASSES,
                     (double)s->cfg->temperature);
    }
    return sum / weight;
}

static void walk(struct ctt_model *m, const float *dw, double by)
{
    for (int64_t i = 0; i < m->g->weights; i++)
        m->w[i] += (float)(by * (double)dw[i]);
}

/* The targets of a clip: those of an early answer are the labels and the last
 * answer, those of the last one are the labels. */
static void check_aims(const struct one *o, float share)
{
    const struct ctt_recognise_step *s = o->s;
    int total = s->asks.total, taught = 0;

    for (int i = 0; i < 4 * total; i++) {
        int last = (i / total + 1) * total - 1;
        const float *aim = s->aim + i * 2 * CLIP_CLASSES;
        float p[CLIP_CLASSES], w = s->goal[i].weight, hard = 0;
        float part = s->goal[i].step < s->goal[last].step ? share : 0;

        ctt_probabilities(s->said + last * CLIP_CLASSES, CLIP_CLASSES,
                          (double)s->cfg->temperature, p);
        for (int j = 0; j < CLIP_CLASSES; j++) {
            hard += aim[j];
            CU_ASSERT_DOUBLE_EQUAL(aim[CLIP_CLASSES + j], w * part * p[j],
                                   1e-6);
        }
        CU_ASSERT_DOUBLE_EQUAL(hard, w * (1 - part), 1e-6);
        taught += part > 0 && w > 0;
    }
    CU_ASSERT(taught >= 8);
}

/* The gradient is that of the loss whose targets stay what they are. */
static void gradient_of_a_later_answer(void)
{
    for (int k = 0; k < 4; k++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_model *m = NULL, *teacher = NULL;
        const struct ctt_model *teachers[3] = { NULL };
        double norm = 0, h, up, down;
        struct one o;
        float *dw, *aim;

        cfg.frame_loss = CTT_FRAME_LINEAR;
        cfg.frame_asks = 3;
        cfg.label_smooth = 0.1f;
        cfg.self_distil = k < 2 ? 1 : 0.5f;
        CHECK_OK(clip_model(nets[k % 2], 3, &m));
        CHECK_OK(clip_model(nets[0], 4, &teacher));
        teachers[0] = teacher;
        cfg.wiring.teachers = k < 2 ? NULL : teachers;
        cfg.distil = 0.3f;
        one_open(&cfg, m, &o);
        one_run(&o);
        if (k < 2)
            check_aims(&o, cfg.self_distil);
        dw = gradient_of(&o);
        aim = ctt_calloc(4 * (size_t)o.s->asks.total, 2 * CLIP_CLASSES *
                         sizeof(*aim));
        CU_ASSERT_FATAL(aim != NULL);
        memcpy(aim, o.s->aim, 4 * (size_t)o.s->asks.total * 2 * CLIP_CLASSES *
               sizeof(*aim));
        for (int64_t i = 0; i < m->g->weights; i++)
            norm += (double)dw[i] * (double)dw[i];
        h = 1e-2 / sqrt(norm);
        walk(m, dw, h);
        one_run(&o);
        up = loss_for(&o, aim);
        walk(m, dw, -2 * h);
        one_run(&o);
        down = loss_for(&o, aim);
        CU_ASSERT_DOUBLE_EQUAL((up - down) / (2 * h) / norm, 1, 0.02);
        one_close(&o);
        ctt_free(dw);
        ctt_free(aim);
        ctt_model_free(&m);
        ctt_model_free(&teacher);
    }
}

/* The loss that is reported is that of these targets, less what no training
 * changes. */
static void the_loss_is_a_divergence(void)
{
    for (int k = 0; k < 2; k++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_model *m = NULL;
        double loss, least = 0, weight = 0;
        struct one o;

        cfg.self_distil = 1;
        CHECK_OK(clip_model(nets[k], 3, &m));
        one_open(&cfg, m, &o);
        loss = one_run(&o);
        for (int i = 0; i < 4 * o.s->asks.total; i++) {
            const float *q = o.s->aim + (2 * i + 1) * CLIP_CLASSES;
            weight += (double)o.s->goal[i].weight;
            for (int j = 0; j < CLIP_CLASSES; j++)
                least -= q[j] > 0 ? 16 * (double)q[j] * log((double)q[j]) : 0;
        }
        CU_ASSERT_EQUAL(cfg.temperature, 4);
        CU_ASSERT_DOUBLE_EQUAL(loss, loss_for(&o, o.s->aim) - least / weight,
                               1e-4);
        one_close(&o);
        ctt_model_free(&m);
    }
}

/* Windows change sums by rounding only; what is recomputed changes no bit. */
static void windows_do_not_matter(void)
{
    static const char *const keep[] = { "all", "all", "0" };

    for (int k = 0; k < 2; k++) {
        float *dw[CTT_LEN(keep)];
        double loss[CTT_LEN(keep)];
        struct ctt_model *m = NULL;
        size_t bytes;

        CHECK_OK(clip_model(nets[k], 3, &m));
        bytes = (size_t)m->g->weights * sizeof(float);
        for (size_t i = 0; i < CTT_LEN(keep); i++) {
            struct ctt_train_cfg cfg = short_run();
            struct one o;

            cfg.self_distil = 0.7f;
            cfg.window = i ? 3 : 0;
            cfg.keep = keep[i];
            one_open(&cfg, m, &o);
            loss[i] = one_run(&o);
            CU_ASSERT((ctt_exec_plan(o.s->x).windows > 1) == (i > 0));
            dw[i] = gradient_of(&o);
            one_close(&o);
        }
        CU_ASSERT_DOUBLE_EQUAL(loss[0], loss[1], 1e-5);
        CU_ASSERT(loss[1] == loss[2] && memcmp(dw[1], dw[2], bytes) == 0);
        for (int64_t i = 0; i < m->g->weights; i++)
            CU_ASSERT(fabsf(dw[0][i] - dw[1][i]) < 1e-4f);
        for (size_t i = 0; i < CTT_LEN(keep); i++)
            ctt_free(dw[i]);
        ctt_model_free(&m);
    }
}

/* Where the only early answer is the last one, there is nothing to learn
 * from it. */
static void the_last_answer_learns_labels(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL;
    double plain, same;
    struct one o;

    cfg.observe = "100f";
    CHECK_OK(clip_model(nets[0], 3, &m));
    one_open(&cfg, m, &o);
    plain = one_run(&o);
    one_close(&o);
    cfg.self_distil = 1;
    one_open(&cfg, m, &o);
    same = one_run(&o);
    one_close(&o);
    CU_ASSERT_DOUBLE_EQUAL(plain, same, 1e-5);
    ctt_model_free(&m);
}

/* The targets of three teachers are the means of those of each, also if some
 * answer after the clip and some each frame. */
static void several_teachers(void)
{
    struct ctt_train_cfg cfg = short_run();
    const struct ctt_model *teachers[4] = { NULL };
    struct ctt_model *m = NULL, *t[3] = { NULL };
    size_t rows = 4 * 2, wide = 2 * CLIP_CLASSES;
    float sum[4 * 2 * 2 * CLIP_CLASSES] = { 0 };
    struct one o;

    CHECK_OK(clip_model(nets[0], 3, &m));
    cfg.distil = 1;
    cfg.wiring.teachers = teachers;
    for (int i = 0; i < 4; i++) {
        CHECK_OK(i < 3 ? clip_model(nets[i % 2], 7 + i, &t[i]) : 0);
        for (int k = 0; k < 3; k++)
            teachers[k] = i == 3 ? t[k] : k == 0 ? t[i] : NULL;
        one_open(&cfg, m, &o);
        one_run(&o);
        CU_ASSERT_EQUAL_FATAL(o.s->asks.total, 2);
        for (size_t j = 0; j < rows * wide && i < 3; j++)
            sum[j] += o.s->aim[j] / 3;
        for (size_t j = 0; j < rows * wide && i == 3; j++)
            CU_ASSERT_DOUBLE_EQUAL(o.s->aim[j], sum[j], 1e-6);
        one_close(&o);
    }
    for (int i = 0; i < 3; i++)
        ctt_model_free(&t[i]);
    ctt_model_free(&m);
}

static void too_large_shares_are_refused(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *m = NULL;
    const struct ctt_model *teachers[2] = { NULL };
    struct ctt_result r;

    CHECK_OK(clip_model(nets[0], 3, &m));
    teachers[0] = m;
    cfg.wiring.teachers = teachers;
    cfg.distil = 0.7f;
    cfg.self_distil = 0.5f;
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, NULL, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "--distil=0.7 and --self-distil=0.5 are "
                     "more than the whole loss") != NULL);
    cfg = short_run();
    cfg.observe = "1";
    cfg.self_distil = 0.5f;
    CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "no answer before the end") != NULL);
    ctt_model_free(&m);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "the gradient of a later answer", gradient_of_a_later_answer },
        { "the loss is a divergence", the_loss_is_a_divergence },
        { "windows do not matter", windows_do_not_matter },
        { "the last answer learns labels", the_last_answer_learns_labels },
        { "several teachers", several_teachers },
        { "too large shares are refused", too_large_shares_are_refused },
        CU_TEST_INFO_NULL
    };

    return clips_main("teach", toy_clean, tests);
}
