/* SPDX-License-Identifier: Apache-2.0
 * test_predict.c: convtt-infer --predict as a person calls it: its files and
 * numbers against a session, and what it says to bad input. */
#include "infer/infer.h"
#include "net/file.h"
#include "net/h5.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/baseline.h"
#include "video/quality.h"
#include "video/save.h"
#include "video/video.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { H = 16, W = 12, FRAME = H * W, SEEN = 4, NEXT = 6, ALL = SEEN + NEXT,
       SHORT = 8 };

static const char predictor[] =
    "input x h=16 w=12 c=1 colour=gray fps=5 mean=0.2 std=0.5\n"
    "convlstm l in=x hidden=3 kernel=3\n"
    "conv o in=l out=1\n"
    "act y in=o kind=sigmoid\n";
static const char in_colour[] =
    "input x h=16 w=12 c=3 colour=bgr fps=5\n"
    "convlstm l in=x hidden=3 kernel=3\n"
    "conv y in=l out=3\n";
static const char classifier[] =
    "input x h=16 w=12 c=1 colour=gray fps=5 mean=0.2 std=0.5\n"
    "convlstm l in=x hidden=3 kernel=3\n"
    "pool p in=l kind=avg\n"
    "conv y in=p out=3\n";
static const char digits[] =
    "input x h=64 w=64 c=1 colour=gray\n"
    "conv y in=x out=1 kernel=3 pad=1\n";

/* The same for clips that are cut out of larger frames. */
static const char scaled[] =
    "input x h=64 w=64 c=1 colour=gray scale=1.25\n"
    "conv y in=x out=1 kernel=3 pad=1\n";

static const char *model_file(const char *name, const char *text)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    ctt_check_fill(m->w, m->g->weights, 3);
    CHECK_OK(ctt_model_save(clip_path("%s", name), m));
    ctt_model_free(&m);
    return clip_path("%s", name);
}

static unsigned colours(int i, int x, int y)
{
    return (unsigned)((x * 7 + i * 20) % 256) << 16 |
           (unsigned)((y * 9 + i * 11) % 256) << 8 |
           (unsigned)((x * y + i * 5) % 256);
}

static void make_files(void)
{
    struct clip c = { .w = 32, .h = 24, .frames = ALL + 2, .codec = "ffv1",
                      .fps = 5, .draw = colours };

    CHECK_OK(clip_write(&c, clip_path("long.mkv")));
    c.frames = SHORT;
    CHECK_OK(clip_write(&c, clip_path("short.mkv")));
    c.frames = SEEN;
    CHECK_OK(clip_write(&c, clip_path("seen.mkv")));
    c.frames = SEEN - 1;
    CHECK_OK(clip_write(&c, clip_path("less.mkv")));
    clip_text("in", "");
    clip_text("bad.mkv", "this is no video");
    model_file("p.ctt", predictor);
    model_file("colour.ctt", in_colour);
    model_file("c.ctt", classifier);
    model_file("d.ctt", digits);
    model_file("s.ctt", scaled);
}

/* ---- the program ---- */

static char *printed, *complained;

static char *slurp(const char *name)
{
    size_t n;

    return (char *)clip_bytes(clip_path("%s", name), &n);
}

/* Runs convtt-infer in the folder of the files; its status.  env: a variable
 * to set, or "". */
