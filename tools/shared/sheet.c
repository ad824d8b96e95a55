/* SPDX-License-Identifier: Apache-2.0
 * sheet.c: a picture made of frames in a grid. */
#include "tools/shared/picture.h"

#include <string.h>

enum { GREY = 128, PIXELS = 1 << 27 /* largest picture */ };

int64_t ctt_sheet_side(int cells, int size)
{
    return (int64_t)cells * (size + 1) - 1;
}

int ctt_sheet_too_large(const struct ctt_input *in, int columns, int rows)
{
    return ctt_sheet_side(columns, in->w) * ctt_sheet_side(rows, in->h) >
           PIXELS;
}

int ctt_sheet_open(struct ctt_sheet *s, const struct ctt_input *in, int columns,
                   int rows, int c)
{
    *s = (struct ctt_sheet){ .in = in, .columns = columns, .rows = rows,
        .w = (int)ctt_sheet_side(columns, in->w),
        .h = (int)ctt_sheet_side(rows, in->h), .c = c };
    s->data = ctt_calloc((size_t)s->w * (size_t)s->h, (size_t)c);
    return s->data ? 0 : CTT_ENOMEM;
}

void ctt_sheet_clear(struct ctt_sheet *s)
{
    memset(s->data, GREY, (size_t)s->w * (size_t)s->h * (size_t)s->c);
}

void ctt_sheet_put(struct ctt_sheet *s, int column, int row,
                   const uint8_t *frame)
{
    int w = s->in->w, h = s->in->h, c = s->in->c;
    int turned = s->in->colour == CTT_BGR && c == 3;

    for (int y = 0; frame && y < h; y++)
        for (int x = 0; x < w; x++) {
            const uint8_t *from = frame + ((size_t)y * w + x) * c;
            uint8_t *to = s->data + ((size_t)(row * (h + 1) + y) * s->w +
                                     (size_t)(column * (w + 1) + x)) * s->c;
            for (int k = 0; k < s->c; k++)
                to[k] = from[c == 1 ? 0 : turned ? 2 - k : k];
        }
}

void ctt_sheet_close(struct ctt_sheet *s)
{
    ctt_free(s->data);
    s->data = NULL;
}
