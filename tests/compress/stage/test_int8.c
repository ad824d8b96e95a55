/* SPDX-License-Identifier: Apache-2.0
 * test_int8.c: the stage INT8: which values become bytes, that answers stay
 * near, that the file holds what kernels multiply, and when it is retrained. */
#include "compress/stage/int8_inside.h"
#include "net/rewrite/edit_quant.h"
#include "net/op.h"
#include "net/quant.h"
#include "net/unit.h"
#include "tests/lib/fake_trainer.h"
#include "tests/lib/int8_recipe.h"
#include "tests/lib/saved.h"
#include "tests/lib/small.h"

#include <stdio.h>
#include <string.h>

/* ---- the graph ---- */

/* Lines before, and all that stand in the quantised text (without the values of
 * attributes that do not matter here). */
static const struct { const char *before, *after; } texts[] = {
    { "input x c=2 h=4 w=4\nconv a in=x out=3 kernel=3 pad=1\n"
      "act r in=a kind=relu\nconv y in=r out=2\n",
      "input x\nquant x.q8 in=x\nconv a in=x.q8\nact r in=a\n"
      "quant r.q8 in=r\nconv y in=r.q8\n" },
    /* what only repeats values passes bytes on; others still read floats */
    { "input x c=2 h=4 w=4\nstate p of=x\nadd d in=x,p minus=1\n"
      "conv a in=d out=3\npool m in=a kind=max kernel=2\n"
      "slice s in=m from=1 to=3\nconv b in=s out=2\nconv y in=m plus=b out=2\n",
      "input x\nstate p of=x\nadd d in=x,p\nquant d.q8 in=d\n"
      "conv a in=d.q8\nquant a.q8 in=a\npool m.q8 in=a.q8\n"
      "slice s.q8 in=m.q8\nconv b in=s.q8\nconv y in=m.q8 plus=b\n" },
    /* a state of a later node is one of bytes; a window too */
    { "input x c=2 h=3 w=3\nconvlstm h in=x hidden=2\nclip\n"
      "window v in=h steps=2\nconv q in=v out=2\npool g in=q kind=avg\n"
      "conv y in=g out=2\n",
      "input x\nquant x.q8 in=x\nconv h.zx in=x.q8\n"
      "state h.h1.q8 of=h.q8\nconv h.z in=h.h1.q8 plus=h.zx\n"
      "state h.c1 of=h.c\nlstm h in=h.z,h.c1\nquant h.q8 in=h\n"
      "cell h.c in=h\nclip\nwindow v.q8 in=h.q8\nconv q in=v.q8\n"
      "pool g in=q\nquant g.q8 in=g\nconv y in=g.q8\n" },
    { "input x c=2 h=3 w=3\nconv h in=x out=2\nclip\n"
      "window v in=h steps=2 spread=1\nwindow w in=h steps=2 fill=first\n"
      "conv q in=v out=2\nconv p in=w plus=q out=2\npool g in=p kind=avg\n"
      "conv y in=g out=2\n",
      "input x\nquant x.q8 in=x\nconv h in=x.q8\nquant h.q8 in=h\nclip\n"
      "window v.q8 in=h.q8\nwindow w.q8 in=h.q8 fill=first\n"
      "conv q in=v.q8\n"
      "conv p in=w.q8 plus=q\npool g in=p\nquant g.q8 in=g\n"
      "conv y in=g.q8\n" },
    { "input x h=4 w=4 c=2\nstate p of=x delay=2 fill=first\n"
      "conv a in=p out=3\nconv y in=a out=2\n",
      "input x\nquant x.q8 in=x\nstate p.q8 of=x.q8 fill=first\n"
      "conv a in=p.q8\nquant a.q8 in=a\nconv y in=a.q8\n" },
    /* the answer stays what it was: convs that read it read floats */
    { "input x h=4 w=4 c=1\nstate p of=y like=x c=1\nconv a in=x out=2\n"
      "conv b in=p plus=a out=2\nconv y in=b out=1\n",
      "input x\nquant x.q8 in=x\nstate p of=y\nconv a in=x.q8\n"
      "conv b in=p plus=a\nquant b.q8 in=b\nconv y in=b.q8\n" },
};

