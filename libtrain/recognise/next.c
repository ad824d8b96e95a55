/* SPDX-License-Identifier: Apache-2.0
 * next.c: prediction of the next symbol of a text: the classes of the steps of
 * a clip, and tests. */
#include "libtrain/recognise/recognise.h"
#include "libtrain/before.h"
#include "libtrain/data/load.h"
#include "libtrain/evaluate.h"
#include "libtrain/task.h"
#include "net/op.h"
#include "run/run.h"
#include "video/text/text.h"

int ctt_next_check(const struct ctt_graph *g, const struct ctt_train_cfg *cfg,
                   const struct ctt_data *d)
{
    int symbols = d->list->labels, rc = 0;

    (void)cfg;
    CTT_TRY(ctt_answer_check(g));
    CTT_CHECK(g->clip == g->count && !g->several, CTT_EUNSUP, "the line '%s' "
              "is of models of clips, and the next symbol is answered at each "
              "step", g->several ? "several" : "clip");
    CTT_TRY(ctt_data_check(d, g));
    CTT_CHECK(ctt_answer_classes(g) == symbols, CTT_EINVAL, "the model answers "
              "%d symbols, the text has %d", ctt_answer_classes(g), symbols);
    for (int i = 0; i < g->count; i++)
        CTT_CHECK(g->node[i].op != CTT_OP_EMBED ||
                  g->node[i].in[0] != ctt_graph_input(g) ||
                  g->node[i].attr.embed.vocab == symbols, CTT_EINVAL,
                  "%s: vocab=%d, the text has %d symbols", g->node[i].name,
                  g->node[i].attr.embed.vocab, symbols);
out:
    return rc;
}

/* The symbol after step t of the clip at place j. */
static int symbol_after(const struct ctt_data *d, const struct ctt_batch *b,
                        int j, int t)
{
    return t + 1 < b->length[j] ? (int)b->x[(t + 1) * (int64_t)b->n + j]
                                : d->clip[b->clip[j]].label;
}

double ctt_next_goals(const struct ctt_data *d, const struct ctt_batch *b,
                      int each, struct ctt_goal *goal)
{
    double sum = 0;

    for (int j = 0; j < b->n; j++)
        for (int t = 0; t < each; t++, goal++) {
            *goal = (struct ctt_goal){ .sample = j, .step = t, .own = 1 };
            if (t >= b->length[j])
                continue;
            goal->label = goal->other = symbol_after(d, b, j, t);
            goal->weight = 1;
            sum++;
        }
    return sum;
}

/* ---- tests ---- */

struct next_test {
    struct ctt_graph   *g;        /* with target and loss */
    const struct ctt_data *d;
    struct ctt_run     *r;
    struct ctt_eval_set set;
    int                 input, target;
    struct ctt_goal    *goal;     /* of a batch */
    float              *row;      /* targets, or losses, of its steps */
    int                 begins;   /* no batch of the text was run */
    double              sum;      /* of the losses */
    int64_t             symbols;
};

/* Of one text one clip a batch, as convtt-infer has one, so that its states go
 * from the first symbol to the last. */
static int clips_of(const struct ctt_train_cfg *cfg, const struct ctt_data *d)
{
    return d->one ? 1 : ctt_eval_batch(cfg, d);
}

/* Steps that are computed together: their logits are what takes memory. */
static int steps_of(int classes, int n, int longest)
{
    enum { LOGITS = 1 << 22 };
    int most = LOGITS / (classes * n);

    return most < 1 ? 1 : most < longest ? most : longest;
}

int ctt_next_test_open(const struct ctt_graph *g, const float *w,
                       const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                       struct ctt_data *d, void **out)
{
    struct next_test *e = ctt_calloc(1, sizeof(*e));
    int n = clips_of(cfg, d), rc = e ? 0 : CTT_ENOMEM;
    size_t places = (size_t)n * (size_t)d->longest;
    void *made = e;

    CTT_TRY(rc);
    CTT_TRY(ctt_next_check(g, cfg, d));
    CTT_TRY(ctt_recognise_graph(g, cfg, &e->g));
    e->d = d;
    e->input = ctt_graph_input(e->g);
    e->target = e->g->count - 2;
    e->goal = ctt_calloc(places, sizeof(*e->goal));
    e->row = ctt_calloc(places, CTT_TARGET * sizeof(*e->row));
    CTT_TRY(e->goal && e->row ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){ .g = e->g, .dev = dev, .w = w,
        .samples = n,
        .steps = steps_of(ctt_answer_classes(g), n, d->longest) }, &e->r));
    CTT_TRY(ctt_eval_set_open(d, n, d->longest, cfg->buckets, cfg->wiring.comm,
                              n * (int64_t)sizeof(double), &e->set));
    *out = made;
    made = NULL;
