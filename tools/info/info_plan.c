/* SPDX-License-Identifier: Apache-2.0
 * info_plan.c: convtt-info --plan: which kernel computes each node of a model
 * on this machine and why, inside or outside the loop over time steps, and its
 * time; and which kernels compute the gradients of its convs. */
#include "net/op.h"
#include "net/quant.h"
#include "base/random.h"
#include "tools/info/info_tool.h"
#include "tools/bench/bench_tool.h"
#include "tools/shared/tool.h"

#include <string.h>

enum { WARM = 3, ROUNDS = 10 };

struct plan {
    const struct ctt_graph *g;
    struct ctt_dev         *dev;
    struct ctt_run         *run;
    struct ctt_nodes        nodes;
    struct ctt_tune        *tune;     /* NULL: kernels by rule */
    float                  *noise;    /* one frame */
    void                   *w;        /* the device's copy of the weights */
};

/* Runs a frame of noise, one at a time as from a camera. */
static int step(struct plan *p)
{
    int in = ctt_graph_input(p->g), rc = 0;

    CTT_TRY(ctt_run_make_room(p->run, 1));
    CTT_TRY(ctt_run_put(p->run, in, p->run->cursor, p->noise,
                        ctt_rows(&p->g->node[in].out)));
    CTT_TRY(ctt_run_steps(p->run, 1));
    if (p->g->clip == p->g->count)
        goto out;
    p->run->ask[0] = (struct ctt_ask){ 0, p->run->cursor - 1 };
    CTT_TRY(ctt_run_clip(p->run, 1));
out:
    return rc;
}

static int measure_nodes(struct plan *p)
{
    int rc = 0;

    for (int i = 0; i < WARM; i++)
        CTT_TRY(step(p));
    CTT_TRY(ctt_nodes_open(p->run, &p->nodes));
    for (int i = 0; i < ROUNDS; i++)
        CTT_TRY(step(p));
    ctt_nodes_stop(&p->nodes);
out:
    return rc;
}

/* Multiplications of a call, with a conv that is fused into it. */
static double macs(const struct plan *p, int node)
{
    int pair = p->run->slot[node].pair;
    double n = (double)ctt_node_macs(p->g, node);

    if (pair >= 0 && !p->nodes.sum[pair][CTT_FWD].calls)
        n += (double)ctt_node_macs(p->g, pair);
    while ((node = p->run->slot[node].link) >= 0 &&
           !p->nodes.sum[node][CTT_FWD].calls)
        n += (double)ctt_node_macs(p->g, node);
    return n;
}

/* The form in which the node's first weight is read; "" if it has none. */
static const char *weight(const struct plan *p, int node,
                          char text[CTT_WEIGHT_FORM])
{
    static const char floats[] = "fp32", bytes[] = "int8";

    text[0] = '\0';
    if (p->g->node[node].nw > 0)
        ctt_weight_form(&p->run->weight[node][0], text);
    if (ctt_is_int8(p->g, node) && strncmp(text, floats, 4) == 0)
        memcpy(text, bytes, 4);
    return text;
}

static int print_plan(const struct plan *p)
{
    struct ctt_table t = { NULL, 0, 0, 0 };

    ctt_table_row(&t, "node\tword\twhen\tkernel\tweight\tms\t"
                  "G multiplications/s\twhy");
    for (int i = 0; i < p->g->count; i++) {
        void *cache = p->run->cache[i][CTT_CACHE_FWD];
        char form[CTT_WEIGHT_FORM];
        struct ctt_node_time n;
        double ms;

        if (!ctt_nodes_row(&p->nodes, i, &n))
            continue;
        ms = n.ms / ROUNDS;
        ctt_table_row(&t, "%s\t%s\t%s\t%s\t%s\t%.3f\t%.1f\t%s", n.name,
                      n.word, n.when, n.kernel, weight(p, i, form), ms,
                      macs(p, i) / ms * 1e-6,
                      ctt_dev_why(p->dev, cache, CTT_FWD));
    }
    ctt_table_row(&t, "all\t\t\t\t\t%.3f\t\t",
                  ctt_nodes_ms(&p->nodes) / ROUNDS);
    return ctt_table_print(&t);
}

/* ---- gradients of convs ---- */

/* A dense tensor of this shape, n images, at *bytes in the block. */
static struct ctt_tensor tensor_at(const struct ctt_tensor *shape, int64_t n,
                                   char *block, int64_t *bytes)
{
    struct ctt_tensor t = *shape;

    t.n = n;
    t.ld = t.c;
    t.dtype = CTT_F32;
    t.data = block ? block + *bytes : NULL;
    *bytes += ctt_align(ctt_volume(&t) * (int64_t)sizeof(float), 256);
    return t;
}

