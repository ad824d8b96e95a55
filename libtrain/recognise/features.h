/* SPDX-License-Identifier: Apache-2.0
 * features.h: values that a model computes of clips, without training it. */
#ifndef CTT_FEATURES_H
#define CTT_FEATURES_H

#include "libtrain/train.h"

/* Rows x[rows][width] of the last node of a model, of one step each: `points`
 * rows of each clip that can be read, in the order of the clips.  Starts as
 * zeros. */
struct ctt_features {
    int    rows, width, points;
    float *x;
    int   *clip;        /* [rows] its number in the data */
    const struct ctt_data *d;
};

/* Computes the rows of the clips of d at these points.  m: a
 * model of single frames and states, without a clip part, whose last node is
 * one pixel; its batch norms are folded first.  If the clips come with maps
 * (ctt_source_maps()), these take the place of the nodes cfg->nodes, unless
 * that is NULL or cfg->wiring.random; CTT_EINVAL if the maps, those of
 * cfg->data, are of other nodes or of another model.  Windows of a few steps,
 * so memory does not grow with the clips.  CTT_ENAN names the clip of a row
 * that is not finite; CTT_ESTOP if ctt_stopped(). */
int  ctt_features_read(const struct ctt_model *m,
                       const struct ctt_train_cfg *cfg, struct ctt_data *d,
                       const struct ctt_point *point, int points,
                       const struct ctt_events *ev,
                       struct ctt_features *out);
void ctt_features_free(struct ctt_features *f);

/* The rows of the clips of d, a part of f's data; CTT_ENOMEM. */
int  ctt_features_part(const struct ctt_features *f, const struct ctt_data *d,
                       struct ctt_features *out);

/* Fails if a model of this graph is none of those above. */
int  ctt_features_check(const struct ctt_graph *g);

/* features_norms.c: sets the running statistics of m's batch norms to those
 * of one frame from the middle of each of 48 clips, spread over d, or of all if
 * there are fewer: a random network needs them to compute anything of use.  m:
 * as above. */
int  ctt_features_norms(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                        struct ctt_data *d);

#endif
