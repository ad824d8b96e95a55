/* SPDX-License-Identifier: Apache-2.0
 * test_dense.c: convs of floats, and those that multiply 16 bits: every kernel
 * gives the sums of plain C of the same numbers, rounded if they are 16 bits,
 * up to the rounding of sums; with fp16 the bits of doc/format.md. */
#include "tests/device/emulated.h"
#include "tests/device/half_sums.h"
#include "tests/lib/check.h"
#include "tests/lib/int8.h"
#include "device/cpu/conv/dense/dense.h"
#include "device/cpu/widen.h"
#include "base/half.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

extern const struct ctt_int8_isa ctt_emulated_bf16, ctt_emulated_fp16;
static struct ctt_dev *ref, *cpus[2];

static float rounded(float x, enum ctt_dtype type)
{
    float y;

    ctt_store(&y, type, 0, x);
    return ctt_load(&y, type, 0);
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

static void round_all(float *x, int64_t n, enum ctt_dtype type)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = rounded(x[i], type);
}

/* ---- fp16, as doc/format.md defines its sums ---- */

enum { CHAIN = 32 };

/* Value number i of a row of the window, from channel `from` on; in[]: its
 * sample, plane and row, column. */
static float value_at(const struct ctt_tensor *x, const int64_t in[4],
                      int64_t from, int64_t i, int64_t ins)
{
    int64_t at = in[3] + i / ins;

    if (in[1] < 0 || in[1] >= x->d || in[2] < 0 || in[2] >= x->h || at < 0 ||
        at >= x->w)
        return 0;
    return ((float *)x->data)[(((in[0] * x->d + in[1]) * x->h + in[2]) * x->w +
                               at) * x->ld + from + i % ins];
}

/* The sum of a row of the window: of chains. */
static float add_row(float sum, const struct ctt_tensor *x,
                     const int64_t in[4], int64_t from, const float *w,
                     int64_t ins, int64_t run)
{
    for (int64_t i = 0; i < run; i += CHAIN) {
        uint16_t part = 0;

        for (int64_t k = i; k < run && k < i + CHAIN; k++)
            part = half_fma(ctt_f16_of(value_at(x, in, from, k, ins)),
                            ctt_f16_of(w[k]), part);
        sum += ctt_of_f16(part);
    }
    return sum;
}

static float sum_of(const struct ctt_call *c, int64_t row, int64_t o)
{
    const struct ctt_tensor *x = &c->in[0], *w = &c->w[0].t, *y = &c->out;
    const int *s = c->node->attr.conv.stride, *p = c->node->attr.conv.pad;
    int64_t run = w->w * w->c, from = o / (y->c / ctt_call_groups(c)) * w->c;
    const float *k = (const float *)w->data + o * w->d * w->h * run;
    float sum = 0;

    for (int64_t d = 0; d < w->d; d++)
        for (int64_t h = 0; h < w->h; h++, k += run) {
            int64_t in[4] = { row / (y->d * y->h * y->w),
                              row / (y->h * y->w) % y->d * s[0] + d - p[0],
                              row / y->w % y->h * s[1] + h - p[1],
                              row % y->w * s[2] - p[2] };
            sum = add_row(sum, x, in, from, k, w->c, run);
        }
    return sum;
}

/* Sums with bias and plus, and relu. */
static void sum_halves(struct ctt_call *c)
{
    const float *bias = c->w[1].t.data, *plus = c->in[1].data;
    const struct ctt_tensor *y = &c->out;

    for (int64_t r = 0; r < ctt_rows(y); r++)
        for (int64_t o = 0; o < y->c; o++) {
            float sum = sum_of(c, r, o);

            if (bias)
                sum += bias[o];
            if (c->node->plus && plus)
                sum += plus[r * c->in[1].ld + o];
            ((float *)y->data)[r * y->ld + o] =
                c->act == CTT_ACT_RELU + 1 && sum < 0 ? 0 : sum;
        }
}

