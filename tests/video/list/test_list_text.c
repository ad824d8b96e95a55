/* SPDX-License-Identifier: Apache-2.0
 * test_list_text.c: lists of clips as text: their columns, several labels,
 * and what is wrong with them. */
#include "base/letters.h"
#include "base/limits.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "tests/lib/list.h"

#include <stdio.h>
#include <string.h>

/* Numbers with gaps or from 1 on: a number without a clip is no class; the
 * names say which number was which. */
static void test_gaps(void)
{
    char *folders[] = { "a", "b", "c" }, *numbers[] = { "3", "7", "900000000" };

    clip_folder("g");
    clip_text("g/gap.txt", "x.mp4 7\ny.mp4 900000000\nz.mp4 3\n");
    list_expect(clip_path("g/gap.txt"), "train", NULL, 0, NULL,
                "3|7|900000000\ng/x.mp4:1\ng/y.mp4:2\ng/z.mp4:0");
    clip_text("g/one.txt", "x.mp4 1\ny.mp4 2\n");
    list_expect(clip_path("g/one.txt"), "train", NULL, 0, NULL,
                "1|2\ng/x.mp4:0\ng/y.mp4:1");
    clip_text("g/part.txt", "x.mp4 900000000\ny.mp4 3\n");
    list_expect(clip_path("g/part.txt"), "test", numbers, 3, NULL,
                "3|7|900000000\ng/x.mp4:2\ng/y.mp4:0");
    clip_text("g/named.txt", "a/x.mp4 3\nb/y.mp4 7\n");
    list_expect(clip_path("g/named.txt"), "train", NULL, 0, NULL,
                "3|7\na/x.mp4:0\nb/y.mp4:1");
    list_expect(clip_path("g/named.txt"), "test", numbers, 3, NULL,
                "3|7|900000000\na/x.mp4:0\nb/y.mp4:1");
    clip_text("g/index.txt", "x.mp4 2\ny.mp4 0\n");
    list_expect(clip_path("g/index.txt"), "test", folders, 3, NULL,
                "a|b|c\ng/x.mp4:2\ng/y.mp4:0");
    list_refuse(clip_path("g/gap.txt"), "test", folders, 3, NULL,
                "only in a list that has a 0");
    clip_text("g/keep.txt", "7\n");
    list_expect(clip_path("g/gap.txt"), "train", NULL, 0,
                clip_path("g/keep.txt"), "7\ng/x.mp4:0");
    clip_text("g/keep.txt", "1\n");
    list_refuse(clip_path("g/gap.txt"), "train", NULL, 0,
                clip_path("g/keep.txt"), "no class '1'");
}

/* A video named without its extension; two that it may be. */
static void test_stems(void)
{
    clip_folder("ids");
    clip_text("ids/abc.mp4", "");
    clip_text("ids/d.e", "");
    clip_text("ids/-f_1.webm", "");
    clip_text("ids/list.txt", "abc run\nd.e walk\n-f_1 run\ngone walk\n");
    list_expect(clip_path("ids/list.txt"), "train", NULL, 0, NULL,
                "run|walk\nids/abc.mp4:0\nids/d.e:1\nids/-f_1.webm:0\n"
                "ids/gone:1");
    clip_text("ids/v.1.mp4", "");
    clip_text("ids/dot.txt", "v.1 run\nv.1#t=1,2 walk\nabc#0+3 run\nv.2 run\n");
    list_expect(clip_path("ids/dot.txt"), "train", NULL, 0, NULL,
                "run|walk\nids/v.1.mp4:0\nids/v.1.mp4#t=1,2:1\n"
                "ids/abc.mp4#0+3:0\nids/v.2:0");
    clip_text("ids/abc.avi", "");
    list_refuse(clip_path("ids/list.txt"), "train", NULL, 0, NULL,
                "ids/abc.avi; name one");
}

