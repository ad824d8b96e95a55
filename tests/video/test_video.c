/* SPDX-License-Identifier: Apache-2.0
 * test_video.c: clips into frames: times, sizes, colours, damage. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/video.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANY = 256 };

static struct ctt_input input(int w, int h, float fps)
{
    return (struct ctt_input){ .d = 1, .h = h, .w = w, .c = 3, .fps = fps,
        .std = { 1, 1, 1 }, .scale = 1, .fit = CTT_FIT_CROP,
        .colour = CTT_RGB };
}

/* A lossless clip of greys. */
static const char *steady(const char *name, int frames, double fps)
{
    const char *path = clip_path("%s", name);

    CHECK_OK(clip_write(&(struct clip){ .w = 32, .h = 24, .frames = frames,
                        .codec = "ffv1", .fps = fps }, path));
    return path;
}

/* The numbers of the frames that come out, or -1 on failure. */
static int numbers(const char *path, float fps, int max, int out[MANY])
{
    struct ctt_input in = input(8, 6, fps);
    struct ctt_frames f = { 0 };
    int n;

    if (ctt_frames_load(path, &in, max, &f) < 0) {
        printf("\n    %s", ctt_errmsg());
        return -1;
    }
    n = f.count;
    for (int i = 0; i < n && i < MANY; i++)
        out[i] = clip_number(f.data[i * 8 * 6 * 3 + 3 * 8 * 3 + 4 * 3]);
    ctt_frames_free(&f);
    return n;
}

static int same(const int *a, const int *b, int n)
{
    for (int i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            printf("\n    output %d is frame %d, expected %d", i, a[i], b[i]);
            return 0;
        }
    }
    return 1;
}

/* Grid time k / out is nearest to frame k * in / out, halves going down. */
static void test_rate(void)
{
    static const struct { double in; float out; int frames, gives; } row[] = {
        { 12, 12, 40, 40 }, { 24, 12, 40, 20 }, { 30, 12, 40, 16 },
        { 25, 12, 45, 22 }, { 10, 20, 10, 20 }, { 30, 30, 1, 1 },
        { 30, 2, 3, 1 }, { 12, 5, 7, 3 }, { 30, 0, 17, 17 },
        { 29.97, 12, 50, 20 },
    };
    int got[MANY], want[MANY];

    for (size_t r = 0; r < CTT_LEN(row); r++) {
        const char *path = steady("rate.mkv", row[r].frames, row[r].in);
        int n = numbers(path, row[r].out, 0, got);
        double ratio = row[r].out > 0 ? row[r].in / (double)row[r].out : 1;
        CU_ASSERT_EQUAL(n, row[r].gives);
        for (int k = 0; k < n; k++) {
            double at = k * ratio;
            want[k] = (int)at + (at - (int)at > 0.5 + 0.002 * row[r].in / 2);
            if (want[k] >= row[r].frames)
                want[k] = row[r].frames - 1;
        }
        CU_ASSERT(same(got, want, n));
    }
}

/* The times in the file count, not the order of the frames. */
static void test_irregular(void)
{
    static const double time[] = { 0, 0.1, 0.15, 0.5, 0.52, 1.0 };
    static const int want[] = { 0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 5 };
    const char *ending[] = { "mkv", "mp4" };
    int got[MANY];

    for (size_t i = 0; i < CTT_LEN(ending); i++) {
        const char *path = clip_path("vfr.%s", ending[i]);
        CHECK_OK(clip_write(&(struct clip){ .w = 32, .h = 24, .frames = 6,
                            .codec = i ? "mpeg4" : "ffv1", .time = time },
                            path));
        CU_ASSERT(numbers(path, 10, 0, got) >= 11);
        CU_ASSERT(same(got, want, 11));
        CU_ASSERT_EQUAL(numbers(path, 0, 0, got), 6);
        CU_ASSERT(same(got, (int[]){ 0, 1, 2, 3, 4, 5 }, 6));
    }
}

