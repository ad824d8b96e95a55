/* SPDX-License-Identifier: Apache-2.0
 * test_events.c: events of probabilities over time, against a plain version
 * that looks at whole arrays. */
#include "infer/infer.h"
#include "base/random.h"
#include "tests/lib/allocs.h"

#include <math.h>
#include <string.h>

enum { PUSHES = 400, CLASSES = 3, MOST = CLASSES * PUSHES };

/* A stream that is known as a whole. */
struct stream {
    double t[PUSHES];
    float  p[PUSHES][CLASSES];
};

struct list { struct ctt_event e[MOST]; int count; };

/* Steps of 1/16, so that thresholds are met exactly, at distances of 0 to 0.75
 * s. */
static void draw(struct stream *s, uint64_t key)
{
    int level[CLASSES] = { 4, 8, 12 };
    double t = 100;

    for (int i = 0; i < PUSHES; i++) {
        t += 0.25 * (ctt_random(key, (uint64_t)i) % 4);
        s->t[i] = t;
        for (int k = 0; k < CLASSES; k++) {
            uint64_t at = (uint64_t)((1 + k) * PUSHES + i);

            level[k] += (int)(ctt_random(key, at) % 5) - 2;
            level[k] = level[k] < 0 ? 0 : level[k] > 16 ? 16 : level[k];
            s->p[i][k] = (float)level[k] / 16;
        }
    }
}

/* ---- the plain version ---- */

static void smooth(const struct stream *s, int k, double seconds, double *p)
{
    p[0] = (double)s->p[0][k];
    for (int i = 1; i < PUSHES; i++) {
        double by = seconds > 0 ? 1 - exp((s->t[i - 1] - s->t[i]) / seconds)
                                : 1;
        p[i] = p[i - 1] + by * ((double)s->p[i][k] - p[i - 1]);
    }
}

/* Of the pushes a to b at which p is at least `leave`. */
static struct ctt_event event_of(const struct stream *s, const double *p,
                                 int k, double leave, int a, int b)
{
    struct ctt_event e = { CTT_EVENT_END, k, s->t[a], s->t[a], s->t[b], 0, 0 };
    double sum = 0, top = 0;
    int n = 0;

    for (int i = a; i <= b; i++)
        if (p[i] >= leave) {
            if (p[i] > top) {
                top = p[i];
                e.peak = s->t[i];
            }
            sum += p[i];
            n++;
        }
    e.confidence = (float)top;
    e.mean = (float)(sum / n);
    return e;
}

static int is_sure(const double *p, double enter, int a, int b)
{
    for (int i = a; i <= b; i++)
        if (p[i] >= enter)
            return 1;
    return 0;
}

/* Events of class k, in order.  An unsure run between two runs that are merged
 * is not counted by them. */
static void plain(const struct stream *s, const struct ctt_events_set *set,
                  int k, struct list *out)
{
    static double p[PUSHES], only[PUSHES];
    int from = -1, to = -1;

    smooth(s, k, set->smooth, p);
    memset(only, 0, sizeof(only));
    for (int a = 0, b; a < PUSHES; a = b + 1) {
        b = a;
        if (p[a] < set->leave)
            continue;
        while (b + 1 < PUSHES && p[b + 1] >= set->leave)
            b++;
        if (!is_sure(p, set->enter, a, b))
            continue;
        memcpy(only + a, p + a, (size_t)(b - a + 1) * sizeof(*p));
        if (from >= 0 && s->t[a] - s->t[to] > set->gap) {
            if (s->t[to] - s->t[from] >= set->least)
                out->e[out->count++] = event_of(s, only, k, set->leave, from,
                                                to);
            from = -1;
        }
        from = from < 0 ? a : from;
        to = b;
    }
    if (from >= 0 && s->t[to] - s->t[from] >= set->least)
        out->e[out->count++] = event_of(s, only, k, set->leave, from, to);
}

/* ---- the library ---- */

static void take(struct ctt_events *e, struct list *begins, struct list *ends)
{
    struct ctt_event v;

    while (ctt_events_next(e, &v) > 0) {
        struct list *to = v.kind == CTT_EVENT_BEGIN ? begins : ends;

        CU_ASSERT_FATAL(to->count < MOST);
        to->e[to->count++] = v;
    }
}

static void follow(const struct stream *s, const struct ctt_events_set *set,
                   struct list *begins, struct list *ends)
{
    struct ctt_events *e = NULL;
    long calls;

