/* SPDX-License-Identifier: Apache-2.0
 * test_live_peers.c: live sources from other servers at 127.0.0.1, FFmpeg's and
 * GStreamer's, where they are installed. */
#include "tests/lib/live.h"
#include "tests/lib/server.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* STEPS: of a stream that has no end. */
enum { STEPS = 6 };

static struct live_run run;

static pid_t spawn(char *const *args)
{
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);

        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        execvp(args[0], args);
        _exit(127);
    }
    return pid;
}

static int end(pid_t pid)
{
    int status = 0;

    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static int has_ffmpeg(void)
{
    char *args[] = { "ffmpeg", "-version", NULL };
    int status = 1;
    pid_t pid = spawn(args);

    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Steps of ten a second of a stream that the ffmpeg program sends in real
 * time. */
static void send_by_ffmpeg(int kind, const char *to, const char *from,
                           const char *listen)
{
    char out[128], in[128];
    char *args[] = { "ffmpeg", "-v", "quiet", "-re", "-f", "lavfi", "-i",
        "testsrc=size=64x48:rate=25", "-t", "20", "-c:v", "mpeg2video", "-g",
        "5", "-f", "mpegts", (char *)listen, "1", out, NULL };
    struct ctt_live_set set = { .source = in, .reconnects = 10,
                                .say = live_say };
    struct ctt_input input = clip_input(8, 6, 10);
    int port = server_free_port(kind);
    pid_t pid;

    snprintf(out, sizeof(out), to, port);
    snprintf(in, sizeof(in), from, port);
    pid = spawn(args);
    live_take(&set, &input, 0, STEPS, &run);
    end(pid);
    CU_ASSERT_EQUAL(run.rc, 1);
    CU_ASSERT_EQUAL(run.n, STEPS);
    CU_ASSERT(run.add_up);
    CU_ASSERT(run.counts.between >= run.n / 2);
    if (run.rc < 0)
        printf("\n    %s: %s", in, run.why);
}

static void test_ffmpeg(void)
{
    if (!has_ffmpeg()) {
        printf("\n    no program ffmpeg: not tried");
        return;
    }
    send_by_ffmpeg(SOCK_STREAM, "tcp://127.0.0.1:%d?listen",
                   "tcp://127.0.0.1:%d", "-muxrate");
    send_by_ffmpeg(SOCK_STREAM, "http://127.0.0.1:%d/a.ts",
                   "http://127.0.0.1:%d/a.ts", "-listen");
    send_by_ffmpeg(SOCK_DGRAM, "udp://127.0.0.1:%d?pkt_size=1316",
                   "udp://127.0.0.1:%d", "-muxrate");
}

static void refused(int code, const char *message)
{
    ctt_check_refused(ctt_error(run.rc, "%s", run.why), code, message);
    CU_ASSERT_PTR_NULL(strstr(run.why, "hush"));
    CU_ASSERT_PTR_NULL(strstr(live_said, "hush"));
}

static void test_rtsp(void)
{
    const char *dir = getenv("srcdir");
    char port[16], script[512], url[128];
    char *args[] = { "/usr/bin/python3", script, port, "me:hush", NULL };
    struct ctt_live_set set = { .source = url, .reconnects = 20,
                                .say = live_say, .want_picture = 1 };
    struct ctt_input in = clip_input(8, 6, 10);
    int number = server_free_port(SOCK_STREAM), status = 0;
    pid_t pid;

    snprintf(port, sizeof(port), "%d", number);
    snprintf(script, sizeof(script), "%s/tests/video/rtsp_server.py",
             dir ? dir : ".");
    pid = spawn(args);
    live_rest(1);
    if (waitpid(pid, &status, WNOHANG) == pid) {
        printf("\n    no RTSP server of GStreamer: not tried");
        CU_ASSERT(WEXITSTATUS(status) == 77 || WEXITSTATUS(status) == 127);
        return;
    }
    snprintf(url, sizeof(url), "Rtsp://me:hush@127.0.0.1:%d/test", number);
    live_take(&set, &in, 0, STEPS, &run);
    CU_ASSERT_EQUAL(run.n, STEPS);
    if (run.rc < 0)
        printf("\n    %s", run.why);
    CU_ASSERT(run.add_up);
    CU_ASSERT_EQUAL(run.counts.resets, 0);
    snprintf(url, sizeof(url), "rtsp://127.0.0.1:%d/test", number);
    live_take(&set, &in, 0, STEPS, &run);
    refused(CTT_EINVAL, "needs a name and a password");
    end(pid);
    set.reconnects = 0;
    live_take(&set, &in, 0, STEPS, &run);
    refused(CTT_EIO, "refused");
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "FFmpeg", test_ffmpeg }, { "RTSP", test_rtsp }, { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "other servers", NULL, NULL, NULL, NULL, tests },
        { NULL, NULL, NULL, NULL, NULL, NULL } };

    unsetenv("http_proxy");
    return live_main(suites);
}
