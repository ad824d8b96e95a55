/* SPDX-License-Identifier: Apache-2.0
 * test_fuse.c: fusion into a conv's kernel: another conv added to its result,
 * an LSTM cell applied to it, and a plus input that it accumulates into. */
#include "tests/lib/check.h"
#include "tests/lib/fused.h"
#include "tests/lib/rig.h"

#include <math.h>
#include <string.h>

static struct ctt_dev *open_dev(const char *name)
{
    struct ctt_dev *d = NULL;

    CHECK_OK(ctt_dev_open(name, 2, &d));
    return d;
}

static const struct ctt_fused_case fused_cases[] = {
    { "c=8 h=12 w=12", "c=48 h=12 w=12", "kernel=5 pad=2", "kernel=5 pad=2",
      48 },
    { "c=8 h=9 w=7", "c=5 h=9 w=7", "kernel=5 pad=2", "kernel=5 pad=2", 11 },
    { "c=16 h=8 w=13", "c=33 h=8 w=13", "kernel=3 pad=1", "kernel=3 pad=1",
      3 },
    { "c=3 h=6 w=6", "c=1 h=6 w=6", "kernel=1", "kernel=1", 6 },
    { "c=9", "c=7", "", "", 5 },
};

enum {
    PAIR = CTT_FUSED_PAIR, LSTM = CTT_FUSED_LSTM, KEEP = CTT_FUSED_KEEP
};

/* Results must not depend on the number of calls: with fusion, or on "ref" node
 * by node. */
static void fused_of(struct ctt_dev *d, struct ctt_dev *ref,
                     const struct ctt_fused_case *a, int n, int flags)
{
    struct ctt_fused x, y;

    ctt_fused_open(&x, a, n, flags);
    ctt_fused_open(&y, a, n, flags);
    CHECK_OK(ctt_dev_run(d, &x.call, CTT_FWD));
    CHECK_OK(ctt_dev_run(ref, &y.call, CTT_FWD));
    if (flags & KEEP || !(flags & LSTM))
        CU_ASSERT(ctt_fused_agree(&x.call.out, &y.call.out, 2e-5));
    CU_ASSERT(ctt_fused_agree(&x.call.lstm.h, &y.call.lstm.h, 1e-5));
    CU_ASSERT(ctt_fused_agree(&x.call.lstm.c, &y.call.lstm.c, 1e-5));
    if (flags & LSTM) {
        x.call.lstm.c.data = NULL;    /* not wanted */
        x.call.lstm.keep = 0;
        ctt_check_fill(x.call.out.data, ctt_rows(&x.call.out) *
                       x.call.out.ld, 2);
        CHECK_OK(ctt_dev_run(d, &x.call, CTT_FWD));
        CU_ASSERT(ctt_fused_agree(&x.call.lstm.h, &y.call.lstm.h, 1e-5));
    }
    ctt_fused_close(&x, d);
    ctt_fused_close(&y, ref);
}

static void test_fuse(void)
{
    for (int k = 0; ctt_check_hosts[k]; k++) {
        struct ctt_dev *d = open_dev(ctt_check_hosts[k]);
        struct ctt_dev *ref = open_dev("ref");
        for (size_t i = 0; i < CTT_LEN(fused_cases); i++)
            for (int flags = 0; flags < 16; flags++)
                fused_of(d, ref, &fused_cases[i], 1 + 2 * (flags % 2), flags);
        ctt_dev_blame(d, 1);
        fused_of(d, ref, &fused_cases[0], 1, PAIR | LSTM);
        ctt_dev_close(&d);
        ctt_dev_close(&ref);
    }
}

/* Nor may a bit depend on the number of threads. */
static void test_fuse_threads(void)
{
    struct ctt_dev *one = NULL, *many = NULL;

    CHECK_OK(ctt_dev_open("cpu", 1, &one));
    CHECK_OK(ctt_dev_open("cpu", 3, &many));
    ctt_dev_deterministic(one, 1);
    ctt_dev_deterministic(many, 1);
    for (size_t i = 0; i < 3; i++) {    /* those that Winograd does */
        struct ctt_fused x, y;
        ctt_fused_open(&x, &fused_cases[i], 3, PAIR | LSTM | KEEP);
        ctt_fused_open(&y, &fused_cases[i], 3, PAIR | LSTM | KEEP);
        CHECK_OK(ctt_dev_run(one, &x.call, CTT_FWD));
        CHECK_OK(ctt_dev_run(many, &y.call, CTT_FWD));
        CU_ASSERT(ctt_fused_agree(&x.call.out, &y.call.out, 0));
        CU_ASSERT(ctt_fused_agree(&x.call.lstm.h, &y.call.lstm.h, 0));
        CU_ASSERT(ctt_fused_agree(&x.call.lstm.c, &y.call.lstm.c, 0));
        ctt_fused_close(&x, one);
        ctt_fused_close(&y, many);
    }
    ctt_dev_close(&one);
    ctt_dev_close(&many);
}