static int run_with(const char *env, const char *args)
{
    char here[1024], line[4096];
    int status;

    if (!getcwd(here, sizeof(here)))
        exit(99);
    snprintf(line, sizeof(line), "cd %s && env %s '%s/convtt-infer' "
             "--threads 1 --device ref %s > out 2> err < in", clip_path("."),
             env, here, args);
    status = system(line);
    ctt_free(printed);
    ctt_free(complained);
    printed = slurp("out");
    complained = slurp("err");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int run(const char *args)
{
    return run_with("", args);
}

static int exists(const char *name)
{
    return access(clip_path("%s", name), F_OK) == 0;
}

/* The program fails with that status and one line that has this in it. */
static void says(int status, int want, const char *text)
{
    char *end = strchr(complained, '\n');

    if (status != want || !strstr(complained, text))
        printf("\n    status %d: '%s', expected %d, '%s'", status, complained,
               want, text);
    CU_ASSERT_EQUAL(status, want);
    CU_ASSERT(strstr(complained, text) != NULL);
    CU_ASSERT(end && end[1] == 0);
}

/* ---- what must come out ---- */

struct want {
    struct ctt_frames f;
    float truth[ALL * FRAME], guess[NEXT * FRAME];    /* 0..1 */
};

static void expect(const char *clip, struct want *w)
{
    static float x[SEEN * FRAME];
    struct ctt_input in = { .d = 1, .h = H, .w = W, .c = 1, .fps = 5,
        .mean = { 0.2f, 0.2f, 0.2f }, .std = { 0.5f, 0.5f, 0.5f },
        .scale = 1, .colour = CTT_GRAY };
    struct ctt_infer *m = NULL;
    struct ctt_session *s = NULL;

    CHECK_OK(ctt_frames_load(clip_path("%s", clip), &in, ALL, &w->f));
    for (int i = 0; i < w->f.count * FRAME; i++)
        w->truth[i] = (float)w->f.data[i] / 255;
    for (int i = 0; i < SEEN; i++)
        ctt_frame_float(w->f.data + i * FRAME, &in, 0, 0, 0, x + i * FRAME);
    CHECK_OK(ctt_infer_open(clip_path("p.ctt"), "ref", 1, &m));
    CHECK_OK(ctt_session_open(m, &s));
    CHECK_OK(ctt_session_push_float(s, x, SEEN));
    CHECK_OK(ctt_session_predict(s, NEXT, w->guess));
    for (int i = 0; i < NEXT * FRAME; i++) {
        w->guess[i] = w->guess[i] * 0.5f + 0.2f;
        w->guess[i] = fminf(fmaxf(w->guess[i], 0), 1);
    }
    ctt_session_close(&s);
    ctt_infer_close(&m);
}

static struct want *both(void)
{
    static struct want w[2];

    ctt_frames_free(&w[0].f);
    ctt_frames_free(&w[1].f);
    expect("long.mkv", &w[0]);
    expect("short.mkv", &w[1]);
    return w;
}

/* ---- files ---- */

#define PREDICT "--predict 6 --input-frames 4 "

/* The cell at (column, row) of a strip holds these bytes, or is grey. */
static int cell_is(const struct ctt_frames *strip, int column, int row,
                   const float *frame)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int got = strip->data[(row * (H + 1) + y) * strip->w +
                                  column * (W + 1) + x];
            int want = frame ? (int)lrintf(255 * frame[y * W + x]) : 128;
            if (got != want) {
                printf("\n    cell %d, %d: pixel %d, %d is %d, expected %d",
                       column, row, x, y, got, want);
                return 0;
            }
        }
    return 1;
}

static void test_strip(void)
{
    enum { WIDE = ALL * (W + 1) - 1, HIGH = 4 * (H + 1) - 1 };
    struct ctt_input in = { .d = 1, .h = HIGH, .w = WIDE, .c = 1, .scale = 1,
                            .std = { 1 }, .colour = CTT_GRAY };
    struct want *w = both();
    struct ctt_video *v = NULL;
    struct ctt_frames f = { 0 };
    int wide, high, turns;
    double t;

    CU_ASSERT_EQUAL(run(PREDICT "--strip s.png --show 2 p.ctt long.mkv "
                        "short.mkv"), 0);
    CHECK_OK(ctt_video_open(clip_path("s.png"), &v));
    CU_ASSERT_EQUAL(ctt_video_ahead(v, &t), 1);
    ctt_video_step(v);
    ctt_video_size(v, &wide, &high, &turns);
    ctt_video_close(&v);
    CU_ASSERT(wide == WIDE && high == HIGH);
    CHECK_OK(ctt_frames_load(clip_path("s.png"), &in, 0, &f));
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < ALL; i++) {
            CU_ASSERT(cell_is(&f, i, 2 * k, i < w[k].f.count
                              ? w[k].truth + i * FRAME : NULL));
            CU_ASSERT(cell_is(&f, i, 2 * k + 1, i >= SEEN
                              ? w[k].guess + (i - SEEN) * FRAME : NULL));
        }
    CU_ASSERT_EQUAL(f.data[W], 128);    /* between two cells */
    ctt_frames_free(&f);
}

