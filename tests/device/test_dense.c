/* SPDX-License-Identifier: Apache-2.0
 * test_dense.c: convs of floats, and those that multiply bf16: every kernel
 * gives the sums of plain C of the same numbers, rounded if they are bf16, up
 * to the rounding of sums. */
#include "tests/device/emulated.h"
#include "tests/lib/check.h"
#include "tests/lib/int8.h"
#include "device/cpu/conv/dense/dense.h"
#include "device/cpu/widen.h"
#include "base/half.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const struct ctt_int8_isa ctt_emulated_bf16;
static struct ctt_dev *ref, *cpus[2];

static float rounded(float x)
{
    return ctt_of_bf16(ctt_bf16_of(x));
}

/* A conv of a shape whose values are floats with any low bits. */
static void open_try(struct ctt_int8_try *j, const struct ctt_int8_shape *s,
                     int plus, int act)
{
    int64_t n;

    ctt_int8_open(j, s, plus, act, 0, 3);
    n = ctt_rows(&j->call.in[0]) * j->call.in[0].ld;
    for (int64_t i = 0; i < n; i++)
        j->x[i] *= 1.0123f;
    j->call.in[0].scale = 0;
    j->call.in[0].zero = 0;
}

static void round_all(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = rounded(x[i]);
}

/* What plain C gives for the numbers as the kernels round them; with `sizes`
 * the sum of what the products are without their signs, which bounds the error
 * of a sum. */
static void expect(struct ctt_int8_try *j, const struct ctt_int8_isa *isa,
                   const struct ctt_int8_shape *s, int plus, int act,
                   int sizes)
{
    int64_t n, w;

    open_try(j, s, plus, sizes ? 0 : act);
    n = ctt_rows(&j->call.in[0]) * j->call.in[0].ld;
    w = ctt_volume(&j->call.w[0].t);
    if (isa->bytes == sizeof(uint16_t)) {
        round_all(j->x, n);
        round_all(j->w, w);
    }
    for (int64_t i = 0; sizes && i < n; i++)
        j->x[i] = fabsf(j->x[i]);
    for (int64_t i = 0; sizes && i < w; i++)
        j->w[i] = fabsf(j->w[i]);
    CHECK_OK(ctt_dev_run(ref, &j->call, CTT_FWD));
}

/* half: 1: the values, 2: the result has 16 bits. */
static void make_short(struct ctt_int8_try *j, int half)
{
    struct ctt_tensor *x = &j->call.in[0];
    uint16_t *to = (uint16_t *)j->bytes;

    j->call.mul = CTT_BF16;
    for (int64_t i = 0; i < ctt_rows(x) * x->ld && half & 1; i++)
        to[i] = ctt_bf16_of(j->x[i]);
    if (half & 1) {
        x->dtype = CTT_BF16;
        x->data = to;
    }
    if (half & 2)
        j->call.out.dtype = CTT_BF16;
}

/* Numbers that are further from `want` than rounding explains; what lies
 * between the rows must still be 0. */
static int64_t wrong(const struct ctt_int8_try *got,
                     const struct ctt_int8_try *want,
                     const struct ctt_int8_try *size)
{
    const struct ctt_tensor *y = &got->call.out;
    int64_t bad = 0;

    for (int64_t r = 0; r < ctt_rows(y); r++)
        for (int64_t c = 0; c < y->ld; c++) {
            int64_t i = r * y->ld + c;
            float v = ctt_load(got->y, y->dtype, i);
            float most = 2e-5f * (fabsf(size->y[i]) + 1);
            if (y->dtype == CTT_BF16)
                most += 0x1p-8f * fabsf(want->y[i]);
            bad += c < y->c ? !(fabsf(v - want->y[i]) <= most) : v != 0;
        }
    return bad;
}

static void check_shape(const struct ctt_int8_isa *isa,
                        const struct ctt_int8_shape *s, int plus, int act)
{
    struct ctt_int8_try want, size, got;

    expect(&want, isa, s, plus, act, 0);
    expect(&size, isa, s, plus, act, 1);
    for (int half = 0; half < (isa->bytes == 2 ? 4 : 1); half++) {
        struct ctt_int8_weights k = { NULL };

        open_try(&got, s, plus, act);
        if (isa->bytes == sizeof(uint16_t))
            make_short(&got, half);
        for (int t = 0; t < 2; t++) {
            CHECK_OK(ctt_dense_run(isa, cpus[t], &got.call, &k));
            CU_ASSERT_EQUAL(wrong(&got, &want, &size), 0);
            if (wrong(&got, &want, &size))
                printf("\n    %s: %s, conv %s, plus %d, act %d, short %d",
                       isa->name, s->in, s->conv, plus, act, half);
        }
        ctt_free(k.room);
        ctt_int8_close(&got, cpus[1]);
    }
    ctt_int8_close(&want, ref);
    ctt_int8_close(&size, ref);
}

