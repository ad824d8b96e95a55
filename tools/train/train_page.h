/* SPDX-License-Identifier: Apache-2.0
 * train_page.h: --report-html: a page on a training, written anew after each
 * epoch and with the result. */
#ifndef CTT_TRAIN_PAGE_H
#define CTT_TRAIN_PAGE_H

#include "libtrain/recognise/baseline.h"
#include "libtrain/train.h"

/* The curves: an epoch each. */
struct ctt_page_epoch {
    double epoch, lr, loss, top1, val_loss, wait, scale;
    /* Top-1 at the points of validation, and its interval. */
    double at[CTT_MAX_POINTS], low[CTT_MAX_POINTS], high[CTT_MAX_POINTS];
    int    best;
};

struct ctt_search;
struct ctt_train_page {
    const struct ctt_train_cfg *cfg;
    const char            *text;      /* path of the model text, or NULL */
    struct ctt_page_epoch *row;
    int                    rows, room, amp, points, lost; /* lost: not in
                                                             memory */
    struct ctt_point       point[CTT_MAX_POINTS];
    struct ctt_data       *data, *val;
    char *const           *label;

    /* Of the result; NULL before, or in prediction. */
    const struct ctt_metrics *on_val, *on_test;
    const struct ctt_search  *search;    /* NULL: none */
    const char               *set;    /* the clips of the two below */
    struct ctt_metrics       *model;
    struct ctt_baselines      baselines;
};

/* Adds an epoch and writes the page; a page that cannot be written is a warning
 * only, and the old one stays. */
void ctt_train_page_add(struct ctt_train_page *p, const struct ctt_epoch *e,
                        const struct ctt_metrics *val);
void ctt_train_page_write(const struct ctt_train_page *p);
void ctt_train_page_free(struct ctt_train_page *p);

/* 1 if the validation clips chose the weights, and so are no proof of them. */
int  ctt_val_chose(const struct ctt_train_cfg *cfg);

/* ---- train_page_clips.c ---- */

/* The validation clips that on_val, which has answers, is wrong about at their
 * end, the least probable true class first; returns their count. */
enum { CTT_WORST = 6 };
int  ctt_train_worst(const struct ctt_train_page *p, int clip[CTT_WORST]);

/* The validation clips that the model is most wrong about: frames, and answers
 * by the part that was seen.  Nothing if on_val has no answers. */
int  ctt_train_page_clips(FILE *f, const struct ctt_train_page *p);

/* ---- search_page.c ---- */

/* Scores by trial and by each setting, what settings explain, and a table of
 * the trials. */
int  ctt_search_put(FILE *f, const struct ctt_search *s);

#endif
