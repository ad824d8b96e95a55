/* SPDX-License-Identifier: Apache-2.0
 * test_sparse.c: convs whose weights are mostly zeros: for each instruction set
 * that is here the bits of plain C for quantised values, its numbers for
 * floats; and what the device makes of them. */
#include "tests/lib/allocs.h"
#include "tests/lib/int8.h"
#include "device/cpu/conv/providers.h"
#include "device/cpu/conv/sparse/sparse.h"
#include "device/cpu/features.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#if defined(__SSE2__)
#include <pmmintrin.h>
#include <xmmintrin.h>
#endif

static struct ctt_dev *ref, *cpu;

static const struct ctt_sparse_isa *const isas[] = {
    &ctt_sparse_vnni, &ctt_sparse_int16, &ctt_sparse_avx512, &ctt_sparse_avx2,
};

/* ---- calls with zeros ---- */

/* What is pruned together: a weight, four neighbouring input channels, 16
 * neighbouring output channels. */
static const struct form { int ins, outs; } forms[] = {
    { 1, 1 }, { 4, 1 }, { 1, 16 }
};
static const double shares[] = { 0, 0.6, 0.9, 1 };

/* One output channel in seven has no weights at all. */
static void prune(struct ctt_int8_try *j, struct form f, double share,
                  uint64_t seed)
{
    const struct ctt_tensor *w = &j->call.w[0].t;
    int64_t taps = w->d * w->h * w->w;

    for (int64_t i = 0; i < ctt_volume(w); i++) {
        int64_t o = i / w->c / taps, tap = i / w->c % taps, c = i % w->c;
        int64_t unit = (o / f.outs * taps + tap) * w->c + c / f.ins;
        if ((share > 0 && o % 7 == 3) ||
            ctt_random(seed, (uint64_t)unit) * 0x1p-32 < share)
            j->w[i] = 0;
    }
}

/* Sums are about 1, so that no act hides an error or makes it larger. */
static void be_floats(struct ctt_int8_try *j)
{
    const struct ctt_tensor *x = &j->call.in[0], *w = &j->call.w[0].t;
    float each = (float)(ctt_volume(w) / w->n);

    for (int64_t i = 0; i < ctt_rows(x) * x->ld; i++)
        j->x[i] *= 0.2f / sqrtf(each);
    j->call.in[0].scale = 0;
    j->call.in[0].zero = 0;
}

struct setting { int is_int8, plus, act, bytes; };

static void open_try(struct ctt_int8_try *j, const struct ctt_int8_shape *s,
                     struct setting t, struct form f, double share)
{
    ctt_int8_open(j, s, t.plus, t.act, t.bytes, 11);
    prune(j, f, share, 23);
    if (!t.is_int8)
        be_floats(j);
}

/* The largest difference as a share of the largest number. */
static double error_of(const struct ctt_int8_try *a,
                       const struct ctt_int8_try *b)
{
    const struct ctt_tensor *y = &a->call.out;
    double worst = 0, top = 1e-30;

    for (int64_t r = 0; r < ctt_rows(y); r++)
        for (int64_t o = 0; o < y->c; o++) {
            double want = a->y[r * y->ld + o], got = b->y[r * y->ld + o];
            worst = fmax(worst, fabs(got - want));
            top = fmax(top, fabs(want));
        }
    return worst / top;
}

/* What lies between the rows of the result is as it was. */
static int is_whole(const struct ctt_int8_try *j)
{
    const struct ctt_tensor *y = &j->call.out;
    int bytes = ctt_is_bytes(y);
    int64_t size = bytes ? 1 : sizeof(float);
    const char *p = (const char *)j->y;

    for (int64_t r = 0; r < ctt_rows(y); r++)
        for (int64_t i = y->c * size; i < y->ld * size; i++)
            if (p[r * y->ld * size + i])
                return 0;
    return 1;
}

static int is_right(const struct ctt_int8_try *want,
                    const struct ctt_int8_try *got)
{
    return is_whole(got) &&
           (want->call.in[0].scale > 0 ? ctt_int8_same(want, got)
                                       : error_of(want, got) <= 1e-5);
}

/* ---- kernels ---- */

