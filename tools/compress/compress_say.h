/* SPDX-License-Identifier: Apache-2.0
 * compress_say.h: messages of convtt-compress: progress, and the report. */
#ifndef CTT_COMPRESS_SAY_H
#define CTT_COMPRESS_SAY_H

#include "compress/compress.h"
#include "libtrain/train.h"

/* How far a run is. */
struct ctt_compress_watch {
    const char     *stage;    /* being retrained */
    struct ctt_epochs span;     /* of all retraining; all 0: none yet */
};

/* Print progress, epochs and bad clips of retraining. */
struct ctt_events ctt_compress_events(struct ctt_compress_watch *w);

/* Prints tables: one row per weight, one row per stage or round. */
int ctt_compress_say(const struct ctt_report *r);

#endif
