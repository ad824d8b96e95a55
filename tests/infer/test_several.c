/* SPDX-License-Identifier: Apache-2.0
 * test_several.c: models whose clips have several labels: the line of their
 * text, their probabilities, thresholds of classes in the file, and events that
 * go on at once. */
#include "infer/infer.h"
#include "net/file/thresholds.h"
#include "net/file/file.h"
#include "net/rewrite/edit.h"
#include "tests/lib/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = 3 };

static const char text[] = "input x h=1 w=1 c=1 colour=gray\nconv y in=x out=3"
                           "\nseveral\n";
static const float bias[CLASSES] = { 2, 0, -3 };
static const char path[] = "several.h5";

static struct ctt_model *model(const char *net)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(net, &g));
    CHECK_OK(ctt_model_new(g, &m));
    memcpy(m->w + g->node[1].at[1], bias, sizeof(bias));
    return m;
}

static void save(struct ctt_model *m)
{
    CHECK_OK(ctt_model_save(path, m));
    ctt_model_free(&m);
}

static void test_text(void)
{
    static const struct { const char *net, *says; } bad[] = {
        { "input x c=1\nseveral\nconv y in=x out=2\n",
          "'several' stands last" },
        { "input x c=1\nconv y in=x out=2\nseveral\nseveral\n",
          "'several' stands last" },
        { "input x c=1\nconv y in=x out=2\nseveral z\n", "unknown operation" },
    };
    struct ctt_graph *g = NULL, *edited = NULL;
    struct ctt_edit *e = NULL;
    struct ctt_model *m = model(text), *copy = NULL;
    char *again = ctt_net_print(m->g);

    CU_ASSERT(m->g->several && strstr(again, "\nseveral\n") != NULL);
    CHECK_OK(ctt_model_copy(m, &copy));
    CU_ASSERT(copy->g->several);
    CHECK_OK(ctt_edit_begin(m->g, &e));
    CHECK_OK(ctt_edit_add(e, m->g->count, "act z in=y kind=relu"));
    CHECK_OK(ctt_edit_graph(e, &edited));
    CU_ASSERT(edited->several && edited->count == 3);
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        CU_ASSERT_EQUAL(ctt_net_parse(bad[i].net, &g), CTT_EFORMAT);
        CU_ASSERT(strstr(ctt_errmsg(), bad[i].says) != NULL);
    }
    ctt_graph_free(&edited);
    ctt_edit_free(&e);
    ctt_model_free(&copy);
    ctt_model_free(&m);
    ctt_free(again);
}

static void test_probabilities(void)
{
    static const uint8_t frame = 0;
    const uint8_t *frames[1] = { &frame };
    struct ctt_session *s = NULL;
    struct ctt_batch *b = NULL;
    struct ctt_infer *m = NULL;
    float p[CLASSES], q[CLASSES], *to[1] = { q };
    int stream;

    save(model(text));
    CHECK_OK(ctt_infer_open(path, "ref", 1, &m));
    CU_ASSERT(ctt_infer_several(m) && !ctt_infer_predicts(m));
    CHECK_OK(ctt_session_open(m, &s));
    CHECK_OK(ctt_session_push(s, &frame, 1));
    CHECK_OK(ctt_session_read(s, p));
    for (int i = 0; i < CLASSES; i++) {
        CU_ASSERT_DOUBLE_EQUAL(p[i], 1 / (1 + exp(-(double)bias[i])), 1e-6);
        CU_ASSERT_EQUAL(ctt_infer_threshold(m, i), 0.5f);
    }
    CU_ASSERT_EQUAL(ctt_infer_threshold(m, CLASSES), 0);
    CHECK_OK(ctt_batch_open(m, 1, &b));
    CHECK_OK(ctt_batch_join(b, &stream));
    CHECK_OK(ctt_batch_push(b, frames));
    CHECK_OK(ctt_batch_read(b, to));
    CU_ASSERT(memcmp(p, q, sizeof(p)) == 0);
    CU_ASSERT_EQUAL(ctt_infer_decide(m), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_infer_error(), "no single answer to decide for") !=
              NULL);
    ctt_batch_close(&b);
    ctt_session_close(&s);
    ctt_infer_close(&m);
    save(model("input x h=1 w=1 c=1 colour=gray\nconv y in=x out=3\n"));
    CHECK_OK(ctt_infer_open(path, "ref", 1, &m));
    CU_ASSERT(!ctt_infer_several(m) && ctt_infer_threshold(m, 0) == 0);
    ctt_infer_close(&m);
    CU_ASSERT(!ctt_infer_several(NULL) && ctt_infer_threshold(NULL, 0) == 0);
}

