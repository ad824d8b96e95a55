/* SPDX-License-Identifier: Apache-2.0
 * test_list_sets.c: the lists of Kinetics, HMDB51 and UCF101, and where their
 * clips are found. */
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

/* The list at path is that text. */
static void expect(const char *path, const char *split, const char *text)
{
    list_expect(clip_path("%s", path), split, NULL, 0, NULL, text);
}

static void refuse(const char *path, const char *split, const char *says)
{
    list_refuse(clip_path("%s", path), split, NULL, 0, NULL, says);
}

/* ---- Kinetics ---- */

static const char head[] = "label,youtube_id,time_start,time_end,split\n";

static void kinetics_file(const char *name, const char *rows)
{
    char text[1024];

    snprintf(text, sizeof(text), "%s%s", head, rows);
    clip_text(name, text);
}

/* The files lie beside the list, in folders of the classes, or in those of the
 * splits; some have no times in their names, another ending, or are folders of
 * pictures; some are missing. */
static void test_kinetics(void)
{
    clip_folder("k");
    clip_folder("k/train");
    clip_folder("k/train/riding a bike");
    clip_folder("k/train/-abcdefghi4_000000_000010");
    kinetics_file("k/train.csv",
        "riding a bike,aaaaaaaaaaa,12,22,train\n"
        "\"eating, or \"\"tasting\"\"\",_bb-bbbbbbb,7,17,train\n"
        "riding a bike,ccccccccccc,100,110,train\r\n"
        "riding a bike,-abcdefghi4,0,10,train\n\n"
        "riding a bike,gone4567890,3,13,train\n");
    touch("k/train/riding a bike/aaaaaaaaaaa_000012_000022.mp4");
    touch("k/train/_bb-bbbbbbb.mkv");
    touch("k/ccccccccccc_000100_000110.json");
    touch("k/ccccccccccc_000100_000110.webm");
    touch("k/train/ccccccccccc.mp4");
    expect("k/train.csv", "train",
           "eating, or \"tasting\"|riding a bike\n"
           "riding a bike/aaaaaaaaaaa_000012_000022.mp4:1\n"
           "train/_bb-bbbbbbb.mkv#t=7,17~:0\n"
           "k/ccccccccccc_000100_000110.webm:1\n"
           "train/-abcdefghi4_000000_000010:1\n"
           "k/gone4567890_000003_000013.mp4:1");
}

/* A folder has a file per split, or "annotations" has; a test list may have no
 * labels, and other columns in any order. */
static void test_kinetics_folder(void)
{
    clip_folder("f");
    clip_folder("f/annotations");
    clip_folder("f/videos");
    kinetics_file("f/annotations/train.csv", "x,aaa,1,2,train\n"
                  "y,bbb,1,2,train\n");
    kinetics_file("f/annotations/kinetics_val.csv", "y,ccc,1,2,val\n");
    clip_text("f/annotations/test.csv", "is_cc,time_end,time_start,youtube_id\n"
              "0,11.0,1.0,bbb\n");
    touch("f/videos/aaa_000001_000002.mp4");
    touch("f/videos/bbb_000001_000002.mp4");
    touch("f/videos/bbb_000001_000011.mp4");
    touch("f/videos/ccc_000001_000002.mp4");
    expect("f", "train", "x|y\nvideos/aaa_000001_000002.mp4:0\n"
           "videos/bbb_000001_000002.mp4:1");
    expect("f", "validation", "y\nvideos/ccc_000001_000002.mp4:0");
    expect("f", "test", "\nvideos/bbb_000001_000011.mp4:-1");
    refuse("f/annotations/train.csv", "test", "the splits are 'train'");
    expect("f/annotations/train.csv", "training", "x|y\n"
           "videos/aaa_000001_000002.mp4:0\nvideos/bbb_000001_000002.mp4:1");
    refuse("f", "extra", "f: no extra.csv in it");
}

/* One file for all splits. */
static void test_kinetics_mixed(void)
{
    clip_folder("m");
    kinetics_file("m/all.csv", "x,aaa,1,2,train\ny,bbb,1,2,validate\n"
                  "x,ccc,1,2,validate\n");
    touch("m/aaa.mp4");
    touch("m/bbb.mp4");
    touch("m/ccc.mp4");
    expect("m/all.csv", "train", "x\nm/aaa.mp4#t=1,2~:0");
    expect("m/all.csv", "val", "x|y\nm/bbb.mp4#t=1,2~:1\nm/ccc.mp4#t=1,2~:0");
    refuse("m/all.csv", "test", "no clip of the split 'test'");
}

