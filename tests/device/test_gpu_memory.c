/* SPDX-License-Identifier: Apache-2.0
 * test_gpu_memory.c: the memory of the device "cuda": copies, casts, sums, and
 * running out of memory. */
#include "tests/lib/gpu.h"

#include <math.h>
#include <string.h>

/* ---- copies ---- */

/* Rows of a view: the gaps between them stay unchanged. */
static void view_of(const struct gpu_type *t, int64_t rows, int64_t c,
                    int64_t ld, int64_t off)
{
    int64_t size = ctt_dtype_size(t->type), n = rows * c, all = rows * ld;
    float *x = ctt_check_floats(n, 7), *y = ctt_check_floats(n, 0),
          *z = ctt_check_floats(all + off, 0);
    char *p = gpu_alloc((all + off) * size);
    struct ctt_tensor v = { p + off * size, t->type, 1, 1, rows, 1, c, ld };

    CHECK_OK(ctt_dev_put(gpu, x, &v));
    gpu_round(t->type, x, n);
    CHECK_OK(ctt_dev_get(gpu, &v, y));
    CU_ASSERT(gpu_same(x, y, n));
    gpu_read(p, t->type, all + off, z);
    for (int64_t i = 0; i < all + off; i++) {
        int64_t r = (i - off) / ld, j = (i - off) % ld;
        int inside = i >= off && j < c;
        if (z[i] != (inside ? x[r * c + j] : 0)) {
            CU_FAIL("a view's neighbour was written");
            break;
        }
    }
    ctt_dev_free(gpu, (void **)&p);
    ctt_free(x);
    ctt_free(y);
    ctt_free(z);
}

static void test_put_get(void)
{
    for (int t = 0; t < GPU_TYPES; t++) {
        view_of(&gpu_types[t], 1, 1, 1, 0);
        view_of(&gpu_types[t], 7, 3, 3, 0);
        view_of(&gpu_types[t], 5, 3, 8, 1);
        view_of(&gpu_types[t], 33, 64, 72, 3);
        view_of(&gpu_types[t], 1, 100003, 100003, 0);
        view_of(&gpu_types[t], gpu_quick ? 1000 : 20000, 5, 9, 0);
    }
}

/* Sums of groups of a view's rows, and one number for all of each group. */
static void groups_of(struct ctt_dev *d, const struct gpu_type *t,
                      int64_t groups, int64_t rows, int64_t c, int64_t ld)
{
    int64_t n = groups * rows * c, size = ctt_dtype_size(t->type);
    float *x = ctt_check_floats(n, 9), *value = ctt_check_floats(groups, 10);
    double *sums = ctt_calloc((size_t)groups, sizeof(*sums));
    struct ctt_tensor v = { NULL, t->type, groups, rows, 1, 1, c, ld };

    CHECK_OK(ctt_dev_alloc(d, "test", groups * rows * ld * size, &v.data));
    CHECK_OK(ctt_dev_put(d, x, &v));
    CHECK_OK(ctt_dev_group_sums(d, &v, groups, sums));
    gpu_round(t->type, x, n);
    for (int64_t g = 0; g < groups; g++) {
        double want = 0;
        for (int64_t i = 0; i < rows * c; i++)
            want += (double)x[g * rows * c + i];
        CU_ASSERT_DOUBLE_EQUAL(sums[g], want, 1e-9 * (double)(rows * c));
    }
    CHECK_OK(ctt_dev_group_fill(d, value, groups, &v));
    CHECK_OK(ctt_dev_get(d, &v, x));
    gpu_round(t->type, value, groups);
    for (int64_t i = 0; i < n; i++)
        if (x[i] != value[i / (rows * c)]) {
            CU_FAIL("a stretch has another number");
            break;
        }
    ctt_dev_free(d, &v.data);
    ctt_free(x);
    ctt_free(value);
    ctt_free(sums);
}

static void test_groups(void)
{
    struct ctt_dev *cpu = NULL;

    CHECK_OK(ctt_dev_open("cpu", 0, &cpu));
    for (int t = 0; t < GPU_TYPES; t++) {
        groups_of(cpu, &gpu_types[t], 3, 40, 5, 9);
        groups_of(gpu, &gpu_types[t], 1, 1, 1, 1);
        groups_of(gpu, &gpu_types[t], 3, 40, 5, 9);
        groups_of(gpu, &gpu_types[t], 7, 1000, 1, 1);
        groups_of(gpu, &gpu_types[t], 2, 16, 16, 16);
    }
    ctt_dev_close(&cpu);
}

static void test_copy_clear(void)
{
    enum { N = 1000 };
    uint8_t a[N], b[N];
    char *p = gpu_alloc(3 * N);

    for (int i = 0; i < N; i++)
        a[i] = (uint8_t)(i * 7 + 1);
    CHECK_OK(ctt_dev_copy(gpu, CTT_TO_HOST, p, b, N));
    for (int i = 0; i < N; i++)
        CU_ASSERT(b[i] == 0);    /* memory starts cleared */
    CHECK_OK(ctt_dev_copy(gpu, CTT_TO_DEVICE, a, p, N));
    memset(a, 0, sizeof(a));     /* the source may change at once */
    CHECK_OK(ctt_dev_copy(gpu, CTT_WITHIN, p, p + N + 3, N));
    CHECK_OK(ctt_dev_clear(gpu, p + N + 3 + 10, 20));
    CHECK_OK(ctt_dev_copy(gpu, CTT_TO_HOST, p + N + 3, b, N));
    for (int i = 0; i < N; i++)
        CU_ASSERT(b[i] == (i < 10 || i >= 30 ? (uint8_t)(i * 7 + 1) : 0));
    ctt_dev_free(gpu, (void **)&p);
    CU_ASSERT_PTR_NULL(p);
}

