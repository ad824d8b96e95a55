/* SPDX-License-Identifier: Apache-2.0
 * act.cuh: activations of several numbers at once, by the formulas of
 * ewise.h. */
#ifndef CTT_ACT_CUH
#define CTT_ACT_CUH

#include "device/cuda/kernel/num.cuh"
#include "device/ewise.h"
#include "net/graph.h"

enum {
#define KIND(E, word, ...) ACT_##word,
    CTT_ACTS(KIND)
#undef KIND
};

/* slope: of a kind that ops other than act do not apply. */
template <int V> CTT_GPU void act_of(int kind, float *x, float slope = 0)
{
    (void)slope;
    switch (kind) {
#define CASE(E, word, of, more, ...)                                    \
    case ACT_##word:                                                    \
        CTT_UNROLL                                                      \
        for (int i = 0; i < V; i++)                                     \
            x[i] = ctt_##word(x[i] CTT_ACT_##more(slope));              \
        break;
    CTT_ACTS(CASE)
#undef CASE
    }
}

/* Turns dy into the gradient with respect to the input of the activation; v:
 * its result or input, by ctt_act_reads_input(). */
template <int V> CTT_GPU void act_back(int kind, const float *v, float *dy,
                                       float slope)
{
    (void)slope;
    switch (kind) {
#define CASE(E, word, of, more, ...)                                    \
    case ACT_##word:                                                    \
        CTT_UNROLL                                                      \
        for (int i = 0; i < V; i++)                                     \
            dy[i] = ctt_##word##_bwd(v[i], dy[i] CTT_ACT_##more(slope)); \
        break;
    CTT_ACTS(CASE)
#undef CASE
    }
}

#endif
