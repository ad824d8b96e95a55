/* SPDX-License-Identifier: Apache-2.0
 * test_coding.c: the codings of weights. */
#include "tests/lib/check.h"
#include "net/code/code.h"
#include "net/random.h"

#include <string.h>

/* ---- weights to encode ---- */

static float draw(int64_t i)
{
    static const uint32_t odd[] = {
        0x7fc00001, 0xffffffff, 0x80000000, 0x7f800000, 0x00000001, 0
    };
    float x = (float)ctt_random(7, (uint64_t)i) * 0x1p-31f - 1;

    if (i % 11 == 3)
        memcpy(&x, &odd[(size_t)(i / 11) % CTT_LEN(odd)], 4);
    return x;
}

enum pattern { ALL, NONE, FIRST, LAST, ODD, SOME, CLUMPS, PATTERNS };

static int is_kept(enum pattern pattern, int64_t i, int64_t n)
{
    const int kept[PATTERNS] = {
        [ALL] = 1, [FIRST] = i == 0, [LAST] = i == n - 1, [ODD] = i & 1,
        [SOME] = ctt_random(1, (uint64_t)i) < UINT32_MAX / 10,
        [CLUMPS] = i / 97 % 5 == 2
    };

    return kept[pattern];
}

/* What the numbers are: which codings hold them. */
enum numbers { ANY, HALVES, BYTES, SHARED, SHARED_HALVES, NUMBERS };

struct sample {
    enum numbers numbers;
    float   *w, *back;
    uint8_t *keep, *keep_back, *share, *share_back;
    int64_t  n, kept;
};

static float number(enum numbers numbers, int64_t i)
{
    uint32_t u = ctt_random(7, (uint64_t)i);

    switch (numbers) {
    case HALVES:        return i % 7 ? ctt_of_f16(u & 0xbfff) : -0.0f;
    case BYTES:         return 0x1p-6f * (float)((int)(u % 255) - 127);
    case SHARED:        return (float)(u % 11) * 0.7f - 3;
    case SHARED_HALVES: return (float)(u % 5) - 2.5f;
    default:            return draw(i);
    }
}

/* A code for each of the few values. */
static uint8_t code(enum numbers numbers, int64_t i)
{
    uint32_t u = ctt_random(7, (uint64_t)i);

    return (uint8_t)(numbers == SHARED ? 1 + u % 11
                     : numbers == SHARED_HALVES ? 1 + u % 5 : 0);
}

static void make_of(enum numbers numbers, struct sample *s, int64_t n,
                    enum pattern pattern)
{
    *s = (struct sample){ .numbers = numbers, .n = n };
    s->w = ctt_calloc((size_t)n, 4);
    s->back = ctt_calloc((size_t)n, 4);
    s->keep = ctt_calloc((size_t)n, 1);
    s->keep_back = ctt_calloc((size_t)n, 1);
    s->share = ctt_calloc((size_t)n, 1);
    s->share_back = ctt_calloc((size_t)n, 1);
    for (int64_t i = 0; i < n; i++) {
        s->keep[i] = (uint8_t)is_kept(pattern, i, n);
        s->w[i] = s->keep[i] ? number(numbers, i) : 0;
        s->share[i] = s->keep[i] ? code(numbers, i) : 0;
        s->kept += s->keep[i];
    }
}

static void make(struct sample *s, int64_t n, enum pattern pattern)
{
    make_of(ANY, s, n, pattern);
}

static void unmake(struct sample *s)
{
    ctt_free(s->w);
    ctt_free(s->back);
    ctt_free(s->keep);
    ctt_free(s->keep_back);
    ctt_free(s->share);
    ctt_free(s->share_back);
}

static struct ctt_weight weight_of(const float *w, const uint8_t *keep,
                                   int64_t n)
{
    struct ctt_weight as = { .t = { (void *)w, CTT_F32, 1, 1, 1, 1, n, n } };

    as.keep = keep;
    return as;
}

