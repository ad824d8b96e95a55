/* SPDX-License-Identifier: Apache-2.0
 * infer_say.h: output of convtt-infer: answers, accuracy, quality of
 * predictions and times; as text or as lines of JSON. */
#ifndef CTT_INFER_SAY_H
#define CTT_INFER_SAY_H

#include "tools/shared/times.h"

#include <stdint.h>

/* An answer after `frame` of `frames` frames. */
struct ctt_said {
    const char  *file, *id;
    const char  *label;      /* the true class; NULL: unknown */
    int64_t      frame;
    int          frames;     /* 0: not known yet */
    double       seconds;    /* of the clip; < 0: unknown */
    double       ms;         /* computing time of this clip so far; of a
                                stream, from arrival of the frame */
    char *const *name;       /* class names */
    const float *probs;
    const int   *order;      /* the best classes, by falling
                                probability */
    int          top;        /* how many to print */
};
void ctt_say_answer(const struct ctt_said *a, int json);

/* After the ratio `seen` of each clip with a known label: number of clips, and
 * of those whose first class, or one of the first five, was correct. */
struct ctt_accuracy { double seen; int clips, top1, top5; };
int  ctt_say_accuracy(const struct ctt_accuracy *s, int scores, int json);

/* Quality of the frames predicted at one horizon: sums over the windows of
 * clips whose true frame is known; last, linear: mean squared error of the
 * repeated last frame and of linear motion (video/baseline.h). */
struct ctt_aux_head {
    int windows;
    double mse, psnr, ssim, ssim2, last, linear;
};
void ctt_aux_head_add(struct ctt_aux_head *to, const struct ctt_aux_head *a);

/* Means of row i; for i = rows, means over the frames of all rows. */
struct ctt_aux_head ctt_aux_head_mean(const struct ctt_aux_head *row, int rows,
                                      int i);

/* A predicted clip; sum: over its frames with a known truth.  JSON only. */
struct ctt_predicted {
    const char      *file;
    int              windows;            /* predicted, each of */
    int              seen, predicted;    /* so many frames */
    double           ms;
    struct ctt_aux_head sum;
};
void ctt_say_predicted(const struct ctt_predicted *p);

/* Prints a table, or a line of JSON per row and one for the mean.  why: the
 * message if nothing was measured. */
int ctt_say_aux_head(const struct ctt_aux_head *row, int rows, const char *why,
                     int json);

/* The time to open the model, and how the times of each kind spread, which it
 * sorts; without any, a kind is left out. */
struct ctt_said_times { const char *of; struct ctt_times *times; };
int  ctt_say_times(double open_ms, const struct ctt_said_times *kind, int kinds,
                   int json);

#endif
