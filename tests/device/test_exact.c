/* SPDX-License-Identifier: Apache-2.0
 * test_exact.c: after ctt_dev_deterministic() no bit of a conv depends on the
 * number of threads, and the fast kernels compute it nevertheless. */
#include "tests/lib/check.h"
#include "tests/lib/rig.h"
#include "device/dev.h"

#include "net/op.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

/* Shapes that are cut into several shares, equal ones and others. */
static const struct ctt_case cases[] = {
    { "c=3 h=32 w=32", NULL, "conv y in=a out=32 kernel=5 stride=2 pad=2", 1 },
    { "c=32 h=16 w=16", "c=64 h=8 w=8", "conv y in=a plus=b out=64 kernel=3 "
      "stride=2 pad=1", 1 },
    { "c=24 h=12 w=12", NULL, "conv y in=a out=40 kernel=3 pad=1 groups=4",
      1 },
    { "c=96 h=14 w=14", NULL, "conv y in=a out=96 kernel=3 pad=1 groups=96",
      1 },
    { "c=48 h=14 w=14", "c=144 h=14 w=14", "conv y in=a plus=b out=144", 1 },
    { "c=16 d=6 h=10 w=10", NULL, "conv y in=a out=24 kernel=3 pad=1", 1 },
    { "c=16 d=8 h=8 w=8", NULL, "conv y in=a out=24 kernel=3,1,1 stride=2,1,1 "
      "pad=1,0,0", 1 },
    { "c=512", "c=768", "conv y in=a plus=b out=768", 1 },
    { "c=64 h=4 w=4", NULL, "conv y in=a out=256 kernel=4", 1 },
    { "c=32 h=8 w=8", NULL, "deconv y in=a out=16 kernel=4 stride=2 pad=1",
      1 },
    { "c=24 h=13 w=13", NULL, "conv y in=a out=40 kernel=3 pad=1", 1 },
    { "c=40 h=9 w=11", NULL, "conv y in=a out=24 kernel=5 pad=2", 1 },
};

static const int threads[] = { 1, 2, 3, 4, 7 };
enum { TEAMS = CTT_LEN(threads) };
static struct ctt_dev *dev[TEAMS], *plain;

static void run(struct ctt_dev *d, struct ctt_rig *r, int flags)
{
    ctt_rig_reset(r, flags);
    CHECK_OK(ctt_dev_run(d, &r->call, CTT_FWD));
    CHECK_OK(ctt_dev_run(d, &r->call, CTT_BWD));
}

/* All that both calls write; tol 0: the same bits, which is soon seen. */
static int one_same(const struct ctt_tensor *a, const struct ctt_tensor *b,
                    double tol, const char *what, const struct ctt_case *cs)
{
    size_t floats = (size_t)(ctt_rows(a) * a->ld - (a->ld - a->c));

    return !a->data ||
           (tol == 0 && memcmp(a->data, b->data,
                               floats * sizeof(float)) == 0) ||
           ctt_rig_close_to(a, b, tol, what, cs);
}

static int same(const struct ctt_rig *a, const struct ctt_rig *b, double tol,
                const struct ctt_case *cs)
{
    int good = one_same(&a->call.out, &b->call.out, tol, "out", cs);

    for (int k = 0; k < a->call.node->nin; k++)
        good = good && one_same(&a->whole.din[k], &b->whole.din[k], tol, "din",
                                cs);
    for (int k = 0; k < a->call.node->nw; k++)
        good = good && one_same(&a->call.dw[k], &b->call.dw[k], tol, "dw", cs);
    return good;
}

/* Direct sums are right, but slow: they compute only what no other provider
 * can. */
static int is_fast(struct ctt_rig *got, struct ctt_rig *want)
{
    for (int pass = 0; pass < CTT_PASSES; pass++)
        if (strstr(ctt_dev_impl(dev[0], got->cache, pass), "direct") &&
            !strstr(ctt_dev_impl(plain, want->cache, pass), "direct"))
            return 0;
    return 1;
}

/* With one thread and with the teams from .. to - 1. */
static void same_bits(const struct ctt_case *cs, int n, int flags, int from,
                      int to)
{
    struct ctt_rig want, one, many;

    flags |= RIG_DIN | RIG_DW | RIG_TRAIN;
    ctt_rig_open(&want, cs, n, flags, 0);
    ctt_rig_open(&one, cs, n, flags, 0);
    run(plain, &want, flags);
    run(dev[0], &one, flags);
    if (!same(&one, &want, 2e-4, cs) || !is_fast(&one, &want))
        CU_FAIL("another result, or direct sums");
    for (int i = from; i < to; i++) {
        ctt_rig_open(&many, cs, n, flags, 0);
        run(dev[i], &many, flags);
        if (!same(&many, &one, 0, cs))
            CU_FAIL("bits that depend on the threads");
        ctt_rig_close(&many, dev[i]);
    }
    ctt_rig_close(&want, plain);
    ctt_rig_close(&one, dev[0]);
}