/* Parts of videos: seconds, or frames behind '#' or below such a heading. */
static void test_parts(void)
{
    static const struct { const char *text, *is; } row[] = {
        { "abc.mp4 0 2.5 run\nabc.mp4 2.5 7 walk\nno.mp4 1 2 run\n",
          "run|walk\nvid/abc.mp4#t=0,2.5:0\nvid/abc.mp4#t=2.5,7:1\n"
          "vid/no.mp4#t=1,2:0" },
        { "abc.mp4,#300,#450,0\nabc.mp4, #0, #1, 4\n",
          "0|4\nvid/abc.mp4#300+150:0\nvid/abc.mp4#0+1:1" },
        { "Video,Start_Frame,End_Frame,Label\nabc,10,20,a\n",
          "a\nvid/abc.mp4#10+10:0" },
        { "abc 10 20 a\n", "a\nvid/abc.mp4#t=10,20:0" },
    };
    static const char *const bad[] = { "abc.mp4 2 1 a", "abc.mp4 2 2 a",
        "abc.mp4 -1 2 a", "abc.mp4 nan 2 a", "abc.mp4 1 1e99 a",
        "abc.mp4 1 99999999999 a", "abc.mp4 #1 2 a", "abc.mp4 #2 #1 a",
        "abc.mp4 #0 #9999999999 a", "abc.mp4 a", "abc.mp4 1 a" };
    char text[128];

    clip_folder("vid");
    clip_text("vid/abc.mp4", "");
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        clip_text("vid/list.txt", row[r].text);
        list_expect(clip_path("vid/list.txt"), "train", NULL, 0, NULL,
                    row[r].is);
    }
    list_expect(clip_path("vid/abc.mp4#t=1,2"), "train", NULL, 0, NULL,
                "\nvid/abc.mp4#t=1,2:-1");
    list_refuse(clip_path("vid/none.mp4#t=1,2"), "train", NULL, 0, NULL,
                "no such file or folder");
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        snprintf(text, sizeof(text), "abc.mp4 0 1 a\n%s\n", bad[i]);
        clip_text("vid/list.txt", text);
        list_refuse(clip_path("vid/list.txt"), "train", NULL, 0, NULL,
                    "list.txt:2: not a video, start, end");
    }
}

/* Paths that say the part; a bad part is one of that line. */
static void test_part_paths(void)
{
    clip_folder("pp");
    clip_folder("pp/lists");
    clip_folder("pp/clips");
    clip_folder("pp/clips/pics");
    clip_text("pp/clips/x.mp4", "");
    clip_text("pp/lists/l.txt", "x.mp4#t=1,2 a\nx.mp4#3+4 b\n");
    list_expect(clip_path("pp/lists/l.txt"), "train", NULL, 0, NULL,
                "a|b\nclips/x.mp4#t=1,2:0\nclips/x.mp4#3+4:1");
    clip_text("pp/lists/l.txt", "x.mp4#t=1,2 a\nx.mp4#t=2,3.5 b\n");
    list_expect(clip_path("pp/lists/l.txt"), "train", NULL, 0, NULL,
                "a|b\nclips/x.mp4#t=1,2:0\nclips/x.mp4#t=2,3.5:1");
    clip_text("pp/lists/l.txt", "x.mp4#t=1,2,a\nx.mp4#t=2,3,b\n");
    list_expect(clip_path("pp/lists/l.txt"), "train", NULL, 0, NULL,
                "a|b\nclips/x.mp4#t=1,2:0\nclips/x.mp4#t=2,3:1");
    clip_text("pp/lists/l.txt", "pics 0 3 1\npics 3 4 0\n");
    list_expect(clip_path("pp/lists/l.txt"), "train", NULL, 0, NULL,
                "0|1\nclips/pics#0+3:1\nclips/pics#3+4:0");
    clip_text("pp/lists/l.txt", "x.mp4#t=1,2 a\nx.mp4#t=2,1 b\n");
    list_refuse(clip_path("pp/lists/l.txt"), "train", NULL, 0, NULL,
                "l.txt:2: ");
    clip_text("pp/lists/l.csv", "path,label\nx.mp4,a\nx.mp4#t=,b\n");
    list_refuse(clip_path("pp/lists/l.csv"), "train", NULL, 0, NULL,
                "not two times");
}

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
        { "Path,Label\na/x.mp4,1\nb/y.mp4,0\n", "b|a\na/x.mp4:1\nb/y.mp4:0" },
        { "# made\nvideo class\na/x.mp4 run\n", "run\na/x.mp4:0" },
        { "path/x.mp4,class\n", "class\npath/x.mp4:0" },
        { "a/x.mp4,3D\na/y.mp4,-\na/z.mp4,1-2\n", "-|1-2|3D\na/x.mp4:2\n"
          "a/y.mp4:0\na/z.mp4:1" },
    };

    clip_folder("t");
    clip_folder("t/pics");
    clip_text("t/my clip.mp4", "");    /* lists do not open clips */
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        const char *path = clip_path("list%zu.%s", r, r % 2 ? "csv" : "txt");
        clip_text(strrchr(path, '/') + 1, row[r].text);
        list_expect(path, "train", NULL, 0, NULL, row[r].is);
    }
}

