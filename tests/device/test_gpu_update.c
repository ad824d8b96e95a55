/* SPDX-License-Identifier: Apache-2.0
 * test_gpu_update.c: the flat block of weights on the device "cuda": the size
 * of its gradient, and updates. */
#include "tests/lib/gpu.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

enum { WEIGHTS = 16 * 9001, SHARED = 16 * 1000, CODES = 200 };

/* Tensors with shared values: a large one and a small one. */
static const struct ctt_stretch shared[] = {
    { 16 * 5, SHARED }, { 16 * 4000, 77 }
};

struct flat {
    float   *w, *dw, *m, *v;    /* on the host */
    uint8_t *how, *keep, *share;
    struct ctt_flat here, there;
};

static void *sent(const void *p, int64_t bytes)
{
    void *q = p ? gpu_alloc(bytes) : NULL;

    if (q)
        CHECK_OK(ctt_dev_copy(gpu, CTT_TO_DEVICE, p, q, bytes));
    return q;
}

/* Codes for the weights of a tensor that are not pruned. */
static void share_out(struct flat *f, const struct ctt_stretch *r)
{
    for (int64_t i = r->at; i < r->at + r->count; i++)
        if (!f->keep || f->keep[i])
            f->share[i] = (uint8_t)(1 + ctt_random(5, (uint64_t)i) % CODES);
}

/* Some weights are fixed, but none that is shared. */
static void choose_how(struct flat *f)
{
    for (int64_t i = 0; i < WEIGHTS / 16; i++)
        f->how[i] = (uint8_t)(ctt_random(8, (uint64_t)i) % 3);
    for (size_t k = 0; k < CTT_LEN(shared); k++)
        memset(f->how + shared[k].at / 16, CTT_DECAYS,
               (size_t)(shared[k].count + 15) / 16);
}

static void flat_open(struct flat *f, int pruned, int adam)
{
    int64_t n = WEIGHTS, bytes = n * (int64_t)sizeof(float);

    f->w = ctt_check_floats(n, 1);
    f->dw = ctt_check_floats(n, 2);
    f->m = ctt_check_floats(n, 3);
    f->v = adam ? ctt_check_floats(n, 4) : NULL;
    f->how = (uint8_t *)ctt_check_floats(n / 64, 0);
    f->keep = pruned ? (uint8_t *)ctt_check_floats(n / 4, 0) : NULL;
    f->share = ctt_calloc((size_t)n, 1);
    choose_how(f);
    for (int64_t i = 0; i < n; i++) {
        if (f->v)
            f->v[i] *= f->v[i];
        if (f->keep)
            f->keep[i] = ctt_random(9, (uint64_t)i) % 4 > 0;
        if (f->keep && !f->keep[i])
            f->w[i] = f->m[i] = 0;
        if (f->how[i / 16] == CTT_FIXED)
            f->dw[i] = i % 2 ? NAN : 1e30f;    /* never read */
    }
    for (size_t k = 0; k < CTT_LEN(shared); k++)
        share_out(f, &shared[k]);
    f->here = (struct ctt_flat){ n, f->w, f->dw, f->m, f->v, f->how,
                                 { f->keep, f->share }, shared,
                                 CTT_LEN(shared) };
    f->there = (struct ctt_flat){ n, sent(f->w, bytes), sent(f->dw, bytes),
        sent(f->m, bytes), sent(f->v, bytes), sent(f->how, n / 16),
        { sent(f->keep, n), sent(f->share, n) }, shared, CTT_LEN(shared) };
}

static void flat_close(struct flat *f)
{
    void *there[] = { f->there.w, f->there.dw, f->there.m, f->there.v,
                      (void *)f->there.how, f->there.constraint.keep,
                      f->there.constraint.share };
    void *here[] = { f->w, f->dw, f->m, f->v, f->how, f->keep, f->share };

    for (size_t i = 0; i < CTT_LEN(here); i++) {
        ctt_dev_free(gpu, &there[i]);
        ctt_free(here[i]);
    }
}

/* Trained numbers are close, all others unchanged. */
static void flat_compare(const struct flat *f, const float *want,
                         const float *there, double tol)
{
    float *got = ctt_check_floats(WEIGHTS, 0);

    gpu_read(there, CTT_F32, WEIGHTS, got);
    for (int64_t i = 0; i < WEIGHTS; i += 16) {
        int fixed = f->how[i / 16] == CTT_FIXED;
        CU_ASSERT(!fixed || gpu_same(got + i, want + i, 16));
        if (!fixed)
            CHECK_CLOSE(got + i, want + i, 16, tol);
    }
    ctt_free(got);
}

