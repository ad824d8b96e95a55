/* SPDX-License-Identifier: Apache-2.0
 * test_live_net.c: live sources over the network: a server of the test's own
 * that answers badly, dies and comes back. */
#include "tests/lib/live.h"
#include "tests/lib/server.h"
#include "video/save.h"
#include "video/video.h"

#include <stdlib.h>
#include <sys/socket.h>

/* STEPS: of a stream that has no end. */
enum { STEPS = 6 };

static struct live_run run;

/* ---- HTTP ---- */

/* Replies by the first letters of the path. */
static const struct { const char *path, *reply; } replies[] = {
    { "/secret", "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic "
      "realm=\"x\"\r\nContent-Length: 0\r\n\r\n" },
    { "/forbidden", "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n" },
    { "/none", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n" },
    { "/file", "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n"
      "Content-Length: 0\r\n\r\n" },
    { "/loop", "HTTP/1.1 302 Found\r\nLocation: /loop/on\r\n"
      "Content-Length: 0\r\nConnection: close\r\n\r\n" },
    { "/list", "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n#EXTM3U\n"
      "#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:///etc/passwd\n" },
    { "/text", "HTTP/1.1 200 OK\r\nContent-Length: 35\r\n\r\n"
      "Hello, this is not a video at all.\n" },
};

static void answer_http(struct server *s, int fd)
{
    char request[4096] = "", head[128], *path;
    size_t n = 0;
    ssize_t got;

    while (!strstr(request, "\r\n\r\n") && n + 1 < sizeof(request) &&
           (got = recv(fd, request + n, sizeof(request) - 1 - n, 0)) > 0) {
        n += (size_t)got;
        request[n] = 0;
    }
    path = strchr(request, '/');
    for (size_t i = 0; path && i < CTT_LEN(replies); i++) {
        if (strncmp(path, replies[i].path, strlen(replies[i].path)) == 0) {
            server_put(fd, replies[i].reply, strlen(replies[i].reply));
            return;
        }
    }
    snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n"
             "Connection: close\r\n\r\n", s->n);
    server_put(fd, head, strlen(head));
    if (path && strncmp(path, "/stall", 6) == 0) {
        server_put(fd, s->data, 100);
        while (!s->ends && recv(fd, request, sizeof(request), 0) > 0)
            ;
        return;
    }
    server_put(fd, s->data, s->n);
}

static void take(const struct server *s, const char *path, int reconnects,
                 float fps)
{
    char url[256];
    double timeout = strcmp(path, "/stall") == 0 ? 0.7 : 0;
    struct ctt_live_set set = { .source = url, .timeout = timeout,
                                .reconnects = reconnects, .say = live_say };
    struct ctt_input in = clip_input(8, 6, fps);

    snprintf(url, sizeof(url), "HTTP://me:hush@127.0.0.1:%d%s", s->port, path);
    live_take(&set, &in, 0, LIVE_MANY, &run);
}

static void refused(int code, const char *message)
{
    ctt_check_refused(ctt_error(run.rc, "%s", run.why), code, message);
    CU_ASSERT_PTR_NULL(strstr(run.why, "hush"));
    CU_ASSERT_PTR_NULL(strstr(live_said, "hush"));
}

static void test_http(void)
{
    struct server s = { 0 };
    const char *path = clip_steady("rec.mkv", 40, 25);
    struct ctt_input in = clip_input(8, 6, 10);
    uint8_t *data = clip_bytes(path, &s.n);
    struct ctt_frames f = { 0 };

    s.data = data;
    server_start(&s, answer_http);
    take(&s, "/rec.mkv?token=hush", 0, 10);    /* a recording waits */
    CHECK_OK(ctt_frames_load(path, &in, 0, &f));
    CU_ASSERT_EQUAL(run.rc, 0);
    CU_ASSERT_EQUAL(run.n, f.count);
    for (int i = 0; i < run.n && i < f.count; i++)
        CU_ASSERT_EQUAL(run.number[i], clip_number(f.data[i * 8 * 6 * 3]));
    ctt_frames_free(&f);
    take(&s, "/secret", 3, 10);
    refused(CTT_EINVAL, "needs a name and a password");
    CU_ASSERT_EQUAL(run.counts.reconnects, 0);
    take(&s, "/forbidden", 3, 10);
    refused(CTT_EINVAL, "forbidden");
    take(&s, "/none", 1, 10);
    refused(CTT_EIO, "not found (404)");
    CU_ASSERT_EQUAL(run.counts.reconnects, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(live_said, "try 1 of 1"));
    take(&s, "/file", 0, 10);
    CU_ASSERT(run.rc < 0 && run.n == 0);
    take(&s, "/loop", 0, 10);
    refused(CTT_EIO, "redirected again and again");
    take(&s, "/list", 3, 10);
    refused(CTT_EFORMAT, "playlist");
    CU_ASSERT_EQUAL(run.counts.reconnects, 0);
    take(&s, "/text", 3, 10);
    refused(CTT_EFORMAT, "not known");
    take(&s, "/stall", 0, 10);
    refused(CTT_EIO, "no frame for 0.7 seconds");
    server_stop(&s);
    ctt_free(data);
}

