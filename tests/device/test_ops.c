/* SPDX-License-Identifier: Apache-2.0
 * test_ops.c: every kernel against its gradient, every device against plain C,
 * and what a call promises. */
#include "tests/lib/check.h"
#include "tests/lib/rig.h"
#include "device/cpu/cpu.h"
#include "net/op.h"

#include <math.h>
#include <string.h>

enum { ALL = RIG_DIN | RIG_DW, ACTS = CTT_ACT_KINDS };

static struct ctt_dev *ref;

static double product(const struct ctt_tensor *a, const struct ctt_tensor *b)
{
    const float *x = a->data, *y = b->data;
    double sum = 0;

    for (int64_t i = 0; i < ctt_rows(a); i++)
        for (int64_t j = 0; j < a->c; j++)
            sum += (double)x[i * a->ld + j] * (double)y[i * b->ld + j];
    return sum;
}

/* <out, dout>, whose gradient backward gives. */
static double loss(const struct ctt_rig *r)
{
    const struct ctt_call *c = &r->call;

    CHECK_OK(ctt_dev_run(ref, c, CTT_FWD));
    return product(&c->out, &c->dout) +
           (c->also.data ? product(&c->also, &c->dalso) : 0);
}

/* Central differences of the loss in every element of x against dx: of fourth
 * order, since normalisation bends much. */
static void check_gradient(const struct ctt_rig *r, struct ctt_tensor x,
                           struct ctt_tensor dx)
{
    static const struct { float step; double factor; } point[] = {
        { -2, 1 }, { -1, -8 }, { 1, 8 }, { 2, -1 }
    };
    float *p = x.data, *g = dx.data, eps = 1e-2f;

    for (int64_t i = 0; g && i < ctt_volume(&x); i++) {
        float old = p[i], numeric;
        double sum = 0;
        for (size_t k = 0; k < CTT_LEN(point); k++) {
            p[i] = old + point[k].step * eps;
            sum += point[k].factor * loss(r);
        }
        p[i] = old;
        numeric = (float)(sum / (12 * (double)eps));
        CHECK_CLOSE(&g[i], &numeric, 1, 1e-3);
    }
}

static void gradients_of(const struct ctt_case *cs, int flags)
{
    struct ctt_rig r;

    if (!ctt_check_tries())
        return;
    ctt_rig_open(&r, cs, 2, flags | ALL, 0);
    loss(&r);
    CHECK_OK(ctt_dev_run(ref, &r.call, CTT_BWD));
    for (int k = 0; k < r.call.node->nin; k++)
        check_gradient(&r, r.whole.in[k], r.whole.din[k]);
    for (int k = 0; k < r.call.node->nw; k++)
        check_gradient(&r, r.call.w[k].t, r.call.dw[k]);
    ctt_rig_close(&r, ref);
}

static void test_gradients(void)
{
    for (size_t i = 0; i < ctt_case_count; i++)
        if (!ctt_cases[i].big) {
            gradients_of(&ctt_cases[i], 0);
            gradients_of(&ctt_cases[i], RIG_TRAIN);
        }
}

/* Every op that has a kernel must have a case. */
static void test_all_covered(void)
{
    for (int op = 0; op < CTT_NOPS; op++) {
        size_t n = strlen(ctt_ops[op].name);
        int seen = ctt_ops[op].memory != CTT_COMPUTED;
        for (size_t i = 0; i < ctt_case_count; i++)
            seen += strncmp(ctt_cases[i].op, ctt_ops[op].name, n) == 0 &&
                    ctt_cases[i].op[n] == ' ';
        if (!seen)
            printf("\n    no case for %s", ctt_ops[op].name);
        CU_ASSERT(seen > 0);
    }
}

static void run_both(struct ctt_dev *d, const struct ctt_call *c)
{
    CHECK_OK(ctt_dev_run(d, c, CTT_FWD));
    CHECK_OK(ctt_dev_run(d, c, CTT_BWD));
}

static int alike(const struct ctt_rig *a, const struct ctt_rig *b,
                 const struct ctt_case *cs)
{
    const struct ctt_call *x = &a->call, *y = &b->call;
    int good = ctt_rig_close_to(&x->out, &y->out, 2e-4, "out", cs) &&
               ctt_rig_close_to(&x->also, &y->also, 2e-5, "also", cs);

    for (int k = 0; k < x->node->nin; k++)
        good = good && ctt_rig_close_to(&a->whole.din[k], &b->whole.din[k],
                                        1e-4, "din", cs);
    for (int k = 0; k < x->node->nw; k++)
        good = good &&
               ctt_rig_close_to(&x->dw[k], &y->dw[k], 1e-4, "dw", cs) &&
               ctt_rig_close_to(&x->w[k].t, &y->w[k].t, 2e-5, "w", cs);
    return good;
}

/* One call on another device against ref; the second run of the same call
 * allocates nothing and, with dw set back, gives the same again. */