static struct ctt_weight weight(const struct sample *s)
{
    struct ctt_weight as = weight_of(s->w, s->keep, s->n);

    if (s->numbers == SHARED || s->numbers == SHARED_HALVES)
        as.share = s->share;
    return as;
}

static int encode(const struct ctt_coding *how, const float *w,
                  const uint8_t *keep, int64_t n, uint8_t **p, int64_t *size)
{
    const struct ctt_weight as = weight_of(w, keep, n);

    return ctt_encode(how, &as, p, size);
}

static int encode_best(const float *w, const uint8_t *keep, int64_t n,
                       struct ctt_coding *how, uint8_t **p, int64_t *size)
{
    const struct ctt_weight as = weight_of(w, keep, n);

    return ctt_encode_best(&as, how, p, size);
}

/* Over garbage, so that everything must be written. */
static int decode(struct sample *s, const struct ctt_coding *how,
                  const uint8_t *p, int64_t size)
{
    const struct ctt_decoded to = { s->back, s->keep_back, s->share_back };

    memset(s->back, 0x55, (size_t)s->n * 4);
    memset(s->keep_back, 0x55, (size_t)s->n);
    memset(s->share_back, 0x55, (size_t)s->n);
    return ctt_decode(how, p, size, &(struct ctt_tensor){
        .n = 1, .d = 1, .h = 1, .w = 1, .c = s->n, .ld = s->n },
        s->kept, &to);
}

static int same(const struct sample *s)
{
    return memcmp(s->w, s->back, (size_t)s->n * 4) == 0 &&
           memcmp(s->keep, s->keep_back, (size_t)s->n) == 0 &&
           memcmp(s->share, s->share_back, (size_t)s->n) == 0;
}

/* Combination i of the words of all tables; 0 behind the last one. */
static int coding(int i, struct ctt_coding *how)
{
    int rows[3] = { 0 };

    for (int t = 0; t < 3; t++)
        while (ctt_coding_word(t, rows[t]))
            rows[t]++;
    if (i >= rows[0] * rows[1] * rows[2])
        return 0;
    how->positions = ctt_coding_word(0, i % rows[0]);
    how->values = ctt_coding_word(1, i / rows[0] % rows[1]);
    how->bytes = ctt_coding_word(2, i / rows[0] / rows[1]);
    return 1;
}

/* ---- tests ---- */

/* Whether this coding of values holds numbers of that kind, which no other kind
 * of them does unless its few numbers happen to be such. */
static int holds(const char *values, enum numbers numbers)
{
    static const char *const words[NUMBERS][3] = {
        [ANY] = { "f32" }, [HALVES] = { "f32", "f16" },
        [BYTES] = { "f32", "f16", "int8" },
        [SHARED] = { "codebook", "codebook-bits" },
        [SHARED_HALVES] = { "codebook", "codebook-bits" },
    };

    for (int i = 0; i < 3 && words[numbers][i]; i++)
        if (strcmp(words[numbers][i], values) == 0)
            return 1;
    return 0;
}

/* Each coding that can hold the weight does so exactly, the best one is not
 * longer than any. */
static void round_trip(struct sample *s)
{
    const struct ctt_weight as = weight(s);
    struct ctt_coding how, best;
    uint8_t *p = NULL, *least = NULL;
    int64_t size, smallest;
    int tried = 0;

    CHECK_OK(ctt_encode_best(&as, &best, &least, &smallest));
    CHECK_OK(decode(s, &best, least, smallest));
    CU_ASSERT(same(s));
    for (int i = 0; coding(i, &how); i++) {
        int rc = ctt_encode(&how, &as, &p, &size);
        int whole = strcmp(how.positions, "all") == 0 && s->kept < s->n;

        if (whole || (rc < 0 && !holds(how.values, s->numbers))) {
            CU_ASSERT_EQUAL(rc, CTT_EUNSUP);
            continue;
        }
        CU_ASSERT(s->n < 64 || s->kept < 2 || holds(how.values, s->numbers));
        CHECK_OK(rc);
        CHECK_OK(decode(s, &how, p, size));
        CU_ASSERT(same(s));
        CU_ASSERT(smallest <= size);
        ctt_free(p);
        tried++;
    }
    CU_ASSERT(tried >= 6);
    ctt_free(least);
}

