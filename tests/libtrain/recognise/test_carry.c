/* SPDX-License-Identifier: Apache-2.0
 * test_carry.c: the states of a model of text go from window to window: values
 * are those of one window, the gradient ends at its begin, and a run that stops
 * in an epoch goes on with them. */
#include "libtrain/data/fold.h"
#include "libtrain/data/load.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"
#include "run/back/exec.h"
#include "tests/lib/toy.h"

#include <math.h>

/* Cells one upon the other, and a value of three steps ago. */
static const char net[] =
    "input x c=1\n"
    "embed e in=x vocab=6 out=3\n"
    "lstm h in=e hidden=3\n"
    "convlstm k in=h hidden=2 kernel=1\n"
    "state o of=k delay=3\n"
    "concat b in=k,o\n"
    "conv y in=b out=6\n";

enum { LANES = 2, WINDOW = 6 };

static const char letters[] = "abcd\nabdc\nbbca\ndcab\nacd\n";

static struct ctt_model *model_of(const char *text)
{
    struct ctt_model *m = NULL;
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    for (int i = 0; i < m->g->count; i++)
        for (int k = 0; k < m->g->node[i].nw; k++)
            for (int64_t j = 0; j < ctt_volume(&m->g->node[i].w[k]); j++) {
                int64_t at = m->g->node[i].at[k] + j;

                m->w[at] = (float)(0.9 * sin(1.7 * (double)at));
            }
    return m;
}

static struct ctt_train_cfg text_cfg(int window)
{
    struct ctt_train_cfg cfg = clip_cfg();

    cfg.task = CTT_NEXT;
    cfg.batch = cfg.val_batch = LANES;
    cfg.max_frames = window;
    return cfg;
}

static struct ctt_data *text_of(const char *text,
                                const struct ctt_train_cfg *cfg)
{
    const struct ctt_input in = { .d = 1, .h = 1, .w = 1, .c = 1, .scale = 1,
                                  .std = { 1, 1, 1 } };
    const char *file = clip_path("letters.txt");
    struct ctt_data *d = NULL;
    FILE *f = fopen(file, "w");
    char path[300];

    CU_ASSERT_FATAL(f != NULL);
    fputs(text, f);
    fclose(f);
    snprintf(path, sizeof(path), "text:%s", file);
    CHECK_OK(ctt_data_open(path, "train", &in, NULL, 0, cfg, NULL, &d));
    return d;
}

/* ---- windows ---- */

/* A text, a model and a step on it, and the states before and after. */
struct scene {
    struct ctt_train_cfg cfg;
    struct ctt_data     *d;
    struct ctt_model    *m;
    struct ctt_dev      *dev;
    struct ctt_recognise_step *s;
    struct ctt_loader   *l;
    struct ctt_order    *order;
    struct ctt_batch     b;
    char                *states[2];
};

static void open_scene(struct scene *s, const char *device, int window)
{
    const struct ctt_augment none = { 0 };
    struct ctt_buckets bk;
    size_t bytes;

    s->cfg.max_frames = window;
    s->d = text_of(letters, &s->cfg);
    s->m = model_of(net);
    CHECK_OK(ctt_dev_open(device, 1, &s->dev));
    CHECK_OK(ctt_recognise_step_open(s->m->g, s->m->w, &s->cfg, s->dev, LANES,
                                     s->d->longest, &s->s));
    CHECK_OK(ctt_buckets_find(s->d, LANES, "auto", &bk));
    CHECK_OK(ctt_order_new(s->d, LANES, &s->order));
    ctt_order_make(s->d, &bk, 1, 1, s->order);
    CHECK_OK(ctt_loader_open(s->d, LANES, s->d->longest, &s->l));
    ctt_loader_start(s->l, s->order, &none, 0);
    bytes = (size_t)ctt_run_history_bytes(s->s->x->r);
    for (int k = 0; k < 2; k++)
        CU_ASSERT_FATAL((s->states[k] = ctt_calloc(bytes, 1)) != NULL);
}

static void close_scene(struct scene *s)
{
    ctt_free(s->states[0]);
    ctt_free(s->states[1]);
    ctt_loader_close(&s->l);
    ctt_order_free(&s->order);
    ctt_recognise_step_close(&s->s);
    ctt_model_free(&s->m);
    ctt_data_close(&s->d);
    ctt_dev_close(&s->dev);
}

