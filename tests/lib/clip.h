/* SPDX-License-Identifier: Apache-2.0
 * clip.h: small videos, written by the tests that read them. */
#ifndef CTT_CLIP_H
#define CTT_CLIP_H

#include "net/graph.h"

struct clip {
    int           w, h, frames;
    const char   *codec;    /* FFmpeg's name of the encoder */
    double        fps;      /* of a steady clip, and written into the file */
    const double *time;     /* of each frame in seconds, or NULL: i / fps */
    int           turn;     /* degrees to the left in which it is shown */
    int           key;      /* frames from one key frame to the next; 0: 12 */
    int           pixel[2]; /* width to height of a pixel; 0: not stated */
    double        sound;    /* seconds of silence beside it (PCM) */
    const char   *how;      /* settings of the container: movflags=... */
    /* The pixel at (x, y) of frame i, 0xRRGGBB; NULL: a grey that says i. */
    unsigned    (*draw)(int i, int x, int y);
};

/* Whether the encoder is there. */
int clip_can(const char *codec);

/* Writes it; the ending of path says which container. */
int clip_write(const struct clip *c, const char *path);

/* The grey of frame i, and i of a grey. */
unsigned clip_grey(int i);
int      clip_number(unsigned grey);

/* The path of name in this program's temporary folder, which is made by the
 * first call; the text stays until 64 calls later. */
const char *clip_path(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* Makes a folder, or a file of n bytes, there. */
void clip_folder(const char *name);
void clip_file(const char *name, const void *data, size_t n);
void clip_text(const char *name, const char *text);

/* Writes a lossless clip of 32 x 24 greys that say their frame; its path. */
const char *clip_steady(const char *name, int frames, double fps);

/* w x h frames in RGB from the middle of each picture, fps of them a second
 * (0: as they are); floats are 0 to 1. */
struct ctt_input clip_input(int w, int h, float fps);

/* Reads a whole file; the caller frees it with ctt_free. */
uint8_t *clip_bytes(const char *path, size_t *n);

/* Removes the folder and its contents. */
void clip_clean(void);

#endif
