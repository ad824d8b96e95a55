/* SPDX-License-Identifier: Apache-2.0
 * info_plan.c: convtt-info --plan: which kernel does each node of a model here,
 * in the loop over the steps or ahead of it, and how long it takes. */
#include "run/run.h"
#include "net/op.h"
#include "net/random.h"
#include "tools/info.h"
#include "tools/tool.h"

#include <string.h>

enum { WARM = 3, ROUNDS = 10 };

struct plan {
    const struct ctt_graph *g;
    struct ctt_dev         *dev;
    struct ctt_run         *run;
    struct ctt_profile    (*sum)[CTT_PASSES];
    float                  *noise;    /* a frame */
    void                   *w;        /* the device's copy of the weights */
};

/* Frames of noise, one at a time as they come from a camera. */
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

static int measure(struct plan *p)
{
    int rc = 0;

    for (int i = 0; i < WARM; i++)
        CTT_TRY(step(p));
    ctt_dev_profile(p->dev, p->g, p->sum);
    for (int i = 0; i < ROUNDS; i++)
        CTT_TRY(step(p));
    ctt_dev_profile(p->dev, p->g, NULL);
out:
    return rc;
}

static const char *when(const struct plan *p, int node)
{
    const struct ctt_schedule *s = ctt_run_schedule(p->run);

    if (node >= p->g->clip)
        return "clip";
    for (int k = 0; k < s->comps; k++)
        for (int j = s->first[k]; j < s->first[k + 1]; j++)
            if (s->order[j] == node)
                return s->bound[k] ? "loop" : "free";
    return "";
}

/* Of what a call does: the conv that went along is no call of its own. */
static double macs(const struct plan *p, int node)
{
    int pair = p->run->slot[node].pair;
    double n = (double)ctt_node_macs(p->g, node);

    if (pair >= 0 && !p->sum[pair][CTT_FWD].calls)
        n += (double)ctt_node_macs(p->g, pair);
    return n;
}

static int tell(const struct plan *p)
{
    struct ctt_table t = { NULL, 0, 0, 0 };
    double all = 0;

    ctt_table_row(&t, "node\tword\twhen\tkernel\tms\tG multiplications/s");
    for (int i = 0; i < p->g->count; i++) {
        const struct ctt_profile *f = &p->sum[i][CTT_FWD];
        double ms = f->seconds * 1e3 / ROUNDS;

        if (!f->calls)
            continue;    /* a name, or done by the kernel of another node */
        all += ms;
        ctt_table_row(&t, "%s\t%s\t%s\t%s\t%.3f\t%.1f", p->g->node[i].name,
                      ctt_ops[p->g->node[i].op].name, when(p, i),
                      ctt_dev_impl(p->dev, p->run->cache[i][CTT_CACHE_FWD],
                                   CTT_FWD),
                      ms, macs(p, i) / ms * 1e-6);
    }
    ctt_table_row(&t, "all\t\t\t\t%.3f\t", all);
    return ctt_table_print(&t);
}

static int open_plan(struct plan *p, const struct ctt_info_cfg *cfg,
                     const struct ctt_model *m)
{
    int64_t n = ctt_volume(&m->g->node[ctt_graph_input(m->g)].out);
    const float *w;
    int rc = 0;

    CTT_TRY(ctt_dev_open(cfg->device, cfg->threads, &p->dev));
    CTT_TRY(ctt_dev_show(p->dev, "weights", m->w, m->g->weights, &p->w, &w));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = m->g, .dev = p->dev, .w = w, .samples = 1, .steps = 1,
        .asks = 1 }, &p->run));
    p->sum = ctt_calloc((size_t)m->g->count, sizeof(*p->sum));
    p->noise = ctt_calloc((size_t)n, sizeof(*p->noise));
    CTT_TRY(p->sum && p->noise ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < n; i++)
        p->noise[i] = (float)ctt_random(1, (uint64_t)i) * 0x1p-32f;
out:
    return rc;
}

int ctt_info_plan(const struct ctt_info_cfg *cfg, const struct ctt_model *m)
{
    struct plan p = { .g = m->g };
    int rc = 0;

    CTT_TRY(open_plan(&p, cfg, m));
    CTT_TRY(measure(&p));
    printf("a frame at a time, %d thread%s\n\n", ctt_dev_threads(p.dev),
           ctt_dev_threads(p.dev) == 1 ? "" : "s");
    CTT_TRY(tell(&p));
out:
    ctt_run_close(&p.run);
    if (p.w)
        ctt_dev_free(p.dev, &p.w);
    ctt_dev_close(&p.dev);
    ctt_free(p.sum);
    ctt_free(p.noise);
    return rc;
}
