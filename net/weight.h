/* SPDX-License-Identifier: Apache-2.0
 * weight.h: what a kernel is told of a weight. */
#ifndef CTT_WEIGHT_H
#define CTT_WEIGHT_H

#include "net/ctt.h"

/* t: shape, type and numbers; (out, kd, kh, kw, in) for the kernel of a conv,
 * else a vector.  t.data NULL: there is no such weight. */
struct ctt_weight {
    struct ctt_tensor t;
};

#endif
