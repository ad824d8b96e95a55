/* SPDX-License-Identifier: Apache-2.0
 * test_camera.c: cameras (V4L2), simulated: this program's open() and ioctl()
 * answer for /dev/video97, whose frames lie in memory; FFmpeg's module calls
 * them, too. */
#define _GNU_SOURCE    /* syscall */
#include "tests/lib/live.h"

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/videodev2.h>)
#define HAS_V4L2
#endif
#endif

#ifdef HAS_V4L2

#include <linux/videodev2.h>

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* ROOM: bytes of a buffer. */
enum { W = 16, H = 12, ROOM = 4096, MOST = 4 };

/* The device.  bad: every so many-th frame is damaged; gone: after so many
 * frames; offers: the format that it has if it is not ours. */
static struct {
    int            fd, opened, frames, next;
    uint32_t       format, offers, stride;
    int            bad, gone, no_camera;
    const uint8_t *jpeg;
    size_t         jpeg_n;
    uint8_t       *memory;
} dev = { .fd = -1 };

static int open_device(void)
{
    if (dev.gone && dev.opened == 2) {
        errno = ENOENT;
        return -1;
    }
    dev.fd = (int)syscall(SYS_memfd_create, "camera", 1u);
    if (ftruncate(dev.fd, MOST * ROOM) != 0)
        return -1;
    dev.memory = mmap(NULL, MOST * ROOM, PROT_READ | PROT_WRITE, MAP_SHARED,
                      dev.fd, 0);
    dev.opened++;
    dev.next = 0;
    return dev.fd;
}

