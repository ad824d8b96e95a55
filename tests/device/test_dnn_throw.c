/* SPDX-License-Identifier: Apache-2.0
 * test_dnn_throw.c: an exception in oneDNN, whichever of its allocations fails,
 * is an error of the call; nothing is lost, and the next call works. */
#include "tests/lib/rig.h"
#include "tests/lib/throws.h"
#include "tests/lib/check.h"

#include <string.h>

static struct ctt_dev *ref;

enum { MOST = 3000 };

/* oneDNN loses blocks of its own when it throws; ours are counted. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libdnnl\n";
}

struct work {
    const struct ctt_case *c;
    int                    flags, failed, exact;
    enum ctt_pass          pass;
};

/* Opens a device and runs one call; the k-th operator new of it throws.
 * Returns 1 if oneDNN computed it. */
static int run(struct work *w, struct ctt_rig *r, long k)
{
    struct ctt_dev *d = NULL;
    int rc, by_dnn = 0;

    throw_at(k);
    rc = ctt_dev_open("cpu", 2, &d);
    if (rc >= 0) {
        ctt_dev_deterministic(d, w->exact);
        ctt_rig_reset(r, w->flags);
        rc = ctt_dev_run(d, &r->call, w->pass);
    }
    throw_at(0);
    if (rc < 0) {
        w->failed++;
        ctt_check_refused(rc, CTT_ENOMEM, "memory");
    } else {
        by_dnn = strstr(ctt_dev_impl(d, r->cache, w->pass), "onednn") != NULL;
    }
    if (d)
        ctt_dev_forget(d, &r->cache);
    ctt_dev_close(&d);
    return rc < 0 ? rc : by_dnn;
}

/* Every allocation fails once; between two failures the call must work. */
static void fail_each(struct work *w)
{
    struct ctt_rig r, good;
    long live, calls = 0, k;
    int rc = 0;

    ctt_rig_open(&r, w->c, 2, w->flags, 0);
    ctt_rig_open(&good, w->c, 2, w->flags, 0);
    ctt_rig_take(&r, &good);
    ctt_rig_reset(&good, w->flags);
    CHECK_OK(ctt_dev_run(ref, &good.call, w->pass));
    live = ctt_live_blocks();
    calls = new_calls();
    CU_ASSERT_EQUAL(run(w, &r, 0), 1);
    calls = new_calls() - calls;
    CU_ASSERT(calls > 10);
    for (k = 1; k <= calls && k < MOST; k++) {
        run(w, &r, k);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
        if (k % 16 == 0) {
            rc = run(w, &r, 0);
            CU_ASSERT_EQUAL(rc, 1);
        }
    }
    CU_ASSERT_EQUAL(run(w, &r, 0), 1);
    CU_ASSERT(w->failed > 5);
    if (w->pass == CTT_FWD)
        ctt_rig_close_to(&r.call.out, &good.call.out, 1e-4, "out", w->c);
    else if (w->flags & RIG_DIN)
        ctt_rig_close_to(&r.call.din[0], &good.call.din[0], 1e-4, "din", w->c);
    else
        ctt_rig_close_to(&r.call.dw[0], &good.call.dw[0], 1e-4, "dw", w->c);
    printf("\n    %d of %ld failures were errors ", w->failed, calls);
    ctt_rig_close(&r, ref);
    ctt_rig_close(&good, ref);
}

/* A stride of 2 and few channels in a group leave them to oneDNN. */
static const struct ctt_case conv = {
    "h=9 w=9 c=32", NULL,
    "conv y in=a out=32 kernel=3 stride=2 pad=1 groups=4", 0
};

static void test_forward(void)
{
    fail_each(&(struct work){ .c = &conv, .pass = CTT_FWD });
}

static void test_input(void)
{
    fail_each(&(struct work){ .c = &conv, .flags = RIG_DIN, .pass = CTT_BWD });
}

static void test_weights(void)
{
    fail_each(&(struct work){ .c = &conv, .flags = RIG_DW, .pass = CTT_BWD });
}

/* Large enough for two shares, each with a thread of its own. */
static const struct ctt_case cut = {
    "h=24 w=24 c=64", NULL,
    "conv y in=a out=64 kernel=3 stride=2 pad=1 groups=8", 0
};

static void test_shares(void)
{
    fail_each(&(struct work){ .c = &cut, .pass = CTT_FWD, .exact = 1 });
    fail_each(&(struct work){ .c = &cut, .flags = RIG_DIN, .pass = CTT_BWD,
                              .exact = 1 });
    fail_each(&(struct work){ .c = &cut, .flags = RIG_DW, .pass = CTT_BWD,
                              .exact = 1 });
}

static CU_TestInfo tests[] = {
    { "forward", test_forward },
    { "gradient of the input", test_input },
    { "gradient of the weights", test_weights },
    { "shares in threads", test_shares },
    CU_TEST_INFO_NULL
};

int main(void)
{
    return ctt_rig_main((CU_SuiteInfo[]){
        { .pName = "exceptions", .pTests = tests }, CU_SUITE_INFO_NULL
    }, &ref);
}
