/* SPDX-License-Identifier: Apache-2.0
 * test_idx_set.c: data sets of idx files: splits, classes, names of the files,
 * frames around pictures of any size, and what is refused. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/synth/idx.h"
#include "video/source.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

/* 25 training pictures: the last two are for validation. */
enum { H = 3, W = 5, TRAIN = 25, HELD = 2, TEST = 7, ROOM = 1024 };

static const struct ctt_source_set own = { .split = NULL };

static struct ctt_source_set of_split(const char *split)
{
    return (struct ctt_source_set){ .split = split };
}

static struct ctt_input input(int w, int h, float scale)
{
    return (struct ctt_input){ 1, h, w, 1, 0, { 0 }, { 1, 1, 1 }, scale,
                               CTT_FIT_CROP, CTT_GRAY };
}

/* ---- files ---- */

static uint8_t bytes[ROOM];

static size_t put_words(const int *word, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 4; k++)
            bytes[4 * i + k] = (uint8_t)(word[i] >> (24 - 8 * k));
    return 4 * (size_t)n;
}

static void write_file(const char *name, size_t n)
{
    gzFile f;

    if (!strstr(name, ".gz")) {
        clip_file(name, bytes, n);
        return;
    }
    f = gzopen(clip_path("%s", name), "wb");
    CU_ASSERT_FATAL(f != NULL);
    CU_ASSERT_EQUAL(gzwrite(f, bytes, (unsigned)n), (int)n);
    CU_ASSERT_EQUAL(gzclose(f), Z_OK);
}

/* Pixel k of picture i. */
static uint8_t pixel(int i, int k)
{
    return (uint8_t)(1 + 7 * i + k);
}

static void write_images(const char *name, int from, int count)
{
    size_t n = put_words((int[]){ 0x803, count, H, W }, 4);

    for (int i = 0; i < count; i++)
        for (int k = 0; k < H * W; k++)
            bytes[n++] = pixel(from + i, k);
    write_file(name, n);
}

static void write_labels(const char *name, const char *digits)
{
    size_t n = put_words((int[]){ 0x801, (int)strlen(digits) }, 2);

    for (; *digits; digits++)
        bytes[n++] = (uint8_t)(*digits - '0');
    write_file(name, n);
}

/* 2 is missing among the classes. */
static const char trained[] = "0134013401340134013401310", tested[] = "4310431";

static void make_set(const char *dir, const char *const name[4])
{
    char path[128];

    clip_folder(dir);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, name[i]);
        if (i % 2)
            write_labels(path, i < 2 ? trained : tested);
        else
            write_images(path, i < 2 ? 0 : 100, i < 2 ? TRAIN : TEST);
    }
}

static const char *const plain[4] = {
    "train-images-idx3-ubyte", "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte" };

/* "digits:" and the path of name. */
static const char *digits_of(const char *name)
{
    static char path[400];

    snprintf(path, sizeof(path), "digits:%s", clip_path("%s", name));
    return path;
}

/* ---- what is read ---- */

/* The clips of a split are pictures from..from + count of the files, in their
 * order, with their labels. */
static void check_split(const char *dir, const char *split, int from,
                        int count, const char *label)
{
    const struct ctt_source_set set = of_split(split);
    const struct ctt_input in = input(W, H, 1);
    struct ctt_source *s = NULL;
    const struct ctt_list *l;
    struct ctt_frames f;

    CHECK_OK(ctt_source_open(digits_of(dir), &set, &in, &s));
    l = ctt_source_list(s);
    CU_ASSERT_EQUAL_FATAL(l->count, count);
    CU_ASSERT_EQUAL_FATAL(l->labels, 4);
    CU_ASSERT_STRING_EQUAL(l->label[2], "3");
    for (int i = 0; i < count; i++) {
        int name = l->label[l->item[i].label][0];

        CU_ASSERT_EQUAL(name, label[i]);
        CHECK_OK(ctt_source_frames(s, i, 0, 0, &f));
        CU_ASSERT(f.count == 1 && f.h == H && f.w == W && f.c == 1);
        for (int k = 0; k < H * W; k++)
            CU_ASSERT_EQUAL(f.data[k], pixel(from + i, k));
        ctt_frames_free(&f);
    }
    ctt_source_close(&s);
}

static void check_set(const char *dir)
{
    check_split(dir, "train", 0, TRAIN - HELD, trained);
    check_split(dir, "val", TRAIN - HELD, HELD, trained + TRAIN - HELD);
    check_split(dir, NULL, TRAIN - HELD, HELD, trained + TRAIN - HELD);
    check_split(dir, "test", 100, TEST, tested);
}

