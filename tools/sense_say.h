/* SPDX-License-Identifier: Apache-2.0
 * sense_say.h: what --sense found: tables and CSV. */
#ifndef CTT_TOOL_SENSE_SAY_H
#define CTT_TOOL_SENSE_SAY_H

#include "compress/compress.h"

/* Prints a table per weight, and one of the strongest values that each weight
 * bears: those whose fit is at most `kl`. */
int ctt_sense_say(const struct ctt_sense *s, double kl);

/* Writes a row per point; what was not measured is empty. */
int ctt_sense_csv(const struct ctt_sense *s, const char *path);

/* How the file begins. */
#define CTT_SENSE_CSV_BEGIN "weight,option,value,kl25,"

#endif
