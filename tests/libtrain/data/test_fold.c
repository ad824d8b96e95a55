/* SPDX-License-Identifier: Apache-2.0
 * test_fold.c: the parts of a set for cross-validation. */
#include "libtrain/data/fold.h"
#include "base/random.h"
#include "tests/lib/toy_run.h"

enum { MOST = 400, LABELS = 3 };

/* A set of names, classes and checksums, without frames. */
struct fake {
    struct ctt_data d;
    struct ctt_list list;
    struct ctt_item item[MOST];
    struct ctt_clip clip[MOST];
    char            id[MOST][64];
    int             fold[MOST];
};

static void add(struct fake *f, int label, uint64_t sum, const char *id)
{
    int i = f->d.clips++;

    CU_ASSERT_FATAL(i < MOST);
    snprintf(f->id[i], sizeof(f->id[i]), "%s", id);
    f->item[i] = (struct ctt_item){ .id = f->id[i], .label = label };
    f->clip[i] = (struct ctt_clip){ .item = i, .label = label, .length = 5,
                                    .sum = sum };
    f->list = (struct ctt_list){ .item = f->item, .count = i + 1,
                                 .labels = LABELS };
    f->d.list = &f->list;
    f->d.clip = f->clip;
}

static void clear(struct fake *f)
{
    memset(f, 0, sizeof(*f));
}

static int label_of(int i)
{
    return i % 5 == 0 ? 2 : i % 2;
}

/* Each fold has every class equally often, give or take one clip, and so has
 * the size of the folds. */
static void folds_are_stratified(void)
{
    static struct fake f;

    for (int folds = 2; folds <= 10; folds += 4)
        for (int clips = folds; clips < 100; clips += 13) {
            int of[10][LABELS] = { { 0 } }, all[LABELS] = { 0 };

            clear(&f);
            for (int i = 0; i < clips; i++) {
                char id[32];
                snprintf(id, sizeof(id), "clip%d.avi", i);
                add(&f, label_of(i), (uint64_t)i + 1, id);
            }
            CHECK_OK(ctt_folds_make(&f.d, folds, 7, f.fold));
            for (int i = 0; i < clips; i++) {
                CU_ASSERT_FATAL(f.fold[i] >= 0 && f.fold[i] < folds);
                of[f.fold[i]][label_of(i)]++;
                all[label_of(i)]++;
            }
            for (int k = 0; k < folds; k++) {
                CU_ASSERT(of[k][0] + of[k][1] + of[k][2] > 0);
                for (int c = 0; c < LABELS; c++)
                    CU_ASSERT(of[k][c] == all[c] / folds ||
                              of[k][c] == all[c] / folds + 1);
            }
        }
}

/* Clips with the same frames, of one person and of one video stay together,
 * also if only a chain of them says so. */
static void groups_stay_together(void)
{
    static struct fake f;
    int used[4] = { 0 };

    clear(&f);
    for (int i = 0; i < 200; i++) {
        char id[64];
        if (i % 2)
            snprintf(id, sizeof(id), "person%02d_boxing_d%d.avi", i % 25, i);
        else
            snprintf(id, sizeof(id), "v_Jump%d_g%02d_c%02d.avi", i % 3, i % 7,
                     i);
        add(&f, i % 3, (uint64_t)(i + 1), id);
    }
    f.clip[3].sum = f.clip[4].sum = 999;    /* person03 and Jump1_g04 */
    CHECK_OK(ctt_folds_make(&f.d, 4, 3, f.fold));
    for (int i = 0; i < 200; i++) {
        used[f.fold[i]]++;
        for (int j = 0; j < i; j++)
            if (ctt_name_group(f.id[i]) == ctt_name_group(f.id[j]))
                CU_ASSERT_EQUAL(f.fold[i], f.fold[j]);
    }
    CU_ASSERT_EQUAL(f.fold[3], f.fold[4]);
    for (int k = 0; k < 4; k++)
        CU_ASSERT(used[k] > 30);
}

static void names_of_groups(void)
{
    static const struct { const char *a, *b; int same; } pairs[] = {
        { "person01_boxing_d1.avi", "person01_running_d3.avi", 1 },
        { "person01_boxing_d1.avi", "person11_boxing_d1.avi", 0 },
        { "v_Jump_g08_c01.avi", "v_Jump_g08_c02.avi", 1 },
        { "v_Jump_g08_c01.avi", "v_Jump_g09_c01.avi", 0 },
        { "v_Jump_g08_c01.avi", "v_Swim_g08_c01.avi", 0 },
        { "a.mp4#t=0,2", "a.mp4#t=2,4", 1 }, { "a.mp4#0+9", "b.mp4#0+9", 0 },
    };
    static const char *const alone[] = { "clip1.avi", "my_good_clip.mp4",
        "a_g08.avi", "personal.mp4", "train-images-idx3-ubyte#7", "" };

    for (size_t i = 0; i < CTT_LEN(pairs); i++) {
        uint64_t a = ctt_name_group(pairs[i].a);
        CU_ASSERT(a != 0);
        CU_ASSERT_EQUAL(a == ctt_name_group(pairs[i].b), pairs[i].same);
    }
    for (size_t i = 0; i < CTT_LEN(alone); i++)
        CU_ASSERT_EQUAL(ctt_name_group(alone[i]), 0);
}

