/* SPDX-License-Identifier: Apache-2.0
 * test_limits.c: the limits and their options; one budget for all blocks, which
 * names itself when it refuses; and large blocks that cost nothing before they
 * are used. */
#include "tests/lib/check.h"
#include "base/limits_opt.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)

/* Pages of this process that are in memory. */
static long resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long all = 0, here = -1;

    if (f && fscanf(f, "%ld %ld", &all, &here) != 2)
        here = -1;
    if (f)
        fclose(f);
    return here;
}

static void limit_memory(int64_t bytes)
{
    struct ctt_limits l = { .memory = bytes };

    CHECK_OK(ctt_limits_set(&l));
}

/* ---- the limits ---- */

static void test_defaults(void)
{
    struct ctt_limits l = *ctt_limits();
    struct ctt_limits bad = { .clip_seconds = NAN }, less = { .classes = 7 };

    CU_ASSERT(l.memory >= CTT_MEMORY_LEAST);
    CU_ASSERT(l.memory <= ctt_memory_free() + (INT64_C(1) << 36));
    CU_ASSERT_EQUAL(l.frame_pixels, 1 << 26);
    CU_ASSERT_EQUAL(l.clip_bytes, INT64_C(1) << 40);
    CU_ASSERT_EQUAL(l.clip_frames, 1 << 24);
    CU_ASSERT(l.clip_seconds > 59 && l.clip_seconds < 61);
    CU_ASSERT_EQUAL(l.classes, 1 << 16);
    CU_ASSERT_EQUAL(l.nodes, 1 << 16);
    CHECK_OK(ctt_limits_set(&less));
    CU_ASSERT_EQUAL(ctt_limits()->classes, 7);
    CU_ASSERT_EQUAL(ctt_limits()->nodes, 1 << 16);
    ctt_check_refused(ctt_limits_set(&bad), CTT_EINVAL, "clip_seconds");
    bad = (struct ctt_limits){ .nodes = -1 };
    ctt_check_refused(ctt_limits_set(&bad), CTT_EINVAL, "-1 for nodes");
    CU_ASSERT_EQUAL(ctt_limits()->classes, 7);
    CHECK_OK(ctt_limits_set(&(struct ctt_limits){ .memory = 0 }));
    CU_ASSERT_EQUAL(ctt_limits()->classes, 1 << 16);
    CU_ASSERT_EQUAL(ctt_limits()->memory, l.memory);
}

/* What ulimit -v leaves counts. */
static void test_space(void)
{
    struct rlimit old, less;

    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_AS, &old), 0);
    less = old;
    less.rlim_cur = (rlim_t)1 << 46;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_AS, &less), 0);
    CU_ASSERT(ctt_memory_free() > 0);
    less.rlim_cur = 1;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_AS, &less), 0);
    CU_ASSERT_EQUAL(ctt_memory_free(), 0);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_AS, &old), 0);
}

/* ---- options ---- */

#define AT(member) offsetof(struct ctt_limits, member)
static const struct ctt_opt rows[] = {
    CTT_LIMIT_ROWS(AT, 0), { .name = NULL }
};

static void test_sizes(void)
{
    static const struct { const char *text; int64_t bytes; } good[] = {
        { "900M", 900 * MIB }, { "2G", 2048 * MIB }, { "1.5G", 1536 * MIB },
        { "4194304", 4 * MIB }, { "0", 0 }, { "1T", MIB * MIB },
        { "8192K", 8 * MIB },
    };
    static const char *const bad[] = {
        "2X", "-2G", "G", "2GB", "nan", "inf", "1e300G", "", " 1", "2e15",
        "0.5", "1", "1023K",
    };
    struct ctt_limits l = { 0 };

    for (size_t i = 0; i < CTT_LEN(good); i++) {
        CHECK_OK(ctt_opt_set(rows, &l, "memory", good[i].text));
        CU_ASSERT_EQUAL(l.memory, good[i].bytes);
    }
    for (size_t i = 0; i < CTT_LEN(bad); i++)
        ctt_check_refused(ctt_opt_set(rows, &l, "memory", bad[i]), CTT_EINVAL,
                          "(0, or 1M to 1024T)");
    ctt_check_refused(ctt_opt_set(rows, &l, "frame-pixels", "0.5"), CTT_EINVAL,
                      "frame-pixels: bad value '0.5' (1 to 4G)");
    ctt_check_refused(ctt_opt_set(rows, &l, "max-classes", "0"), CTT_EINVAL,
                      "max-classes: bad value '0' (1 to 1048576)");
    CHECK_OK(ctt_opt_set(rows, &l, "clip-seconds", "0.25"));
    CU_ASSERT(l.clip_seconds > 0.2499 && l.clip_seconds < 0.2501);
    ctt_check_refused(ctt_opt_set(rows, &l, "clip-seconds", "0"), CTT_EINVAL,
                      "clip-seconds: bad value '0'");
}

