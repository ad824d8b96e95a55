/* SPDX-License-Identifier: Apache-2.0
 * test_list_table.c: lists whose first line names their columns. */
#include "base/limits.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "tests/lib/list.h"

#include <stdio.h>
#include <string.h>

static void expect(const char *text, const char *split, const char *is)
{
    clip_text("t/list.csv", text);
    list_expect(clip_path("t/list.csv"), split, NULL, 0, NULL, is);
}

static void refuse(const char *text, const char *says)
{
    clip_text("t/list.csv", text);
    list_refuse(clip_path("t/list.csv"), "train", NULL, 0, NULL, says);
}

static void make(void)
{
    clip_folder("t");
    clip_folder("t/pics");
    clip_text("t/a.mp4", "");
    clip_text("t/b.mp4", "");
    clip_text("t/c, d.mp4", "");
}

/* Columns in any order, with any separator; others do not matter. */
static void test_columns(void)
{
    static const struct { const char *text, *is; } row[] = {
        { "file,class,direction,start_s,end_s\na.mp4,Walk,,0.0,2.5\n"
          "b.mp4,Fall,BW,0.4,4.0\n",
          "Fall|Walk\nt/a.mp4#t=0,2.5:1\nt/b.mp4#t=0.4,4:0" },
        { "file\tclass\tsubject\tframes\tseconds\na.mp4\tx\tS 1\t115\t3.9\n"
          "b.mp4\ty\t\t104\t3.5\n", "x|y\nt/a.mp4:0\nt/b.mp4:1" },
        { ",Label,Video\n0,x,a\n1,y,b.mp4\n", "x|y\nt/a.mp4:0\nt/b.mp4:1" },
        { "\xef\xbb\xbf" "Start (s);End (s);Action;File Name\r\n"
          "0,5;1,25;x;a.mp4\r\n\r\n;;;\r\n2;3;x;b.mp4\r\n",
          "x\nt/a.mp4#t=0.5,1.25:0\nt/b.mp4#t=2,3:0" },
        { "\"path\",\"label\"\n\"c, d.mp4\",\"say \"\"hi, you\"\"\"\n",
          "say \"hi, you\"\nt/c, d.mp4:0" },
        { "note,path,label\n\"two\nlines\",a.mp4,x\n# no clip\n,b.mp4,x\n",
          "x\nt/a.mp4:0\nt/b.mp4:0" },
        { "# made by hand\n\nvideo,label,end_frame,start_frame\n"
          "a,x,20.0,10.0\npics,x,9,3\n",
          "x\nt/a.mp4#10+10:0\nt/pics#3+6:0" },
        { "path,start_frame,end_frame,t_start,t_end\na.mp4,0,30,0,1\n",
          "\nt/a.mp4#t=0,1:-1" },
        { "video,label,start,start_frame,end_frame\na,x,1,10,20\n",
          "x\nt/a.mp4#10+10:0" },
        { "path,label,endpoint,stop words\na.mp4,x,1,2\n",
          "x\nt/a.mp4:0" },
        { "id,name,label_id,label\n7,a.mp4,1,x\n8,b.mp4,0,y\n",
          "x|y\nt/a.mp4:0\nt/b.mp4:1" },
        { "path,label,start,end\na.mp4,4,,\nb.mp4,9,1,2\n",
          "4|9\nt/a.mp4:0\nt/b.mp4#t=1,2:1" },
        { "path,label\na.mp4,x", "x\nt/a.mp4:0" },
    };

    for (size_t r = 0; r < CTT_LEN(row); r++)
        expect(row[r].text, "train", row[r].is);
}

