/* SPDX-License-Identifier: Apache-2.0
 * test_sparse_cell.c: convs whose weights are mostly zeros with the LSTM that
 * reads them and the conv that is added to them: for each instruction set that
 * is here the bits of plain C for quantised values, its numbers for floats; and
 * what the device makes of them. */
#include "tests/lib/allocs.h"
#include "tests/lib/check.h"
#include "tests/lib/fused.h"
#include "device/cpu/conv/providers.h"
#include "device/cpu/conv/sparse/sparse.h"
#include "device/cpu/features.h"
#include "base/random.h"

#include <stdio.h>
#include <string.h>

static struct ctt_dev *ref, *cpu;

static const struct ctt_fused_case cases[] = {
    { "c=8 h=12 w=12", "c=48 h=12 w=12", "kernel=5 pad=2", "kernel=5 pad=2",
      48 },
    { "c=8 h=9 w=7", "c=5 h=9 w=7", "kernel=5 pad=2", "kernel=5 pad=2", 11 },
    { "c=3 h=6 w=6", "c=1 h=6 w=6", "kernel=1", "kernel=1 bias=0", 6 },
    { "c=9", "c=7", "bias=0", "", 17 },
    { "c=33 h=9 w=20", "c=30 h=9 w=20", "kernel=3 pad=1 stride=2",
      "kernel=3 pad=1 stride=2", 16 },
    { "c=12 h=9 w=9", "c=7 h=9 w=9", "kernel=3 pad=1 stride=2",
      "kernel=3 pad=1 stride=2", 16 },    /* planes by tap */
    { "c=4 d=3 h=5 w=6", "c=6 d=3 h=5 w=6", "kernel=3 pad=1 stride=1,2,1",
      "kernel=3 pad=1 stride=1,2,1", 5 },
    { "c=6 h=8 w=9", "c=2 h=8 w=9", "kernel=3", "kernel=3", 33 },
    { "c=8 h=9 w=32", "c=20 h=9 w=32", "kernel=5 pad=2", "kernel=5 pad=2",
      20 },
    { "c=8 h=9 w=16", "c=4 h=9 w=16", "kernel=3 pad=1", "kernel=3 pad=1", 16 },
};

/* A case that pays if any does. */
static const struct ctt_fused_case large = {
    "c=64 h=20 w=24", "c=64 h=20 w=24", "kernel=3 pad=1", "kernel=3 pad=1", 32
};

enum { PAIR = CTT_FUSED_PAIR, LSTM = CTT_FUSED_LSTM, VIEW = CTT_FUSED_VIEW };

/* Blocks of four input channels, most of which are 0; one output channel in
 * seven is. */
static void prune(const struct ctt_tensor *w, double share, uint64_t seed)
{
    int64_t each = ctt_volume(w) / w->n, blocks = (w->c + 3) / 4;

    for (int64_t i = 0; i < ctt_volume(w); i++) {
        int64_t unit = i / w->c * blocks + i % w->c / 4;
        if (ctt_random(seed, (uint64_t)unit) * 0x1p-32 < share ||
            i / each % 7 == 3)
            ((float *)w->data)[i] = 0;
    }
}

/* Small, so that the gates do not saturate. */
static void fill(const struct ctt_tensor *w)
{
    float *x = w->data;

    ctt_check_fill(x, ctt_volume(w), 99);
    for (int64_t i = 0; i < ctt_volume(w); i++)
        x[i] *= 0.06f;
}

/* Values of a step, as bytes or as the floats that these stand for. */
static void quantise(struct ctt_fused *r, struct ctt_tensor *x, int zero,
                     int as_bytes)
{
    int64_t n = ctt_rows(x) * x->ld;
    uint8_t *b = ctt_calloc((size_t)n, 1);
    float *f = x->data;

    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    r->block[r->blocks++] = b;
    x->scale = 1.0f / 64;
    x->zero = zero;
    for (int64_t i = 0; i < n; i++) {
        b[i] = (uint8_t)(ctt_random((uint64_t)zero, (uint64_t)i) >> 24);
        f[i] = (float)(b[i] - zero) * x->scale;
    }
    if (!as_bytes)
        return;
    x->dtype = CTT_U8;
    x->data = b;
}

/* bytes: 1: of the conv, 2: of the pair. */
struct setting { int is_int8, flags, bytes, samples; double share; };

static void open_try(struct ctt_fused *r, const struct ctt_fused_case *a,
                     struct setting t)
{
    struct ctt_call *c = &r->call;

