/* SPDX-License-Identifier: Apache-2.0
 * test_doctor.c: the checks that find what ruins learning. */
#include "libtrain/before.h"
#include "libtrain/data/augment.h"
#include "tests/lib/allocs.h"
#include "tests/lib/made.h"
#include "tests/lib/told.h"

#include <math.h>

static struct ctt_data *train, *val;

static const struct ctt_finding *row(const struct ctt_findings *all,
                                     const char *check)
{
    for (int i = 0; i < all->count; i++)
        if (strcmp(all->row[i].check, check) == 0)
            return &all->row[i];
    return NULL;
}

/* A set, settings and a model of which one check should find one thing. */
struct ill {
    struct made  made;
    const char  *net, *was, *is;     /* the input line, changed */
    const char  *check, *found, *mends;
    int          deep;
    float        brightness, lr, big;
    int          jitter, same_val, no_val, flat_val;
};

#define USUAL { 60, 140, 6, 1, 20, 0, 1 }
#define WINDOW \
    "input x h=10 w=10 c=3 fps=12 mean=0.5 std=0.16 scale=1.2\n" \
    "conv e in=x out=8 kernel=3 stride=2 pad=1\n" \
    "clip\n" \
    "window v in=e steps=3\n" \
    "pool p in=v kind=avg\n" \
    "conv y in=p out=4\n"

static const char fine_net[] =
    "input x h=10 w=10 c=3 fps=12 mean=0.5 std=0.16 scale=1.2\n"
    "conv e in=x out=8 kernel=3 stride=2 pad=1\n"
    "norm n in=e kind=batch\n"
    "act f in=n kind=relu\n"
    "convlstm h in=f hidden=8 kernel=3\n"
    "pool p in=h kind=avg\n"
    "conv y in=p out=4\n";

static const struct ill ills[] = {
    { .made = USUAL, .was = "mean=0.5", .is = "mean=0.9", .check = "light",
      .found = "mean=0.9 std=0.16", .mends = "mean=auto std=auto" },
    { .made = USUAL, .was = "std=0.16", .is = "std=1.9", .check = "light",
      .found = "deviation 0.15", .mends = "mean=auto std=auto" },
    { .made = { 77, 1, 6, 1, 8, 0, 1 }, .check = "one colour",
      .found = "8 of 8 clips", .mends = "--data" },
    { .made = { 60, 140, 12, 4, 20, 0, 1 }, .check = "frames repeated",
      .found = "82% of the frames", .mends = "below fps=12" },
    { .made = { 60, 140, 12, 1, 20, 0, 1 }, .net = WINDOW, .check = "length",
      .found = "the last 3 (0.25 s)", .mends = "larger steps= or every=" },
    { .made = USUAL, .net = WINDOW, .was = "steps=3",
      .is = "steps=3 every=10", .check = "length", .found = "the last 21",
      .mends = "smaller steps= or every=" },
    { .made = USUAL, .net = WINDOW, .was = "steps=3",
      .is = "steps=3 every=3", .check = "length",
      .found = "the last 7 (0.58 s)", .mends = "fill=first or spread=1" },
    { .made = { 60, 140, 6, 1, 20, 20, 1 }, .check = "classes",
      .found = "of one class", .mends = "other classes" },
    { .made = { 10, 20, 6, 1, 20, 0, 1, 10 }, .check = "light of clips",
      .found = "standard deviation 0.23 from clip to clip, of the brightness "
      "of whole clips, and 0.023 inside a clip",
      .mends = "normalise=clip" },
    { .made = { 60, 140, 6, 1, 40, 2, 1 }, .check = "classes",
      .found = "4 classes with 2 to 13 clips", .mends = "--classes" },
    { .made = USUAL, .check = "classes", .deep = 1,
      .found = "5 to 5 clips; always naming the most frequent is right for "
      "25%; few: ", .mends = "more clips of these classes" },
    { .made = { 60, 140, 6, 1, 383, 20, 1 }, .check = "classes", .deep = 1,
      .found = " 20", .mends = "--sampler balanced" },
    { .made = USUAL, .check = "in both parts", .same_val = 1, .deep = 1,
      .found = "20 of 20", .mends = "--val" },
    { .made = USUAL, .check = "in both parts", .no_val = 1, .deep = 1,
      .found = "no clips", .mends = "--val-split" },
    { .made = USUAL, .check = "clips twice", .flat_val = 1, .deep = 1,
      .found = " with another class", .mends = "--strict names them: clip" },
    { .made = USUAL, .was = "scale=1.2", .is = "scale=1", .jitter = 1,
      .check = "room to move", .found = "0 x 0", .mends = "scale=" },
    { .made = USUAL, .check = "augmentation", .brightness = 8, .deep = 1,
      .found = "on 16 clips", .mends = "--brightness" },
    { .made = USUAL, .check = "first loss", .big = 300, .deep = 1,
      .found = "has 1.386", .mends = "a norm line" },
    { .made = USUAL, .check = "one batch", .lr = 1e-9f, .deep = 1,
      .found = "60 steps on the same 4 clips", .mends = "--lr" },
};

