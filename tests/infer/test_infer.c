/* SPDX-License-Identifier: Apache-2.0
 * test_infer.c: a session sees what the trainer's forward sees, however frames
 * come; what damaged files and wrong calls do. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "infer/fuse.h"
#include "infer/infer.h"
#include "run/back/exec.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { H = 8, W = 6, C = 3, FRAME = H * W * C, LONG = 29, MOST_CLASSES = 8 };

#define INPUT "input x h=8 w=6 c=3 fps=12 mean=0.4,0.5,0.6 std=0.25,0.3,0.2\n"

static const char plain[] = INPUT       /* nothing to fuse, an answer a step */
    "conv e in=x out=4 kernel=3 pad=1 stride=2\n"
    "act f in=e kind=relu\n"
    "convttlstm l in=f hidden=4 order=2 steps=3 rank=2\n"
    "pool q in=l kind=avg\n"
    "conv y in=q out=5\n";

static const char clip[] = INPUT        /* recurrent, then a 3-D conv */
    "conv e in=x out=4 kernel=3 pad=1 stride=2\n"
    "convlstm l in=e hidden=3\n"
    "clip\n"
    "window v in=l steps=4 every=3\n"
    "conv q in=v out=6 kernel=2,3,3\n"
    "act a in=q kind=relu\n"
    "pool p in=a kind=avg\n"
    "conv y in=p out=4\n";

static const char fused[] = INPUT       /* all that a session leaves out */
    "conv e in=x out=4 kernel=3 pad=1 stride=2 bias=0\n"
    "norm n in=e kind=batch\n"
    "act f in=n kind=relu\n"
    "dropout d in=f rate=0.5\n"
    "resblock b in=d out=6 stride=2\n"
    "deconv u in=b out=4 kernel=2 stride=2\n"
    "norm m in=u kind=batch\n"
    "pool t in=m kind=avg\n"
    "lstm l in=t hidden=5\n"
    "norm o in=l kind=batch\n"          /* no conv before it: it stays */
    "conv y in=o out=3\n";

static const char ahead[] = INPUT       /* the answer is the next frame */
    "convttlstm l in=x hidden=4 kernel=3 order=2 steps=3 rank=2\n"
    "conv o in=l out=3\n"
    "act y in=o kind=sigmoid\n";

static const char part[] = INPUT        /* ... or a part of wider pixels */
    "convlstm l in=x hidden=4 kernel=3\n"
    "conv o in=l out=5\n"
    "slice y in=o from=1 to=4\n";

static uint8_t bytes[LONG * FRAME];
static float floats[LONG * FRAME];

static void fill_frames(void)
{
    static const float mean[] = { 0.4f, 0.5f, 0.6f };
    static const float std[] = { 0.25f, 0.3f, 0.2f };

    ctt_check_fill(floats, LONG * FRAME, 5);
    for (int64_t i = 0; i < LONG * FRAME; i++) {
        bytes[i] = (uint8_t)(127.5f + 127 * floats[i]);
        floats[i] = ((float)bytes[i] / 255 - mean[i % C]) / std[i % C];
    }
}

static void fill_weights(const struct ctt_graph *g, float *w)
{
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++) {
            const struct ctt_node *n = &g->node[i];
            float *p = w + n->at[k];
            ctt_check_fill(p, ctt_volume(&n->w[k]),
                           (uint64_t)(10 * i + k + 1));
            for (int64_t j = 0; j < ctt_volume(&n->w[k]); j++)
                p[j] = n->nw == 4 && k % 3 == 0 ? 1.2f + p[j] : 0.6f * p[j];
        }
}

/* Writes a model with some weights and returns its path. */
static const char *model_file(const char *text, const char *const *label,
                              int labels)
{
    const char *path = clip_path("model.ctt");
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    fill_weights(m->g, m->w);
    if (labels)
        CHECK_OK(ctt_model_labels(m, (char *const *)label, labels));
    CHECK_OK(ctt_model_save(path, m));
    ctt_model_free(&m);
    return path;
}

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