/* 1 if the result is defined to the bit. */
static int is_exact(const struct ctt_int8_isa *isa, int act)
{
    return isa->type == CTT_F16 && (!act || act == CTT_ACT_RELU + 1);
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
    round_all(j->x, n, isa->type);
    round_all(j->w, w, isa->type);
    for (int64_t i = 0; sizes && i < n; i++)
        j->x[i] = fabsf(j->x[i]);
    for (int64_t i = 0; sizes && i < w; i++)
        j->w[i] = fabsf(j->w[i]);
    CHECK_OK(ctt_dev_run(ref, &j->call, CTT_FWD));
    if (is_exact(isa, act) && !sizes)
        sum_halves(&j->call);
}

/* half: 1: the values, 2: the result has 16 bits. */
static void make_short(struct ctt_int8_try *j, enum ctt_dtype type, int half)
{
    struct ctt_tensor *x = &j->call.in[0];
    uint16_t *to = (uint16_t *)j->bytes;

    j->call.mul = type;
    for (int64_t i = 0; i < ctt_rows(x) * x->ld && half & 1; i++)
        ctt_store(to, type, i, j->x[i]);
    if (half & 1) {
        x->dtype = type;
        x->data = to;
    }
    if (half & 2)
        j->call.out.dtype = type;
}

/* The largest error of a sum, as a share of the sum of its products' sizes:
 * that of floats, or of a chain of fp16. */
static float share(const struct ctt_int8_try *got)
{
    return got->call.mul == CTT_F16 ? 0x1p-7f : 2e-5f;
}

/* Numbers that are further from `want` than rounding explains, or differ at
 * all (exact); what lies between the rows must still be 0. */
static int64_t wrong(const struct ctt_int8_try *got,
                     const struct ctt_int8_try *want,
                     const struct ctt_int8_try *size, int exact)
{
    const struct ctt_tensor *y = &got->call.out;
    int64_t bad = 0;

    for (int64_t r = 0; r < ctt_rows(y); r++)
        for (int64_t c = 0; c < y->ld; c++) {
            int64_t i = r * y->ld + c;
            float v = ctt_load(got->y, y->dtype, i);
            float most = share(got) * (fabsf(size->y[i]) + 1);
            if (y->dtype != CTT_F32)
                most += 0x1p-8f * fabsf(want->y[i]);
            if (c >= y->c)
                bad += v != 0;
            else if (exact)
                bad += v != rounded(want->y[i], y->dtype);
            else
                bad += !(fabsf(v - want->y[i]) <= most);
        }
    return bad;
}