/* Fills a conv's call for one frame, in a block; returns the bytes it needs. */
static int64_t lay_call(const struct ctt_graph *g, const struct ctt_node *n,
                        char *block, struct ctt_call *c)
{
    const struct ctt_tensor *x = &g->node[n->in[0]].out;
    int64_t bytes = 0;

    *c = (struct ctt_call){ .node = n, .train = 1, .stamp = 1 };
    c->in[0] = tensor_at(x, 1, block, &bytes);
    c->din[0] = tensor_at(x, 1, block, &bytes);
    c->out = tensor_at(&n->out, 1, block, &bytes);
    c->dout = tensor_at(&n->out, 1, block, &bytes);
    for (int k = 0; k < n->nw; k++) {
        c->w[k].t = tensor_at(&n->w[k], n->w[k].n, block, &bytes);
        c->dw[k] = tensor_at(&n->w[k], n->w[k].n, block, &bytes);
    }
    return bytes;
}

/* Runs the call for one gradient, to find its kernel. */
static int tell_gradient(const struct plan *p, const char *of,
                         struct ctt_call *c, struct ctt_table *t)
{
    void *cache = NULL;
    int rc = 0;

    c->cache = &cache;
    CTT_TRY(ctt_dev_run(p->dev, c, CTT_BWD));
    ctt_table_row(t, "%s\t%s\t%s\t%s", c->node->name, of,
                  ctt_dev_impl(p->dev, cache, CTT_BWD),
                  ctt_dev_why(p->dev, cache, CTT_BWD));
out:
    ctt_dev_forget(p->dev, &cache);
    return rc;
}

/* The gradient of the input frames is not computed in training. */
static int tell_conv(const struct plan *p, const struct ctt_node *n,
                     struct ctt_table *t)
{
    struct ctt_call c, part;
    void *block = NULL;
    int rc = 0;

    CTT_TRY(ctt_dev_alloc(p->dev, n->name, lay_call(p->g, n, NULL, &c),
                          &block));
    lay_call(p->g, n, block, &c);
    if (p->g->node[n->in[0]].op != CTT_OP_INPUT) {
        part = c;
        memset(part.dw, 0, sizeof(part.dw));
        CTT_TRY(tell_gradient(p, "input", &part, t));
    }
    part = c;
    memset(part.din, 0, sizeof(part.din));
    CTT_TRY(tell_gradient(p, "weights", &part, t));
out:
    ctt_dev_free(p->dev, &block);
    return rc;
}

static int tell_gradients(const struct plan *p)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    int rc = 0;

    ctt_table_row(&t, "node\tgradient of\tkernel\twhy");
    for (int i = 0; i < p->g->count; i++) {
        const struct ctt_node *n = &p->g->node[i];

        if (ctt_is_conv(n))
            CTT_TRY(tell_conv(p, n, &t));
    }
    CTT_TRY(ctt_table_print(&t));
out:
    ctt_table_free(&t);
    return rc;
}

static int open_plan(struct plan *p, const struct ctt_info_cfg *cfg,
                     const struct ctt_model *m)
{
    int64_t n = ctt_volume(&m->g->node[ctt_graph_input(m->g)].out);
    struct ctt_weight *weight = NULL;
    const float *w;
    int rc = 0;

    CTT_TRY(ctt_dev_open(cfg->device, cfg->threads, &p->dev));
    if (cfg->tune)
        CTT_TRY(ctt_tune_open(cfg->device, NULL, &p->tune));
    ctt_dev_tune(p->dev, p->tune);
    CTT_TRY(ctt_dev_show(p->dev, "weights", m->w, m->g->weights, &p->w, &w));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = m->g, .dev = p->dev, .w = w, .samples = 1, .steps = 1,
        .asks = 1 }, &p->run));
    CTT_TRY(ctt_model_weights(m, &weight));
    CTT_TRY(ctt_run_weights(p->run, weight));
    CTT_TRY(ctt_run_tune(p->run, 1));
    p->noise = ctt_calloc((size_t)n, sizeof(*p->noise));
    CTT_TRY(p->noise ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < n; i++)
        p->noise[i] = (float)ctt_random(1, (uint64_t)i) * 0x1p-32f;
out:
    ctt_free(weight);
    return rc;
}

int ctt_info_plan(const struct ctt_info_cfg *cfg, const struct ctt_model *m)
{
    struct plan p = { .g = m->g };
    int rc = 0;

    CTT_TRY(open_plan(&p, cfg, m));
    CTT_TRY(measure_nodes(&p));
    printf("one frame at a time, %d thread%s\n\n", ctt_dev_threads(p.dev),
           ctt_dev_threads(p.dev) == 1 ? "" : "s");
    CTT_TRY(print_plan(&p));
    printf("\ngradients of convs, one frame at a time "
           "(batches may choose otherwise)\n\n");
    CTT_TRY(tell_gradients(&p));
out:
    ctt_nodes_close(&p.nodes);
    ctt_run_close(&p.run);
    if (p.w)
        ctt_dev_free(p.dev, &p.w);
    ctt_dev_close(&p.dev);
    ctt_tune_close(&p.tune);
    ctt_free(p.noise);
    return rc;
}