static void test_max(void)
{
    const char *path = steady("max.mkv", 20, 12);
    int got[MANY];

    CU_ASSERT_EQUAL(numbers(path, 12, 5, got), 5);
    CU_ASSERT(same(got, (int[]){ 0, 1, 2, 3, 4 }, 5));
    CU_ASSERT_EQUAL(numbers(path, 12, 50, got), 20);
}

/* By content: every container under a wrong name as well, odd sizes. */
static void test_formats(void)
{
    static const struct { const char *codec, *ending, *wrong; } row[] = {
        { "libvpx-vp9", "webm", "mp4" }, { "libvpx", "webm", "avi" },
        { "mpeg4", "mp4", "webm" }, { "mpeg4", "avi", "mp4" },
        { "mpeg4", "mkv", "txt" }, { "mjpeg", "avi", "mpg" },
        { "ffv1", "mkv", "dat" }, { "mpeg2video", "ts", "mov" },
    };
    int got[MANY], want[14];

    for (int i = 0; i < 14; i++)
        want[i] = i;
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        const char *path = clip_path("format%zu.%s", r, row[r].ending);
        const char *wrong = clip_path("format%zu-wrong.%s", r, row[r].wrong);
        if (!clip_can(row[r].codec)) {
            printf("\n    no encoder %s: not tried", row[r].codec);
            continue;
        }
        CHECK_OK(clip_write(&(struct clip){ .w = 67, .h = 49, .frames = 14,
                            .codec = row[r].codec, .fps = 25 }, path));
        CU_ASSERT_EQUAL(numbers(path, 25, 0, got), 14);
        CU_ASSERT(same(got, want, 14));
        CU_ASSERT_EQUAL(rename(path, wrong), 0);
        CU_ASSERT_EQUAL(numbers(wrong, 25, 0, got), 14);
    }
}

/* ---- sizes and colours ---- */

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
    struct ctt_input in = input(16, 16, 12);
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
    struct ctt_input in = input(64, 32, 12);
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
        struct ctt_input in = input(row[r].w, row[r].h, 12);
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

/* ---- streams and floats ---- */

static void test_reader(void)
{
    const char *path = steady("reader.mkv", 30, 30);
    struct ctt_input in = input(8, 6, 12);
    struct ctt_frames f = { 0 };
    struct ctt_reader *r = NULL;
    uint8_t one[8 * 6 * 3];
    int n = 0, rc;

    CHECK_OK(ctt_frames_load(path, &in, 0, &f));
    CHECK_OK(ctt_reader_open(path, &in, &r));
    while ((rc = ctt_reader_next(r, one)) > 0) {
        CU_ASSERT_FATAL(n < f.count);
        CU_ASSERT(memcmp(one, f.data + n * sizeof(one), sizeof(one)) == 0);
        n++;
    }
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT_EQUAL(n, f.count);
    CU_ASSERT_EQUAL(n, 12);
    CU_ASSERT_EQUAL(ctt_reader_next(r, one), 0);
    ctt_reader_close(&r);
    CU_ASSERT_PTR_NULL(r);
    ctt_frames_free(&f);
}

static void test_float(void)
{
    struct ctt_input in = input(2, 2, 0);
    uint8_t data[3 * 3 * 3];
    float out[12], want[12];

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
        ctt_frame_float(data, &in, 1, 1, flip, out);
        CHECK_CLOSE(out, want, 12, 1e-6);
    }
}

/* ---- folders of pictures ---- */

