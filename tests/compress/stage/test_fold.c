/* SPDX-License-Identifier: Apache-2.0
 * test_fold.c: norms folded and dead channels dropped as a stage: the answers
 * of a stream, what is left of the model, the report, what is refused. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "tests/lib/small.h"
#include "tests/lib/stream.h"
#include "compress/stage.h"
#include "net/op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A norm after a sum, which no conv takes in; another that is the output of a
 * recurrent part, in a clip. */
static const char stays[] = STREAM_INPUT
    "conv a in=x out=4 kernel=3 pad=1\nconv b in=x plus=a out=4\n"
    "norm n in=b kind=batch\nact r in=n kind=relu\n"
    "convlstm h in=r hidden=3 kernel=3\nclip\nwindow v in=h steps=3\n"
    "conv c in=v out=8 kernel=3\nnorm m in=c kind=batch\n"
    "act s in=m kind=relu\npool p in=s kind=avg\nconv y in=p out=4\n";

/* A state delays a norm, another takes its shape; the output is one. */
static const char delayed[] = STREAM_INPUT
    "state t of=n like=x c=4\nconv a in=x out=4 kernel=3 pad=1\n"
    "norm n in=a kind=batch\nstate s of=n delay=2\nadd d in=n,s,t\n"
    "pool p in=d kind=avg\nconv b in=p out=3\nnorm y in=b kind=batch\n";

static int count_op(const struct ctt_model *m, enum ctt_opcode op)
{
    int n = 0;

    for (int i = 0; i < m->g->count; i++)
        n += m->g->node[i].op == op;
    return n;
}

static void answers(const char *path, float *probs)
{
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;

    CHECK_OK(ctt_infer_open(path, "ref", 1, &m));
    CHECK_OK(ctt_session_open(m, &s));
    for (int i = 0; i < LONG; i++) {
        CHECK_OK(ctt_session_push_float(s, stream_floats + i * FRAME, 1));
        CHECK_OK(ctt_session_read(s, probs + i * MOST_CLASSES));
    }
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

/* Every third number of the kernels, and two rows of each. */
static void prune(struct ctt_model *m)
{
    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        int64_t row = ctt_is_conv(n) ? ctt_volume(&n->w[0]) / n->out.c : 0;

        for (int64_t k = 0; k < row * n->out.c; k++)
            if (k % 3 == 0 || k / row < 2)
                m->w[n->at[0] + k] =
                    m->constraint.keep[n->at[0] + k] = 0;
    }
}

/* No pruned number of a kernel came back. */
static void still_pruned(const struct ctt_model *m, int64_t least)
{
    int64_t pruned = 0;

    for (int64_t k = 0; k < m->g->weights; k++)
        if (!m->constraint.keep[k]) {
            CU_ASSERT_EQUAL(m->w[k], 0);
            pruned++;
        }
    CU_ASSERT(pruned > least);
}

static void test_streams(void)
{
    static const struct { const char *text; int norms, left; } cases[] = {
        { stream_plain, 0, 0 }, { stream_clip, 0, 0 }, { stream_fused, 5, 1 },
        { stays, 1, 1 }, { delayed, 2, 0 },
    };
    static float want[LONG * MOST_CLASSES], got[LONG * MOST_CLASSES];

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        const char *path = stream_model(cases[i].text, NULL, 0);
        struct ctt_model *m = NULL, *to = NULL;
        struct ctt_report *r = NULL;
        struct ctt_folded done;

        CHECK_OK(ctt_model_load(path, 0, &m));
        prune(m);
        CHECK_OK(ctt_model_save(path, m));
        answers(path, want);
        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_fold_model(m, CTT_FOLD_ALL, r, &done, &to));
        CHECK_OK(ctt_model_save(path, to));
        answers(path, got);
        CHECK_CLOSE(got, want, LONG * MOST_CLASSES, 1e-5);
        CU_ASSERT_EQUAL(done.norms, cases[i].norms);
        CU_ASSERT_EQUAL(count_op(to, CTT_OP_NORM), cases[i].left);
        CU_ASSERT_EQUAL(count_op(m, CTT_OP_NORM), done.norms + cases[i].left);
        still_pruned(to, 20);
        ctt_report_free(&r);
        ctt_model_free(&m);
        ctt_model_free(&to);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void zero_outputs(struct ctt_model *m, int node, int64_t rows)
{
    const struct ctt_node *n = &m->g->node[node];
    int64_t size = ctt_volume(&n->w[0]) / n->out.c;

    CHECK_OK(ctt_constraint_mask(&m->constraint, m->g->weights));
    memset(m->w + n->at[0], 0, (size_t)(rows * size) * sizeof(float));
    memset(m->constraint.keep + n->at[0], 0, (size_t)(rows * size));
}

