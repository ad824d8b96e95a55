/* SPDX-License-Identifier: Apache-2.0
 * test_int8.c: convs of quantised values: plain C gives what doc/format.md
 * defines, and every device and way to compute them gives the same bits. */
#include "tests/lib/check.h"
#include "device/cpu/cpu.h"
#include "net/half.h"
#include "net/quant.h"

#include <math.h>
#include <string.h>

static struct ctt_dev *ref, *cpu;

/* The line of the conv y, which reads q and may add b; the input's size; its
 * step and zero. */
struct shape { const char *in, *conv; int zero; };

static const struct shape shapes[] = {
    { "c=1", "out=1", 128 },
    { "c=5 h=4 w=3", "out=4 kernel=3 pad=1", 128 },
    { "c=5 h=4 w=3", "out=4 kernel=3 pad=1 bias=0", 0 },
    { "c=3 h=9 w=11", "out=20 kernel=5 stride=2 pad=2", 115 },
    { "c=16 h=6 w=6", "out=64 kernel=3 pad=1", 255 },
    { "c=64 h=6 w=6", "out=33 kernel=3 pad=1", 0 },
    { "c=17 h=7 w=5", "out=16 kernel=1,3,5 pad=0,1,2", 7 },
    { "c=8 h=12 w=12", "out=48 kernel=5 pad=2", 128 },
    { "c=64 h=14 w=14", "out=24 kernel=3 pad=1", 128 },
    { "c=24 h=16 w=15", "out=40 kernel=3 pad=1", 3 },
    { "c=300", "out=100", 0 },
    { "c=12 h=5 w=5", "out=50", 90 },
    { "c=6 h=8 w=8", "out=9 kernel=3 pad=0 stride=3", 40 },
    { "c=4 d=5 h=6 w=7", "out=12 kernel=3,3,3 stride=2,1,2 pad=1", 128 },
    { "c=8 h=9 w=9", "out=8 kernel=3 pad=1 groups=8", 0 },
    { "c=32 h=7 w=7", "out=32 kernel=3 pad=1 stride=2 groups=32", 128 },
    { "c=6 h=5 w=4", "out=9 kernel=3 pad=2 groups=3", 20 },
    { "c=16 h=5 w=4", "out=32 kernel=3 pad=1 groups=16", 20 },
    { "c=96 h=2 w=2", "out=130 kernel=3 pad=1", 128 },
    { "c=48 h=13 w=11", "out=70 kernel=3 pad=0", 0 },
    { "c=33 h=14 w=9", "out=17 kernel=3 pad=2", 255 },
    { "c=70 h=9 w=9", "out=66 kernel=3 pad=1", 3 },
    { "c=32 d=3 h=12 w=12", "out=32 kernel=1,3,3 pad=0,1,1", 128 },
    { "c=520 h=9 w=12", "out=9 kernel=3 pad=1", 128 },
    { "c=2 h=3 w=40", "out=5 kernel=1,1,7 pad=0,0,3", 200 },
};

enum { SAMPLES = 2, GAP = 3 };
static const float step = 0.037f;

/* A call of the conv, its values in all forms. */
struct job {
    struct ctt_graph *g;
    struct ctt_call   call;
    float            *x, *w, *b, *plus, *y;
    uint8_t          *bytes;
    void             *cache;
};

static float *floats(int64_t n)
{
    float *p = ctt_calloc((size_t)n + 1, sizeof(*p));

    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    return p;
}

/* Rows are GAP longer than their channels. */
static struct ctt_tensor rows_of(const struct ctt_node *n, void *data)
{
    struct ctt_tensor t = n->out;

    t.n = SAMPLES;
    t.ld = t.c + GAP;
    t.data = data;
    return t;
}

static void fill(struct job *j, const struct ctt_tensor *x, uint64_t seed)
{
    int64_t n = ctt_rows(x) * x->ld;

    for (int64_t i = 0; i < n; i++) {
        uint32_t r = ctt_random(seed, (uint64_t)i);
        j->bytes[i] = r % 7 == 0 ? 0 : r % 7 == 1 ? 255 : (uint8_t)(r >> 8);
        j->x[i] = (float)(j->bytes[i] - x->zero) * step;
    }
}

