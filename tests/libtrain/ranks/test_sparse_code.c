/* SPDX-License-Identifier: Apache-2.0
 * test_sparse_code.c: the code of sparse numbers: what is written comes back,
 * and damage is refused. */
#include "libtrain/ranks/sparse_code.h"
#include "base/random.h"
#include "tests/lib/check.h"

#include <math.h>

enum { MOST = 50000 };

/* Positions that are chosen with this probability; x: what is there, from 1 to
 * more than the largest power, mostly small. */
static int64_t choose(uint64_t key, double share, int64_t n, int32_t *at,
                      float *x)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++) {
        uint32_t r = ctt_random(key, (uint64_t)i);

        x[i] = ldexpf(r & 1 ? -1.25f : 1, r % 3 ? 0 : (int)(r >> 4 & 15) +
                      (int)(r >> 9 & 1));
        if (r / 4294967296.0 < share)
            at[count++] = (int32_t)i;
    }
    return count;
}

/* What is read of x. */
static float nearest(float x)
{
    int power = 0;

    frexpf(fabsf(x), &power);
    power = power - 1 < CTT_SPARSE_CODE_MOST ? power - 1 : CTT_SPARSE_CODE_MOST;
    return copysignf(ldexpf(1, power), x);
}

static void check_code(int64_t n, int64_t count, const int32_t *at,
                       const float *x, const uint8_t *code,
                       const struct ctt_sparse_code *t)
{
    float *y = ctt_calloc((size_t)n, sizeof(*y));
    int64_t wrong = 0;

    CHECK_OK(ctt_sparse_code_add(t, code, n, 2, y));
    for (int64_t i = 0; i < count; i++) {
        wrong += y[at[i]] != 2 * t->value * nearest(x[at[i]]);
        y[at[i]] = 0;
    }
    for (int64_t i = 0; i < n; i++)
        wrong += y[i] != 0;
    CU_ASSERT_EQUAL(wrong, 0);
    ctt_free(y);
}

static void what_is_coded_comes_back(void)
{
    static const double shares[] = { 0, 1e-4, 0.003, 0.1, 0.5, 0.9, 1 };
    static const int64_t lengths[] = { 1, 2, 31, 4099, MOST };
    static int32_t at[MOST];
    static float x[MOST];

    for (size_t l = 0; l < CTT_LEN(lengths); l++)
        for (size_t s = 0; s < CTT_LEN(shares); s++) {
            int64_t n = lengths[l];
            int64_t count = choose(l + 1, shares[s], n, at, x);
            int64_t room = ctt_sparse_code_room(n, count);
            uint8_t *code = ctt_calloc((size_t)room, 1);
            struct ctt_sparse_code t = { .value = 0.5f };

            ctt_sparse_code_encode(at, count, n, x, 1, code, &t);
            CU_ASSERT(t.count == count && t.bytes <= room);
            check_code(n, count, at, x, code, &t);
            if (n == MOST && shares[s] == 0.003)    /* 10.1 for the gap */
                CU_ASSERT((double)t.bytes * 8 / (double)count < 16);
            ctt_free(code);
        }
}

/* One far behind others: a gap of many bits. */
static void gaps_may_be_long(void)
{
    static int32_t at[1001];
    static float x[MOST];
    struct ctt_sparse_code t = { .value = 1 };
    uint8_t *code = ctt_calloc((size_t)ctt_sparse_code_room(MOST, 1001), 1);

    for (int i = 0; i < 1000; i++)
        at[i] = i;
    at[1000] = MOST - 1;
    for (int i = 0; i < MOST; i++)
        x[i] = i % 3 ? 1 : -1;
    ctt_sparse_code_encode(at, 1001, MOST, x, 1, code, &t);
    check_code(MOST, 1001, at, x, code, &t);
    ctt_free(code);
}

static void damaged_codes_are_refused(void)
{
    static int32_t at[MOST];
    static float x[MOST], y[MOST];
    int64_t count = choose(3, 0.01, MOST, at, x);
    struct ctt_sparse_code t = { .value = 1 }, bad;
    uint8_t *code = ctt_calloc((size_t)ctt_sparse_code_room(MOST, count), 1);

    ctt_sparse_code_encode(at, count, MOST, x, 1, code, &t);
    bad = t;
    bad.bytes /= 2;
    ctt_check_refused(ctt_sparse_code_add(&bad, code, MOST, 1, y), CTT_EFORMAT,
                      "damaged");
    bad = t;
    bad.count += 100;
    ctt_check_refused(ctt_sparse_code_add(&bad, code, MOST, 1, y), CTT_EFORMAT,
                      "damaged");
    ctt_check_refused(ctt_sparse_code_add(&t, code, MOST / 2, 1, y),
                      CTT_EFORMAT, "damaged");
    bad.low = 32;
    ctt_check_refused(ctt_sparse_code_add(&bad, code, MOST, 1, y), CTT_EFORMAT,
                      "damaged");
    for (int i = 0; i < 200; i++) {    /* no byte of it writes elsewhere */
        code[ctt_random(9, (uint64_t)i) % (uint64_t)t.bytes] ^=
            (uint8_t)(1 + i % 255);
        (void)ctt_sparse_code_add(&t, code, MOST, 1, y);
    }
    ctt_free(code);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "what is coded comes back", what_is_coded_comes_back },
        { "gaps may be long", gaps_may_be_long },
        { "damaged codes are refused", damaged_codes_are_refused },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "powers", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
