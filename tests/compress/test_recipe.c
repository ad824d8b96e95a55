/* SPDX-License-Identifier: Apache-2.0
 * test_recipe.c: pruning, the stages in order, the report and its files. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/compress.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char net[] =
    "input x h=6 w=6 c=16\n"
    "conv a in=x out=32 kernel=1,3,3 pad=0,1,1\n"
    "norm n in=a kind=batch\nact r in=n kind=relu\n"
    "conv b in=r out=8\n"
    "convlstm h in=b hidden=8 kernel=3\n"
    "clip\nwindow v in=h steps=3\npool p in=v kind=avg\n"
    "conv y in=p out=5\n";

/* ---- pruning ---- */

static int64_t gone(const struct ctt_model *m, const struct ctt_node *n)
{
    int64_t sum = 0;

    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++) {
        int64_t at = n->at[0] + k;
        sum += !m->keep[at];
        CU_ASSERT(m->keep[at] || m->w[at] == 0);
    }
    return sum;
}

static int is_conv(const struct ctt_node *n)
{
    return n->op == CTT_OP_CONV || n->op == CTT_OP_DECONV;
}

/* Sums over the prunable weights; all other numbers must be kept. */
static void count(const struct ctt_model *m, int64_t *all, int64_t *pruned)
{
    int64_t zeros = 0;

    *all = *pruned = 0;
    for (int i = 0; i < m->g->count; i++)
        if (is_conv(&m->g->node[i])) {
            *all += ctt_volume(&m->g->node[i].w[0]);
            *pruned += gone(m, &m->g->node[i]);
        }
    for (int64_t k = 0; k < m->g->weights; k++)
        zeros += !m->keep[k];
    CU_ASSERT_EQUAL(zeros, *pruned);
}

static void test_global(void)
{
    static const double share[] = { 0, 0.1, 0.5, 0.777, 0.95, 0.9999 };

    for (int score = CTT_SCORE_LAMP; score <= CTT_SCORE_MAGNITUDE; score++) {
        struct ctt_model *m = small_model(net, 1);
        struct ctt_prune o = { .score = score };
        uint8_t *before = ctt_calloc((size_t)m->g->weights, 1);

        memset(before, 1, (size_t)m->g->weights);
        for (size_t i = 0; i < CTT_LEN(share); i++) {
            int64_t all, pruned, want;

            CHECK_OK(ctt_prune(m, &o, share[i]));
            count(m, &all, &pruned);
            want = llround(share[i] * (double)all);
            CU_ASSERT_EQUAL(pruned, want < all - 5 ? want : all - 5);
            CU_ASSERT_DOUBLE_EQUAL(ctt_pruned(m, NULL),
                                   (double)pruned / (double)all, 1e-12);
            for (int64_t k = 0; k < m->g->weights; k++)
                CU_ASSERT_FATAL(before[k] || !m->keep[k]);
            memcpy(before, m->keep, (size_t)m->g->weights);
        }
        /* A smaller share brings nothing back. */
        CHECK_OK(ctt_prune(m, &o, 0.3));
        CU_ASSERT_EQUAL(memcmp(before, m->keep, (size_t)m->g->weights), 0);
        ctt_free(before);
        ctt_model_free(&m);
    }
}

/* In each weight by itself the smallest go, and the floor stays. */
static void test_layer(void)
{
    struct ctt_model *m = small_model(net, 2), *old = NULL;
    struct ctt_prune o = { .scope = CTT_PRUNE_LAYER, .except = "h.z*" };

    CHECK_OK(ctt_model_copy(m, &old));
    CHECK_OK(ctt_prune(m, &o, 0.75));
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        int64_t all = ctt_volume(&n->w[0]);
        double largest = 0, smallest = HUGE_VAL;

        if (!is_conv(n))
            continue;
        CU_ASSERT_EQUAL(gone(m, n), n->name[0] == 'h' ? 0
                        : llround(0.75 * (double)all));
        for (int64_t k = n->at[0]; k < n->at[0] + all; k++) {
            double x = fabs((double)old->w[k]);
            largest = !m->keep[k] && x > largest ? x : largest;
            smallest = m->keep[k] && x < smallest ? x : smallest;
            CU_ASSERT(!m->keep[k] || m->w[k] == old->w[k]);
        }
        CU_ASSERT(largest <= smallest);
    }
    o.floor = 0.5f;
    CHECK_OK(ctt_prune(m, &o, 0.9));
    CU_ASSERT_DOUBLE_EQUAL(ctt_pruned(m, &o), 0.75, 1e-3);
    o.least = 41;    /* y has 40 numbers */
    CHECK_OK(ctt_prune(m, &o, 0.99));
    CU_ASSERT_EQUAL(gone(m, &m->g->node[ctt_graph_find(m->g, "y")]), 30);
    ctt_model_free(&m);
    ctt_model_free(&old);
}

