/* SPDX-License-Identifier: Apache-2.0
 * test_infer.c: a session sees what the trainer's forward sees; what a model
 * says of itself, and what damaged files do. */
#include "tests/lib/clip.h"
#include "tests/lib/stream.h"
#include "infer/inside.h"
#include "run/back/exec.h"

#include <math.h>
#include <string.h>

/* ---- against the trainer's forward ---- */

static void softmax(const float *z, int n, float *p)
{
    double sum = 0, top = (double)z[0];

    for (int i = 1; i < n; i++)
        top = (double)z[i] > top ? (double)z[i] : top;
    for (int i = 0; i < n; i++)
        sum += exp((double)z[i] - top);
    for (int i = 0; i < n; i++)
        p[i] = (float)(exp((double)z[i] - top) / sum);
}

static int give(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    (void)arg;
    memcpy(ctt_run_value(x->r, 0, 0), stream_floats + p->first * FRAME,
           sizeof(float) * (size_t)(p->steps * FRAME));
    return 0;
}

/* The probabilities after each frame, from one window over all frames. */
static void expect(const char *path, const char *device, float *probs)
{
    struct ctt_model *m = NULL;
    struct ctt_dev *dev = NULL;
    struct ctt_exec *x = NULL;
    struct ctt_ask ask[LONG];
    struct ctt_job job = { .steps = LONG, .feedback = LONG, .ask = ask,
                           .give = give };
    int y, classes, is_clip;

    CHECK_OK(ctt_model_load(path, 0, &m));
    CHECK_OK(ctt_dev_open(device, 1, &dev));
    CHECK_OK(ctt_exec_open(&(struct ctt_run_spec){
        .g = m->g, .dev = dev, .w = m->w, .samples = 1, .steps = LONG,
        .asks = LONG }, NULL, &x));
    y = ctt_graph_output(m->g);
    classes = (int)m->g->node[y].out.c;
    is_clip = m->g->clip < m->g->count;
    job.asks = is_clip ? LONG : 0;
    x->r->train = 0;
    for (int i = 0; i < LONG; i++)
        ask[i] = (struct ctt_ask){ 0, i };
    CHECK_OK(ctt_exec_forward(x, &job));
    for (int i = 0; i < LONG; i++)
        softmax((float *)ctt_run_value(x->r, y, is_clip ? 0 : i) +
                (is_clip ? i * classes : 0), classes, probs + i * classes);
    ctt_exec_close(&x);
    ctt_dev_close(&dev);
    ctt_model_free(&m);
}