static void test_kinetics_errors(void)
{
    static const struct { const char *rows, *says; } row[] = {
        { "x,aaa,1\n", "e/train.csv:2: '' is no time" },
        { "x,aaa,1,2,train\n\"x,aaa,1,2,train\n", ":3: a quote" },
        { "x,aaa,1,2,\"\n", ":2: a quote" },
        { "x,aaa,1,2,\"train\"\"\n", ":2: a quote" },
        { "x,bbb,1,2,train\n,aaa,1,2,train\n", ":3: no label" },
        { "x,,1,2,train\n", ":2: no path or id" },
        { "x,../aaa,1,2,train\n", ":2: '../aaa' is no youtube_id" },
        { "x,aaa,-1,2,train\n", ":2: '-1' is no time" },
        { "x,aaa,1,two,train\n", ":2: 'two' is no time" },
        { "x,aaa,1,nan,train\n", ":2: 'nan' is no time" },
        { "x,aaa,1,1e9,train\n", ":2: '1e9' is no time" },
        { "x,bbb,1,2,train\n", "there is no video of its 1 clips, such as "
          "bbb_000001_000002.mp4" },
        { "", "no clips in it" },
    };

    clip_folder("e");
    touch("e/aaa.mp4");
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        kinetics_file("e/train.csv", row[r].rows);
        refuse("e/train.csv", "train", row[r].says);
    }
}

/* SlowFast's csv has a blank between path and number. */
static void test_slowfast(void)
{
    clip_folder("s");
    clip_folder("s/lists");
    clip_folder("s/clips");
    clip_folder("s/clips/a b");
    touch("s/clips/a b/x,1.mp4");
    clip_text("s/lists/train.csv", "a b/x,1.mp4 0\nc/y.mp4 1\n");
    expect("s/lists/train.csv", "train", "a b|c\na b/x,1.mp4:0\nc/y.mp4:1");
}

/* ---- HMDB51 ---- */

static void make_hmdb(void)
{
    clip_folder("h");
    clip_folder("h/testTrainMulti_7030_splits");
    clip_folder("h/hmdb51_org");
    clip_folder("h/hmdb51_org/brush_hair");
    clip_folder("h/hmdb51_org/wave");
    clip_text("h/testTrainMulti_7030_splits/brush_hair_test_split1.txt",
              "one.avi 1 \ntwo.avi 2 \nthree.avi 0 \n");
    clip_text("h/testTrainMulti_7030_splits/brush_hair_test_split2.txt",
              "one.avi 2\ntwo.avi 1\nthree.avi 1\n");
    clip_text("h/testTrainMulti_7030_splits/wave_test_split1.txt",
              "one.avi 1\nfo(u)r #1.avi 2\n");
    clip_text("h/testTrainMulti_7030_splits/wave_test_split2.txt",
              "one.avi 1\nfo(u)r #1.avi 1\n");
    touch("h/hmdb51_org/brush_hair/one.avi");
    touch("h/hmdb51_org/brush_hair/two.mp4");
    touch("h/hmdb51_org/brush_hair/three.avi");
    touch("h/hmdb51_org/wave/one.avi");
    touch("h/hmdb51_org/wave/fo(u)r #1.avi");
}

static void test_hmdb(void)
{
    static const char *const path[] = { "h", "h/testTrainMulti_7030_splits",
        "h/testTrainMulti_7030_splits/wave_test_split1.txt" };
    static const char tested[] = "brush_hair|wave\nbrush_hair/two.mp4:0\n"
                                 "wave/fo(u)r #1.avi:1";

    make_hmdb();
    for (size_t i = 0; i < CTT_LEN(path); i++) {
        expect(path[i], "train", "brush_hair|wave\nbrush_hair/one.avi:0\n"
               "wave/one.avi:1");
        expect(path[i], "test", tested);
        expect(path[i], "validation", tested);
    }
    expect("h", "train1", "brush_hair|wave\nbrush_hair/one.avi:0\n"
           "wave/one.avi:1");
    expect("h", "train2", "brush_hair|wave\nbrush_hair/two.mp4:0\n"
           "brush_hair/three.avi:0\nwave/one.avi:1\nwave/fo(u)r #1.avi:1");
    expect("h", "test2", "brush_hair|wave\nbrush_hair/one.avi:0");
    expect("h/testTrainMulti_7030_splits/wave_test_split2.txt", "test",
           "brush_hair|wave\nbrush_hair/one.avi:0");
    refuse("h", "train3", "no split 'train3' in it");
    refuse("h", "extra", "no split 'extra' in it");
}

