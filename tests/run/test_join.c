/* SPDX-License-Identifier: Apache-2.0
 * test_join.c: a depthwise conv of quantised values that takes the 1x1 conv
 * before it along: the bits of each conv alone, in plain C, and what is not
 * taken along. */
#include "tests/lib/check.h"
#include "device/cpu/features.h"
#include "base/random.h"
#include "run/run.h"

#include <stdio.h>
#include <string.h>

/* ---- a model on a device ---- */

enum { SAMPLES = 2, TEXT = 800 };

struct rig {
    struct ctt_graph *g;
    struct ctt_dev   *d;
    struct ctt_run   *r;
    float            *w, *x, *y;
    int64_t           count;
};

static void rig_open(struct rig *k, const char *text, const char *device,
                     int threads, int steps)
{
    struct ctt_tensor *in, *out;

    *k = (struct rig){ .g = NULL };
    CHECK_OK(ctt_net_parse(text, &k->g));
    CHECK_OK(ctt_dev_open(device, threads, &k->d));
    CHECK_OK(ctt_dev_own_threads(k->d));
    k->w = ctt_check_floats(k->g->weights, 3);
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){ .g = k->g, .dev = k->d,
        .w = k->w, .samples = SAMPLES, .steps = steps }, &k->r));
    in = &k->g->node[0].out;
    out = &k->g->node[ctt_graph_output(k->g)].out;
    k->x = ctt_check_floats(steps * SAMPLES * ctt_volume(in), 4);
    k->count = steps * SAMPLES * ctt_volume(out);
    k->y = ctt_check_floats(k->count, 0);
}

/* Runs the steps twice, the second time without an allocation. */
static void rig_run(struct rig *k, int steps)
{
    const struct ctt_tensor *in = &k->g->node[0].out;
    int out = ctt_graph_output(k->g);
    int64_t rows = ctt_rows(in) / in->n * SAMPLES * steps, each;
    long calls;

    each = ctt_rows(&k->g->node[out].out) / k->g->node[out].out.n;
    for (int again = 0; again < 2; again++) {
        ctt_run_reset(k->r);
        CHECK_OK(ctt_run_put(k->r, 0, 0, k->x, rows));
        calls = ctt_alloc_calls();
        CHECK_OK(ctt_run_steps(k->r, steps));
        CU_ASSERT(!again || ctt_alloc_calls() == calls);
        CHECK_OK(ctt_run_get(k->r, out, 0, each * SAMPLES * steps, k->y));
    }
}

static void rig_close(struct rig *k)
{
    ctt_run_close(&k->r);
    ctt_dev_close(&k->d);
    ctt_graph_free(&k->g);
    ctt_free(k->w);
    ctt_free(k->x);
    ctt_free(k->y);
}

static int is_joined(const struct rig *k, const char *node)
{
    int i = ctt_graph_find(k->g, node);
    void *cache = k->r->cache[i][CTT_CACHE_FWD];

    return strstr(ctt_dev_impl(k->d, cache, CTT_FWD), "+chain") != NULL;
}

/* joins: whether d takes the conv before it along, with VNNI. */
static void check(const char *text, int threads, int steps, int joins)
{
    struct rig want, got;
    int same;

    rig_open(&want, text, "ref", 1, steps);
    rig_open(&got, text, "cpu", threads, steps);
    rig_run(&want, steps);
    rig_run(&got, steps);
    same = memcmp(want.y, got.y, sizeof(float) * (size_t)want.count) == 0;
    CU_ASSERT(same);
    CU_ASSERT(!is_joined(&want, "d"));
    CU_ASSERT_EQUAL(is_joined(&got, "d"), joins && ctt_has_vnni());
    if (!same || is_joined(&got, "d") != (joins && ctt_has_vnni()))
        printf("\n%d threads, %d steps:\n%s", threads, steps, text);
    rig_close(&want);
    rig_close(&got);
}

/* ---- shapes ---- */

static int pick(uint64_t n, int of, int from, int to)
{
    return from + (int)(ctt_random(n, (uint64_t)of) %
                        (uint32_t)(to - from + 1));
}

/* Any shape: a conv of e's bytes, and its result as floats or as bytes that
 * another conv reads. */
