/* SPDX-License-Identifier: Apache-2.0
 * round.c: the stage "rounding": weights get fewer significant bits; the zero
 * bits at their ends take almost no space in a deflated file (Zender 2016). */
#include "compress/stage.h"
#include "net/op.h"

#include <stdio.h>
#include <string.h>

/* To the nearest, ties to even.  A carry out of the mantissa correctly raises
 * the exponent. */
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

        if (!ctt_is_conv(n))
            continue;
        for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
            m->w[n->at[0] + k] = rounded(m->w[n->at[0] + k], bits);
    }
}

/* ---- the stage ---- */

enum { ALL_BITS = 24 };    /* of a float */

static const struct ctt_opt options[] = {
    { .name = "round", .type = CTT_INT,
      .off = offsetof(struct ctt_recipe, round.bits), .dflt = "8",
      .help = "significant bits that weights are rounded to at the end; 24: "
      "no rounding", .min = 1, .max = ALL_BITS, .arg = "BITS" },
    { .name = NULL }
};

static int asked(const struct ctt_recipe *o)
{
    return o->round.bits > 0 && o->round.bits < ALL_BITS;
}

static int check(const struct ctt_recipe *o, const struct ctt_model *m)
{
    int rc = 0;

    (void)m;
    CTT_CHECK(o->round.bits >= 0 && o->round.bits <= ALL_BITS, CTT_EINVAL,
              "a float has no %d significant bits", o->round.bits);
out:
    return rc;
}

static int run(struct ctt_walk *k, int round)
{
    (void)round;
    ctt_round(*k->m, k->o->round.bits);
    snprintf(k->name, sizeof(k->name), "rounded");
    snprintf(k->line, sizeof(k->line), "rounded: %d significant bits",
             k->o->round.bits);
    return 0;
}

/* Not retrained: that would undo the rounding. */
const struct ctt_stage ctt_stage_round = {
    .section = "Rounding", .options = options, .asked = asked, .check = check,
    .run = run,
};