    CHECK_OK(ctt_events_open(set, &e));
    calls = ctt_alloc_calls();
    for (int i = 0; i < PUSHES; i++) {
        CHECK_OK(ctt_events_push(e, s->t[i], s->p[i]));
        take(e, begins, ends);
    }
    CHECK_OK(ctt_events_end(e));
    take(e, begins, ends);
    CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
    ctt_events_close(&e);
}

static int is_same(const struct ctt_event *a, const struct ctt_event *b)
{
    return a->label == b->label && fabs(a->start - b->start) < 1e-9 &&
           fabs(a->peak - b->peak) < 1e-9 && fabs(a->end - b->end) < 1e-9 &&
           fabsf(a->confidence - b->confidence) < 1e-6f &&
           fabsf(a->mean - b->mean) < 1e-6f;
}

/* Each of the expected events was given once, and was told before it was long
 * enough to be one. */
static void compare(const struct list *want, const struct list *begins,
                    const struct list *ends, double least)
{
    int found = 0, told = 0;

    CU_ASSERT_EQUAL(ends->count, want->count);
    CU_ASSERT_EQUAL(begins->count, want->count);
    for (int i = 0; i < want->count; i++) {
        const struct ctt_event *w = &want->e[i];

        for (int k = 0; k < ends->count; k++)
            found += is_same(w, &ends->e[k]);
        for (int k = 0; k < begins->count; k++) {
            const struct ctt_event *b = &begins->e[k];

            told += b->label == w->label &&
                    fabs(b->start - w->start) < 1e-9 &&
                    b->end - b->start >= least && b->end <= w->end &&
                    b->confidence <= w->confidence;
        }
    }
    CU_ASSERT_EQUAL(found, want->count);
    CU_ASSERT_EQUAL(told, want->count);
}

static void test_plain(void)
{
    static const struct ctt_events_set rows[] = {
        { CLASSES, -1, 0.5, 0.5, 0, 0, 0 },
        { CLASSES, -1, 0.75, 0.25, 0, 0, 0 },
        { CLASSES, -1, 0.75, 0.5, 0, 0, 1.5 },
        { CLASSES, -1, 0.75, 0.5, 0, 2, 0 },
        { CLASSES, -1, 0.75, 0.5, 0, 2.25, 1 },
        { CLASSES, 1, 0.625, 0.375, 0.5, 1, 0.5 },
        { CLASSES, -1, 0.55, 0.45, 2, 3, 2 },
        { CLASSES, -1, 1, 0.0625, 0, 0.25, 0.25 },
    };
    static struct stream s;
    static struct list want, begins, ends;
    int events = 0;

    for (uint64_t key = 1; key <= 40; key++) {
        draw(&s, key);
        for (size_t i = 0; i < CTT_LEN(rows); i++) {
            want.count = begins.count = ends.count = 0;
            for (int k = 0; k < CLASSES; k++)
                if (k != rows[i].background)
                    plain(&s, &rows[i], k, &want);
            follow(&s, &rows[i], &begins, &ends);
            compare(&want, &begins, &ends, rows[i].least);
            events += want.count;
        }
    }
    CU_ASSERT(events > 2000);
}

/* ---- single cases ---- */

static const struct ctt_events_set one = { .classes = 1, .background = -1,
    .enter = 0.8, .leave = 0.4, .least = 1, .gap = 1 };

static int push(struct ctt_events *e, double t, float p)
{
    return ctt_events_push(e, t, &p);
}

