/* SPDX-License-Identifier: Apache-2.0
 * test_int8.c: the stage INT8: which values become bytes, that answers stay
 * near, that the file holds what kernels multiply, and when it is retrained. */
#include "compress/int8_alike.h"
#include "compress/int8_follow.h"
#include "net/edit_quant.h"
#include "net/op.h"
#include "net/quant.h"
#include "tests/lib/fake_trainer.h"
#include "tests/lib/small.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/test_int8.XXXXXX";

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
    /* the answer stays what it was: convs that read it read floats */
    { "input x h=4 w=4 c=1\nstate p of=y like=x c=1\nconv a in=x out=2\n"
      "conv b in=p plus=a out=2\nconv y in=b out=1\n",
      "input x\nquant x.q8 in=x\nstate p of=y\nconv a in=x.q8\n"
      "conv b in=p plus=a\nquant b.q8 in=b\nconv y in=b.q8\n" },
};

/* The first two words of each line, and plus=. */
static void outline(const struct ctt_graph *g, char *to, size_t size)
{
    char *text = ctt_net_print(g);
    size_t at = 0;

    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        for (char *s = line; *s; s += strspn(s, " ")) {
            size_t n = strcspn(s, " ");
            if (!memchr(s, '=', n) || strncmp(s, "in=", 3) == 0 ||
                strncmp(s, "of=", 3) == 0 || strncmp(s, "plus=", 5) == 0)
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

static const char net[] =
    "input x h=6 w=6 c=16 mean=0.5 std=0.2\n"
    "conv a in=x out=24 kernel=3 pad=1\n"
    "norm n in=a kind=batch\n"
    "act r in=n kind=relu\n"
    "pool p in=r kind=max kernel=2\n"
    "convlstm h in=p hidden=8 kernel=3\n"
    "deconv u in=h out=6 kernel=2 stride=2\n"
    "conv y in=u out=5 kernel=3 pad=1\n";

static int sample(void *arg, const struct ctt_model *m, int clips,
                  const int *node, int nodes, enum ctt_sampled what,
                  void (*take)(void *to, int k, const float *row), void *to)
{
    (void)arg;
    CU_ASSERT(what == CTT_SAMPLE_ALL || what == CTT_SAMPLE_VALUES);
    return small_sample(NULL, m, clips, node, nodes, what, take, to);
}

static struct ctt_model *run_recipe(const struct ctt_recipe *o,
                                    const struct ctt_recipe_calls *calls,
                                    const char *text)
{
    struct ctt_model *m = small_model(text, 6);
    struct ctt_report *r = NULL;

    CHECK_OK(ctt_recipe_run(o, calls, path, NULL, &m, &r));
    ctt_report_free(&r);
    return m;
}

static int convs_of_bytes(const struct ctt_graph *g)
{
    int n = 0;

    for (int i = 0; i < g->count; i++)
        n += ctt_is_int8(g, i);
    return n;
}

/* The loss against the model as given in shares of the variance of its
 * answers; the file gives the same answers to the bit. */
static void check_method(int method)
{
    struct ctt_recipe o = { .int8 = { .method = method, .percentile = 99.99f },
        .fold = { CTT_FOLD_ALL }, .round = { .bits = 8 } };
    struct ctt_recipe_calls calls = { .sample = sample };
    struct ctt_model *was = small_model(net, 6), *file = NULL;
    struct ctt_model *m = run_recipe(&o, &calls, net);
    double bias, loss;

    CU_ASSERT_EQUAL(convs_of_bytes(m->g), 4);
    loss = small_loss(was, m, &bias) / small_variance(was);
    CU_ASSERT(loss < 0.001);
    CHECK_OK(ctt_model_load(path, 0, &file));
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

/* The mean error of each conv is gone with the bias, and the ratio is that of
 * its results. */
static void test_follow(void)
{
    static const char text[] = "input x h=6 w=6 c=16 mean=0.5 std=0.2\n"
                               "conv y in=x out=8 kernel=3\n";
    struct ctt_recipe_calls calls = { .sample = sample };
    struct ctt_model *m = small_model(text, 6), *q = NULL;
    struct ctt_form_of form[2] = { { 0.2f, 128 } };
    char take[2] = { 0, 1 };
    double db, again, bias, loss;

    CHECK_OK(ctt_quantise(m, take, form, &q));
    for (int i = 0; i < 8; i++)    /* a mean error to undo */
        q->w[q->g->node[2].at[1] + i] += 0.3f;
    small_loss(m, q, &bias);
    CU_ASSERT(bias > 0.29);
    CHECK_OK(ctt_int8_follow(m, q, 1, &calls, 0, &db));
    for (int i = 0; i < 8; i++)    /* not seen by the copies without bias */
        q->w[q->g->node[2].at[1] + i] -= 0.3f;
    loss = small_loss(m, q, &bias);
    CU_ASSERT(bias < 1e-5);
    again = 10 * log10(small_variance(m) / loss);
    CU_ASSERT(db > 20 && again < db + 1);
    ctt_model_free(&m);
    ctt_model_free(&q);
}

/* Pruned weights stay 0, shared ones share, and a second run has nothing to
 * do. */
static void test_compose(void)
{
    struct ctt_recipe o = { .int8 = { .method = 1 }, .fold = { CTT_FOLD_AUTO },
        .prune = { .share = 0.5f, .rounds = 1 },
        .share = { .bits = "4", .tol = 0.15f, .least = 64, .lambda = 0.02f },
        .round = { .bits = 8 } };
    struct ctt_recipe_calls calls = { .sample = sample };
    struct ctt_model *m = run_recipe(&o, &calls, net), *file = NULL;
    struct ctt_report *r = NULL;

    CU_ASSERT_EQUAL(convs_of_bytes(m->g), 4);
    CU_ASSERT(ctt_pruned(m, NULL) > 0.45);
    CU_ASSERT(ctt_constraint_shares(&m->constraint, m->g->weights));
    CHECK_OK(ctt_model_load(path, 0, &file));
    small_compare(m, file, 6, 0);
    o = (struct ctt_recipe){ .int8 = { .method = 1 } };
    ctt_check_refused(ctt_recipe_run(&o, &calls, path, NULL, &m, &r),
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
            .sample = rows[i].clips ? sample : NULL };
        struct ctt_model *m = small_model(net, 6);
        struct ctt_report *r = NULL;

        ctt_check_refused(ctt_recipe_run(&o, &calls, path, NULL, &m, &r),
                          CTT_EINVAL, rows[i].says);
        ctt_model_free(&m);
    }
}

/* Convs of these names read floats. */
static void test_except(void)
{
    struct ctt_recipe o = { .fold = { CTT_FOLD_ALL }, .int8 = {
        .method = 1, .except = "a,h.z*" } };
    struct ctt_recipe_calls calls = { .sample = sample };
    struct ctt_model *m = run_recipe(&o, &calls, net);

    CU_ASSERT_EQUAL(convs_of_bytes(m->g), 1);
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
        struct ctt_recipe_calls calls = { .sample = sample };
        struct ctt_model *m = run_recipe(&o, &calls, text);

        CU_ASSERT_EQUAL(convs_of_bytes(m->g), 1 + slow);
        ctt_model_free(&m);
    }
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
        s->top1[i] = 0.8 - (convs_of_bytes(m->g) ? lost : 0);
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
            .accuracy = less, .sample = sample, .clips = 100 };
        struct ctt_model *m;

        lost = rows[i].lost;
        m = run_recipe(&o, &calls, net);
        CU_ASSERT_EQUAL(t.epochs, rows[i].epochs);
        ctt_free(t.mask);
        ctt_model_free(&m);
    }
}

