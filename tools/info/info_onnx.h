/* SPDX-License-Identifier: Apache-2.0
 * info_onnx.h: the files of convtt-info --import for ONNX. */
#ifndef CTT_INFO_ONNX_H
#define CTT_INFO_ONNX_H

#include "base/newfile.h"
#include "exchange/import.h"
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

#endif
