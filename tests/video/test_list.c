/* SPDX-License-Identifier: Apache-2.0
 * test_list.c: the layouts in which datasets lie on disk, and what is wrong
 * with them. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/json.h"
#include "video/names.h"
#include "video/video.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The list as text, a line each: labels, then base name of the path's folder /
 * file:label. */
static char *describe(const struct ctt_list *l)
{
    static char text[4096];
    size_t n = 0;

    text[0] = 0;
    for (int i = 0; i < l->labels; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
                              i ? "|" : "", l->label[i]);
    for (int i = 0; i < l->count && n < sizeof(text); i++) {
        const char *p = l->item[i].path, *base = strrchr(p, '/');
        while (base && base > p && base[-1] != '/')
            base--;
        n += (size_t)snprintf(text + n, sizeof(text) - n, "\n%s:%d",
                              base ? base : p, l->item[i].label);
    }
    return text;
}

static void expect(const char *path, const char *split, char *const *known,
                   int nknown, const char *subset, const char *text)
{
    struct ctt_list *l = NULL;
    int rc = ctt_list_open(path, split, known, nknown, subset, &l);

    if (rc < 0 || strcmp(describe(l), text) != 0) {
        printf("\n    %s: got\n%s\n    expected\n%s", path,
               rc < 0 ? ctt_errmsg() : describe(l), text);
        CU_FAIL("list");
    }
    for (int i = 0; l && i < l->count; i++)
        CU_ASSERT(strstr(l->item[i].path, l->item[i].id) != NULL);
    ctt_list_free(&l);
}

static void refuse(const char *path, const char *split, char *const *known,
                   int nknown, const char *subset, const char *says)
{
    struct ctt_list *l = NULL;
    int rc = ctt_list_open(path, split, known, nknown, subset, &l);

    CU_ASSERT(rc < 0);
    CU_ASSERT_PTR_NULL(l);
    if (rc >= 0 || !strstr(ctt_errmsg(), says)) {
        printf("\n    %s: '%s' does not say '%s'", path,
               rc < 0 ? ctt_errmsg() : "success", says);
        CU_FAIL("message");
    }
    ctt_list_free(&l);
}

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
        expect(path, "train", NULL, 0, NULL, with_folder(all_train, base));
        expect(path, NULL, NULL, 0, NULL, with_folder(all_train, base));
        expect(path, "validation", NULL, 0, NULL, with_folder(
            "Holding something|Moving something up|Pretending \"to\" tear\n"
            "v/5:0", base));
        expect(path, "test", NULL, 0, NULL, with_folder(
            "Holding something|Moving something up|Pretending \"to\" tear\n"
            "v/12.mp4:-1\nv/7.webm:-1", base));
        refuse(path, "extra", NULL, 0, NULL, "no extra.json");
    }
    /* The videos' own folder, with the lists above it; one list by name. */
    expect(clip_path("s1/20bn-something-something-v2"), "train", NULL, 0,
           NULL, with_folder(all_train, "20bn-something-something-v2"));
    expect(clip_path("s1/train.json"), "test", NULL, 0, NULL,
           with_folder(all_train, "20bn-something-something-v2"));
}

static void test_ssv2_errors(void)
{
    static const struct { const char *file, *text, *says; } row[] = {
        { "labels", "{", "e/labels.json:1: expected a string" },
        { "labels", "{\"a\":\"0\",\n\"b\":\"x\"}", ":2: class 'b' has no num" },
        { "labels", "{\"a\":\"0\",\"a\":\"1\"}", "'a' stands there twice" },
        { "labels", "{\"a\":\"0\",\"b\":\"2\"}", "numbers must be 0 to 1" },
        { "labels", "{\"a\":\"0\",\"b\":\"0\"}", "numbers must be 0 to 1" },
        { "labels", "{}", "no labels in it" },
        { "labels", "[]", "expected an object" },
        { "labels", "{\"a\":\"0\"} x", "something follows" },
        { "train", "{}", "e/train.json:1: expected an array" },
        { "train", "[{\"id\":\"1\",\n\"template\":\"c\"}]", "no class 'c'" },
        { "train", "[{\"template\":\"a\"}]", "a clip without an id" },
        { "train", "[{\"id\":\"../x\"}]", "a bad id" },
        { "train", "[{\"id\":\"\"}]", "a bad id" },
        { "train", "[]", "no clips in it" },
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
        refuse(clip_path("e"), "train", NULL, 0, NULL, row[r].says);
    }
}

