/* SPDX-License-Identifier: Apache-2.0
 * test_thin.c: which channels are one class, and that a model without some
 * classes answers as one whose convs do not read them. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE "input x h=6 w=6 c=3\n"
#define A "conv a in=x out=6 kernel=1,3,3 pad=0,1,1\n"
#define B "conv b in=x out=6 kernel=1,3,3 pad=0,1,1\n"
#define Y "conv y in=z out=2\n"
#define MIXED "reshape m in=x h=1 w=1 c=108\nconv n in=m out=1 bias=0\n"

/* Texts, how many classes they have, and the channels of all nodes after every
 * other class that may go has gone. */
static const struct { const char *text; int classes; const char *widths; }
cases[] = {
    { IMAGE A "act z in=a kind=tanh\n" Y, 11, "3 3 3 2" },
    { IMAGE A "norm n in=a kind=batch\nact r in=n kind=relu6\n"
      "dropout d in=r\npool p in=d kind=max kernel=1,2,2\n"
      "upsample u in=p by=1,2,2\nquant z in=u scale=0.05\n" Y, 11,
      "3 3 3 3 3 3 3 3 2" },
    { IMAGE A B "mul m in=a,b\nadd z in=m,a bias=1\n" Y, 11, "3 3 3 3 3 2" },
    { IMAGE A "state s of=a delay=2\nconcat z in=s,a\n" Y, 11,
      "3 3 3 6 2" },
    { IMAGE A "state s of=z like=a c=6\nadd z in=a,s\n" Y, 11, "3 3 3 3 2" },
    { IMAGE A "conv z in=x plus=a out=6 bias=0\n" Y, 11, "3 3 3 2" },
    { IMAGE A B "concat c in=a,b\nslice z in=c from=3 to=8\n" Y, 17,
      "3 3 3 6 2 2" },
    { IMAGE A "slice s in=a from=0 to=3\nslice t in=a from=3 to=6\n"
      "add z in=s,t\n" Y, 8, "3 4 2 2 2 2" },
    { IMAGE A "reshape z in=a h=1 w=1 c=216\n" Y, 11, "3 3 108 2" },
    { IMAGE A "reshape z in=a h=12 w=9 c=2\n" Y, 7, "3 3 1 2" },
    { IMAGE A "reshape z in=a h=6 w=9 c=4\n" Y, 7, "3 3 2 2" },
    { IMAGE A "deconv z in=a out=4 kernel=1,2,2 stride=1,2,2\n" Y, 15,
      "3 3 2 2" },
    { IMAGE A "conv z in=a out=12 kernel=1,3,3 groups=6\n" Y, 11,
      "3 3 6 2" },
    { IMAGE A "conv z in=a out=6 groups=3\n" Y, 17, "3 6 6 2" },
    { IMAGE A "norm z in=a kind=layer\n" Y, 11, "3 6 6 2" },
    { IMAGE A "clip\nwindow z in=a steps=2\n" Y, 11, "3 3 3 2" },
    { IMAGE A "clip\nwindow z in=a steps=2 spread=1\n" Y, 11, "3 3 3 2" },
    { IMAGE A "convlstm z in=a hidden=4 kernel=3\n" Y, 15,
      "3 3 8 2 8 2 2 2 2" },
    { IMAGE A "convttlstm z in=a hidden=4 kernel=3 order=2 steps=3 rank=2\n" Y,
      19, "3 3 8 4 4 4 1 1 1 1 1 1 1 8 2 2 2 4 2" },
    { IMAGE A MIXED "reshape z in=a h=1 w=1\nmix s in=z,z,n\n"
      "conv y in=s out=2\n", 228, "3 6 108 1 216 216 2" },
    { IMAGE "conv a in=x out=3\nact y in=a kind=relu\n", 6, "3 3 3" },
    { IMAGE A "pool p in=a kind=avg\nconv s in=p out=6\n"
      "act t in=s kind=hsigmoid\nmul z in=a,t\n" Y, 11, "3 3 3 3 3 3 2" },
    { IMAGE A "lrn z in=a size=3\n" Y, 17, "3 6 6 2" },
    { IMAGE A "softmax z in=a over=channels\n" Y, 17, "3 6 6 2" },
};

