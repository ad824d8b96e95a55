/* SPDX-License-Identifier: Apache-2.0
 * test_profile.c: spans by thread, the work of calls, sums by node, bounds, and
 * the trace and the table that are written. */
#include "base/newfile.h"
#include "base/span.h"
#include "tests/lib/check.h"
#include "tools/bench/bench_tool.h"
#include "tools/profile/profile.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* ---- spans ---- */

static void *record(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++)
        ctt_span_add(CTT_SPAN_LOAD, NULL, 1, 1.5);
    return NULL;
}

static void test_spans(void)
{
    const struct ctt_span *s;
    pthread_t id[2];
    int64_t n;

    ctt_span_end(CTT_SPAN_STEP, ctt_span_begin());    /* off: nothing */
    CHECK_OK(ctt_spans_open(150));
    CU_ASSERT(ctt_span_begin() > 0);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(pthread_create(&id[i], NULL, record, NULL), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(id[i], NULL);
    ctt_span_add(CTT_SPAN_STEP, NULL, 2, 4);
    ctt_spans_stop();
    CU_ASSERT_EQUAL(ctt_span_begin(), 0);
    s = ctt_spans_get(&n);
    CU_ASSERT_EQUAL(n, 150);    /* as many as there is room for */
    for (int64_t i = 0; i < n; i++)
        CU_ASSERT(s[i].start == 1 && s[i].end == 1.5 && s[i].thread >= 0);
    CU_ASSERT_EQUAL(ctt_spans_sum(CTT_SPAN_LOAD).count, 200);    /* all */
    CU_ASSERT(fabs(ctt_spans_sum(CTT_SPAN_LOAD).seconds - 100) < 1e-6);
    CU_ASSERT_EQUAL(ctt_spans_sum(CTT_SPAN_STEP).count, 1);
    ctt_spans_close();
}

/* ---- work ---- */

static struct ctt_tensor tensor(int64_t n, int64_t d, int64_t h, int64_t w,
                                int64_t c, enum ctt_dtype type)
{
    static float there;

    return (struct ctt_tensor){ &there, type, n, d, h, w, c, c, 0, 0 };
}

static void check_work(const struct ctt_call *c, enum ctt_pass pass,
                       double flops, double bytes)
{
    struct ctt_call_work w = ctt_call_work(c, pass);

    if (w.flops != flops || w.bytes != bytes)
        printf("\n    %.17g of %.17g, %.17g of %.17g", w.flops, flops, w.bytes,
               bytes);
    CU_ASSERT_EQUAL(w.flops, flops);
    CU_ASSERT_EQUAL(w.bytes, bytes);
}

/* A conv of 2 images of 8x8, from 3 to 5 channels, 3x3. */
static void test_work(void)
{
    struct ctt_node conv = { .op = CTT_OP_CONV, .nin = 1, .nw = 2 };
    struct ctt_call c = { .node = &conv };
    const double once = 2.0 * 128 * 135, x = 4 * 384, y = 4 * 640, w = 4 * 135;

    c.in[0] = tensor(2, 1, 8, 8, 3, CTT_F32);
    c.out = tensor(2, 1, 8, 8, 5, CTT_F32);
    c.w[0].t = tensor(5, 1, 3, 3, 3, CTT_F32);
    c.w[1].t = tensor(1, 1, 1, 1, 5, CTT_F32);
    check_work(&c, CTT_FWD, once, x + y + w + 20);
    CU_ASSERT_STRING_EQUAL(ctt_call_type(&c), "fp32");
    c.mul = CTT_BF16;
    CU_ASSERT_STRING_EQUAL(ctt_call_type(&c), "bf16");
    c.in[0].dtype = CTT_U8;
    c.in[0].scale = 1;
    CU_ASSERT_STRING_EQUAL(ctt_call_type(&c), "int8");
    check_work(&c, CTT_FWD, once, x / 4 + y + w + 20);

    /* Gradients: of the input from the result's and the kernel, of the weights
     * from the result's and the input; both add. */
    c = (struct ctt_call){ .node = &conv, .w[0] = c.w[0] };
    c.in[0] = tensor(2, 1, 8, 8, 3, CTT_F32);
    c.dout = tensor(2, 1, 8, 8, 5, CTT_F32);
    c.din[0] = tensor(2, 1, 8, 8, 3, CTT_F32);
    check_work(&c, CTT_BWD, once, y + x + w);
    c.dw[0] = tensor(5, 1, 3, 3, 3, CTT_F32);
    check_work(&c, CTT_BWD, 2 * once, y + x + w + x + 2 * w);
    c.din[0].data = NULL;
    check_work(&c, CTT_BWD, once, y + x + 2 * w);
}

/* ---- sums by node ---- */

static const char net[] = "input x h=8 w=8 c=3 mean=0 std=1\n"
    "conv a in=x out=5 kernel=3 pad=1\nact f in=a kind=tanh\n"
    "pool p in=f kind=avg\nconv y in=p out=2\n";

enum { FRAMES = 7 };

static void run_frames(void)
{
    struct ctt_stepper s = { .g = NULL };
    struct ctt_model *m = NULL;
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse(net, &g));
    CHECK_OK(ctt_model_new(g, &m));
    CHECK_OK(ctt_stepper_open(m, "ref", 1, 0, &s));
    for (int i = 0; i < FRAMES; i++)
        CHECK_OK(ctt_stepper_step(&s));
    ctt_stepper_close(&s);
    ctt_model_free(&m);
}

static const struct ctt_node_row *row_of(const struct ctt_node_row *r, int n,
                                         const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(r[i].name, name) == 0)
            return &r[i];
    CU_FAIL_FATAL("no such node");
    return NULL;
}

