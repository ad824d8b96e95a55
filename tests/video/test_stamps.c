/* SPDX-License-Identifier: Apache-2.0
 * test_stamps.c: times of frames that their neighbours contradict, and files
 * that were joined, as clips, as parts and as streams. */
#include "tests/lib/live.h"
#include "video/stamps.h"
#include "video/video.h"

#include <math.h>

enum { N = 20, FPS = 10 };

static struct live_run run;

/* ---- the rule ---- */

/* The times of n stamps, each judged with the one after it. */
static int64_t judge(const double *stamp, int n, int restarts, double *out)
{
    struct ctt_stamps t = { 0 };

    for (int i = 0; i < n; i++) {
        out[i] = ctt_stamp_time(&t, stamp[i], i + 1 < n ? stamp[i + 1] :
                                (double)NAN, restarts);
        t.step = 0.5;
    }
    return t.jumps;
}

static void test_rule(void)
{
    static const struct {
        double stamp[6], want[2][6];    /* no format that restarts; one */
        int    jumps[2];
    } rows[] = {
        { { 7, 7.5, 8, 8.5, 9, 9.5 }, { { 0, .5, 1, 1.5, 2, 2.5 },
          { 0, .5, 1, 1.5, 2, 2.5 } }, { 0, 0 } },
        /* One is wrong: the first, one in the middle, forth or back. */
        { { 9800, 7.5, 8, 8.5, 9, 9.5 }, { { 0, .5, 1, 1.5, 2, 2.5 },
          { 0, .5, 1, 1.5, 2, 2.5 } }, { 1, 1 } },
        { { 7, 7.5, 9800, 8.5, 9, 9.5 }, { { 0, .5, 1, 1.5, 2, 2.5 },
          { 0, .5, 1, 1.5, 2, 2.5 } }, { 1, 1 } },
        { { 7, 7.5, -80, 8.5, 9, 9.5 }, { { 0, .5, 1, 1.5, 2, 2.5 },
          { 0, .5, 1, 1.5, 2, 2.5 } }, { 1, 1 } },
        /* Joined; a pause, or joined where the format restarts. */
        { { 7, 7.5, 8, 7, 7.5, 8 }, { { 0, .5, 1, 1.5, 2, 2.5 },
          { 0, .5, 1, 1.5, 2, 2.5 } }, { 1, 1 } },
        { { 7, 7.5, 8, 30, 30.5, 31 }, { { 0, .5, 1, 23, 23.5, 24 },
          { 0, .5, 1, 1.5, 2, 2.5 } }, { 0, 1 } },
        /* Out of order; missing. */
        { { 0, 1, .5, 1.5, 2, 2.5 }, { { 0, 1, 1, 1.5, 2, 2.5 },
          { 0, 1, 1, 1.5, 2, 2.5 } }, { 0, 0 } },
        { { 3, NAN, 4, NAN, NAN, 5.5 }, { { 0, .5, 1, 1.5, 2, 2.5 },
          { 0, .5, 1, 1.5, 2, 2.5 } }, { 0, 0 } },
    };

    for (size_t i = 0; i < CTT_LEN(rows); i++) {
        for (int how = 0; how < 2; how++) {
            double got[6];
            int64_t jumps = judge(rows[i].stamp, 6, how, got);
            CU_ASSERT_EQUAL(jumps, rows[i].jumps[how]);
            for (int k = 0; k < 6; k++)
                CU_ASSERT_DOUBLE_EQUAL(got[k], rows[i].want[how][k], 1e-9);
        }
    }
}

/* ---- files ---- */

/* The clip has the frames 0 ... N - 1 that often, in order, as a clip and as a
 * stream, each at its time. */
static void expect(const char *path, int often, const char *says)
{
    struct ctt_input in = clip_input(LIVE_W, LIVE_H, FPS);
    struct ctt_live_set set = { .source = path };
    struct ctt_frames f = { 0 };
    int n = often * N;

    CHECK_OK(ctt_frames_load(path, &in, 0, &f));
    CU_ASSERT_EQUAL(f.count, n);
    for (int i = 0; i < f.count && i < n; i++)
        CU_ASSERT_EQUAL(clip_number(f.data[(size_t)i * LIVE_W * LIVE_H * 3 +
                                           4]), i % N);
    ctt_check_refused(ctt_frames_whole(&f, path), CTT_EFORMAT, says);
    ctt_frames_free(&f);
    live_take(&set, &in, 0, LIVE_MANY, &run);
    CU_ASSERT_EQUAL(run.rc, 0);
    CU_ASSERT_EQUAL(run.n, n);
    CU_ASSERT(run.counts.jumps > 0);
    for (int i = 0; i < run.n && i < n; i++) {
        CU_ASSERT_EQUAL(run.number[i], i % N);
        CU_ASSERT_DOUBLE_EQUAL(run.time[i], (double)i / FPS, 0.011);
    }
}

