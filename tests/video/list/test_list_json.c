/* SPDX-License-Identifier: Apache-2.0
 * test_list_json.c: the JSON lists of ActivityNet, Kinetics and Diving48. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "tests/lib/list.h"

#include <stdio.h>
#include <string.h>

/* An empty file: lists do not open clips. */
static void touch(const char *name)
{
    clip_text(name, "");
}

static void expect(const char *path, const char *split, const char *is)
{
    list_expect(clip_path("%s", path), split, NULL, 0, NULL, is);
}

static void refuse(const char *path, const char *says)
{
    list_refuse(clip_path("%s", path), "train", NULL, 0, NULL, says);
}

/* Every beginning of the file is refused, and nothing leaks. */
static void cut(const char *path, const char *text)
{
    char part[2048];

    CU_ASSERT_FATAL(strlen(text) < sizeof(part));
    for (size_t n = 0; n < strlen(text); n++) {
        snprintf(part, sizeof(part), "%.*s", (int)n, text);
        clip_text(path, part);
        refuse(path, "");
    }
    clip_text(path, text);
}

/* ---- ActivityNet ---- */

static const char activity[] =
    "{\"version\": \"1.3\", \"taxonomy\": [{\"parentName\": null}],\n"
    "\"database\": {\n"
    "\"aaa\": {\"annotations\": [{\"segment\": [0.5, 12.25], \"label\": "
    "\"Run\"},\n{\"label\": \"Jump\", \"segment\": [20, 99.5]}], "
    "\"subset\": \"training\", \"duration\": 82.5, \"url\": \"x\"},\n"
    "\"bbb\": {\"duration\": 9, \"subset\": \"validation\", \"resolution\": "
    "\"1x1\", \"annotations\": [{\"segment\": [1e-1, 8.5], \"label\": "
    "\"Run\"}]},\n"
    "\"ddd\": {\"annotations\": [], \"subset\": \"training\"},\n"
    "\"ccc\": {\"annotations\": [], \"subset\": \"testing\"}}}";

static void make_activity(void)
{
    clip_folder("a");
    clip_folder("a/annotations");
    clip_folder("a/v1-3");
    clip_folder("a/v1-3/train_val");
    touch("a/v1-3/train_val/v_aaa.mp4");
    touch("a/v1-3/train_val/bbb.mkv");
    touch("a/v1-3/v_ccc.webm");
    clip_text("a/annotations/list.json", activity);
    clip_text("a/activity_net.v1-3.min.json", activity);
}

static void test_activity(void)
{
    static const char *const path[] = { "a/annotations/list.json", "a" };

    for (size_t i = 0; i < CTT_LEN(path); i++) {
        expect(path[i], "train", "Jump|Run\n"
               "train_val/v_aaa.mp4#t=0.5,12.25:1\n"
               "train_val/v_aaa.mp4#t=20,82.5:0");
        expect(path[i], "val", "Run\ntrain_val/bbb.mkv#t=0.1,8.5:0");
        expect(path[i], "test", "\nv1-3/v_ccc.webm:-1");
        list_refuse(clip_path("%s", path[i]), "other", NULL, 0, NULL,
                    "no clip of the split 'other'");
    }
}

/* A video that the list has not been downloaded. */
static void test_missing(void)
{
    clip_text("a/list.json", "{\"database\": {\"aaa\": {\"annotations\": [{"
              "\"segment\": [1, 2], \"label\": \"x\"}]}, \"gone\": {"
              "\"annotations\": [{\"segment\": [1, 2], \"label\": \"x\"}]}}}");
    expect("a/list.json", "train", "x\ntrain_val/v_aaa.mp4#t=1,2:0\n"
           "a/gone.mp4#t=1,2:0");
    clip_text("a/list.json", "{\"database\": {\"no\": {\"annotations\": "
              "[{\"segment\": [1, 2], \"label\": \"x\"}]}}}");
    refuse("a/list.json", "there is no video of its 1 clips, such as no.mp4");
}

/* The file of a clip may have only the part that is listed. */
static void test_kinetics(void)
{
    clip_folder("k");
    touch("k/aaa_000010_000020.mp4");
    touch("k/bbb.mp4");
    clip_text("k/train.json", "{\"aaa\": {\"annotations\": {\"label\": \"x\", "
              "\"segment\": [10.0, 20.0]}, \"duration\": 10.0, \"subset\": "
              "\"train\"}, \"bbb\": {\"annotations\": {\"label\": \"y\", "
              "\"segment\": [3, 13]}, \"duration\": 10.0, \"subset\": "
              "\"train\"}}");
    expect("k/train.json", "train", "x|y\nk/aaa_000010_000020.mp4:0\n"
           "k/bbb.mp4#t=3,13~:1");
}

