/* SPDX-License-Identifier: Apache-2.0
 * test_gpu.c: every kernel of the device "cuda" against plain C, in every value
 * type.  With the argument "quick": few cases, for slow checkers. */
#include "tests/lib/gpu.h"

#include <stdlib.h>
#include <string.h>

enum { ALL = RIG_DIN | RIG_DW };

/* Tolerances: a stored result may be off by one rounding, one that is added to
 * in memory by a few; sums in another order differ a little. */
static int alike(const struct gpu_call *got, const struct ctt_rig *want,
                 double ulp, const struct ctt_case *cs)
{
    const struct ctt_call *x = &got->rig.call, *y = &want->call;
    int good = ctt_rig_close_to(&x->out, &y->out, 2e-4 + 2 * ulp, "out", cs) &&
               ctt_rig_close_to(&x->also, &y->also, 2e-5 + 2 * ulp, "also",
                                cs);

    for (int k = 0; k < x->node->nin; k++)
        good = good && ctt_rig_close_to(&got->rig.whole.din[k],
                                        &want->whole.din[k], 1e-4 + 3 * ulp,
                                        "din", cs);
    for (int k = 0; k < x->node->nw; k++)
        good = good &&
               ctt_rig_close_to(&x->dw[k], &y->dw[k], 1e-4 + ulp, "dw", cs) &&
               ctt_rig_close_to(&x->w[k].t, &y->w[k].t, 2e-5, "w", cs);
    return good;
}

/* How a case is called. */
struct way { int n, flags, act, wide, live; };

/* A call against plain C.  Its second run must allocate nothing and, where
 * promised, give the same bits. */
static void compare(const struct ctt_case *cs, const struct way *y,
                    const struct gpu_type *t, int exact)
{
    struct gpu_call got;
    struct ctt_rig want;
    uint64_t bits = 0;
    long calls;
    int good = 1;

    if (!ctt_check_tries())
        return;
    gpu_open(&got, cs, y->n, y->flags, y->act, t->type, y->wide, y->live);
    gpu_expect(&got, cs, y->n, y->flags, y->act, &want);
    for (int again = 0; again < 2; again++) {
        gpu_up(&got);
        calls = ctt_alloc_calls();
        CHECK_OK(ctt_dev_run(gpu, &got.call, CTT_FWD));
        CHECK_OK(ctt_dev_run(gpu, &got.call, CTT_BWD));
        good &= !again || ctt_alloc_calls() == calls;
        gpu_down(&got);
        good &= alike(&got, &want, t->ulp, cs);
        good &= !again || !exact || gpu_bits(&got) == bits;
        bits = gpu_bits(&got);
    }
    if (!good)
        printf("\n    %s (%s): %s n=%d flags=%d act=%d wide=%d live=%d",
               cs->op, cs->a, ctt_dtype_word(t->type), y->n, y->flags, y->act,
               y->wide, y->live);
    CU_ASSERT(good);
    ctt_rig_close(&want, host);
    gpu_close(&got);
}

static int is_op(const struct ctt_case *cs, const char *op)
{
    size_t n = strlen(op);

    return strncmp(cs->op, op, n) == 0 && cs->op[n] == ' ';
}

/* Each plan of a fused conv takes cuDNN up to two seconds: of a case's calls
 * the quick test runs one in `of`, another one of the next case. */
static int is_left_out(size_t i, size_t k, int t, size_t of)
{
    const struct ctt_case *cs = &ctt_cases[i];

    return gpu_quick && (is_op(cs, "conv") || is_op(cs, "deconv")) &&
           (i + k * GPU_TYPES + (size_t)t) % of != 0;
}

static void compare_all(const struct way *y, size_t ways,
                        int (*which)(const struct ctt_case *cs), int exact)
{
    for (size_t i = 0; i < ctt_case_count; i++) {
        const struct ctt_case *cs = &ctt_cases[i];
        if ((which && !which(cs)) || (gpu_quick && cs->big))
            continue;
        for (size_t k = 0; k < (cs->big || gpu_quick ? 2 : ways); k++)
            for (int t = 0; t < GPU_TYPES; t++)
                if ((!y[k].wide || gpu_types[t].ulp > 0) &&
                    !is_left_out(i, k, t, y[k].act || y[k].wide ? 12 : 6))
                    compare(cs, &y[k], &gpu_types[t], exact);
    }
}

