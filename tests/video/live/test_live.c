/* SPDX-License-Identifier: Apache-2.0
 * test_live.c: live sources: the frames of files are those of clips, raw
 * frames, pipes, callers that are too slow, gaps, cuts. */
#include "base/limits.h"
#include "tests/lib/live.h"
#include "video/save.h"
#include "video/video.h"

#include <math.h>
#include <stdlib.h>

static struct live_run run;

static struct ctt_input gray(float fps)
{
    struct ctt_input in = clip_input(LIVE_W, LIVE_H, fps);

    in.c = 1;
    in.colour = CTT_GRAY;
    return in;
}

/* ---- files ---- */

/* All bytes of all frames are those of the clip at path. */
static int equal(const struct ctt_live_set *set, const char *path,
                 const struct ctt_input *in)
{
    size_t size = (size_t)in->h * (size_t)in->w * (size_t)in->c;
    uint8_t *middle = ctt_calloc(size, 1);
    struct ctt_frames f = { 0 };
    struct ctt_live_frame got;
    struct ctt_live *l = NULL;
    int n = 0, same = 1, rc = 1;

    CHECK_OK(ctt_frames_load(path, in, 0, &f));
    CHECK_OK(ctt_live_open(set, in, &l));
    while (rc > 0 && (rc = ctt_live_next(l, &got)) > 0 && n < f.count) {
        size_t room = (size_t)f.h * (size_t)f.w * (size_t)f.c;

        ctt_frame_middle(f.data + (size_t)n * room, f.w, f.h, in, middle);
        same = same && memcmp(middle, got.data, size) == 0;
        same = same && got.step == n && got.skipped == 0 &&
               got.fresh == (n ? CTT_FRESH_NO : CTT_FRESH_START);
        n++;
    }
    if (rc < 0)
        printf("\n    %s", ctt_errmsg());
    if (n != f.count || !same)
        printf("\n    %s: %d of %d frames", path, n, f.count);
    same = same && rc == 0 && n == f.count;
    ctt_live_close(&l);
    ctt_frames_free(&f);
    ctt_free(middle);
    return same;
}

/* Several sources asked in turns give what each gives to one that waits; their
 * readers say when it is worth to ask. */
struct news { pthread_mutex_t lock; pthread_cond_t some; int count; };

static void note_news(void *arg)
{
    struct news *n = arg;

    pthread_mutex_lock(&n->lock);
    n->count++;
    pthread_cond_signal(&n->some);
    pthread_mutex_unlock(&n->lock);
}

static void wait_news(struct news *n)
{
    pthread_mutex_lock(&n->lock);
    while (!n->count)
        pthread_cond_wait(&n->some, &n->lock);
    n->count = 0;
    pthread_mutex_unlock(&n->lock);
}

static void test_poll(void)
{
    static const float rate[] = { 0, 10, 60 };
    struct news news = { .lock = PTHREAD_MUTEX_INITIALIZER,
                         .some = PTHREAD_COND_INITIALIZER };
    struct clip c = { .w = 32, .h = 24, .frames = 20, .codec = "mpeg4",
                      .fps = 25 };
    struct ctt_live_set set = { .source = clip_path("polled.mp4"),
                                .news = note_news, .arg = &news };
    struct ctt_live *live[3] = { NULL }, *alone[3] = { NULL };
    struct ctt_live_frame got, want;
    int open = 3, left[3] = { 1, 1, 1 }, rc;

    CHECK_OK(clip_write(&c, set.source));
    for (int i = 0; i < 3; i++) {
        struct ctt_input in = gray(rate[i]);

        CHECK_OK(ctt_live_open(&set, &in, &live[i]));
        CHECK_OK(ctt_live_open(&(struct ctt_live_set){ .source = set.source },
                               &in, &alone[i]));
    }
    while (open) {
        wait_news(&news);
        for (int i = 0; i < 3; i++)
            while (left[i] &&
                   (rc = ctt_live_poll(live[i], &got)) != CTT_LIVE_LATER) {
                CU_ASSERT_EQUAL_FATAL(ctt_live_next(alone[i], &want), rc);
                left[i] = rc;
                open -= !rc;
                CU_ASSERT(!rc || (got.time == want.time &&
                                  memcmp(got.data, want.data,
                                         LIVE_W * LIVE_H) == 0));
            }
    }
    for (int i = 0; i < 3; i++) {
        ctt_live_close(&live[i]);
        ctt_live_close(&alone[i]);
    }
}

