/* SPDX-License-Identifier: Apache-2.0
 * features_norms.c: statistics of the batch norms of a backbone with random
 * weights, from frames. */
#include "libtrain/recognise/features.h"
#include "libtrain/data/load.h"
#include "libtrain/evaluate.h"
#include "net/op.h"
#include "run/run.h"

#include <string.h>

enum { STILLS = 48 };     /* frames */

struct stills {
    const struct ctt_train_cfg *cfg;
    struct ctt_data  *d;
    struct ctt_model *m;
    float            *x;        /* [n][h, w, c] */
    int64_t           frame;    /* numbers of one */
    int               n;
};

/* The middle frame of the clip of a batch. */
static int take_still(void *arg, const struct ctt_batch *b, const void *answers)
{
    struct stills *s = arg;

    (void)answers;
    s->n += b->length[0] > 0;
    return 0;
}

static int read_still(void *arg, const struct ctt_batch *b, void *answers)
{
    struct stills *s = arg;

    (void)answers;
    if (b->length[0])
        memcpy(s->x + s->n * s->frame, b->x + b->length[0] / 2 * s->frame,
               (size_t)s->frame * sizeof(*s->x));
    return 0;
}

static int read_stills(struct stills *s)
{
    struct ctt_eval_set set = { NULL };
    int rc;

    CTT_TRY(ctt_eval_set_open(s->d, 1, s->d->longest, s->cfg->buckets, NULL,
                              8, &set));
    CTT_TRY(ctt_eval_set_run(&set, &(struct ctt_eval_job){
        .arg = s, .run = read_still, .add = take_still }));
out:
    ctt_eval_set_close(&set);
    return rc;
}

/* All frames are one batch, in training: the norms take its statistics. */
static int run_stills(void *arg, struct ctt_dev *dev, const float *w)
{
    struct stills *s = arg;
    int input = ctt_graph_input(s->m->g), rc;
    struct ctt_run *r = NULL;

    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){ .g = s->m->g, .dev = dev,
        .w = w, .samples = s->n, .steps = 1, .train = 1 }, &r));
    CTT_TRY(ctt_run_put(r, input, 0, s->x, s->n *
                        ctt_rows(&s->m->g->node[input].out)));
    CTT_TRY(ctt_run_steps(r, 1));
    if (w != s->m->w)
        CTT_TRY(ctt_dev_copy(dev, CTT_TO_HOST, w, s->m->w, s->m->g->weights *
                             (int64_t)sizeof(*w)));
out:
    ctt_run_close(&r);
    return rc;
}

static void move_statistics(const struct ctt_model *from, struct ctt_model *to)
{
    enum { MEAN = 2, VAR = 3 };

    for (int i = 0; i < to->g->count; i++) {
        const struct ctt_node *n = &to->g->node[i];
        size_t size = (size_t)n->out.c * sizeof(float);

        if (!ctt_is_batch_norm(n))
            continue;
        memcpy(to->w + n->at[MEAN], from->w + n->at[MEAN], size);
        memcpy(to->w + n->at[VAR], from->w + n->at[VAR], size);
    }
}

int ctt_features_norms(struct ctt_model *m, const struct ctt_train_cfg *cfg,
                       struct ctt_data *d)
{
    struct ctt_data part = { .clip = NULL };
    struct stills s = { .cfg = cfg, .d = &part };
    int rc;

    CTT_TRY(ctt_features_check(m->g));
    CTT_TRY(ctt_data_part(d, STILLS, &part));
    CTT_TRY(ctt_model_copy(m, &s.m));
    for (int i = 0; i < m->g->count; i++)
        if (ctt_is_batch_norm(&m->g->node[i]))
            s.m->g->node[i].attr.norm.momentum = 1;
    s.frame = ctt_volume(&m->g->node[ctt_graph_input(m->g)].out);
    s.x = ctt_calloc((size_t)part.clips * (size_t)s.frame, sizeof(*s.x));
    CTT_TRY(s.x ? 0 : CTT_ENOMEM);
    CTT_TRY(read_stills(&s));
    CTT_CHECK(rc == 0, CTT_ESTOP, "stopped");
    CTT_CHECK(s.n, CTT_EUNSUP, "no clip can be read");
    CTT_TRY(ctt_eval_model(s.m, cfg, run_stills, &s));
    move_statistics(s.m, m);
out:
    ctt_model_free(&s.m);
    ctt_free(part.clip);
    ctt_free(s.x);
    return rc;
}
