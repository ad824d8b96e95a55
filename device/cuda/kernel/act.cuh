/* SPDX-License-Identifier: Apache-2.0
 * act.cuh: activations of several numbers at once, by the formulas of
 * ewise.h. */
#ifndef CTT_ACT_CUH
#define CTT_ACT_CUH

#include "device/cuda/kernel/num.cuh"
#include "device/ewise.h"

enum {    /* in the order of ctt_act_kind */
#define KIND(word) ACT_##word,
    CTT_ACTS(KIND)
#undef KIND
};

template <int V> CTT_GPU void act_of(int kind, float *x)
{
    switch (kind) {
#define CASE(word)                                                      \
    case ACT_##word:                                                    \
        CTT_UNROLL                                                      \
        for (int i = 0; i < V; i++)                                     \
            x[i] = ctt_##word(x[i]);                                    \
        break;
    CTT_ACTS(CASE)
#undef CASE
    }
}

/* Turns dy into the gradient with respect to the input of the activation whose
 * result is y. */
template <int V> CTT_GPU void act_back(int kind, const float *y, float *dy)
{
    switch (kind) {
#define CASE(word)                                                      \
    case ACT_##word:                                                    \
        CTT_UNROLL                                                      \
        for (int i = 0; i < V; i++)                                     \
            dy[i] = ctt_##word##_bwd(y[i], dy[i]);                      \
        break;
    CTT_ACTS(CASE)
#undef CASE
    }
}

#endif
