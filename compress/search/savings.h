/* SPDX-License-Identifier: Apache-2.0
 * savings.h: what a menu is made of: the values that each weight can have, and
 * the bytes that they take (savings_bytes.c). */
#ifndef CTT_SAVINGS_H
#define CTT_SAVINGS_H

#include "compress/search/budget.h"

/* Places for the values of a kind; none comes first. */
enum { CTT_CHOICES = 16 };

/* The points of a weight that can be used, by kind and place; NULL: it does not
 * have the value, and at the first place: not done.  A place is the same value
 * for all weights. */
struct ctt_choices {
    const struct ctt_sensitivity_point *p[CTT_PART_KINDS][CTT_CHOICES];
};

/* Whether a weight can have what is at a place. */
int ctt_choice_is(const struct ctt_choices *c, int kind, int place);

/* What is stored of each weight. */
struct ctt_savings_bytes {
    int64_t *of;      /* by weight, and places of factors, pruning, sharing */
    double   form[CTT_CHOICES];    /* the first: of the file, besides weights;
                                      the others: what factors add to that */
    double  *int8;    /* by weight: what INT8 adds to the file */
};

/* Measures them in trials beside path: can: by weight of s.  m, o, calls: as
 * those of ctt_offer_new().  The caller frees *b, also after a failure. */
int ctt_savings_bytes(const struct ctt_sensitivity *s,
                      const struct ctt_model *m, const struct ctt_recipe *o,
                      const char *path, const struct ctt_choices *can,
                      const struct ctt_savings_calls *calls,
                      struct ctt_savings_bytes *b);
void ctt_savings_bytes_free(struct ctt_savings_bytes *b);

/* Those of a weight with the values at the places k. */
double ctt_savings_bytes_of(const struct ctt_savings_bytes *b, int weight,
                            const int k[CTT_PART_KINDS]);

#endif
