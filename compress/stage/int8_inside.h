/* SPDX-License-Identifier: Apache-2.0
 * int8_inside.h: the parts of the stage INT8: making the model, and the convs
 * that stay in floats for accuracy. */
#ifndef CTT_INT8_INSIDE_H
#define CTT_INT8_INSIDE_H

#include "compress/stage.h"
#include "net/rewrite/edit_quant.h"
#include "compress/compress.h"

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

/* ---- the loss by each conv that reads bytes ---- */

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

/* ---- equal ranges of channels ---- */

/* One step is for all channels of a tensor, so a channel of small values has
 * few of its bytes.  Where depthwise convs of take[], which will read bytes,
 * alone read the result of a conv or deconv, perhaps through a relu or pools,
 * divides each of its channels by a power of two, which makes its range (99.9%
 * of its absolute values on clips) that of the tensor's largest channel, and
 * multiplies the weights that read it (cross-layer equalisation, Nagel and
 * others 2019), in m itself: it then answers as before, to the bit, as long as
 * no number is near the smallest that floats can be.  Before a relu6 a channel
 * grows until its largest value on the clips would meet the 6; larger ones are
 * clipped there.  Writes the ratios of the largest to the smallest range before
 * and after to the rows of weights. Errors as of ctt_responses(). */
int  ctt_int8_uniform(const struct ctt_walk *k, struct ctt_model *m,
                      const char *take);

/* ---- errors against the original model ---- */

struct ctt_kept;

/* Calls f for each conv that is marked in take[], in the order of execution,
 * with what it answered in `was` on so many clips: the k-th of `kept`. */
int  ctt_int8_each(const struct ctt_model *was, const char *take,
                   const struct ctt_recipe_calls *calls, int clips,
                   int (*f)(void *arg, int node, const struct ctt_kept *kept,
                            int k), void *arg);

/* Of that conv, which has a node of its name in `now`: the ratio in dB of its
 * results to the errors of those in `now`; if it has a bias, that then makes up
 * for the mean of the errors, which the ratio does not count.  answer, or NULL:
 * gets the answers of `now`, without that change.  Errors as of
 * ctt_responses(). */
struct ctt_int8_follow {
    const struct ctt_model        *was;
    const struct ctt_recipe_calls *calls;
    int                            clips;
    void (*answer)(void *to, int k, const float *row);
    void                          *answer_to;
};
int  ctt_int8_follow(const struct ctt_int8_follow *w, int node,
                     const struct ctt_kept *kept, int k, struct ctt_model *now,
                     double *db);

#endif