static void test_clips(void)
{
    static const double odd[] = { 0, 0.1, 0.15, 0.5, 0.52, 1.0, 9.5, 9.6 };
    static const float rate[] = { 0, 2, 10, 12, 25, 60 };
    struct clip c = { .w = 64, .h = 36, .frames = 40, .codec = "mpeg4",
                      .fps = 25, .turn = 90 };
    const char *path[4];

    path[0] = clip_path("steady.mp4");
    CHECK_OK(clip_write(&c, path[0]));
    path[1] = clip_path("odd.mkv");
    CHECK_OK(clip_write(&(struct clip){ .w = 32, .h = 24, .frames = 8,
                        .codec = "ffv1", .time = odd }, path[1]));
    path[2] = clip_steady("one.mkv", 1, 30);
    path[3] = clip_path("odd.mkv#t=0.3,5");
    for (size_t i = 0; i < CTT_LEN(path); i++) {
        for (size_t r = 0; r < CTT_LEN(rate); r++) {
            struct ctt_live_set set = { .source = path[i] };
            struct ctt_input in = clip_input(20, 14, rate[r]);

            CU_ASSERT(equal(&set, path[i], &in));
            in.scale = 1.3f;
            in.fit = r % 2 ? CTT_FIT_PAD : CTT_FIT_CROP;
            CU_ASSERT(equal(&set, path[i], &in));
        }
    }
}

/* In real time, with a caller that is fast enough, too; and not faster. */
static void test_realtime(void)
{
    const char *path = clip_steady("real.mkv", 30, 30);
    struct ctt_live_set set = { .source = path, .realtime = 1 };
    struct ctt_input in = clip_input(8, 6, 15);
    double t = ctt_seconds();

    live_take(&set, &in, 0, LIVE_MANY, &run);
    t = ctt_seconds() - t;
    CU_ASSERT_EQUAL(run.rc, 0);
    CU_ASSERT(t > 0.9);
    CU_ASSERT(live_adds_up(&run.counts) && run.add_up);
    CU_ASSERT_EQUAL(run.counts.decoded, 30);
    CU_ASSERT_EQUAL(run.counts.waiting, 0);
    CU_ASSERT_EQUAL(run.n + run.counts.skipped, 15);
    for (int i = 0; i < run.n; i++)
        CU_ASSERT_EQUAL(run.number[i], lround(run.time[i] * 30));
}

static void test_pictures(void)
{
    struct ctt_live_set set = { .source = clip_path("p/img_%%03d.png") };
    struct ctt_input in = clip_input(8, 6, 10);
    char rated[512];

    clip_folder("p");
    for (int i = 0; i < 6; i++) {
        uint8_t p[16 * 12];

        memset(p, (int)(clip_grey(i) & 255), sizeof(p));
        CHECK_OK(ctt_save_png(clip_path("p/img_%03d.png", i + 7), p, 16, 12,
                              1));
    }
    CU_ASSERT(equal(&set, clip_path("p"), &in));
    snprintf(rated, sizeof(rated), "%s#@5", set.source);
    set.source = rated;
    CU_ASSERT(equal(&set, clip_path("p#@5"), &in));
    unlink(clip_path("p/img_009.png"));    /* numbers may be missing */
    CU_ASSERT(equal(&set, clip_path("p#@5"), &in));
    set.source = clip_path("p/jpg_%%03d.png");
    live_take(&set, &in, 0, 9, &run);
    ctt_check_refused(ctt_error(run.rc, "%s", run.why), CTT_EFORMAT,
                      "no such pictures");
}