static void test_pictures(void)
{
    static const struct { const char *range; int first, count; } row[] = {
        { "", 0, 9 }, { "#0+9", 0, 9 }, { "#2+3", 2, 3 }, { "#8+1", 8, 1 },
        { "#0+10", 0, -1 }, { "#9+1", 0, -1 }, { "#3+0", 0, -1 },
    };
    const char *dir = clip_path("100%% frames"), *empty = clip_path("none");
    int got[MANY], want[MANY];

    clip_folder("100% frames");
    clip_folder("none");
    clip_text("100% frames/notes.txt", "not a picture\n");
    CHECK_OK(clip_write(&(struct clip){ .w = 32, .h = 24, .frames = 9,
                        .codec = "mjpeg", .fps = 25 },
                        clip_path("100%%%% frames/img_%%05d.jpg")));
    for (size_t r = 0; r < CTT_LEN(row); r++) {
        const char *path = clip_path("100%% frames%s", row[r].range);
        int n = numbers(path, 12, 0, got);
        CU_ASSERT_EQUAL(n, row[r].count);
        for (int i = 0; i < n; i++)
            want[i] = row[r].first + i;
        CU_ASSERT(same(got, want, n));
    }
    CU_ASSERT_EQUAL(remove(clip_path("100%% frames/img_00004.jpg")), 0);
    CU_ASSERT_EQUAL(numbers(dir, 12, 0, got), -1);
    CU_ASSERT_EQUAL(numbers(empty, 12, 0, got), -1);
}

/* ---- what is not a clip, or half of one ---- */

static void refuse(const char *path, const char *says)
{
    struct ctt_input in = input(8, 6, 12);
    struct ctt_frames f = { 0 };
    int rc = ctt_frames_load(path, &in, 0, &f);

    CU_ASSERT(rc < 0);
    CU_ASSERT_PTR_NULL(f.data);
    if (!strstr(ctt_errmsg(), path) || !strstr(ctt_errmsg(), says)) {
        printf("\n    '%s' does not say '%s'", ctt_errmsg(), says);
        CU_FAIL("message");
    }
    ctt_frames_free(&f);
}

static void test_no_clip(void)
{
    /* A WAV file's head: PCM, mono, 8000 Hz, 8 bits, 64 samples. */
    static const char wav[44 + 64] = "RIFF\x64\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0"
        "\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\x40\0\0";
    char noise[5000], words[600];

    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)(i * i * 31 + i / 7);
    clip_file("empty.mp4", "", 0);
    clip_file("noise.mp4", noise, sizeof(noise));
    clip_file("page.webm", "<html>404 not found</html>\n", 27);
    for (size_t i = 0; i < sizeof(words); i++)
        words[i] = i % 6 ? 'a' : ' ';
    clip_file("words.txt", words, sizeof(words));
    clip_file("sound.wav", wav, sizeof(wav));
    refuse(clip_path("missing.mp4"), "No such file");
    refuse(clip_path("empty.mp4"), "cannot be opened as a video");
    refuse(clip_path("noise.mp4"), "cannot be opened as a video");
    refuse(clip_path("page.webm"), "cannot be opened as a video");
    refuse(clip_path("words.txt"), "a text, not a video");
    refuse(clip_path("sound.wav"), "no video in it");
}

static void test_input(void)
{
    const char *path = steady("input.mkv", 3, 12);
    struct ctt_input bad[4];
    struct ctt_frames f = { 0 };

    for (int i = 0; i < 4; i++)
        bad[i] = input(8, 6, 12);
    bad[0].w = 0;
    bad[1].h = CTT_SIDE_MAX + 1;
    bad[2].c = 4;
    bad[3].fps = -1;
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(ctt_frames_load(path, &bad[i], 0, &f), CTT_EINVAL);
}

/* Loads what may be damaged: frames, or an error that names it. */
static int try_load(const char *path, int most)
{
    struct ctt_input in = input(8, 6, 0);
    struct ctt_frames f = { 0 };
    int rc = ctt_frames_load(path, &in, 0, &f);

    CU_ASSERT(rc < 0 || (f.count > 0 && f.count <= most));
    CU_ASSERT(rc == 0 || strstr(ctt_errmsg(), path));
    ctt_frames_free(&f);
    return rc;
}

