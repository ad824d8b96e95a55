/* SPDX-License-Identifier: Apache-2.0
 * test_choose.c: what a recipe chooses by time, by bytes and by rule, and what
 * it is left without choice. */
#include "tests/lib/check.h"
#include "tests/lib/small.h"
#include "compress/choose.h"
#include "net/limits.h"
#include "net/op.h"
#include "net/quant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char net[] = "input x h=6 w=6 c=16\n"
    "conv a in=x out=24 kernel=3 pad=1\nact r in=a kind=relu\n"
    "convlstm h in=r hidden=8 kernel=3\npool p in=h kind=avg\n"
    "conv y in=p out=5\n";

static char folder[] = "/tmp/test_choose.XXXXXX";

static const char *out_file(void)
{
    static char path[64];

    snprintf(path, sizeof(path), "%s/m.h5", folder);
    return path;
}

/* Convs a and b can read bytes, and an add can become an input of b. */
static const char residual[] = "input x h=6 w=6 c=16\n"
    "conv a in=x out=24 kernel=3 pad=1\nact r in=a kind=relu\n"
    "conv b in=r out=24 kernel=3 pad=1\nadd s in=b,r\n"
    "act q in=s kind=relu\npool p in=q kind=avg\nconv y in=p out=5\n";

/* Times that a model takes, as factors; and top-1 that it loses if more than
 * `few` convs read bytes. */
struct machine {
    double int8, blocks, chain;
    double part;    /* in place of int8: if only few do */
    double lost;
    int    few, compared;
    int    no_blocks, no_chains;    /* 1: they do not fit into the limit of
                                       memory */
    char   said[1024];
};

/* ---- what a model is ---- */

static int convs_of_bytes(const struct ctt_model *m)
{
    int n = 0;

    for (int i = 0; i < m->g->count; i++)
        n += ctt_is_int8(m->g, i);
    return n;
}

static int chains(const struct ctt_model *m)
{
    int n = 0;

    for (int i = 0; i < m->g->count; i++)
        n += strstr(m->g->node[i].name, ".t1") != NULL;
    return n;
}

/* Whether conv a, which is pruned, is so in whole blocks. */
static int in_blocks(const struct ctt_model *m)
{
    const struct ctt_node *n = &m->g->node[ctt_graph_find(m->g, "a")];

    return m->constraint.keep &&
           ctt_units_whole(CTT_PRUNE_BLOCK, &n->w[0], 1,
                           m->constraint.keep + n->at[0]);
}

static double time_of(const struct machine *t, const char *path)
{
    struct ctt_model *m = NULL;
    double ms = 4;

    if (ctt_model_load(path, 0, &m) < 0)
        return -1;    /* memory */
    if (convs_of_bytes(m))
        ms *= (convs_of_bytes(m) > t->few ? t->int8 : t->part) *
              (in_blocks(m) ? t->blocks : 1);
    for (int i = chains(m); i > 0; i--)
        ms *= t->chain;
    ctt_model_free(&m);
    return ms;
}

/* Whether the runtime has memory for the model. */
static int fits(const struct machine *t, const char *path)
{
    struct ctt_model *m = NULL;
    int fits = 1;

    if (!t->no_blocks && !t->no_chains)
        return 1;
    CHECK_OK(ctt_model_load(path, 0, &m));
    fits = !(t->no_blocks && in_blocks(m)) && !(t->no_chains && chains(m));
    ctt_model_free(&m);
    return fits;
}

static int compare(void *arg, const char *base, const char *path,
                   struct ctt_speed *s)
{
    struct machine *t = arg;
    double was = time_of(t, base), ms = time_of(t, path);

    t->compared++;
    if (was < 0 || ms < 0)
        return CTT_ENOMEM;
    if (!fits(t, path) || !fits(t, base))
        return ctt_memory_check("out of memory", INT64_MAX);
    *s = (struct ctt_speed){ ms, ms / was, 0 };
    return 0;
}

static int accuracy(void *arg, const char *stage, const struct ctt_model *m,
                    struct ctt_score *s)
{
    const struct machine *t = arg;

    (void)stage;
    *s = (struct ctt_score){ .clips = 100 };
    for (int k = 0; k < CTT_ACCURACIES; k++)
        s->top1[k] = 0.9 - (convs_of_bytes(m) > t->few ? t->lost : 0);
    return 0;
}

static int retrain(void *arg, const char *stage, int epochs,
                   const struct ctt_changes *during, struct ctt_model *m)
{
    (void)arg;
    (void)stage;
    (void)epochs;
    (void)during;
    (void)m;
    return 0;
}