/* The picture is the whole frame, upright. */
static void test_picture(void)
{
    struct clip c = { .w = 48, .h = 32, .frames = 5, .codec = "mpeg4",
                      .fps = 10, .turn = 90 };
    const char *path = clip_path("turned.mp4");
    struct ctt_live_set set = { .source = path, .want_picture = 1 };
    struct ctt_input in = clip_input(8, 6, 0);
    struct ctt_live_frame f;
    struct ctt_live *l = NULL;

    CHECK_OK(clip_write(&c, path));
    CHECK_OK(ctt_live_open(&set, &in, &l));
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL_FATAL(ctt_live_next(l, &f), 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(f.picture);
        CU_ASSERT_EQUAL(f.picture_w, 32);
        CU_ASSERT_EQUAL(f.picture_h, 48);
        CU_ASSERT(abs(clip_number(f.picture[(47 * 32 + 31) * 3]) - i) <= 1);
    }
    CU_ASSERT_EQUAL(ctt_live_next(l, &f), 0);
    CU_ASSERT_EQUAL(ctt_live_next(l, &f), 0);
    ctt_live_close(&l);
}

/* ---- pipes ---- */

static void test_fifo(void)
{
    struct live_writer w = { .path = clip_path("fifo") };
    struct ctt_live_set set = { .source = w.path };
    struct ctt_input in = clip_input(8, 6, 12);
    const char *path = clip_steady("in.mkv", 50, 25);
    uint8_t *data = clip_bytes(path, &w.n);

    CU_ASSERT_PTR_NOT_NULL_FATAL(data);
    w.data = data;
    for (int pieces = 0; pieces < 2; pieces++) {
        w.piece = pieces ? 300 : 0;
        live_write_start(&w);
        CU_ASSERT(equal(&set, path, &in));
        live_write_end(&w);
    }
    ctt_free(data);
}

/* Standard input: a pipe, and a file that is passed as one. */
static void test_stdin(void)
{
    struct live_writer w = { .path = clip_path("pipe") };
    const char *path = clip_steady("std.mkv", 40, 20);
    struct ctt_live_set set = { .source = "-" };
    struct ctt_input in = clip_input(8, 6, 10);
    int keep = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), fd;
    uint8_t *data = clip_bytes(path, &w.n);

    w.data = data;
    live_write_start(&w);
    fd = open(w.path, O_RDONLY);
    dup2(fd, STDIN_FILENO);
    close(fd);
    CU_ASSERT(equal(&set, path, &in));
    live_write_end(&w);
    fd = open(path, O_RDONLY);
    dup2(fd, STDIN_FILENO);
    close(fd);
    CU_ASSERT(equal(&set, path, &in));
    if (keep >= 0) {
        dup2(keep, STDIN_FILENO);
        close(keep);
    }
    ctt_free(data);
}

static void test_raw(void)
{
    enum { N = 60 };
    uint8_t *data = live_greys(N);
    struct live_writer w = { .path = clip_path("raw"), .data = data,
                             .n = N * LIVE_W * LIVE_H + 7, .piece = 47 };
    struct ctt_live_set set = { .source = w.path, .raw = "8x6xgray@30",
                                .say = live_say };
    struct ctt_input in = gray(15);
    uint8_t *more = ctt_calloc(w.n, 1);

    memcpy(more, data, w.n - 7);
    w.data = more;
    live_write_start(&w);
    live_take(&set, &in, 0, LIVE_MANY, &run);
    live_write_end(&w);
    CU_ASSERT_EQUAL(run.rc, 0);
    CU_ASSERT_EQUAL(run.n, N / 2);
    CU_ASSERT_EQUAL(run.counts.decoded, N);
    CU_ASSERT_EQUAL(run.counts.between, N / 2);
    CU_ASSERT_EQUAL(run.counts.missing, 1);    /* the last 7 bytes */
    CU_ASSERT_EQUAL(run.counts.damaged, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(live_said, "cut short: 1 frame is missing"));
    CU_ASSERT_EQUAL(run.counts.bytes, w.n);
    for (int i = 0; i < run.n; i++)
        CU_ASSERT_EQUAL(run.number[i], 2 * i % 56);
    clip_file("raw.bin", data, w.n - 7);
    set.source = clip_path("raw.bin");
    live_take(&set, &in, 0, LIVE_MANY, &run);
    CU_ASSERT_EQUAL(run.n, N / 2);
    CU_ASSERT_EQUAL(run.counts.missing, 0);
    ctt_free(more);
    ctt_free(data);
}

/* ---- callers that are slow ---- */

