/* SPDX-License-Identifier: Apache-2.0
 * test_list_classes.c: the classes of lists as text: numbers and names beside
 * those of a model, an index, and subsets. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "tests/lib/list.h"

#include <stdio.h>
#include <string.h>

/* Numbers mean the model's classes where names do not say otherwise. */
static void test_known(void)
{
    static char *numbers[] = { "0", "1", "2" }, *names[] = { "hit", "a" };

    clip_text("k1.txt", "a/x.mp4 2\nb/y.mp4 0\na/z.mp4 0\n");
    list_expect(clip_path("k1.txt"), "val", numbers, 3, NULL,
                "0|1|2\na/x.mp4:2\nb/y.mp4:0\na/z.mp4:0");
    list_refuse(clip_path("k1.txt"), "val", names, 2, NULL,
                "none of the model's");
    clip_text("k2.txt", "a/x.mp4 0\nhit/y.mp4 1\n");    /* by folder */
    list_refuse(clip_path("k2.txt"), "val", names, 2, NULL,
                "labels of the list: 0 a, 1 hit; classes of the model: hit, a");
    clip_text("k2.txt", "a/x.mp4 1\nhit/y.mp4 0\n");
    list_expect(clip_path("k2.txt"), "val", names, 2, NULL,
                "hit|a\na/x.mp4:1\nhit/y.mp4:0");
    clip_text("k3.txt", "x.mp4 0\ny.mp4 1\nx/z.mp4 0\n");    /* no folders */
    list_expect(clip_path("k3.txt"), "val", names, 2, NULL, list_text(
        &(struct ctt_list){ .label = names, .labels = 2, .count = 3,
        .item = (struct ctt_item[]){ { (char *)clip_path("x.mp4"), 0, 0 },
        { (char *)clip_path("y.mp4"), 0, 1 }, { "x/z.mp4", 0, 0 } } }));
    clip_text("k4.txt", "x.mp4 hit\ny.mp4 b\n");
    list_refuse(clip_path("k4.txt"), "val", names, 2, NULL,
                "class 'b' is none of the model's 2");
}

/* A number means the same in each list, or the second one is refused: the
 * classes of a list, and a list for the model that it trained. */
static void test_same_number(void)
{
    static const struct { const char *train, *other, *is; } row[] = {
        /* numbers from 1 on, in folders and not */
        { "red/x 1\ngreen/x 2\nblue/x 3\n", "v/r 1\nv/g 2\n",
          "1|2|3\nv/r:0\nv/g:1" },
        { "red/x 1\ngreen/x 2\nblue/x 3\n", "blue/x 3\nv/g 2\n",
          "1|2|3\nblue/x:2\nv/g:1" },
        /* gaps, and folders that say otherwise */
        { "a/x 0\nb/x 2\nc/x 5\n", "v/x 5\nv/y 2\nv/z 0\n",
          "0|2|5\nv/x:2\nv/y:1\nv/z:0" },
        { "a/x 0\nb/x 2\nc/x 5\n", "b/x 0\na/y 2\n",
          "0|2|5\nb/x:0\na/y:1" },
        { "1/x 0\n0/x 1\n", "v/x 0\nv/y 1\n", "0|1\nv/x:0\nv/y:1" },
        /* numbers that are places of names */
        { "red/x 0\ngreen/x 1\nblue/x 2\n", "v/b 2\nv/r 0\n",
          "red|green|blue\nv/b:2\nv/r:0" },
        { "red/x 0\ngreen/x 1\nblue/x 2\n", "v/b 2\nv/g 1\n",
          "?only in a list that has a 0, write the names; labels of the list: "
          "1, 2; classes of the model: red, green, blue" },
        { "red/x 0\ngreen/x 1\n", "green/x 2\nred/y 1\n",
          "?only in a list that has a 0" },
        { "red/x 0\ngreen/x 1\n", "green/x 0\nred/y 1\n",
          "?folders of its clips are different classes" },
        /* one class is a number */
        { "x 1\ny 2\nz other\n", "x 2\ny 1\n",
          "1|2|other\nv/x:1\nv/y:0" },
        { "x 1\ny 2\nz other\n", "x 0\ny 1\n",
          "?class '0' is none of the model's 3 classes; labels of the list: "
          "0, 1; classes of the model: 1, 2, other" },
        { "x 1\ny 2\n", "x red\ny green\n",
          "?labels of the list: green, red; classes of the model: 1, 2" },
        { "x red\ny green\n", "x red\ny Green\n",
          "?labels of the list: Green, red; classes of the model: green, red" },
    };

    clip_folder("v");
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        struct ctt_list *l = NULL;

        clip_text("v/train.txt", row[r].train);
        clip_text("v/other.txt", row[r].other);
        CHECK_OK(ctt_list_open(clip_path("v/train.txt"), "train", NULL, 0,
                               NULL, &l));
        (*row[r].is == '?' ? list_refuse : list_expect)(
            clip_path("v/other.txt"), "val", l->label, l->labels, NULL,
            row[r].is + (*row[r].is == '?'));
        ctt_list_free(&l);
    }
}

