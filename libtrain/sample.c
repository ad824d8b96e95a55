/* SPDX-License-Identifier: Apache-2.0
 * sample.c: values that nodes of a model have, and inputs that convs read, at
 * random places of clips. */
#include "libtrain/chance.h"
#include "libtrain/data/load.h"
#include "libtrain/evaluate.h"
#include "net/op.h"
#include "run/run.h"

#include <string.h>

/* Zhang and others 2015 draw as many from a picture, and use as many. */
enum { PLACES = 10, PICTURES = 3000 };

/* Bytes of the frames of a batch: with many more, most of the time would go
 * into getting memory for the values. */
static const int64_t FRAMES = (int64_t)8 << 20;

struct sampling {
    const struct ctt_sample    *want;
    const struct ctt_model     *m;
    const struct ctt_train_cfg *cfg;
    struct ctt_data            *d;
    struct ctt_eval_set set;
    struct ctt_run     *r;
    float              *rows;    /* of one node: a step, or all asks */
    float              *patch;   /* the inputs of one place */
    int                 left;    /* clips still to be read */
    uint64_t            key, *frame;   /* of random places; frames so far, by
                                          node, so that its places do not
                                          depend on the other nodes */
};

/* Random clips in an order of its own, of a text random windows, which begin
 * from zeros. */
static int open_set(struct sampling *s, int n)
{
    struct ctt_data any = *s->d;
    struct ctt_buckets b;
    int rc;

    any.one = 0;
    CTT_TRY(ctt_eval_set_open(s->d, n, s->d->longest, "1", NULL, 0,
                              &s->set));
    CTT_TRY(ctt_buckets_find(s->d, n, "1", &b));
    ctt_order_make(&any, &b, 1, s->key, s->set.order);
    if (s->set.order->batches > (s->left + n - 1) / n)
        s->set.order->batches = (s->left + n - 1) / n;
out:
    return rc;
}

/* The node whose values are read for want->node[k]. */
static int read_node(const struct sampling *s, int k)
{
    int node = s->want->node[k];

    return s->want->what == CTT_SAMPLE_INPUTS ? s->m->g->node[node].in[0]
                                              : node;
}

static int open_rows(struct sampling *s, int n)
{
    int64_t most = 0, patch = 1;

    for (int k = 0; k < s->want->nodes; k++) {
        const struct ctt_node *node = &s->m->g->node[s->want->node[k]];
        int64_t v = ctt_volume(&s->m->g->node[read_node(s, k)].out);

        most = v > most ? v : most;
        if (s->want->what == CTT_SAMPLE_INPUTS &&
            ctt_volume(&node->w[0]) / node->w[0].n > patch)
            patch = ctt_volume(&node->w[0]) / node->w[0].n;
    }
    s->rows = ctt_calloc((size_t)n, (size_t)most * sizeof(*s->rows));
    s->patch = ctt_calloc((size_t)patch, sizeof(*s->patch));
    s->frame = ctt_calloc((size_t)s->want->nodes, sizeof(*s->frame));
    return s->rows && s->patch && s->frame ? 0 : CTT_ENOMEM;
}

/* ---- the inputs of a place ---- */

/* The input along one axis that tap k of result o reads; -1: none.  An element
 * of a deconv's input reaches results at its multiple of the stride. */
static int64_t source(const struct ctt_node *n, int axis, int64_t o, int64_t k,
                      int64_t size)
{
    int stride = n->attr.conv.stride[axis], pad = n->attr.conv.pad[axis];
    int64_t at = o * stride + k * n->attr.conv.dilation[axis] - pad;

    if (n->op == CTT_OP_DECONV) {
        at = o + pad - k;
        at = at % stride ? -1 : at / stride;
    }
    return at < size ? at : -1;
}

/* Copies the values of frame x that node n reads for its result at `at`. */
static const float *patch_of(struct sampling *s, const struct ctt_node *n,
                             const float *x, int64_t at)
{
    const struct ctt_tensor *in = &s->m->g->node[n->in[0]].out, *y = &n->out;
    const struct ctt_tensor *w = &n->w[0];
    int64_t o[3] = { at / (y->h * y->w), at / y->w % y->h, at % y->w };
    float *to = s->patch;

    for (int64_t d = 0; d < w->d; d++)
        for (int64_t h = 0; h < w->h; h++)
            for (int64_t k = 0; k < w->w; k++, to += w->c) {
                int64_t pd = source(n, 0, o[0], d, in->d),
                        ph = source(n, 1, o[1], h, in->h),
                        pw = source(n, 2, o[2], k, in->w);

                memset(to, 0, (size_t)w->c * sizeof(*to));
                if (pd >= 0 && ph >= 0 && pw >= 0)
                    memcpy(to, x + ((pd * in->h + ph) * in->w + pw) * in->c,
                           (size_t)w->c * sizeof(*to));
            }
    return s->patch;
}

