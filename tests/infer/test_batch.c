/* SPDX-License-Identifier: Apache-2.0
 * test_batch.c: the streams of a batch have the answers of sessions, whoever
 * joins, leaves or has no frame. */
#include "infer/batch_internal.h"
#include "tests/lib/stream.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 5, STEPS = 60, AHEAD = 2, ANSWER = AHEAD * FRAME };

/* A window that spreads over the whole stream, states that begin with what they
 * see first, and one answer a step beside a state. */
static const char spread[] = STREAM_INPUT
    "conv e in=x out=4 kernel=3 pad=1 stride=2\n"
    "clip\n"
    "window v in=e steps=3 spread=1\n"
    "window u in=e steps=2 every=3 fill=first\n"
    "conv q in=v out=6 kernel=2,3,3\n"
    "pool p in=q kind=avg\n"
    "pool o in=u kind=avg\n"
    "concat k in=p,o\n"
    "conv y in=k out=4\n";
static const char first[] = STREAM_INPUT
    "state p of=x delay=1 fill=first\n"
    "mul n in=p,x\n"
    "conv e in=n out=4 kernel=3 pad=1 stride=2\n"
    "state s of=e delay=3 fill=first\n"
    "concat k in=e,s\n"
    "pool g in=k kind=avg\n"
    "lstm l in=g hidden=5\n"
    "conv y in=l out=3\n";

static const struct { const char *text; int exact; } models[] = {
    { stream_plain, 0 }, { stream_clip, 0 }, { stream_fused, 0 },
    { stream_int8, 1 }, { stream_ahead, 0 }, { stream_coarse, 0 },
    { stream_part, 0 }, { stream_light, 0 }, { stream_even, 0 },
    { spread, 0 }, { first, 0 }, { stream_words, 0 },
    { stream_recall, 0 },
};

/* A batch beside sessions: of each stream that has joined, one. */
struct pair {
    struct ctt_infer   *m;
    struct ctt_batch   *b;
    struct ctt_session *s[ROOM];
    int                 room;
    uint64_t            at;       /* random numbers drawn */
    double              tol;      /* 0: the same bits */
    int                 answers;  /* compared */
};

static int draw(struct pair *p, int n)
{
    return (int)(ctt_random(99, p->at++) % (uint32_t)n);
}

static void open_pair(struct pair *p, struct ctt_infer *m, int room,
                      double tol)
{
    *p = (struct pair){ .m = m, .room = room, .tol = tol };
    CHECK_OK(ctt_batch_open(m, room, &p->b));
}

static void close_pair(struct pair *p)
{
    ctt_batch_close(&p->b);
    for (int i = 0; i < ROOM; i++)
        ctt_session_close(&p->s[i]);
}

static void join(struct pair *p)
{
    int i = -1, least = 0;

    while (least < p->room && p->s[least])
        least++;
    if (least == p->room) {
        stream_refused(ctt_batch_join(p->b, &i), CTT_EINVAL, "room for");
        return;
    }
    CHECK_OK(ctt_batch_join(p->b, &i));
    CU_ASSERT_EQUAL_FATAL(i, least);
    CHECK_OK(ctt_session_open(p->m, &p->s[i]));
}

/* Streams come, go and begin anew. */
static void change(struct pair *p)
{
    int i = draw(p, p->room);

    if (draw(p, 3) == 0)
        join(p);
    if (draw(p, 12) == 0 && p->s[i]) {
        CHECK_OK(ctt_batch_leave(p->b, i));
        ctt_session_close(&p->s[i]);
    }
    i = draw(p, p->room);
    if (draw(p, 12) == 0 && p->s[i]) {
        CHECK_OK(ctt_batch_reset(p->b, i));
        ctt_session_reset(p->s[i]);
    }
}

/* Most streams have a frame, each another one. */
static void feed(struct pair *p, int as_bytes)
{
    const uint8_t *bytes[ROOM] = { NULL };
    const float *floats[ROOM] = { NULL };

    for (int i = 0; i < p->room; i++) {
        int f = draw(p, LONG);
        if (!p->s[i] || draw(p, 4) == 0)
            continue;
        bytes[i] = stream_bytes + f * FRAME;
        floats[i] = stream_floats + f * FRAME;
        CHECK_OK(as_bytes ? ctt_session_push(p->s[i], bytes[i], 1)
                          : ctt_session_push_float(p->s[i], floats[i], 1));
    }
    CHECK_OK(as_bytes ? ctt_batch_push(p->b, bytes)
                      : ctt_batch_push_float(p->b, floats));
}

