/* SPDX-License-Identifier: Apache-2.0
 * test_synth.c: the made clips: the same seed gives the same pixels, each
 * split has its share of each class, and what is on disk reads back. */
#include "tests/lib/check.h"
#include "video/synth/synth.h"
#include "video/synth/synth_draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/ctt-synth-XXXXXX";
static int calls;

static void count_call(void *arg, int i, int n)
{
    CU_ASSERT(i == *(int *)arg && n == 36);
    ++*(int *)arg;
    calls++;
}

/* A number that differs when any byte does. */
static uint64_t digest(const struct ctt_frames *f)
{
    uint64_t h = 14695981039346656037u;
    size_t n = (size_t)f->count * f->h * f->w * f->c;

    for (size_t i = 0; i < n; i++)
        h = (h ^ f->data[i]) * 1099511628211u;
    return h;
}

static uint64_t clip_digest(struct ctt_synth s, int i)
{
    struct ctt_frames f = { 0 };
    uint64_t h;
    int label;

    CHECK_OK(ctt_synth_clip(&s, i, &f, &label));
    CU_ASSERT(f.count >= 24 && f.count <= 60 && f.fps == 12);
    CU_ASSERT(f.h == s.size && f.w == s.size && f.c == 3);
    CU_ASSERT(label >= 0 && label < CTT_SYNTH_CLASSES);
    h = digest(&f);
    ctt_free(f.data);
    return h;
}

static void test_seed(void)
{
    struct ctt_synth s = { .clips = 24, .size = 48, .workers = 1, .seed = 1 };
    struct ctt_synth t = { .clips = 9999, .size = 48, .workers = 7, .seed = 1 };
    struct ctt_synth u = { .clips = 24, .size = 48, .workers = 1, .seed = 2 };

    for (int i = 0; i < 6; i++) {
        uint64_t h = clip_digest(s, i);
        CU_ASSERT(h == clip_digest(s, i));
        CU_ASSERT(h == clip_digest(t, i));
        CU_ASSERT(h != clip_digest(u, i));
        CU_ASSERT(h != clip_digest(s, i + 1));
    }
}

static void test_balance(void)
{
    struct ctt_synth s = { .seed = 3 };
    int n[3][CTT_SYNTH_CLASSES] = { 0 }, moved = 0;

    for (int i = 0; i < 960; i++) {
        n[ctt_synth_split(&s, i)][ctt_synth_label(&s, i)]++;
        moved += ctt_synth_label(&s, i) != i % CTT_SYNTH_CLASSES;
    }
    for (int k = 0; k < CTT_SYNTH_CLASSES; k++) {
        CU_ASSERT_EQUAL(n[0][k], 60);
        CU_ASSERT_EQUAL(n[1][k], 10);
        CU_ASSERT_EQUAL(n[2][k], 10);
    }
    CU_ASSERT(moved > 480);    /* the classes are not in order */
}

/* Each class, also of those in an order, has a name of its own. */
static void test_names(void)
{
    enum { ALL = CTT_SYNTH_CLASSES + CTT_SYNTH_ORDERED };
    char text[ALL][96];

    for (int k = 0; k < ALL; k++) {
        CU_ASSERT(ctt_synth_template(k, text[k], 96) == text[k]);
        CU_ASSERT(strstr(text[k], "[something]") != NULL);
        for (int j = 0; j < k; j++)
            CU_ASSERT(strcmp(text[k], text[j]) != 0);
    }
}

/* Chosen pairs are numbered anew, in balance, and the test clips follow. */
static void test_choice(void)
{
    struct ctt_synth s = { .seed = 3, .clips = 96, .test = 40 };
    int n[3][CTT_SYNTH_CLASSES] = { { 0 } };

    CHECK_OK(ctt_synth_choose(&s, "tear,across"));
    CU_ASSERT_EQUAL(ctt_synth_classes(&s), 4);
    CU_ASSERT(ctt_synth_class(&s, 0) == 0 && ctt_synth_class(&s, 1) == 1);
    CU_ASSERT(ctt_synth_class(&s, 2) == 8 && ctt_synth_class(&s, 3) == 9);
    for (int i = 0; i < s.clips + s.test; i++) {
        CU_ASSERT((ctt_synth_split(&s, i) == 2) == (i >= s.clips));
        n[ctt_synth_split(&s, i)][ctt_synth_label(&s, i)]++;
    }
    for (int k = 0; k < 4; k++)
        for (int split = 0; split < 3; split++)
            CU_ASSERT_EQUAL(n[split][ctt_synth_class(&s, k)],
                            split == 2 ? 10 : split ? 3 : 21);
    CU_ASSERT(ctt_synth_choose(&s, "across,fly") == CTT_EINVAL);
    CU_ASSERT(ctt_synth_choose(&s, "order,across") == CTT_EINVAL);
    CHECK_OK(ctt_synth_choose(&s, "order"));
    CU_ASSERT_EQUAL(ctt_synth_classes(&s), CTT_SYNTH_ORDERED);
    CU_ASSERT(ctt_synth_class(&s, 0) == CTT_SYNTH_CLASSES);
}