static int open_any(const char *path, int flags, int mode)
{
    return strcmp(path, "/dev/video97") == 0 ? open_device() :
           (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

#define OPEN(name)                                                \
    __attribute__((visibility("default")))                        \
    int name(const char *path, int flags, ...);                   \
    int name(const char *path, int flags, ...)                    \
    {                                                             \
        va_list ap;                                               \
        int mode;                                                 \
                                                                  \
        va_start(ap, flags);                                      \
        mode = flags & O_CREAT ? va_arg(ap, int) : 0;             \
        va_end(ap);                                               \
        return open_any(path, flags, mode);                       \
    }
#undef open
#undef open64
OPEN(open)
OPEN(open64)

static int set_format(struct v4l2_format *f, int set)
{
    dev.format = set ? f->fmt.pix.pixelformat : dev.format;
    f->fmt.pix = (struct v4l2_pix_format){ .width = W, .height = H,
        .pixelformat = dev.format, .bytesperline = dev.stride };
    return 0;
}

/* A frame of a grey that says its number, in rows of `stride` bytes. */
static void fill(uint8_t *p, struct v4l2_buffer *b)
{
    unsigned grey = clip_grey(dev.frames) & 255;

    b->bytesused = dev.jpeg ? (uint32_t)dev.jpeg_n : dev.stride * H;
    if (dev.jpeg)
        memcpy(p, dev.jpeg, dev.jpeg_n);
    for (uint32_t i = 0; !dev.jpeg && i < b->bytesused; i++)
        p[i] = (uint8_t)(i % dev.stride >= 2 * W ? 99 : i % 2 ? 128 :
                         16 + (grey * 219 + 127) / 255);
}

static int next_frame(struct v4l2_buffer *b)
{
    live_rest(0.005);
    if (dev.gone && dev.frames >= dev.gone) {
        errno = ENODEV;
        dev.opened = 2;
        return -1;
    }
    b->index = (uint32_t)(dev.next++ % MOST);
    fill(dev.memory + b->index * ROOM, b);
    b->flags = dev.bad && dev.frames % dev.bad == 1 ? V4L2_BUF_FLAG_ERROR : 0;
    b->timestamp.tv_sec = 1000 + dev.frames / 25;
    b->timestamp.tv_usec = dev.frames % 25 * 40000;
    dev.frames++;
    return 0;
}

static int refuse(int e)
{
    errno = e;
    return -1;
}

static int answer(unsigned long what, void *arg)
{
    struct v4l2_buffer *b = arg;
    struct v4l2_fmtdesc *d = arg;
    struct v4l2_capability *can = arg;
    struct v4l2_streamparm *p = arg;

    if (what == VIDIOC_QUERYCAP)
        can->capabilities = (dev.no_camera ? V4L2_CAP_VIDEO_OUTPUT :
                             V4L2_CAP_VIDEO_CAPTURE) | V4L2_CAP_STREAMING;
    else if (what == VIDIOC_G_FMT || what == VIDIOC_S_FMT)
        return set_format(arg, what == VIDIOC_S_FMT);
    else if (what == VIDIOC_ENUM_FMT) {
        if (d->index > 1)
            return refuse(EINVAL);
        d->pixelformat = d->index ? dev.offers : dev.format;
    } else if (what == VIDIOC_G_PARM)
        p->parm.capture.timeperframe = (struct v4l2_fract){ 1, 25 };
    else if (what == VIDIOC_QUERYBUF) {
        b->length = ROOM;
        b->m.offset = b->index * ROOM;
    } else if (what == VIDIOC_DQBUF)
        return next_frame(b);
    return 0;
}

__attribute__((visibility("default")))
int ioctl(int fd, unsigned long what, ...);
int ioctl(int fd, unsigned long what, ...)
{
    va_list ap;
    void *arg;

    va_start(ap, what);
    arg = va_arg(ap, void *);
    va_end(ap);
    return fd == dev.fd && fd >= 0 ? answer(what, arg) :
           (int)syscall(SYS_ioctl, fd, what, arg);
}

/* ---- tests ---- */

static struct live_run run;

static void take(uint32_t format, uint32_t stride, int most, int reconnects)
{
    struct ctt_live_set set = { .source = "/dev/video97", .timeout = 5,
        .reconnects = reconnects, .behind = CTT_BEHIND_WAIT,
        .say = live_say };
    struct ctt_input in = clip_input(8, 6, 0);

    dev.opened = dev.frames = 0;
    dev.format = format;
    dev.stride = stride;
    live_take(&set, &in, 0, most, &run);
}

static void refused(int code, const char *message)
{
    ctt_check_refused(ctt_error(run.rc, "%s", run.why), code, message);
}

static void test_frames(void)
{
    for (int padded = 0; padded < 2; padded++) {
        take(V4L2_PIX_FMT_YUYV, 2 * W + 8u * (unsigned)padded, 30, 0);
        CU_ASSERT_EQUAL(run.rc, 1);
        CU_ASSERT_EQUAL(run.n, 30);
        CU_ASSERT_EQUAL(run.counts.damaged, 0);
        CU_ASSERT_DOUBLE_EQUAL(run.counts.fps, 25, 1e-6);
        for (int i = 0; i < run.n; i++) {
            CU_ASSERT_EQUAL(run.number[i], i);
            CU_ASSERT_DOUBLE_EQUAL(run.time[i], i / 25.0, 1e-4);
        }
    }
    dev.bad = 3;
    take(V4L2_PIX_FMT_YUYV, 2 * W, 10, 0);
    dev.bad = 0;
    CU_ASSERT_EQUAL(run.n, 10);
    CU_ASSERT(run.counts.damaged >= 4);
    for (int i = 0; i < run.n; i++)
        CU_ASSERT_NOT_EQUAL(run.number[i] % 3, 1);
}

static void test_jpeg(void)
{
    const char *path = clip_path("one.mjpeg");
    uint8_t *data;

    CHECK_OK(clip_write(&(struct clip){ .w = W, .h = H, .frames = 1,
                        .codec = "mjpeg", .fps = 25 }, path));
    dev.jpeg = data = clip_bytes(path, &dev.jpeg_n);
    CU_ASSERT_FATAL(data && dev.jpeg_n < ROOM);
    take(V4L2_PIX_FMT_MJPEG, 0, 5, 0);
    CU_ASSERT_EQUAL(run.n, 5);
    CU_ASSERT_EQUAL(run.number[0], 0);
    dev.jpeg = NULL;
    ctt_free(data);
}

static void test_other_formats(void)
{
    dev.offers = V4L2_PIX_FMT_YUYV;    /* chosen of those offered */
    take(V4L2_PIX_FMT_SBGGR8, 2 * W, 5, 0);
    CU_ASSERT_EQUAL(run.n, 5);
    CU_ASSERT_EQUAL(dev.format, V4L2_PIX_FMT_YUYV);
    dev.offers = V4L2_PIX_FMT_SGBRG8;
    take(V4L2_PIX_FMT_SBGGR8, 2 * W, 5, 3);
    refused(CTT_EUNSUP, "its formats are none of those read");
    CU_ASSERT_EQUAL(run.counts.reconnects, 0);
    take(V4L2_PIX_FMT_NV12, W + 8, 5, 0);
    refused(CTT_EUNSUP, "which is not read");
    take(V4L2_PIX_FMT_YUYV, W, 5, 0);    /* less than a row */
    refused(CTT_EUNSUP, "which is not read");
    dev.no_camera = 1;
    take(V4L2_PIX_FMT_YUYV, 2 * W, 5, 0);
    refused(CTT_EUNSUP, "takes no pictures");
    dev.no_camera = 0;
}

/* It is unplugged. */
static void test_gone(void)
{
    dev.gone = 7;
    take(V4L2_PIX_FMT_YUYV, 2 * W, 30, 1);
    CU_ASSERT_EQUAL(run.n, 7);
    refused(CTT_EIO, "given up after 1 more try");
    CU_ASSERT_PTR_NOT_NULL(strstr(live_said, "No such device"));
    dev.gone = 0;
}

int main(void)
{
    static CU_TestInfo all[] = {
        { "frames", test_frames }, { "JPEG", test_jpeg },
        { "formats", test_other_formats }, { "unplugged", test_gone },
        { NULL, NULL } };
    static CU_SuiteInfo suites[] = {
        { "camera", NULL, NULL, NULL, NULL, all },
        { NULL, NULL, NULL, NULL, NULL, NULL } };
    int rc = ctt_check_main(suites);

    clip_clean();
    return rc;
}

#else

int main(void)
{
    return CTT_SKIP;
}

#endif