static void test_activity_errors(void)
{
    static const struct { const char *video, *says; } row[] = {
        { "[1]", ":2: 'aaa': expected an object" },
        { "{\"annotations\": [7]}", ":2: an annotation of 'aaa' without" },
        { "{\"annotations\": [{\"label\": \"x\", \"segment\": 3}]}",
          "'aaa': a segment that is not two times" },
        { "{\"annotations\": [{\"label\": \"x\", \"segment\": [3]}]}",
          "not two times" },
        { "{\"annotations\": [{\"label\": \"x\", \"segment\": [3, 2]}]}",
          "not two times" },
        { "{\"annotations\": [{\"label\": \"x\", \"segment\": [1, 2, 3]}]}",
          "not two times" },
        { "{\"annotations\": [{\"label\": \"x\", \"segment\": [-1, 2]}]}",
          "'-1' is no time" },
        { "{\"annotations\": [{\"label\": \"x\", \"segment\": [0, 1e999]}]}",
          "real number overflow near '1e999'" },
        { "{\"annotations\": [{\"label\": \"x\", \"segment\": [0, \"a\"]}]}",
          "'a' is no time" },
        { "{\"annotations\": [{\"label\": \"x\", \"segment\": [0, null]}]}",
          "'aaa': 'null' is no time" },
        { "{\"annotations\": [{\"label\": 7, \"segment\": [0, 1]}]}",
          "without a label" },
        { "{\"annotations\": [{\"segment\": [0, 1]}]}", "without a label" },
        { "{\"annotations\": [{\"label\": \"\"}]}", "without a label" },
        { "{\"subset\": 7}", "the subset of 'aaa' is no text" },
        { "{\"duration\": \"long\"}", "'long' is no time" },
        { "{\"x\": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[0", "']' expected" },
    };
    char text[512];

    clip_folder("e");
    touch("e/aaa.mp4");
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        snprintf(text, sizeof(text), "{\"database\":\n{\"aaa\": %s}}",
                 row[r].video);
        clip_text("e/list.json", text);
        refuse("e/list.json", row[r].says);
    }
    clip_text("e/list.json", "{\"database\": {\"aaa\": {},\n\"aaa\": {}}}");
    refuse("e/list.json", "the object has 'aaa' twice");
    clip_text("e/list.json", "[{\"path\": \"aaa.mp4\", \"label\": \"x\",\n"
              "\"label\": \"y\"}]");
    refuse("e/list.json", ":2: duplicate object key");
    clip_text("e/list.json", "{\"database\": {\"../aaa\": {}}}");
    refuse("e/list.json", "'../aaa' is no name of a video");
    cut("a/annotations/list.json", activity);
}

/* ---- Diving48 ---- */

static const char diving[] =
    "[{\"vid_name\": \"d1\", \"label\": 2, \"start_frame\": 0, "
    "\"end_frame\": 90},\n{\"end_frame\": 20, \"start_frame\": 4, "
    "\"extra\": {\"a\": [1]}, \"label\": 0, \"vid_name\": \"d2\"}]";

static void make_diving(void)
{
    clip_folder("d");
    clip_folder("d/rgb");
    touch("d/rgb/d1.mp4");
    touch("d/rgb/d2.mp4");
    clip_text("d/train.json", diving);
}

static void test_diving(void)
{
    expect("d/train.json", "train", "0|2\nrgb/d1.mp4#0+90:1\n"
           "rgb/d2.mp4#4+16:0");
    clip_text("d/Diving48_vocab.json", "[[\"Back\", \"15som\"], "
              "[\"Front\", \"PIKE\"], \"Inward\"]");
    expect("d/train.json", "test", "Back 15som|Inward\nrgb/d1.mp4#0+90:1\n"
           "rgb/d2.mp4#4+16:0");
    clip_text("d/Diving48_vocab.json", "[[\"Back\"], \"Back\"]");
    refuse("d/train.json", "vocab.json:1: class 'Back' is listed twice");
    clip_text("d/Diving48_vocab.json", "[\"Back\"]");
    refuse("d/train.json", "train.json:1: no class has number 2");
    CU_ASSERT(remove(clip_path("d/Diving48_vocab.json")) == 0);
    clip_text("d/named.json", "[{\"file\": \"rgb/d1.mp4\", \"class\": \"x\", "
              "\"start\": 1, \"end\": 2.5, \"split\": \"train\"}, {\"file\": "
              "\"rgb/d2.mp4\", \"class\": \"y\", \"split\": \"test\"}]");
    expect("d/named.json", "train", "x\nrgb/d1.mp4#t=1,2.5:0");
}

/* The folder as it is published: a list per split, of two versions, the
 * names of the classes and the videos. */