static const struct way ways[] = {
    { 2, ALL | RIG_TRAIN },
    { 5, ALL | RIG_VIEW | RIG_ADD | RIG_TRAIN },
    { 1, ALL | RIG_ADD },
    { 2, RIG_DIN | RIG_VIEW },
    { 5, RIG_DW | RIG_TRAIN },
};

static void test_ops(void)
{
    ctt_dev_deterministic(gpu, 1);
    compare_all(ways, CTT_LEN(ways), NULL, 1);
    ctt_dev_deterministic(gpu, 0);
    if (!gpu_quick)
        compare_all(ways + 1, 1, NULL, 0);
}

/* Tensors of one call in different types. */
static void test_mixed(void)
{
    static const struct way mixed[] = {
        { 2, ALL | RIG_TRAIN, 0, WIDE_OUT | WIDE_ALSO },
        { 2, ALL | RIG_ADD | RIG_VIEW, 0, WIDE_FIRST | WIDE_OTHERS },
        { 2, ALL, 0, WIDE_OTHERS | WIDE_ALSO },
    };

    compare_all(mixed, CTT_LEN(mixed), NULL, 0);
}

static int takes_act(const struct ctt_case *cs)
{
    return is_op(cs, "conv") || is_op(cs, "deconv") || is_op(cs, "norm") ||
           is_op(cs, "add");
}

static void test_act(void)
{
    static const struct way acts[] = {
        { 2, 0, 1 }, { 2, RIG_VIEW | RIG_TRAIN, 3 }, { 1, RIG_TRAIN, 2 },
        { 5, RIG_VIEW, 2 }, { 2, 0, 4 }, { 5, RIG_VIEW | RIG_TRAIN, 4 },
        { 2, 0, 5 }, { 5, RIG_VIEW, 6 }, { 2, 0, 7 }, { 2, RIG_TRAIN, 8 },
    };

    compare_all(acts, CTT_LEN(acts), takes_act, 1);
}

static int reads_live(const struct ctt_case *cs)
{
    return is_op(cs, "dropout") || is_op(cs, "window");
}

/* Keys and asks in the device's memory. */
static void test_live(void)
{
    static const struct way live[] = {
        { 3, ALL | RIG_TRAIN, 0, 0, GPU_LIVE_AT },
        { 2, ALL | RIG_TRAIN | RIG_VIEW, 0, 0, GPU_LIVE_WHICH },
    };

    compare_all(live, CTT_LEN(live), reads_live, 0);
}

/* The result overwrites an input, unless the gradient reads it, and so do their
 * gradients. */
static void in_place(const struct ctt_case *cs, int input,
                     const struct gpu_type *t)
{
    struct way y = { 2, ALL | RIG_TRAIN };
    struct gpu_call got;
    struct ctt_rig want;

    gpu_open(&got, cs, y.n, y.flags, 0, t->type, 0, 0);
    gpu_expect(&got, cs, y.n, y.flags, 0, &want);
    gpu_up(&got);
    if (!is_op(cs, "act") ||
        !ctt_act_reads_input(got.call.node->attr.act.kind))
        got.call.out.data = got.call.in[input].data;
    CHECK_OK(ctt_dev_run(gpu, &got.call, CTT_FWD));
    CHECK_OK(ctt_dev_get(gpu, &got.call.out, got.rig.call.out.data));
    CU_ASSERT(ctt_rig_close_to(&got.rig.call.out, &want.call.out,
                               2e-4 + 2 * t->ulp, "out in place", cs));
    got.call.din[input].data = got.call.dout.data;
    CHECK_OK(ctt_dev_run(gpu, &got.call, CTT_BWD));
    CHECK_OK(ctt_dev_get(gpu, &got.call.dout, got.rig.whole.din[input].data));
    CU_ASSERT(ctt_rig_close_to(&got.rig.whole.din[input],
                               &want.whole.din[input], 1e-4 + 3 * t->ulp,
                               "din in place", cs));
    ctt_rig_close(&want, host);
    gpu_close(&got);
}

