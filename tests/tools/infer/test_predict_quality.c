/* SPDX-License-Identifier: Apache-2.0
 * test_predict_quality.c: what convtt-infer --predict measures, on clips
 * from any source that it reads. */
#include "tests/lib/predict_cli.h"
#include "video/baseline.h"
#include "video/quality.h"

/* ---- numbers ---- */

enum { MSE, PSNR, SSIM, SSIM2, LAST, LINEAR, NUMBERS };

/* Of frame t ahead (t = NEXT: of all), the mean over the clips that have it. */
static int numbers(const struct want *w, int t, double out[NUMBERS])
{
    int n = 0;

    memset(out, 0, NUMBERS * sizeof(*out));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < NEXT && SEEN + i < w[k].f.count; i++) {
            const float *truth = w[k].truth + (SEEN + i) * FRAME;
            static float moved[FRAME];
            struct ctt_quality q, last, linear;

            if (t < NEXT && i != t)
                continue;
            CHECK_OK(ctt_quality(truth, w[k].guess + i * FRAME, H, W, 1, &q));
            CHECK_OK(ctt_quality(truth, w[k].truth + (SEEN - 1) * FRAME, H, W,
                                 1, &last));
            CHECK_OK(ctt_baseline_linear(w[k].truth + (SEEN - 2) * FRAME,
                                         w[k].truth + (SEEN - 1) * FRAME, H, W,
                                         1, i + 1, moved));
            CHECK_OK(ctt_quality(truth, moved, H, W, 1, &linear));
            out[MSE] += 1e3 * q.mse;
            out[PSNR] += q.psnr;
            out[SSIM] += q.ssim;
            out[SSIM2] += q.ssim2;
            out[LAST] += 1e3 * last.mse;
            out[LINEAR] += 1e3 * linear.mse;
            n++;
        }
    for (int i = 0; i < NUMBERS; i++)
        out[i] /= n;
    return n;
}

static void check_csv(char *csv)
{
    const struct want *w = both();
    char *line = strtok(csv, "\n");

    CU_ASSERT_STRING_EQUAL(line, "ahead,windows,mse_x1000,psnr,ssim_range1,"
                           "ssim_range2,last_frame_mse_x1000,"
                           "linear_motion_mse_x1000");
    for (int t = 0; t <= NEXT; t++) {
        double want[NUMBERS], got[NUMBERS];
        int n = numbers(w, t, want), clips;
        char name[8];

        line = strtok(NULL, "\n");
        CU_ASSERT_FATAL(line != NULL);
        CU_ASSERT_EQUAL(sscanf(line, "%7[^,],%d,%lf,%lf,%lf,%lf,%lf,%lf",
                               name, &clips, &got[0], &got[1], &got[2],
                               &got[3], &got[4], &got[5]), 8);
        CU_ASSERT_EQUAL(clips, t == NEXT ? 2 : n);
        CU_ASSERT(t == NEXT ? strcmp(name, "mean") == 0 : atoi(name) == t + 1);
        for (int i = 0; i < NUMBERS; i++)
            CU_ASSERT_DOUBLE_EQUAL(got[i], want[i], 1e-5 * fabs(want[i]));
    }
    CU_ASSERT_PTR_NULL(strtok(NULL, "\n"));
}

/* The three numbers after the name and the count of a row of the table. */
static const char *row_start(const char *row)
{
    static char text[100];
    char cell[3][24];

    if (!row || sscanf(row, "%*s %*s %23s %23s %23s", cell[0], cell[1],
                       cell[2]) != 3)
        return "no such row";
    snprintf(text, sizeof(text), "%s %s %s", cell[0], cell[1], cell[2]);
    return text;
}

