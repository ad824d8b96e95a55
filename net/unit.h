/* SPDX-License-Identifier: Apache-2.0
 * unit.h: units of elements of a weight that are pruned together, so that a
 * kernel can leave out whole ones. */
#ifndef CTT_UNIT_H
#define CTT_UNIT_H

#include "base/ctt.h"

/* any: an element.  block: what one dot product of bytes multiplies, 4
 * neighbouring input channels (4g .. 4g + 3) of one kernel position and one
 * output channel.  row: 16 neighbouring output channels (16g .. 16g + 15) for
 * one input channel of one kernel position, which one instruction multiplies in
 * floats.  The last unit of a row of channels may be shorter, and none spans
 * two groups of a conv. */
enum ctt_prune_form {
    CTT_PRUNE_ANY, CTT_PRUNE_BLOCK, CTT_PRUNE_ROW, CTT_PRUNE_FORMS
};

/* Their words in that order; and then NULL. */
#define CTT_PRUNE_WORDS [CTT_PRUNE_ANY] = "any", \
    [CTT_PRUNE_BLOCK] = "block", [CTT_PRUNE_ROW] = "row"
extern const char *const ctt_prune_forms[];

/* The elements at + o * stride + i of a weight, o < outs and i < ins. */
struct ctt_unit { int64_t at, stride; int outs, ins; };

/* How many units a weight of this shape, (out, kd, kh, kw, in) or a vector, has
 * in a conv of so many groups, and unit k of them; of any, it is element k. */
int64_t ctt_units(enum ctt_prune_form f, const struct ctt_tensor *t,
                  int groups);
struct ctt_unit ctt_unit_at(enum ctt_prune_form f, const struct ctt_tensor *t,
                            int groups, int64_t k);

/* How many elements of the unit are not pruned; keep: by element of the
 * weight, 0: pruned; NULL: none is. */
int ctt_unit_kept(const struct ctt_unit *u, const uint8_t *keep);

/* Writes 1 for each of its elements. */
void ctt_unit_keep(const struct ctt_unit *u, uint8_t *keep);

/* How many elements it has. */
static inline int ctt_unit_size(const struct ctt_unit *u)
{
    return u->outs * u->ins;
}

/* 1 if no unit is pruned in part, and of some output channel a part of the
 * units: the weight was pruned in this form. */
int ctt_units_whole(enum ctt_prune_form f, const struct ctt_tensor *t,
                    int groups, const uint8_t *keep);

/* Keeps whole units of which some elements are kept. */
void ctt_units_fill(enum ctt_prune_form f, const struct ctt_tensor *t,
                    int groups, uint8_t *keep);

#endif
