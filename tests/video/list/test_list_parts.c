/* SPDX-License-Identifier: Apache-2.0
 * test_list_parts.c: what is made of a list: a class of what lies between the
 * parts of its videos, and the rate of its folders of pictures. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "tests/lib/list.h"

#include <stdio.h>
#include <string.h>

/* What is wanted of the list of that text is `is`, or an error that says it. */
static void expect(const char *text, const struct ctt_list_want *w,
                   const char *is)
{
    struct ctt_list *l = NULL;
    const char *got;
    int rc;

    clip_text("p/list.txt", text);
    rc = ctt_list_find(clip_path("p/list.txt"), w, &l);
    got = rc < 0 ? ctt_errmsg() : list_text(l);
    if (rc < 0 ? !strstr(got, is) : strcmp(got, is) != 0) {
        printf("\n    got\n%s\n    expected\n%s", got, is);
        CU_FAIL("list");
    }
    ctt_list_free(&l);
}

static void background(const char *text, const char *is)
{
    const struct ctt_list_want w = { .background = "none" };

    expect(text, &w, is);
}

/* Pieces are about as long as the median part; a gap of less than half of it
 * is left out, parts may overlap, and a video's order in the list is free. */
static void test_background(void)
{
    background("a.mp4 4 6 x\na.mp4 11 13 y\na.mp4 13.5 15.5 x\n",
               "x|y|none\np/a.mp4#t=4,6:0\np/a.mp4#t=11,13:1\n"
               "p/a.mp4#t=13.5,15.5:0\np/a.mp4#t=0,2:2\np/a.mp4#t=2,4:2\n"
               "p/a.mp4#t=6,7.666667:2\np/a.mp4#t=7.666667,9.333333:2\n"
               "p/a.mp4#t=9.333333,11:2");
    background("a.mp4 9 10 x\nb.mp4 1 2 y\na.mp4 0 8 x\na.mp4 2 3 x\n",
               "x|y|none\np/a.mp4#t=9,10:0\np/b.mp4#t=1,2:1\np/a.mp4#t=0,8:0\n"
               "p/a.mp4#t=2,3:0\np/a.mp4#t=8,9:2\np/b.mp4#t=0,1:2");
    background("a.mp4,#30,#60,4\na.mp4,#95,#125,7\npics,5,30,4\n",
               "parts in seconds and parts in frames");
    background("a.mp4,#30,#60,4\na.mp4,#95,#125,7\n",
               "4|7|none\np/a.mp4#30+30:0\np/a.mp4#95+30:1\n"
               "p/a.mp4#0+30:2\np/a.mp4#60+35:2");
    background("pics 8 4 x\npics 0 4 y\n", "x|y|none\np/pics#8+4:0\n"
               "p/pics#0+4:1\np/pics#4+4:2");
}

/* A part of another split is no gap, and the gap before it is that split's. */
static void test_background_splits(void)
{
    static const char text[] =
        "file,class,start,end,split\na.mp4,x,1,2,train\n"
        "a.mp4,x,3.2,4.8,val\na.mp4,y,6,7,train\nb.mp4,y,1,2,val\n";
    struct ctt_list_want w = { .background = "none", .split = "train" };

    expect(text, &w, "x|y|none\np/a.mp4#t=1,2:0\np/a.mp4#t=6,7:1\n"
           "p/a.mp4#t=0,1:2\np/a.mp4#t=4.8,6:2");
    w.split = "val";
    expect(text, &w, "x|y|none\np/a.mp4#t=3.2,4.8:0\np/b.mp4#t=1,2:1\n"
           "p/a.mp4#t=2,3.2:2\np/b.mp4#t=0,1:2");
}

