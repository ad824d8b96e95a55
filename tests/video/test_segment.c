/* SPDX-License-Identifier: Apache-2.0
 * test_segment.c: a part of a video has the frames that the whole one has
 * there, wherever its key frames are; and parts that are wrong. */
#include "base/limits.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/part.h"
#include "video/source.h"

#include <stdio.h>
#include <string.h>

enum { FRAMES = 240, FPS = 24, SIDE = 16, BYTES = SIDE * SIDE * 3 };

/* Moving stripes: neighbouring frames differ. */
static unsigned stripes(int i, int x, int y)
{
    unsigned grey = (unsigned)(40 + (x * 5 + y * 3 + i * 11) % 160);

    return (unsigned)i << 16 | grey << 8 | grey;
}

static const struct {
    const char *codec, *name;
    int         key;
} kinds[] = {
    { "ffv1", "part.mkv", 1 },        { "mpeg4", "part.mp4", 50 },
    { "mpeg4", "part.avi", 30 },      { "libx264", "open.mp4", 60 },
    { "libvpx-vp9", "part.webm", 40 }, { "libx264", "part.mkv", 250 },
    { "mpeg2video", "part.ts", 15 },
};

static struct ctt_frames load(const char *path, float fps)
{
    struct ctt_input in = clip_input(SIDE, SIDE, fps);
    struct ctt_frames f = { 0 };

    CHECK_OK(ctt_frames_load(path, &in, 0, &f));
    return f;
}

/* The part has the frames first ... of the whole video, count of them. */
static void same(const struct ctt_frames *whole, const char *part, float fps,
                 int first, int count)
{
    struct ctt_frames f = load(part, fps);

    CU_ASSERT_EQUAL(f.count, count);
    CU_ASSERT(f.seen == f.stated);
    CU_ASSERT_FATAL(first + f.count <= whole->count);
    CU_ASSERT(memcmp(f.data, whole->data + first * BYTES,
                     (size_t)f.count * BYTES) == 0);
    if (f.count != count ||
        memcmp(f.data, whole->data + first * BYTES,
               (size_t)f.count * BYTES) != 0)
        fprintf(stderr, "%s at %g: %d frames, %d wanted\n", part, (double)fps,
                f.count, count);
    ctt_frames_free(&f);
}

static void each_part(const char *name)
{
    static const float rate[] = { 0, 12, 24 };
    static const double start[] = { 0, 0.5, 1.25, 4, 4.5, 9, 9.5 };
    char path[512];

    for (size_t r = 0; r < CTT_LEN(rate); r++) {
        struct ctt_frames f = load(clip_path("%s", name), rate[r]);
        int per = rate[r] > 0 ? (int)rate[r] : FPS;
        CU_ASSERT_EQUAL_FATAL(f.count, FRAMES / FPS * per);
        for (size_t i = 0; i < CTT_LEN(start); i++) {
            snprintf(path, sizeof(path), "%s#t=%g,%g",
                     clip_path("%s", name), start[i], start[i] + 0.5);
            same(&f, path, rate[r], (int)(start[i] * per), per / 2);
            snprintf(path, sizeof(path), "%s#%d+12", clip_path("%s", name),
                     (int)(start[i] * FPS));
            same(&f, path, rate[r], (int)(start[i] * per), per / 2);
        }
        ctt_frames_free(&f);
    }
}

/* Coded with B frames or not, each key frame far from the next or not. */
static void test_same(void)
{
    for (size_t k = 0; k < CTT_LEN(kinds); k++) {
        const struct clip c = { .w = 64, .h = 48, .frames = FRAMES,
            .codec = kinds[k].codec, .fps = FPS, .key = kinds[k].key,
            .draw = stripes };
        if (!clip_can(kinds[k].codec))
            continue;
        CHECK_OK(clip_write(&c, clip_path("%s", kinds[k].name)));
        each_part(kinds[k].name);
    }
}