static void test_diving_folder(void)
{
    clip_folder("dive");
    clip_folder("dive/rgb");
    touch("dive/rgb/d1.mp4");
    touch("dive/rgb/d2.mp4");
    clip_text("dive/Diving48_vocab.json", "[\"Back\", \"Front\", \"Inward\"]");
    clip_text("dive/Diving48_V2_train.json", diving);
    clip_text("dive/Diving48_train.json", "[{\"vid_name\": \"d1\", "
              "\"label\": 1}]");
    clip_text("dive/Diving48_V2_test.json", "[{\"vid_name\": \"d2\", "
              "\"label\": 2}]");
    expect("dive", "train", "Back|Inward\nrgb/d1.mp4#0+90:1\n"
           "rgb/d2.mp4#4+16:0");
    expect("dive", "test", "Inward\nrgb/d2.mp4:0");
    expect("dive", "val", "Inward\nrgb/d2.mp4:0");
    list_refuse(clip_path("dive"), "extra", NULL, 0, NULL, "dive: no "
                "Diving48_V2_extra.json in it");
    clip_text("dive/Diving48_V2_val.json", "[{\"vid_name\": \"d1\", "
              "\"label\": 0}]");
    expect("dive", "validation", "Back\nrgb/d1.mp4:0");
    clip_text("dive/Diving48_V2_train.json", "{}");
    refuse("dive", "Diving48_V2_train.json: no labels.json beside it");
    CU_ASSERT(remove(clip_path("dive/Diving48_V2_train.json")) == 0);
    expect("dive", "train", "Front\nrgb/d1.mp4:0");
}

/* The lists may lie in a folder of their own. */
static void test_diving_below(void)
{
    clip_folder("deep");
    clip_folder("deep/rgb");
    clip_folder("deep/annotations");
    touch("deep/rgb/d1.mp4");
    touch("deep/rgb/d2.mp4");
    clip_text("deep/annotations/Diving48_V2_train.json", diving);
    expect("deep", "train", "0|2\nrgb/d1.mp4#0+90:1\nrgb/d2.mp4#4+16:0");
}

static void test_diving_errors(void)
{
    static const struct { const char *text, *says; } row[] = {
        { "[]", "no labels.json beside it, and not a list" },
        { "7", "no labels.json beside it" }, { "{}", "no labels.json beside" },
        { "{\"a\": \"0\"}", "no labels.json beside it" },
        { "[{\"id\": \"1\"}]", "no labels.json beside it" },
        { "[{\"id\": \"1\", \"label\": \"a\", \"template\": \"a\"}]",
          "no labels.json beside it" },
        { "[{\"vid_name\": \"d1\", \"label\": 1},\n7]", ":2: expected an obj" },
        { "[{\"vid_name\": \"d1\", \"label\": 1},\n{\"label\": 2}]",
          ":2: no path" },
        { "[{\"vid_name\": \"d1\", \"label\": 1},\n{\"vid_name\": \"d2\", "
          "\"label\": {\"a\": 2}}]", ":2: the value of 'label' is no text" },
        { "[{\"vid_name\": \"d1\", \"label\": 1},\n{\"vid_name\": \"d2\", "
          "\"label\": null}]", ":2: no label" },
        { "[{\"vid_name\": \"d1\", \"label\": -1}]", "label -1 is no class" },
        { "[{\"vid_name\": \"d1\", \"label\": 1, \"start_frame\": 3}]",
          ":1: the column 'start_frame' has no other one" },
        { "[{\"vid_name\": \"d1\", \"label\": 1, \"start_frame\": 3, "
          "\"end_frame\": 1e99}]", ":1: not a video, start, end" },
        /* as long as its block of memory: nothing behind it is read */
        { "[{\"path\": \"ddddddddddddddddddddddddddddddddddddddddddddddddddd"
          "dddddddddddd\", \"label\": \"x\", \"end\": 5, \"start_frame\": "
          "\"\", \"end_frame\": \"\"}]", ":1: not a video, start, end" },
    };

    for (size_t r = 0; r < CTT_LEN(row); r++) {
        clip_text("d/bad.json", row[r].text);
        refuse("d/bad.json", row[r].says);
    }
    cut("d/train.json", diving);
}

static void test_memory(void)
{
    list_without_memory(clip_path("a"), NULL);
    list_without_memory(clip_path("deep"), NULL);
    list_without_memory(clip_path("d/train.json"), NULL);
    clip_text("d/Diving48_vocab.json", "[[\"a\", \"b\"], \"c\", \"d\"]");
    list_without_memory(clip_path("d/train.json"), NULL);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "ActivityNet", test_activity }, { "missing videos", test_missing },
        { "Kinetics", test_kinetics },
        { "ActivityNet: errors", test_activity_errors },
        { "Diving48", test_diving }, { "Diving48: errors", test_diving_errors },
        { "Diving48: the folder", test_diving_folder },
        { "Diving48: lists below", test_diving_below },
        { "memory", test_memory }, CU_TEST_INFO_NULL };
    static CU_SuiteInfo suites[] = {
        { "JSON lists", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL };
    int rc;

    make_activity();
    make_diving();
    rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
