/* SPDX-License-Identifier: Apache-2.0
 * bitmap_font.h: text and boxes on pictures of h x w x 3 bytes. */
#ifndef CTT_BITMAP_FONT_H
#define CTT_BITMAP_FONT_H

#include <stdint.h>

/* Pixels from letter to letter and from line to line, at size 1. */
enum { CTT_LETTER_W = 6, CTT_LETTER_H = 9 };

struct ctt_picture { uint8_t *data; int w, h; };

/* A box with its top left corner at (x, y); the share of the colour in it is
 * part / 256. */
void ctt_bitmap_font_box(const struct ctt_picture *p, int x, int y, int w,
                         int h, const uint8_t colour[3], int part);

/* A line of text whose pixels are squares of size x size; capitals stand for
 * small letters, and a character that is not ASCII is a question mark.  What
 * lies outside of the picture is left out. */
void ctt_bitmap_font_text(const struct ctt_picture *p, int x, int y, int size,
                          const uint8_t colour[3], const char *text);

#endif
