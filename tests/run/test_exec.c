/* SPDX-License-Identifier: Apache-2.0
 * test_exec.c: the forward and backward pass of whole models: the gradient
 * against finite differences, allocations, and refused arguments. */
#include "tests/lib/check.h"
#include "tests/lib/exec.h"
#include "net/quant.h"

#include <string.h>

/* ---- gradients ---- */

static double loss(void *arg)
{
    struct exec_rig *r = arg;
    const float *y = exec_forward(r);
    double sum = 0;

    for (int64_t i = 0; i < exec_answers(r); i++)
        sum += (double)y[i] * (double)exec_coef[i];
    return sum;
}

static void check_gradients(const struct exec_model *m)
{
    struct exec_rig r;

    CHECK_OK(exec_rig_open(&r, m, "ref"));
    CU_ASSERT_FATAL(exec_answers(&r) <= MOST);
    ctt_check_fill(exec_coef, exec_answers(&r), 1);
    /* the second pass finds old gradients */
    for (int pass = 0; pass < 2; pass++) {
        loss(&r);
        CHECK_OK(exec_backward(&r));
    }
    for (int i = 0; i < r.g->count; i++)
        for (int k = 0; k < r.g->node[i].nw; k++) {
            const struct ctt_node *n = &r.g->node[i];
            int64_t size = ctt_volume(&n->w[k]);
            for (int64_t j = 0; j < size && !(n->fixed >> k & 1);
                 j += 1 + size / 13)
                ctt_check_slope(loss, &r, &r.w[n->at[k] + j], 2e-3f,
                                r.x->dw[n->at[k] + j], 6e-3);
        }
    exec_rig_close(&r);
}

static void test_gradients(void)
{
    for (size_t i = 0; i < EXEC_MODELS; i++)
        check_gradients(&exec_models[i]);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static const struct exec_model int8_model = {
    "input x h=5 w=4 c=2\n"
    "quant xq in=x scale=0.01\n"
    "conv a in=xq out=6 kernel=3 pad=1\n"
    "act f in=a kind=tanh\n"
    "quant fq in=f scale=0.0078125\n"
    "conv y in=fq out=3 kernel=3\n", 2
};

/* Rounds the weights of the convs themselves. */
static void round_weights(struct exec_rig *r)
{
    for (int i = 0; i < r->g->count; i++) {
        const struct ctt_node *n = &r->g->node[i];

        if (ctt_is_int8(r->g, i))
            ctt_quant_floats(r->w + n->at[0], n->w[0].n,
                             ctt_volume(&n->w[0]) / n->w[0].n,
                             r->w + n->at[0]);
    }
}

/* Convs of quantised values: the answer and the gradients are those of the
 * rounded weights, also after weights have changed. */
static void check_rounded(const char *device)
{
    struct exec_rig a, b;
    size_t bytes;

    CHECK_OK(exec_rig_open(&a, &int8_model, device));
    CHECK_OK(exec_rig_open(&b, &int8_model, device));
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < a.g->weights; i++)
            b.w[i] = a.w[i] *= 0.9f;
        round_weights(&b);
        CU_ASSERT(memcmp(a.w, b.w, sizeof(float) * (size_t)a.g->weights));
        a.x->r->stamp++;
        b.x->r->stamp++;
        bytes = sizeof(float) * (size_t)exec_answers(&a);
        CU_ASSERT(memcmp(exec_forward(&a), exec_forward(&b), bytes) == 0);
        CHECK_OK(exec_backward(&a));
        CHECK_OK(exec_backward(&b));
        CU_ASSERT(memcmp(a.x->dw, b.x->dw,
                         sizeof(float) * (size_t)a.g->weights) == 0);
    }
    exec_rig_close(&a);
    exec_rig_close(&b);
}

static void test_rounded(void)
{
    for (int i = 0; ctt_check_hosts[i]; i++)
        check_rounded(ctt_check_hosts[i]);
}

/* The fast device against the plain one. */
static void test_devices(void)
{
    for (size_t i = 0; i < EXEC_MODELS; i++) {
        struct exec_rig a, b;

        CHECK_OK(exec_rig_open(&a, &exec_models[i], "ref"));
        CHECK_OK(exec_rig_open(&b, &exec_models[i], "cpu"));
        CHECK_CLOSE(exec_forward(&b), exec_forward(&a), exec_answers(&a), 2e-5);
        CHECK_OK(exec_backward(&a));
        CHECK_OK(exec_backward(&b));
        CHECK_CLOSE(b.x->dw, a.x->dw, a.g->weights, 2e-4);
        exec_rig_close(&a);
        exec_rig_close(&b);
    }
}

/* ---- memory ---- */

static void test_no_allocation(void)
{
    for (size_t d = 0; ctt_check_hosts[d]; d++)
        for (size_t i = 0; i < EXEC_MODELS; i++) {
            long calls = 0;
            struct exec_rig r;

            CHECK_OK(exec_rig_open(&r, &exec_models[i], ctt_check_hosts[d]));
            for (int window = 0; window < 4; window++) {
                if (window == 2)
                    calls = ctt_alloc_calls();
                r.x->r->stamp++;
                exec_forward(&r);
                CHECK_OK(exec_backward(&r));
            }
            CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
            exec_rig_close(&r);
        }
}

