/* SPDX-License-Identifier: Apache-2.0
 * test_edit.c: models that are changed line by line: their text, their weights
 * and masks, their answers, and what is refused. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "net/rewrite/edit.h"

#include <string.h>

static const char with_clip[] =
    "input x h=6 w=6 c=4\n"
    "conv a in=x out=8 kernel=1,3,3 pad=0,1,1 bias=0\n"
    "norm n in=a kind=batch\nact r in=n kind=relu\n"
    "dropout d in=r rate=0.5\n"
    "state s of=d like=x c=8 delay=2\n"
    "add h in=d,s\n"
    "clip\nwindow v in=h steps=3\npool p in=v kind=avg\nconv y in=p out=5\n";

static const char *const texts[] = {
    with_clip,
    "input x h=6 w=6 c=4 mean=0.4,0.5,0.6 scale=1.1 fit=pad colour=bgr\n"
    "convlstm h in=x hidden=4 kernel=3\nconv y in=h out=3\n",
    "input x h=8 w=8 c=4\nresblock a in=x out=8 stride=2\n"
    "resblock b in=a out=8\nconv y in=b out=4\n",
};

static struct ctt_edit *begin(const struct ctt_graph *g)
{
    struct ctt_edit *e = NULL;

    CHECK_OK(ctt_edit_begin(g, &e));
    return e;
}

static struct ctt_graph *parse(const char *text)
{
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    return g;
}

/* The graph prints as the text would, and its print gives it again. */
static void same_text(const struct ctt_graph *g, const char *text)
{
    struct ctt_graph *want = parse(text), *again;
    char *a = ctt_net_print(g), *b = ctt_net_print(want), *c;

    CU_ASSERT_STRING_EQUAL(a, b);
    again = parse(a);
    c = ctt_net_print(again);
    CU_ASSERT_STRING_EQUAL(a, c);
    CU_ASSERT_EQUAL(g->clip, want->clip);
    ctt_free(a);
    ctt_free(b);
    ctt_free(c);
    ctt_graph_free(&want);
    ctt_graph_free(&again);
}

static void edited(const struct ctt_edit *e, const char *text)
{
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_edit_graph(e, &g));
    CU_ASSERT(g->sealed);
    same_text(g, text);
    ctt_graph_free(&g);
}

