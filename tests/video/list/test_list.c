/* SPDX-License-Identifier: Apache-2.0
 * test_list.c: lists of clips from folders and from the JSON files of
 * Something-Something, and what is wrong with them. */
#include "base/warn.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "tests/lib/list.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An empty file: lists do not open clips. */
static void touch(const char *name)
{
    clip_text(name, "");
}

/* ---- Something-Something V2 ---- */

static const char labels[] = "{\"Moving something up\":\"1\", "
    "\"Holding something\":\"0\",\n\"Pretending \\u0022to\\u0022 tear\": 2}";
static const char train[] =
    "[{\"id\":\"7\",\"label\":\"moving a cup up\",\"template\":"
    "\"Moving [something] up\",\"placeholders\":[\"a cup\"]},\n"
    " {\"id\":\"12\",\"template\":\"Holding [something]\"},\n"
    " {\"id\":\"5\",\"template\":\"Pretending \\\"to\\\" tear\"},\n"
    " {\"id\":\"99\",\"template\":\"Holding [something]\"}]";
static const char all_train[] = "Holding something|Moving something up|"
    "Pretending \"to\" tear\nv/7.webm:1\nv/12.mp4:0\nv/5:2\nv/99.webm:0";

/* The expected list with v replaced by the folder's name. */
static const char *with_folder(const char *text, const char *folder)
{
    static char out[4096];
    size_t n = 0;

    for (; *text && n + 64 < sizeof(out); text++) {
        if (text[0] == '\n' && text[1] == 'v' && text[2] == '/') {
            n += (size_t)sprintf(out + n, "\n%s", folder);
            text++;
        } else {
            out[n++] = *text;
        }
    }
    out[n] = 0;
    return out;
}

static void make_videos(const char *dir)
{
    char name[300];

    snprintf(name, sizeof(name), "%s/7.webm", dir);
    touch(name);
    snprintf(name, sizeof(name), "%s/12.mp4", dir);
    touch(name);
    snprintf(name, sizeof(name), "%s/5", dir);
    touch(name);
}

static void make_lists(const char *dir, const char *prefix, const char *val)
{
    char name[300];

    snprintf(name, sizeof(name), "%s/%slabels.json", dir, prefix);
    clip_text(name, labels);
    snprintf(name, sizeof(name), "%s/%strain.json", dir, prefix);
    clip_text(name, train);
    snprintf(name, sizeof(name), "%s/%s%s.json", dir, prefix, val);
    clip_text(name, "[{\"id\":\"5\",\"template\":\"Holding [something]\"}]");
    snprintf(name, sizeof(name), "%s/%stest.json", dir, prefix);
    clip_text(name, "[{\"id\":\"12\"},{\"id\":7}]");
}

static void test_ssv2(void)
{
    static const struct { const char *root, *lists, *prefix, *videos; } row[] =
    {
        { "s1", "s1", "", "s1/20bn-something-something-v2" },
        { "s2", "s2", "something-something-v2-", "s2/videos" },
        { "s3", "s3", "", "s3" },
        { "s4", "s4/labels", "", "s4/videos" },
    };

    for (size_t r = 0; r < CTT_LEN(row); r++) {
        const char *path = clip_path("%s", row[r].root);
        const char *folder = strrchr(row[r].videos, '/');
        char base[64];
        snprintf(base, sizeof(base), "%s", folder ? folder + 1 :
                 row[r].videos);
        clip_folder(row[r].root);
        if (strcmp(row[r].lists, row[r].root) != 0)
            clip_folder(row[r].lists);
        if (strcmp(row[r].videos, row[r].root) != 0)
            clip_folder(row[r].videos);
        make_videos(row[r].videos);
        make_lists(row[r].lists, row[r].prefix, r % 2 ? "val" : "validation");
        list_expect(path, "train", NULL, 0, NULL, with_folder(all_train, base));
        list_expect(path, NULL, NULL, 0, NULL, with_folder(all_train, base));
        list_expect(path, "validation", NULL, 0, NULL, with_folder(
            "Holding something|Moving something up|Pretending \"to\" tear\n"
            "v/5:0", base));
        list_expect(path, "test", NULL, 0, NULL, with_folder(
            "Holding something|Moving something up|Pretending \"to\" tear\n"
            "v/12.mp4:-1\nv/7.webm:-1", base));
        list_refuse(path, "extra", NULL, 0, NULL, "no extra.json");
    }
    /* The classes of the test split, as far as they are told. */
    clip_text("s1/test-answers.csv", "7;Moving [something] up\r\n\n3;Holding "
              "something\n");
    list_expect(clip_path("s1"), "test", NULL, 0, NULL, with_folder(
        "Holding something|Moving something up|Pretending \"to\" tear\n"
        "v/12.mp4:-1\nv/7.webm:1", "20bn-something-something-v2"));
    /* The videos' own folder, with the lists above it; one list by name. */
    list_expect(clip_path("s1/20bn-something-something-v2"), "train", NULL, 0,
                NULL, with_folder(all_train, "20bn-something-something-v2"));
    list_expect(clip_path("s1/train.json"), "test", NULL, 0, NULL,
                with_folder(all_train, "20bn-something-something-v2"));
}