/* Keeps the classes that must stay, and the first, third .. of the others. */
static uint8_t *every_other(const struct ctt_channel_groups *t)
{
    uint8_t *keep = ctt_calloc((size_t)t->classes, 1);
    int may = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(keep);
    for (int c = 0; c < t->classes; c++)
        keep[c] = t->whole[c] || may++ % 2 == 0;
    return keep;
}

/* Makes the weights 0 by which convs read channels that go. */
static void blind(struct ctt_model *m, const struct ctt_channel_groups *t,
                  const uint8_t *keep)
{
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];

        if (!ctt_is_conv(n) || ctt_is_grouped(n))
            continue;
        for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
            if (!keep[ctt_tie(t, n->in[0], k % n->w[0].c)])
                m->w[n->at[0] + k] = 0;
    }
}

static int64_t left(const struct ctt_channel_groups *t, const uint8_t *keep,
                    int node, int64_t channels)
{
    int64_t sum = 0;

    for (int64_t j = 0; j < channels; j++)
        sum += keep[ctt_tie(t, node, j)];
    return sum;
}

/* Each node has the channels that stay, and less of the rest is needed. */
static void check_counts(const struct ctt_model *m,
                         const struct ctt_channel_groups *t,
                         const uint8_t *keep, const struct ctt_model *to)
{
    int64_t before = 0, after = 0;

    CU_ASSERT_EQUAL_FATAL(m->g->count, to->g->count);
    for (int i = 0; i < m->g->count; i++) {
        CU_ASSERT_EQUAL(to->g->node[i].out.c,
                        left(t, keep, i, m->g->node[i].out.c));
        before += ctt_node_macs(m->g, i);
        after += ctt_node_macs(to->g, i);
    }
    CU_ASSERT(after <= before);
}

static void check_widths(const struct ctt_model *to, const char *widths)
{
    char text[128];
    size_t at = 0;

    for (int i = 0; i < to->g->count && at < sizeof(text); i++)
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%d",
                               i ? " " : "", (int)to->g->node[i].out.c);
    CU_ASSERT_STRING_EQUAL(text, widths);
    if (strcmp(text, widths) != 0)
        printf("\n    %s, expected %s", text, widths);
}

static struct ctt_model *thin(struct ctt_model *m,
                              struct ctt_channel_groups **t, uint8_t **keep)
{
    struct ctt_model *to = NULL;

    CHECK_OK(ctt_channel_groups_new(m->g, t));
    *keep = every_other(*t);
    CHECK_OK(ctt_thin_model(m, *t, *keep, &to));
    check_counts(m, *t, *keep, to);
    return to;
}

static void check_case(size_t i)
{
    struct ctt_model *m = small_model(cases[i].text, 3 + i), *to;
    struct ctt_channel_groups *t = NULL;
    uint8_t *keep = NULL;

    to = thin(m, &t, &keep);
    CU_ASSERT_EQUAL(t->classes, cases[i].classes);
    if (t->classes != cases[i].classes)
        printf("\n    case %zu has %d classes", i, t->classes);
    check_widths(to, cases[i].widths);
    blind(m, t, keep);
    for (int steps = 1; steps < 6; steps += 4)
        small_compare(m, to, steps, 1e-6);
    ctt_free(keep);
    ctt_channel_groups_free(&t);
    ctt_model_free(&m);
    ctt_model_free(&to);
}