static void test_nothing(void)
{
    for (size_t i = 0; i < CTT_LEN(texts); i++) {
        struct ctt_graph *g = parse(texts[i]);
        struct ctt_edit *e = begin(g);

        edited(e, texts[i]);
        ctt_edit_free(&e);
        ctt_graph_free(&g);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_lines(void)
{
    struct ctt_graph *g = parse("input x c=3\nconv a in=x out=4\nclip\n"
                                "window v in=a steps=2\nconv y in=v out=2\n");
    struct ctt_edit *e = begin(g);

    CHECK_OK(ctt_edit_set(e, 1, "out", "17"));
    CHECK_OK(ctt_edit_set(e, 3, "kernel", "2,1,1"));
    CHECK_OK(ctt_edit_add(e, 1, "act r%d in=x kind=relu", 1));
    CHECK_OK(ctt_edit_add(e, 1, "act r2 in=r1 kind=tanh"));
    CHECK_OK(ctt_edit_add(e, 2, "window u in=a steps=2"));
    CHECK_OK(ctt_edit_add(e, 2, "act v in=u kind=sigmoid"));
    ctt_edit_remove(e, 2);
    CHECK_OK(ctt_edit_add(e, g->count, "act z in=y kind=relu"));
    edited(e, "input x c=3\nact r1 in=x kind=relu\nact r2 in=r1 kind=tanh\n"
           "conv a in=x out=17\nclip\nwindow u in=a steps=2\n"
           "act v in=u kind=sigmoid\nconv y in=v out=2 kernel=2,1,1\n"
           "act z in=y kind=relu\n");
    ctt_edit_free(&e);
    ctt_graph_free(&g);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void refused(const struct ctt_edit *e, const char *message)
{
    struct ctt_graph *g = NULL;

    CU_ASSERT_EQUAL(ctt_edit_graph(e, &g), CTT_EFORMAT);
    CU_ASSERT_PTR_NULL(g);
    if (!strstr(ctt_errmsg(), message))
        printf("\n    %s", ctt_errmsg());
    CU_ASSERT(strstr(ctt_errmsg(), message) != NULL);
}

static void test_errors(void)
{
    struct ctt_graph *g = parse("input x c=3\nconv a in=x out=4\n"
                                "conv y in=a out=2\n"), *open = NULL;
    struct ctt_edit *e = begin(g), *none = NULL;

    CU_ASSERT_EQUAL(ctt_edit_set(e, 1, "steps", "3"), CTT_EFORMAT);
    CU_ASSERT_STRING_EQUAL(ctt_errmsg(), "a: has no steps=");
    CU_ASSERT_EQUAL(ctt_edit_add(e, 1, "%2048d", 1), CTT_EFORMAT);
    CHECK_OK(ctt_edit_add(e, 2, "act a in=x kind=relu"));
    refused(e, "line 3: 'a' is defined twice");
    ctt_edit_free(&e);
    e = begin(g);
    ctt_edit_remove(e, 1);
    CU_ASSERT_EQUAL(ctt_edit_set(e, 1, "out", "3"), CTT_EFORMAT);
    refused(e, "y: no node 'a' before it");
    ctt_edit_free(&e);
    CHECK_OK(ctt_graph_new(&open));
    CU_ASSERT_EQUAL(ctt_edit_begin(open, &none), CTT_EINVAL);
    CU_ASSERT_PTR_NULL(none);
    ctt_graph_free(&open);
    ctt_graph_free(&g);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* A state delays what is behind the names. */
static void test_bypass(void)
{
    struct ctt_model *m = small_model(with_clip, 1), *to = NULL;
    struct ctt_edit *e = begin(m->g);

    CU_ASSERT_EQUAL(ctt_edit_bypass(e, 4), 1);
    CHECK_OK(ctt_edit_model(e, m, &to));
    same_text(to->g,
        "input x h=6 w=6 c=4\n"
        "conv a in=x out=8 kernel=1,3,3 pad=0,1,1 bias=0\n"
        "norm n in=a kind=batch\nact r in=n kind=relu\n"
        "reshape d in=r h=6 w=6 c=8\n"
        "state s of=r like=x c=8 delay=2\n"
        "add h in=d,s\n"
        "clip\nwindow v in=h steps=3\npool p in=v kind=avg\n"
        "conv y in=p out=5\n");
    small_compare(m, to, 6, 0);
    ctt_edit_free(&e);
    ctt_model_free(&m);
    ctt_model_free(&to);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* States of one node begin alike, so one whose states begin otherwise stays. */
static void test_fills(void)
{
    static const char text[] =
        "input x c=4\nconv a in=x out=4\nstate p of=a fill=first\n"
        "dropout d in=a\nstate q of=d\ndropout f in=a\n"
        "state s of=f fill=first\nadd y in=p,q,s\n";
    struct ctt_model *m = small_model(text, 5), *to = NULL;
    struct ctt_edit *e = begin(m->g);

    CU_ASSERT_EQUAL(ctt_edit_bypass(e, 3), 0);
    CU_ASSERT_EQUAL(ctt_edit_bypass(e, 5), 1);
    CHECK_OK(ctt_edit_model(e, m, &to));
    same_text(to->g, "input x c=4\nconv a in=x out=4\n"
              "state p of=a fill=first\ndropout d in=a\nstate q of=d\n"
              "reshape f in=a c=4\nstate s of=a fill=first\n"
              "add y in=p,q,s\n");
    small_compare(m, to, 4, 0);
    ctt_edit_free(&e);
    ctt_model_free(&m);
    ctt_model_free(&to);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* No state delays a slice, so a node that a state delays does not become the
 * name of one; another node does. */
static void test_no_bypass(void)
{
    static const char text[] =
        "input x c=8\nslice a in=x to=4\ndropout d in=a\ndropout f in=d\n"
        "state s of=f like=x c=4\nadd y in=f,s\n";
    struct ctt_model *m = small_model(text, 5), *to = NULL;
    struct ctt_edit *e = begin(m->g);

    CU_ASSERT_EQUAL(ctt_edit_bypass(e, 2), 1);
    CU_ASSERT_EQUAL(ctt_edit_bypass(e, 3), 0);
    CHECK_OK(ctt_edit_model(e, m, &to));
    same_text(to->g, "input x c=8\nslice a in=x to=4\nslice d in=a to=4\n"
              "dropout f in=d\nstate s of=f like=x c=4\nadd y in=f,s\n");
    small_compare(m, to, 4, 0);
    ctt_edit_free(&e);
    ctt_model_free(&m);
    ctt_model_free(&to);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* ---- numbers ---- */

static const struct ctt_node *node(const struct ctt_model *m, const char *name)
{
    int at = ctt_graph_find(m->g, name);

    CU_ASSERT_FATAL(at >= 0);
    return &m->g->node[at];
}

static void same_numbers(const struct ctt_model *a, const struct ctt_model *b,
                         const char *name, int k)
{
    const struct ctt_node *x = node(a, name), *y = node(b, name);
    size_t count = (size_t)ctt_volume(&x->w[k]);

    CU_ASSERT_FATAL(x->nw > k && y->nw > k);
    CU_ASSERT_EQUAL(memcmp(a->w + x->at[k], b->w + y->at[k],
                           count * sizeof(float)), 0);
    CU_ASSERT_EQUAL(memcmp(a->constraint.keep + x->at[k],
                           b->constraint.keep + y->at[k], count), 0);
}

/* Weights and masks follow their names; what is new is zero and kept. */
static void test_model(void)
{
    static char *const labels[] = { "one", "two" };
    struct ctt_model *m = small_model(texts[0], 2), *to = NULL;
    struct ctt_edit *e = begin(m->g);
    int64_t sum = 0;

    CHECK_OK(ctt_model_labels(m, labels, 2));
    CHECK_OK((m->history = ctt_strdup("by hand\n")) ? 0 : CTT_ENOMEM);
    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    for (int64_t k = 0; k < m->g->weights; k += 3)
        m->constraint.keep[k] = 0;
    CHECK_OK(ctt_edit_add(e, 1, "conv a.1 in=x out=2 kernel=1,3,3 pad=0,1,1"));
    CHECK_OK(ctt_edit_add(e, 1, "conv a in=a.1 out=8"));
    ctt_edit_remove(e, 1);
    CHECK_OK(ctt_edit_model(e, m, &to));
    for (int k = 0; k < 4; k++)
        same_numbers(m, to, "n", k);
    same_numbers(m, to, "y", 0);
    same_numbers(m, to, "y", 1);
    for (int64_t k = 0; k < ctt_volume(&node(to, "a")->w[0]); k++) {
        CU_ASSERT_EQUAL(to->w[node(to, "a")->at[0] + k], 0);
        sum += to->constraint.keep[node(to, "a")->at[0] + k];
    }
    CU_ASSERT_EQUAL(sum, ctt_volume(&node(to, "a")->w[0]));
    CU_ASSERT_EQUAL(to->labels, 2);
    CU_ASSERT_STRING_EQUAL(to->label[1], "two");
    CU_ASSERT_STRING_EQUAL(to->history, "by hand\n");
    CU_ASSERT_EQUAL(ctt_model_move(m, to), 6);
    ctt_edit_free(&e);
    ctt_model_free(&m);
    ctt_model_free(&to);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void fold(struct ctt_model *m, struct ctt_model **to)
{
    struct ctt_edit *e = begin(m->g);

    CHECK_OK(ctt_edit_norms(e, m->g, ctt_edit_bypass));
    CHECK_OK(ctt_edit_model(e, m, to));
    ctt_fold_norms(m, *to);
    ctt_edit_free(&e);
}

static int count_op(const struct ctt_model *m, enum ctt_opcode op)
{
    int n = 0;

    for (int i = 0; i < m->g->count; i++)
        n += m->g->node[i].op == op;
    return n;
}

/* The answers are the same; norms that no conv can take in stay. */
static void test_norms(void)
{
    static const struct { const char *text; int stay; } cases[] = {
        { with_clip, 0 },
        { "input x h=8 w=8 c=4\nresblock a in=x out=8 stride=2\n"
          "resblock b in=a out=8\nconv y in=b out=4\n", 0 },
        { "input x h=4 w=4 c=4\ndeconv a in=x out=6 kernel=1,2,2 "
          "stride=1,2,2\nnorm y in=a kind=batch\n", 0 },
        { "input x h=4 w=4 c=4\nconv a in=x out=4\nnorm n in=a kind=batch\n"
          "add y in=n,a\n", 1 },                     /* a has two readers */
        { "input x h=4 w=4 c=4\nconv a in=x plus=x out=4\n"
          "norm y in=a kind=batch\n", 1 },           /* it adds an input */
        { "input x h=4 w=4 c=4\nnorm n in=x kind=batch\nconv a in=n out=4\n"
          "norm y in=a kind=layer\n", 2 },           /* no conv; not batch */
    };

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        struct ctt_model *m = small_model(cases[i].text, 3 + i), *to = NULL;
        char *text;

        fold(m, &to);
        CU_ASSERT_EQUAL(count_op(to, CTT_OP_NORM), cases[i].stay);
        CU_ASSERT_EQUAL(to->g->count, m->g->count);
        small_compare(m, to, 5, 1e-5);
        text = ctt_net_print(to->g);
        same_text(to->g, text);
        ctt_free(text);
        ctt_model_free(&m);
        ctt_model_free(&to);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* The answers are the same to the bit; some adds no conv can take in. */
static void test_adds(void)
{
    static const struct { const char *text; int stay; } cases[] = {
        { "input x h=8 w=8 c=4\nresblock a in=x out=8 stride=2 norm=0\n"
          "resblock b in=a out=8 norm=0\nconv y in=b out=4\n", 0 },
        { "input x h=4 w=4 c=4\nact r in=x kind=relu\nconv a in=x out=4\n"
          "add s in=r,a\nadd t in=s,x\nconv y in=t out=2\n", 1 },
                                    /* the conv is second; then it has a plus */
        { "input x h=4 w=4 c=4\nconv a in=x out=4\nact r in=a kind=relu\n"
          "add s in=a,r\nconv y in=s out=2\n", 1 },  /* a has two readers */
        { "input x h=4 w=4 c=4\nconv a in=x out=4\nadd s in=a,x minus=1\n"
          "add t in=s,x bias=1\nadd y in=t,x\n", 3 },
        { "input x c=4\nconv a in=x out=4\nact r in=x kind=relu\n"
          "add s in=a,r\nstate p of=s\nconcat k in=s,p\nconv y in=k "
          "out=2\n", 0 },                  /* a state without like= */
        { "input x c=4\nstate p of=s like=x c=4\nconv a in=x out=4\n"
          "add s in=a,p\nconv y in=s out=2\n", 1 },  /* a loop */
        { "input x c=4\nconv a in=x out=8\nstate s of=z like=a c=8\n"
          "conv b in=s out=8\nadd y in=a,b\nconv z in=x out=8\n"
          "conv o in=y out=2\n", 0 },    /* b, as a gives a state its size */
        { "input x c=4\nconv a in=x out=4\nclip\nwindow v in=a steps=1\n"
          "reshape r in=v d=1 h=1 w=1 c=4\nadd s in=r,r\nconv y in=s "
          "out=2\n", 1 },
    };

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        struct ctt_model *m = small_model(cases[i].text, 3 + i), *to = NULL;

        CHECK_OK(ctt_without_adds(m, &to));
        CU_ASSERT_EQUAL(count_op(to, CTT_OP_ADD), cases[i].stay);
        CU_ASSERT_EQUAL(to->g->weights, m->g->weights);
        small_compare(m, to, 5, 0);
        ctt_model_free(&m);
        ctt_model_free(&to);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* ---- convs that read the same ---- */

/* Merges what can be; the answers are the same, and what was pruned stays. */
static void check_merged_answers(const char *text, int merges)
{
    struct ctt_model *m = small_model(text, 7), *to = NULL, *next = NULL;
    int done = 0, with;

    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    for (int64_t i = 0; i < m->g->weights; i += 3)
        m->constraint.keep[i] = 0;
    ctt_model_hold(m);
    CHECK_OK(ctt_model_copy(m, &to));
    for (int i = 0; i < to->g->count; )
        if (ctt_merge_convs(to, i, &with, &next) == 1) {
            CU_ASSERT(with > i);
            ctt_model_free(&to);
            to = next;
            done++;
        } else {
            i++;
        }
    CU_ASSERT_EQUAL(done, merges);
    CU_ASSERT_EQUAL(ctt_model_params(to), ctt_model_params(m));
    small_compare(m, to, 5, 1e-6);
    ctt_model_free(&m);
    ctt_model_free(&to);
}

static void test_merge(void)
{
    static const struct { const char *text; int merges; } cases[] = {
        { "input x h=6 w=5 c=4\nconv q in=x out=3\nact f in=q kind=relu\n"
          "conv k in=x out=5\nconv v in=x out=3\nmul m in=f,v\n"
          "concat s in=m,k\nconv y in=s out=2\n", 2 },
        { "input x h=6 w=5 c=4\nconv a in=x out=4 kernel=3 pad=1 bias=0\n"
          "conv b in=x out=4 kernel=5 pad=2 bias=0\n"
          "conv c in=x out=4 kernel=3 pad=1\n"
          "conv d in=x out=4 kernel=3 pad=1 bias=0\nadd s in=a,b\n"
          "add t in=c,d\nadd u in=s,t\nconv y in=u out=2\n", 1 },
        { "input x c=4\nconv a in=x out=4\nconv b in=x out=4\nstate p of=b\n"
          "add s in=a,p\nconv y in=s out=2\n", 0 },    /* b is delayed */
        { "input x c=4\nconv a in=x out=4 groups=2\n"
          "conv b in=x out=4 groups=2\nconv c in=x out=4 plus=a\n"
          "add s in=c,b\nconv d in=x out=2\nclip\n"
          "window w in=s steps=1\nreshape r in=w d=1 h=1 w=1 c=4\n"
          "conv y in=r out=2\n", 0 },
    };

    for (size_t i = 0; i < CTT_LEN(cases); i++)
        check_merged_answers(cases[i].text, cases[i].merges);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* ---- every allocation may fail ---- */

static int change(const struct ctt_model *m, struct ctt_model **to)
{
    struct ctt_edit *e = NULL;
    int rc = 0;

    CTT_TRY(ctt_edit_begin(m->g, &e));
    CTT_TRY(ctt_edit_norms(e, m->g, ctt_edit_bypass));
    CTT_TRY(ctt_edit_bypass(e, 4));
    CTT_TRY(ctt_edit_set(e, 9, "out", "7"));
    CTT_TRY(ctt_edit_add(e, m->g->count, "act z in=y kind=relu"));
    CTT_TRY(ctt_edit_model(e, m, to));
out:
    ctt_edit_free(&e);
    return rc;
}

static void test_alloc(void)
{
    struct ctt_model *m = small_model(with_clip, 4), *to = NULL;
    long live;
    int rc = CTT_ENOMEM;

    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    CHECK_OK((m->history = ctt_strdup("by hand\n")) ? 0 : CTT_ENOMEM);
    live = ctt_live_blocks();
    for (long k = 1; rc < 0; k++) {
        ctt_fail_alloc(k);
        rc = change(m, &to);
        ctt_fail_alloc(0);
        CU_ASSERT_FATAL(rc >= 0 || (rc == CTT_ENOMEM && !to));
        CU_ASSERT_FATAL(rc >= 0 || ctt_live_blocks() == live);
    }
    ctt_model_free(&to);
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "nothing", test_nothing },
        { "lines", test_lines },
        { "errors", test_errors },
        { "names", test_bypass },
        { "not a name", test_no_bypass },
    { "states that begin otherwise", test_fills },
        { "weights and masks", test_model },
        { "norms", test_norms },
        { "adds", test_adds },
        { "merge", test_merge },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "edit", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