static void next_window(struct scene *s)
{
    double wait = 0;

    if (s->b.n)
        ctt_loader_done(s->l);
    CU_ASSERT_EQUAL_FATAL(ctt_loader_next(s->l, &s->b, &wait), 1);
}

/* The sum of the losses of this window, in double. */
static double loss_of(struct scene *s, const char *before, char *after)
{
    struct ctt_sums sums = { 0 };

    s->s->before = before;
    s->s->after = after;
    CHECK_OK(ctt_recognise_step_losses(s->s, s->d, &s->b, 1, 2, &sums));
    return sums.loss;
}

/* Of all windows of the text. */
static double loss_of_text(const char *device, int window, const char *keep,
                           int steps)
{
    struct scene s = { .cfg = text_cfg(window) };
    double sum = 0;

    s.cfg.keep = keep;
    s.cfg.window = steps;
    open_scene(&s, device, window);
    for (int k = 0; k < s.order->batches; k++) {
        next_window(&s);
        sum += loss_of(&s, k ? s.states[k % 2] : NULL, s.states[1 - k % 2]);
    }
    close_scene(&s);
    return sum;
}

/* The text has 2 * 12 symbols, and each lane half of them. */
static void windows_are_one(void)
{
    static const char *const devices[] = { "ref", "cpu" };

    for (size_t i = 0; i < CTT_LEN(devices); i++) {
        double whole = loss_of_text(devices[i], 2 * WINDOW, "all", 0);

        CU_ASSERT(whole > 20 && whole < 100);
        CU_ASSERT_EQUAL(loss_of_text(devices[i], WINDOW, "all", 0), whole);
        CU_ASSERT_EQUAL(loss_of_text(devices[i], 1, "all", 0), whole);
        CU_ASSERT_EQUAL(loss_of_text(devices[i], WINDOW, "0", 4), whole);
        CU_ASSERT_EQUAL(loss_of_text(devices[i], WINDOW, "depth", 0), whole);
    }
}

static void each_lane_has_a_stretch(void)
{
    struct ctt_train_cfg cfg = text_cfg(4);
    struct ctt_data *d = text_of(letters, &cfg);    /* 6 windows */
    struct ctt_order *p = NULL;
    struct ctt_buckets bk;
    static const int want[] = { 0, 1, 3, 4, -1, 2, -1, 5 };
    int fold[6];

    CU_ASSERT_EQUAL_FATAL(ctt_data_clips(d), 6);
    CHECK_OK(ctt_buckets_find(d, 4, "auto", &bk));
    CHECK_OK(ctt_order_new(d, 4, &p));
    ctt_order_make(d, &bk, 1, 7, p);
    CU_ASSERT_EQUAL(p->batches, 2);
    CU_ASSERT(memcmp(p->clip, want, sizeof(want)) == 0);
    CHECK_OK(ctt_folds_make(d, 3, 1, fold));    /* the end is held out */
    for (int i = 0; i < 6; i++)
        CU_ASSERT_EQUAL(fold[i], 2 - i / 2);
    ctt_order_free(&p);
    ctt_data_close(&d);
}

/* The nats of a test with so many places. */
static double tested(int places, int window)
{
    struct ctt_train_cfg cfg = text_cfg(window);
    struct ctt_model *m = model_of(net);
    struct ctt_data *d = text_of(letters, &cfg);
    double nats = 0;

    cfg.val_batch = places;
    CHECK_OK(ctt_evaluate_next(m, &cfg, d, &nats));
    ctt_data_close(&d);
    ctt_model_free(&m);
    return nats;
}