static uint8_t *make(const char *ending, const char *codec, int frames,
                     size_t *n)
{
    const char *path = clip_path("whole.%s", ending);

    CHECK_OK(clip_write(&(struct clip){ .w = 48, .h = 32, .frames = frames,
                        .codec = codec, .fps = FPS }, path));
    return clip_bytes(path, n);
}

/* The k-th picture of MPEG-TS is shown at this time (ISO 13818-1, 2.4.3.7). */
static void stamp(uint8_t *p, size_t n, int k, double seconds)
{
    uint64_t t = (uint64_t)(seconds * 90000);

    for (size_t i = 0; i + 14 < n; i++) {
        if (memcmp(p + i, "\0\0\1\xe0", 4) != 0 || k-- > 0)
            continue;
        p[i + 9] = (uint8_t)((p[i + 9] & 0xf0) | (t >> 29 & 14) | 1);
        p[i + 10] = (uint8_t)(t >> 22);
        p[i + 11] = (uint8_t)(t >> 14 | 1);
        p[i + 12] = (uint8_t)(t >> 7);
        p[i + 13] = (uint8_t)(t << 1 | 1);
        return;
    }
    CU_FAIL("no such picture");
}

static void test_outlier(void)
{
    const char *path = clip_path("outlier.ts");
    struct ctt_input in = clip_input(LIVE_W, LIVE_H, FPS);
    struct ctt_frames f = { 0 };
    uint8_t *all, *p;
    size_t n;

    if (!clip_can("mpeg2video"))
        return;
    p = make("ts", "mpeg2video", N, &n);
    all = ctt_calloc(3, n);
    for (int i = 0; i < 3; i++) {
        memcpy(all + (size_t)i * n, p, n);
        stamp(all + (size_t)i * n, n, 5 + 4 * i, 9800);
    }
    clip_file("outlier.ts", all, n);
    expect(path, 1, "outlier.ts: its times break at 1 place");
    CHECK_OK(ctt_frames_load(clip_path("outlier.ts#t=1,1.5"), &in, 0, &f));
    CU_ASSERT_EQUAL(f.count, 5);
    CU_ASSERT_EQUAL(clip_number(f.data[4]), 10);
    ctt_frames_free(&f);
    clip_file("outlier.ts", all, 3 * n);
    expect(path, 3, "outlier.ts: ");
    ctt_free(all);
    ctt_free(p);
}

/* Two files joined are one with all frames, however short. */
static void test_joined(void)
{
    static const char *const kinds[][2] = {
        { "ts", "mpeg2video" }, { "webm", "libvpx" }, { "mkv", "ffv1" },
        { "avi", "mpeg4" },
    };

    for (size_t k = 0; k < CTT_LEN(kinds); k++) {
        char name[32];
        uint8_t *all, *p;
        size_t n;

        if (!clip_can(kinds[k][1]))
            continue;
        p = make(kinds[k][0], kinds[k][1], N, &n);
        all = ctt_calloc(2, n);
        memcpy(all, p, n);
        memcpy(all + n, p, n);
        snprintf(name, sizeof(name), "joined.%s", kinds[k][0]);
        clip_file(name, all, 2 * n);
        expect(clip_path("%s", name), 2, "joined");
        ctt_free(all);
        ctt_free(p);
    }
}

/* Of other formats, and of Matroska from the third file on, the rest is not
 * read, which is said. */
