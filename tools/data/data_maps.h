/* SPDX-License-Identifier: Apache-2.0
 * data_maps.h: the maps of a backbone for the clips of a pack. */
#ifndef CTT_DATA_MAPS_H
#define CTT_DATA_MAPS_H

#include "net/rewrite/maps.h"
#include "video/video.h"

/* The model that computes the maps, which threads share. */
struct ctt_mapping {
    struct ctt_model *m;
    struct ctt_maps   maps;
    struct ctt_input  in;
};

/* Reads the backbone at path, whose nodes are given by a list of names. */
int  ctt_mapping_open(const char *path, const char *nodes,
                      struct ctt_mapping *out);
void ctt_mapping_close(struct ctt_mapping *p);

/* A run of the model on one thread. */
struct ctt_mapper;
int  ctt_mapper_open(const struct ctt_mapping *p, struct ctt_mapper **out);
void ctt_mapper_close(struct ctt_mapper **m);

/* The maps of the frames of a clip, for ctt_pack_add_maps(); the caller frees
 * them.  CTT_ENAN names a node whose numbers a 16-bit float does not hold. */
int  ctt_mapper_read(struct ctt_mapper *m, const struct ctt_frames *f,
                     uint8_t **out);

#endif