static int answer_of(struct pair *p, int i, float *out)
{
    return ctt_infer_predicts(p->m) ? ctt_session_predict(p->s[i], AHEAD, out)
                                    : ctt_session_read(p->s[i], out);
}

/* Answers of some streams that have any. */
static void compare(struct pair *p)
{
    static float got[ROOM][ANSWER], want[ROOM][ANSWER];
    int n = ctt_infer_predicts(p->m) ? ANSWER : ctt_infer_classes(p->m);
    float *to[ROOM] = { NULL };

    for (int i = 0; i < p->room; i++) {
        if (p->s[i])
            CU_ASSERT_EQUAL(ctt_batch_frames(p->b, i),
                            ctt_session_frames(p->s[i]));
        if (!p->s[i] || !ctt_session_frames(p->s[i]) || draw(p, 3) == 0)
            continue;
        to[i] = got[i];
        CHECK_OK(answer_of(p, i, want[i]));
    }
    CHECK_OK(ctt_infer_predicts(p->m) ? ctt_batch_predict(p->b, AHEAD, to)
                                      : ctt_batch_read(p->b, to));
    for (int i = 0; i < p->room; i++) {
        if (!to[i])
            continue;
        p->answers++;
        if (p->tol > 0)
            CHECK_CLOSE(got[i], want[i], n, p->tol);
        else
            CU_ASSERT(memcmp(got[i], want[i], (size_t)n * sizeof(float)) == 0);
    }
}

static void live(struct ctt_infer *m, int room, double tol)
{
    struct pair p;

    open_pair(&p, m, room, tol);
    for (int t = 0; t < STEPS; t++) {
        change(&p);
        feed(&p, t % 3 > 0);
        if (t % 4 != 2)
            compare(&p);
    }
    CU_ASSERT(p.answers > STEPS * room / 6);
    close_pair(&p);
}

static void test_ref(void)
{
    for (size_t k = 0; k < CTT_LEN(models); k++) {
        struct ctt_infer *m = stream_open(models[k].text, "ref");
        live(m, ROOM, 0);
        ctt_infer_close(&m);
    }
}

static void test_cpu(void)
{
    for (size_t k = 0; k < CTT_LEN(models); k++) {
        struct ctt_infer *m = stream_open(models[k].text, "cpu");
        live(m, ROOM, models[k].exact ? 0 : 1e-5);
        live(m, 1, models[k].exact ? 0 : 1e-5);
        ctt_infer_close(&m);
    }
}

/* Values of 16 bits: rounded alike where processors have no kernels for it. */
static void test_half(void)
{
    struct ctt_infer *m = stream_open(stream_clip, "cpu");

    CHECK_OK(ctt_infer_multiply(m, "bf16"));
    live(m, ROOM, 1e-2);
    ctt_infer_close(&m);
}

static void test_cuda(void)
{
    static const char *const texts[] = { stream_clip, stream_part, spread,
                                         first };

    if (!getenv("CTT_MODULES"))    /* a simulated GPU (tests/sim) */
        return;
    for (size_t k = 0; k < CTT_LEN(texts); k++) {
        struct ctt_infer *m;

        if (k > 0 && !ctt_check_tries())
            continue;
        m = stream_open(texts[k], "cuda");
        live(m, ROOM, 1e-4);
        ctt_infer_close(&m);
    }
}

/* The frames of one stream reach no other: with all others missing, and beside
 * streams whose numbers are not finite. */
static void test_apart(void)
{
    static float nan[FRAME];
    struct ctt_infer *m = stream_open(stream_clip, "cpu");
    struct stream alone = { .m = m, .chunk = 1 };
    float probs[3][MOST_CLASSES];
    float *to[3] = { probs[0], probs[1], probs[2] };
    struct ctt_batch *b = NULL;
    int i;

    for (int k = 0; k < FRAME; k++)
        nan[k] = NAN;
    stream_run(&alone);
    CHECK_OK(ctt_batch_open(m, 3, &b));
    for (int k = 0; k < 3; k++)
        CHECK_OK(ctt_batch_join(b, &i));
    for (int t = 0; t < LONG; t++) {
        const float *x = stream_floats + t * FRAME;
        CHECK_OK(ctt_batch_step(b, (const void *[]){ nan, t % 2 ? x : NULL, x },
                                ctt_batch_floats));
        if (t % 2 == 0)
            CHECK_OK(ctt_batch_push_float(b, (const float *[]){ NULL, x,
                                                                NULL }));
    }
    stream_refused(ctt_batch_push_float(b, (const float *[]){ nan, NULL,
                                                              NULL }),
                   CTT_EINVAL, "stream 0: push: value 0 of the frames is nan");
    stream_refused(ctt_batch_read(b, to), CTT_ENAN, "stream 0: ");
    CHECK_CLOSE(probs[1], alone.probs, 4, 1e-5);
    CHECK_CLOSE(probs[2], alone.probs, 4, 1e-5);
    ctt_batch_close(&b);
    ctt_infer_close(&m);
}

