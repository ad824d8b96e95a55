/* SPDX-License-Identifier: Apache-2.0
 * exchange.h: models in the files of other programs: ONNX, safetensors and
 * .pth.  For programs; the runtime library reads model files only. */
#ifndef CTT_EXCHANGE_H
#define CTT_EXCHANGE_H

#include "net/model.h"

/* ---- a file's kind ---- */

/* PTH: a state_dict by torch.save(), in a zip or in its older form.  ONNX has
 * no mark at its beginning: any file that is none of the others. */
enum ctt_foreign { CTT_FOREIGN_ONNX, CTT_FOREIGN_SAFETENSORS,
                   CTT_FOREIGN_PTH };

/* The kind of a file by its first bytes, enum ctt_foreign; CTT_EIO. */
int ctt_foreign_kind(const char *path);

/* ---- weights/: safetensors and .pth, weights without a graph ---- */

/* Sets all weights of m from a file of weights, safetensors or .pth.  map: the
 * path of a text that names the file's tensor of each weight, "NODE.WEIGHT
 * name" a line; NULL: the names are NODE.WEIGHT.  Shapes in the file are
 * torch's (out, in, kd, kh, kw of a conv).  CTT_EFORMAT, naming file or line
 * and tensor: a damaged file, a weight without a tensor, a tensor that no line
 * names, or another shape; CTT_EUNSUP: a pickle with more than tensors; m is
 * unchanged unless all is right. */
int ctt_import_weights(struct ctt_model *m, const char *path,
                       const char *map);

/* A model from a safetensors file that ctt_export_safetensors() wrote: its text
 * and labels stand in the file's metadata.  CTT_EFORMAT if they do not. */
int ctt_import_safetensors(const char *path, struct ctt_model **out);

/* Writes the weights of m in torch's layout, pruned ones as zeros, with the
 * text of the model and its labels as metadata.  The file is replaced as
 * a whole or not at all. */
int ctt_export_safetensors(const char *path, const struct ctt_model *m);

/* ---- write/: ONNX out ---- */

/* The form of quantised values.  ANY: bytes as the model has them.  TENSORRT:
 * signed bytes with 0 as zero, of a wider step where the model's bytes are not
 * centred. */
enum ctt_export_for { CTT_EXPORT_ANY, CTT_EXPORT_TENSORRT };

struct ctt_export {
    int half;       /* 1: weights as fp16; inputs and outputs stay floats */
    int target;     /* enum ctt_export_for */
    int softmax;    /* 1: the answer as probabilities */
};

/* Writes m as ONNX (opset 17): a graph of one step, whose inputs are a frame
 * (1, c, h, w), normalised, and the past of each node that is read later
 * ("past.NAME", zeros at first), and whose outputs are the answer and the pasts
 * of the next step ("next.NAME").  CTT_EUNSUP, naming the node and the reason:
 * ONNX has no such operation; the file is then as it was. */
int ctt_export_onnx(const char *path, const struct ctt_model *m,
                    const struct ctt_export *set);

/* The model of a file that ctt_export_onnx() wrote, with states, windows and
 * quantised values, and 1.  0: the file is another one, or was changed: what it
 * says of itself is believed only if the model, written again, is the file,
 * byte for byte.  Batch norms are folded, weights rounded as in the file; the
 * answer is the model's, before any softmax.  CTT_ENOMEM, CTT_EIO. */
int ctt_import_own_onnx(const char *path, struct ctt_model **out);

#endif