/* ---- folders ---- */

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
    expect(clip_path("c"), "train", NULL, 0, NULL, "jump|run\n"
           "jump/frames:0\nrun/a.avi:1\nrun/b.mp4:1");
    expect(clip_path("c"), "validation", NULL, 0, NULL,
           "jump|run\nrun/z.mp4:1");
    expect(clip_path("c/train"), NULL, NULL, 0, NULL, "jump|run\n"
           "jump/frames:0\nrun/a.avi:1\nrun/b.mp4:1");
    expect(clip_path("c"), "train", model, 2, NULL, "run|jump\n"
           "jump/frames:1\nrun/a.avi:0\nrun/b.mp4:0");
    expect(clip_path("c/train/run"), "train", NULL, 0, NULL,
           "\nrun/a.avi:-1\nrun/b.mp4:-1");
    expect(clip_path("c/val/run/z.mp4"), "train", NULL, 0, NULL,
           "\nrun/z.mp4:-1");
    refuse(clip_path("c"), "test", NULL, 0, NULL, "no folder 'test' in it");
    refuse(clip_path("c/train"), "test", NULL, 0, NULL, "no folder 'test'");
    refuse(clip_path("c"), "train", other, 2, NULL,
           "class 'jump' is none of the model's 2");
    refuse(clip_path("c/val"), "train", NULL, 0, NULL,
           "c/val/jump: an empty folder");
    refuse(clip_path("c/val/jump"), "train", NULL, 0, NULL, "no clips in it");
    refuse(clip_path("nothing"), "train", NULL, 0, NULL, "no such file");
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
    expect(clip_path("k"), "train", NULL, 0, NULL, "boxing|running\n"
           "boxing/person01_boxing_d1_uncomp.avi:0\n"
           "running/person16_running_d4_uncomp.avi:1");
    for (int i = 0; i < 3; i++)
        expect(clip_path("k"), i == 0 ? "validation" : i == 1 ? "val" : "test",
               NULL, 0, NULL, "boxing|running\n"
               "boxing/person17_boxing_d1_uncomp.avi:0\n"
               "running/person25_running_d2_uncomp.avi:1");
    expect(clip_path("k/boxing"), "train", NULL, 0, NULL,
           "\nboxing/person01_boxing_d1_uncomp.avi:-1");
    expect(clip_path("k/boxing"), "test", NULL, 0, NULL,
           "\nboxing/person17_boxing_d1_uncomp.avi:-1");
    refuse(clip_path("k"), "other", NULL, 0, NULL, "no folder 'other' in it");
    clip_folder("k/test");    /* a split of its own */
    touch("k/test/person02_boxing_d1.avi");
    expect(clip_path("k/test"), "train", NULL, 0, NULL,
           "\ntest/person02_boxing_d1.avi:-1");
    refuse(clip_path("k/test"), "test", NULL, 0, NULL,
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
        refuse(clip_path("k%d", (int)i), "train", NULL, 0, NULL,
               "no clip of persons 1 to 16, who are 'train'");
        snprintf(file, sizeof(file), "k%d/%s", (int)i, name[i]);
        touch(file);
        CHECK_OK(ctt_list_open(clip_path("k%d", (int)i), "train", NULL, 0,
                               NULL, &l));
        CU_ASSERT_EQUAL(l->count, 2);
        ctt_list_free(&l);
    }
}

/* Who does not ask for labels may have classes without a clip. */
static void test_no_labels(void)
{
    struct ctt_list *l = NULL;

    clip_text("gap.txt", "x.mp4 0\ny.mp4 2\n");
    refuse(clip_path("gap.txt"), "train", NULL, 0, NULL,
           "no clip of class '1'");
    CHECK_OK(ctt_list_open(clip_path("gap.txt"), "train", NULL,
                           CTT_LABELS_ANY, NULL, &l));
    CU_ASSERT_EQUAL(l->count, 2);
    ctt_list_free(&l);
}

/* ---- text lists ---- */