static void test_shapes(void)
{
    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        same_bits(&cases[i], 16, 0, 1, TEAMS);
        same_bits(&cases[i], 13, RIG_ADD, 2, 3);
        same_bits(&cases[i], 3, RIG_VIEW, 1, 2);
    }
}

static void test_rig_cases(void)
{
    for (size_t i = 0; i < ctt_case_count; i++)
        if (strstr(ctt_cases[i].op, "conv "))
            same_bits(&ctt_cases[i], 5, RIG_ADD, 1, TEAMS);
}

/* A short deconv of one image does not cost a session its team. */
static void test_team_stays(void)
{
    static const struct ctt_case cs = { "c=32 h=16 w=16", NULL, "deconv y in=a "
        "out=16 kernel=4 stride=2 pad=1", 1 };
    struct ctt_dev *d;
    struct ctt_rig r;

    CHECK_OK(ctt_dev_open("cpu", 2, &d));
    CHECK_OK(ctt_dev_own_threads(d));
    ctt_rig_open(&r, &cs, 1, 0, 0);
    ctt_rig_reset(&r, 0);
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
    CU_ASSERT_PTR_NOT_NULL(d->team);
    ctt_rig_close(&r, d);
    ctt_dev_close(&d);
}

/* ---- the convs of models/ ---- */

/* SIDE: pixels of large images; WORK: multiplications of a case. */
enum { SIDE = 14, LINES = 256, WORK = 20000000 };

struct text { char a[64], op[192]; };
static struct text seen[LINES];
static int count;

static int is_seen(const struct text *t)
{
    for (int i = 0; i < count; i++)
        if (strcmp(seen[i].a, t->a) == 0 && strcmp(seen[i].op, t->op) == 0)
            return 1;
    return 0;
}

static int side(int64_t n, int kernel)
{
    int most = kernel > SIDE ? kernel : SIDE;

    return n < most ? (int)n : most;
}

static void conv_of(const struct ctt_graph *g, const struct ctt_node *n)
{
    const struct ctt_tensor *x = &g->node[n->in[0]].out;
    const int *k = n->attr.conv.kernel, *s = n->attr.conv.stride;
    const int *p = n->attr.conv.pad;
    struct text *t = &seen[count];
    struct ctt_case cs = { t->a, NULL, t->op, 1 };
    char groups[24] = "";
    double work;
    int other, batch;

    if (n->attr.conv.groups > 1)
        snprintf(groups, sizeof(groups), " groups=%d", n->attr.conv.groups);
    snprintf(t->a, sizeof(t->a), "c=%d d=%d h=%d w=%d", (int)x->c,
             side(x->d, k[0]), side(x->h, k[1]), side(x->w, k[2]));
    snprintf(t->op, sizeof(t->op), "%s y in=a out=%d kernel=%d,%d,%d "
             "stride=%d,%d,%d pad=%d,%d,%d bias=%d%s", ctt_ops[n->op].name,
             n->attr.conv.out, k[0], k[1], k[2], s[0], s[1], s[2], p[0], p[1],
             p[2], n->attr.conv.bias, groups);
    if (is_seen(t))
        return;
    CU_ASSERT_FATAL(++count < LINES);
    work = (double)ctt_volume(&n->w[0]) * side(n->out.d, 1) *
           side(n->out.h, 1) * side(n->out.w, 1);
    batch = work * 5 < WORK ? 5 : 2;
    other = 1 + count % (TEAMS - 1);
    same_bits(&cs, batch, 0, other, other + 1);
}

static void test_models(void)
{
    const char *top = getenv("srcdir");
    char pattern[1024];
    glob_t files;

    snprintf(pattern, sizeof(pattern), "%s/models/*.net", top ? top : ".");
    CU_ASSERT_FATAL(glob(pattern, 0, NULL, &files) == 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct ctt_graph *g = NULL;
        char *text = NULL;
        CHECK_OK(ctt_net_read(files.gl_pathv[i], &text));
        CHECK_OK(ctt_net_parse(text, &g));
        for (int k = 0; k < g->count; k++)
            if (ctt_is_conv(&g->node[k]))
                conv_of(g, &g->node[k]);
        ctt_graph_free(&g);
        ctt_free(text);
    }
    globfree(&files);
    CU_ASSERT(count > 50);
}

/* ---- the program ---- */

static CU_TestInfo tests[] = {
    { "shapes that are cut", test_shapes },
    { "the cases of all ops", test_rig_cases },
    { "the convs of models/", test_models },
    { "a team stays", test_team_stays },
    CU_TEST_INFO_NULL
};

static int open_all(void)
{
    int rc = ctt_dev_open("cpu", 1, &plain);

    for (int i = 0; i < TEAMS && rc >= 0; i++) {
        rc = ctt_dev_open("cpu", threads[i], &dev[i]);
        if (rc >= 0)
            ctt_dev_deterministic(dev[i], 1);
    }
    return rc;
}

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "exact", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = open_all() < 0 ? 99 : ctt_check_main(suites);

    for (int i = 0; i < TEAMS; i++)
        ctt_dev_close(&dev[i]);
    ctt_dev_close(&plain);
    return rc;
}