static void compare(struct ctt_dev *d, const struct ctt_case *cs, int n,
                    int flags, int act)
{
    struct ctt_rig want, got;
    long calls;

    if (!ctt_check_tries())
        return;
    ctt_rig_open(&want, cs, n, flags, act);
    ctt_rig_open(&got, cs, n, flags, act);
    for (int again = 0; again < 2; again++) {
        ctt_rig_reset(&want, flags);
        ctt_rig_reset(&got, flags);
        run_both(ref, &want.call);
        calls = ctt_alloc_calls();
        run_both(d, &got.call);
        CU_ASSERT(!again || ctt_alloc_calls() == calls);
        CU_ASSERT(alike(&got, &want, cs));
    }
    for (int pass = 0; pass < CTT_PASSES; pass++)
        CU_ASSERT(!strstr(ctt_dev_impl(d, got.cache, pass), "ref"));
    ctt_rig_close(&want, ref);
    ctt_rig_close(&got, d);
}

static int takes_act(const char *op, int act)
{
    const struct ctt_node n = { .op = CTT_OP_ACT,
                                .attr.act.kind = act - 1 };
    char word[CTT_NAME];

    snprintf(word, sizeof(word), "%.*s", (int)strcspn(op, " "), op);
    return ctt_ops[ctt_op_find(word)].result == CTT_RESULT_ACT &&
           ctt_act_is_plain(&n);
}

static void compare_all(struct ctt_dev *d, const struct ctt_case *cs)
{
    static const int wanted[] = { ALL, ALL | RIG_ADD, ALL | RIG_VIEW,
        ALL | RIG_VIEW | RIG_ADD, RIG_DIN, RIG_DIN | RIG_ADD, RIG_DW };

    for (size_t k = 0; k < CTT_LEN(wanted); k++)
        for (int n = 1; n <= 3; n += 2) {
            compare(d, cs, n, wanted[k], 0);
            compare(d, cs, n, wanted[k] | RIG_TRAIN, 0);
        }
    for (int act = 1; act <= ACTS && takes_act(cs->op, act); act++) {
        compare(d, cs, 3, 0, act);
        compare(d, cs, 3, RIG_VIEW | RIG_TRAIN, act);
    }
}

static void test_devices(void)
{
    for (int k = 0; ctt_check_hosts[k]; k++) {
        struct ctt_dev *d = NULL;
        if (strcmp(ctt_check_hosts[k], "ref") == 0)
            continue;
        CHECK_OK(ctt_dev_open(ctt_check_hosts[k], 2, &d));
        for (size_t i = 0; i < ctt_case_count; i++)
            compare_all(d, &ctt_cases[i]);
        ctt_dev_close(&d);
    }
}

/* Our own kernels for each instruction set that this processor has, also
 * those that a device would not choose. */
static void test_instruction_sets(void)
{
    for (int k = 0; ctt_isas[k].name; k++) {
        struct ctt_dev *d = NULL;
        if (!ctt_isas[k].supported()) {
            printf("\n    no %s here", ctt_isas[k].name);
            continue;
        }
        CHECK_OK(ctt_dev_open("ref", 1, &d));
        memcpy(d->kernel, ctt_isas[k].kernels, sizeof(d->kernel));
        for (size_t i = 0; i < ctt_case_count; i++)
            compare_all(d, &ctt_cases[i]);
        ctt_dev_close(&d);
    }
}

/* An act applied by the kernel is the act applied after it. */
static void fused_of(const struct ctt_case *cs, int act)
{
    struct ctt_rig plain, fused;
    struct ctt_call c = { .node = NULL };
    struct ctt_node n = { .op = CTT_OP_ACT, .name = "act", .nin = 1 };

    if (!ctt_check_tries())
        return;
    ctt_rig_open(&plain, cs, 2, 0, 0);
    ctt_rig_open(&fused, cs, 2, 0, act);
    CHECK_OK(ctt_dev_run(ref, &plain.call, CTT_FWD));
    CHECK_OK(ctt_dev_run(ref, &fused.call, CTT_FWD));
    n.attr.act.kind = act - 1;
    c.node = &n;
    c.in[0] = c.out = plain.call.out;    /* in place */
    CHECK_OK(ctt_dev_run(ref, &c, CTT_FWD));
    CU_ASSERT(ctt_rig_close_to(&fused.call.out, &plain.call.out, 1e-6,
                               ctt_ops[CTT_OP_ACT].attr->choices[act - 1],
                               cs));
    ctt_rig_close(&plain, ref);
    ctt_rig_close(&fused, ref);
}

static void test_fused(void)
{
    for (size_t i = 0; i < ctt_case_count; i++)
        for (int act = 1; act <= ACTS && takes_act(ctt_cases[i].op, act);
             act++)
            fused_of(&ctt_cases[i], act);
}