static void check_constrain(struct flat *f)
{
    int64_t bytes = WEIGHTS * (int64_t)sizeof(float);
    double want = 0, got[3] = { 0, 0, 0 };
    float *raw = ctt_check_floats(WEIGHTS, 0);

    memcpy(raw, f->dw, (size_t)bytes);
    CHECK_OK(ctt_dev_constrain(host, &f->here, &want));
    CHECK_OK(ctt_dev_constrain(gpu, &f->there, &got[0]));
    flat_compare(f, f->dw, f->there.dw, 1e-6);    /* pruned: zero */
    for (int i = 1; i < 3; i++) {
        CHECK_OK(ctt_dev_copy(gpu, CTT_TO_DEVICE, raw, f->there.dw, bytes));
        CHECK_OK(ctt_dev_constrain(gpu, &f->there, &got[i]));
    }
    CU_ASSERT(fabs(got[0] - want) <= 1e-6 * want);
    CU_ASSERT(got[0] == got[1] && got[1] == got[2]);
    CHECK_OK(ctt_dev_copy(gpu, CTT_TO_DEVICE, f->dw, f->there.dw, bytes));
    ctt_free(raw);
}

static const struct ctt_rule rules[] = {
    { .is_adam = 0, .scale = 0.5f,
      .sgd = { .lr = 0.1f, .momentum = 0.9f, .decay = 0.01f } },
    { .is_adam = 0, .scale = 0.5f,
      .sgd = { .lr = 0.1f, .momentum = 0.9f, .decay = 0.01f, .ahead = 1 } },
    { .is_adam = 1, .scale = 1,
      .adam = { .lr = 0.01f, .b1 = 0.9f, .b2 = 0.999f, .add = 0.001f,
                .eps = 1e-8f, .c1 = 2, .c2 = 3, .l2 = 0.02f } },
    { .is_adam = 1, .scale = 0x1p-12f,
      .adam = { .lr = 0.01f, .b1 = 0.9f, .b2 = 0.999f, .add = 0.001f,
                .eps = 1e-8f, .c1 = 2, .c2 = 3, .decay = 0.05f } },
    { .is_adam = 1, .scale = 1,
      .adam = { .lr = 0.01f, .b2 = 1, .add = 1, .eps = 1e-8f, .c1 = 1,
                .c2 = 1, .l2 = 0.02f } },
};

static void test_flat(void)
{
    for (size_t k = 0; k < CTT_LEN(rules); k++)
        for (int pruned = 0; pruned < 2; pruned++) {
            struct flat f;
            flat_open(&f, pruned, rules[k].is_adam);
            check_constrain(&f);
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

/* Fixed weights are averaged too. */
static void test_average(void)
{
    float *want = ctt_check_floats(WEIGHTS, 12);
    float *got = ctt_check_floats(WEIGHTS, 0);
    struct flat f;
    float *there;

    flat_open(&f, 1, 0);
    there = sent(want, WEIGHTS * (int64_t)sizeof(*want));
    for (int i = 0; i < 3; i++) {
        float share = i == 2 ? 0.001f : 0.5f;
        CHECK_OK(ctt_dev_average(host, f.w, share, want, WEIGHTS));
        CHECK_OK(ctt_dev_average(gpu, f.there.w, share, there, WEIGHTS));
    }
    gpu_read(there, CTT_F32, WEIGHTS, got);
    CHECK_CLOSE(got, want, WEIGHTS, 1e-6);
    ctt_dev_free(gpu, (void **)&there);
    ctt_free(want);
    ctt_free(got);
    flat_close(&f);
}

/* One number that is not finite makes the sum so. */
static void test_not_finite(void)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    struct flat f;

    flat_open(&f, 1, 0);
    for (size_t k = 0; k < CTT_LEN(bad); k++)
        for (int64_t i = 16 * 77; i < WEIGHTS; i += 16 * 2999) {
            double sum = 0;
            int64_t at = i;

            if (!ctt_check_tries())
                continue;
            while (f.how[at / 16] == CTT_FIXED || !f.keep[at])
                at++;
            gpu_write(&bad[k], 1, f.there.dw + at);
            CHECK_OK(ctt_dev_constrain(gpu, &f.there, &sum));
            CU_ASSERT(!isfinite(sum));
            CHECK_OK(ctt_dev_copy(gpu, CTT_TO_DEVICE, f.dw, f.there.dw,
                                  WEIGHTS * (int64_t)sizeof(float)));
            CHECK_OK(ctt_dev_constrain(gpu, &f.there, &sum));
            CU_ASSERT(isfinite(sum));
        }
    flat_close(&f);
}

static CU_TestInfo tests[] = {
    { "flat block", test_flat },
    { "average", test_average },
    { "not finite", test_not_finite },
    CU_TEST_INFO_NULL
};

int main(int argc, char **argv)
{
    CU_SuiteInfo suites[] = {
        { .pName = "gpu update", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return gpu_main(suites, argc, argv);
}
