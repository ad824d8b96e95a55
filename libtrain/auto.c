/* SPDX-License-Identifier: Apache-2.0
 * auto.c: automatic settings before a training: --batch auto, --lr auto, and
 * the shards of several processes. */
#include "libtrain/before.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/lr_range.h"
#include "libtrain/ranks/strategy.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 4096,    /* clips of a batch, as the table of settings says */
       ALIKE = 8 };     /* processes that make the same model */

struct ctt_train_cfg ctt_cfg_trial(const struct ctt_train_cfg *cfg)
{
    struct ctt_train_cfg c = *cfg;

    c.schedule = CTT_CONSTANT;
    c.max_steps = 0;
    c.time_limit = c.warmup = c.dsd = c.ema = 0;
    c.pick = CTT_PICK_AUTO;
    c.early_stop = c.checkpoint_every = c.resume = 0;
    c.sampling_start = "off";
    c.out = c.checkpoint = c.log_csv = c.log_json = NULL;
    c.wiring.changes = NULL;
    c.wiring.last_of = c.wiring.or_given = 0;
    return c;
}

/* The number that a checkpoint's settings have, as its run had found it. */
static int read_number(const char *settings, const char *name,
                struct ctt_train_cfg *cfg)
{
    size_t n = strlen(name);
    char value[32];
    int rc = 0;

    for (const char *s = settings; *s; s += strcspn(s, "\n"), s += *s == '\n') {
        s += *s == ' ';
        if (strncmp(s, name, n) != 0 || s[n] != '=')
            continue;
        snprintf(value, sizeof(value), "%.*s", (int)strcspn(s + n + 1, "\n"),
                 s + n + 1);
        CTT_TRY(ctt_opt_set(ctt_train_opts, cfg, name, value));
    }
out:
    return rc;
}

/* The checkpoint of one process may be gone on with by others. */
static int resumed(const struct ctt_model *m, struct ctt_train_cfg *cfg)
{
    const char *settings = m->train->settings ? m->train->settings : "";
    int rc = 0;

    if (cfg->shards == 1)
        CTT_TRY(read_number(settings, "shards", cfg));
    if (ctt_auto_batch(cfg))
        CTT_TRY(read_number(settings, "batch", cfg));
    if (ctt_auto_lr(cfg))
        CTT_TRY(read_number(settings, "lr", cfg));
    CTT_CHECK(!ctt_auto_batch(cfg) && !ctt_auto_lr(cfg), CTT_EFORMAT,
              "the checkpoint has no --batch or no --lr");
out:
    return rc;
}

/* 1 if the error may come from too large a batch: memory may be too small, or
 * the folder of offloaded windows. */
static int is_too_large(const struct ctt_train_cfg *cfg, int rc)
{
    struct ctt_memory m;

    return rc == CTT_ENOMEM || (rc == CTT_EIO &&
           ctt_memory_parse(cfg, &m) >= 0 && m.rest == CTT_OFFLOADED);
}

static int find_batch(struct ctt_model *m, struct ctt_train_cfg *cfg,
                      struct ctt_data *train, struct ctt_data *val,
                      const struct ctt_events *ev)
{
    struct ctt_train_cfg c = *cfg;
    int clips = ctt_data_clips(train), rc = CTT_ENOMEM;
    char line[128];

    if (ctt_auto_lr(&c))
        c.lr = CTT_RANGE_FROM;
    c.batch = 1;
    while (2 * c.batch <= clips && 2 * c.batch <= MOST)
        c.batch *= 2;
    for (; c.batch > 0 && ctt_shards_check(&c) >= 0; c.batch /= 2) {
        rc = ctt_train_opens(m, &c, train, val);
        if (!is_too_large(&c, rc))
            break;
        CTT_CHECK(!ctt_stopped(), CTT_ESTOP, "stopped");
    }
    CTT_CHECK(!is_too_large(&c, rc), rc, "--batch=auto: no batch fits: %s",
              ctt_errmsg());
    CTT_TRY(rc);
    cfg->batch = c.batch;
    snprintf(line, sizeof(line), "--batch=%d: the largest power of two that "
             "%s", c.batch, 2 * c.batch > clips ? "is no more than the clips" :
             2 * c.batch > MOST ? "a batch may have" : "fits into memory");
    ctt_say(ev, line);
out:
    return rc;
}

/* That of rank 0: others may have computed each for itself, with other
 * bits. */
static int agree_on(struct ctt_comm *comm, double *lr)
{
    double *all = ctt_calloc((size_t)ctt_comm_place(comm)->ranks, sizeof(*all));
    int rc = all ? ctt_comm_allgather(comm, lr, sizeof(*lr), all) : CTT_ENOMEM;

    if (rc >= 0)
        *lr = all[0];
    ctt_free(all);
    return rc;
}

