/* SPDX-License-Identifier: Apache-2.0
 * test_zip.c: compressed texts, and checksums. */
#include "tests/lib/check.h"
#include "net/code/memo.h"
#include "net/code/zip.h"
#include "base/random.h"

#include <string.h>

static void test_text(void)
{
    static const char text[] = "conv a in=x out=3\nconv b in=a out=3\n";
    int64_t len = (int64_t)strlen(text), size, n = 0;
    uint8_t *zip = NULL;
    char *back = NULL;

    CHECK_OK(ctt_gzip(text, len, &zip, &size));
    CHECK_OK(ctt_gunzip(zip, size, len, &back, &n));
    CU_ASSERT_EQUAL(n, len);
    CU_ASSERT_STRING_EQUAL(back, text);
    ctt_free(back);
    CU_ASSERT_EQUAL(ctt_gunzip(zip, size, len - 1, &back, &n), CTT_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "too many"));
    for (int64_t i = 0; i < 8 * size; i++) {
        zip[i / 8] ^= (uint8_t)(1u << i % 8);
        if (ctt_gunzip(zip, size, 1 << 20, &back, &n) >= 0) {
            CU_ASSERT_STRING_EQUAL(back, text);    /* time, system */
            ctt_free(back);
        }
        zip[i / 8] ^= (uint8_t)(1u << i % 8);
    }
    for (int64_t i = 0; i < size; i++)
        CU_ASSERT_EQUAL(ctt_gunzip(zip, i, 1 << 20, &back, &n), CTT_EFORMAT);
    ctt_free(zip);
    CHECK_OK(ctt_gzip("", 0, &zip, &size));
    CHECK_OK(ctt_gunzip(zip, size, 0, &back, &n));
    CU_ASSERT_EQUAL(n, 0);
    ctt_free(back);
    ctt_free(zip);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* The check value that every description of this CRC gives. */
static void test_crc(void)
{
    static const uint8_t bytes[] = { 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0 };
    const float x[2] = { 1, -2 };

    CU_ASSERT_EQUAL(ctt_crc32(0, "123456789", 1, 9), 0xcbf43926);
    CU_ASSERT_EQUAL(ctt_crc32(ctt_crc32(0, "1234", 1, 4), "56789", 1, 5),
                    0xcbf43926);
    CU_ASSERT_EQUAL(ctt_crc32(0, x, 4, 2), ctt_crc32(0, bytes, 1, 8));
}

/* Bit by bit, from the polynomial. */
static uint32_t plain_crc(uint32_t crc, const uint8_t *p, int64_t n)
{
    crc = ~crc;
    for (int64_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

/* Of any length, from any place on, from any CRC on, and of two parts. */
static void test_crc_lengths(void)
{
    enum { SIZE = 1100 };
    uint8_t p[SIZE + 3];
    int wrong = 0;

    for (int i = 0; i < SIZE + 3; i++)
        p[i] = (uint8_t)ctt_random(1, (uint64_t)i);
    for (int n = 0; n <= SIZE; n++) {
        uint32_t crc = n % 3 ? ctt_random(2, (uint64_t)n) : 0;
        wrong += ctt_crc32(crc, p + n % 4, 1, n) !=
                 plain_crc(crc, p + n % 4, n);
        wrong += ctt_crc32_join(plain_crc(0, p, n / 3),
                                plain_crc(0, p + n / 3, n - n / 3),
                                n - n / 3) != plain_crc(0, p, n);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* ---- what is known is not compressed again ---- */

enum { BLOCK = 6000, BLOCKS = 3 };

static void fill(uint8_t *p, int block)
{
    for (int i = 0; i < BLOCK; i++)
        p[i] = (uint8_t)(ctt_random((uint64_t)block, (uint64_t)i / 3) % 11);
}

static int is_known(int block, int64_t cut)
{
    uint8_t in[BLOCK], *out = NULL;
    int64_t n = 0;
    int known;

    fill(in, block);
    known = ctt_memo_find(in, BLOCK, &cut, 1, &out, &n);
    ctt_free(out);
    return known;
}

/* The same stream whether it was known or not; other cuts are something else;
 * the latest stay, and nothing after keep(0). */
static void test_memo(void)
{
    uint8_t in[BLOCK], *plain, *again;
    int64_t cut = 100, n, m;

    for (int b = 0; b < BLOCKS; b++) {
        ctt_memo_keep(0);
        fill(in, b);
        CHECK_OK(ctt_deflate(in, BLOCK, &cut, 1, &plain, &n));
        ctt_memo_keep(1 << 20);
        for (int k = 0; k < 2; k++) {
            CU_ASSERT_EQUAL(is_known(b, cut), k);
            CHECK_OK(ctt_deflate(in, BLOCK, &cut, 1, &again, &m));
            CU_ASSERT_EQUAL_FATAL(m, n);
            CU_ASSERT_EQUAL(memcmp(plain, again, (size_t)n), 0);
            ctt_free(again);
        }
        ctt_free(plain);
        CU_ASSERT_EQUAL(is_known(b, cut + 1), 0);
    }
    ctt_memo_keep(2 * (BLOCK + n) + n / 2);    /* room for two */
    for (int b = 0; b < BLOCKS; b++) {
        fill(in, b);
        CHECK_OK(ctt_deflate(in, BLOCK, &cut, 1, &again, &m));
        ctt_free(again);
    }
    CU_ASSERT_EQUAL(is_known(0, cut), 0);
    CU_ASSERT_EQUAL(is_known(1, cut) + is_known(2, cut), 2);
    ctt_memo_keep(0);
    CU_ASSERT_EQUAL(is_known(2, cut), 0);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static CU_TestInfo tests[] = {
    { "memo", test_memo },
    { "texts", test_text },
    { "CRC-32", test_crc },
    { "CRC-32 of any length", test_crc_lengths },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "zip", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