/* UCF101: labels from 1 on, and their names beside the list. */
static void test_index(void)
{
    clip_folder("u");
    clip_text("u/classInd.txt", "1 Apply Makeup\r\n2 Archery\r\n");
    clip_text("u/trainlist01.txt", "A/v1.avi 1\r\nB/v2.avi 2\r\n");
    clip_text("u/bad.txt", "A/v1.avi 0\n");
    list_expect(clip_path("u/trainlist01.txt"), "train", NULL, 0, NULL,
                "Apply Makeup|Archery\nA/v1.avi:0\nB/v2.avi:1");
    list_refuse(clip_path("u/bad.txt"), "train", NULL, 0, NULL,
                ":1: no class has number 0");
    clip_text("u/keep.txt", "2\n");
    list_expect(clip_path("u/trainlist01.txt"), "train", NULL, 0,
                clip_path("u/keep.txt"), "Archery\nB/v2.avi:0");
    clip_text("u/classInd.txt", "1 a\n3 b\n");
    list_refuse(clip_path("u/trainlist01.txt"), "train", NULL, 0, NULL,
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
        CU_ASSERT_EQUAL(l->chosen, 2);
        ctt_list_free(&l);
    }
    clip_text("subset", "a\nd\n");
    list_refuse(list, "train", NULL, 0, subset, "subset:2: no class 'd' in ");
    clip_text("subset", "3\n");
    list_refuse(list, "train", NULL, 0, subset, "subset:1: no class '3'");
    clip_text("subset", "a\n0\n");
    list_refuse(list, "train", NULL, 0, subset,
                "subset:2: class '0' is listed");
    clip_text("subset", "\n");
    list_refuse(list, "train", NULL, 0, subset, "subset: no classes in it");
    clip_text("subset", "b\n");
    list_refuse(list, "train", model, 2, subset,
                "the model was not trained with class 'b'");
    list_refuse(list, "train", NULL, 0, clip_path("none"), "No such file");
}

/* A subset leaves clips out, whatever classes a model has beside it, and a
 * model that trained with it takes the whole list's numbers. */
static void test_subset_of_model(void)
{
    static const struct { const char *list, *subset, *model, *is; } row[] = {
        /* a model with the other classes too, of numbers, names and places */
        { "x 1\ny 2\nz 3\nw 1\n", "1\n", "1,2,3",
          "1|2|3\nv/x:0\nv/w:0" },
        { "x a\ny b\nz c\nw b\n", "c\na\n", "a,b,c",
          "a|b|c\nv/x:0\nv/z:2" },
        { "x 0\ny 1\nz 2\n", "2\n", "red,green,blue",
          "red|green|blue\nv/z:2" },
        { "x 0\ny 1\nz 2\n", "green\n", "red,green,blue",
          "red|green|blue\nv/y:1" },
        { "red/x 0\ngreen/x 1\nblue/x 2\n", "1\nblue\n", "red,green,blue",
          "red|green|blue\ngreen/x:1\nblue/x:2" },
        /* several labels: those of the subset stay */
        { "x 1,2\ny 2,3\nz 3\n", "2\n", "1,2,3", "1|2|3\nv/x:1\nv/y:1" },
        /* a model of the subset alone */
        { "x 1\ny 2\nz 3\n", "1\n3\n", "1,3", "1|3\nv/x:0\nv/z:1" },
        { "x 3\ny 2\n", "1\n3\n", "1,3", "1|3\nv/x:1" },
        { "x 0\ny 1\nz 2\n", "2\n0\n", "2,0", "2|0\nv/x:1\nv/z:0" },
        { "red/x 0\ngreen/x 1\nblue/x 2\n", "0\n2\n", "red,blue",
          "red|blue\nred/x:0\nblue/x:1" },
        { "red/x 0\ngreen/x 1\nblue/x 2\n", "blue\nred\n", "blue,red",
          "blue|red\nred/x:1\nblue/x:0" },
        { "x a\ny b\n", "a\nc\n", "a,c", "a|c\nv/x:0" },
        { "x 1,2\ny 2,3\nz 2\n", "1\n3\n", "1,3", "1|3\nv/x:0\nv/y:1" },
        /* refused */
        { "x 1\ny 2\nz 3\n", "2\n", "1,3",
          "?keep: the model was not trained with class '2'" },
        { "x 0\ny 1\nz 2\n", "0\n2\n", "red,blue",
          "?keep: the model was not trained with class '2'" },
        { "x 1\ny 2\nz 3\n", NULL, "1,3",
          "?class '2' is none of the model's 2 classes; labels of the list: "
          "1, 2, 3; classes of the model: 1, 3" },
        { "red/x 0\ngreen/x 1\n", NULL, "red,blue",
          "?class 'green' is none of the model's 2 classes; labels of the "
          "list: 0 red, 1 green; classes of the model: red, blue" },
        { "x 2\ny 2\n", "1\n3\n", "1,3", "?no clip of the requested" },
        { "x\ny\n", "1\n", "1,3", "?keep:1: no class '1' in" },
        { "x 1\ny 2\n", "7\n", "1,2", "?keep:1: no class '7' in" },
    };

    for (size_t r = 0; r < CTT_LEN(row); r++) {
        char text[64], *model[4], *at = text;
        int n = 0;

        snprintf(text, sizeof(text), "%s", row[r].model);
        while ((model[n] = strtok(n ? NULL : at, ",")) != NULL)
            n++;
        clip_text("v/list.txt", row[r].list);
        clip_text("keep", row[r].subset ? row[r].subset : "");
        (*row[r].is == '?' ? list_refuse : list_expect)(
            clip_path("v/list.txt"), "val", model, n,
            row[r].subset ? clip_path("keep") : NULL,
            row[r].is + (*row[r].is == '?'));
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "known labels", test_known },
        { "same number", test_same_number },
        { "class index", test_index },
        { "subset", test_subset },
        { "subset of a model's classes", test_subset_of_model },
        { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "classes of lists", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
