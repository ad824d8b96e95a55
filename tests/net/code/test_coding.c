/* SPDX-License-Identifier: Apache-2.0
 * test_coding.c: the codings of weights. */
#include "tests/lib/check.h"
#include "tests/lib/coded.h"
#include "net/code/code.h"
#include "base/random.h"

#include <string.h>

static int encode(const struct ctt_coding *how, const float *w,
                  const uint8_t *keep, int64_t n, uint8_t **p, int64_t *size)
{
    const struct ctt_weight as = coded_weight_of(w, keep, n);

    return ctt_encode(how, &as, p, size);
}

static int encode_best(const float *w, const uint8_t *keep, int64_t n,
                       struct ctt_coding *how, uint8_t **p, int64_t *size)
{
    const struct ctt_weight as = coded_weight_of(w, keep, n);

    return ctt_encode_best(&as, how, p, size);
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

/* Whether these positions can say which elements are kept. */
static int says(const char *positions, const struct coded *s)
{
    if (strcmp(positions, "all") == 0)
        return s->kept == s->n;
    for (int64_t i = 0; i < s->n && strcmp(positions, "block") == 0; i++)
        if (s->keep[i] != s->keep[i / 4 * 4])
            return 0;
    return 1;
}

/* Each coding that can hold the weight does so exactly, the best one is not
 * longer than any. */
static void round_trip(struct coded *s)
{
    const struct ctt_weight as = coded_weight(s);
    struct ctt_coding how, best;
    uint8_t *p = NULL, *least = NULL;
    int64_t size, smallest;
    int tried = 0;

    CHECK_OK(ctt_encode_best(&as, &best, &least, &smallest));
    CHECK_OK(coded_decode(s, &best, least, smallest));
    CU_ASSERT(coded_same(s));
    for (int i = 0; coding(i, &how); i++) {
        int rc = ctt_encode(&how, &as, &p, &size);
        int said = says(how.positions, s);

        if (!said || (rc < 0 && !holds(how.values, s->numbers))) {
            CU_ASSERT_EQUAL(rc, CTT_EUNSUP);
            continue;
        }
        CU_ASSERT(s->n < 64 || s->kept < 2 || holds(how.values, s->numbers));
        CHECK_OK(rc);
        CHECK_OK(coded_decode(s, &how, p, size));
        CU_ASSERT(coded_same(s));
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
    struct coded s;

    for (int j = 0; j < NUMBERS; j++)
        for (size_t i = 0; i < CTT_LEN(sizes); i++)
            for (int k = 0; k < PATTERNS; k++) {
                coded_of((enum numbers)j, &s, sizes[i], (enum pattern)k);
                if (s.kept > 0 || j < SHARED)
                    round_trip(&s);
                coded_free(&s);
            }
    coded_make(&s, 300000, LAST);    /* one huge gap */
    round_trip(&s);
    coded_free(&s);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* keep = NULL means all. */
static void test_no_keep(void)
{
    struct ctt_coding how;
    struct coded s;
    uint8_t *p = NULL;
    int64_t size;

    coded_make(&s, 100, ALL);
    CHECK_OK(encode_best(s.w, NULL, s.n, &how, &p, &size));
    CU_ASSERT_STRING_EQUAL(how.positions, "all");
    CHECK_OK(coded_decode(&s, &how, p, size));
    CU_ASSERT(coded_same(&s));
    ctt_free(p);
    coded_free(&s);
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

static int64_t count_kept(const uint8_t *keep, int64_t n)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++)
        kept += keep[i];
    return kept;
}

/* Gaps around the bits that are looked at together, between many of 0, so that
 * they are written in unary; each cut and each flipped bit. */
static void test_long_gaps(void)
{
    enum { COUNT = 2000, RUN = 100 };
    static const struct ctt_coding index = { "index", "f32", "raw" };
    static const int gaps[] = { 23, 24, 25, 26, 55, 56, 57, 58, 63, 64, 65,
                                200 };
    static float w[COUNT], back[COUNT];
    static uint8_t keep[COUNT], again[COUNT];
    const struct ctt_decoded to = { back, again, NULL };
    struct ctt_weight as = coded_weight_of(w, keep, COUNT);
    uint8_t *p = NULL;
    int64_t size, kept = 0, at = 0;

    for (size_t i = 0; i < CTT_LEN(gaps); at += gaps[i++])
        for (int k = 0; k < RUN; k++, kept++)
            keep[at++] = 1;
    CU_ASSERT_FATAL(at <= COUNT);
    CHECK_OK(ctt_encode(&index, &as, &p, &size));
    CU_ASSERT_EQUAL(p[4 * kept], 0);    /* all in unary */
    CHECK_OK(ctt_decode(&index, p, size, &as.t, kept, &to));
    CU_ASSERT_EQUAL(memcmp(keep, again, COUNT), 0);
    for (int64_t i = 8 * (4 * kept + 1); i < 8 * size; i++) {
        p[i / 8] ^= (uint8_t)(1u << i % 8);
        if (ctt_decode(&index, p, size, &as.t, kept, &to) >= 0)
            CU_ASSERT_EQUAL(count_kept(again, COUNT), kept);
        CU_ASSERT_EQUAL(ctt_decode(&index, p, i / 8, &as.t, kept, &to),
                        CTT_EFORMAT);
        p[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    ctt_free(p);
}

/* Blocks of 4 of each row of channels, of which the last is shorter: the
 * example of doc/format.md.  An element alone is no block. */
static void test_block(void)
{
    static const struct ctt_coding block = { "block", "f32", "raw" };
    static const uint8_t want[] = { 0x01, 0x00 };
    const float w[12] = { 0, 0, 0, 0, 1, 2, 3, 0, 5, 6 };
    uint8_t keep[12] = { 0, 0, 0, 0, 1, 1, 1, 1, 1, 1 }, again[12], *p = NULL;
    float back[12];
    const struct ctt_decoded to = { back, again, NULL };
    struct ctt_weight as = coded_weight_of(w, keep, 12);
    int64_t size;

    as.t.n = 2;
    as.t.c = as.t.ld = 6;
    CHECK_OK(ctt_encode(&block, &as, &p, &size));
    CU_ASSERT_EQUAL_FATAL(size, 6 * 4 + 2);
    CU_ASSERT_EQUAL(memcmp(p + 24, want, 2), 0);
    CHECK_OK(ctt_decode(&block, p, size, &as.t, 6, &to));
    CU_ASSERT_EQUAL(memcmp(w, back, sizeof(w)), 0);
    CU_ASSERT_EQUAL(memcmp(keep, again, sizeof(keep)), 0);
    p[24] = 3;    /* the last unit, and one behind it */
    CU_ASSERT_EQUAL(ctt_decode(&block, p, size, &as.t, 6, &to), CTT_EFORMAT);
    p[24] = 0;    /* 4 and 2 elements: as many, elsewhere */
    CHECK_OK(ctt_decode(&block, p, size, &as.t, 6, &to));
    CU_ASSERT(again[0] && again[5] && !again[6]);
    ctt_free(p);
    keep[7] = 0;
    CU_ASSERT_EQUAL(ctt_encode(&block, &as, &p, &size), CTT_EUNSUP);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "'block' cannot say"));
}

/* Whole blocks take fewer bytes as such. */
static void test_block_small(void)
{
    static const struct ctt_coding index = { "index", "f32", "deflate" };
    struct ctt_coding how;
    struct coded s;
    uint8_t *p = NULL;
    int64_t best, other;

    coded_make(&s, 100000, BLOCKS);
    CHECK_OK(encode(&index, s.w, s.keep, s.n, &p, &other));
    ctt_free(p);
    CHECK_OK(encode_best(s.w, s.keep, s.n, &how, &p, &best));
    CU_ASSERT_STRING_EQUAL(how.positions, "block");
    CU_ASSERT(best < other - s.kept / 16);
    ctt_free(p);
    coded_free(&s);
}

/* Positions near their entropy, 4.69 bits a kept number when one in ten is
 * kept; and deflate must gain on floats of one size. */
static void test_small(void)
{
    static const struct ctt_coding index = { "index", "f32", "raw" };
    static const struct ctt_coding mask = { "mask", "f32", "raw" };
    struct ctt_coding how;
    struct coded s;
    uint8_t *p = NULL;
    int64_t size, other;

    coded_make(&s, 100000, SOME);
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
    coded_free(&s);
}

/* A change is an error or, where it fell on a value, another value; never
 * another count, never a crash. */
static void damage(struct coded *s, const struct ctt_coding *how, uint8_t *p,
                   int64_t size)
{
    uint8_t *copy = ctt_calloc((size_t)size + 1, 1);

    for (int64_t i = 0; i < 8 * size; i++) {
        p[i / 8] ^= (uint8_t)(1u << i % 8);
        if (coded_decode(s, how, p, size) >= 0) {
            int64_t kept = 0;
            for (int64_t j = 0; j < s->n; j++)
                kept += s->keep_back[j];
            CU_ASSERT_EQUAL(kept, s->kept);
        }
        p[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    for (int64_t n = 0; n < size; n++)
        CU_ASSERT_EQUAL(coded_decode(s, how, p, n), CTT_EFORMAT);
    memcpy(copy, p, (size_t)size);
    CU_ASSERT_EQUAL(coded_decode(s, how, copy, size + 1), CTT_EFORMAT);
    ctt_free(copy);
}

/* Another count of kept numbers is an error; only where their codes are bits it
 * may pass, as then a byte holds several of them. */
static void other_count(struct coded *s, const struct ctt_coding *how,
                        const uint8_t *p, int64_t size, int more)
{
    int rc;

    s->kept += more;
    rc = coded_decode(s, how, p, size);
    s->kept -= more;
    CU_ASSERT(rc == CTT_EFORMAT ||
              (rc == 0 && strcmp(how->values, "codebook-bits") == 0));
}

static void test_damage(void)
{
    struct ctt_coding how;
    struct coded s;
    uint8_t *p = NULL;
    int64_t size;

    for (int k = 0; k < PATTERNS * NUMBERS; k++) {
        struct ctt_weight as;

        coded_of((enum numbers)(k / PATTERNS), &s, 75,
                (enum pattern)(k % PATTERNS));
        as = coded_weight(&s);
        for (int i = 0; coding(i, &how); i++) {
            if (ctt_encode(&how, &as, &p, &size) < 0)
                continue;
            damage(&s, &how, p, size);
            other_count(&s, &how, p, size, 1);
            other_count(&s, &how, p, size, -1);
            ctt_free(p);
        }
        coded_free(&s);
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
    struct coded s;
    uint8_t *p = NULL;
    int64_t size = 0;
    int rc = CTT_ENOMEM, walked = 0;
    long live;

    coded_make(&s, 200, SOME);
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
        rc = coded_decode(&s, &index, p, size);
        ctt_fail_alloc(0);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live + 1);
    }
    CHECK_OK(rc);
    CU_ASSERT(coded_same(&s) && walked > 10);
    ctt_free(p);
    coded_free(&s);
}

static CU_TestInfo tests[] = {
    { "every coding, bit for bit", test_round_trip },
    { "nothing pruned", test_no_keep },
    { "scales", test_scales },
    { "bytes as documented", test_bytes },
    { "long gaps", test_long_gaps },
    { "blocks", test_block },
    { "small", test_small },
    { "blocks are small", test_block_small },
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