/* Quotes enclose separators, and are no part of a name. */
static void test_quotes(void)
{
    static const struct { const char *text, *is; } row[] = {
        { "\"q/e.mp4 run\n", "?quotes.txt:1: a quote that is not closed" },
        { "\"q/a, b.mp4\" run\n\"q/c d.mp4\" walk\n",
          "run|walk\nq/a, b.mp4:0\nq/c d.mp4:1" },
        { "\"q/a, b.mp4\",\"run, far\"\nq/e.mp4,\"say \"\"go\"\"\"\n",
          "run, far|say \"go\"\nq/a, b.mp4:0\nq/e.mp4:1" },
        { "\"q/a, b.mp4\" \"1\"\nq/e.mp4 0\n",
          "0|1\nq/a, b.mp4:1\nq/e.mp4:0" },
        { "\"q/c d.mp4\" 0 1.5 \"run far\"\n\"q/a, b.mp4\" 2 3 walk\n",
          "run far|walk\nq/c d.mp4#t=0,1.5:0\nq/a, b.mp4#t=2,3:1" },
        { "\"q/c d.mp4\"\n\"q/a, b.mp4\"\n",
          "\nq/c d.mp4:-1\nq/a, b.mp4:-1" },
        { "q/5\".mp4 run\nq/e.mp4 walk\n",
          "run|walk\nq/5\".mp4:0\nq/e.mp4:1" },
    };

    clip_folder("q");
    clip_text("q/a, b.mp4", "");
    clip_text("q/c d.mp4", "");
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        clip_text("quotes.txt", row[r].text);
        (*row[r].is == '?' ? list_refuse : list_expect)(
            clip_path("quotes.txt"), "train", NULL, 0, NULL,
            row[r].is + (*row[r].is == '?'));
    }
    list_without_memory(clip_path("quotes.txt"), NULL);
}

/* Several labels that are no single word are refused, not read as another
 * path, of the clips of the test before. */
static void test_several_words(void)
{
    static const struct { const char *text, *says; } row[] = {
        { "s/a.mp4 0 3\ns/b.mp4 1 2\n", ":1: several labels behind 's/a.mp4'; "
          "a name of several words stands in quotes, several labels are one "
          "word, 0|3" },
        { "s/a.mp4 0 3\ns/b.mp4 1\n", ":1: several labels behind 's/a.mp4'" },
        { "s/a 0 3\ns/b 1\n", ":1: several labels behind 's/a'" },
        { "s/a.mp4,0,3,7\ns/b.mp4,1\n", "several labels are written 0|3" },
        { "s/a.mp4 0 1 2\ns/b.mp4 1\n", ":2: not a video, start, end (later, "
          "in seconds or as #FRAME) and label; several labels are written" },
        { "s/a.mp4 0 1 2\ns/b.mp4 2 1 0\n", "several labels" },
        { "s/a.mp4 0 1 2\ns/b.mp4 0 1 2 3\n", ":2: several labels" },
        { "s/a.mp4,run,jump\ns/b.mp4,run\n", ":1: several labels" },
        { "s/a.mp4 run||jump\ns/b.mp4 run\n", ":1: several labels, one of "
          "which is empty" },
        { "path,label\ns/a.mp4,run|\ns/b.mp4,1\n", ":2: several labels, one" },
        { "s/a.mp4\ns/b.mp4 1\n", ":2: a label that others lack" },
    };

    for (size_t r = 0; r < CTT_LEN(row); r++) {
        clip_text("several.txt", row[r].text);
        list_refuse(clip_path("several.txt"), "train", NULL, 0, NULL,
                    row[r].says);
    }
    clip_text("s/a 3.mp4", "");
    clip_text("several.txt", "s/a 3.mp4 run\ns/a 4.mp4 walk\ns/a 3 walk\n");
    list_expect(clip_path("several.txt"), "train", NULL, 0, NULL,
                "run|walk\ns/a 3.mp4:0\ns/a 4.mp4:1\ns/a 3.mp4:1");
}

