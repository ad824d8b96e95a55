/* SPDX-License-Identifier: Apache-2.0
 * test_lint.c: receptive fields, counts and energy of small models, computed by
 * hand, and the variants that --lint times. */
#include "tests/lib/check.h"
#include "net/op.h"
#include "tools/info/lint.h"

#include <math.h>

static struct ctt_model *model_of(const char *text)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    return m;
}

/* ---- fields ---- */

struct known { const char *text; int64_t h, w, frames; };

/* The field of the last node. */
static const struct known fields[] = {
    { "conv a in=x out=4 kernel=5 stride=2 pad=2\n", 5, 5, 1 },
    { "conv a in=x out=4 kernel=1,1,7 pad=0,0,3\n", 1, 7, 1 },
    { "conv a in=x out=4 kernel=3 pad=2 dilation=2\n", 5, 5, 1 },
    /* 5, then 2 more pixels apart by 2, a pair of 2, 2 more by 4 */
    { "conv a in=x out=4 kernel=5 stride=2 pad=2\n"
      "conv b in=a out=4 kernel=3 pad=1\n"
      "pool p in=b kind=max kernel=2 stride=2\n"
      "conv c in=p out=4 kernel=3 pad=1\n", 19, 19, 1 },
    /* each result of the deconv has two taps of 4 pixels' distance */
    { "pool p in=x kind=max kernel=4 stride=4\n"
      "deconv d in=p out=2 kernel=4 stride=2 pad=1\n"
      "conv c in=d out=2 kernel=3 pad=1\n", 12, 12, 1 },
    { "pool p in=x kind=max kernel=2 stride=2\nupsample u in=p by=2\n"
      "conv c in=u out=2 kernel=3 pad=1\n", 4, 4, 1 },
    { "conv a in=x out=4 kernel=31 pad=15\n"
      "conv b in=a out=4 kernel=31 pad=15\n", 32, 48, 1 },
    { "patch p in=x by=4\nconv a in=p out=16 kernel=3 pad=1\n", 12, 12, 1 },
    { "patch p in=x by=4\nconv a in=p out=16 kernel=3 pad=1\n"
      "patch q in=a by=4 back=1\nconv b in=q out=2 kernel=3 pad=1\n", 14, 14,
      1 },
    { "pool p in=x kind=avg\n", 32, 48, 1 },
    { "state s of=x delay=3\nadd d in=x,s\n", 1, 1, 4 },
    { "pool p in=x kind=avg\nclip\nwindow v in=p steps=4 every=2\n"
      "pool m in=v kind=avg\n", 32, 48, 7 },
    { "pool p in=x kind=avg\nclip\nwindow v in=p steps=4 spread=1\n"
      "pool m in=v kind=avg\n", 32, 48, CTT_FIELD_ALL },
    /* a 1x1 conv in the loop; then one that widens at every step */
    { "conv a in=x out=3 kernel=3 pad=1\nconvlstm h in=a hidden=2 kernel=1\n",
      3, 3, CTT_FIELD_ALL },
    { "convlstm h in=x hidden=2 kernel=3\n", 32, 48, CTT_FIELD_ALL },
};

static void test_fields(void)
{
    for (size_t i = 0; i < CTT_LEN(fields); i++) {
        const struct known *k = &fields[i];
        struct ctt_receptive *f = NULL;
        struct ctt_graph *g = NULL;
        char text[512];
        int last;

        snprintf(text, sizeof(text), "input x h=32 w=48 c=3\n%s", k->text);
        CHECK_OK(ctt_net_parse(text, &g));
        CHECK_OK(ctt_receptive_fields(g, &f));
        last = ctt_graph_output(g);
        if (f[last].h != k->h || f[last].w != k->w ||
            f[last].frames != k->frames)
            printf("\n    %s    %lld x %lld, %lld\n", k->text,
                   (long long)f[last].h, (long long)f[last].w,
                   (long long)f[last].frames);
        CU_ASSERT_EQUAL(f[last].h, k->h);
        CU_ASSERT_EQUAL(f[last].w, k->w);
        CU_ASSERT_EQUAL(f[last].frames, k->frames);
        CU_ASSERT_EQUAL(f[0].h, 1);
        ctt_free(f);
        ctt_graph_free(&g);
    }
}

/* ---- counts ---- */