static void test_ssv2_errors(void)
{
    static const struct { const char *file, *text, *says; } row[] = {
        { "labels", "{", "e/labels.json:1: expected a key" },
        { "labels", "{\"a\":\"0\",\n\"b\":\"x\"}", ":2: class 'b' has no num" },
        { "labels", "{\"a\":\"0\",\"a\":\"1\"}", "'a' is listed twice" },
        { "labels", "{\"a\":\"0\",\"b\":\"2\"}", "numbers must be 0 to 1" },
        { "labels", "{\"a\":\"0\",\"b\":\"0\"}", "numbers must be 0 to 1" },
        { "labels", "{}", "no labels in it" },
        { "labels", "[]", "expected an object" },
        { "labels", "{\"a\":\"0\"} x", "expected the end" },
        { "train", "{}", "e/train.json:1: expected an array" },
        { "train", "[{\"id\":\"1\",\n\"template\":\"c\"}]", "no class 'c'" },
        { "train", "[{\"template\":\"a\"}]", "a clip without an id" },
        { "train", "[{\"id\":\"../x\"}]", "a bad id" },
        { "train", "[{\"id\":\"\"}]", "a bad id" },
        { "train", "[]", "no clips in split 'train'" },
        { "train", "[{\"id\":\"1\",\"template\":\"b\"}]",
          "no clip of class 'a'" },
    };

    clip_folder("e");
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        char name[64];
        clip_text("e/labels.json", "{\"a\":\"0\",\"b\":\"1\"}");
        clip_text("e/train.json", "[{\"id\":\"1\",\"template\":\"a\"}]");
        snprintf(name, sizeof(name), "e/%s.json", row[r].file);
        clip_text(name, row[r].text);
        list_refuse(clip_path("e"), "train", NULL, 0, NULL, row[r].says);
    }
    clip_text("e/train.json", "[{\"id\":\"1\"}]");
    clip_text("e/train-answers.csv", "2;a\n1;c\n");
    list_refuse(clip_path("e"), "train", NULL, 0, NULL, "e/train-answers.csv:2:"
                " the labels have no class 'c'");
    clip_text("e/train-answers.csv", "1,a\n");
    list_refuse(clip_path("e"), "train", NULL, 0, NULL, ":1: not 'id;class'");
}

/* ---- folders ---- */

static char warned[300];

static void on_warning(void *arg, const char *text)
{
    (void)arg;
    snprintf(warned, sizeof(warned), "%s", text);
}

