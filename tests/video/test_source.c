/* SPDX-License-Identifier: Apache-2.0
 * test_source.c: what a path means: the same clips from a folder, a list, a
 * file and a pack, and sequences that are drawn. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/source.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { W = 16, H = 12, FRAMES = 9, IMAGE = 28 * 28,
       SIDE = CTT_MNIST_SIDE, PICTURE = SIDE * SIDE };

static const struct ctt_input grey = { 1, SIDE, SIDE, 1, 0, { 0 },
    { 1, 1, 1 }, 1.5f, CTT_FIT_CROP, CTT_GRAY };
static const struct ctt_source_set any = { .labels = CTT_LABELS_ANY,
    .sequences = 3, .digits = 2, .frames = 5, .drawn_for = "the test" };
static char mnist[300];

/* ---- what is read ---- */

static struct ctt_input input(void)
{
    return clip_input(W, H, 0);
}

static struct ctt_source *open_some(const char *path,
                                    const struct ctt_source_set *set,
                                    const struct ctt_input *in)
{
    struct ctt_source *s = NULL;

    CHECK_OK(ctt_source_open(path, set, in, &s));
    return s;
}

static void refused(const char *path, const struct ctt_source_set *set,
                    const struct ctt_input *in, int code, const char *says)
{
    struct ctt_source *s = NULL;

    ctt_check_refused(ctt_source_open(path, set, in, &s), code, says);
    CU_ASSERT_PTR_NULL(s);
}

static void make_pack(void)
{
    static char *label[] = { "one", "two" };
    struct ctt_input in = input();
    struct ctt_pack *p = NULL;
    struct ctt_frames f;

    CHECK_OK(ctt_pack_create(clip_path("some.pack"), &in, label, 2, &p));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(ctt_frames_load(clip_path(i ? "k/two/b.mkv" : "k/one/a.mkv"),
                                 &in, 0, &f));
        CHECK_OK(ctt_pack_add(p, i ? "b" : "a", i, &f));
        ctt_frames_free(&f);
    }
    CHECK_OK(ctt_pack_finish(&p));
}

static void make_digits(void)
{
    static uint8_t idx[16 + 3 * IMAGE] = { 0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 28,
                                           0, 0, 0, 28 };

    for (int i = 0; i < 3 * IMAGE; i++)
        idx[16 + i] = (uint8_t)(i % 251);
    clip_folder("digits");
    clip_file("digits/train-images-idx3-ubyte", idx, sizeof(idx));
    snprintf(mnist, sizeof(mnist), "mnist:%s", clip_path("digits"));
}

/* The first test, because what it calls checks as it goes. */
static void clips_are_made(void)
{
    clip_folder("k");
    clip_folder("k/one");
    clip_folder("k/two");
    clip_steady("k/one/a.mkv", FRAMES, 10);
    clip_steady("k/two/b.mkv", FRAMES - 2, 10);
    clip_text("list.txt", "k/one/a.mkv one\nk/two/b.mkv two\n");
    make_pack();
    make_digits();
}

static int clean(void)
{
    clip_clean();
    return 0;
}

/* ---- stored clips ---- */

/* Clip i of s, whole, cut and frame by frame, is f. */
static void check_clip(const struct ctt_source *s, int i,
                       const struct ctt_frames *f)
{
    size_t size = (size_t)f->w * (size_t)f->h * (size_t)f->c;
    uint8_t *data = ctt_calloc(size, 1);
    struct ctt_feed *feed = NULL;
    struct ctt_frames got = { 0 };

    CU_ASSERT_FATAL(data != NULL);
    CHECK_OK(ctt_source_frames(s, i, 7, 0, &got));
    CU_ASSERT_EQUAL_FATAL(got.count, f->count);
    CU_ASSERT(memcmp(got.data, f->data, size * (size_t)f->count) == 0);
    ctt_frames_free(&got);
    CHECK_OK(ctt_source_frames(s, i, 7, 4, &got));
    CU_ASSERT_EQUAL_FATAL(got.count, 4);
    CU_ASSERT(memcmp(got.data, f->data, size * 4) == 0);
    ctt_frames_free(&got);
    CHECK_OK(ctt_feed_open(s, i, 7, &feed));
    for (int t = 0; t < f->count; t++) {
        CU_ASSERT_EQUAL(ctt_feed_next(feed, data), 1);
        CU_ASSERT(memcmp(data, f->data + (size_t)t * size, size) == 0);
    }
    CU_ASSERT_EQUAL(ctt_feed_next(feed, data), 0);
    ctt_feed_close(&feed);
    ctt_free(data);
}

