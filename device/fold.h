/* SPDX-License-Identifier: Apache-2.0
 * fold.h: a convolution reduced to as few axes as possible. */
#ifndef CTT_FOLD_H
#define CTT_FOLD_H

#include "device/device.h"

/* The pass of a primitive.  Both conv and deconv are a convolution from the
 * large tensor (n, large[], ic channels) to the small one (n, small[], oc),
 * forward, back to the large, or its weights. */
enum ctt_conv_way { CTT_TO_SMALL, CTT_TO_LARGE, CTT_TO_WEIGHTS };

/* The shape of a convolution, compared to find its plan.  Each of the groups
 * takes ic / groups channels to oc / groups.  step_*: strides of the weights
 * in floats, along oc, the ic of a group and the last kernel axis. */
struct ctt_fold {
    enum ctt_conv_way way;
    int               axes;    /* 2 or 3, the last ones are used */
    int64_t           n, ic, oc, groups, large[3], small[3], kernel[3],
                      stride[3], pad[3], after[3], dilation[3];
    int64_t           step_oc, step_ic, step_tap;
};

/* The folded shape of call c in direction `way`. */
struct ctt_fold ctt_fold(const struct ctt_call *c, enum ctt_conv_way way);

/* The number of multiplications. */
double ctt_fold_work(const struct ctt_fold *f);

#endif