    ctt_fused_open(r, a, t.samples, t.flags | LSTM);
    if (!(t.flags & PAIR))    /* nothing is added */
        memset(c->out.data, 0, (size_t)(ctt_rows(&c->out) * c->out.ld * 4));
    prune(&c->w[0].t, t.share, 5);
    if (t.is_int8)
        quantise(r, &c->in[0], 128, t.bytes & 1);
    if (!(t.flags & PAIR))
        return;
    prune(&c->pair.w[0].t, t.share, 6);
    if (t.is_int8)
        quantise(r, &c->pair.in, 3, t.bytes >> 1);
}

static int is_right(const struct ctt_fused *want, const struct ctt_fused *got)
{
    double most = ctt_call_is_int8(&want->call) ? 0 : 1e-5;

    return ctt_fused_agree(&want->call.lstm.h, &got->call.lstm.h, most) &&
           (!got->call.lstm.c.data ||
            ctt_fused_agree(&want->call.lstm.c, &got->call.lstm.c, most));
}

/* ---- kernels ---- */

static const struct ctt_sparse_isa *const isas[] = {
    &ctt_sparse_vnni, &ctt_sparse_int16, &ctt_sparse_avx512, &ctt_sparse_avx2,
};

/* The lists of the conv and of its pair. */
static void run_isa(const struct ctt_sparse_isa *isa, struct ctt_fused *r)
{
    struct ctt_call pair = ctt_call_pair(&r->call);
    struct ctt_sparse_weights w[2] = { { NULL }, { NULL } };
    struct ctt_sparse_shape s[2];

    for (int i = 0; i < (pair.node ? 2 : 1); i++) {
        const struct ctt_call *c = i ? &pair : &r->call;
        s[i] = ctt_sparse_plan(isa, c);
        CHECK_OK(ctt_sparse_pack(isa, cpu, c, &s[i], &w[i]));
    }
    CU_ASSERT(!pair.node || ctt_sparse_same_layout(&s[0], &s[1]));
    CHECK_OK(ctt_sparse_cell_run(isa, cpu, &r->call,
             (const struct ctt_sparse_shape *[]){ &s[0], &s[1] },
             (const struct ctt_sparse_weights *[]){ &w[0], &w[1] }));
    ctt_free(w[0].room);
    ctt_free(w[1].room);
}

static void check_isa(const struct ctt_sparse_isa *isa,
                      const struct ctt_fused_case *a, struct setting t,
                      const struct ctt_fused *want)
{
    struct ctt_fused got;

    open_try(&got, a, t);
    for (int again = 0; again < 2; again++) {
        run_isa(isa, &got);
        CU_ASSERT(is_right(want, &got));
        got.call.lstm.c.data = NULL;    /* not wanted */
    }
    if (!is_right(want, &got))
        printf("\n    %s: %s and %s, %s, flags %d, bytes %d, n %d, pruned %g",
               isa->name, a->a, a->b, a->conv, t.flags, t.bytes, t.samples,
               t.share);
    ctt_fused_close(&got, cpu);
}

static void check_case(const struct ctt_fused_case *a, struct setting t)
{
    struct ctt_fused want;

    open_try(&want, a, t);
    CHECK_OK(ctt_dev_run(ref, &want.call, CTT_FWD));
    for (size_t i = 0; i < CTT_LEN(isas); i++)
        if (isas[i]->supported() && isas[i]->is_int8 == t.is_int8)
            check_isa(isas[i], a, t, &want);
    ctt_fused_close(&want, ref);
}

static void test_kernels(void)
{
    static const double shares[] = { 0, 0.6, 0.9, 1 };

    for (size_t i = 0; i < CTT_LEN(cases); i++)
        for (int k = 0; k < 32; k++) {
            struct setting t = {
                k % 2, (k & 2 ? PAIR : 0) | (k & 4 ? VIEW : 0),
                (k >> 3) % 4, 1 + (k + (int)i) % 3, shares[(k + k / 8) % 4]
            };
            if (ctt_check_tries())
                check_case(&cases[i], t);
        }
}

/* ---- the device ---- */

static int is_fused(const struct ctt_fused *r)
{
    const char *impl = ctt_dev_impl(cpu, r->cache[0], CTT_FWD);

    return strncmp(impl, "sparse:", 7) == 0 && strstr(impl, "+lstm") != NULL;
}