/* ---- places ---- */

/* Samples PLACES, or all, of the rows (pixels) of one frame's result; x: the
 * frame that is read. */
static void take_frame(struct sampling *s, int k, const float *x)
{
    const struct ctt_node *n = &s->m->g->node[s->want->node[k]];
    int64_t pixels = ctt_rows(&n->out);
    int64_t most = s->want->what == CTT_SAMPLE_ALL ? pixels : PLACES;
    uint64_t key = ctt_call_key(s->key, 0, s->frame[k]++);

    for (int64_t i = 0; i < (pixels < most ? pixels : most); i++) {
        int64_t at = pixels <= most ? i
            : (int64_t)(ctt_random(key, (uint64_t)i) % (uint64_t)pixels);
        s->want->take(s->want->to, k, s->want->what == CTT_SAMPLE_INPUTS
                      ? patch_of(s, n, x, at) : x + at * n->out.c);
    }
}

static int take_node(struct sampling *s, int k, const struct ctt_batch *b,
                     int clips)
{
    int node = read_node(s, k), clip = node >= s->m->g->clip, rc = 0;
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

static int sample_batch(void *arg, const struct ctt_batch *b, void *answers)
{
    struct sampling *s = arg;
    int input = ctt_graph_input(s->m->g), rc = 0;
    int clips = 0, used = 0;

    (void)answers;
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
    for (; clips < b->n && used < s->left; clips++)
        used += b->length[clips] > 0;
    for (int k = 0; k < s->want->nodes; k++)
        CTT_TRY(take_node(s, k, b, clips));
    s->left -= used;
out:
    return rc;
}

/* As many clips as have PICTURES frames; nodes after `clip` are computed once a
 * clip. */
static int enough_clips(const struct ctt_model *m, const struct ctt_data *d)
{
    int64_t frames = ctt_data_all_frames(d);

    if (m->g->clip < m->g->count)
        return PICTURES;
    return (int)((int64_t)PICTURES * d->clips / (frames > 0 ? frames : 1)) + 1;
}

/* As many clips of a batch of n as have no more bytes of FRAMES, but one:
 * values take memory in proportion.  The graph must not matter, as batches
 * decide the order of the rows, and rows of two graphs are compared. */
static int fewer_clips(const struct ctt_data *d, int n)
{
    int64_t each = (int64_t)d->in.h * d->in.w * d->in.c * d->longest *
                   (int64_t)sizeof(float) + 1;

    if (n > FRAMES / each)
        n = (int)(FRAMES / each);
    return n > 1 ? n : 1;
}

/* All values stay, as for a backward pass; norms use the trained statistics. */
static int sample_clips(void *arg, struct ctt_dev *dev, const float *w)
{
    struct sampling *s = arg;
    int n = ctt_eval_batch(s->cfg, s->d), rc;

    n = n > s->left ? s->left : n;
    n = fewer_clips(s->d, n);
    CTT_TRY(ctt_data_check(s->d, s->m->g));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = s->m->g, .dev = dev, .w = w, .samples = n,
        .steps = s->d->longest,
        .asks = s->m->g->clip < s->m->g->count ? n : 0, .train = 1 }, &s->r));
    s->r->train = 0;
    CTT_TRY(open_rows(s, n));
    CTT_TRY(open_set(s, n));
    CTT_TRY(ctt_eval_set_run(&s->set, &(struct ctt_eval_job){
        .arg = s, .run = sample_batch }));
out:
    ctt_eval_set_close(&s->set);
    ctt_run_close(&s->r);
    return rc;
}

int ctt_sample_values(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *d,
                      int clips, const struct ctt_sample *want)
{
    struct sampling s = { .want = want, .m = m, .cfg = cfg, .d = d,
                          .key = ctt_key((uint64_t)cfg->seed,
                                         CTT_KEY_SAMPLE) };
    int rc;

    clips = clips > 0 ? clips : enough_clips(m, d);
    s.left = clips < d->clips ? clips : d->clips;
    rc = ctt_eval_model(m, cfg, sample_clips, &s);
    ctt_free(s.rows);
    ctt_free(s.patch);
    ctt_free(s.frame);
    return rc;
}