static void test_text(void)
{
    static const struct { const char *text, *is; } row[] = {
        { "a/x.mp4 0\na/y.mp4 1\n", "0|1\na/x.mp4:0\na/y.mp4:1" },
        { "a/x 1.mp4 1\r\n\r\n# note\nb/y.mp4\t0", "b|a\na/x 1.mp4:1\n"
          "b/y.mp4:0" },
        { "a/x.mp4,1\nb/y 2.mp4,0\n", "b|a\na/x.mp4:1\nb/y 2.mp4:0" },
        { "\xef\xbb\xbf" "a/x,y.mp4 , run\na/y.mp4,jump far\n",
          "jump far|run\na/x,y.mp4:1\na/y.mp4:0" },
        { "a/x.mp4;Drumming Fingers\na/y.mp4;No, gesture\n",
          "Drumming Fingers|No, gesture\na/x.mp4:0\na/y.mp4:1" },
        { "a/x,1.mp4 0\na/x,2.mp4 0\n", "a\na/x,1.mp4:0\na/x,2.mp4:0" },
        { "a/x.mp4\nb/y.mp4\n", "\na/x.mp4:-1\nb/y.mp4:-1" },
        { "t/my clip.mp4\nt/my clip.mp4\n", "\nt/my clip.mp4:-1\n"
          "t/my clip.mp4:-1" },
        { "t/pics 4 0\nt/more 5 0", "t\nt/pics#0+4:0\nt/more#0+5:0" },
        { "t/pics,2,4,0\nt/more,0,5,0", "t\nt/pics#2+4:0\nt/more#0+5:0" },
        { "/abs/x.mp4 0\n", "abs\nabs/x.mp4:0" },
    };

    clip_folder("t");
    clip_folder("t/pics");
    touch("t/my clip.mp4");
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        const char *path = clip_path("list%zu.%s", r, r % 2 ? "csv" : "txt");
        clip_text(strrchr(path, '/') + 1, row[r].text);
        expect(path, "train", NULL, 0, NULL, row[r].is);
    }
}

static void test_text_errors(void)
{
    static const struct { const char *text, *says; } row[] = {
        { "", "no clips in it" }, { "# nothing\n\n", "no clips in it" },
        { "x.mp4 0\ny.mp4 2\n", "no clip of class '1'" },
        { "x.mp4 999999\n", ":1: no class has number 999999" },
        { "x.mp4,\ny.mp4,\n", ":1: no label" },
        { "a.mp4,0\n,1\n", ":2: no path" },
        { "f/pics 4 0\nf/pics x 0", ":2: not a folder, number of frames" },
    };

    clip_folder("f");
    clip_folder("f/pics");
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        clip_text("bad.txt", row[r].text);
        refuse(clip_path("bad.txt"), "train", NULL, 0, NULL, row[r].says);
    }
}

/* Numbers mean the model's classes where names do not say otherwise. */
static void test_known(void)
{
    static char *numbers[] = { "0", "1", "2" }, *names[] = { "hit", "a" };

    clip_text("k1.txt", "a/x.mp4 2\nb/y.mp4 0\na/z.mp4 0\n");
    expect(clip_path("k1.txt"), "val", numbers, 3, NULL,
           "0|1|2\na/x.mp4:2\nb/y.mp4:0\na/z.mp4:0");
    refuse(clip_path("k1.txt"), "val", names, 2, NULL, "none of the model's");
    clip_text("k2.txt", "a/x.mp4 0\nhit/y.mp4 1\n");    /* by folder */
    expect(clip_path("k2.txt"), "val", names, 2, NULL,
           "hit|a\na/x.mp4:1\nhit/y.mp4:0");
    clip_text("k3.txt", "x.mp4 0\ny.mp4 1\nx/z.mp4 0\n");    /* no folders */
    expect(clip_path("k3.txt"), "val", names, 2, NULL, describe(
        &(struct ctt_list){ .label = names, .labels = 2, .count = 3,
        .item = (struct ctt_item[]){ { (char *)clip_path("x.mp4"), 0, 0 },
        { (char *)clip_path("y.mp4"), 0, 1 }, { "x/z.mp4", 0, 0 } } }));
    clip_text("k4.txt", "x.mp4 hit\ny.mp4 b\n");
    refuse(clip_path("k4.txt"), "val", names, 2, NULL,
           "class 'b' is none of the model's 2");
}

