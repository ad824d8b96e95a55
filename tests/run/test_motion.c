/* SPDX-License-Identifier: Apache-2.0
 * test_motion.c: the cells change and average against plain loops, in streams
 * of every room and again after a reset. */
#include "tests/lib/check.h"
#include "run/run.h"

#include <math.h>
#include <stdio.h>

enum { STEPS = 25, SIZE = 6, PARTS = 4, ROOM = 7 };

/* A change of two steps, its mean without these, and means of the frame over
 * all steps and over few. */
static const char text[] =
    "input x h=1 w=3 c=2\n"
    "change d in=x delay=2\n"
    "average m in=d skip=2\n"
    "average a in=x\n"
    "average f in=x steps=4\n"
    "concat y in=d,m,a,f\n";

static float frame(int t, int i)
{
    return (float)((t + 3) * (7 * i + 5) % 11) - 4;
}

static double change(int t, int i)
{
    return t < 2 ? fabs((double)frame(t, i) - (double)frame(0, i)) :
           fabs((double)frame(t, i) - (double)frame(t - 2, i));
}

/* The means of what came, by their definition. */
struct means { double motion, all, few; };

static struct means means_at(int t, int i)
{
    struct means m = { 0, 0, 0 };

    for (int s = 0; s <= t; s++) {
        m.motion += s < 2 || t < 2 ? 0 : change(s, i) / (t - 1);
        m.all += (double)frame(s, i) / (t + 1);
        m.few += ((double)frame(s, i) - m.few) / (s < 4 ? s + 1 : 4);
    }
    return m;
}

static void check_step(const char *device, int t, const float *y)
{
    for (int i = 0; i < SIZE; i++) {
        struct means m = means_at(t, i);
        const double want[PARTS] = { change(t, i), m.motion, m.all, m.few };

        for (int k = 0; k < PARTS; k++) {
            float got = y[i / 2 * 2 * PARTS + 2 * k + i % 2];

            if (fabs((double)got - want[k]) < 1e-5)
                continue;
            printf("%s, step %d, number %d of part %d: %g, not %g\n", device,
                   t, i, k, (double)got, want[k]);
            CU_FAIL("another number");
        }
    }
}

static void push(struct ctt_run *r, const char *device, int t, int count)
{
    float x[ROOM * SIZE], y[ROOM * SIZE * PARTS];

    for (int s = 0; s < count; s++)
        for (int i = 0; i < SIZE; i++)
            x[s * SIZE + i] = frame(t + s, i);
    CHECK_OK(ctt_run_make_room(r, count));
    CHECK_OK(ctt_run_put(r, 0, r->cursor, x, count * SIZE / 2));
    CHECK_OK(ctt_run_steps(r, count));
    CHECK_OK(ctt_run_get(r, ctt_graph_output(r->g), r->cursor - count,
                         count * SIZE / 2, y));
    for (int s = 0; s < count; s++)
        check_step(device, t + s, y + s * SIZE * PARTS);
}

static void stream_on(const struct ctt_graph *g, const char *device)
{
    static const float w[1] = { 0 };
    struct ctt_dev *d = NULL;
    struct ctt_run *r = NULL;

    CHECK_OK(ctt_dev_open(device, 1, &d));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){ .g = g, .dev = d, .w = w,
        .samples = 1, .steps = ROOM }, &r));
    for (int chunk = 1; chunk <= ROOM; chunk++) {
        for (int t = 0; t < STEPS; t += chunk)
            push(r, device, t, chunk < STEPS - t ? chunk : STEPS - t);
        ctt_run_reset(r);
    }
    ctt_run_close(&r);
    ctt_dev_close(&d);
}

static void test_cells(void)
{
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CU_ASSERT_EQUAL(g->weights, 0);
    for (size_t d = 0; ctt_check_hosts[d]; d++)
        stream_on(g, ctt_check_hosts[d]);
    ctt_graph_free(&g);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static CU_TestInfo tests[] = {
    { "change and average", test_cells }, CU_TEST_INFO_NULL
};
static CU_SuiteInfo suites[] = {
    { "motion", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
};

int main(void)
{
    return ctt_check_main(suites);
}