/* One weight has far smaller numbers than the others: it must not die. */
static void test_balance(void)
{
    for (int score = CTT_SCORE_LAMP; score <= CTT_SCORE_MAGNITUDE; score++) {
        struct ctt_model *m = small_model(net, 3);
        const struct ctt_node *b = &m->g->node[ctt_graph_find(m->g, "b")];
        struct ctt_prune o = { .score = score };

        for (int64_t k = 0; k < ctt_volume(&b->w[0]); k++)
            m->w[b->at[0] + k] *= 1e-4f;
        CHECK_OK(ctt_prune(m, &o, 0.8));
        CU_ASSERT(gone(m, b) < 0.95 * (double)ctt_volume(&b->w[0]));
        ctt_model_free(&m);
    }
}

/* Equal numbers: the count is still exact, and the earlier ones go. */
static void test_ties(void)
{
    static const char text[] = "input x h=1 w=1 c=10\nconv y in=x out=10\n";

    for (int i = 0; i < 4; i++) {
        struct ctt_model *m = small_model(text, 4);
        const struct ctt_node *n = &m->g->node[1];
        struct ctt_prune o = { .scope = i % 2, .score = i / 2 };

        for (int k = 0; k < 100; k++)
            m->w[n->at[0] + k] = k % 3 ? 0.5f : -0.5f;
        CHECK_OK(ctt_prune(m, &o, 0.37));
        for (int k = 0; k < 100; k++)
            CU_ASSERT_EQUAL(m->keep[n->at[0] + k], k >= 37);
        memset(m->w, 0, (size_t)m->g->weights * sizeof(*m->w));
        CHECK_OK(ctt_prune(m, &o, 0.5));
        CU_ASSERT_EQUAL(gone(m, n), 50);
        ctt_model_free(&m);
    }
}

static void test_cubic(void)
{
    double last = 0.2;

    for (int k = 1; k <= 5; k++) {
        double s = ctt_prune_cubic(0.2, 0.9, k, 5);
        CU_ASSERT(s > last);
        last = s;
    }
    CU_ASSERT_EQUAL(last, 0.9);
    CU_ASSERT_DOUBLE_EQUAL(ctt_prune_cubic(0, 0.8, 1, 2), 0.7, 1e-12);
}

static void test_epochs(void)
{
    for (int k = 0; k < 30 * 2 * 6; k++) {
        struct ctt_recipe o = { .lowrank = { .rank = k / 6 % 2 * 8 },
                                .share = k % 6 ? 0.5f : 0,
                                .rounds = k % 6, .epochs = k / 12 };
        int stages = (o.lowrank.rank > 0) + o.rounds, sum = 0;

        for (int i = 0; i < stages; i++) {
            int e = ctt_recipe_epochs(&o, i);
            CU_ASSERT(e >= 0);
            sum += e;
        }
        CU_ASSERT_EQUAL(sum, stages ? o.epochs : 0);
        if (o.rounds > 1)
            CU_ASSERT(ctt_recipe_epochs(&o, stages - 1) >= o.epochs / 3);
    }
}

/* ---- rounding ---- */

