/* SPDX-License-Identifier: Apache-2.0
 * test_aux_head.c: the line `ahead` of a model: its rules, and that the model
 * without it is as if it had never been there. */
#include "net/rewrite/aux_head.h"
#include "net/init.h"
#include "tests/lib/check.h"

#include <string.h>

#define BEGIN \
    "input x h=8 w=8 c=2\n" \
    "conv e in=x out=4 kernel=3 stride=2 pad=1\n"
#define BRANCH \
    "deconv b in=e out=3 kernel=1,4,4 stride=1,2,2 pad=0,1,1\n" \
    "state s of=b\n" \
    "add t in=b,s bias=1\n" \
    "conv k in=t out=2 kernel=3 pad=1\n" \
    "norm n in=k kind=batch\n" \
    "ahead a in=n\n"
#define CELL "convlstm h in=e hidden=3 kernel=3\n"
#define END "pool p in=h kind=avg\ndropout o in=p\nconv y in=o out=5\n"
#define CLIP "clip\nwindow v in=h steps=2\npool p in=v kind=avg\n" \
    "conv y in=p out=5\n"

static const struct { const char *with, *without; } pairs[] = {
    { BEGIN BRANCH CELL END, BEGIN CELL END },
    { BEGIN CELL BRANCH END, BEGIN CELL END },
    { BEGIN CELL BRANCH CLIP, BEGIN CELL CLIP },
    { BEGIN CELL END "ahead a in=x\nconv z in=y out=3\n",
      BEGIN CELL END "conv z in=y out=3\n" },
};

static struct ctt_model *made(const char *text)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    ctt_init_weights(m, 7);
    return m;
}

static void same_text(const struct ctt_graph *a, const struct ctt_graph *b)
{
    char *s = ctt_net_print(a), *t = ctt_net_print(b);

    CU_ASSERT_FATAL(s && t);
    CU_ASSERT_STRING_EQUAL(s, t);
    ctt_free(s);
    ctt_free(t);
}

/* What stays has its text, the places and the first values of its weights, and
 * its random numbers. */
static void dropped_without_a_trace(void)
{
    for (size_t i = 0; i < CTT_LEN(pairs); i++) {
        struct ctt_model *a = made(pairs[i].with), *m = NULL;
        struct ctt_model *b = made(pairs[i].without);
        size_t bytes = (size_t)b->g->weights * sizeof(float);

        CU_ASSERT_EQUAL(ctt_graph_ahead(b->g), -1);
        CU_ASSERT_EQUAL(memcmp(a->w, b->w, bytes), 0);
        CHECK_OK(ctt_aux_head_drop_model(a, &m));
        same_text(m->g, b->g);
        CU_ASSERT_EQUAL(m->g->weights, b->g->weights);
        CU_ASSERT_EQUAL(memcmp(m->w, b->w, bytes), 0);
        for (int k = 0; k < b->g->count; k++) {
            const struct ctt_node *n = &b->g->node[k];
            int at = ctt_graph_find(a->g, n->name);
            CU_ASSERT_FATAL(at >= 0);
            CU_ASSERT(!a->g->node[at].aside && !n->aside && n->rank == k);
            CU_ASSERT_EQUAL(a->g->node[at].rank, k);
        }
        ctt_model_free(&a);
        ctt_model_free(&b);
        ctt_model_free(&m);
    }
}

/* The text of a model with `ahead` is canonical. */
static void text_is_kept(void)
{
    for (size_t i = 0; i < CTT_LEN(pairs); i++) {
        struct ctt_graph *a = NULL, *b = NULL;
        char *text;

        CHECK_OK(ctt_net_parse(pairs[i].with, &a));
        text = ctt_net_print(a);
        CU_ASSERT_FATAL(text != NULL);
        CU_ASSERT(strstr(text, "ahead a in=") != NULL);
        CHECK_OK(ctt_net_parse(text, &b));
        same_text(a, b);
        ctt_free(text);
        ctt_graph_free(&a);
        ctt_graph_free(&b);
    }
}

/* Initial weights of the branch are numbers of their own. */
static void branch_draws_its_own(void)
{
    struct ctt_model *m = made(pairs[0].with);
    const struct ctt_node *e = &m->g->node[1];

    for (int i = 2; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        if (n->op != CTT_OP_CONV && n->op != CTT_OP_DECONV)
            continue;
        CU_ASSERT(m->w[n->at[0]] * m->w[e->at[0] + 1] !=
                  m->w[n->at[0] + 1] * m->w[e->at[0]]);
    }
    ctt_model_free(&m);
}

static const struct { const char *net, *says; } bad[] = {
    { BEGIN "ahead a in=e\npool p in=e kind=avg\n",
      "a: predicts the next frame, 1x8x8x2, and is 1x4x4x4" },
    { BEGIN "ahead a in=x\n", "a: 'ahead' cannot be the answer" },
    { BEGIN "ahead a in=x\nahead b in=x\npool p in=e kind=avg\n",
      "b: 'ahead' stands twice" },
    { BEGIN "ahead a in=x\nconv z in=a out=1\n",
      "z: nothing can read 'a', which is for training only" },
    { BEGIN "ahead a in=x\nstate s of=a\nadd z in=s\n", "'a' is a ahead" },
    { BEGIN CELL "clip\nwindow v in=x steps=1\nahead a in=v\n"
      "pool p in=v kind=avg\n", "a: 'ahead' stands before 'clip'" },
    { BEGIN "ahead a\npool p in=e kind=avg\n", "takes 1 to 1 inputs, not 0" },
    { BEGIN "ahead a in=x c=2\npool p in=e kind=avg\n", "unknown setting" },
};

static void rules_are_checked(void)
{
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_graph *g = NULL;

        CU_ASSERT(ctt_net_parse(bad[i].net, &g) < 0);
        CU_ASSERT(strstr(ctt_errmsg(), bad[i].says) != NULL);
        if (!strstr(ctt_errmsg(), bad[i].says))
            printf("\n    %s", ctt_errmsg());
        ctt_graph_free(&g);
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "dropped without a trace", dropped_without_a_trace },
        { "text", text_is_kept }, { "first weights", branch_draws_its_own },
        { "rules", rules_are_checked },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { .pName = "ahead", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
