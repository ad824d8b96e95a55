/* SPDX-License-Identifier: Apache-2.0
 * infer_tool.h: functions and structures shared by convtt-infer's files. */
#ifndef CTT_INFER_TOOL_H
#define CTT_INFER_TOOL_H

#include "base/limits.h"
#include "base/opt.h"
#include "base/telling.h"
#include "infer/infer.h"
#include "net/graph.h"
#include "tools/bench/bench_tool.h"
#include "tools/infer/infer_decide.h"
#include "tools/infer/infer_predict.h"
#include "tools/shared/decode.h"
#include "tools/shared/measure.h"
#include "tools/stream/stream_tool.h"
#include "video/source.h"
#include "video/video.h"

#include <stdint.h>

/* ---- infer_say.c ---- */

/* An answer after `frame` of `frames` frames. */
struct ctt_said {
    const char  *file, *id;
    int          width;      /* of the column of ids */
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
    const struct ctt_list *list;    /* with several labels per clip: that of
                                       `item`, or NULL */
    const struct ctt_item *item;
    const float *threshold;  /* of classes, or NULL: they exclude each other.
                                The first `there` of order reach it */
    int          there;
};
void ctt_say_answer(const struct ctt_said *a, int json);

/* The names of the columns of plain answers. */
void ctt_say_heading(int width);

/* The width of a column of names, which was `width` before another name. */
int ctt_say_width(int width, const char *name);

/* Accuracy after the ratio `seen` of clips with a known label: numbers of
 * clips, of correct first classes, and of correct classes among the first five,
 * which the table has if the model has more than five classes. */
struct ctt_accuracy { double seen; int clips, top1, top5; };
int  ctt_say_accuracy(const struct ctt_accuracy *s, int scores, int classes,
                      int json);

/* The same of clips with several labels, with their mean average precision
 * map[scores]. */
int  ctt_say_precision(const struct ctt_accuracy *s, const double *map,
                       int scores, int json);

/* Prints the time to open the model and the spread of the times of each kind
 * that has any; sorts the times. */
struct ctt_said_times { const char *of; struct ctt_times *times; };
int  ctt_say_times(double open_ms, const struct ctt_said_times *kind, int kinds,
                   int json);

/* ---- infer_judged.c ---- */

/* A clip whose last answer is not its true class. */
struct ctt_wrong {
    char *id, *file;
    int   label, answer, frames;
    float p_true, p;    /* the probabilities of both */
};

/* Zeros at first. */
struct ctt_judged {
    struct ctt_wrong *of;
    int               count, room;
};
int  ctt_judged_add(struct ctt_judged *j, const struct ctt_said *a, int label);
void ctt_judged_free(struct ctt_judged *j);

/* Prints the surest wrong answers, if there are any; writes all as CSV.
 * name: the classes; clips: those with a known class. */
int  ctt_judged_say(struct ctt_judged *j, char *const *name, int clips);
int  ctt_judged_write(struct ctt_judged *j, char *const *name,
                      const char *path);

/* CTT_EINVAL or CTT_EIO if a file of wrong clips or a page cannot be
 * written. */
struct ctt_infer_set;
int  ctt_judged_check(const struct ctt_infer_set *c);

/* ---- infer_film.c ---- */

/* A clip, frames of it at equal distances, and the answers after each of its
 * frames. */
enum { CTT_FILM_FRAMES = 8, CTT_FILM_CURVES = 5 };
struct ctt_film {
    char    *id;
    uint8_t *data;      /* [CTT_FILM_FRAMES] of the model's size */
    double  *x;         /* [frames] in seconds, or numbers of frames; then
                           the probabilities of each curve */
    double   fps;
    int      frames, label, curves, curve[CTT_FILM_CURVES],
             is_true[CTT_FILM_CURVES];
    int      answer;    /* at the end */
    float    p;         /* its probability, of a right one the early one's */
};

/* take: runs the clip once more; the session is left at its end.  put: adds it
 * to a page at path; note: a paragraph, or NULL. */
struct ctt_recogniser;
int  ctt_film_take(struct ctt_recogniser *r, const struct ctt_item *item,
                   const struct ctt_frames *d, struct ctt_film *f);
int  ctt_film_put(FILE *to, const struct ctt_film *f,
                  const struct ctt_recogniser *r, const char *path,
                  const char *note);
void ctt_film_free(struct ctt_film *f);

/* ---- infer_report.c ---- */

/* Parts of a page beside the sums of the recogniser. */
enum { CTT_WORST_CLIPS = 6, CTT_SURE_BINS = 10 };
struct ctt_infer_report {
    const char     *model;
    const double   *map;                     /* [ratios], with several labels */
    struct ctt_film film[CTT_WORST_CLIPS];    /* the surest first */
    struct ctt_film shown;    /* early right, or of no class */
    int             worst;
    float           early;    /* of the clip under way: the first answer's
                                 probability, if that is right */
    int             clips[CTT_SURE_BINS], right[CTT_SURE_BINS];
    double          sure[CTT_SURE_BINS];    /* sums of probabilities */
};

/* sure: counts a clip's last answer by its probability.  clip: takes the clip
 * that was run last, wrong at its end or not, if it is one of the worst or the
 * one to show.  write: a page that cannot be written is a warning. */
void ctt_infer_report_sure(struct ctt_infer_report *p, double sure, int right);
int  ctt_infer_report_clip(struct ctt_recogniser *r,
                           const struct ctt_item *item,
                           const struct ctt_frames *d, int wrong);
void ctt_infer_report_write(const struct ctt_recogniser *r);
void ctt_decide_report_write(const struct ctt_recogniser *r);
void ctt_infer_report_free(struct ctt_infer_report *p);

/* ---- infer_input.c ---- */