/* Numbers of all magnitudes, and non-finite ones. */
static void wide_range(float *x, int64_t n)
{
    static const float odd[] = { 0, -0.0f, 65504, 65520, 7e4f, -1e9f, 3e38f,
                                 6e-8f, 2e-8f, 1e-40f, INFINITY, -INFINITY };

    for (int64_t i = 0; i < n; i++)
        x[i] = ldexpf(x[i], (int)(i % 41) - 30);
    for (size_t i = 0; i < CTT_LEN(odd) && (int64_t)i < n; i++)
        x[i] = odd[i];
}

static void test_cast_sum(void)
{
    static const int64_t sizes[] = { 1, 15, 4096, 70001 };

    for (int t = 0; t < GPU_TYPES; t++)
        for (size_t k = 0; k < CTT_LEN(sizes); k++) {
            enum ctt_dtype type = gpu_types[t].type;
            int64_t n = sizes[k], bytes = n * (int64_t)sizeof(float);
            float *x = ctt_check_floats(n, 3), *y = ctt_check_floats(n, 4),
                  *z = ctt_check_floats(n, 0);
            void *px = gpu_alloc(bytes), *a = gpu_alloc(bytes),
                 *b = gpu_alloc(bytes);

            wide_range(x, n);
            gpu_write(x, n, px);
            CHECK_OK(ctt_dev_cast(gpu, px, type, a, n));
            gpu_round(type, x, n);
            gpu_read(a, type, n, z);
            CU_ASSERT(gpu_same(x, z, n));
            gpu_write(y, n, px);
            CHECK_OK(ctt_dev_cast(gpu, px, type, b, n));
            gpu_round(type, y, n);
            CHECK_OK(ctt_dev_sum(gpu, type, a, b, n));
            gpu_read(b, type, n, z);
            for (int64_t i = 0; i < n; i++)
                y[i] += x[i];
            gpu_round(type, y, n);
            CU_ASSERT(gpu_same(y, z, n));
            ctt_dev_free(gpu, &px);
            ctt_dev_free(gpu, &a);
            ctt_dev_free(gpu, &b);
            ctt_free(x);
            ctt_free(y);
            ctt_free(z);
        }
}

/* ---- no memory ---- */

static void test_no_memory(void)
{
    int64_t room = ctt_dev_room(gpu), much = (int64_t)1 << 48;
    void *p = NULL;

    CU_ASSERT(!ctt_dev_shared(gpu) && ctt_dev_shared(host));
    CU_ASSERT(ctt_dev_has("cuda", CTT_DEV_OWN_MEMORY));
    CU_ASSERT(room > 0 && room < much);
    CU_ASSERT_EQUAL(ctt_dev_alloc(gpu, "values", much, &p), CTT_ENOMEM);
    CU_ASSERT_PTR_NULL(p);
    CU_ASSERT(strstr(ctt_errmsg(), "values") != NULL);
    CU_ASSERT(strstr(ctt_errmsg(), "free") != NULL);
    CU_ASSERT(strchr(ctt_errmsg(), '\n') == NULL);
    p = gpu_alloc(1 << 20);    /* the device still works */
    CHECK_OK(ctt_dev_clear(gpu, p, 1 << 20));
    CHECK_OK(ctt_dev_sync(gpu));
    ctt_dev_free(gpu, &p);
}

/* Opens another device, with each of its allocations failing in turn. */
static int open_and_run(void)
{
    static const float x[64] = { 1, 2, 3 };
    struct ctt_dev *d = NULL;
    struct ctt_tensor t;
    float y[64];
    void *p = NULL;
    int rc = 0;

    CTT_TRY(ctt_dev_open("cuda", 0, &d));
    CTT_TRY(ctt_dev_alloc(d, "a test", sizeof(x), &p));
    t = gpu_row(p, CTT_F32, 64);
    CTT_TRY(ctt_dev_put(d, x, &t));
    CTT_TRY(ctt_dev_get(d, &t, y));
    CU_ASSERT(gpu_same(x, y, 64));
out:
    if (d)
        ctt_dev_free(d, &p);
    ctt_dev_close(&d);
    return rc;
}

static void test_failing_allocations(void)
{
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM;

    for (long k = 1; rc == CTT_ENOMEM && k < 500; k++) {
        ctt_fail_alloc(k);
        rc = open_and_run();
        ctt_fail_alloc(0);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CU_ASSERT_EQUAL(rc, 0);
}

static CU_TestInfo tests[] = {
    { "put and get", test_put_get },
    { "groups", test_groups },
    { "copy and clear", test_copy_clear },
    { "cast and sum", test_cast_sum },
    { "no memory", test_no_memory },
    { "failing allocations", test_failing_allocations },
    CU_TEST_INFO_NULL
};

int main(int argc, char **argv)
{
    CU_SuiteInfo suites[] = {
        { .pName = "gpu memory", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return gpu_main(suites, argc, argv);
}