/* Frames that stay differently long are counted, not reckoned by time. */
static void test_unsteady(void)
{
    static const struct { const char *codec, *name; } kind[] = {
        { "ffv1", "odd.mkv" }, { "mpeg4", "odd.mp4" } };
    static double time[FRAMES];
    struct clip c = { .w = 32, .h = 24, .frames = FRAMES, .fps = FPS,
                      .time = time, .key = 10, .draw = stripes };
    struct ctt_frames f;
    char path[512];

    for (int i = 0; i < FRAMES; i++)
        time[i] = (i + (i % 7 ? 0 : 0.5) + (i > 100 ? 40 : 0)) / FPS;
    for (size_t k = 0; k < CTT_LEN(kind); k++) {
        const char *clip = clip_path("%s", kind[k].name);
        c.codec = kind[k].codec;
        CHECK_OK(clip_write(&c, clip));
        f = load(clip, 0);
        CU_ASSERT_EQUAL_FATAL(f.count, FRAMES);
        snprintf(path, sizeof(path), "%s#150+20", clip);
        same(&f, path, 0, 150, 20);
        snprintf(path, sizeof(path), "%s#t=%f,%f", clip, time[150] + 0.01,
                 time[153] + 0.01);
        same(&f, path, 0, 150, 4);    /* those that are shown */
        ctt_frames_free(&f);
    }
}

/* A part of a long video reads little of it. */
static void test_jumps(void)
{
    struct clip c = { .w = 32, .h = 24, .frames = 3000, .codec = "ffv1",
                      .fps = FPS, .key = 10, .draw = stripes };
    struct ctt_frames f;
    struct ctt_limits most = *ctt_limits(), old = most;
    char path[512];

    CHECK_OK(clip_write(&c, clip_path("long.mkv")));
    most.clip_frames = 60;
    CHECK_OK(ctt_limits_set(&most));
    snprintf(path, sizeof(path), "%s#t=120,121", clip_path("long.mkv"));
    f = load(path, 0);
    CU_ASSERT_EQUAL(f.count, FPS);
    ctt_frames_free(&f);
    c.codec = "mpeg4";
    CHECK_OK(clip_write(&c, clip_path("long.mp4")));
    snprintf(path, sizeof(path), "%s#2900+24", clip_path("long.mp4"));
    f = load(path, 0);
    CU_ASSERT_EQUAL(f.count, FPS);
    ctt_frames_free(&f);
    CHECK_OK(ctt_limits_set(&old));
}

/* ---- parts that are wrong ---- */

static void refuse(const char *part, const char *says)
{
    struct ctt_input in = clip_input(SIDE, SIDE, 0);
    struct ctt_frames f;
    char path[512];

    snprintf(path, sizeof(path), "%s%s", clip_path("s.mkv"), part);
    CU_ASSERT(ctt_frames_load(path, &in, 0, &f) < 0);
    CU_ASSERT(strstr(ctt_errmsg(), says) != NULL);
    if (!strstr(ctt_errmsg(), says))
        fprintf(stderr, "%s: %s\n", part, ctt_errmsg());
}

static void test_wrong(void)
{
    static const char *const bad[] = { "#t=1", "#t=2,1", "#t=1,1", "#t=-1,2",
        "#t=nan,2", "#t=0,inf", "#t=0,1e9", "#t=0,99999999999999", "#t=,",
        "#t=1,2,3", "#5", "#5+0", "#-1+5", "#9999999999+1", "#1+1@0", "#",
        "#t=0,1@-2", "#@", "#@1e3", "#t=1.2.3,4", "#t= 1,2", "#t=.,2" };

    clip_steady("s.mkv", 24, 12);
    for (size_t i = 0; i < CTT_LEN(bad); i++)
        refuse(bad[i], "s.mkv");
    refuse("#t=3,4", "begins after the end of the video");
    refuse("#30+4", "begins after the end of the video");
    refuse("#t=0,1@5", "only a folder of pictures");
}

/* Of a part that ends after the video the rest is missing: said, with a second
 * for rounded times. */
static void test_beyond(void)
{
    struct ctt_frames f;
    char path[512];

    clip_steady("s.mkv", 24, 12);
    snprintf(path, sizeof(path), "%s#t=1.5,2.9", clip_path("s.mkv"));
    f = load(path, 12);
    CU_ASSERT_EQUAL(f.count, 6);
    CU_ASSERT_EQUAL(f.seen, f.stated);
    ctt_frames_free(&f);
    snprintf(path, sizeof(path), "%s#t=1.5,3.5", clip_path("s.mkv"));
    f = load(path, 12);
    CU_ASSERT_EQUAL(f.count, 6);
    CU_ASSERT_EQUAL(f.stated, 24);
    CU_ASSERT(ctt_frames_whole(&f, path) < 0);
    ctt_frames_free(&f);
    snprintf(path, sizeof(path), "%s#20+10", clip_path("s.mkv"));
    f = load(path, 0);
    CU_ASSERT_EQUAL(f.count, 4);
    CU_ASSERT_EQUAL(f.stated, 10);
    ctt_frames_free(&f);
}

