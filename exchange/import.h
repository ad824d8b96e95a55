/* SPDX-License-Identifier: Apache-2.0
 * import.h: models of other programs become models of convtt. */
#ifndef CTT_IMPORT_H
#define CTT_IMPORT_H

#include "net/model.h"

/* An ONNX file that was read and translated. */
struct ctt_import;

/* shapes: "NAME=1,3,224,224", several separated by blanks; with one input the
 * numbers alone; NULL: as the file says.  The first size of an input that is
 * not said is 1.  output: the value that is the answer; NULL: the only one. */
struct ctt_import_job { const char *path, *shapes, *output; };

/* Reads and translates the file at job->path, which must stay.  Nodes that
 * convtt's language cannot say are no error: they are listed, and there is no
 * model then.  CTT_EFORMAT: damaged; CTT_EINVAL: job does not suit the file;
 * CTT_ENOMEM: above the limit of memory. */
int  ctt_import_open(const struct ctt_import_job *job,
                     struct ctt_import **out);
void ctt_import_close(struct ctt_import **m);

/* The model, which belongs to m; NULL: some nodes cannot be imported. */
struct ctt_model *ctt_import_model(const struct ctt_import *m);

/* The model, which is the caller's from now on, and the file is closed: the
 * values inside are gone. */
struct ctt_model *ctt_import_release(struct ctt_import **m);

/* The i-th node that cannot be imported: its name, its operator and the reason;
 * 0 behind the last one. */
struct ctt_import_fault { const char *node, *op, *reason; };
int  ctt_import_fault(const struct ctt_import *m, int i,
                      struct ctt_import_fault *out);

/* nodes: of the file; needed: those that the answer depends on and that are
 * computed when it runs.  left: the word of the function that was at the end
 * and that a program applies to the answer by itself ("softmax", "sigmoid");
 * NULL: none. */
struct ctt_import_about { int nodes, needed; const char *left; };
void ctt_import_about(const struct ctt_import *m, struct ctt_import_about *out);

/* Input i of the file: its name, and how many numbers a sample has; NULL behind
 * the last one.  samples: the first size, if samples are apart. */
const char *ctt_import_input(const struct ctt_import *m, int i, int *node,
                             int64_t *samples, int64_t *numbers);

/* Copies numbers of sample k of input i from the file's order to that of its
 * node, with the mean and deviation that the node's line has: of a clip frame
 * by frame, as many as the window has steps; and those of an answer's node to
 * the file's order. */
void ctt_import_feed(const struct ctt_import *m, int i, int64_t k,
                     const float *from, float *to);
void ctt_import_take(const struct ctt_import *m, int64_t k, const float *from,
                     float *to);

/* The shape of input i in the file. */
const int64_t *ctt_import_shape(const struct ctt_import *m, int i, int *rank);

/* A value of the file that a node of the model computes: value is its number
 * from 0 on, and rises; 1, or 0 behind the last one.  name, op: of the value
 * and of what makes it; node: of the model's graph; numbers: of all samples. */
struct ctt_import_layer { const char *name, *op; int node; int64_t numbers; };
int  ctt_import_layer(const struct ctt_import *m, int *value,
                      struct ctt_import_layer *out);
void ctt_import_take_layer(const struct ctt_import *m, int value, int64_t k,
                           const float *from, float *to);

/* How many numbers the answer has in the file's order, all samples together. */
int64_t ctt_import_answer(const struct ctt_import *m);

#endif