/* The first two words of each line, plus= and fill=. */
static void outline(const struct ctt_graph *g, char *to, size_t size)
{
    char *text = ctt_net_print(g);
    size_t at = 0;

    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        for (char *s = line; *s; s += strspn(s, " ")) {
            size_t n = strcspn(s, " ");
            if (!memchr(s, '=', n) || strncmp(s, "in=", 3) == 0 ||
                strncmp(s, "of=", 3) == 0 || strncmp(s, "plus=", 5) == 0 ||
                strncmp(s, "fill=", 5) == 0)
                at += (size_t)snprintf(to + at, size - at, "%s%.*s",
                                       s == line ? "" : " ", (int)n, s);
            s += n;
        }
        at += (size_t)snprintf(to + at, size - at, "\n");
    }
    ctt_free(text);
}

static void mark_convs(const struct ctt_graph *g, char *take)
{
    for (int i = 0; i < g->count; i++)
        take[i] = !ctt_quantise_cannot(g, i);
}

static void test_graph(void)
{
    for (size_t i = 0; i < CTT_LEN(texts); i++) {
        struct ctt_model *m = small_model(texts[i].before, 3), *q = NULL;
        char take[32] = { 0 }, got[2000] = "";
        struct ctt_form_of form[32];

        for (size_t k = 0; k < CTT_LEN(form); k++)
            form[k] = (struct ctt_form_of){ 0x1p-7f, 128 };
        mark_convs(m->g, take);
        CHECK_OK(ctt_quantise(m, take, form, &q));
        outline(q->g, got, sizeof(got));
        CU_ASSERT_STRING_EQUAL(got, texts[i].after);
        if (strcmp(got, texts[i].after) != 0)
            printf("\n%s", got);
        for (int k = 0; k < q->g->count; k++)
            CU_ASSERT(q->g->node[k].op != CTT_OP_CONV || ctt_is_int8(q->g, k) ||
                      strcmp(q->g->node[k].name, "b") == 0);
        ctt_model_free(&m);
        ctt_model_free(&q);
    }
}

/* A conv that reads floats again answers as if it had never read bytes. */
static void check_floats(const struct ctt_model *m, const struct ctt_model *q,
                         const char *take, const struct ctt_form_of *form,
                         int i)
{
    char but[32] = { 0 }, only[64] = { 0 };
    struct ctt_model *a = NULL, *b = NULL;
    int at = ctt_graph_find(q->g, m->g->node[i].name);

    memcpy(but, take, sizeof(but));
    but[i] = 0;
    only[at] = 1;
    CHECK_OK(ctt_quantise(m, but, form, &a));
    CHECK_OK(ctt_dequantise(q, only, &b));
    CU_ASSERT(!ctt_is_int8(b->g, ctt_graph_find(b->g, m->g->node[i].name)));
    small_compare(a, b, 6, 0);
    ctt_model_free(&a);
    ctt_model_free(&b);
}

static void test_floats(void)
{
    for (size_t i = 0; i < CTT_LEN(texts); i++) {
        struct ctt_model *m = small_model(texts[i].before, 3), *q = NULL;
        struct ctt_model *back = NULL;
        struct ctt_form_of form[32];
        char take[32] = { 0 }, all[64] = { 0 };

        for (size_t k = 0; k < CTT_LEN(form); k++)
            form[k] = (struct ctt_form_of){ 0x1p-7f, 128 };
        mark_convs(m->g, take);
        CHECK_OK(ctt_quantise(m, take, form, &q));
        for (int k = 0; k < m->g->count; k++)
            if (take[k])
                check_floats(m, q, take, form, k);
        for (int k = 0; k < q->g->count; k++)
            all[k] = (char)ctt_is_int8(q->g, k);
        CHECK_OK(ctt_dequantise(q, all, &back));
        for (int k = 0; k < back->g->count; k++)
            CU_ASSERT(back->g->node[k].op != CTT_OP_QUANT);
        small_compare(m, back, 6, 0);
        ctt_model_free(&m);
        ctt_model_free(&q);
        ctt_model_free(&back);
    }
}

