/* SPDX-License-Identifier: Apache-2.0
 * test_map_data.c: maps in memory as bytes: all numbers of a channel fit, a
 * step is no larger than changes or the range ask for, and the frames of the
 * set are these bytes. */
#include "libtrain/recognise/map_data.h"
#include "tests/lib/check.h"

#include <math.h>
#include <string.h>

enum { CLIPS = 2, FRAMES = 6, PIXELS = 6, C = 2, EACH = PIXELS * C + 1 };

/* Two maps: one of 2x3 pixels and two channels, one of a single number. */
static const char text[] =
    "input x h=2 w=3 c=2\n"
    "act s in=x kind=abs\n"
    "slice l in=s from=0 to=1\n"
    "pool u in=l kind=avg\n"
    "change c0 in=s\n"
    "change c1 in=u\n"
    "pool p in=c0 kind=avg\n"
    "concat v in=p,c1\n"
    "conv y in=v out=2\n";

/* Number i of the maps of frame t of a clip: channel 0 changes fast, channel 1
 * hardly, but its range is large; the other map is always 3. */
static float number(int clip, int t, int i)
{
    if (i == PIXELS * C)
        return 3;
    return i % C ? (float)(100 * (i / C) - 200) + 0.25f * (float)t
                 : (float)((clip + 3 * t + 5 * i) % 7) - 2;
}

static void fill(struct ctt_map_set *s, int clip)
{
    float x[FRAMES][PIXELS * C], last[FRAMES];

    for (int t = 0; t < FRAMES; t++) {
        for (int i = 0; i < PIXELS * C; i++)
            x[t][i] = number(clip, t, i);
        last[t] = number(clip, t, PIXELS * C);
    }
    s->tap.take(s->tap.arg, clip, 0, 0, 4, x[0]);
    s->tap.take(s->tap.arg, clip, 0, 4, FRAMES - 4, x[4]);
    s->tap.take(s->tap.arg, clip, 1, 0, FRAMES, last);
}

/* The set of the numbers above, but for one in place of the first. */
static int make(const struct ctt_data *d, float first, struct ctt_map_set *s)
{
    struct ctt_graph *g = NULL;
    float x[PIXELS * C] = { 0 };

    *s = (struct ctt_map_set){ .tap = { .maps = 2 } };
    strcpy(s->tap.state[0], "c0.p");
    strcpy(s->tap.state[1], "c1.p");
    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_map_set_open(s, d, g, 1));
    ctt_graph_free(&g);
    CU_ASSERT_EQUAL(s->each, EACH);
    for (int i = 0; i < CLIPS; i++)
        fill(s, i);
    for (int i = 0; i < PIXELS * C; i++)
        x[i] = number(0, 0, i);
    x[0] = first;
    s->tap.take(s->tap.arg, 0, 0, 0, 1, x);
    return ctt_map_set_bytes(s);
}

static void check_bytes(const struct ctt_map_set *s)
{
    for (int i = 0; i < EACH; i++) {
        double step = (double)s->step[i < PIXELS * C ? i % C : i];

        for (int k = 0; k < CLIPS; k++)
            for (int t = 0; t < FRAMES; t++) {
                double x = (double)number(k, t, i) - (double)number(0, 0, i);
                double b = s->clip[k][t * EACH + i] - (double)s->clip[0][i];

                CU_ASSERT(fabs(b * step - x) <= 1.01 * step);
            }
    }
}

static void test_bytes(void)
{
    struct ctt_item item[CLIPS] = { { .id = (char *)"a" },
                                    { .id = (char *)"b" } };
    const struct ctt_list list = { .item = item, .count = CLIPS };
    struct ctt_clip clip[CLIPS] = { { .item = 0, .length = FRAMES },
                                    { .item = 1, .length = FRAMES } };
    const struct ctt_data d = { .list = &list, .clip = clip, .clips = CLIPS,
                                .longest = FRAMES };
    const struct ctt_input in = { .d = 1, .h = 1, .w = EACH, .c = 1,
                                  .scale = 1 };
    struct ctt_map_set s;
    struct ctt_data frames;

    CHECK_OK(make(&d, number(0, 0, 0), &s));
    CU_ASSERT(s.step[0] > 0.1f && s.step[0] < 0.6f);    /* by changes */
    CU_ASSERT_DOUBLE_EQUAL(s.step[1], 501.25 / 255, 1e-4);    /* by range */
    check_bytes(&s);
    CHECK_OK(ctt_map_set_data(&s, &in, &frames));
    CU_ASSERT_EQUAL(frames.clips, CLIPS);
    CU_ASSERT_EQUAL(frames.stored_w, EACH);
    CU_ASSERT_EQUAL(frames.kept[1].f.count, FRAMES);
    CU_ASSERT_PTR_EQUAL(frames.kept[1].f.data, s.clip[1]);
    ctt_map_set_done(&frames);
    ctt_map_set_done(&frames);    /* as after a failure */
    ctt_map_set_close(&s);
    CU_ASSERT_EQUAL(make(&d, 70000, &s), CTT_ENAN);    /* no 16-bit float */
    CU_ASSERT(strncmp(ctt_errmsg(), "a: ", 3) == 0);
    ctt_map_set_close(&s);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static CU_TestInfo tests[] = {
    { "bytes", test_bytes }, CU_TEST_INFO_NULL
};
static CU_SuiteInfo suites[] = {
    { "map_data", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
};

int main(void)
{
    return ctt_check_main(suites);
}
