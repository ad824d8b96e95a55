/* SPDX-License-Identifier: Apache-2.0
 * maps.h: maps: what some nodes of a model of frames compute, which files may
 * keep beside frames, and the models that write and read them. */
#ifndef CTT_MAPS_H
#define CTT_MAPS_H

#include "net/model.h"

/* A node, the shape of its value, and a CRC-32 of all that it depends on: lines
 * of the text, and weights. */
struct ctt_map { char name[CTT_NAME]; int64_t d, h, w, c; uint32_t crc; };
struct ctt_maps { int count; struct ctt_map map[CTT_MAX_IN]; };

/* Numbers of one map, and of all maps of a frame. */
int64_t ctt_map_size(const struct ctt_map *m);
int64_t ctt_maps_size(const struct ctt_maps *m);

/* 1 if both are the same in all that is said of them. */
int  ctt_same_map(const struct ctt_map *a, const struct ctt_map *b);

/* The node of a name that ends at a comma or at the end; CTT_EINVAL: it is not
 * there. */
int  ctt_listed_node(const struct ctt_graph *g, const char *name, int *out);

/* Describes the nodes of a list, separated by commas, of a model without a line
 * 'clip'.  CTT_EINVAL: a node is not there, or twice, or there are too many. */
int  ctt_maps_find(const struct ctt_model *m, const char *nodes,
                   struct ctt_maps *out);

/* The model that computes them, with batch norms folded, and the node of map
 * k in it, whose values are valid after a step.  The caller frees *out. */
int  ctt_maps_model(const struct ctt_model *m, const struct ctt_maps *maps,
                    struct ctt_model **out);
int  ctt_maps_node(const struct ctt_graph *g, int k);

/* The model that reads them: nodes of these names are inputs.  Returns 1 and a
 * model that the caller frees, or 0 if m's answer depends on frames by other
 * nodes too. */
int  ctt_maps_reader(const struct ctt_model *m, const struct ctt_maps *maps,
                     struct ctt_model **out);

#endif
