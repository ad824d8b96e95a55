/* SPDX-License-Identifier: Apache-2.0
 * test_gpu_stream.c: the streams of the device "cuda": replayed graphs, several
 * lanes, prefetched uploads. */
#include "tests/lib/gpu.h"
#include "tests/lib/shots.h"

/* ---- repeated work ---- */

static const struct ctt_case conv_case = {
    "c=8 h=9 w=7", "c=6 h=9 w=7", "conv y in=a plus=b out=6 kernel=3 pad=1", 0
};
static const struct ctt_case drop_case = {
    "c=70 h=3", NULL, "dropout y in=a rate=0.4", 0
};

/* Repeats the same work with other numbers and other random keys. */
static void replayed(const struct ctt_case *cs, enum ctt_dtype type)
{
    enum { ROUNDS = 6 };
    struct gpu_call m;
    void *place = NULL;
    int started = 0;

    gpu_open(&m, cs, 3, RIG_DIN | RIG_DW | RIG_TRAIN, 0, type, 0,
             GPU_LIVE_AT);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t key = 1000 + (uint64_t)i, plain, again;
        int rc;

        m.part[0].first[5] += 1.0f;
        CHECK_OK(ctt_dev_copy(gpu, CTT_TO_DEVICE, &key, m.live, sizeof(key)));
        gpu_up(&m);
        CHECK_OK(ctt_dev_run(gpu, &m.call, CTT_FWD));
        CHECK_OK(ctt_dev_run(gpu, &m.call, CTT_BWD));
        gpu_down(&m);
        plain = gpu_bits(&m);
        gpu_up(&m);
        CHECK_OK(rc = ctt_dev_replay(gpu, &place));
        started += rc;
        if (!rc) {
            rc = ctt_dev_run(gpu, &m.call, CTT_FWD);
            rc = rc < 0 ? rc : ctt_dev_run(gpu, &m.call, CTT_BWD);
            CHECK_OK(ctt_dev_recorded(gpu, &place, rc));
        }
        gpu_down(&m);
        again = gpu_bits(&m);
        CU_ASSERT_EQUAL(again, plain);
    }
    CU_ASSERT_EQUAL(started, ROUNDS - 2);
    ctt_dev_drop(gpu, &place);
    CU_ASSERT_PTR_NULL(place);
    gpu_close(&m);
}

static void test_replay(void)
{
    ctt_dev_deterministic(gpu, 1);
    for (int t = 0; t < GPU_TYPES; t++) {
        replayed(&conv_case, gpu_types[t].type);
        replayed(&drop_case, gpu_types[t].type);
    }
    ctt_dev_deterministic(gpu, 0);
}

/* An error during recording is returned, and later work succeeds. */
static void test_failed_record(void)
{
    void *place = NULL;

    for (int i = 0; i < 4; i++) {
        int rc = ctt_dev_replay(gpu, &place);
        CU_ASSERT_EQUAL(rc, 0);
        rc = ctt_dev_recorded(gpu, &place, ctt_error(CTT_EINVAL, "mine"));
        CU_ASSERT_EQUAL(rc, CTT_EINVAL);
        CU_ASSERT_STRING_EQUAL(ctt_errmsg(), "mine");
    }
    ctt_dev_drop(gpu, &place);
    replayed(&conv_case, CTT_F32);
}

/* ---- lanes ---- */

enum { LANES = 4, BIG = 1 << 20 };

/* A chain through all lanes: each link adds the one before to itself.  Without
 * waits it would read numbers not yet written. */
static void test_lanes(void)
{
    int64_t n = gpu_quick ? BIG / 64 : BIG;
    float *x = ctt_check_floats(n, 5), *y = ctt_check_floats(n, 0);
    void *p[LANES];

    ctt_dev_streams(gpu, LANES);
    CU_ASSERT_EQUAL(ctt_dev_stream_count(gpu), LANES);
    for (int i = 0; i < LANES; i++)
        p[i] = gpu_alloc(n * (int64_t)sizeof(float));
    gpu_write(x, n, p[0]);
    for (int round = 0; round < 5; round++) {
        for (int i = 1; i < LANES; i++) {
            CHECK_OK(ctt_dev_wait(gpu, i, i - 1));
            ctt_dev_stream(gpu, i);
            CHECK_OK(ctt_dev_sum(gpu, CTT_F32, p[i - 1], p[i], n));
        }
        CHECK_OK(ctt_dev_wait(gpu, 0, LANES - 1));
        ctt_dev_stream(gpu, 0);
    }
    gpu_read(p[LANES - 1], CTT_F32, n, y);
    for (int64_t i = 0; i < n; i++)
        x[i] *= 35;    /* 5 + 10 + 15 + .. : binomials */
    CHECK_CLOSE(y, x, n, 1e-5);
    for (int i = 0; i < LANES; i++)
        ctt_dev_free(gpu, &p[i]);
    ctt_dev_streams(gpu, 1);
    CU_ASSERT_EQUAL(ctt_dev_stream_count(gpu), 1);
    ctt_free(x);
    ctt_free(y);
}

