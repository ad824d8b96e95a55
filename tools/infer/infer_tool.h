/* SPDX-License-Identifier: Apache-2.0
 * infer_tool.h: functions and structures shared by the files of convtt-infer.
 * */
#ifndef CTT_INFER_TOOL_H
#define CTT_INFER_TOOL_H

#include "base/limits.h"
#include "base/opt.h"
#include "infer/calibrate.h"
#include "infer/infer.h"
#include "net/graph.h"
#include "tools/bench/bench_tool.h"
#include "tools/shared/decode.h"
#include "tools/shared/output.h"
#include "tools/shared/measure.h"
#include "tools/stream/stream_tool.h"
#include "video/source.h"
#include "video/video.h"

#include <stdint.h>

/* ---- infer_say.c ---- */

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

/* ---- infer_predict.c ---- */

/* Settings; a NULL path: the file is not written. */
struct ctt_predict {
    int         count, seen;    /* predicted and observed frames */
    int         windows;        /* of seen + count frames, that are predicted
                                   of a clip at most; 0: all */
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

/* Frames are separated by a gray line of one pixel; missing frames are gray.
 *
 * A strip: one column per frame; for each clip the truth above the prediction.
 */
int ctt_show_strip(const char *path, const struct ctt_show *v);

/* A video: for each clip the truth left of the prediction. */
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
    struct ctt_aux_head       *row;
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
                      const float *guess, struct ctt_aux_head *sum);

/* Writes a CSV file: one line per row and one for the mean; and how it
 * begins. */
#define CTT_MEASURE_BEGIN "ahead,windows,"
int  ctt_measure_csv(const struct ctt_measure *m, const char *path);

/* ---- infer_files.c ---- */

/* Tables as CSV: quality of predictions, or answers of a calibration. */
extern const struct ctt_output_kind ctt_output_table;

/* Fails if two of them are the same file. */
int ctt_predict_apart(const struct ctt_predict *c);

/* Fails if one of them is an input read at path. */
int ctt_predict_spares(const struct ctt_predict *c, const char *path);

/* Fails if one cannot be written: its folder is missing or not writable. */
int ctt_predict_can_write(const struct ctt_predict *c);

/* ---- infer_decide.c ---- */

/* Settings of --decide and --calibrate. */
struct ctt_decide_set {
    const char *answers;
    double      max_gap, delta, smooth;
    int         on, calibrate, guarantee;    /* ctt_promise_words */
    int         head;                        /* ctt_head_words */
};

/* "auto", and the words of enum ctt_guarantee from 1 on. */
extern const char *const ctt_promise_words[];

struct ctt_recogniser;

/* What was decided; of clips of a known class also what was right.  lost: right
 * only at the end, won: only early. */
struct ctt_decide_sums {
    int    clips, early, known, right, lost, won;
    double seen;    /* shares of clips */
};

/* Decides for a decoded clip, prints the answer and counts it in r->decided.  A
 * clip whose class is known is run to its end. */
int ctt_decide_clip(struct ctt_recogniser *r, const struct ctt_item *item,
                    const struct ctt_frames *f);

/* Prints what came of all clips, beside what was promised. */
int ctt_decide_say(const struct ctt_decide_sums *s, int json);

/* ---- infer_answers.c ---- */

/* How a table of answers begins. */
#define CTT_ANSWERS_BEGIN "clip,label,end,answer,frames,"

/* Of a clip of a known class. */
struct ctt_answer {
    char    *id;
    int      label, frames, end;    /* end: the answer there */
    uint32_t crc;                   /* of its frames */
    int      checks;                /* that it has */
    int      answer[CTT_DECISION_CHECKS];
    float    sure[CTT_DECISION_CHECKS];    /* confidences */
};

/* Zeros: none. */
struct ctt_answers {
    struct ctt_answer **of;
    int                 count, room;
};

/* add: a new one, zeros but for its id. */
int  ctt_answers_add(struct ctt_answers *a, const char *id,
                     struct ctt_answer **out);
void ctt_answers_free(struct ctt_answers *a);

/* 1 if a clip is of that class. */
int  ctt_answers_has(const struct ctt_answers *a, int label);

/* Removes all but one of the clips with the same frames, and sorts the others;
 * returns how many went. */
int  ctt_answers_unique(struct ctt_answers *a);

/* 1: whoever takes the answer at check k loses the right one at the end. */
int  ctt_answer_lost(const struct ctt_answer *a, int k);

/* What a calibration needs of them, in their order, with confidences of this
 * head; ctt_answers_trials_free() frees it. */
int  ctt_answers_trials(const struct ctt_answers *a,
                        const struct ctt_head *head, struct ctt_trials *out);
void ctt_answers_trials_free(struct ctt_trials *t);

