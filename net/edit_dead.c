/* SPDX-License-Identifier: Apache-2.0
 * edit_dead.c: drops channels of convs that nothing reads. */
#include "net/alone.h"
#include "net/edit.h"
#include "net/op.h"
#include "net/unit.h"

#include <math.h>
#include <string.h>

/* The channels of convs and where they go.  `at` gives each node with a source
 * its first entry of the arrays by channel. */
struct flow {
    const struct ctt_graph *g;
    struct ctt_model *m;     /* changed in place; has the graph g */
    int     *source;         /* by node: the conv whose channels its value
                                still has, each alone; -1: none */
    uint8_t *stays;          /* by conv: something else than convs reads it */
    uint8_t *other;          /* by conv: something else than a relu reads its
                                own value */
    int64_t *at;
    double  *value;          /* by channel: the constant that it holds, or
                                NAN */
    uint8_t *read, *dead;    /* by channel of a conv */
    uint8_t *form;           /* by conv: a bit for each form (net/unit.h) of
                                which it has whole units, some pruned */
    int     *grain;          /* by conv: so many neighbouring channels are
                                dropped together */
};

/* ---- where the channels go ---- */

static void stay(struct flow *f, int node)
{
    if (f->source[node] >= 0)
        f->stays[f->source[node]] = 1;
    f->other[node] = 1;
}

/* All channels of a grouped conv and of what it reads stay: without one its
 * groups would be others. */
static void trace_node(struct flow *f, int i)
{
    const struct ctt_node *n = &f->g->node[i];
    int conv = ctt_is_conv(n) && !ctt_is_grouped(n);
    int alone = conv || ctt_treats_alone(f->g, n);

    f->source[i] = conv ? i : alone ? f->source[n->in[0]] : -1;
    for (int k = 0; k < n->nin; k++) {
        if (k > 0 || !alone)
            stay(f, n->in[k]);
        if (!ctt_is_relu(n))
            f->other[n->in[k]] = 1;
    }
    if (conv && n->plus)
        stay(f, i);
}

static void trace(struct flow *f)
{
    for (int i = 0; i < f->g->count; i++)
        trace_node(f, i);
    for (int i = 0; i < f->g->count; i++)
        if (f->g->node[i].op == CTT_OP_STATE)
            stay(f, f->g->node[i].source);
    stay(f, ctt_graph_output(f->g));
}

static void flow_free(struct flow *f)
{
    ctt_free(f->source);
    ctt_free(f->stays);
    ctt_free(f->other);
    ctt_free(f->at);
    ctt_free(f->value);
    ctt_free(f->read);
    ctt_free(f->dead);
    ctt_free(f->form);
    ctt_free(f->grain);
}

static int flow_new(struct ctt_model *m, struct flow *f)
{
    size_t nodes = (size_t)m->g->count;
    int64_t all = 0;
    int rc = 0;

    *f = (struct flow){ .g = m->g, .m = m };
    f->source = ctt_calloc(nodes, sizeof(*f->source));
    f->stays = ctt_calloc(nodes, 1);
    f->other = ctt_calloc(nodes, 1);
    f->at = ctt_calloc(nodes, sizeof(*f->at));
    f->form = ctt_calloc(nodes, 1);
    f->grain = ctt_calloc(nodes, sizeof(*f->grain));
    CTT_TRY(f->source && f->stays && f->other && f->at && f->form && f->grain
            ? 0 : CTT_ENOMEM);
    trace(f);
    for (int i = 0; i < m->g->count; i++) {
        f->at[i] = all;
        all += f->source[i] >= 0 ? m->g->node[i].out.c : 0;
    }
    all += all == 0;
    f->value = ctt_calloc((size_t)all, sizeof(*f->value));
    f->read = ctt_calloc((size_t)all, 1);
    f->dead = ctt_calloc((size_t)all, 1);
    CTT_TRY(f->value && f->read && f->dead ? 0 : CTT_ENOMEM);
out:
    return rc;
}

