/* SPDX-License-Identifier: Apache-2.0
 * test_window.c: the steps that a window op shows: against a list that is
 * thinned out by hand, in streams of 100,000 steps, and of bytes. */
#include "tests/lib/check.h"
#include "run/back/exec.h"

#include <stdlib.h>
#include <string.h>

enum { LONG = 100000, SLOTS = 5 };

/* ---- the definition ---- */

/* The steps that are kept: every `apart`-th one, and never more than twice the
 * slots. */
struct kept { int64_t step[64], apart; int count; };

static void keep(struct kept *k, int slots, int64_t t)
{
    if (t % k->apart == 0)
        k->step[k->count++] = t;
    if (k->count <= 2 * slots)
        return;
    for (int i = 0; 2 * i < k->count; i++)
        k->step[i] = k->step[2 * i];
    k->count = (k->count + 1) / 2;
    k->apart *= 2;
}

/* The kept step that is nearest to slot t / (slots - 1), the later of two. */
static int64_t nearest(const struct kept *k, int slots, int64_t slot,
                       int64_t t)
{
    int64_t best = 0, least = INT64_MAX;

    if (slot == slots - 1)
        return t;
    for (int i = 0; i < k->count; i++) {
        int64_t far = llabs(k->step[i] * (slots - 1) - slot * t);
        if (far <= least) {
            least = far;
            best = k->step[i];
        }
    }
    return best;
}

static void test_definition(void)
{
    static const int slots[] = { 1, 2, 3, 4, 5, 8, 16, 29 };

    for (size_t i = 0; i < CTT_LEN(slots); i++) {
        struct ctt_window_attr a = { .steps = slots[i], 1, .spread = 1 };
        struct kept k = { .apart = 1 };
        int wrong = 0;

        for (int64_t t = 0; t < 5000; t++) {
            keep(&k, a.steps, t);
            for (int j = 0; j < a.steps; j++)
                wrong += ctt_window_step(&a, j, t) !=
                         nearest(&k, a.steps, j, t);
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
}

/* Years of frames do not overflow. */
static void test_far(void)
{
    struct ctt_window_attr a = { .steps = 4096, 1, .spread = 1 };
    int64_t t = INT64_C(1) << 40, last = 0;

    CU_ASSERT_EQUAL(ctt_window_step(&a, 0, t), 0);
    CU_ASSERT_EQUAL(ctt_window_step(&a, 4095, t), t);
    for (int j = 0; j < 4096; j++) {
        int64_t step = ctt_window_step(&a, j, t);
        CU_ASSERT(step >= last && step <= t && llabs(step - j * (t / 4095)) <
                  t / 4095);
        last = step;
    }
}

/* ---- long streams ---- */

static const char numbers[] =    /* a frame is the number of its step */
    "input x c=1\n"
    "clip\n"
    "window v in=x steps=5 spread=1\n"
    "window w in=x steps=5 every=700 fill=first\n"
    "window z in=x steps=5 every=4\n"
    "concat y in=v,w,z\n";

/* Checks the three windows when step t is the last; past: steps before the
 * run's step 0. */
static int same_steps(struct ctt_run *r, int64_t past, int step)
{
    static const struct ctt_window_attr a = { .steps = SLOTS, 1, .spread = 1 };
    float y[SLOTS * 3];
    int rc = 0;

    r->ask[0] = (struct ctt_ask){ 0, step };
    CTT_TRY(ctt_run_clip(r, 1));
    CTT_TRY(ctt_run_get(r, ctt_graph_output(r->g), 0, SLOTS, y));
    for (int64_t j = 0, t = past + step; j < SLOTS; j++) {
        int64_t back = SLOTS - 1 - j, w = t - 700 * back, z = t - 4 * back;
        CTT_CHECK(y[3 * j] == (float)ctt_window_step(&a, j, t) &&
                  y[3 * j + 1] == (float)(w < 0 ? 0 : w) &&
                  y[3 * j + 2] == (float)(z < 0 ? 0 : z), CTT_EINVAL,
                  "step %lld slot %d: %g %g %g", (long long)t, (int)j,
                  (double)y[3 * j], (double)y[3 * j + 1],
                  (double)y[3 * j + 2]);
    }
out:
    return rc;
}

static int push(struct ctt_run *r, int64_t t, int count)
{
    float x[8];
    int rc = 0;

    for (int i = 0; i < count; i++)
        x[i] = (float)(t + i);
    CTT_TRY(ctt_run_make_room(r, count));
    CTT_TRY(ctt_run_put(r, 0, r->cursor, x, count));
    CTT_TRY(ctt_run_steps(r, count));
out:
    return rc;
}

/* Frames come one by one or several at once; asked is for each. */
static int stream(struct ctt_run *r, int64_t steps)
{
    int rc = 0;

    for (int64_t t = 0, some; t < steps; t += some) {
        some = 1 + t / 3 % r->room;
        CTT_TRY(push(r, t, (int)some));
        for (int i = 0; i < some; i++)
            CTT_TRY(same_steps(r, t + some - r->cursor, r->cursor - 1 - i));
    }
out:
    return rc;
}

static void stream_on(const char *device, int room, int64_t steps)
{
    struct ctt_graph *g = NULL;
    struct ctt_dev *d = NULL;
    struct ctt_run *r = NULL;
    float none = 0;

    CHECK_OK(ctt_net_parse(numbers, &g));
    CHECK_OK(ctt_dev_open(device, 1, &d));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){ .g = g, .dev = d, .w = &none,
        .samples = 1, .steps = room, .asks = 1 }, &r));
    /* 10 kept, 2800 of history, the frames; results */
    CU_ASSERT(r->values < 4 * (2 * SLOTS + 2800 + room) + 6 * 64 + 6 * 64);
    for (int twice = 0; twice < 2; twice++) {
        int64_t values = r->values, blocks = ctt_live_blocks();

        CHECK_OK(stream(r, steps));
        CU_ASSERT_EQUAL(r->values, values);
        CU_ASSERT_EQUAL(ctt_live_blocks(), blocks);
        ctt_run_reset(r);
    }
    ctt_run_close(&r);
    ctt_dev_close(&d);
    ctt_graph_free(&g);
}