/* <conv x, y> = <x, conv' y>, on every device. */
static void test_adjoint(void)
{
    struct ctt_rig r;

    for (int k = 0; ctt_check_hosts[k]; k++) {
        struct ctt_dev *d = NULL;
        CHECK_OK(ctt_dev_open(ctt_check_hosts[k], 2, &d));
        for (size_t i = 0; i < ctt_case_count; i++) {
            double a, b, size;
            if (!strstr(ctt_cases[i].op, "conv ") || ctt_cases[i].b ||
                !ctt_check_tries())
                continue;
            ctt_rig_open(&r, &ctt_cases[i], 2, RIG_DIN, 0);
            r.call.w[1].t.data = NULL;    /* a linear map has no bias */
            run_both(d, &r.call);
            a = product(&r.call.out, &r.call.dout);
            b = product(&r.call.in[0], &r.call.din[0]);
            size = product(&r.call.out, &r.call.out) *
                   product(&r.call.dout, &r.call.dout);
            CU_ASSERT(fabs(a - b) <= 1e-5 * sqrt(size));
            ctt_rig_close(&r, d);
        }
        ctt_dev_close(&d);
    }
}

/* Plain C: sample k of a batch has the bits that it has alone. */
static void singles_of(const struct ctt_case *cs)
{
    enum { N = 19 };
    struct ctt_rig r;
    struct ctt_tensor all, one;
    struct ctt_call c;

    if (!ctt_check_tries())
        return;
    ctt_rig_open(&r, cs, N, RIG_DIN, 0);
    run_both(ref, &r.call);
    all = r.call.out;
    c = r.call;
    for (int64_t i = 0; i < N; i++) {
        for (int k = 0; k < c.node->nin; k++) {
            c.in[k].n = 1;
            c.in[k].data = (float *)r.call.in[k].data +
                           i * ctt_volume(&c.in[k]);
        }
        one = c.out = r.call.dout;    /* not needed any more */
        c.out.n = one.n = 1;
        CHECK_OK(ctt_dev_run(ref, &c, CTT_FWD));
        CU_ASSERT_EQUAL(memcmp(one.data, (float *)all.data +
                               i * ctt_volume(&one),
                               (size_t)ctt_volume(&one) * sizeof(float)), 0);
    }
    ctt_rig_close(&r, ref);
}

static void test_batch_is_singles(void)
{
    for (size_t i = 0; i < ctt_case_count; i++)
        if (strncmp(ctt_cases[i].op, "window", 6) != 0)
            singles_of(&ctt_cases[i]);
}

/* One call with one thread and with as many as d has: all the same bits. */
static void threads_of(struct ctt_dev *single, struct ctt_dev *d,
                       const struct ctt_case *cs)
{
    struct ctt_rig one, many;

    if (!ctt_check_tries())
        return;
    ctt_rig_open(&one, cs, 8, ALL | RIG_TRAIN, 0);
    ctt_rig_open(&many, cs, 8, ALL | RIG_TRAIN, 0);
    run_both(single, &one.call);
    run_both(d, &many.call);
    for (int k = 0; k < one.call.node->nin; k++)
        CU_ASSERT(ctt_rig_close_to(&many.whole.din[k], &one.whole.din[k], 0,
                                   "threads", cs));
    for (int k = 0; k < one.call.node->nw; k++)
        CU_ASSERT(ctt_rig_close_to(&many.call.dw[k], &one.call.dw[k], 0,
                                   "threads", cs));
    CU_ASSERT(ctt_rig_close_to(&many.call.out, &one.call.out, 0, "threads",
                               cs));
    ctt_rig_close(&one, single);
    ctt_rig_close(&many, d);
}

/* Where it is promised, the number of threads changes no bit: on "ref", and on
 * each device that is told so. */
static void test_threads(void)
{
    static const struct ctt_case more[] = {
        { "c=8 h=20 w=20", "c=24 h=20 w=20", "conv y in=a plus=b out=24 "
          "kernel=5 pad=2", 1 },
        { "c=24 h=20 w=20", NULL, "conv y in=a out=40 kernel=3 pad=1", 1 },
    };

    for (int k = 0; ctt_check_hosts[k]; k++) {
        struct ctt_dev *single = NULL;
        CHECK_OK(ctt_dev_open(ctt_check_hosts[k], 1, &single));
        ctt_dev_deterministic(single, 1);
        for (int threads = 2; threads <= 3; threads++) {
            struct ctt_dev *d = NULL;
            CHECK_OK(ctt_dev_open(ctt_check_hosts[k], threads, &d));
            CU_ASSERT_EQUAL(ctt_dev_threads(d), threads);
            ctt_dev_deterministic(d, 1);
            for (size_t i = 0; i < ctt_case_count; i++)
                threads_of(single, d, &ctt_cases[i]);
            for (size_t i = 0; i < CTT_LEN(more); i++)
                threads_of(single, d, &more[i]);
            ctt_dev_close(&d);
        }
        ctt_dev_close(&single);
    }
}

static CU_TestInfo tests[] = {
    { "gradients", test_gradients },
    { "all covered", test_all_covered },
    { "devices agree", test_devices },
    { "instruction sets agree", test_instruction_sets },
    { "fused act", test_fused },
    { "adjoint", test_adjoint },
    { "a batch is its samples", test_batch_is_singles },
    { "threads", test_threads },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "ops", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_rig_main(suites, &ref);
}
