/* SPDX-License-Identifier: Apache-2.0
 * round.c: weights with fewer significant bits: what is zero at the end of all
 * numbers takes no room in a file that is deflated (Zender 2016). */
#include "compress/compress.h"

#include <string.h>

/* To the nearest, of two equally near to the even one.  A carry out of the
 * mantissa raises the exponent, which is right. */
static float rounded(float x, int bits)
{
    uint32_t u, cut = 24 - (uint32_t)bits, half, mask;

    if (cut == 0)
        return x;
    memcpy(&u, &x, sizeof(u));
    mask = (UINT32_C(1) << cut) - 1;
    half = (mask >> 1) + (u >> cut & 1);
    if ((u & 0x7f800000u) < 0x7f000000u)    /* else it might become infinite */
        u = (u + half) & ~mask;
    memcpy(&x, &u, sizeof(x));
    return x;
}

void ctt_round(struct ctt_model *m, int bits)
{
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];

        if (n->op != CTT_OP_CONV && n->op != CTT_OP_DECONV)
            continue;
        for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
            m->w[n->at[0] + k] = rounded(m->w[n->at[0] + k], bits);
    }
}
