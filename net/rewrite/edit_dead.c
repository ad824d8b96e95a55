/* SPDX-License-Identifier: Apache-2.0
 * edit_dead.c: drops classes of channels (net/rewrite/channel_groups.h) that
 * nothing reads. */
#include "net/rewrite/edit.h"
#include "net/op.h"
#include "net/unit.h"

#include <math.h>
#include <string.h>

/* The channels of all nodes, and where those of convs go.  `at` gives each node
 * with a source its first entry of the arrays by channel. */
struct flow {
    const struct ctt_graph *g;
    struct ctt_model *m;     /* changed in place; has the graph g */
    struct ctt_channel_groups  *ties;
    uint8_t *alive;          /* by class: the output depends on it */
    int     *source;         /* by node: the conv whose channels its value
                                still has, each alone; -1: none */
    uint8_t *other;          /* by node: something else than a relu reads it */
    int64_t *at;
    double  *value;          /* by channel: the constant that it holds, or
                                NAN */
    uint8_t *blocks;         /* by node: the form in which a conv was pruned,
                                if it is of blocks (net/unit.h), or 0 */
};

/* ---- where the channels go ---- */

/* A conv with groups has another value for each channel that it reads. */
static void trace_node(struct flow *f, int i)
{
    const struct ctt_node *n = &f->g->node[i];
    int conv = ctt_is_conv(n) && !ctt_is_grouped(n);

    f->source[i] = conv ? i : ctt_is_channelwise(f->g, n) ? f->source[n->in[0]]
                                                        : -1;
    for (int k = 0; k < ctt_node_inputs(n); k++)
        if (!ctt_is_relu(n))
            f->other[ctt_node_input(n, k)] = 1;
}

static void trace(struct flow *f)
{
    for (int i = 0; i < f->g->count; i++)
        trace_node(f, i);
    f->other[ctt_graph_output(f->g)] = 1;
}

static void flow_free(struct flow *f)
{
    ctt_channel_groups_free(&f->ties);
    ctt_free(f->alive);
    ctt_free(f->source);
    ctt_free(f->other);
    ctt_free(f->at);
    ctt_free(f->value);
    ctt_free(f->blocks);
}

static int flow_new(struct ctt_model *m, struct flow *f)
{
    size_t nodes = (size_t)m->g->count;
    int64_t all = 0;
    int rc = 0;

    *f = (struct flow){ .g = m->g, .m = m };
    CTT_TRY(ctt_channel_groups_new(m->g, &f->ties));
    f->alive = ctt_calloc((size_t)f->ties->classes, 1);
    f->source = ctt_calloc(nodes, sizeof(*f->source));
    f->other = ctt_calloc(nodes, 1);
    f->at = ctt_calloc(nodes, sizeof(*f->at));
    f->blocks = ctt_calloc(nodes, 1);
    CTT_TRY(f->alive && f->source && f->other && f->at && f->blocks
            ? 0 : CTT_ENOMEM);
    trace(f);
    for (int i = 0; i < m->g->count; i++) {
        f->at[i] = all;
        all += f->source[i] >= 0 ? m->g->node[i].out.c : 0;
    }
    f->value = ctt_calloc((size_t)(all + (all == 0)), sizeof(*f->value));
    CTT_TRY(f->value ? 0 : CTT_ENOMEM);
out:
    return rc;
}

/* ---- blocks ---- */

static void find_blocks(struct flow *f)
{
    static const enum ctt_prune_form forms[] = {
        CTT_PRUNE_BLOCK, CTT_PRUNE_TWO
    };

    for (int i = 0; i < f->g->count; i++) {
        const struct ctt_node *n = &f->g->node[i];

        for (size_t k = 0; k < CTT_LEN(forms) && !f->blocks[i]; k++)
            if (ctt_is_conv(n) && !ctt_is_grouped(n) &&
                ctt_units_whole(forms[k], &n->w[0], 1,
                                ctt_kept(&f->m->constraint, n->at[0])))
                f->blocks[i] = (uint8_t)forms[k];
    }
}

/* Keeps all of each `together` neighbouring channels of a node if one stays.
 * Returns 1 if any of them did not stay before. */
static int keep_together(struct flow *f, int node, int64_t together)
{
    int64_t n = f->g->node[node].out.c;
    int news = 0;

    for (int64_t j = 0; j < n; j++) {
        int64_t end = j / together * together + together;
        uint8_t *alive = &f->alive[ctt_tie(f->ties, node, j)];

        for (int64_t k = end - together; k < end && k < n && !*alive; k++)
            if (f->alive[ctt_tie(f->ties, node, k)])
                *alive = news = 1;
    }
    return news;
}

/* A kernel gains where whole blocks are zero, or two of each 4: the channels
 * that are left must stand in the same ones.  No kernel gains by rows. */
