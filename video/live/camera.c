/* SPDX-License-Identifier: Apache-2.0
 * camera.c: frames of a camera by the kernel's interface V4L2. */
#include "video/live/camera.h"

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/videodev2.h>)
#define HAS_V4L2
#endif
#endif

#ifdef HAS_V4L2

#include <linux/videodev2.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* BUFFERS: of frames, that the device fills.  TICK: milliseconds after which it
 * is asked whether to stop. */
enum { BUFFERS = 4, TICK = 50 };

/* Rows of the first ones have w * bits / 8 bytes; the rest have planes, whose
 * rows must lie without gaps; bits: of a pixel, 0: compressed. */
static const struct form {
    uint32_t    code;
    const char *pixels;
    int         bits, planes;
} forms[] = {
    { V4L2_PIX_FMT_YUYV, "yuyv422", 16, 1 },
    { V4L2_PIX_FMT_UYVY, "uyvy422", 16, 1 },
    { V4L2_PIX_FMT_RGB24, "rgb24", 24, 1 },
    { V4L2_PIX_FMT_BGR24, "bgr24", 24, 1 },
    { V4L2_PIX_FMT_GREY, "gray", 8, 1 },
    { V4L2_PIX_FMT_NV12, "nv12", 12, 2 },
    { V4L2_PIX_FMT_YUV420, "yuv420p", 12, 3 },
    { V4L2_PIX_FMT_MJPEG, NULL, 0, 1 },
    { V4L2_PIX_FMT_JPEG, NULL, 0, 1 },
};

struct ctt_camera {
    struct ctt_meter  *m;
    const struct form *form;
    int                fd, on;
    int64_t            row, stride, rows;    /* bytes, rows; 0: compressed */
    int                count;
    struct { void *data; size_t size; } buffer[BUFFERS];
    struct v4l2_buffer at;                   /* the frame at hand */
};

static int call(const struct ctt_camera *c, unsigned long what, void *arg)
{
    int e;

    do
        e = ioctl(c->fd, what, arg);
    while (e < 0 && errno == EINTR);
    return e;
}

static int camera_error(const struct ctt_camera *c, const char *what)
{
    return ctt_error(CTT_EIO, "%s: %s: %s", c->m->path, what,
                     strerror(errno));
}

static const struct form *find_format(uint32_t code)
{
    for (size_t i = 0; i < CTT_LEN(forms); i++)
        if (forms[i].code == code)
            return &forms[i];
    return NULL;
}

/* Sets the first of the device's formats that is one of ours. */
static int choose_form(struct ctt_camera *c, struct v4l2_format *f)
{
    struct v4l2_fmtdesc d = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE };
    int rc = 0;

    while (call(c, VIDIOC_ENUM_FMT, &d) == 0 && !find_format(d.pixelformat))
        d.index++;
    CTT_CHECK(find_format(d.pixelformat), CTT_EUNSUP, "%s: its formats are "
              "none of those read (YUYV, UYVY, RGB24, BGR24, GREY, NV12, "
              "YUV420, MJPEG)", c->m->path);
    f->fmt.pix.pixelformat = d.pixelformat;
    f->fmt.pix.bytesperline = 0;
    if (call(c, VIDIOC_S_FMT, f) < 0)
        CTT_TRY(camera_error(c, "cannot be set up"));
    CTT_CHECK(find_format(f->fmt.pix.pixelformat), CTT_EUNSUP,
              "%s: does not keep the format that it offers", c->m->path);
out:
    return rc;
}