static void check_shape(const struct ctt_int8_isa *isa,
                        const struct ctt_int8_shape *s, int plus, int act)
{
    struct ctt_int8_try want, size, got;

    expect(&want, isa, s, plus, act, 0);
    expect(&size, isa, s, plus, act, 1);
    for (int half = 0; half < (isa->type != CTT_F32 ? 4 : 1); half++) {
        struct ctt_int8_weights k = { NULL };

        open_try(&got, s, plus, act);
        if (isa->type != CTT_F32)
            make_short(&got, isa->type, half);
        for (int t = 0; t < 2; t++) {
            int64_t bad;
            CHECK_OK(ctt_dense_run(isa, cpus[t], &got.call, 0, &k));
            bad = wrong(&got, &want, &size, is_exact(isa, act));
            CU_ASSERT_EQUAL(bad, 0);
            if (bad)
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
        &ctt_bf16_amx, &ctt_bf16_avx512, &ctt_fp16_avx512, &ctt_dense_avx512,
        &ctt_dense_avx2, &ctt_thin_avx512
    };

    for (size_t i = 0; i < CTT_LEN(all); i++)
        if (all[i]->supported())
            check(all[i]);
        else
            printf("\n    this processor lacks what kernel %d needs", (int)i);
}

static void test_emulated(void)
{
    static const struct ctt_int8_isa *const all[] = {
        &ctt_emulated_bf16, &ctt_emulated_fp16
    };

    for (size_t i = 0; i < CTT_LEN(all); i++)
        if (all[i]->name)
            check(all[i]);
        else
            puts("\n    built without SIMDe");
}

/* The multiply-add that defines fp16: numbers that fall between two. */
static void test_fma(void)
{
    static const struct { float a, b, c, y; } rows[] = {
        { 1, 1, 0x1p-11f, 1 },                       /* a tie, to the even */
        { 1, 1, 0x1.004p-11f, 0x1.004p0f },
        { 0x1.004p0f, 1, 0x1p-11f, 0x1.008p0f },
        { 0x1.00cp0f, 0x1.00cp0f, -1, 0x1.808p-8f },    /* rounded once */
        { 0x1p-24f, 0.5f, 0, 0 }, { 0x1p-24f, 0.75f, 0, 0x1p-24f },
        { 0x1p-14f, 0x1.8p-10f, 0x1p-24f, 0x1p-23f },    /* subnormal */
        { 65504, 1, 15, 65504 }, { 65504, 1, 16, INFINITY },
        { 256, 256, -65504, 32 }, { -2, 3, 6, 0 },
        { 0x1p-24f, 0x1p-24f, 65504, 65504 }, { 0x1p-24f, 1, -1, -1 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++)
        CU_ASSERT_EQUAL(ctt_of_f16(half_fma(ctt_f16_of(rows[i].a),
                                            ctt_f16_of(rows[i].b),
                                            ctt_f16_of(rows[i].c))), rows[i].y);
    CU_ASSERT(isnan(ctt_of_f16(half_fma(ctt_f16_of(INFINITY), 0, 0))));
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
    make_short(&j, CTT_BF16, 0);
    CHECK_OK(ctt_dev_run(cpus[0], &j.call, CTT_FWD));
    CU_ASSERT_STRING_EQUAL(ctt_dev_impl(cpus[0], j.cache, CTT_FWD),
                           ctt_bf16_amx.supported() &&
                           ctt_bf16_amx.can(&j.call) ? "bf16:amx"
                                                     : "bf16:avx512");
    CU_ASSERT_EQUAL(wrong(&j, &want, &size, 0), 0);
    for (int64_t i = 0; i < ctt_volume(&j.call.w[0].t); i++)
        j.w[i] = 0;
    CHECK_OK(ctt_dev_run(cpus[0], &j.call, CTT_FWD));
    CU_ASSERT_EQUAL(wrong(&j, &want, &size, 0), 0);
    j.call.stamp = 2;
    CHECK_OK(ctt_dev_run(cpus[0], &j.call, CTT_FWD));
    CU_ASSERT(wrong(&j, &want, &size, 0) > 0);
    ctt_int8_close(&j, cpus[0]);
    ctt_int8_close(&want, ref);
    ctt_int8_close(&size, ref);
}

/* Calls that no kernel of 16 bits takes: by kernels of floats. */
static void refuse(enum ctt_dtype type, enum ctt_dtype other)
{
    struct ctt_int8_try j;
    const struct ctt_int8_shape *s = &ctt_int8_shapes[4];
    const char *name = ctt_dtype_word(type);

    open_try(&j, s, 1, 0);
    CU_ASSERT(!ctt_half_takes(&j.call));
    j.call.mul = type;
    CU_ASSERT_EQUAL(ctt_half_takes(&j.call), ctt_half_supported(type));
    CHECK_OK(ctt_dev_run(cpus[0], &j.call, CTT_FWD));
    CU_ASSERT_EQUAL(strncmp(ctt_dev_impl(cpus[0], j.cache, CTT_FWD), name, 4)
                    == 0, ctt_half_supported(type));
    j.call.in[1].dtype = type;
    CU_ASSERT(!ctt_half_takes(&j.call));
    j.call.in[1].dtype = CTT_F32;
    j.call.in[0].dtype = other;
    CU_ASSERT(!ctt_half_takes(&j.call));
    j.call.in[0].dtype = CTT_F32;
    j.call.mul = CTT_I8;
    CU_ASSERT(!ctt_half_takes(&j.call));
    CHECK_OK(ctt_dev_run(cpus[0], &j.call, CTT_FWD));
    CU_ASSERT(strncmp(ctt_dev_impl(cpus[0], j.cache, CTT_FWD), name, 4));
    ctt_int8_close(&j, cpus[0]);
}

static void test_refused(void)
{
    refuse(CTT_BF16, CTT_F16);
    refuse(CTT_F16, CTT_BF16);
}

static CU_TestInfo tests[] = {
    { "here", test_here }, { "emulated", test_emulated },
    { "multiply-add", test_fma },
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