/* Blue first in the model, red first in the picture. */
static void test_colours(void)
{
    struct ctt_input in = { .d = 1, .h = H, .w = W, .c = 3, .fps = 5,
                            .std = { 1, 1, 1 }, .scale = 1 };
    struct ctt_input all = in;
    struct ctt_frames clip = { 0 }, f = { 0 };
    int differ = 0;

    CU_ASSERT_EQUAL(run("--predict 1 --input-frames 1 --strip s.png "
                        "colour.ctt long.mkv"), 0);
    all.w = 2 * W + 1;
    all.h = 2 * H + 1;
    CHECK_OK(ctt_frames_load(clip_path("long.mkv"), &in, 1, &clip));
    CHECK_OK(ctt_frames_load(clip_path("s.png"), &all, 1, &f));
    for (int y = 0; y < H; y++)
        differ += memcmp(f.data + y * 3 * (2 * W + 1), clip.data + y * 3 * W,
                         3 * W) != 0;
    CU_ASSERT_EQUAL(differ, 0);
    ctt_frames_free(&clip);
    ctt_frames_free(&f);
}

static void test_video(void)
{
    static const char *const name[] = { "v.webm", "v.mp4" };
    struct ctt_input in = { .d = 1, .h = 2 * H + 2, .w = 2 * W + 2, .c = 1,
                            .std = { 1 }, .scale = 1, .colour = CTT_GRAY };
    struct want *w = both();

    for (size_t k = 0; k < CTT_LEN(name); k++) {
        struct ctt_frames f = { 0 };
        double off = 0;
        char args[200];

        if (!ctt_saver_can(name[k])) {
            printf("\n    no encoder for %s: not tried", name[k]);
            continue;
        }
        snprintf(args, sizeof(args), PREDICT "--video %s --show 2 p.ctt "
                 "long.mkv short.mkv", name[k]);
        CU_ASSERT_EQUAL(run(args), 0);
        CHECK_OK(ctt_frames_load(clip_path("%s", name[k]), &in, 0, &f));
        CU_ASSERT_EQUAL(f.count, ALL);
        CU_ASSERT_DOUBLE_EQUAL(f.fps, 5, 0.01);
        for (int i = 0; i < FRAME; i++)    /* what is predicted last */
            off += fabs(f.data[(size_t)(ALL - 1) * in.h * in.w +
                               (size_t)(i / W * in.w + W + 1 + i % W)] -
                        255 * (double)w[0].guess[(NEXT - 1) * FRAME + i]);
        CU_ASSERT(off / FRAME < 8);
        ctt_frames_free(&f);
    }
}

/* Rates are fractions that any encoder takes. */
static void test_rates(void)
{
    static const double fps[] = { 0.5, 23.976, 30000 / 1001.0, 119.88, 1000 };
    struct ctt_saver *s = NULL;

    for (size_t i = 0; i < CTT_LEN(fps) && ctt_saver_can("r.mp4"); i++) {
        CHECK_OK(ctt_saver_open("r.mp4", CTT_SAVE_FINE, 32, 32, fps[i], &s));
        ctt_saver_close(&s);
    }
    CU_ASSERT(ctt_saver_open("r.mp4", CTT_SAVE_FINE, 32, 32, 1e12, &s) < 0);
    CU_ASSERT_PTR_NULL(s);
}