static void seed_decides(void)
{
    static struct fake f;
    int first[MOST];

    clear(&f);
    for (int i = 0; i < 60; i++)
        add(&f, i % 3, 0, "x");
    CHECK_OK(ctt_folds_make(&f.d, 5, 1, f.fold));
    memcpy(first, f.fold, sizeof(first));
    CHECK_OK(ctt_folds_make(&f.d, 5, 1, f.fold));
    CU_ASSERT(memcmp(first, f.fold, sizeof(first)) == 0);
    CHECK_OK(ctt_folds_make(&f.d, 5, 2, f.fold));
    CU_ASSERT(memcmp(first, f.fold, sizeof(first)) != 0);
}

/* Clips without a group are cut into runs of their class in the list; the same
 * frames have one run. */
static void neighbours_are_groups(void)
{
    static struct fake f;
    int group[MOST];

    clear(&f);
    for (int i = 0; i < 60; i++) {
        char id[32];

        snprintf(id, sizeof(id), "clip%d.avi", i);
        add(&f, i < 20 ? 0 : 2, i == 59 ? 1 : (uint64_t)i + 1, id);
    }
    CU_ASSERT_EQUAL(ctt_groups_find(&f.d, group), 0);
    for (int i = 0; i < 59; i++)
        CU_ASSERT_EQUAL(group[i], i < 20 ? i / 2 : (i - 20) / 4);
    CU_ASSERT_EQUAL(group[59], group[0]);
    clear(&f);
    for (int i = 0; i < 30; i++) {
        char id[32];

        snprintf(id, sizeof(id), "v_Dive_g%02d_c%02d.avi", i % 7, i);
        add(&f, i % 2, (uint64_t)i + 1, id);
    }
    CU_ASSERT_EQUAL(ctt_groups_find(&f.d, group), 7);
    for (int i = 7; i < 30; i++)
        CU_ASSERT_EQUAL(group[i], group[i - 7]);
}

static void too_few_are_refused(void)
{
    static struct fake f;

    clear(&f);
    for (int i = 0; i < 9; i++)
        add(&f, 0, (uint64_t)(i / 3 + 1), "x");
    CHECK_OK(ctt_folds_make(&f.d, 3, 1, f.fold));
    ctt_check_refused(ctt_folds_make(&f.d, 4, 1, f.fold), CTT_EINVAL,
                      "--folds=4: the 9 clips are 3 groups");
}

/* What a set of clips becomes: each is in one fold to validate on and in all
 * others to train on, and both can be trained with. */
static void parts_are_sets(void)
{
    struct ctt_train_cfg cfg = short_run();
    int all = ctt_data_clips(toy), sum = 0;

    cfg.folds = 3;
    for (int k = 0; k < 3; k++) {
        struct ctt_data *train = NULL, *val = NULL;
        struct ctt_model *m = NULL;
        const char *a, *b;
        struct ctt_result r;

        CHECK_OK(ctt_fold_open(toy, &cfg, k, &train, &val));
        CU_ASSERT_EQUAL(ctt_data_clips(train) + ctt_data_clips(val), all);
        CU_ASSERT_EQUAL(ctt_data_shared(train, val, &a, &b), 0);
        sum += ctt_data_clips(val);
        CHECK_OK(clip_model(clip_net_end, 1, &m));
        CHECK_OK(ctt_train(m, &cfg, train, val, NULL, &r));
        CU_ASSERT(r.steps > 0 && r.best_epoch > 0);
        ctt_model_free(&m);
        ctt_fold_close(&train);
        ctt_fold_close(&val);
    }
    CU_ASSERT_EQUAL(sum, all);
}

static void what_has_no_effect_is_refused(void)
{
    struct ctt_train_cfg cfg = clip_cfg();

    cfg.data = "x";
    cfg.folds = 1;
    ctt_check_refused(ctt_train_check(&cfg), CTT_EINVAL, "--folds=1");
    cfg.folds = 2;
    CHECK_OK(ctt_train_check(&cfg));
    cfg.val = "y";
    ctt_check_refused(ctt_train_check(&cfg), CTT_EINVAL, "--val has no effect");
    cfg.val = NULL;
    cfg.val_split = "test";
    ctt_check_refused(ctt_train_check(&cfg), CTT_EINVAL,
                      "--val-split has no effect");
    cfg.val_split = "validation";
    cfg.time_limit = 1;
    ctt_check_refused(ctt_train_check(&cfg), CTT_EINVAL, "--time-limit");
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "stratified", folds_are_stratified },
        { "groups stay together", groups_stay_together },
        { "names of groups", names_of_groups },
        { "the seed decides", seed_decides },
        { "neighbours are groups", neighbours_are_groups },
        { "too few", too_few_are_refused },
        { "parts are sets", parts_are_sets },
        { "no effect", what_has_no_effect_is_refused },
        CU_TEST_INFO_NULL
    };

    return clips_main("fold", toy_clean, tests);
}
