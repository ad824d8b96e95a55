/* SPDX-License-Identifier: Apache-2.0
 * test_decide.c: early decisions of sessions: the same however frames come, by
 * the thresholds in the file, and refused for other models. */
#include "tests/lib/decided.h"
#include "infer/decide.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Confidences and answers at each check, from probabilities that are read by
 * other calls. */
struct trace {
    int   answer[LONG + 1], checks, end;
    float sure[LONG + 1], last;
};

static struct trace trace_of(const char *text, double smooth)
{
    struct ctt_infer *m = stream_open(text, "ref");
    struct ctt_session *s = NULL;
    float probs[MOST_CLASSES], mean[MOST_CLASSES];
    struct trace t = { .checks = 0 };
    int n = ctt_infer_classes(m);

    CHECK_OK(ctt_session_open(m, &s));
    for (int i = 0; i < LONG; i++) {
        CHECK_OK(ctt_session_push(s, stream_bytes + i * FRAME, 1));
        CHECK_OK(ctt_session_read(s, probs));
        t.end = 0;
        for (int j = 1; j < n; j++)
            t.end = probs[j] > probs[t.end] ? j : t.end;
        t.last = probs[t.end];
        if (i + 1 != ctt_decision_frame(t.checks))
            continue;
        for (int j = 0; j < n; j++)
            mean[j] = t.checks ? mean[j] + (float)(1 - smooth) *
                                 (probs[j] - mean[j]) : probs[j];
        for (int j = 1; j < n; j++)
            if (mean[j] > mean[t.answer[t.checks]])
                t.answer[t.checks] = j;
        t.sure[t.checks] = mean[t.answer[t.checks]];
        t.checks++;
    }
    ctt_session_close(&s);
    ctt_infer_close(&m);
    return t;
}

/* Pushes all frames in chunks; what is decided, and after which frame that was
 * told first. */
static int run(struct ctt_session *s, int chunk,
               struct ctt_infer_decision *out)
{
    int told = 0, rc;

    for (int i = 0; i < LONG; i += chunk) {
        int n = LONG - i < chunk ? LONG - i : chunk;
        struct ctt_infer_decision d;
        CHECK_OK(ctt_session_push(s, stream_bytes + i * FRAME, n));
        rc = ctt_session_decided(s, &d);
        CHECK_OK(rc);
        if (rc && !told) {
            told = i + n;
            *out = d;
        }
        if (told)    /* and stays */
            CU_ASSERT(rc == 1 && memcmp(&d, out, sizeof(d)) == 0);
    }
    return told;
}

/* Thresholds that check k reaches and none before: each chunk size gives that
 * decision, and a reset stream gives it again. */