static void test_classes(void)
{
    static char *model[] = { "run", "jump" }, *other[] = { "run", "walk" };

    clip_folder("c");
    clip_folder("c/train");
    clip_folder("c/train/run");
    clip_folder("c/train/jump");
    clip_folder("c/val");
    clip_folder("c/val/run");
    clip_folder("c/val/jump");
    touch("c/train/run/b.mp4");
    touch("c/train/run/a.avi");
    touch("c/train/run/.hidden");
    touch("c/train/run/notes.txt");
    clip_folder("c/train/jump/frames");
    touch("c/val/run/z.mp4");
    list_expect(clip_path("c"), "train", NULL, 0, NULL, "jump|run\n"
                "jump/frames:0\nrun/a.avi:1\nrun/b.mp4:1");
    list_expect(clip_path("c"), "validation", NULL, 0, NULL,
                "jump|run\nrun/z.mp4:1");
    list_expect(clip_path("c/train"), NULL, NULL, 0, NULL, "jump|run\n"
                "jump/frames:0\nrun/a.avi:1\nrun/b.mp4:1");
    list_expect(clip_path("c"), "train", model, 2, NULL, "run|jump\n"
                "jump/frames:1\nrun/a.avi:0\nrun/b.mp4:0");
    list_expect(clip_path("c/train/run"), "train", NULL, 0, NULL,
                "\nrun/a.avi:-1\nrun/b.mp4:-1");
    list_expect(clip_path("c/val/run/z.mp4"), "train", NULL, 0, NULL,
                "\nrun/z.mp4:-1");
    list_refuse(clip_path("c"), "test", NULL, 0, NULL,
                "no folder 'test' in it");
    list_expect(clip_path("c/train"), "test", NULL, 0, NULL, "jump|run\n"
                "jump/frames:0\nrun/a.avi:1\nrun/b.mp4:1");
    list_refuse(clip_path("c"), "train", other, 2, NULL,
                "class 'jump' is none of the model's 2");
    ctt_warn_to(on_warning, NULL);
    list_expect(clip_path("c/val"), "train", NULL, 0, NULL, "run\nrun/z.mp4:0");
    CU_ASSERT(strstr(warned, "c/val: 1 folder without clips is no class: jump")
              != NULL);
    clip_folder("c/train/fly");
    clip_folder("c/train/dive");
    list_expect(clip_path("c"), "train", NULL, 0, NULL, "jump|run\n"
                "jump/frames:0\nrun/a.avi:1\nrun/b.mp4:1");
    CU_ASSERT(strstr(warned, "c/train: 2 folders without clips are no classes: "
                     "dive, ...") != NULL);
    touch("c/train/run/cover.JPG");
    list_expect(clip_path("c/train/run"), "train", NULL, 0, NULL,
                "\nrun/a.avi:-1\nrun/b.mp4:-1\nrun/cover.JPG:-1");
    CU_ASSERT(strstr(warned, "1 of 3 clips is a picture among videos, as ") &&
              strstr(warned, "run/cover.JPG; each is a clip of one"));
    CU_ASSERT_EQUAL(unlink(clip_path("c/train/run/cover.JPG")), 0);
    ctt_warn_to(NULL, NULL);
    list_refuse(clip_path("c/val/jump"), "train", NULL, 0, NULL,
                "no clips in it");
    list_refuse(clip_path("nothing"), "train", NULL, 0, NULL, "no such file");
}

/* What list_text() makes of a folder of which a split is needed, or that is
 * given for one split alone. */
static void expect_want(int own, const char *name, const char *split,
                        const char *text)
{
    static char *model[] = { "jump", "run" };
    const struct ctt_list_want w = { .split = split, .own = own, .need = !own,
                                     .known = model, .nknown = 2 };
    struct ctt_list *l = NULL;
    long live = ctt_live_blocks();
    int rc = ctt_list_find(clip_path("%s", name), &w, &l);

    CU_ASSERT_STRING_EQUAL(rc < 0 ? strrchr(ctt_errmsg(), '/') : list_text(l),
                           text);
    ctt_list_free(&l);
    CU_ASSERT_EQUAL(ctt_live_blocks(), live);
}

/* Classes without splits are all of the split that they are given for; they
 * have the model's numbers, and some may be missing. */
static void test_own(void)
{
    clip_folder("o");
    clip_folder("o/run");
    clip_folder("o/run/frames");
    touch("o/run/1.mp4");
    expect_want(1, "o", "validation", "jump|run\nrun/1.mp4:1\nrun/frames:1");
    expect_want(1, "o", "test", "jump|run\nrun/1.mp4:1\nrun/frames:1");
    expect_want(1, "o", "other", "jump|run\nrun/1.mp4:1\nrun/frames:1");
    expect_want(0, "o", "test", "/o: no split 'test', as it has no splits; all "
                "its clips are one set");
    clip_folder("o/fly");
    expect_want(1, "o", "test", "jump|run\nrun/1.mp4:1\nrun/frames:1");
    touch("o/fly/1.mp4");
    expect_want(1, "o", "test", "/o: class 'fly' is none of the model's 2 "
                "classes; labels of the list: fly, run; classes of the model: "
                "jump, run");
    clip_folder("o/val");
    clip_folder("o/val/run");
    expect_want(1, "o", "test", "/o: no folder 'test' in it, but 'val'");
}

/* A class may be called as a split; a split may have no classes, or no clips.
 */
