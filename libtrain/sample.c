/* SPDX-License-Identifier: Apache-2.0
 * sample.c: values that nodes of a model have at random places of clips. */
#include "libtrain/chance.h"
#include "libtrain/data/load.h"
#include "libtrain/evaluate.h"
#include "net/op.h"
#include "run/run.h"

/* Zhang and others 2015 draw as many from a picture. */
enum { PLACES = 10 };

struct sampling {
    const struct ctt_sample    *want;
    const struct ctt_model     *m;
    const struct ctt_train_cfg *cfg;
    struct ctt_data            *d;
    const struct ctt_events    *ev;
    struct ctt_eval_set set;
    struct ctt_run     *r;
    float              *rows;    /* of one node: a step, or all asks */
    int                 left;    /* clips still to be read */
    uint64_t            key, frame;    /* of random places; frame counts */
};

/* Random clips in an order of its own. */
static int open_set(struct sampling *s, int n)
{
    struct ctt_buckets b;
    int rc;

    CTT_TRY(ctt_eval_set_open(s->d, n, s->d->longest, "1", &s->set));
    CTT_TRY(ctt_buckets_find(s->d, n, "1", &b));
    ctt_order_make(s->d, &b, 1, s->key, s->set.order);
    if (s->set.order->batches > (s->left + n - 1) / n)
        s->set.order->batches = (s->left + n - 1) / n;
out:
    return rc;
}

static int open_rows(struct sampling *s, int n)
{
    int64_t most = 0;

    for (int k = 0; k < s->want->nodes; k++) {
        int64_t v = ctt_volume(&s->m->g->node[s->want->node[k]].out);
        most = v > most ? v : most;
    }
    s->rows = ctt_calloc((size_t)n, (size_t)most * sizeof(*s->rows));
    return s->rows ? 0 : CTT_ENOMEM;
}

/* Takes at most PLACES of the rows (pixels) of one frame. */
static void take_frame(struct sampling *s, int k, const float *rows)
{
    const struct ctt_tensor *y = &s->m->g->node[s->want->node[k]].out;
    int64_t pixels = ctt_rows(y);
    uint64_t key = ctt_call_key(s->key, (uint64_t)k, s->frame++);

    for (int64_t i = 0; i < (pixels < PLACES ? pixels : PLACES); i++) {
        int64_t at = pixels <= PLACES ? i
            : (int64_t)(ctt_random(key, (uint64_t)i) % (uint64_t)pixels);
        s->want->take(s->want->to, k, rows + at * y->c);
    }
}

static int take_node(struct sampling *s, int k, const struct ctt_batch *b,
                     int clips)
{
    int node = s->want->node[k], clip = node >= s->m->g->clip, rc = 0;
    const struct ctt_tensor *y = &s->m->g->node[node].out;

    for (int t = 0; t < (clip ? 1 : b->steps); t++) {
        CTT_TRY(ctt_run_get(s->r, node, t, b->n * ctt_rows(y), s->rows));
        for (int j = 0; j < clips; j++)
            if (t < b->length[j])
                take_frame(s, k, s->rows + j * ctt_volume(y));
    }
out:
    return rc;
}

static int run_batch(void *arg, const struct ctt_batch *b)
{
    struct sampling *s = arg;
    int input = ctt_graph_input(s->m->g), rc = 0;
    int clips = s->left < b->n ? s->left : b->n;

    ctt_run_reset(s->r);
    CTT_TRY(ctt_run_put(s->r, input, 0, b->x, (int64_t)b->steps * b->n *
                        ctt_rows(&s->m->g->node[input].out)));
    CTT_TRY(ctt_run_steps(s->r, b->steps));
    if (s->m->g->clip < s->m->g->count) {
        for (int j = 0; j < b->n; j++)
            s->r->ask[j] = (struct ctt_ask){
                j, b->length[j] ? b->length[j] - 1 : 0 };
        CTT_TRY(ctt_run_clip(s->r, b->n));
    }
    for (int k = 0; k < s->want->nodes; k++)
        CTT_TRY(take_node(s, k, b, clips));
    s->left -= clips;
out:
    return rc;
}

/* All values stay, as for a backward pass; norms use what training found. */
static int run(void *arg, struct ctt_dev *dev, const float *w)
{
    struct sampling *s = arg;
    int n = ctt_eval_batch(s->cfg, s->d), rc;

    n = n > s->left ? s->left : n;
    CTT_TRY(ctt_data_check(s->d, s->m->g));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = s->m->g, .dev = dev, .w = w, .samples = n,
        .steps = s->d->longest,
        .asks = s->m->g->clip < s->m->g->count ? n : 0, .train = 1 }, &s->r));
    s->r->train = 0;
    CTT_TRY(open_rows(s, n));
    CTT_TRY(open_set(s, n));
    CTT_TRY(ctt_eval_set_run(&s->set, s->ev, run_batch, s));
out:
    ctt_eval_set_close(&s->set);
    ctt_run_close(&s->r);
    return rc;
}

int ctt_sample_values(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *d,
                      int clips, const struct ctt_sample *want,
                      const struct ctt_events *ev)
{
    struct sampling s = { .want = want, .m = m, .cfg = cfg, .d = d, .ev = ev,
                          .key = ctt_key((uint64_t)cfg->seed, CTT_KEY_SAMPLE),
                          .left = clips < d->clips ? clips : d->clips };
    int rc = ctt_eval_model(m, cfg, run, &s);

    ctt_free(s.rows);
    return rc;
}
