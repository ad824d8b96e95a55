/* SPDX-License-Identifier: Apache-2.0
 * train_amp.c: --amp-plan: the type of each value and, with clips, what 16 bits
 * would lose of it. */
#include "libtrain/doctor/amp_measure.h"
#include "net/op.h"
#include "tools/shared/tool.h"
#include "tools/train/train_tool.h"

#include <limits.h>
#include <stdio.h>

/* Channels that tensor cores multiply at once, and those that fill a tile. */
enum { CTT_CORE = 8, CTT_TILE = 128 };

static void say_types(const struct ctt_graph *g, const struct ctt_amp_plan *p,
                      struct ctt_table *t)
{
    ctt_table_row(t, "node\top\ttype\twhy");
    for (int i = 0; i < g->count; i++)
        ctt_table_row(t, "%s\t%s\t%s\t%s", g->node[i].name,
                      ctt_ops[g->node[i].op].name,
                      ctt_dtype_word(p->type[i]), p->why[i]);
}

/* ---- shares that are lost ---- */

/* A share in %, or "-" of nothing. */
static const char *percent(double share, int any, char *buf, size_t size)
{
    if (!any)
        snprintf(buf, size, "-");
    else if (share > 0 && share < 1e-4)
        snprintf(buf, size, "<0.01");
    else
        snprintf(buf, size, "%.2f", 100 * share);
    return buf;
}

/* The columns of a node's results or gradients. */
struct columns { char most[16], lost[16], subnormal[16]; };

static void fill_columns(const struct ctt_magnitudes *m, enum ctt_dtype type,
                         int power, struct columns *c)
{
    struct ctt_magnitude_shares s = ctt_magnitudes_in(m, type, power);
    int any = s.most != INT_MIN || s.over > 0;

    if (s.most == INT_MIN)
        snprintf(c->most, sizeof(c->most), any ? "infinite" : "-");
    else
        snprintf(c->most, sizeof(c->most), "2^%d", s.most);
    percent(s.over + s.lost, any, c->lost, sizeof(c->lost));
    percent(s.subnormal, any, c->subnormal, sizeof(c->subnormal));
}

static int say_shares(const struct ctt_graph *g, const struct ctt_amp_plan *p,
                      const struct ctt_amp_measured *a)
{
    const char *type = ctt_dtype_word(a->type);
    struct ctt_table t = { NULL };
    struct columns x, dx;

    ctt_table_row(&t, "node\ttype\tlargest\tlost %%\tsubnormal %%\tgradient\t"
                  "lost %%\tsubnormal %%");
    for (int i = 0; i < g->count; i++) {
        if (ctt_ops[g->node[i].op].memory == CTT_VIEW)
            continue;
        fill_columns(&a->result[i], a->type, 0, &x);
        fill_columns(&a->gradient[i], a->type, a->power, &dx);
        ctt_table_row(&t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", g->node[i].name,
                      ctt_dtype_word(p->type[i]), x.most, x.lost, x.subnormal,
                      dx.most, dx.lost, dx.subnormal);
    }
    ctt_tool_say("\n%d steps in fp32, and what %s would keep of them, "
                 "gradients with a loss scale of 2^%d%s.  largest: before the "
                 "scale; lost: not 0, but 0 or infinite in %s; subnormal: kept "
                 "with fewer digits; -: only 0, or computed with another node",
                 a->steps, type, a->power, a->dynamic ?
                 ", the largest with which none is infinite" : "", type);
    return ctt_table_print(&t);
}

/* ---- products ---- */

/* Of convs: their products, of which some are in 16 bits, of channels that fit
 * tensor cores. */
struct products { double all, half, odd, narrow; };

static int narrower(const struct ctt_node *n, int64_t in)
{
    return n->out.c < CTT_TILE || in < CTT_TILE;
}

static struct products count_products(const struct ctt_graph *g,
                                      const struct ctt_amp_plan *p)
{
    struct products s = { 0 };

    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        double macs = (double)ctt_node_macs(g, i);
        int64_t in = n->nw ? n->w[0].c : 0;

        s.all += macs;
        if (p->type[i] == CTT_F32 || !n->nw)
            continue;
        s.half += macs;
        s.odd += n->out.c % CTT_CORE || in % CTT_CORE ? macs : 0;
        s.narrow += narrower(n, in) ? macs : 0;
    }
    return s;
}

static void say_products(const struct ctt_graph *g,
                         const struct ctt_amp_plan *p)
{
    struct products s = count_products(g, p);
    char most[96] = "";

    if (s.all <= 0 || s.half <= 0)
        return;
    if (s.half < s.all)
        snprintf(most, sizeof(most), ", so at most a step %.1f times as fast "
                 "(Amdahl)", s.all / (s.all - s.half));
    ctt_tool_say("%.1f%% of the multiplications are in 16 bits%s.  Of these "
                 "%.1f%% are of channels that are no multiple of %d, which "
                 "tensor cores pad, and %.1f%% of fewer than %d channels, "
                 "which do not fill them", 100 * s.half / s.all, most,
                 100 * s.odd / s.half, CTT_CORE, 100 * s.narrow / s.half,
                 CTT_TILE);
}

static int say_measured(struct ctt_training *j, const struct ctt_graph *g,
                        const struct ctt_amp_plan *p)
{
    struct ctt_amp_measured a = { .result = NULL };
    int rc;

    CTT_TRY(ctt_amp_measure(j->m, &j->cfg, g, p, j->data, &a));
    CTT_TRY(say_shares(g, p, &a));
    say_products(g, p);
out:
    ctt_amp_measured_free(&a);
    return rc;
}

/* Without clips the plan is of the model before it is adapted to them. */
int ctt_train_amp_plan(struct ctt_training *j)
{
    struct ctt_amp_plan *p = NULL;
    struct ctt_graph *g = NULL;
    struct ctt_table t = { NULL };
    int rc, measured = j->cfg.data && j->cfg.amp;

    CTT_TRY(ctt_training_start(j));
    if (measured)
        CTT_TRY(ctt_training_begin(j));
    CTT_TRY(ctt_training_types(j, &g, &p));
    say_types(g, p, &t);
    CTT_TRY(ctt_table_print(&t));
    if (measured)
        CTT_TRY(say_measured(j, g, p));
out:
    ctt_amp_free(&p);
    ctt_graph_free(&g);
    return rc;
}