/* "~": a video that is not longer than the part is the part. */
static void test_or_all(void)
{
    struct ctt_frames f;
    char path[512];

    clip_steady("s.mkv", 24, 12);
    snprintf(path, sizeof(path), "%s#t=83,85~", clip_path("s.mkv"));
    f = load(path, 12);
    CU_ASSERT_EQUAL(f.count, 24);
    ctt_frames_free(&f);
    /* Longer than the part, but without what the times are about. */
    snprintf(path, sizeof(path), "%s#t=4.5,5~", clip_path("s.mkv"));
    f = load(path, 12);
    CU_ASSERT_EQUAL(f.count, 24);
    ctt_frames_free(&f);
    snprintf(path, sizeof(path), "%s#t=1,1.5~", clip_path("s.mkv"));
    f = load(path, 12);
    CU_ASSERT_EQUAL(f.count, 6);
    ctt_frames_free(&f);
}

/* A path is read as it was written. */
static void test_path(void)
{
    static const struct ctt_part part[] = {
        { CTT_PART_TIME, 0, 0, 12.5, 17, 0, 0 },
        { CTT_PART_TIME, 0, 0, 0.000001, 999999.999999, 1, 0 },
        { CTT_PART_FRAMES, 300, 150, 0, 0, 0, 29.97 },
        { CTT_PART_ALL, 0, 0, 0, 0, 0, 25 },
        { CTT_PART_ALL, 0, 0, 0, 0, 0, 0 },
    };
    static const char *const is[] = { "a#b/c#t=12.5,17",
        "a#b/c#t=0.000001,999999.999999~", "a#b/c#300+150@29.97",
        "a#b/c#@25", "a#b/c" };

    for (size_t i = 0; i < CTT_LEN(part); i++) {
        char *path = ctt_part_path("a#b/c", &part[i]), *file = NULL;
        struct ctt_part p;
        CU_ASSERT_FATAL(path != NULL);
        CU_ASSERT_STRING_EQUAL(path, is[i]);
        CHECK_OK(ctt_part_of(path, &file, &p));
        CU_ASSERT_STRING_EQUAL(file, "a#b/c");
        CU_ASSERT(p.kind == part[i].kind && p.first == part[i].first &&
                  p.count == part[i].count && p.or_all == part[i].or_all);
        CU_ASSERT_DOUBLE_EQUAL(p.start, part[i].start, 1e-7);
        CU_ASSERT_DOUBLE_EQUAL(p.end, part[i].end, 1e-7);
        CU_ASSERT_DOUBLE_EQUAL(p.fps, part[i].fps, 1e-7);
        ctt_free(path);
        ctt_free(file);
    }
}

/* ---- folders of pictures with a rate ---- */

static void test_rate(void)
{
    const struct clip c = { .w = 32, .h = 24, .frames = 60, .codec = "mjpeg",
                            .fps = 25, .draw = stripes };
    struct ctt_frames all, f;
    char path[512];

    clip_folder("pics");
    CHECK_OK(clip_write(&c, clip_path("pics/img_%%05d.jpg")));
    all = load(clip_path("pics"), 5);
    CU_ASSERT_EQUAL(all.count, 60);    /* no rate: every picture */
    snprintf(path, sizeof(path), "%s#@20", clip_path("pics"));
    f = load(path, 5);
    CU_ASSERT_EQUAL(f.count, 15);
    for (int i = 0; i < f.count; i++)
        CU_ASSERT(memcmp(f.data + i * BYTES, all.data + 4 * i * BYTES,
                         BYTES) == 0);
    ctt_frames_free(&f);
    f = load(path, 0);
    CU_ASSERT_EQUAL(f.count, 60);
    CU_ASSERT_EQUAL(f.fps, 20);
    ctt_frames_free(&f);
    snprintf(path, sizeof(path), "%s#t=2,3@20", clip_path("pics"));
    same(&all, path, 0, 40, 20);
    snprintf(path, sizeof(path), "%s#8+20@20", clip_path("pics"));
    same(&all, path, 0, 8, 20);
    f = load(path, 10);
    CU_ASSERT_EQUAL(f.count, 10);
    ctt_frames_free(&f);
    ctt_frames_free(&all);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "parts of the whole", test_same },
        { "frames of different length", test_unsteady },
        { "far from the start", test_jumps }, { "wrong parts", test_wrong },
        { "beyond the end", test_beyond }, { "part or all", test_or_all },
        { "paths", test_path }, { "pictures with a rate", test_rate },
        { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "parts of videos", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