/* The text of a net with a word changed. */
static const char *changed(const struct ill *s)
{
    static char text[1024];
    const char *net = s->net ? s->net : fine_net, *at;

    snprintf(text, sizeof(text), "%s", net);
    if (!s->was)
        return text;
    at = strstr(net, s->was);
    CU_ASSERT_FATAL(at != NULL);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - net), net, s->is,
             at + strlen(s->was));
    return text;
}

static void diagnose(const struct ill *s, struct ctt_findings *all)
{
    const struct made other = { 60, s->flat_val ? 1 : 140, 6, 1, 8, 0, 2 };
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_data *d, *v = NULL;
    struct ctt_model *m = NULL;
    struct ctt_input in;
    float *answer;

    ctt_augment_none(&cfg);
    cfg.brightness = s->brightness;
    cfg.jitter = s->jitter;
    cfg.lr = s->lr > 0 ? s->lr : 0.01f;
    CHECK_OK(clip_model(changed(s), 3, &m));
    answer = m->w + m->g->node[ctt_graph_output(m->g)].at[0];
    for (int i = 0; s->big > 0 && i < 8 * 4; i++)
        answer[i] *= s->big;
    in = m->g->node[ctt_graph_input(m->g)].attr.input;
    in.scale = 1.2f;
    d = made_open(made_pack("ill.pack", &s->made), &in, &cfg);
    if (in.scale != m->g->node[0].attr.input.scale) {    /* a pack of its own */
        d->stored_w = d->stored_h = 10;
        d->in.scale = 1;
    }
    if (!s->no_val)
        v = made_open(s->same_val ? clip_path("ill.pack") :
                    made_pack("other.pack", &other), &in, &cfg);
    CHECK_OK(ctt_doctor(m, &cfg, d, v, s->deep, all));
    ctt_data_close(&v);
    ctt_data_close(&d);
    ctt_model_free(&m);
}

static void each_ill_is_found(void)
{
    for (size_t i = 0; i < CTT_LEN(ills); i++) {
        const struct ill *s = &ills[i];
        const struct ctt_finding *f;
        struct ctt_findings all;

        diagnose(s, &all);
        f = row(&all, s->check);
        CU_ASSERT_FATAL(f != NULL);
        if (!strstr(f->found, s->found) || !strstr(f->mends, s->mends)) {
            printf("\n%s: found: %s; mends: %s\n", s->check, f->found,
                   f->mends);
            CU_FAIL("not found as it is");
        }
        CU_ASSERT(all.wrong >= 1);
    }
}

static void a_healthy_set_is_fine(void)
{
    const struct ill none = { .made = { 60, 140, 6, 1, 80, 0, 1 }, .deep = 1,
                              .brightness = 0.6f, .jitter = 1 };
    struct ctt_findings all;

    diagnose(&none, &all);
    CU_ASSERT_EQUAL(all.count, 18);
    CU_ASSERT(strstr(row(&all, "changes")->found, "brightness=0.6 jitter") !=
              NULL);
    for (int i = 0; i < all.count; i++)
        if (all.row[i].mends[0])
            printf("\n%s: %s: %s\n", all.row[i].check, all.row[i].found,
                   all.row[i].mends);
    CU_ASSERT_EQUAL(all.wrong, 0);
    CU_ASSERT(strstr(row(&all, "length")->found, "all before it") != NULL);
    CU_ASSERT(row(&all, "clips twice") && row(&all, "frame rate"));
    CU_ASSERT(strstr(row(&all, "frame rate")->found, "clips are read at the "
                     "12 frames") != NULL);    /* a pack names no other rate */
}

/* Only the doctor minds classes that are small, or five times smaller. */
static void a_start_bears_small_classes(void)
{
    static const struct ill small[] = {
        { .made = USUAL }, { .made = { 60, 140, 6, 1, 383, 20, 1 } } };

    for (size_t i = 0; i < CTT_LEN(small); i++) {
        struct ctt_findings all;

        diagnose(&small[i], &all);
        CU_ASSERT_EQUAL(row(&all, "classes")->mends[0], 0);
    }
}

static void a_window_of_all_is_fine(void)
{
    const struct ill none = { .made = { 60, 140, 12, 1, 20, 0, 1 },
                              .net = WINDOW, .was = "steps=3",
                              .is = "steps=3 spread=1" };
    struct ctt_findings all;

    diagnose(&none, &all);
    CU_ASSERT(strstr(row(&all, "length")->found, "all before it") != NULL);
    CU_ASSERT_EQUAL(row(&all, "length")->mends[0], 0);
}

/* Beside the rate of the input line stand those of the files, where they are
 * known. */