/* ---- what each conv costs ---- */

static const char classes[] =
    "input x h=6 w=6 c=16 mean=0.5 std=0.2\n"
    "conv a in=x out=24 kernel=3 pad=1\nact r in=a kind=relu\n"
    "convlstm h in=r hidden=8 kernel=3\npool p in=h kind=avg\n"
    "conv y in=p out=5\n";

static struct ctt_report *run_report(const struct ctt_recipe *o,
                                     const struct ctt_recipe_calls *calls,
                                     const char *text, struct ctt_model **m)
{
    struct ctt_report *r = NULL;

    *m = small_model(text, 6);
    CHECK_OK(ctt_recipe_run(o, calls, path, NULL, m, &r));
    return r;
}

/* Probabilities of all answers, in the order of the clips. */
struct answers { double p[SMALL_FRAMES][5]; int rows; };

static void take_answer(void *to, int k, const float *row)
{
    struct answers *a = to;
    double sum = 0;

    (void)k;
    for (int i = 0; i < 5; i++)
        sum += exp((double)row[i]);
    for (int i = 0; i < 5; i++)
        a->p[a->rows][i] = exp((double)row[i]) / sum;
    a->rows++;
}

static double divergence(const struct ctt_model *m, const struct ctt_model *q)
{
    struct answers a = { .rows = 0 }, b = { .rows = 0 };
    int at = ctt_graph_output(m->g), to = ctt_graph_output(q->g);
    double sum = 0;

    CHECK_OK(small_sample(NULL, m, 0, &at, 1, CTT_SAMPLE_ALL, take_answer,
                          &a));
    CHECK_OK(small_sample(NULL, q, 0, &to, 1, CTT_SAMPLE_ALL, take_answer,
                          &b));
    for (int t = 0; t < SMALL_FRAMES; t++)
        for (int i = 0; i < 5; i++)
            sum += a.p[t][i] * log(a.p[t][i] / b.p[t][i]) / SMALL_FRAMES;
    return sum;
}