static void check_isa(const struct ctt_sparse_isa *isa,
                      const struct ctt_int8_shape *s, struct setting t,
                      struct form f, double share,
                      const struct ctt_int8_try *want)
{
    struct ctt_sparse_weights w = { NULL };
    struct ctt_sparse_shape shape;
    struct ctt_int8_try got;

    open_try(&got, s, t, f, share);
    shape = ctt_sparse_plan(isa, &got.call);
    CHECK_OK(ctt_sparse_pack(isa, cpu, &got.call, &shape, &w));
    for (int again = 0; again < 2; again++) {
        CHECK_OK(ctt_sparse_run(isa, cpu, &got.call, &shape, &w));
        CU_ASSERT(is_right(want, &got));
    }
    if (!is_right(want, &got))
        printf("\n    %s: %s, conv %s, plus %d, act %d, bytes %d, pruned %dx%d "
               "%g: error %g", isa->name, s->in, s->conv, t.plus, t.act,
               t.bytes, f.ins, f.outs, share, error_of(want, &got));
    ctt_free(w.room);
    ctt_int8_close(&got, cpu);
}

static const struct ctt_int8_isa *const rows[] = {
    &ctt_sparse_rows_avx512, &ctt_sparse_rows_avx2,
};

static void check_rows(const struct ctt_int8_isa *isa,
                       const struct ctt_int8_shape *s, struct setting t,
                       struct form f, double share,
                       const struct ctt_int8_try *want)
{
    struct ctt_sparse_weights w = { NULL };
    struct ctt_int8_try got;

    open_try(&got, s, t, f, share);
    CHECK_OK(ctt_sparse_rows_pack(isa, &got.call, &w));
    for (int again = 0; again < 2; again++) {
        CHECK_OK(ctt_sparse_rows_run(isa, cpu, &got.call, &w));
        CU_ASSERT(is_right(want, &got));
    }
    if (!is_right(want, &got))
        printf("\n    %s: %s, conv %s, plus %d, act %d, pruned %dx%d %g: "
               "error %g", isa->name, s->in, s->conv, t.plus, t.act, f.ins,
               f.outs, share, error_of(want, &got));
    ctt_free(w.room);
    ctt_int8_close(&got, cpu);
}

static void check_shape(const struct ctt_int8_shape *s, struct setting t,
                        struct form f, double share)
{
    struct setting floats = { t.is_int8, t.plus, t.act, 0 };
    struct ctt_int8_try want;

    open_try(&want, s, floats, f, share);
    if (ctt_call_groups(&want.call) == 1) {
        CHECK_OK(ctt_dev_run(ref, &want.call, CTT_FWD));
        for (size_t i = 0; i < CTT_LEN(isas); i++)
            if (isas[i]->supported() && isas[i]->is_int8 == t.is_int8)
                check_isa(isas[i], s, t, f, share, &want);
        for (size_t i = 0; i < CTT_LEN(rows) && !t.is_int8; i++)
            if (rows[i]->supported())
                check_rows(rows[i], s, t, f, share, &want);
    }
    ctt_int8_close(&want, ref);
}

/* Each shape with all forms and shares; types, plus inputs and acts in turns.
 */
static void test_kernels(void)
{
    for (int i = 0; ctt_int8_shapes[i].in; i++)
        for (int k = 0; k < (int)(CTT_LEN(forms) * CTT_LEN(shares)); k++) {
            int turn = i + k, bytes = ctt_int8_bytes((size_t)i, turn % 8);
            struct setting whole = { 1, turn % 2, turn % 5, bytes };
            struct setting floats = { 0, turn % 2, turn % 5, 0 };
            if (!ctt_check_tries())
                continue;
            check_shape(&ctt_int8_shapes[i], whole, forms[k % 3],
                        shares[k / 3]);
            check_shape(&ctt_int8_shapes[i], floats, forms[k % 3],
                        shares[k / 3]);
        }
}

/* ---- the device ---- */

/* Shapes for which sparse sums pay if they ever do, the second with lists by
 * columns. */
static const struct ctt_int8_shape large = {
    "c=64 h=20 w=24", "out=64 kernel=3 pad=1", 128
}, wide = { "c=64 h=20 w=32", "out=64 kernel=3 pad=1", 128 };

static int is_sparse(struct ctt_int8_try *j, int by_rows)
{
    const char *impl = ctt_dev_impl(cpu, j->cache, CTT_FWD);

    return strncmp(impl, "sparse:", 7) == 0 &&
           (strstr(impl, "-rows") != NULL) == by_rows;
}

/* Weights change from dense to pruned ones and back, and so do the sizes, also
 * of the same weights; those of floats that are pruned in rows go by rows. */
static void check_device(const struct ctt_int8_shape *s, int is_int8,
                         struct form f)
{
    struct setting t = { is_int8, 0, 0, 0 };
    struct ctt_int8_try want, got;
    int here = ctt_has_avx2(), by_rows = f.outs > 1;