/* UCF101: labels from 1 on, and their names beside the list. */
static void test_index(void)
{
    clip_folder("u");
    clip_text("u/classInd.txt", "1 Apply Makeup\r\n2 Archery\r\n");
    clip_text("u/trainlist01.txt", "A/v1.avi 1\r\nB/v2.avi 2\r\n");
    clip_text("u/bad.txt", "A/v1.avi 0\n");
    expect(clip_path("u/trainlist01.txt"), "train", NULL, 0, NULL,
           "Apply Makeup|Archery\nA/v1.avi:0\nB/v2.avi:1");
    refuse(clip_path("u/bad.txt"), "train", NULL, 0, NULL,
           ":1: no class has number 0");
    clip_text("u/classInd.txt", "1 a\n3 b\n");
    refuse(clip_path("u/trainlist01.txt"), "train", NULL, 0, NULL,
           "classInd.txt:2: number 3 is out of order");
}

static void test_subset(void)
{
    static char *model[] = { "c", "a" };
    const char *list = clip_path("sub.txt"), *subset = clip_path("subset");

    clip_text("sub.txt", "1.mp4 a\n2.mp4 b\n3.mp4 c\n4.mp4 a\n");
    for (int i = 0; i < 2; i++) {
        struct ctt_list *l = NULL;
        clip_text("subset", i ? "2\n0\n" : "# two\nc\n[a]\n");
        CHECK_OK(ctt_list_open(list, "train", i ? model : NULL, 2, subset,
                               &l));
        CU_ASSERT_EQUAL(l->labels, 2);
        CU_ASSERT_STRING_EQUAL(l->label[0], "c");
        CU_ASSERT_EQUAL_FATAL(l->count, 3);
        CU_ASSERT_STRING_EQUAL(l->item[0].id, "1.mp4");
        CU_ASSERT_EQUAL(l->item[0].label, 1);
        CU_ASSERT_EQUAL(l->item[1].label, 0);
        CU_ASSERT_EQUAL(l->item[2].label, 1);
        CU_ASSERT_EQUAL(l->all, 4);
        CU_ASSERT_EQUAL(l->all_labels, 3);
        ctt_list_free(&l);
    }
    clip_text("subset", "a\nd\n");
    refuse(list, "train", NULL, 0, subset, "subset:2: no class 'd' in ");
    clip_text("subset", "3\n");
    refuse(list, "train", NULL, 0, subset, "subset:1: no class '3'");
    clip_text("subset", "a\n0\n");
    refuse(list, "train", NULL, 0, subset, "subset:2: class '0' stands there");
    clip_text("subset", "\n");
    refuse(list, "train", NULL, 0, subset, "subset: no classes in it");
    clip_text("subset", "b\n");
    refuse(list, "train", model, 2, subset,
           "the model was not trained with class 'b'");
    refuse(list, "train", NULL, 0, clip_path("none"), "No such file");
}

/* ---- JSON ---- */