/* How rows lie, checked before anything is computed with it. */
static int set_rows(struct ctt_camera *c, const struct v4l2_pix_format *p)
{
    int rc = 0;

    CTT_CHECK(p->width > 0 && p->height > 0 && p->width <= SHRT_MAX &&
              p->height <= SHRT_MAX, CTT_EFORMAT, "%s: frames of %ux%u",
              c->m->path, p->width, p->height);
    c->row = c->form->planes > 1 ? p->width :
             (int64_t)p->width * c->form->bits / 8;
    c->stride = p->bytesperline ? p->bytesperline : c->row;
    c->rows = c->form->planes > 1 ?
              (int64_t)p->height * c->form->bits / 8 : p->height;
    CTT_CHECK(c->stride >= c->row && (c->form->planes == 1 ||
              (c->stride == c->row && p->width % 2 == 0 &&
               p->height % 2 == 0)), CTT_EUNSUP,
              "%s: its rows of %lld bytes are %lld apart, which is not read",
              c->m->path, (long long)c->row, (long long)c->stride);
out:
    return rc;
}

static double frame_rate(const struct ctt_camera *c)
{
    struct v4l2_streamparm p = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE };
    const struct v4l2_fract *t = &p.parm.capture.timeperframe;

    return call(c, VIDIOC_G_PARM, &p) == 0 && t->numerator ?
           (double)t->denominator / t->numerator : 0;
}

static int set_form(struct ctt_camera *c, struct ctt_camera_form *form)
{
    struct v4l2_format f = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE };
    struct v4l2_capability can = { 0 };
    uint32_t caps;
    int rc = 0;

    CTT_CHECK(call(c, VIDIOC_QUERYCAP, &can) == 0, CTT_EUNSUP,
              "%s: not a camera (V4L2)", c->m->path);
    caps = can.capabilities & V4L2_CAP_DEVICE_CAPS ? can.device_caps :
           can.capabilities;
    CTT_CHECK(caps & V4L2_CAP_VIDEO_CAPTURE && caps & V4L2_CAP_STREAMING,
              CTT_EUNSUP, "%s: a device that takes no pictures", c->m->path);
    if (call(c, VIDIOC_G_FMT, &f) < 0)
        CTT_TRY(camera_error(c, "cannot be set up"));
    if (!find_format(f.fmt.pix.pixelformat))
        CTT_TRY(choose_form(c, &f));
    c->form = find_format(f.fmt.pix.pixelformat);
    if (c->form->bits)
        CTT_TRY(set_rows(c, &f.fmt.pix));
    *form = (struct ctt_camera_form){ (int)f.fmt.pix.width,
        (int)f.fmt.pix.height, c->form->pixels, frame_rate(c) };
out:
    return rc;
}

static int map_buffers(struct ctt_camera *c)
{
    struct v4l2_requestbuffers r = { .count = BUFFERS,
        .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP };
    int rc = 0;

    if (call(c, VIDIOC_REQBUFS, &r) < 0)
        CTT_TRY(camera_error(c, "cannot be started"));
    for (uint32_t i = 0; i < r.count && i < BUFFERS; i++) {
        struct v4l2_buffer b = { .index = i, .type = r.type,
                                 .memory = r.memory };
        void *p;

        if (call(c, VIDIOC_QUERYBUF, &b) < 0)
            CTT_TRY(camera_error(c, "cannot be started"));
        p = mmap(NULL, b.length, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd,
                 (off_t)b.m.offset);
        if (p == MAP_FAILED)
            CTT_TRY(camera_error(c, "cannot be started"));
        c->buffer[c->count].data = p;
        c->buffer[c->count++].size = b.length;
        if (call(c, VIDIOC_QBUF, &b) < 0)
            CTT_TRY(camera_error(c, "cannot be started"));
    }
    CTT_CHECK(c->count > 0, CTT_EIO, "%s: has no memory for frames",
              c->m->path);
    if (call(c, VIDIOC_STREAMON, &r.type) < 0)
        CTT_TRY(camera_error(c, "cannot be started"));
    c->on = 1;
out:
    return rc;
}

