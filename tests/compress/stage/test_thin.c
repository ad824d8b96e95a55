/* SPDX-License-Identifier: Apache-2.0
 * test_thin.c: the stage "thinning": which channels go by each score, how many
 * of each layer, in rounds and before other stages; what is refused. */
#include "tests/lib/check.h"
#include "tests/lib/fake_trainer.h"
#include "tests/lib/small.h"
#include "compress/stage.h"
#include "net/op.h"

#include <stdlib.h>
#include <unistd.h>

#define IMAGE "input x h=6 w=6 c=3\n"

/* Layers of 8, 12 and 4 channels; y is the output. */
static const char plain[] =
    IMAGE "conv a in=x out=8 kernel=1,3,3 pad=0,1,1\nnorm n in=a kind=batch\n"
    "act r in=n kind=relu\nconv b in=r out=12 kernel=1,3,3 pad=0,1,1\n"
    "act s in=b kind=relu\nconv c in=s out=4\nconv y in=c out=2\n";

static struct ctt_thin half(void)
{
    return (struct ctt_thin){ .share = 0.5f, .rounds = 1, .multiple = 1 };
}

static const struct ctt_node *node(const struct ctt_model *m, const char *name)
{
    int at = ctt_graph_find(m->g, name);

    CU_ASSERT_FATAL(at >= 0);
    return &m->g->node[at];
}

/* Multiplies a row of a conv (or what reads a channel) by x. */
static void scale(struct ctt_model *m, const char *name, int row, int column,
                  float x)
{
    const struct ctt_node *n = node(m, name);
    int64_t size = ctt_volume(&n->w[0]), each = size / n->out.c;

    for (int64_t k = 0; k < size; k++)
        if (k / each == row || k % n->w[0].c == column)
            m->w[n->at[0] + k] *= x;
}

static struct ctt_model *thin(const struct ctt_model *m,
                              const struct ctt_thin *o,
                              struct ctt_thinned *d)
{
    struct ctt_recipe_calls calls = { .sample = small_sample };
    struct ctt_report *r = NULL;
    struct ctt_model *to = NULL;

    CHECK_OK(ctt_report_new(m, &r));
    CHECK_OK(ctt_thin(m, o, (double)o->share, 0, &calls, r, d, &to));
    for (int k = 0; k < r->weights; k++) {
        const struct ctt_node *n = node(to, r->weight[k].name);

        CU_ASSERT_EQUAL(r->weight[k].params_after, ctt_volume(&n->w[0]));
    }
    ctt_report_free(&r);
    return to;
}

/* The channels of a, b, c that stay. */
static const struct {
    struct ctt_thin o;
    int             a, b, c;
} counts[] = {
    { { 0.5f, 1, CTT_THIN_NORM, 0, 1, "" }, 4, 6, 2 },
    { { 0.5f, 1, CTT_THIN_RESPONSE, 0, 1, "" }, 4, 6, 2 },
    { { 0.5f, 1, CTT_THIN_NORM, 0, 8, "" }, 8, 8, 4 },
    { { 0.5f, 1, CTT_THIN_NORM, 0, 5, "" }, 5, 10, 4 },
    { { 0.9f, 1, CTT_THIN_NORM, 0.6f, 1, "" }, 5, 8, 3 },
    { { 0.5f, 1, CTT_THIN_NORM, 0, 1, "b" }, 4, 12, 2 },
    { { 0.99f, 1, CTT_THIN_NORM, 0, 1, "" }, 1, 1, 1 },
};

