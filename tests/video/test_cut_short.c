/* SPDX-License-Identifier: Apache-2.0
 * test_cut_short.c: clips that end before the length that their container
 * states are noticed, whole ones never. */
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/source.h"

#include <stdio.h>
#include <string.h>

enum { FRAMES = 20, CUTS = 200 };

/* Containers that state a length.  told: frames of a cut clip can be read. */
static const struct {
    const char *codec, *ending;
    int         told;
    const char *how;
} kinds[] = {
    { "libvpx-vp9", "webm", 1, NULL }, { "libvpx", "webm", 1, NULL },
    { "ffv1", "mkv", 1, NULL }, { "mpeg4", "mkv", 1, NULL },
    { "mpeg4", "avi", 1, NULL }, { "mjpeg", "avi", 1, NULL },
    { "mpeg4", "mp4", 0, NULL }, { "mjpeg", "mov", 0, NULL },
    { "mpeg4", "mp4", 1, "movflags=faststart" },
    { "libx264", "mp4", 0, "movflags=faststart" }, { "flv", "flv", 1, NULL },
};

/* 1: whole; 0: cut short; negative: an error. */
static int judge(const char *path, int *frames)
{
    struct ctt_input in = clip_input(8, 6, 0);
    struct ctt_frames f = { 0 };
    int rc = ctt_frames_load(path, &in, 0, &f);

    if (rc < 0)
        return rc;
    rc = ctt_frames_whole(&f, path) == 0;
    *frames = f.count;
    if (!rc) {
        CU_ASSERT(f.stated > f.seen);
        CU_ASSERT(strstr(ctt_errmsg(), path) != NULL);
    }
    ctt_frames_free(&f);
    return rc;
}

/* A cut clip is an error, said to be short, or has all of its frames. */
static void test_cuts(void)
{
    const char *cut = clip_path("cut");

    for (size_t k = 0; k < CTT_LEN(kinds); k++) {
        const char *path = clip_path("whole%zu.%s", k, kinds[k].ending);
        int frames = 0, told = 0;
        uint8_t *p;
        size_t n;
        if (!clip_can(kinds[k].codec)) {
            printf("\n    no encoder %s: not tried", kinds[k].codec);
            continue;
        }
        CHECK_OK(clip_write(&(struct clip){ .w = 48, .h = 32,
                            .frames = FRAMES, .codec = kinds[k].codec,
                            .fps = 12, .how = kinds[k].how }, path));
        CU_ASSERT_EQUAL(judge(path, &frames), 1);
        CU_ASSERT_EQUAL(frames, FRAMES);
        p = clip_bytes(path, &n);
        for (int i = 1; i < CUTS; i++) {
            int rc;
            clip_file("cut", p, n * (size_t)i / CUTS);
            rc = judge(cut, &frames);
            if (rc == 1 && frames < FRAMES)
                printf("\n    %s in %s cut at %d of %d: %d frames",
                       kinds[k].codec, kinds[k].ending, i, CUTS, frames);
            CU_ASSERT(rc != 1 || frames == FRAMES);
            told += rc == 0;
        }
        CU_ASSERT(told > 0 || !kinds[k].told);
        ctt_free(p);
    }
}

static void whole(const struct clip *c, const char *ending)
{
    const char *path = clip_path("whole.%s", ending);
    int frames = 0;

    if (!clip_can(c->codec))
        return;
    CHECK_OK(clip_write(c, path));
    if (judge(path, &frames) != 1) {
        printf("\n    %s with sound of %g s: %s", path, c->sound,
               ctt_errmsg());
        CU_FAIL("whole");
    }
    CU_ASSERT_EQUAL(frames, c->frames);
}

/* Sound that is longer or shorter, uneven times, a long last frame, one frame,
 * rates whose durations are rounded. */
static void test_whole(void)
{
    static const double uneven[] = { 0, 0.1, 0.15, 0.5, 0.52, 1.0 };
    static const double pause[] = { 0, 0.1, 0.2, 0.3, 3.0 };
    static const double late[] = { 1, 1.1, 1.2, 1.3, 1.4 };
    static const double fps[] = { 7, 23.976, 29.97, 59.94, 14.985 };
    static const char *const endings[] = { "mkv", "avi", "mov", "nut", "asf" };

    for (size_t i = 0; i < CTT_LEN(endings); i++) {
        struct clip c = { .w = 32, .h = 24, .frames = 10, .codec = "mpeg4",
                          .fps = 12 };
        const char *e = endings[i];
        whole(&(struct clip){ .w = 32, .h = 24, .frames = 1,
                              .codec = "mpeg4", .fps = 12 }, e);
        for (c.sound = 0.3; c.sound < 4; c.sound += 0.9)
            whole(&c, e);
        c.sound = 0;
        for (size_t k = 0; k < CTT_LEN(fps); k++) {
            c.fps = fps[k];
            whole(&c, e);
        }
        if (strcmp(e, "avi") == 0)    /* has no times */
            continue;
        c.frames = 6;
        c.time = uneven;
        whole(&c, e);
        c.frames = 5;
        c.time = pause;
        whole(&c, e);
        c.time = late;
        whole(&c, e);
    }
}

/* The numbers; strict sources, whole and frame by frame. */
static void test_strict(void)
{
    struct ctt_input in = clip_input(8, 6, 0);
    const char *path = clip_steady("strict.mkv", FRAMES, 12);
    struct ctt_source_set set = { .split = "train",
                                  .labels = CTT_LABELS_ANY };
    uint8_t one[8 * 6 * 3];
    size_t n;
    uint8_t *p = clip_bytes(path, &n);

    clip_file("strict.mkv", p, n * 4 / 5);
    ctt_free(p);
    for (set.strict = 0; set.strict < 2; set.strict++) {
        struct ctt_source *s = NULL;
        struct ctt_frames f = { 0 };
        struct ctt_feed *feed = NULL;
        char says[64];
        int rc;
        CHECK_OK(ctt_source_open(path, &set, &in, &s));
        rc = ctt_source_frames(s, 0, 0, 0, &f);
        CU_ASSERT_EQUAL(rc, set.strict ? CTT_EFORMAT : 0);
        CU_ASSERT(set.strict || (f.count > 0 && f.count < FRAMES));
        if (!set.strict) {
            CU_ASSERT_EQUAL(ctt_frames_whole(&f, path), CTT_EFORMAT);
            snprintf(says, sizeof(says), "cut short: has %d of %d frames",
                     f.count, FRAMES);
            CU_ASSERT(strstr(ctt_errmsg(), says) != NULL);
        }
        ctt_frames_free(&f);
        CHECK_OK(ctt_source_frames(s, 0, 0, 2, &f));    /* not to the end */
        CU_ASSERT_EQUAL(ctt_frames_whole(&f, path), 0);
        ctt_frames_free(&f);
        CHECK_OK(ctt_feed_open(s, 0, 0, &feed));
        while ((rc = ctt_feed_next(feed, one)) > 0)
            continue;
        CU_ASSERT_EQUAL(rc, set.strict ? CTT_EFORMAT : 0);
        CU_ASSERT_EQUAL(ctt_feed_whole(feed), CTT_EFORMAT);
        ctt_feed_close(&feed);
        ctt_source_close(&s);
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "cuts", test_cuts }, { "whole clips", test_whole },
        { "strict", test_strict }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "cut short", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