static void test_background_refused(void)
{
    static char *known[] = { "x", "none" }, *other[] = { "x", "y" };
    struct ctt_list_want w = { .background = "none", .known = known,
                               .nknown = 2 };

    background("a.mp4 x\nb.mp4 y\n", "no clip is a part of a video");
    background("a.mp4 4 6 x\nb.mp4 4 6 none\n", "has a class 'none' already");
    background("a.mp4#t=1,2 x\na.mp4#4+6 y\n", "parts in seconds and parts in");
    background("a.mp4 0 6 x\nb.mp4 0 6 y\n", "no clip of class 'none'");
    background("a.mp4 0 1 x\na.mp4 60000 60001 x\nb.mp4 60000 60001 x\n",
               "more than 100000 clips between the parts");
    expect("a.mp4 x\nb.mp4 x\n", &w, "x|none\np/a.mp4:0\np/b.mp4:0");
    expect("a.mp4 4 6 x\n", &w, "x|none\np/a.mp4#t=4,6:0\np/a.mp4#t=0,2:1\n"
           "p/a.mp4#t=2,4:1");
    w.known = other;
    expect("a.mp4 4 6 x\n", &w, "class 'none' is none of the model's 2");
}

/* Other classes are no background when only some are chosen. */
static void test_background_subset(void)
{
    const struct ctt_list_want w = { .background = "none",
                                     .subset = clip_path("p/keep") };

    clip_text("p/keep", "none\nx\n");
    expect("a.mp4 0 2 y\na.mp4 4 6 x\n", &w, "none|x\np/a.mp4#t=4,6:1\n"
           "p/a.mp4#t=2,4:0");
}

/* A rate of the path counts more than that of the list. */
static void test_rate(void)
{
    const struct ctt_list_want w = { .fps = 12.5 };
    struct ctt_list *l = NULL;

    expect("pics x\na.mp4 y\npics#@30 x\npics#2+2 y\n", &w,
           "x|y\np/pics#@12.5:0\np/a.mp4:1\np/pics#@30:0\n"
           "p/pics#2+2@12.5:1");
    CHECK_OK(ctt_list_find(clip_path("p/pics"), &w, &l));
    CU_ASSERT_STRING_EQUAL(list_text(l), "\np/pics#@12.5:-1");
    ctt_list_free(&l);
    CHECK_OK(ctt_list_open(clip_path("p/pics"), NULL, NULL, 0, NULL, &l));
    CU_ASSERT_EQUAL(l->count, 2);    /* each picture is a clip */
    ctt_list_free(&l);
    CHECK_OK(ctt_list_find(clip_path("p/mixed"), &w, &l));
    CU_ASSERT_EQUAL(l->count, 2);
    ctt_list_free(&l);
}

static void test_memory(void)
{
    const struct ctt_list_want w = { .background = "none", .fps = 5 };
    struct ctt_list *l = NULL;
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM, k = 0;

    clip_text("p/list.txt", "pics 30 4 x\npics 40 4 y\n");
    while (rc == CTT_ENOMEM && k < 2000) {
        ctt_fail_alloc(++k);
        rc = ctt_list_find(clip_path("p/list.txt"), &w, &l);
        ctt_fail_alloc(0);
        if (rc < 0)
            CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT(k > 40);
    ctt_list_free(&l);
    CU_ASSERT_EQUAL(ctt_live_blocks(), live);
}

static void make(void)
{
    clip_folder("p");
    clip_folder("p/pics");
    clip_folder("p/mixed");
    clip_text("p/a.mp4", "");
    clip_text("p/b.mp4", "");
    clip_text("p/pics/1.jpg", "");
    clip_text("p/pics/2.jpg", "");
    clip_text("p/mixed/1.jpg", "");
    clip_text("p/mixed/a.mp4", "");
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "between the parts", test_background },
        { "background and splits", test_background_splits },
        { "where nothing is", test_background_refused },
        { "of some classes", test_background_subset },
        { "rate", test_rate }, { "memory", test_memory }, CU_TEST_INFO_NULL };
    static CU_SuiteInfo suites[] = {
        { "parts in lists", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL };
    int rc;

    make();
    rc = ctt_check_main(suites);
    clip_clean();
    return rc;
}