static int find_lr(const struct ctt_model *m, struct ctt_train_cfg *cfg,
                   struct ctt_data *train, const struct ctt_events *ev)
{
    struct ctt_lr_range r;
    double lr, at;
    char line[160];
    int rc = 0;

    CTT_TRY(ctt_lr_range_run(m, cfg, train, &r));
    CTT_TRY(ctt_lr_range_choose(&r, &lr, &at));
    CTT_TRY(agree_on(cfg->wiring.comm, &lr));
    cfg->lr = (float)lr;
    snprintf(line, sizeof(line), "--lr=%.2g: a tenth of %.2g, at which the "
             "smoothed loss is lowest, of %d steps at rates from %g to %g", lr,
             at, r.steps, (double)CTT_RANGE_FROM, r.lr[r.steps - 1]);
    ctt_say(ev, line);
out:
    return rc;
}

/* The shards of processes that a launcher started, in so many groups. */
static int shards_of(const struct ctt_train_cfg *cfg, int ranks)
{
    int n = ranks, clips = ctt_augment_mixes(cfg) ? 2 : 1;

    if (cfg->sync_norm)
        return n;
    if (cfg->deterministic && n < ALIKE)
        n = ALIKE;
    while (n > 1 && !ctt_auto_batch(cfg) && cfg->batch % (n * clips))
        n /= 2;
    return n;
}

static int find_shards(struct ctt_train_cfg *cfg)
{
    struct ctt_share share;
    int rank, rc = 0, launched;

    CTT_TRY(ctt_strategy_of(cfg)->share(cfg, ctt_comm_place(cfg->wiring.comm),
                                        &share));
    CTT_TRY(launched = ctt_comm_launched(&rank));
    if (cfg->shards == 1 && launched)
        cfg->shards = shards_of(cfg, share.parts);
    CTT_TRY(ctt_shards_check(cfg));
out:
    return rc < 0 ? rc : 0;
}

static void say_shares(const struct ctt_train_cfg *cfg,
                       const struct ctt_share *share,
                       const struct ctt_events *ev)
{
    const struct ctt_comm_place *p = ctt_comm_place(cfg->wiring.comm);
    int shards = cfg->shards, clips = ctt_cfg_shard(cfg);
    int whole = share->parts == 1 && !share->apart;
    int each = share->group > 1 ? share->group : p->ranks;
    char who[96], times[32] = "", of[32] = "", line[288];

    ctt_strategy_of(cfg)->who(cfg, each, who, sizeof(who));
    if (each < p->ranks)
        snprintf(times, sizeof(times), "%d times ", p->ranks / each);
    if (!whole)
        snprintf(of, sizeof(of), "%d of the ", shards / share->parts);
    snprintf(line, sizeof(line), "%s%s on %d machine%s: %s%d shard%s of a "
             "batch%s, %d clip%s %s", times, who, p->machines,
             ctt_s(p->machines), of, shards, ctt_s(shards),
             whole ? "" : " each", clips, ctt_s(clips),
             whole ? "each" : "a shard");
    ctt_say(ev, line);
}

/* Checks that the ranks can share a batch equally, and says how they do. */
static int check_ranks(const struct ctt_train_cfg *cfg,
                       const struct ctt_events *ev)
{
    const struct ctt_comm_place *p = ctt_comm_place(cfg->wiring.comm);
    struct ctt_share share;
    int rc;

    CTT_TRY(ctt_strategy_of(cfg)->share(cfg, p, &share));
    CTT_CHECK(cfg->shards % share.parts == 0, CTT_EINVAL, "--batch=%d has %d "
              "shard%s, which %d %s cannot share equally", cfg->batch,
              cfg->shards, ctt_s(cfg->shards), share.parts,
              share.group > 1 ? "groups of processes" : "processes");
    if (p->ranks > 1)
        say_shares(cfg, &share, ev);
out:
    return rc;
}

int ctt_train_auto(struct ctt_model *m, struct ctt_train_cfg *cfg,
                   struct ctt_data *train, struct ctt_data *val,
                   const struct ctt_events *ev)
{
    int rc = 0;

    if (m->train) {
        CTT_TRY(resumed(m, cfg));
        CTT_TRY(check_ranks(cfg, ev));
        goto out;
    }
    CTT_TRY(find_shards(cfg));
    if (ctt_auto_batch(cfg))
        CTT_TRY(find_batch(m, cfg, train, val, ev));
    CTT_TRY(check_ranks(cfg, ev));
    if (ctt_auto_lr(cfg))
        CTT_TRY(find_lr(m, cfg, train, ev));
out:
    return rc;
}