/* Two runs of the same model, in places of memory that may be the same, are one
 * row a node. */
static void test_sums(void)
{
    struct ctt_node_row *r = NULL;
    const struct ctt_node_row *a;
    double seconds = 0;
    int n = 0;

    CHECK_OK(ctt_spans_open(1000));
    CHECK_OK(ctt_node_times_open());
    run_frames();
    run_frames();
    ctt_spans_stop();
    CHECK_OK(ctt_node_times_rows(&r, &n));
    a = row_of(r, n, "a");
    CU_ASSERT_EQUAL(a->calls, 2 * FRAMES);
    CU_ASSERT_EQUAL(a->flops, 2.0 * FRAMES * 2 * 64 * 135);
    CU_ASSERT_STRING_EQUAL(a->shape, "1x1x8x8x5");
    CU_ASSERT_STRING_EQUAL(a->op, "conv");
    CU_ASSERT_STRING_EQUAL(a->kernel, "plain");
    CU_ASSERT_EQUAL(row_of(r, n, "y")->flops, 2.0 * FRAMES * 2 * 10);
    for (int i = 0; i < n; i++) {
        CU_ASSERT(i == 0 || r[i].seconds <= r[i - 1].seconds);
        seconds += r[i].seconds;
    }
    CU_ASSERT(fabs(seconds - ctt_spans_sum(CTT_SPAN_NODE).seconds) < 1e-6);
    ctt_free(r);
    ctt_node_times_close();
    run_frames();    /* nobody looks */
    ctt_spans_close();
}

/* ---- bounds ---- */

static void test_bounds(void)
{
    const struct ctt_ceiling c = { .floats = 100, .ints = 400, .copy = 10 };
    struct ctt_node_row r = { .type = "fp32", .seconds = 1, .flops = 5e10,
                              .bytes = 1e9 };
    struct ctt_bound b = ctt_bound_of(&c, &r);

    CU_ASSERT_STRING_EQUAL(b.by, "arithmetic");
    CU_ASSERT(fabs(b.best - 0.5) < 1e-9 && fabs(b.share - 0.5) < 1e-9);
    r.type = "int8";    /* 0.125 s of products, 0.1 s of bytes */
    CU_ASSERT(fabs(ctt_bound_of(&c, &r).share - 0.125) < 1e-9);
    r.bytes = 2e9;
    b = ctt_bound_of(&c, &r);
    CU_ASSERT_STRING_EQUAL(b.by, "memory");
    CU_ASSERT(fabs(b.best - 0.2) < 1e-9);
}

static void test_ceiling(void)
{
    struct ctt_ceiling c;

    CHECK_OK(ctt_ceiling_measure("ref", 1, 0, 1 << 20, &c));
    CU_ASSERT(c.floats > 0 && c.copy > 0 && c.ints == 0 && c.threads == 1);
}

/* ---- files ---- */

static char *text_of(int (*print)(FILE *, const void *), const void *arg)
{
    char *text = NULL;

    CHECK_OK(ctt_text_collect("a profile", print, arg, &text));
    return text;
}

/* Names that JSON and CSV have to escape, though the language has none. */
static const char evil[] = "a\"b\\c,</script>\n\x01";

static void test_files(void)
{
    struct ctt_node_row r = { .type = "fp32", .op = "conv", .calls = 3,
        .shape = "1x1x8x8x5", .kernel = "k,\"l", .seconds = 1, .flops = 2e9,
        .bytes = 1e6 };
    const struct ctt_profile_said said = { &r, 1,
        { 10, 0, 5, 1 << 20, 2 }, "cpu" };
    struct ctt_value *v = NULL;
    const struct ctt_value *event, *node;
    char *text;
    double x = 0;

    snprintf(r.name, sizeof(r.name), "%s", evil);
    CHECK_OK(ctt_spans_open(10));
    ctt_span_add(CTT_SPAN_NODE, r.name, 5, 5.25);
    ctt_span_add(CTT_SPAN_STEP, NULL, 4.5, 6);
    ctt_spans_stop();
    text = text_of(ctt_profile_trace, &said);
    CHECK_OK(ctt_json_parse("trace", 1, text, &v));
    event = ctt_json_get(v, "traceEvents");
    CU_ASSERT_EQUAL(ctt_json_size(event), 3);    /* a thread, two spans */
    event = ctt_json_at(event, ctt_json_size(event) - 2);
    CU_ASSERT_STRING_EQUAL(ctt_json_text(ctt_json_get(event, "name")), evil);
    CU_ASSERT(ctt_json_real(ctt_json_get(event, "ts"), 0, &x) && x == 5e5);
    CU_ASSERT(ctt_json_real(ctt_json_get(event, "dur"), 0, &x) && x == 2.5e5);
    node = ctt_json_at(ctt_json_get(v, "nodes"), 0);
    CU_ASSERT_STRING_EQUAL(ctt_json_text(ctt_json_get(node, "node")), evil);
    CU_ASSERT(ctt_json_real(ctt_json_get(node, "gflops"), 0, &x) && x == 2);
    CU_ASSERT_STRING_EQUAL(ctt_json_text(ctt_json_get(node, "bound")),
                           "arithmetic");
    ctt_json_free(&v);
    ctt_free(text);
    text = text_of(ctt_profile_csv, &said);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\n\"a\"\"b\\c,</script> "));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, ",\"k,\"\"l\",3,"));
    ctt_free(text);
    ctt_spans_close();
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "spans", test_spans }, { "work", test_work }, { "sums", test_sums },
        { "bounds", test_bounds }, { "ceiling", test_ceiling },
        { "files", test_files }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "profile", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };

    return ctt_check_main(suites);
}
