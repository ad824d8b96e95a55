/* SPDX-License-Identifier: Apache-2.0
 * unit.h: units of elements of a weight that are pruned together, so that a
 * kernel can leave out whole ones. */
#ifndef CTT_UNIT_H
#define CTT_UNIT_H

#include "base/ctt.h"

/* any: an element.  block: the operands of one dot product of bytes, 4
 * neighbouring input channels (4g .. 4g + 3) of one kernel position and one
 * output channel.  row: 16 neighbouring output channels (16g .. 16g + 15) for
 * one input channel of one kernel position, which one instruction multiplies in
 * floats.  The last unit of a row of channels may be shorter, and none spans
 * two groups of a conv.  two: an element, but two of each block stay, so that
 * half of the operands of a sparse tensor core is left (2:4; Mishra and others
 * 2021). */
enum ctt_prune_form {
    CTT_PRUNE_ANY, CTT_PRUNE_BLOCK, CTT_PRUNE_ROW, CTT_PRUNE_TWO,
    CTT_PRUNE_FORMS
};

/* The words of the forms, in that order, then NULL; those of units of which
 * each may be pruned. */
#define CTT_UNIT_WORDS [CTT_PRUNE_ANY] = "any", \
    [CTT_PRUNE_BLOCK] = "block", [CTT_PRUNE_ROW] = "row"
#define CTT_PRUNE_WORDS CTT_UNIT_WORDS, [CTT_PRUNE_TWO] = "2:4"
extern const char *const ctt_prune_forms[];

/* The elements at + o * stride + i of a weight, o < outs and i < ins. */
struct ctt_unit { int64_t at, stride; int outs, ins; };

/* units: the number of units of a weight of shape (out, kd, kh, kw, in), or a
 * vector, in a conv of `groups` groups.  unit_at: unit k; of form any, element
 * k. */
int64_t ctt_units(enum ctt_prune_form f, const struct ctt_tensor *t,
                  int groups);
struct ctt_unit ctt_unit_at(enum ctt_prune_form f, const struct ctt_tensor *t,
                            int groups, int64_t k);

/* The number of elements of the unit that are not pruned; keep: by element of
 * the weight, 0: pruned; NULL: none is. */
int ctt_unit_kept(const struct ctt_unit *u, const uint8_t *keep);

/* Sets keep to 1 for each element of the unit. */
void ctt_unit_keep(const struct ctt_unit *u, uint8_t *keep);

/* The number of elements of the unit. */
static inline int ctt_unit_size(const struct ctt_unit *u)
{
    return u->outs * u->ins;
}

/* 1 if the weight was pruned in this form: no unit is pruned in part, and some
 * output channel has kept and pruned units; two: no block keeps more, and three
 * quarters of those of four keep two, not the same for all outputs. */
int ctt_units_whole(enum ctt_prune_form f, const struct ctt_tensor *t,
                    int groups, const uint8_t *keep);

/* Sets keep to 1 for all elements of a unit of which one is kept. */
void ctt_units_fill(enum ctt_prune_form f, const struct ctt_tensor *t,
                    int groups, uint8_t *keep);

#endif