/* In a recipe: the row, the history, the weights' rows; a second run has
 * nothing to do. */
static void test_recipe(void)
{
    struct ctt_recipe_calls none = { NULL };
    struct ctt_recipe o = { .fold = { CTT_FOLD_ALL },
                            .round = { .bias_bits = 8 } };
    struct ctt_model *m = small_model(small_net, 5), *given = NULL;
    struct ctt_report *r = NULL;

    CHECK_OK(ctt_recipe_asked(&o));
    zero_outputs(m, 1, 5);
    CHECK_OK(ctt_model_copy(m, &given));
    CHECK_OK(ctt_recipe_run(&o, &none, clip_path("f.h5"), NULL, &m, &r));
    CU_ASSERT_EQUAL(r->stages, 3);
    CU_ASSERT_STRING_EQUAL(r->stage[1].name, "folded");
    CU_ASSERT(strstr(m->history, "folded: 1 norms, 5 dead channels of 1 convs "
                     "dropped\nfolded: not validated\nrounded: biases to 8 "
                     "bits") != NULL);
    CU_ASSERT_EQUAL(r->weight[0].params, 32 * 9 * 16);
    CU_ASSERT_EQUAL(r->weight[0].params_after, 27 * 9 * 16);
    CU_ASSERT(r->weight[0].macs_after < r->weight[0].macs);
    CU_ASSERT_STRING_EQUAL(r->weight[0].reason, "5 outputs dropped");
    CU_ASSERT_EQUAL(r->weight[1].params_after, 27 * 8);
    CU_ASSERT_STRING_EQUAL(r->weight[1].reason, "");
    CU_ASSERT_EQUAL(r->weight[2].params_after, r->weight[2].params);
    CU_ASSERT(r->stage[1].macs < r->stage[0].macs);
    small_compare(given, m, 4, 0.02);
    ctt_report_free(&r);
    CHECK_OK(ctt_recipe_run(&o, &none, clip_path("f.h5"), NULL, &m, &r));
    CU_ASSERT_STRING_EQUAL(r->stage[1].name, "folded: no change");
    CU_ASSERT(strstr(m->history, "\nfolded: no change\n") != NULL);
    ctt_report_free(&r);
    ctt_model_free(&given);
    ctt_model_free(&m);
}

/* Each part makes the file of rounded weights smaller. */
static void test_bytes(void)
{
    static const struct { struct ctt_fold fold; int bias_bits; } steps[] = {
        { { CTT_FOLD_NONE }, 0 }, { { CTT_FOLD_NORMS }, 0 },
        { { CTT_FOLD_ALL }, 0 }, { { CTT_FOLD_ALL }, 8 },
    };
    struct ctt_recipe_calls none = { NULL };
    int64_t bytes = INT64_MAX;

    for (size_t i = 0; i < CTT_LEN(steps); i++) {
        struct ctt_recipe o = { .fold = steps[i].fold,
                                .round = { 8, steps[i].bias_bits } };
        struct ctt_model *m = small_model(small_net, 5);
        struct ctt_report *r = NULL;

        prune(m);
        CHECK_OK(ctt_recipe_run(&o, &none, clip_path("f.h5"), NULL, &m, &r));
        CU_ASSERT(r->stage[r->stages - 1].bytes < bytes);
        bytes = r->stage[r->stages - 1].bytes;
        ctt_report_free(&r);
        ctt_model_free(&m);
    }
}

