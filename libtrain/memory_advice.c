/* SPDX-License-Identifier: Apache-2.0
 * memory_advice.c: describes the memory plan of a run, and finds settings that
 * need less memory if it does not fit. */
#include "libtrain/amp.h"
#include "libtrain/cfg_memory.h"
#include "libtrain/ranks/shards.h"
#include "libtrain/task.h"

#include <stdio.h>
#include <string.h>

/* The fate of windows that are not kept. */
static void tell_rest(const struct ctt_memory_plan *p, const char *folder,
                      char *text, size_t size)
{
    int again = p->windows - p->kept - p->offloaded, n = 0;
    char speed[64] = "";

    if (p->rate > 0)
        snprintf(speed, sizeof(speed), "%.0f MB/s", p->rate / 1e6);
    text[0] = '\0';
    if (p->offloaded)
        n = snprintf(text, size, ", %d are offloaded to %s (%lld MB%s%s)%s",
                     p->offloaded, *folder ? folder : "the host's memory",
                     (long long)(p->gone >> 20), *speed ? ", " : "", speed,
                     again ? "" : ", none is recomputed");
    if (again && p->offloaded)
        n += snprintf(text + n, size - (size_t)n, ", %d are recomputed", again);
    else if (again)
        n = snprintf(text, size, ", the others are recomputed%s%s%s",
                     *speed ? " (offloading: " : "", speed, *speed ? ")" : "");
    if (p->times > 0)
        snprintf(text + n, size - (size_t)n, ": a step takes about %.2f times "
                 "the time of one that keeps all", p->times);
}

int ctt_memory_tell(const struct ctt_train_cfg *cfg,
                    const struct ctt_memory_plan *p, char *line, size_t size)
{
    struct ctt_memory m = { .window = 0 };
    char rest[CTT_FOLDER + 256], each[80] = "";

    ctt_memory_parse(cfg, &m);    /* has been checked */
    tell_rest(p, m.folder, rest, sizeof(rest));
    if (p->calls)    /* in place of kept windows */
        snprintf(each, sizeof(each), "; in a window %d runs of its %d nodes "
                 "are repeated", p->again, p->calls);
    snprintf(line, size, "memory: %lld MB for values and gradients; %d of %d "
             "windows of up to %d steps are kept%s%s%s",
             (long long)(p->bytes >> 20), p->kept, p->windows, p->window, rest,
             each, p->parts ? "; norms then use the statistics of a window"
             : "");
    return ctt_memory_auto(cfg) || p->kept < p->windows || p->calls ||
           p->parts;
}

/* Constants of a trial of settings. */
struct trial {
    const struct ctt_task_kind *task;
    const struct ctt_graph     *model;
    struct ctt_dev             *dev;
    int                         longest;
};

/* 1 if training with these settings fits into memory, with a reserve
 * (ctt_exec_room). */
static int would_fit(const struct trial *t, const struct ctt_train_cfg *cfg)
{
    struct ctt_size size = t->task->size(cfg, t->longest);
    struct ctt_amp_plan *plan = NULL;
    struct ctt_graph *g = NULL;
    struct ctt_squeeze squeeze = { .kind = CTT_SQUEEZE_NONE };
    struct ctt_memory m;
    int64_t bytes = 0;
    int n = ctt_cfg_shard(cfg), rc = 0;

    CTT_TRY(ctt_squeeze_parse(cfg->squeeze, &squeeze));
    CTT_TRY(t->task->graph(t->model, cfg, &g));
    CTT_TRY(ctt_amp_plan(g, cfg, &plan));
    CTT_TRY(t->task->memory(t->model, cfg, &m));
    CTT_TRY(ctt_exec_bytes(&(struct ctt_run_spec){
        .g = g, .dev = t->dev, .samples = n, .steps = size.steps,
        .asks = n * size.asks,
        .type = ctt_amp_types(plan, cfg) }, &m, &bytes));
out:
    ctt_amp_free(&plan);
    ctt_graph_free(&g);
    bytes += ctt_shards_bytes(t->model->weights, cfg->shards,
                              &squeeze);
    return rc >= 0 && bytes <= ctt_exec_room(t->dev);
}

/* The batch stays as it is. */
static int more_shards(const struct trial *t, struct ctt_train_cfg *cfg)
{
    cfg->shards = cfg->batch / ctt_cfg_shard(cfg);
    while (cfg->shards < CTT_MAX_SHARDS) {
        cfg->shards *= 2;
        if (ctt_shards_check(cfg) < 0)
            return 0;
        if (would_fit(t, cfg))
            return cfg->shards;
    }
    return 0;
}

static int smaller_batch(const struct trial *t, struct ctt_train_cfg *cfg)
{
    while (cfg->batch > 1) {
        cfg->batch /= 2;
        if (would_fit(t, cfg))
            return cfg->batch;
    }
    return 0;
}

static void add_advice(char *text, size_t size, const char *what)
{
    size_t n = strlen(text);

    snprintf(text + n, size - n, "%s%s",
             n ? ", " : "; would fit: ", what);
}

void ctt_memory_advise(const struct ctt_task_kind *task,
                       const struct ctt_graph *model,
                       const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                       int longest, char *text, size_t size)
{
    struct trial t = { task, model, dev, longest };
    struct ctt_train_cfg less = *cfg;
    char batch[32], shards[32];

    text[0] = '\0';
    if (more_shards(&t, &less)) {
        snprintf(shards, sizeof(shards), "--shards=%d", less.shards);
        add_advice(text, size, shards);
    }
    less = *cfg;
    if (cfg->shards < 2 && smaller_batch(&t, &less)) {
        snprintf(batch, sizeof(batch), "--batch=%d", less.batch);
        add_advice(text, size, batch);
    }
    less = *cfg;
    less.keep = "auto";
    if (!ctt_memory_auto(cfg) && would_fit(&t, &less))
        add_advice(text, size, "--keep=auto");
    less = *cfg;
    less.amp = CTT_O1;
    if (cfg->amp == CTT_O0 && would_fit(&t, &less))
        add_advice(text, size, "--amp=O1");
}
