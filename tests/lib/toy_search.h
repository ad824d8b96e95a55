/* SPDX-License-Identifier: Apache-2.0
 * toy_search.h: a search whose trials are not trained: their curves are known,
 * and so is the best of them. */
#ifndef CTT_TOY_SEARCH_H
#define CTT_TOY_SEARCH_H

#include "libtrain/search/search.h"
#include "base/random.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 400 };    /* results of a search */

/* A search whose trials have curves of which we know the end. */
struct toy {
    struct ctt_train_cfg cfg;
    struct ctt_space    *space;
    struct ctt_search   *s;
    int    failing;            /* every failing-th trial fails; 0: none */
    char  *line[MOST];         /* of the log */
    struct ctt_search_job job[MOST];    /* of these lines */
    int    lines;
};

static inline void open_toy(struct toy *t, int method, int trials, int epochs)
{
    static const char text[] = "lr log 1e-4 1\noptimizer choice sgd adamw\n"
                               "momentum range 0 0.9 if optimizer=sgd\n"
                               "gamma range 0 1\n";

    memset(t, 0, sizeof(*t));
    CHECK_OK(ctt_opt_defaults(ctt_train_opts, &t->cfg));
    t->cfg.search = "s.txt";
    t->cfg.search_method = method;
    t->cfg.search_first = 1;
    t->cfg.trials = trials;
    t->cfg.epochs = epochs;
    t->cfg.repeats = 1;
    CHECK_OK(ctt_space_parse("s.txt", text, strlen(text), &t->space));
}

static inline void start(struct toy *t)
{
    CHECK_OK(ctt_search_new(t->space, &t->cfg, &t->s));
}

static inline void close_toy(struct toy *t)
{
    ctt_search_free(&t->s);
    ctt_space_free(&t->space);
    for (int i = 0; i < t->lines; i++)
        ctt_free(t->line[i]);
}

/* The learning rate 0.01 is best; the optimizer matters less, gamma not at
 * all.  A repeat is a little worse or better. */
static inline double score_at(const struct toy *t,
                              const struct ctt_search_job *j, int epoch)
{
    const struct ctt_draw *d = &t->s->draw[j->trial];
    double far = fabs(log10(atof(d->text[0])) + 2);
    double end = 0.9 - 0.3 * far - 0.05 * (strcmp(d->text[1], "sgd") == 0) +
                 0.001 * j->repeat;

    return end * (1 - exp(-epoch / 4.0));
}

static inline int fails(const struct toy *t, const struct ctt_search_job *j)
{
    return t->failing && j->trial % t->failing == 0;
}

/* Writes the log of a trial's process. */
static inline void write_log(const struct toy *t,
                             const struct ctt_search_job *j)
{
    char text[4000] = "";
    int predicts = t->cfg.task == CTT_PREDICT;

    for (int e = 1; e <= t->s->epochs[j->rung]; e++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "{\"epoch\":%d,\"loss\":1,\"%s\":%.6g,\"%s\":%.6g}\n", e,
                 predicts ? "val_loss" : "val_mean_loss", 2.0 - 0.01 * e,
                 predicts ? "val_mse" : "val_mean_top1",
                 predicts ? 1 - score_at(t, j, e) : score_at(t, j, e));
    clip_text("trial.jsonl", text);
}

static inline void finish(struct toy *t, const struct ctt_search_job *j)
{
    struct ctt_trial *x = ctt_search_at(t->s, j->trial, j->repeat);

    write_log(t, j);
    x->running = 0;
    CHECK_OK(ctt_search_result(t->s, j, clip_path("trial.jsonl"),
                               fails(t, j) ? "not \"finite\"" : NULL, 1.5));
    CU_ASSERT_FATAL(t->lines < MOST);
    CHECK_OK(ctt_search_line(t->s, j, &t->line[t->lines]));
    t->job[t->lines++] = *j;
}

/* Runs the search to its end with `jobs` parallel trials, which end in random
 * order. */
static inline void run(struct toy *t, int jobs, uint64_t order)
{
    struct ctt_search_job now[8];
    int n = 0, rc;

    for (uint64_t turn = 0; ; turn++) {
        int at;

        while (n < jobs && (rc = ctt_search_next(t->s, &now[n])) > 0) {
            struct ctt_trial *x = ctt_search_at(t->s, now[n].trial,
                                                now[n].repeat);
            CU_ASSERT_FATAL(!x->running && !x->failed);
            CU_ASSERT_EQUAL(now[n].rung, now[n].repeat ? t->s->rungs - 1
                            : x->rung + 1);
            x->running = 1;
            n++;
        }
        if (!n)
            break;
        at = (int)(ctt_random(order, turn) % (unsigned)n);
        finish(t, &now[at]);
        now[at] = now[--n];
    }
}

/* Trials that reached a rung. */
static inline int at_rung(const struct toy *t, int rung)
{
    int n = 0;

    for (int i = 0; i < t->cfg.trials; i++)
        n += ctt_search_at(t->s, i, 0)->rung >= rung;
    return n;
}

/* Best trial at the end, without the failing ones. */
static inline int best_of(const struct toy *t)
{
    int best = -1;
    double most = -INFINITY;

    for (int i = 0; i < t->cfg.trials; i++) {
        struct ctt_search_job j = { i, 0, 0 };
        double score = score_at(t, &j, t->cfg.epochs);

        if (!fails(t, &j) && score > most) {
            most = score;
            best = i;
        }
    }
    return best;
}

#endif