static void test_unread(void)
{
    static const struct { const char *ending, *codec; int files, read; }
    rows[] = {
        { "flv", "flv", 2, 1 }, { "mp4", "mpeg4", 2, 1 },
        { "mkv", "mpeg4", 3, 2 }, { "asf", "wmv2", 3, 1 },
    };
    static const uint8_t gif[] = "GIF89a\1\0\1\0\x80\0\0\xff\xff\xff\0\0\0,"
        "\0\0\0\0\1\0\1\0\0\2\2\x44\1\0;GIF89a\1\0\1\0";
    struct ctt_input in = clip_input(8, 6, 0);
    struct ctt_frames f = { 0 };

    for (size_t k = 0; k < CTT_LEN(rows); k++) {
        size_t n, files = (size_t)rows[k].files;
        char name[32], says[64];
        uint8_t *p, *all;

        if (!clip_can(rows[k].codec))
            continue;
        snprintf(name, sizeof(name), "one.%s", rows[k].ending);
        CHECK_OK(clip_write(&(struct clip){ .w = 48, .h = 32, .frames = N,
                            .codec = rows[k].codec, .fps = 25 },
                            clip_path("%s", name)));
        p = clip_bytes(clip_path("%s", name), &n);
        all = ctt_calloc(files, n);
        for (size_t i = 0; i < files; i++)
            memcpy(all + i * n, p, n);
        snprintf(name, sizeof(name), "rest.%s", rows[k].ending);
        clip_file(name, all, files * n);
        CHECK_OK(ctt_frames_load(clip_path("%s", name), &in, 0, &f));
        CU_ASSERT_EQUAL(f.count, N * rows[k].read);
        snprintf(says, sizeof(says), "not the last %zu bytes",
                 (files - (size_t)rows[k].read) * n);
        ctt_check_refused(ctt_frames_whole(&f, name), CTT_EFORMAT, says);
        ctt_frames_free(&f);
        clip_file(name, p, n);
        CHECK_OK(ctt_frames_load(clip_path("%s", name), &in, 0, &f));
        CHECK_OK(ctt_frames_whole(&f, name));
        ctt_frames_free(&f);
        ctt_free(all);
        ctt_free(p);
    }
    clip_file("rest.gif", gif, sizeof(gif) - 1);
    CHECK_OK(ctt_frames_load(clip_path("rest.gif"), &in, 0, &f));
    ctt_check_refused(ctt_frames_whole(&f, "rest.gif"), CTT_EFORMAT,
                      "not the last 10 bytes");
    ctt_frames_free(&f);
}

/* ---- files that were cut ---- */

/* The first 60% of a file: its first frames, the rest is counted. */
static void test_cut(void)
{
    static const struct {
        const char *ending, *codec, *how, *says;
    } kinds[] = {
        { "mp4", "mpeg4", "movflags=faststart", "cut short: has %d of 50 " },
        { "avi", "mpeg4", NULL, "cut short: has %d of 50 frames" },
        { "mkv", "mpeg4", NULL, "cut short: has %d of 50 frames" },
        { "ts", "mpeg2video", NULL, "cut short: has %d frames and a part" },
    };
    struct ctt_input in = clip_input(8, 6, 0);

    for (size_t k = 0; k < CTT_LEN(kinds); k++) {
        struct clip c = { .w = 48, .h = 32, .frames = 50, .fps = FPS,
                          .codec = kinds[k].codec, .how = kinds[k].how };
        const char *path = clip_path("cut.%s", kinds[k].ending);
        struct ctt_frames f = { 0 };
        char says[80];
        uint8_t *p;
        size_t n;

        if (!clip_can(c.codec))
            continue;
        CHECK_OK(clip_write(&c, path));
        p = clip_bytes(path, &n);
        snprintf(says, sizeof(says), "cut.%s", kinds[k].ending);
        clip_file(says, p, n * 6 / 10 - 50);
        CHECK_OK(ctt_frames_load(path, &in, 0, &f));
        CU_ASSERT(f.count > 5 && f.count < 45);
        for (int i = 0; i < f.count; i++)
            CU_ASSERT_EQUAL(clip_number(f.data[(size_t)i * 8 * 6 * 3]), i);
        snprintf(says, sizeof(says), kinds[k].says, f.count);
        ctt_check_refused(ctt_frames_whole(&f, path), CTT_EFORMAT, says);
        ctt_frames_free(&f);
        ctt_free(p);
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "rule", test_rule }, { "outlier", test_outlier },
        { "joined", test_joined },
        { "unread", test_unread }, { "cut", test_cut }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "times", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };

    return live_main(suites);
}