static void test_json(void)
{
    static const struct { const char *text, *says; } row[] = {
        { "[1,2.5e-3,-0,\"\\u00e9\\ud83d\\ude00\\n\",true,null,{\"a\":[]}]",
          NULL },
        { " [ ] ", NULL }, { "", "expected an array" },
        { "[1,]", "comma without" }, { "[1 2]", "expected ','" },
        { "[01]", "expected ','" }, { "[-]", "a string or a number" },
        { "[1.]", "a string or a number" }, { "[1e]", "a string or a" },
        { "[\"a]", "ends in a string" }, { "[\"\n\"]", "control character" },
        { "[\"\\x\"]", "bad escape" }, { "[\"\\u12g4\"]", "bad escape" },
        { "[\"\\u0000\"]", "bad escape" }, { "[\"\\ud800x\"]", "bad escape" },
        { "[\"\\udc00\"]", "bad escape" }, { "[\"\\", "bad escape" },
        { "[tru]", "not a value" }, { "[{\"a\" 1}]", "expected ':'" },
        { "[{a:1}]", "expected a string" }, { "[1}", "expected ',' or ']'" },
        { "[", "not a value" }, { "[1]]", "something follows" },
        { "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "nested too deeply" },
    };
    struct ctt_json *j = NULL;
    int rc;

    for (size_t r = 0; r < CTT_LEN(row); r++) {
        clip_text("x.json", row[r].text);
        CHECK_OK(ctt_json_open(clip_path("x.json"), &j));
        rc = ctt_json_enter(j, '[');
        while (rc >= 0 && (rc = ctt_json_next(j)) > 0)
            rc = ctt_json_skip(j);
        rc = rc < 0 ? rc : ctt_json_end(j);
        CU_ASSERT_EQUAL(rc, row[r].says ? CTT_EFORMAT : 0);
        if (rc < 0 && row[r].says && !strstr(ctt_errmsg(), row[r].says)) {
            printf("\n    %s: '%s'", row[r].text, ctt_errmsg());
            CU_FAIL("message");
        }
        ctt_json_close(&j);
    }
}

static void test_json_text(void)
{
    struct ctt_json *j = NULL;
    char *s;

    clip_text("y.json", "[\"\\u00e9\\ud83d\\ude00\\/\\t\", -1.5]");
    CHECK_OK(ctt_json_open(clip_path("y.json"), &j));
    CHECK_OK(ctt_json_enter(j, '['));
    CHECK_OK(ctt_json_next(j));
    CHECK_OK(ctt_json_string(j, &s));
    CU_ASSERT_STRING_EQUAL(s, "\xc3\xa9\xf0\x9f\x98\x80/\t");
    CHECK_OK(ctt_json_next(j));
    CHECK_OK(ctt_json_scalar(j, &s));
    CU_ASSERT_STRING_EQUAL(s, "-1.5");
    ctt_json_close(&j);
    clip_file("z.json", "[1]\0 ", 5);
    CU_ASSERT_EQUAL(ctt_json_open(clip_path("z.json"), &j), CTT_EFORMAT);
}

/* ---- memory, and large sets ---- */

static void walk(const char *path, const char *subset)
{
    struct ctt_list *l = NULL;
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM, k = 0;

    while (rc == CTT_ENOMEM && k < 2000) {
        ctt_fail_alloc(++k);
        rc = ctt_list_open(path, "train", NULL, 0, subset, &l);
        ctt_fail_alloc(0);
        if (rc < 0)
            CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT(k > 20);
    ctt_list_free(&l);
    CU_ASSERT_EQUAL(ctt_live_blocks(), live);
}

static void test_memory(void)
{
    clip_text("subset", "Holding something\n2\n");
    walk(clip_path("s1"), clip_path("subset"));
    walk(clip_path("s1"), NULL);
    walk(clip_path("c"), NULL);
    walk(clip_path("k"), NULL);
    clip_text("u/classInd.txt", "1 Apply Makeup\n2 Archery\n");
    walk(clip_path("u/trainlist01.txt"), NULL);
    walk(clip_path("list1.csv"), NULL);
    walk(clip_path("list9.csv"), NULL);
}

static void test_many(void)
{
    struct ctt_names n = { 0 };
    char name[16];
    int lost = 0;

    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof(name), "%d", i * 7);
        lost += ctt_names_add(&n, name) != i;
    }
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof(name), "%d", i * 7);
        lost += ctt_names_find(&n, name) != i || ctt_names_add(&n, name) != i;
    }
    CU_ASSERT_EQUAL(lost, 0);
    CU_ASSERT_EQUAL(ctt_names_find(&n, "1"), -1);
    ctt_names_clear(&n);
}

int main(void)
{
    static CU_TestInfo layouts[] = {
        { "Something-Something", test_ssv2 },
        { "its errors", test_ssv2_errors },
        { "folder a class", test_classes },
        { "persons", test_persons }, { "other names", test_no_persons },
        { "labels not asked for", test_no_labels },
        { "text", test_text }, { "its errors", test_text_errors },
        { "known labels", test_known }, { "class index", test_index },
        { "subset", test_subset }, { "memory", test_memory },
        { NULL, NULL } };
    static CU_TestInfo parts[] = {
        { "JSON", test_json }, { "its strings", test_json_text },
        { "many names", test_many }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "layouts", NULL, NULL, NULL, NULL, layouts },
        { "parts", NULL, NULL, NULL, NULL, parts },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
