/* SPDX-License-Identifier: Apache-2.0
 * test_motion_head.c: what the head on a backbone reads, against plain loops:
 * the mean and the maximum over the pixels of changes over one and two steps,
 * and the mean of the map, as means over the steps so far. */
#include "libtrain/recognise/head.h"
#include "net/rewrite/edit.h"
#include "run/run.h"
#include "tests/lib/check.h"

#include <math.h>
#include <stdio.h>

enum { STEPS = 9, H = 3, W = 4, C = 2, MAPS = 2, READ = 4,
       WIDTH = MAPS * C * (READ + 1) };

/* Of two maps: the frame's absolute values, and the same at one pixel. */
static const char text[] =
    "input x h=3 w=4 c=2\n"
    "act s in=x kind=abs\n"
    "pool u in=s kind=avg kernel=1,3,4\n"
    "conv y in=u out=2\n";

static float frame(int t, int i)
{
    return (float)((t + 3) * (7 * i + 5) % 11) - 4;
}

/* Pixel p of channel c of map k. */
static double map(int k, int t, int p, int c)
{
    double sum = 0;

    if (k == 0)
        return fabs((double)frame(t, p * C + c));
    for (int q = 0; q < H * W; q++)
        sum += map(0, t, q, c) / (H * W);
    return sum;
}

/* Of one step: the mean and the maximum of the change over one step, the same
 * over two, and the mean of the map. */
static void read_step(int k, int t, int c, double read[READ + 1])
{
    int pixels = k == 0 ? H * W : 1;

    for (int j = 0; j <= READ; j++)
        read[j] = 0;
    for (int p = 0; p < pixels; p++) {
        for (int delay = 1; delay <= 2; delay++) {
            int was = t < delay ? 0 : t - delay;
            double d = fabs(map(k, t, p, c) - map(k, was, p, c));

            read[2 * delay - 2] += d / pixels;
            read[2 * delay - 1] = fmax(read[2 * delay - 1], d);
        }
        read[READ] += map(k, t, p, c) / pixels;
    }
}

/* Of the steps 0 .. t; motion is of those behind the first. */
static void read_all(int t, double want[WIDTH])
{
    for (int i = 0; i < WIDTH; i++)
        want[i] = 0;
    for (int s = 0; s <= t; s++)
        for (int k = 0; k < MAPS; k++)
            for (int c = 0; c < C; c++) {
                double read[READ + 1];

                read_step(k, s, c, read);
                for (int j = 0; j < READ && s > 0; j++)
                    want[(k * READ + j) * C + c] += read[j] / t;
                want[(MAPS * READ + k) * C + c] += read[READ] / (t + 1);
            }
}

/* The head's inputs are the result in place of its answer. */
static void open_inputs(struct ctt_graph **out)
{
    struct ctt_graph *back = NULL, *head = NULL;
    struct ctt_edit *e = NULL;

    CHECK_OK(ctt_net_parse(text, &back));
    CHECK_OK(ctt_head_graph(back, "s,u", &head));
    CHECK_OK(ctt_edit_begin(head, &e));
    ctt_edit_remove(e, ctt_graph_output(head));
    CHECK_OK(ctt_edit_graph(e, out));
    ctt_edit_free(&e);
    ctt_graph_free(&head);
    ctt_graph_free(&back);
}

static void test_inputs(void)
{
    float x[STEPS * H * W * C], y[STEPS * WIDTH];
    static const float w[1] = { 0 };
    struct ctt_graph *g = NULL;
    struct ctt_dev *d = NULL;
    struct ctt_run *r = NULL;
    double want[WIDTH];

    open_inputs(&g);
    CU_ASSERT_EQUAL(g->node[ctt_graph_output(g)].out.c, WIDTH);
    for (int i = 0; i < STEPS * H * W * C; i++)
        x[i] = frame(i / (H * W * C), i % (H * W * C));
    CHECK_OK(ctt_dev_open("cpu", 1, &d));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){ .g = g, .dev = d, .w = w,
        .samples = 1, .steps = STEPS }, &r));
    CHECK_OK(ctt_run_put(r, 0, 0, x, STEPS * H * W));
    CHECK_OK(ctt_run_steps(r, STEPS));
    CHECK_OK(ctt_run_get(r, ctt_graph_output(g), 0, STEPS, y));
    for (int t = 0; t < STEPS; t++) {
        read_all(t, want);
        for (int i = 0; i < WIDTH; i++)
            if (fabs((double)y[t * WIDTH + i] - want[i]) > 1e-5) {
                printf("step %d, number %d: %g, not %g\n", t, i,
                       (double)y[t * WIDTH + i], want[i]);
                CU_FAIL("another number");
            }
    }
    ctt_run_close(&r);
    ctt_dev_close(&d);
    ctt_graph_free(&g);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static CU_TestInfo tests[] = {
    { "inputs", test_inputs }, CU_TEST_INFO_NULL
};
static CU_SuiteInfo suites[] = {
    { "motion_head", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
};

int main(void)
{
    return ctt_check_main(suites);
}