static void test_frames(void)
{
    static const char names[] = "long.mkv\0short.mkv";
    static float got[2 * NEXT * FRAME];
    char name[sizeof(names)];
    struct ctt_h5_shape text = { .size = 1, .rank = 1,
                                 .dim = { sizeof(names) } };
    struct ctt_h5_shape s = { .size = 4, .rank = 5,
                              .dim = { 2, NEXT, H, W, 1 } };
    struct want *w = both();
    struct ctt_h5 *f = NULL;
    int seen;

    CU_ASSERT_EQUAL(run(PREDICT "--frames f.h5 p.ctt long.mkv short.mkv"), 0);
    CHECK_OK(ctt_h5_open(clip_path("f.h5"), &f));
    CHECK_OK(ctt_h5_get_int(f, "seen", &seen));
    CU_ASSERT_EQUAL(seen, SEEN);
    CHECK_OK(ctt_h5_read(f, "clips", &text, name));
    CU_ASSERT(memcmp(name, names, sizeof(names)) == 0);
    CHECK_OK(ctt_h5_read(f, "prediction", &s, got));
    for (int k = 0; k < 2; k++)
        CHECK_CLOSE(got + k * NEXT * FRAME, w[k].guess, NEXT * FRAME, 1e-6);
    CHECK_OK(ctt_h5_read(f, "truth", &s, got));
    CHECK_CLOSE(got, w[0].truth + SEEN * FRAME, NEXT * FRAME, 1e-6);
    CHECK_CLOSE(got + NEXT * FRAME, w[1].truth + SEEN * FRAME,
                (SHORT - SEEN) * FRAME, 1e-6);
    for (int i = (NEXT + SHORT - SEEN) * FRAME; i < 2 * NEXT * FRAME; i++)
        CU_ASSERT_FATAL(isnan(got[i]));
    ctt_h5_close(&f);
    CU_ASSERT_EQUAL(run(PREDICT "--frames f.h5 p.ctt seen.mkv"), 0);
    CHECK_OK(ctt_h5_open(clip_path("f.h5"), &f));
    CU_ASSERT(ctt_h5_has(f, "prediction") && !ctt_h5_has(f, "truth"));
    ctt_h5_close(&f);
}

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

    CU_ASSERT_STRING_EQUAL(line, "ahead,clips,mse_x1000,psnr,ssim_range1,"
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
    snprintf(text, sizeof(text), "{\"ahead\":\"mean\",\"clips\":2,\"mse\":%.5f",
             want[MSE] / 1e3);
    CU_ASSERT(strstr(printed, text) != NULL);
    CU_ASSERT(strstr(printed, "\"seen\":4,\"predicted\":6,\"measured\":4")
              != NULL);
    CU_ASSERT(strstr(printed, "\"frame_ms\":{\"count\":18,") != NULL);
    CU_ASSERT_EQUAL(run(PREDICT "p.ctt seen.mkv"), 0);
    CU_ASSERT(strstr(printed, "nothing to measure") != NULL);
}

/* ---- where clips come from ---- */

static void make_pack(int labels)
{
    static char *label[] = { "a", "b", "c" };
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
    says(run(PREDICT "d.ctt t.pack"), 1, "packed as 12x16x1, the model wants");
    says(run(PREDICT "--split test p.ctt t.pack"), 1, "a pack has no parts");
    make_pack(3);
    CU_ASSERT_EQUAL(run("--observe 1 c.ctt t.pack"), 0);
    CU_ASSERT(strstr(printed, "long                   12/12") != NULL);
    CU_ASSERT(strstr(printed, "100%      2") != NULL);
    CU_ASSERT_EQUAL(run("--every 5 c.ctt t.pack"), 0);
    CU_ASSERT(strstr(printed, "short                   5") != NULL);
    CU_ASSERT(strstr(printed, "short                   8") != NULL);
    make_pack(2);
    CU_ASSERT_EQUAL(run("c.ctt t.pack"), 1);
    CU_ASSERT(strstr(complained, "has 2 classes, the model 3") != NULL);
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
    CU_ASSERT_EQUAL(run(PREDICT "--split train --csv n.csv p.ctt named/list"),
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
         1, "no.h5: 20000 clips need");
    says(run(PREDICT "p.ctt mnist:m"), 1, "makes frames of 64x64x1");
    says(run(PREDICT "d.ctt mnist:none"), 1, "none");
    CU_ASSERT_EQUAL(run("c.ctt mnist:m"), 1);
    CU_ASSERT(strstr(complained, "mnist:m: has no classes") != NULL);
    clip_file("m/train-images-idx3-ubyte", idx, sizeof(idx) - 1);
    says(run(PREDICT "d.ctt mnist:m"), 1, "ends after 4 of 5 images");
}