/* Gives `take` each path on standard input, one per line (LF or CRLF), as soon
 * as it has come, since the writer may wait for an answer before the next one.
 * CTT_EINVAL: no text, or a line of more than 8,190 bytes. */
int ctt_input_paths(int (*take)(void *arg, const char *path), void *arg);

/* ---- infer_opt.c ---- */

struct ctt_infer_set {
    const char *split, *classes, *observe, *device, *wrong,
               *report_html, *profile;
    float fps;
    int every, top, json, time, strict, threads, workers;
    struct ctt_predict predict;
    struct ctt_decide_set decide;
    struct ctt_bench_set bench;
    struct ctt_stream_set stream;
    struct ctt_limits limits;
    struct ctt_telling telling;
};

extern const struct ctt_program ctt_infer_program;

/* The texts of its manual page: before the options, and after them. */
extern const char ctt_infer_description[];
extern const struct ctt_chapter ctt_infer_chapters[];

/* Fails for settings that exclude each other or have no effect, and for output
 * files that are given twice.  path: the model and the operands. */
int ctt_infer_check(const struct ctt_infer_set *c, char **path, int paths);

/* ---- infer_recognise.c ---- */

enum { CTT_RECOGNISE_RATIOS = 16, CTT_RECOGNISE_BATCH = 8 };

/* infer_renamed.c: clips by label and answer, clips[label * classes + answer],
 * kept for 2 to 1,024 classes.  best: the most right answers after renaming the
 * classes one to one, and the answer for each label.  tell: warns if renaming
 * makes most answers right, and more of them beyond the intervals. */
int  ctt_renamed_open(int classes, int **clips);
void ctt_renamed_count(int classes, int *clips, int label, int answer);
int  ctt_renamed_best(int classes, const int *clips, int *answer);
int  ctt_renamed_tell(int classes, const int *clips, char *const *name);

/* infer_several.c: probabilities of clips with several labels.  keep: those of
 * a clip of a list at a ratio, which must be the next of the ratios for the
 * clip; map: the mean average precision at each ratio. */
struct ctt_kept_answers {
    int      classes, ratios;
    float   *p;        /* [clip][ratio][class] */
    uint8_t *there;    /* [clip][class] */
    int      clips, room, room_there;
};
int  ctt_kept_add(struct ctt_kept_answers *k, const struct ctt_list *l,
                  const struct ctt_item *item, int ratio, const float *probs);
int  ctt_kept_map(const struct ctt_kept_answers *k, double *map);
void ctt_kept_free(struct ctt_kept_answers *k);

/* Orders classes: those that reach their thresholds by falling probability, and
 * then the others; returns the number of the former. */
int  ctt_order_there(const float *probs, const float *threshold, int classes,
                     int *order);

struct ctt_recogniser;

/* ---- infer_text.c ---- */

/* 1 if the model's classes are symbols of text.  ctt_recognise_texts: prints
 * for each sentence of the operands its perplexity and the symbols that are
 * most likely behind its last one, then the perplexity of all. */
int ctt_recognises_text(const struct ctt_recogniser *r);
int ctt_recognise_texts(struct ctt_recogniser *r, char **path, int paths);

/* The caller fills the first part; pointers stay the caller's. */
struct ctt_recogniser {
    const struct ctt_infer_set *set;
    struct ctt_session *session;
    struct ctt_input    in;
    char              **label;      /* the model's classes */
    int                 classes;
    const float        *threshold;  /* of each class, or NULL: they exclude
                                       each other */
    struct ctt_kept_answers kept;   /* with several labels per clip */
    const struct ctt_list  *list;   /* of the current clip */
    int                 width;      /* of the column of ids */
    uint8_t            *frames;     /* room for a batch in the model's size */
    float              *probs;      /* room for a value per class */
    int                *order;      /* the best classes, by falling
                                       probability */

    struct ctt_accuracy accuracy[CTT_RECOGNISE_RATIOS];
    int                 ratios;
    int                *renamed;    /* clips by label and answer at the end */
    struct ctt_judged   judged;
    struct ctt_infer_report report;    /* with --report-html */
    int                 said;       /* answers printed */
    struct ctt_times    frame, answer;    /* with --time, and those below */
    struct ctt_decode_times decode;
    int                 read, skipped;    /* clips */

    /* Takes the frames of a decoded clip in place of answers at each ratio; or
     * NULL. */
    int               (*watch)(struct ctt_recogniser *r,
                               const struct ctt_item *item,
                               const struct ctt_frames *f);
    struct ctt_decide_sums decided;       /* with --decide */
    struct ctt_calibrator *calibrator;    /* with --calibrate */
};

/* Reads --observe into the ratios of r. */
int ctt_recognise_ratios(struct ctt_recogniser *r);

/* Returns the clip's class; -1: unknown, or not one of the model's. */
int ctt_recognise_label(const struct ctt_recogniser *r,
                        const struct ctt_item *item);

/* Pushes the centre crops of at most CTT_RECOGNISE_BATCH stored frames and adds
 * the time to *ms. */
int ctt_recognise_push(struct ctt_recogniser *r, const uint8_t *data,
                       int frames, double *ms);

/* Answer for a decoded clip, whose frames are freed, or, with --every, for clip
 * i of the source during decoding.  A clip that cannot be read is skipped with
 * a warning; with --strict it is an error. */
int ctt_recognise_decoded(struct ctt_recogniser *r, struct ctt_decoded *d);
int ctt_recognise_stream(struct ctt_recogniser *r,
                         const struct ctt_source *from, int i);

/* infer_results.c: prints the results of all clips, or what --calibrate and
 * --decide made of them.  model: its path. */
int ctt_recognise_say(struct ctt_recogniser *r, const char *model);

#endif
