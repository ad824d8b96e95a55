/* SPDX-License-Identifier: Apache-2.0
 * test_fill.c: what a state with fill=first has before the first step: in
 * streams of every room, again after a reset, of floats and of bytes. */
#include "tests/lib/check.h"
#include "run/run.h"

#include <math.h>

/* A frame is the number of its step and 5 more.  One answer a step: the frame
 * and what it was one and three steps ago. */
enum { STEPS = 25, ANSWER = 3, FIRST = 5 };

static const char floats[] =
    "input x c=1\n"
    "state p of=x fill=first\n"
    "state q of=x delay=3 fill=first\n"
    "concat y in=x,p,q\n";
static const char halves[] =    /* the delayed value has a kernel of its own */
    "input x c=1\n"
    "add e in=x,x\n"
    "state p of=e fill=first\n"
    "state q of=e delay=3 fill=first\n"
    "concat k in=e,p,q\n"
    "conv y in=k out=3 bias=0\n";
static const char bytes[] =
    "input x c=1\n"
    "quant e in=x scale=1 zero=20\n"
    "state p of=e fill=first\n"
    "state q of=e delay=3 fill=first\n"
    "concat k in=e,p,q\n"
    "conv y in=k out=3 bias=0\n";

/* Texts, and the weights on the diagonal of y. */
static const struct { const char *text; float w; } models[] = {
    { floats, 0 }, { halves, 0.5f }, { bytes, 1 },
};

static float before(int t, int delay)
{
    return (float)(FIRST + (t < delay ? 0 : t - delay));
}

static int push(struct ctt_run *r, int t, int count)
{
    float x[8], y[8 * ANSWER];
    int rc = 0;

    for (int i = 0; i < count; i++)
        x[i] = (float)(FIRST + t + i);
    CTT_TRY(ctt_run_make_room(r, count));
    CTT_TRY(ctt_run_put(r, 0, r->cursor, x, count));
    CTT_TRY(ctt_run_steps(r, count));
    CTT_TRY(ctt_run_get(r, ctt_graph_output(r->g), r->cursor - count, count,
                        y));
    for (int i = 0; i < count; i++) {
        const float *z = y + i * ANSWER;

        CTT_CHECK(fabsf(z[0] - before(t + i, 0)) < 1e-3f &&
                  fabsf(z[1] - before(t + i, 1)) < 1e-3f &&
                  fabsf(z[2] - before(t + i, 3)) < 1e-3f, CTT_EINVAL,
                  "step %d: %g %g %g", t + i, (double)z[0], (double)z[1],
                  (double)z[2]);
    }
out:
    return rc;
}

static int stream(struct ctt_run *r, int chunk)
{
    int rc = 0;

    for (int t = 0; t < STEPS; t += chunk)
        CTT_TRY(push(r, t, chunk < STEPS - t ? chunk : STEPS - t));
out:
    return rc;
}

static void stream_on(const struct ctt_graph *g, const float *w,
                      const char *device, int room)
{
    struct ctt_dev *d = NULL;
    struct ctt_run *r = NULL;

    CHECK_OK(ctt_dev_open(device, 1, &d));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){ .g = g, .dev = d, .w = w,
        .samples = 1, .steps = room }, &r));
    for (int chunk = 1; chunk <= room; chunk++) {
        CHECK_OK(stream(r, chunk));
        ctt_run_reset(r);
    }
    ctt_run_close(&r);
    ctt_dev_close(&d);
}

static void test_streams(void)
{
    for (size_t m = 0; m < CTT_LEN(models); m++) {
        struct ctt_graph *g = NULL;
        float w[64] = { 0 };

        CHECK_OK(ctt_net_parse(models[m].text, &g));
        CU_ASSERT_FATAL(g->weights <= 64);
        for (int i = 0; i < ANSWER; i++)
            w[i * (ANSWER + 1)] = models[m].w;
        for (size_t d = 0; ctt_check_hosts[d]; d++)
            for (int room = 1; room <= 8; room++)
                stream_on(g, w, ctt_check_hosts[d], room);
        ctt_graph_free(&g);
    }
}

static CU_TestInfo tests[] = {
    { "streams", test_streams },
    CU_TEST_INFO_NULL
};
static CU_SuiteInfo suites[] = {
    { "fill", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
};

int main(void)
{
    return ctt_check_main(suites);
}
