/* SPDX-License-Identifier: Apache-2.0
 * strategy.c: the table of strategies, and which one the settings ask for. */
#include "libtrain/ranks/strategy.h"
#include "libtrain/before.h"
#include "libtrain/cfg_memory.h"
#include "run/back/exec.h"

#include <string.h>

/* data_parallel.c, server.c, pipeline.c, tensor_parallel.c; the last row is
 * the default. */
static const struct ctt_strategy *const strategies[] = {
    &ctt_parameter_server, &ctt_pipeline_parallel, &ctt_tensor_parallel,
    &ctt_data_parallel,
};
enum { LAST = CTT_LEN(strategies) - 1 };

/* The index of the first row from `from` that is asked for. */
static int next_asked(const struct ctt_train_cfg *cfg, int from)
{
    while (from < LAST && !strategies[from]->option(cfg))
        from++;
    return from;
}

const struct ctt_strategy *ctt_strategy_of(const struct ctt_train_cfg *cfg)
{
    return strategies[next_asked(cfg, 0)];
}

int ctt_noise_is_known(const struct ctt_train_cfg *cfg)
{
    return cfg->shards > 1 && ctt_strategy_of(cfg) == &ctt_data_parallel &&
           (!cfg->squeeze || strcmp(cfg->squeeze, "none") == 0);
}

int ctt_train_ranks_suit(const struct ctt_train_cfg *cfg)
{
    struct ctt_share share;

    return ctt_strategy_of(cfg)->share(cfg, ctt_comm_place(cfg->wiring.comm),
                                       &share);
}

int ctt_train_has_server(const struct ctt_train_cfg *cfg)
{
    return ctt_strategy_of(cfg)->work != NULL;
}

/* Each forward pass exchanges statistics, in the same order on all ranks. */
static int check_sync_norm(const struct ctt_train_cfg *cfg)
{
    struct ctt_memory m;
    int rc = 0;

    if (!cfg->sync_norm)
        goto out;
    CTT_CHECK(cfg->task != CTT_PREDICT, CTT_EUNSUP, "--sync-norm: a model that "
              "reads its own answers has no batch norms in its loop");
    CTT_CHECK(!ctt_train_has_server(cfg), CTT_EUNSUP, "--sync-norm is for "
              "--sync=all: a server's workers do not wait for each other");
    CTT_CHECK(!ctt_dev_has(cfg->device, CTT_DEV_OWN_MEMORY), CTT_EUNSUP,
              "--sync-norm passes statistics in the program's memory, so it is "
              "for --device=cpu");
    CTT_TRY(ctt_memory_parse(cfg, &m));
    CTT_CHECK(m.keep == CTT_KEEP_ALL, CTT_EUNSUP, "--sync-norm: processes "
              "would recompute other windows, and statistics of them: --keep "
              "must be all");
out:
    return rc;
}

int ctt_strategy_check(const struct ctt_train_cfg *cfg)
{
    int first = next_asked(cfg, 0), second = next_asked(cfg, first + 1), rc = 0;
    const struct ctt_strategy *s = strategies[first];
    struct ctt_squeeze squeeze;

    CTT_TRY(check_sync_norm(cfg));
    if (first == LAST)
        goto out;
    CTT_TRY(s->why_not(cfg));
    CTT_CHECK(second >= LAST, CTT_EINVAL, "--%s and --%s exclude each other",
              s->option(cfg), strategies[second]->option(cfg));
    CTT_TRY(ctt_squeeze_parse(cfg->squeeze, &squeeze));
    CTT_CHECK(s->all_reduce || squeeze.kind == CTT_SQUEEZE_NONE, CTT_EINVAL,
              "--squeeze is for --sync=all: --%s sends whole gradients",
              s->option(cfg));
out:
    return rc;
}