/* More streams than there are sizes of steps. */
static void test_many(void)
{
    enum { MANY = 37 };
    static float probs[MANY][MOST_CLASSES];
    struct ctt_infer *m = stream_open(stream_clip, "cpu");
    const uint8_t *frames[MANY];
    struct ctt_batch *b = NULL;
    float *to[MANY];
    int n;

    CHECK_OK(ctt_batch_open(m, MANY, &b));
    for (int i = 0; i < MANY; i++)
        CHECK_OK(ctt_batch_join(b, &n));
    for (int t = 0; t < 2 * LONG; t++) {
        for (int i = 0; i < MANY; i++)
            frames[i] = (i * t) % 5 == 4 || t < i % 7 ? NULL : stream_bytes +
                        (t * i % LONG) * FRAME;
        CHECK_OK(ctt_batch_push(b, frames));
    }
    for (int i = 0; i < MANY; i++)
        to[i] = i % 3 ? probs[i] : NULL;
    CHECK_OK(ctt_batch_read(b, to));
    for (int i = 0; i < MANY; i++) {
        struct ctt_session *s = NULL;
        float want[MOST_CLASSES];
        if (!to[i])
            continue;
        CHECK_OK(ctt_session_open(m, &s));
        for (int t = 0; t < 2 * LONG; t++)
            if (!((i * t) % 5 == 4 || t < i % 7))
                CHECK_OK(ctt_session_push(s, stream_bytes +
                                          (t * i % LONG) * FRAME, 1));
        CHECK_OK(ctt_session_read(s, want));
        CHECK_CLOSE(probs[i], want, 4, 1e-5);
        ctt_session_close(&s);
    }
    ctt_batch_close(&b);
    ctt_infer_close(&m);
}

/* ---- errors and memory ---- */

static void test_refused(void)
{
    struct ctt_infer *m = stream_open(stream_clip, "ref"), *ahead;
    const uint8_t *frames[2] = { stream_bytes, NULL };
    float probs[MOST_CLASSES], *to[2] = { NULL, probs };
    struct ctt_batch *b = NULL;
    int i = 7;

    stream_refused(ctt_batch_open(m, 0, &b), CTT_EINVAL, "of 0 streams");
    stream_refused(ctt_batch_open(m, 4097, &b), CTT_EINVAL, "1 to 4096");
    stream_refused(ctt_batch_open(NULL, 2, &b), CTT_EINVAL, "m is NULL");
    stream_refused(ctt_batch_open(m, 2, NULL), CTT_EINVAL, "out is NULL");
    CU_ASSERT(b == NULL);
    CHECK_OK(ctt_batch_open(m, 2, &b));
    stream_refused(ctt_batch_push(b, frames), CTT_EINVAL,
                   "stream 0, which has not joined");
    stream_refused(ctt_batch_leave(b, 0), CTT_EINVAL, "no stream 0");
    stream_refused(ctt_batch_reset(b, 2), CTT_EINVAL, "no stream 2");
    stream_refused(ctt_batch_reset(b, -1), CTT_EINVAL, "no stream -1");
    stream_refused(ctt_batch_join(b, NULL), CTT_EINVAL, "stream is NULL");
    stream_refused(ctt_batch_join(NULL, &i), CTT_EINVAL, "b is NULL");
    stream_refused(ctt_batch_leave(NULL, 0), CTT_EINVAL, "b is NULL");
    stream_refused(ctt_batch_reset(NULL, 0), CTT_EINVAL, "b is NULL");
    stream_refused(ctt_batch_push(NULL, frames), CTT_EINVAL, "b is NULL");
    stream_refused(ctt_batch_push(b, NULL), CTT_EINVAL, "frames is NULL");
    stream_refused(ctt_batch_read(NULL, to), CTT_EINVAL, "b is NULL");
    stream_refused(ctt_batch_read(b, NULL), CTT_EINVAL, "probs is NULL");
    stream_refused(ctt_batch_predict(NULL, 1, to), CTT_EINVAL, "b is NULL");
    CU_ASSERT(ctt_batch_frames(NULL, 0) == 0 && ctt_batch_frames(b, 9) == 0);
    CHECK_OK(ctt_batch_join(b, &i));
    CHECK_OK(ctt_batch_join(b, &i));
    CU_ASSERT_EQUAL(i, 1);
    CHECK_OK(ctt_batch_push(b, frames));
    stream_refused(ctt_batch_read(b, to), CTT_EINVAL, "stream 1 has had no");
    stream_refused(ctt_batch_predict(b, 1, to), CTT_EINVAL, "is classes");
    CHECK_OK(ctt_batch_push(b, (const uint8_t *[]){ NULL, NULL }));
    CU_ASSERT_EQUAL(ctt_batch_frames(b, 0), 1);
    ctt_batch_close(&b);
    ctt_batch_close(&b);
    ctt_batch_close(NULL);
    ctt_infer_close(&m);
    ahead = stream_open(stream_ahead, "ref");
    CHECK_OK(ctt_batch_open(ahead, 2, &b));
    stream_refused(ctt_batch_read(b, to), CTT_EINVAL, "it predicts");
    stream_refused(ctt_batch_predict(b, 0, to), CTT_EINVAL, "0 frames");
    ctt_batch_close(&b);
    ctt_infer_close(&ahead);
}

