/* SPDX-License-Identifier: Apache-2.0
 * int8_blame.h: the loss by each conv that reads bytes. */
#ifndef CTT_INT8_BLAME_H
#define CTT_INT8_BLAME_H

#include "compress/stage.h"
#include "net/rewrite/edit_quant.h"

/* 1 if the model's answer is a picture, not a class. */
int  ctt_int8_frames(const struct ctt_graph *g);

/* Adds a row of blame for each conv with take[i] = 1 of m, in the order of m,
 * with its effect on its result and on the answer if it alone reads bytes:
 * `alone` and `answer`.  Errors as of ctt_int8_follow(). */
int  ctt_int8_blame(const struct ctt_walk *k, const struct ctt_model *m,
                    const char *take, const struct ctt_form_of *form);

/* Adds the row of all convs of bytes together, of `now`, made of m. */
int  ctt_int8_blame_all(const struct ctt_walk *k, const struct ctt_model *m,
                        const struct ctt_model *now);

#endif
