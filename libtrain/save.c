/* SPDX-License-Identifier: Apache-2.0
 * save.c: checkpoints of a training run, with the residuals of all ranks. */
#include "libtrain/trainer.h"
#include "libtrain/optim.h"

/* *out: the residuals of all ranks on the one that writes them, else NULL. */
static int bring_residuals(struct ctt_trainer *t, int64_t count, float **out)
{
    int rc = 0;

    if (t->cfg->checkpoint) {
        *out = ctt_calloc((size_t)count, sizeof(**out));
        CTT_TRY(*out ? 0 : CTT_ENOMEM);
    }
    CTT_TRY(ctt_gather_save(&t->shards.gather, *out));
out:
    return rc;
}

int ctt_trainer_save(struct ctt_trainer *t)
{
    int64_t residuals = ctt_gather_residuals(&t->shards.gather);
    float *rest = NULL;
    int rc = 0;

    if (t->saves && residuals)
        CTT_TRY(bring_residuals(t, residuals, &rest));
    if (!t->cfg->checkpoint)
        goto out;
    CTT_TRY(ctt_optim_pull(t->optim));
    CTT_TRY(ctt_checkpoint_save(t->cfg->checkpoint, t->m, t->cfg, t->data,
                                t->val, t->optim, &t->at, t->best, rest,
                                residuals));
out:
    ctt_free(rest);
    ctt_free_pages();    /* of the file, for the steps that follow */
    return rc;
}