static void test_cases(void)
{
    for (size_t i = 0; i < CTT_LEN(cases); i++)
        check_case(i);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* ---- the models of the project ---- */

/* mnist-small is a smaller mnist-convttlstm.  Large pictures are cut to a
 * quarter, which the nets of the literature allow, as plain C is slow. */
static const char *const models[] = {
    "early-cnn3d", "early-convlstm", "early-convttlstm", "early-lstm",
    "early-tsm", "early-2plus1d",
    "lenet-300-100", "lenet-5", "mnist-convlstm", "mnist-convttlstm",
    "camera-residual", "mnist-small", "mobilenet-v2", "resnet18",
};

static char *read_net(const char *name)
{
    const char *src = getenv("srcdir");
    char path[512], *text = NULL, *at;

    snprintf(path, sizeof(path), "%s/models/%s.net", src ? src : ".", name);
    CHECK_OK(ctt_net_read(path, &text));
    at = strstr(text, "h=224 w=224");
    if (at)
        memcpy(at, "h=56  w=56 ", strlen("h=224 w=224"));
    return text;
}

static void test_models(void)
{
    for (size_t i = 0; i < CTT_LEN(models); i++) {
        char *text = read_net(models[i]);
        struct ctt_model *m = small_model(text, i), *to;
        struct ctt_channel_groups *t = NULL;
        uint8_t *keep = NULL;
        int may = 0;

        to = thin(m, &t, &keep);
        for (int c = 0; c < t->classes; c++)
            may += !t->whole[c];
        CU_ASSERT(may > 16 && may < t->classes);
        blind(m, t, keep);
        small_compare(m, to, 1, 1e-5);
        ctt_free(keep);
        ctt_channel_groups_free(&t);
        ctt_model_free(&m);
        ctt_model_free(&to);
        ctt_free(text);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* ---- constraints, errors ---- */

/* What stays has its numbers, mask and codes. */
static void test_constraints(void)
{
    struct ctt_model *m = small_model(cases[0].text, 1), *to = NULL;
    struct ctt_channel_groups *t = NULL;
    uint8_t *keep = NULL;
    const struct ctt_node *a, *b;

    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    CHECK_OK(ctt_constraint_share(&m->constraint, m->g->weights));
    for (int64_t k = 0; k < m->g->weights; k++) {
        m->constraint.share[k] = (uint8_t)(k % 7);
        m->constraint.keep[k] = k % 5 > 0;
    }
    to = thin(m, &t, &keep);
    a = &m->g->node[1];
    b = &to->g->node[1];
    for (int64_t k = 0; k < ctt_volume(&b->w[0]); k++) {
        int64_t row = 2 * (k / 27), was = a->at[0] + row * 27 + k % 27;

        CU_ASSERT_EQUAL(to->w[b->at[0] + k], m->w[was]);
        CU_ASSERT_EQUAL(to->constraint.keep[b->at[0] + k],
                        m->constraint.keep[was]);
        CU_ASSERT_EQUAL(to->constraint.share[b->at[0] + k],
                        m->constraint.share[was]);
    }
    ctt_free(keep);
    ctt_channel_groups_free(&t);
    ctt_model_free(&m);
    ctt_model_free(&to);
}

/* Keeps all classes but one, of channel j of a node, or all of it (j < 0). */
static void refused(const char *text, const char *name, int j, const char *why)
{
    struct ctt_model *m = small_model(text, 1), *to = NULL;
    int node = ctt_graph_find(m->g, name);
    struct ctt_channel_groups *t = NULL;
    uint8_t *keep;

    CHECK_OK(ctt_channel_groups_new(m->g, &t));
    keep = ctt_calloc((size_t)t->classes, 1);
    memset(keep, 1, (size_t)t->classes);
    for (int64_t c = 0; c < m->g->node[node].out.c; c++)
        if (j < 0 || c == j)
            keep[ctt_tie(t, node, c)] = 0;
    ctt_check_refused(ctt_thin_model(m, t, keep, &to), CTT_EINVAL, why);
    CU_ASSERT_PTR_NULL(to);
    ctt_free(keep);
    ctt_channel_groups_free(&t);
    ctt_model_free(&m);
}

static void test_refused(void)
{
    refused(cases[0].text, "x", 1, "x: channel 1 must stay");
    refused(cases[0].text, "y", 0, "y: channel 0 must stay");
    refused(cases[0].text, "z", -1, "a: no channel would be left");
    refused(cases[13].text, "a", 2, "a: channel 2 must stay");
    refused(cases[14].text, "a", 5, "a: channel 5 must stay");
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_alloc(void)
{
    struct ctt_model *m = small_model(cases[16].text, 4), *to = NULL;
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM;

    for (long k = 1; rc < 0; k++) {
        struct ctt_channel_groups *t = NULL;
        uint8_t all[15];

        if (!ctt_check_tries())
            continue;
        memset(all, 1, sizeof(all));
        ctt_fail_alloc(k);
        rc = ctt_channel_groups_new(m->g, &t);
        if (rc >= 0)
            rc = ctt_thin_model(m, t, all, &to);
        ctt_fail_alloc(0);
        ctt_channel_groups_free(&t);
        CU_ASSERT_FATAL(rc >= 0 || (rc == CTT_ENOMEM && !to));
        CU_ASSERT_FATAL(rc >= 0 || ctt_live_blocks() == live);
    }
    small_compare(m, to, 2, 0);
    ctt_model_free(&to);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "every op", test_cases },
        { "models", test_models },
        { "masks and codes", test_constraints },
        { "refused", test_refused },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "thin", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