/* Frames come at 50 a second, and all are steps. */
static void slow(enum ctt_behind behind, double busy)
{
    enum { N = 45 };
    uint8_t *data = live_greys(N);
    struct live_writer w = { .path = clip_path("slow"), .data = data,
                             .n = N * LIVE_W * LIVE_H };
    struct ctt_live_set set = { .source = w.path, .raw = "8x6xgray@50",
                                .realtime = 1, .behind = behind };
    struct ctt_input in = gray(50);

    live_write_start(&w);
    live_take(&set, &in, busy, LIVE_MANY, &run);
    live_write_end(&w);
    CU_ASSERT_EQUAL(run.rc, 0);
    CU_ASSERT(run.add_up && live_adds_up(&run.counts));
    CU_ASSERT_EQUAL(run.counts.decoded, N);
    CU_ASSERT_EQUAL(run.counts.waiting, 0);
    CU_ASSERT_EQUAL(run.counts.taken, run.n);
    CU_ASSERT_EQUAL(run.counts.steps, run.n);
    for (int i = 0; i < run.n; i++)    /* the right frame at its time */
        CU_ASSERT_EQUAL(run.number[i], lround(run.time[i] * 50) % 56);
    ctt_free(data);
}

static void test_slow(void)
{
    slow(CTT_BEHIND_DROP, 0.08);
    CU_ASSERT(run.n < 30 && run.n > 1);
    CU_ASSERT(run.counts.dropped > 10);
    CU_ASSERT(run.counts.late > 0);
    CU_ASSERT(run.counts.skipped <= run.counts.dropped);
    slow(CTT_BEHIND_STRIDE, 0.08);
    CU_ASSERT(run.n < 30 && run.n > 1);
    CU_ASSERT(run.counts.stride > 2);
    CU_ASSERT(run.counts.between > 5);
    slow(CTT_BEHIND_WAIT, 0.03);
    CU_ASSERT_EQUAL(run.n, 45);
    CU_ASSERT_EQUAL(run.counts.dropped + run.counts.skipped, 0);
}

/* Once it runs, nothing is allocated and nothing grows. */
static void test_memory(void)
{
    enum { N = 20000 };
    uint8_t *data = live_greys(N);
    struct live_writer w = { .path = clip_path("long"), .data = data,
                             .n = N * LIVE_W * LIVE_H };
    struct ctt_live_set set = { .source = w.path, .raw = "8x6xgray@1000",
                                .want_picture = 1 };
    struct ctt_input in = gray(1000);
    struct ctt_live *l = NULL;
    struct ctt_live_frame f;
    int64_t bytes = 0;
    long calls = 0;
    int n = 0;

    live_write_start(&w);
    CHECK_OK(ctt_live_open(&set, &in, &l));
    while (ctt_live_next(l, &f) > 0) {
        if (++n == N / 2) {    /* each slot has had a picture, too */
            calls = ctt_alloc_calls();
            bytes = ctt_memory_used();
        }
        if (n == N - 100) {
            CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
            CU_ASSERT_EQUAL(ctt_memory_used(), bytes);
        }
    }
    CU_ASSERT_EQUAL(n, N);
    ctt_live_close(&l);
    live_write_end(&w);
    ctt_free(data);
}

/* ---- streams that begin anew ---- */

static int fresh_at(enum ctt_fresh why)
{
    for (int i = 0; i < run.n; i++)
        if (run.fresh[i] == (int)why)
            return i;
    return -1;
}

static void test_gap(void)
{
    static const double time[] = { 0, 0.1, 0.2, 0.3, 4.3, 4.4, 4.5, 90, 90.1 };
    const char *path = clip_path("gap.mkv");
    struct ctt_live_set set = { .source = path, .reset_after = 2 };
    struct ctt_input in = clip_input(8, 6, 10);

    CHECK_OK(clip_write(&(struct clip){ .w = 32, .h = 24, .frames = 9,
                        .codec = "ffv1", .time = time }, path));
    live_take(&set, &in, 0, LIVE_MANY, &run);
    CU_ASSERT_EQUAL(run.rc, 0);
    CU_ASSERT(run.n >= 9 && run.n <= 11);
    CU_ASSERT_EQUAL(run.fresh[0], CTT_FRESH_START);
    CU_ASSERT_EQUAL(run.counts.resets, 2);
    CU_ASSERT_EQUAL(run.number[fresh_at(CTT_FRESH_GAP)], 4);
    CU_ASSERT_EQUAL(run.counts.skipped, 0);
    /* As a clip, the frame before stays; a minute is no frame's time. */
    set.reset_after = 0;
    live_take(&set, &in, 0, LIVE_MANY, &run);
    CU_ASSERT_EQUAL(run.counts.resets, 1);
    CU_ASSERT_EQUAL(run.number[fresh_at(CTT_FRESH_GAP)], 7);
    CU_ASSERT(run.n >= 47 && run.n <= 49);
}