/* Printed and read again, every row has the value that it had. */
static void test_printed(void)
{
    struct ctt_limits l = { .memory = 3 * MIB + 1, .frame_pixels = 1 << 20,
        .clip_bytes = 1536, .clip_frames = 12, .clip_seconds = 0.1,
        .classes = 5 }, back = { .nodes = 0 };
    char text[512] = "", *word, *rest = text;
    struct ctt_opt_seen seen = { { 0 } };
    FILE *f = fmemopen(text, sizeof(text), "w");

    CU_ASSERT_FATAL(f != NULL);
    ctt_opt_print(rows, &l, f);
    fclose(f);
    CU_ASSERT(strstr(text, " frame-pixels=1M ") != NULL);
    while ((word = strtok_r(rest, " ", &rest)) != NULL)
        CHECK_OK(ctt_opt_word(rows, &back, word, &seen));
    CU_ASSERT_EQUAL(memcmp(&l, &back, sizeof(l)), 0);
}

/* ---- the budget ---- */

/* The count of bytes follows every kind of call and ends where it began. */
static void test_count(void)
{
    int64_t before = ctt_memory_used();
    char *p = ctt_calloc(1000, 1000), *q = ctt_realloc(NULL, 5000);

    CU_ASSERT_FATAL(p && q);
    CU_ASSERT(ctt_memory_used() >= before + 1005000);
    CU_ASSERT(ctt_memory_used() < before + 1100000);
    q = ctt_realloc(q, 3000000);
    CU_ASSERT(q && ctt_memory_used() >= before + 4000000);
    q = ctt_realloc(q, 10);
    CU_ASSERT(q && ctt_memory_used() < before + 1100000);
    ctt_free(p);
    ctt_free(q);
    CU_ASSERT_EQUAL(ctt_memory_used(), before);
}

/* Blocks that begin on a page of 2 MiB: what they take is counted, not what
 * their alignment skips, and they may grow and shrink. */
static void test_large(void)
{
    int64_t before = ctt_memory_used();
    char *p = ctt_calloc(5, (size_t)MIB), *q = ctt_calloc(3, (size_t)MIB);

    CU_ASSERT_FATAL(p && q);
    CU_ASSERT_EQUAL(ctt_memory_used(), before + 8 * MIB);
    p[0] = p[5 * MIB - 1] = 7;
    ctt_fail_alloc(1);
    CU_ASSERT(ctt_realloc(p, (size_t)(9 * MIB)) == NULL);
    CU_ASSERT_EQUAL(ctt_memory_used(), before + 8 * MIB);
    p = ctt_realloc(p, (size_t)(9 * MIB));
    CU_ASSERT_FATAL(p != NULL);
    CU_ASSERT(p[0] == 7 && p[5 * MIB - 1] == 7);
    CU_ASSERT(ctt_memory_used() >= before + 12 * MIB);
    ctt_free(q);
    p = ctt_realloc(p, 10);
    CU_ASSERT(p && p[0] == 7 && ctt_memory_used() < before + MIB);
    ctt_free(p);
    CU_ASSERT_EQUAL(ctt_memory_used(), before);
    p = ctt_calloc((size_t)(2 * MIB - 1), 1);
    CU_ASSERT(p && ctt_memory_used() == before + 2 * MIB);
    ctt_free(p);
    CU_ASSERT_EQUAL(ctt_memory_used(), before);
}