/* ---- a server that dies ---- */

static void answer_half(struct server *s, int fd)
{
    server_put(fd, s->data, s->connections ? s->n : s->n / 2);
}

static void test_reconnect(void)
{
    enum { N = 40 };
    struct server s = { 0 };
    const char *path = clip_steady("half.mkv", N, 25);
    uint8_t *data = clip_bytes(path, &s.n);
    char url[64];
    struct ctt_live_set set = { .source = url, .reconnects = 1,
                                .behind = CTT_BEHIND_WAIT, .say = live_say };
    struct ctt_input in = clip_input(8, 6, 0);
    int at = 0, back = 0;

    s.data = data;
    server_start(&s, answer_half);
    snprintf(url, sizeof(url), "tcp://127.0.0.1:%d", s.port);
    live_take(&set, &in, 0, LIVE_MANY, &run);
    server_stop(&s);
    CU_ASSERT_EQUAL(run.rc, CTT_EIO);    /* it has ended again */
    CU_ASSERT_PTR_NOT_NULL(strstr(run.why, "has ended"));
    CU_ASSERT_EQUAL(run.counts.reconnects, 1);
    CU_ASSERT_EQUAL(run.counts.resets, 1);
    CU_ASSERT(run.add_up);
    CU_ASSERT(run.n > N && run.n < 2 * N);
    for (int i = 1; i < run.n; i++) {
        if (run.fresh[i])
            at = i;
        back += run.time[i] < run.time[i - 1];
    }
    CU_ASSERT_EQUAL(back, 0);
    CU_ASSERT_EQUAL(run.fresh[0], CTT_FRESH_START);
    CU_ASSERT_EQUAL(run.fresh[at], CTT_FRESH_RECONNECT);
    CU_ASSERT_EQUAL(run.n - at, N);
    CU_ASSERT(run.time[at] - run.time[at - 1] > 0.45);
    for (int i = 0; i < run.n; i++)
        CU_ASSERT_EQUAL(run.number[i], i < at ? i : i - at);
    ctt_free(data);
}

/* Each connection gives a picture, and no length. */
static void answer_shot(struct server *s, int fd)
{
    static const char head[] = "HTTP/1.0 200 OK\r\nContent-Type: image/png"
                               "\r\n\r\n";
    char request[1024];

    if (recv(fd, request, sizeof(request), 0) > 0) {
        server_put(fd, head, sizeof(head) - 1);
        server_put(fd, s->data, s->n);
    }
}

/* The time of pictures goes on over connections. */
static void test_shots(void)
{
    struct server s = { 0 };
    uint8_t p[16 * 12] = { 0 }, *data;
    char url[64];
    struct ctt_live_set set = { .source = url, .reconnects = 2 };
    struct ctt_input in = clip_input(8, 6, 10);

    CHECK_OK(ctt_save_png(clip_path("shot.png"), p, 16, 12, 1));
    data = clip_bytes(clip_path("shot.png"), &s.n);
    s.data = data;
    server_start(&s, answer_shot);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", s.port);
    live_take(&set, &in, 0, LIVE_MANY, &run);
    server_stop(&s);
    CU_ASSERT_EQUAL(run.n, 3);
    for (int i = 1; i < run.n; i++) {
        CU_ASSERT(run.time[i] - run.time[i - 1] > 0.45);
        CU_ASSERT_EQUAL(run.fresh[i], CTT_FRESH_RECONNECT);
    }
    ctt_free(data);
}

/* Whom a source waits for that nobody sends to. */
static void test_quiet(void)
{
    static const struct { const char *form, *at; } row[] = {
        { "udp://127.0.0.1:%d", "every address of this machine" },
        { "UDP://me:hush@127.0.0.1:%d?localaddr=127.0.0.1&x=hush",
          "127.0.0.1\n" },
        { "udp://239.1.2.3:%d", "group 239.1.2.3\n" },
    };
    struct ctt_input in = clip_input(8, 6, 10);

    for (size_t i = 0; i < CTT_LEN(row); i++) {
        int port = server_free_port(SOCK_DGRAM);
        char url[128], want[64];
        struct ctt_live_set set = { .source = url, .timeout = 0.6,
                                    .say = live_say };

        snprintf(url, sizeof(url), row[i].form, port);
        snprintf(want, sizeof(want), "waits for a sender, at UDP port %d of %s",
                 port, row[i].at);
        live_take(&set, &in, 0, STEPS, &run);
        refused(CTT_EIO, "");
        CU_ASSERT(strstr(live_said, want) ||
                  !strstr(run.why, "no frame for 0.6 seconds"));
        if (i == 0)
            refused(CTT_EIO, "no frame for 0.6 seconds");
    }
}