static void test_in_place(void)
{
    for (size_t i = 0; i < ctt_case_count; i++)
        for (int t = 0; t < GPU_TYPES; t++) {
            const struct ctt_case *cs = &ctt_cases[i];
            if (is_op(cs, "act") || is_op(cs, "dropout"))
                in_place(cs, 0, &gpu_types[t]);
            if (is_op(cs, "conv") && cs->b && !(gpu_quick && cs->big) &&
                !is_left_out(i, 0, t, 12))
                in_place(cs, 1, &gpu_types[t]);
        }
}

/* A result that is not finite is reported with its node's name. */
static void test_blame(void)
{
    static const struct ctt_case cs = { "c=3 h=5 w=4", NULL,
                                        "conv y in=a out=4 kernel=3 pad=1", 0 };
    struct gpu_call m;

    gpu_open(&m, &cs, 2, ALL, 0, CTT_F16, 0, 0);
    m.part[0].first[7] = 1e9f;    /* infinite in this type */
    gpu_up(&m);
    ctt_dev_blame(gpu, 1);
    CU_ASSERT_EQUAL(ctt_dev_run(gpu, &m.call, CTT_FWD), CTT_ENAN);
    ctt_dev_blame(gpu, 0);
    CU_ASSERT(strstr(ctt_errmsg(), "y: the result is not finite") != NULL);
    gpu_close(&m);
}

/* ---- pruned weights ---- */

/* stamp 1: a session's.  one_in: weights that stay, TWO: two of each four,
 * THREE: but three of one; in_place: plus is the result. */
enum { TWO = -2, THREE = -3 };

struct pruned {
    struct ctt_case cs;
    int             flags, act, in_place, one_in;
    uint64_t        stamp;
    const char     *by, *why;    /* why: a part of the reason, or NULL */
};

static void keep_few(float *w, int64_t n, int one_in)
{
    for (int64_t i = 0; i < n; i++)
        if (one_in > 0 ? i % one_in != 3 : (i + i / 4) % 4 < 2)
            w[i] = 0;
    if (one_in == THREE)
        w[n - 1] = w[n - 2] = w[n - 3] = 1;
}

static void open_pruned(struct gpu_call *m, const struct pruned *p,
                        enum ctt_dtype type)
{
    const struct ctt_tensor *w = &m->rig.call.w[0].t;

    gpu_open(m, &p->cs, 3, p->flags, p->act, type, 0, 0);
    for (int i = 0; i < m->parts; i++)
        if (m->part[i].own == w)
            keep_few(m->part[i].first, ctt_volume(w), p->one_in);
    m->call.stamp = p->stamp;
    if (p->in_place)
        m->call.in[1].data = m->call.out.data;
    gpu_up(m);
}

/* Copies the plus input to where the result will be. */
static void put_plus(struct gpu_call *m)
{
    const struct ctt_tensor *plus = &m->rig.whole.in[1];

    for (int i = 0; i < m->parts; i++)
        if (m->part[i].own == plus)
            CHECK_OK(ctt_dev_put(gpu, m->part[i].first, &m->call.out));
}

static void expect_pruned(const struct gpu_call *m, const struct pruned *p,
                          struct ctt_rig *want)
{
    struct ctt_call *c = &want->call;

    ctt_rig_open(want, &p->cs, 3, p->flags, p->act);
    keep_few(c->w[0].t.data, ctt_volume(&c->w[0].t), p->one_in);
    gpu_round(m->type, c->w[0].t.data, ctt_volume(&c->w[0].t));
    for (int k = 0; k < c->node->nin; k++)
        gpu_round(m->type, c->in[k].data, ctt_rows(&c->in[k]) * c->in[k].ld);
    CHECK_OK(ctt_dev_run(host, c, CTT_FWD));
}

/* 1 if the provider named computes on this machine: cuSPARSE may be missing,
 * and cuSPARSELt not be built in, but not of the simulation. */
