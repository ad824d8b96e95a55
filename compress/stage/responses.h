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
void ctt_moments_add(struct ctt_moments *s, const float *row);
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

/* The moments of the results of the conv or deconv `node` of m in `part`, a
 * model in which other nodes are replaced (with `inputs`: of all inputs of a
 * place there), and then, as further numbers of each row, of its results in m
 * at the same place.  Otherwise as ctt_responses(). */
int  ctt_two_responses(const struct ctt_model *m, const struct ctt_model *part,
                       int node, int inputs,
                       const struct ctt_recipe_calls *calls, int clips,
                       struct ctt_moments *s);

#endif