static void test_counts(void)
{
    struct ctt_model *m = small_model(plain, 1);

    for (size_t i = 0; i < CTT_LEN(counts); i++) {
        struct ctt_thinned d;
        struct ctt_model *to = thin(m, &counts[i].o, &d);

        CU_ASSERT_EQUAL(node(to, "a")->out.c, counts[i].a);
        CU_ASSERT_EQUAL(node(to, "b")->out.c, counts[i].b);
        CU_ASSERT_EQUAL(node(to, "c")->out.c, counts[i].c);
        CU_ASSERT_EQUAL(d.of, counts[i].b == 12 ? 12 : 24);
        CU_ASSERT(d.macs < d.macs_of);
        ctt_model_free(&to);
    }
    ctt_model_free(&m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Channels of `b` that few weights make and read go first; by responses those
 * that hold little, whatever the weights. */
static void test_scores(void)
{
    struct ctt_model *m = small_model(plain, 3), *to;
    struct ctt_thin o = half();
    const struct ctt_node *was = node(m, "c"), *is;
    struct ctt_thinned d;

    for (int j = 0; j < 12; j += 2) {
        scale(m, "b", j, -1, 0.1f);
        scale(m, "c", -1, j, 0.1f);
    }
    to = thin(m, &o, &d);
    is = node(to, "b");
    for (int64_t k = 0; k < is->out.c; k++)    /* 1, 3, 5 .. are left */
        CU_ASSERT_EQUAL(to->w[is->at[1] + k],
                        m->w[node(m, "b")->at[1] + 2 * k + 1]);
    ctt_model_free(&to);
    /* now the even ones have large weights, but never hold more than 0 */
    for (int j = 0; j < 12; j += 2) {
        scale(m, "b", j, -1, 1000);
        scale(m, "c", -1, j, 1000);
        m->w[node(m, "b")->at[1] + j] = -1e6f;
    }
    CU_ASSERT_EQUAL(was->w[0].c, 12);
    o.score = CTT_THIN_RESPONSE;
    to = thin(m, &o, &d);
    is = node(to, "b");
    for (int64_t k = 0; k < is->out.c; k++)
        CU_ASSERT_EQUAL(to->w[is->at[1] + k],
                        m->w[node(m, "b")->at[1] + 2 * k + 1]);
    ctt_model_free(&to);
    ctt_model_free(&m);
}

/* ---- in a recipe ---- */

static char folder[] = "/tmp/test_thin.XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* The floor is that of the given model, so that the third round finds nothing
 * to do; as the last one it is retrained. */
static void test_rounds(void)
{
    struct trainer t = { .mask = NULL };
    struct ctt_recipe_calls calls = { .arg = &t, .retrain = retrain };
    struct ctt_recipe o = { .thin = half(), .epochs = 8 };
    struct ctt_model *m = small_model(plain, 4);
    struct ctt_report *r = NULL;

    o.thin.rounds = 3;
    o.thin.share = 0.6f;
    o.thin.floor = 0.5f;
    o.thin.except = "c";
    CHECK_OK(ctt_recipe_run(&o, &calls, in_folder("m.h5"), NULL, &m, &r));
    CU_ASSERT_EQUAL_FATAL(r->stages, 4);
    CU_ASSERT_EQUAL(t.epochs, 8);
    CU_ASSERT_EQUAL(t.stages, 3);
    CU_ASSERT_STRING_EQUAL(r->stage[1].name, "thinned 1/3");
    CU_ASSERT(r->stage[1].macs > r->stage[2].macs);
    CU_ASSERT_STRING_EQUAL(r->stage[3].name, "thinned 3/3: no change");
    CU_ASSERT_EQUAL(node(m, "a")->out.c, 4);
    CU_ASSERT_EQUAL(node(m, "b")->out.c, 6);
    CU_ASSERT_EQUAL(node(m, "c")->out.c, 4);
    CU_ASSERT(strstr(m->history, "thinned 1/3: ") != NULL);
    CU_ASSERT_STRING_EQUAL(r->weight[1].reason,
                           "6 of 12 outputs, 4 of 8 inputs");
    ctt_report_free(&r);
    ctt_model_free(&m);
}

/* Half of what may go of `a` goes, however many rounds it takes: 16 of the 32
 * channels that `b` reads; the norm's stay. */
static void test_rounds_of_part(void)
{
    static const char net[] = IMAGE "conv a in=x out=64\n"
        "slice p in=a from=0 to=32\nslice q in=a from=32 to=64\n"
        "norm n in=q kind=layer\nconv b in=p out=2\nconv c in=n out=2\n"
        "add y in=b,c\n";

    for (int rounds = 1; rounds < 5; rounds++) {
        struct trainer t = { .mask = NULL };
        struct ctt_recipe_calls calls = { .arg = &t, .retrain = retrain };
        struct ctt_recipe o = { .thin = half(), .epochs = 8 };
        struct ctt_model *m = small_model(net, 6);
        struct ctt_report *r = NULL;

        o.thin.rounds = rounds;
        CHECK_OK(ctt_recipe_run(&o, &calls, in_folder("m.h5"), NULL, &m, &r));
        CU_ASSERT_EQUAL(node(m, "a")->out.c, 48);
        CU_ASSERT_EQUAL(node(m, "p")->out.c, 16);
        ctt_report_free(&r);
        ctt_model_free(&m);
    }
}

/* What later stages do is done to the thin model. */
static void test_combined(void)
{
    struct trainer t = { .mask = NULL };
    struct ctt_recipe_calls calls = { .arg = &t, .retrain = retrain,
                                      .sample = NULL };
    struct ctt_recipe o = { .thin = half(), .tt = { .rank = 2, .harm = 1 },
        .prune = { .share = 0.5f, .rounds = 1, .floor = 0.02f },
        .fold = { CTT_FOLD_ALL }, .share = { .bits = "3", .least = 2 },
        .round = { .bits = 8 }, .epochs = 6 };
    struct ctt_model *m = small_model(small_net, 5), *back = NULL;
    struct ctt_report *r = NULL;

    CHECK_OK(ctt_recipe_run(&o, &calls, in_folder("m.h5"), NULL, &m, &r));
    CHECK_OK(ctt_model_load(in_folder("m.h5"), 0, &back));
    small_compare(m, back, 3, 0);
    CU_ASSERT(node(m, "h")->out.c <= 4 && node(m, "a")->out.c <= 16);
    CU_ASSERT(ctt_constraint_shares(&m->constraint, m->g->weights));
    CU_ASSERT(ctt_pruned(m, NULL) > 0.3);
    CU_ASSERT(strstr(m->history, "thinned: 24 of 48 channels stay") != NULL);
    ctt_free(t.mask);
    ctt_report_free(&r);
    ctt_model_free(&m);
    ctt_model_free(&back);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static char heard[400];

static void hear(void *arg, const char *line)
{
    size_t n = strlen(heard);

    (void)arg;
    snprintf(heard + n, sizeof(heard) - n, "%s\n", line);
}

/* A share of multiplications that an SVD cannot reach is an error at the start,
 * but not after a thinning that was retrained for hours. */
static void test_then_svd(void)
{
    static const struct {
        float thin;
        int   epochs, least, rc;
        const char *says;
    } of[] = {
        { 0, 2, 0, CTT_EINVAL, "--svd-macs=0.01 cannot be reached: " },
        { 0, 2, 1 << 20, CTT_EINVAL, "the lowest ranks 1.0000 of the" },
        { 0.5f, 2, 0, 0, "multiplications 0.01 (the lowest ranks leave 0." },
        { 0.5f, 2, 1 << 20, 0, "SVD: no change" },
        { 0.5f, 1, 0, 0, "multiplications 0.01 (the lowest ranks leave 0." },
        { 0.5f, 0, 0, CTT_EINVAL, "--svd-macs=0.01 cannot be reached: " },
    };

    for (size_t i = 0; i < CTT_LEN(of); i++) {
        struct trainer t = { .mask = NULL };
        struct ctt_recipe_calls calls = { .arg = &t,
            .retrain = of[i].epochs ? retrain : NULL, .say = hear };
        struct ctt_recipe o = { .thin = half(), .epochs = of[i].epochs,
            .svd = { .macs = 0.01f, .least = of[i].least } };
        struct ctt_model *m = small_model(plain, 7);
        struct ctt_report *r = NULL;

        heard[0] = '\0';
        o.thin.share = of[i].thin;
        CU_ASSERT_EQUAL(ctt_recipe_run(&o, &calls, in_folder("m.h5"), NULL, &m,
                                       &r), of[i].rc);
        CU_ASSERT(strstr(of[i].rc ? ctt_errmsg() : m->history, of[i].says) !=
                  NULL);
        CU_ASSERT_EQUAL(strstr(heard, "--svd-macs=0.01 is not reached (the ")
                        != NULL, of[i].rc == 0);
        ctt_report_free(&r);
        ctt_model_free(&m);
    }
}

static const struct {
    const char *net, *except, *message;
    float       share, floor;
    int         rounds, multiple, score;
} bad[] = {
    { plain, "", "a share of 1 channels", 1, 0, 1, 1, 0 },
    { plain, "", "one round and a multiple", 0.5f, 0, 0, 1, 0 },
    { plain, "", "one round and a multiple", 0.5f, 0, 1, 0, 0 },
    { plain, "q", "no weight matches 'q'", 0.5f, 0, 1, 1, 0 },
    { plain, "*", "no channel to remove", 0.5f, 0, 1, 1, 0 },
    { plain, "", "--thin-multiple=16", 0.5f, 0, 1, 16, 0 },
    { plain, "", "--thin-keep=1", 0.5f, 1, 1, 1, 0 },
    { plain, "", "responses need clips", 0.5f, 0, 1, 1, CTT_THIN_RESPONSE },
    { IMAGE "conv y in=x out=2\n", "", "no channel to remove", 0.5f, 0, 1, 1,
      0 },
    { IMAGE "conv a in=x out=4\nnorm n in=a kind=layer\nconv y in=n out=2\n",
      "", "no channel to remove", 0.5f, 0, 1, 1, 0 },
};

static void test_refused(void)
{
    struct ctt_recipe_calls none = { NULL };

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_recipe o = { .thin = { bad[i].share, bad[i].rounds,
            bad[i].score, bad[i].floor, bad[i].multiple,
            bad[i].except } };
        struct ctt_model *m = small_model(bad[i].net, 7);
        struct ctt_report *r = NULL;

        ctt_check_refused(ctt_recipe_run(&o, &none, in_folder("e.h5"), NULL,
                                         &m, &r), CTT_EINVAL, bad[i].message);
        CU_ASSERT_PTR_NULL(r);
        CU_ASSERT(access(in_folder("e.h5"), F_OK) != 0);
        ctt_model_free(&m);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_alloc(void)
{
    struct ctt_recipe_calls calls = { .sample = small_sample };
    struct ctt_model *m = small_model(plain, 8), *to = NULL;
    struct ctt_thin o = half();
    struct ctt_report *r = NULL;
    int rc = CTT_ENOMEM;
    long live;

    CHECK_OK(ctt_report_new(m, &r));
    o.score = CTT_THIN_RESPONSE;
    live = ctt_live_blocks();
    for (long k = 1; rc < 0; k++) {
        struct ctt_thinned d;

        ctt_fail_alloc(k);
        rc = ctt_thin(m, &o, 0.5, 0, &calls, r, &d, &to);
        ctt_fail_alloc(0);
        CU_ASSERT_FATAL(rc >= 0 || (rc == CTT_ENOMEM && !to));
        CU_ASSERT_FATAL(rc >= 0 || ctt_live_blocks() == live);
    }
    ctt_model_free(&to);
    ctt_model_free(&m);
    ctt_report_free(&r);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static int make_folder(void)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void)
{
    remove(in_folder("m.h5"));
    return rmdir(folder);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "how many", test_counts },
        { "scores", test_scores },
        { "rounds", test_rounds },
        { "rounds of a part", test_rounds_of_part },
        { "other stages", test_combined },
        { "then an SVD", test_then_svd },
        { "refused", test_refused },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "thin", make_folder, remove_folder, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
