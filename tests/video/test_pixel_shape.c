/* SPDX-License-Identifier: Apache-2.0
 * test_pixel_shape.c: clips whose pixels are not square are shown in their
 * shape. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/video.h"

#include <stdlib.h>

enum { W = 96, H = 64, SIDE = 32, BYTES = SIDE * SIDE * 3 };

static int wide = 1, high = 1;    /* pixels of the shown picture per stored */

/* A picture without symmetry: a bright disc off the middle, two slopes. */
static unsigned picture(int i, int x, int y)
{
    int sx = x * wide, sy = y * high, dx = sx - 36, dy = sy - 24;
    unsigned red = (unsigned)(40 + sx * 150 / W), blue = (unsigned)(sy * 3);

    (void)i;
    return dx * dx + dy * dy < 300 ? 0xffff40 : red << 16 | 0x3000 | blue;
}

/* Frame 0 of a clip whose stored pixels are a x b of the shown picture; stated:
 * whether the clip says so. */
static void make(const char *codec, const char *ending, int a, int b,
                 int stated, enum ctt_fit fit, uint8_t out[BYTES])
{
    struct clip c = { .w = W / a, .h = H / b, .frames = 3, .codec = codec,
                      .fps = 12, .draw = picture };
    struct ctt_input in = clip_input(SIDE, SIDE, 0);
    const char *path = clip_path("shape.%s", ending);
    struct ctt_frames f = { 0 };

    wide = a;
    high = b;
    c.pixel[0] = stated ? a : 0;
    c.pixel[1] = stated ? b : 1;
    in.fit = (int)fit;
    CHECK_OK(clip_write(&c, path));
    CHECK_OK(ctt_frames_load(path, &in, 0, &f));
    CU_ASSERT_EQUAL_FATAL(f.count, 3);
    for (int i = 0; i < BYTES; i++)
        out[i] = f.data[i];
    ctt_frames_free(&f);
}

static double differ(const uint8_t *a, const uint8_t *b)
{
    double sum = 0;

    for (int i = 0; i < BYTES; i++)
        sum += abs(a[i] - b[i]);
    return sum / BYTES;
}

static const struct { const char *codec, *ending; } kinds[] = {
    { "mpeg4", "mp4" }, { "mpeg4", "avi" }, { "libvpx-vp9", "webm" },
    { "ffv1", "mkv" },
};

/* Wider and higher pixels give what square ones give, up to the loss of
 * detail; a clip that does not say their shape is distorted. */
static void compare(enum ctt_fit fit)
{
    static const struct { int a, b; } shape[] = { { 2, 1 }, { 1, 2 } };
    uint8_t square[BYTES], same[BYTES], other[BYTES];

    for (size_t k = 0; k < CTT_LEN(kinds); k++) {
        if (!clip_can(kinds[k].codec))
            continue;
        make(kinds[k].codec, kinds[k].ending, 1, 1, 1, fit, square);
        for (size_t i = 0; i < CTT_LEN(shape); i++) {
            double far;
            make(kinds[k].codec, kinds[k].ending, shape[i].a, shape[i].b, 1,
                 fit, same);
            make(kinds[k].codec, kinds[k].ending, shape[i].a, shape[i].b, 0,
                 fit, other);
            far = differ(square, other);
            CU_ASSERT(differ(square, same) < 6);
            CU_ASSERT(fit == CTT_FIT_STRETCH ? far < 6 : far > 15);
        }
    }
}

static void test_crop(void)
{
    compare(CTT_FIT_CROP);
}

static void test_pad(void)
{
    compare(CTT_FIT_PAD);
}

/* The whole picture fills the frame, whatever its shape. */
static void test_stretch(void)
{
    compare(CTT_FIT_STRETCH);
}

/* A shape that no camera has is that of a damaged file: it is ignored. */
static void test_absurd(void)
{
    static const int shape[][2] = { { 16, 1 }, { 1, 16 }, { 30000, 1 },
                                    { 1, 30000 } };

    for (size_t i = 0; i < CTT_LEN(shape); i++) {
        struct clip c = { .w = 64, .h = 64, .frames = 2, .codec = "ffv1",
                          .fps = 12 };
        const char *path = clip_path("absurd.mkv");
        struct ctt_video *v = NULL;
        int w, h, turns;
        double t;
        c.pixel[0] = shape[i][0];
        c.pixel[1] = shape[i][1];
        CHECK_OK(clip_write(&c, path));
        CHECK_OK(ctt_video_open(path, &v));
        CU_ASSERT_EQUAL(ctt_video_ahead(v, &t), 1);
        ctt_video_step(v);
        ctt_video_size(v, &w, &h, &turns);
        CU_ASSERT(w == 64 && h == 64);
        ctt_video_close(&v);
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "crop", test_crop }, { "pad", test_pad },
        { "stretch", test_stretch }, { "absurd shapes", test_absurd },
        { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "pixels that are not square", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