static void check(const struct ctt_int8_isa *isa)
{
    for (int i = 0; ctt_int8_shapes[i].in; i++)
        if (ctt_check_tries())
            check_shape(isa, &ctt_int8_shapes[i], i & 1, i % 5);
}

static void test_here(void)
{
    static const struct ctt_int8_isa *const all[] = {
        &ctt_bf16_avx512, &ctt_dense_avx512, &ctt_dense_avx2,
        &ctt_thin_avx512
    };

    for (size_t i = 0; i < CTT_LEN(all); i++)
        if (all[i]->supported())
            check(all[i]);
        else
            printf("\n    this processor lacks what kernel %d needs", (int)i);
}

static void test_emulated(void)
{
    if (ctt_emulated_bf16.name)
        check(&ctt_emulated_bf16);
    else
        puts("\n    built without SIMDe");
}

/* New weights are packed again, but only with a new stamp. */
static void test_stamp(void)
{
    struct ctt_int8_try j, want, size;
    const struct ctt_int8_shape *s = &ctt_int8_shapes[3];

    if (!ctt_bf16_avx512.supported())
        return;
    expect(&want, &ctt_bf16_avx512, s, 0, 0, 0);
    expect(&size, &ctt_bf16_avx512, s, 0, 0, 1);
    open_try(&j, s, 0, 0);
    make_short(&j, 0);
    CHECK_OK(ctt_dev_run(cpus[0], &j.call, CTT_FWD));
    CU_ASSERT_STRING_EQUAL(ctt_dev_impl(cpus[0], j.cache, CTT_FWD),
                           "bf16:avx512");
    CU_ASSERT_EQUAL(wrong(&j, &want, &size), 0);
    for (int64_t i = 0; i < ctt_volume(&j.call.w[0].t); i++)
        j.w[i] = 0;
    CHECK_OK(ctt_dev_run(cpus[0], &j.call, CTT_FWD));
    CU_ASSERT_EQUAL(wrong(&j, &want, &size), 0);
    j.call.stamp = 2;
    CHECK_OK(ctt_dev_run(cpus[0], &j.call, CTT_FWD));
    CU_ASSERT(wrong(&j, &want, &size) > 0);
    ctt_int8_close(&j, cpus[0]);
    ctt_int8_close(&want, ref);
    ctt_int8_close(&size, ref);
}

/* Calls that no kernel of bf16 takes: by kernels of floats. */
static void test_refused(void)
{
    struct ctt_int8_try j;
    const struct ctt_int8_shape *s = &ctt_int8_shapes[4];

    open_try(&j, s, 1, 0);
    CU_ASSERT(!ctt_bf16_takes(&j.call));
    j.call.mul = CTT_BF16;
    CU_ASSERT_EQUAL(ctt_bf16_takes(&j.call), ctt_bf16_avx512.supported());
    j.call.in[1].dtype = CTT_BF16;
    CU_ASSERT(!ctt_bf16_takes(&j.call));
    j.call.in[1].dtype = CTT_F32;
    j.call.in[0].dtype = CTT_F16;
    CU_ASSERT(!ctt_bf16_takes(&j.call));
    j.call.in[0].dtype = CTT_F32;
    j.call.mul = CTT_F16;
    CU_ASSERT(!ctt_bf16_takes(&j.call));
    CHECK_OK(ctt_dev_run(cpus[0], &j.call, CTT_FWD));
    CU_ASSERT(strncmp(ctt_dev_impl(cpus[0], j.cache, CTT_FWD), "bf16", 4));
    ctt_int8_close(&j, cpus[0]);
}

static CU_TestInfo tests[] = {
    { "here", test_here }, { "emulated", test_emulated },
    { "stamp", test_stamp }, { "refused", test_refused }, CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "dense", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (ctt_dev_open("ref", 1, &ref) < 0 ||
        ctt_dev_open("cpu", 1, &cpus[0]) < 0 ||
        ctt_dev_open("cpu", 2, &cpus[1]) < 0)
        return 99;
    rc = ctt_check_main(suites);
    ctt_dev_close(&ref);
    ctt_dev_close(&cpus[0]);
    ctt_dev_close(&cpus[1]);
    return rc;
}
