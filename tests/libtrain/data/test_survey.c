/* SPDX-License-Identifier: Apache-2.0
 * test_survey.c: what a set looks like, and mean=auto and std=auto. */
#include "tests/lib/made.h"
#include "tests/lib/told.h"

#include <math.h>

/* ---- the survey ---- */

static void a_survey_counts_what_a_model_sees(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in = clip_input();
    struct ctt_survey s[2];
    double sum = 0, squares = 0, n = 0;
    const char *path = made_pack("usual.pack", &made_usual);
    static uint8_t p[MADE_FRAME];

    for (int k = 0; k < 2; k++) {
        struct ctt_data *d;
        cfg.workers = k ? 5 : 1;
        cfg.cache = k ? 0 : 64;
        d = made_open(path, &in, &cfg);
        memset(&s[k], 0, sizeof(s[k]));
        CHECK_OK(ctt_data_survey(d, &s[k]));
        ctt_data_close(&d);
    }
    CU_ASSERT(memcmp(&s[0], &s[1], sizeof(s[0])) == 0);
    for (int i = 0; i < made_usual.clips; i++)
        for (int t = 0; t < made_usual.frames; t++) {
            made_fill(&made_usual, i, t, p);
            for (int y = 1; y < 11; y++)
                for (int x = 1; x < 11; x++, n++) {
                    double v = p[(y * MADE_SIDE + x) * 3 + 1] / 255.0;
                    sum += v;
                    squares += v * v;
                }
        }
    CU_ASSERT_DOUBLE_EQUAL(s[0].mean[1], sum / n, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(s[0].dev[1], sqrt(squares / n - sum / n * sum / n),
                           1e-9);
    CU_ASSERT(s[0].channels == 3 && s[0].clips == 20 && s[0].flat == 0);
    CU_ASSERT(s[0].black == 0 && s[0].white == 0 && s[0].still == 0);
    CU_ASSERT(s[0].shortest == 6 && s[0].median == 6 && s[0].longest == 6);
    CU_ASSERT(s[0].fps_least == 12 && s[0].fps_most == 12);
}

/* ---- mean=auto std=auto ---- */

static const char auto_net[] =
    "input x h=10 w=10 c=3 fps=12 mean=auto std=auto scale=1.2\n"
    "conv e in=x out=8 kernel=3 stride=2 pad=1\n"
    "norm n in=e kind=batch\n"
    "act f in=n kind=relu\n"
    "pool p in=f kind=avg\n"
    "conv y in=p out=4\n";

static struct ctt_graph *parsed(const char *text, struct ctt_input *in)
{
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    *in = g->node[ctt_graph_input(g)].attr.input;
    return g;
}

static void auto_becomes_numbers(void)
{
    const struct ctt_events ev = { .warn = on_clip };
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in, *now;
    struct ctt_graph *g = parsed(auto_net, &in);
    struct ctt_data *d = made_open(made_pack("usual.pack", &made_usual), &in,
                                   &cfg);
    struct ctt_model *m = NULL;
    struct ctt_survey s;
    char *text = ctt_net_print(g);

    CU_ASSERT(strstr(text, "mean=auto std=auto") != NULL);
    ctt_free(text);
    CU_ASSERT_EQUAL(ctt_graph_light_known(g), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_data_check(d, g), CTT_EINVAL);
    told = 0;
    CHECK_OK(ctt_data_survey(d, &s));
    CHECK_OK(ctt_data_measure(d, g, &ev));
    now = &g->node[ctt_graph_input(g)].attr.input;
    for (int c = 0; c < 3; c++) {
        CU_ASSERT_DOUBLE_EQUAL((double)now->mean[c], s.mean[c], 1e-4);
        CU_ASSERT_DOUBLE_EQUAL((double)now->std[c], s.dev[c], 1e-4);
        CU_ASSERT(d->in.mean[c] == now->mean[c] && d->in.std[c] == now->std[c]);
    }
    CU_ASSERT(told == 0);
    CHECK_OK(ctt_model_new(g, &m));
    CHECK_OK(ctt_model_save(clip_path("auto.h5"), m));
    ctt_model_free(&m);
    CHECK_OK(ctt_model_load(clip_path("auto.h5"), 0, &m));
    CU_ASSERT(m->g->node[0].attr.input.mean[1] == d->in.mean[1]);
    ctt_model_free(&m);
    ctt_data_close(&d);
}

/* Nothing can be divided by the deviation of clips that are all gray. */
static void constant_clips_have_std_one(void)
{
    const struct made gray = { 115, 1, 6, 1, 8, 0, 1 };
    const struct ctt_events ev = { .warn = on_clip };
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in;
    struct ctt_graph *g = parsed(auto_net, &in);
    struct ctt_data *d = made_open(made_pack("gray.pack", &gray), &in, &cfg);

    told = 0;
    CHECK_OK(ctt_data_measure(d, g, &ev));
    CU_ASSERT(d->in.std[0] == 1 && d->in.std[2] == 1);
    CU_ASSERT_DOUBLE_EQUAL((double)d->in.mean[0], 115 / 255.0, 1e-4);
    CU_ASSERT(told == 1 && strstr(last_told, "std=auto") != NULL);
    ctt_graph_free(&g);
    ctt_data_close(&d);
}

/* A model that is not measured is neither written nor trained. */
static void auto_is_no_model(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in;
    struct ctt_graph *g = parsed(auto_net, &in);
    struct ctt_data *d = made_open(made_pack("usual.pack", &made_usual), &in,
                                   &cfg);
    struct ctt_model *m = NULL;
    struct ctt_result r;

    CHECK_OK(ctt_model_new(g, &m));
    CHECK_OK(ctt_model_labels(m, (char *const *)clip_labels, CLIP_CLASSES));
    CU_ASSERT_EQUAL(ctt_model_save(clip_path("no.h5"), m), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "x: mean=auto") != NULL);
    CU_ASSERT(access(clip_path("no.h5"), F_OK) != 0);
    CU_ASSERT_EQUAL(ctt_train(m, &cfg, d, NULL, NULL, &r), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "x: mean=auto") != NULL);
    ctt_model_free(&m);
    ctt_data_close(&d);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "a survey counts what a model sees",
          a_survey_counts_what_a_model_sees },
        { "auto becomes numbers", auto_becomes_numbers },
        { "constant clips have std one", constant_clips_have_std_one },
        { "auto is no model", auto_is_no_model },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "survey", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (clips_dir() < 0)
        return 99;
    rc = ctt_check_main(suites);
    clips_clean();
    return rc;
}
