/* SPDX-License-Identifier: Apache-2.0
 * responses.h: mean and covariance of inputs and results of convs on clips. */
#ifndef CTT_RESPONSES_H
#define CTT_RESPONSES_H

#include "compress/compress.h"

/* Of rows of d numbers.  Sums are taken of differences from the first row, so
 * that a large mean cancels nothing. */
struct ctt_moments {
    int     d;
    int64_t count;
    double *first;    /* d */
    double *late;     /* rows that are not in the sums yet */
    double *sum;      /* d; after ctt_moments_end() the mean */
    double *squares;  /* sums of products, of ctt_add_squares() */
    double *cov;      /* d x d, of ctt_moments_end(): the covariance, divided by
                         count */
    int     rc;       /* of a failure, which end returns */
};

int  ctt_moments_begin(struct ctt_moments *s, int d);
int  ctt_moments_end(struct ctt_moments *s);
void ctt_moments_free(struct ctt_moments *s);

/* Fills s[k] with the moments of all inputs of the conv or deconv node[k] for
 * its result at one place, in the order of a row of its weight.  The caller
 * frees each s[k], also after a failure.  Errors as of ctt_responses(), and
 * CTT_EUNSUP if it has groups. */
int  ctt_inputs(const struct ctt_model *m,
                const struct ctt_recipe_calls *calls, int clips,
                const int *node, int nodes, struct ctt_moments *s);

/* Fills s[k] with the moments of w x of the conv or deconv node[k] of m: its
 * result without bias, second input and activation, at places that
 * calls->sample() draws.  The caller frees each s[k], also after a failure.
 * CTT_EINVAL if there are no clips or fewer than two places, CTT_ENAN if a
 * result is not finite. */
int  ctt_responses(const struct ctt_model *m,
                   const struct ctt_recipe_calls *calls, int clips,
                   const int *node, int nodes, struct ctt_moments *s);

/* Rows of the results of some convs of a model, as of ctt_responses(). */
struct ctt_kept;
int  ctt_keep_rows(const struct ctt_model *m, const int *node, int nodes,
                   const struct ctt_recipe_calls *calls, int clips,
                   struct ctt_kept **out);
void ctt_kept_rows_free(struct ctt_kept **s);

/* Use of the rows of the k-th of these convs and of those that it has
 * at the same places in another model, `part` (with `inputs`: all inputs of a
 * place there): take() gets the latter and then, as further numbers, the
 * former.  answer, or NULL: gets the answers of `part`; not with `inputs`. */
struct ctt_pairing {
    const struct ctt_kept *kept;
    int    k, inputs;
    void (*take)(void *to, const float *pair);
    void  *to;
    void (*answer)(void *to, int k, const float *row);
    void  *answer_to;
};

/* Samples `part`, in which other nodes are replaced; of the same clips.  Errors
 * as of ctt_responses(). */
int  ctt_pair_rows(const struct ctt_pairing *p, const struct ctt_model *part,
                   const struct ctt_recipe_calls *calls, int clips);

/* Fills s with the moments of such pairs of the conv or deconv `node` of m, a
 * row each.  The caller frees s, also after a failure. */
int  ctt_two_responses(const struct ctt_model *m, const struct ctt_model *part,
                       int node, int inputs,
                       const struct ctt_recipe_calls *calls, int clips,
                       struct ctt_moments *s);

#endif