int ctt_camera_open(const char *path, struct ctt_meter *m,
                    struct ctt_camera **out, struct ctt_camera_form *form)
{
    struct ctt_camera *c = ctt_calloc(1, sizeof(*c));
    int rc = c ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    c->m = m;
    c->fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    CTT_CHECK(c->fd >= 0, CTT_EIO, "%s: %s%s", m->path, strerror(errno),
              errno == ENOENT ? " (ls /dev/video* names cameras)" : "");
    CTT_TRY(set_form(c, form));
    CTT_TRY(map_buffers(c));
    *out = c;
    c = NULL;
out:
    ctt_camera_close(&c);
    return rc;
}

void ctt_camera_close(struct ctt_camera **camera)
{
    struct ctt_camera *c = *camera;
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;

    if (!c)
        return;
    if (c->on)
        call(c, VIDIOC_STREAMOFF, &type);
    for (int i = 0; i < c->count; i++)
        munmap(c->buffer[i].data, c->buffer[i].size);
    if (c->fd >= 0)
        close(c->fd);
    ctt_free(c);
    *camera = NULL;
}

/* 1 if the frame at hand is whole, and its size as stated by the device is
 * valid. */
static int is_whole_frame(const struct ctt_camera *c)
{
    const struct v4l2_buffer *b = &c->at;
    int64_t need = c->rows ? (c->rows - 1) * c->stride + c->row : 1;

    return b->index < (uint32_t)c->count && !(b->flags & V4L2_BUF_FLAG_ERROR) &&
           b->bytesused >= need && b->bytesused <= c->buffer[b->index].size &&
           b->bytesused <= INT_MAX / 2;
}

static int give_back(struct ctt_camera *c)
{
    return call(c, VIDIOC_QBUF, &c->at) < 0 ?
           camera_error(c, "cannot go on") : 0;
}

int ctt_camera_wait(struct ctt_camera *c, int64_t *size, double *stamp,
                    int64_t *damaged)
{
    struct pollfd p = { .fd = c->fd, .events = POLLIN };
    int rc;

    for (;;) {
        CTT_TRY(ctt_meter_check(c->m));
        if (poll(&p, 1, TICK) == 0)
            continue;
        c->at = (struct v4l2_buffer){ .type = V4L2_BUF_TYPE_VIDEO_CAPTURE,
                                      .memory = V4L2_MEMORY_MMAP };
        if (call(c, VIDIOC_DQBUF, &c->at) < 0) {
            if (errno == EAGAIN)
                continue;
            CTT_TRY(camera_error(c, "cannot go on"));
        }
        if (is_whole_frame(c))
            break;
        ++*damaged;
        CTT_TRY(give_back(c));
    }
    *size = c->rows ? c->rows * c->row : c->at.bytesused;
    *stamp = (double)c->at.timestamp.tv_sec +
             1e-6 * (double)c->at.timestamp.tv_usec;
out:
    return rc;
}

int ctt_camera_take(struct ctt_camera *c, uint8_t *to)
{
    const uint8_t *from = c->buffer[c->at.index].data;

    if (c->rows == 0)
        memcpy(to, from, c->at.bytesused);
    for (int64_t r = 0; r < c->rows; r++)
        memcpy(to + r * c->row, from + r * c->stride, (size_t)c->row);
    return give_back(c);
}

#else

int ctt_camera_open(const char *path, struct ctt_meter *m,
                    struct ctt_camera **out, struct ctt_camera_form *form)
{
    (void)path;
    (void)out;
    (void)form;
    return ctt_error(CTT_EUNSUP, "%s: cameras are read on Linux only (V4L2)",
                     m->path);
}

void ctt_camera_close(struct ctt_camera **c)
{
    (void)c;
}

int ctt_camera_wait(struct ctt_camera *c, int64_t *size, double *stamp,
                    int64_t *damaged)
{
    (void)c;
    (void)size;
    (void)stamp;
    (void)damaged;
    return CTT_EUNSUP;
}

int ctt_camera_take(struct ctt_camera *c, uint8_t *to)
{
    (void)c;
    (void)to;
    return CTT_EUNSUP;
}

#endif
