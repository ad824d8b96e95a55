/* SPDX-License-Identifier: Apache-2.0
 * test_live_bad.c: live sources that are damaged, refused or stay away,
 * settings that are wrong, memory that runs out. */
#include "base/limits.h"
#include "tests/lib/live.h"
#include "video/video.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

static struct live_run run;

/* ---- bad streams ---- */

/* Damage in the middle costs frames, not the stream. */
static void test_damaged(void)
{
    struct clip c = { .w = 64, .h = 48, .frames = 60, .codec = "mjpeg",
                      .fps = 25 };
    const char *path = clip_path("sound.avi");
    struct ctt_live_set set = { .source = clip_path("hurt.avi"),
                                .say = live_say };
    struct ctt_input in = clip_input(8, 6, 0);
    struct ctt_frames f = { 0 };
    uint8_t *data;
    size_t n;

    CHECK_OK(clip_write(&c, path));
    data = clip_bytes(path, &n);
    memset(data + n / 3, 0, n / 10);
    clip_file("hurt.avi", data, n);
    CU_ASSERT(ctt_frames_load(set.source, &in, 0, &f) < 0);
    live_take(&set, &in, 0, LIVE_MANY, &run);
    CU_ASSERT_EQUAL(run.rc, 0);
    CU_ASSERT(run.n > 40 && run.n <= 60);
    CU_ASSERT(run.counts.damaged > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(live_said, "damaged"));
    /* Cut anywhere: an end or one line, and what came before counts. */
    for (size_t cut = 0; cut < n; cut += n / 23) {
        clip_file("hurt.avi", data, cut);
        live_take(&set, &in, 0, LIVE_MANY, &run);
        CU_ASSERT(run.rc == 0 ? run.n > 0 :
                  strncmp(run.why, set.source, strlen(set.source)) == 0);
        CU_ASSERT(live_adds_up(&run.counts));
    }
    ctt_free(data);
}

/* A source that has less than it says is told so and counted, as a clip is; its
 * last packet may be incomplete, which counts as damaged. */
static void test_missing(void)
{
    static const char *const endings[] = { "mkv", "mp4", "avi" };
    enum { N = 20 };

    for (size_t k = 0; k < CTT_LEN(endings); k++) {
        const struct clip c = { .w = 48, .h = 32, .frames = N, .fps = 12,
                                .codec = "mjpeg", .how = k == 1 ?
                                "movflags=faststart" : NULL };
        struct ctt_live_set set = { .source = clip_path("less"),
                                    .say = live_say };
        struct ctt_input in = clip_input(8, 6, 0);
        char line[80];
        uint8_t *data;
        size_t n;

        CHECK_OK(clip_write(&c, clip_path("all.%s", endings[k])));
        data = clip_bytes(clip_path("all.%s", endings[k]), &n);
        clip_file("less", data, n);
        live_take(&set, &in, 0, LIVE_MANY, &run);
        CU_ASSERT(run.rc == 0 && run.n == N && run.counts.missing == 0);
        CU_ASSERT_STRING_EQUAL(live_said, "");
        clip_file("less", data, n * 2 / 3);
        live_take(&set, &in, 0, LIVE_MANY, &run);
        CU_ASSERT_EQUAL(run.rc, 0);
        CU_ASSERT(run.n > 0 && run.n < N);
        CU_ASSERT(run.counts.missing >= N - run.n - 1);
        CU_ASSERT(run.counts.missing <= N - run.n);
        snprintf(line, sizeof(line), "less: cut short: %d frames are missing "
                 "at its end\n", (int)run.counts.missing);
        CU_ASSERT_PTR_NOT_NULL(strstr(live_said, line));
        ctt_free(data);
    }
}

static void put_le(uint8_t *to, uint64_t x, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (uint8_t)(x >> 8 * i);
}

/* An IVF of n equal JPEGs shown at stamp[i] * unit / rate seconds. */
static const char *write_ivf(const char *name, unsigned rate, unsigned unit,
                             int n, const uint64_t *stamp)
{
    const char *path = clip_path("one.mjpeg");
    uint8_t head[32] = "DKIF\0\0\x20\0MJPG", *jpeg, *all;
    size_t size, at = sizeof(head);

    CHECK_OK(clip_write(&(struct clip){ .w = 32, .h = 24, .frames = 1,
                        .codec = "mjpeg", .fps = 25 }, path));
    jpeg = clip_bytes(path, &size);
    all = ctt_calloc(sizeof(head) + (size_t)n * (12 + size), 1);
    put_le(head + 12, 32, 2);
    put_le(head + 14, 24, 2);
    put_le(head + 16, rate, 4);
    put_le(head + 20, unit, 4);
    put_le(head + 24, (uint64_t)n, 4);
    memcpy(all, head, sizeof(head));
    for (int i = 0; i < n; i++, at += 12 + size) {
        put_le(all + at, size, 4);
        put_le(all + at + 4, stamp[i], 8);
        memcpy(all + at + 12, jpeg, size);
    }
    clip_file(name, all, at);
    ctt_free(jpeg);
    ctt_free(all);
    return clip_path("%s", name);
}

