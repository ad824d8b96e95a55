/* SPDX-License-Identifier: Apache-2.0
 * evaluate.c: the parts of testing a model that all tasks share. */
#include "libtrain/evaluate.h"
#include "libtrain/data/load.h"

int ctt_eval_batch(const struct ctt_train_cfg *cfg, const struct ctt_data *d)
{
    return cfg->val_batch < d->clips ? cfg->val_batch : d->clips;
}

int ctt_eval_set_open(struct ctt_data *d, int n, int frames,
                      const char *buckets, struct ctt_eval_set *out)
{
    struct ctt_buckets b;
    int rc = 0;

    CTT_TRY(ctt_buckets_find(d, n, buckets, &b));
    CTT_TRY(ctt_order_new(d, n, &out->order));
    ctt_order_make(d, &b, 0, 0, out->order);
    CTT_TRY(ctt_loader_open(d, n, frames, &out->loader));
out:
    return rc;
}

void ctt_eval_set_close(struct ctt_eval_set *s)
{
    ctt_loader_close(&s->loader);
    ctt_order_free(&s->order);
}

int ctt_eval_set_run(struct ctt_eval_set *s, const struct ctt_events *ev,
                     int (*batch)(void *arg, const struct ctt_batch *b),
                     void *arg)
{
    struct ctt_augment none = { 0 };
    struct ctt_batch b;
    double seconds = 0;
    int rc = 0;

    ctt_loader_start(s->loader, s->order, &none, 0);
    while ((rc = ctt_loader_next(s->loader, &b, &seconds)) > 0) {
        if (b.bad && ev && ev->clip)
            ev->clip(ev->arg, b.bad);
        CTT_TRY(batch(arg, &b));
        ctt_loader_done(s->loader);
        if (ctt_stopped())
            return 1;
    }
    rc = rc == CTT_ESTOP ? 1 : rc;    /* while the loader decoded */
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
