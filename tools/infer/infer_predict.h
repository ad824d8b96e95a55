/* SPDX-License-Identifier: Apache-2.0
 * infer_predict.h: predicts the next frames of clips, saves them, and measures
 * them where the clip has the true ones. */
#ifndef CTT_INFER_PREDICT_H
#define CTT_INFER_PREDICT_H

#include "infer/infer.h"
#include "tools/shared/decode.h"
#include "tools/infer/infer_say.h"
#include "video/source.h"

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

#endif
