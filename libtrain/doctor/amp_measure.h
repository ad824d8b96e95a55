/* SPDX-License-Identifier: Apache-2.0
 * amp_measure.h: magnitudes of values and gradients, which say what 16 bits
 * would lose of them. */
#ifndef CTT_AMP_MEASURE_H
#define CTT_AMP_MEASURE_H

#include "libtrain/train.h"

/* Numbers by the power of two of their magnitude, that of a float. */
enum { CTT_POWER_LEAST = -149, CTT_POWER_MOST = 127,
       CTT_POWERS = CTT_POWER_MOST - CTT_POWER_LEAST + 1 };
struct ctt_magnitudes {
    int64_t of[CTT_POWERS];
    int64_t zeros, infinite;    /* infinite: or not a number */
};

/* Adds numbers. */
void ctt_magnitudes_add(struct ctt_magnitudes *m, const float *x, int64_t n);

/* Shares of the numbers other than 0, times 2^power, of which type (CTT_F16 or
 * CTT_BF16) makes infinity (over), makes 0 (lost), or keeps fewer digits than
 * of others (subnormal).  over: from the power behind its largest on, so the
 * last 1/4,096 of fp16's largest power, which become infinity, are not in it.
 * most: the largest power of two, or INT_MIN. */
struct ctt_magnitude_shares { double over, lost, subnormal; int most; };
struct ctt_magnitude_shares
ctt_magnitudes_in(const struct ctt_magnitudes *m, enum ctt_dtype type,
                  int power);

/* Results, and their gradients without a loss scale, of the nodes of a training
 * graph.  A gradient is not seen where the next node's takes its memory. */
struct ctt_amp_measured {
    enum ctt_dtype type;    /* the 16-bit type of the settings */
    int            steps;
    int            power;   /* of two, the loss scale: that of the settings or,
                               if that is dynamic, the largest, of 24 at most,
                               with which no gradient in 16 bits is infinite */
    int            dynamic;
    struct ctt_magnitudes *result, *gradient;    /* [g->count] */
};

/* Trains a copy of m in fp32 for CTT_AMP_STEPS batches of d, with the other
 * settings of cfg.  g, p: as ctt_train_plan() made them.  Watches all devices
 * meanwhile.  CTT_ESTOP if ctt_stopped(); CTT_ENAN if fp32 diverges. */
enum { CTT_AMP_STEPS = 20 };
int  ctt_amp_measure(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                     const struct ctt_graph *g, const struct ctt_amp_plan *p,
                     struct ctt_data *d, struct ctt_amp_measured *out);
void ctt_amp_measured_free(struct ctt_amp_measured *a);

#endif
