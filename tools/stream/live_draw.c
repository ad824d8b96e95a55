/* SPDX-License-Identifier: Apache-2.0
 * live_draw.c: a video of a stream with its answers on it. */
#include "tools/stream/stream_tool.h"
#include "tools/shared/picture.h"
#include "video/save.h"

#include <stdio.h>

/* SMALL, LARGE: sides of the video. HOLD: seconds that a picture stands for
 * frames that were left out, at most.  SIZE: of letters, at most.  PART: of the
 * height, that the classes cover at most: a quarter. */
enum { SMALL = 320, LARGE = 640, HOLD = 10, SIZE = 2, PART = 4, TEXT = 128,
       SHADE = 160 };

static const uint8_t white[3] = { 255, 255, 255 }, black[3] = { 0, 0, 0 },
                     red[3] = { 200, 30, 30 }, blue[3] = { 40, 110, 220 };

struct ctt_drawer {
    const char        *path;
    double             fps;
    struct ctt_picture page;
    struct ctt_saver  *to;      /* NULL before the first picture */
};

int ctt_drawer_open(const char *path, double fps, struct ctt_drawer **out)
{
    struct ctt_drawer *d = ctt_calloc(1, sizeof(*d));

    if (!d)
        return CTT_ENOMEM;
    d->path = path;
    d->fps = fps;
    *out = d;
    return 0;
}

void ctt_drawer_close(struct ctt_drawer **d)
{
    if (!*d)
        return;
    ctt_saver_close(&(*d)->to);
    ctt_free((*d)->page.data);
    ctt_free(*d);
    *d = NULL;
}

static int begin_video(struct ctt_drawer *d, const struct ctt_drawn *p)
{
    int side = p->w > p->h ? p->w : p->h, rc = 0;
    int more = side < SMALL ? (SMALL + side - 1) / side : 1;
    int less = (side + LARGE - 1) / LARGE;

    d->page.w = p->w * more / less > 1 ? p->w * more / less : 2;
    d->page.h = p->h * more / less > 1 ? p->h * more / less : 2;
    d->page.data = ctt_calloc((size_t)d->page.w * (size_t)d->page.h, 3);
    CTT_TRY(d->page.data ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_saver_open(d->path, CTT_SAVE_LONG, d->page.w, d->page.h,
                           d->fps, &d->to));
out:
    return rc;
}

/* The nearest pixels; the page keeps its size if the picture changes its. */
static void copy_nearest(const struct ctt_picture *page,
                         const struct ctt_drawn *p)
{
    uint8_t *to = page->data;

    for (int y = 0; y < page->h; y++) {
        int64_t at = (int64_t)y * p->h / page->h;
        const uint8_t *row = p->picture + at * p->w * 3;

        for (int x = 0; x < page->w; x++, to += 3) {
            const uint8_t *from = row + (int64_t)x * p->w / page->w * 3;

            to[0] = from[0];
            to[1] = from[1];
            to[2] = from[2];
        }
    }
}

static void write_class(const struct ctt_picture *page, int y, int size,
                        const struct ctt_drawn *p, int i)
{
    double share = (double)p->probs[p->order[i]];
    int height = CTT_LETTER_H * size;
    char text[TEXT];

    ctt_bitmap_font_box(page, 0, y, page->w, height, black, SHADE);
    ctt_bitmap_font_box(page, 0, y, (int)(share * page->w), height - size, blue,
                        SHADE);
    snprintf(text, sizeof(text), "%3.0f%% %s", 100 * share,
             p->name[p->order[i]]);
    ctt_bitmap_font_text(page, size, y + size, size, white, text);
}

/* Letters are as large as the width and the room for the rows allow. */
static void write_answers(const struct ctt_picture *page,
                          const struct ctt_drawn *p)
{
    int size = page->w >= LARGE / 4 * 3 ? SIZE : 1, room = page->h / PART;
    int rows = p->top, height;
    char text[TEXT];

    while (size > 1 && rows * CTT_LETTER_H * size > room)
        size--;
    height = CTT_LETTER_H * size;
    rows = rows < room / height ? rows : room / height;
    for (int i = 0; i < rows; i++)
        write_class(page, page->h - (rows - i) * height, size, p, i);
    ctt_bitmap_font_box(page, 0, 0, page->w, height + size,
                        p->event ? red : black, SHADE);
    snprintf(text, sizeof(text), "%.2f S  %s", p->time,
             p->event ? p->event : "");
    ctt_bitmap_font_text(page, size, size, size, white, text);
}

int ctt_drawer_put(struct ctt_drawer *d, const struct ctt_drawn *p)
{
    int most = (int)(HOLD * d->fps), rc = 0;

    if (!d->to)
        CTT_TRY(begin_video(d, p));
    else
        CTT_TRY(ctt_saver_hold(d->to, p->skipped < most ? (int)p->skipped
                                                        : most));
    copy_nearest(&d->page, p);
    write_answers(&d->page, p);
    CTT_TRY(ctt_saver_frame(d->to, d->page.data));
out:
    return rc;
}

int ctt_drawer_finish(struct ctt_drawer **d)
{
    int rc = *d && (*d)->to ? ctt_saver_finish(&(*d)->to) : 0;

    ctt_drawer_close(d);
    return rc;
}
