/* SPDX-License-Identifier: Apache-2.0
 * train_model.h: adapts a model to the data and to the weights it starts from.
 */
#ifndef CTT_TRAIN_MODEL_H
#define CTT_TRAIN_MODEL_H

#include "net/file/file.h"

/* Gives the output, which must be a conv, as many channels as there are
 * classes; replaces *g if it had another number. */
int ctt_fit_classes(struct ctt_graph **g, int classes);

/* Copies the weights of the same name and shape, and which of their values are
 * pruned, from the model file at path; an error if there is none. */
int ctt_take_weights(struct ctt_model *m, const char *path);

#endif
