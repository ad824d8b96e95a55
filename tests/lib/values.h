/* SPDX-License-Identifier: Apache-2.0
 * values.h: the named values of a checkpoint, to be read, changed and written
 * as version 4 did. */
#ifndef CTT_TEST_VALUES_H
#define CTT_TEST_VALUES_H

#include "net/model.h"

/* A value in the array "values" of a training state. */
double value_of(const struct ctt_state *s, const char *name);

/* Replaces the line of a name by `line` (which ends in LF, or is ""), or
 * appends it if the name is missing. */
void value_line(struct ctt_state *s, const char *name, const char *line);

/* Replaces "values" by the arrays "place" and "sums" of version 4. */
void values_as_version_4(struct ctt_state *s);

#endif
