/* SPDX-License-Identifier: Apache-2.0
 * test_onnx_weights.c: weights and properties of models as files of ONNX. */
#include "exchange/exchange.h"
#include "base/newfile.h"
#include "net/quant.h"
#include "tests/lib/check.h"
#include "tests/lib/onnx_text.h"
#include "tests/lib/small.h"

#include <string.h>
#include <unistd.h>

static const char path[] = "test_onnx_weights.onnx";

static void read_file(uint8_t **p, int64_t *size)
{
    char *s = NULL;

    CHECK_OK(ctt_file_text(path, 1 << 24, &s, size));
    *p = (uint8_t *)s;
}

/* ---- weights ---- */

static float float_at(const struct onnx_tensor *t, int64_t i)
{
    float x;

    memcpy(&x, t->raw.p + 4 * i, sizeof(x));
    return x;
}

static void find(const uint8_t *p, int64_t n, const char *name, int type,
                 int64_t numbers, struct onnx_tensor *t)
{
    int64_t all = 1;

    CU_ASSERT_FATAL(onnx_tensor(p, n, name, t));
    CU_ASSERT(t->type == type);
    for (int i = 0; i < t->rank; i++)
        all *= t->dim[i];
    CU_ASSERT_FATAL(all == numbers);
}

static const char kernels[] =
    "input x h=4 w=4 c=6\n"
    "conv a in=x out=4 kernel=1,2,3 pad=0,0,1 groups=2\n"
    "deconv d in=a out=5 kernel=1,3,2\n"
    "quant q in=d scale=0.1\n"
    "conv y in=q out=3 kernel=1,2,2\n";

/* Number o, i, y, x of the file's is number o, y, x, i of the model's. */
static void compare_kernel(const float *w, const struct onnx_tensor *t,
                           int in_first)
{
    const int64_t *d = t->dim;

    for (int64_t k = 0; k < d[0] * d[1] * d[2] * d[3]; k++) {
        int64_t tap = k % (d[2] * d[3]), j = k / (d[2] * d[3]);
        int64_t o = in_first ? j % d[1] : j / d[1];
        int64_t i = in_first ? j / d[1] : j % d[1];
        int64_t in = in_first ? d[0] : d[1];

        CU_ASSERT(float_at(t, k) == w[(o * d[2] * d[3] + tap) * in + i]);
    }
}

/* Whole numbers times the steps of the channels. */
static void compare_bytes(const float *w, const struct onnx_tensor *t)
{
    int64_t taps = t->dim[2] * t->dim[3], each = t->dim[1] * taps;
    float rounded[64], step;

    for (int64_t o = 0; o < t->dim[0]; o++) {
        ctt_quant_floats(w + o * each, 1, each, rounded);
        ctt_quant_weights(w + o * each, 1, each, NULL, &step);
        for (int64_t k = 0; k < each; k++)
            CU_ASSERT((float)(int8_t)t->raw.p[o * each + k] * step ==
                      rounded[k % taps * t->dim[1] + k / taps]);
    }
}

static void weights_are_in_place(void)
{
    struct ctt_model *m = small_model(kernels, 5);
    const struct ctt_export set = { .half = 0 };
    const struct ctt_node *n = m->g->node;
    struct onnx_tensor t;
    int64_t size;
    uint8_t *p;

    CHECK_OK(ctt_export_onnx(path, m, &set));
    read_file(&p, &size);
    find(p, size, "a/w", 1, 4 * 3 * 6, &t);
    compare_kernel(m->w + n[1].at[0], &t, 0);
    find(p, size, "d/w", 1, 4 * 5 * 6, &t);
    compare_kernel(m->w + n[2].at[0], &t, 1);
    find(p, size, "d/b", 1, 5, &t);
    CU_ASSERT(memcmp(t.raw.p, m->w + n[2].at[1], 20) == 0);
    find(p, size, "y/w/int8", 3, 3 * 5 * 4, &t);
    compare_bytes(m->w + n[4].at[0], &t);
    ctt_free(p);
    ctt_model_free(&m);
    unlink(path);
}

static void halves_are_rounded(void)
{
    struct ctt_model *m = small_model(kernels, 5);
    const struct ctt_export set = { .half = 1 };
    struct onnx_tensor t;
    int64_t size;
    uint8_t *p;

    CHECK_OK(ctt_export_onnx(path, m, &set));
    read_file(&p, &size);
    find(p, size, "d/b/half", 10, 5, &t);
    for (int i = 0; i < 5; i++)
        CU_ASSERT((t.raw.p[2 * i] | t.raw.p[2 * i + 1] << 8) ==
                  ctt_f16_of(m->w[m->g->node[2].at[1] + i]));
    find(p, size, "y/w/int8", 3, 3 * 5 * 4, &t);
    ctt_free(p);
    ctt_model_free(&m);
    unlink(path);
}

/* ---- properties ---- */

static void properties_are_there(void)
{
    static char *label[] = { "a \"b\"", "c" };
    struct ctt_model *m = small_model(
        "input x h=2 w=3 c=1 fps=5 mean=0.5 std=0.25 gamma=2\n"
        "state s of=x\nconv e in=s out=1\n"
        "pool p in=e kind=avg\nconv y in=p out=2\nseveral\n", 3);
    const struct ctt_export set = { .softmax = 1 };
    int64_t n;
    uint8_t *p;

    CHECK_OK(ctt_model_labels(m, label, 2));
    CHECK_OK(ctt_export_onnx(path, m, &set));
    read_file(&p, &n);
    CU_ASSERT_STRING_EQUAL(onnx_property(p, n, "input"),
        "{\"name\": \"x\", \"width\": 3, \"height\": 2, \"colour\": \"gray\", "
        "\"fit\": \"crop\", \"scale\": 1, \"fps\": 5, \"normalise\": \"set\", "
        "\"gamma\": 2, \"mean\": [0.5], \"std\": [0.25]}");
    CU_ASSERT_STRING_EQUAL(onnx_property(p, n, "answer"), "{\"name\": \"y\", "
        "\"kind\": \"probabilities\", \"several\": true}");
    CU_ASSERT_STRING_EQUAL(onnx_property(p, n, "labels"),
                           "[\"a \\\"b\\\"\", \"c\"]");
    CU_ASSERT_STRING_EQUAL(onnx_property(p, n, "states"),
                           "{\"past.x\": \"next.x\"}");
    ctt_free(p);
    ctt_model_free(&m);
    unlink(path);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "weights", weights_are_in_place },
        { "halves", halves_are_rounded },
        { "properties", properties_are_there },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "onnx weights", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
