/* SPDX-License-Identifier: Apache-2.0
 * head.h: a head on the maps of a backbone, whose weights stay: its lines and
 * its fit. */
#ifndef CTT_HEAD_H
#define CTT_HEAD_H

#include "libtrain/recognise/features.h"

/* Inputs of the head from each map f, as means over the steps so far: motion,
 * the mean and the maximum over the pixels of its changes over a sixth and over
 * a third of a second, |f_t - f_(t-d)|, but at least over one and two steps;
 * the mean of the map itself. */
enum ctt_head_part { CTT_HEAD_AUTO, CTT_HEAD_MOTION = 1, CTT_HEAD_MAPS = 2,
                     CTT_HEAD_BOTH = 3 };

/* The name of the conv that answers; head2, head3, .. if the backbone has it.
 * The other nodes of the head are head.NAME. */
#define CTT_HEAD "head"

/* The backbone up to the nodes of a list, separated by commas, and the lines of
 * a head: pooled values of both parts, their averages head.av and head.ap,
 * these side by side, head.x, and the conv `head` of two classes, which exclude
 * each other whatever those of the backbone do.  CTT_EINVAL: a node that is not
 * there; CTT_EUNSUP: the backbone has a line 'clip'. */
int  ctt_head_graph(const struct ctt_graph *backbone, const char *nodes,
                    struct ctt_graph **out);

/* The result of a fit: its parts; the penalty; of each choice of parts the
 * share of clips that a fit to the other groups tells, 0..1. */
struct ctt_head_fit {
    enum ctt_head_part parts;
    double             penalty, right[CTT_HEAD_BOTH + 1];
    int                clips, groups;    /* groups 0: runs of the list */
    int                inputs;
};

/* Reads the inputs of the head of m, a model of ctt_head_graph() with both
 * parts, of each clip of d at the points of the fit below; to be freed. */
int  ctt_head_read(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                   struct ctt_data *d, const struct ctt_events *ev,
                   struct ctt_features *out);

/* Replaces *m, a model of ctt_head_graph() with both parts, by one whose head
 * is fitted by least squares with a penalty to the answers after 25, 50 and
 * 100% of each clip.  The parts, unless cfg->reads names them, and the penalty
 * are those with the least squared error on the clips of a group by a fit to
 * the other groups (ctt_groups_find()).  known: what this head reads of a set
 * of which d is a part, or NULL.
 * CTT_EUNSUP: clips have several labels, or fewer than two can be read;
 * CTT_ENAN: the backbone computes a number that is not finite; CTT_ESTOP if
 * ctt_stopped(). */
int  ctt_head_ridge(struct ctt_model **m, const struct ctt_train_cfg *cfg,
                    struct ctt_data *d, const struct ctt_features *known,
                    const struct ctt_events *ev, struct ctt_head_fit *out);

#endif
