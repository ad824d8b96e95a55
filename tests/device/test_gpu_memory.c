/* SPDX-License-Identifier: Apache-2.0
 * test_gpu_memory.c: the memory of the device "cuda": numbers in and out, sums,
 * updates of the flat block, work that is replayed, lanes, what is refused. */
#include "tests/lib/gpu.h"
#include "net/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void *alloc(int64_t bytes)
{
    void *p = NULL;

    CHECK_OK(ctt_dev_alloc(gpu, "a test", bytes, &p));
    return p;
}

static float *floats(int64_t n, uint64_t key)
{
    float *p = ctt_calloc((size_t)n, sizeof(float));

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    if (key)
        ctt_check_fill(p, n, key);
    return p;
}

static struct ctt_tensor row(void *p, enum ctt_dtype type, int64_t n)
{
    return (struct ctt_tensor){ p, type, 1, 1, 1, 1, n, n };
}

static void down(const void *p, enum ctt_dtype type, int64_t n, float *to)
{
    struct ctt_tensor t = row((void *)p, type, n);

    CHECK_OK(ctt_dev_get(gpu, &t, to));
}

static void up(const float *from, int64_t n, void *p)
{
    CHECK_OK(ctt_dev_copy(gpu, CTT_TO_DEVICE, from, p,
                          n * (int64_t)sizeof(float)));
}

/* ---- in and out ---- */

static int same(const float *a, const float *b, int64_t n)
{
    return memcmp(a, b, (size_t)n * sizeof(float)) == 0;
}

/* Rows of a view: what lies between them stays. */
static void view_of(const struct gpu_type *t, int64_t rows, int64_t c,
                    int64_t ld, int64_t off)
{
    int64_t size = ctt_dtype_size(t->type), n = rows * c, all = rows * ld;
    float *x = floats(n, 7), *y = floats(n, 0), *z = floats(all + off, 0);
    char *p = alloc((all + off) * size);
    struct ctt_tensor v = { p + off * size, t->type, 1, 1, rows, 1, c, ld };

    CHECK_OK(ctt_dev_put(gpu, x, &v));
    gpu_round(t->type, x, n);
    CHECK_OK(ctt_dev_get(gpu, &v, y));
    CU_ASSERT(same(x, y, n));
    down(p, t->type, all + off, z);
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

/* Sums of stretches of a view's rows, and stretches set to a number each. */
static void groups_of(struct ctt_dev *d, const struct gpu_type *t,
                      int64_t groups, int64_t rows, int64_t c, int64_t ld)
{
    int64_t n = groups * rows * c, size = ctt_dtype_size(t->type);
    float *x = floats(n, 9), *value = floats(groups, 10);
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
    char *p = alloc(3 * N);

    for (int i = 0; i < N; i++)
        a[i] = (uint8_t)(i * 7 + 1);
    CHECK_OK(ctt_dev_copy(gpu, CTT_TO_HOST, p, b, N));
    for (int i = 0; i < N; i++)
        CU_ASSERT(b[i] == 0);    /* memory starts cleared */
    CHECK_OK(ctt_dev_copy(gpu, CTT_TO_DEVICE, a, p, N));
    memset(a, 0, sizeof(a));     /* it may be changed at once */
    CHECK_OK(ctt_dev_copy(gpu, CTT_WITHIN, p, p + N + 3, N));
    CHECK_OK(ctt_dev_clear(gpu, p + N + 3 + 10, 20));
    CHECK_OK(ctt_dev_copy(gpu, CTT_TO_HOST, p + N + 3, b, N));
    for (int i = 0; i < N; i++)
        CU_ASSERT(b[i] == (i < 10 || i >= 30 ? (uint8_t)(i * 7 + 1) : 0));
    ctt_dev_free(gpu, (void **)&p);
    CU_ASSERT_PTR_NULL(p);
}

/* Numbers of all sizes, and those that are not finite. */
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
            float *x = floats(n, 3), *y = floats(n, 4), *z = floats(n, 0);
            void *px = alloc(bytes), *a = alloc(bytes), *b = alloc(bytes);

            wide_range(x, n);
            up(x, n, px);
            CHECK_OK(ctt_dev_cast(gpu, px, type, a, n));
            gpu_round(type, x, n);
            down(a, type, n, z);
            CU_ASSERT(same(x, z, n));
            up(y, n, px);
            CHECK_OK(ctt_dev_cast(gpu, px, type, b, n));
            gpu_round(type, y, n);
            CHECK_OK(ctt_dev_sum(gpu, type, a, b, n));
            down(b, type, n, z);
            for (int64_t i = 0; i < n; i++)
                y[i] += x[i];
            gpu_round(type, y, n);
            CU_ASSERT(same(y, z, n));
            ctt_dev_free(gpu, &px);
            ctt_dev_free(gpu, &a);
            ctt_dev_free(gpu, &b);
            ctt_free(x);
            ctt_free(y);
            ctt_free(z);
        }
}

