/* SPDX-License-Identifier: Apache-2.0
 * test_gpu_bytes.c: inference on the simulated GPU in bytes: the bits of plain
 * C, also of 2:4 weights, and whole models. */
#include "tests/lib/gpu_answers.h"
#include "tests/lib/int8.h"
#include "device/dev.h"
#include "infer/inside.h"
#include "net/quant.h"
#include "net/rewrite/edit.h"
#include "net/rewrite/edit_quant.h"

#include <stdlib.h>
#include <string.h>

/* ---- convs ---- */

static struct ctt_dev *ref, *gpu;

static void *up(const void *from, int64_t bytes)
{
    void *p = NULL;

    CHECK_OK(ctt_dev_alloc(gpu, "a test", bytes, &p));
    CHECK_OK(ctt_dev_copy(gpu, CTT_TO_DEVICE, from, p, bytes));
    return p;
}

/* Bytes of the GPU are 128 less, or back. */
static void shift(uint8_t *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        p[i] ^= 0x80;
}

static int64_t tensor_bytes(const struct ctt_tensor *t)
{
    return ctt_rows(t) * t->ld * ctt_dtype_size(t->dtype);
}

static void tensor_up(struct ctt_tensor *t)
{
    uint8_t *host = t->data;

    if (!host)
        return;
    if (ctt_is_bytes(t)) {
        shift(host, tensor_bytes(t));
        t->dtype = CTT_I8;
        t->zero -= CTT_I8_LESS;
    }
    t->data = up(host, tensor_bytes(t));
}

#define TWO "int8:cusparselt"

/* 1 on a GPU whose machine lacks the library that computes 2:4 weights, or the
 * header of it did when the module was built; the simulation has both. */
static int lacks_library(const struct ctt_int8_try *j, const char *code)
{
    static const char no[] = "no libcusparseLt.so.",
                      without[] = "built without cuSPARSELt";
    const char *why = ctt_dev_why(gpu, j->cache, CTT_FWD);
    int lacks = strcmp(code, TWO) == 0 &&
                !strstr(getenv("CTT_MODULES"), "tests/sim/") &&
                (strncmp(why, no, strlen(no)) == 0 ||
                 strncmp(why, without, strlen(without)) == 0);

    if (lacks)
        printf("\n    skipped: %s", why);
    return lacks;
}

/* Runs the call of j on the GPU; its result is then in j->y.  code: begins the
 * kernel's name. */
static void run_on_gpu(struct ctt_int8_try *j, const char *code)
{
    struct ctt_call c = j->call;

    for (int k = 0; k < c.node->nin; k++)
        tensor_up(&c.in[k]);
    tensor_up(&c.out);
    for (int k = 0; k < c.node->nw; k++)
        if (c.w[k].t.data)
            c.w[k].t.data = up(c.w[k].t.data, 4 * ctt_volume(&c.w[k].t));
    CHECK_OK(ctt_dev_run(gpu, &c, CTT_FWD));
    CHECK_OK(ctt_dev_copy(gpu, CTT_TO_HOST, c.out.data, j->y,
                          tensor_bytes(&c.out)));
    if (ctt_is_bytes(&c.out))
        shift((uint8_t *)j->y, tensor_bytes(&c.out));
    CU_ASSERT(lacks_library(j, code) ||
              strncmp(ctt_dev_impl(gpu, j->cache, CTT_FWD), code,
                      strlen(code)) == 0);
    for (int k = 0; k < c.node->nin; k++)
        ctt_dev_free(gpu, &c.in[k].data);
    ctt_dev_free(gpu, &c.out.data);
    ctt_dev_forget(gpu, &j->cache);
    for (int k = 0; k < c.node->nw; k++)
        ctt_dev_free(gpu, &c.w[k].t.data);
}

/* All shapes, with plus inputs and acts, from bytes to floats and to bytes: the
 * bits of plain C, by cuDNN and, for what it cannot, by our own kernel. */
