/* SPDX-License-Identifier: Apache-2.0
 * test_options.c: opening with options, devices, warnings, and times of
 * nodes. */
#include "tests/lib/stream.h"

#include <stdio.h>
#include <string.h>

/* The same answers as after ctt_infer_open(), whatever says the defaults. */
static void test_open(void)
{
    struct ctt_infer_options all = { .size = sizeof(all), .device = "ref",
        .threads = 1, .type = "fp32" };
    const char *path = stream_model(stream_clip, NULL, 0);
    struct ctt_infer *m = NULL, *plain = NULL;
    struct stream a = { .chunk = 1 }, b = a;

    CHECK_OK(ctt_infer_open_with(path, &all, &m));
    CHECK_OK(ctt_infer_open(path, "ref", 1, &plain));
    a.m = m;
    b.m = plain;
    stream_run(&a);
    stream_run(&b);
    CU_ASSERT(memcmp(a.probs, b.probs, sizeof(a.probs)) == 0);
    ctt_infer_close(&m);
    CHECK_OK(ctt_infer_open_with(path, NULL, &m));
    a = (struct stream){ .m = m, .chunk = 1 };
    stream_run(&a);
    CHECK_CLOSE(a.probs, b.probs, MOST_CLASSES, 1e-5);
    ctt_infer_close(&m);
    all = (struct ctt_infer_options){ .size = sizeof(all), .threads = 1,
        .tune = 1, .tune_file = "" };
    CHECK_OK(ctt_infer_open_with(path, &all, &m));
    a = (struct stream){ .m = m, .chunk = 1 };
    stream_run(&a);
    CHECK_CLOSE(a.probs, b.probs, MOST_CLASSES, 1e-5);
    ctt_infer_close(&m);
    ctt_infer_close(&plain);
}

static void test_refused(void)
{
    static const struct {
        struct ctt_infer_options o;
        const char *message;
    } bad[] = {
        { { .size = 0 }, "not sizeof(struct ctt_infer_options)" },
        { { .size = sizeof(bad[0].o), .device = "gpu" }, "no device 'gpu'" },
        { { .size = sizeof(bad[0].o), .threads = -1 }, "-1 threads" },
        { { .size = sizeof(bad[0].o), .type = "fp8" }, "no type 'fp8'" },
        { { .size = sizeof(bad[0].o), .tune_file = "t" }, "but tune is 0" },
        { { .size = sizeof(bad[0].o), .memory = -5 }, "for memory" },
    };
    const char *path = stream_model(stream_clip, NULL, 0);
    struct ctt_infer *m = NULL;

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        stream_refused(ctt_infer_open_with(path, &bad[i].o, &m), CTT_EINVAL,
                       bad[i].message);
        CU_ASSERT(m == NULL);
    }
    stream_refused(ctt_infer_open_with(NULL, NULL, &m), CTT_EINVAL,
                   "path is NULL");
    stream_refused(ctt_infer_open_with(path, NULL, NULL), CTT_EINVAL,
                   "out is NULL");
    stream_refused(ctt_infer_open_with(path, &(struct ctt_infer_options){
        .size = sizeof(struct ctt_infer_options), .memory = 1 }, &m),
                   CTT_ENOMEM, "memory limit");
    CHECK_OK(ctt_infer_limits(&(struct ctt_infer_limits){ .memory = 0 }));
}

static void test_devices(void)
{
    int cpu = 0, ref = 0, n = 0;

    for (; ctt_infer_device(n); n++) {
        cpu |= strcmp(ctt_infer_device(n), "cpu") == 0;
        ref |= strcmp(ctt_infer_device(n), "ref") == 0;
    }
    CU_ASSERT(cpu && ref && n >= 2);
    CU_ASSERT(!ctt_infer_device(-1) && !ctt_infer_device(n + 1));
    CU_ASSERT(strcmp(ctt_infer_version(), CTT_INFER_VERSION) == 0);
    CU_ASSERT(strncmp(CTT_INFER_VERSION, CTT_VERSION ".",
                      sizeof(CTT_VERSION)) == 0);
}

struct heard { int lines; char last[256]; };

static void hear(void *arg, const char *message)
{
    struct heard *h = arg;

    h->lines++;
    snprintf(h->last, sizeof(h->last), "%s", message);
}