    open_try(&want, s, t, f, 0);
    open_try(&got, s, t, f, 0);
    for (int k = 0; k < 8; k++) {
        for (struct ctt_int8_try *j = &want; j; j = j == &want ? &got : NULL) {
            ctt_check_fill(j->w, ctt_volume(&j->call.w[0].t), 99);
            prune(j, f, k / 2 % 2 ? 0.98 : 0, (uint64_t)k / 2);
            j->call.stamp = (uint64_t)k / 2 + 2;
            j->call.in[0].n = j->call.out.n = 1 + k % 3 % 2;
        }
        CHECK_OK(ctt_dev_run(ref, &want.call, CTT_FWD));
        CHECK_OK(ctt_dev_run(cpu, &got.call, CTT_FWD));
        CU_ASSERT(want.call.in[0].scale > 0 ? ctt_int8_same(&want, &got)
                                            : error_of(&want, &got) <= 1e-5);
        CU_ASSERT_EQUAL(is_sparse(&got, by_rows && !is_int8),
                        here && k / 2 % 2);
    }
    ctt_int8_close(&want, ref);
    ctt_int8_close(&got, cpu);
}

static void test_device(void)
{
    for (size_t i = 0; i < CTT_LEN(forms); i++)
        check_device(&large, 0, forms[i]);
    check_device(&large, 1, forms[1]);
    check_device(&wide, 0, forms[0]);
    check_device(&wide, 1, forms[1]);
}

/* Lists by columns where rows are about as wide as whole registers, if there
 * are enough of these. */
static void test_columns(void)
{
    static const struct { struct ctt_int8_shape s; int columns; } cases[] = {
        { { "c=64 h=20 w=24", "out=64 kernel=3 pad=1", 128 }, 1 },
        { { "c=8 h=7 w=16", "out=20 kernel=3 pad=1", 115 }, 3 },
        { { "c=8 h=7 w=16", "out=20 kernel=3 pad=1 stride=2", 115 }, 1 },
        { { "c=8 h=2 w=16", "out=20 kernel=3 pad=1", 115 }, 1 },
        { { "c=4 h=3 w=57", "out=33 kernel=1,3,8 pad=0,1,7", 128 }, 8 },
        { { "c=4 h=3 w=64", "out=33 kernel=1,3,9 pad=0,1,4", 128 }, 1 },
    };
    struct setting t = { 1, 0, 0, 0 };

    for (size_t i = 0; i < CTT_LEN(cases); i++)
        for (size_t k = 0; k < CTT_LEN(isas); k++) {
            int columns = isas[k]->columns ? cases[i].columns : 1;
            struct ctt_int8_try j;
            open_try(&j, &cases[i].s, t, forms[0], 0.6);
            CU_ASSERT_EQUAL(ctt_sparse_plan(isas[k], &j.call).columns,
                            columns);
            ctt_int8_close(&j, cpu);
        }
}

/* Planes by tap with strides, where values are few. */
static void test_taps(void)
{
    static const struct { struct ctt_int8_shape s; int units; } cases[] = {
        { { "c=32 h=24 w=24", "out=64 kernel=3 stride=2 pad=1", 128 }, 4 },
        { { "c=12 h=24 w=24", "out=20 kernel=2 stride=3", 128 }, 1 },
        { { "c=64 h=24 w=24", "out=64 kernel=3 stride=2 pad=1", 128 }, 9 },
        { { "c=8 h=6 w=6", "out=64 kernel=1,3,3 stride=1,2,1 pad=0,1,1", 128 },
          9 },
    };
    struct setting t = { 1, 0, 0, 0 };

    for (size_t i = 0; i < CTT_LEN(cases); i++)
        for (size_t k = 0; k < CTT_LEN(isas); k++) {
            struct ctt_int8_try j;
            open_try(&j, &cases[i].s, t, forms[0], 0.6);
            CU_ASSERT_EQUAL(ctt_sparse_plan(isas[k], &j.call).by_taps,
                            isas[k]->columns && isas[k]->unit >=
                            cases[i].units);
            ctt_int8_close(&j, cpu);
        }
}

