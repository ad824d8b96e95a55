/* SPDX-License-Identifier: Apache-2.0
 * test_playlist.c: files that name other files are refused, whatever their own
 * name; only the file itself is opened; limits and requests to stop. */
#include "base/limits.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"
#include "video/meter.h"
#include "video/video.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A file that is not refused may be read without an end: then the program is
 * killed, which is a failure. */
enum { ENTRIES = 50000 };

static int load(const char *path)
{
    struct ctt_input in = clip_input(8, 6, 0);
    struct ctt_frames f = { 0 };
    int rc;

    alarm(CTT_PATIENCE);
    rc = ctt_frames_load(path, &in, 0, &f);
    alarm(0);
    ctt_frames_free(&f);
    return rc;
}

static void refuse(const char *path, const char *says)
{
    int rc = load(path);

    CU_ASSERT_EQUAL(rc, CTT_EFORMAT);
    if (rc >= 0 || !strstr(ctt_errmsg(), path) ||
        !strstr(ctt_errmsg(), says)) {
        printf("\n    %s: '%s' does not say '%s'", path,
               rc < 0 ? ctt_errmsg() : "", says);
        CU_FAIL("message");
    }
}

#define HLS "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n"
#define CONCAT "ffconcat version 1.0\n"

/* Playlists of a good clip beside them, of themselves, of others.  An FFmpeg
 * that was built without libxml2 takes two of them for texts. */
static const struct trick { const char *what, *kind, *text; } tricks[] = {
    { "hls of a neighbour", "hls",
      HLS "#EXTINF:1,\nneighbour.mkv\n#EXT-X-ENDLIST\n" },
    { "hls without an end", "hls", HLS "#EXTINF:1,\nneighbour.mkv\n" },
    { "hls that names itself", "hls", HLS "#EXTINF:1,\nclip.webm\n" },
    { "hls of hls", "hls", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n"
      "clip.webm\n" },
    { "hls of an absolute path", "hls",
      HLS "#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n" },
    { "hls of an address", "hls",
      HLS "#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n" },
    { "concat", "concat", CONCAT "file neighbour.mkv\n" },
    { "concat of itself", "concat", CONCAT "file clip.webm\nfile clip.txt\n" },
    { "concat of an absolute path", "concat",
      CONCAT "file file:///etc/passwd\n" },
    { "plain m3u", "playlist (m3u)", "#EXTM3U\nneighbour.mkv\n" },
    { "plain concat", "a text", "file neighbour.mkv\n" },
    { "dash", "not a video",
      "<?xml version=\"1.0\"?>\n<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
      "profiles=\"urn:mpeg:dash:profile:isoff-on-demand:2011\" "
      "type=\"static\"><Period><AdaptationSet><Representation id=\"1\">"
      "<BaseURL>neighbour.mkv</BaseURL></Representation></AdaptationSet>"
      "</Period></MPD>\n" },
    { "imf", "not a video",
      "<?xml version=\"1.0\"?>\n<CompositionPlaylist xmlns=\"http://www."
      "smpte-ra.org/schemas/2067-3/2016\"></CompositionPlaylist>\n" },
    { "sdp", "playlist", "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\n"
      "c=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n" },
};

static void test_tricks(void)
{
    static const char *const names[] = { "clip.webm", "clip.txt", "clip.m3u8",
                                         "clip.mp4", "clip.mpd", "clip",
                                         "clip.ffconcat", "clip.jpg" };

    clip_steady("neighbour.mkv", 5, 12);
    CU_ASSERT_EQUAL(load(clip_path("neighbour.mkv")), 0);
    for (size_t i = 0; i < CTT_LEN(tricks); i++)
        for (size_t k = 0; k < CTT_LEN(names); k++) {
            clip_text(names[k], tricks[i].text);
            refuse(clip_path("%s", names[k]), tricks[i].kind);
            CU_ASSERT_EQUAL(remove(clip_path("%s", names[k])), 0);
        }
}

static void test_long_concat(void)
{
    static const char line[] = "file neighbour.mkv\n";
    size_t n = sizeof(CONCAT) - 1 + ENTRIES * (sizeof(line) - 1);
    char *text = ctt_calloc(n + 1, 1), *to = text;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    clip_steady("neighbour.mkv", 5, 12);
    memcpy(to, CONCAT, sizeof(CONCAT) - 1);
    to += sizeof(CONCAT) - 1;
    for (int i = 0; i < ENTRIES; i++, to += sizeof(line) - 1)
        memcpy(to, line, sizeof(line) - 1);
    clip_file("clip.webm", text, n);
    refuse(clip_path("clip.webm"), "a playlist (concat), not a video");
    ctt_free(text);
}

/* For FFmpeg, p%03d.jpg and p*.jpg are patterns of names. */
static void test_pattern(void)
{
    static const char *const names[] = { "p%03d.jpg", "p*.jpg", "p%d.mkv",
                                         "p?01.jpg" };

    CHECK_OK(clip_write(&(struct clip){ .w = 32, .h = 24, .frames = 3,
                        .codec = "mjpeg", .fps = 25 },
                        clip_path("p%%03d.jpg")));
    for (size_t i = 0; i < CTT_LEN(names); i++) {
        const char *path = clip_path("%s", names[i]);
        CU_ASSERT_EQUAL(load(path), CTT_EIO);
        CU_ASSERT(strstr(ctt_errmsg(), "No such file") != NULL);
    }
    CU_ASSERT_EQUAL(rename(clip_steady("good.mkv", 4, 12),
                           clip_path("p%%d.mkv")), 0);
    CU_ASSERT_EQUAL(load(clip_path("p%%d.mkv")), 0);
}

