/* SPDX-License-Identifier: Apache-2.0
 * test_gpu_session.c: inference on the simulated GPU: 16 bits and TF32 beside
 * plain C, sessions that share the device, and recorded clip parts. */
#include "tests/lib/gpu_answers.h"
#include "infer/inside.h"

/* ---- 16 bits ---- */

static const struct { const char *word; float most; } types[] = {
    { "fp32", 1e-5f }, { "tf32", 2e-3f }, { "fp16", 2e-3f }, { "bf16", 2e-3f },
};

/* Cell states and the answer are floats, values between them are not. */
static void check_types(const struct ctt_infer *m, enum ctt_dtype type)
{
    struct ctt_session *s = NULL;
    const struct ctt_run *r;
    int half = 0;

    CHECK_OK(ctt_session_open(m, &s));
    r = ctt_session_run(s);
    for (int i = 0; i < r->g->count; i++) {
        enum ctt_opcode op = r->g->node[i].op;

        if (op == CTT_OP_CELL || i == ctt_graph_output(r->g)) {
            CU_ASSERT_EQUAL(r->slot[i].type, CTT_F32);
        } else if (r->slot[i].type == type) {
            half++;
        }
    }
    CU_ASSERT(half * 3 > r->g->count * 2);
    ctt_session_close(&s);
}

static void close_to_ref(const char *text)
{
    static float want[GPU_ANSWERS][GPU_MOST], got[GPU_ANSWERS][GPU_MOST],
                 more[GPU_ANSWERS][GPU_MOST];
    struct ctt_model *model = gpu_new_model(text);
    struct ctt_infer *m = gpu_open_model(model, "ref");
    int n = gpu_answers(m, 1, want);

    ctt_infer_close(&m);
    m = gpu_open_model(model, "cuda");
    for (size_t t = 0; t < CTT_LEN(types); t++) {
        CHECK_OK(ctt_infer_multiply(m, types[t].word));
        gpu_answers(m, 1, got);
        printf("\n    %s: %.2g", types[t].word,
               (double)gpu_apart(n, got, want));
        CU_ASSERT(gpu_apart(n, got, want) <= types[t].most);
        CU_ASSERT(t < 1 || gpu_apart(n, got, want) > 1e-5f);
        for (int chunk = 2; chunk <= 8; chunk += 3) {
            gpu_answers(m, chunk, more);
            CU_ASSERT(gpu_apart(n, got, more) == 0);
        }
    }
    check_types(m, CTT_BF16);
    ctt_infer_close(&m);
    ctt_model_free(&model);
}

static void test_early(void) { close_to_ref(gpu_early); }
static void test_unet(void) { close_to_ref(gpu_unet); }
static void test_mobile(void) { close_to_ref(gpu_mobile); }

/* ---- a shared device ---- */

static void test_shared(void)
{
    struct ctt_infer *m = stream_open(stream_clip, "cuda");
    struct ctt_session *a = NULL, *b = NULL, *c = NULL;
    const struct ctt_run *x, *y;

    CHECK_OK(ctt_session_open(m, &a));
    CHECK_OK(ctt_infer_multiply(m, "fp16"));
    CHECK_OK(ctt_session_open(m, &b));
    CHECK_OK(ctt_session_open(m, &c));
    x = ctt_session_run(a);
    y = ctt_session_run(b);
    CU_ASSERT_PTR_EQUAL(x->dev, y->dev);
    CU_ASSERT_PTR_EQUAL(x->w, y->w);
    CU_ASSERT(!x->w16 && y->w16 && y->w16 == ctt_session_run(c)->w16);
    ctt_session_close(&a);
    ctt_session_close(&b);
    CHECK_OK(ctt_session_push_float(c, stream_floats, 9));
    ctt_session_close(&c);
    ctt_infer_close(&m);
}

/* ---- recorded clip parts ---- */

/* An answer after each frame; the part is recorded once the windows look at no
 * frame before the first. */
static void test_recorded(void)
{
    struct ctt_infer *of[] = { stream_open(stream_clip, "ref"),
                               stream_open(stream_clip, "cuda") };
    struct ctt_session *s[2] = { NULL, NULL };
    const struct ctt_run *r;

    for (int k = 0; k < 2; k++)
        CHECK_OK(ctt_session_open(of[k], &s[k]));
    r = ctt_session_run(s[1]);
    for (int i = 0; i < LONG; i++) {
        float p[2][MOST_CLASSES];

        for (int k = 0; k < 2; k++) {
            CHECK_OK(ctt_session_push_float(s[k], stream_floats + i * FRAME,
                                            1));
            CHECK_OK(ctt_session_read(s[k], p[k]));
        }
        CHECK_CLOSE(p[1], p[0], ctt_infer_classes(of[0]), 1e-5);
        CU_ASSERT_EQUAL(r->place[2 * r->room] != NULL,
                        i >= (9 + r->room - 1) / r->room * r->room);
    }
    for (int k = 0; k < 2; k++) {
        ctt_session_close(&s[k]);
        ctt_infer_close(&of[k]);
    }
}

static CU_TestInfo tests[] = {
    { "Conv-TT-LSTM in 16 bits", test_early },
    { "U-Net in 16 bits", test_unet },
    { "mobile net in 16 bits", test_mobile },
    { "a shared device", test_shared }, { "recorded clips", test_recorded },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "sessions on a GPU", .pTests = tests },
        CU_SUITE_INFO_NULL
    };

    return gpu_answers_main(suites);
}