/* The first row is that of the model, the others are sorted, and convs behind
 * others are no better than alone, up to what chance does. */
static void test_blame(void)
{
    struct ctt_recipe o = { .int8 = { .method = 4 } };
    struct ctt_recipe_calls calls = { .sample = sample };
    struct ctt_model *was = small_model(classes, 6), *m;
    struct ctt_report *r = run_report(&o, &calls, classes, &m);
    double all = divergence(was, m);
    char line[200];

    CU_ASSERT_EQUAL_FATAL(r->blames, 5);
    CU_ASSERT_STRING_EQUAL(r->blame[0].name, CTT_BLAME_ALL);
    CU_ASSERT(all > 1e-8);
    CU_ASSERT(fabs(r->blame[0].answer - all) < 1e-9 + 1e-3 * all);
    for (int i = 1; i < r->blames; i++) {
        const struct ctt_blame *b = &r->blame[i];

        CU_ASSERT(b->answer > 0 && !b->stays[0]);
        CU_ASSERT(i == 1 || b->answer <= b[-1].answer);
        CU_ASSERT(b->alone > 20 && b->behind > 20);
        CU_ASSERT(b->behind < b->alone + 1);
        CU_ASSERT(ctt_report_blame_cells(r, i + 1, line, sizeof(line)));
        CU_ASSERT_PTR_NOT_NULL(strstr(line, b->name));
    }
    CU_ASSERT(!ctt_report_blame_cells(r, r->blames + 1, line, sizeof(line)));
    ctt_report_free(&r);
    ctt_model_free(&was);
    ctt_model_free(&m);
}

/* A conv whose step is far too large is the worst; what reads floats comes last
 * and says why; frames are judged by dB. */
static void test_blame_frames(void)
{
    struct ctt_recipe o = { .fold = { CTT_FOLD_ALL }, .int8 = {
        .method = 1, .except = "h.z" } };
    struct ctt_recipe_calls calls = { .sample = sample };
    struct ctt_model *m;
    struct ctt_report *r = run_report(&o, &calls, net, &m);

    CU_ASSERT_EQUAL_FATAL(r->blames, 6);
    for (int i = 0; i < 4; i++)
        CU_ASSERT(r->blame[i].frames && r->blame[i].answer > 20 &&
                  r->blame[i].answer < 90);
    CU_ASSERT(r->blame[1].answer <= r->blame[3].answer);
    CU_ASSERT(r->blame[0].answer <= r->blame[1].answer + 1);
    CU_ASSERT_STRING_EQUAL(r->blame[4].name, "h.z");
    CU_ASSERT_STRING_EQUAL(r->blame[4].stays, "excepted");
    CU_ASSERT_STRING_EQUAL(r->blame[5].name, "u");
    CU_ASSERT_STRING_EQUAL(r->blame[5].stays, "no conv");
    CU_ASSERT(isnan(r->blame[4].answer) && isnan(r->blame[4].behind));
    ctt_report_free(&r);
    ctt_model_free(&m);
}

/* ---- auto ---- */

static int may, says_lost;

/* All is well while at most `may` convs read bytes. */
static int few(void *arg, const char *stage, const struct ctt_model *m,
               struct ctt_score *s)
{
    (void)arg;
    (void)stage;
    *s = (struct ctt_score){ .clips = 100 };
    for (int i = 0; i < CTT_ACCURACIES; i++)
        s->top1[i] = convs_of_bytes(m->g) > may ? 0.7 : 0.8;
    return 0;
}

static void hear(void *arg, const char *line)
{
    (void)arg;
    says_lost += strstr(line, "lost even with") != NULL;
}

