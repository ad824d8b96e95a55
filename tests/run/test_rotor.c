/* SPDX-License-Identifier: Apache-2.0
 * test_rotor.c: the fastest schedule for a chain is that of all schedules, as a
 * program finds that tries them. */
#include "run/back/depth.h"
#include "tests/lib/check.h"

#include <math.h>
#include <stdlib.h>

/* A schedule is tried by what it does: `held` bytes are in memory beside its
 * input, `most` may be. */
struct tried { const struct ctt_rotor *c; int64_t most; };

static double try_all(const struct tried *t, int first, int last, int64_t held)
{
    const struct ctt_rotor *c = t->c;
    int pass = last == c->stages - 1;
    double best = INFINITY, walked = 0;
    int64_t peak = held, at = 0;

    for (int cut = first; cut < last; cut++) {    /* walk on, keep one cut */
        int64_t now = held + at + c->thru[cut] + c->grad[last + 1];

        peak = now > peak ? now : peak;
        walked += pass ? 0 : c->ahead[cut];
        at = c->cut[cut + 1];
        if (peak <= t->most && held + at <= t->most)
            best = fmin(best, walked + try_all(t, cut + 1, last, held + at) +
                        try_all(t, first, cut, held));
    }
    if (held + c->full[first] + c->grad[last + 1] > t->most ||
        held + c->back[first] > t->most)
        return best;
    if (first == last)
        return fmin(best, pass ? 0 : c->again[first]);
    if (held + c->saved[first] > t->most)
        return best;
    return fmin(best, (pass ? 0 : c->ahead[first]) +
                try_all(t, first + 1, last, held + c->saved[first]));
}

static void random_chain(struct ctt_rotor *c, int stages)
{
    *c = (struct ctt_rotor){ .stages = stages };
    for (int i = 0; i < stages; i++) {
        c->cut[i] = i ? 1 + rand() % 20 : 0;
        c->grad[i] = c->cut[i];
    }
    for (int i = 0; i < stages; i++) {
        c->saved[i] = c->cut[i + 1] + rand() % 30;
        c->thru[i] = c->cut[i + 1] + rand() % 10;
        c->full[i] = c->saved[i] + rand() % 10;
        c->back[i] = c->saved[i] + c->grad[i] + c->grad[i + 1] + rand() % 10;
        c->ahead[i] = 1 + rand() % 9;
        c->again[i] = c->ahead[i] - rand() % 2;
    }
}

/* A slot is a byte, so nothing is rounded. */
static void test_best(void)
{
    int fits = 0, again = 0;

    for (int round = 0; round < 60; round++) {
        struct ctt_rotor_plan *p;
        struct ctt_rotor c;

        random_chain(&c, 1 + round % 6);
        CHECK_OK(ctt_rotor_solve(&c, CTT_ROTOR_SLOTS, &p));
        for (int m = 10; m <= CTT_ROTOR_SLOTS; m += 15) {
            struct tried t = { &c, m };
            double best = try_all(&t, 0, c.stages - 1, 0);

            CU_ASSERT_EQUAL(ctt_rotor_time(p, 0, c.stages - 1, m), best);
            CU_ASSERT_EQUAL(ctt_rotor_choice(p, 0, c.stages - 1, m) >= 0,
                            best < INFINITY);
            fits += best < INFINITY;
            again += best > 0 && best < INFINITY;
        }
        ctt_rotor_free(&p);
    }
    CU_ASSERT(fits > 500 && again > 50);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* More memory than slots: needs are rounded up, never down. */
static void test_rounded(void)
{
    struct ctt_rotor c = { .stages = 1, .full = { 1001 }, .back = { 1 } };
    struct ctt_rotor_plan *p;

    CHECK_OK(ctt_rotor_solve(&c, 1000, &p));
    CU_ASSERT(ctt_rotor_choice(p, 0, 0, CTT_ROTOR_SLOTS) < 0);
    ctt_rotor_free(&p);
    c.full[0] = 999;
    CHECK_OK(ctt_rotor_solve(&c, 1000, &p));
    CU_ASSERT_EQUAL(ctt_rotor_choice(p, 0, 0, CTT_ROTOR_SLOTS), 0);
    CU_ASSERT(ctt_rotor_choice(p, 0, 0, CTT_ROTOR_SLOTS - 1) < 0);
    ctt_rotor_free(&p);
}

static CU_TestInfo tests[] = {
    { "of all schedules", test_best },
    { "rounded up", test_rounded },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "rotor", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
