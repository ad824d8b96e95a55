/* SPDX-License-Identifier: Apache-2.0
 * test_int8.c: convs of quantised values: plain C gives what doc/format.md
 * defines, and every device and way to compute them gives the same bits. */
#include "tests/lib/check.h"
#include "tests/lib/int8.h"
#include "device/cpu/cpu.h"
#include "device/cpu/features.h"
#include "base/half.h"
#include "net/quant.h"

#include <math.h>
#include <string.h>

/* cpu: by number of threads - 1. */
enum { MOST = 3 };
static struct ctt_dev *ref, *cpus[MOST], *cpu;

/* ---- the definition ---- */

/* The step of the weights of one output channel. */
static float step_of(const struct ctt_int8_try *j, int64_t o)
{
    const struct ctt_tensor *w = &j->call.w[0].t;
    int64_t each = w->d * w->h * w->w * w->c;
    float most = 0;

    for (int64_t i = 0; i < each; i++)
        most = fmaxf(most, fabsf(j->w[o * each + i]));
    return ctt_quant_step(most);
}

/* The sum of products of whole numbers of one result, by the indices of the
 * text in doc/format.md; scale is step_of() its channel. */
static int64_t sum_of(const struct ctt_int8_try *j, int64_t row, int64_t o,
                      float scale)
{
    const struct ctt_tensor *x = &j->call.in[0], *y = &j->call.out,
                            *w = &j->call.w[0].t;
    const int *stride = j->call.node->attr.conv.stride,
              *pad = j->call.node->attr.conv.pad,
              *apart = j->call.node->attr.conv.dilation;
    int64_t pw = row % y->w, ph = row / y->w % y->h,
            pd = row / y->w / y->h % y->d, n = row / y->w / y->h / y->d;
    int64_t each = w->d * w->h * w->w * w->c, sum = 0;
    int64_t group = o * ctt_call_groups(&j->call) / y->c;

    for (int64_t i = 0; i < each; i++) {
        int64_t c = i % w->c, kw = i / w->c % w->w, kh = i / w->c / w->w % w->h,
                kd = i / w->c / w->w / w->h;
        int64_t iw = pw * stride[2] - pad[2] + kw * apart[2],
                ih = ph * stride[1] - pad[1] + kh * apart[1],
                id = pd * stride[0] - pad[0] + kd * apart[0];
        if (iw < 0 || ih < 0 || id < 0 || iw >= x->w || ih >= x->h ||
            id >= x->d)
            continue;
        sum += lrint((double)j->w[o * each + i] / (double)scale) *
               (j->bytes[(((n * x->d + id) * x->h + ih) * x->w + iw) * x->ld +
                         group * w->c + c] - x->zero);
    }
    return sum;
}

static float defined(const struct ctt_int8_try *j, int64_t row, int64_t o,
                     float scale)
{
    float y = (float)sum_of(j, row, o, scale) * (CTT_INT8_STEP * scale);

    if (j->call.w[1].t.data)
        y += j->b[o];
    if (j->call.in[1].data)
        y += j->plus[row * j->call.out.ld + o];
    return j->call.act == CTT_ACT_RELU + 1 ? ctt_relu(y) : y;
}

