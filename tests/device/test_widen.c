/* SPDX-License-Identifier: Apache-2.0
 * test_widen.c: kernels on values and gradients of 16 bits: each number is the
 * one that plain C makes in floats of the same rounded inputs, rounded once. */
#include "tests/lib/check.h"
#include "tests/lib/rig.h"
#include "device/dev.h"
#include "base/half.h"

#include <math.h>
#include <string.h>

enum { ALL = RIG_DIN | RIG_DW };

static struct ctt_dev *ref;

/* ---- comparing ---- */

/* How far a device's floats may be from plain C's: a part of the number and of
 * the largest (as in test_ops.c), 0: not at all. */
static int rounded(const struct ctt_tensor *a, const struct ctt_tensor *b,
                   double tol, const char *what, const struct ctt_case *cs)
{
    double unit = a->dtype == CTT_F16 ? 0x1p-11 :
                  a->dtype == CTT_BF16 ? 0x1p-8 : 0, top = 1;

    for (int64_t i = 0; b->data && i < ctt_rows(b) * b->ld; i++)
        if (i % b->ld < b->c)
            top = fmax(top, fabs((double)((float *)b->data)[i]));
    for (int64_t i = 0; a->data && i < ctt_rows(a) * a->ld; i++) {
        float x = ctt_load(a->data, a->dtype, i), y;
        float want = ((float *)b->data)[i];
        if (i >= (ctt_rows(a) - 1) * a->ld + a->c)
            break;    /* behind the last row */
        ctt_store(&y, a->dtype, 0, want);
        if (x == ctt_load(&y, a->dtype, 0))
            continue;
        if (tol > 0 && i % a->ld < a->c &&
            fabs((double)x - want) <= tol * top + unit * fabs((double)want) +
                                      0x1p-25)
            continue;
        printf("\n    %s (%s): %s number %lld: %.9g, expected %.9g", cs->op,
               cs->a, what, (long long)i, (double)x, (double)want);
        return 0;
    }
    return 1;
}

static int starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Ops that only move numbers, where no device may differ. */
static int moves(const struct ctt_case *cs)
{
    return starts(cs->op, "window") || starts(cs->op, "concat") ||
           starts(cs->op, "mix") || strstr(cs->op, "kind=max") != NULL;
}