static void test_round_trip(void)
{
    static const int64_t sizes[] = { 1, 2, 7, 8, 9, 64, 1000, 4097 };
    struct sample s;

    for (int j = 0; j < NUMBERS; j++)
        for (size_t i = 0; i < CTT_LEN(sizes); i++)
            for (int k = 0; k < PATTERNS; k++) {
                make_of((enum numbers)j, &s, sizes[i], (enum pattern)k);
                if (s.kept > 0 || j < SHARED)
                    round_trip(&s);
                unmake(&s);
            }
    make(&s, 300000, LAST);    /* one huge gap */
    round_trip(&s);
    unmake(&s);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* keep = NULL means all. */
static void test_no_keep(void)
{
    struct ctt_coding how;
    struct sample s;
    uint8_t *p = NULL;
    int64_t size;

    make(&s, 100, ALL);
    CHECK_OK(encode_best(s.w, NULL, s.n, &how, &p, &size));
    CU_ASSERT_STRING_EQUAL(how.positions, "all");
    CHECK_OK(decode(&s, &how, p, size));
    CU_ASSERT(same(&s));
    ctt_free(p);
    unmake(&s);
}

/* The scales of int8 are found: that of each channel, if its largest number is
 * 127 of them, or a power of two.  Bytes of no scale are refused. */
static void test_scales(void)
{
    enum { CHANNELS = 5, EACH = 40 };
    static const struct ctt_coding how = { "all", "int8", "raw" };
    float w[CHANNELS * EACH], back[CHANNELS * EACH];
    uint8_t keep[CHANNELS * EACH], *p = NULL;
    const struct ctt_decoded to = { back, keep, NULL };
    struct ctt_weight as = { .t = { w, CTT_F32, CHANNELS, 1, 1, 1, EACH,
                                    EACH } };
    int64_t size;

    for (int i = 0; i < CHANNELS * EACH; i++) {
        float scale = 0.00123f * (float)(1 + i / EACH);
        int q = i % EACH == 7 ? 127 : (int)(ctt_random(3, (uint64_t)i) % 250)
                                      - 125;
        w[i] = scale * (float)q;
    }
    CHECK_OK(ctt_encode(&how, &as, &p, &size));
    CU_ASSERT_EQUAL(size, 4 * CHANNELS + CHANNELS * EACH);
    CHECK_OK(ctt_decode(&how, p, size, &as.t, CHANNELS * EACH, &to));
    CU_ASSERT_EQUAL(memcmp(w, back, sizeof(w)), 0);
    ctt_free(p);
    w[9] = 0.001f;
    CU_ASSERT_EQUAL(ctt_encode(&how, &as, &p, &size), CTT_EUNSUP);
}

/* The example of doc/format.md, and its values and a mask by hand. */
static void test_bytes(void)
{
    static const struct ctt_coding index = { "index", "f32", "raw" };
    static const struct ctt_coding mask = { "mask", "f32", "raw" };
    static const uint8_t want[] = { 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0,
                                    0, 0x3f, 0x01, 0x61, 0x01 };
    static const uint8_t bits[] = { 0x0c, 0x02 };
    const float w[12] = { [2] = 1, [3] = -2, [9] = 0.5f };
    const uint8_t keep[12] = { [2] = 1, [3] = 1, [9] = 1 };
    uint8_t *p = NULL;
    int64_t size;

    CHECK_OK(encode(&index, w, keep, 12, &p, &size));
    CU_ASSERT_EQUAL_FATAL(size, sizeof(want));
    CU_ASSERT(memcmp(p, want, sizeof(want)) == 0);
    ctt_free(p);
    CHECK_OK(encode(&mask, w, keep, 12, &p, &size));
    CU_ASSERT_EQUAL_FATAL(size, 14);
    CU_ASSERT(memcmp(p + 12, bits, 2) == 0);
    ctt_free(p);
}

/* Positions near their entropy, 4.69 bits a kept number when one in ten is
 * kept; and deflate must gain on floats of one size. */
static void test_small(void)
{
    static const struct ctt_coding index = { "index", "f32", "raw" };
    static const struct ctt_coding mask = { "mask", "f32", "raw" };
    struct ctt_coding how;
    struct sample s;
    uint8_t *p = NULL;
    int64_t size, other;

    make(&s, 100000, SOME);
    CHECK_OK(encode(&index, s.w, s.keep, s.n, &p, &size));
    CU_ASSERT(8 * (size - 4 * s.kept) < s.kept * 49 / 10);
    ctt_free(p);
    CHECK_OK(encode(&mask, s.w, s.keep, s.n, &p, &other));
    CU_ASSERT(size < other);
    ctt_free(p);
    CHECK_OK(encode_best(s.w, s.keep, s.n, &how, &p, &other));
    CU_ASSERT_STRING_EQUAL(how.positions, "index");
    CU_ASSERT_STRING_EQUAL(how.bytes, "deflate");
    CU_ASSERT(other < size * 95 / 100);
    ctt_free(p);
    unmake(&s);
}

/* A change is an error or, where it fell on a value, another value; never
 * another count, never a crash. */
static void damage(struct sample *s, const struct ctt_coding *how, uint8_t *p,
                   int64_t size)
{
    uint8_t *copy = ctt_calloc((size_t)size + 1, 1);

    for (int64_t i = 0; i < 8 * size; i++) {
        p[i / 8] ^= (uint8_t)(1u << i % 8);
        if (decode(s, how, p, size) >= 0) {
            int64_t kept = 0;
            for (int64_t j = 0; j < s->n; j++)
                kept += s->keep_back[j];
            CU_ASSERT_EQUAL(kept, s->kept);
        }
        p[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    for (int64_t n = 0; n < size; n++)
        CU_ASSERT_EQUAL(decode(s, how, p, n), CTT_EFORMAT);
    memcpy(copy, p, (size_t)size);
    CU_ASSERT_EQUAL(decode(s, how, copy, size + 1), CTT_EFORMAT);
    ctt_free(copy);
}

/* Another count of kept numbers is an error; only where their codes are bits it
 * may pass, as then a byte holds several of them. */
static void other_count(struct sample *s, const struct ctt_coding *how,
                        const uint8_t *p, int64_t size, int more)
{
    int rc;

    s->kept += more;
    rc = decode(s, how, p, size);
    s->kept -= more;
    CU_ASSERT(rc == CTT_EFORMAT ||
              (rc == 0 && strcmp(how->values, "codebook-bits") == 0));
}

static void test_damage(void)
{
    struct ctt_coding how;
    struct sample s;
    uint8_t *p = NULL;
    int64_t size;

    for (int k = 0; k < PATTERNS * NUMBERS; k++) {
        struct ctt_weight as;

        make_of((enum numbers)(k / PATTERNS), &s, 75,
                (enum pattern)(k % PATTERNS));
        as = weight(&s);
        for (int i = 0; coding(i, &how); i++) {
            if (ctt_encode(&how, &as, &p, &size) < 0)
                continue;
            damage(&s, &how, p, size);
            other_count(&s, &how, p, size, 1);
            other_count(&s, &how, p, size, -1);
            ctt_free(p);
        }
        unmake(&s);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_words(void)
{
    static const struct {
        struct ctt_coding how;
        const char       *says;
    } bad[] = {
        { { "2:4", "f32", "raw" }, "no positions '2:4'" },
        { { "all", "f64", "raw" }, "no values 'f64'" },
        { { "all", "f32", "huffman" }, "no bytes 'huffman'" },
    };
    const struct ctt_tensor two = { .n = 1, .d = 1, .h = 1, .w = 1, .c = 2,
                                    .ld = 2 };
    float w[2] = { 1, 2 };
    uint8_t keep[2], in[8] = { 0 }, *p = NULL;
    const struct ctt_decoded to = { w, keep, NULL };
    const struct ctt_coding book = { "all", "codebook", "raw" };
    int64_t size;

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        CU_ASSERT_EQUAL(encode(&bad[i].how, w, NULL, 2, &p, &size),
                        CTT_EUNSUP);
        CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), bad[i].says));
        CU_ASSERT_EQUAL(ctt_decode(&bad[i].how, in, 8, &two, 2, &to),
                        CTT_EUNSUP);
        CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), bad[i].says));
    }
    CU_ASSERT_EQUAL(ctt_decode(&book, in, 8, &two, 2, &to), CTT_EINVAL);
    CU_ASSERT(ctt_coding_shares("codebook") && !ctt_coding_shares("f32") &&
              !ctt_coding_shares("?"));
    CU_ASSERT_PTR_NULL(ctt_coding_word(3, 0));
    CU_ASSERT_PTR_NULL(ctt_coding_word(0, -1));
}

