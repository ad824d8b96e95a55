/* SPDX-License-Identifier: Apache-2.0
 * picture.h: parts of pictures: text on pixels, grids of frames. */
#ifndef CTT_TOOL_PICTURE_H
#define CTT_TOOL_PICTURE_H

#include "net/graph.h"

#include <stdint.h>

/* ---- bitmap_font.c ---- */

/* Advance of letters and lines in pixels, at size 1. */
enum { CTT_LETTER_W = 6, CTT_LETTER_H = 9 };

/* A picture of h x w x 3 bytes. */
struct ctt_picture { uint8_t *data; int w, h; };

/* Draws a box with its top left corner at (x, y); opacity part / 256. */
void ctt_bitmap_font_box(const struct ctt_picture *p, int x, int y, int w,
                         int h, const uint8_t colour[3], int part);

/* Draws a line of text, clipped to the picture; a pixel of a letter is a square
 * of size x size.  Small letters become capitals, characters that are not ASCII
 * question marks. */
void ctt_bitmap_font_text(const struct ctt_picture *p, int x, int y, int size,
                          const uint8_t colour[3], const char *text);

/* ---- sheet.c ---- */

/* A grid of frames of the size of in, one gray pixel apart; c 1: gray, 3: red,
 * green, blue. */
struct ctt_sheet {
    const struct ctt_input *in;
    int      columns, rows, w, h, c;
    uint8_t *data;
};

/* Pixels of a side of `cells` frames of `size` pixels. */
int64_t ctt_sheet_side(int cells, int size);

/* Returns 1 if the picture would be too large. */
int  ctt_sheet_too_large(const struct ctt_input *in, int columns, int rows);

int  ctt_sheet_open(struct ctt_sheet *s, const struct ctt_input *in,
                    int columns, int rows, int c);
void ctt_sheet_clear(struct ctt_sheet *s);    /* all gray */

/* Copies a frame of h x w x in->c bytes into a cell; NULL leaves it gray. */
void ctt_sheet_put(struct ctt_sheet *s, int column, int row,
                   const uint8_t *frame);
void ctt_sheet_close(struct ctt_sheet *s);

#endif