/* Several labels of a clip; a class that a clip has twice counts once. */
static void test_several(void)
{
    static char *const numbers[] = { "0", "1", "3" };
    static const struct { const char *text, *is; } row[] = {
        { "s/a.mp4 0,3\ns/b.mp4 1\n", "0|1|3\ns/a.mp4:0,2\ns/b.mp4:1" },
        { "s/a.mp4 3,0\ns/b.mp4 1,0\n", "0|1|3\ns/a.mp4:2,0\ns/b.mp4:1,0" },
        { "s/a.mp4\t0|3\ns/b.mp4\t1\n", "0|1|3\ns/a.mp4:0,2\ns/b.mp4:1" },
        { "s/a.mp4,3|0|3\ns/b.mp4,1\n", "0|1|3\ns/a.mp4:2,0\ns/b.mp4:1" },
        { "s/a.mp4 run|jump\ns/b.mp4 run\n",
          "jump|run\ns/a.mp4:1,0\ns/b.mp4:1" },
        { "s/a.mp4 run,jump\ns/b.mp4 run\n",
          "jump|run\ns/a.mp4:1,0\ns/b.mp4:1" },
        { "s/a.mp4 run,jump\ns/b.mp4 sit,run\n",
          "jump|run|sit\ns/a.mp4:1,0\ns/b.mp4:2,1" },
        /* Names with a comma, of which no part is another label. */
        { "s/a.mp4 run,jump\ns/b.mp4 sit\n",
          "run,jump|sit\ns/a.mp4:0\ns/b.mp4:1" },
        { "path,label\ns/a.mp4,\"0,3\"\ns/b.mp4,1\n",
          "0|1|3\ns/a.mp4:0,2\ns/b.mp4:1" },
        { "path,label\ns/a.mp4,a | b\ns/b.mp4,c\n",
          "a|b|c\ns/a.mp4:0,1\ns/b.mp4:2" },
        { "path,label\ns/a.mp4,\"put it, up\"\ns/b.mp4,put it\n",
          "put it|put it, up\ns/a.mp4:1\ns/b.mp4:0" },
        { "s/a.mp4 0.5 2 1,3\ns/b.mp4 1 2 0\n",
          "0|1|3\ns/a.mp4#t=0.5,2:1,2\ns/b.mp4#t=1,2:0" },
    };

    clip_folder("s");
    clip_text("s/a.mp4", "");
    clip_text("s/b.mp4", "");
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        clip_text("several.txt", row[r].text);
        list_expect(clip_path("several.txt"), "train", NULL, 0, NULL,
                    row[r].is);
    }
    clip_text("several.txt", "s/a.mp4 0,3\ns/b.mp4 1\n");
    list_expect(clip_path("several.txt"), "train", numbers, 3, NULL,
                "0|1|3\ns/a.mp4:0,2\ns/b.mp4:1");
    list_refuse(clip_path("several.txt"), "train", numbers, 2, NULL,
                "none of the model's 2 classes");
    clip_text("keep.txt", "3\n1\n");
    list_expect(clip_path("several.txt"), "train", NULL, 0,
                clip_path("keep.txt"), "3|1\ns/a.mp4:0\ns/b.mp4:1");
    clip_text("keep.txt", "0\n3\n");
    list_expect(clip_path("several.txt"), "train", NULL, 0,
                clip_path("keep.txt"), "0|3\ns/a.mp4:0,1");
    list_without_memory(clip_path("several.txt"), NULL);
}

