/* SPDX-License-Identifier: Apache-2.0
 * test_video.c: clips into frames: which frame at which time, the formats of
 * files, folders of pictures, streams. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/video.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 256 };

/* The numbers of the frames that come out, or -1 on failure. */
static int numbers(const char *path, float fps, int max, int out[MANY])
{
    struct ctt_input in = clip_input(8, 6, fps);
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
        const char *path = clip_steady("rate.mkv", row[r].frames, row[r].in);
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
    const char *path = clip_steady("max.mkv", 20, 12);
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

static void test_reader(void)
{
    const char *path = clip_steady("reader.mkv", 30, 30);
    struct ctt_input in = clip_input(8, 6, 12);
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
    CU_ASSERT(numbers(dir, 12, 0, got) > 0);    /* some may be missing */
    CU_ASSERT_EQUAL(numbers(empty, 12, 0, got), -1);
}

/* Real clips, where they are: the list, all of the first, H.264. */
static void test_real(void)
{
    const char *data = getenv("CONVTT_DATA");
    struct ctt_input in = clip_input(112, 112, 12);
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
    static CU_TestInfo files[] = {
        { "formats", test_formats }, { "pictures", test_pictures },
        { "real clips", test_real }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "times", NULL, NULL, NULL, NULL, times },
        { "files", NULL, NULL, NULL, NULL, files },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