static void clips_are_alike(void)
{
    const struct { const char *path; int clips, files; } kind[] = {
        { "k", 2, 1 }, { "list.txt", 2, 1 }, { "k/one/a.mkv", 1, 1 },
        { "some.pack", 2, 0 },
    };
    struct ctt_input in = input();
    struct ctt_frames f[2];

    CHECK_OK(ctt_frames_load(clip_path("k/one/a.mkv"), &in, 0, &f[0]));
    CHECK_OK(ctt_frames_load(clip_path("k/two/b.mkv"), &in, 0, &f[1]));
    for (size_t k = 0; k < CTT_LEN(kind); k++) {
        struct ctt_source *s = open_some(clip_path("%s", kind[k].path), &any,
                                         &in);

        CU_ASSERT_EQUAL_FATAL(ctt_source_list(s)->count, kind[k].clips);
        CU_ASSERT_EQUAL(ctt_source_files(s), kind[k].files);
        CU_ASSERT_EQUAL(ctt_source_drawn(s), 0);
        for (int i = 0; i < kind[k].clips; i++)
            check_clip(s, i, &f[i]);
        CU_ASSERT(ctt_source_same(s, 0, s, 0));
        CU_ASSERT(kind[k].clips == 1 || !ctt_source_same(s, 0, s, 1));
        ctt_source_close(&s);
    }
    ctt_frames_free(&f[0]);
    ctt_frames_free(&f[1]);
}

/* What the source at path makes of its two clips' classes. */
static void expect(const char *path, const struct ctt_source_set *set,
                   int labels, int first, int second)
{
    struct ctt_input in = input();
    struct ctt_source *s = open_some(path, set, &in);
    const struct ctt_list *l = ctt_source_list(s);

    CU_ASSERT_EQUAL(l->labels, labels);
    CU_ASSERT_EQUAL_FATAL(l->count, 2);
    CU_ASSERT_EQUAL(l->item[0].label, first);
    CU_ASSERT_EQUAL(l->item[1].label, second);
    for (int i = 0; i < set->labels; i++)
        CU_ASSERT_STRING_EQUAL(l->label[i], set->label[i]);
    ctt_source_close(&s);
}

/* The classes are the data's or the model's, in any order. */
static void classes(void)
{
    static char *swapped[] = { "two", "one" }, *more[] = { "x", "one", "two" };
    static char *numbers[] = { "0", "1" }, *others[] = { "one", "three" };
    static const char *const path[] = { "k", "some.pack" };
    struct ctt_source_set set = { .split = "train" };
    struct ctt_input in = input();

    for (size_t k = 0; k < CTT_LEN(path); k++) {
        const char *data = clip_path("%s", path[k]);
        set = (struct ctt_source_set){ .split = "train" };
        expect(data, &set, 2, 0, 1);
        set.label = swapped;
        set.labels = 2;
        expect(data, &set, 2, 1, 0);
        set.label = more;
        set.labels = 3;
        expect(data, &set, 3, 1, 2);
        set.label = others;
        set.labels = 2;
        refused(data, &set, &in, CTT_EINVAL,
                "class 'two' is none of the model's 2");
    }
    set.label = numbers;    /* whose order need not be that of the pack */
    refused(clip_path("some.pack"), &set, &in, CTT_EINVAL,
            "class 'one' is none of the model's 2");
}

/* --classes chooses the clips of a pack, which stay what they are. */
static void subset(void)
{
    struct ctt_source_set set = { .classes = clip_path("keep.txt") };
    struct ctt_input in = input();
    struct ctt_source *s;
    struct ctt_frames f;

    clip_text("keep.txt", "two\n");
    CHECK_OK(ctt_frames_load(clip_path("k/two/b.mkv"), &in, 0, &f));
    s = open_some(clip_path("some.pack"), &set, &in);
    CU_ASSERT_EQUAL(ctt_source_list(s)->all, 2);
    CU_ASSERT_EQUAL_FATAL(ctt_source_list(s)->count, 1);
    CU_ASSERT_EQUAL(ctt_source_list(s)->labels, 1);
    CU_ASSERT_EQUAL(ctt_source_list(s)->item[0].label, 0);
    check_clip(s, 0, &f);
    ctt_source_close(&s);
    ctt_frames_free(&f);
    clip_text("keep.txt", "two\nthree\n");
    refused(clip_path("some.pack"), &set, &in, CTT_EINVAL,
            "keep.txt:2: no class 'three'");
}

