/* SPDX-License-Identifier: Apache-2.0
 * camera.c: recognises frames of a camera, by V4L2 alone: camera MODEL
 * [/dev/video0].  Pictures (YUYV) are cut and reduced to the model's frame by
 * nearest pixel. */
#include <convtt/infer.h>

#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

/* The colours of ITU-R BT.601; on: pixels of the model's frame. */
static void yuyv_to_frame(const unsigned char *yuyv,
                          const struct v4l2_pix_format *f,
                          const struct ctt_infer_input *in, unsigned char *on)
{
    int w = (int)f->width, h = (int)f->height, line = (int)f->bytesperline;
    int high = w * in->h < h * in->w ? w * in->h / in->w : h;
    int wide = high * in->w / in->h;

    for (int i = 0; i < in->h * in->w; i++) {
        int x = (w - wide) / 2 + i % in->w * wide / in->w;
        int y = (h - high) / 2 + i / in->w * high / in->h;
        const unsigned char *q = yuyv + y * line + x / 2 * 4;
        int l = 298 * (q[x % 2 * 2] - 16) + 128, u = q[1] - 128, v = q[3] - 128;
        int px[3] = { l + 409 * v, l - 100 * u - 208 * v, l + 516 * u };
        for (int k = 0; k < in->c; k++) {
            int c = in->c < 3 ? l : px[in->colour == CTT_INFER_BGR ? 2 - k : k];
            *on++ = (unsigned char)(c < 0 ? 0 : c > 65535 ? 255 : c >> 8);
        }
    }
}

static struct ctt_infer *m;
static struct ctt_session *s;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "camera: %s: %s\n", what, why);
    ctt_session_close(&s);
    ctt_infer_close(&m);
    return 1;
}

int main(int argc, char **argv)
{
    const char *name = argc > 2 ? argv[2] : "/dev/video0";
    int type = V4L2_BUF_TYPE_VIDEO_CAPTURE, fd = open(name, O_RDWR), best;
    struct v4l2_format f = { .type = (unsigned)type, .fmt.pix = { .width = 640,
        .height = 480, .pixelformat = V4L2_PIX_FMT_YUYV } };
    struct v4l2_requestbuffers ask = { .count = 1, .type = f.type,
                                       .memory = V4L2_MEMORY_MMAP };
    struct v4l2_buffer b = { .type = f.type, .memory = V4L2_MEMORY_MMAP };
    static unsigned char *picture, *frame;
    static float p[1000];

    if (argc < 2 || ctt_infer_open(argv[1], "cpu", 1, &m) < 0 ||
        ctt_session_open(m, &s) < 0)
        return fail("model", argc < 2 ? "none given" : ctt_infer_error());
    if (fd < 0 || ioctl(fd, VIDIOC_S_FMT, &f) < 0 || f.fmt.pix.pixelformat !=
        V4L2_PIX_FMT_YUYV || ioctl(fd, VIDIOC_REQBUFS, &ask) < 0 ||
        ioctl(fd, VIDIOC_QUERYBUF, &b) < 0 || ioctl(fd, VIDIOC_QBUF, &b) < 0)
        return fail(name, "no camera with YUYV pictures");
    picture = mmap(NULL, b.length, PROT_READ, MAP_SHARED, fd, b.m.offset);
    frame = malloc((size_t)ctt_infer_wants(m)->h *
                   (size_t)ctt_infer_wants(m)->w * 3);
    if (picture == MAP_FAILED || !frame || ctt_infer_classes(m) > 1000 ||
        ioctl(fd, VIDIOC_STREAMON, &type) < 0)
        return fail(name, "cannot start");
    for (; ioctl(fd, VIDIOC_DQBUF, &b) == 0; ioctl(fd, VIDIOC_QBUF, &b)) {
        yuyv_to_frame(picture, &f.fmt.pix, ctt_infer_wants(m), frame);
        if (ctt_session_push(s, frame, 1) < 0 || ctt_session_read(s, p) < 0)
            return fail("frame", ctt_infer_error());
        for (int i = best = 0; i < ctt_infer_classes(m); i++)
            best = p[i] > p[best] ? i : best;
        printf("%s %.3f\n", ctt_infer_class(m, best), (double)p[best]);
    }
    return fail(name, "no more pictures");
}