/* Neither a rate nor a time that nobody can mean makes steps without end, or
 * keeps the source waiting. */
static void test_absurd(void)
{
    enum { N = 10 };
    static const uint64_t steady[N] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 };
    static const uint64_t far[N] = { 0, 8000000000000000000u,
        8000000000000000300u, 8000000000000000600u, 8000000000000001100u,
        8000000000000001700u, 8000000000000002300u, 8000000000000002900u,
        8000000000000003500u, 8000000000000004100u };
    struct ctt_live_set set = { 0 };
    struct ctt_input in = clip_input(8, 6, 10);

    set.source = write_ivf("slow.ivf", 1, 2000000000, N, steady);
    live_take(&set, &in, 0, LIVE_MANY, &run);
    CU_ASSERT_EQUAL(run.rc, 0);
    CU_ASSERT_EQUAL(run.counts.decoded, N);
    CU_ASSERT(run.n >= N && run.n <= 2 * N);
    set.source = write_ivf("far.ivf", 1, 1, N, far);
    set.realtime = 1;
    live_take(&set, &in, 0, LIVE_MANY, &run);
    CU_ASSERT_EQUAL(run.rc, 0);
    CU_ASSERT_EQUAL(run.counts.decoded, N);
    CU_ASSERT(run.n > 0 && run.n < LIVE_MANY && run.counts.jumps > 0);
    for (int i = 1; i < run.n; i++)
        CU_ASSERT(run.time[i] >= run.time[i - 1]);
}

#define NO_CAMERA "/dev/video63"    /* is tried once, also with --reconnects */

static void refuse(const char *source, int code, const char *message)
{
    struct ctt_live_set set = { .source = source, .timeout = 0.3,
                                .reconnects = !strcmp(source, NO_CAMERA) };
    struct ctt_input in = clip_input(8, 6, 10);

    live_take(&set, &in, 0, 5, &run);
    CU_ASSERT_EQUAL(run.n, 0);
    ctt_check_refused(ctt_error(run.rc, "%s", run.why), code, message);
}

static void test_refused(void)
{
    static const char list[] = "#EXTM3U\n#EXTINF:10,\nhttp://127.0.0.1/a\n";
    static const char other[] = "ffconcat version 1.0\nfile sound.avi\n";
    struct live_writer w = { .path = clip_path("list"), .n = sizeof(list) - 1,
                             .data = (const uint8_t *)list };
    uint8_t *start;
    size_t n;

    CHECK_OK(clip_write(&(struct clip){ .w = 32, .h = 24, .frames = 1,
                        .codec = "mjpeg", .fps = 25 }, clip_path("s.mkv")));
    start = clip_bytes(clip_path("s.mkv"), &n);
    clip_file("start", start, 64);
    refuse(clip_path("start"), CTT_EFORMAT, "cut short in its header (matro");
    clip_file("start", (const uint8_t[64]){ 0 }, 64);
    refuse(clip_path("start"), CTT_EFORMAT, "its format is not known");
    ctt_free(start);
    clip_text("list.m3u8", list);
    refuse(clip_path("list.m3u8"), CTT_EFORMAT, "playlist");
    live_write_start(&w);
    refuse(w.path, CTT_EFORMAT, "not");
    live_write_end(&w);
    w.data = (const uint8_t *)other;
    w.n = sizeof(other) - 1;
    live_write_start(&w);
    refuse(w.path, CTT_EFORMAT, "not");
    live_write_end(&w);
    w.n = 0;
    live_write_start(&w);
    refuse(w.path, CTT_EIO, "ended before the first frame");
    live_write_end(&w);
    unlink(w.path);
    CU_ASSERT_EQUAL(mkfifo(w.path, 0600), 0);    /* that nobody writes */
    refuse(w.path, CTT_EIO, "no frame for 0.3 seconds");
    refuse(clip_path("none.mkv"), CTT_EIO, "No such file");
    refuse("rtmp://127.0.0.1/a", CTT_EINVAL, "not an address of");
    refuse("file:///etc/passwd", CTT_EINVAL, "not an address of");
    refuse("/dev/null", CTT_EUNSUP, "not a camera");
    refuse(NO_CAMERA, CTT_EIO, "directory (ls /dev/video* names cameras)");
    CU_ASSERT_PTR_NULL(strstr(run.why, "given up"));
    refuse("tcp://u:secret@127.0.0.1:1?key=secret", CTT_EIO,
           "tcp://127.0.0.1:1: ");
    CU_ASSERT_PTR_NULL(strstr(run.why, "secret"));
}