static void a_test_has_one_state(void)
{
    double one = tested(1, 24);    /* the whole text */

    CU_ASSERT(one > 1 && one < 4);
    CU_ASSERT_DOUBLE_EQUAL(tested(3, 4), one, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(tested(8, 5), one, 1e-9);
}

/* A place without a window would count in a norm's mean. */
static void norms_need_full_batches(void)
{
    static const char *const kinds[] = { "batch", "layer" };

    for (int k = 0; k < 6; k++) {
        struct ctt_train_cfg cfg = text_cfg(4);    /* 6 windows */
        struct ctt_model *m;
        struct ctt_data *d;
        struct ctt_result r;
        char text[200];
        int rc;

        snprintf(text, sizeof(text), "input x c=1\nembed e in=x vocab=6 out=3\n"
                 "norm n in=e kind=%s\nconv y in=n out=6\n", kinds[k % 2]);
        m = model_of(text);
        for (int64_t i = 0; i < m->g->weights; i++)
            m->w[i] = fabsf(m->w[i]);    /* variances, too */
        cfg.batch = 2 + k / 2;
        cfg.epochs = 1;
        d = text_of(letters, &cfg);
        rc = ctt_train(m, &cfg, d, NULL, NULL, &r);
        CU_ASSERT_EQUAL(rc < 0, k == 4);
        CU_ASSERT(rc >= 0 || strstr(ctt_errmsg(), "n: a batch norm would count "
                                    "the empty places") != NULL);
        ctt_data_close(&d);
        ctt_model_free(&m);
    }
}

/* ---- the gradient ---- */

/* The first window, whose memory the loader takes. */
struct first {
    struct ctt_batch b;
    float            x[LANES * WINDOW];
    int              length[LANES];
};

/* Loads and computes both windows, and the gradient of the second. */
static void run_both(struct scene *s, struct first *f)
{
    next_window(s);
    f->b = s->b;
    memcpy(f->x, s->b.x, sizeof(f->x));
    memcpy(f->length, s->b.length, sizeof(f->length));
    f->b.x = f->x;
    f->b.length = f->length;
    loss_of(s, NULL, s->states[0]);
    next_window(s);
    loss_of(s, s->states[0], s->states[1]);
    CHECK_OK(ctt_recognise_step_backward(s->s));
}

/* The quotient of the second window's loss by weight i, whose states stay as
 * they were, or with `f` are of that weight, too. */
static double quotient(struct scene *s, struct first *f, int64_t i)
{
    const struct ctt_batch second = s->b;
    const float e = 1e-2f, w = s->m->w[i];
    double l[2];

    for (int k = 0; k < 2; k++) {
        s->m->w[i] = k ? w + e : w - e;
        if (f) {
            s->b = f->b;
            loss_of(s, NULL, s->states[0]);
            s->b = second;
        }
        l[k] = loss_of(s, s->states[0], s->states[1]);
    }
    s->m->w[i] = w;
    return (l[1] - l[0]) / (2 * (double)e * LANES * WINDOW);
}

static void states_are_constants(void)
{
    struct scene s = { .cfg = text_cfg(WINDOW) };
    int bad = 0, zeros = 0, others = 0;
    struct first f;
    float *dw;

    open_scene(&s, "ref", WINDOW);
    run_both(&s, &f);
    dw = ctt_calloc((size_t)s.m->g->weights, sizeof(*dw));
    CU_ASSERT_FATAL(dw != NULL);
    memcpy(dw, s.s->x->dw, (size_t)s.m->g->weights * sizeof(*dw));
    for (int64_t i = 0; i < s.m->g->weights; i++) {
        double q = quotient(&s, NULL, i);

        bad += !(fabs(q - (double)dw[i]) < 3e-4);
        zeros += fabs(q) < 3e-4;
    }
    for (int64_t i = 0; i < s.m->g->weights; i++)
        others += fabs(quotient(&s, &f, i) - (double)dw[i]) > 1e-3;
    CU_ASSERT_EQUAL(bad, 0);
    CU_ASSERT(4 * zeros < 3 * s.m->g->weights);    /* some are padding */
    CU_ASSERT(others > 5);
    close_scene(&s);
    ctt_free(dw);
}

/* The gradient of the second window, to be freed. */
static float *gradient_of(const char *keep, int steps)
{
    struct scene s = { .cfg = text_cfg(WINDOW) };
    struct first f;
    float *dw;

    s.cfg.keep = keep;
    s.cfg.window = steps;
    open_scene(&s, "cpu", WINDOW);
    run_both(&s, &f);
    dw = ctt_calloc((size_t)s.m->g->weights, sizeof(*dw));
    CU_ASSERT_FATAL(dw != NULL);
    memcpy(dw, s.s->x->dw, (size_t)s.m->g->weights * sizeof(*dw));
    close_scene(&s);
    return dw;
}

/* The first of several windows of memory begins from the states again. */
static void what_is_kept_does_not_matter(void)
{
    static const struct { const char *keep, *other; int steps; } cases[] = {
        { "all", "depth", 0 }, { "all", "0", 4 }, { "1", "0", 2 },
        { "all", "depth", 4 },
    };
    struct ctt_model *m = model_of(net);
    size_t size = (size_t)m->g->weights * sizeof(float);

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        float *a = gradient_of(cases[i].keep, cases[i].steps);
        float *b = gradient_of(cases[i].other, cases[i].steps);

        CU_ASSERT(memcmp(a, b, size) == 0);
        ctt_free(a);
        ctt_free(b);
    }
    ctt_model_free(&m);
}

