/* SPDX-License-Identifier: Apache-2.0
 * test_int8_emulated.c: the kernels of quantised values for instructions that
 * this processor may not have, emulated: the same bits as the direct sums. */
#include "tests/device/emulated.h"
#include "tests/lib/check.h"
#include "tests/lib/int8.h"

#include <stdio.h>

static struct ctt_dev *ref, *cpu;

static void check_shape(const struct ctt_int8_isa *isa,
                        const struct ctt_int8_shape *s, int plus, int act,
                        int bytes)
{
    struct ctt_int8_try want, got;
    struct ctt_int8_weights w = { NULL };

    ctt_int8_open(&want, s, plus, act, 0, 7);
    ctt_int8_open(&got, s, plus, act, bytes, 7);
    if (!ctt_int8_can(isa, &got.call))
        goto out;
    CHECK_OK(ctt_dev_run(ref, &want.call, CTT_FWD));
    for (int again = 0; again < 2; again++) {
        CHECK_OK(ctt_int8_run(isa, cpu, &got.call, &w));
        CU_ASSERT(ctt_int8_same(&want, &got));
        if (!ctt_int8_same(&want, &got))
            printf("\n    %s: %s, conv %s, plus %d, bytes %d", isa->name,
                   s->in, s->conv, plus, bytes);
    }
out:
    ctt_free(w.room);
    ctt_int8_close(&want, ref);
    ctt_int8_close(&got, cpu);
}

/* All kinds of bytes; a plus input for every other shape, to take less time;
 * acts but relu are those of a row. */
static void check(const struct ctt_int8_isa *isa)
{
    for (int i = 0; ctt_int8_shapes[i].in; i++)
        for (int k = i % 2; k < 8; k += 2)
            if (ctt_check_tries())
                check_shape(isa, &ctt_int8_shapes[i], k & 1, (i + k) % 5,
                            ctt_int8_bytes((size_t)i, k));
}

static void test_vnni(void)    { check(&ctt_emulated_vnni); }
static void test_avxvnni(void) { check(&ctt_emulated_avxvnni); }
static void test_depthwise(void) { check(&ctt_emulated_depthwise); }

static CU_TestInfo tests[] = {
    { "vnni", test_vnni }, { "avxvnni", test_avxvnni },
    { "depthwise", test_depthwise }, CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "int8_emulated", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (!ctt_emulated_vnni.name) {
        puts("built without SIMDe");
        return CTT_SKIP;
    }
    if (ctt_dev_open("ref", 1, &ref) < 0 || ctt_dev_open("cpu", 2, &cpu) < 0)
        return 99;
    rc = ctt_check_main(suites);
    ctt_dev_close(&ref);
    ctt_dev_close(&cpu);
    return rc;
}