/* A camera that sends its frames as parts of one answer, as an ESP32-CAM does,
 * or with less in each head.  PAUSE: seconds between two. */
enum { PARTS = 12 };
#define PAUSE 0.1

static void put_text(int fd, const char *text)
{
    server_put(fd, text, strlen(text));
}

static void answer_parts(struct server *s, int fd)
{
    char request[1024], head[128];
    ssize_t n = recv(fd, request, sizeof(request) - 1, 0);
    int bare;

    request[n > 0 ? n : 0] = 0;
    bare = strstr(request, "/bare") != NULL;
    put_text(fd, "HTTP/1.1 200 OK\r\nContent-Type: multipart/"
             "x-mixed-replace;boundary=frame\r\n\r\n");
    for (int i = 0; i < PARTS && !s->ends; i++) {
        snprintf(head, sizeof(head), "Content-Length: %zu\r\nX-Timestamp: "
                 "9.5\r\n", s->n);
        put_text(fd, bare && !i ? "" : "\r\n");
        put_text(fd, "--frame\r\nContent-Type: image/jpeg\r\n");
        put_text(fd, bare ? "\r\n" : head);
        put_text(fd, bare ? "" : "\r\n");
        server_put(fd, s->data, s->n);
        live_rest(PAUSE);
    }
}

/* Of a few KB, as a camera's: FFmpeg looks at two before it knows the form. */
static unsigned noise(int i, int x, int y)
{
    return (unsigned)(x + 331 * y + 77777 * i) * 2654435761u >> 8;
}

/* Its frames have no times: the clock counts, not 25 a second. */
static void test_parts(void)
{
    const char *const form[] = { "/", "/bare" };
    const char *path = clip_path("part.mjpeg");
    struct server s = { 0 };
    uint8_t *data;
    struct ctt_input in = clip_input(8, 6, 10);
    char url[64];
    struct ctt_live_set set = { .source = url, .say = live_say };

    CHECK_OK(clip_write(&(struct clip){ .w = 64, .h = 48, .frames = 1,
                        .codec = "mjpeg", .fps = 25, .draw = noise },
                        path));
    data = clip_bytes(path, &s.n);
    s.data = data;
    server_start(&s, answer_parts);
    for (size_t i = 0; i < CTT_LEN(form); i++) {
        snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", s.port, form[i]);
        live_take(&set, &in, 0, LIVE_MANY, &run);
        /* For FFmpeg an answer of unknown length that ends is an error; only
         * what follows says that a part without a length is whole. */
        CU_ASSERT(run.rc == 0 || strstr(run.why, "broken off"));
        CU_ASSERT(run.counts.decoded >= PARTS - 1);
        CU_ASSERT(run.counts.fps <= 0);
        CU_ASSERT_EQUAL(run.fresh[0], CTT_FRESH_START);
        CU_ASSERT_FATAL(run.n > 1);
        /* The first ones are read before the source is open. */
        CU_ASSERT(run.time[run.n - 1] > (PARTS - 5) * PAUSE);
    }
    server_stop(&s);
    ctt_free(data);
}

/* A sender that states other times than it keeps does not stop the steps. */
static void answer_raw(struct server *s, int fd)
{
    size_t frame = LIVE_W * LIVE_H;

    for (size_t at = 0; at + frame <= s->n && !s->ends; at += frame) {
        server_put(fd, s->data + at, frame);
        live_rest(0.02);
    }
}

static void test_raw(void)
{
    enum { N = 50 };
    struct server s = { .n = N * LIVE_W * LIVE_H };
    uint8_t *data = live_greys(N);
    char url[64];
    struct ctt_live_set set = { .source = url, .raw = "8x6xgray@50" };
    struct ctt_input in = clip_input(8, 6, 10);

    in.c = 1;
    in.colour = CTT_GRAY;
    s.data = data;
    server_start(&s, answer_raw);
    snprintf(url, sizeof(url), "tcp://127.0.0.1:%d", s.port);
    live_take(&set, &in, 0, LIVE_MANY, &run);
    server_stop(&s);
    CU_ASSERT_EQUAL(run.rc, 0);
    CU_ASSERT_EQUAL(run.counts.decoded, N);
    CU_ASSERT_EQUAL(run.n + run.counts.skipped, 10);
    ctt_free(data);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "HTTP", test_http }, { "reconnecting", test_reconnect },
        { "pictures", test_shots }, { "quiet", test_quiet },
        { "parts", test_parts },
        { "raw frames", test_raw },
        { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "own server", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };

    unsetenv("http_proxy");
    return live_main(suites);
}