/* The conv whose channels conv i reads and may do without, or -1. */
static int feeder(const struct flow *f, int i)
{
    int from = f->source[f->g->node[i].in[0]];

    return from >= 0 && !f->stays[from] ? from : -1;
}

/* ---- units that were pruned together ---- */

static void widen(int *grain, int to)
{
    *grain = *grain > to ? *grain : to;
}

/* A kernel gains where whole blocks or rows are zero: the channels that are
 * left must stand in the same ones. */
static void find_grain(struct flow *f)
{
    for (int k = 0; k < f->g->count * CTT_PRUNE_FORMS; k++) {
        int i = k / CTT_PRUNE_FORMS, form = k % CTT_PRUNE_FORMS;
        const struct ctt_node *n = &f->g->node[i];
        struct ctt_unit u;

        widen(&f->grain[i], 1);
        if (!ctt_is_conv(n) || ctt_is_grouped(n) ||
            !ctt_units_whole(form, &n->w[0], 1,
                             ctt_kept(&f->m->constraint, n->at[0])))
            continue;
        f->form[i] |= (uint8_t)(1 << form);
        u = ctt_unit_at(form, &n->w[0], 1, 0);
        widen(&f->grain[i], u.outs);
        if (feeder(f, i) >= 0)
            widen(&f->grain[feeder(f, i)], u.ins);
    }
}