/* The kernel reports the nodes it has fused, and fuses all that it can. */
static void test_fuse_impl(void)
{
    struct ctt_dev *d = open_dev("cpu");
    struct ctt_fused r;
    const char *impl;

    ctt_fused_open(&r, &fused_cases[0], 2, PAIR | LSTM);
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
    impl = ctt_dev_impl(d, r.cache[0], CTT_FWD);
    CU_ASSERT(strncmp(impl, "wino", 4) || strstr(impl, "+pair+lstm"));
    ctt_fused_close(&r, d);
    ctt_dev_close(&d);
}

/* Without fusion, each call has its own row of the profile and is blamed
 * itself. */
static void test_split(void)
{
    struct ctt_dev *d = open_dev("ref");
    struct ctt_profile sum[6][CTT_PASSES] = { { { 0, 0 } } };
    struct ctt_fused r;

    ctt_fused_open(&r, &fused_cases[1], 2, PAIR | LSTM);
    ctt_dev_profile(d, r.g, sum);
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
    ctt_dev_profile(d, r.g, NULL);
    for (int i = 0; i < r.g->count; i++)
        CU_ASSERT_EQUAL(sum[i][CTT_FWD].calls, i == 2 || i == 3 || i == 5);
    ctt_dev_blame(d, 1);
    ((float *)r.call.lstm.old.data)[0] = NAN;
    CU_ASSERT_EQUAL(ctt_dev_run(d, &r.call, CTT_FWD), CTT_ENAN);
    CU_ASSERT(strncmp(ctt_errmsg(), "l: ", 3) == 0);
    ((float *)r.call.in[0].data)[0] = NAN;
    CU_ASSERT_EQUAL(ctt_dev_run(d, &r.call, CTT_FWD), CTT_ENAN);
    CU_ASSERT(strncmp(ctt_errmsg(), "z: ", 3) == 0);
    ((float *)r.call.pair.in.data)[0] = NAN;
    CU_ASSERT_EQUAL(ctt_dev_run(d, &r.call, CTT_FWD), CTT_ENAN);
    CU_ASSERT(strncmp(ctt_errmsg(), "p: ", 3) == 0);
    ctt_fused_close(&r, d);
    ctt_dev_close(&d);
}

/* The backward pass of a plus input that is a name of the result. */
static void test_in_place(void)
{
    static const struct ctt_case conv = {
        "c=16 h=6 w=6", "c=32 h=6 w=6",
        "conv y in=a plus=b out=32 kernel=3 pad=1", 0
    };

    for (int k = 0; ctt_check_hosts[k]; k++) {
        struct ctt_dev *d = open_dev(ctt_check_hosts[k]);
        struct ctt_rig a, b;
        ctt_rig_open(&a, &conv, 2, RIG_DIN | RIG_DW, 0);
        ctt_rig_open(&b, &conv, 2, RIG_DIN | RIG_DW, 0);
        b.call.din[1] = b.call.dout;
        CHECK_OK(ctt_dev_run(d, &a.call, CTT_BWD));
        CHECK_OK(ctt_dev_run(d, &b.call, CTT_BWD));
        CU_ASSERT(ctt_fused_agree(&b.call.dout, &a.call.din[1], 0));
        CU_ASSERT(ctt_fused_agree(&b.call.din[0], &a.call.din[0], 0));
        CU_ASSERT(ctt_fused_agree(&b.call.dw[0], &a.call.dw[0], 0));
        ctt_rig_close(&a, d);
        ctt_rig_close(&b, d);
        ctt_dev_close(&d);
    }
}

static CU_TestInfo tests[] = {
    { "what is fused", test_fuse },
    { "threads", test_fuse_threads },
    { "what was fused", test_fuse_impl },
    { "what was not fused", test_split },
    { "in place", test_in_place },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "fuse", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    return rc ? rc : ctt_live_blocks() != 0;
}