static unsigned scenes(int i, int x, int y)
{
    return i / 10 % 2 ? (x / 8 + y / 8) % 2 * 0xffffffu : x > 16 ? 0xff2010 :
           0x0010ff;
}

static void test_cut(void)
{
    struct clip c = { .w = 32, .h = 24, .frames = 30, .codec = "ffv1",
                      .fps = 10, .draw = scenes };
    const char *path = clip_path("cut.mkv");
    struct ctt_live_set set = { .source = path, .cut = 0.1 };
    struct ctt_input in = clip_input(32, 24, 10);

    CHECK_OK(clip_write(&c, path));
    live_take(&set, &in, 0, LIVE_MANY, &run);
    CU_ASSERT_EQUAL(run.n, 30);
    CU_ASSERT_EQUAL(run.counts.resets, 2);
    CU_ASSERT_EQUAL(run.fresh[10], CTT_FRESH_CUT);
    CU_ASSERT_EQUAL(run.fresh[20], CTT_FRESH_CUT);
    set.cut = 0;
    live_take(&set, &in, 0, LIVE_MANY, &run);
    CU_ASSERT_EQUAL(run.counts.resets, 0);
}

/* Other sizes in mid-stream: two streams of JPEG behind each other. */
static void test_sizes(void)
{
    const char *a = clip_path("a.mjpeg"), *b = clip_path("b.mjpeg");
    struct ctt_live_set set = { .say = live_say, .want_picture = 1 };
    struct ctt_input in = clip_input(8, 6, 0);
    uint8_t *p, *q, *both;
    size_t n, m;

    CHECK_OK(clip_write(&(struct clip){ .w = 32, .h = 24, .frames = 6,
                        .codec = "mjpeg", .fps = 25 }, a));
    CHECK_OK(clip_write(&(struct clip){ .w = 64, .h = 48, .frames = 6,
                        .codec = "mjpeg", .fps = 25 }, b));
    p = clip_bytes(a, &n);
    q = clip_bytes(b, &m);
    both = ctt_calloc(n + m, 1);
    memcpy(both, p, n);
    memcpy(both + n, q, m);
    clip_file("both.mjpeg", both, n + m);
    set.source = clip_path("both.mjpeg");
    live_take(&set, &in, 0, LIVE_MANY, &run);
    CU_ASSERT_EQUAL(run.rc, 0);
    CU_ASSERT(run.n >= 11);
    CU_ASSERT_PTR_NOT_NULL(strstr(live_said, "frames change from 32x24 to "
                                  "64x48"));
    ctt_free(p);
    ctt_free(q);
    ctt_free(both);
}

int main(void)
{
    static CU_TestInfo files[] = {
        { "as clips", test_clips }, { "in turns", test_poll },
        { "real time", test_realtime }, { "picture", test_picture },
        { "pictures by pattern", test_pictures }, { NULL, NULL } };
    static CU_TestInfo pipes[] = {
        { "FIFO", test_fifo }, { "standard input", test_stdin },
        { "raw frames", test_raw }, { NULL, NULL } };
    static CU_TestInfo callers[] = {
        { "slow", test_slow }, { "memory", test_memory }, { NULL, NULL } };
    static CU_TestInfo anew[] = {
        { "gaps", test_gap }, { "cuts", test_cut }, { "sizes", test_sizes },
        { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "files", NULL, NULL, NULL, NULL, files },
        { "pipes", NULL, NULL, NULL, NULL, pipes },
        { "callers", NULL, NULL, NULL, NULL, callers },
        { "anew", NULL, NULL, NULL, NULL, anew },
        { NULL, NULL, NULL, NULL, NULL, NULL } };

    return live_main(suites);
}