/* Elements that became 0 in a unit that is kept are kept as such. */
static void keep_whole(struct flow *f)
{
    for (int k = 0; k < f->g->count * CTT_PRUNE_FORMS; k++) {
        const struct ctt_node *n = &f->g->node[k / CTT_PRUNE_FORMS];
        int form = k % CTT_PRUNE_FORMS;

        if (f->form[k / CTT_PRUNE_FORMS] >> form & 1)
            ctt_units_fill(form, &n->w[0], 1,
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
            y[j] = x ? ctt_alone(n, f->m->w, j, x[j])
                     : conv_value(f->m, n, j);
    }
}

/* Whether a conv can do without an input channel that holds x.  Where padding
 * takes the place of pixels, or a deconv adds fewer of them, only 0 is the same
 * for all pixels of its result. */
static int takes(const struct ctt_node *n, double x)
{
    const int *pad = n->attr.conv.pad;

    if (x == 0)
        return 1;
    return isfinite(x) && n->op == CTT_OP_CONV && n->nw > 1 &&
           pad[0] + pad[1] + pad[2] == 0;
}

/* Prunes the elements of a row that read input channel j; returns their sum, or
 * NAN if all were 0. */
static double cut(struct ctt_model *m, const struct ctt_node *n, int64_t row,
                  int64_t j)
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
static int take(struct flow *f, int i)
{
    const struct ctt_node *n = &f->g->node[i];
    const double *x = f->value + f->at[n->in[0]];
    int changed = 0;

    for (int64_t o = 0; o < n->out.c && feeder(f, i) >= 0; o++) {
        double add = 0;

        for (int64_t j = 0; j < n->w[0].c; j++) {
            double sum;

            if (isnan(x[j]) || !takes(n, x[j]))
                continue;
            sum = cut(f->m, n, o, j);
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

/* ---- channels that nothing reads ---- */

static void find_read(struct flow *f)
{
    for (int i = 0; i < f->g->count; i++) {
        const struct ctt_node *n = &f->g->node[i];
        int from = ctt_is_conv(n) ? feeder(f, i) : -1;
        const float *w = f->m->w + n->at[0];

        if (from < 0)
            continue;
        for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
            if (w[k] != 0)
                f->read[f->at[from] + k % n->w[0].c] = 1;
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

/* Returns whether a channel has died. */
static int find_dead(struct flow *f)
{
    int found = 0;

    for (int i = 0; i < f->g->count; i++) {
        int64_t at = f->at[i];

        if (f->source[i] != i || f->stays[i])
            continue;
        for (int64_t j = 0; j < f->g->node[i].out.c; j++)
            if (!f->read[at + j] && !f->dead[at + j]) {
                kill_channel(f->m, &f->g->node[i], j);
                f->dead[at + j] = 1;
                found = 1;
            }
        memset(f->read + at, 0, (size_t)f->g->node[i].out.c);
    }
    return found;
}

/* A channel that dies may be the last reader of another, and one that holds
 * 0 may leave a row without a weight. */
static void find_all(struct flow *f)
{
    int changed = 1;

    while (changed) {
        changed = 0;
        find_values(f);
        for (int i = 0; i < f->g->count; i++)
            if (ctt_is_conv(&f->g->node[i]))
                changed |= take(f, i);
        find_read(f);
        changed |= find_dead(f);
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

/* How many channels of the conv stay; at least one does, and all that are
 * dropped with one that stays. */
static int64_t left(struct flow *f, int conv)
{
    int64_t n = f->g->node[conv].out.c, grain = f->grain[conv], live = 0;
    uint8_t *dead = f->dead + f->at[conv];

    for (int64_t j = 0; j < n; j += grain) {
        int64_t count = n - j < grain ? n - j : grain;

        if (!memchr(dead + j, 0, (size_t)count))
            continue;
        memset(dead + j, 0, (size_t)count);
        live += count;
    }
    if (live == 0)
        dead[0] = 0;
    return live ? live : 1;
}

static int edit(struct ctt_edit *e, struct flow *f)
{
    char text[24];
    int rc = 0;

    for (int i = 0; i < f->g->count; i++) {
        const struct ctt_node *n = &f->g->node[i];
        int conv = ctt_is_conv(n);

        if (f->source[i] < 0 || !(conv || n->op == CTT_OP_RESHAPE))
            continue;
        snprintf(text, sizeof(text), "%lld",
                 (long long)left(f, f->source[i]));
        CTT_TRY(ctt_edit_set(e, i, conv ? "out" : "c", text));
    }
out:
    return rc;
}

/* Which channels of a node's result are dropped; NULL: none. */
static const uint8_t *dropped(const struct flow *f, int node)
{
    int from = f->source[node];

    return from >= 0 ? f->dead + f->at[from] : NULL;
}

/* Copies weight k of node i without what is dropped. */
static void copy(const struct flow *f, int i, int k, struct ctt_model *to)
{
    const struct ctt_node *n = &f->g->node[i];
    int kernel = ctt_is_kernel(n, k);
    const uint8_t *rows = kernel ? dropped(f, i) : NULL;
    const uint8_t *cols = dropped(f, kernel ? n->in[0] : i);
    int64_t c = n->w[k].c, size = ctt_volume(&n->w[k]);
    int64_t each = kernel ? row_size(n) : size, out = to->g->node[i].at[k];

    for (int64_t x = 0; x < size; x++) {
        if ((rows && rows[x / each]) || (cols && cols[x % c]))
            continue;
        to->w[out] = f->m->w[n->at[k] + x];
        ctt_constraint_carry(&f->m->constraint, n->at[k] + x, 1,
                             &to->constraint, out++);
    }
}

int ctt_drop_dead(const struct ctt_model *m, struct ctt_model **out)
{
    struct ctt_model *copied = NULL, *to = NULL;
    struct ctt_edit *e = NULL;
    struct flow f = { NULL };
    int rc = 0;

    CTT_TRY(ctt_model_finite(m));
    CTT_TRY(ctt_model_copy(m, &copied));
    CTT_TRY(flow_new(copied, &f));
    find_grain(&f);
    find_all(&f);
    if (copied->constraint.keep) {
        prune_biases(&f);
        keep_whole(&f);
    }
    CTT_TRY(ctt_edit_begin(f.g, &e));
    CTT_TRY(edit(e, &f));
    CTT_TRY(ctt_edit_model(e, copied, &to));
    for (int i = 0; i < f.g->count; i++)
        for (int k = 0; k < f.g->node[i].nw; k++)
            copy(&f, i, k, to);
    *out = to;
    to = NULL;
out:
    ctt_edit_free(&e);
    flow_free(&f);
    ctt_model_free(&to);
    ctt_model_free(&copied);
    return rc;
}