/* ---- a run that stops ---- */

static int step, last;

static void count_step(void *arg, const struct ctt_progress *p)
{
    (void)arg;
    step = (int)p->step;
}

static int is_last(void)
{
    return step >= last;
}

/* Trains the rest of the model's run, from its checkpoint if it has one, up to
 * this step. */
static int train(struct ctt_model *m, int to, const char *checkpoint)
{
    const struct ctt_events ev = { .progress = count_step };
    struct ctt_train_cfg cfg = text_cfg(4);
    struct ctt_data *d;
    struct ctt_result r;
    int rc;

    cfg.batch = 1;
    cfg.epochs = 2;
    cfg.checkpoint = checkpoint;
    cfg.lr = 0.05f;
    d = text_of(letters, &cfg);
    step = 0;
    last = to;
    ctt_stop_set(is_last);
    rc = ctt_train(m, &cfg, d, NULL, &ev, &r);
    ctt_stop_set(NULL);
    ctt_data_close(&d);
    return rc;
}

/* A model that has stopped after 4 of the 6 steps of an epoch. */
static struct ctt_model *stopped(void)
{
    const char *path = clip_path("carry.ckpt");
    struct ctt_model *m = model_of(net);

    CHECK_OK(train(m, 4, path));
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(path, 1, &m));
    return m;
}

static struct ctt_array *array_of(struct ctt_model *m, const char *name)
{
    for (int i = 0; i < m->train->count; i++)
        if (strcmp(m->train->array[i].name, name) == 0)
            return &m->train->array[i];
    CU_FAIL_FATAL("no such array");
    return NULL;
}

static void a_run_goes_on_with_its_states(void)
{
    struct ctt_model *whole = model_of(net), *m = stopped();
    size_t size = (size_t)m->g->weights * sizeof(float);

    CHECK_OK(train(whole, 11, NULL));
    CHECK_OK(train(m, 11, NULL));
    CU_ASSERT(memcmp(m->w, whole->w, size) == 0);
    ctt_model_free(&m);
    m = stopped();
    memset(array_of(m, "states")->data, 0, sizeof(float));
    CHECK_OK(train(m, 11, NULL));
    CU_ASSERT(memcmp(m->w, whole->w, size) != 0);
    ctt_model_free(&m);
    ctt_model_free(&whole);
}

static void damaged_states_are_refused(void)
{
    static const char unusable[] = "the checkpoint has no usable 'states'";
    struct ctt_model *m = stopped();

    array_of(m, "states")->count--;
    CU_ASSERT_EQUAL(train(m, 11, NULL), CTT_EFORMAT);
    CU_ASSERT_STRING_EQUAL(ctt_errmsg(), unusable);
    ctt_model_free(&m);
    m = stopped();
    snprintf(array_of(m, "states")->name, CTT_NAME, "stated");
    CU_ASSERT_EQUAL(train(m, 11, NULL), CTT_EFORMAT);
    CU_ASSERT_STRING_EQUAL(ctt_errmsg(), unusable);
    ctt_model_free(&m);
    m = stopped();
    ++*(int64_t *)array_of(m, "states-of")->data;
    array_of(m, "states")->count -= 64;    /* as a division has others */
    CU_ASSERT_EQUAL(train(m, 11, NULL), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "another division of the model") != NULL);
    ctt_model_free(&m);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "windows are one", windows_are_one },
        { "each lane has a stretch", each_lane_has_a_stretch },
        { "a test has one state", a_test_has_one_state },
        { "norms need full batches", norms_need_full_batches },
        { "states are constants", states_are_constants },
        { "what is kept does not matter", what_is_kept_does_not_matter },
        { "a run goes on with its states", a_run_goes_on_with_its_states },
        { "damaged states are refused", damaged_states_are_refused },
        CU_TEST_INFO_NULL
    };

    return clips_main("carry", clips_clean, tests);
}
