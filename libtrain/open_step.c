/* SPDX-License-Identifier: Apache-2.0
 * open_step.c: opens the step of a rank that computes the whole graph; advice
 * if its memory is too small. */
#include "libtrain/trainer.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/data/data.h"
#include "libtrain/optim.h"
#include "run/back/exec.h"

#include <string.h>

int ctt_trainer_blame_memory(const struct ctt_trainer *t, int rc)
{
    const struct ctt_data *d = t->data;
    char fits[128], said[256];

    if (rc != CTT_ENOMEM)
        return rc;
    snprintf(said, sizeof(said), "%s", ctt_errmsg());
    ctt_memory_advise(t->task, t->m->g, t->cfg, t->dev, d->longest, fits,
                      sizeof(fits));
    if (!fits[0])
        return ctt_error(rc, "%s (one %.*s at a time does not fit either: the "
                         "model is too large)", said,
                         (int)strlen(ctt_word_clips(t->cfg)) - 1,
                         ctt_word_clips(t->cfg));
    for (int i = 0; i < d->clips; i++)
        if (d->clip[i].length == d->longest)
            return ctt_error(rc, "%s (the longest %s, %s, has %d %ss: "
                             "%s%s, --shards or "
                             "a smaller --batch helps%s)", said,
                             d->one ? "window" : d->symbols ? "line" : "clip",
                             d->list->item[d->clip[i].item].id, d->longest,
                             ctt_word_frame(t->cfg),
                             t->task->saves, ctt_memory_auto(t->cfg)
                             ? "more --memory" : "--keep=auto", fits);
    return rc;
}

int ctt_trainer_open_step(struct ctt_trainer *t)
{
    struct ctt_weight *weight = NULL;
    struct ctt_exec *x;
    int rc = 0;

    CTT_TRY(t->task->open(t->m->g, t->optim->flat.w, t->cfg, t->dev, t->data,
                          &t->step));
    x = t->task->exec(t->step);
    x->r->w16 = t->optim->w16;
    CTT_TRY(ctt_model_weights(t->m, &weight));
    CTT_TRY(ctt_run_weights(x->r, weight));
    CTT_TRY(ctt_exec_choose(x));
out:
    ctt_free(weight);
    return ctt_trainer_blame_memory(t, rc);
}
