/* SPDX-License-Identifier: Apache-2.0
 * test_gpu_session.c: inference on the simulated GPU: 16 bits and TF32 beside
 * plain C, convs of bytes with its bits, sessions that share the device, and
 * recorded clip parts. */
#include "tests/lib/int8.h"
#include "tests/lib/stream.h"
#include "base/half.h"
#include "device/dev.h"
#include "infer/inside.h"
#include "net/file/file.h"
#include "net/init.h"
#include "net/quant.h"
#include "net/rewrite/edit.h"
#include "net/rewrite/edit_quant.h"
#include "tests/lib/clip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- models ---- */

/* An encoder and a decoder with a skip, which predicts frames. */
static const char unet[] = "input x h=16 w=16 c=3\n"
    "conv a in=x out=16 kernel=3 pad=1\nact ar in=a kind=relu\n"
    "conv b in=ar out=32 kernel=3 pad=1 stride=2\nact br in=b kind=relu\n"
    "convlstm l in=br hidden=16 kernel=3\n"
    "deconv u in=l out=16 kernel=2 stride=2\n"
    "concat k in=u,ar\n"
    "conv c in=k out=16 kernel=3 pad=1\nact cr in=c kind=relu\n"
    "conv o in=cr out=3\nact y in=o kind=sigmoid\n";

/* Depthwise convs, residuals, a squeeze and excitation. */
static const char mobile[] = "input x h=16 w=16 c=3 mean=0.4 std=0.3\n"
    "conv a in=x out=16 kernel=3 stride=2 pad=1\nact ar in=a kind=relu6\n"
    "conv b in=ar out=48\nact br in=b kind=hswish\n"
    "conv d in=br out=48 kernel=5 pad=2 groups=48\nact dr in=d kind=relu6\n"
    "pool s in=dr kind=avg\nconv s1 in=s out=12\nact s2 in=s1 kind=relu\n"
    "conv s3 in=s2 out=48\nact s4 in=s3 kind=hsigmoid\nmul e in=dr,s4\n"
    "conv f in=e plus=ar out=16\n"
    "conv g in=f out=64\nnorm n in=g kind=layer\nact gr in=n kind=relu6\n"
    "pool p in=gr kind=avg\nlstm h in=p hidden=32\nconv y in=h out=6\n";

static char *early;    /* models/early-convttlstm.net */

static struct ctt_model *new_model(const char *text)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    ctt_init_weights(m, 3);
    return m;
}

static struct ctt_infer *open_model(struct ctt_model *model, const char *device)
{
    const char *path = clip_path("gpu.ctt");
    struct ctt_infer *m = NULL;

    CHECK_OK(ctt_model_save(path, model));
    CHECK_OK(ctt_infer_open(path, device, 1, &m));
    return m;
}

enum { FRAMES = 11, MOST = 16 * 16 * 3, ANSWERS = 3 };

/* Answers after frames 1, 6 and 11, which come `chunk` at a time. */
static int answers(const struct ctt_infer *m, int chunk, float y[ANSWERS][MOST])
{
    const struct ctt_infer_input *w = ctt_infer_wants(m);
    int64_t frame = (int64_t)w->h * w->w * w->c;
    float *x = ctt_check_floats(FRAMES * frame, 7);
    struct ctt_session *s = NULL;
    int n = ctt_infer_predicts(m) ? (int)frame : ctt_infer_classes(m), some;

    CHECK_OK(ctt_session_open(m, &s));
    for (int at = 0; at < FRAMES; at += some) {
        some = (at == 0 ? 1 : at < 6 ? 6 : FRAMES) - at;
        some = some < chunk ? some : chunk;
        CHECK_OK(ctt_session_push_float(s, x + at * frame, some));
        if ((at + some) % 5 == 1)
            CHECK_OK(ctt_infer_predicts(m)
                     ? ctt_session_predict(s, 1, y[(at + some) / 5])
                     : ctt_session_read(s, y[(at + some) / 5]));
    }
    ctt_session_close(&s);
    ctt_free(x);
    return n;
}

static float apart(int n, float a[ANSWERS][MOST], float b[ANSWERS][MOST])
{
    float most = 0;

    for (int k = 0; k < ANSWERS; k++)
        for (int i = 0; i < n; i++)
            most = fmaxf(most, fabsf(a[k][i] - b[k][i]));
    return most;
}

/* ---- 16 bits ---- */