/* A BEGIN comes when the minimum length is reached, an END when the gap is. */
static void test_times(void)
{
    struct ctt_events *e = NULL;
    struct ctt_event v;
    double p = 0;

    CHECK_OK(ctt_events_open(&one, &e));
    CU_ASSERT_EQUAL(push(e, 0, 0.1f), 0);
    CU_ASSERT_EQUAL(push(e, 1, 0.5f), 0);
    CU_ASSERT_EQUAL(push(e, 1.5, 0.9f), 0);
    CU_ASSERT_EQUAL(ctt_events_now(e, 0, &p), 0);
    CU_ASSERT_DOUBLE_EQUAL(p, 0.9, 1e-6);
    CU_ASSERT_EQUAL(push(e, 2, 0.6f), 1);
    CU_ASSERT_EQUAL(ctt_events_next(e, &v), 1);
    CU_ASSERT_EQUAL(v.kind, CTT_EVENT_BEGIN);
    CU_ASSERT_DOUBLE_EQUAL(v.start, 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(v.peak, 1.5, 1e-9);
    CU_ASSERT_EQUAL(ctt_events_next(e, &v), 0);
    CU_ASSERT_EQUAL(push(e, 2.5, 0.1f), 0);
    CU_ASSERT_EQUAL(ctt_events_now(e, 0, &p), 1);
    CU_ASSERT_EQUAL(push(e, 3, 0.1f), 0);
    CU_ASSERT_EQUAL(push(e, 3.25, 0.1f), 1);
    CU_ASSERT_EQUAL(ctt_events_next(e, &v), 1);
    CU_ASSERT_EQUAL(v.kind, CTT_EVENT_END);
    CU_ASSERT_DOUBLE_EQUAL(v.end, 2, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(v.mean, (0.5 + 0.9 + 0.6) / 3, 1e-6);
    CU_ASSERT_EQUAL(ctt_events_now(e, 0, &p), 0);
    CU_ASSERT_EQUAL(ctt_events_end(e), 0);
    ctt_events_close(&e);
}

/* What is open at the end is over, and a new stream begins anew. */
static void test_end(void)
{
    struct ctt_events *e = NULL;
    struct ctt_event v;

    CHECK_OK(ctt_events_open(&one, &e));
    push(e, 10, 0.9f);
    CU_ASSERT_EQUAL(push(e, 12, 0.9f), 1);
    CU_ASSERT_EQUAL(ctt_events_end(e), 1);
    CU_ASSERT_EQUAL(ctt_events_next(e, &v), 1);
    CU_ASSERT_EQUAL(v.kind, CTT_EVENT_END);
    CU_ASSERT_DOUBLE_EQUAL(v.end, 12, 1e-9);
    CU_ASSERT_EQUAL(ctt_events_end(e), 0);
    CU_ASSERT_EQUAL(push(e, 0, 0.9f), 0);     /* time may begin anew */
    CU_ASSERT_EQUAL(push(e, 0.5, 0.9f), 0);
    CU_ASSERT_EQUAL(ctt_events_end(e), 0);    /* too short */
    ctt_events_close(&e);
}

static void test_refused(void)
{
    static const struct { struct ctt_events_set set; const char *message; }
    rows[] = {
        { { 0, -1, 0.5, 0.5, 0, 0, 0 }, "0 classes" },
        { { 2, 2, 0.5, 0.5, 0, 0, 0 }, "no class 2 to be the background" },
        { { 2, -2, 0.5, 0.5, 0, 0, 0 }, "no class -2" },
        { { 2, -1, 0.5, 0.6, 0, 0, 0 }, "leave <= enter" },
        { { 2, -1, 0.5, 0, 0, 0, 0 }, "0 < leave" },
        { { 2, -1, 1.5, 0.5, 0, 0, 0 }, "enter <= 1" },
        { { 2, -1, NAN, 0.5, 0, 0, 0 }, "leave <= enter" },
        { { 2, -1, 0.5, 0.5, -1, 0, 0 }, "a time below 0" },
        { { 2, -1, 0.5, 0.5, 0, NAN, 0 }, "a time below 0" },
        { { 2, -1, 0.5, 0.5, 0, 0, INFINITY }, "a time below 0, or none" },
    };
    struct ctt_events *e = NULL;
    double p;

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        ctt_check_refused(ctt_events_open(&rows[i].set, &e), CTT_EINVAL,
                          rows[i].message);
        CU_ASSERT_PTR_NULL(e);
    }
    CU_ASSERT_EQUAL(ctt_events_open(NULL, &e), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_events_open(&one, NULL), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_events_push(NULL, 0, NULL), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_events_end(NULL), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_events_next(NULL, NULL), CTT_EINVAL);
    ctt_events_close(NULL);
    ctt_events_close(&e);
    CHECK_OK(ctt_events_open(&one, &e));
    ctt_check_refused(push(e, NAN, 1), CTT_EINVAL, "the time");
    push(e, 5, 0.5f);
    ctt_check_refused(push(e, 4, 1), CTT_EINVAL, "4 s comes after 5 s");
    ctt_check_refused(push(e, 6, NAN), CTT_ENAN, "not finite");
    CU_ASSERT(ctt_events_now(e, 0, &p) == 0 && p == 0.5);
    CU_ASSERT_EQUAL(ctt_events_now(e, 1, &p), CTT_EINVAL);
    ctt_events_close(&e);
}

static int open_once(void *arg)
{
    struct ctt_events *e = NULL;
    int rc = ctt_events_open(arg, &e);

    ctt_events_close(&e);
    return rc;
}

static void test_memory(void)
{
    struct ctt_events_set set = one;

    fail_allocs(open_once, &set, 2);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "events are those of the plain version", test_plain },
        { "when they are told", test_times },
        { "the end of a stream", test_end },
        { "wrong arguments", test_refused },
        { "each allocation fails", test_memory },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "events", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