static void test_numbers(void)
{
    double want[NUMBERS];
    char *csv, text[200];

    numbers(both(), NEXT, want);
    CU_ASSERT_EQUAL(run(PREDICT "--csv n.csv p.ctt long.mkv short.mkv"), 0);
    csv = slurp("n.csv");
    check_csv(csv);
    ctt_free(csv);
    snprintf(text, sizeof(text), "%.3f %.3f %.3f", want[MSE], want[LAST],
             want[LINEAR]);
    CU_ASSERT_STRING_EQUAL(row_start(strstr(printed, "\nmean")), text);
    CU_ASSERT(strstr(printed, "MSE x1e3") &&
              strstr(printed, "SSIM range 2") && strstr(printed, "mean"));
    CU_ASSERT_EQUAL(run(PREDICT "--json --time p.ctt long.mkv short.mkv"), 0);
    snprintf(text, sizeof(text), "{\"ahead\":\"mean\",\"windows\":2,"
             "\"mse\":%.5f", want[MSE] / 1e3);
    CU_ASSERT(strstr(printed, text) != NULL);
    CU_ASSERT(strstr(printed, "\"seen\":4,\"predicted\":6,\"measured\":4")
              != NULL);
    CU_ASSERT(strstr(printed, "\"frame_ms\":{\"count\":18,") != NULL);
    CU_ASSERT_EQUAL(run(PREDICT "p.ctt seen.mkv"), 0);
    CU_ASSERT(strstr(printed, "nothing to measure") != NULL);
}

/* ---- windows ---- */

/* A clip of 2 windows and 3 frames more, and the same windows as clips. */
static unsigned later(int i, int x, int y)
{
    return colours(i + ALL, x, y);
}

static void test_windows(void)
{
    struct clip c = { .w = 32, .h = 24, .frames = 2 * ALL + 3, .codec = "ffv1",
                      .fps = 5, .draw = colours };
    char *all, *apart, *first;

    CHECK_OK(clip_write(&c, clip_path("two.mkv")));
    c.frames = ALL;
    CHECK_OK(clip_write(&c, clip_path("one.mkv")));
    c.draw = later;
    CHECK_OK(clip_write(&c, clip_path("other.mkv")));
    CU_ASSERT_EQUAL(run(PREDICT "--csv 1.csv --frames 1.h5 p.ctt two.mkv"), 0);
    CU_ASSERT_EQUAL(run(PREDICT "--csv 2.csv p.ctt one.mkv other.mkv"), 0);
    all = slurp("1.csv");
    apart = slurp("2.csv");
    CU_ASSERT(strstr(all, "\nmean,2,") != NULL);
    CU_ASSERT_STRING_EQUAL(all, apart);
    CU_ASSERT_EQUAL(run(PREDICT "--json p.ctt two.mkv"), 0);
    CU_ASSERT(strstr(printed, "\"windows\":2,\"seen\":4,\"predicted\":6,"
                     "\"measured\":12") != NULL);
    CU_ASSERT_EQUAL(run(PREDICT "--windows 1 --csv 3.csv --frames 3.h5 p.ctt "
                        "two.mkv"), 0);
    CU_ASSERT_EQUAL(run(PREDICT "--csv 2.csv p.ctt one.mkv"), 0);
    first = slurp("3.csv");
    ctt_free(apart);
    apart = slurp("2.csv");
    CU_ASSERT_STRING_EQUAL(first, apart);
    CU_ASSERT_STRING_NOT_EQUAL(first, all);
    ctt_free(all);
    ctt_free(apart);
    ctt_free(first);
    says(run("--windows 2 c.ctt long.mkv"), 2, "--windows requires --predict");
}

/* ---- where clips come from ---- */

static void make_pack(int labels)
{
    static char *label[] = { "0", "1", "2" };    /* as the model's */
    static const char *const name[] = { "long", "short" };
    struct ctt_input in = { .d = 1, .h = H, .w = W, .c = 1, .fps = 5,
        .mean = { 0.2f, 0.2f, 0.2f }, .std = { 0.5f, 0.5f, 0.5f },
        .scale = 1, .colour = CTT_GRAY };
    struct ctt_pack *p = NULL;

    CHECK_OK(ctt_pack_create(clip_path("t.pack"), &in, label, labels, &p));
    for (int i = 0; i < 2; i++) {
        struct ctt_frames f = { 0 };
        CHECK_OK(ctt_frames_load(clip_path("%s.mkv", name[i]), &in, 0, &f));
        CHECK_OK(ctt_pack_add(p, name[i], labels ? i : -1, &f));
        ctt_frames_free(&f);
    }
    CHECK_OK(ctt_pack_finish(&p));
}