static void test_convs(void)
{
    static const int acts[] = { 0, CTT_ACT_RELU + 1, CTT_ACT_RELU6 + 1 };
    int direct = 0, some = 0;

    for (size_t i = 0; ctt_int8_shapes[i].conv; i++)
        for (int k = 2; k < 8; k++) {
            int bytes = ctt_int8_bytes(i, k), act = acts[(i + (size_t)k) % 3];
            struct ctt_int8_try a, b;

            if (!(bytes & 1) || (k != 3 + (int)(i % 2) * 4 &&
                                 !ctt_check_tries()))
                continue;
            ctt_int8_open(&a, &ctt_int8_shapes[i], k & 1, act, bytes & ~2, i);
            ctt_int8_open(&b, &ctt_int8_shapes[i], k & 1, act, bytes, i);
            CHECK_OK(ctt_dev_run(ref, &a.call, CTT_FWD));
            run_on_gpu(&b, "int8:");
            if (!ctt_int8_same(&a, &b))
                printf("\n    %s, %s: other bits", ctt_int8_shapes[i].in,
                       ctt_int8_shapes[i].conv);
            CU_ASSERT(ctt_int8_same(&a, &b));
            some++;
            direct += ctt_call_groups(&b.call) > 1;
            ctt_int8_close(&a, ref);
            ctt_int8_close(&b, gpu);
        }
    CU_ASSERT(direct > 3 && some > 2 * direct);
}

/* ---- 2:4 ---- */

/* A large product, its rows without gaps; two of each four weights stay, or of
 * one block three. */
static void open_two(struct ctt_int8_try *j, const struct ctt_int8_shape *s,
                     int bytes, int damaged)
{
    ctt_int8_open(j, s, 0, CTT_ACT_RELU + 1, bytes, 5);
    j->call.in[0].ld = j->call.in[0].c;
    j->call.stamp = 1;
    for (int64_t i = 0; i < ctt_volume(&j->call.w[0].t); i++)
        if ((i + i / 4) % 4 < 2)
            j->w[i] = 0;
    if (damaged)
        j->w[12] = j->w[13] = j->w[14] = 1;
}

/* The bits of plain C; by cuDNN what is not 2:4, has odd sizes, or is small. */
static void test_two(void)
{
    static const struct {
        struct ctt_int8_shape shape;
        int                   damaged;
        const char           *code;
    } rows[] = {
        { { "c=1536 h=16 w=16", "out=512", 128, 0 }, 0, TWO },
        { { "c=1536 h=16 w=16", "out=512", 128, 0 }, 1, "int8:eng" },
        { { "c=1536 h=15 w=17", "out=512", 3, 0 }, 0, "int8:eng" },
        { { "c=64 h=8 w=8", "out=64", 128, 0 }, 0, "int8:eng" },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_int8_try a, b;

        open_two(&a, &rows[i].shape, 0, rows[i].damaged);
        open_two(&b, &rows[i].shape, 1, rows[i].damaged);
        CHECK_OK(ctt_dev_run(ref, &a.call, CTT_FWD));
        run_on_gpu(&b, rows[i].code);
        CU_ASSERT(ctt_int8_same(&a, &b));
        ctt_int8_close(&a, ref);
        ctt_int8_close(&b, gpu);
    }
}

/* ---- models ---- */

/* Every quantised value of a session is bytes, every conv that reads them sums
 * whole numbers, and gpu_answers are those of the processor. */