static void write_model(uint64_t n, char text[TEXT])
{
    static const char *const acts[] = {
        "", "act %s in=%s kind=relu\n", "act %s in=%s kind=relu6\n",
        "act %s in=%s kind=tanh\n"
    };
    int zero = pick(n, 0, 0, 2) * 100, kernel = pick(n, 1, 1, 5);
    int channels = pick(n, 2, 1, 12) * pick(n, 3, 1, 17);
    const char *e = acts[pick(n, 4, 0, 3)], *d = acts[pick(n, 5, 0, 3)];
    int at = snprintf(text, TEXT, "input x h=%d w=%d c=%d\n"
        "quant xq in=x scale=0.01 zero=%d\nconv e in=xq out=%d bias=%d\n",
        pick(n, 6, 5, 40), pick(n, 7, 5, 40), 4 * pick(n, 8, 1, 12),
        pick(n, 9, 0, 2) * 60, channels, pick(n, 10, 0, 1));

    at += snprintf(text + at, (size_t)(TEXT - at), e, "ea", "e");
    at += snprintf(text + at, (size_t)(TEXT - at),
        "quant eq in=%s scale=0.05 zero=%d\n"
        "conv d in=eq out=%d kernel=%d stride=%d pad=%d groups=%d bias=%d\n",
        *e ? "ea" : "e", zero, channels, kernel, pick(n, 11, 1, 2),
        pick(n, 12, 0, 3), channels, pick(n, 13, 0, 1));
    at += snprintf(text + at, (size_t)(TEXT - at), d, "da", "d");
    if (pick(n, 14, 0, 1))
        snprintf(text + at, (size_t)(TEXT - at), "quant dq in=%s scale=0.02 "
                 "zero=%d\nconv p in=dq out=5\n", *d ? "da" : "d",
                 pick(n, 15, 0, 255));
}

static void test_shapes(void)
{
    char text[TEXT];

    for (uint64_t n = 0; n < 120; n++) {
        if (!ctt_check_tries())
            continue;
        write_model(n, text);
        check(text, 1 + (int)(n % 3), 1 + (int)(n % 4 == 0),
              strstr(text, "groups=1 ") == NULL);
    }
}

/* ---- what is not taken along ---- */

#define FRAME "input x h=9 w=9 c=8\nquant xq in=x scale=0.01\n"
#define BYTES "quant eq in=e scale=0.05\n"
#define DEPTHWISE "conv d in=eq out=24 kernel=3 pad=1 groups=24\n"

static void test_not(void)
{
    static const struct { const char *text; int joins; } models[] = {
        { FRAME "conv e in=xq out=24\n" BYTES DEPTHWISE, 1 },
        /* another reader of the bytes, or of what becomes bytes */
        { FRAME "conv e in=xq out=24\n" BYTES DEPTHWISE
          "conv f in=eq out=24\nadd y in=d,f\n", 0 },
        { FRAME "conv e in=xq out=24\n" BYTES DEPTHWISE "add y in=d,e\n", 0 },
        { FRAME "conv e in=xq out=24\n" BYTES
          "state s of=eq\nconv d in=s out=24 kernel=3 pad=1 groups=24\n", 0 },
        { FRAME "conv e in=xq out=24 kernel=3 pad=1\n" BYTES DEPTHWISE, 0 },
        { FRAME "conv e in=xq out=24 stride=2\n" BYTES DEPTHWISE, 0 },
        { FRAME "conv e in=xq out=24 pad=1\n" BYTES DEPTHWISE, 0 },
        { FRAME "conv e in=xq out=24 groups=2\n" BYTES DEPTHWISE, 0 },
        { FRAME "conv f in=xq out=24\nconv e in=xq plus=f out=24\n" BYTES
          DEPTHWISE, 0 },
        { FRAME "conv e in=x out=24\n" BYTES DEPTHWISE, 0 },
        { FRAME "conv e in=xq out=24\n" BYTES
          "conv d in=eq out=24 kernel=3 pad=1 groups=12\n", 0 },
        { FRAME "conv e in=xq out=24\n" BYTES
          "conv d in=eq out=48 kernel=3 pad=1 groups=24\n", 0 },
        /* channels that are no whole units */
        { "input x h=9 w=9 c=6\nquant xq in=x scale=0.01\n"
          "conv e in=xq out=24\n" BYTES DEPTHWISE, 0 },
        { "input x d=2 h=9 w=9 c=8\nquant xq in=x scale=0.01\n"
          "conv e in=xq out=24\n" BYTES
          "conv d in=eq out=24 kernel=2,3,3 pad=0,1,1 groups=24\n", 0 },
        { "input x d=2 h=9 w=9 c=8\nquant xq in=x scale=0.01\n"
          "conv e in=xq out=24\n" BYTES
          "conv d in=eq out=24 kernel=1,3,3 pad=0,1,1 groups=24\n", 1 },
    };

    for (size_t i = 0; i < CTT_LEN(models); i++)
        check(models[i].text, 2, 1, models[i].joins);
}

static CU_TestInfo tests[] = {
    { "shapes", test_shapes }, { "not taken along", test_not },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "join", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    return rc ? rc : ctt_live_blocks() != 0;
}