/* ---- uploads ---- */

/* Prefetched numbers arrive in any kind of tensor, and so do others. */
static void test_prefetch(void)
{
    enum { N = 50000, FRAME = 100 };
    float *x = ctt_check_floats(N, 6), *y = ctt_check_floats(N, 0);
    char *p = gpu_alloc(N * (int64_t)sizeof(float));

    for (int pinned = 0; pinned < 2; pinned++) {
        if (pinned)
            CHECK_OK(ctt_dev_pin(gpu, x, N * (int64_t)sizeof(float)));
        for (int round = 0; round < 3; round++) {
            x[17] += 1;
            CHECK_OK(ctt_dev_prefetch(gpu, x, N / 2));
            for (int t = 0; t < GPU_TYPES; t++) {
                enum ctt_dtype type = gpu_types[t].type;
                int64_t size = ctt_dtype_size(type);
                for (int i = 0; i < N; i += FRAME) {
                    struct ctt_tensor r = gpu_row(p + i * size, type, FRAME);
                    CHECK_OK(ctt_dev_put(gpu, x + i, &r));
                }
                gpu_read(p, type, N, y);
                gpu_round(type, y, N);    /* no change: representable */
                for (int i = 0; i < N; i++) {
                    float want = x[i];
                    gpu_round(type, &want, 1);
                    if (y[i] != want) {
                        CU_FAIL("a number that was sent early is another");
                        break;
                    }
                }
            }
        }
        CHECK_OK(ctt_dev_sync(gpu));
        if (pinned)
            ctt_dev_unpin(gpu, x);
    }
    ctt_dev_free(gpu, (void **)&p);
    ctt_free(x);
    ctt_free(y);
}

/* Puts part of the floats at x, which the device has made, and compares. */
static void check_made(const float *x, const float *want, int n)
{
    float *y = ctt_check_floats(n, 0);
    char *p = gpu_alloc(n * (int64_t)sizeof(float));

    for (int t = 0; t < GPU_TYPES; t++) {
        struct ctt_tensor row = gpu_row(p, gpu_types[t].type, n);

        CHECK_OK(ctt_dev_put(gpu, x, &row));
        gpu_read(p, gpu_types[t].type, n, y);
        for (int i = 0; i < n; i++) {
            float w = want[i];

            gpu_round(gpu_types[t].type, &w, 1);
            if (!(y[i] == w)) {
                CU_FAIL("a number that the device has made is another");
                break;
            }
        }
    }
    ctt_dev_free(gpu, (void **)&p);
    ctt_free(y);
}

/* Frames made of bytes there are those of plain C, as often as they are put;
 * the bytes lie where the floats would. */
static void test_render(void)
{
    for (uint64_t key = 1; key <= (gpu_quick ? 4 : 12); key++) {
        struct ctt_shots s = shots_new(key % 3 ? 3 : 1, 3, 1 + (int)key % 4,
                                       key);
        int n = shots_floats(&s);
        float *want = ctt_check_floats(n, 1), *x = (float *)(void *)s.block;

        CHECK_OK(ctt_dev_render(host, &s, want));
        CU_ASSERT((int64_t)n * (int64_t)sizeof(float) <= s.bytes);
        if (key % 2)
            CHECK_OK(ctt_dev_pin(gpu, x, s.bytes));
        CHECK_OK(ctt_dev_render(gpu, &s, x));
        check_made(x, want, n);
        check_made(x + n / 3, want + n / 3, n / 4);
        check_made(x, want, n);
        CHECK_OK(ctt_dev_prefetch(gpu, NULL, 0));
        CHECK_OK(ctt_dev_sync(gpu));
        if (key % 2)
            ctt_dev_unpin(gpu, x);
        ctt_free(want);
        ctt_free(s.block);
    }
}

static CU_TestInfo tests[] = {
    { "replay", test_replay },
    { "a recording that fails", test_failed_record },
    { "lanes", test_lanes },
    { "prefetch", test_prefetch },
    { "frames made of bytes", test_render },
    CU_TEST_INFO_NULL
};

int main(int argc, char **argv)
{
    CU_SuiteInfo suites[] = {
        { .pName = "gpu stream", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return gpu_main(suites, argc, argv);
}
