/* SPDX-License-Identifier: Apache-2.0
 * test_batch_decide.c: the streams of a batch decide as sessions do, each by
 * its own frames. */
#include "infer/batch_internal.h"
#include "tests/lib/decided.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 4, STEPS = 2 * LONG };

/* A batch beside sessions, of which one belongs to each stream. */
struct pair {
    struct ctt_infer   *m;
    struct ctt_batch   *b;
    struct ctt_session *s[ROOM];
};

static void open_pair(struct pair *p)
{
    int i;

    *p = (struct pair){ .m = decided_open() };
    CHECK_OK(ctt_infer_decide(p->m));
    CHECK_OK(ctt_batch_open(p->m, ROOM, &p->b));
    for (int k = 0; k < ROOM; k++) {
        CHECK_OK(ctt_batch_join(p->b, &i));
        CHECK_OK(ctt_session_open(p->m, &p->s[k]));
    }
}

static void close_pair(struct pair *p)
{
    ctt_batch_close(&p->b);
    for (int k = 0; k < ROOM; k++)
        ctt_session_close(&p->s[k]);
    ctt_infer_close(&p->m);
}

/* Stream k has a frame in all turns but each (k + 2)th, and begins k frames
 * into the clip, so that streams seldom have a check at the same frame. */
static void feed(struct pair *p, int turn)
{
    const uint8_t *frames[ROOM] = { NULL };

    for (int k = 0; k < ROOM; k++) {
        if (turn % (k + 2) == k)
            continue;
        frames[k] = stream_bytes + (turn + k) % LONG * FRAME;
        CHECK_OK(ctt_session_push(p->s[k], frames[k], 1));
    }
    CHECK_OK(ctt_batch_push(p->b, frames));
}

/* Returns how many have decided. */
static int compare(const struct pair *p)
{
    int made = 0;

    for (int k = 0; k < ROOM; k++) {
        struct ctt_infer_decision d[2];
        int rc[2];

        memset(d, 0, sizeof(d));
        rc[0] = ctt_batch_decided(p->b, k, &d[0]);
        rc[1] = ctt_session_decided(p->s[k], &d[1]);
        CU_ASSERT(rc[0] == rc[1] && memcmp(&d[0], &d[1], sizeof(d[0])) == 0);
        made += rc[0] == 1;
    }
    return made;
}

static int classes_of(const char *text)
{
    struct ctt_infer *m = stream_open(text, "ref");
    int n = ctt_infer_classes(m);

    ctt_infer_close(&m);
    return n;
}

/* One stream begins anew in the middle, one is saved and goes on in the
 * session, and the other way. */
static void check_model(const char *text, double smooth, float threshold,
                        int head)
{
    struct ctt_decision d = decided_all(threshold, 24, smooth);
    char file[sizeof(decided_path) + 8];
    int made = 0;
    struct pair p;

    if (head)
        d.head = (struct ctt_head){ classes_of(text), { 0.9f, 0.1f, -0.05f },
                                    { 0.2f, -0.3f } };
    decided_write(text, d);
    snprintf(file, sizeof(file), "%s.saved", decided_path);
    open_pair(&p);
    for (int t = 0; t < STEPS; t++) {
        feed(&p, t);
        made += compare(&p);
        if (t == 9) {
            CHECK_OK(ctt_batch_reset(p.b, 1));
            ctt_session_reset(p.s[1]);
        }
        if (t == 11) {
            CHECK_OK(ctt_batch_save(p.b, 2, file));
            CHECK_OK(ctt_session_restore(p.s[2], file));
            CHECK_OK(ctt_session_save(p.s[3], file));
            CHECK_OK(ctt_batch_restore(p.b, 3, file));
        }
    }
    CU_ASSERT(made > 0 || isinf(threshold));
    for (int k = 0; k < ROOM; k++) {
        CHECK_OK(ctt_batch_end(p.b, k));
        CHECK_OK(ctt_session_end(p.s[k]));
    }
    CU_ASSERT_EQUAL(compare(&p), ROOM);
    close_pair(&p);
}