static void keep_blocks(struct flow *f)
{
    int news = 1;

    while (news) {
        news = 0;
        for (int i = 0; i < f->g->count; i++) {
            const struct ctt_node *n = &f->g->node[i];

            if (f->blocks[i])
                news |= keep_together(f, n->in[0],
                                      ctt_unit_at(CTT_PRUNE_BLOCK, &n->w[0], 1,
                                                  0).ins);
        }
    }
}

/* Elements that became 0 in a block that stays are kept as zeros. */
static void keep_whole(struct flow *f)
{
    for (int i = 0; i < f->g->count; i++) {
        const struct ctt_node *n = &f->g->node[i];

        if (f->blocks[i] == CTT_PRUNE_BLOCK)
            ctt_units_fill(CTT_PRUNE_BLOCK, &n->w[0], 1,
                           f->m->constraint.keep + n->at[0]);
    }
}

/* ---- constants ---- */

static void prune(struct ctt_model *m, int64_t at)
{
    m->w[at] = 0;
    if (m->constraint.keep)
        m->constraint.keep[at] = 0;
    if (m->constraint.share)
        m->constraint.share[at] = 0;
}

/* Elements of a row: one output channel of a kernel. */
static int64_t row_size(const struct ctt_node *n)
{
    return ctt_volume(&n->w[0]) / n->out.c;
}

static int row_is_zero(const struct ctt_model *m, const struct ctt_node *n,
                       int64_t j)
{
    int64_t size = row_size(n);
    const float *row = m->w + n->at[0] + j * size;

    for (int64_t k = 0; k < size; k++)
        if (row[k] != 0)
            return 0;
    return 1;
}

static double conv_value(const struct ctt_model *m, const struct ctt_node *n,
                         int64_t j)
{
    if (!row_is_zero(m, n, j) || n->plus)
        return NAN;
    return n->nw > 1 ? m->w[n->at[1] + j] : 0;
}

static void find_values(struct flow *f)
{
    for (int i = 0; i < f->g->count; i++) {
        const struct ctt_node *n = &f->g->node[i];
        double *y = f->value + f->at[i];
        const double *x;

        if (f->source[i] < 0)
            continue;
        x = ctt_is_conv(n) ? NULL : f->value + f->at[n->in[0]];
        for (int64_t j = 0; j < n->out.c; j++)
            y[j] = x ? ctt_channelwise(n, f->m->w, j, x[j])
                     : conv_value(f->m, n, j);
    }
}

/* 1 if a conv can do without an input channel that holds x.  Where padding
 * takes the place of pixels, or a deconv adds fewer of them, only 0 is the same
 * for all pixels of its result. */
static int takes_constant(const struct ctt_node *n, double x)
{
    struct ctt_slide s = ctt_slide_of(n);
    int padding = 0;

    for (int i = 0; i < 3; i++)
        padding += s.pad[i] + s.after[i];
    if (x == 0)
        return 1;
    return isfinite(x) && n->op == CTT_OP_CONV && n->nw > 1 &&
           padding == 0;
}

/* Prunes the elements of a row that read input channel j; returns their sum, or
 * NAN if all were 0. */
static double prune_input(struct ctt_model *m, const struct ctt_node *n,
                          int64_t row, int64_t j)
{
    int64_t size = row_size(n), at = n->at[0] + row * size;
    double sum = 0;
    int cuts = 0;

    for (int64_t k = j; k < size; k += n->w[0].c) {
        if (m->w[at + k] == 0)
            continue;
        sum += (double)m->w[at + k];
        prune(m, at + k);
        cuts++;
    }
    return cuts ? sum : NAN;
}

/* Conv i takes the constants that it reads into its bias.  Returns whether it
 * has changed. */
static int take_constants(struct flow *f, int i)
{
    const struct ctt_node *n = &f->g->node[i];
    const double *x = f->value + f->at[n->in[0]];
    int reads = !ctt_is_grouped(n) && f->source[n->in[0]] >= 0, changed = 0;

    for (int64_t o = 0; o < n->out.c && reads; o++) {
        double add = 0;

        for (int64_t j = 0; j < n->w[0].c; j++) {
            double sum;

            if (isnan(x[j]) || !takes_constant(n, x[j]))
                continue;
            sum = prune_input(f->m, n, o, j);
            changed |= !isnan(sum);
            add += isnan(sum) ? 0 : sum * x[j];
        }
        if (add == 0)
            continue;
        f->m->w[n->at[1] + o] = (float)(f->m->w[n->at[1] + o] + add);
        if (f->m->constraint.keep)
            f->m->constraint.keep[n->at[1] + o] = 1;
    }
    return changed;
}