/* ---- the flat block ---- */

enum { WEIGHTS = 16 * 9001 };

struct flat {
    float   *w, *dw, *m, *v;    /* on the host */
    uint8_t *how, *keep;
    struct ctt_flat here, there;
};

static void *sent(const void *p, int64_t bytes)
{
    void *q = p ? alloc(bytes) : NULL;

    if (q)
        CHECK_OK(ctt_dev_copy(gpu, CTT_TO_DEVICE, p, q, bytes));
    return q;
}

static void flat_open(struct flat *f, int pruned, int adam)
{
    int64_t n = WEIGHTS, bytes = n * (int64_t)sizeof(float);

    f->w = floats(n, 1);
    f->dw = floats(n, 2);
    f->m = floats(n, 3);
    f->v = adam ? floats(n, 4) : NULL;
    f->how = (uint8_t *)floats(n / 64, 0);
    f->keep = pruned ? (uint8_t *)floats(n / 4, 0) : NULL;
    for (int64_t i = 0; i < n / 16; i++)
        f->how[i] = (uint8_t)(ctt_random(8, (uint64_t)i) % 3);
    for (int64_t i = 0; i < n; i++) {
        if (f->v)
            f->v[i] *= f->v[i];
        if (f->keep)
            f->keep[i] = ctt_random(9, (uint64_t)i) % 4 > 0;
        if (f->keep && !f->keep[i])
            f->w[i] = f->m[i] = 0;
        if (f->how[i / 16] == CTT_FIXED)
            f->dw[i] = i % 2 ? NAN : 1e30f;    /* nobody looks at it */
    }
    f->here = (struct ctt_flat){ n, f->w, f->dw, f->m, f->v, f->how, f->keep };
    f->there = (struct ctt_flat){ n, sent(f->w, bytes), sent(f->dw, bytes),
        sent(f->m, bytes), sent(f->v, bytes), sent(f->how, n / 16),
        sent(f->keep, n) };
}

static void flat_close(struct flat *f)
{
    void *there[] = { f->there.w, f->there.dw, f->there.m, f->there.v,
                      (void *)f->there.how, (void *)f->there.keep };
    void *here[] = { f->w, f->dw, f->m, f->v, f->how, f->keep };

    for (size_t i = 0; i < CTT_LEN(here); i++) {
        ctt_dev_free(gpu, &there[i]);
        ctt_free(here[i]);
    }
}

/* Trained numbers are close, the others are what they were. */
static void flat_compare(const struct flat *f, const float *want,
                         const float *there, double tol)
{
    float *got = floats(WEIGHTS, 0);

    down(there, CTT_F32, WEIGHTS, got);
    for (int64_t i = 0; i < WEIGHTS; i += 16) {
        int fixed = f->how[i / 16] == CTT_FIXED;
        CU_ASSERT(!fixed || same(got + i, want + i, 16));
        if (!fixed)
            CHECK_CLOSE(got + i, want + i, 16, tol);
    }
    ctt_free(got);
}

static void check_square_sum(struct flat *f)
{
    double want = 0, got[3] = { 0, 0, 0 };

    CHECK_OK(ctt_dev_square_sum(host, &f->here, &want));
    for (int i = 0; i < 3; i++)
        CHECK_OK(ctt_dev_square_sum(gpu, &f->there, &got[i]));
    CU_ASSERT(fabs(got[0] - want) <= 1e-6 * want);
    CU_ASSERT(got[0] == got[1] && got[1] == got[2]);
    flat_compare(f, f->dw, f->there.dw, 0);    /* pruned: zero */
}

static const struct ctt_rule rules[] = {
    { .is_adam = 0, .sgd = { 0.1f, 0.9f, 0.01f }, .scale = 0.5f },
    { .is_adam = 1, .adam = { 0.01f, 0.9f, 0.999f, 1e-8f, 2, 3, 0.02f, 0 },
      .scale = 1 },
    { .is_adam = 1, .adam = { 0.01f, 0.9f, 0.999f, 1e-8f, 2, 3, 0, 0.05f },
      .scale = 0x1p-12f },
};

static void test_flat(void)
{
    for (size_t k = 0; k < CTT_LEN(rules); k++)
        for (int pruned = 0; pruned < 2; pruned++) {
            struct flat f;
            flat_open(&f, pruned, rules[k].is_adam);
            check_square_sum(&f);
            for (int i = 0; i < 2; i++) {
                CHECK_OK(ctt_dev_update(host, &f.here, &rules[k]));
                CHECK_OK(ctt_dev_update(gpu, &f.there, &rules[k]));
            }
            flat_compare(&f, f.w, f.there.w, 1e-6);
            flat_compare(&f, f.m, f.there.m, 1e-6);
            if (f.v)
                flat_compare(&f, f.v, f.there.v, 1e-6);
            flat_close(&f);
        }
}

