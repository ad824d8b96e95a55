/* SPDX-License-Identifier: Apache-2.0
 * test_depth.c: recomputation across nodes: the same bits as with all values
 * kept, within the memory that was planned. */
#include "run/back/depth.h"
#include "run/back/pack.h"
#include "tests/lib/batch.h"
#include "tests/lib/check.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the same numbers ---- */

/* A residual net with batch norms and dropout, as one frame or several. */
#define RESIDUAL "input x h=12 w=12 c=3\n" \
    "conv e in=x out=8 kernel=3 pad=1\nresblock a in=e out=8\n" \
    "dropout p in=a rate=0.3\nresblock b in=p out=8\n" \
    "resblock c in=b out=12 stride=2\ndropout q in=c rate=0.2\n" \
    "resblock d in=q out=12\nresblock f in=d out=12\n" \
    "pool g in=f kind=avg\nconv y in=g out=4\n"

/* A skip over many nodes, as in a U-net, and a state at its deepest. */
#define SKIPS "input x h=8 w=8 c=2\n" \
    "conv a in=x out=4 kernel=3 pad=1\nact a1 in=a kind=relu\n" \
    "conv b in=a1 out=6 kernel=3 pad=1 stride=2\nact b1 in=b kind=tanh\n" \
    "convlstm l in=b1 hidden=4\nconv c in=l out=6 kernel=3 pad=1\n" \
    "norm n in=c kind=layer\nact n1 in=n kind=relu\nadd s in=n1,b1\n" \
    "upsample u in=s by=2\nconcat k in=u,a1\n" \
    "conv d in=k out=4 kernel=3 pad=1\nact d1 in=d kind=relu\n" \
    "dropout o in=d1 rate=0.4\nconv y in=o out=1\n"

static const struct batch_model deep[] = {
    { RESIDUAL, 4, .batch = 1 }, { SKIPS, 2 },
};

static void check_bits(const struct batch_model *m, const char *device,
                       int window)
{
    struct batch all, some;

    CHECK_OK(batch_open(&all, m, device, window, window ? 0 : ALL));
    CHECK_OK(batch_open(&some, m, device, window, CTT_KEEP_DEPTH));
    CU_ASSERT_FATAL(some.x && some.x->back->depth);
    memset(some.x->back->value, 0xff, (size_t)some.x->back->values);
    for (int twice = 0; twice < 2; twice++) {
        CHECK_OK(batch_run(&all));
        CHECK_OK(batch_run(&some));
        batch_same(&all, &some, device);
    }
    batch_close(&some);
    batch_close(&all);
}

static void test_bits(void)
{
    for (size_t d = 0; ctt_check_hosts[d]; d++) {
        for (size_t i = 0; i < FEEDBACK; i++)
            for (int window = 0; window < 5; window += 2)
                check_bits(&batch_models[i], ctt_check_hosts[d], window);
        for (size_t i = 0; i < CTT_LEN(deep); i++)
            check_bits(&deep[i], ctt_check_hosts[d], 0);
        check_bits(&deep[1], ctt_check_hosts[d], 3);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static CU_TestInfo tests[] = {
    { "the same bits", test_bits },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "depth", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
