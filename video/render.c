/* SPDX-License-Identifier: Apache-2.0
 * render.c: resizes, turns and crops the current frame of a video. */
#include "video/render.h"
#include "base/limits.h"

#include <string.h>

/* Position of the stored frame on the resized picture of sw x sh; with fit=pad
 * it extends beyond the edges. */
struct crop {
    int sw, sh, x, y;
};

static int64_t scaled(int64_t n, int64_t to, int64_t from)
{
    int64_t m = (2 * n * to + from) / (2 * from);

    return m > 0 ? m : 1;
}

static int find_crop(const struct ctt_render *r, int w, int h,
                     struct crop *p)
{
    /* The picture is wider in proportion than the stored frame. */
    int flat = (int64_t)w * r->h > (int64_t)h * r->w;
    int64_t sw = r->w, sh = r->h;

    if (r->in.fit != CTT_FIT_STRETCH) {
        if (flat == (r->in.fit == CTT_FIT_CROP))
            sw = scaled(w, r->h, h);
        else
            sh = scaled(h, r->w, w);
    }
    if (sw > 4 * CTT_SIDE_MAX || sh > 4 * CTT_SIDE_MAX)
        return ctt_error(CTT_EFORMAT, "%s: %dx%d is too wide or too tall to "
                         "be cropped", r->path, w, h);
    *p = (struct crop){ (int)sw, (int)sh, (int)(sw - r->w) / 2,
                         (int)(sh - r->h) / 2 };
    return 0;
}

/* The resized picture from FFmpeg, rotated while it is copied. */
struct picture {
    const uint8_t *data;
    int            w, h, stride, c, turns;
};

/* Address of the pixel at (x, y) of the upright picture. */
static const uint8_t *pixel(const struct picture *p, int x, int y)
{
    int px = x, py = y;

    if (p->turns == 1) {
        px = p->w - 1 - y;
        py = x;
    } else if (p->turns == 2) {
        px = p->w - 1 - x;
        py = p->h - 1 - y;
    } else if (p->turns == 3) {
        px = y;
        py = p->h - 1 - x;
    }
    return p->data + (size_t)py * (size_t)p->stride + (size_t)px * p->c;
}

/* Copies w pixels of row y, from x on. */
static void copy_row(const struct picture *p, int x, int y, int w,
                     uint8_t *to)
{
    if (p->turns == 0) {
        memcpy(to, pixel(p, x, y), (size_t)w * p->c);
        return;
    }
    for (int i = 0; i < w; i++, to += p->c)
        memcpy(to, pixel(p, x + i, y), (size_t)p->c);
}

static void crop_picture(const struct ctt_render *r, const struct crop *p,
                         const struct picture *from, uint8_t *to)
{
    int c = r->in.c, x0 = p->x < 0 ? -p->x : 0, y0 = p->y < 0 ? -p->y : 0;
    int x1 = p->x + r->w > p->sw ? x0 + p->sw : r->w;
    int y1 = p->y + r->h > p->sh ? y0 + p->sh : r->h;

    memset(to, 0, (size_t)r->w * r->h * c);
    for (int y = y0; y < y1; y++)
        copy_row(from, p->x + x0, p->y + y, x1 - x0,
                 to + ((size_t)y * r->w + x0) * c);
}

/* The current frame of v, resized to w x h before it is turned. */
static int scale(struct ctt_render *r, struct ctt_video *v,
                 enum ctt_colour to, struct picture *p)
{
    size_t size;
    int rc = 0;

    p->stride = (int)ctt_align((int64_t)p->w * p->c, 64);
    size = (size_t)p->stride * p->h + 64;
    if (size > r->room) {
        ctt_free(r->scaled);
        r->room = 0;
        r->scaled = ctt_calloc(size, 1);
        CTT_TRY(r->scaled ? 0 : CTT_ENOMEM);
        r->room = size;
    }
    p->data = r->scaled;
    CTT_TRY(ctt_video_scale(v, p->w, p->h, to, r->scaled, p->stride));
out:
    return rc;
}

int ctt_render(struct ctt_render *r, struct ctt_video *v, uint8_t *to)
{
    struct picture from = { .c = r->in.c };
    struct crop p = { 0 };
    int rc = 0, w, h, turned;

    ctt_video_size(v, &w, &h, &from.turns);
    turned = from.turns & 1;
    CTT_TRY(find_crop(r, turned ? h : w, turned ? w : h, &p));
    from.w = turned ? p.sh : p.sw;
    from.h = turned ? p.sw : p.sh;
    CTT_TRY(scale(r, v, r->in.colour, &from));
    crop_picture(r, &p, &from, to);
out:
    return rc;
}

static int grow(uint8_t **to, size_t *room, size_t size)
{
    uint8_t *p;

    if (size <= *room)
        return 0;
    p = ctt_realloc(*to, size);
    if (!p)
        return CTT_ENOMEM;
    *to = p;
    *room = size;
    return 0;
}

int ctt_render_picture(struct ctt_render *r, struct ctt_video *v,
                       uint8_t **to, size_t *room, int *w, int *h)
{
    int64_t most = ctt_limits()->frame_pixels;
    struct picture from = { .c = 3 };
    int rc = 0, turned, pw, ph;

    ctt_video_size(v, &from.w, &from.h, &from.turns);
    CTT_CHECK((int64_t)from.w * from.h <= most, CTT_EFORMAT, "%s: pictures of "
              "%dx%d, over %lld pixels (--frame-pixels)", r->path, from.w,
              from.h, (long long)most);
    turned = from.turns & 1;
    pw = turned ? from.h : from.w;
    ph = turned ? from.w : from.h;
    CTT_TRY(grow(to, room, (size_t)pw * (size_t)ph * 3));
    CTT_TRY(scale(r, v, CTT_RGB, &from));
    for (int y = 0; y < ph; y++)
        copy_row(&from, 0, y, pw, *to + (size_t)y * (size_t)pw * 3);
    *w = pw;
    *h = ph;
out:
    return rc;
}

void ctt_render_clear(struct ctt_render *r)
{
    ctt_free(r->scaled);
    r->scaled = NULL;
    r->room = 0;
}