static int is_there(const struct gpu_call *m, const struct pruned *p)
{
    const char *why = ctt_dev_why(gpu, m->rig.cache, CTT_FWD);
    const char *by = ctt_dev_impl(gpu, m->rig.cache, CTT_FWD);

    if (gpu_sim("ctt_sim_runs"))
        return 1;
    return !strstr(why, "no libcusparse") &&
           (strcmp(p->by, "cusparselt") != 0 || strstr(by, p->by) ||
            strstr(why, "cusparselt:"));
}

/* By the provider named, twice the same, also recorded. */
static void check_pruned(const struct pruned *p, const struct gpu_type *t)
{
    struct gpu_call m;
    struct ctt_rig want;
    void *place = NULL;

    open_pruned(&m, p, t->type);
    expect_pruned(&m, p, &want);
    for (int again = 0; again < 4; again++) {
        int rc;
        gpu_up(&m);
        if (p->in_place)
            put_plus(&m);
        rc = ctt_dev_replay(gpu, &place);
        if (rc == 0) {
            rc = ctt_dev_run(gpu, &m.call, CTT_FWD);
            rc = ctt_dev_recorded(gpu, &place, rc);
        }
        CU_ASSERT(rc >= 0);
        gpu_down(&m);
        CU_ASSERT(ctt_rig_close_to(&m.rig.call.out, &want.call.out,
                                   2e-4 + 2 * t->ulp, "out", &p->cs));
        CU_ASSERT(strstr(ctt_dev_why(gpu, m.rig.cache, CTT_FWD), p->why ? p->why
                                                                 : "") != NULL);
        if (is_there(&m, p))
            CU_ASSERT_STRING_EQUAL(ctt_dev_impl(gpu, m.rig.cache, CTT_FWD),
                                   p->by);
    }
    ctt_dev_drop(gpu, &place);
    ctt_rig_close(&want, host);
    gpu_close(&m);
}

static void test_pruned(void)
{
#define PIXELS { "c=256 h=2 w=3", NULL, "conv y in=a out=264", 0 }
#define PLUS { "c=256 h=2 w=3", "c=264 h=2 w=3", \
               "conv y in=a plus=b out=264", 0 }
#define IMAGES { "c=9 h=16 w=16", NULL, "conv y in=a out=80 kernel=16", 0 }
    static const struct pruned rows[] = {
        { PIXELS, 0, 0, 0, 21, 1, "cusparse" },
        { PIXELS, 0, CTT_ACT_RELU + 1, 0, 50, 1, "cusparse" },
        { IMAGES, 0, 0, 0, 25, 1, "cusparse" },
        { PLUS, 0, CTT_ACT_TANH + 1, 0, 25, 1, "cusparse" },
        { PLUS, 0, 0, 1, 25, 1, "cusparse" },
        { PIXELS, 0, 0, 0, 19, 1, "cublaslt" },     /* too many stay */
        { PIXELS, 0, 0, 0, 25, 2, "cublaslt" },     /* they change */
        { PIXELS, RIG_TRAIN, 0, 0, 25, 1, "cublaslt" },
        { PIXELS, RIG_VIEW, 0, 0, 25, 1, "cublaslt" },
        { { "c=64 h=2 w=3", NULL, "conv y in=a out=64", 0 }, 0, 0, 0, 25, 1,
          "cublaslt" },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++)
        for (int t = 0; t < GPU_TYPES; t++)
            check_pruned(&rows[i], &gpu_types[t]);
    ctt_dev_deterministic(gpu, 1);
    check_pruned(&rows[0], &gpu_types[0]);
    ctt_dev_deterministic(gpu, 0);
}

/* 2:4 weights of 16 bits; a size that cuSPARSELt does not take, few pixels,
 * floats, and what is not 2:4, are dense. */
