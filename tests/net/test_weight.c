/* SPDX-License-Identifier: Apache-2.0
 * test_weight.c: the forms of a weight: their values against the formula, and
 * what is refused. */
#include "tests/lib/check.h"
#include "base/random.h"
#include "net/weight.h"

#include <math.h>
#include <string.h>

enum { OUT = 3, EACH = 2 * 3 * 5, COUNT = OUT * EACH, CODES = 7 };

/* A kernel of 3 outputs in any form; numbers of `type` are small integers or,
 * with a point, multiples of 1/8, so that every type holds them exactly. */
struct sample {
    struct ctt_weight w;
    union {
        float    f32[COUNT];
        uint16_t f16[COUNT];
        int8_t   i8[COUNT];
        uint8_t  u8[COUNT];
        int32_t  i32[COUNT];
    } x;
    double  number[COUNT];
    float   scale[OUT], codebook[CODES];
    uint8_t keep[COUNT];
};

static void set_number(struct sample *s, enum ctt_dtype type, int i)
{
    int n = (int)(ctt_random(1, (uint64_t)i) % 200) - 100;
    int code = (int)(ctt_random(2, (uint64_t)i) % CODES);

    s->number[i] = ctt_is_float_type(type) ? n * 0.125
                 : type == CTT_U8 ? code : n;
    if (type == CTT_I8)
        s->x.i8[i] = (int8_t)n;
    else if (type == CTT_U8)
        s->x.u8[i] = (uint8_t)code;
    else if (type == CTT_I32)
        s->x.i32[i] = n;
    else
        ctt_store(&s->x, type, i, (float)s->number[i]);
}

static void make(struct sample *s, enum ctt_dtype type, int scale, int book,
                 int keep)
{
    memset(s, 0, sizeof(*s));
    s->w.t = (struct ctt_tensor){ &s->x, type, OUT, 1, 2, 3, 5, 5 };
    for (int i = 0; i < COUNT; i++) {
        set_number(s, type, i);
        s->keep[i] = ctt_random(3, (uint64_t)i) % 4 == 0;
    }
    for (int o = 0; o < OUT; o++)
        s->scale[o] = 0.3f * (float)(o + 1);
    for (int k = 0; k < CODES; k++)
        s->codebook[k] = 0.7f * (float)(k - 3);
    s->w.scale = scale ? s->scale : NULL;
    s->w.codebook = book ? s->codebook : NULL;
    s->w.codes = book ? CODES : 0;
    s->w.keep = keep ? s->keep : NULL;
}

/* The formula of weight.h, written down once more. */
static double want(const struct sample *s, int i)
{
    double x = s->number[i];

    if (s->w.keep && !s->keep[i])
        return 0;
    if (s->w.codebook)
        x = (double)s->codebook[(int)x];
    return s->w.scale ? x * (double)s->scale[i / EACH] : x;
}

static const struct legal {
    enum ctt_dtype type;
    int            scale, book;
} legal[] = {
    { CTT_F32, 0, 0 }, { CTT_F16, 0, 0 }, { CTT_BF16, 0, 0 },
    { CTT_I8, 1, 0 },  { CTT_U8, 0, 1 },  { CTT_U8, 1, 1 },
};

static int is_legal(enum ctt_dtype type, int scale, int book)
{
    for (size_t i = 0; i < CTT_LEN(legal); i++)
        if (legal[i].type == type && legal[i].scale == scale &&
            legal[i].book == book)
            return 1;
    return 0;
}

static void test_values(void)
{
    struct sample s;
    float out[COUNT];

    for (size_t k = 0; k < 2 * CTT_LEN(legal); k++) {
        const struct legal *l = &legal[k / 2];
        int bad = 0;

        make(&s, l->type, l->scale, l->book, (int)(k % 2));
        memset(out, 0x55, sizeof(out));
        CHECK_OK(ctt_weight_floats(&s.w, out));
        for (int i = 0; i < COUNT; i++)
            bad += out[i] != (float)want(&s, i);
        CU_ASSERT_EQUAL(bad, 0);
        CU_ASSERT_EQUAL(ctt_weight_is_floats(&s.w), l->type == CTT_F32);
    }
}

/* Every other combination is refused, and says of which type. */
static void test_illegal(void)
{
    struct sample s;
    float out[COUNT];
    int refused = 0;

    for (int i = 0; i < 4 * (CTT_I32 + 2); i++) {
        enum ctt_dtype type = (enum ctt_dtype)(i / 4);
        int scale = i & 1, book = i >> 1 & 1;

        make(&s, CTT_F32, scale, book, 0);
        s.w.t.dtype = type;
        if (is_legal(type, scale, book))
            continue;
        CU_ASSERT_EQUAL(ctt_weight_check(&s.w), CTT_EINVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), ctt_dtype_word(type)));
        CU_ASSERT_EQUAL(ctt_weight_floats(&s.w, out), CTT_EINVAL);
        refused++;
    }
    CU_ASSERT_EQUAL(refused, 4 * (CTT_I32 + 2) - (int)CTT_LEN(legal));
}

static void test_damaged(void)
{
    struct sample s;
    float out[COUNT];

    make(&s, CTT_U8, 0, 1, 0);
    s.x.u8[17] = CODES;
    CU_ASSERT_EQUAL(ctt_weight_check(&s.w), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_weight_floats(&s.w, out), CTT_EINVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "number 17"));
    s.w.codes = 257;
    CU_ASSERT_EQUAL(ctt_weight_check(&s.w), CTT_EINVAL);
    s.w.codes = 0;
    CU_ASSERT_EQUAL(ctt_weight_check(&s.w), CTT_EINVAL);
    make(&s, CTT_F32, 0, 0, 0);
    s.w.codes = 2;
    CU_ASSERT_EQUAL(ctt_weight_check(&s.w), CTT_EINVAL);
    s.w.codes = 0;
    s.w.t.ld = 6;
    CU_ASSERT_EQUAL(ctt_weight_check(&s.w), CTT_EINVAL);
    s.w.t.ld = 5;
    s.w.t.data = NULL;
    CU_ASSERT_EQUAL(ctt_weight_check(&s.w), CTT_EINVAL);
}

static void test_form(void)
{
    static const struct {
        enum ctt_dtype type;
        int            scale, book, every;    /* one in so many is kept */
        const char    *text;
    } forms[] = {
        { CTT_F32, 0, 0, 0, "fp32" }, { CTT_F32, 0, 0, 1, "fp32" },
        { CTT_F32, 0, 0, 10, "fp32, 10% kept" },
        { CTT_I8, 1, 0, 2, "int8, 50% kept" },
        { CTT_U8, 1, 1, 0, "uint8 of 7" },
    };
    char text[CTT_WEIGHT_FORM];
    struct sample s;

    for (size_t k = 0; k < CTT_LEN(forms); k++) {
        int every = forms[k].every;

        make(&s, forms[k].type, forms[k].scale, forms[k].book, every > 0);
        for (int i = 0; i < COUNT && every; i++)
            s.keep[i] = i % every == 0;
        CU_ASSERT_EQUAL(ctt_weight_kept(&s.w),
                        every ? (COUNT + every - 1) / every : COUNT);
        ctt_weight_form(&s.w, text);
        CU_ASSERT_STRING_EQUAL(text, forms[k].text);
    }
}

static CU_TestInfo tests[] = {
    { "values of every form", test_values },
    { "forms that are none", test_illegal },
    { "damaged weights", test_damaged },
    { "in words", test_form },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "weight", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