static void test_names(void)
{
    static const struct { const char *text, *says; } rows[] = {
        { "input x c=2\nact x.q8 in=x kind=relu\nconv a in=x out=2\n"
          "add y in=x.q8,a\n", "there is a node x.q8 already" },
        { "input x23456789012345678901234567890123456789012345 c=2\n"
          "conv y in=x23456789012345678901234567890123456789012345 out=2\n",
          "leaves no room for .q8" },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_model *m = small_model(rows[i].text, 3), *q = NULL;
        struct ctt_form_of form[8] = { { 1, 0 } };
        char take[8] = { 0 };

        mark_convs(m->g, take);
        ctt_check_refused(ctt_quantise(m, take, form, &q), CTT_EINVAL,
                          rows[i].says);
        CU_ASSERT_PTR_NULL(q);
        ctt_model_free(&m);
    }
}

/* ---- the stage ---- */

/* The loss against the model as given in shares of the variance of its
 * answers; the file gives the same answers to the bit. */
static void check_method(int method)
{
    struct ctt_recipe o = { .int8 = { .method = method, .percentile = 99.99f },
        .fold = { CTT_FOLD_ALL }, .round = { .bits = 8 } };
    struct ctt_recipe_calls calls = { .sample = int8_sample };
    struct ctt_model *was = small_model(int8_net, 6), *file = NULL;
    struct ctt_model *m = int8_recipe(&o, &calls, int8_net);
    double bias, loss;

    CU_ASSERT_EQUAL(int8_convs(m->g), 4);
    loss = small_loss(was, m, &bias) / small_variance(was);
    CU_ASSERT(loss < 0.001);
    CHECK_OK(ctt_model_load(saved_path, 0, &file));
    small_compare(m, file, 6, 0);
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        if (ctt_is_int8(m->g, i))
            CU_ASSERT(ctt_quant_is(m->w + n->at[0], n->w[0].n,
                                   ctt_volume(&n->w[0]) / n->w[0].n));
    }
    ctt_model_free(&was);
    ctt_model_free(&m);
    ctt_model_free(&file);
}