static void check_at(const char *text, int k, double smooth)
{
    static const int chunks[] = { 1, 2, 7, 8, LONG };
    struct trace t = trace_of(text, smooth);
    struct ctt_decision d = decided_all(t.sure[k], t.checks, smooth);
    struct ctt_infer_decision made = { 0 };
    struct ctt_session *s = NULL;
    struct ctt_infer *m;

    for (int i = 0; i < k; i++)
        d.threshold[i] = INFINITY;
    decided_write(text, d);
    m = decided_open();
    CHECK_OK(ctt_infer_decide(m));
    CHECK_OK(ctt_session_open(m, &s));
    for (size_t i = 0; i < CTT_LEN(chunks); i++) {
        int frame = ctt_decision_frame(k), chunk = chunks[i];
        int told = (frame + chunk - 1) / chunk * chunk;
        CU_ASSERT_EQUAL(run(s, chunk, &made), told < LONG ? told : LONG);
        CU_ASSERT(made.answer == t.answer[k] && made.early == 1 &&
                  made.frame == frame && made.confidence == t.sure[k]);
        ctt_session_reset(s);
        CU_ASSERT_EQUAL(ctt_session_decided(s, &made), 0);
    }
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

static void test_early(void)
{
    static const char *const texts[] = { stream_plain, stream_clip };

    for (size_t i = 0; i < CTT_LEN(texts); i++) {
        check_at(texts[i], 0, 0);
        check_at(texts[i], 9, 0);
        check_at(texts[i], 20, 0);
        check_at(texts[i], 12, 0.75);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* No threshold is reached: the answer at the end, of the last frame alone. */
static void test_end(void)
{
    struct trace t = trace_of(stream_clip, 0);
    struct ctt_infer_decision d = { .answer = -1 };
    struct ctt_session *s = NULL;
    struct ctt_infer *m;

    decided_write(stream_clip, decided_all(INFINITY, 4, 0.9));
    m = decided_open();
    CHECK_OK(ctt_infer_decide(m));
    CHECK_OK(ctt_session_open(m, &s));
    stream_refused(ctt_session_end(s), CTT_EINVAL, "no frame");
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(run(s, 5, &d), 0);
        CHECK_OK(ctt_session_end(s));
        CHECK_OK(ctt_session_end(s));
        CU_ASSERT_EQUAL(ctt_session_decided(s, &d), 1);
        CU_ASSERT(d.answer == t.end && d.early == 0 && d.frame == LONG &&
                  d.confidence == t.last);
        stream_refused(ctt_session_push(s, stream_bytes, 1), CTT_EINVAL,
                       "the stream has ended");
        ctt_session_reset(s);
    }
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

/* An early decision is not changed by the end. */
static void test_end_late(void)
{
    struct ctt_infer_decision a, b;
    struct ctt_session *s = NULL;
    struct ctt_infer *m;

    decided_write(stream_plain, decided_all(0, 1, 0));
    m = decided_open();
    CHECK_OK(ctt_infer_decide(m));
    CHECK_OK(ctt_session_open(m, &s));
    CHECK_OK(ctt_session_push(s, stream_bytes, LONG));
    CU_ASSERT_EQUAL(ctt_session_decided(s, &a), 1);
    CHECK_OK(ctt_session_end(s));
    CU_ASSERT_EQUAL(ctt_session_decided(s, &b), 1);
    CU_ASSERT(memcmp(&a, &b, sizeof(a)) == 0 && a.frame == 1 && a.early);
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

/* Thresholds for another model, type or task. */
static void test_refused(void)
{
    struct ctt_decision d = decided_all(0.5f, 3, 0);
    struct ctt_infer_decision made;
    struct ctt_session *s = NULL;
    struct ctt_infer *m = stream_open(stream_plain, "ref");

    stream_refused(ctt_infer_decide(m), CTT_EINVAL, "has no thresholds");
    CHECK_OK(ctt_session_open(m, &s));
    stream_refused(ctt_session_decided(s, &made), CTT_EINVAL,
                   "does not decide");
    stream_refused(ctt_session_end(s), CTT_EINVAL, "does not decide");
    stream_refused(ctt_session_decided(NULL, &made), CTT_EINVAL, "s is NULL");
    stream_refused(ctt_session_decided(s, NULL), CTT_EINVAL, "out is NULL");
    stream_refused(ctt_session_end(NULL), CTT_EINVAL, "s is NULL");
    stream_refused(ctt_infer_decide(NULL), CTT_EINVAL, "m is NULL");
    ctt_session_close(&s);
    ctt_infer_close(&m);
    strcpy(d.type, "bf16");
    decided_write(stream_plain, d);
    m = decided_open();
    CHECK_OK(ctt_session_open(m, &s));    /* who does not decide may */
    ctt_session_close(&s);
    CHECK_OK(ctt_infer_decide(m));
    stream_refused(ctt_session_open(m, &s), CTT_EINVAL,
                   "calibrated with bf16, not fp32");
    CHECK_OK(ctt_infer_multiply(m, "bf16"));
    CHECK_OK(ctt_session_open(m, &s));
    ctt_session_close(&s);
    ctt_infer_close(&m);
    decided_write(stream_ahead, decided_all(0.5f, 3, 0));
    m = decided_open();
    stream_refused(ctt_infer_decide(m), CTT_EINVAL, "predicts frames");
    ctt_infer_close(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Saved after `cut` frames and restored into a session that has seen others, a
 * stream decides as if it had not been. */
static void check_saved(int cut, const char *file)
{
    struct ctt_infer *m = decided_open();
    struct ctt_session *s[2] = { NULL, NULL };
    struct ctt_infer_decision d[2];
    int rc[2];

    CHECK_OK(ctt_infer_decide(m));
    for (int i = 0; i < 2; i++)
        CHECK_OK(ctt_session_open(m, &s[i]));
    if (cut)
        CHECK_OK(ctt_session_push(s[0], stream_bytes, cut));
    CHECK_OK(ctt_session_save(s[0], file));
    CHECK_OK(ctt_session_push(s[1], stream_bytes + FRAME, 20));
    CHECK_OK(ctt_session_restore(s[1], file));
    for (int k = cut; k <= LONG; k++)
        for (int i = 0; i < 2; i++) {
            memset(&d[i], 0, sizeof(d[i]));
            if (k < LONG)
                CHECK_OK(ctt_session_push(s[i], stream_bytes + k * FRAME, 1));
            else
                CHECK_OK(ctt_session_end(s[i]));
            rc[i] = ctt_session_decided(s[i], &d[i]);
            CU_ASSERT(i == 0 || (rc[0] == rc[1] &&
                                 memcmp(&d[0], &d[1], sizeof(d[0])) == 0));
        }
    CHECK_OK(ctt_session_save(s[0], file));
    CHECK_OK(ctt_session_restore(s[1], file));
    stream_refused(ctt_session_push(s[1], stream_bytes, 1), CTT_EINVAL,
                   "the stream has ended");
    for (int i = 0; i < 2; i++)
        ctt_session_close(&s[i]);
    ctt_infer_close(&m);
}

/* A file goes on only where decisions are made by the same thresholds. */
static void refuse_saved(const char *file, const char *other)
{
    struct ctt_infer *m = decided_open();
    struct ctt_session *s = NULL;
    struct ctt_batch *b = NULL;
    int stream;

    CHECK_OK(ctt_session_open(m, &s));
    stream_refused(ctt_session_restore(s, file), CTT_EINVAL,
                   "where streams decide early");
    CHECK_OK(ctt_session_push(s, stream_bytes, 3));
    CHECK_OK(ctt_session_save(s, other));
    ctt_session_close(&s);
    CHECK_OK(ctt_infer_decide(m));
    CHECK_OK(ctt_session_open(m, &s));
    stream_refused(ctt_session_restore(s, other), CTT_EINVAL,
                   "where streams do not decide early");
    CHECK_OK(ctt_batch_open(m, 1, &b));
    CHECK_OK(ctt_batch_join(b, &stream));
    stream_refused(ctt_batch_restore(b, stream, other), CTT_EINVAL,
                   "where streams do not decide early");
    CHECK_OK(ctt_batch_restore(b, stream, file));
    ctt_batch_close(&b);
    ctt_session_close(&s);
    ctt_infer_close(&m);
    decided_write(stream_plain, decided_all(0.9f, 4, 0));
    m = decided_open();
    CHECK_OK(ctt_infer_decide(m));
    CHECK_OK(ctt_session_open(m, &s));
    stream_refused(ctt_session_restore(s, file), CTT_EINVAL,
                   "other thresholds");
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

static void test_saved(void)
{
    struct trace t = trace_of(stream_plain, 0.75);
    struct ctt_decision d = decided_all(t.sure[12], t.checks, 0.75);
    char file[300], other[300];

    for (int i = 0; i < 12; i++)
        d.threshold[i] = INFINITY;
    decided_write(stream_plain, d);
    snprintf(file, sizeof(file), "%s.saved", decided_path);
    snprintf(other, sizeof(other), "%s.other", decided_path);
    for (int cut = 0; cut < LONG; cut += cut < 8 ? 4 : 3)
        check_saved(cut, file);
    refuse_saved(file, other);
    remove(file);
    remove(other);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_no_allocation(void)
{
    struct ctt_infer_decision d;
    struct ctt_session *s = NULL;
    struct ctt_infer *m;
    long calls;

    decided_write(stream_clip, decided_all(INFINITY, 20, 0.5));
    m = decided_open();
    CHECK_OK(ctt_infer_decide(m));
    CHECK_OK(ctt_session_open(m, &s));
    CHECK_OK(ctt_session_push(s, stream_bytes, 2));
    calls = ctt_alloc_calls();
    for (int i = 2; i < LONG; i++) {
        CHECK_OK(ctt_session_push(s, stream_bytes + i * FRAME, 1));
        CU_ASSERT_EQUAL(ctt_session_decided(s, &d), 0);
    }
    CHECK_OK(ctt_session_end(s));
    CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

static int try_session(const struct ctt_infer *m)
{
    struct ctt_session *s = NULL;
    int rc = ctt_session_open(m, &s);

    ctt_session_close(&s);
    return rc;
}

static void test_failing_allocations(void)
{
    decided_allocations_fail(try_session);
}

static CU_TestInfo tests[] = {
    { "early", test_early },
    { "at the end", test_end },
    { "early, then the end", test_end_late },
    { "refused", test_refused },
    { "saved and restored", test_saved },
    { "no allocation in a step", test_no_allocation },
    { "failing allocations", test_failing_allocations },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "decide", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return stream_main(suites);
}
