/* SPDX-License-Identifier: Apache-2.0
 * dnn_choose.h: which of cuDNN's plans computes a convolution. */
#ifndef CTT_DNN_CHOOSE_H
#define CTT_DNN_CHOOSE_H

#include "device/cuda/core.h"
#include "device/cuda/dnn_plan.h"

/* 1 if plans of the key are timed here: not where results must not depend on
 * it, nor so little work that launches take the time. */
int ctt_dnn_is_timed(const struct ctt_dev *d, const struct ctt_dnn_key *key);

/* dnn_time.c: times the plans by turns on the current lane, with operands of
 * the key's sizes in memory of their own.  apart: the plain convolution, then
 * followed by a kernel for plus, bias and act; NULL: none.  Returns the index
 * of the fastest, `count` for apart; the first one if nothing can be timed.
 * said: the times as text, "" if there are none. */
int ctt_dnn_time(struct ctt_dev *d, const struct ctt_dnn_key *key,
                 struct ctt_dnn_plan *const p[], int count,
                 const struct ctt_dnn_plan *apart, char *said, size_t room);

/* The plan that an earlier run chose and kept; NULL: none. */
struct ctt_dnn_plan *ctt_dnn_kept(struct ctt_dev *d,
                                  const struct ctt_dnn_key *key);

/* Chooses a plan by time, and keeps it, or by rule.  apart: as above. */
int ctt_dnn_choose(struct ctt_dev *d, const struct ctt_call *c,
                   const struct ctt_dnn_key *key,
                   const struct ctt_dnn_plan *apart,
                   struct ctt_dnn_plan **out);

#endif
