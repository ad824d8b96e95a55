/* SPDX-License-Identifier: Apache-2.0
 * predict.h: the parts of bench_predict: texts of models, time by kind of
 * node. */
#ifndef CTT_BENCH_PREDICT_H
#define CTT_BENCH_PREDICT_H

#include "device/device.h"

/* The model of DIR/mnist-NAME.net for frames of size x size x channels.  cores:
 * a Conv-TT-LSTM has a conv for each core of its tensor trains. */
int bench_predict_graph(const char *dir, const char *name, int size,
                        int channels, int cores, struct ctt_graph **out);

/* Prints milliseconds and calls, a line for each kind of node; p: filled by
 * ctt_dev_profile, for each node of g. */
void bench_profile(const struct ctt_graph *g,
                   struct ctt_profile (*p)[CTT_PASSES]);

#endif
