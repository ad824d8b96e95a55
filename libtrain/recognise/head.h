/* SPDX-License-Identifier: Apache-2.0
 * head.h: a head on the maps of a backbone, whose weights stay: its lines, its
 * fit, and the answers of its parts. */
#ifndef CTT_HEAD_H
#define CTT_HEAD_H

#include "libtrain/recognise/features.h"

/* Inputs of the head from each map f, as means over the steps so far: motion,
 * the mean and the maximum over the pixels of |f_t - f_(t-1)| and of
 * |f_t - f_(t-2)|; the mean of the map itself. */
enum ctt_head_part { CTT_HEAD_AUTO, CTT_HEAD_MOTION = 1, CTT_HEAD_MAPS = 2,
                     CTT_HEAD_BOTH = 3 };

/* --head: the linear head alone, or a small network beside it
 * (head_conv.h). */
enum ctt_head_kind { CTT_HEAD_RIDGE, CTT_HEAD_CONV };

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

/* Nodes of a head on map k: the change over so many steps is head.ck or
 * head.ek, the mean and the maximum of this over the pixels are head.dk and
 * head.mk, or head.fk and head.nk. */
struct ctt_head_motion { char change, mean, most; int delay; };
enum { CTT_HEAD_MOTIONS = 2 };
extern const struct ctt_head_motion ctt_head_motions[CTT_HEAD_MOTIONS];

/* The result of a fit: its parts; the penalty; of each choice of parts the
 * share of clips that a fit to the other groups tells, 0..1. */
struct ctt_head_fit {
    enum ctt_head_part parts;
    double             penalty, right[CTT_HEAD_BOTH + 1];
    int                clips, groups;    /* groups 0: runs of the list */
    int                inputs;           /* of the linear head; those behind
                                            are the network's */
};

/* Reads the inputs of the head of m, a model of ctt_head_graph() with both
 * parts, of each clip of d at the points of the fit below; to be freed.  tap
 * gets the maps too, or is NULL. */
int  ctt_head_read(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                   struct ctt_data *d, const struct ctt_events *ev,
                   const struct ctt_map_tap *tap, struct ctt_features *out);

/* Replaces *m, a model of ctt_head_graph() with both parts, by one whose head
 * is fitted by least squares with a penalty to the answers after 25, 50 and
 * 100% of each clip.  The parts, unless cfg->reads names them, and the penalty
 * are those with the least squared error on the clips of a group by a fit to
 * the other groups (ctt_groups_find()).  If cfg->head says so, the network of
 * head_conv.h is trained behind and joined to it.  known: what this head reads
 * of a set of which d is a part, or NULL; must be NULL if a network is trained.
 * CTT_EUNSUP: clips have several labels, or fewer than two can be read;
 * CTT_ENAN: the backbone computes a number that is not finite; CTT_ESTOP if
 * ctt_stopped(). */
int  ctt_head_ridge(struct ctt_model **m, const struct ctt_train_cfg *cfg,
                    struct ctt_data *d, const struct ctt_features *known,
                    const struct ctt_events *ev, struct ctt_head_fit *out);

/* Whose answer: of the linear head, of the network beside it, or of both,
 * which is the model's. */
enum ctt_head_branch { CTT_HEAD_LINEAR, CTT_HEAD_NETWORK, CTT_HEAD_SUM,
                       CTT_HEAD_BRANCHES };

/* Scores of the answers of the first `inputs` inputs of m's head, of the
 * others, and of all, after 25, 50 and 100% of the clips of d, by their frames,
 * also if they have maps.  The caller frees them. */
int  ctt_head_scores(const struct ctt_model *m, int inputs,
                     const struct ctt_train_cfg *cfg, struct ctt_data *d,
                     const struct ctt_events *ev,
                     struct ctt_metrics *of[CTT_HEAD_BRANCHES]);

#endif
