/* SPDX-License-Identifier: Apache-2.0
 * test_cuts.c: where a graph can be cut, and the sections that come of it. */
#include "libtrain/ranks/pipeline.h"
#include "net/op.h"
#include "net/rewrite/section.h"
#include "tests/lib/check.h"

#include <string.h>

/* A value that passes two sections (a), one that is fused into what reads it
 * (f), a loop (h), a state of a value from before (s), and a clip part. */
static const char net[] =
    "input x h=8 w=8 c=1 mean=0.3 std=0.2\n"
    "conv e in=x out=4 kernel=3 pad=1\n"
    "act a in=e kind=relu\n"
    "state s of=a fill=first\n"
    "conv f in=a out=4 kernel=3 pad=1\n"
    "conv g in=s out=4 kernel=3 pad=1 plus=f\n"
    "norm b in=g kind=batch\n"
    "convlstm h in=b hidden=4 kernel=3\n"
    "add d in=h,a\n"
    "pool p in=d kind=avg\n"
    "clip\n"
    "window q in=p steps=2\n"
    "pool z in=q kind=avg\n"
    "conv y in=z out=2\n";

static struct ctt_graph *parse(const char *text)
{
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    return g;
}

/* What leaves a section enters the next one, in the same order. */
static void check_neighbours(const struct ctt_section *a,
                             const struct ctt_section *b)
{
    CU_ASSERT_EQUAL_FATAL(a->outs, b->ins);
    CU_ASSERT(a->outs > 0);
    for (int i = 0; i < a->outs; i++) {
        CU_ASSERT_EQUAL(a->out[i].of, b->in[i].of);
        CU_ASSERT_EQUAL(a->out[i].volume, b->in[i].volume);
        CU_ASSERT(i == 0 || a->out[i].of > a->out[i - 1].of);
        CU_ASSERT_EQUAL(b->g->node[b->in[i].node].op, CTT_OP_INPUT);
        CU_ASSERT_STRING_EQUAL(a->g->node[a->out[i].node].name,
                               b->g->node[b->in[i].node].name);
    }
}

/* Counts the nodes of the whole graph that a section computes. */
static int own_nodes(const struct ctt_graph *g, const int *number, int at,
                     const struct ctt_section *s)
{
    int n = 0;

    CU_ASSERT_EQUAL(s->g->weights, g->weights);
    for (int i = 0; i < s->g->count; i++) {
        const struct ctt_node *x = &s->g->node[i], *of;

        if (s->of[i] < 0 || number[s->of[i]] != at)
            continue;
        of = &g->node[s->of[i]];
        n++;
        CU_ASSERT_EQUAL(x->op, of->op);
        CU_ASSERT_EQUAL(x->rank, of->rank);
        for (int k = 0; k < x->nw; k++)
            CU_ASSERT_EQUAL(x->at[k], of->at[k]);
    }
    return n;
}

static void check_sections(const struct ctt_graph *g, const char *text, int n)
{
    struct ctt_section *s[16] = { NULL };
    int number[64], nodes = 0;

    CHECK_OK(ctt_cuts_find(g, text, n, 0, number));
    for (int k = 0; k < n; k++) {
        CHECK_OK(ctt_section_new(g, number, k, &s[k]));
        nodes += own_nodes(g, number, k, s[k]);
        if (k > 0)
            check_neighbours(s[k - 1], s[k]);
    }
    CU_ASSERT_EQUAL(nodes, g->count);
    CU_ASSERT_EQUAL(s[0]->ins, 0);
    CU_ASSERT_EQUAL(s[n - 1]->outs, 0);
    CU_ASSERT(n == 1 || s[0]->g->clip == s[0]->g->count);
    CU_ASSERT(s[n - 1]->g->clip < s[n - 1]->g->count);
    for (int k = 0; k < n; k++)
        ctt_section_free(&s[k]);
}

/* Into every number that is possible, and not one more. */
static void test_sections(void)
{
    struct ctt_graph *g = parse(net);
    int number[64], n = 1;

    while (ctt_cuts_find(g, "auto", n, 0, number) >= 0)
        check_sections(g, "auto", n++);
    CU_ASSERT(n > 4);
    CU_ASSERT_PTR_NOT_NULL(strstr(ctt_errmsg(), "sections at most, not into"));
    ctt_graph_free(&g);
}