/* from: the device of the trainer. */
static void check_devices(const char *text, const char *from,
                          const char *device, double tol)
{
    static float want[LONG * MOST_CLASSES], got[LONG * MOST_CLASSES];
    const char *path = stream_model(text, NULL, 0);
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;
    int n;

    expect(path, from, want);
    CHECK_OK(ctt_infer_open(path, device, 1, &m));
    CHECK_OK(ctt_session_open(m, &s));
    n = ctt_infer_classes(m);
    for (int i = 0; i < LONG; i++) {
        CHECK_OK(ctt_session_push_float(s, stream_floats + i * FRAME, 1));
        CHECK_OK(ctt_session_read(s, got + i * n));
    }
    CU_ASSERT_EQUAL(ctt_session_frames(s), LONG);
    if (tol > 0)
        CHECK_CLOSE(got, want, LONG * n, tol);
    else
        CU_ASSERT(memcmp(got, want, sizeof(float) * (size_t)(LONG * n)) == 0);
    ctt_session_close(&s);
    ctt_infer_close(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void check_equal(const char *text, const char *device, double tol)
{
    check_devices(text, device, device, tol);
}

/* What the trainer computes with whole numbers as floats, and a session with
 * bytes, on the plain device and the fastest: the same bits. */
static void test_int8(void)
{
    static const char *const devices[] = { "ref", "cpu" };

    for (size_t i = 0; i < CTT_LEN(devices); i++)
        for (size_t k = 0; k < CTT_LEN(devices); k++)
            check_devices(stream_int8, devices[i], devices[k], 0);
}

static void test_equal(void)
{
    check_equal(stream_plain, "ref", 0);
    check_equal(stream_clip, "ref", 0);
    check_equal(stream_fused, "ref", 1e-5);
    check_equal(stream_plain, "cpu", 1e-5);
    check_equal(stream_clip, "cpu", 1e-5);
    check_equal(stream_fused, "cpu", 1e-5);
}

/* Fusing leaves the one norm that no conv stands before, and no dropout. */
static void test_fuse(void)
{
    struct ctt_model *m = NULL;
    int norms = 0, dropouts = 0;

    CHECK_OK(ctt_model_load(stream_model(stream_fused, NULL, 0), 0, &m));
    CHECK_OK(ctt_simplify(&m));
    for (int i = 0; i < m->g->count; i++) {
        norms += m->g->node[i].op == CTT_OP_NORM;
        dropouts += m->g->node[i].op == CTT_OP_DROPOUT;
    }
    CU_ASSERT_EQUAL(norms, 1);
    CU_ASSERT_EQUAL(dropouts, 0);
    ctt_model_free(&m);
}

/* Prunes every second number of all weights, and each has a mask. */
static void prune_half(struct ctt_model *m)
{
    m->constraint.keep = ctt_calloc((size_t)m->g->weights, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m->constraint.keep);
    for (int64_t i = 0; i < m->g->weights; i++) {
        m->constraint.keep[i] = i % 2 == 0;
        m->w[i] = m->constraint.keep[i] ? m->w[i] : 0;
    }
}

/* What is pruned in a kernel stays so when a norm goes into it; the bias that
 * takes the norm's is kept whole, and what is pruned is zero. */
static void test_fuse_pruned(void)
{
    struct ctt_model *m = NULL;
    int kernels = 0, biases = 0, bad = 0;

    CHECK_OK(ctt_model_load(stream_model(stream_fused, NULL, 0), 0, &m));
    prune_half(m);
    CHECK_OK(ctt_simplify(&m));
    for (int i = 0; i < m->g->count; i++)
        for (int k = 0; k < m->g->node[i].nw; k++) {
            struct ctt_weight w = ctt_model_weight(m, &m->g->node[i], k);
            const float *x = w.t.data;

            kernels += w.keep && k == 0;
            biases += !w.keep && k == 1;
            for (int64_t j = 0; w.keep && j < ctt_volume(&w.t); j++)
                bad += !w.keep[j] && x[j] != 0;
        }
    CU_ASSERT(kernels > 1 && biases > 1);
    CU_ASSERT_EQUAL(bad, 0);
    ctt_model_free(&m);
}

/* ---- prediction ---- */

enum { SEEN = 4, NEXT = LONG - SEEN };

/* Step by step without a session: each answer is the next input. */
static void expect_frames(const char *path, const char *device, float *frames)
{
    struct ctt_model *m = NULL;
    struct ctt_dev *dev = NULL;
    struct ctt_run *r = NULL;
    int y;

    CHECK_OK(ctt_model_load(path, 0, &m));
    CHECK_OK(ctt_dev_open(device, 1, &dev));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
        .g = m->g, .dev = dev, .w = m->w, .samples = 1, .steps = LONG }, &r));
    y = ctt_graph_output(m->g);
    for (int t = 0; t < LONG - 1; t++) {
        const float *in = t < SEEN ? stream_floats + t * FRAME
                                   : frames + (t - SEEN) * FRAME;
        CHECK_OK(ctt_run_make_room(r, 1));
        memcpy(ctt_run_value(r, 0, t), in, sizeof(float) * FRAME);
        CHECK_OK(ctt_run_steps(r, 1));
        if (t >= SEEN - 1)
            CHECK_OK(ctt_run_get(r, y, t, FRAME / C,
                                 frames + (t - SEEN + 1) * FRAME));
    }
    ctt_run_close(&r);
    ctt_dev_close(&dev);
    ctt_model_free(&m);
}