static void test_packs(void)
{
    char *csv;

    make_pack(0);
    CU_ASSERT_EQUAL(run(PREDICT "--csv n.csv p.ctt t.pack"), 0);
    csv = slurp("n.csv");
    check_csv(csv);
    ctt_free(csv);
    says(run(PREDICT "d.ctt t.pack"), 2, "packed as 12x16x1, the model wants");
    says(run(PREDICT "--split test p.ctt t.pack"), 2, "a pack has no splits");
    make_pack(3);
    CU_ASSERT_EQUAL(run("--observe 1 c.ctt t.pack"), 0);
    CU_ASSERT(strstr(printed, "long                   12/12") != NULL);
    CU_ASSERT(strstr(printed, "100%      2") != NULL);
    CU_ASSERT_EQUAL(run("--every 5 c.ctt t.pack"), 0);
    CU_ASSERT(strstr(printed, "short                   5") != NULL);
    CU_ASSERT(strstr(printed, "short                   8") != NULL);
    make_pack(2);    /* found by their names */
    CU_ASSERT_EQUAL(run("--observe 1 c.ctt t.pack"), 0);
    CU_ASSERT(strstr(printed, "100%      2") != NULL);
}

static void test_input(void)
{
    char *csv;

    clip_text("in", "long.mkv\nshort.mkv\n");
    CU_ASSERT_EQUAL(run(PREDICT "--csv n.csv p.ctt -"), 0);
    clip_text("in", "");
    csv = slurp("n.csv");
    check_csv(csv);
    ctt_free(csv);
}

/* Nobody asks for classes, also not for those without a clip. */
static void test_classes(void)
{
    clip_folder("named");
    clip_text("named/list", "../long.mkv 1\n../short.mkv 1\n");
    clip_text("named/classInd.txt", "1 a\n2 b\n");
    CU_ASSERT_EQUAL(run(PREDICT "--csv n.csv p.ctt named/list"),
                    0);
    CU_ASSERT_STRING_EQUAL(complained, "");
}

static void test_mnist(void)
{
    enum { IMAGES = 5, BYTES = 28 * 28, HEAD = 16 };
    static uint8_t idx[HEAD + IMAGES * BYTES] = { 0, 0, 8, 3, 0, 0, 0, IMAGES,
        0, 0, 0, 28, 0, 0, 0, 28 };
    char *first, *again, *other;

    for (int i = 0; i < IMAGES * BYTES; i++)
        idx[HEAD + i] = (uint8_t)(i * 31 % 256);
    clip_folder("m");
    clip_file("m/train-images-idx3-ubyte", idx, sizeof(idx));
    CU_ASSERT_EQUAL(run(PREDICT "--sequences 2 --csv 1.csv d.ctt mnist:m"), 0);
    CU_ASSERT_EQUAL(run(PREDICT "--sequences 2 --csv 2.csv d.ctt mnist:m"), 0);
    CU_ASSERT_EQUAL(run(PREDICT "--sequences 2 --seed 2 --csv 3.csv d.ctt "
                        "mnist:m"), 0);
    first = slurp("1.csv");
    again = slurp("2.csv");
    other = slurp("3.csv");
    CU_ASSERT(strstr(first, "\nmean,2,") != NULL);
    CU_ASSERT_STRING_EQUAL(first, again);
    CU_ASSERT_STRING_NOT_EQUAL(first, other);
    ctt_free(again);
    ctt_free(other);
    CU_ASSERT_EQUAL(run(PREDICT "--sequences 2 --csv 2.csv s.ctt mnist:m"), 0);
    again = slurp("2.csv");
    CU_ASSERT_STRING_EQUAL(first, again);
    ctt_free(first);
    ctt_free(again);
    says(run("--predict 4096 --sequences 20000 --frames no.h5 d.ctt mnist:m"),
         1, "no.h5: 5120000 MB do not fit into the memory limit");
    says(run(PREDICT "p.ctt mnist:m"), 2, "makes frames of 64x64x1");
    says(run(PREDICT "d.ctt mnist:none"), 1, "none");
    CU_ASSERT_EQUAL(run("c.ctt mnist:m"), 2);
    CU_ASSERT(strstr(complained, "mnist:m: has no classes") != NULL);
    clip_file("m/train-images-idx3-ubyte", idx, sizeof(idx) - 1);
    says(run(PREDICT "d.ctt mnist:m"), 1, "ends after 4 of 5 images");
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "what is needed", make_files },
        { "numbers", test_numbers },
        { "windows", test_windows },
        { "packs", test_packs },
        { "standard input", test_input },
        { "classes", test_classes },
        { "Moving-MNIST", test_mnist },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "predict_quality", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return predict_main(suites);
}