/* What is not made of floats no values hold, and no best way is found. */
static void test_forms(void)
{
    static const struct ctt_coding how = { "all", "f32", "raw" };
    const int8_t x[2] = { 1, -2 };
    const float scale = 2;
    struct ctt_weight w = { .t = { (void *)x, CTT_I8, 1, 1, 1, 1, 2, 2 },
                            .scale = &scale };
    struct ctt_coding best;
    uint8_t *p = NULL;
    int64_t size;

    CU_ASSERT_EQUAL(ctt_encode(&how, &w, &p, &size), CTT_EUNSUP);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "int8"));
    CU_ASSERT_EQUAL(ctt_encode_best(&w, &best, &p, &size), CTT_EUNSUP);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "no coding"));
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_no_memory(void)
{
    static const struct ctt_coding index = { "index", "f32", "deflate" };
    struct ctt_coding how;
    struct sample s;
    uint8_t *p = NULL;
    int64_t size = 0;
    int rc = CTT_ENOMEM, walked = 0;
    long live;

    make(&s, 200, SOME);
    live = ctt_live_blocks();
    for (long k = 1; rc == CTT_ENOMEM; k++, walked++) {
        ctt_fail_alloc(k);
        rc = encode_best(s.w, s.keep, s.n, &how, &p, &size);
        ctt_fail_alloc(0);
        CU_ASSERT(rc == 0 || (!p && ctt_live_blocks() == live));
    }
    CHECK_OK(rc);
    ctt_free(p);
    CHECK_OK(encode(&index, s.w, s.keep, s.n, &p, &size));
    rc = CTT_ENOMEM;
    for (long k = 1; rc == CTT_ENOMEM; k++, walked++) {
        ctt_fail_alloc(k);
        rc = decode(&s, &index, p, size);
        ctt_fail_alloc(0);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live + 1);
    }
    CHECK_OK(rc);
    CU_ASSERT(same(&s) && walked > 10);
    ctt_free(p);
    unmake(&s);
}

static CU_TestInfo tests[] = {
    { "every coding, bit for bit", test_round_trip },
    { "nothing pruned", test_no_keep },
    { "scales", test_scales },
    { "bytes as documented", test_bytes },
    { "small", test_small },
    { "damaged payloads", test_damage },
    { "unknown words", test_words },
    { "forms that no values hold", test_forms },
    { "out of memory", test_no_memory },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "coding", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