/* The same weights with more planes, by which lists become those of columns. */
static void test_deeper(void)
{
    static const struct ctt_int8_shape of[] = {
        { "c=64 d=4 h=2 w=15", "out=64 kernel=3 stride=2,1,1 pad=1", 128 },
        { "c=64 d=5 h=2 w=15", "out=64 kernel=3 stride=2,1,1 pad=1", 128 },
    };
    struct setting t = { 1, 0, 0, 0 };
    struct ctt_int8_try want[2], got[2];

    for (int i = 0; i < 2; i++) {
        open_try(&want[i], &of[i], t, forms[1], 0.98);
        open_try(&got[i], &of[i], t, forms[1], 0.98);
        CHECK_OK(ctt_dev_run(ref, &want[i].call, CTT_FWD));
        got[i].call.cache = got[0].call.cache;
    }
    for (int k = 0; k < 3; k++) {
        CHECK_OK(ctt_dev_run(cpu, &got[k % 2].call, CTT_FWD));
        CU_ASSERT(ctt_int8_same(&want[k % 2], &got[k % 2]));
    }
    CU_ASSERT(is_sparse(&got[0], 0) == ctt_has_avx2());
    for (int i = 0; i < 2; i++) {
        ctt_int8_close(&want[i], ref);
        ctt_int8_close(&got[i], cpu);
    }
}

/* By --tune it runs without having been asked whether it pays. */
static void test_unasked(void)
{
    struct setting t = { 1, 0, 0, 0 };
    struct ctt_int8_try want, got;
    void *own = NULL;
    struct ctt_conv_ask q = { .dev = cpu, .call = &got.call,
                              .part = CTT_CONV_OUT, .own = &own };

    open_try(&want, &large, t, forms[1], 0.98);
    open_try(&got, &large, t, forms[1], 0.98);
    CHECK_OK(ctt_dev_run(ref, &want.call, CTT_FWD));
    CU_ASSERT_EQUAL(ctt_conv_sparse.can(&q), ctt_has_avx2());
    if (ctt_has_avx2()) {
        CHECK_OK(ctt_conv_sparse.run(&q));
        CU_ASSERT(ctt_int8_same(&want, &got));
        ctt_conv_sparse.forget(own);
    }
    ctt_int8_close(&want, ref);
    ctt_int8_close(&got, cpu);
}

/* A call with a cache of its own, in which nothing is allocated again. */
static int one_call(void *arg)
{
    struct ctt_int8_try *j = arg;
    int rc = ctt_dev_run(cpu, &j->call, CTT_FWD);
    long allocs = ctt_alloc_calls();

    if (rc == 0) {
        rc = ctt_dev_run(cpu, &j->call, CTT_FWD);
        CU_ASSERT_EQUAL(ctt_alloc_calls(), allocs);
    }
    ctt_dev_forget(cpu, &j->cache);
    return rc;
}

static void test_memory(void)
{
    for (int k = 0; k < 3; k++) {
        struct setting t = { k == 1, 0, 0, 0 };
        struct ctt_int8_try j;

        open_try(&j, &large, t, forms[k], 0.98);
        CHECK_OK(one_call(&j));
        fail_allocs(one_call, &j, 2);
        ctt_int8_close(&j, cpu);
    }
}

/* Weights too small for a normal float are units even in a program that reads
 * such numbers as 0. */
static void test_subnormal(void)
{
#if defined(__SSE2__)
    struct setting t = { 0, 0, 0, 0 };

    for (size_t i = 0; i < CTT_LEN(isas); i++) {
        struct ctt_sparse_weights w = { NULL };
        struct ctt_sparse_shape shape;
        unsigned mode = _mm_getcsr();
        struct ctt_int8_try j;

        if (isas[i]->is_int8)
            continue;
        open_try(&j, &large, t, forms[0], 1);
        j.w[0] = 1e-40f;
        j.w[ctt_volume(&j.call.w[0].t) - 1] = -0.0f;
        shape = ctt_sparse_plan(isas[i], &j.call);
        _MM_SET_DENORMALS_ZERO_MODE(_MM_DENORMALS_ZERO_ON);
        CHECK_OK(ctt_sparse_pack(isas[i], cpu, &j.call, &shape, &w));
        _mm_setcsr(mode);
        CU_ASSERT_EQUAL(w.units, 1);
        CU_ASSERT_EQUAL(w.first[j.call.out.c * shape.columns], 1);
        ctt_free(w.room);
        ctt_int8_close(&j, cpu);
    }
#endif
}

static CU_TestInfo tests[] = {
    { "kernels", test_kernels }, { "device", test_device },
    { "columns", test_columns }, { "taps", test_taps },
    { "deeper", test_deeper },
    { "unasked", test_unasked }, { "memory", test_memory },
    { "subnormal weights", test_subnormal },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "sparse", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (ctt_dev_open("ref", 1, &ref) < 0 || ctt_dev_open("cpu", 2, &cpu) < 0)
        return 99;
    rc = ctt_check_main(suites);
    ctt_dev_close(&ref);
    ctt_dev_close(&cpu);
    return rc;
}