/* The same in JSON, as an array. */
static void test_several_json(void)
{
    clip_text("several.json", "[{\"path\":\"s/a.mp4\",\"labels\":[\"run\","
              "\"put it, up\"]},{\"path\":\"s/b.mp4\",\"labels\":"
              "[\"run\"]}]");
    list_expect(clip_path("several.json"), "train", NULL, 0, NULL,
                "put it, up|run\ns/a.mp4:1,0\ns/b.mp4:1");
    clip_text("several.json", "[{\"path\":\"s/a.mp4\",\"label\":[4,0]},"
              "{\"path\":\"s/b.mp4\",\"label\":4}]");
    list_expect(clip_path("several.json"), "train", NULL, 0, NULL,
                "0|4\ns/a.mp4:1,0\ns/b.mp4:1");
    list_without_memory(clip_path("several.json"), NULL);
    clip_text("several.json", "[{\"path\":\"s/a.mp4\",\"label\":[]}, "
              "{\"path\":\"s/b.mp4\",\"label\":1}]");
    list_refuse(clip_path("several.json"), "train", NULL, 0, NULL,
                "several.json:1: no label");
    clip_text("several.json", "[{\"path\":\"s/a.mp4\",\"label\":[[1]]}]");
    list_refuse(clip_path("several.json"), "train", NULL, 0, NULL,
                "a label that is no text or number");
}

/* A 0 byte in a list is no clip of that name. */
static void test_zero(void)
{
    static const char text[] = "s/a.mp4 0\n\0s/b.mp4 1\n";
    FILE *f = fopen(clip_path("zero.txt"), "wb");

    CU_ASSERT_FATAL(f && fwrite(text, 1, sizeof(text) - 1, f) > 0 &&
                    fclose(f) == 0);
    list_refuse(clip_path("zero.txt"), "train", NULL, 0, NULL,
                "zero.txt: not a text, byte 11 is 0");
}

/* The limit of classes is that of the process. */
static void test_many(void)
{
    const struct ctt_limits all = *ctt_limits();
    struct ctt_limits few = all;

    few.classes = 2;
    CHECK_OK(ctt_limits_set(&few));
    clip_text("many.txt", "x.mp4 a\ny.mp4 b\nz.mp4 c\n");
    list_refuse(clip_path("many.txt"), "train", NULL, 0, NULL,
                "more than 2 classes");
    clip_text("many.txt", "x.mp4 0\ny.mp4 2\nz.mp4 7\n");
    list_refuse(clip_path("many.txt"), "train", NULL, 0, NULL,
                "more than 2 classes");
    CHECK_OK(ctt_limits_set(&all));
}

static void test_text_errors(void)
{
    static const struct { const char *text, *says; } row[] = {
        { "", "no clips in it" }, { "# nothing\n\n", "no clips in it" },
        { "x.mp4,\ny.mp4,\n", ":1: no label" },
        { "x.mp4 0\ny.mp4 -1\n", ":2: the label -1 is no class number" },
        { "x.mp4 run\ny.mp4 -1\n", ":2: the label -1 is no class number" },
        { "x.mp4,1.5\n", ":1: the label 1.5 is no class number" },
        { "x.mp4 0\ny.mp4 99999999999\n", ":2: the label 99999999999 is" },
        { "x.mp4 1e3\n", ":1: the label 1e3 is no class number" },
        { "a.mp4,0\n,1\n", ":2: no path" },
        { "f/pics 4 0\nf/pics x 0", ":2: not a folder, number of frames" },
    };

    clip_folder("f");
    clip_folder("f/pics");
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        clip_text("bad.txt", row[r].text);
        list_refuse(clip_path("bad.txt"), "train", NULL, 0, NULL, row[r].says);
    }
}

/* Lines that end with a carriage return alone, a last one with both, and one
 * carriage return in a line, which is a part of it. */