static void spellings(void)
{
    static const char *const zipped[4] = {
        "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz" };
    static const char *const dotted[4] = {
        "train-images.idx3-ubyte", "train-labels.idx1-ubyte.gz",
        "t10k-images.idx3-ubyte.gz", "t10k-labels.idx1-ubyte" };
    static const char *const more[4] = {
        "emnist-all-train-images-idx3-ubyte.gz",
        "emnist-all-train-labels-idx1-ubyte",
        "emnist-all-test-images-idx3-ubyte.gz",
        "emnist-all-test-labels-idx1-ubyte" };

    make_set("plain", plain);
    make_set("zipped", zipped);
    make_set("dotted", dotted);
    make_set("emnist", more);
    check_set("plain");
    check_set("zipped");
    check_set("dotted");
    check_set("emnist");
    check_set("emnist/emnist-all");
}

/* The items of a list say which picture of which file they are. */
static void names(void)
{
    const struct ctt_source_set set = of_split("validation");
    const struct ctt_input in = input(W, H, 1);
    struct ctt_source *s = NULL, *t = NULL;

    CHECK_OK(ctt_source_open(digits_of("plain"), &set, &in, &s));
    CHECK_OK(ctt_source_open(digits_of("plain"), &own, &in, &t));
    CU_ASSERT_STRING_EQUAL(ctt_source_list(s)->item[0].id,
                           "train-images-idx3-ubyte#23");
    CU_ASSERT(ctt_source_same(s, 1, t, 1) && !ctt_source_same(s, 1, t, 0));
    CU_ASSERT_FALSE(ctt_source_files(s) || ctt_source_drawn(s));
    CU_ASSERT_STRING_EQUAL(ctt_source_idx("digits:a/b"), "a/b");
    CU_ASSERT_PTR_NULL(ctt_source_idx("a/b"));
    ctt_source_close(&s);
    ctt_source_close(&t);
}

/* Around a picture the frame is black; its middle, which a test sees, is the
 * picture, also where the margins are not even. */
static void margins(void)
{
    static const struct { int w, h; float scale; } size[] = {
        { W, H, 1.4f }, { W, H, 2 }, { W + 3, H + 2, 1 }, { W + 1, H, 1.5f } };
    struct ctt_source *s = NULL;
    struct ctt_frames f;
    uint8_t seen[100];

    for (size_t i = 0; i < CTT_LEN(size); i++) {
        const struct ctt_input in = input(size[i].w, size[i].h, size[i].scale);
        int x0 = (in.w - W) / 2, y0 = (in.h - H) / 2, sum = 0, want = 0;

        CHECK_OK(ctt_source_open(digits_of("plain"), &own, &in, &s));
        CHECK_OK(ctt_source_frames(s, 1, 0, 0, &f));
        ctt_frame_middle(f.data, f.w, f.h, &in, seen);
        for (int k = 0; k < f.w * f.h; k++)
            sum += f.data[k];
        for (int k = 0; k < W * H; k++)
            want += pixel(TRAIN - 1, k);
        CU_ASSERT_EQUAL(sum, want);
        for (int k = 0; k < W * H && size[i].scale != 1.5f; k++)
            CU_ASSERT_EQUAL(seen[(y0 + k / W) * in.w + x0 + k % W],
                            pixel(TRAIN - 1, k));
        ctt_frames_free(&f);
        ctt_source_close(&s);
    }
}

/* A model's classes; some of the data's. */
static void classes(void)
{
    static char *model[] = { "4", "3", "1", "0" };
    struct ctt_source_set set = { .split = "test", .label = model,
                                  .labels = 4 };
    const struct ctt_input in = input(W, H, 1);
    struct ctt_source *s = NULL;

    CHECK_OK(ctt_source_open(digits_of("plain"), &set, &in, &s));
    CU_ASSERT_EQUAL(ctt_source_list(s)->item[0].label, 0);    /* "4" */
    CU_ASSERT_EQUAL(ctt_source_list(s)->item[3].label, 3);    /* "0" */
    ctt_source_close(&s);
    clip_text("two.txt", "4\n1\n");
    set = (struct ctt_source_set){ .split = "test",
                                   .classes = clip_path("two.txt") };
    CHECK_OK(ctt_source_open(digits_of("plain"), &set, &in, &s));
    CU_ASSERT_EQUAL(ctt_source_list(s)->count, 4);
    for (int i = 0; i < 4; i++) {
        struct ctt_frames f;
        static const int picture[] = { 0, 2, 4, 6 };

        CHECK_OK(ctt_source_frames(s, i, 0, 0, &f));
        CU_ASSERT_EQUAL(f.data[0], pixel(100 + picture[i], 0));
        ctt_frames_free(&f);
    }
    ctt_source_close(&s);
}

/* ---- what is refused ---- */

static void refuse(const char *name, const char *split,
                   const struct ctt_input *in, int code, const char *says)
{
    const struct ctt_source_set set = of_split(split);
    struct ctt_source *s = NULL;

    ctt_check_refused(ctt_source_open(digits_of(name), &set, in, &s), code,
                      says);
    CU_ASSERT_PTR_NULL(s);
}

