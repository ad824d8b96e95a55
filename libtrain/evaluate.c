/* SPDX-License-Identifier: Apache-2.0
 * evaluate.c: the parts of testing a model that all tasks share, and how ranks
 * share its batches. */
#include "libtrain/evaluate.h"
#include "libtrain/data/load.h"
#include "libtrain/ranks/replica.h"
#include "base/span.h"

#include <string.h>

int ctt_eval_batch(const struct ctt_train_cfg *cfg, const struct ctt_data *d)
{
    return cfg->val_batch < d->clips ? cfg->val_batch : d->clips;
}

/* Head of a rank's message about a batch; lengths and answers follow. */
struct head {
    int  stop;
    int  rc;
    char why[CTT_ROW_TEXT];
};

static int *lengths_of(char *row)
{
    return (int *)(void *)(row + ctt_align(sizeof(struct head), 8));
}

/* Offset of the answers in a row of n clips. */
static int64_t answers_at(int n)
{
    return ctt_align(sizeof(struct head), 8) +
           ctt_align(n * (int64_t)sizeof(int), 8);
}

static void *answers_of(char *row, int n)
{
    return row + answers_at(n);
}

static int open_eval_part(struct ctt_eval_set *s)
{
    size_t most = (size_t)(s->order->batches / s->sharers + 1);

    s->part.n = s->order->n;
    s->part.steps = ctt_calloc(most, sizeof(int));
    s->part.clip = ctt_calloc(most * (size_t)s->part.n, sizeof(int));
    return s->part.steps && s->part.clip ? 0 : CTT_ENOMEM;
}

/* The batches k of the order with k % sharers = rank. */
static void take_part(struct ctt_eval_set *s)
{
    const struct ctt_comm_place *p = ctt_comm_place(s->comm);
    const struct ctt_order *all = s->order;
    size_t n = (size_t)all->n;

    s->part.batches = 0;
    for (int k = p->rank; k < all->batches && p->rank < s->sharers;
         k += s->sharers) {
        int to = s->part.batches++;

        s->part.steps[to] = all->steps[k];
        memcpy(s->part.clip + (size_t)to * n, all->clip + (size_t)k * n,
               n * sizeof(int));
    }
}

static int open_rows(struct ctt_eval_set *s)
{
    s->row = answers_at(s->order->n) + ctt_align(s->answers, 8);
    s->mine = ctt_calloc(1, (size_t)s->row);
    s->all = ctt_calloc((size_t)ctt_comm_place(s->comm)->ranks,
                        (size_t)s->row);
    return s->mine && s->all ? 0 : CTT_ENOMEM;
}

int ctt_eval_set_open(struct ctt_data *d, int n, int frames,
                      const char *buckets, struct ctt_comm *comm,
                      int64_t answers, struct ctt_eval_set *out)
{
    struct ctt_buckets b;
    int rc = 0;

    out->comm = comm;
    out->answers = answers;
    out->sharers = d->one ? 1 : ctt_comm_place(comm)->ranks;
    CTT_TRY(ctt_buckets_find(d, n, buckets, &b));
    CTT_TRY(ctt_order_new(d, n, &out->order));
    ctt_order_make(d, &b, 0, 0, out->order);
    CTT_TRY(open_eval_part(out));
    CTT_TRY(open_rows(out));
    CTT_TRY(ctt_loader_open(d, n, frames, &out->loader));
out:
    return rc;
}

void ctt_eval_set_close(struct ctt_eval_set *s)
{
    ctt_loader_close(&s->loader);
    ctt_order_free(&s->order);
    ctt_free(s->part.steps);
    ctt_free(s->part.clip);
    ctt_free(s->mine);
    ctt_free(s->all);
}

/* This rank's next batch, in its row. */
static int run_eval_batch(struct ctt_eval_set *s,
                          const struct ctt_eval_job *job)
{
    struct head *h = (struct head *)(void *)s->mine;
    struct ctt_batch b;
    double seconds = 0, start = ctt_span_begin();
    int rc;

    CTT_TRY(ctt_loader_next(s->loader, &b, &seconds));
    memcpy(lengths_of(s->mine), b.length, (size_t)b.n * sizeof(int));
    CTT_TRY(job->run(job->arg, &b, answers_of(s->mine, b.n)));
    ctt_loader_done(s->loader);
    ctt_span_end(CTT_SPAN_TEST, start);
    h->stop = ctt_stopped() != 0;
out:
    return rc;
}

/* The same as a rank says it: an error too. */
static void say_batch(struct ctt_eval_set *s, const struct ctt_eval_job *job)
{
    struct head *h = (struct head *)(void *)s->mine;
    int rc;

    memset(s->mine, 0, (size_t)s->row);
    rc = run_eval_batch(s, job);
    h->rc = rc < 0 ? rc : 0;
    if (rc < 0)
        snprintf(h->why, sizeof(h->why), "%s", ctt_errmsg());
}

/* Batch k, of which rank r has said its row. */
static int add_batch(struct ctt_eval_set *s, const struct ctt_eval_job *job,
                     int k, int r)
{
    char *row = s->all + r * s->row;
    const struct head *h = (const struct head *)(void *)row;
    const struct ctt_order *o = s->order;
    const struct ctt_batch b = { .steps = o->steps[k], .n = o->n,
        .clip = o->clip + (size_t)k * (size_t)o->n,
        .length = lengths_of(row) };
    int rc = 0;

    if (h->rc == CTT_ESTOP)    /* while the loader decoded */
        return 1;
    if (h->rc < 0)
        return ctt_rank_error(h->rc, r, h->why);
    if (job->add)
        CTT_TRY(job->add(job->arg, &b, answers_of(row, o->n)));
    rc = h->stop;
out:
    return rc;
}

int ctt_eval_set_run(struct ctt_eval_set *s, const struct ctt_eval_job *job)
{
    const struct ctt_comm_place *p = ctt_comm_place(s->comm);
    struct ctt_augment none = { 0 };
    int rc = 0;

    ctt_loader_rest(s->loader);
    take_part(s);
    ctt_loader_start(s->loader, &s->part, &none, 0);
    for (int from = 0; from < s->order->batches; from += s->sharers) {
        int stop = 0;

        if (p->rank < s->sharers && from + p->rank < s->order->batches)
            say_batch(s, job);
        CTT_TRY(ctt_comm_allgather(s->comm, s->mine, s->row, s->all));
        for (int r = 0; r < s->sharers && from + r < s->order->batches; r++) {
            CTT_TRY(add_batch(s, job, from + r, r));
            stop |= rc;
        }
        if (stop)
            return 1;
    }
    rc = 0;
out:
    return rc;
}

int ctt_eval_model(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                   int (*test)(void *arg, struct ctt_dev *dev, const float *w),
                   void *arg)
{
    struct ctt_dev *dev = NULL;
    const float *w;
    void *own = NULL;
    int rc = 0;

    CTT_TRY(ctt_dev_open(cfg->device, cfg->threads, &dev));
    CTT_TRY(ctt_dev_show(dev, "weights", m->w, m->g->weights, &own, &w));
    CTT_TRY(test(arg, dev, w));
    CTT_CHECK(rc == 0, CTT_ESTOP, "stopped while evaluating");
out:
    ctt_dev_free(dev, &own);
    ctt_dev_close(&dev);
    return rc;
}