static void test_line_ends(void)
{
    static const struct { const char *name, *text, *is; } row[] = {
        { "v/l.txt", "x 1\ry 2\r", "1|2\nv/x:0\nv/y:1" },
        { "v/l.txt", "x 1\r# no\r\ry 2", "1|2\nv/x:0\nv/y:1" },
        { "v/l.txt", "x 1\ry 2\r\n", "1|2\nv/x:0\nv/y:1" },
        { "v/l.txt", "x 1\r\ny 2\r\n", "1|2\nv/x:0\nv/y:1" },
        { "v/l.csv", "path,label\rx,a\ry,b\r", "a|b\nv/x:0\nv/y:1" },
        { "v/l.csv", "path,label\r\"x\",\"a\"\ry,b",
          "a|b\nv/x:0\nv/y:1" },
        { "v/l.txt", "x\rz 1\ny 2\n", "1|2\nv/x\rz:0\nv/y:1" },
    };

    clip_folder("v");
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        clip_text(row[r].name, row[r].text);
        list_expect(clip_path(row[r].name), "train", NULL, 0, NULL, row[r].is);
    }
    clip_text("v/l.txt", "x,1\r,2\r");
    list_refuse(clip_path("v/l.txt"), "train", NULL, 0, NULL, "l.txt:2: no");
    clip_text("v/keep", "2\r1\r");
    clip_text("v/l.txt", "x 1\ry 2\rz 3\r");
    list_expect(clip_path("v/l.txt"), "train", NULL, 0, clip_path("v/keep"),
                "2|1\nv/x:1\nv/y:0");
}

/* Names that look the same and are not: composed letters and others. */
static void test_accents(void)
{
    static const struct { const char *model, *label; } row[] = {
        { "caf\u00e9", "cafe\u0301" }, { "cafe\u0301", "caf\u00e9" },
        { "\u00c5ngstr\u00f6m", "A\u030angstro\u0308m" },
        { "\u017di\u017eka", "Z\u030ci\u017eka" },
        { "\u0439", "\u0438\u0306" }, { "\u304c", "\u304b\u3099" },
        { "\u30d1", "\u30cf\u309a" },
        { "\ud55c\uae00", "\u1112\u1161\u11ab\u1100\u1173\u11af" },
        { "\uac00", "\u1100\u1161" },
    };
    static const struct { const char *model, *label; } other[] = {
        { "cafe", "caf\u00e9" }, { "caf\u00e8", "cafe\u0301" },
        { "\u00f8", "o\u0338" }, { "caf\u00e9", "caf\u00e9s" },
        { "\u00e9", "\xe9" },
    };
    char *model[] = { NULL, "b" }, text[64];

    for (size_t r = 0; r < CTT_LEN(row); r++) {
        model[0] = (char *)row[r].model;
        snprintf(text, sizeof(text), "x %s\ny b\n", row[r].label);
        clip_text("v/list.txt", text);
        clip_text("keep", row[r].model);
        list_refuse(clip_path("v/list.txt"), "val", model, 2, NULL,
                    "classes, which have one that writes its accents in");
        list_refuse(clip_path("v/list.txt"), "val", NULL, 0, clip_path("keep"),
                    ", but one that writes its accents in");
        CU_ASSERT(ctt_letters_differ_in_form(row[r].label, row[r].model));
    }
    for (size_t r = 0; r < CTT_LEN(other); r++)
        CU_ASSERT(!ctt_letters_differ_in_form(other[r].label,
                                              other[r].model));
}

static void test_memory(void)
{
    clip_folder("u");
    clip_text("u/classInd.txt", "1 Apply Makeup\n2 Archery\n");
    clip_text("u/trainlist01.txt", "A/v1.avi 1\r\nB/v2.avi 2\r\n");
    list_without_memory(clip_path("u/trainlist01.txt"), NULL);
    list_without_memory(clip_path("list1.csv"), NULL);
    list_without_memory(clip_path("list9.csv"), NULL);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "numbers with gaps", test_gaps }, { "no extension", test_stems },
        { "parts of videos", test_parts },
        { "paths of parts", test_part_paths },
        { "text", test_text }, { "its errors", test_text_errors },
        { "quotes", test_quotes }, { "several labels", test_several },
        { "several labels in JSON", test_several_json },
        { "several words", test_several_words },
        { "a 0 byte", test_zero }, { "many classes", test_many },
        { "line ends", test_line_ends }, { "accents", test_accents },
        { "memory", test_memory },
        { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "text lists", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
