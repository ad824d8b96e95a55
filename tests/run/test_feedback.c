/* SPDX-License-Identifier: Apache-2.0
 * test_feedback.c: answers fed back as input, gradients through windows, and
 * the nodes fused into kernels of a batch. */
#include "tests/lib/batch.h"
#include "tests/lib/check.h"

#include <string.h>

/* ---- answers fed back ---- */

/* The same model without the mix, one step at a time; the test chooses its
 * input. */
static void step_loop(const struct batch *r, const char *text, float *y)
{
    static const char names[] = "frame";
    struct ctt_graph *g = NULL;
    struct ctt_run *run = NULL;
    int frame = ctt_graph_find(r->g, names), seen = ctt_graph_find(r->g,
                                                                   "seen");
    int64_t n = r->one / r->m->n;
    static float in[MOST], mask[64];

    CHECK_OK(ctt_net_parse(text, &g));
    CU_ASSERT_EQUAL_FATAL(g->weights, r->g->weights);
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
        .g = g, .dev = r->dev, .w = r->w, .samples = r->m->n,
        .steps = 1 }, &run));
    for (int t = 0; t < STEPS; t++) {
        ctt_check_fill(in, r->one, 100 + (uint64_t)t + 1000 * (uint64_t)frame);
        ctt_check_fill(mask, r->m->n,
                       100 + (uint64_t)t + 1000 * (uint64_t)seen);
        for (int64_t i = 0; i < r->one && t >= r->m->feedback; i++)
            if (mask[i / n] <= 0.2f)
                in[i] = y[(t - 1) * r->one + i];
        CHECK_OK(ctt_run_make_room(run, 1));
        memcpy(ctt_run_value(run, 0, run->cursor), in,
               (size_t)r->one * sizeof(float));
        CHECK_OK(ctt_run_steps(run, 1));
        memcpy(y + t * r->one,
               ctt_run_value(run, ctt_graph_output(g), run->cursor - 1),
               (size_t)r->one * sizeof(float));
    }
    ctt_run_close(&run);
    ctt_graph_free(&g);
}

static void test_step_loop(void)
{
    static const struct batch_model m = {
        "input frame h=4 w=4 c=1\n"
        "input seen c=1\n"
        "state back of=y like=frame c=1\n"
        "mix x in=frame,back,seen\n"
        "convttlstm l in=x hidden=3 kernel=3 order=2 steps=3 rank=2\n"
        "convlstm m in=l hidden=2\n"
        "conv o in=m out=1\n"
        "act y in=o kind=sigmoid\n", 3, .feedback = 4 };
    static const char plain[] =
        "input x h=4 w=4 c=1\n"
        "convttlstm l in=x hidden=3 kernel=3 order=2 steps=3 rank=2\n"
        "convlstm m in=l hidden=2\n"
        "conv o in=m out=1\n"
        "act y in=o kind=sigmoid\n";
    static float want[MOST];
    struct batch r;

    for (int window = 0; window < 4; window++) {
        CHECK_OK(batch_open(&r, &m, "ref", window, 1));
        CHECK_OK(ctt_exec_forward(r.x, &r.job));
        step_loop(&r, plain, want);
        CU_ASSERT(memcmp(want, r.y, (size_t)r.answers * sizeof(float)) == 0);
        batch_close(&r);
    }
}

/* The same graph run step by step: feedback begins between two steps. */
static void test_streamed(void)
{
    for (size_t i = FEEDBACK; i < BATCH_MODELS; i++)
        for (int room = 1; room < 4; room++) {
            const struct batch_model *m = &batch_models[i];
            struct ctt_run *run = NULL;
            struct batch r;

            CHECK_OK(batch_open(&r, m, "ref", 0, ALL));
            r.x->r->train = 0;
            CHECK_OK(ctt_exec_forward(r.x, &r.job));
            CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
                .g = r.g, .dev = r.dev, .w = r.w, .samples = m->n,
                .steps = room }, &run));
            for (int t = 0; t < STEPS; t++) {
                run->feedback = t >= m->feedback;
                CHECK_OK(ctt_run_make_room(run, 1));
                for (int k = 0; k < r.g->count; k++)
                    if (r.g->node[k].op == CTT_OP_INPUT)
                        batch_input(run, k, run->cursor, t);
                CHECK_OK(ctt_run_steps(run, 1));
                CU_ASSERT(memcmp(ctt_run_value(run, r.out, run->cursor - 1),
                                 r.y + t * r.one,
                                 (size_t)r.one * sizeof(float)) == 0);
            }
            ctt_run_close(&run);
            batch_close(&r);
        }
}

static double loss(void *arg)
{
    struct batch *r = arg;
    double sum = 0;

    CHECK_OK(ctt_exec_forward(r->x, &r->job));
    for (int64_t i = 0; i < r->answers; i++)
        sum += (double)r->y[i] * (double)r->coef[i];
    return sum;
}

/* Of every 17th of n weights from `at` on. */
static void check_slopes(struct batch *r, int64_t at, int64_t n)
{
    const float eps = 1e-3f;    /* small: maxima have kinks */

    for (int64_t i = at; i < at + n; i += 17)
        ctt_check_slope(loss, r, &r->w[i], eps, r->x->dw[i], 6e-3);
}

