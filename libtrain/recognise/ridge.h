/* SPDX-License-Identifier: Apache-2.0
 * ridge.h: a linear classifier by least squares with a penalty on its weights
 * (Hoerl and Kennard 1970), in closed form. */
#ifndef CTT_RIDGE_H
#define CTT_RIDGE_H

/* Logits of x are bias[k] + sum over j of (x[j] - mean[j]) * scale[j] *
 * w[j][k].  Starts as zeros. */
struct ctt_ridge {
    int     inputs, classes;
    double  penalty;          /* per example */
    double  error, right;     /* of examples that are left out: the squared
                                 error, and the share that is right */
    float   factor;           /* of logits, with which a softmax has the least
                                 log loss on these: 1, 2, 4, 8 or 16 */
    float  *mean, *scale;     /* [inputs] */
    float  *w;                /* [inputs][classes] */
    float  *bias;             /* [classes]: the share of each class */
};

/* Fits r to n examples x[n][inputs], whose labels are 0 .. classes - 1.  The
 * penalty is the one of a decade each whose errors on examples that are left
 * out are smallest (Allen 1974); of many examples 512 are.  group: examples of
 * one number are left out together, all of them, and penalties lie half a
 * decade apart; NULL, or one group: each by itself.  Without inputs the answer
 * is the largest class.  CTT_ENOMEM; CTT_ENAN: no penalty gives finite errors;
 * CTT_ESTOP if ctt_stopped(). */
int  ctt_ridge_fit(const float *x, const int *label, const int *group, int n,
                   int inputs, int classes, struct ctt_ridge *r);
void ctt_ridge_answer(const struct ctt_ridge *r, const float *x,
                      float *logits);
void ctt_ridge_free(struct ctt_ridge *r);

#endif