/* A pack of a list of numbers has the names "0", "1" ...: they are those of the
 * model's classes, as in the list itself. */
static void numbers(void)
{
    static char *numbers[] = { "0", "1", "2" }, *few[] = { "one" };
    static char *names[] = { "one", "two" }, *three[] = { "a", "b", "c" };
    struct ctt_source_set set = { .label = names, .labels = 2 };
    struct ctt_input in = input();
    struct ctt_pack *p = NULL;
    struct ctt_frames f;

    CHECK_OK(ctt_frames_load(clip_path("k/one/a.mkv"), &in, 0, &f));
    CHECK_OK(ctt_pack_create(clip_path("n.pack"), &in, numbers, 3, &p));
    CHECK_OK(ctt_pack_add(p, "a", 1, &f));
    CHECK_OK(ctt_pack_add(p, "b", 0, &f));
    CHECK_OK(ctt_pack_finish(&p));
    clip_text("n.txt", "k/one/a.mkv 1\nk/one/a.mkv 0\n");
    for (int k = 0; k < 2; k++) {
        const char *path = k ? clip_path("n.txt") : clip_path("n.pack");
        set.label = names;
        set.labels = 2;
        expect(path, &set, 2, 1, 0);
        set.label = three;
        set.labels = 3;
        expect(path, &set, 3, 1, 0);
        set.label = few;
        set.labels = 1;
        refused(path, &set, &in, CTT_EINVAL, "class '1' is none of the "
                "model's 1");
    }
    ctt_frames_free(&f);
}

/* A FIFO is no pack, and nobody waits for its writer. */
static void no_files(void)
{
    CU_ASSERT_EQUAL_FATAL(mkfifo(clip_path("fifo.h5"), 0600), 0);
    CU_ASSERT_EQUAL(ctt_pack_is(clip_path("fifo.h5")), 0);
    CU_ASSERT_EQUAL(ctt_pack_is("/dev/zero"), 0);
    CU_ASSERT_EQUAL(ctt_pack_is(clip_path("k")), 0);
}

static void splits(void)
{
    struct ctt_source_set set = { .labels = CTT_LABELS_ANY };
    struct ctt_input in = input();
    struct ctt_source *s = open_some(clip_path("k"), &set, &in);

    CU_ASSERT_EQUAL(ctt_source_list(s)->count, 2);
    ctt_source_close(&s);
    set.split = "validation";
    s = open_some(clip_path("k"), &set, &in);
    CU_ASSERT(!ctt_source_parted(s));
    ctt_source_close(&s);
    s = open_some(clip_path("some.pack"), &set, &in);
    ctt_source_close(&s);
    set.need_split = 1;
    refused(clip_path("some.pack"), &set, &in, CTT_ENOSPLIT,
            "a pack has no splits");
    refused(clip_path("k"), &set, &in, CTT_ENOSPLIT,
            "no split 'validation', as it has no splits");
}

static void inputs(void)
{
    struct ctt_source_set set = any;
    struct ctt_input in = clip_input(W / 2, H, 0);
    struct ctt_source *s;
    struct ctt_frames f;

    refused(clip_path("some.pack"), &set, &in, CTT_EINVAL,
            "packed as 16x12x3, the model wants 8x12x3");
    set.any_input = 1;
    s = open_some(clip_path("some.pack"), &set, &in);
    CHECK_OK(ctt_source_frames(s, 0, 0, 0, &f));
    CU_ASSERT_EQUAL(f.w, W);
    ctt_frames_free(&f);
    ctt_source_close(&s);
    refused(clip_path("nowhere"), &set, &in, CTT_EIO, "no such file");
}

/* ---- drawn sequences ---- */

static void sequences(void)
{
    static uint8_t want[5 * PICTURE];
    struct ctt_source_set set = any;
    struct ctt_source *s = open_some(mnist, &set, &grey), *train;
    const struct ctt_list *l = ctt_source_list(s);
    struct ctt_mnist *m = NULL;
    struct ctt_frames f = { want, 5, SIDE, SIDE, 1, 0 };
    char name[320];
    int64_t first;

    CHECK_OK(ctt_mnist_open(clip_path("digits"), &m));
    CHECK_OK(ctt_mnist_first("test", &first));
    CU_ASSERT_EQUAL_FATAL(l->count, 3);
    snprintf(name, sizeof(name), "%s#2", mnist);
    CU_ASSERT_STRING_EQUAL(l->item[2].path, name);
    CU_ASSERT(ctt_source_drawn(s) && !ctt_source_files(s));
    CU_ASSERT(ctt_source_input(s)->scale == 1);
    for (int i = 0; i < 100; i += 33) {    /* also those without a name */
        CHECK_OK(ctt_mnist_draw(m, 7, first + i, 2, 5, want));
        check_clip(s, i, &f);
    }
    set.split = "train";
    train = open_some(mnist, &set, &grey);
    CU_ASSERT(ctt_source_same(s, 0, s, 0) && !ctt_source_same(s, 0, train, 0));
    ctt_source_close(&train);
    ctt_source_close(&s);
    ctt_mnist_close(&m);
}

