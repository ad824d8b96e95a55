/* SPDX-License-Identifier: Apache-2.0
 * info_plan.c: convtt-info --plan: which kernel computes each node of a model
 * on this machine and why, inside or outside the loop over time steps, and its
 * time; and which kernels compute the gradients of its convs. */
#include "net/op.h"
#include "net/quant.h"
#include "base/clock.h"
#include "tools/info/info_tool.h"
#include "tools/bench/bench_tool.h"
#include "tools/shared/tool.h"

#include <string.h>

/* Frames before the first one that counts, at least and in seconds: the first
 * ones choose kernels, pack weights and wake threads. */
static const struct ctt_pace warm_pace = { 3, 1000, 0.1 };
static const struct ctt_pace pace = { 5, 101, 0.5 };

/* The time of each node in the frame since `before`, which becomes now. */
static int note_frame(struct ctt_plan *p, double *before)
{
    double all = 0;
    int rc = 0;

    for (int i = 0; i < p->g->count; i++) {
        double now = 1e3 * p->nodes.sum[i][CTT_FWD].seconds;

        CTT_TRY(ctt_times_add(&p->node[i], now - before[i]));
        all += now - before[i];
        before[i] = now;
    }
    CTT_TRY(ctt_times_add(&p->frame, all));
out:
    return rc;
}

static int measure_nodes(struct ctt_plan *p)
{
    size_t count = (size_t)p->g->count;
    double start = ctt_seconds(), *before = ctt_calloc(count, sizeof(*before));
    int rc = 0;

    p->node = ctt_calloc(count, sizeof(*p->node));
    CTT_TRY(before && p->node ? 0 : CTT_ENOMEM);
    for (int i = 0; ctt_pace_goes_on(&warm_pace, i, start); i++)
        CTT_TRY(ctt_stepper_step(&p->s));
    CTT_TRY(ctt_nodes_open(p->s.run, &p->nodes));
    start = ctt_seconds();
    for (int i = 0; ctt_pace_goes_on(&pace, i, start); i++) {
        CTT_TRY(ctt_stepper_step(&p->s));
        CTT_TRY(note_frame(p, before));
    }
    ctt_nodes_stop(&p->nodes);
out:
    ctt_free(before);
    return rc;
}

double ctt_plan_macs(const struct ctt_plan *p, int node)
{
    int pair = p->s.run->slot[node].pair;
    double n = (double)ctt_node_macs(p->g, node);

    if (pair >= 0 && !p->nodes.sum[pair][CTT_FWD].calls)
        n += (double)ctt_node_macs(p->g, pair);
    while ((node = p->s.run->slot[node].link) >= 0 &&
           !p->nodes.sum[node][CTT_FWD].calls)
        n += (double)ctt_node_macs(p->g, node);
    return n;
}

/* The form in which the node's first weight is read; "" if it has none. */
static const char *weight(const struct ctt_plan *p, int node,
                          char text[CTT_WEIGHT_FORM])
{
    static const char floats[] = "fp32", bytes[] = "int8";

    text[0] = '\0';
    if (p->g->node[node].nw > 0)
        ctt_weight_form(&p->s.run->weight[node][0], text);
    if (ctt_is_int8(p->g, node) && strncmp(text, floats, 4) == 0)
        memcpy(text, bytes, 4);
    return text;
}

static int print_plan(struct ctt_plan *p)
{
    struct ctt_table t = { NULL, 0, 0, 0 };

    ctt_table_row(&t, "node\tword\twhen\tkernel\tweight\tms\t"
                  "G multiplications/s\twhy");
    for (int i = 0; i < p->g->count; i++) {
        void *cache = p->s.run->cache[i][CTT_CACHE_FWD];
        char form[CTT_WEIGHT_FORM];
        struct ctt_node_time n;
        double ms;

        if (!ctt_nodes_row(&p->nodes, i, &n))
            continue;
        ms = ctt_times_spread(&p->node[i]).median;
        ctt_table_row(&t, "%s\t%s\t%s\t%s\t%s\t%.3f\t%.1f\t%s", n.name,
                      n.word, n.when, n.kernel, weight(p, i, form), ms,
                      ctt_plan_macs(p, i) / ms * 1e-6,
                      ctt_dev_why(p->s.dev, cache, CTT_FWD));
    }
    ctt_table_row(&t, "all\t\t\t\t\t%.3f\t\t",
                  ctt_times_spread(&p->frame).median);
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
static int tell_gradient(const struct ctt_plan *p, const char *of,
                         struct ctt_call *c, struct ctt_table *t)
{
    void *cache = NULL;
    int rc = 0;

    c->cache = &cache;
    CTT_TRY(ctt_dev_run(p->s.dev, c, CTT_BWD));
    ctt_table_row(t, "%s\t%s\t%s\t%s", c->node->name, of,
                  ctt_dev_impl(p->s.dev, cache, CTT_BWD),
                  ctt_dev_why(p->s.dev, cache, CTT_BWD));
out:
    ctt_dev_forget(p->s.dev, &cache);
    return rc;
}

/* The gradient of the input frames is not computed in training. */
static int tell_conv(const struct ctt_plan *p, const struct ctt_node *n,
                     struct ctt_table *t)
{
    struct ctt_call c, part;
    void *block = NULL;
    int rc = 0;

    CTT_TRY(ctt_dev_alloc(p->s.dev, n->name, lay_call(p->g, n, NULL, &c),
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
    ctt_dev_free(p->s.dev, &block);
    return rc;
}

static int tell_gradients(const struct ctt_plan *p)
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

int ctt_plan_open(const struct ctt_info_cfg *cfg, const struct ctt_model *m,
                  struct ctt_plan *p)
{
    int rc;

    *p = (struct ctt_plan){ .g = m->g };
    CTT_TRY(ctt_stepper_open(m, cfg->device, cfg->threads, cfg->tune, &p->s));
    CTT_TRY(measure_nodes(p));
out:
    return rc;
}

void ctt_plan_close(struct ctt_plan *p)
{
    ctt_nodes_close(&p->nodes);
    for (int i = 0; p->node && i < p->g->count; i++)
        ctt_free(p->node[i].ms);
    ctt_free(p->node);
    ctt_free(p->frame.ms);
    ctt_stepper_close(&p->s);
}

int ctt_info_plan(const struct ctt_info_cfg *cfg, const struct ctt_model *m)
{
    struct ctt_plan p;
    int rc;

    CTT_TRY(ctt_plan_open(cfg, m, &p));
    printf("one frame at a time, %d thread%s, medians of %d frames\n\n",
           ctt_dev_threads(p.s.dev), ctt_s(ctt_dev_threads(p.s.dev)),
           p.frame.count);
    CTT_TRY(print_plan(&p));
    printf("\ngradients of convs, one frame at a time "
           "(batches may choose otherwise)\n\n");
    CTT_TRY(tell_gradients(&p));
out:
    ctt_plan_close(&p);
    return rc;
}
