/* SPDX-License-Identifier: Apache-2.0
 * memory.c: what --keep, --window and --memory say of the way back, what came
 * of it, and what else would fit. */
#include "libtrain/task.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_keep(const char *s, int *keep)
{
    char *end;
    long n;
    int rc = 0;

    if (!*s || strcmp(s, "all") == 0) {
        *keep = CTT_KEEP_ALL;
        goto out;
    }
    if (strcmp(s, "auto") == 0) {
        *keep = CTT_KEEP_AUTO;
        goto out;
    }
    errno = 0;
    n = strtol(s, &end, 10);
    CTT_CHECK(*s >= '0' && *s <= '9' && !*end && !errno && n <= 4096,
              CTT_EINVAL, "--keep: bad value '%s' (all, auto, or windows "
              "0..4096)", s);
    *keep = (int)n;
out:
    return rc;
}

/* A number of bytes, or of a unit, which may be a part of one: 1.5G. */
static int parse_bytes(const char *s, int64_t *bytes)
{
    static const char units[] = "KMGT";
    double n = 0, unit = 1;
    const char *at;
    char *end = NULL;
    int rc = 0;

    if (!*s)
        goto out;
    n = strtod(s, &end);
    if (*end && (at = strchr(units, *end)) != NULL) {
        unit = ldexp(1, 10 * (int)(at - units + 1));
        end++;
    }
    CTT_CHECK(*s >= '0' && *s <= '9' && !*end && n * unit >= 1 &&
              n * unit <= 0x1p50, CTT_EINVAL,
              "--memory: bad value '%s' (such as 900M or 2G)", s);
out:
    *bytes = rc < 0 ? 0 : (int64_t)(n * unit);
    return rc;
}

/* Short windows hold fewer gradients and cost nothing; where a norm needs the
 * statistics of the whole clip, predictor.c takes that. */
enum { PREDICTING = 4 };

int ctt_memory_parse(const struct ctt_train_cfg *cfg, struct ctt_memory *out)
{
    struct ctt_memory m = { .window = cfg->window };
    const char *size = cfg->memory ? cfg->memory : "";
    int rc = 0;

    CTT_TRY(parse_keep(cfg->keep ? cfg->keep : "", &m.keep));
    CTT_TRY(parse_bytes(size, &m.bytes));
    CTT_CHECK(!*size || m.keep == CTT_KEEP_AUTO, CTT_EINVAL,
              "--memory: goes with --keep auto");
    if (!m.window && m.keep != CTT_KEEP_AUTO && cfg->task == CTT_PREDICT)
        m.window = PREDICTING;
    CTT_CHECK(m.keep < 0 || m.window, CTT_EINVAL,
              "--keep=%d: goes with --window", m.keep);
    *out = m;
out:
    return rc;
}

int ctt_memory_auto(const struct ctt_train_cfg *cfg)
{
    return cfg->keep && strcmp(cfg->keep, "auto") == 0;
}

int ctt_memory_tell(const struct ctt_train_cfg *cfg,
                    const struct ctt_memory_plan *p, char *line, size_t size)
{
    snprintf(line, size, "memory: %lld MB for values and gradients; %d of %d "
             "windows of up to %d steps are kept%s%s",
             (long long)(p->bytes >> 20), p->kept, p->windows, p->window,
             p->kept < p->windows ? ", the others computed again" : "",
             p->parts ? "; statistics of norms are then of a window" : "");
    return ctt_memory_auto(cfg) || p->kept < p->windows || p->parts;
}

/* ---- what would fit ---- */

struct trial {
    const struct ctt_task_kind *task;
    const struct ctt_graph     *model;
    struct ctt_dev             *dev;
    int                         longest;
};

/* Whether training with these settings would find the memory, and leave some
 * for the rest. */
static int would_fit(const struct trial *t, const struct ctt_train_cfg *cfg)
{
    struct ctt_size size = t->task->size(cfg, t->longest);
    struct ctt_amp_plan *plan = NULL;
    struct ctt_graph *g = NULL;
    struct ctt_memory m;
    int64_t bytes = 0;
    int rc = 0;

    CTT_TRY(t->task->graph(t->model, cfg, &g));
    CTT_TRY(ctt_amp_plan(g, cfg, &plan));
    CTT_TRY(t->task->memory(t->model, cfg, &m));
    CTT_TRY(ctt_exec_bytes(&(struct ctt_run_spec){
        .g = g, .dev = t->dev, .samples = cfg->batch, .steps = size.steps,
        .asks = cfg->batch * size.asks,
        .type = ctt_amp_types(plan, cfg) }, &m, &bytes));
out:
    ctt_amp_free(&plan);
    ctt_graph_free(&g);
    return rc >= 0 && bytes <= ctt_exec_room(t->dev);
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

static void add(char *text, size_t size, const char *what)
{
    size_t n = strlen(text);

    snprintf(text + n, size - n, "%s%s",
             n ? ", " : "; by plan there would fit ", what);
}

void ctt_memory_advise(const struct ctt_task_kind *task,
                       const struct ctt_graph *model,
                       const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                       int longest, char *text, size_t size)
{
    struct trial t = { task, model, dev, longest };
    struct ctt_train_cfg less = *cfg;
    char batch[32];

    text[0] = '\0';
    if (smaller_batch(&t, &less)) {
        snprintf(batch, sizeof(batch), "--batch=%d", less.batch);
        add(text, size, batch);
    }
    less = *cfg;
    less.keep = "auto";
    if (!ctt_memory_auto(cfg) && would_fit(&t, &less))
        add(text, size, "--keep=auto");
    less = *cfg;
    less.amp = CTT_O1;
    if (cfg->amp == CTT_O0 && would_fit(&t, &less))
        add(text, size, "--amp=O1");
}