out:
    ctt_next_test_close(&made);
    return rc;
}

void ctt_next_test_close(void **e)
{
    struct next_test *t = *e;

    if (!t)
        return;
    ctt_eval_set_close(&t->set);
    ctt_run_close(&t->r);
    ctt_graph_free(&t->g);
    ctt_free(t->goal);
    ctt_free(t->row);
    ctt_free(t);
    *e = NULL;
}

/* Runs the steps t .. t + n - 1 of a batch; their losses are in e->row. */
static int run_steps(struct next_test *e, const struct ctt_batch *b, int t,
                     int n)
{
    int64_t rows = (int64_t)n * b->n;
    int rc = 0;

    for (int k = 0; k < n; k++)
        for (int j = 0; j < b->n; j++) {
            const struct ctt_goal *goal = &e->goal[j * b->steps + t + k];
            float *row = e->row + ((int64_t)k * b->n + j) * CTT_TARGET;

            row[0] = (float)goal->label;
            row[1] = goal->weight;
        }
    CTT_TRY(ctt_run_make_room(e->r, n));
    CTT_TRY(ctt_run_put(e->r, e->input, e->r->cursor,
                        b->x + t * (int64_t)b->n, rows));
    CTT_TRY(ctt_run_put(e->r, e->target, e->r->cursor, e->row, rows));
    CTT_TRY(ctt_run_steps(e->r, n));
    CTT_TRY(ctt_run_get(e->r, e->g->count - 1, e->r->cursor - n, rows,
                        e->row));
out:
    return rc;
}

/* The sum of the losses of each clip. */
static int next_answers(void *arg, const struct ctt_batch *b, void *answers)
{
    struct next_test *e = arg;
    double *sum = answers;
    int rc = 0, room = e->r->room;

    ctt_next_goals(e->d, b, b->steps, e->goal);
    if (!e->d->one || e->begins)
        ctt_run_reset(e->r);
    e->begins = 0;
    for (int t = 0; t < b->steps; t += room) {
        int n = b->steps - t < room ? b->steps - t : room;

        CTT_TRY(run_steps(e, b, t, n));
        for (int i = 0; i < n * b->n; i++)
            sum[i % b->n] += (double)e->row[i];
    }
out:
    return rc;
}

static int add_next(void *arg, const struct ctt_batch *b, const void *answers)
{
    struct next_test *e = arg;
    const double *sum = answers;

    for (int j = 0; j < b->n; j++) {
        if (!b->length[j])
            continue;
        e->sum += sum[j];
        e->symbols += b->length[j];
    }
    return 0;
}

int ctt_next_test(void *arg, const struct ctt_events *ev,
                  struct ctt_test_score *out)
{
    struct next_test *e = arg;
    int rc;

    (void)ev;
    e->sum = 0;
    e->symbols = 0;
    e->begins = 1;
    e->r->stamp++;
    CTT_TRY(ctt_eval_set_run(&e->set, &(struct ctt_eval_job){
        .arg = e, .run = next_answers, .add = add_next }));
    if (rc)
        goto out;
    *out = (struct ctt_test_score){ .loss = e->sum / (double)e->symbols };
out:
    ctt_run_rest(e->r);
    return rc;
}

/* ---- a model once ---- */

struct next_request {
    const struct ctt_model     *m;
    const struct ctt_train_cfg *cfg;
    struct ctt_data            *d;
    struct ctt_test_score       score;
};

static int test_next(void *arg, struct ctt_dev *dev, const float *w)
{
    struct next_request *q = arg;
    void *e = NULL;
    int rc;

    CTT_TRY(ctt_next_test_open(q->m->g, w, q->cfg, dev, q->d, &e));
    CTT_TRY(ctt_next_test(e, NULL, &q->score));
out:
    ctt_next_test_close(&e);
    return rc;
}

int ctt_evaluate_next(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *d,
                      double *nats)
{
    struct next_request q = { .m = m, .cfg = cfg, .d = d };
    int rc = ctt_eval_model(m, cfg, test_next, &q);

    if (rc >= 0)
        *nats = q.score.loss;
    return rc;
}
