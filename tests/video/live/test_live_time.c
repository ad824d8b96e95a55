/* SPDX-License-Identifier: Apache-2.0
 * test_live_time.c: times of live sources: which frames are steps, clocks that
 * jump, stand still or lie, and cuts between scenes. */
#include "tests/lib/check.h"
#include "video/cut.h"
#include "video/live/live_inside.h"
#include "video/pick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- choice ---- */

/* The steps of frames as frame.c has it, one by one. */
static int steps_of(double now, double next, int ended, double fps, int k)
{
    int n = 0;

    for (;; n++) {
        double t = (k + n) / fps;

        if (ended ? !(k + n == 0 || ctt_pick_within(next, t, fps)) :
            ctt_pick_later(now, next, t))
            return n;
    }
}

static void test_pick_as_clips(void)
{
    static const double rate[] = { 1, 5, 12, 12.5, 25, 29.97, 60 };
    unsigned key = 7;

    for (size_t r = 0; r < CTT_LEN(rate); r++) {
        struct ctt_pick p = { .fps = rate[r] };
        double t = 0, next;
        int k = 0;

        ctt_pick_begin(&p, 0);
        for (int i = 0; i < 500; i++, t = next) {
            int64_t lost, n;
            int want, ended = i == 499;

            key = key * 1103515245u + 12345u;
            next = t + (key >> 16) % 100 / (i % 7 ? 1000.0 : 100.0);
            want = steps_of(t, next, ended, rate[r], k);
            n = ctt_pick_frame(&p, t, next, ended, &lost);
            CU_ASSERT_EQUAL(n, want);
            CU_ASSERT_EQUAL(lost, 0);
            k += want;
            CU_ASSERT_EQUAL(p.k, k);
        }
    }
}

/* Frames that stay away: near steps get a later frame, others are lost. */
static void test_pick_lost(void)
{
    struct ctt_pick p = { .fps = 10, .fill = 0.15 };
    int64_t lost, all = 0, sum = 0;

    ctt_pick_begin(&p, 100);
    CU_ASSERT_EQUAL(ctt_pick_frame(&p, 100, 100.1, 0, &lost), 1);
    CU_ASSERT_EQUAL(ctt_pick_frame(&p, 100.2, 100.3, 0, &lost), 2);
    CU_ASSERT_EQUAL(lost, 0);
    CU_ASSERT_EQUAL(ctt_pick_frame(&p, 102.2, 102.3, 0, &lost), 2);
    CU_ASSERT_EQUAL(lost, 18);
    for (int i = 1; i < 1000; i++) {    /* 25 a second */
        all += ctt_pick_frame(&p, 102.2 + i / 25.0, 102.24 + i / 25.0, 0,
                              &lost);
        sum += lost;
    }
    CU_ASSERT(all >= 399 && all <= 401);
    CU_ASSERT_EQUAL(sum, 0);
}