static unsigned noise(int i, int x, int y)
{
    unsigned n = (unsigned)(x + 331 * y + 77777 * i) * 2654435761u;

    return n >> 8;
}

/* Nothing leads from the end of a pipe back to its pictures. */
static void test_index(void)
{
    struct clip c = { .w = 160, .h = 120, .frames = 20, .codec = "mpeg4",
                      .fps = 25, .draw = noise };
    const char *path = clip_path("last.mp4");
    struct live_writer w = { .path = clip_path("index") };
    struct ctt_live_set set = { .source = w.path };
    struct ctt_input in = clip_input(8, 6, 0);
    uint8_t *data;

    CHECK_OK(clip_write(&c, path));
    data = clip_bytes(path, &w.n);
    CU_ASSERT(w.n > 1 << 17);    /* more than is kept */
    w.data = data;
    live_write_start(&w);
    refuse(w.path, CTT_EFORMAT, "its index (moov) is at the end");
    live_write_end(&w);
    ctt_free(data);
    c.how = "movflags=+faststart";
    CHECK_OK(clip_write(&c, path));
    data = clip_bytes(path, &w.n);
    w.data = data;
    live_write_start(&w);
    live_take(&set, &in, 0, LIVE_MANY, &run);
    live_write_end(&w);
    CU_ASSERT_EQUAL(run.n, 20);
    w.n /= 2;    /* the index first, then too little */
    live_write_start(&w);
    live_take(&set, &in, 0, LIVE_MANY, &run);
    live_write_end(&w);
    CU_ASSERT(run.n > 0 && run.n < 20);
    CU_ASSERT_PTR_NULL(strstr(run.why, "index"));
    ctt_free(data);
}

static void test_names(void)
{
    static const char *const row[][2] = {
        { "rtsp://me:hush@cam/1", "rtsp://cam/1" },
        { "rtsp://me@cam:554", "rtsp://cam:554" },
        { "http://a@b:hush@cam/x@y?token=hush#z", "http://cam/x@y" },
        { "tcp://me:hush@cam:1?key=hush", "tcp://cam:1" },
        { "rtmp://me:hush@cam/1", "rtmp://cam/1" },
        { "http://cam/x#hush", "http://cam/x" },
        { "a?b@c#t=1,2", "a?b@c#t=1,2" }, { "-", "-" },
        { "/d e/me:x@y://z?", "/d e/me:x@y://z?" }, { "://a?b", "://a?b" },
        { "img_%05d.png#@25", "img_%05d.png#@25" }, { "", "" },
    };
    char name[64];

    for (size_t i = 0; i < CTT_LEN(row); i++)
        CU_ASSERT_STRING_EQUAL(ctt_live_name(row[i][0], name, sizeof(name)),
                               row[i][1]);
    CU_ASSERT_STRING_EQUAL(ctt_live_name("rtsp://me:hush@cam/1", name, 9),
                           "rtsp://c");
}

static void test_looks(void)
{
    const char *fifo = clip_path("looks");
    const char *const live[] = { "-", "rtsp://me:hush@cam/1", "rtmp://cam",
        "/dev/video63", "/dev/null", "img_%05d.png", fifo };
    const char *const clips[] = { clip_path("none.mkv"), ".",
        clip_steady("looks.mkv", 2, 10), "://a", "list.json#train" };

    CU_ASSERT_EQUAL(mkfifo(fifo, 0600), 0);
    ctt_error(CTT_EIO, "kept");
    for (size_t i = 0; i < CTT_LEN(live); i++)
        CU_ASSERT(ctt_live_looks(live[i]));
    CU_ASSERT_STRING_EQUAL(ctt_errmsg(), "kept");
    for (size_t i = 0; i < CTT_LEN(clips); i++)
        CU_ASSERT_FALSE(ctt_live_looks(clips[i]));
}

