/* SPDX-License-Identifier: Apache-2.0
 * save.c: checkpoints of a training run, with the residuals and the states of
 * all ranks. */
#include "libtrain/trainer.h"
#include "libtrain/optim.h"

/* Room for what ranks bring, on the one that writes. */
static int make_rest(const struct ctt_trainer *t, struct ctt_checkpoint_rest *r)
{
    if (!t->cfg->checkpoint)
        return 0;
    if (r->residuals)
        r->residual = ctt_calloc((size_t)r->residuals, sizeof(float));
    if (r->count)
        r->states = ctt_calloc((size_t)r->count, 1);
    return (r->residual || !r->residuals) && (r->states || !r->count)
           ? 0 : CTT_ENOMEM;
}

int ctt_trainer_save(struct ctt_trainer *t)
{
    struct ctt_checkpoint_rest r = {
        .residuals = ctt_gather_residuals(&t->shards.gather),
        .count = ctt_carry_count(t), .kind = t->carry.kind };
    int rc = 0;

    if (t->saves) {
        CTT_TRY(make_rest(t, &r));
        if (r.residuals)
            CTT_TRY(ctt_gather_save(&t->shards.gather, r.residual));
        if (r.count)
            CTT_TRY(ctt_carry_save(t, r.states));
    }
    if (!t->cfg->checkpoint)
        goto out;
    CTT_TRY(ctt_optim_pull(t->optim));
    CTT_TRY(ctt_checkpoint_save(t->cfg->checkpoint, t->m, t->cfg, t->data,
                                t->val, t->optim, &t->at, t->best, &r));
out:
    ctt_free(r.residual);
    ctt_free(r.states);
    ctt_free_pages();    /* of the file, for the steps that follow */
    return rc;
}