static void test_hmdb_errors(void)
{
    static const struct { const char *text, *says; } row[] = {
        { "one.avi 3\n", "wave_test_split1.txt:1: not a file and 0, 1 or 2" },
        { "one.avi 1\none.avi\n", ":2: not a file" },
        { "one.avi -1\n", ":1: not a file" },
        { "../one.avi 1\n", ":1: a bad file name" },
        { "other.avi 1\n", "there is no video of its 1 clips, such as "
          "wave/other.avi" },
        { "one.avi 0\n", "no clips in split" },
    };

    clip_folder("g");
    clip_folder("g/splits");
    clip_folder("g/wave");
    touch("g/wave/one.avi");
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        clip_text("g/splits/wave_test_split1.txt", row[r].text);
        refuse("g", "train", row[r].says);
    }
}

/* ---- UCF101 ---- */

static void test_ucf(void)
{
    clip_folder("u");
    clip_folder("u/ucfTrainTestlist");
    clip_folder("u/UCF-101");
    clip_folder("u/UCF-101/Archery");
    touch("u/UCF-101/Archery/v1.avi");
    clip_text("u/ucfTrainTestlist/classInd.txt", "1 ApplyMakeup\r\n"
              "2 Archery\r\n");
    clip_text("u/ucfTrainTestlist/trainlist01.txt",
              "Archery/v1.avi 2\r\nApplyMakeup/v2.avi 1\r\n");
    clip_text("u/ucfTrainTestlist/testlist01.txt", "Archery/v3.avi\r\n"
              "Archery/v1.avi\r\n");
    clip_text("u/ucfTrainTestlist/trainlist02.txt", "Archery/v1.avi 2\n"
              "ApplyMakeup/v3.avi 1\n");
    expect("u", "train", "ApplyMakeup|Archery\nArchery/v1.avi:1\n"
           "ApplyMakeup/v2.avi:0");
    expect("u/ucfTrainTestlist/testlist01.txt", "test",
           "ApplyMakeup|Archery\nArchery/v3.avi:1\nArchery/v1.avi:1");
    expect("u", "val", "ApplyMakeup|Archery\nArchery/v3.avi:1\n"
           "Archery/v1.avi:1");
    expect("u/ucfTrainTestlist", "train2", "ApplyMakeup|Archery\n"
           "Archery/v1.avi:1\nApplyMakeup/v3.avi:0");
    refuse("u", "test2", "no split 'test2' in it");
    clip_text("u/ucfTrainTestlist/testlist01.txt", "Archery/v1.avi\n"
              "Boxing/v1.avi\n");
    refuse("u", "test", "testlist01.txt:2: 'Boxing/v1.avi' is in no folder");
}

/* Lists in a folder of any name, between those of the classes or above the
 * videos. */
static void test_ucf_named(void)
{
    clip_folder("n");
    clip_folder("n/Archery");
    clip_folder("n/Boxing");
    clip_folder("n/lists");
    touch("n/Archery/v1.avi");
    touch("n/Boxing/v2.avi");
    clip_text("n/lists/classInd.txt", "1 Archery\n2 Boxing\n");
    clip_text("n/lists/trainlist01.txt", "Archery/v1.avi 1\n"
              "Boxing/v2.avi 2\n");
    clip_text("n/lists/testlist01.txt", "Boxing/v2.avi\n");
    expect("n", "train", "Archery|Boxing\nArchery/v1.avi:0\nBoxing/v2.avi:1");
    expect("n", "test", "Archery|Boxing\nBoxing/v2.avi:1");
    expect("n/lists", "test", "Archery|Boxing\nBoxing/v2.avi:1");
    CU_ASSERT(remove(clip_path("n/lists/trainlist01.txt")) == 0);
    expect("n", "train", "Archery|Boxing\nArchery/v1.avi:0\nBoxing/v2.avi:1");
}

static void test_memory(void)
{
    kinetics_file("m/all.csv", "x,aaa,1,2,train\n");
    list_without_memory(clip_path("m/all.csv"), NULL);
    list_without_memory(clip_path("h"), NULL);
    list_without_memory(clip_path("u"), NULL);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "Kinetics", test_kinetics },
        { "Kinetics: a folder", test_kinetics_folder },
        { "Kinetics: all splits in a file", test_kinetics_mixed },
        { "Kinetics: errors", test_kinetics_errors },
        { "SlowFast", test_slowfast },
        { "HMDB51", test_hmdb }, { "HMDB51: errors", test_hmdb_errors },
        { "UCF101", test_ucf }, { "UCF101: a name", test_ucf_named },
        { "memory", test_memory },
        CU_TEST_INFO_NULL };
    static CU_SuiteInfo suites[] = {
        { "lists of data sets", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
