/* SPDX-License-Identifier: Apache-2.0
 * test_half.c: numbers of 16 bits: what they are worth, how others are rounded
 * to them, and that arrays of them are by every instruction set. */
#include "tests/lib/check.h"
#include "device/cpu/cpu.h"
#include "base/half.h"

#include <float.h>
#include <math.h>

/* The two formats: bits of the mantissa, and the power of two of the last bit
 * of the smallest numbers. */
static const struct format {
    enum ctt_dtype type;
    int            mantissa, least;
} formats[] = { { CTT_F16, 10, -24 }, { CTT_BF16, 7, -133 } };

static uint16_t narrow(const struct format *f, float x)
{
    return f->type == CTT_F16 ? ctt_f16_of(x) : ctt_bf16_of(x);
}

static float widen(const struct format *f, uint16_t h)
{
    return f->type == CTT_F16 ? ctt_of_f16(h) : ctt_of_bf16(h);
}

/* Infinity without its sign; above it are NaNs. */
static unsigned infinity(const struct format *f)
{
    return f->type == CTT_F16 ? 0x7c00 : 0x7f80;
}

/* Of bits without a sign, by definition. */
static double worth(const struct format *f, unsigned h)
{
    unsigned one = 1u << f->mantissa, e = h >> f->mantissa;

    return e ? ldexp((double)(h % one + one), f->least + (int)e - 1)
             : ldexp((double)h, f->least);
}

static void test_values(void)
{
    for (size_t k = 0; k < CTT_LEN(formats); k++) {
        const struct format *f = &formats[k];
        unsigned bad = 0;
        for (unsigned h = 0; h < 0x8000; h++) {
            float x = widen(f, (uint16_t)h);
            float y = widen(f, (uint16_t)(h | 0x8000));
            if (h > infinity(f))
                bad += !isnan(x) || !isnan(y) ||
                       (narrow(f, x) & 0x7fffu) <= infinity(f);
            else if (h == infinity(f))
                bad += x != (float)INFINITY || y != -(float)INFINITY;
            else
                bad += (double)x != worth(f, h) || y != -x ||
                       signbit(y) == 0;
            if (h <= infinity(f))
                bad += narrow(f, x) != h || narrow(f, y) != (h | 0x8000);
        }
        CU_ASSERT_EQUAL(bad, 0);
    }
}

/* Between two neighbours the nearer one, and the even one from the middle. */
static void test_rounding(void)
{
    for (size_t k = 0; k < CTT_LEN(formats); k++) {
        const struct format *f = &formats[k];
        unsigned bad = 0;
        for (unsigned h = 0; h < infinity(f); h++) {
            double a = worth(f, h), b = worth(f, h + 1);
            float middle = (float)(a / 2 + b / 2);
            unsigned even = h & 1 ? h + 1 : h;
            bad += narrow(f, middle) != even;
            bad += narrow(f, -middle) != (even | 0x8000);
            bad += narrow(f, nextafterf(middle, 0)) != h;
            bad += narrow(f, nextafterf(middle, FLT_MAX)) != h + 1;
        }
        CU_ASSERT_EQUAL(bad, 0);
        CU_ASSERT_EQUAL(narrow(f, FLT_MAX), infinity(f));
    }
}

/* Equal bits, or two NaNs. */
static int alike16(const struct format *f, uint16_t a, uint16_t b)
{
    return a == b || ((a & 0x7fffu) > infinity(f) &&
                      (b & 0x7fffu) > infinity(f));
}