/* One number that is not finite shows in the sum. */
static void test_not_finite(void)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    struct flat f;

    flat_open(&f, 1, 0);
    for (size_t k = 0; k < CTT_LEN(bad); k++)
        for (int64_t i = 16 * 77; i < WEIGHTS; i += 16 * 2999) {
            double sum = 0;
            int64_t at = i;
            while (f.how[at / 16] == CTT_FIXED || !f.keep[at])
                at++;
            up(&bad[k], 1, f.there.dw + at);
            CHECK_OK(ctt_dev_square_sum(gpu, &f.there, &sum));
            CU_ASSERT(!isfinite(sum));
            up(&f.dw[at], 1, f.there.dw + at);
            CHECK_OK(ctt_dev_square_sum(gpu, &f.there, &sum));
            CU_ASSERT(isfinite(sum));
        }
    flat_close(&f);
}

/* ---- work that is the same each time ---- */

static const struct ctt_case conv_case = {
    "c=8 h=9 w=7", "c=6 h=9 w=7", "conv y in=a plus=b out=6 kernel=3 pad=1", 0
};
static const struct ctt_case drop_case = {
    "c=70 h=3", NULL, "dropout y in=a rate=0.4", 0
};

/* Some rounds of the same work; other numbers each time, and other chance. */
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

/* What fails while it is recorded is passed on, and what follows works. */
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

/* A chain that goes through all lanes: each link adds the one before to
 * itself.  Without waiting it would read what is not there yet. */
static void test_lanes(void)
{
    int64_t n = gpu_quick ? BIG / 64 : BIG;
    float *x = floats(n, 5), *y = floats(n, 0);
    void *p[LANES];

    ctt_dev_streams(gpu, LANES);
    CU_ASSERT_EQUAL(ctt_dev_lanes(gpu), LANES);
    for (int i = 0; i < LANES; i++)
        p[i] = alloc(n * (int64_t)sizeof(float));
    up(x, n, p[0]);
    for (int round = 0; round < 5; round++) {
        for (int i = 1; i < LANES; i++) {
            CHECK_OK(ctt_dev_wait(gpu, i, i - 1));
            ctt_dev_lane(gpu, i);
            CHECK_OK(ctt_dev_sum(gpu, CTT_F32, p[i - 1], p[i], n));
        }
        CHECK_OK(ctt_dev_wait(gpu, 0, LANES - 1));
        ctt_dev_lane(gpu, 0);
    }
    down(p[LANES - 1], CTT_F32, n, y);
    for (int64_t i = 0; i < n; i++)
        x[i] *= 35;    /* 5 + 10 + 15 + .. : binomials */
    CHECK_CLOSE(y, x, n, 1e-5);
    for (int i = 0; i < LANES; i++)
        ctt_dev_free(gpu, &p[i]);
    ctt_dev_streams(gpu, 1);
    CU_ASSERT_EQUAL(ctt_dev_lanes(gpu), 1);
    ctt_free(x);
    ctt_free(y);
}

/* ---- uploads ---- */

/* What was begun early arrives, wherever it goes to, and what was not too. */
static void test_prefetch(void)
{
    enum { N = 50000, FRAME = 100 };
    float *x = floats(N, 6), *y = floats(N, 0);
    char *p = alloc(N * (int64_t)sizeof(float));

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
                    struct ctt_tensor r = row(p + i * size, type, FRAME);
                    CHECK_OK(ctt_dev_put(gpu, x + i, &r));
                }
                down(p, type, N, y);
                gpu_round(type, y, N);    /* no change: it is of the type */
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

/* ---- what is refused ---- */

static void test_no_memory(void)
{
    int64_t room = ctt_dev_room(gpu), much = (int64_t)1 << 48;
    void *p = NULL;

    CU_ASSERT(!ctt_dev_shared(gpu) && ctt_dev_shared(host));
    CU_ASSERT(room > 0 && room < much);
    CU_ASSERT_EQUAL(ctt_dev_alloc(gpu, "values", much, &p), CTT_ENOMEM);
    CU_ASSERT_PTR_NULL(p);
    CU_ASSERT(strstr(ctt_errmsg(), "values") != NULL);
    CU_ASSERT(strstr(ctt_errmsg(), "free") != NULL);
    CU_ASSERT(strchr(ctt_errmsg(), '\n') == NULL);
    p = alloc(1 << 20);    /* and the device is as it was */
    CHECK_OK(ctt_dev_clear(gpu, p, 1 << 20));
    CHECK_OK(ctt_dev_sync(gpu));
    ctt_dev_free(gpu, &p);
}

/* Another device beside this one: all it allocates may fail. */
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
    t = row(p, CTT_F32, 64);
    CTT_TRY(ctt_dev_put(d, x, &t));
    CTT_TRY(ctt_dev_get(d, &t, y));
    CU_ASSERT(same(x, y, 64));
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
    { "flat block", test_flat },
    { "not finite", test_not_finite },
    { "replay", test_replay },
    { "a record that fails", test_failed_record },
    { "lanes", test_lanes },
    { "prefetch", test_prefetch },
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
