/* SPDX-License-Identifier: Apache-2.0
 * infer_predict.h: predicted frames: settings, quality, pictures and files. */
#ifndef CTT_INFER_PREDICT_H
#define CTT_INFER_PREDICT_H

#include "tools/shared/decode.h"
#include "tools/shared/measure.h"
#include "tools/shared/output.h"
#include "video/source.h"

#include <stdint.h>

/* ---- infer_say.c ---- */

/* Quality of the frames predicted at one horizon: sums over the windows of
 * clips whose true frame is known; last, linear: mean squared error of the
 * repeated last frame and of linear motion (video/baseline.h). */
struct ctt_horizon {
    int windows;
    double mse, psnr, ssim, ssim2, last, linear;
};
void ctt_horizon_add(struct ctt_horizon *to, const struct ctt_horizon *a);

/* Means of row i; for i = rows, means over the frames of all rows. */
struct ctt_horizon ctt_horizon_mean(const struct ctt_horizon *row, int rows,
                                      int i);

/* Prints a predicted clip as JSON; sum: over its frames with a known truth. */
struct ctt_predicted {
    const char      *file;
    int              windows;            /* number of predicted windows */
    int              seen, predicted;    /* frames of each window */
    double           ms;
    struct ctt_horizon sum;
};
void ctt_say_predicted(const struct ctt_predicted *p);

/* Prints a table, or a line of JSON per row and one for the mean.  why: the
 * message if nothing was measured. */
int ctt_say_horizons(const struct ctt_horizon *row, int rows, const char *why,
                     int json);

/* ---- infer_predict.c ---- */

/* Settings; a NULL path: the file is not written. */
struct ctt_predict {
    int         count, seen;    /* predicted and observed frames */
    int         windows;        /* most windows of seen + count frames per clip;
                                   0: all */
    int         show;           /* clips in strip and video */
    int         sequences, digits, seed;
    const char *strip, *video, *frames, *csv;
};

/* Arguments; pointers stay the caller's.  times, decode: collect the times of
 * each frame and clip, or NULL.  strict: a clip that cannot be read is an
 * error.  workers: threads that decode (decode.h). */
struct ctt_predict_with {
    const struct ctt_predict *set;
    struct ctt_session       *session;
    const struct ctt_input   *in;
    struct ctt_source_set     which;
    struct ctt_times         *times;
    struct ctt_decode_times  *decode;
    int                       json, strict, workers;
};

/* open checks that the files can be written; add takes an operand; run predicts
 * all clips, prints the quality and writes the files.  If a clip has too few
 * frames, run fails and no file is written. */
struct ctt_predictor;
int  ctt_predictor_open(const struct ctt_predict_with *w,
                        struct ctt_predictor **out);
int  ctt_predictor_add(struct ctt_predictor *p, const char *path);
int  ctt_predictor_run(struct ctt_predictor *p);
void ctt_predictor_close(struct ctt_predictor **p);

/* ---- infer_show.c ---- */

/* A clip: frames of h x w x c bytes one after the other. */
struct ctt_shown {
    uint8_t *truth;    /* seen + ahead, of which the first `known` exist */
    uint8_t *guess;    /* ahead */
    int      known;
};
struct ctt_show {
    const struct ctt_input *in;
    int                     seen, ahead, clips;
    double                  fps;     /* of a video */
    struct ctt_shown       *clip;
};

/* Writes a strip: one column per frame; for each clip the truth above the
 * prediction.  A gray line of one pixel separates frames; missing frames are
 * gray. */
int ctt_show_strip(const char *path, const struct ctt_show *v);

/* Writes a video: for each clip the truth left of the prediction. */
int ctt_show_video(const char *path, const struct ctt_show *v);

/* Fails if the files cannot be made for so many frames; path NULL: no file. */
int ctt_show_check(const char *strip, const char *video,
                   const struct ctt_show *v);

/* ---- infer_store.c ---- */

struct ctt_store {
    const char             *path;
    const struct ctt_input *in;
    int                     seen, ahead;
    int                     clips, any_truth;
    float                  *truth, *guess;    /* [clips][ahead][h, w, c] */
    const char            **name;             /* of the clips */
};

/* Allocates room for `clips` clips; path, in, seen and ahead are set.
 * CTT_EINVAL if the machine has too little memory. */
int  ctt_store_open(struct ctt_store *s, int clips);
void ctt_store_clear(struct ctt_store *s);

/* Adds a clip.  truth: `known` frames from the first observed one on; unknown
 * frames are NaN in the file.  name must stay valid until write. */
void ctt_store_add(struct ctt_store *s, const char *name, const float *truth,
                   int known, const float *guess);

int  ctt_store_write(const struct ctt_store *s);

/* ---- infer_measure.c ---- */

/* Sums over windows of clips, one row per frame ahead. */
struct ctt_measure {
    const struct ctt_input *in;
    int                     seen, rows;
    int                     able;     /* frames are large enough to measure */
    struct ctt_horizon       *row;
    float                  *moved;    /* a frame by linear motion */
};

/* For `rows` frames predicted after `seen` observed ones; in stays the
 * caller's. */
int  ctt_measure_init(struct ctt_measure *m, const struct ctt_input *in,
                      int seen, int rows);
void ctt_measure_clear(struct ctt_measure *m);

/* Adds a window of a clip to the rows and to *sum; nothing if not able.  truth:
 * `known` frames from the first observed one on; guess: the predicted frames;
 * values in 0..1. */
int  ctt_measure_clip(struct ctt_measure *m, const float *truth, int known,
                      const float *guess, struct ctt_horizon *sum);

/* Writes a CSV file with these first bytes: one line per row and one for the
 * mean. */
#define CTT_MEASURE_BEGIN "ahead,windows,"
int  ctt_measure_csv(const struct ctt_measure *m, const char *path);

/* ---- infer_files.c ---- */

/* Tables as CSV: quality of predictions, or answers of a calibration. */
extern const struct ctt_output_kind ctt_output_table;

/* Fails if two outputs are the same file. */
int ctt_predict_apart(const struct ctt_predict *c);

/* Fails if an output is an input read at path. */
int ctt_predict_spares(const struct ctt_predict *c, const char *path);

/* Fails if an output cannot be written, or is a file of another kind. */
int ctt_predict_can_write(const struct ctt_predict *c);

#endif