static void say(void *arg, const char *line)
{
    struct machine *t = arg;
    size_t n = strlen(t->said);

    snprintf(t->said + n, sizeof(t->said) - n, "%s\n", line);
}

/* ---- running ---- */

static struct ctt_recipe open_recipe(int aim)
{
    return (struct ctt_recipe){
        .prune = { .share = 0.8f, .rounds = 1, .form = CTT_PRUNE_AUTO },
        .fold = { CTT_FOLD_AUTO }, .round = { .bits = 8, .bias_bits = 8 },
        .int8 = { .method = CTT_INT8_AUTO, .harm = 0.005f, .epochs = 2 },
        .epochs = 2, .aim = aim,
    };
}

static struct ctt_recipe_calls all_calls(struct machine *t)
{
    return (struct ctt_recipe_calls){ .arg = t, .compare = compare,
        .accuracy = accuracy, .retrain = retrain, .say = say, .sample = small_sample_any,
        .clips = 100 };
}

struct result { struct ctt_model *m; struct ctt_report *r; };

static struct result run_net(const char *text, const struct ctt_recipe *o,
                             const struct ctt_recipe_calls *calls)
{
    struct result x = { small_model(text, 5), NULL };

    CHECK_OK(ctt_recipe_run(o, calls, out_file(), NULL, &x.m, &x.r));
    CU_ASSERT_PTR_NOT_NULL_FATAL(x.r);
    return x;
}

static struct result run(const struct ctt_recipe *o,
                         const struct ctt_recipe_calls *calls)
{
    return run_net(net, o, calls);
}