static void test_round(void)
{
    static const struct { float x; int bits; float y; } cases[] = {
        { 1.0f, 1, 1.0f }, { 1.75f, 1, 2.0f }, { 1.5f, 1, 2.0f },
        { 2.5f, 2, 2.0f }, { 3.5f, 2, 4.0f }, { -2.75f, 3, -3.0f },
        { 0.1f, 24, 0.1f }, { 0.0f, 4, 0.0f },
        { 1.00390625f, 8, 1.0f }, { 1.01171875f, 8, 1.015625f },
    };
    static const char text[] = "input x h=1 w=1 c=10\nconv y in=x out=1\n";
    struct ctt_model *m = small_model(text, 1), *old = NULL;
    const struct ctt_node *n = &m->g->node[1];

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        m->w[n->at[0]] = cases[i].x;
        ctt_round(m, cases[i].bits);
        CU_ASSERT_EQUAL(m->w[n->at[0]], cases[i].y);
    }
    m->w[n->at[0]] = FLT_MAX;
    ctt_round(m, 3);
    CU_ASSERT_EQUAL(m->w[n->at[0]], FLT_MAX);
    ctt_model_free(&m);
    m = small_model(net, 1);
    n = &m->g->node[1];
    CHECK_OK(ctt_model_copy(m, &old));
    ctt_round(m, 8);
    for (int64_t k = 0; k < m->g->weights; k++)
        CU_ASSERT(fabs((double)m->w[k] - old->w[k]) <=
                  fabs((double)old->w[k]) / 256);
    CU_ASSERT_EQUAL(m->w[n->at[1]], old->w[n->at[1]]);    /* a bias */
    ctt_model_free(&m);
    ctt_model_free(&old);
}

/* ---- recipes ---- */

static char folder[] = "/tmp/test_recipe.XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

/* Stands for a trainer: moves all that may move, and looks at the mask. */
struct trainer {
    int      epochs, stages, asked, timed;
    uint8_t *mask;
};

static int retrain(void *arg, const char *stage, int epochs,
                   struct ctt_model *m)
{
    struct trainer *t = arg;

    CU_ASSERT(strlen(stage) > 0);
    t->epochs += epochs;
    t->stages++;
    for (int64_t k = 0; k < m->g->weights; k++) {
        CU_ASSERT_FATAL(!t->mask || (m->keep && (t->mask[k] || !m->keep[k])));
        /* Zero is pruned or lies between two weights. */
        if (m->w[k] != 0)
            m->w[k] += 0.01f * sinf((float)(k + t->stages));
    }
    ctt_free(t->mask);
    t->mask = NULL;
    if (m->keep) {
        t->mask = ctt_calloc((size_t)m->g->weights, 1);
        memcpy(t->mask, m->keep, (size_t)m->g->weights);
    }
    return 0;
}

static int accuracy(void *arg, const char *stage, const struct ctt_model *m,
                    double top1[CTT_ACCURACIES])
{
    struct trainer *t = arg;

    (void)stage;
    CU_ASSERT(m->g->sealed);
    t->asked++;
    for (int k = 0; k < CTT_ACCURACIES; k++)
        top1[k] = 0.1 * (k + 1) + 0.01 * t->asked;
    return 0;
}

static int timed(void *arg, const char *path, double *ms)
{
    struct trainer *t = arg;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_model_load(path, 0, &m));
    ctt_model_free(&m);
    *ms = ++t->timed;
    return 0;
}

static int64_t file_size(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 ? (int64_t)s.st_size : -1;
}

