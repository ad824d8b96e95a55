/* SPDX-License-Identifier: Apache-2.0
 * sensitivity_say.h: what --sense found: tables and CSV. */
#ifndef CTT_TOOL_SENSITIVITY_SAY_H
#define CTT_TOOL_SENSITIVITY_SAY_H

#include "compress/compress.h"

/* Prints a table per weight, and one of the strongest values that each weight
 * bears: those whose fit is at most `kl`. */
int ctt_sensitivity_say(const struct ctt_sensitivity *s, double kl);

/* Writes a row per point; what was not measured is empty. */
int ctt_sensitivity_csv(const struct ctt_sensitivity *s, const char *path);

/* How the file begins. */
#define CTT_SENSITIVITY_CSV_BEGIN "weight,option,value,kl25,"

#endif