static const struct { const char *word; float most; } types[] = {
    { "fp32", 1e-5f }, { "tf32", 1e-5f },    /* the simulation has no TF32 */
    { "fp16", 2e-3f }, { "bf16", 2e-3f },
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
    static float want[ANSWERS][MOST], got[ANSWERS][MOST], more[ANSWERS][MOST];
    struct ctt_model *model = new_model(text);
    struct ctt_infer *m = open_model(model, "ref");
    int n = answers(m, 1, want);

    ctt_infer_close(&m);
    m = open_model(model, "cuda");
    for (size_t t = 0; t < CTT_LEN(types); t++) {
        CHECK_OK(ctt_infer_multiply(m, types[t].word));
        answers(m, 1, got);
        printf("\n    %s: %.2g", types[t].word, (double)apart(n, got, want));
        CU_ASSERT(apart(n, got, want) <= types[t].most);
        CU_ASSERT(t < 2 || apart(n, got, want) > 0);
        for (int chunk = 2; chunk <= 8; chunk += 3) {
            answers(m, chunk, more);
            CU_ASSERT(apart(n, got, more) == 0);
        }
    }
    check_types(m, CTT_BF16);
    ctt_infer_close(&m);
    ctt_model_free(&model);
}

static void test_early(void) { close_to_ref(early); }
static void test_unet(void) { close_to_ref(unet); }
static void test_mobile(void) { close_to_ref(mobile); }

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

/* ---- bytes ---- */

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

/* Runs the call of j on the GPU; its result is then in j->y. */
static void run_on_gpu(struct ctt_int8_try *j)
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
    CU_ASSERT(strncmp(ctt_dev_impl(gpu, j->cache, CTT_FWD), "int8:", 5) == 0);
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
            run_on_gpu(&b);
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

/* Every quantised value of a session is bytes, every conv that reads them sums
 * whole numbers, and answers are those of the processor. */
static void same_as_cpu(struct ctt_model *model, float most)
{
    static float want[ANSWERS][MOST], got[ANSWERS][MOST];
    struct ctt_infer *m = open_model(model, "cpu");
    int n = answers(m, 2, want), convs = 0;
    struct ctt_session *s = NULL;
    const struct ctt_run *r;

    ctt_infer_close(&m);
    m = open_model(model, "cuda");
    answers(m, 2, got);
    printf("\n    %.2g", (double)apart(n, got, want));
    CU_ASSERT(apart(n, got, want) <= most);
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
    struct ctt_model *m = new_model(text), *next = NULL;
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
    const char *const texts[] = { early, unet, mobile };

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
    float *x = ctt_check_floats(FRAMES * frame, 7);

    ctt_session_reset(s);
    for (int i = 0; i < FRAMES; i++)
        CHECK_OK(ctt_session_push_float(s, x + i * frame, 1));
    CHECK_OK(ctt_session_read(s, y));
    ctt_free(x);
}

/* Recorded steps do not keep the bytes of weights that have changed. */
static void test_stamp(void)
{
    static float before[MOST], after[MOST], fresh[MOST];
    struct ctt_model *model = in_bytes(mobile);
    struct ctt_infer *m = open_model(model, "cuda");
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
    { "Conv-TT-LSTM in 16 bits", test_early },
    { "U-Net in 16 bits", test_unet },
    { "mobile net in 16 bits", test_mobile },
    { "a shared device", test_shared }, { "recorded clips", test_recorded },
    CU_TEST_INFO_NULL
};
static CU_TestInfo of_bytes[] = {
    { "convs of bytes", test_convs }, { "models in bytes", test_models },
    { "streams of bytes", test_stream },
    { "weights that change", test_stamp }, CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "sessions on a GPU", .pTests = tests },
        { "bytes on a GPU", open_devices, close_devices, NULL, NULL, of_bytes },
        CU_SUITE_INFO_NULL
    };
    const char *src = getenv("srcdir");
    char path[512];
    int status;

    if (access("tests/sim/.libs/convtt-cuda.so", R_OK) != 0)
        return CTT_SKIP;
    setenv("CTT_MODULES", "tests/sim/.libs:.libs", 0);
    snprintf(path, sizeof(path), "%s/models/early-convttlstm.net",
             src ? src : ".");
    if (ctt_net_read(path, &early) < 0)
        return 99;
    status = stream_main(suites);
    ctt_free(early);
    return status;
}