static void check_rows(const struct ctt_report *r, const struct ctt_model *m)
{
    const struct ctt_stage_row *last = &r->stage[r->stages - 1];
    int64_t kept = 0, all = 0, pruned, size = 0;
    int done = 0;

    CU_ASSERT(isnan(r->stage[0].before[0]));
    CU_ASSERT_DOUBLE_EQUAL(r->stage[0].after[2], 0.31, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(last[-1].before[0], 0.18, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(last[-1].after[0], 0.19, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(last->before[0], 0.2, 1e-9);
    CU_ASSERT_EQUAL(last->ms, 6);
    CU_ASSERT(last->bytes < last[-1].bytes);
    CU_ASSERT_EQUAL(last->params, last[-1].params);
    CU_ASSERT(last->bytes < r->stage[1].bytes);
    CU_ASSERT(r->stage[1].bytes < r->stage[0].bytes);
    CU_ASSERT(last->macs < r->stage[0].macs && last->live_macs < last->macs);
    CU_ASSERT_EQUAL(last->clip_macs, r->stage[0].clip_macs);
    CU_ASSERT_DOUBLE_EQUAL(last->pruned, 0.6, 1e-3);
    for (int k = 0; k < r->weights; k++) {
        kept += r->weight[k].kept;
        size += r->weight[k].size;
        done += r->weight[k].cores > 1;
        CU_ASSERT(r->weight[k].encoding[0] != '\0');
    }
    count(m, &all, &pruned);
    CU_ASSERT_EQUAL(kept, all - pruned);
    CU_ASSERT(size > 0 && size < last->bytes);
    CU_ASSERT(done > 1);
}

static void check_text(const struct ctt_report *r)
{
    char s[1024], *json = NULL;
    int rows = 0, depth = 0;

    while (ctt_report_stage_cells(r, rows, s, sizeof(s)))
        rows++;
    CU_ASSERT_EQUAL(rows, r->stages + 1);
    CU_ASSERT(strstr(s, "rounded") == s);
    CHECK_OK(ctt_report_stage_cells(r, r->stages - 1, s, sizeof(s)));
    CU_ASSERT(strstr(s, "pruned 3/3") == s);
    CU_ASSERT(strstr(s, "\t18.0/28.0/38.0\t19.0/29.0/39.0\t5.000") != NULL);
    for (rows = 0; ctt_report_weight_cells(r, rows, s, sizeof(s)); )
        rows++;
    CU_ASSERT_EQUAL(rows, r->weights + 1);
    CHECK_OK(ctt_report_json(r, in_folder("r.json")));
    CHECK_OK(ctt_net_read(in_folder("r.json"), &json));
    for (const char *p = json; *p; p++) {
        depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
        CU_ASSERT_FATAL(depth > 0 || !p[1] || !p[2]);
    }
    CU_ASSERT_EQUAL(depth, 0);
    CU_ASSERT(strstr(json, "\"top1_before_retraining\": null") != NULL);
    CU_ASSERT(strstr(json, "\"ms_a_frame\": 6}") != NULL);
    CU_ASSERT(strstr(json, "nan") == NULL);
    ctt_free(json);
    CU_ASSERT_EQUAL(ctt_report_json(r, in_folder("none/r.json")), CTT_EIO);
}

static void test_recipe(void)
{
    struct trainer t = { 0 };
    struct ctt_recipe_calls calls = { &t, retrain, accuracy, timed };
    struct ctt_recipe o = { .lowrank = { .rank = 4 }, .share = 0.6f,
                            .rounds = 3, .epochs = 10, .bits = 8 };
    struct ctt_model *m = small_model(net, 5), *back = NULL;
    struct ctt_report *r = NULL;
    const char *path = in_folder("m.h5");
    char file[256];

    snprintf(file, sizeof(file), "%s", path);
    CHECK_OK(ctt_recipe_run(&o, &calls, file, &m, &r));
    CU_ASSERT_EQUAL(t.epochs, 10);
    CU_ASSERT_EQUAL(t.stages, 4);
    CU_ASSERT_EQUAL(r->stages, 6);
    CU_ASSERT_EQUAL(r->stage[5].bytes, file_size(file));
    CU_ASSERT_EQUAL(file_size(in_folder("m.h5.part")), -1);
    CHECK_OK(ctt_model_load(file, 0, &back));
    CU_ASSERT_EQUAL_FATAL(back->g->weights, m->g->weights);
    CU_ASSERT_EQUAL(memcmp(back->w, m->w, (size_t)m->g->weights * 4), 0);
    CU_ASSERT_FATAL(back->keep != NULL);
    CU_ASSERT_EQUAL(memcmp(back->keep, m->keep, (size_t)m->g->weights), 0);
    CU_ASSERT(strstr(back->history, "tensor trains: rank 4") != NULL);
    CU_ASSERT(strstr(back->history, "\npruned 3/3: 60.0") != NULL);
    CU_ASSERT(strstr(back->history, "\nrounded: 8 ") != NULL);
    small_compare(m, back, 4, 0);
    check_rows(r, back);
    check_text(r);
    ctt_free(t.mask);
    ctt_report_free(&r);
    ctt_model_free(&m);
    ctt_model_free(&back);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* Without a trainer; each kind of stage alone. */
static void test_alone(void)
{
    struct ctt_recipe_calls none = { NULL };
    struct ctt_recipe o[] = {
        { .lowrank = { .tol = 0.3f } },
        { .share = 0.5f, .rounds = 1 },
    };

    for (size_t i = 0; i < CTT_LEN(o); i++) {
        struct ctt_model *m = small_model(net, 6);
        struct ctt_report *r = NULL;
        char s[1024];

        CHECK_OK(ctt_recipe_run(&o[i], &none, in_folder("a.h5"), &m, &r));
        CU_ASSERT_EQUAL(r->stages, 2);
        CHECK_OK(ctt_report_stage_cells(r, 2, s, sizeof(s)));
        CU_ASSERT(strstr(s, "\t-\t-\t-") != NULL);
        CU_ASSERT((m->keep != NULL) == (o[i].share > 0));
        ctt_report_free(&r);
        ctt_model_free(&m);
    }
}

static void test_errors(void)
{
    static const struct { struct ctt_recipe o; const char *path, *message; }
    bad[] = {
        { { .rounds = 1 }, "e.h5", "nothing to do" },
        { { .share = 1, .rounds = 1 }, "e.h5", "a share of 1 " },
        { { .share = 0.5f }, "e.h5", "at least one round" },
        { { .bits = 25 }, "e.h5", "nothing to do" },
        { { .share = 0.5f, .rounds = 1, .bits = 25 }, "e.h5", "no 25 " },
        { { .share = 0.5f, .rounds = 1, .prune.except = "a,q" }, "e.h5",
          "no weight matches 'q'" },
        { { .lowrank = { .rank = 2, .except = "n" } }, "e.h5",
          "no weight matches 'n'" },
        { { .share = 0.5f, .rounds = 1, .prune.except = "*" }, "e.h5",
          "no weight to prune" },
        { { .lowrank = { .rank = 2 } }, "none/e.h5", "none/e.h5" },
    };
    struct ctt_recipe_calls none = { NULL };

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_model *m = small_model(net, 7);
        struct ctt_report *r = NULL;
        int rc = ctt_recipe_run(&bad[i].o, &none, in_folder(bad[i].path), &m,
                                &r);

        CU_ASSERT(rc < 0);
        if (!strstr(ctt_errmsg(), bad[i].message))
            printf("\n    %s", ctt_errmsg());
        CU_ASSERT(strstr(ctt_errmsg(), bad[i].message) != NULL);
        CU_ASSERT_PTR_NULL(r);
        CU_ASSERT_EQUAL(file_size(in_folder("e.h5")), -1);
        CU_ASSERT_EQUAL(file_size(in_folder("e.h5.part")), -1);
        ctt_model_free(&m);
    }
}

/* Every allocation may fail; the old file stays. */
static void test_alloc(void)
{
    struct ctt_recipe_calls none = { NULL };
    struct ctt_recipe o = { .lowrank = { .rank = 4 }, .share = 0.5f,
                            .rounds = 1 };
    int rc = CTT_ENOMEM;
    char file[256];

    snprintf(file, sizeof(file), "%s", in_folder("k.h5"));
    for (long k = 1; rc < 0; k += 1 + k / 12) {
        struct ctt_model *m = small_model(net, 8);
        struct ctt_report *r = NULL;

        ctt_fail_alloc(k);
        rc = ctt_recipe_run(&o, &none, file, &m, &r);
        ctt_fail_alloc(0);
        if (rc < 0 && !strstr(ctt_errmsg(), "memory"))
            printf("\n    allocation %ld: %s", k, ctt_errmsg());
        CU_ASSERT(rc >= 0 || strstr(ctt_errmsg(), "memory") != NULL);
        CU_ASSERT_EQUAL(file_size(file) > 0, rc >= 0);
        ctt_report_free(&r);
        ctt_model_free(&m);
        if (ctt_live_blocks() != 0)
            printf("\n    allocation %ld leaks", k);
        CU_ASSERT_EQUAL_FATAL(ctt_live_blocks(), 0);
    }
}

static int make_folder(void)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void)
{
    static const char *const names[] = { "m.h5", "a.h5", "k.h5", "r.json" };

    for (size_t i = 0; i < CTT_LEN(names); i++)
        remove(in_folder(names[i]));
    return rmdir(folder);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "global", test_global },
        { "layer", test_layer },
        { "balance", test_balance },
        { "ties", test_ties },
        { "cubic", test_cubic },
        { "epochs", test_epochs },
        { "round", test_round },
        { "recipe", test_recipe },
        { "alone", test_alone },
        { "errors", test_errors },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "recipe", make_folder, remove_folder, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
