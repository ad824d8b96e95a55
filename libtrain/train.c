/* SPDX-License-Identifier: Apache-2.0
 * train.c: a training from its settings to its result, by the task's row. */
#include "libtrain/trainer.h"
#include "libtrain/data/load.h"
#include "libtrain/ranks/strategy.h"

static const struct ctt_task_kind *const tasks[] = {
    [CTT_RECOGNISE] = &ctt_recognise_task, [CTT_PREDICT] = &ctt_predict_task,
    [CTT_BOTH] = &ctt_recognise_task, [CTT_NEXT] = &ctt_next_task,
};

int ctt_train_suits(const struct ctt_graph *model,
                    const struct ctt_train_cfg *cfg)
{
    struct ctt_graph *g = NULL;
    int rc = tasks[cfg->task]->graph(model, cfg, &g);

    ctt_graph_free(&g);
    return rc;
}

int ctt_train_device(const struct ctt_train_cfg *cfg)
{
    struct ctt_dev *dev = NULL;
    int rc = ctt_dev_open(cfg->device, cfg->threads, &dev);

    ctt_dev_close(&dev);
    return rc;
}

int ctt_train_plan(const struct ctt_graph *model,
                   const struct ctt_train_cfg *cfg, struct ctt_graph **g,
                   struct ctt_amp_plan **plan)
{
    struct ctt_graph *made = NULL;
    int rc = 0;

    CTT_TRY(tasks[cfg->task]->graph(model, cfg, &made));
    CTT_TRY(ctt_amp_plan(made, cfg, plan));
    *g = made;
    made = NULL;
out:
    ctt_graph_free(&made);
    return rc;
}

static void write_nothing(struct ctt_train_cfg *cfg)
{
    cfg->out = cfg->checkpoint = cfg->log_csv = cfg->log_json = NULL;
}

/* A server and its workers test and stop each on their own. */
static void choose_strategy(struct ctt_trainer *t, struct ctt_train_cfg *own)
{
    t->strategy = ctt_strategy_of(own);
    if (t->strategy->work)
        own->wiring.comm = NULL;
    t->peers = own->wiring.comm;
}

int ctt_train_opens(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                    struct ctt_data *train, struct ctt_data *val)
{
    struct ctt_train_cfg quiet = *cfg;
    struct ctt_trainer t = { .m = m, .cfg = &quiet, .task = tasks[cfg->task],
                             .data = train, .val = val,
                             .comm = cfg->wiring.comm };
    int rc;

    choose_strategy(&t, &quiet);
    write_nothing(&quiet);
    rc = ctt_trainer_open(&t);
    ctt_trainer_close(&t);
    return rc;
}

/* The part of this rank, between opening and closing. */
static int train_rank(struct ctt_trainer *t, struct ctt_result *r)
{
    const struct ctt_strategy *s = t->strategy;
    int rc;

    if (s->work && ctt_comm_place(t->comm)->rank > 0)
        return s->work(t, r);
    CTT_TRY(ctt_trainer_loop(t, r));
    CTT_TRY(ctt_trainer_finish(t, r));
    if (s->end)
        CTT_TRY(s->end(t, r));
out:
    return rc;
}

int ctt_train(struct ctt_model *m, const struct ctt_train_cfg *cfg,
              struct ctt_data *train, struct ctt_data *val,
              const struct ctt_events *ev, struct ctt_result *out)
{
    struct ctt_train_cfg own = *cfg;
    struct ctt_trainer t = { .m = m, .cfg = &own, .task = tasks[cfg->task],
                         .data = train, .val = val, .ev = ev,
                         .comm = cfg->wiring.comm,
                         .saves = cfg->checkpoint != NULL };
    struct ctt_result r = { 0 };
    int rc = 0, bad;

    choose_strategy(&t, &own);
    if (ctt_comm_place(t.comm)->rank > 0)
        write_nothing(&own);
    CTT_TRY(ctt_trainer_open(&t));
    CTT_TRY(train_rank(&t, &r));
    *out = r;
out:
    bad = ctt_trainer_close(&t);
    return rc < 0 ? rc : bad;
}
