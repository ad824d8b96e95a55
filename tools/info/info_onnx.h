/* SPDX-License-Identifier: Apache-2.0
 * info_onnx.h: the files of convtt-info --import for ONNX. */
#ifndef CTT_INFO_ONNX_H
#define CTT_INFO_ONNX_H

#include "base/newfile.h"
#include "exchange/import.h"
#include "run/run.h"
#include "tools/info/info_tool.h"

/* Imports the file of cfg->import: prints what cannot be imported (CTT_EUNSUP),
 * or verifies the model, writes it and prints a table of it. */
int ctt_info_import_onnx(const struct ctt_info_cfg *cfg);

/* --verify: computes the answer for the inputs in_* of cfg->verify, an .npz,
 * and compares it with `pre`, what stands there before a last softmax or
 * sigmoid, or with out_0.  CTT_EFORMAT: it differs; the message names the first
 * number. */
int ctt_info_verify(const struct ctt_info_cfg *cfg,
                    const struct ctt_import *m);

/* The frames that an imported model's answer is of: those of its window. */
int ctt_info_steps(const struct ctt_graph *g);

/* Writes an input of the first window: x has the frames of each sample one
 * behind the other, `numbers` numbers a sample; then computes all nodes. */
int ctt_info_put(const struct ctt_run *r, int node, int samples,
                 int64_t numbers, const float *x);
int ctt_info_run(struct ctt_run *r, int samples);

/* info_layers.c: --verify with ONNX Runtime's library: each value that both
 * compute, for random inputs.  CTT_EFORMAT: one differs; the message names the
 * first.  CTT_EUNSUP: no such library. */
int ctt_info_layers(const struct ctt_info_cfg *cfg,
                    const struct ctt_import *m);

#endif