/* A thing that moves right ends further right, and so on: the templates and
 * the motions are in the same order. */
static double drift_of(struct ctt_synth s, int clips, int label, int axis,
                       double until)
{
    double sum = 0;
    int found = 0;

    for (int i = 0; found < clips; i++) {
        struct ctt_frames f = { 0 };
        double a[2][2] = { { 0 } }, mass[2] = { 0 };
        int got, span, step, last;
        if (ctt_synth_label(&s, i) != label)
            continue;
        found++;
        CHECK_OK(ctt_synth_clip(&s, i, &f, &got));
        CU_ASSERT_EQUAL(got, label);
        span = f.h * f.w;
        last = (int)(until * (f.count - 1));
        step = last * span * 3;
        for (int p = 0; p < 3 * span; p++) {
            /* where first and last frame differ, things were or are; the
             * middle frame tells which */
            int d = abs(f.data[p] - f.data[p + step]) > 40;
            int e = abs(f.data[p] - f.data[p + (last + 1) / 2 * span * 3]) > 40;
            mass[e] += d;
            a[e][0] += d * (p / 3 % f.w);
            a[e][1] += d * (p / 3 / f.w);
        }
        if (mass[0] > 0 && mass[1] > 0)
            sum += a[0][axis] / mass[0] - a[1][axis] / mass[1];
        ctt_free(f.data);
    }
    return sum;
}

static double drift(int label, int axis)
{
    struct ctt_synth s = { .size = 48, .seed = 4 };

    return drift_of(s, 12, label, axis, 1);
}

static int order_named(const char *name)
{
    char text[96];

    for (int k = CTT_SYNTH_CLASSES;
         k < CTT_SYNTH_CLASSES + CTT_SYNTH_ORDERED; k++)
        if (strcmp(ctt_synth_template(k, text, sizeof(text)), name) == 0)
            return k;
    CU_FAIL("no class of that name");
    return 0;
}

/* What comes first is seen in the first part of a clip, what comes second is
 * not; at the end both orders are in the same place. */
static void test_order(void)
{
    struct ctt_synth s = { .size = 48, .seed = 4 };
    double far = 1, near = .4, first[2], second[2], both[2][2];
    int right, down;

    CHECK_OK(ctt_synth_choose(&s, "order"));
    right = order_named("[something] goes right, then goes down");
    down = order_named("[something] goes down, then goes right");
    for (int axis = 0; axis < 2; axis++) {
        first[axis] = drift_of(s, 16, axis ? down : right, axis, near);
        second[axis] = drift_of(s, 16, axis ? right : down, axis, near);
        both[0][axis] = drift_of(s, 16, right, axis, far);
        both[1][axis] = drift_of(s, 16, down, axis, far);
    }
    for (int axis = 0; axis < 2; axis++) {
        CU_ASSERT(first[axis] > 0 && first[axis] > 2 * second[axis]);
        CU_ASSERT(both[0][axis] > 0 && both[1][axis] > 0);
    }
}

static void test_motion(void)
{
    CU_ASSERT(drift(0, 0) > 0);
    CU_ASSERT(drift(1, 0) < 0);
    CU_ASSERT(drift(2, 1) < 0);
    CU_ASSERT(drift(3, 1) > 0);
}

static void path_of(const char *name, char *path)
{
    snprintf(path, 256, "%s/set/%s", folder, name);
}

static int lines_of(const char *name, const char *with)
{
    char path[256], line[512];
    FILE *f;
    int n = 0;

    path_of(name, path);
    f = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    while (fgets(line, sizeof(line), f))
        n += strstr(line, with) != NULL;
    fclose(f);
    return n;
}