#define LARGE { "c=480 h=8 w=19", NULL, "conv y in=a out=480", 0 }
static void test_two(void)
{
    static const struct pruned rows[] = {
        { LARGE, 0, CTT_ACT_RELU + 1, 0, TWO, 1, "cusparselt" },
        { { "c=480 h=8 w=19", "c=480 h=8 w=19",
            "conv y in=a plus=b out=480", 0 }, 0, 0, 1, TWO, 1, "cusparselt" },
        { LARGE, 0, 0, 0, THREE, 1, "cublaslt" },
        { LARGE, 0, 0, 0, TWO, 2, "cublaslt" },
        { { "c=480 h=8 w=19", NULL, "conv y in=a out=488", 0 }, 0, 0, 0, TWO,
          1, "cublaslt" },
        { { "c=480 h=7 w=23", NULL, "conv y in=a out=480", 0 }, 0, 0, 0, TWO,
          1, "cublaslt" },
        { { "c=480 h=2 w=4", NULL, "conv y in=a out=480", 0 }, 0, 0, 0, TWO,
          1, "cublaslt" },
    };
    struct pruned in_floats = rows[0];

    for (size_t i = 0; i < CTT_LEN(rows); i++)
        for (int t = 1; t < GPU_TYPES; t++)
            if (t == 1 || i < 2)
                check_pruned(&rows[i], &gpu_types[t]);
    in_floats.by = "cublaslt";
    check_pruned(&in_floats, &gpu_types[0]);
}

static void reopen(const char *sparse)
{
    ctt_dev_close(&gpu);
    setenv("CTT_SIM_SPARSE", sparse, 1);
    CU_ASSERT_FATAL(ctt_dev_open("cuda", 0, &gpu) >= 0);
}

/* A simulated GPU with no cuSPARSELt, and with one of another version. */
static void test_no_lt(void)
{
    static const char *const words[] = { "none", "old" };
    static const struct pruned row = {
        LARGE, 0, 0, 0, TWO, 1, "cublaslt", "no libcusparseLt"
    };

    for (size_t i = 0; i < CTT_LEN(words) && gpu_sim("ctt_sim_fail"); i++) {
        reopen(words[i]);
        check_pruned(&row, &gpu_types[1]);
        reopen("");
    }
}

/* The call of the simulated libraries that fails, from 1; 0: none. */
static int fail_at(long k)
{
    void *at = gpu_sim("ctt_sim_fail");
    void (*f)(long) = NULL;

    memcpy(&f, &at, sizeof(at));    /* ISO C has no cast for it */
    if (f)
        f(k);
    return f != NULL;
}

/* Each call that makes the compressed weights fails, the library being loaded:
 * the dense ones serve. */
static void test_two_fails(void)
{
    static const struct pruned row = { LARGE, 0, 0, 0, TWO, 1, NULL, NULL };
    static const char what[] = "no memory for 2:4 weights";
    int dense = 0, since = 0;

    for (long k = 0; k < 100 && !(dense && since > 2) && fail_at(0); k++) {
        struct gpu_call m;
        struct ctt_rig want;
        int rc;

        since++;
        open_pruned(&m, &row, CTT_F16);
        fail_at(k);
        rc = ctt_dev_run(gpu, &m.call, CTT_FWD);
        fail_at(0);
        if (rc >= 0 && strstr(ctt_dev_why(gpu, m.rig.cache, CTT_FWD), what)) {
            dense++;
            since = 0;
            expect_pruned(&m, &row, &want);
            gpu_down(&m);
            CU_ASSERT(ctt_rig_close_to(&m.rig.call.out, &want.call.out, 3e-3,
                                       "out", &row.cs));
            CU_ASSERT_STRING_EQUAL(ctt_dev_impl(gpu, m.rig.cache, CTT_FWD),
                                   "cublaslt");
            ctt_rig_close(&want, host);
        }
        gpu_close(&m);
    }
    CU_ASSERT(dense >= 3 || !fail_at(0));
}

static CU_TestInfo tests[] = {
    { "ops", test_ops },
    { "mixed types", test_mixed },
    { "fused activation", test_act },
    { "keys and asks on the device", test_live },
    { "in place", test_in_place },
    { "blame", test_blame },
    { "pruned weights", test_pruned },
    { "2:4 weights", test_two },
    { "2:4 weights without cuSPARSELt", test_no_lt },
    { "2:4 weights without memory", test_two_fails },
    CU_TEST_INFO_NULL
};

int main(int argc, char **argv)
{
    CU_SuiteInfo suites[] = {
        { .pName = "gpu", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return gpu_main(suites, argc, argv);
}