static void open_job(struct job *j, const struct shape *s, int plus, int act,
                     uint64_t seed)
{
    char text[400];
    const struct ctt_node *n;
    struct ctt_tensor x, y;

    memset(j, 0, sizeof(*j));
    snprintf(text, sizeof(text), "input a %s\nquant q in=a scale=%g zero=%d\n"
             "conv p in=q %s\nconv y in=q %s %s\n", s->in, (double)step,
             s->zero, s->conv, s->conv, plus ? "plus=p" : "");
    CHECK_OK(ctt_net_parse(text, &j->g));
    n = &j->g->node[3];
    x = rows_of(&j->g->node[1], NULL);
    y = rows_of(n, NULL);
    j->x = floats(ctt_rows(&x) * x.ld);
    j->bytes = (uint8_t *)floats(ctt_rows(&x) * x.ld);
    j->y = floats(ctt_rows(&y) * y.ld);
    j->plus = floats(ctt_rows(&y) * y.ld);
    j->w = floats(ctt_volume(&n->w[0]));
    j->b = floats(n->out.c);
    x.data = j->x;
    y.data = j->y;
    fill(j, &x, seed);
    ctt_check_fill(j->w, ctt_volume(&n->w[0]), seed + 1);
    ctt_check_fill(j->b, n->out.c, seed + 2);
    ctt_check_fill(j->plus, ctt_rows(&y) * y.ld, seed + 3);
    j->call = (struct ctt_call){ .node = n, .act = act, .stamp = 1,
                                 .cache = &j->cache };
    j->call.in[0] = x;
    j->call.out = j->call.in[1] = y;
    j->call.in[1].data = plus ? j->plus : NULL;
    for (int k = 0; k < n->nw; k++)
        j->call.w[k].t = n->w[k];
    j->call.w[0].t.data = j->w;
    if (n->nw > 1)
        j->call.w[1].t.data = j->b;
}

static void close_job(struct job *j, struct ctt_dev *d)
{
    ctt_dev_forget(d, &j->cache);
    ctt_free(j->x);
    ctt_free(j->bytes);
    ctt_free(j->y);
    ctt_free(j->plus);
    ctt_free(j->w);
    ctt_free(j->b);
    ctt_graph_free(&j->g);
}

/* ---- the definition ---- */

/* The sum of products of whole numbers of one result, by the indices of the
 * text in doc/format.md. */
static int64_t sum_of(const struct job *j, int64_t row, int64_t o)
{
    const struct ctt_tensor *x = &j->call.in[0], *y = &j->call.out,
                            *w = &j->call.w[0].t;
    const int *stride = j->call.node->attr.conv.stride,
              *pad = j->call.node->attr.conv.pad;
    int64_t pw = row % y->w, ph = row / y->w % y->h,
            pd = row / y->w / y->h % y->d, n = row / y->w / y->h / y->d;
    int64_t each = w->d * w->h * w->w * w->c, sum = 0;
    int64_t group = o * ctt_call_groups(&j->call) / y->c;
    float scale, most = 0;

    for (int64_t i = 0; i < each; i++)
        most = fmaxf(most, fabsf(j->w[o * each + i]));
    scale = ctt_quant_step(most);
    for (int64_t i = 0; i < each; i++) {
        int64_t c = i % w->c, kw = i / w->c % w->w, kh = i / w->c / w->w % w->h,
                kd = i / w->c / w->w / w->h;
        int64_t iw = pw * stride[2] - pad[2] + kw,
                ih = ph * stride[1] - pad[1] + kh,
                id = pd * stride[0] - pad[0] + kd;
        if (iw < 0 || ih < 0 || id < 0 || iw >= x->w || ih >= x->h ||
            id >= x->d)
            continue;
        sum += lrint((double)j->w[o * each + i] / (double)scale) *
               (j->bytes[(((n * x->d + id) * x->h + ih) * x->w + iw) * x->ld +
                         group * w->c + c] - x->zero);
    }
    return sum;
}

static float factor_of(const struct job *j, int64_t o)
{
    const struct ctt_tensor *w = &j->call.w[0].t;
    int64_t each = w->d * w->h * w->w * w->c;
    float most = 0;

    for (int64_t i = 0; i < each; i++)
        most = fmaxf(most, fabsf(j->w[o * each + i]));
    return step * ctt_quant_step(most);
}

static float defined(const struct job *j, int64_t row, int64_t o)
{
    float y = (float)sum_of(j, row, o) * factor_of(j, o);

    if (j->call.w[1].t.data)
        y += j->b[o];
    if (j->call.in[1].data)
        y += j->plus[row * j->call.out.ld + o];
    return j->call.act == CTT_ACT_RELU + 1 ? ctt_relu(y) : y;
}

