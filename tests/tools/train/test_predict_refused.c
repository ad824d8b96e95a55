/* SPDX-License-Identifier: Apache-2.0
 * test_predict_refused.c: what convtt-infer --predict says to clips, options
 * and files that it refuses. */
#include "tests/lib/predict_cli.h"

#define FILES "--strip no.png --video no.mp4 --frames no.h5 --csv no.csv "

static int exists(const char *name)
{
    return access(clip_path("%s", name), F_OK) == 0;
}

static void test_refused(void)
{
    says(run(PREDICT FILES "p.ctt long.mkv less.mkv"), 1,
         "less.mkv: has 3 frames, but --input-frames is 4");
    says(run(PREDICT FILES "--strict p.ctt bad.mkv"), 1, "bad.mkv");
    says(run(PREDICT FILES "p.ctt none.mkv"), 1, "none.mkv");
    says(run(PREDICT FILES "c.ctt long.mkv"), 1,
         "c.ctt: this model recognises classes");
    says(run(PREDICT "--video no.avi p.ctt long.mkv"), 1,
         "no.avi: a video's name ends in");
    says(run("p.ctt long.mkv"), 1, "p.ctt: this model predicts frames");
    says(run("--predict 4096 --input-frames 4096 --show 64 --strip no.png "
             "d.ctt long.mkv"), 1, "no.png: picture too large");
    CU_ASSERT(!exists("no.png") && !exists("no.mp4") && !exists("no.h5") &&
              !exists("no.csv"));
    CU_ASSERT_EQUAL(run(PREDICT "--csv n.csv p.ctt bad.mkv long.mkv "
                        "short.mkv"), 0);
    CU_ASSERT(strstr(complained, "bad.mkv") &&
              strstr(complained, "1 of 3 clips skipped"));
}

/* A clip that was cut short is predicted, with a warning. */
static void test_cut(void)
{
    size_t n;
    uint8_t *p = clip_bytes(clip_path("long.mkv"), &n);

    clip_file("cut.mkv", p, n - n / 8);
    ctt_free(p);
    CU_ASSERT_EQUAL(run(PREDICT "--csv n.csv p.ctt cut.mkv"), 0);
    CU_ASSERT(strstr(complained, "cut.mkv: cut short: has") != NULL);
}

/* Options that would do nothing. */
static void test_idle(void)
{
    static const struct { const char *args, *says; } idle[] = {
        { PREDICT "--every 2 p.ctt long.mkv", "--every excludes --predict" },
        { PREDICT "--observe 1 p.ctt long.mkv", "--observe excludes --predict"
        },
        { "--every 2 --observe 1 c.ctt long.mkv", "--observe excludes --every"
        },
        { PREDICT "--top 2 p.ctt long.mkv", "--top excludes --predict" },
        { "--strip no.png c.ctt long.mkv", "--strip requires --predict" },
        { "--input-frames 3 c.ctt long.mkv", "--input-frames requires" },
        { "--show 2 c.ctt long.mkv", "--show requires" },
        { PREDICT "--show 2 p.ctt long.mkv", "--show requires --strip or"
        },
        { "--digits 3 c.ctt mnist:m", "--digits requires --predict" },
        { PREDICT "--digits 3 p.ctt long.mkv", "an operand mnist:DIR" },
        { PREDICT "--seed 3 p.ctt long.mkv", "--seed requires an operand" },
        { PREDICT "--sequences 3 p.ctt long.mkv", "--sequences requires an"
        },
    };

    for (size_t i = 0; i < CTT_LEN(idle); i++)
        says(run(idle[i].args), 2, idle[i].says);
}

/* No file is written over what is read, nor two into one; a folder that is not
 * there shows before the work. */
static void test_files(void)
{
    static const char *const twice[] = {
        "--strip p.ctt p.ctt long.mkv", "--csv long.mkv p.ctt long.mkv",
        "--csv ./n.csv --frames n.csv p.ctt long.mkv",
        "--video v.mp4 --strip v.mp4 p.ctt long.mkv",
    };
    static const char *const kinds[] = { "--strip", "--video", "--frames",
                                         "--csv" };
    char args[300];
    size_t n;
    uint8_t *p = clip_bytes(clip_path("long.mkv"), &n);

    clip_text("n.csv", "");
    for (size_t i = 0; i < CTT_LEN(twice); i++) {
        snprintf(args, sizeof(args), PREDICT "%s", twice[i]);
        says(run(args), 2, "given for two files");
    }
    clip_file("v.webm", p, n);
    ctt_free(p);
    clip_text("in", "v.webm\n");
    says(run(PREDICT "--video v.webm p.ctt -"), 2, "given for two files");
    clip_text("in", "");
    clip_text("list", "long.mkv\nv.webm\n");
    says(run(PREDICT "--video v.webm p.ctt list"), 2,
         "v.webm: given for two files");
    for (size_t i = 0; i < CTT_LEN(kinds); i++) {
        snprintf(args, sizeof(args), PREDICT "%s list p.ctt long.mkv",
                 kinds[i]);
        says(run(args), 1, "list: is there already and is no ");
    }
    says(run(PREDICT "--csv none/n.csv p.ctt less.mkv"), 1,
         "none/n.csv: cannot write: No such file");
    clip_folder("folder");
    says(run(PREDICT "--csv folder p.ctt less.mkv"), 1, "not a regular");
}

/* Frames too small for SSIM are predicted all the same. */
static void test_small(void)
{
    model_file("small.ctt", "input x h=6 w=8 c=1 colour=gray fps=5\n"
               "conv y in=x out=1\n");
    CU_ASSERT_EQUAL(run(PREDICT "--strip s.png small.ctt long.mkv"), 0);
    CU_ASSERT(strstr(printed, "to measure: frames of 8x6 are too small")
              != NULL);
    says(run(PREDICT "--csv no.csv small.ctt long.mkv"), 1,
         "no.csv: frames of 8x6 are too small");
}

/* An allocation that fails ends in one line. */
static void test_memory(void)
{
    int status = 1, failed = 0;

    for (int k = 1; status && k < 2000; k += k < 20 ? 1 : 17) {
        char env[40];

        snprintf(env, sizeof(env), "CTT_FAIL_ALLOC=%d", k);
        status = run_with(env, PREDICT "--strip m.png --frames m.h5 --csv "
                          "m.csv p.ctt short.mkv");
        if (status)    /* options are read first */
            says(status, status == 2 ? 2 : 1, "memory");
        failed += status != 0;
    }
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT(failed > 20);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "what is needed", make_files },
        { "refused", test_refused }, { "cut short", test_cut },
        { "options that do nothing", test_idle },
        { "files given twice, or nowhere", test_files },
        { "small frames", test_small },
        { "allocations that fail", test_memory },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "predict_refused", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return predict_main(suites);
}
