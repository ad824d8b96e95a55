/* SPDX-License-Identifier: Apache-2.0
 * test_preprocess.c: a picture of a clip into a model's input: crop, scale,
 * padding, colours, rotation, floats. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/video.h"

#include <stdlib.h>

/* Four upright bands: red, green, blue, white. */
static unsigned bands(int i, int x, int y)
{
    static const unsigned colour[] = { 0xff0000, 0x00ff00, 0x0000ff,
                                       0xffffff };
    (void)i;
    (void)y;
    return colour[x / 16 % 4];
}

/* The colour at (x, y), each channel as 0 or 1, in the frame's order: 0xRGB;
 * 0xfff0 if a channel is neither. */
static unsigned at(const struct ctt_frames *f, int x, int y)
{
    unsigned rgb = 0;

    for (int k = 0; k < f->c; k++) {
        int v = f->data[(y * f->w + x) * f->c + k];
        if (v > 64 && v < 191)
            return 0xfff0u + (unsigned)v;
        rgb = rgb << 4 | (v > 128);
    }
    return rgb;
}

static const char *banded(void)
{
    const char *path = clip_path("bands.mkv");

    CHECK_OK(clip_write(&(struct clip){ .w = 64, .h = 32, .frames = 1,
                        .codec = "ffv1", .fps = 12, .draw = bands }, path));
    return path;
}

static void load(const char *path, const struct ctt_input *in, int w, int h,
                 struct ctt_frames *f)
{
    CHECK_OK(ctt_frames_load(path, in, 0, f));
    CU_ASSERT_EQUAL(f->w, w);
    CU_ASSERT_EQUAL(f->h, h);
}

static void test_fit(void)
{
    const char *path = banded();
    struct ctt_input in = clip_input(16, 16, 12);
    struct ctt_frames f = { 0 };

    load(path, &in, 16, 16, &f);    /* the middle half: green, blue */
    CU_ASSERT_EQUAL(at(&f, 3, 0), 0x010);
    CU_ASSERT_EQUAL(at(&f, 12, 15), 0x001);
    ctt_frames_free(&f);

    in.scale = 1.25f;
    load(path, &in, 20, 20, &f);
    CU_ASSERT_EQUAL(at(&f, 5, 10), 0x010);
    CU_ASSERT_EQUAL(at(&f, 14, 10), 0x001);
    ctt_frames_free(&f);

    in.fit = CTT_FIT_STRETCH;       /* scale is for crops only */
    load(path, &in, 16, 16, &f);
    CU_ASSERT_EQUAL(at(&f, 1, 0), 0x100);
    CU_ASSERT_EQUAL(at(&f, 6, 8), 0x010);
    CU_ASSERT_EQUAL(at(&f, 9, 8), 0x001);
    CU_ASSERT_EQUAL(at(&f, 14, 15), 0x111);
    ctt_frames_free(&f);

    in.fit = CTT_FIT_PAD;           /* 16 x 8 between black bars of 4 */
    load(path, &in, 16, 16, &f);
    CU_ASSERT_EQUAL(at(&f, 14, 3), 0x000);
    CU_ASSERT_EQUAL(at(&f, 14, 4), 0x111);
    CU_ASSERT_EQUAL(at(&f, 1, 11), 0x100);
    CU_ASSERT_EQUAL(at(&f, 1, 12), 0x000);
    ctt_frames_free(&f);

    in.w = 21;                      /* odd bars: 2 left, 3 right */
    in.h = 8;
    load(path, &in, 21, 8, &f);
    CU_ASSERT_EQUAL(at(&f, 1, 4), 0x000);
    CU_ASSERT_EQUAL(at(&f, 2, 4), 0x100);
    CU_ASSERT_EQUAL(at(&f, 17, 4), 0x111);
    CU_ASSERT_EQUAL(at(&f, 18, 4), 0x000);
    ctt_frames_free(&f);
}

static void test_colour(void)
{
    const char *path = banded();
    struct ctt_input in = clip_input(64, 32, 12);
    struct ctt_frames f = { 0 };

    in.colour = CTT_BGR;
    load(path, &in, 64, 32, &f);
    CU_ASSERT_EQUAL(at(&f, 8, 16), 0x001);
    CU_ASSERT_EQUAL(at(&f, 40, 16), 0x100);
    ctt_frames_free(&f);
    in.colour = CTT_GRAY;
    CU_ASSERT_EQUAL(ctt_frames_load(path, &in, 0, &f), CTT_EINVAL);
    in.c = 1;
    load(path, &in, 64, 32, &f);    /* BT.601: 0.299, 0.587, 0.114 */
    CU_ASSERT(abs(f.data[8] - 76) <= 1);
    CU_ASSERT(abs(f.data[24] - 150) <= 1);
    CU_ASSERT(abs(f.data[40] - 29) <= 1);
    CU_ASSERT(f.data[56] >= 254);
    ctt_frames_free(&f);
}

static unsigned left_white(int i, int x, int y)
{
    (void)i;
    (void)y;
    return x < 32 ? 0xffffff : 0;
}

/* A telephone held upright says in the file how far to turn. */
static void test_turn(void)
{
    /* Which side of the picture is white. */
    static const struct { int turn, w, h, x, y; } row[] = {
        { 0, 64, 32, 8, 16 }, { 90, 32, 64, 16, 56 },
        { 180, 64, 32, 56, 16 }, { 270, 32, 64, 16, 8 },
    };
    const char *path = clip_path("turn.mp4");

    for (size_t r = 0; r < CTT_LEN(row); r++) {
        struct ctt_input in = clip_input(row[r].w, row[r].h, 12);
        struct ctt_frames f = { 0 };
        CHECK_OK(clip_write(&(struct clip){ .w = 64, .h = 32, .frames = 2,
                            .codec = "mpeg4", .fps = 12, .draw = left_white,
                            .turn = row[r].turn }, path));
        load(path, &in, row[r].w, row[r].h, &f);
        CU_ASSERT_EQUAL(at(&f, row[r].x, row[r].y), 0x111);
        CU_ASSERT_EQUAL(at(&f, row[r].w - 1 - row[r].x,
                           row[r].h - 1 - row[r].y), 0);
        ctt_frames_free(&f);
    }
}

static void test_float(void)
{
    struct ctt_input in = clip_input(2, 2, 0);
    uint8_t data[3 * 3 * 3];
    float out[12], want[12];
    struct ctt_pixels as;

    in.scale = 1.5f;
    in.mean[0] = 0.5f;
    in.std[1] = 0.25f;
    for (int i = 0; i < 27; i++)
        data[i] = (uint8_t)(9 * i);
    for (int flip = 0; flip < 2; flip++) {
        for (int i = 0; i < 12; i++) {
            int y = i / 6, x = i / 3 % 2, k = i % 3;
            int p = ((y + 1) * 3 + 1 + (flip ? 1 - x : x)) * 3 + k;
            want[i] = ((float)data[p] / 255 - in.mean[k]) / in.std[k];
        }
        ctt_pixels_begin(&as, &in);
        ctt_frame_float(data, &as, 1, 1, flip, out);
        CHECK_CLOSE(out, want, 12, 1e-6);
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "fit", test_fit }, { "colour", test_colour },
        { "turned", test_turn }, { "floats", test_float }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "preprocessing", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