/* Neither do windows of two alternating lengths allocate. */
static void test_two_lengths(void)
{
    struct exec_rig r;
    long calls = 0;

    CHECK_OK(exec_rig_open(&r, &exec_models[0], "cpu"));
    for (int window = 0; window < 6; window++) {
        int steps = STEPS - window % 2 * 3;
        if (window == 4)
            calls = ctt_alloc_calls();
        r.job.steps = r.job.feedback = steps;
        exec_forward(&r);
        CHECK_OK(exec_backward(&r));
    }
    CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
    exec_rig_close(&r);
}

static int all_of_it(const struct exec_model *m)
{
    struct exec_rig r;
    int rc;

    CTT_TRY(exec_rig_open(&r, m, "cpu"));
    CTT_TRY(ctt_exec_forward(r.x, &r.job));
    CTT_TRY(exec_backward(&r));
out:
    exec_rig_close(&r);
    return rc;
}

static void test_failing_allocations(void)
{
    static const size_t some[] = { 1, 3, 5, 7, 9 };

    for (size_t i = 0; i < CTT_LEN(some); i++) {
        int rc = CTT_ENOMEM;

        for (long k = 1; rc == CTT_ENOMEM && k < 5000; k++) {
            ctt_fail_alloc(k);
            rc = all_of_it(&exec_models[some[i]]);
            ctt_fail_alloc(0);
            CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
        }
        CU_ASSERT_EQUAL(rc, 0);
    }
}

/* ---- errors ---- */

static void test_refused_models(void)
{
    static const struct {
        const char *text;
        int n, train, code;
        const char *say;
    } bad[] = {
        { "input x c=2\nstate y1 of=y like=x c=2\nadd s in=x,y1\n"
          "norm y in=s kind=batch\n", 1, 1, CTT_EUNSUP,
          "y: in a loop over time" },
        { "input x c=4 h=2\nconv e in=x out=4\nslice a in=e to=2\n"
          "state s of=e\nslice b in=s to=2\nreshape r in=b c=4\n"
          "add y in=r,r\n", 1, 0, CTT_EUNSUP, "r: cannot reshape a slice" },
        { "input x c=1048576 h=64 w=8\nadd y in=x,x\n", 1 << 30, 0,
          CTT_EINVAL, "x: its values do not fit into memory" },
        { "input x c=1048576 h=64 w=8\nadd y in=x,x\n", 512, 0, CTT_ENOMEM,
          "512 clips and 7 steps: " },
    };

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_graph *g = NULL;
        struct ctt_dev *dev = NULL;
        struct ctt_run *r = NULL;
        int rc = ctt_net_parse(bad[i].text, &g);

        CHECK_OK(ctt_dev_open("ref", 1, &dev));
        if (rc >= 0)
            rc = ctt_run_open(&(struct ctt_run_spec){
                .g = g, .dev = dev, .w = exec_coef, .samples = bad[i].n,
                .steps = STEPS, .train = bad[i].train }, &r);
        ctt_check_refused(rc, bad[i].code, bad[i].say);
        CU_ASSERT_PTR_NULL(r);
        ctt_dev_close(&dev);
        ctt_graph_free(&g);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_refused_calls(void)
{
    struct ctt_run *no = NULL, *r = NULL;
    struct exec_rig rig;

    CHECK_OK(exec_rig_open(&rig, &exec_models[3], "ref"));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
        .g = rig.g, .dev = rig.dev, .w = rig.w, .samples = 2, .steps = STEPS,
        .asks = 3, .train = 1 }, &r));
    r->ask[0] = rig.ask[0];
    ctt_check_refused(ctt_run_open(&(struct ctt_run_spec){
        .g = rig.g, .dev = rig.dev, .w = rig.w, .samples = 0, .steps = 1,
        .asks = 1 }, &no),
                      CTT_EINVAL,
                      "a run of 0 samples");
    ctt_check_refused(ctt_run_open(&(struct ctt_run_spec){
        .g = rig.g, .dev = rig.dev, .w = rig.w, .samples = 1,
        .steps = 1 }, &no),
                      CTT_EINVAL,
                      "needs at least one ask");
    CU_ASSERT_PTR_NULL(no);
    ctt_run_reset(r);
    ctt_check_refused(ctt_run_steps(r, STEPS + 1), CTT_EINVAL,
                      "no room for 8 steps");
    ctt_check_refused(ctt_run_clip(r, 1), CTT_EINVAL, "no step 6 of sample 0");
    CHECK_OK(ctt_run_steps(r, STEPS));
    ctt_check_refused(ctt_run_make_room(r, 1), CTT_EINVAL,
                      "8 steps are more than");
    ctt_check_refused(ctt_run_make_room(r, STEPS + 1), CTT_EINVAL,
                      "do not fit");
    ctt_check_refused(ctt_run_clip(r, 4), CTT_EINVAL, "4 asks, but there");
    r->ask[0].sample = 2;
    ctt_check_refused(ctt_run_clip(r, 1), CTT_EINVAL,
                      "of sample 2 has been run");
    ctt_run_close(&r);
    exec_rig_close(&rig);
}

static CU_TestInfo tests[] = {
    { "gradients", test_gradients },
    { "devices", test_devices },
    { "rounded weights", test_rounded },
    { "no allocation in a window", test_no_allocation },
    { "nor with two lengths", test_two_lengths },
    { "failing allocations", test_failing_allocations },
    { "refused models", test_refused_models },
    { "refused calls", test_refused_calls },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "exec", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