/* Part of it, by option. */
static void test_what(void)
{
    static const struct { int what, norms, channels; } cases[] = {
        { CTT_FOLD_NORMS, 1, 0 }, { CTT_FOLD_DEAD, 0, 5 },
        { CTT_FOLD_ALL, 1, 5 }, { CTT_FOLD_AUTO, 1, 5 },
    };

    for (size_t i = 0; i < CTT_LEN(cases); i++) {
        struct ctt_model *m = small_model(small_net, 5), *to = NULL;
        struct ctt_report *r = NULL;
        struct ctt_folded done;

        zero_outputs(m, 1, 5);
        CHECK_OK(ctt_report_new(m, &r));
        CHECK_OK(ctt_fold_model(m, cases[i].what, r, &done, &to));
        CU_ASSERT_EQUAL(done.norms, cases[i].norms);
        CU_ASSERT_EQUAL(done.channels, cases[i].channels);
        small_compare(m, to, 4, 1e-5);
        ctt_report_free(&r);
        ctt_model_free(&m);
        ctt_model_free(&to);
    }
}

/* Shared weights stay shared: norms stay, or it is refused; channels may go. */
static void test_shared(void)
{
    struct ctt_recipe_calls none = { NULL };
    struct ctt_recipe o = { .fold = { CTT_FOLD_ALL } };
    struct ctt_model *m = small_model(small_net, 5), *to = NULL;
    struct ctt_report *r = NULL;
    struct ctt_folded done;
    const struct ctt_node *a = &m->g->node[1];
    int64_t last = a->at[0] + ctt_volume(&a->w[0]) - 1;

    zero_outputs(m, 1, 5);
    CHECK_OK(ctt_constraint_share(&m->constraint, m->g->weights));
    m->constraint.share[last] = m->constraint.share[last - 1] = 1;
    m->w[last] = m->w[last - 1];
    CU_ASSERT_EQUAL(ctt_recipe_run(&o, &none, clip_path("f.h5"), NULL, &m, &r),
                    CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "fold before sharing") != NULL);
    CHECK_OK(ctt_report_new(m, &r));
    CHECK_OK(ctt_fold_model(m, CTT_FOLD_AUTO, r, &done, &to));
    CU_ASSERT_EQUAL(done.norms, 0);
    CU_ASSERT_EQUAL(done.channels, 5);
    a = &to->g->node[1];
    CU_ASSERT_EQUAL(to->constraint.share[a->at[0] + ctt_volume(&a->w[0]) - 1],
                    1);
    small_compare(m, to, 4, 1e-5);
    ctt_report_free(&r);
    ctt_model_free(&m);
    ctt_model_free(&to);
}

static void test_alloc(void)
{
    struct ctt_model *m = small_model(small_net, 4), *to = NULL;
    struct ctt_report *r = NULL;
    struct ctt_folded done;
    int rc = CTT_ENOMEM;
    long live;

    zero_outputs(m, 1, 5);
    CHECK_OK(ctt_report_new(m, &r));
    live = ctt_live_blocks();
    for (long k = 1; rc < 0; k++) {
        ctt_fail_alloc(k);
        rc = ctt_fold_model(m, CTT_FOLD_ALL, r, &done, &to);
        ctt_fail_alloc(0);
        CU_ASSERT_FATAL(rc >= 0 || (rc == CTT_ENOMEM && !to));
        CU_ASSERT_FATAL(rc >= 0 || ctt_live_blocks() == live);
    }
    ctt_report_free(&r);
    ctt_model_free(&to);
    ctt_model_free(&m);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "streams", test_streams },
        { "recipe", test_recipe },
        { "bytes", test_bytes },
        { "parts", test_what },
        { "shared weights", test_shared },
        { "allocation", test_alloc },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "fold", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return stream_main(suites);
}