static void test_equal(void)
{
    static const float thresholds[] = { 0, 0.27f, 0.29f, 0.26f, INFINITY };

    for (size_t i = 0; i < CTT_LEN(thresholds); i++) {
        check_model(stream_plain, 0, thresholds[i], i % 2);
        check_model(stream_clip, 0.5, thresholds[i], 1 - i % 2);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* A stream without a finite answer is alone in that, until it begins anew. */
static void test_apart(void)
{
    static float nan[FRAME];
    struct ctt_infer_decision d;
    struct ctt_infer *m;
    struct ctt_batch *b = NULL;
    int i;

    for (int k = 0; k < FRAME; k++)
        nan[k] = NAN;
    decided_write(stream_plain, decided_all(0, 8, 0));
    m = decided_open();
    CHECK_OK(ctt_infer_decide(m));
    CHECK_OK(ctt_batch_open(m, 2, &b));
    for (int k = 0; k < 2; k++)
        CHECK_OK(ctt_batch_join(b, &i));
    for (int t = 0; t < 3; t++) {
        const void *const frames[] = { nan, stream_floats };

        CHECK_OK(ctt_batch_step(b, frames, ctt_batch_floats));
        CHECK_OK(ctt_batch_check(b, frames));
        stream_refused(ctt_batch_decided(b, 0, &d), CTT_ENAN, "stream 0: ");
        CU_ASSERT_EQUAL(ctt_batch_decided(b, 1, &d), 1);
        CU_ASSERT(d.frame == 1 && d.early);
    }
    stream_refused(ctt_batch_save(b, 0, "x"), CTT_ENAN, "stream 0");
    stream_refused(ctt_batch_end(b, 0), CTT_ENAN, "stream 0");
    CHECK_OK(ctt_batch_reset(b, 0));
    CU_ASSERT_EQUAL(ctt_batch_decided(b, 0, &d), 0);
    CHECK_OK(ctt_batch_push_float(b, (const float *[]){ stream_floats, NULL }));
    CU_ASSERT_EQUAL(ctt_batch_decided(b, 0, &d), 1);
    ctt_batch_close(&b);
    ctt_infer_close(&m);
}

static void test_refused(void)
{
    struct ctt_infer_decision made;
    struct ctt_infer *m;
    struct ctt_batch *b = NULL;
    struct ctt_decision d = decided_all(0.5f, 3, 0);
    int i;

    d.head.classes = 2;
    decided_write(stream_plain, d);
    m = decided_open();
    stream_refused(ctt_infer_decide(m), CTT_EFORMAT, "has 2 classes");
    ctt_infer_close(&m);
    d.head.classes = 0;
    decided_write(stream_plain, d);
    m = decided_open();
    CHECK_OK(ctt_batch_open(m, 2, &b));
    CHECK_OK(ctt_batch_join(b, &i));
    stream_refused(ctt_batch_decided(b, 0, &made), CTT_EINVAL,
                   "does not decide");
    stream_refused(ctt_batch_end(b, 0), CTT_EINVAL, "does not decide");
    ctt_batch_close(&b);
    CHECK_OK(ctt_infer_decide(m));
    CHECK_OK(ctt_batch_open(m, 2, &b));
    CHECK_OK(ctt_batch_join(b, &i));
    stream_refused(ctt_batch_end(b, 0), CTT_EINVAL, "has had no frame");
    stream_refused(ctt_batch_decided(b, 1, &made), CTT_EINVAL, "no stream 1");
    stream_refused(ctt_batch_end(b, 2), CTT_EINVAL, "no stream 2");
    stream_refused(ctt_batch_decided(NULL, 0, &made), CTT_EINVAL, "b is NULL");
    stream_refused(ctt_batch_decided(b, 0, NULL), CTT_EINVAL, "out is NULL");
    CHECK_OK(ctt_batch_push(b, (const uint8_t *[]){ stream_bytes, NULL }));
    CHECK_OK(ctt_batch_end(b, 0));
    stream_refused(ctt_batch_push(b, (const uint8_t *[]){ stream_bytes, NULL }),
                   CTT_EINVAL, "stream 0, which has ended");
    CHECK_OK(ctt_batch_reset(b, 0));    /* and nothing is broken */
    CHECK_OK(ctt_batch_push(b, (const uint8_t *[]){ stream_bytes, NULL }));
    ctt_batch_close(&b);
    CHECK_OK(ctt_infer_multiply(m, "bf16"));
    stream_refused(ctt_batch_open(m, 2, &b), CTT_EINVAL,
                   "calibrated with fp32, not bf16");
    ctt_infer_close(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_no_allocation(void)
{
    long calls;
    struct pair p;

    decided_write(stream_clip, decided_all(INFINITY, 20, 0.5));
    open_pair(&p);
    for (int t = 0; t < 4; t++)    /* all have had some */
        feed(&p, t);
    calls = ctt_alloc_calls();
    for (int t = 4; t < LONG; t++)
        feed(&p, t);
    for (int k = 0; k < ROOM; k++)
        CHECK_OK(ctt_batch_end(p.b, k));
    CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
    close_pair(&p);
}

static int try_batch(const struct ctt_infer *m)
{
    struct ctt_batch *s = NULL;
    int rc = ctt_batch_open(m, 2, &s);

    ctt_batch_close(&s);
    return rc;
}

static void test_failing_allocations(void)
{
    decided_allocations_fail(try_batch);
}

static CU_TestInfo tests[] = {
    { "as sessions do", test_equal },
    { "each by itself", test_apart },
    { "refused", test_refused },
    { "no allocation in a step", test_no_allocation },
    { "failing allocations", test_failing_allocations },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "batch decisions", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return stream_main(suites);
}
