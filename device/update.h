/* SPDX-License-Identifier: Apache-2.0
 * update.h: the formulas of the optimizers, for one weight.  Plain C11 that is
 * also C++ and CUDA, so that every device updates by the same text. */
#ifndef CTT_UPDATE_H
#define CTT_UPDATE_H

#include "base/fn.h"

#include <math.h>

/* w: the weight, g: its gradient (clipped, masked), m, v: its moments. */

/* Gradient descent with momentum (Polyak 1964); decay as an L2 penalty.  ahead:
 * the step is that of the next moment (Nesterov 1983, in the form of Sutskever
 * et al. 2013). */
struct ctt_sgd { float lr, momentum, decay; int ahead; };

CTT_FN float ctt_sgd_step(struct ctt_sgd s, float w, float g, float *m)
{
    g += s.decay * w;
    *m = s.momentum * *m + g;
    return w - s.lr * (s.ahead ? s.momentum * *m + g : *m);
}

/* Adam (Kingma and Ba 2015): c1, c2 = 1 / (1 - beta^t) undo the bias of moments
 * that start at zero.  l2 is a penalty in the gradient; decay pulls the weight
 * itself (AdamW, Loshchilov and Hutter 2019).  add: weight of the latest
 * squared gradient.  Without a mean gradient (b1 = 0, c1 = c2 = 1) it is
 * RMSprop (Tieleman and Hinton 2012) with add = 1 - b2, and AdaGrad (Duchi et
 * al. 2011) with b2 = add = 1. */
struct ctt_adam { float lr, b1, b2, add, eps, c1, c2, l2, decay; };

CTT_FN float ctt_adam_step(struct ctt_adam s, float w, float g, float *m,
                           float *v)
{
    g += s.l2 * w;
    *m = s.b1 * *m + (1 - s.b1) * g;
    *v = s.b2 * *v + s.add * g * g;
    w -= s.lr * s.decay * w;
    return w - s.lr * (*m * s.c1) / (sqrtf(*v * s.c2) + s.eps);
}

/* The average of a weight over the updates (Polyak and Juditsky 1992), with
 * weights that fall by a factor of 1 - share from one update to the one
 * before. */
CTT_FN float ctt_average_step(float share, float average, float w)
{
    return average + share * (w - average);
}

/* The optimizer of a step: one of them, with the decay of weights that decay
 * (others have none).  scale: a factor of gradients, applied first, which
 * undoes a loss scale and clips the norm. */
struct ctt_rule {
    int             is_adam;
    struct ctt_sgd  sgd;
    struct ctt_adam adam;
    float           scale;
};

#endif