static void the_rates_of_files_are_named(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_model *m = NULL;
    const struct ctt_finding *f;
    struct ctt_findings all;

    clips_open(&cfg, &train, &val);
    CHECK_OK(clip_model(clip_net, 3, &m));
    train->tally.file_least = 23.976f;
    for (int k = 0; k < 2; k++) {
        train->tally.file_most = k ? 30 : 23.976f;
        CHECK_OK(ctt_doctor(m, &cfg, train, val, 0, &all));
        f = row(&all, "frame rate");
        CU_ASSERT_FATAL(f != NULL);
        CU_ASSERT(strstr(f->found, k ? "clips of 23.98 to 30 frames per second "
                         "are read at the 12 " :
                         "clips of 23.98 frames per second are") != NULL);
    }
    train->tally.file_least = train->tally.file_most = 0;
    ctt_model_free(&m);
}

/* The first steps leave model, settings and clips as they are. */
static void nothing_is_changed(void)
{
    struct ctt_train_cfg cfg = clip_cfg(), was;
    struct ctt_model *m = NULL, *copy = NULL;
    struct ctt_findings all[2];

    cfg.shards = 2;
    cfg.squeeze = "bf16";
    was = cfg;
    clips_open(&cfg, &train, &val);
    CHECK_OK(clip_model(clip_net, 3, &m));
    CHECK_OK(ctt_model_copy(m, &copy));
    memset(all, 0, sizeof(all));
    for (int k = 0; k < 2; k++)
        CHECK_OK(ctt_doctor(m, &cfg, train, val, 1, &all[k]));
    CU_ASSERT(memcmp(&all[0], &all[1], sizeof(all[0])) == 0);
    CU_ASSERT(memcmp(&cfg, &was, sizeof(cfg)) == 0);
    CU_ASSERT(memcmp(m->w, copy->w, (size_t)m->g->weights *
                     sizeof(float)) == 0);
    CU_ASSERT_EQUAL(ctt_data_clips(train), 22);
    ctt_model_free(&copy);
    ctt_model_free(&m);
}

/* Without a change both looks are the same; a frame is that of the clip.  Mixed
 * clips are seen, but do not count. */
static void clips_look_as_they_are(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_clip_look look[2];
    static uint8_t unmixed[16 * 300];
    uint8_t frame[MADE_FRAME];

    cfg.augment = CTT_AUGMENT_OFF;
    clips_open(&cfg, &train, &val);
    CHECK_OK(ctt_clip_looks(train, &cfg, look));
    CU_ASSERT_EQUAL(look[0].clips, CTT_CLIP_LOOKS);
    CU_ASSERT(memcmp(look[0].frame, look[1].frame, 16 * 300) == 0);
    for (int i = 0; i < 22; i++) {    /* the shortest comes first */
        if (clip_length(i) > CLIP_SHORTEST)
            continue;
        clip_draw(i, CLIP_SHORTEST / 2, frame);
        if (memcmp(look[0].frame, frame + (MADE_SIDE + 1) * 3, 30) == 0)
            break;
        CU_ASSERT(i < 21);
    }
    ctt_clip_looks_free(look);
    cfg.contrast = 0.5f;
    CHECK_OK(ctt_clip_looks(train, &cfg, look));
    CU_ASSERT(memcmp(look[0].frame, look[1].frame, 16 * 300) != 0);
    for (int k = 0; k < 16; k++)
        CU_ASSERT_DOUBLE_EQUAL(look[0].mean[k], look[1].mean[k], 1e-5);
    memcpy(unmixed, look[1].frame, sizeof(unmixed));
    ctt_clip_looks_free(look);
    cfg.mixup = 1;
    CHECK_OK(ctt_clip_looks(train, &cfg, look));
    CU_ASSERT(memcmp(look[1].frame, unmixed, sizeof(unmixed)) != 0);
    for (int k = 0; k < 16; k++)
        CU_ASSERT_DOUBLE_EQUAL(look[0].mean[k], look[1].mean[k], 1e-5);
    ctt_clip_looks_free(look);
}

static int examine(void *arg)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_clip_look look[2];
    struct ctt_findings all;
    int rc;

    CTT_TRY(ctt_doctor(arg, &cfg, train, val, 0, &all));
    rc = ctt_clip_looks(train, &cfg, look);
    if (rc >= 0)
        ctt_clip_looks_free(look);
out:
    return rc;
}

static void allocations_fail(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_model *m = NULL;

    clips_open(&cfg, &train, &val);
    CHECK_OK(clip_model(clip_net, 3, &m));
    fail_allocs(examine, m, 10);
    ctt_model_free(&m);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "each ill is found", each_ill_is_found },
        { "a healthy set is fine", a_healthy_set_is_fine },
        { "small classes", a_start_bears_small_classes },
        { "a window of all is fine", a_window_of_all_is_fine },
        { "the rates of files are named", the_rates_of_files_are_named },
        { "nothing is changed", nothing_is_changed },
        { "clips look as they are", clips_look_as_they_are },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "doctor", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (clips_dir() < 0)
        return 99;
    rc = ctt_check_main(suites);
    ctt_data_close(&train);
    ctt_data_close(&val);
    clips_clean();
    return rc;
}
