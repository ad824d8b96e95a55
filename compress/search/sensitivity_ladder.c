/* SPDX-License-Identifier: Apache-2.0
 * sensitivity_ladder.c: the options that sensitivity is measured of, and their
 * values. */
#include "compress/search/sensitivity.h"
#include "compress/stage.h"

#include <math.h>

static const double shares[] = { 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995 };
static const double bits[] = { 8, 5, 4, 3, 2 };
static const double of_rank[] = { 0.75, 0.5, 0.25, 0.125 };
static const double ranks[] = { 32, 16, 8, 4 };
static const double channels[] = { 0.25, 0.5, 0.75 };
static const double on[] = { 1 };

#define VALUES(v) .value = v, .values = CTT_LEN(v)
#define PRUNE "prune-least=1 prune-keep=0 prune-scope=layer prune-form="

_Static_assert(CTT_LEN(shares) <= CTT_LADDER_MOST, "values of a ladder");

/* What --int8-slow adds is that each conv can be judged: which one is faster in
 * bytes shows in its time. */
const struct ctt_ladder ctt_ladders[] = {
    { .name = "prune any", .option = "prune", .unit = "share pruned",
      .also = PRUNE "any", .except = "prune-except",
      .stage = &ctt_stage_prune, VALUES(shares) },
    { .name = "prune block", .option = "prune", .unit = "share pruned",
      .also = PRUNE "block", .except = "prune-except",
      .stage = &ctt_stage_prune, VALUES(shares) },
    { .name = "share", .option = "share", .unit = "bits",
      .also = "share-least=1", .except = "share-except",
      .stage = &ctt_stage_share, VALUES(bits) },
    { .name = "svd", .option = "svd-rank", .unit = "share of the rank",
      .also = "svd-least=1", .except = "svd-except",
      .stage = &ctt_stage_svd, .of_rank = 1, VALUES(of_rank) },
    { .name = "tensor train", .option = "tt-rank", .unit = "rank",
      .also = "tt-least=1", .except = "tt-except",
      .stage = &ctt_stage_tt, VALUES(ranks) },
    { .name = "thin", .option = "thin", .unit = "share of channels removed",
      .also = "thin-rounds=1", .except = "thin-except",
      .stage = &ctt_stage_thin, VALUES(channels) },
    { .name = "int8", .option = "int8", .unit = "",
      .also = "int8-slow=1", .except = "int8-except",
      .stage = &ctt_stage_int8, .word = "mse", VALUES(on) },
    { .name = NULL }
};

int ctt_sensitivity_step(const struct ctt_sensitivity_point *p)
{
    const struct ctt_ladder *l = p->ladder;
    int k = 0;

    while (k + 1 < l->values && fabs(l->value[k] - p->value) > 1e-9)
        k++;
    return k;
}

int ctt_sensitivity_is_step(const struct ctt_sensitivity_point *p)
{
    return fabs(p->ladder->value[ctt_sensitivity_step(p)] - p->value) < 1e-9;
}

double ctt_sensitivity_number(const struct ctt_sensitivity_point *p,
                              const struct ctt_sensitivity_weight *w)
{
    return p->ladder->of_rank ? fmax(1, round(p->value * w->rank)) : p->value;
}