/* FNV-1a of what a run wrote. */
static uint64_t hash(uint64_t h, const struct ctt_tensor *t)
{
    const unsigned char *p = t->data;
    int64_t n = ((ctt_rows(t) - 1) * t->ld + t->c) * ctt_dtype_size(t->dtype);

    for (int64_t i = 0; p && i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t results(const struct ctt_rig *r)
{
    const struct ctt_call *c = &r->call;
    uint64_t h = hash(hash(UINT64_C(0xcbf29ce484222325), &c->out), &c->also);

    for (int k = 0; k < c->node->nin; k++)
        h = hash(h, &r->whole.din[k]);
    for (int k = 0; k < c->node->nw; k++)
        h = hash(h, &c->dw[k]);
    return h;
}

/* One forward and backward call of floats and one of 16 bits.  What the way
 * back reads is the rounded result. */
static void both(struct ctt_dev *d, struct ctt_rig *want, struct ctt_rig *got,
                 const struct ctt_case *cs)
{
    const struct ctt_call *a = &got->call, *b = &want->call;
    double tol = d->kind == ref->kind || moves(cs) ? 0 : 1e-4;
    int good;

    CHECK_OK(ctt_dev_run(ref, b, CTT_FWD));
    CHECK_OK(ctt_dev_run(d, a, CTT_FWD));
    good = rounded(&a->out, &b->out, tol, "out", cs) &&
           rounded(&a->also, &b->also, tol, "also", cs);
    for (int k = 0; k < a->node->nw; k++)
        good = good && ctt_rig_close_to(&a->w[k].t, &b->w[k].t, 1e-4, "w", cs);
    ctt_rig_take(want, got);
    CHECK_OK(ctt_dev_run(ref, b, CTT_BWD));
    CHECK_OK(ctt_dev_run(d, a, CTT_BWD));
    for (int k = 0; k < a->node->nin; k++)
        good = good && rounded(&got->whole.din[k], &want->whole.din[k], tol,
                               "din", cs);
    for (int k = 0; k < a->node->nw; k++)
        good = good && ctt_rig_close_to(&a->dw[k], &b->dw[k], 1e-4, "dw", cs);
    CU_ASSERT(good);
}

/* Twice: the second call allocates nothing and gives the same bits. */
static void compare(struct ctt_dev *d, const struct ctt_case *cs, int n,
                    int flags, int act)
{
    struct ctt_rig want, got;
    uint64_t first = 0;

    if (!ctt_check_tries())
        return;
    ctt_rig_open(&want, cs, n, flags & ~(RIG_F16 | RIG_BF16), act);
    ctt_rig_open(&got, cs, n, flags, act);
    ctt_rig_take(&want, &got);
    for (int again = 0; again < 2; again++) {
        long calls = ctt_alloc_calls();
        ctt_rig_reset(&want, flags);
        ctt_rig_reset(&got, flags);
        both(d, &want, &got, cs);
        if (again) {
            CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
            CU_ASSERT_EQUAL(results(&got), first);
        }
        first = results(&got);
    }
    ctt_rig_close(&want, ref);
    ctt_rig_close(&got, d);
}

/* ---- every op ---- */

static const int types[] = { RIG_F16, RIG_BF16 };

static int takes_act(const char *op)
{
    return starts(op, "conv") || starts(op, "deconv") ||
           starts(op, "norm") || starts(op, "add");
}

static void compare_all(struct ctt_dev *d, const struct ctt_case *cs, int type)
{
    static const int wanted[] = { ALL, ALL | RIG_VIEW | RIG_ADD, RIG_DIN,
                                  RIG_DIN | RIG_ADD, RIG_DW | RIG_VIEW };

    for (size_t k = 0; k < CTT_LEN(wanted); k++)
        for (int n = 1; n <= 3; n += 2) {
            compare(d, cs, n, wanted[k] | type, 0);
            compare(d, cs, n, wanted[k] | type | RIG_TRAIN, 0);
        }
    for (int act = 1; act < CTT_ACT_KINDS && takes_act(cs->op); act++)
        compare(d, cs, 3, RIG_TRAIN | type, act);
}

/* So many samples that they come in parts, the last one smaller. */
static void in_parts(struct ctt_dev *d, const struct ctt_case *cs, size_t i)
{
    enum { BYTES = 5 << 19 };
    struct ctt_rig r;
    int64_t volume, n;

    if (starts(cs->op, "window"))
        return;    /* a rig has eight asks */
    ctt_rig_open(&r, cs, 1, 0, 0);
    volume = ctt_volume(&r.call.out);    /* some work in one copy */
    if (starts(cs->op, "conv") || starts(cs->op, "deconv"))
        volume += ctt_volume(&r.call.in[0]);
    volume = volume > 32 ? volume : 32;
    n = BYTES / (int64_t)sizeof(float) / volume + 7;
    ctt_rig_close(&r, d);
    compare(d, cs, (int)n, ALL | RIG_TRAIN | types[i % 2] |
                           (i & 2 ? RIG_ADD | RIG_VIEW : 0), 0);
}

static const char *const names[] = { "cpu", "ref" };

static void each_device(void (*test)(struct ctt_dev *d,
                                     const struct ctt_case *cs, size_t i))
{
    for (size_t k = 0; k < CTT_LEN(names); k++) {
        struct ctt_dev *d = NULL;
        CHECK_OK(ctt_dev_open(names[k], 2, &d));
        for (size_t i = 0; i < ctt_case_count; i++)
            test(d, &ctt_cases[i], i);
        ctt_dev_close(&d);
    }
}

static void all_flags(struct ctt_dev *d, const struct ctt_case *cs, size_t i)
{
    (void)i;
    for (size_t k = 0; k < CTT_LEN(types); k++)
        compare_all(d, cs, types[k]);
}

static void test_ops(void)
{
    each_device(all_flags);
}

static void test_parts(void)
{
    each_device(in_parts);
}

/* ---- tensors of several types in a call ---- */

/* Makes some of the tensors floats: bit k input k, 3 the result, 4 the second
 * one.  floats: a rig that lends them. */
static void mixed(struct ctt_rig *r, const struct ctt_rig *floats, int mask)
{
    for (int k = 0; k < r->call.node->nin; k++)
        if (mask >> k & 1) {
            r->call.in[k] = floats->call.in[k];
            r->call.din[k] = floats->call.din[k];
            r->whole.in[k] = floats->whole.in[k];
            r->whole.din[k] = floats->whole.din[k];
        }
    if (mask & 8) {
        r->call.out = floats->call.out;
        r->call.dout = floats->call.dout;
    }
    if (mask & 16) {
        r->call.also = floats->call.also;
        r->call.dalso = floats->call.dalso;
    }
}

static void types_of(struct ctt_dev *d, const struct ctt_case *cs, size_t i)
{
    static const int masks[] = { 1, 2, 6, 8, 16, 18, 24, 31 };
    int flags = ALL | (i & 1 ? RIG_ADD : 0) | (i & 2 ? RIG_VIEW : 0);

    for (size_t k = 0; k < CTT_LEN(masks) && !cs->big; k++) {
        struct ctt_rig want, got, floats;
        if (!ctt_check_tries())
            continue;
        ctt_rig_open(&want, cs, 2, flags, 0);
        ctt_rig_open(&floats, cs, 2, flags, 0);
        ctt_rig_open(&got, cs, 2, flags | types[k % 2], 0);
        ctt_rig_take(&floats, &got);
        mixed(&got, &floats, masks[k]);
        ctt_rig_take(&want, &got);
        both(d, &want, &got, cs);
        ctt_rig_close(&want, ref);
        ctt_rig_close(&floats, ref);
        ctt_rig_close(&got, d);
    }
}

static void test_types(void)
{
    each_device(types_of);
}

/* ---- memory that is shared, and what is absent ---- */

/* Results where the inputs are: an act's and a dropout's, and what a conv
 * adds; of an act whose gradient reads the input, only the gradients. */
static void place(struct ctt_rig *r, int k)
{
    struct ctt_call *c = &r->call;

    if (c->node->op != CTT_OP_ACT ||
        !ctt_act_reads_input(c->node->attr.act.kind))
        c->out = c->in[k];
    c->din[k] = c->dout;
    r->whole.din[k] = c->dout;
}

static void in_place_of(struct ctt_dev *d, const struct ctt_case *cs, size_t i)
{
    int plus = strstr(cs->op, "plus=") != NULL;
    int flags = ALL | types[i % 2] | (i & 2 ? RIG_TRAIN : 0);

    if (!starts(cs->op, "act") && !starts(cs->op, "dropout") && !plus)
        return;
    for (int view = 0; view <= RIG_VIEW; view += RIG_VIEW) {
        struct ctt_rig want, got;
        if (!ctt_check_tries())
            continue;
        ctt_rig_open(&want, cs, 5, (flags & (ALL | RIG_TRAIN)) | view, 0);
        ctt_rig_open(&got, cs, 5, flags | view, 0);
        ctt_rig_take(&want, &got);
        place(&want, plus);
        place(&got, plus);
        both(d, &want, &got, cs);
        ctt_rig_close(&want, ref);
        ctt_rig_close(&got, d);
    }
}

static void test_in_place(void)
{
    each_device(in_place_of);
}

/* A mix without its second input; an lstm of which one result has no
 * gradient. */
static void absent_of(struct ctt_dev *d, const struct ctt_case *cs, size_t i)
{
    int mix = starts(cs->op, "mix"), lstm = starts(cs->op, "lstm");

    for (int k = 0; k < 2 && (mix || lstm); k++) {
        struct ctt_rig rig[2];
        for (int j = 0; j < 2; j++)
            ctt_rig_open(&rig[j], cs, 3, ALL | (j ? types[i % 2] : 0), 0);
        ctt_rig_take(&rig[0], &rig[1]);
        for (int j = 0; j < 2; j++) {
            struct ctt_call *c = &rig[j].call;
            if (mix)
                c->in[1].data = c->din[1].data = rig[j].whole.in[1].data =
                    rig[j].whole.din[1].data = NULL;
            else
                (k ? &c->dout : &c->dalso)->data = NULL;
        }
        both(d, &rig[0], &rig[1], cs);
        ctt_rig_close(&rig[0], ref);
        ctt_rig_close(&rig[1], d);
    }
}

static void test_absent(void)
{
    each_device(absent_of);
}

/* Gradients of inputs that have numbers in common: slices of one value, and
 * one value a step apart.  Of small whole numbers, so that no sum is rounded.
 * In a row of LD numbers, or from step to step. */
enum { LD = 12, N = 6, ALL_NUMBERS = 4000 };

static void overlap_of(struct ctt_dev *d, enum ctt_dtype type,
                       const char *line, int64_t c0, int64_t c1, int64_t apart)
{
    static float want[ALL_NUMBERS], values[ALL_NUMBERS];
    static uint16_t got[ALL_NUMBERS], y[ALL_NUMBERS];
    struct ctt_graph *g = NULL;
    struct ctt_call c = { .add = ~0u };
    void *cache = NULL;
    unsigned bad = 0;

    CHECK_OK(ctt_graph_new(&g));
    CHECK_OK(ctt_graph_add(g, "input a c=%d h=2", (int)c0));
    CHECK_OK(ctt_graph_add(g, "input b c=%d h=2", (int)c1));
    CHECK_OK(ctt_graph_add(g, "%s", line));
    for (int i = 0; i < ALL_NUMBERS; i++) {
        want[i] = (float)(i % 3);
        values[i] = (float)(i % 5);
        ctt_store(got, type, i, want[i]);
        ctt_store(y, type, i, values[i]);
    }
    c.node = &g->node[2];
    c.cache = &cache;
    for (int pass = 0; pass < 2; pass++) {
        void *grad = pass ? (void *)got : want;
        enum ctt_dtype t = pass ? type : CTT_F32;
        int64_t size = ctt_dtype_size(t);
        c.out = c.dout = (struct ctt_tensor){ pass ? (void *)y : values, t, N,
            1, 2, 1, c.node->out.c, LD * 2 };
        c.in[0] = c.in[1] = c.out;
        c.in[0].c = c0;
        c.in[1].c = c1;
        for (int k = 0; k < 2; k++) {
            c.din[k] = (struct ctt_tensor){ (char *)grad + k * apart * size,
                t, N, 1, 2, 1, c.in[k].c, LD };
        }
        CHECK_OK(ctt_dev_run(pass ? d : ref, &c, CTT_BWD));
    }
    for (int i = 0; i < ALL_NUMBERS; i++)
        bad += ctt_load(got, type, i) != want[i];
    CU_ASSERT_EQUAL(bad, 0);
    ctt_dev_forget(d, &cache);
    ctt_graph_free(&g);
}

static void test_overlap(void)
{
    static const struct { const char *line; int c0, c1, apart; } rows[] = {
        { "add y in=a,b", 6, 6, 0 },         { "add y in=a,b", 6, 6, 3 },
        { "add y in=a,b", 6, 6, 6 },         { "mul y in=a,b", 6, 6, 3 },
        { "mul y in=a,b", 12, 12, 2 * LD },  { "concat y in=a,b", 8, 4, 0 },
        { "concat y in=a,b", 8, 4, 6 },      { "concat y in=a,b", 4, 8, 10 },
    };

    for (size_t k = 0; k < CTT_LEN(names); k++) {
        struct ctt_dev *d = NULL;
        CHECK_OK(ctt_dev_open(names[k], 2, &d));
        for (size_t i = 0; i < CTT_LEN(rows); i++) {
            overlap_of(d, CTT_F16, rows[i].line, rows[i].c0, rows[i].c1,
                       rows[i].apart);
            overlap_of(d, CTT_BF16, rows[i].line, rows[i].c0, rows[i].c1,
                       rows[i].apart);
        }
        ctt_dev_close(&d);
    }
}

/* ---- errors ---- */

/* A failed call is an error that names the node, and the next one works. */
static void test_memory(void)
{
    struct ctt_rig r;
    struct ctt_dev *d = NULL;
    const struct ctt_case *cs = &ctt_cases[0];

    CHECK_OK(ctt_dev_open("ref", 1, &d));
    ctt_rig_open(&r, cs, 2, ALL | RIG_F16, 0);
    ctt_fail_alloc(1);
    CU_ASSERT_EQUAL(ctt_dev_run(d, &r.call, CTT_FWD), CTT_ENOMEM);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "y: no memory"));
    ctt_fail_alloc(0);
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
    ctt_rig_close(&r, d);
    ctt_dev_close(&d);
}

static CU_TestInfo tests[] = {
    { "every op", test_ops },
    { "samples in parts", test_parts },
    { "several types", test_types },
    { "in place", test_in_place },
    { "absent tensors", test_absent },
    { "gradients that overlap", test_overlap },
    { "out of memory", test_memory },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "widen", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_rig_main(suites, &ref);
}