static void test_folders(void)
{
    static const char *const made[] = { "p", "p/jump", "p/test", "q", "q/train",
        "q/train/run", "q/train/jump", "q/test", "q/val", "q/val/run" };

    for (size_t i = 0; i < CTT_LEN(made); i++)
        clip_folder(made[i]);
    touch("p/jump/1.mp4");
    touch("p/test/2.mp4");
    touch("q/train/run/1.mp4");
    touch("q/train/jump/1.mp4");
    touch("q/test/3.mp4");
    list_expect(clip_path("p"), "train", NULL, 0, NULL,
                "jump|test\njump/1.mp4:0\ntest/2.mp4:1");
    expect_want(0, "p", "test", "/p: no split 'test', as it has no splits; all "
                "its clips are one set");
    expect_want(0, "q", "test", "jump|run\ntest/3.mp4:-1");
    expect_want(0, "q", "val", "/q: no clips in 'val'");
}

/* KTH lies in a folder a class, or all in one; its persons are its splits. */
static void test_persons(void)
{
    clip_folder("k");
    clip_folder("k/boxing");
    clip_folder("k/running");
    touch("k/00sequences.txt");
    touch("k/boxing/person01_boxing_d1_uncomp.avi");
    touch("k/boxing/person17_boxing_d1_uncomp.avi");
    touch("k/running/person16_running_d4_uncomp.avi");
    touch("k/running/person25_running_d2_uncomp.avi");
    list_expect(clip_path("k"), "train", NULL, 0, NULL, "boxing|running\n"
                "boxing/person01_boxing_d1_uncomp.avi:0\n"
                "running/person16_running_d4_uncomp.avi:1");
    for (int i = 0; i < 3; i++)
        list_expect(clip_path("k"),
                    i == 0 ? "validation" : i == 1 ? "val" : "test",
                    NULL, 0, NULL, "boxing|running\n"
                    "boxing/person17_boxing_d1_uncomp.avi:0\n"
                    "running/person25_running_d2_uncomp.avi:1");
    list_expect(clip_path("k/boxing"), "train", NULL, 0, NULL,
                "\nboxing/person01_boxing_d1_uncomp.avi:-1");
    list_expect(clip_path("k/boxing"), "test", NULL, 0, NULL,
                "\nboxing/person17_boxing_d1_uncomp.avi:-1");
    expect_want(0, "k", "other", "/k: no split 'other', as it has no splits; "
                "all its clips are one set");
    clip_folder("k/test");    /* a split of its own */
    touch("k/test/person02_boxing_d1.avi");
    list_expect(clip_path("k/test"), "train", NULL, 0, NULL,
                "\ntest/person02_boxing_d1.avi:-1");
    list_refuse(clip_path("k/test"), "test", NULL, 0, NULL,
                "no clip of persons 17 to 25, who are 'test'");
}

/* Where one clip is called otherwise, it is not KTH, and has no splits. */
static void test_no_persons(void)
{
    static const char *const name[] = { "person26_x.avi", "person00_x.avi",
        "person1_x.avi", "person017_x.avi", "person17.avi", "y17_x.avi" };
    struct ctt_list *l = NULL;
    char file[64];

    for (size_t i = 0; i < CTT_LEN(name); i++) {
        snprintf(file, sizeof(file), "k%d", (int)i);
        clip_folder(file);
        snprintf(file, sizeof(file), "k%d/aperson17_x.avi", (int)i);
        touch(file);
        CHECK_OK(ctt_list_open(clip_path("k%d", (int)i), "test", NULL, 0, NULL,
                               &l));
        CU_ASSERT_EQUAL(l->count, 1);
        ctt_list_free(&l);
        list_refuse(clip_path("k%d", (int)i), "train", NULL, 0, NULL,
                    "no clip of persons 1 to 16, who are 'train'");
        snprintf(file, sizeof(file), "k%d/%s", (int)i, name[i]);
        touch(file);
        CHECK_OK(ctt_list_open(clip_path("k%d", (int)i), "train", NULL, 0,
                               NULL, &l));
        CU_ASSERT_EQUAL(l->count, 2);
        ctt_list_free(&l);
    }
}

static void test_memory(void)
{
    clip_text("subset", "Holding something\n2\n");
    list_without_memory(clip_path("s1"), clip_path("subset"));
    list_without_memory(clip_path("s1"), NULL);
    list_without_memory(clip_path("c"), NULL);
    list_without_memory(clip_path("k"), NULL);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "Something-Something", test_ssv2 },
        { "its errors", test_ssv2_errors },
        { "folder a class", test_classes },
        { "folder a class for one split", test_own },
        { "folders called as splits", test_folders },
        { "persons", test_persons }, { "other names", test_no_persons },
        { "memory", test_memory }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "lists", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