/* Writes a table with a line per clip and check.  name: the classes. */
int  ctt_answers_write(const struct ctt_answers *a, char *const *name,
                       const char *path);

/* ---- calibrate_head.c ---- */

/* --head, and its words in this order. */
enum ctt_head_choice { CTT_HEAD_AUTO, CTT_HEAD_ON, CTT_HEAD_OFF };
extern const char *const ctt_head_words[];

/* Whether there is to be a head, with so many clips of so many classes; looks
 * at nothing else, or the choice itself would need a test. */
int ctt_calibrate_wants_head(enum ctt_head_choice choice, int clips,
                             int classes);

/* Fits a head on a third of the clips, drawn at random, and moves these to the
 * front; returns how many they are.  All others remain to calibrate with. */
int ctt_calibrate_head(struct ctt_answers *a, int classes,
                       struct ctt_head *out);

/* ---- infer_calibrate.c ---- */

struct ctt_recogniser;
struct ctt_calibrator;

/* path: of the model; type: what its convs multiply.  Fails if the file cannot
 * be replaced. */
int  ctt_calibrator_open(const struct ctt_decide_set *set, const char *path,
                         const char *type, int classes,
                         struct ctt_calibrator **out);
void ctt_calibrator_close(struct ctt_calibrator **c);

/* CTT_EINVAL if the model was trained or tested on the clips of the source, as
 * far as the file tells. */
int ctt_calibrator_source(const struct ctt_calibrator *c, const char *path,
                          const struct ctt_source *s);

/* Collects the answers for a decoded clip in r->calibrator. */
int ctt_calibrate_clip(struct ctt_recogniser *r, const struct ctt_item *item,
                       const struct ctt_frames *f);

/* Finds thresholds from all clips, prints them and what they do to these clips,
 * and stores them.  name: the classes. */
int ctt_calibrator_finish(struct ctt_calibrator *c, char *const *name,
                          int json);

/* ---- infer_opt.c ---- */

struct ctt_infer_set {
    const char *split, *classes, *observe, *device;
    float fps;
    int every, top, json, time, strict, threads, workers;
    struct ctt_predict predict;
    struct ctt_decide_set decide;
    struct ctt_bench_set bench;
    struct ctt_stream_set stream;
    struct ctt_limits limits;
};

extern const struct ctt_program ctt_infer_program;

/* The texts of its manual page: before the options, and after them. */
extern const char ctt_infer_description[];
extern const struct ctt_chapter ctt_infer_chapters[];

/* Fails for settings that exclude each other or have no effect, and for an
 * output file that is given twice.  path: the model and the operands. */
int ctt_infer_check(const struct ctt_infer_set *c, char **path, int paths);

/* ---- infer_recognise.c ---- */

enum { CTT_RECOGNISE_RATIOS = 16, CTT_RECOGNISE_BATCH = 8 };

/* The caller fills the first part; pointers stay the caller's. */
struct ctt_recogniser {
    const struct ctt_infer_set *set;
    struct ctt_session *session;
    struct ctt_input    in;
    char              **label;      /* the model's classes */
    int                 classes;
    uint8_t            *frames;     /* room for a batch in the model's size */
    float              *probs;      /* and for a value per class */
    int                *order;      /* the best classes, by falling
                                       probability */

    struct ctt_accuracy accuracy[CTT_RECOGNISE_RATIOS];
    int                 ratios;
    struct ctt_times    frame, answer;    /* with --time, and those below */
    struct ctt_decode_times decode;
    int                 read, skipped;    /* clips */

    /* Does something else with the frames of a decoded clip than answer at each
     * ratio; NULL: nothing. */
    int               (*watch)(struct ctt_recogniser *r,
                               const struct ctt_item *item,
                               const struct ctt_frames *f);
    struct ctt_decide_sums decided;       /* with --decide */
    struct ctt_calibrator *calibrator;    /* with --calibrate */
};

/* Reads --observe into the ratios of r. */
int ctt_recognise_ratios(struct ctt_recogniser *r);

/* The clip's class, if it is known and one of the model's, or -1. */
int ctt_recognise_label(const struct ctt_recogniser *r,
                        const struct ctt_item *item);

/* Gives the session the middle of that many stored frames, at most
 * CTT_RECOGNISE_BATCH, and adds the time to *ms. */
int ctt_recognise_push(struct ctt_recogniser *r, const uint8_t *data,
                       int frames, double *ms);

/* Answers for a decoded clip, whose frames it frees; or, with --every, for clip
 * i of the source as it is decoded.  A clip that cannot be read is skipped with
 * a warning, or with --strict an error. */
int ctt_recognise_decoded(struct ctt_recogniser *r, struct ctt_decoded *d);
int ctt_recognise_stream(struct ctt_recogniser *r,
                         const struct ctt_source *from, int i);

#endif
