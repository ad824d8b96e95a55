/* SPDX-License-Identifier: Apache-2.0
 * thresholds.h: the probability from which a class counts as there, of each
 * class of a model whose clips have several labels, as the model file has them
 * in the place of a decision (doc/format.md). */
#ifndef CTT_THRESHOLDS_H
#define CTT_THRESHOLDS_H

#include "net/file/decision.h"

/* Most classes that have thresholds of their own. */
enum { CTT_THRESHOLD_CLASSES = 1000 };

/* The threshold of classes that have none of their own. */
#define CTT_THRESHOLD 0.5f

struct ctt_thresholds {
    int64_t  clips;      /* that they were found on */
    int64_t  weights;    /* of the model: their number */
    uint32_t crc;        /* CRC-32 of net, labels and weights */
    int      classes;
    float    of[CTT_THRESHOLD_CLASSES];    /* 0 to 1 */
};

/* As those of a decision (decision.h). */
int ctt_thresholds_print(const struct ctt_thresholds *t, char **text);
int ctt_thresholds_parse(const char *text, struct ctt_thresholds *out);
int ctt_thresholds_sign(const struct ctt_model *m, struct ctt_thresholds *t);
int ctt_thresholds_hold(const struct ctt_thresholds *t,
                        const struct ctt_model *m);

#endif