static void test_long_streams(void)
{
    stream_on("ref", 8, LONG);
    stream_on("ref", 1, LONG / 10);
    for (size_t d = 0; ctt_check_hosts[d]; d++)
        for (int room = 1; room <= 8; room++)
            stream_on(ctt_check_hosts[d], room, 300);
}

/* ---- bytes ---- */

static const char bytes[] =
    "input x h=3 w=2 c=2\n"
    "quant xq in=x scale=0.01 zero=100\n"
    "conv a in=xq out=4 kernel=3 pad=1\n"
    "quant aq in=a scale=0.02 zero=128\n"
    "slice s in=aq from=1 to=4\n"
    "clip\n"
    "window v in=aq steps=3 spread=1\n"
    "window w in=aq steps=3 every=5 fill=first\n"
    "window u in=s steps=2 spread=1\n"
    "conv p in=v out=3 kernel=3,1,1\n"
    "conv q in=w plus=p out=3 kernel=3,1,1\n"
    "conv z in=u plus=q out=3 kernel=2,1,1\n"
    "quant zq in=z scale=0.02 zero=128\n"
    "conv y in=zq out=2 kernel=1,3,2\n";

enum { STEPS = 40, FRAME = 12, CLASSES = 2 };

static float frames[STEPS * FRAME], whole[STEPS * CLASSES];

static int give(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    (void)arg;
    return ctt_run_put(x->r, 0, 0, frames + p->first * FRAME, p->steps * 6);
}

static int take(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    float y[STEPS * CLASSES];
    int rc = ctt_run_get(x->r, ctt_graph_output(x->r->g), 0, p->asks, y);

    (void)arg;
    for (int i = 0; i < p->asks; i++)
        memcpy(whole + p->which[i] * CLASSES, y + i * CLASSES,
               CLASSES * sizeof(*y));
    return rc;
}

/* The answers at all steps, in windows of so many (0: one). */
static void batch(const struct ctt_run_spec *spec, int window)
{
    struct ctt_memory memory = { .window = window, .keep = 1 };
    struct ctt_ask ask[STEPS];
    struct ctt_exec *x = NULL;

    for (int t = 0; t < STEPS; t++)
        ask[t] = (struct ctt_ask){ 0, t };
    memset(whole, 0xff, sizeof(whole));
    CHECK_OK(ctt_exec_open(spec, &memory, &x));
    x->r->train = 0;
    CHECK_OK(ctt_exec_forward(x, &(struct ctt_job){ .steps = STEPS,
        .feedback = STEPS, .ask = ask, .asks = STEPS, .give = give,
        .take = take }));
    ctt_exec_close(&x);
}

static int as_stream(struct ctt_run *r)
{
    float y[CLASSES];
    int rc = 0;

    for (int t = 0; t < STEPS; t++) {
        CTT_TRY(ctt_run_make_room(r, 1));
        CTT_TRY(ctt_run_put(r, 0, r->cursor, frames + t * FRAME, 6));
        CTT_TRY(ctt_run_steps(r, 1));
        r->ask[0] = (struct ctt_ask){ 0, r->cursor - 1 };
        CTT_TRY(ctt_run_clip(r, 1));
        CTT_TRY(ctt_run_get(r, ctt_graph_output(r->g), 0, 1, y));
        CTT_CHECK(memcmp(y, whole + t * CLASSES, sizeof(y)) == 0, CTT_EINVAL,
                  "step %d: %g %g, expected %g %g", t, (double)y[0],
                  (double)y[1], (double)whole[t * CLASSES],
                  (double)whole[t * CLASSES + 1]);
    }
out:
    return rc;
}

/* A stream of bytes has the bits of a clip of whole numbers held as floats. */
static void test_bytes(void)
{
    struct ctt_graph *g = NULL;
    struct ctt_dev *d = NULL;
    struct ctt_run *r = NULL;
    float w[512];

    CHECK_OK(ctt_net_parse(bytes, &g));
    CHECK_OK(ctt_dev_open("ref", 1, &d));
    CU_ASSERT_FATAL(g->weights <= 512);
    ctt_check_fill(w, g->weights, 3);
    ctt_check_fill(frames, STEPS * FRAME, 4);
    for (int window = 0; window <= 14; window += 7) {
        struct ctt_run_spec spec = { .g = g, .dev = d, .w = w, .samples = 1,
                                     .steps = STEPS, .asks = STEPS };

        batch(&spec, window);
        spec.steps = 1 + window;
        spec.asks = 1;
        CHECK_OK(ctt_run_open(&spec, &r));
        CU_ASSERT_EQUAL(r->slot[ctt_graph_find(g, "v")].type, CTT_U8);
        CHECK_OK(as_stream(r));
        ctt_run_close(&r);
    }
    ctt_dev_close(&d);
    ctt_graph_free(&g);
}

static CU_TestInfo tests[] = {
    { "definition", test_definition },
    { "far", test_far },
    { "long streams", test_long_streams },
    { "bytes", test_bytes },
    CU_TEST_INFO_NULL
};
static CU_SuiteInfo suites[] = {
    { "window", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
};

int main(void)
{
    return ctt_check_main(suites);
}