/* `a` passes the section in the middle, which does not read it. */
static void test_passing(void)
{
    struct ctt_graph *g = parse(net);
    struct ctt_section *s = NULL;
    int number[64], a;

    check_sections(g, "b,d", 3);
    CHECK_OK(ctt_cuts_find(g, "b,d", 3, 0, number));
    CHECK_OK(ctt_section_new(g, number, 1, &s));
    CU_ASSERT_EQUAL_FATAL(s->ins, 2);
    CU_ASSERT_EQUAL_FATAL(s->outs, 2);
    a = ctt_graph_find(g, "a");
    CU_ASSERT_EQUAL(s->in[0].of, a);
    CU_ASSERT_EQUAL(s->out[0].of, a);
    CU_ASSERT_EQUAL(s->in[0].volume, 8 * 8 * 4);
    ctt_section_free(&s);
    ctt_graph_free(&g);
}

static int refused(const struct ctt_graph *g, const char *text, int n,
                   int windows, const char *says)
{
    int number[64], rc = ctt_cuts_find(g, text, n, windows, number);

    if (rc < 0 && strstr(ctt_errmsg(), says))
        return 1;
    printf("\n    %d, not '%s': %s", rc, says, ctt_errmsg());
    return 0;
}

/* An act is fused into its conv, f into g, and a loop is one component; with
 * several windows no section reads what another one had in steps before. */
static void test_places(void)
{
    struct ctt_graph *g = parse(net);
    int number[64];

    CU_ASSERT(refused(g, "a", 2, 0, "no section can begin with a; near it: "));
    CU_ASSERT(refused(g, "h", 2, 0, "no section can begin with h; near it: "));
    CU_ASSERT(refused(g, "f", 2, 0, "no section can begin with f; near it: "));
    CU_ASSERT(refused(g, "y", 2, 0, "y stands after clip"));
    CU_ASSERT(refused(g, "k", 2, 0, "no node k"));
    CU_ASSERT(refused(g, "d,b", 3, 0, "b stands before the section"));
    CU_ASSERT(refused(g, "b", 3, 0, "are 2; there are 3 processes"));
    CU_ASSERT(refused(g, "b,d", 2, 0, "are more than 2"));
    CHECK_OK(ctt_cuts_find(g, "s", 2, 0, number));
    CU_ASSERT(refused(g, "s", 2, 1, "no section can begin with s"));
    CHECK_OK(ctt_cuts_find(g, "b", 2, 1, number));
    ctt_graph_free(&g);
}

/* The longest of two sections is no longer than of any other cut. */
static void test_equal(void)
{
    struct ctt_graph *g = parse("input x h=8 w=8 c=1 mean=0 std=1\n"
        "conv a in=x out=8 kernel=3 pad=1\nconv b in=a out=8 kernel=3 pad=1\n"
        "conv c in=b out=8 kernel=3 pad=1\nconv d in=c out=8 kernel=3 pad=1\n"
        "conv e in=d out=8 kernel=3 pad=1\nconv y in=e out=8 kernel=8\n");
    int number[64];

    CHECK_OK(ctt_cuts_find(g, "auto", 2, 0, number));
    CU_ASSERT_EQUAL(number[ctt_graph_find(g, "c")], 0);
    CU_ASSERT_EQUAL(number[ctt_graph_find(g, "d")], 1);
    ctt_graph_free(&g);
}

static void test_feedback(void)
{
    struct ctt_graph *g = parse("input x h=8 w=8 c=1 mean=0 std=1\n"
        "input k h=1 w=1 c=1\nstate o of=y like=x c=1\nmix m in=x,o,k\n"
        "conv a in=m out=4 kernel=3 pad=1\nconv y in=a out=1 kernel=3 pad=1\n");

    CU_ASSERT(refused(g, "auto", 2, 0, "m reads what the model answers"));
    ctt_graph_free(&g);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "sections", test_sections },
        { "passing", test_passing },
        { "places", test_places },
        { "equal", test_equal },
        { "feedback", test_feedback },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "cuts", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