static const char small[] = "input x h=8 w=8 c=3\n"
    "conv a in=x out=8 kernel=3 pad=1\nconv b in=a out=2 kernel=8\n";

static void test_counts(void)
{
    struct ctt_model *m = model_of(small);
    struct ctt_layer_cost *c = NULL;

    CHECK_OK(ctt_lint_costs(m, &c));
    CU_ASSERT_EQUAL(c[1].macs, 64 * 27 * 8);
    CU_ASSERT_EQUAL(c[1].weights, 27 * 8 + 8);
    CU_ASSERT_EQUAL(c[1].kept_weights, 27 * 8 + 8);
    CU_ASSERT_EQUAL(c[1].moved, 192 + 512);
    CU_ASSERT_EQUAL(c[1].values, 512);
    CU_ASSERT_EQUAL(c[1].past, 0);
    CU_ASSERT_EQUAL(c[2].macs, 2 * 512);
    CU_ASSERT_EQUAL(ctt_lint_weight_bytes(&c[1]), 4 * 224);
    CU_ASSERT_EQUAL(ctt_lint_run_bytes(&c[1]), 4 * (224 + 512));
    CU_ASSERT_EQUAL(ctt_lint_train_bytes(&c[1]), 16 * 224 + 8 * 512);
    ctt_free(c);
    ctt_model_free(&m);
}

static void test_past(void)
{
    struct ctt_model *m = model_of("input x h=8 w=8 c=3\nstate s of=x delay=2\n"
        "add d in=x,s\npool p in=d kind=avg\nclip\n"
        "window v in=p steps=4 every=3\npool q in=v kind=avg\n");
    struct ctt_layer_cost *c = NULL;

    CHECK_OK(ctt_lint_costs(m, &c));
    CU_ASSERT_EQUAL(c[0].past, 2 * 192);
    CU_ASSERT_EQUAL(c[1].values, 0);    /* a name of other memory */
    CU_ASSERT_EQUAL(c[3].past, 9 * 3);
    CU_ASSERT_EQUAL(c[4].moved, 2 * 12);
    ctt_free(c);
    ctt_model_free(&m);
}

/* ---- energy, by the table of Horowitz 2014 ---- */

static double energy(const struct ctt_model *m, int node,
                     enum ctt_lint_type type)
{
    struct ctt_layer_cost *c = NULL;
    double pj;

    CHECK_OK(ctt_lint_costs(m, &c));
    pj = ctt_lint_energy(c, m->g->count, node, type);
    ctt_free(c);
    return pj;
}

static void check_near(double x, double is)
{
    if (fabs(x - is) > 1e-9 * is)
        printf("\n    %.9g is not %.9g", x, is);
    CU_ASSERT(fabs(x - is) <= 1e-9 * is);
}

/* All numbers, 224 + 1026 weights and 192 + 512 + 2 values, are 7,824 bytes of
 * fp32: less than 8 KB. */
static void test_energy(void)
{
    struct ctt_model *m = model_of(small);
    uint8_t *keep = ctt_calloc((size_t)m->g->weights, 1);

    check_near(energy(m, 1, CTT_LINT_FP32),
               13824 * (3.7 + 0.9) + 928 * 4 / 8.0 * 10);
    check_near(energy(m, 1, CTT_LINT_FP16),
               13824 * (1.1 + 0.4) + 928 * 2 / 8.0 * 10);
    check_near(energy(m, 1, CTT_LINT_INT8),
               13824 * (0.2 + 0.1) + 928 / 8.0 * 10);
    check_near(energy(m, 1, CTT_LINT_AS_IS), energy(m, 1, CTT_LINT_FP32));
    for (int64_t i = 0; i < m->g->weights; i++)
        keep[i] = i % 4 == 0;    /* a quarter of each weight */
    m->constraint.keep = keep;
    check_near(energy(m, 1, CTT_LINT_AS_IS), 13824 / 4 * (3.7 + 0.9) +
               (704 + 224 / 4) * 4 / 8.0 * 10);
    ctt_free(keep);
    m->constraint.keep = NULL;
    ctt_model_free(&m);
}

/* Weights of 262,146 numbers need DRAM in fp32 and fp16 and the cache of 1 MB
 * in bytes; a conv that reads bytes counts as one. */