static void sequences_refused(void)
{
    struct ctt_source_set set = any;
    struct ctt_input in = input();

    refused(mnist, &set, &in, CTT_EINVAL, "makes frames of 64x64x1");
    refused("mnist:/none", &set, &grey, CTT_EIO, "/none: no such file");
    set.split = "other";
    refused(mnist, &set, &grey, CTT_EINVAL, "no split 'other'");
    set.split = NULL;
    set.classes = "some";
    refused(mnist, &set, &grey, CTT_EINVAL, "has no classes");
    set.labels = 0;
    refused(mnist, &set, &grey, CTT_EINVAL, "it is for the test");
}

/* ---- memory ---- */

/* Opens a source and reads its first clip frame by frame. */
static int read_one(const char *path, const struct ctt_input *in)
{
    static uint8_t data[PICTURE];
    struct ctt_source *s = NULL;
    struct ctt_feed *f = NULL;
    int rc;

    CTT_TRY(ctt_source_open(path, &any, in, &s));
    CTT_TRY(ctt_feed_open(s, 0, 1, &f));
    CTT_TRY(ctt_feed_next(f, data));
out:
    ctt_feed_close(&f);
    ctt_source_close(&s);
    return rc;
}

/* A picture of a folder that is written anew and a clip that goes are changes;
 * one that was missing and comes is none. */
static void changed(void)
{
    struct ctt_input in = input();
    struct ctt_source *s = NULL;

    clip_folder("change");
    clip_folder("change/pictures");
    clip_text("change/pictures/1.pgm", "P5\n1 1\n255\n0");
    clip_text("change/pictures/2.pgm", "P5\n1 1\n255\n0");
    clip_text("change/clip.avi", "a clip");
    clip_text("change/list.txt", "pictures\nclip.avi\nmissing.avi\n");
    s = open_some(clip_path("change/list.txt"), &any, &in);
    CU_ASSERT_EQUAL_FATAL(ctt_source_list(s)->count, 3);
    CHECK_OK(ctt_source_note(s));
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(ctt_source_changed(s, i), 0);
    clip_text("change/pictures/2.pgm", "P5\n1 1\n255\n10");
    clip_text("change/missing.avi", "came");
    CU_ASSERT_EQUAL(remove(clip_path("change/clip.avi")), 0);
    CU_ASSERT_EQUAL(ctt_source_changed(s, 0), 1);
    CU_ASSERT_EQUAL(ctt_source_changed(s, 1), 1);
    CU_ASSERT_EQUAL(ctt_source_changed(s, 2), 0);
    ctt_source_close(&s);
}

static void allocations_fail(void)
{
    struct ctt_input in = input();
    const struct { const char *path; const struct ctt_input *in; } kind[] = {
        { clip_path("k"), &in }, { clip_path("some.pack"), &in },
        { mnist, &grey },
    };
    long live = ctt_live_blocks();

    for (size_t i = 0; i < CTT_LEN(kind); i++) {
        int rc = CTT_ENOMEM, k = 0;

        while (rc == CTT_ENOMEM && k < 2000) {
            ctt_fail_alloc(++k);
            rc = read_one(kind[i].path, kind[i].in);
            ctt_fail_alloc(0);
            CU_ASSERT_EQUAL(ctt_live_blocks(), live);
        }
        CU_ASSERT_EQUAL(rc, 1);
        CU_ASSERT(k > 5);
    }
}

int main(void)

{
    CU_TestInfo tests[] = {
        { "clips are made", clips_are_made },
        { "clips are alike", clips_are_alike },
        { "classes", classes },
        { "subset", subset },
        { "numbers", numbers },
        { "no files", no_files },
        { "splits", splits },
        { "inputs", inputs },
        { "sequences", sequences },
        { "sequences refused", sequences_refused },
        { "changed", changed },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "source", NULL, clean, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
