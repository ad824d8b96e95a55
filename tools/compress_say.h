/* SPDX-License-Identifier: Apache-2.0
 * compress_say.h: what convtt-compress tells, meanwhile and at the end. */
#ifndef CTT_COMPRESS_SAY_H
#define CTT_COMPRESS_SAY_H

#include "compress/compress.h"
#include "libtrain/train.h"

/* Progress, epochs and bad clips of retraining after stage *stage; stops when
 * a signal has come. */
struct ctt_events ctt_compress_events(const char **stage);

/* Tables: a row for each weight, a row for each round of a stage. */
int ctt_compress_say(const struct ctt_report *r);

#endif