static void test_memories(void)
{
    struct ctt_model *m = model_of("input x h=1 w=1 c=512\n"
        "quant q in=x scale=1\nconv a in=q out=512 kernel=1 bias=0\n"
        "conv y in=a out=1024 kernel=1 bias=0\n");
    double moved = 512 + 512 + 262144;

    check_near(energy(m, 2, CTT_LINT_FP32),
               262144 * 4.6 + moved * 4 / 8 * 1300);
    check_near(energy(m, 2, CTT_LINT_INT8), 262144 * 0.3 + moved / 8 * 100);
    check_near(energy(m, 2, CTT_LINT_AS_IS), energy(m, 2, CTT_LINT_INT8));
    check_near(energy(m, 3, CTT_LINT_AS_IS), energy(m, 3, CTT_LINT_FP32));
    ctt_model_free(&m);
}

/* ---- variants ---- */

static int64_t channels(const struct ctt_graph *g, const char *name)
{
    int i = ctt_graph_find(g, name);

    CU_ASSERT_FATAL(i >= 0);
    return g->node[i].out.c;
}

/* The conv of that name. */
static int pad(const struct ctt_graph *g, const char *name, int64_t size[2],
               struct ctt_graph **out)
{
    int rc = ctt_lint_pad(g, ctt_graph_find(g, name), size, out);

    CU_ASSERT(rc >= 0);
    return rc;
}

static void test_pad(void)
{
    struct ctt_graph *g = NULL, *to = NULL;
    int64_t size[2];

    CHECK_OK(ctt_net_parse("input x h=8 w=8 c=3\nconv a in=x out=12 kernel=3\n"
        "act f in=a kind=relu\nconv b in=f out=12 kernel=1 bias=0\n"
        "add s in=b,f\nslice t in=s from=3 to=12\n"
        "convlstm h in=s hidden=24 kernel=3\nconv e in=h out=16 kernel=1\n"
        "pool p in=e kind=avg\nconv y in=p out=5\n", &g));
    CU_ASSERT_EQUAL(pad(g, "a", size, &to), 0);    /* sliced: two layers */
    ctt_graph_free(&g);
    CHECK_OK(ctt_net_parse("input x h=8 w=8 c=3\nconv a in=x out=12 kernel=3\n"
        "act f in=a kind=relu\nconv b in=f out=12 kernel=1 bias=0\n"
        "add s in=b,f\nconvlstm h in=s hidden=24 kernel=3\n"
        "conv e in=h out=16 kernel=1\npool p in=e kind=avg\n"
        "conv y in=p out=5\n", &g));
    CU_ASSERT_EQUAL_FATAL(pad(g, "a", size, &to), 1);
    CU_ASSERT(size[0] == 12 && size[1] == 16);
    CU_ASSERT(channels(to, "a") == 16 && channels(to, "b") == 16 &&
              channels(to, "s") == 16 && channels(to, "e") == 16);
    ctt_graph_free(&to);
    CU_ASSERT_EQUAL(pad(g, "b", size, &to), 0);    /* tied to a */
    CU_ASSERT_EQUAL_FATAL(pad(g, "h.zx", size, &to), 1);
    CU_ASSERT(size[0] == 24 && size[1] == 32);
    CU_ASSERT(channels(to, "h") == 32 && channels(to, "h.zx") == 128);
    ctt_graph_free(&to);
    CU_ASSERT_EQUAL(pad(g, "e", size, &to), 0);    /* 16 */
    CU_ASSERT_EQUAL(pad(g, "y", size, &to), 0);    /* the answer */
    ctt_graph_free(&g);
}

/* The same graph twice takes as long, unless other programs disturb it. */
static void test_times(void)
{
    struct ctt_paired_timing t;
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse("input x h=32 w=32 c=3 mean=0 std=1\n"
        "conv a in=x out=16 kernel=3 pad=1\n", &g));
    CHECK_OK(ctt_lint_time(g, g, "ref", 1, &t));
    CU_ASSERT(t.ratio.count >= 5 && t.ms[0] > 0 && t.ms[1] > 0);
    CU_ASSERT(!t.steady || fabs(t.ratio.median - 1) < 0.5);
    ctt_graph_free(&g);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "fields", test_fields }, { "counts", test_counts },
        { "past", test_past }, { "energy", test_energy },
        { "memories", test_memories }, { "pad", test_pad },
        { "times", test_times }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "lint", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };

    return ctt_check_main(suites);
}