static int give(void *arg, struct ctt_exec *x, const struct ctt_part *p)
{
    (void)arg;
    memcpy(ctt_run_value(x->r, 0, 0), floats + p->first * FRAME,
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
    struct ctt_job job = { .steps = LONG, .fed = LONG, .ask = ask,
                           .give = give };
    int y, classes, is_clip;

    CHECK_OK(ctt_model_load(path, 0, &m));
    CHECK_OK(ctt_dev_open(device, 1, &dev));
    CHECK_OK(ctt_exec_open(m->g, dev, m->w, 1, LONG, LONG, NULL, &x));
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

static void check_equal(const char *text, const char *device, double tol)
{
    static float want[LONG * MOST_CLASSES], got[LONG * MOST_CLASSES];
    const char *path = model_file(text, NULL, 0);
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;
    int n;

    expect(path, device, want);
    CHECK_OK(ctt_infer_open(path, device, 1, &m));
    CHECK_OK(ctt_session_open(m, &s));
    n = ctt_infer_classes(m);
    for (int i = 0; i < LONG; i++) {
        CHECK_OK(ctt_session_push_float(s, floats + i * FRAME, 1));
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

static void test_equal(void)
{
    check_equal(plain, "ref", 0);
    check_equal(clip, "ref", 0);
    check_equal(fused, "ref", 1e-5);
    check_equal(plain, "cpu", 1e-5);
    check_equal(clip, "cpu", 1e-5);
    check_equal(fused, "cpu", 1e-5);
}

/* Fusing leaves the one norm that no conv stands before, and no dropout. */
static void test_fuse(void)
{
    struct ctt_model *m = NULL;
    int norms = 0, dropouts = 0;

    CHECK_OK(ctt_model_load(model_file(fused, NULL, 0), 0, &m));
    CHECK_OK(ctt_fuse(m));
    for (int i = 0; i < m->g->count; i++) {
        norms += m->g->node[i].op == CTT_OP_NORM;
        dropouts += m->g->node[i].op == CTT_OP_DROPOUT;
    }
    CU_ASSERT_EQUAL(norms, 1);
    CU_ASSERT_EQUAL(dropouts, 0);
    ctt_model_free(&m);
}

/* ---- however frames come ---- */

struct stream {
    const struct ctt_infer *m;
    int   from, chunk, as_bytes, rc;
    float probs[MOST_CLASSES];
};

/* probs: what comes first of a predicted frame. */
static int answer(const struct ctt_infer *m, struct ctt_session *s,
                  float *probs)
{
    float frames[2 * FRAME];
    int rc;

    if (!ctt_infer_predicts(m))
        return ctt_session_read(s, probs);
    rc = ctt_session_predict(s, 2, frames);
    if (rc >= 0)
        memcpy(probs, frames + FRAME, MOST_CLASSES * sizeof(*probs));
    return rc;
}

static int feed(struct stream *a, struct ctt_session *s)
{
    int rc = 0;

    for (int i = a->from; i < LONG; i += a->chunk) {
        int n = a->chunk < LONG - i ? a->chunk : LONG - i;
        CTT_TRY(a->as_bytes
                ? ctt_session_push(s, bytes + i * FRAME, n)
                : ctt_session_push_float(s, floats + i * FRAME, n));
    }
    rc = answer(a->m, s, a->probs);
out:
    return rc;
}

static void *stream(void *arg)
{
    struct stream *a = arg;
    struct ctt_session *s = NULL;

    a->rc = ctt_session_open(a->m, &s);
    if (a->rc >= 0)
        a->rc = feed(a, s);
    ctt_session_close(&s);
    return NULL;
}

static struct ctt_infer *open_model(const char *text, const char *device)
{
    struct ctt_infer *m = NULL;

    CHECK_OK(ctt_infer_open(model_file(text, NULL, 0), device, 1, &m));
    return m;
}

static void test_chunks(void)
{
    static const int chunks[] = { 2, 3, 7, 8, 9, LONG };
    static const char *const texts[] = { plain, clip, ahead };

    for (size_t k = 0; k < CTT_LEN(texts); k++) {
        struct ctt_infer *m = open_model(texts[k], "ref");
        struct stream one = { .m = m, .chunk = 1 };

        stream(&one);
        CHECK_OK(one.rc);
        for (size_t i = 0; i < CTT_LEN(chunks); i++) {
            struct stream more = { .m = m, .chunk = chunks[i] };
            stream(&more);
            CHECK_OK(more.rc);
            CU_ASSERT(memcmp(one.probs, more.probs, sizeof(one.probs)) == 0);
            more.as_bytes = 1;
            stream(&more);
            CHECK_OK(more.rc);
            CHECK_CLOSE(more.probs, one.probs, MOST_CLASSES, 1e-5);
        }
        ctt_infer_close(&m);
    }
}

/* Two streams through one model, a frame each in turn, one of them behind. */
static void test_interleaved(void)
{
    struct ctt_infer *m = open_model(clip, "ref");
    struct stream all = { .m = m, .chunk = 1 };
    struct stream late = { .m = m, .chunk = 1, .from = 4 };
    struct ctt_session *a = NULL, *b = NULL;
    float pa[MOST_CLASSES] = { 0 }, pb[MOST_CLASSES] = { 0 };

    stream(&all);
    stream(&late);
    CHECK_OK(ctt_session_open(m, &a));
    CHECK_OK(ctt_session_open(m, &b));
    for (int i = 0; i < LONG; i++) {
        CHECK_OK(ctt_session_push_float(a, floats + i * FRAME, 1));
        if (i >= 4)
            CHECK_OK(ctt_session_push_float(b, floats + i * FRAME, 1));
        CHECK_OK(ctt_session_read(a, pa));
    }
    CHECK_OK(ctt_session_read(b, pb));
    CU_ASSERT(memcmp(pa, all.probs, sizeof(pa)) == 0);
    CU_ASSERT(memcmp(pb, late.probs, sizeof(pb)) == 0);
    CU_ASSERT(memcmp(pa, pb, sizeof(pa)) != 0);
    ctt_session_close(&a);
    ctt_session_close(&b);
    ctt_infer_close(&m);
}

static void test_threads(void)
{
    enum { N = 4 };
    struct ctt_infer *m = open_model(plain, "cpu");
    struct stream alone[N], beside[N];
    pthread_t id[N];

    for (int i = 0; i < N; i++) {
        beside[i] = alone[i] = (struct stream){ .m = m, .chunk = 1 + i,
                                                .from = 3 * i };
        stream(&alone[i]);
    }
    for (int i = 0; i < N; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&id[i], NULL, stream, &beside[i]),
                              0);
    for (int i = 0; i < N; i++) {
        pthread_join(id[i], NULL);
        CHECK_OK(beside[i].rc);
        CHECK_CLOSE(beside[i].probs, alone[i].probs, MOST_CLASSES, 1e-6);
    }
    ctt_infer_close(&m);
}

static void test_reset(void)
{
    static const char *const texts[] = { plain, clip, ahead };

    for (size_t k = 0; k < CTT_LEN(texts); k++) {
        struct ctt_infer *m = open_model(texts[k], "ref");
        struct stream late = { .m = m, .chunk = 2, .from = 5 }, again = late;
        struct ctt_session *s = NULL;

        stream(&late);
        CHECK_OK(ctt_session_open(m, &s));
        CHECK_OK(ctt_session_push_float(s, floats, 5));
        ctt_session_reset(s);
        CU_ASSERT_EQUAL(ctt_session_frames(s), 0);
        CHECK_OK(feed(&again, s));
        CU_ASSERT(memcmp(late.probs, again.probs, sizeof(late.probs)) == 0);
        ctt_session_close(&s);
        ctt_infer_close(&m);
    }
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
    CHECK_OK(ctt_run_open(m->g, dev, m->w, 1, LONG, 0, 0, &r));
    y = ctt_graph_output(m->g);
    for (int t = 0; t < LONG - 1; t++) {
        const float *in = t < SEEN ? floats + t * FRAME
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
    const char *path = model_file(text, NULL, 0);
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;

    expect_frames(path, device, want);
    CHECK_OK(ctt_infer_open(path, device, 1, &m));
    CU_ASSERT(ctt_infer_predicts(m));
    CU_ASSERT_EQUAL(ctt_infer_classes(m), 0);
    CU_ASSERT_PTR_NULL(ctt_infer_class(m, 0));
    CHECK_OK(ctt_session_open(m, &s));
    CHECK_OK(ctt_session_push_float(s, floats, SEEN));
    CHECK_OK(ctt_session_predict(s, NEXT, got));
    CU_ASSERT_EQUAL(ctt_session_frames(s), LONG - 1);
    /* What is fed back makes a difference in rounding grow. */
    CHECK_CLOSE(got, want, FRAME, tol);
    CHECK_CLOSE(got, want, NEXT * FRAME, 100 * tol);
    ctt_session_reset(s);
    CHECK_OK(ctt_session_push_float(s, floats, SEEN));
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
    check_predicts(ahead, "ref", 0);
    check_predicts(part, "ref", 0);
    check_predicts(ahead, "cpu", 1e-5);
    check_predicts(part, "cpu", 1e-5);
}

/* ---- what the model says of itself ---- */

static void test_model(void)
{
    static const char *const label[] = { "push", "pull \"it\"", "lift", "drop",
                                         "\xc3\xa4" };
    struct ctt_infer *m = NULL;
    const struct ctt_infer_input *w;

    CHECK_OK(ctt_infer_open(model_file(plain, label, 5), "ref", 1, &m));
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
    CHECK_OK(ctt_infer_open(model_file(clip, NULL, 0), "ref", 1, &m));
    CU_ASSERT_STRING_EQUAL(ctt_infer_class(m, 3), "3");
    ctt_infer_close(&m);
}

/* ---- errors ---- */

static void refused(int rc, int code, const char *message)
{
    CU_ASSERT_EQUAL(rc, code);
    if (!strstr(ctt_infer_error(), message))
        printf("\n    '%s', expected '%s'", ctt_infer_error(), message);
    CU_ASSERT(strstr(ctt_infer_error(), message) != NULL);
}

static void test_refused_models(void)
{
    static const struct { const char *text, *say; } bad[] = {
        { INPUT "conv y in=x out=2\n", "answer y is neither one number a "
          "class nor a frame" },
        { INPUT "input z h=8 w=6 c=3\nadd a in=x,z\npool y in=a kind=avg\n",
          "has 2 inputs" },
        { "input x c=7\nconv y in=x out=2\n", "does not take a picture" },
    };
    struct ctt_infer *m = NULL;

    for (size_t i = 0; i < CTT_LEN(bad); i++)
        refused(ctt_infer_open(model_file(bad[i].text, NULL, 0), "ref", 1, &m),
                CTT_EUNSUP, bad[i].say);
    refused(ctt_infer_open(model_file(plain, NULL, 0), "tpu", 1, &m),
            CTT_EINVAL, "no device 'tpu'");
    refused(ctt_infer_open(clip_path("none"), "ref", 1, &m), CTT_EIO,
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
    const char *path = model_file(clip, NULL, 0), *hurt = clip_path("hurt");
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
            stream(&a);
            CHECK_OK(a.rc);
        }
        ctt_infer_close(&m);
    }
    CU_ASSERT_EQUAL(cut, 24);
    ctt_free(file);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_refused_calls(void)
{
    struct ctt_infer *m = open_model(clip, "ref");
    struct ctt_session *s = NULL;
    float probs[MOST_CLASSES];

    CHECK_OK(ctt_session_open(m, &s));
    refused(ctt_session_read(s, probs), CTT_EINVAL, "no frame has been pushed");
    refused(ctt_session_push(s, bytes, 0), CTT_EINVAL, "push: 0 frames");
    refused(ctt_session_push_float(s, floats, -1), CTT_EINVAL, "-1 frames");
    refused(ctt_session_push(s, NULL, 1), CTT_EINVAL, "push");
    CHECK_OK(ctt_session_push(s, bytes, 1));
    CHECK_OK(ctt_session_read(s, probs));
    refused(ctt_session_predict(s, 1, probs), CTT_EINVAL,
            "answer is classes, not a frame");
    CU_ASSERT(!ctt_infer_predicts(m));
    ctt_session_close(&s);
    ctt_session_close(&s);
    ctt_infer_close(&m);
    ctt_infer_close(&m);
}

/* A frame with labels is none: there are three classes or it is refused. */
static void test_refused_predictions(void)
{
    static const char *const label[] = { "a", "b", "c" };
    static float frame[FRAME];
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;

    refused(ctt_infer_open(model_file(ahead, label, 3), "ref", 1, &m),
            CTT_EUNSUP, "answer y is neither");
    m = open_model(ahead, "ref");
    CHECK_OK(ctt_session_open(m, &s));
    refused(ctt_session_predict(s, 1, frame), CTT_EINVAL, "no frame has been");
    CHECK_OK(ctt_session_push(s, bytes, 1));
    refused(ctt_session_predict(s, 0, frame), CTT_EINVAL, "0 frames");
    refused(ctt_session_predict(s, 1, NULL), CTT_EINVAL, "1 frames");
    refused(ctt_session_read(s, frame), CTT_EINVAL, "it predicts frames");
    frame[7] = NAN;
    CHECK_OK(ctt_session_push_float(s, frame, 1));
    refused(ctt_session_predict(s, 1, frame), CTT_ENAN, "not finite");
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

/* ---- memory ---- */

static int all_of_it(const char *path)
{
    struct ctt_infer *m = NULL;
    struct stream a = { .chunk = 3, .from = LONG - 10 };
    int rc;

    CTT_TRY(ctt_infer_open(path, "cpu", 1, &m));
    a.m = m;
    stream(&a);
    rc = a.rc;
out:
    ctt_infer_close(&m);
    return rc;
}

static void test_failing_allocations(void)
{
    static const char *const texts[] = { clip, fused, ahead };

    for (size_t i = 0; i < CTT_LEN(texts); i++) {
        const char *path = model_file(texts[i], NULL, 0);
        int rc = CTT_ENOMEM;

        for (long k = 1; rc == CTT_ENOMEM && k < 5000; k++) {
            ctt_fail_alloc(k);
            rc = all_of_it(path);
            ctt_fail_alloc(0);
            CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
        }
        CU_ASSERT_EQUAL(rc, 0);
    }
}

static void test_no_allocation(void)
{
    static const char *const texts[] = { plain, clip, fused, ahead };

    for (size_t k = 0; k < CTT_LEN(texts); k++) {
        struct ctt_infer *m = open_model(texts[k], "cpu");
        struct ctt_session *s = NULL;
        float probs[MOST_CLASSES];
        long calls = 0;

        CHECK_OK(ctt_session_open(m, &s));
        for (int i = 0; i < LONG; i++) {
            if (i == 2)
                calls = ctt_alloc_calls();
            CHECK_OK(ctt_session_push(s, bytes + i * FRAME, 1));
            CHECK_OK(answer(m, s, probs));
        }
        CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
        ctt_session_close(&s);
        ctt_infer_close(&m);
    }
}

static CU_TestInfo tests[] = {
    { "as the trainer", test_equal },
    { "fuse", test_fuse },
    { "chunks", test_chunks },
    { "interleaved", test_interleaved },
    { "threads", test_threads },
    { "reset", test_reset },
    { "prediction", test_predict },
    { "model", test_model },
    { "refused models", test_refused_models },
    { "damaged files", test_damaged },
    { "refused calls", test_refused_calls },
    { "refused predictions", test_refused_predictions },
    { "failing allocations", test_failing_allocations },
    { "no allocation in a step", test_no_allocation },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "infer", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int status;

    fill_frames();
    status = ctt_check_main(suites);
    clip_clean();
    return status;
}