static void set_remove(const char *dir, int n)
{
    static const char *const name[] = {
        "labels.json", "train.json", "validation.json", "test.json",
        "test-answers.csv", "20bn-something-something-v2"
    };
    char path[4200];

    for (int i = 1; i <= n; i++) {
        snprintf(path, sizeof(path),
                 "%s/20bn-something-something-v2/%d.webm", dir, i);
        remove(path);
    }
    for (size_t k = 0; k < CTT_LEN(name); k++) {
        snprintf(path, sizeof(path), "%s/%s", dir, name[k]);
        remove(path);
    }
    rmdir(dir);
}

static void test_write(void)
{
    struct ctt_synth s = { .clips = 36, .size = 32, .workers = 2, .seed = 1 };
    char dir[256];
    int next = 0;

    snprintf(dir, sizeof(dir), "%s/set", folder);
    CHECK_OK(ctt_synth_write(&s, dir, count_call, &next));
    CU_ASSERT_EQUAL(calls, 36);
    CU_ASSERT_EQUAL(lines_of("labels.json", "something"), 12);
    CU_ASSERT_EQUAL(lines_of("train.json", "\"placeholders\":[\""), 12);
    CU_ASSERT_EQUAL(lines_of("train.json", "[something]"), 12);
    CU_ASSERT_EQUAL(lines_of("validation.json", "\"id\""), 12);
    CU_ASSERT_EQUAL(lines_of("test.json", "\"id\""), 12);
    CU_ASSERT_EQUAL(lines_of("test.json", "label"), 0);
    CU_ASSERT_EQUAL(lines_of("test-answers.csv", ";"), 12);
}

/* The files that test_write made, read by the code that reads anybody's. */
static void test_read(void)
{
    struct ctt_input in = { .d = 1, .h = 32, .w = 32, .c = 3, .scale = 1 };
    struct ctt_synth s = { .clips = 36, .size = 32, .seed = 1 };
    static const char *const split[] = { "train", "validation" };
    struct ctt_list *l = NULL;
    char dir[256];

    snprintf(dir, sizeof(dir), "%s/set", folder);
    for (int k = 0; k < 2; k++) {
        CHECK_OK(ctt_list_open(dir, split[k], NULL, 0, NULL, &l));
        CU_ASSERT_EQUAL(l->count, 12);
        CU_ASSERT_EQUAL(l->labels, CTT_SYNTH_CLASSES);
        for (int j = 0; j < l->count; j += 3) {
            struct ctt_frames f = { 0 }, g = { 0 };
            int i = atoi(l->item[j].id) - 1, label;
            double sum = 0;
            CHECK_OK(ctt_synth_clip(&s, i, &f, &label));
            CU_ASSERT_EQUAL(label, l->item[j].label);
            CHECK_OK(ctt_frames_load(l->item[j].path, &in, 0, &g));
            CU_ASSERT_EQUAL_FATAL(g.count, f.count);
            CU_ASSERT_FATAL(g.h == 32 && g.w == 32);
            for (int p = 0; p < f.count * 32 * 32 * 3; p++)
                sum += abs(f.data[p] - g.data[p]);
            CU_ASSERT(sum / (f.count * 32 * 32 * 3) < 12);
            ctt_free(f.data);
            ctt_frames_free(&g);
        }
        ctt_list_free(&l);
    }
    set_remove(dir, 36);
}

