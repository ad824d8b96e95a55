/* SPDX-License-Identifier: Apache-2.0
 * compress_say.h: messages of convtt-compress: progress, and the report. */
#ifndef CTT_COMPRESS_SAY_H
#define CTT_COMPRESS_SAY_H

#include "compress/compress.h"
#include "libtrain/train.h"

/* Print progress, epochs and bad clips of retraining after stage *stage. */
struct ctt_events ctt_compress_events(const char **stage);

/* Prints tables: one row per weight, one row per stage or round. */
int ctt_compress_say(const struct ctt_report *r);

#endif
