/* SPDX-License-Identifier: Apache-2.0
 * walk.c: a round of a stage tests the model, or tells that it has changed
 * nothing. */
#include "compress/stage.h"

#include <stdio.h>

int ctt_walk_accuracy(const struct ctt_walk *k, const char *what,
                      const struct ctt_model *m, struct ctt_score *s)
{
    if (!k->calls->accuracy)
        return 0;
    return k->calls->accuracy(k->calls->arg, what, m, s);
}

void ctt_walk_same(struct ctt_walk *k, const char *what)
{
    k->same = 1;
    snprintf(k->name, sizeof(k->name), "%s: no change", what);
    snprintf(k->line, sizeof(k->line), "%s", k->name);
}
