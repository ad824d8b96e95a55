/* SPDX-License-Identifier: Apache-2.0
 * test_int8_emulated.c: the kernels of quantised values for each instruction
 * set, those that this processor may not have emulated: the same bits as the
 * direct sums. */
#include "tests/device/emulated.h"
#include "tests/lib/check.h"
#include "tests/lib/int8.h"

#include <stdio.h>

static struct ctt_dev *ref, *cpu;

/* In the order in which the device prefers them.  Those that are emulated run
 * anywhere, if their names are not NULL. */
static const struct way { const struct ctt_int8_isa *isa; int emulated; }
ways[] = {
    { &ctt_emulated_vnni, 1 }, { &ctt_emulated_avxvnni, 1 },
    { &ctt_emulated_depthwise, 1 }, { &ctt_emulated_amx, 1 },
    { &ctt_int8_depthwise_vnni, 0 }, { &ctt_int8_depthwise, 0 },
    { &ctt_int8_amx, 0 }, { &ctt_int8_vnni, 0 }, { &ctt_int8_avxvnni, 0 },
    { &ctt_int8_avx2, 0 }, { &ctt_int8_neon_depthwise, 0 },
    { &ctt_int8_neondot, 0 }, { &ctt_int8_neon, 0 },
};

static int is_here(const struct way *w)
{
    return w->emulated ? w->isa->name != NULL : w->isa->supported();
}

static int fits(const struct way *w, const struct ctt_call *c)
{
    return is_here(w) && ctt_int8_supports(w->isa, c);
}

static void check_way(const struct ctt_int8_isa *isa,
                      const struct ctt_int8_shape *s, int plus, int act,
                      int bytes, const struct ctt_int8_try *want)
{
    struct ctt_int8_weights w = { NULL };
    struct ctt_int8_try got;

    ctt_int8_open(&got, s, plus, act, bytes, 7);
    for (int again = 0; again < 2; again++) {
        CHECK_OK(ctt_int8_run(isa, cpu, &got.call, &w));
        CU_ASSERT(ctt_int8_same(want, &got));
        if (!ctt_int8_same(want, &got))
            printf("\n    %s: %s, conv %s, plus %d, bytes %d", isa->name,
                   s->in, s->conv, plus, bytes);
    }
    ctt_free(w.room);
    ctt_int8_close(&got, cpu);
}

/* A sum over all results, to compare processors: of each call, that before
 * times a prime number, plus the bits of its floats. */
static uint64_t digest;

static void note(const struct ctt_int8_try *j)
{
    const struct ctt_tensor *y = &j->call.out;
    uint32_t bits;

    for (int64_t r = 0; r < ctt_rows(y); r++)
        for (int64_t o = 0; o < y->c; o++) {
            memcpy(&bits, j->y + r * y->ld + o, sizeof(bits));
            digest = digest * 0x100000001b3u + bits;
        }
}

static void check_shape(const struct ctt_int8_shape *s, int plus, int act,
                        int bytes)
{
    struct ctt_int8_try want;

    ctt_int8_open(&want, s, plus, act, 0, 7);
    CHECK_OK(ctt_dev_run(ref, &want.call, CTT_FWD));
    note(&want);
    for (size_t i = 0; i < CTT_LEN(ways); i++)
        if (fits(&ways[i], &want.call))
            check_way(ways[i].isa, s, plus, act, bytes, &want);
    ctt_int8_close(&want, ref);
}

/* All kinds of bytes; a plus input for every other shape, to take less time;
 * acts but relu are those of a row. */
static void test_all(void)
{
    for (int i = 0; ctt_int8_shapes[i].in; i++)
        for (int k = i % 2; k < 8; k += 2)
            if (ctt_check_tries())
                check_shape(&ctt_int8_shapes[i], k & 1, (i + k) % 5,
                            ctt_int8_bytes((size_t)i, k));
}

/* The device takes the first that is there. */
static void check_choice(const struct ctt_int8_shape *s)
{
    struct ctt_int8_try j;
    size_t i = 0;

    ctt_int8_open(&j, s, 0, 0, 0, 7);
    while (i < CTT_LEN(ways) && (ways[i].emulated || !fits(&ways[i], &j.call)))
        i++;
    CU_ASSERT_PTR_EQUAL(ctt_int8_best(&j.call),
                        i < CTT_LEN(ways) ? ways[i].isa : NULL);
    ctt_int8_close(&j, cpu);
}

static void test_choice(void)
{
    for (int i = 0; ctt_int8_shapes[i].in; i++)
        check_choice(&ctt_int8_shapes[i]);
}

static CU_TestInfo tests[] = {
    { "all", test_all }, { "choice", test_choice }, CU_TEST_INFO_NULL
};

/* The kernels that are tested, one a line; "cpu" before those that the device
 * chooses among. */
static int tell(void)
{
    int many = 0;

    for (size_t i = 0; i < CTT_LEN(ways); i++)
        if (is_here(&ways[i]) && ++many)
            printf("%s %s\n", ways[i].emulated ? "emulated" : "cpu",
                   ways[i].isa->name);
    return many;
}

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "int8_emulated", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (!tell()) {
        puts("no kernels for this processor, and built without SIMDe");
        return CTT_SKIP;
    }
    if (ctt_dev_open("ref", 1, &ref) < 0 || ctt_dev_open("cpu", 2, &cpu) < 0)
        return 99;
    rc = ctt_check_main(suites);
    printf("digest %016llx\n", (unsigned long long)digest);
    ctt_dev_close(&ref);
    ctt_dev_close(&cpu);
    return rc;
}