static void test_damage(void)
{
    static const char *const codec[][2] = { { "mpeg4", "mp4" },
        { "libvpx-vp9", "webm" }, { "ffv1", "mkv" }, { "mpeg4", "avi" } };
    const char *bad = clip_path("damaged");
    long live = ctt_live_blocks();
    uint32_t random = 1;

    for (size_t c = 0; c < CTT_LEN(codec); c++) {
        const char *path = clip_path("whole.%s", codec[c][1]);
        int refused = 0;
        size_t n;
        uint8_t *p;
        if (!clip_can(codec[c][0]))
            continue;
        CHECK_OK(clip_write(&(struct clip){ .w = 48, .h = 32, .frames = 20,
                            .codec = codec[c][0], .fps = 12 }, path));
        p = clip_bytes(path, &n);
        for (int i = 0; i < 40; i++) {
            clip_file("damaged", p, n * (size_t)i / 40);
            refused += try_load(bad, 20) < 0;
        }
        CU_ASSERT(refused > 0);
        for (int i = 0; i < 60; i++) {
            size_t k = (random = random * 1664525 + 1013904223) % n;
            uint8_t was = p[k];
            p[k] ^= (uint8_t)(1 + (random >> 24) % 255);
            clip_file("damaged", p, n);
            try_load(bad, 1 << 20);
            p[k] = was;
        }
        ctt_free(p);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), live);
}

/* Every k-th allocation fails. */
static void test_memory(void)
{
    const char *path = steady("memory.mkv", 40, 12);
    struct ctt_input in = input(8, 6, 12);
    struct ctt_frames f = { 0 };
    long live = ctt_live_blocks();
    int rc = CTT_ENOMEM, k = 0;

    while (rc == CTT_ENOMEM && k < 100) {
        ctt_fail_alloc(++k);
        rc = ctt_frames_load(path, &in, 0, &f);
        ctt_fail_alloc(0);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live + (rc == 0));
    }
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT(k > 5);
    CU_ASSERT_EQUAL(f.count, 40);
    ctt_frames_free(&f);
}

/* Real clips, where they are: the list, all of the first, H.264. */
static void test_real(void)
{
    const char *data = getenv("CONVTT_DATA");
    struct ctt_input in = input(112, 112, 12);
    struct ctt_list *l = NULL;
    char path[1024];

    snprintf(path, sizeof(path), "%s/fights/val_list.txt",
             data ? data : "../shared/data");
    if (access(path, R_OK) != 0) {
        printf("\n    %s is missing: not tried", path);
        return;
    }
    CHECK_OK(ctt_list_open(path, "validation", NULL, 0, NULL, &l));
    CU_ASSERT_EQUAL(l->count, 60);
    CU_ASSERT_EQUAL_FATAL(l->labels, 2);
    CU_ASSERT_STRING_EQUAL(l->label[0], "noFight");
    CU_ASSERT_STRING_EQUAL(l->label[1], "fight");
    for (int i = 0; i < l->count; i += 15) {
        struct ctt_frames f = { 0 };
        CHECK_OK(ctt_frames_load(l->item[i].path, &in, 0, &f));
        CU_ASSERT(f.count >= 8 && f.count <= 60);
        ctt_frames_free(&f);
    }
    ctt_list_free(&l);
}

int main(void)
{
    static CU_TestInfo times[] = {
        { "rate", test_rate }, { "irregular times", test_irregular },
        { "at most", test_max }, { "streams", test_reader }, { NULL, NULL } };
    static CU_TestInfo looks[] = {
        { "fit", test_fit }, { "colour", test_colour },
        { "turned", test_turn }, { "floats", test_float }, { NULL, NULL } };
    static CU_TestInfo files[] = {
        { "formats", test_formats }, { "pictures", test_pictures },
        { "no clips", test_no_clip }, { "bad input", test_input },
        { "damage", test_damage }, { "memory", test_memory },
        { "real clips", test_real }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "times", NULL, NULL, NULL, NULL, times },
        { "looks", NULL, NULL, NULL, NULL, looks },
        { "files", NULL, NULL, NULL, NULL, files },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
