/* SPDX-License-Identifier: Apache-2.0
 * sampling.c: scheduled sampling: when the model's input is its last prediction
 * instead of the true frame (Bengio and others 2015). */
#include "libtrain/predict/predict.h"
#include "libtrain/chance.h"
#include "libtrain/data/load.h"
#include "libtrain/task.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The draws of a sequence do not depend on its place in the batch. */
int ctt_sampling_draw(const struct ctt_turn *turn, int observed, int frames,
                      float *truth)
{
    const struct ctt_batch *b = turn->batch;
    uint64_t key = ctt_key(ctt_key(turn->seed, CTT_KEY_TRUTH), turn->step);
    int first = frames;

    for (int j = 0; j < b->n; j++) {
        uint64_t mine = ctt_key(key, (uint64_t)b->clip[j]);
        for (int t = 0; t < frames; t++) {
            int yes = t < observed || b->clip[j] < 0 ||
                      (double)ctt_uniform(mine, (uint64_t)t) < turn->truth;
            truth[t * b->n + j] = (float)yes;
            if (!yes && t < first)
                first = t;
        }
    }
    return first;
}

static const char *start_of(const struct ctt_train_cfg *cfg)
{
    return cfg->sampling_start ? cfg->sampling_start : "auto";
}

/* The epoch of the text, or -1. */
static double epoch_of(const char *text)
{
    char *end;
    double x = strtod(text, &end);

    return end != text && !*end && x >= 0 && x <= 1e6 ? x : -1;
}

int ctt_sampling_check(const struct ctt_train_cfg *cfg)
{
    const char *s = start_of(cfg);
    int rc = 0;

    CTT_CHECK(strcmp(s, "auto") == 0 || strcmp(s, "off") == 0 ||
              epoch_of(s) >= 0, CTT_EINVAL,
              "--sampling-start: bad value '%s' (auto, off or an epoch)", s);
out:
    return rc;
}

void ctt_sampling_begin(const struct ctt_train_cfg *cfg, int batches,
                        struct ctt_sampling *s)
{
    double epoch = epoch_of(start_of(cfg));

    *s = (struct ctt_sampling){ .start = -1, .falls = -1, .best = INFINITY };
    if (epoch >= 0)
        s->start = (int64_t)(epoch * batches);
}

int ctt_sampling_waits(const struct ctt_train_cfg *cfg)
{
    return strcmp(start_of(cfg), "auto") == 0;
}

int ctt_sampling_off(const struct ctt_train_cfg *cfg)
{
    return strcmp(start_of(cfg), "off") == 0;
}

int ctt_sampling_tested(const struct ctt_train_cfg *cfg, double loss,
                        int64_t step, struct ctt_sampling *s)
{
    int waits = s->start < 0 ? ctt_sampling_waits(cfg)
                             : s->falls < 0 && step > s->start;

    s->stalled = waits && loss >= s->best ? s->stalled + 1 : 0;
    if (loss < s->best)
        s->best = loss;
    if (!waits || s->stalled < cfg->sampling_patience)
        return 0;
    *(s->start < 0 ? &s->start : &s->falls) = step;
    s->stalled = 0;
    return 1;
}

int ctt_sampling_tell(const struct ctt_train_cfg *cfg,
                      const struct ctt_sampling *s, char *line, size_t size)
{
    snprintf(line, size, "no smaller test loss in %d tests: %s",
             cfg->sampling_patience, s->falls < 0
             ? "scheduled sampling starts" : "the rate begins to fall");
    return s->falls < 0 || cfg->schedule == CTT_SAMPLED;
}

double ctt_sampling_truth(const struct ctt_train_cfg *cfg,
                          const struct ctt_sampling *s, int64_t step,
                          int batches)
{
    double epochs, truth;

    if (s->start < 0 || step < s->start)
        return 1;
    epochs = (double)(step - s->start) / batches;
    truth = 1 - (double)cfg->sampling_decay * epochs;
    return truth > 0 ? truth : 0;
}