/* A column of the split; the test may have no classes. */
static void test_split(void)
{
    static const char mixed[] = "path,label,subset\na.mp4,x,Training\n"
        "b.mp4,y,validation\nc.mp4,,testing\na.mp4,y,training\n";

    expect(mixed, "train", "x|y\nt/a.mp4:0\nt/a.mp4:1");
    expect(mixed, "val", "y\nt/b.mp4:0");
    expect(mixed, "test", "\nt/c.mp4:-1");
    expect("path,label,split\na.mp4,x,test\n", "val", "x\nt/a.mp4:0");
    list_refuse((clip_text("t/list.csv", "path,label,split\na.mp4,x,train\n"),
                 clip_path("t/list.csv")), "val", NULL, 0, NULL,
                "no clip of the split 'val'; the splits are 'train'");
    expect("path,class,label,class\na.mp4,1,x,2\n", "train",
           "x\nt/a.mp4:0");    /* of other names the best counts */
    list_refuse((clip_text("t/list.csv", mixed), clip_path("t/list.csv")),
                "other", NULL, 0, NULL, "no clip of the split 'other'");
}

static void test_errors(void)
{
    static const struct { const char *text, *says; } row[] = {
        { "path,label\n", "no clips in it" },
        { "path,label\n\n,x\n", "list.csv:3: no path" },
        { "path,label\na.mp4,x\nb.mp4\n", "list.csv:3: no label" },
        { "path,label\na.mp4,x\nb.mp4,y,z\n", "list.csv:3: 3 columns, but" },
        { "path,label\n\"a.mp4,x\nb.mp4,y\n", "list.csv:2: a quote" },
        { "path,label\n\"a.mp4\"\"\",\"x\" y\n", "list.csv:2: a quote" },
        { "path,label,start\na.mp4,x,1\n", "'start' has no other one that is "
          "its end" },
        { "path,label,end_frame\na.mp4,x,1\n", "'end_frame' has no other one "
          "that is its begin" },
        { "path,label,start,end_frame\na.mp4,x,1,2\n", "has no other one" },
        { "path,label,x,Label\na.mp4,x,1,y\n", "the columns 'label' and "
          "'Label' have one name" },
        { "file,path,path,label\na.mp4,b.mp4,c.mp4,x\n", "'path' and 'path' "
          "have one name" },
        { "path,label,start_ms,end_ms\na.mp4,x,1,2\n", "is not known; times" },
        { "path,label,start,end\na.mp4,x,0,1\na.mp4,x,2,1\n", "list.csv:3: "
          "not a video, start, end" },
        { "path,label,start,end\na.mp4,x,0,\n", "list.csv:2: not a video" },
        { "path,label,start,end\na.mp4,x,,1\n", "list.csv:2: not a video" },
        { "path,label,start,end\na.mp4,x,-1,1\n", "list.csv:2: not a video" },
        { "path,label,start,end\na.mp4,x,nan,1\n", "list.csv:2: not a video" },
        { "path,label,start,end\na.mp4,x,0,1e99\n", "list.csv:2: not a video" },
        { "path,label,start,end\na.mp4,x,0,0.0000001\n", ":2: not a video" },
        { "path,label,start_frame,end_frame\na.mp4,x,0,99999999999\n",
          "list.csv:2: not a video" },
        { "path,label,start_frame,end_frame\na.mp4,x,1.5,2\n",
          "list.csv:2: not a video" },
        { "path,label\na.mp4,x\nb.mp4,-1\n", ":3: the label -1 is no class" },
    };

    for (size_t r = 0; r < CTT_LEN(row); r++)
        refuse(row[r].text, row[r].says);
}

/* More columns than a list may have, which are quoted or not. */
static void test_wide(void)
{
    static char text[4096];
    size_t n = (size_t)snprintf(text, sizeof(text), "path,label");

    for (int i = 0; i < 250; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, ",x%d", i);
    snprintf(text + n, sizeof(text) - n, "\na.mp4,run\n");
    expect(text, "train", "run\nt/a.mp4:0");
    memset(text + n, ',', 300);
    text[n + 300] = 0;
    refuse(text, "");
}

static void test_memory(void)
{
    clip_text("t/list.csv", "start,path,label,end,split\n0,a,\"x\",1,train\n"
              "0,a.mp4,y,1,train\n3,b,x,7,val\n");
    list_without_memory(clip_path("t/list.csv"), NULL);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "columns", test_columns }, { "splits", test_split },
        { "errors", test_errors }, { "many columns", test_wide },
        { "memory", test_memory }, CU_TEST_INFO_NULL };
    static CU_SuiteInfo suites[] = {
        { "lists with named columns", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL };
    int rc;

    make();
    rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
