/* SPDX-License-Identifier: Apache-2.0
 * sheet.h: a picture made of frames in a grid. */
#ifndef CTT_SHEET_H
#define CTT_SHEET_H

#include "net/graph.h"

/* A grid of frames of the size of in, one gray pixel apart; c: 1 gray, 3 red,
 * green, blue. */
struct ctt_sheet {
    const struct ctt_input *in;
    int      columns, rows, w, h, c;
    uint8_t *data;
};

/* Pixels of a side with so many frames of that size. */
int64_t ctt_sheet_side(int cells, int size);

/* 1 if the picture would be too large to be made. */
int  ctt_sheet_too_large(const struct ctt_input *in, int columns, int rows);

int  ctt_sheet_open(struct ctt_sheet *s, const struct ctt_input *in,
                    int columns, int rows, int c);
void ctt_sheet_clear(struct ctt_sheet *s);    /* all gray */

/* Copies a frame of h x w x in->c bytes into a cell; NULL leaves it gray. */
void ctt_sheet_put(struct ctt_sheet *s, int column, int row,
                   const uint8_t *frame);
void ctt_sheet_close(struct ctt_sheet *s);

#endif
