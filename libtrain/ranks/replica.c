/* SPDX-License-Identifier: Apache-2.0
 * replica.c: each rank updates weights of its own by the same sums; checksums
 * compare the ranks at the start and their weights after each epoch. */
#include "libtrain/trainer.h"
#include "libtrain/data/data.h"
#include "libtrain/optim.h"
#include "libtrain/settings.h"
#include "net/code/zip.h"
#include "net/file/decision.h"
#include "run/back/exec.h"

#include <string.h>

enum word { VERSION, SETTINGS, DEVICE, PROCESSOR, MODEL, TEACHERS, CLIPS,
            LENGTHS, VAL, PLACE, WEIGHTS, WINDOWS, WORDS };

static const char *const names[WORDS] = {
    [VERSION] = "version of convtt", [SETTINGS] = "settings",
    [DEVICE] = "device", [PROCESSOR] = "processor", [MODEL] = "model",
    [TEACHERS] = "teachers (see --teacher)", [CLIPS] = "clips",
    [LENGTHS] = "lengths of clips", [VAL] = "validation clips",
    [PLACE] = "checkpoint", [WEIGHTS] = "weights",
    [WINDOWS] = "windows (see --window)",
};

/* Result of opening a rank. */
struct card {
    int  rc;
    char why[CTT_ROW_TEXT];
};

int ctt_rank_error(int rc, int rank, const char *why)
{
    if (rank == 0)
        return ctt_error(rc, "%s", why);
    return ctt_error(rc, "rank %d: %s", rank, why);
}

static uint32_t text_sum(const char *text)
{
    return ctt_crc32(0, text, 1, (int64_t)strlen(text));
}

static uint32_t lengths_sum(const struct ctt_data *d)
{
    uint32_t sum = 0;

    for (int i = 0; i < d->clips; i++)
        sum = ctt_crc32(sum, &d->clip[i].length, sizeof(int), 1);
    return sum;
}

static int model_sum(const struct ctt_graph *g, uint32_t *out)
{
    char *text = ctt_net_print(g);
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    *out = text_sum(text);
out:
    ctt_free(text);
    return rc;
}

/* A checksum of the teachers' weights: a path may name another file on another
 * machine. */
static int teachers_sum(const struct ctt_train_cfg *cfg, uint32_t *out)
{
    struct ctt_decision sign = { .weights = 0 };
    int rc = 0;

    for (int k = 0; cfg->wiring.teachers && cfg->wiring.teachers[k]; k++) {
        CTT_TRY(ctt_decision_sign(cfg->wiring.teachers[k], &sign));
        *out = ctt_crc32(*out, &sign.crc, sizeof(sign.crc), 1);
    }
out:
    return rc;
}

/* Only settings that change the result; the others may differ. */
static int settings_sum(const struct ctt_train_cfg *cfg, uint32_t *out)
{
    char *text = NULL;
    int rc;

    CTT_TRY(ctt_settings_changed(cfg, &text));
    *out = ctt_crc32(text_sum(text), &cfg->epochs, sizeof(int), 1);
out:
    ctt_free(text);
    return rc;
}

/* The present weights, a piece at a time. */
static int weights_sum(const struct ctt_trainer *t, uint32_t *out)
{
    enum { PIECE = 4096 };
    const struct ctt_optim *o = t->optim;
    float piece[PIECE];
    uint32_t sum = 0;
    int rc = 0;

    for (int64_t at = 0; at < o->weights; at += PIECE) {
        int64_t n = o->weights - at < PIECE ? o->weights - at : PIECE;

        CTT_TRY(ctt_dev_copy(t->dev, CTT_TO_HOST, o->flat.w + at, piece,
                             n * (int64_t)sizeof(float)));
        sum = ctt_crc32(sum, piece, sizeof(float), n);
    }
    *out = sum;
out:
    return rc;
}

static int fill_sums(const struct ctt_trainer *t, uint32_t word[WORDS])
{
    const struct ctt_memory_plan p = ctt_exec_plan(t->task->exec(t->step));
    const int64_t place[] = { t->at.step, t->saves, t->cfg->checkpoint_every };
    char machine[512];
    int rc;

    word[VERSION] = text_sum(CTT_VERSION);
    CTT_TRY(model_sum(t->m->g, &word[MODEL]));
    CTT_TRY(teachers_sum(t->cfg, &word[TEACHERS]));
    CTT_TRY(weights_sum(t, &word[WEIGHTS]));
    CTT_TRY(settings_sum(t->cfg, &word[SETTINGS]));
    word[PLACE] = ctt_crc32(0, place, sizeof(place), 1);
    word[CLIPS] = ctt_data_crc(t->data);
    word[LENGTHS] = lengths_sum(t->data);
    word[VAL] = t->val ? ctt_data_crc(t->val) ^ lengths_sum(t->val) : 0;
    word[DEVICE] = text_sum(t->cfg->device);
    ctt_dev_machine(machine, sizeof(machine));
    word[PROCESSOR] = text_sum(machine);
    word[WINDOWS] = ctt_crc32(0, &p.window, sizeof(int), 1);
out:
    return rc;
}

/* The first error of a rank becomes the error of all. */
static int share_error(struct ctt_comm *comm, int rc)
{
    int ranks = ctt_comm_place(comm)->ranks;
    struct card mine, *all;

    memset(&mine, 0, sizeof(mine));
    mine.rc = rc;
    if (rc < 0)
        snprintf(mine.why, sizeof(mine.why), "%s", ctt_errmsg());
    all = ctt_calloc((size_t)ranks, sizeof(*all));
    rc = all ? 0 : CTT_ENOMEM;
    CTT_TRY(rc);
    CTT_TRY(ctt_comm_allgather(comm, &mine, sizeof(mine), all));
    for (int r = 0; r < ranks && rc >= 0; r++)
        if (all[r].rc < 0)
            rc = ctt_rank_error(all[r].rc, r, all[r].why);
out:
    ctt_free(all);
    return rc;
}

int ctt_replicas_meet(struct ctt_trainer *t, int rc)
{
    uint32_t word[WORDS] = { 0 };

    if (ctt_comm_place(t->comm)->ranks == 1)
        return rc;
    if (rc >= 0)
        rc = fill_sums(t, word);
    CTT_TRY(share_error(t->comm, rc));
    CTT_TRY(ctt_comm_same(t->comm, word, names, WORDS));
out:
    return rc;
}

int ctt_replicas_same(struct ctt_trainer *t)
{
    int ranks = ctt_comm_place(t->peers)->ranks, rc = 0;
    uint32_t mine, *all = NULL;

    if (ranks == 1)
        goto out;
    all = ctt_calloc((size_t)ranks, sizeof(*all));
    CTT_TRY(all ? 0 : CTT_ENOMEM);
    CTT_TRY(weights_sum(t, &mine));
    CTT_TRY(ctt_comm_allgather(t->peers, &mine, sizeof(mine), all));
    for (int r = 1; r < ranks; r++)
        CTT_CHECK(all[r] == all[0], CTT_EINVAL, "rank %d: not the %s of "
                  "rank 0, after step %lld", r, names[WEIGHTS],
                  (long long)t->at.step);
out:
    ctt_free(all);
    return rc;
}
