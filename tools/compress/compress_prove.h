/* SPDX-License-Identifier: Apache-2.0
 * compress_prove.h: which clips trained, chose and proved a compressed
 * model. */
#ifndef CTT_TOOL_COMPRESS_PROVE_H
#define CTT_TOOL_COMPRESS_PROVE_H

#include "tools/compress/compress_calls.h"

/* Adds to r, and prints, what the clips were used for.  If the validation clips
 * made a choice, the model as given and the result are tested on split "test",
 * if there is one with classes. */
int ctt_compress_prove(const struct ctt_compress_job *j, struct ctt_report *r);

#endif