static void test_pick_every(void)
{
    struct ctt_pick p = { .fps = 0 };
    int64_t lost;

    ctt_pick_begin(&p, 0);
    for (int i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(ctt_pick_frame(&p, 0, 0, i == 4, &lost), 1);
    CU_ASSERT_EQUAL(p.k, 5);
}

/* Times that nobody can mean end, too. */
static void test_pick_absurd(void)
{
    static const double times[] = { 1e12, 1e18, 8e18, 1e300, (double)INFINITY,
                                    -1e18, -1e300, (double)NAN };

    for (size_t i = 0; i < CTT_LEN(times); i++) {
        for (int how = 0; how < 4; how++) {
            struct ctt_pick p = { .fps = 10, .fill = how & 1 ? 0.2 : 0 };
            int64_t lost, n;

            ctt_pick_begin(&p, 0);
            n = ctt_pick_frame(&p, times[i], times[i] + 0.1, how & 2, &lost);
            CU_ASSERT(n >= 0 && lost >= 0);
            CU_ASSERT_EQUAL(n + lost, p.k);
            CU_ASSERT(p.k <= (int64_t)1 << 50);
            n = ctt_pick_frame(&p, 0, times[i], how & 2, &lost);
            CU_ASSERT(n >= 0 && lost >= 0);
        }
    }
}

/* ---- the clock ---- */

static void test_clock_follows(void)
{
    struct ctt_live_clock c = { 0 };

    for (int i = 0; i < 2000; i++) {
        double late = i % 10 * 0.01;    /* the network's */
        double t = ctt_live_clock_time(&c, 500 + i / 25.0,
                                       9000 + i / 25.0 + late);
        CU_ASSERT_DOUBLE_EQUAL(t, i / 25.0, 1e-6);
    }
    CU_ASSERT_EQUAL(c.jumps, 0);
    CU_ASSERT_FALSE(c.by_clock);
}

static void test_clock_jumps(void)
{
    struct ctt_live_clock c = { 0 };
    double t;

    ctt_live_clock_time(&c, 500, 10);
    t = ctt_live_clock_time(&c, 501, 11);
    CU_ASSERT_DOUBLE_EQUAL(t, 1, 1e-9);
    t = ctt_live_clock_time(&c, 3, 11.04);
    CU_ASSERT_DOUBLE_EQUAL(t, 1.04, 1e-9);
    t = ctt_live_clock_time(&c, 3.04, 11.2);
    CU_ASSERT_DOUBLE_EQUAL(t, 1.08, 1e-9);
    t = ctt_live_clock_time(&c, 1e6, 11.3);
    CU_ASSERT_DOUBLE_EQUAL(t, 1.18, 1e-9);
    t = ctt_live_clock_time(&c, 1e6 - 0.1, 11.3);    /* out of order */
    CU_ASSERT_DOUBLE_EQUAL(t, 1.18, 1e-9);
    CU_ASSERT_EQUAL(c.jumps, 2);
    ctt_live_clock_again(&c);
    t = ctt_live_clock_time(&c, 0, 14.3);
    CU_ASSERT_DOUBLE_EQUAL(t, 4.18, 1e-9);
    t = ctt_live_clock_time(&c, 0.04, 14.34);
    CU_ASSERT_DOUBLE_EQUAL(t, 4.22, 1e-9);
    CU_ASSERT_EQUAL(c.jumps, 2);
}

static void test_clock_missing(void)
{
    struct ctt_live_clock c = { 0 };

    CU_ASSERT_EQUAL(ctt_live_clock_time(&c, NAN, 50), 0);
    CU_ASSERT_DOUBLE_EQUAL(ctt_live_clock_time(&c, NAN, 50.5), 0.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ctt_live_clock_time(&c, 7, 50.6), 0.6, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ctt_live_clock_time(&c, 7.2, 50.7), 0.8, 1e-9);
}

/* 30 frames a second are stated, `real` come. */
static int lies(double real, int *frames)
{
    struct ctt_live_clock c = { 0 };
    int i;

    for (i = 0; i < 3000 && !c.by_clock; i++)
        ctt_live_clock_time(&c, i / 30.0, i / real);
    *frames = i;
    return c.by_clock;
}

static void test_clock_lies(void)
{
    static const struct { double real; int lies; } row[] = {
        { 30, 0 }, { 29.97, 0 }, { 25, 0 }, { 36, 0 }, { 10, 1 }, { 90, 1 },
    };
    struct ctt_live_clock c = { 0 };
    double t = 0;
    int n;

    for (size_t i = 0; i < CTT_LEN(row); i++) {
        CU_ASSERT_EQUAL(lies(row[i].real, &n), row[i].lies);
        if (row[i].lies)
            CU_ASSERT(n / row[i].real < 17);
    }
    /* A burst at the beginning, a pause and what was kept meanwhile. */
    for (int i = 0; i < 2000; i++) {
        double at = i / 25.0 < 4 ? 4 : i / 25.0;
        at = at > 30 && at < 36 ? 36 : at;
        t = ctt_live_clock_time(&c, i / 25.0, at);
    }
    CU_ASSERT_FALSE(c.by_clock);
    CU_ASSERT_DOUBLE_EQUAL(t, 1999 / 25.0, 1e-6);
}

/* 24 hours of stamps that wrap and jump: never back, no drift. */
static void test_clock_day(void)
{
    struct ctt_live_clock c = { 0 };
    double last = 0;
    int back = 0;

    for (int64_t i = 0; i < 25 * 86400; i++) {
        double t = ctt_live_clock_time(&c, (double)(i % 250000) / 25,
                                       (double)i / 25);
        back += t < last;
        last = t;
    }
    CU_ASSERT_EQUAL(back, 0);
    CU_ASSERT_EQUAL(c.jumps, 25 * 86400 / 250000);
    CU_ASSERT_DOUBLE_EQUAL(last, 86400 - 0.04, 1e-3);
    CU_ASSERT_FALSE(c.by_clock);
}

/* ---- cuts ---- */

enum { SIDE = 32 };

/* A scene: stripes of its own that move, with noise. */
static void draw(uint8_t *p, int scene, int frame, double light)
{
    unsigned key = (unsigned)(scene * 977 + frame);

    for (int i = 0; i < SIDE * SIDE * 3; i++) {
        int x = i / 3 % SIDE, y = i / 3 / SIDE;
        int at = scene % 2 ? x + frame : y + frame;

        key = key * 1103515245u + 12345u;
        p[i] = (uint8_t)(light * (100 + (at / 16 + scene + i % 3) % 2 * 80 +
                                  (key >> 16) % 16));
    }
}

static void test_cuts(void)
{
    static uint8_t p[SIDE * SIDE * 3];
    struct ctt_cut s = { 0 };
    double still = 0;

    for (int scene = 0; scene < 6; scene++) {
        for (int f = 0; f < 20; f++) {
            double v;

            draw(p, scene, f, 1);
            v = ctt_cut_next(&s, p, SIDE, SIDE, 3);
            CU_ASSERT(v >= 0 && v <= 1);
            if (scene && f == 0)
                CU_ASSERT(v > 0.1);
            if (f > 0)
                still = v > still ? v : still;
        }
    }
    CU_ASSERT(still < 0.07);
    /* Light that fades is none; another size begins anew. */
    s = (struct ctt_cut){ 0 };
    for (int f = 0; f < 20; f++) {
        draw(p, 1, 0, 1 - f / 20.0);
        CU_ASSERT(ctt_cut_next(&s, p, SIDE, SIDE, 3) < 0.05);
    }
    draw(p, 1, 0, 1);
    CU_ASSERT_EQUAL(ctt_cut_next(&s, p, 3, 5, 1), 0);
    CU_ASSERT(ctt_cut_next(&s, p, 3, 5, 1) < 0.1);
}

int main(void)
{
    static CU_TestInfo pick[] = {
        { "as clips", test_pick_as_clips }, { "lost steps", test_pick_lost },
        { "every frame", test_pick_every },
        { "absurd times", test_pick_absurd }, { NULL, NULL } };
    static CU_TestInfo clocks[] = {
        { "follows", test_clock_follows }, { "jumps", test_clock_jumps },
        { "missing", test_clock_missing }, { "lies", test_clock_lies },
        { "a day", test_clock_day }, { NULL, NULL } };
    static CU_TestInfo cuts[] = {
        { "cuts", test_cuts }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "choice", NULL, NULL, NULL, NULL, pick },
        { "clock", NULL, NULL, NULL, NULL, clocks },
        { "scenes", NULL, NULL, NULL, NULL, cuts },
        { NULL, NULL, NULL, NULL, NULL, NULL } };

    return ctt_check_main(suites);
}