static int alike32(float a, float b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

enum { PART = 1 << 12 };

/* Floats whose bits are a prime apart, so that they are of every size. */
static unsigned bad_to(const struct ctt_cast *c, const struct format *f)
{
    float x[PART];
    uint16_t y[PART];
    unsigned bad = 0;

    for (uint64_t from = 0; from < UINT64_C(1) << 32;) {
        int64_t n = 0;
        for (; n < PART && from < UINT64_C(1) << 32; n++, from += 1009) {
            uint32_t u = (uint32_t)from;
            memcpy(&x[n], &u, sizeof(u));
        }
        c->to(x, f->type, y, n);
        for (int64_t i = 0; i < n; i++)
            bad += !alike16(f, y[i], narrow(f, x[i]));
    }
    return bad;
}

/* All numbers of 16 bits, and the middles between them. */
static unsigned bad_from(const struct ctt_cast *c, const struct format *f)
{
    static uint16_t h[0x10000];
    static float x[0x10000];
    unsigned bad = 0;

    for (unsigned i = 0; i < 0x10000; i++)
        h[i] = (uint16_t)i;
    c->from(f->type, h, x, 0x10000);
    for (unsigned i = 0; i < 0x10000; i++)
        bad += !alike32(x[i], widen(f, (uint16_t)i));
    for (unsigned i = 0; i < 0xffff; i++)
        x[i] = x[i] / 2 + x[i + 1] / 2;
    c->to(x, f->type, h, 0xffff);
    for (unsigned i = 0; i < 0xffff; i++)
        bad += !alike16(f, h[i], narrow(f, x[i]));
    return bad;
}

/* Every length, from anywhere, and nothing behind it. */
static unsigned bad_lengths(const struct ctt_cast *c, const struct format *f)
{
    enum { N = 80 };
    float x[N], y[N];
    uint16_t h[N], sum[N];
    unsigned bad = 0;

    ctt_check_fill(x, N, 5);
    for (int n = 0; n < N - 1; n++) {
        for (int i = 0; i < N; i++) {
            h[i] = 0x1234;
            sum[i] = narrow(f, (float)i);
            y[i] = 7;
        }
        c->to(x + 1, f->type, h + 1, n);
        c->from(f->type, h + 1, y + 1, n);
        c->sum(f->type, h + 1, sum + 1, n);
        for (int i = 0; i < N; i++) {
            int in = i > 0 && i <= n;
            uint16_t want = in ? narrow(f, x[i]) : 0x1234;
            float add = in ? widen(f, want) : 0;
            bad += h[i] != want || y[i] != (in ? add : 7);
            bad += sum[i] != narrow(f, widen(f, narrow(f, (float)i)) + add);
        }
    }
    return bad;
}

static void test_instruction_sets(void)
{
    for (int k = 0; k == 0 || ctt_isas[k - 1].name; k++)
        for (size_t i = 0; i < CTT_LEN(formats); i++) {
            if (!ctt_isas[k].supported())
                continue;
            CU_ASSERT_EQUAL(bad_to(ctt_isas[k].cast, &formats[i]), 0);
            CU_ASSERT_EQUAL(bad_from(ctt_isas[k].cast, &formats[i]), 0);
            CU_ASSERT_EQUAL(bad_lengths(ctt_isas[k].cast, &formats[i]), 0);
        }
}

/* Many rows by threads, dense and with a gap that stays. */
static void rows_of(struct ctt_dev *d, const struct format *f, int gap)
{
    enum { ROWS = 3001, C = 37, MOST = ROWS * (C + 3) };
    static float x[ROWS * C], y[ROWS * C];
    static uint16_t h[MOST], sum[MOST];
    struct ctt_tensor t = { h, f->type, ROWS, 1, 1, 1, C, C + gap };
    unsigned bad = 0;

    ctt_check_fill(x, CTT_LEN(x), 9);
    for (int i = 0; i < MOST; i++) {
        h[i] = 1;
        sum[i] = narrow(f, 2);
    }
    ctt_cast_put(d, x, &t);
    ctt_cast_get(d, &t, y);
    for (int64_t r = 0, i = 0; r < ROWS; r++)
        for (int64_t j = 0; j < C; j++, i++)
            bad += h[r * t.ld + j] != narrow(f, x[i]) ||
                   y[i] != widen(f, narrow(f, x[i]));
    for (int64_t r = 0; r < ROWS && gap; r++)
        bad += h[r * t.ld + C] != 1;
    ctt_cast_sum(d, f->type, h, sum, MOST);
    for (int64_t i = 0; i < MOST; i++)
        bad += sum[i] != narrow(f, widen(f, h[i]) + 2);
    CU_ASSERT_EQUAL(bad, 0);
}

static void test_rows(void)
{
    static const char *const names[] = { "cpu", "ref" };

    for (size_t k = 0; k < CTT_LEN(names); k++) {
        struct ctt_dev *d = NULL;
        CHECK_OK(ctt_dev_open(names[k], 2, &d));
        for (size_t i = 0; i < CTT_LEN(formats); i++)
            for (int gap = 0; gap <= 3; gap += 3)
                rows_of(d, &formats[i], gap);
        ctt_dev_close(&d);
    }
}

/* ---- other types ---- */

enum { INTEGERS = 256 };

/* All of 8 bits, and some of 32, at every place of a piece. */
struct integers {
    int8_t  i8[INTEGERS];
    uint8_t u8[INTEGERS];
    int32_t i32[INTEGERS];
};

static void make_integers(struct integers *s)
{
    for (int i = 0; i < INTEGERS; i++) {
        s->i8[i] = (int8_t)(i - 128);
        s->u8[i] = (uint8_t)i;
        s->i32[i] = (i - 128) * 65537;
    }
}

static unsigned bad_integers(const struct ctt_cast *c, const struct integers *s)
{
    const struct { enum ctt_dtype type; const void *p; int step, least; } of[] =
        { { CTT_I8, s->i8, 1, -128 }, { CTT_U8, s->u8, 1, 0 },
          { CTT_I32, s->i32, 65537, -128 * 65537 } };
    float y[INTEGERS];
    unsigned bad = 0;

    for (size_t k = 0; k < CTT_LEN(of); k++) {
        c->from(of[k].type, of[k].p, y, INTEGERS);
        for (int i = 0; i < INTEGERS; i++) {
            float want = (float)(of[k].least + i * of[k].step);
            bad += y[i] != want || ctt_load(of[k].p, of[k].type, i) != want;
        }
    }
    return bad;
}

static void test_integers(void)
{
    struct integers s;

    make_integers(&s);
    for (int k = 0; k == 0 || ctt_isas[k - 1].name; k++)
        if (ctt_isas[k].supported())
            CU_ASSERT_EQUAL(bad_integers(ctt_isas[k].cast, &s), 0);
}

/* What nobody knows how to round to is left alone: integers, and types that
 * there are none of. */
static void test_refused(void)
{
    static const int types[] = { CTT_I8, CTT_U8, CTT_I32, CTT_I32 + 1, -1 };
    const float x[2] = { 1, 2 };
    const int32_t same[2] = { 0x1234567, -7 };
    int32_t y[2] = { same[0], same[1] };
    struct ctt_dev *d = NULL;

    CHECK_OK(ctt_dev_open("ref", 1, &d));
    for (size_t k = 0; k < CTT_LEN(types); k++) {
        enum ctt_dtype type = (enum ctt_dtype)types[k];
        struct ctt_tensor t = { y, type, 1, 1, 1, 1, 2, 2 };

        CU_ASSERT_EQUAL(ctt_dev_cast(d, x, type, y, 2), CTT_EUNSUP);
        CU_ASSERT_EQUAL(ctt_dev_put(d, x, &t), CTT_EUNSUP);
        CU_ASSERT_EQUAL(ctt_dev_sum(d, type, x, y, 2), CTT_EUNSUP);
        CU_ASSERT_EQUAL(ctt_dev_group_fill(d, x, 1, &t), CTT_EUNSUP);
        CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), ctt_dtype_word(type)));
        CU_ASSERT(memcmp(y, same, sizeof(y)) == 0);
    }
    ctt_dev_close(&d);
}

static CU_TestInfo tests[] = {
    { "values", test_values },
    { "rounding", test_rounding },
    { "instruction sets", test_instruction_sets },
    { "rows by threads", test_rows },
    { "integers are read", test_integers },
    { "types without rounding are refused", test_refused },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "half", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    return rc ? rc : ctt_live_blocks() != 0;
}