/* Finite differences through the feedback. */
static void test_gradients(void)
{
    for (size_t i = 0; i < BATCH_MODELS; i++) {
        struct batch r;

        if (batch_models[i].batch || batch_models[i].rounds)
            continue;
        CHECK_OK(batch_open(&r, &batch_models[i], "ref", 2, 1));
        CHECK_OK(batch_run(&r));
        for (int k = 0; k < r.g->count; k++)
            for (int j = 0; j < r.g->node[k].nw; j++)
                check_slopes(&r, r.g->node[k].at[j],
                             ctt_volume(&r.g->node[k].w[j]));
        batch_close(&r);
    }
}

/* Gradients: zeros for y, and ones at the first step for the node it reads. */
static int seed_inside(void *arg, struct ctt_exec *x,
                       const struct ctt_window *p)
{
    const struct batch *r = arg;
    int a = ctt_graph_find(x->r->g, "a");
    int64_t n = x->r->slot[a].size;
    static const float zeros[64];
    static float ones[64];
    int rc = 0;

    CU_ASSERT_FATAL(p->steps * r->one <= 64 && n <= 64);
    for (int64_t i = 0; i < n; i++)
        ones[i] = 1;
    CTT_TRY(ctt_exec_put_grad(x, r->out, 0, zeros,
                              p->steps * r->one / x->r->slot[r->out].ld));
    CTT_TRY(ctt_exec_put_grad(x, a, 0, ones, n / x->r->slot[a].ld));
out:
    return rc;
}

/* The caller may seed the gradient of a node with one reader, which would
 * otherwise overwrite it. */
static void test_seeds_inside(void)
{
    static const struct batch_model m = {
        "input x c=3\nconv a in=x out=2\nconv y in=a out=4\n", 2 };
    struct batch r;

    CHECK_OK(batch_open(&r, &m, "ref", 2, ALL));
    CHECK_OK(batch_run(&r));    /* leaves old numbers */
    r.job.seed = seed_inside;
    for (int twice = 0; twice < 2; twice++) {    /* windows: 1, 2, 2, 2, 2 */
        const struct ctt_node *a = &r.g->node[ctt_graph_find(r.g, "a")];
        CHECK_OK(batch_run(&r));
        for (int64_t i = 0; i < a->out.c; i++)    /* of its bias */
            CU_ASSERT_EQUAL(r.x->dw[a->at[1] + i], m.n * 5);
    }
    batch_close(&r);
}

/* ---- fusion in kernels ---- */

static void test_plain(void)
{
    static const unsigned plain[] = { CTT_RUN_NO_LSTM, CTT_RUN_NO_PAIR,
                                      CTT_RUN_DW_EACH, 7 };

    for (size_t d = 0; ctt_check_hosts[d]; d++)
        for (size_t i = 0; i < BATCH_MODELS; i++)
            for (size_t k = 0; k < CTT_LEN(plain); k++) {
                struct batch a, b;

                CHECK_OK(batch_open(&a, &batch_models[i], ctt_check_hosts[d],
                                    3, 1));
                CHECK_OK(batch_open(&b, &batch_models[i], ctt_check_hosts[d],
                                    3, 1));
                b.x->r->plain = plain[k];
                CHECK_OK(batch_run(&a));
                CHECK_OK(batch_run(&b));
                CHECK_CLOSE(b.y, a.y, a.answers, 2e-5);
                CHECK_CLOSE(b.x->dw, a.x->dw, a.g->weights, 2e-4);
                batch_close(&a);
                batch_close(&b);
            }
}

/* Large enough for the kernels with fusion. */
static void test_devices(void)
{
    static const struct batch_model m = {
        "input frame h=16 w=12 c=1\n"
        "input seen c=1\n"
        "state back of=y like=frame c=1\n"
        "mix x in=frame,back,seen\n"
        "convttlstm l in=x hidden=16 kernel=5 order=2 steps=3 rank=8\n"
        "convlstm m in=l hidden=16\n"
        "conv o in=m out=1\n"
        "act y in=o kind=sigmoid\n", 2, .feedback = 5 };
    struct batch a, b;

    for (int window = 0; window < 3; window++) {
        CHECK_OK(batch_open(&a, &m, "ref", window, 1));
        CHECK_OK(batch_open(&b, &m, "cpu", window, 1));
        for (int64_t i = 0; i < a.g->weights; i++)
            a.w[i] = b.w[i] = a.w[i] / 4;    /* gates not all shut */
        CHECK_OK(batch_run(&a));
        CHECK_OK(batch_run(&b));
        CHECK_CLOSE(b.y, a.y, a.answers, 2e-5);
        CHECK_CLOSE(b.x->dw, a.x->dw, a.g->weights, 3e-4);
        batch_close(&a);
        batch_close(&b);
    }
}

/* A session, which need not store gates, if another node reads them; and two
 * convs of one sum with different kernel sizes. */