/* What looks like an address is the name of a file. */
static void test_address(void)
{
    static const char *const paths[] = { "http://127.0.0.1:9/a.mp4",
        "concat:a.mp4|b.mp4", "lavfi:testsrc", "pipe:0", "fd:0", "data:,x",
        "subfile,,start,0,end,9,,:a.mp4", "-" };

    for (size_t i = 0; i < CTT_LEN(paths); i++) {
        CU_ASSERT_EQUAL(load(paths[i]), CTT_EIO);
        CU_ASSERT(strstr(ctt_errmsg(), "No such file") != NULL);
    }
}

/* They must not even be opened: a FIFO would block. */
static void test_fifo(void)
{
    clip_folder("frames");
    CU_ASSERT_EQUAL(mkfifo(clip_path("fifo.mp4"), 0600), 0);
    CU_ASSERT_EQUAL(mkfifo(clip_path("frames/1.jpg"), 0600), 0);
    CU_ASSERT_EQUAL(load(clip_path("fifo.mp4")), CTT_EIO);
    CU_ASSERT_EQUAL(load(clip_path("frames")), CTT_EIO);
    CU_ASSERT_EQUAL(load("/dev/zero"), CTT_EIO);
    CU_ASSERT(strstr(ctt_errmsg(), "not a regular file") != NULL);
}

/* ---- limits ---- */

/* Loads a good clip of 40 frames with one limit, then without. */
static void limited(const struct ctt_limits *l, const char *says)
{
    struct ctt_limits before = *ctt_limits();
    const char *path = clip_steady("limits.mkv", 40, 12);

    CHECK_OK(ctt_limits_set(l));
    refuse(path, says);
    CHECK_OK(ctt_limits_set(&before));
    CU_ASSERT_EQUAL(load(path), 0);
}

static void test_limits(void)
{
    struct ctt_limits before = *ctt_limits();

    limited(&(struct ctt_limits){ .clip_frames = 39 }, "(--clip-frames)");
    limited(&(struct ctt_limits){ .clip_bytes = 500 }, "(--clip-bytes)");
    limited(&(struct ctt_limits){ .clip_seconds = 1e-9 }, "(--clip-seconds)");
    limited(&(struct ctt_limits){ .frame_pixels = 767 }, "(--frame-pixels)");
    CHECK_OK(ctt_limits_set(&(struct ctt_limits){ .clip_frames = 40,
                            .frame_pixels = 768 }));
    CU_ASSERT_EQUAL(load(clip_path("limits.mkv")), 0);
    CHECK_OK(ctt_limits_set(&before));
}

/* A clip that does not fit is skipped as a bad one. */
static void test_memory(void)
{
    struct ctt_limits before = *ctt_limits(), less = { .memory = 1 << 17 };
    const char *path = clip_steady("limits.mkv", 400, 12);

    less.memory += ctt_memory_used();
    CHECK_OK(ctt_limits_set(&less));
    CU_ASSERT(ctt_clip_is_bad(load(path)));
    CU_ASSERT(strstr(ctt_errmsg(), "limits.mkv: its frames take") &&
              strstr(ctt_errmsg(), "(--memory)"));
    CHECK_OK(ctt_limits_set(&before));
    CU_ASSERT_EQUAL(load(path), 0);
}

/* A stop of the process, a suspended machine: the clock goes on, the thread has
 * computed nothing.  An address is waited for by the clock. */
static void test_pause(void)
{
    const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
    struct ctt_meter m = { .path = "clip.mkv" }, live = { .timeout = 1 };

    ctt_meter_start(&m);
    ctt_meter_start(&live);
    nanosleep(&pause, NULL);
    ctt_meter_stop(&m);
    ctt_meter_stop(&live);
    CU_ASSERT(m.spent < live.spent / 4);
    CU_ASSERT(live.spent > 0.019);
}

/* The time that counts is that without a new frame. */
static void test_seconds(void)
{
    struct ctt_meter m = { .path = "slow.mkv" };

    ctt_meter_start(&m);
    m.spent = ctt_limits()->clip_seconds / 2;
    CHECK_OK(ctt_meter_frame(&m));
    m.spent += ctt_limits()->clip_seconds / 2;
    CHECK_OK(ctt_meter_frame(&m));
    m.spent = ctt_limits()->clip_seconds + 1;
    ctt_check_refused(ctt_meter_check(&m), CTT_EFORMAT,
                      "slow.mkv: no new frame in 60 seconds");
}

/* ---- stopping ---- */

static int asked_in;

static int ask(void)
{
    return asked_in > 0 && --asked_in == 0 ? asked_in = 1 : 0;
}

/* The request comes at the k-th look: the decoder stops soon in any phase. */
static void test_stop(void)
{
    const char *path = clip_steady("stop.mkv", 200, 12);
    int rc = CTT_ESTOP, k = 0;

    ctt_stop_set(ask);
    while (rc == CTT_ESTOP && k < 100000) {
        asked_in = ++k;
        rc = load(path);
        CU_ASSERT(rc == 0 || strstr(ctt_errmsg(), "stopped") != NULL);
    }
    ctt_stop_set(NULL);
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT(k > 200);
}

int main(void)
{
    static CU_TestInfo names[] = {
        { "playlists", test_tricks }, { "50,000 entries", test_long_concat },
        { "patterns", test_pattern }, { "addresses", test_address },
        { "FIFOs and devices", test_fifo }, { NULL, NULL } };
    static CU_TestInfo limits[] = {
        { "limits", test_limits }, { "without a frame", test_seconds },
        { "a pause", test_pause },
        { "memory", test_memory },
        { "stopping", test_stop }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "other files", NULL, NULL, NULL, NULL, names },
        { "one clip", NULL, NULL, NULL, NULL, limits },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}