static void test_methods(void)
{
    for (int method = 1; method <= 4; method++)
        check_method(method);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

struct followed { struct ctt_int8_follow f; struct ctt_model *now; double db; };

static int follow_one(void *arg, int node, const struct ctt_kept *kept, int k)
{
    struct followed *f = arg;

    CU_ASSERT_EQUAL(node, 1);
    return ctt_int8_follow(&f->f, node, kept, k, f->now, &f->db);
}

/* The mean error of each conv is gone with the bias, and the ratio is that of
 * its results. */
static void test_follow(void)
{
    static const char text[] = "input x h=6 w=6 c=16 mean=0.5 std=0.2\n"
                               "conv y in=x out=8 kernel=3\n";
    struct ctt_recipe_calls calls = { .sample = int8_sample };
    struct ctt_model *m = small_model(text, 6), *q = NULL;
    struct ctt_form_of form[2] = { { 0.2f, 128 } };
    char take[2] = { 0, 1 };
    struct followed f = { .f = { .was = m, .calls = &calls } };
    double again, bias, loss;

    CHECK_OK(ctt_quantise(m, take, form, &q));
    f.now = q;
    for (int i = 0; i < 8; i++)    /* a mean error to undo */
        q->w[q->g->node[2].at[1] + i] += 0.3f;
    small_loss(m, q, &bias);
    CU_ASSERT(bias > 0.29);
    CHECK_OK(ctt_int8_each(m, take, &calls, 0, follow_one, &f));
    for (int i = 0; i < 8; i++)    /* not seen by the copies without bias */
        q->w[q->g->node[2].at[1] + i] -= 0.3f;
    loss = small_loss(m, q, &bias);
    CU_ASSERT(bias < 1e-5);
    again = 10 * log10(small_variance(m) / loss);
    CU_ASSERT(f.db > 20 && again < f.db + 1);
    ctt_model_free(&m);
    ctt_model_free(&q);
}

/* The bytes of frames are their form, unless each frame has another. */
static void test_frames(void)
{
    static const struct { const char *keys; int known; } row[] = {
        { "mean=0.5 std=0.2", 1 }, { "", 1 }, { "mean=0.5,0.4,0.5", 0 },
        { "normalise=clip", 0 }, { "gamma=0.5", 0 },
    };

    for (size_t i = 0; i < CTT_LEN(row); i++) {
        struct ctt_form_of form = { 0, 0 };
        struct ctt_graph *g = NULL;
        char text[128];

        snprintf(text, sizeof(text), "input x h=6 w=6 c=3 %s\n"
                 "conv y in=x out=8 kernel=3\n", row[i].keys);
        CHECK_OK(ctt_net_parse(text, &g));
        CU_ASSERT_EQUAL(ctt_quantise_known(&g->node[0], &form), row[i].known);
        CU_ASSERT((form.scale > 0) == row[i].known);
        ctt_graph_free(&g);
    }
}

/* Pruned weights stay 0, shared ones share, and a second run has nothing to
 * do. */
static void test_compose(void)
{
    struct ctt_recipe o = { .int8 = { .method = 1 }, .fold = { CTT_FOLD_AUTO },
        .prune = { .share = 0.5f, .rounds = 1 },
        .share = { .bits = "4", .tol = 0.15f, .least = 64, .lambda = 0.02f },
        .round = { .bits = 8 } };
    struct ctt_recipe_calls calls = { .sample = int8_sample };
    struct ctt_model *m = int8_recipe(&o, &calls, int8_net), *file = NULL;
    struct ctt_report *r = NULL;

    CU_ASSERT_EQUAL(int8_convs(m->g), 4);
    CU_ASSERT(ctt_pruned(m, NULL) > 0.45);
    CU_ASSERT(ctt_constraint_shares(&m->constraint, m->g->weights));
    CHECK_OK(ctt_model_load(saved_path, 0, &file));
    small_compare(m, file, 6, 0);
    o = (struct ctt_recipe){ .int8 = { .method = 1 } };
    ctt_check_refused(ctt_recipe_run(&o, &calls, saved_path, NULL, &m, &r),
                      CTT_EINVAL, "no conv that could read bytes");
    ctt_model_free(&m);
    ctt_model_free(&file);
}

static void test_refused(void)
{
    static const struct {
        const char *except, *says;
        int         fold, clips;
    } rows[] = {
        { "nothing", "no weight matches 'nothing'", CTT_FOLD_ALL, 1 },
        { "*", "no conv that could read bytes", CTT_FOLD_ALL, 1 },
        { NULL, "needs batch norms folded", CTT_FOLD_NONE, 1 },
        { NULL, "needs batch norms folded", CTT_FOLD_DEAD, 1 },
        { NULL, "no clips to measure ranges on", CTT_FOLD_ALL, 0 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_recipe o = { .fold = { rows[i].fold }, .int8 = {
            .method = 1, .except = rows[i].except } };
        struct ctt_recipe_calls calls = {
            .sample = rows[i].clips ? int8_sample : NULL };
        struct ctt_model *m = small_model(int8_net, 6);
        struct ctt_report *r = NULL;

        ctt_check_refused(ctt_recipe_run(&o, &calls, saved_path, NULL, &m, &r),
                          CTT_EINVAL, rows[i].says);
        ctt_model_free(&m);
    }
}

/* Convs of these names read floats. */
static void test_except(void)
{
    struct ctt_recipe o = { .fold = { CTT_FOLD_ALL }, .int8 = {
        .method = 1, .except = "a,h.z*" } };
    struct ctt_recipe_calls calls = { .sample = int8_sample };
    struct ctt_model *m = int8_recipe(&o, &calls, int8_net);

    CU_ASSERT_EQUAL(int8_convs(m->g), 1);
    CU_ASSERT(ctt_is_int8(m->g, ctt_graph_find(m->g, "y")));
    CU_ASSERT(ctt_graph_find(m->g, "h.h1.q8") < 0);
    ctt_model_free(&m);
}

/* What is faster in floats stays, unless it is asked for. */
static void test_slow(void)
{
    static const char text[] = "input x h=12 w=12 c=8 mean=0.5 std=0.2\n"
        "conv a in=x out=16 kernel=5 pad=2\nconv y in=a out=4 kernel=3\n";

    for (int slow = 0; slow < 2; slow++) {
        struct ctt_recipe o = { .fold = { CTT_FOLD_ALL }, .int8 = {
            .method = 1, .slow = slow } };
        struct ctt_recipe_calls calls = { .sample = int8_sample };
        struct ctt_model *m = int8_recipe(&o, &calls, text);

        CU_ASSERT_EQUAL(int8_convs(m->g), 1 + slow);
        ctt_model_free(&m);
    }
}

/* Keeps every n-th unit of a form of a conv's weights. */
static void keep_some(struct ctt_model *m, int i, enum ctt_prune_form f, int n)
{
    const struct ctt_node *c = &m->g->node[i];
    uint8_t *keep = m->constraint.keep + c->at[0];

    memset(keep, 0, (size_t)ctt_volume(&c->w[0]));
    for (int64_t k = 0; k < ctt_units(f, &c->w[0], 1); k += n) {
        struct ctt_unit u = ctt_unit_at(f, &c->w[0], 1, k);
        ctt_unit_keep(&u, keep);
    }
}

/* What is pruned decides what is faster: a is 5x5, b 3x3. */
static void test_pruned(void)
{
    static const struct { enum ctt_prune_form form; int n, pays[2]; } rows[] = {
        { CTT_PRUNE_ANY, 1, { 0, 1 } }, { CTT_PRUNE_ANY, 2, { 0, 1 } },
        { CTT_PRUNE_BLOCK, 10, { 1, 1 } }, { CTT_PRUNE_ROW, 10, { 0, 0 } },
    };
    struct ctt_graph *g;
    struct ctt_model *m;

    CHECK_OK(ctt_net_parse("input x h=12 w=12 c=32\n"
                           "conv a in=x out=32 kernel=5 pad=2\n"
                           "conv b in=a out=32 kernel=3\n", &g));
    CHECK_OK(ctt_model_new(g, &m));
    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    for (size_t k = 0; k < CTT_LEN(rows); k++)
        for (int i = 0; i < 2; i++) {
            keep_some(m, i + 1, rows[k].form, rows[k].n);
            CU_ASSERT_EQUAL(ctt_quantise_pays(m, i + 1), rows[k].pays[i]);
        }
    ctt_model_free(&m);
}

/* ---- retraining ---- */

static double lost;

static int less(void *arg, const char *stage, const struct ctt_model *m,
                struct ctt_score *s)
{
    (void)arg;
    (void)stage;
    *s = (struct ctt_score){ .clips = 100 };
    for (int i = 0; i < CTT_ACCURACIES; i++)
        s->top1[i] = 0.8 - (int8_convs(m->g) ? lost : 0);
    return 0;
}

/* Only what costs more than --int8-harm is trained. */
static void test_harm(void)
{
    static const struct { double lost; float harm; int epochs; } rows[] = {
        { 0.004, 0.005f, 0 }, { 0.02, 0.005f, 3 }, { -0.1, 0.005f, 0 },
        { 0, 0, 0 }, { 0, -1, 3 }, { -0.1, -1, 3 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct trainer t = { .mask = NULL };
        struct ctt_recipe o = { .int8 = { .method = 1, .epochs = 3,
            .harm = rows[i].harm }, .fold = { CTT_FOLD_ALL }, .epochs = 1 };
        struct ctt_recipe_calls calls = { .arg = &t, .retrain = retrain,
            .accuracy = less, .sample = int8_sample, .clips = 100 };
        struct ctt_model *m;

        lost = rows[i].lost;
        m = int8_recipe(&o, &calls, int8_net);
        CU_ASSERT_EQUAL(t.epochs, rows[i].epochs);
        ctt_free(t.mask);
        ctt_model_free(&m);
    }
}

static CU_TestInfo tests[] = {
    { "the graph", test_graph },
        { "back to floats", test_floats }, { "names", test_names },
    { "methods", test_methods }, { "frames", test_frames },
    { "errors", test_follow }, { "with other stages", test_compose },
    { "refused", test_refused }, { "excepted", test_except },
    { "no faster", test_slow }, { "pruned", test_pruned },
    { "retrained if it hurts", test_harm },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "int8", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = saved_start();

    return rc ? rc : saved_end(ctt_check_main(suites));
}
