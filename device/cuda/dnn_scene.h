/* SPDX-License-Identifier: Apache-2.0
 * dnn_scene.h: the operands of a convolution in memory of their own, in which
 * plans are tried. */
#ifndef CTT_DNN_SCENE_H
#define CTT_DNN_SCENE_H

#include "device/cuda/core.h"
#include "device/cuda/dnn_plan.h"

/* result, plus: what a plan writes, and the key's plus input, of the same
 * numbers at first, or with `add` the gradient of the weights that a kernel
 * could add the result to; plus.data NULL: none. */
struct ctt_dnn_scene {
    const struct ctt_dnn_key *key;
    struct ctt_tensor         result, plus;
    void                     *block, *data[CTT_DNN_UIDS], *workspace;
};

/* Makes a scene with small numbers of all signs; 0 if there is no memory for
 * it.  ctt_dnn_scene_close() is due in any case. */
int  ctt_dnn_scene_open(struct ctt_dev *d, const struct ctt_dnn_key *key,
                        int64_t workspace, struct ctt_dnn_scene *s);
void ctt_dnn_scene_close(struct ctt_dnn_scene *s);

/* 1 if the plan is right where its result lies over what it adds, 0 if not, -1
 * if that cannot be tried: compares the bits of one run with those of another
 * one apart. */
int  ctt_dnn_try_in_place(struct ctt_dev *d, const struct ctt_dnn_plan *p);

#endif