/* A conv that takes a 0 may then have a row without a weight. */
static void take_all(struct flow *f)
{
    int changed = 1;

    while (changed) {
        changed = 0;
        find_values(f);
        for (int i = 0; i < f->g->count; i++)
            if (ctt_is_conv(&f->g->node[i]))
                changed |= take_constants(f, i);
    }
}

/* ---- channels that nothing reads ---- */

/* Channels that a row of an alive class reads are alive.  Returns whether that
 * is news of one. */
static int spread(struct flow *f, int i)
{
    const struct ctt_node *n = &f->g->node[i];
    int64_t size = row_size(n), c = n->w[0].c;
    int news = 0;

    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++) {
        uint8_t *alive = &f->alive[ctt_tie(f->ties, n->in[0], k % c)];

        if (*alive || f->m->w[n->at[0] + k] == 0 ||
            !f->alive[ctt_tie(f->ties, i, k / size)])
            continue;
        *alive = 1;
        news = 1;
    }
    return news;
}

static void find_alive(struct flow *f)
{
    const struct ctt_graph *g = f->g;
    int news = 1;

    memcpy(f->alive, f->ties->whole, (size_t)f->ties->classes);
    while (news) {
        news = 0;
        for (int i = g->count - 1; i >= 0; i--)
            if (ctt_is_conv(&g->node[i]) && !ctt_is_grouped(&g->node[i]))
                news |= spread(f, i);
    }
}

static void kill_channel(struct ctt_model *m, const struct ctt_node *n,
                         int64_t j)
{
    int64_t size = row_size(n);

    for (int64_t k = 0; k < size; k++)
        prune(m, n->at[0] + j * size + k);
    if (n->nw > 1)
        prune(m, n->at[1] + j);
}

static void kill_dead(struct flow *f)
{
    for (int i = 0; i < f->g->count; i++)
        for (int64_t j = 0; ctt_is_conv(&f->g->node[i]) &&
             j < f->g->node[i].out.c; j++)
            if (!f->alive[ctt_tie(f->ties, i, j)])
                kill_channel(f->m, &f->g->node[i], j);
}

/* Each node keeps a channel. */
static void keep_one(struct flow *f)
{
    for (int i = 0; i < f->g->count; i++) {
        int live = 0;

        for (int64_t j = 0; j < f->g->node[i].out.c && !live; j++)
            live = f->alive[ctt_tie(f->ties, i, j)];
        f->alive[ctt_tie(f->ties, i, 0)] |= !live;
    }
}

/* ---- biases without effect ---- */

static int row_is_pruned(const struct ctt_model *m, const struct ctt_node *n,
                         int64_t j)
{
    int64_t size = row_size(n);

    for (int64_t k = 0; k < size; k++)
        if (!ctt_is_pruned(&m->constraint, n->at[0] + j * size + k))
            return 0;
    return 1;
}

static void prune_biases(struct flow *f)
{
    for (int i = 0; i < f->g->count; i++) {
        const struct ctt_node *n = &f->g->node[i];
        int sees_negative = f->other[i] || n->plus;

        if (!ctt_is_conv(n) || n->nw < 2)
            continue;
        for (int64_t j = 0; j < n->out.c; j++) {
            float b = f->m->w[n->at[1] + j];

            if ((b == 0 || (b < 0 && !sees_negative)) &&
                row_is_pruned(f->m, n, j))
                prune(f->m, n->at[1] + j);
        }
    }
}

/* ---- the smaller model ---- */

int ctt_drop_dead(const struct ctt_model *m, struct ctt_model **out)
{
    struct ctt_model *copied = NULL;
    struct flow f = { NULL };
    int rc = 0;

    CTT_TRY(ctt_model_finite(m));
    CTT_TRY(ctt_model_copy(m, &copied));
    CTT_TRY(flow_new(copied, &f));
    find_blocks(&f);
    take_all(&f);
    find_alive(&f);
    kill_dead(&f);
    keep_one(&f);
    keep_blocks(&f);
    if (copied->constraint.keep) {
        keep_whole(&f);
        prune_biases(&f);
    }
    CTT_TRY(ctt_thin_model(copied, f.ties, f.alive, out));
out:
    flow_free(&f);
    ctt_model_free(&copied);
    return rc;
}

int ctt_drop_unread(struct ctt_model **m)
{
    struct ctt_edit *e = NULL;
    struct ctt_model *to = NULL;
    int rc, lines;

    CTT_TRY(ctt_edit_begin((*m)->g, &e));
    CTT_TRY(ctt_edit_sweep(e));
    CTT_TRY(ctt_edit_model(e, *m, &to));
    ctt_edit_free(&e);    /* the edit reads the graph */
    lines = (*m)->g->count - to->g->count;
    if (lines) {
        ctt_model_free(m);
        *m = to;
        to = NULL;
    }
    rc = lines;
out:
    ctt_edit_free(&e);
    ctt_model_free(&to);
    return rc;
}