/* "ref" has no kernels for 16 bits on any processor. */
static void test_log(void)
{
    struct ctt_infer *m = stream_open(stream_clip, "ref");
    struct ctt_session *s = NULL;
    struct heard h = { 0, "" };

    CHECK_OK(ctt_infer_multiply(m, "bf16"));
    CHECK_OK(ctt_session_open(m, &s));
    ctt_session_close(&s);
    ctt_infer_log(hear, &h);
    CHECK_OK(ctt_session_open(m, &s));
    ctt_session_close(&s);
    CU_ASSERT_EQUAL(h.lines, 1);
    CU_ASSERT(strstr(h.last, "no kernels for bf16") && !strchr(h.last, '\n'));
    CHECK_OK(ctt_infer_multiply(m, "fp32"));
    CHECK_OK(ctt_session_open(m, &s));
    ctt_session_close(&s);
    CU_ASSERT_EQUAL(h.lines, 1);
    CHECK_OK(ctt_infer_multiply(m, "fp16"));
    CHECK_OK(ctt_session_open(m, &s));
    ctt_session_close(&s);
    CU_ASSERT(h.lines == 2 && strstr(h.last, "no kernels for fp16 here "
                                     "(AVX512-FP16), so convs multiply"));
    ctt_infer_log(NULL, NULL);
    CHECK_OK(ctt_infer_multiply(m, "bf16"));
    CHECK_OK(ctt_session_open(m, &s));
    ctt_session_close(&s);
    CU_ASSERT_EQUAL(h.lines, 2);
    ctt_infer_close(&m);
}

/* Of all nodes: calls, and milliseconds. */
static void sum_nodes(struct ctt_session *s, int64_t *calls, double *ms)
{
    struct ctt_infer_node n;

    *calls = 0;
    *ms = 0;
    for (int i = 0; ctt_session_node(s, i, &n) >= 0; i++) {
        CU_ASSERT(n.name[0] && n.op[0] && n.ms >= 0);
        CU_ASSERT((n.calls > 0) == (n.ms > 0));
        if (n.calls && strcmp(n.op, "conv") == 0)
            CU_ASSERT(n.kernel[0] != 0);
        *calls += n.calls;
        *ms += n.ms;
    }
}

static void test_nodes(void)
{
    struct ctt_infer *m = stream_open(stream_clip, "cpu");
    struct ctt_session *s = NULL;
    struct ctt_infer_node n;
    int64_t calls, once;
    double ms;

    CHECK_OK(ctt_session_open(m, &s));
    sum_nodes(s, &calls, &ms);
    CU_ASSERT(calls == 0 && ms == 0);
    CHECK_OK(ctt_session_time_nodes(s, 1));
    CHECK_OK(ctt_session_push(s, stream_bytes, 1));
    sum_nodes(s, &once, &ms);
    CU_ASSERT(once >= 2 && ms > 0);
    CHECK_OK(ctt_session_push(s, stream_bytes, 1));
    sum_nodes(s, &calls, &ms);
    CU_ASSERT_EQUAL(calls, 2 * once);
    CHECK_OK(ctt_session_time_nodes(s, 0));
    CHECK_OK(ctt_session_push(s, stream_bytes, 1));
    sum_nodes(s, &calls, &ms);
    CU_ASSERT_EQUAL(calls, 2 * once);
    CHECK_OK(ctt_session_time_nodes(s, 1));
    sum_nodes(s, &calls, &ms);
    CU_ASSERT_EQUAL(calls, 0);
    CHECK_OK(ctt_session_node(s, 0, &n));
    CU_ASSERT(strcmp(n.name, "x") == 0 && strcmp(n.op, "input") == 0);
    stream_refused(ctt_session_node(s, -1, &n), CTT_EINVAL, "no node -1");
    stream_refused(ctt_session_node(s, 999, &n), CTT_EINVAL, "no node 999");
    stream_refused(ctt_session_node(NULL, 0, &n), CTT_EINVAL, "s is NULL");
    stream_refused(ctt_session_node(s, 0, NULL), CTT_EINVAL, "node is NULL");
    stream_refused(ctt_session_time_nodes(NULL, 1), CTT_EINVAL, "s is NULL");
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

static CU_TestInfo tests[] = {
    { "open", test_open },
    { "refused options", test_refused },
    { "devices and version", test_devices },
    { "warnings", test_log },
    { "times of nodes", test_nodes },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "options", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return stream_main(suites);
}