static void test_not_fused(void)
{
    static const struct batch_model m = {
        "input x h=16 w=12 c=8\n"
        "conv zx in=x out=64 kernel=3 pad=1\n"
        "state h1 of=l like=zx c=16\n"
        "conv z in=h1 plus=zx out=64 kernel=3 pad=1\n"
        "state c1 of=c like=zx c=16\n"
        "lstm l in=z,c1\n"
        "cell c in=l\n"
        "slice g in=z from=16 to=32\n"
        "add s in=l,g\n"
        "conv p in=s out=16 kernel=5 pad=2\n"
        "conv y in=s plus=p out=16 kernel=3 pad=1\n", 1 };
    struct ctt_run *run = NULL;
    struct ctt_dev *cpu = NULL;
    struct batch r;

    CHECK_OK(batch_open(&r, &m, "ref", 0, ALL));
    CHECK_OK(batch_run(&r));
    CHECK_OK(ctt_dev_open("cpu", 1, &cpu));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
        .g = r.g, .dev = cpu, .w = r.w, .samples = 1, .steps = 1 }, &run));
    for (int t = 0; t < STEPS; t++) {
        CHECK_OK(ctt_run_make_room(run, 1));
        batch_input(run, 0, 0, t);
        CHECK_OK(ctt_run_steps(run, 1));
        CHECK_CLOSE(ctt_run_value(run, r.out, 0), r.y + t * r.one, r.one,
                    2e-4);
    }
    ctt_run_close(&run);
    ctt_dev_close(&cpu);
    batch_close(&r);
}

/* Wide enough for the fused kernels of "cpu". */
static const struct batch_model wide = {
    "input frame h=8 w=8 c=1\n"
    "input seen c=1\n"
    "state back of=y like=frame c=1\n"
    "mix x in=frame,back,seen\n"
    "convlstm l in=x hidden=16 kernel=3\n"
    "conv o in=l out=1\n"
    "act y in=o kind=sigmoid\n", 2, .feedback = 4 };

/* Kernel calls of a node in one batch; -1: nothing is fused. */
static int64_t calls_of(const char *name, const char *device, unsigned plain)
{
    struct ctt_profile p[64][CTT_PASSES];
    const char *impl;
    struct batch r;
    int64_t n;
    int z;

    CHECK_OK(batch_open(&r, &wide, device, 0, ALL));
    CU_ASSERT_FATAL(r.g->count <= 64);
    memset(p, 0, sizeof(p));
    r.x->r->plain = plain;
    ctt_dev_profile(r.dev, r.g, p);
    CHECK_OK(ctt_exec_forward(r.x, &r.job));
    ctt_dev_profile(r.dev, r.g, NULL);
    CU_ASSERT_FATAL(ctt_graph_find(r.g, name) >= 0);
    n = p[ctt_graph_find(r.g, name)][CTT_FWD].calls;
    z = ctt_graph_find(r.g, "l.z");
    CU_ASSERT_FATAL(z >= 0);
    impl = ctt_dev_impl(r.dev, r.x->r->cache[z][CTT_CACHE_FWD], CTT_FWD);
    if (!plain && strcmp(device, "cpu") == 0 && !strstr(impl, "+pair+lstm"))
        n = -1;
    batch_close(&r);
    return n;
}

/* Free and bound nodes, with and without fusion. */
static void test_calls(void)
{
    static const struct { const char *device; unsigned plain; } none[] = {
        { "ref", 0 }, { "ref", 7 }, { "cpu", 7 },
    };
    int each = STEPS - wide.feedback;

    for (size_t k = 0; k < CTT_LEN(none); k++) {
        const char *d = none[k].device;
        CU_ASSERT_EQUAL(calls_of("l.zx", d, none[k].plain), 1 + each);
        CU_ASSERT_EQUAL(calls_of("l.z", d, none[k].plain), STEPS);
        CU_ASSERT_EQUAL(calls_of("l", d, none[k].plain), STEPS);
        CU_ASSERT_EQUAL(calls_of("x", d, none[k].plain), 1 + each);
        CU_ASSERT_EQUAL(calls_of("o", d, none[k].plain), 1 + each);
    }
    if (calls_of("l", "cpu", 0) < 0)
        return;    /* this processor has no such kernel */
    CU_ASSERT_EQUAL(calls_of("l.zx", "cpu", 0), 1);
    CU_ASSERT_EQUAL(calls_of("l.zx", "cpu", CTT_RUN_NO_PAIR), 1 + each);
    CU_ASSERT_EQUAL(calls_of("l.z", "cpu", 0), STEPS);
    CU_ASSERT_EQUAL(calls_of("l", "cpu", 0), 0);
    CU_ASSERT_EQUAL(calls_of("l", "cpu", CTT_RUN_NO_LSTM), STEPS);
    CU_ASSERT_EQUAL(calls_of("o", "cpu", 0), 1 + each);
}

static CU_TestInfo tests[] = {
    { "feedback is the step loop", test_step_loop },
    { "feedback is streamed", test_streamed },
    { "gradients", test_gradients },
    { "seeds inside", test_seeds_inside },
    { "with and without fusion", test_plain },
    { "devices", test_devices },
    { "what cannot be fused", test_not_fused },
    { "calls", test_calls },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "feedback", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
