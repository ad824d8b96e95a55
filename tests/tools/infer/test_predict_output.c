/* SPDX-License-Identifier: Apache-2.0
 * test_predict_output.c: the pictures, videos and HDF5 files that
 * convtt-infer --predict writes. */
#include "net/file/h5.h"
#include "tests/lib/predict_cli.h"
#include "video/save.h"

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

int main(void)
{
    CU_TestInfo tests[] = {
        { "what is needed", make_files },
        { "strip", test_strip },
        { "colours", test_colours },
        { "video", test_video },
        { "frame rates", test_rates },
        { "HDF5", test_frames },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "predict_output", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return predict_main(suites);
}