static void end(struct result *x)
{
    ctt_report_free(&x->r);
    ctt_model_free(&x->m);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static const char *chosen(const struct result *x)
{
    const struct ctt_choice *c = ctt_report_form(x->r);

    return c ? c->name : "none";
}

static int says(const struct result *x, const char *line)
{
    return x->m->history && strstr(x->m->history, line) != NULL;
}

static struct ctt_choice *row(const struct result *x, const char *of,
                              const char *name)
{
    for (int i = 0; i < x->r->choices; i++)
        if (strcmp(x->r->choice[i].of, of) == 0 &&
            strcmp(x->r->choice[i].name, name) == 0)
            return &x->r->choice[i];
    CU_FAIL_FATAL("no such candidate");
    return NULL;
}

/* ---- pattern and type ---- */

static void test_by_time(void)
{
    struct machine t = { .int8 = 0.5, .blocks = 0.8 };
    struct ctt_recipe_calls calls = all_calls(&t);
    struct ctt_recipe o = open_recipe(CTT_AIM_MS);
    struct result x = run(&o, &calls);
    struct ctt_choice *c = row(&x, CTT_CHOICE_FORM, "block, int8");
    char s[512];

    CU_ASSERT(c->chosen && says(&x, "chosen for ms: block, int8\n"));
    CU_ASSERT_DOUBLE_EQUAL(c->ms, 4 * 0.5 * 0.8, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(ctt_report_gain(x.r, c), 2.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(c->lost, 0, 1e-9);
    CU_ASSERT(c->bytes > 0);
    CU_ASSERT_EQUAL(x.r->choices, 4);
    CU_ASSERT_EQUAL(t.compared, 3);
    CU_ASSERT_DOUBLE_EQUAL(row(&x, CTT_CHOICE_FORM, "any, floats")->ms, 4,
                           1e-9);
    CU_ASSERT(convs_of_bytes(x.m) > 0 && in_blocks(x.m));
    CU_ASSERT_EQUAL(o.prune.form, CTT_PRUNE_AUTO);
    CHECK_OK(ctt_report_choice_cells(x.r, 4, s, sizeof(s)));
    CU_ASSERT(strstr(s, "block, int8") && strstr(s, "\t2.50x\t0.0\tchosen"));
    CU_ASSERT_EQUAL(ctt_report_choice_cells(x.r, 5, s, sizeof(s)), 0);
    end(&x);

    /* a gain that is not worth it */
    t = (struct machine){ .int8 = 0.5, .blocks = 0.92 };
    x = run(&o, &calls);
    CU_ASSERT_STRING_EQUAL(chosen(&x), "any, int8");
    end(&x);
    t = (struct machine){ .int8 = 0.98, .blocks = 0.99 };
    x = run(&o, &calls);
    CU_ASSERT_STRING_EQUAL(chosen(&x), "any, floats");
    CU_ASSERT(!convs_of_bytes(x.m) && !in_blocks(x.m));
    CU_ASSERT(!says(&x, "int8"));
    end(&x);
}

/* Of the candidates that are measured, the chosen one is the best. */
static void test_by_bytes(void)
{
    struct machine t = { .int8 = 3, .blocks = 3 };
    struct ctt_recipe_calls calls = all_calls(&t);
    struct ctt_recipe o = open_recipe(CTT_AIM_BYTES);
    struct result x;
    const struct ctt_choice *best;

    calls.compare = NULL;
    x = run(&o, &calls);
    best = ctt_report_form(x.r);
    for (int i = 0; i < x.r->choices; i++) {
        CU_ASSERT(x.r->choice[i].bytes > 0 && isnan(x.r->choice[i].ms));
        CU_ASSERT((double)x.r->choice[i].bytes >=
                  CTT_CHOICE_BLOCK_GAIN * (double)best->bytes);
    }
    CU_ASSERT_EQUAL(in_blocks(x.m), best->form == CTT_PRUNE_BLOCK);
    CU_ASSERT_EQUAL(convs_of_bytes(x.m) > 0, best->int8);
    end(&x);

    /* much slower and a little smaller is no gain of both */
    calls.compare = compare;
    o.aim = CTT_AIM_BOTH;
    o.prune.form = CTT_PRUNE_BLOCK;
    x = run(&o, &calls);
    CU_ASSERT_STRING_EQUAL(chosen(&x), "block, floats");
    end(&x);
}

/* What does not fit into the limit of memory is left out, and said. */
static void test_full(void)
{
    static const char says_so[] = " do not fit into the memory limit of ";
    struct machine t = { .int8 = 0.5, .blocks = 0.5, .chain = 1.5,
                         .no_blocks = 1 };
    struct ctt_recipe_calls calls = all_calls(&t);
    struct ctt_recipe o = open_recipe(CTT_AIM_MS);
    struct result x = run(&o, &calls);

    CU_ASSERT_STRING_EQUAL(chosen(&x), "any, int8");
    CU_ASSERT_STRING_EQUAL(row(&x, CTT_CHOICE_FORM, "block, int8")->given_up,
                           "does not fit --memory");
    CU_ASSERT(strstr(t.said, "choices: block, int8 not tried: out of memory")
              && strstr(t.said, says_so));
    end(&x);

    /* weights that may not be measured are what was asked */
    t = (struct machine){ .int8 = 1, .blocks = 1, .chain = 1.5,
                          .no_chains = 1 };
    o.tt = (struct ctt_tt){ .rank = 2, .except = "y" };
    o.int8.method = 0;
    o.prune.share = 0;
    x = run(&o, &calls);
    CU_ASSERT_EQUAL(chains(x.m), 3);
    CU_ASSERT_EQUAL(x.r->choices, 1);
    CU_ASSERT(strstr(t.said, "choices: weights without tensor trains not tried")
              != NULL);
    end(&x);
}

/* Without timing; what is not there to choose from. */
static void test_by_rule(void)
{
    enum { NO_EPOCHS = 1, NO_CLIPS = 2, NO_TEST = 4, HALF = 8, ANY = 16,
           FLOATS = 32, BYTES = 64, NO_PRUNE = 128, TRAINS = 256, SLOW = 512 };
    static const struct { int without; const char *chosen; } rows[] = {
        { 0, "block, int8" }, { NO_EPOCHS, "any, int8" },
        { NO_CLIPS, "any, floats" }, { NO_TEST, "any, floats" },
        { HALF, "any, floats" }, { ANY, "any, int8" },
        { FLOATS, "any, floats" }, { BYTES, "block, int8" },
        { NO_PRUNE, "floats" }, { TRAINS, "any, int8" },
        { SLOW, "any, floats" }, { SLOW | BYTES, "any, int8" },
    };
    struct machine t = { .int8 = 1 };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        struct ctt_recipe_calls calls = all_calls(&t);
        struct ctt_recipe o = open_recipe(CTT_AIM_BOTH);
        int without = rows[i].without;
        struct result x;

        calls.compare = NULL;
        calls.slow_bytes = without & SLOW;
        o.epochs = without & NO_EPOCHS ? 0 : 2;
        calls.sample = without & NO_CLIPS ? NULL : small_sample_any;
        calls.accuracy = without & NO_TEST ? NULL : accuracy;
        o.round.half = without & HALF;
        o.prune.form = without & ANY ? CTT_PRUNE_ANY : CTT_PRUNE_AUTO;
        o.int8.method = without & FLOATS ? 0 : without & BYTES ? 1
                        : CTT_INT8_AUTO;
        o.tt.rank = without & TRAINS ? 2 : 0;
        o.prune.share = without & NO_PRUNE ? 0 : 0.8f;
        x = run(&o, &calls);
        if (strcmp(chosen(&x), rows[i].chosen) != 0)
            printf("\n    %zu: %s", i, chosen(&x));
        CU_ASSERT_STRING_EQUAL(chosen(&x), rows[i].chosen);
        CU_ASSERT_EQUAL(convs_of_bytes(x.m) > 0,
                        strstr(rows[i].chosen, "int8") != NULL);
        CU_ASSERT_EQUAL(in_blocks(x.m),
                        strstr(rows[i].chosen, "block") != NULL);
        CU_ASSERT_EQUAL(says(&x, "chosen by rule"), x.r->choices > 1);
        end(&x);
    }
}

/* The row of single values in bytes, and the table, say that these were given
 * up. */
static void check_given_up(const struct result *x, const char *why)
{
    const struct ctt_choice *c = row(x, CTT_CHOICE_FORM, "any, int8");
    char s[512], line[128];

    CU_ASSERT_EQUAL(convs_of_bytes(x->m), 0);
    CU_ASSERT_PTR_EQUAL(ctt_report_form(x->r), c);
    CU_ASSERT(!ctt_report_is_chosen(c));
    CU_ASSERT(ctt_report_is_chosen(row(x, CTT_CHOICE_FORM, "any, floats")));
    CU_ASSERT_STRING_EQUAL(c->given_up, why);
    snprintf(line, sizeof(line), "\tgiven up: %s", why);
    CHECK_OK(ctt_report_choice_cells(x->r, 1, s, sizeof(s)));
    CU_ASSERT(strstr(s, "any, floats") && strstr(s, "\tchosen"));
    CHECK_OK(ctt_report_choice_cells(x->r, 2, s, sizeof(s)));
    CU_ASSERT(strstr(s, line) && !strstr(s, "chosen"));
    snprintf(line, sizeof(line), "int8: given up: %s\n", why);
    CU_ASSERT(says(x, line));
}

/* Bytes that cost more than --int8-harm are given up. */
static void test_harm(void)
{
    struct machine t = { .int8 = 0.5, .blocks = 1, .lost = 0.02 };
    struct ctt_recipe_calls calls = all_calls(&t);
    struct ctt_recipe o = open_recipe(CTT_AIM_MS);
    struct result x = run(&o, &calls);

    CU_ASSERT_STRING_EQUAL(chosen(&x), "any, int8");
    CU_ASSERT_DOUBLE_EQUAL(ctt_report_form(x.r)->lost, 0.02, 1e-9);
    check_given_up(&x, "costs 2.0 points");
    end(&x);
    t.lost = 0.004;
    x = run(&o, &calls);
    CU_ASSERT(convs_of_bytes(x.m) > 0);
    CU_ASSERT_STRING_EQUAL(ctt_report_form(x.r)->given_up, "");
    end(&x);
}

/* What may read bytes then is timed again: it has to be faster than floats. */
static void test_rest(void)
{
    struct machine t = { .int8 = 0.5, .blocks = 1, .lost = 0.02, .few = 1,
                         .part = 0.98 };
    struct ctt_recipe_calls calls = all_calls(&t);
    struct ctt_recipe o = open_recipe(CTT_AIM_MS);
    struct result x = run(&o, &calls);
    char why[96];

    CU_ASSERT_EQUAL(t.compared, 4);
    snprintf(why, sizeof(why), "%s", ctt_report_form(x.r)->given_up);
    CU_ASSERT(strstr(why, "0.98 of the time, 0.") == why);
    CU_ASSERT(strstr(why, " of the bytes with 1 convs") != NULL);
    check_given_up(&x, why);
    for (int i = 0; i < x.r->blames; i++)
        CU_ASSERT(x.r->blame[i].stays[0] != '\0');
    end(&x);
    t.part = 0.9;
    x = run(&o, &calls);
    CU_ASSERT_EQUAL(convs_of_bytes(x.m), 1);
    CU_ASSERT_STRING_EQUAL(ctt_report_form(x.r)->given_up, "");
    end(&x);
}

/* "No change" is true: the model is that of a recipe without INT8. */
static void test_no_change(void)
{
    struct machine t = { .int8 = 0.5, .blocks = 1, .lost = 0.02 };
    struct ctt_recipe_calls calls = all_calls(&t);
    struct ctt_recipe o = open_recipe(CTT_AIM_MS);
    struct result x, y;
    char *was, *is;

    o.int8.alike = 1;
    x = run_net(residual, &o, &calls);
    check_given_up(&x, "costs 2.0 points");
    CU_ASSERT_STRING_EQUAL(x.r->stage[x.r->stages - 2].name, "int8: no change");
    for (int i = 0; i < x.r->weights; i++)
        CU_ASSERT(!strstr(x.r->weight[i].reason, "channels differ"));
    o.int8.method = 0;
    y = run_net(residual, &o, &calls);
    was = ctt_net_print(y.m->g);
    is = ctt_net_print(x.m->g);
    CU_ASSERT_STRING_EQUAL(is, was);
    CU_ASSERT_EQUAL_FATAL(x.m->g->weights, y.m->g->weights);
    CU_ASSERT(memcmp(x.m->w, y.m->w, (size_t)x.m->g->weights *
                     sizeof(*x.m->w)) == 0);
    ctt_free(was);
    ctt_free(is);
    ctt_report_free(&x.r);
    ctt_model_free(&x.m);
    end(&y);
}

/* ---- tensor trains ---- */

static void check_chains(struct machine *t, int aim, int want)
{
    struct ctt_recipe_calls calls = all_calls(t);
    struct ctt_recipe o = open_recipe(aim);
    struct result x;

    o.tt = (struct ctt_tt){ .rank = 2, .except = "y" };
    o.prune.share = 0;
    o.int8.method = 0;
    x = run(&o, &calls);
    CU_ASSERT_EQUAL(chains(x.m), want);
    CU_ASSERT_DOUBLE_EQUAL(row(&x, "all weights", "whole")->ms, 4, 1e-9);
    CU_ASSERT(row(&x, "all weights", "tensor trains")->bytes <
              row(&x, "all weights", "whole")->bytes);
    CU_ASSERT_EQUAL(says(&x, "weights are no tensor trains"), want == 0);
    CU_ASSERT_EQUAL(row(&x, "all weights", "tensor trains")->chosen, want > 0);
    CU_ASSERT_EQUAL(row(&x, "all weights", "whole")->chosen, want == 0);
    if (!want) {
        CU_ASSERT(row(&x, "a", "whole")->chosen);
        CU_ASSERT(!row(&x, "a", "tensor trains")->chosen);
        CU_ASSERT(strstr(x.r->weight[0].reason, "no gain") != NULL);
        CU_ASSERT_EQUAL(x.r->weight[0].cores, 1);
    }
    end(&x);
}

static void test_chains(void)
{
    struct machine fast = { .chain = 0.5 }, slow = { .chain = 1.5 };

    check_chains(&fast, CTT_AIM_MS, 3);
    check_chains(&slow, CTT_AIM_BYTES, 3);    /* they are smaller */
    check_chains(&slow, CTT_AIM_BOTH, 3);
    check_chains(&slow, CTT_AIM_MS, 0);
}

/* Every allocation may fail. */
static void test_alloc(void)
{
    struct machine t = { .int8 = 0.5, .blocks = 0.8, .chain = 1.5 };
    struct ctt_recipe_calls calls = all_calls(&t);
    struct ctt_recipe o = open_recipe(CTT_AIM_MS);
    int rc = CTT_ENOMEM;

    o.tt = (struct ctt_tt){ .rank = 2, .except = "y" };
    calls.sample = NULL;
    for (long k = 1; rc < 0; k += 1 + k / 8) {
        struct result x = { small_model(net, 5), NULL };

        ctt_fail_alloc(k);
        rc = ctt_recipe_run(&o, &calls, out_file(), NULL, &x.m, &x.r);
        ctt_fail_alloc(0);
        CU_ASSERT(rc >= 0 || rc == CTT_ENOMEM || strstr(ctt_errmsg(),
                                                        "memory") != NULL);
        end(&x);
    }
}

static int make_folder(void)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void)
{
    remove(out_file());
    return rmdir(folder);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "pattern and type by time", test_by_time },
        { "by bytes", test_by_bytes },
        { "by rule", test_by_rule },
        { "memory", test_full },
        { "bytes that cost accuracy", test_harm },
        { "bytes of few convs", test_rest },
        { "bytes given up change nothing", test_no_change },
        { "weights that are no tensor trains", test_chains },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "choices", make_folder, remove_folder, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