static void test_refused(void)
{
    int64_t before = ctt_memory_used();
    void *p, *q;

    limit_memory(before + 8 * MIB);
    p = ctt_calloc(5, (size_t)MIB);
    CU_ASSERT(p != NULL);
    q = ctt_calloc(5, (size_t)MIB);
    CU_ASSERT(q == NULL);
    ctt_check_refused(CTT_ENOMEM, CTT_ENOMEM, "(--memory)");
    CU_ASSERT(strstr(ctt_errmsg(), "5 MB do not fit into the memory limit of")
              != NULL);
    CU_ASSERT(ctt_realloc(p, (size_t)(9 * MIB)) == NULL);
    CU_ASSERT(ctt_memory_left() > 2 * MIB && ctt_memory_left() <= 3 * MIB);
    ctt_check_refused(ctt_memory_check("weights", 4 * MIB), CTT_ENOMEM,
                      "weights: 4 MB do not fit");
    CU_ASSERT(ctt_memory_check("weights", 2 * MIB) == 0);
    q = ctt_calloc(2, (size_t)MIB);    /* refusals are not counted */
    CU_ASSERT(q != NULL);
    ctt_free(q);
    ctt_free(p);
    CU_ASSERT_EQUAL(ctt_memory_used(), before);
    limit_memory(0);
}

/* Rounded to MB, 9 would seem to fit into 9. */
static void test_exact(void)
{
    CU_ASSERT_EQUAL_FATAL(ctt_memory_used(), 0);
    limit_memory(8 * MIB + MIB / 4);
    ctt_check_refused(ctt_memory_check("it", 8 * MIB + MIB / 2), CTT_ENOMEM,
                      "it: 8912896 bytes do not fit into the memory limit of "
                      "8650752 bytes (--memory), of which 0 bytes are in use");
    limit_memory(0);
}

/* Sizes that no machine has, and those that are no size. */
static void test_absurd(void)
{
    CU_ASSERT(ctt_calloc(SIZE_MAX, 1) == NULL);
    CU_ASSERT(ctt_calloc(SIZE_MAX / 2, 3) == NULL);
    CU_ASSERT(ctt_calloc(SIZE_MAX / 2 - 64, 1) == NULL);
    CU_ASSERT(ctt_calloc((size_t)1 << 50, 4) == NULL);
    CU_ASSERT(ctt_realloc(NULL, SIZE_MAX) == NULL);
    CU_ASSERT(ctt_realloc(NULL, (size_t)INT64_MAX) == NULL);
}

/* Zeros, although the memory was used before; aligned; to the last byte. */
static void test_zeros(void)
{
    static const size_t sizes[] = { 1, 63, 4096, (1 << 20) - 64, 1 << 20,
                                    (1 << 20) + 1, 5000001, 40000000 };

    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < CTT_LEN(sizes); i++) {
            unsigned char *p = ctt_calloc(sizes[i], 1);
            size_t k = 0;
            CU_ASSERT_FATAL(p != NULL);
            CU_ASSERT_EQUAL((uintptr_t)p % 64, 0);
            while (k < sizes[i] && p[k] == 0)
                k++;
            CU_ASSERT_EQUAL(k, sizes[i]);
            memset(p, 0xa5, sizes[i]);
            ctt_free(p);
        }
}

/* A large block takes no memory until it is used, and then only what is. */
static void test_untouched(void)
{
    long page = sysconf(_SC_PAGESIZE), before = resident();
    size_t size = (size_t)256 << 20;
    char *p = ctt_calloc(size, 1);

    CU_ASSERT_FATAL(p != NULL && before > 0);
    CU_ASSERT((resident() - before) * page < 64 * MIB);
    p[size / 2] = 1;
    CU_ASSERT((resident() - before) * page < 80 * MIB);
    ctt_free(p);
}

static CU_TestInfo tests[] = {
    { "limits and their defaults", test_defaults },
    { "address space", test_space },
    { "sizes as text", test_sizes },
    { "printed rows", test_printed },
    { "bytes in use", test_count },
    { "large blocks are counted", test_large },
    { "beyond the limit", test_refused },
    { "rounding does not hide what is missing", test_exact },
    { "absurd sizes", test_absurd },
    { "zeros", test_zeros },
    { "large blocks are not touched", test_untouched },
    CU_TEST_INFO_NULL
};

int main(void)
{
    return ctt_check_main((CU_SuiteInfo[]){
        { .pName = "limits", .pTests = tests }, CU_SUITE_INFO_NULL
    });
}
