/* SPDX-License-Identifier: Apache-2.0
 * fill.h: the weights of a model from named tensors. */
#ifndef CTT_WEIGHTS_FILL_H
#define CTT_WEIGHTS_FILL_H

#include "exchange/weights/tensors.h"
#include "net/model.h"

/* Sets the weights of m from the tensors; map and errors as for
 * ctt_import_weights(). */
int  ctt_tensors_fill(const struct ctt_tensors *t, const char *map,
                      struct ctt_model *m);

/* The shape of a weight in torch, in full: out, in, kd, kh, kw of a conv, of
 * a deconv in, out, ..; else c.  Returns its rank. */
int  ctt_torch_shape(const struct ctt_node *n, int k, int64_t dim[5]);

/* ---- maps ----
 *
 * A text that names the tensor of each weight in a file of another program:
 * lines "NODE.WEIGHT name", "NODE.* name.*" for all weights of a node, which
 * torch calls weight, bias, running_mean and running_var, and "- name" for
 * a tensor that is left out.  A third word says how a dense layer behind a
 * reshape, or one that is a conv over a whole image here, counts the numbers of
 * the image: chw (channel by channel, as torch) or hwc (pixel by pixel).
 * # begins a comment. */

enum ctt_flat { CTT_FLAT_NOT, CTT_FLAT_CHW, CTT_FLAT_HWC };

struct ctt_map_line {
    int           line;      /* from 1 */
    const char   *weight;    /* "-": left out */
    const char   *name;
    enum ctt_flat flat;
    int           used;      /* for the reader of the map */
    int           all;       /* both names end in ".*" */
};

struct ctt_map {
    char                *text;    /* lines point into it */
    struct ctt_map_line *row;
    int                  count, room;
};

/* Reads a map; CTT_EFORMAT, naming the line, for one of another form. */
int  ctt_map_read(const char *path, struct ctt_map *out);
void ctt_map_free(struct ctt_map *m);

/* The line of a weight ("-": of a tensor that is left out), or of a name; NULL
 * stands for any.  NULL: there is none. */
struct ctt_map_line *ctt_map_find(const struct ctt_map *m, const char *weight,
                                  const char *name);

/* The tensor that a line names for a weight; in text where the line is for all
 * weights of a node. */
enum { CTT_MAP_NAME = 512 };
const char *ctt_map_tensor(const struct ctt_map_line *p, const char *weight,
                           char text[CTT_MAP_NAME]);

#endif