/* ---- what is refused ---- */

#define FILES "--strip no.png --video no.mp4 --frames no.h5 --csv no.csv "

static void test_refused(void)
{
    says(run(PREDICT FILES "p.ctt long.mkv less.mkv"), 1,
         "less.mkv: 3 frames, but 4 must be seen");
    says(run(PREDICT FILES "--strict p.ctt bad.mkv"), 1, "bad.mkv");
    says(run(PREDICT FILES "p.ctt none.mkv"), 1, "none.mkv");
    says(run(PREDICT FILES "c.ctt long.mkv"), 1,
         "c.ctt: does not predict frames");
    says(run(PREDICT "--video no.avi p.ctt long.mkv"), 1,
         "no.avi: a video's name ends in");
    says(run("p.ctt long.mkv"), 1, "p.ctt: predicts frames; say how many");
    says(run("--predict 4096 --input-frames 4096 --show 64 --strip no.png "
             "d.ctt long.mkv"), 1, "no.png: too large a picture");
    CU_ASSERT(!exists("no.png") && !exists("no.mp4") && !exists("no.h5") &&
              !exists("no.csv"));
    CU_ASSERT_EQUAL(run(PREDICT "--csv n.csv p.ctt bad.mkv long.mkv "
                        "short.mkv"), 0);
    CU_ASSERT(strstr(complained, "bad.mkv") &&
              strstr(complained, "1 of 3 clips skipped"));
}

/* Options that would do nothing. */
static void test_idle(void)
{
    static const struct { const char *args, *says; } idle[] = {
        { PREDICT "--every 2 p.ctt long.mkv", "--every does not go with" },
        { PREDICT "--observe 1 p.ctt long.mkv", "--observe does not go with" },
        { PREDICT "--top 2 p.ctt long.mkv", "--top does not go with" },
        { "--strip no.png c.ctt long.mkv", "--strip goes with --predict N" },
        { "--input-frames 3 c.ctt long.mkv", "--input-frames goes with" },
        { "--show 2 c.ctt long.mkv", "--show goes with" },
        { PREDICT "--show 2 p.ctt long.mkv", "--show goes with --strip" },
        { "--digits 3 c.ctt mnist:m", "--digits goes with --predict N" },
        { PREDICT "--digits 3 p.ctt long.mkv", "and mnist:DIR" },
        { PREDICT "--seed 3 p.ctt long.mkv", "--seed goes with" },
        { PREDICT "--sequences 3 p.ctt long.mkv", "--sequences goes with" },
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
    char args[300];

    clip_text("n.csv", "");
    for (size_t i = 0; i < CTT_LEN(twice); i++) {
        snprintf(args, sizeof(args), PREDICT "%s", twice[i]);
        says(run(args), 2, "given for two files");
    }
    clip_text("in", "long.mkv\n");
    says(run(PREDICT "--frames long.mkv p.ctt -"), 1, "given for two files");
    clip_text("in", "");
    clip_text("list", "long.mkv\nshort.mkv\n");
    says(run(PREDICT "--frames short.mkv p.ctt list"), 1,
         "short.mkv: given for two files");
    says(run(PREDICT "--csv none/n.csv p.ctt less.mkv"), 1,
         "none/n.csv: cannot write it: No such file");
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
        { "strip", test_strip },
        { "colours", test_colours },
        { "video", test_video },
        { "frame rates", test_rates },
        { "HDF5", test_frames },
        { "numbers", test_numbers },
        { "packs", test_packs },
        { "standard input", test_input },
        { "classes", test_classes },
        { "Moving-MNIST", test_mnist },
        { "refused", test_refused },
        { "options that do nothing", test_idle },
        { "files given twice, or nowhere", test_files },
        { "small frames", test_small },
        { "allocations that fail", test_memory },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "predict", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL,
    };
    int status;

    if (access("convtt-infer", X_OK) != 0)
        return 99;
    status = ctt_check_main(suites);
    ctt_free(printed);
    ctt_free(complained);
    clip_clean();
    return status;
}
