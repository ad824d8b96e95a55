/* SPDX-License-Identifier: Apache-2.0
 * strip.c: pictures inside a text file. */
#include "tools/report/page.h"
#include "video/save.h"

#include <string.h>

/* Bytes of a picture at most, unless a side has fewer pixels than that. */
enum { MOST = 9000, LEAST = 32 };

char *ctt_base64(const uint8_t *p, int64_t n)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
                                "uvwxyz0123456789+/";
    char *text = ctt_calloc((size_t)(n + 2) / 3 * 4 + 1, 1), *to = text;

    for (int64_t i = 0; text && i < n; i += 3) {
        unsigned v = (unsigned)p[i] << 16 |
                     (i + 1 < n ? (unsigned)p[i + 1] << 8 : 0) |
                     (i + 2 < n ? (unsigned)p[i + 2] : 0);

        for (int k = 0; k < 4; k++)
            *to++ = i + k <= n ? digit[v >> (18 - 6 * k) & 63] : '=';
    }
    return text;
}

/* A picture; sides are halved until it takes few bytes. */
struct picture { uint8_t *data; int w, h, c; };

static void halve(struct picture *p)
{
    int w = p->w / 2, h = p->h / 2;

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int k = 0; k < p->c; k++) {
                const uint8_t *from = p->data + (2 * y * p->w + 2 * x) * p->c +
                                      k;
                int row = p->w * p->c;

                p->data[(y * w + x) * p->c + k] = (uint8_t)((from[0] +
                    from[p->c] + from[row] + from[row + p->c] + 2) / 4);
            }
    p->w = w;
    p->h = h;
}

static int put_picture(FILE *f, const struct ctt_page_clip *clip, int k,
                       struct picture *p)
{
    size_t frame = (size_t)clip->w * (size_t)clip->h * (size_t)clip->c;
    uint8_t *png = NULL;
    char *text = NULL;
    int64_t size;
    int rc;

    *p = (struct picture){ p->data, clip->w, clip->h, clip->c };
    memcpy(p->data, clip->data + (size_t)k * frame, frame);
    for (;;) {
        ctt_free(png);
        png = NULL;
        CTT_TRY(ctt_png_encode(clip->path, p->data, p->w, p->h, p->c, &png,
                               &size));
        if (size <= MOST || p->w < LEAST || p->h < LEAST)
            break;
        halve(p);
    }
    CTT_TRY((text = ctt_base64(png, size)) ? 0 : CTT_ENOMEM);
    fprintf(f, "<img alt=\"frame %d of %d\" "
            "src=\"data:image/png;base64,%s\">\n", k + 1, clip->n, text);
out:
    ctt_free(png);
    ctt_free(text);
    return rc;
}

int ctt_page_strip(FILE *f, const struct ctt_page_clip *clip,
                   const struct ctt_chart *answers)
{
    struct picture p = { NULL, 0, 0, 0 };
    int rc;

    p.data = ctt_calloc((size_t)clip->w * (size_t)clip->h, (size_t)clip->c);
    CTT_TRY(p.data ? 0 : CTT_ENOMEM);
    fprintf(f, "<h3>");
    ctt_page_text(f, clip->name);
    fprintf(f, "</h3>\n");
    if (clip->note) {
        fprintf(f, "<p>");
        ctt_page_text(f, clip->note);
        fprintf(f, "</p>\n");
    }
    fprintf(f, "<div class=\"strip\">");
    for (int k = 0; k < clip->n; k++)
        CTT_TRY(put_picture(f, clip, k, &p));
    fprintf(f, "</div>\n");
    if (answers)
        ctt_page_chart(f, answers);
out:
    ctt_free(p.data);
    return rc;
}