static void check_defined(const struct shape *s, int plus, int act)
{
    struct job j;
    int64_t wrong = 0;

    open_job(&j, s, plus, act, 17);
    CHECK_OK(ctt_dev_run(ref, &j.call, CTT_FWD));
    for (int64_t r = 0; r < ctt_rows(&j.call.out); r++)
        for (int64_t o = 0; o < j.call.out.c; o++)
            wrong += j.y[r * j.call.out.ld + o] != defined(&j, r, o);
    CU_ASSERT_EQUAL(wrong, 0);
    close_job(&j, ref);
}

static void test_definition(void)
{
    for (size_t i = 0; i < CTT_LEN(shapes); i++)
        check_defined(&shapes[i], i % 2, i % 3 ? CTT_ACT_RELU + 1 : 0);
}

/* ---- every way ---- */

/* The step and zero of results that are bytes. */
static const float out_step = 0.11f;
enum { OUT_ZERO = 90 };

/* b: as bytes, which stand for the floats of a, rounded. */
static int same_bytes(const struct job *a, const struct job *b)
{
    const struct ctt_tensor *y = &a->call.out;
    const uint8_t *got = (const uint8_t *)b->y;

    for (int64_t r = 0; r < ctt_rows(y); r++)
        for (int64_t j = 0; j < y->c; j++)
            if (got[r * y->ld + j] != OUT_ZERO +
                (int)ctt_quant(a->y[r * y->ld + j], 1 / out_step, OUT_ZERO))
                return 0;
    return 1;
}

static int same_results(const struct job *a, const struct job *b)
{
    const struct ctt_tensor *y = &a->call.out;

    if (b->call.out.dtype == CTT_U8)
        return same_bytes(a, b);
    for (int64_t r = 0; r < ctt_rows(y); r++)
        if (memcmp(a->y + r * y->ld, b->y + r * y->ld,
                   (size_t)y->c * sizeof(float)) != 0)
            return 0;
    return 1;
}

/* bytes: 1: of the input, 2: of the result. */
static void check_device(struct ctt_dev *d, const struct shape *s, int plus,
                         int act, int bytes)
{
    struct job want, got;

    open_job(&want, s, plus, act, 5);
    open_job(&got, s, plus, act, 5);
    if (bytes & 1) {
        got.call.in[0].dtype = CTT_U8;
        got.call.in[0].data = got.bytes;
    }
    if (bytes & 2) {
        got.call.out.dtype = CTT_U8;
        got.call.out.scale = out_step;
        got.call.out.zero = OUT_ZERO;
    }
    CHECK_OK(ctt_dev_run(ref, &want.call, CTT_FWD));
    for (int again = 0; again < 2; again++) {
        CHECK_OK(ctt_dev_run(d, &got.call, CTT_FWD));
        CU_ASSERT(same_results(&want, &got));
        if (!same_results(&want, &got))
            printf("\n    %s, conv %s, plus %d, bytes %d: %s", s->in, s->conv,
                   plus, bytes, ctt_dev_impl(d, got.cache, CTT_FWD));
    }
    close_job(&want, ref);
    close_job(&got, d);
}

static void test_devices(void)
{
    for (size_t i = 0; i < CTT_LEN(shapes); i++)
        for (int k = 0; k < 16; k++)
            check_device(k & 8 ? ref : cpu, &shapes[i], k & 1,
                         (int)(i % 5), k >> 1 & 3);
}

/* Weights that have changed are packed again. */
static void test_new_weights(void)
{
    struct job want, got;

    open_job(&want, &shapes[4], 0, 0, 5);
    open_job(&got, &shapes[4], 0, 0, 5);
    CHECK_OK(ctt_dev_run(cpu, &got.call, CTT_FWD));
    for (struct job *j = &want; j; j = j == &want ? &got : NULL) {
        ctt_check_fill(j->w, ctt_volume(&j->call.w[0].t), 99);
        j->call.stamp = 2;
    }
    CHECK_OK(ctt_dev_run(ref, &want.call, CTT_FWD));
    CHECK_OK(ctt_dev_run(cpu, &got.call, CTT_FWD));
    CU_ASSERT(same_results(&want, &got));
    close_job(&want, ref);
    close_job(&got, cpu);
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
    { "definition", test_definition }, { "devices", test_devices },
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

    if (ctt_dev_open("ref", 1, &ref) < 0 || ctt_dev_open("cpu", 2, &cpu) < 0)
        return 99;
    rc = ctt_check_main(suites);
    ctt_dev_close(&ref);
    ctt_dev_close(&cpu);
    return rc;
}
