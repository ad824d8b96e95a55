/* SPDX-License-Identifier: Apache-2.0
 * decision.h: early decisions before a clip ends: calibrated thresholds for a
 * model's answers, as the model file has them (doc/format.md). */
#ifndef CTT_DECISION_H
#define CTT_DECISION_H

#include "net/model.h"

enum ctt_guarantee { CTT_GUARANTEE_MARGINAL, CTT_GUARANTEE_CONDITIONAL };

/* The words of the guarantees, in this order, then NULL. */
extern const char *const ctt_guarantee_words[];

/* The most checks that a stream has, classes that a confidence head is for, and
 * bytes of the text of a decision. */
enum { CTT_DECISION_CHECKS = 96, CTT_HEAD_CLASSES = 400,
       CTT_DECISION_TEXT = 16384, CTT_DECISION_TYPE = 8 };

/* A confidence head: the confidence that the answer of now is that of the whole
 * clip, by logistic regression (as Platt 1999) on the answer's probability at
 * this time: with l the logit of that and f the logarithm of the frame, the
 * logistic function of weight[0] l + weight[1] f + weight[2] l f +
 * bias[answer].  classes 0: there is none. */
enum { CTT_HEAD_TERMS = 3 };
struct ctt_head {
    int   classes;
    float weight[CTT_HEAD_TERMS], bias[CTT_HEAD_CLASSES];
};

/* terms: the terms of the regression for an answer with probability p at check
 * k.  sure: the confidence, which is compared with the threshold; p if there is
 * no head. */
void  ctt_head_terms(int k, float p, double term[CTT_HEAD_TERMS]);
float ctt_head_sure(const struct ctt_head *h, int k, int answer, float p);

/* Check k of a stream comes after threshold[k]'s frame: if the confidence is at
 * least the threshold, the stream is decided.  The confidence is that of the
 * head for the largest class of the mean of the checks' probabilities, p +=
 * (1 - smooth) * (new - p), which begins with those of check 0. */
struct ctt_decision {
    enum ctt_guarantee guarantee;
    double   max_gap, delta;     /* of the guarantee */
    int64_t  clips;              /* used for calibration */
    double   smooth;             /* 0: no mean */
    char     type[CTT_DECISION_TYPE];    /* operands of convs: "fp32" */
    int64_t  weights;            /* of the model: their number */
    uint32_t crc;                /* CRC-32 of net, labels and weights */
    int      checks;
    float    threshold[CTT_DECISION_CHECKS];    /* INFINITY: not yet */
    struct ctt_head head;
};

/* The number of frames after which check k (from 0) comes: 1 to 16, then eight
 * checks to each doubling, so that each is at most an eighth later than the one
 * before.  The last check comes after 16,384 frames. */
int ctt_decision_frame(int k);

/* print: the text in the file, which the caller frees.  parse: the decision of
 * a text; CTT_EFORMAT unless print would give exactly this text. */
int ctt_decision_print(const struct ctt_decision *d, char **text);
int ctt_decision_parse(const char *text, struct ctt_decision *out);

/* Sets weights and crc of d to those of the model m. */
int ctt_decision_sign(const struct ctt_model *m, struct ctt_decision *d);

/* Continues the CRC-32 of the flat block of weights, late ones too. */
int ctt_model_crc(const struct ctt_model *m, uint32_t *crc);

/* 1 if d was made for a model whose net, labels and weights are those of m, or
 * 0. */
int ctt_decision_holds(const struct ctt_decision *d, const struct ctt_model *m);

/* 1 if m has a decision, m->decision, or thresholds of its classes
 * (thresholds.h) there, and they hold for m. */
int ctt_model_decides(const struct ctt_model *m);

/* Removes the decision of a model that will be changed. */
void ctt_decision_drop(struct ctt_model *m);

#endif