static void refused(void)
{
    static const char *const no_labels[4] = {
        "train-images-idx3-ubyte", "x", "y", "z" };
    const struct ctt_input in = input(W, H, 1), small = input(W - 1, H, 1);
    struct ctt_input rgb = clip_input(W, H, 0);

    refuse("plain", "all", &in, CTT_ENOSPLIT, "no split 'all'");
    refuse("plain", NULL, &small, CTT_EINVAL,
           "has pictures of 5x3x1, the model wants 4x3x1");
    refuse("plain", NULL, &rgb, CTT_EINVAL, "the model wants 5x3x3");
    refuse("nowhere/at", NULL, &in, CTT_EIO, "no such folder");
    clip_folder("hollow");
    refuse("hollow", NULL, &in, CTT_EIO, "no idx files in it");
    refuse("plain/emnist", NULL, &in, CTT_EIO, "that begin with emnist");
    make_set("bare", no_labels);
    refuse("bare", "train", &in, CTT_EIO, "no train-labels-idx1-ubyte(.gz)");
    refuse("bare", "test", &in, CTT_ENOSPLIT, "no split 'test'");
    make_set("two", plain);
    write_labels("two/t10k-labels-idx1-ubyte", "012");
    refuse("two", "test", &in, CTT_EFORMAT, "has 3 labels for 7 images");
    write_labels("two/t10k-labels-idx1-ubyte", "0130132");
    refuse("two", "test", &in, CTT_EFORMAT,
           "label 2 of picture 6 is none of the training labels");
    write_images("two/train-labels-idx1-ubyte", 0, 3);
    refuse("two", "train", &in, CTT_EFORMAT, "no idx file of labels");
    write_images("two/b-test-images-idx3-ubyte", 0, 3);
    refuse("two", "train", &in, CTT_EINVAL, "name one: digits:");
    make_set("few", plain);
    write_images("few/train-images-idx3-ubyte", 0, 11);
    write_labels("few/train-labels-idx1-ubyte", "01340134013");
    refuse("few", NULL, &in, CTT_ENOSPLIT, "11 images are too few for it");
    check_split("few", "train", 0, 11, "01340134013");
}

/* Pictures that are larger than what is read at a time. */
static void large(void)
{
    static const uint8_t head[] = { 0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 8, 0,
                                    0, 0, 4, 0 };
    static uint8_t data[16 + 3 * 2048 * 1024];
    struct ctt_idx x = { 0 };

    memcpy(data, head, sizeof(head));
    for (size_t i = sizeof(head); i < sizeof(data); i++)
        data[i] = (uint8_t)(i % 251);
    clip_file("large", data, sizeof(data));
    CHECK_OK(ctt_idx_open(clip_path("large"), CTT_IDX_IMAGES, 0, &x));
    CU_ASSERT(x.count == 3 && x.h == 2048 && x.w == 1024);
    CU_ASSERT(memcmp(x.data, data + 16, sizeof(data) - 16) == 0);
    ctt_idx_close(&x);
    put_words((int[]){ 0x803, 1, 1 << 15, 1 }, 4);
    clip_file("large", bytes, 20);
    ctt_check_refused(ctt_idx_open(clip_path("large"), CTT_IDX_IMAGES, 0, &x),
                      CTT_EFORMAT, "images of 1x32768");
    put_words((int[]){ 0x803, 1, 1 << 14, 1 << 14 }, 4);
    clip_file("large", bytes, 20);
    ctt_check_refused(ctt_idx_open(clip_path("large"), CTT_IDX_IMAGES, 0, &x),
                      CTT_EFORMAT, "(--frame-pixels)");
}

static void allocations_fail(void)
{
    const struct ctt_input in = input(W, H, 1);
    const struct ctt_source_set set = of_split("test");
    long live = ctt_live_blocks(), k = 0;
    int rc = CTT_ENOMEM;

    while (rc == CTT_ENOMEM && k < 1000) {
        struct ctt_source *s = NULL;
        struct ctt_frames f = { 0 };

        ctt_fail_alloc(++k);
        rc = ctt_source_open(digits_of("emnist"), &set, &in, &s);
        rc = rc < 0 ? rc : ctt_source_frames(s, 0, 0, 0, &f);
        ctt_fail_alloc(0);
        ctt_frames_free(&f);
        ctt_source_close(&s);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CU_ASSERT(rc == 0 && k > 20);
}

static int clean(void)
{
    clip_clean();
    return 0;
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "spellings", spellings }, { "names", names }, { "margins", margins },
        { "classes", classes }, { "refused", refused }, { "large", large },
        { "allocations fail", allocations_fail }, CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "idx set", NULL, clean, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