/* Of four convs. */
static void test_auto(void)
{
    static const struct { int may, epochs, stay, trained, says; } rows[] = {
        { 4, 0, 0, 0, 0 }, { 3, 0, 1, 0, 0 }, { 2, 0, 2, 0, 0 },
        { 1, 0, 3, 0, 0 }, { 0, 0, 3, 0, 1 }, { 2, 1, 2, 0, 0 },
        { 1, 1, 0, 1, 1 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct trainer t = { .mask = NULL };
        struct ctt_recipe o = { .int8 = { .method = 1, .except = "auto",
            .harm = 0.005f, .epochs = 3 }, .epochs = rows[i].epochs };
        struct ctt_recipe_calls calls = { .arg = &t, .accuracy = few,
            .sample = sample, .say = hear, .clips = 100,
            .retrain = rows[i].epochs ? retrain : NULL };
        struct ctt_model *m;
        struct ctt_report *r;

        may = rows[i].may;
        says_lost = 0;
        r = run_report(&o, &calls, classes, &m);
        CU_ASSERT_EQUAL(convs_of_bytes(m->g), 4 - rows[i].stay);
        CU_ASSERT_EQUAL(says_lost, rows[i].says);
        CU_ASSERT_EQUAL(t.epochs > 0, rows[i].trained);
        CU_ASSERT_EQUAL(r->blames, 5);
        for (int k = 1; k < r->blames; k++) {
            CU_ASSERT_EQUAL(!strcmp(r->blame[k].stays, "costs accuracy"),
                            k <= rows[i].stay);
            CU_ASSERT_EQUAL(!!isnan(r->blame[k].behind), k <= rows[i].stay);
        }
        ctt_report_free(&r);
        ctt_free(t.mask);
        ctt_model_free(&m);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_auto_refused(void)
{
    static const struct {
        const char *net, *except, *says;
        int         alike, shared;
        float       harm;
    } rows[] = {
        { classes, "auto", "no validation clips", 0, 0, 0 },
        { classes, "auto", "--int8-harm must be 0 or more", 0, 0, -1 },
        { net, "auto", "predicts frames", 0, 0, 0 },
        { classes, "auto,q", "no weight matches 'q'", 0, 0, 0 },
        { classes, "automatic", "no weight matches 'automatic'", 0, 0, 0 },
        { classes, "auto,*", "no conv that could read bytes", 0, 0, 0 },
        { classes, "", "weights that are shared", 1, 1, 0 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_recipe o = { .fold = { CTT_FOLD_ALL }, .int8 = {
            .method = 1, .except = rows[i].except,
            .alike = rows[i].alike, .harm = rows[i].harm },
            .share = { .bits = rows[i].shared ? "4" : "", .tol = 0.15f } };
        struct ctt_recipe_calls calls = { .sample = sample };
        struct ctt_model *m = small_model(rows[i].net, 6);
        struct ctt_report *r = NULL;

        ctt_check_refused(ctt_recipe_run(&o, &calls, path, NULL, &m, &r),
                          CTT_EINVAL, rows[i].says);
        ctt_model_free(&m);
    }
}

/* ---- channels that are alike ---- */

/* Channel c of conv "a" becomes 3^-c of what it was. */
static void make_unlike(struct ctt_model *m)
{
    const struct ctt_node *n = &m->g->node[ctt_graph_find(m->g, "a")];
    int64_t each = ctt_volume(&n->w[0]) / n->w[0].n;

    for (int64_t i = 0; i < n->w[0].n * each; i++)
        m->w[n->at[0] + i] *= powf(3, -(float)(i / each % 8));
    for (int64_t c = 0; c < n->w[0].n; c++)
        m->w[n->at[1] + c] *= powf(3, -(float)(c % 8));
}

static void make_alike(struct ctt_model *m, const char **note)
{
    static char text[CTT_REASON];
    struct ctt_recipe o = { .int8 = { .method = 1, .alike = 1 } };
    struct ctt_recipe_calls calls = { .sample = sample };
    struct ctt_report *r = NULL;
    struct ctt_walk k = { .o = &o, .calls = &calls, .m = &m };

    CHECK_OK(ctt_report_new(m, &r));
    k.r = r;
    CHECK_OK(ctt_int8_alike(&k, m));
    for (int i = 0; i < r->weights; i++)
        if (strcmp(r->weight[i].name, "a") == 0)
            snprintf(text, sizeof(text), "%s", r->weight[i].reason);
    *note = text;
    ctt_report_free(&r);
}

/* What stands between a and what reads it; 1: that takes other scales. */
static void test_alike(void)
{
    static const struct { const char *rest; int can; } rows[] = {
        { "act r in=a kind=relu\nconv y in=r out=5\n", 1 },
        { "conv y in=a out=5 kernel=3\n", 1 },
        { "act r in=a kind=relu\npool p in=r kind=max kernel=2\n"
          "conv b in=p out=4\nconv c in=r out=4 kernel=2 stride=2\n"
          "conv y in=b plus=c out=4\n", 1 },
        { "act r in=a kind=relu\ndeconv d in=r out=4 kernel=2 stride=2\n"
          "conv y in=d out=5\n", 1 },
        { "pool p in=a kind=avg kernel=2\nconv y in=p out=5\n", 1 },
        { "act r in=a kind=relu6\nconv y in=r out=5\n", 0 },
        { "act r in=a kind=sigmoid\nconv y in=r out=5\n", 0 },
        { "act r in=a kind=tanh\nconv y in=r out=5\n", 0 },
        { "state s of=a\nconv y in=a plus=s out=24\n", 0 },
        { "conv q in=x out=24 kernel=3 pad=1 plus=a\n"
          "conv y in=q out=5\n", 0 },
        { "concat q in=a,x\nconv y in=q out=5\n", 0 },
        { "conv y in=a out=24 groups=24 kernel=3\n", 0 },
        { "conv b in=a out=5\nadd y in=b,b\nslice z in=a from=0 to=5\n"
          "add w in=z,y\n", 0 },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        char text[600];
        struct ctt_model *was, *m;
        const char *note;
        int64_t at, count;

        snprintf(text, sizeof(text), "input x h=8 w=8 c=16\n"
                 "conv a in=x out=24 kernel=3 pad=1\n%s", rows[i].rest);
        was = small_model(text, 6);
        m = small_model(text, 6);
        make_unlike(was);
        make_unlike(m);
        make_alike(m, &note);
        at = m->g->node[1].at[0];
        count = ctt_volume(&m->g->node[1].w[0]);
        small_compare(was, m, 3, 0);
        CU_ASSERT_EQUAL(memcmp(m->w + at, was->w + at, (size_t)count *
                               sizeof(float)) != 0, rows[i].can);
        CU_ASSERT_EQUAL(*note != '\0', rows[i].can);
        ctt_model_free(&was);
        ctt_model_free(&m);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Ranges that differed by a thousand are within two of each other, and the conv
 * that reads them has smaller errors. */
static void test_alike_gains(void)
{
    static const char text[] = "input x h=8 w=8 c=16 mean=0.5 std=0.2\n"
        "conv a in=x out=24 kernel=3 pad=1\nact r in=a kind=relu\n"
        "conv b in=r out=8\npool p in=b kind=avg\nconv y in=p out=5\n";
    struct ctt_model *m = small_model(text, 6);
    struct ctt_recipe_calls calls = { .sample = sample };
    double before = 0, after = 0, db[2];
    const char *note;

    make_unlike(m);
    make_alike(m, &note);
    CU_ASSERT_EQUAL(sscanf(note, "channels differ by %lf, now %lf", &before,
                           &after), 2);
    CU_ASSERT(before > 500);
    CU_ASSERT(after >= 1 && after < 2.1);
    ctt_model_free(&m);
    for (int alike = 0; alike < 2; alike++) {
        struct ctt_recipe o = { .int8 = { .method = 1, .alike = alike } };
        struct ctt_report *r = NULL;
        const struct ctt_node *n;

        m = small_model(text, 6);
        make_unlike(m);
        n = &m->g->node[ctt_graph_find(m->g, "b")];
        for (int64_t i = 0; i < ctt_volume(&n->w[0]); i++)
            m->w[n->at[0] + i] *= powf(3, (float)(i % 24 % 8));
        CHECK_OK(ctt_recipe_run(&o, &calls, path, NULL, &m, &r));
        for (int i = 0; i < r->blames; i++)
            if (strcmp(r->blame[i].name, "b") == 0)
                db[alike] = r->blame[i].alone;
        ctt_report_free(&r);
        ctt_model_free(&m);
    }
    CU_ASSERT(db[1] > db[0] + 10);
}

static CU_TestInfo tests[] = {
    { "the graph", test_graph }, { "names", test_names },
    { "methods", test_methods },
    { "errors", test_follow }, { "with other stages", test_compose },
    { "refused", test_refused }, { "excepted", test_except },
    { "no faster", test_slow },
    { "retrained if it hurts", test_harm },
    { "what each conv costs", test_blame },
    { "what each costs predicted frames", test_blame_frames },
    { "what costs accuracy stays in floats", test_auto },
    { "other refusals", test_auto_refused },
    { "channels that are alike", test_alike },
    { "what that gains", test_alike_gains }, CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "int8", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int fd = mkstemp(path), rc;

    if (fd < 0)
        return 99;
    close(fd);
    rc = ctt_check_main(suites);
    unlink(path);
    return rc;
}