static struct ctt_thresholds some(const struct ctt_model *m)
{
    struct ctt_thresholds t = { .clips = 7, .classes = CLASSES,
                                .of = { 0.25f, 0.1f, 1 } };

    CHECK_OK(ctt_thresholds_sign(m, &t));
    return t;
}

/* Thresholds of another model are not used, and not written. */
static void test_thresholds(void)
{
    struct ctt_infer *i = NULL;
    struct ctt_model *m = model(text);
    struct ctt_thresholds t = some(m);

    CHECK_OK(ctt_thresholds_print(&t, &m->decision));
    CHECK_OK(ctt_model_save(path, m));
    CHECK_OK(ctt_infer_open(path, "ref", 1, &i));
    for (int k = 0; k < CLASSES; k++)
        CU_ASSERT_EQUAL(ctt_infer_threshold(i, k), t.of[k]);
    ctt_infer_close(&i);
    m->w[m->g->node[1].at[1]] = 5;
    save(m);
    CHECK_OK(ctt_infer_open(path, "ref", 1, &i));
    CU_ASSERT_EQUAL(ctt_infer_threshold(i, 0), 0.5f);
    ctt_infer_close(&i);
}

static void test_bad_thresholds(void)
{
    static const char *const bad[] = { "", "thresholds 2\n",
        "thresholds 1\nclips 0\nmodel 32 00000000\nclasses 1\n0.5\n",
        "thresholds 1\nclips 1\nmodel 32 00000000\nclasses 0\n",
        "thresholds 1\nclips 1\nmodel 32 00000000\nclasses 1001\n0.5\n",
        "thresholds 1\nclips 1\nmodel 32 00000000\nclasses 2\n0.5\n",
        "thresholds 1\nclips 1\nmodel 32 00000000\nclasses 1\n1.5\n",
        "thresholds 1\nclips 1\nmodel 32 00000000\nclasses 1\nnan\n",
        "thresholds 1\nclips 1\nmodel 32 00000000\nclasses 1\n0.50\n",
        "thresholds 1\nclips 1\nmodel 32 00000000\nclasses 1\n0.5\n1\n" };
    struct ctt_thresholds t;

    CHECK_OK(ctt_thresholds_parse("thresholds 1\nclips 1\nmodel 32 00000000\n"
                                  "classes 1\n0.5\n", &t));
    for (size_t i = 0; i < CTT_LEN(bad); i++)
        CU_ASSERT_EQUAL(ctt_thresholds_parse(bad[i], &t), CTT_EFORMAT);
}

/* Two classes at once, each by its own threshold. */
static void test_events(void)
{
    static const float enters[2] = { 0.8f, 0.2f };
    static const float p[][2] = { { 0.7f, 0.1f }, { 0.9f, 0.3f },
                                  { 0.9f, 0.17f }, { 0.6f, 0.17f },
                                  { 0.6f, 0.1f } };
    static const char *const is[] = { "", "b0b1", "", "e0", "e1" };
    struct ctt_events_set set = { .classes = 2, .background = -1, .enter = 0.5,
        .leave = 0.4, .enters = enters };
    const float zero[2] = { 0, 0.5f };
    struct ctt_events *e = NULL;
    struct ctt_event now;

    CHECK_OK(ctt_events_open(&set, &e));
    for (size_t i = 0; i < CTT_LEN(p); i++) {
        char got[32] = "";

        CHECK_OK(ctt_events_push(e, (double)i, p[i]));
        while (ctt_events_next(e, &now) == 1)
            snprintf(got + strlen(got), sizeof(got) - strlen(got), "%c%d",
                     now.kind == CTT_EVENT_BEGIN ? 'b' : 'e', now.label);
        CU_ASSERT_STRING_EQUAL(got, is[i]);
    }
    ctt_events_close(&e);
    set.enters = zero;
    CU_ASSERT_EQUAL(ctt_events_open(&set, &e), CTT_EINVAL);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "text", test_text }, { "probabilities", test_probabilities },
        { "thresholds", test_thresholds },
        { "bad thresholds", test_bad_thresholds },
        { "events", test_events }, CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "several labels", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    unlink(path);
    return rc;
}