static void check_defined(const struct ctt_int8_shape *s, int plus, int act)
{
    struct ctt_int8_try j;
    int64_t wrong = 0;

    ctt_int8_open(&j, s, plus, act, 0, 17);
    CHECK_OK(ctt_dev_run(ref, &j.call, CTT_FWD));
    for (int64_t o = 0; o < j.call.out.c; o++) {
        float scale = step_of(&j, o);
        for (int64_t r = 0; r < ctt_rows(&j.call.out); r++)
            wrong += j.y[r * j.call.out.ld + o] != defined(&j, r, o, scale);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    ctt_int8_close(&j, ref);
}

/* Taps apart from each other; the last too far for kernels. */
static const struct ctt_int8_shape dilated[] = {
    { "c=5 h=9 w=9", "out=7 kernel=3 pad=2 dilation=2", 20 },
    { "c=12 h=9 w=8", "out=12 kernel=3 pad=0,3,0 after=0,1,2 dilation=3 "
      "groups=12", 128 },
    { "c=20 d=3 h=5 w=30", "out=9 kernel=2,2,3 pad=2 after=1,2,0 "
      "dilation=2,2,3", 5, 3 },
    { "c=40 h=9 w=7", "out=40 kernel=3 stride=2 pad=2 dilation=2 groups=40",
      0 },
    { "c=3 h=30 w=30", "out=2 kernel=3 pad=9 dilation=9", 128 },
};
enum { FAR = CTT_LEN(dilated) - 1 };

static void test_dilated(void)
{
    for (size_t i = 0; i < CTT_LEN(dilated); i++)
        check_defined(&dilated[i], i % 2, CTT_ACT_RELU + 1);
}

static void test_definition(void)
{
    for (size_t i = 0; ctt_int8_shapes[i].in; i++)
        if (ctt_check_tries())
            check_defined(&ctt_int8_shapes[i], i % 2,
                          i % 3 ? CTT_ACT_RELU + 1 : 0);
}

/* ---- every way ---- */

/* bytes: as of ctt_int8_open(). */
static void check_device(struct ctt_dev *d, const struct ctt_int8_shape *s,
                         int plus, int act, int bytes)
{
    struct ctt_int8_try want, got;

    ctt_int8_open(&want, s, plus, act, 0, 5);
    ctt_int8_open(&got, s, plus, act, bytes, 5);
    CHECK_OK(ctt_dev_run(ref, &want.call, CTT_FWD));
    for (int again = 0; again < 2; again++) {
        long allocs = ctt_alloc_calls();
        CHECK_OK(ctt_dev_run(d, &got.call, CTT_FWD));
        CU_ASSERT(!again || ctt_alloc_calls() == allocs);
        CU_ASSERT(ctt_int8_same(&want, &got));
        CU_ASSERT(d == ref || !(ctt_has_avx2() || ctt_has_neon()) ||
                  !strstr(ctt_dev_impl(d, got.cache, CTT_FWD), "direct"));
        if (!ctt_int8_same(&want, &got))
            printf("\n    %s, conv %s, plus %d, bytes %d: %s", s->in, s->conv,
                   plus, bytes, ctt_dev_impl(d, got.cache, CTT_FWD));
    }
    ctt_int8_close(&want, ref);
    ctt_int8_close(&got, d);
}

static void test_devices(void)
{
    for (int k = 0; k < 16; k++)
        for (size_t i = 0; i < FAR; i++)
            check_device(cpus[k % MOST], &dilated[i], k & 1,
                         k % CTT_ACT_KINDS, ctt_int8_bytes(i, k));
    for (size_t i = 0; ctt_int8_shapes[i].in; i++)
        for (int k = 0; k < 16; k++)
            if (ctt_check_tries())
                check_device(k & 8 ? ref : cpus[i % MOST], &ctt_int8_shapes[i],
                             k & 1, (int)(i + (size_t)k) % CTT_ACT_KINDS,
                             ctt_int8_bytes(i, k));
}

/* ---- pooling ---- */

/* Two samples of what node n gives, rows longer than their channels: the same
 * numbers in floats or bytes. */
static struct ctt_tensor values_of(const struct ctt_node *n, int dtype)
{
    struct ctt_tensor t = n->out;
    int64_t size;

    t.n = 2;
    t.ld = t.c + 3;
    t.dtype = dtype;
    size = ctt_rows(&t) * t.ld;
    t.data = ctt_check_floats(size, 1);
    for (int64_t i = 0; i < size; i++) {
        uint32_t byte = ctt_random(2, (uint64_t)i) % 256;

        if (dtype == CTT_F32)
            ((float *)t.data)[i] = (float)byte;
        else
            ((uint8_t *)t.data)[i] = (uint8_t)byte;
    }
    return t;
}

/* What lies between the rows stays. */
static void check_largest(struct ctt_dev *d, const char *in, const char *pool)
{
    struct ctt_graph *g = NULL;
    struct ctt_tensor x, y, bytes, got;
    int64_t wrong = 0;
    char text[200];

    snprintf(text, sizeof(text), "input x %s\nquant a in=x scale=1 zero=0\n"
             "pool y in=a kind=max %s\n", in, pool);
    CHECK_OK(ctt_net_parse(text, &g));
    x = values_of(&g->node[1], CTT_F32);
    y = values_of(&g->node[2], CTT_F32);
    bytes = values_of(&g->node[1], CTT_U8);
    got = values_of(&g->node[2], CTT_U8);
    CHECK_OK(ctt_dev_run(ref, &(struct ctt_call){ .node = &g->node[2],
                         .in = { x }, .out = y }, CTT_FWD));
    CHECK_OK(ctt_dev_run(d, &(struct ctt_call){ .node = &g->node[2],
                         .in = { bytes }, .out = got }, CTT_FWD));
    for (int64_t i = 0; i < ctt_rows(&y) * y.ld; i++)
        wrong += ((uint8_t *)got.data)[i] != ((float *)y.data)[i];
    CU_ASSERT_EQUAL(wrong, 0);
    for (int i = 0; i < 4; i++)
        ctt_free((struct ctt_tensor *[]){ &x, &y, &bytes, &got }[i]->data);
    ctt_graph_free(&g);
}

/* The largest byte of a window is that of the largest number. */
static void test_largest(void)
{
    static const char *const pools[][2] = {
        { "c=64 h=9 w=8", "kernel=3 stride=2 pad=1" },
        { "c=1 h=5 w=6", "kernel=2" },
        { "c=150 h=4 w=5", "kernel=1,3,2 stride=1,1,3 pad=0,1,0" },
        { "c=63 d=4 h=3 w=3", "kernel=2 stride=1" },
        { "c=65 d=3 h=4 w=3", "" },
    };

    for (size_t i = 0; i < CTT_LEN(pools); i++) {
        check_largest(ref, pools[i][0], pools[i][1]);
        for (int k = 0; k < MOST; k++)
            check_largest(cpus[k], pools[i][0], pools[i][1]);
    }
}

/* Weights that have changed are packed again. */
static void test_new_weights(void)
{
    struct ctt_int8_try want, got;

    ctt_int8_open(&want, &ctt_int8_shapes[4], 0, 0, 0, 5);
    ctt_int8_open(&got, &ctt_int8_shapes[4], 0, 0, 0, 5);
    CHECK_OK(ctt_dev_run(cpu, &got.call, CTT_FWD));
    for (struct ctt_int8_try *j = &want; j; j = j == &want ? &got : NULL) {
        ctt_check_fill(j->w, ctt_volume(&j->call.w[0].t), 99);
        j->call.stamp = 2;
    }
    CHECK_OK(ctt_dev_run(ref, &want.call, CTT_FWD));
    CHECK_OK(ctt_dev_run(cpu, &got.call, CTT_FWD));
    CU_ASSERT(ctt_int8_same(&want, &got));
    ctt_int8_close(&want, ref);
    ctt_int8_close(&got, cpu);
}

/* ---- formulas ---- */

/* Rounding what is rounded changes nothing, at every size of weights. */
static void test_weights_stay(void)
{
    enum { EACH = 50, CHANNELS = 60 };
    float w[CHANNELS * EACH], again[CHANNELS * EACH], scale[CHANNELS];
    int8_t q[CHANNELS * EACH], p[CHANNELS * EACH];

    ctt_check_fill(w, CHANNELS * EACH, 3);
    for (int o = 0; o < CHANNELS; o++)
        for (int i = 0; i < EACH; i++)
            w[o * EACH + i] *= powf(3, (float)(o - 30));
    ctt_quant_weights(w, CHANNELS, EACH, q, scale);
    ctt_quant_floats(w, CHANNELS, EACH, w);
    ctt_quant_floats(w, CHANNELS, EACH, again);
    CU_ASSERT(memcmp(w, again, sizeof(w)) == 0);
    for (int i = 0; i < CHANNELS * EACH; i++)
        CU_ASSERT(w[i] == (float)q[i] * scale[i / EACH]);
    ctt_quant_weights(w, CHANNELS, EACH, p, scale);
    CU_ASSERT(memcmp(p, q, sizeof(p)) == 0);
}

static void test_bytes(void)
{
    static const struct { float x; int zero; float want; } rows[] = {
        { 0.5f, 0, 0 }, { 1.5f, 0, 2 }, { 2.5f, 0, 2 }, { -0.5f, 128, 0 },
        { -1.5f, 128, -2 }, { 1000, 0, 255 }, { 1000, 128, 127 },
        { -1000, 128, -128 }, { -1, 0, 0 }, { INFINITY, 3, 252 },
        { -INFINITY, 3, -3 }, { NAN, 7, -7 }, { 254.5f, 0, 254 },
        { 255.49f, 0, 255 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++)
        CU_ASSERT(ctt_quant(rows[i].x, 1, (float)rows[i].zero) ==
                  rows[i].want);
    CU_ASSERT(ctt_quant_bwd(255.4f, 1, 0, 3) == 3);
    CU_ASSERT(ctt_quant_bwd(255.6f, 1, 0, 3) == 0);
    CU_ASSERT(ctt_quant_bwd(-0.4f, 1, 0, 3) == 3);
    CU_ASSERT(ctt_quant_bwd(-0.6f, 1, 0, 3) == 0);
}

/* Which values of a model are quantised. */
static void test_forms(void)
{
    static const char text[] =
        "input x c=4 h=8 w=8\n"
        "quant a in=x scale=0.5\n"
        "quant b in=x scale=0.25\n"
        "state s of=k like=a c=4\n"
        "slice l in=s from=1 to=3\n"
        "concat same in=a,a\n"
        "concat mixed in=a,b\n"
        "concat half in=a,x\n"
        "pool m in=a kind=max kernel=2\n"
        "pool v in=a kind=avg kernel=2\n"
        "reshape r in=a h=4 w=16 c=4\n"
        "upsample u in=b by=2\n"
        "act t in=a kind=relu\n"
        "state loop of=turn like=a c=4\n"
        "upsample turn in=loop by=1\n"
        "quant k in=a scale=0.125 zero=3\n"
        "conv y in=l out=2\n"
        "clip\nwindow w in=b steps=3\npool z in=w kind=max\n";
    static const struct { const char *node; float scale; } want[] = {
        { "x", 0 }, { "a", 0.5f }, { "b", 0.25f }, { "s", 0.125f },
        { "l", 0.125f }, { "same", 0.5f }, { "mixed", 0 }, { "half", 0 },
        { "m", 0.5f }, { "v", 0 }, { "r", 0.5f }, { "u", 0.25f }, { "t", 0 },
        { "loop", 0 }, { "turn", 0 }, { "y", 0 }, { "w", 0.25f },
        { "z", 0.25f },
    };
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    for (size_t i = 0; i < CTT_LEN(want); i++) {
        const struct ctt_tensor *t =
            &g->node[ctt_graph_find(g, want[i].node)].out;
        CU_ASSERT(t->scale == want[i].scale);
        CU_ASSERT_EQUAL(t->zero, want[i].scale == 0.125f ? 3 :
                                 want[i].scale > 0 ? 128 : 0);
    }
    CU_ASSERT(ctt_is_int8(g, ctt_graph_find(g, "y")));
    CU_ASSERT(!ctt_is_int8(g, ctt_graph_find(g, "a")));
    ctt_graph_free(&g);
    ctt_check_refused(ctt_net_parse("input x c=65537\nquant q in=x scale=1\n"
                                    "conv y in=q out=1\n", &g), CTT_EFORMAT,
                      "more than 65536 weights an output channel");
}

static CU_TestInfo tests[] = {
    { "definition", test_definition }, { "dilated", test_dilated },
    { "devices", test_devices },
    { "largest", test_largest },
    { "new weights", test_new_weights },
    { "weights stay", test_weights_stay }, { "bytes", test_bytes },
    { "forms", test_forms }, CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "int8", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    for (int i = 0; i < MOST; i++)
        if (ctt_dev_open("cpu", i + 1, &cpus[i]) < 0)
            return 99;
    if (ctt_dev_open("ref", 1, &ref) < 0)
        return 99;
    cpu = cpus[1];
    rc = ctt_check_main(suites);
    ctt_dev_close(&ref);
    for (int i = 0; i < MOST; i++)
        ctt_dev_close(&cpus[i]);
    return rc;
}