static int use(struct ctt_batch *b, const struct ctt_infer *m, int t)
{
    static float answer[ROOM][ANSWER];
    const uint8_t *frames[ROOM] = { NULL };
    float *to[ROOM] = { NULL };
    int rc = 0;

    for (int i = 0; i < ROOM; i++)
        if ((t + i) % 3) {
            frames[i] = stream_bytes + (t + i) % LONG * FRAME;
            to[i] = answer[i];
        }
    if (t % 7 == 6)
        CTT_TRY(ctt_batch_reset(b, t % ROOM));
    CTT_TRY(ctt_batch_push(b, frames));
    if (ctt_infer_predicts(m))
        CTT_TRY(ctt_batch_predict(b, AHEAD, to));
    else
        CTT_TRY(ctt_batch_read(b, to));
out:
    return rc;
}

static void join_all(struct ctt_batch *b)
{
    for (int i = 0, n; i < ROOM; i++)
        CHECK_OK(ctt_batch_join(b, &n));
}

/* Not even in the first step, as opening has run one of each size. */
static void test_no_allocation(void)
{
    for (size_t k = 0; k < CTT_LEN(models); k++) {
        struct ctt_infer *m = stream_open(models[k].text, "cpu");
        struct ctt_batch *b = NULL;
        long calls;

        CHECK_OK(ctt_batch_open(m, ROOM, &b));
        join_all(b);
        calls = ctt_alloc_calls();
        for (int t = 0; t < LONG; t++)
            CHECK_OK(use(b, m, t));
        CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
        ctt_batch_close(&b);
        ctt_infer_close(&m);
    }
}

static void test_failing_allocations(void)
{
    struct ctt_infer *m = stream_open(stream_clip, "cpu");
    long live_blocks = ctt_live_blocks();
    int rc = CTT_ENOMEM;

    for (long k = 1; rc == CTT_ENOMEM && k < 2000; k++) {
        struct ctt_batch *b = NULL;
        ctt_fail_alloc(k);
        rc = ctt_batch_open(m, ROOM, &b);
        ctt_fail_alloc(0);
        CU_ASSERT(rc == 0 || !b);
        ctt_batch_close(&b);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live_blocks);
    }
    CU_ASSERT_EQUAL(rc, 0);
    ctt_infer_close(&m);
}

static CU_TestInfo tests[] = {
    { "plain C: the same bits", test_ref },
    { "processor", test_cpu },
    { "bf16", test_half },
    { "GPU", test_cuda },
    { "streams apart", test_apart },
    { "many streams", test_many },
    { "refused calls", test_refused },
    { "no allocation in a step", test_no_allocation },
    { "failing allocations", test_failing_allocations },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "batch", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return stream_main(suites);
}