/* The same memory, with and without zeros, in one call and apart. */
static void check_device(int is_int8)
{
    struct ctt_fused want, got;

    for (int k = 0; k < 8; k++) {
        struct setting t = { is_int8, PAIR, k % 4, 1 + k / 4,
                             k % 2 ? 0.98 : 0 };
        open_try(&want, &large, t);
        open_try(&got, &large, t);
        CHECK_OK(ctt_dev_run(ref, &want.call, CTT_FWD));
        CHECK_OK(ctt_dev_run(cpu, &got.call, CTT_FWD));
        CU_ASSERT(is_right(&want, &got));
        CU_ASSERT_EQUAL(is_fused(&got), ctt_has_avx2() && k % 2);
        ctt_fused_close(&want, ref);
        ctt_fused_close(&got, cpu);
    }
}

static void test_device(void)
{
    check_device(0);
    check_device(1);
}

/* Changes of weights, of sizes and of what is fused, with one cache. */
static void check_changes(int is_int8)
{
    struct setting t = { is_int8, PAIR, 0, 2, 0.98 };
    struct ctt_fused want, got;

    open_try(&want, &large, t);
    open_try(&got, &large, t);
    for (int k = 0; k < 12; k++) {
        for (struct ctt_fused *r = &want; r; r = r == &want ? &got : NULL) {
            struct ctt_call *c = &r->call;
            fill(&c->w[0].t);
            prune(&c->w[0].t, k / 3 % 2 ? 0 : 0.97, (uint64_t)k / 3);
            c->stamp = (uint64_t)k / 3 + 2;
            c->in[0].n = c->out.n = c->pair.in.n = c->lstm.old.n =
                c->lstm.h.n = c->lstm.c.n = 1 + k % 2;
            c->lstm.node = k % 3 == 2 ? NULL : &r->g->node[5];
        }
        CHECK_OK(ctt_dev_run(ref, &want.call, CTT_FWD));
        CHECK_OK(ctt_dev_run(cpu, &got.call, CTT_FWD));
        CU_ASSERT(want.call.lstm.node ? is_right(&want, &got)
                  : ctt_fused_agree(&want.call.out, &got.call.out,
                                    is_int8 ? 0 : 1e-5));
        CU_ASSERT_EQUAL(is_fused(&got), ctt_has_avx2() && k / 3 % 2 == 0 &&
                                        k % 3 < 2);
    }
    ctt_fused_close(&want, ref);
    ctt_fused_close(&got, cpu);
}

static void test_changes(void)
{
    check_changes(0);
    check_changes(1);
}

/* No bit depends on the number of threads. */
static void test_threads(void)
{
    struct ctt_dev *many = NULL;
    struct ctt_fused want, got;

    CHECK_OK(ctt_dev_open("cpu", 3, &many));
    for (int k = 0; k < 2; k++) {
        struct setting t = { k, PAIR, 3, 2, 0.95 };
        open_try(&want, &large, t);
        open_try(&got, &large, t);
        CHECK_OK(ctt_dev_run(cpu, &want.call, CTT_FWD));
        CHECK_OK(ctt_dev_run(many, &got.call, CTT_FWD));
        CU_ASSERT(ctt_fused_agree(&want.call.lstm.h, &got.call.lstm.h, 0));
        CU_ASSERT(ctt_fused_agree(&want.call.lstm.c, &got.call.lstm.c, 0));
        ctt_fused_close(&want, cpu);
        ctt_fused_close(&got, many);
    }
    ctt_dev_close(&many);
}

/* A call with a cache of its own, in which nothing is allocated again. */
static int one_call(void *arg)
{
    struct ctt_fused *r = arg;
    int rc = ctt_dev_run(cpu, &r->call, CTT_FWD);
    long allocs = ctt_alloc_calls();

    if (rc == 0) {
        rc = ctt_dev_run(cpu, &r->call, CTT_FWD);
        CU_ASSERT_EQUAL(ctt_alloc_calls(), allocs);
    }
    for (int k = 0; k < 2; k++)
        ctt_dev_forget(cpu, &r->cache[k]);
    return rc;
}

static void test_memory(void)
{
    for (int k = 0; k < 2; k++) {
        struct setting t = { k, PAIR, 3, 2, 0.98 };
        struct ctt_fused r;

        open_try(&r, &large, t);
        CHECK_OK(one_call(&r));
        fail_allocs(one_call, &r, 3);
        ctt_fused_close(&r, cpu);
    }
}

static CU_TestInfo tests[] = {
    { "kernels", test_kernels }, { "device", test_device },
    { "changes", test_changes }, { "threads", test_threads },
    { "memory", test_memory },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "sparse cell", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (ctt_dev_open("ref", 1, &ref) < 0 || ctt_dev_open("cpu", 2, &cpu) < 0)
        return 99;
    rc = ctt_check_main(suites);
    ctt_dev_close(&ref);
    ctt_dev_close(&cpu);
    return rc;
}
