/* SPDX-License-Identifier: Apache-2.0
 * properties.h: facts for a user of an ONNX file beside the graph. */
#ifndef CTT_EMIT_PROPERTIES_H
#define CTT_EMIT_PROPERTIES_H

#include "exchange/write/emit.h"

/* Adds the properties "input", "answer", "labels", "states" and "export" to the
 * file, each a value of JSON, and "net", the text of the model; the manual page
 * of convtt-info explains them. */
int ctt_emit_properties(struct ctt_emit *x);

#endif
