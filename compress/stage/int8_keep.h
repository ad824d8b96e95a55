/* SPDX-License-Identifier: Apache-2.0
 * int8_keep.h: making the INT8 model, and the convs that stay in floats for
 * accuracy. */
#ifndef CTT_INT8_KEEP_H
#define CTT_INT8_KEEP_H

#include "compress/stage.h"
#include "net/rewrite/edit_quant.h"

struct ctt_int8_plan {
    const struct ctt_model *m;
    char                   *take;    /* 1: this node is to read bytes */
    struct ctt_form_of     *form;    /* of each node, where that is needed */
};

/* Makes the model in which these convs read bytes and biases make up for mean
 * errors, on clips, and sets `behind` of their rows of blame, which exist.  The
 * caller frees *out.  Errors as of ctt_int8_follow(). */
int  ctt_int8_make(const struct ctt_walk *k, struct ctt_int8_plan *p,
                   struct ctt_model **out);

/* The same, but if that loses more than --int8-harm in the caller's test, the
 * convs whose rows of blame have the worst answers stay in floats: the fewest
 * that suffice, among 1, 2, 4 .. of them and the numbers between the last two.
 * If the model is to be retrained at most half of them, and none if those do
 * not suffice: training then has to.  They have take[] = 0 and `stays` set.  If
 * the recipe chose INT8 and nothing suffices, or the rest is no gain
 * (ctt_choose_int8()), all stay in floats, *out is NULL, and the report says
 * that INT8 is given up. */
int  ctt_int8_keep(const struct ctt_walk *k, struct ctt_int8_plan *p,
                   struct ctt_model **out);

#endif