static void test_settings(void)
{
    const char *path = clip_steady("set.mkv", 3, 10);
    static const char *const raw[] = { "", "8x6", "8x6xgray", "8x6xgray@",
        "8x6xgray@0", "8x6xgray@-1", "8x6xgray@nan", "8x6xgray@1e9",
        "0x6xgray@1", "8x-6xgray@1", "8x6xyuyv@1", "8x6xgray@30x",
        "99999999x6xgray@1", "16384x16384xgray@1" };
    struct ctt_live_set set[] = {
        { .source = "" }, { .source = path, .timeout = -1 },
        { .source = path, .timeout = (double)NAN },
        { .source = path, .timeout = 1e9 },
        { .source = path, .reset_after = -0.1 },
        { .source = path, .reset_after = (double)INFINITY },
        { .source = path, .cut = 1.01 }, { .source = path, .cut = -1 },
        { .source = path, .behind = CTT_BEHIND_DROP },
        { .source = path, .behind = CTT_BEHIND_STRIDE },
        { .source = "rtsp://127.0.0.1/", .raw = "8x6xgray@30" },
        { .source = "udp://127.0.0.1:9", .raw = "8x6xgray@30" },
        { .source = "/dev/null", .raw = "8x6xgray@30" },
    };
    struct ctt_input in = clip_input(8, 6, 10);
    struct ctt_live *l = NULL;

    for (size_t i = 0; i < CTT_LEN(set); i++)
        CU_ASSERT_EQUAL(ctt_live_open(&set[i], &in, &l), CTT_EINVAL);
    for (size_t i = 0; i < CTT_LEN(raw); i++)
        ctt_check_refused(ctt_live_open(&(struct ctt_live_set){
                          .source = path, .raw = raw[i] }, &in, &l),
                          CTT_EINVAL, "raw frames");
    in.c = 2;
    CU_ASSERT(ctt_live_open(&(struct ctt_live_set){ .source = path }, &in,
                            &l) < 0);
    CU_ASSERT_PTR_NULL(l);
}

/* Nothing is held after an allocation that failed. */
static void test_no_memory(void)
{
    const char *path = clip_steady("memory.mkv", 5, 10);
    struct ctt_live_set set = { .source = path, .want_picture = 1 };
    struct ctt_input in = clip_input(8, 6, 10);
    long before;
    int k = 1;

    live_take(&set, &in, 0, 9, &run);    /* FFmpeg is loaded */
    before = ctt_live_blocks();
    for (; k < 100; k++) {
        ctt_fail_alloc(k);
        live_take(&set, &in, 0, 9, &run);
        ctt_fail_alloc(0);
        CU_ASSERT_EQUAL(ctt_live_blocks(), before);
        if (run.rc >= 0)
            break;
        CU_ASSERT_EQUAL(run.rc, CTT_ENOMEM);
    }
    CU_ASSERT(k > 5 && k < 100);
}

/* ---- ends ---- */

static atomic_int asked;

static int is_asked(void)
{
    return asked;
}

static void *ask(void *arg)
{
    live_rest(0.2);
    asked = 1;
    return arg;
}

/* Neither the user nor the caller waits for a source that stays away. */
static void test_ends(void)
{
    const char *path = clip_path("never");
    struct ctt_live_set set = { .source = path };
    struct ctt_input in = clip_input(8, 6, 10);
    struct ctt_live_frame f;
    struct ctt_live *l = NULL;
    double t = ctt_seconds();
    pthread_t other;

    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    CHECK_OK(ctt_live_open(&set, &in, &l));
    CU_ASSERT_EQUAL(ctt_live_poll(l, &f), CTT_LIVE_LATER);
    live_rest(0.1);
    ctt_live_close(&l);
    ctt_live_close(&l);
    ctt_stop_set(is_asked);
    pthread_create(&other, NULL, ask, NULL);
    CHECK_OK(ctt_live_open(&set, &in, &l));
    CU_ASSERT_EQUAL(ctt_live_next(l, &f), CTT_ESTOP);
    ctt_live_close(&l);
    pthread_join(other, NULL);
    ctt_stop_set(NULL);
    CU_ASSERT(ctt_seconds() - t < CTT_LIVE_TIMEOUT);
}

int main(void)
{
    static CU_TestInfo bad[] = {
        { "damaged", test_damaged }, { "missing", test_missing },
        { "refused", test_refused },
        { "absurd times", test_absurd }, { "index", test_index },
        { "names", test_names },
        { "forms", test_looks }, { "settings", test_settings },
        { "no memory", test_no_memory }, { "ends", test_ends },
        { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "bad", NULL, NULL, NULL, NULL, bad },
        { NULL, NULL, NULL, NULL, NULL, NULL } };

    return live_main(suites);
}
