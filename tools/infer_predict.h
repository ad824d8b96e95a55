/* SPDX-License-Identifier: Apache-2.0
 * infer_predict.h: the frames that come next, shown, stored, and measured where
 * a clip says what they are. */
#ifndef CTT_INFER_PREDICT_H
#define CTT_INFER_PREDICT_H

#include "infer/infer.h"
#include "tools/infer_say.h"
#include "video/source.h"

/* Settings; a NULL path is a file that is not wanted. */
struct ctt_predict {
    int         count, seen;    /* frames to predict, after so many */
    int         show;           /* clips in strip and video */
    int         sequences, digits, seed;
    const char *strip, *video, *frames, *csv;
};

/* What there is to work with; all of it stays the caller's.  times: of each
 * frame, or NULL.  strict: a clip that cannot be read is an error. */
struct ctt_predict_with {
    const struct ctt_predict *set;
    struct ctt_session       *session;
    const struct ctt_input   *in;
    struct ctt_source_set     which;
    struct ctt_times         *times;
    int                       json, strict;
};

/* Add the operands, then run, which prints what was measured and then writes
 * the files; that they can be written is seen to at open.  A clip of too few
 * frames is an error, and then no file is written. */
struct ctt_predictor;
int  ctt_predictor_open(const struct ctt_predict_with *w,
                        struct ctt_predictor **out);
int  ctt_predictor_add(struct ctt_predictor *p, const char *path);
int  ctt_predictor_run(struct ctt_predictor *p);
void ctt_predictor_close(struct ctt_predictor **p);

#endif