static void same_as_cpu(struct ctt_model *model, float most)
{
    static float want[GPU_ANSWERS][GPU_MOST], got[GPU_ANSWERS][GPU_MOST];
    struct ctt_infer *m = gpu_open_model(model, "cpu");
    int n = gpu_answers(m, 2, want), convs = 0;
    struct ctt_session *s = NULL;
    const struct ctt_run *r;

    ctt_infer_close(&m);
    m = gpu_open_model(model, "cuda");
    gpu_answers(m, 2, got);
    printf("\n    %.2g", (double)gpu_apart(n, got, want));
    CU_ASSERT(gpu_apart(n, got, want) <= most);
    CHECK_OK(ctt_session_open(m, &s));
    r = ctt_session_run(s);
    for (int i = 0; i < r->g->count; i++) {
        CU_ASSERT(r->g->node[i].out.scale <= 0 || r->slot[i].type == CTT_I8);
        convs += ctt_is_int8(r->g, i);
    }
    CU_ASSERT(convs > 3);
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

/* The INT8 form of a model, with some ranges. */
static struct ctt_model *in_bytes(const char *text)
{
    struct ctt_model *m = gpu_new_model(text), *next = NULL;
    char *take = ctt_calloc((size_t)m->g->count + 1, 1);

    CHECK_OK(ctt_without_norms(m, &next));
    ctt_model_free(&m);
    m = next;
    for (int i = 0; i < m->g->count; i++)
        take[i] = !ctt_quantise_cannot(m->g, i);
    CHECK_OK(ctt_quantise_some(m, take, &next));
    ctt_model_free(&m);
    ctt_free(take);
    return next;
}

static void test_models(void)
{
    const char *const texts[] = { gpu_early, gpu_unet, gpu_mobile };

    for (size_t k = 0; k < CTT_LEN(texts); k++) {
        struct ctt_model *m = in_bytes(texts[k]);

        same_as_cpu(m, 2e-3f);
        ctt_model_free(&m);
    }
}

/* Turns the sign of the weights of convs of bytes that `same` has not got. */
static void negate_weights(struct ctt_run *r, const struct ctt_run *same)
{
    for (int i = 0; i < r->g->count; i++) {
        const struct ctt_tensor *t = &r->weight[i][0].t;
        int64_t n;
        float *w;

        if (!ctt_is_int8(r->g, i) ||
            (same && same->weight[i][0].t.data == t->data))
            continue;
        CU_ASSERT_EQUAL_FATAL(t->dtype, CTT_F32);
        n = ctt_volume(t);
        w = ctt_calloc((size_t)n, sizeof(*w));
        CHECK_OK(ctt_dev_copy(r->dev, CTT_TO_HOST, t->data, w, 4 * n));
        for (int64_t j = 0; j < n; j++)
            w[j] = -w[j];
        CHECK_OK(ctt_dev_copy(r->dev, CTT_TO_DEVICE, w, t->data, 4 * n));
        ctt_free(w);
    }
}

/* The answer after some frames of a clip. */
static void clip_answer(const struct ctt_infer *m, struct ctt_session *s,
                        float *y)
{
    const struct ctt_infer_input *w = ctt_infer_wants(m);
    int64_t frame = (int64_t)w->h * w->w * w->c;
    float *x = ctt_check_floats(GPU_FRAMES * frame, 7);

    ctt_session_reset(s);
    for (int i = 0; i < GPU_FRAMES; i++)
        CHECK_OK(ctt_session_push_float(s, x + i * frame, 1));
    CHECK_OK(ctt_session_read(s, y));
    ctt_free(x);
}

/* Recorded steps do not keep the bytes of weights that have changed. */
static void test_stamp(void)
{
    static float before[GPU_MOST], after[GPU_MOST], fresh[GPU_MOST];
    struct ctt_model *model = in_bytes(gpu_mobile);
    struct ctt_infer *m = gpu_open_model(model, "cuda");
    struct ctt_session *a = NULL, *b = NULL;
    struct ctt_run *r;
    int n = ctt_infer_classes(m), recorded = 0;

    CHECK_OK(ctt_session_open(m, &a));
    for (int k = 0; k < 3; k++)
        clip_answer(m, a, before);
    r = ctt_session_run(a);
    for (int i = 0; i < 2 * r->room; i++)
        recorded += r->place[i] != NULL;
    CU_ASSERT(recorded > 0);
    negate_weights(r, NULL);
    r->stamp++;
    for (int k = 0; k < 3; k++)
        clip_answer(m, a, after);
    CHECK_OK(ctt_session_open(m, &b));
    negate_weights(ctt_session_run(b), r);
    clip_answer(m, b, fresh);
    CU_ASSERT(memcmp(after, fresh, sizeof(float) * (size_t)n) == 0);
    CU_ASSERT(memcmp(after, before, sizeof(float) * (size_t)n) != 0);
    ctt_session_close(&a);
    ctt_session_close(&b);
    ctt_infer_close(&m);
    ctt_model_free(&model);
}

/* Of whatever made or passed bytes on; in pieces, and in 16 bits. */
static void test_stream(void)
{
    struct ctt_infer *m = stream_open(stream_int8, "cpu");
    struct stream cpu = { .m = m, .chunk = 1 }, one = { .chunk = 1 };

    stream_run(&cpu);
    CHECK_OK(cpu.rc);
    ctt_infer_close(&m);
    m = stream_open(stream_int8, "cuda");
    one.m = m;
    stream_run(&one);
    CHECK_OK(one.rc);
    CHECK_CLOSE(one.probs, cpu.probs, MOST_CLASSES, 1e-6);
    stream_again(&one, 3, 0, 0);
    stream_again(&one, 8, 0, 0);
    CHECK_OK(ctt_infer_multiply(m, "fp16"));
    stream_again(&one, 3, 0, 2e-2);
    ctt_infer_close(&m);
}

static int open_devices(void)
{
    return ctt_dev_open("ref", 1, &ref) < 0 ||
           ctt_dev_open("cuda", 1, &gpu) < 0;
}

static int close_devices(void)
{
    ctt_dev_close(&gpu);
    ctt_dev_close(&ref);
    return 0;
}

static CU_TestInfo tests[] = {
    { "convs of bytes", test_convs }, { "2:4 weights", test_two },
    { "models in bytes", test_models }, { "streams of bytes", test_stream },
    { "weights that change", test_stamp }, CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "bytes on a GPU", open_devices, close_devices, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return gpu_answers_main(suites);
}
