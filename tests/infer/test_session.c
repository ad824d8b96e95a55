/* SPDX-License-Identifier: Apache-2.0
 * test_session.c: a session gives the same however frames come, refuses wrong
 * calls and allocates nothing in a step. */
#include "tests/lib/stream.h"
#include "net/file/file.h"
#include "net/pixels.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void test_chunks(void)
{
    static const int chunks[] = { 2, 3, 7, 8, 9, LONG };
    static const char *const texts[] = { stream_plain, stream_clip,
        stream_int8, stream_ahead, stream_coarse, stream_words, stream_recall };

    for (size_t k = 0; k < CTT_LEN(texts); k++) {
        struct ctt_infer *m = stream_open(texts[k], "ref");
        struct stream one = { .m = m, .chunk = 1 };

        stream_run(&one);
        CHECK_OK(one.rc);
        for (size_t i = 0; i < CTT_LEN(chunks); i++) {
            stream_again(&one, chunks[i], 0, 0);
            stream_again(&one, chunks[i], 1, 1e-5);
        }
        ctt_infer_close(&m);
    }
}

/* With normalise=clip the statistics are those of the stream: however many
 * frames come at once, and after a reset, answers have the same bits, which are
 * those of values that were normalised outside. */
static void light_on(const char *text)
{
    static const int chunks[] = { 2, 7, 8, LONG };
    static float x[LONG * FRAME];
    struct ctt_infer *m = stream_open(text, "ref");
    struct stream one = { .m = m, .chunk = 1, .as_bytes = 1 };
    const struct ctt_infer_input *w = ctt_infer_wants(m);
    struct ctt_input in = { .d = 1, .h = H, .w = W, .c = C, .std = { 1, 1, 1 },
        .normalise = CTT_NORMALISE_CLIP, .gamma = w->gamma };
    struct ctt_session *s = NULL;
    float probs[MOST_CLASSES] = { 0 };
    struct ctt_pixels p;

    CU_ASSERT(w->normalise == CTT_INFER_CLIP && w->std[0] == 1);
    stream_run(&one);
    CHECK_OK(one.rc);
    for (size_t i = 0; i < CTT_LEN(chunks); i++)
        stream_again(&one, chunks[i], 1, 0);
    ctt_pixels_begin(&p, &in);
    for (int t = 0; t < LONG; t++) {
        ctt_pixels_next(&p, stream_bytes + t * FRAME, W * C);
        ctt_pixels_float(&p, stream_bytes + t * FRAME, H * W, C,
                         x + t * FRAME);
    }
    CHECK_OK(ctt_session_open(m, &s));
    CHECK_OK(ctt_session_push(s, stream_bytes + 3 * FRAME, 5));
    ctt_session_reset(s);
    CHECK_OK(ctt_session_push_float(s, x, LONG));
    CHECK_OK(ctt_session_read(s, probs));
    CU_ASSERT(memcmp(probs, one.probs, sizeof(probs)) == 0);
    ctt_session_reset(s);
    CHECK_OK(stream_feed(&one, s));
    CU_ASSERT(memcmp(probs, one.probs, sizeof(probs)) == 0);
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

static void test_light(void)
{
    light_on(stream_light);
    light_on(stream_even);
}

/* Half the contrast in more light, the same answer, but not without
 * normalise=clip. */
static void test_faint(void)
{
    static const char *const texts[] = { stream_even, stream_clip };
    static uint8_t faint[LONG * FRAME];

    for (int i = 0; i < LONG * FRAME; i++)
        faint[i] = (uint8_t)(120 + stream_bytes[i] / 2);
    for (int k = 0; k < 2; k++) {
        struct ctt_infer *m = stream_open(texts[k], "cpu");
        struct stream one = { .m = m, .chunk = 1, .as_bytes = 1 };
        struct ctt_session *s = NULL;
        float probs[MOST_CLASSES] = { 0 }, off = 0;

        stream_run(&one);
        CHECK_OK(ctt_session_open(m, &s));
        CHECK_OK(ctt_session_push(s, faint, LONG));
        CHECK_OK(ctt_session_read(s, probs));
        for (int i = 0; i < 4; i++)
            off = fmaxf(off, fabsf(probs[i] - one.probs[i]));
        CU_ASSERT(k ? off > 0.01f : off < 0.001f);
        ctt_session_close(&s);
        ctt_infer_close(&m);
    }
}

/* What predicts frames cannot be normalised so. */
static void test_light_ahead(void)
{
    struct ctt_infer *m = NULL;

    stream_refused(ctt_infer_open(stream_model(STREAM_LIGHT
                       "conv y in=x out=3 kernel=3 pad=1\n", NULL, 0), "ref", 1,
                       &m), CTT_EUNSUP, "x: a model that predicts frames");
}

/* Two streams through one model, a frame each in turn, one of them behind. */
static void test_interleaved(void)
{
    struct ctt_infer *m = stream_open(stream_clip, "ref");
    struct stream all = { .m = m, .chunk = 1 };
    struct stream late = { .m = m, .chunk = 1, .from = 4 };
    struct ctt_session *a = NULL, *b = NULL;
    float pa[MOST_CLASSES] = { 0 }, pb[MOST_CLASSES] = { 0 };

    stream_run(&all);
    stream_run(&late);
    CHECK_OK(ctt_session_open(m, &a));
    CHECK_OK(ctt_session_open(m, &b));
    for (int i = 0; i < LONG; i++) {
        CHECK_OK(ctt_session_push_float(a, stream_floats + i * FRAME, 1));
        if (i >= 4)
            CHECK_OK(ctt_session_push_float(b, stream_floats + i * FRAME, 1));
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

/* Several sessions of one model, each in a thread. */
static void threads_on(const char *device)
{
    enum { N = 4 };
    struct ctt_infer *m = stream_open(stream_plain, device);
    struct stream alone[N], beside[N];
    pthread_t id[N];

    for (int i = 0; i < N; i++) {
        beside[i] = alone[i] = (struct stream){ .m = m, .chunk = 1 + i,
                                                .from = 3 * i };
        stream_run(&alone[i]);
    }
    for (int i = 0; i < N; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&id[i], NULL, stream_run,
                                             &beside[i]),
                              0);
    for (int i = 0; i < N; i++) {
        pthread_join(id[i], NULL);
        CHECK_OK(beside[i].rc);
        CHECK_CLOSE(beside[i].probs, alone[i].probs, MOST_CLASSES, 1e-6);
    }
    ctt_infer_close(&m);
}

static void test_threads(void)
{
    threads_on("cpu");
    if (getenv("CTT_MODULES"))    /* a simulated GPU (tests/sim) */
        threads_on("cuda");
}

static void test_reset(void)
{
    static const char *const texts[] = { stream_plain, stream_clip,
        stream_int8, stream_ahead };

    for (size_t k = 0; k < CTT_LEN(texts); k++) {
        struct ctt_infer *m = stream_open(texts[k], "ref");
        struct stream late = { .m = m, .chunk = 2, .from = 5 }, again = late;
        struct ctt_session *s = NULL;

        stream_run(&late);
        CHECK_OK(ctt_session_open(m, &s));
        CHECK_OK(ctt_session_push_float(s, stream_floats, 5));
        ctt_session_reset(s);
        CU_ASSERT_EQUAL(ctt_session_frames(s), 0);
        CHECK_OK(stream_feed(&again, s));
        CU_ASSERT(memcmp(late.probs, again.probs, sizeof(late.probs)) == 0);
        ctt_session_close(&s);
        ctt_infer_close(&m);
    }
}

/* ---- errors ---- */

static void test_refused_calls(void)
{
    struct ctt_infer *m = stream_open(stream_clip, "ref");
    struct ctt_session *s = NULL;
    float probs[MOST_CLASSES];

    CHECK_OK(ctt_session_open(m, &s));
    stream_refused(ctt_session_read(s, probs), CTT_EINVAL,
                   "no frame has been pushed");
    stream_refused(ctt_session_push(s, stream_bytes, 0), CTT_EINVAL,
                   "push: 0 frames");
    stream_refused(ctt_session_push_float(s, stream_floats, -1), CTT_EINVAL,
                   "-1 frames");
    stream_refused(ctt_session_push(s, NULL, 1), CTT_EINVAL, "push");
    CHECK_OK(ctt_session_push(s, stream_bytes, 1));
    CHECK_OK(ctt_session_read(s, probs));
    stream_refused(ctt_session_predict(s, 1, probs), CTT_EINVAL,
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

    stream_refused(ctt_infer_open(stream_model(stream_ahead, label, 3), "ref",
                                  1, &m),
                   CTT_EUNSUP, "answer y is neither");
    m = stream_open(stream_ahead, "ref");
    CHECK_OK(ctt_session_open(m, &s));
    stream_refused(ctt_session_predict(s, 1, frame), CTT_EINVAL,
                   "no frame has been");
    CHECK_OK(ctt_session_push(s, stream_bytes, 1));
    stream_refused(ctt_session_predict(s, 0, frame), CTT_EINVAL, "0 frames");
    stream_refused(ctt_session_predict(s, 1, NULL), CTT_EINVAL,
                   "frames is NULL");
    stream_refused(ctt_session_read(s, frame), CTT_EINVAL,
                   "it predicts frames");
    frame[7] = NAN;
    stream_refused(ctt_session_push_float(s, frame, 1), CTT_EINVAL,
                   "value 7 of the frames is nan: values must be finite");
    CU_ASSERT_EQUAL(ctt_session_frames(s), 1);
    CHECK_OK(ctt_session_predict(s, 1, frame));
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

/* Every function takes NULL for every pointer as infer.h says. */
static void test_null(void)
{
    struct ctt_infer *m = stream_open(stream_clip, "ref"), *none = NULL;
    struct ctt_infer *ahead = NULL;
    struct ctt_session *s = NULL;
    float x[FRAME] = { 0 };

    CHECK_OK(ctt_session_open(m, &s));
    stream_refused(ctt_infer_limits(NULL), CTT_EINVAL, "limits is NULL");
    stream_refused(ctt_infer_open(NULL, "cpu", 1, &none), CTT_EINVAL,
                   "path is NULL");
    stream_refused(ctt_infer_open("m", NULL, 1, &none), CTT_EINVAL,
                   "device is NULL");
    stream_refused(ctt_infer_open("m", "cpu", 1, NULL), CTT_EINVAL,
                   "out is NULL");
    CU_ASSERT(ctt_infer_wants(NULL) == NULL && !ctt_infer_predicts(NULL));
    CU_ASSERT(ctt_infer_classes(NULL) == 0 && !ctt_infer_class(NULL, 0));
    stream_refused(ctt_session_open(NULL, &s), CTT_EINVAL, "m is NULL");
    stream_refused(ctt_session_open(m, NULL), CTT_EINVAL, "out is NULL");
    stream_refused(ctt_session_push(NULL, stream_bytes, 1), CTT_EINVAL,
                   "s is NULL");
    stream_refused(ctt_session_push(s, NULL, 1), CTT_EINVAL, "frames is NULL");
    stream_refused(ctt_session_push_float(NULL, x, 1), CTT_EINVAL,
                   "s is NULL");
    stream_refused(ctt_session_push_float(s, NULL, 1), CTT_EINVAL,
                   "frames is NULL");
    stream_refused(ctt_session_read(NULL, x), CTT_EINVAL, "s is NULL");
    stream_refused(ctt_session_read(s, NULL), CTT_EINVAL, "probs is NULL");
    stream_refused(ctt_session_predict(NULL, 1, x), CTT_EINVAL, "s is NULL");
    CU_ASSERT_EQUAL(ctt_session_frames(NULL), 0);
    ctt_session_reset(NULL);
    ctt_session_close(NULL);
    ctt_session_close(&s);
    ctt_infer_close(NULL);
    ctt_infer_close(&m);
    ahead = stream_open(stream_ahead, "ref");
    CHECK_OK(ctt_session_open(ahead, &s));
    stream_refused(ctt_session_predict(s, 1, NULL), CTT_EINVAL,
                   "frames is NULL");
    ctt_session_close(&s);
    ctt_infer_close(&ahead);
}

/* Opens stream_plain after its weight 5 became x. */
static int open_with(float x)
{
    const char *path = stream_model(stream_plain, NULL, 0);
    struct ctt_model *broken = NULL;
    struct ctt_infer *m = NULL;
    int rc;

    CHECK_OK(ctt_model_load(path, 0, &broken));
    broken->w[5] = x;
    CHECK_OK(ctt_model_save(path, broken));
    ctt_model_free(&broken);
    rc = ctt_infer_open(path, "ref", 1, &m);
    ctt_infer_close(&m);
    return rc;
}

/* The model is to blame, not the clip. */
static void test_not_finite(void)
{
    CHECK_OK(open_with(1e30f));
    stream_refused(open_with(NAN), CTT_ENAN, "model.ctt: weight '");
    stream_refused(open_with(-INFINITY), CTT_ENAN, "not finite");
}

static void test_limits(void)
{
    const char *path = stream_model(stream_clip, NULL, 0);
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;

    stream_refused(ctt_infer_limits(&(struct ctt_infer_limits){
        .memory = -1 }), CTT_EINVAL, "for memory");
    CHECK_OK(ctt_infer_limits(&(struct ctt_infer_limits){ .nodes = 2 }));
    stream_refused(ctt_infer_open(path, "ref", 1, &m), CTT_EFORMAT,
                   "more than 2 nodes");
    CHECK_OK(ctt_infer_limits(&(struct ctt_infer_limits){ .classes = 1 }));
    stream_refused(ctt_infer_open(path, "ref", 1, &m), CTT_EFORMAT,
                   "more than the limit of 1");
    CHECK_OK(ctt_infer_limits(&(struct ctt_infer_limits){ .memory = 1 }));
    stream_refused(ctt_infer_open(path, "ref", 1, &m), CTT_ENOMEM,
                   "memory limit");
    CHECK_OK(ctt_infer_limits(&(struct ctt_infer_limits){ .memory = 0 }));
    CHECK_OK(ctt_infer_open(path, "ref", 1, &m));
    CHECK_OK(ctt_infer_limits(&(struct ctt_infer_limits){ .memory = 1 }));
    stream_refused(ctt_session_open(m, &s), CTT_ENOMEM, "memory limit");
    CHECK_OK(ctt_infer_limits(&(struct ctt_infer_limits){ .memory = 0 }));
    CHECK_OK(ctt_session_open(m, &s));
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
    stream_run(&a);
    rc = a.rc;
out:
    ctt_infer_close(&m);
    return rc;
}

static void test_failing_allocations(void)
{
    static const char *const texts[] = { stream_clip, stream_fused,
        stream_ahead };

    for (size_t i = 0; i < CTT_LEN(texts); i++) {
        const char *path = stream_model(texts[i], NULL, 0);
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
    static const char *const texts[] = { stream_plain, stream_clip,
        stream_fused, stream_ahead, stream_light };

    for (size_t k = 0; k < CTT_LEN(texts); k++) {
        struct ctt_infer *m = stream_open(texts[k], "cpu");
        struct ctt_session *s = NULL;
        float probs[MOST_CLASSES];
        long calls = 0;

        CHECK_OK(ctt_session_open(m, &s));
        for (int i = 0; i < LONG; i++) {
            if (i == 2)
                calls = ctt_alloc_calls();
            CHECK_OK(ctt_session_push(s, stream_bytes + i * FRAME, 1));
            CHECK_OK(stream_answer(m, s, probs));
        }
        CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
        ctt_session_close(&s);
        ctt_infer_close(&m);
    }
}

static CU_TestInfo tests[] = {
    { "chunks", test_chunks },
    { "normalise=clip", test_light },
    { "faint frames", test_faint },
    { "normalise=clip of predictions", test_light_ahead },
    { "interleaved", test_interleaved },
    { "threads", test_threads },
    { "reset", test_reset },
    { "refused calls", test_refused_calls },
    { "refused predictions", test_refused_predictions },
    { "failing allocations", test_failing_allocations },
    { "no allocation in a step", test_no_allocation },
    { "NULL", test_null },
    { "numbers that are not finite", test_not_finite },
    { "limits", test_limits },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "session", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return stream_main(suites);
}