/* All at once, and one by one with the frames pushed by the caller. */
static void check_predicts(const char *text, const char *device, double tol)
{
    static float want[NEXT * FRAME], got[NEXT * FRAME], one[FRAME];
    const char *path = stream_model(text, NULL, 0);
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;

    expect_frames(path, device, want);
    CHECK_OK(ctt_infer_open(path, device, 1, &m));
    CU_ASSERT(ctt_infer_predicts(m));
    CU_ASSERT_EQUAL(ctt_infer_classes(m), 0);
    CU_ASSERT_PTR_NULL(ctt_infer_class(m, 0));
    CHECK_OK(ctt_session_open(m, &s));
    CHECK_OK(ctt_session_push_float(s, stream_floats, SEEN));
    CHECK_OK(ctt_session_predict(s, NEXT, got));
    CU_ASSERT_EQUAL(ctt_session_frames(s), LONG - 1);
    /* What is fed back makes a difference in rounding grow. */
    CHECK_CLOSE(got, want, FRAME, tol);
    CHECK_CLOSE(got, want, NEXT * FRAME, 100 * tol);
    ctt_session_reset(s);
    CHECK_OK(ctt_session_push_float(s, stream_floats, SEEN));
    for (int i = 0; i < NEXT; i++) {
        if (i > 0)
            CHECK_OK(ctt_session_push_float(s, one, 1));
        CHECK_OK(ctt_session_predict(s, 1, one));
        CU_ASSERT(memcmp(one, got + i * FRAME, sizeof(one)) == 0);
    }
    ctt_session_close(&s);
    ctt_infer_close(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_predict(void)
{
    check_predicts(stream_ahead, "ref", 0);
    check_predicts(stream_part, "ref", 0);
    check_predicts(stream_coarse, "ref", 0);
    check_predicts(stream_ahead, "cpu", 1e-5);
    check_predicts(stream_part, "cpu", 1e-5);
    check_predicts(stream_coarse, "cpu", 1e-5);
}

/* ---- what the model says of itself ---- */

static void test_model(void)
{
    static const char *const label[] = { "push", "pull \"it\"", "lift", "drop",
                                         "\xc3\xa4" };
    struct ctt_infer *m = NULL;
    const struct ctt_infer_input *w;

    CHECK_OK(ctt_infer_open(stream_model(stream_plain, label, 5), "ref", 1,
                            &m));
    CU_ASSERT_EQUAL(ctt_infer_classes(m), 5);
    CU_ASSERT_STRING_EQUAL(ctt_infer_class(m, 1), "pull \"it\"");
    CU_ASSERT_STRING_EQUAL(ctt_infer_class(m, 4), "\xc3\xa4");
    CU_ASSERT_PTR_NULL(ctt_infer_class(m, 5));
    CU_ASSERT_PTR_NULL(ctt_infer_class(m, -1));
    w = ctt_infer_wants(m);
    CU_ASSERT(w->h == H && w->w == W && w->c == C && w->fps == 12);
    CU_ASSERT(w->mean[2] == 0.6f && w->std[1] == 0.3f && w->scale == 1);
    CU_ASSERT(w->fit == CTT_INFER_CROP && w->colour == CTT_INFER_RGB);
    ctt_infer_close(&m);
    CHECK_OK(ctt_infer_open(stream_model(stream_clip, NULL, 0), "ref", 1, &m));
    CU_ASSERT_STRING_EQUAL(ctt_infer_class(m, 3), "3");
    ctt_infer_close(&m);
}

/* ---- errors ---- */

static void test_refused_models(void)
{
    static const struct { const char *text, *say; } bad[] = {
        { STREAM_INPUT "conv y in=x out=2\n",
          "answer y is neither one number a "
          "class nor a frame" },
        { STREAM_INPUT "input z h=8 w=6 c=3\nadd a in=x,z\n"
          "pool y in=a kind=avg\n",
          "has 2 inputs" },
        { "input x c=7\nconv y in=x out=2\n", "does not take a picture" },
    };
    struct ctt_infer *m = NULL;

    for (size_t i = 0; i < CTT_LEN(bad); i++)
        stream_refused(ctt_infer_open(stream_model(bad[i].text, NULL, 0), "ref",
                                      1, &m),
                       CTT_EUNSUP, bad[i].say);
    stream_refused(ctt_infer_open(stream_model(stream_plain, NULL, 0), "tpu", 1,
                                  &m),
                   CTT_EINVAL, "no device 'tpu'");
    stream_refused(ctt_infer_open(clip_path("none"), "ref", 1, &m), CTT_EIO,
                   "none: ");
    clip_text("text", "this is no model");
    CU_ASSERT(ctt_infer_open(clip_path("text"), "ref", 1, &m) < 0);
    CU_ASSERT(strstr(ctt_infer_error(), clip_path("text")) != NULL);
    CU_ASSERT_PTR_NULL(m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Cut short anywhere, or with bytes changed, the file is refused or serves. */
static void test_damaged(void)
{
    const char *path = stream_model(stream_clip, NULL, 0);
    const char *hurt = clip_path("hurt");
    size_t n = 0;
    uint8_t *file = clip_bytes(path, &n);
    int cut = 0;

    CU_ASSERT_FATAL(n > 0);
    for (int i = 0; i < 24; i++) {
        struct ctt_infer *m = NULL;
        size_t at = n * (size_t)i / 24;

        clip_file("hurt", file, at);
        cut += ctt_infer_open(hurt, "ref", 1, &m) < 0;
        ctt_infer_close(&m);
        file[at] ^= 0x55;
        clip_file("hurt", file, n);
        file[at] ^= 0x55;
        if (ctt_infer_open(hurt, "ref", 1, &m) >= 0) {
            struct stream a = { .m = m, .chunk = 4 };
            stream_run(&a);
            CHECK_OK(a.rc);
        }
        ctt_infer_close(&m);
    }
    CU_ASSERT_EQUAL(cut, 24);
    ctt_free(file);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static CU_TestInfo tests[] = {
    { "as the trainer", test_equal },
    { "quantised: the same bits", test_int8 },
    { "fuse", test_fuse },
    { "simpler, pruned", test_fuse_pruned },
    { "prediction", test_predict },
    { "model", test_model },
    { "refused models", test_refused_models },
    { "damaged files", test_damaged },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "infer", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return stream_main(suites);
}