static void test_errors(void)
{
    struct ctt_synth s = { .clips = 1, .size = 32, .workers = 1, .seed = 1 };
    struct ctt_synth odd = { .clips = 1, .size = 33, .workers = 1 };
    struct ctt_synth none = { .clips = 0, .size = 32, .workers = 1 };
    char file[256], dir[300];
    FILE *f;

    snprintf(file, sizeof(file), "%s/file", folder);
    f = fopen(file, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fclose(f);
    snprintf(dir, sizeof(dir), "%s/set", file);
    CU_ASSERT_EQUAL(ctt_synth_write(&s, dir, NULL, NULL), CTT_EIO);
    CU_ASSERT(strstr(ctt_errmsg(), dir) != NULL);
    remove(file);

    snprintf(dir, sizeof(dir), "%s/set", folder);
    CU_ASSERT_EQUAL(ctt_synth_write(&none, dir, NULL, NULL), CTT_EINVAL);
    CU_ASSERT_EQUAL(ctt_synth_write(&odd, dir, NULL, NULL), CTT_EINVAL);
    CU_ASSERT(strstr(ctt_errmsg(), "33") != NULL);
    set_remove(dir, 1);
}

/* What is not of made clips is not replaced, made clips are. */
static void test_recipe_state(void)
{
    struct ctt_synth s = { .clips = 2, .size = 32, .workers = 1, .seed = 1 };
    static const char *const other[] = { "train.json", "labels.json",
        "20bn-something-something-v2/2.webm" };
    char dir[256], path[300], text[8];
    FILE *f;

    snprintf(dir, sizeof(dir), "%s/set", folder);
    for (size_t i = 0; i < CTT_LEN(other); i++) {
        snprintf(path, sizeof(path), "%s/20bn-something-something-v2", dir);
        CU_ASSERT_FATAL(!mkdir(dir, 0700) && !mkdir(path, 0700));
        snprintf(path, sizeof(path), "%s/%s", dir, other[i]);
        f = fopen(path, "w+");
        CU_ASSERT_FATAL(f && fputs("mine", f) >= 0 && fflush(f) == 0);
        CU_ASSERT_EQUAL(ctt_synth_write(&s, dir, NULL, NULL), CTT_EIO);
        CU_ASSERT(strstr(ctt_errmsg(), path) != NULL);
        fclose(f);
        f = fopen(path, "r");
        CU_ASSERT(f && fgets(text, sizeof(text), f) && !strcmp(text, "mine"));
        fclose(f);
        set_remove(dir, 2);
    }
    CHECK_OK(ctt_synth_write(&s, dir, NULL, NULL));
    s.seed = 2;
    CHECK_OK(ctt_synth_write(&s, dir, NULL, NULL));
    set_remove(dir, 2);
}

/* A video that cannot be written is named, although another thread may have
 * met the error; and there are no lists of a set that is not whole. */
static void test_blocked(void)
{
    struct ctt_synth s = { .clips = 2, .size = 32, .workers = 2, .seed = 1 };
    struct ctt_synth one = { .clips = 1, .size = 32, .workers = 1, .seed = 1 };
    char dir[256], video[300], train[300];

    snprintf(dir, sizeof(dir), "%s/set", folder);
    snprintf(video, sizeof(video), "%s/20bn-something-something-v2", dir);
    snprintf(train, sizeof(train), "%s/train.json", dir);
    CHECK_OK(ctt_synth_write(&one, dir, NULL, NULL));
    strcat(video, "/2.webm");
    CU_ASSERT_FATAL(!remove(train) && !mkdir(video, 0700));
    CU_ASSERT_EQUAL(ctt_synth_write(&s, dir, NULL, NULL), CTT_EIO);
    CU_ASSERT(strstr(ctt_errmsg(), video) != NULL);
    CU_ASSERT(access(train, F_OK) != 0);
    set_remove(dir, 2);
}

static void test_memory(void)
{
    struct ctt_synth s = { .clips = 1, .size = 32, .workers = 1, .seed = 1 };
    long live = ctt_live_blocks();
    char dir[256];
    int rc = -1, failed = 0;

    snprintf(dir, sizeof(dir), "%s/set", folder);
    for (long k = 1; rc < 0 && k < 50; k++) {
        ctt_fail_alloc(k);
        rc = ctt_synth_write(&s, dir, NULL, NULL);
        ctt_fail_alloc(0);
        CU_ASSERT(rc == 0 || rc == CTT_ENOMEM);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
        failed += rc < 0;
    }
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT_EQUAL(failed, 25);
    set_remove(dir, 1);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "same seed, same pixels", test_seed },
        { "splits and classes", test_balance },
        { "names of classes", test_names },
        { "chosen actions and test clips", test_choice },
        { "motions as named", test_motion },
        { "movements in an order", test_order },
        { "written", test_write },
        { "read back", test_read },
        { "errors name the thing", test_errors },
        { "other files stay", test_recipe_state },
        { "blocked paths", test_blocked },
        { "allocations that fail", test_memory },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "synth", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };
    int rc;

    if (!mkdtemp(folder))
        return 99;
    rc = ctt_check_main(suites);
    rmdir(folder);
    return rc;
}
