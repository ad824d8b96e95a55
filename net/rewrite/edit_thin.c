/* SPDX-License-Identifier: Apache-2.0
 * edit_thin.c: removes channels from all nodes that have them, or adds some. */
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <stdio.h>

struct thin {
    const struct ctt_graph *g;
    const struct ctt_channel_groups  *t;
    const uint8_t          *keep;    /* by class: how many it becomes */
};

static int channel_stays(const struct thin *a, int node, int64_t channel)
{
    return a->keep[ctt_tie(a->t, node, channel)];
}

/* How many the first n channels of a node become. */
static int64_t count_kept(const struct thin *a, int node, int64_t n)
{
    int64_t sum = 0;

    for (int64_t j = 0; j < n; j++)
        sum += channel_stays(a, node, j);
    return sum;
}

static int64_t left(const struct thin *a, int node)
{
    return count_kept(a, node, a->g->node[node].out.c);
}

/* ---- the text ---- */

static int set_number(struct ctt_edit *e, int node, const char *key,
                      int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)value);
    return ctt_edit_set(e, node, key, text);
}

static int conv(const struct thin *a, struct ctt_edit *e, int i)
{
    const struct ctt_node *n = &a->g->node[i];
    int rc;

    CTT_TRY(set_number(e, i, "out", left(a, i)));
    if (ctt_is_depthwise(a->g, n))
        CTT_TRY(set_number(e, i, "groups", left(a, n->in[0])));
out:
    return rc;
}

/* A state of a node above has no key for its channels. */
static int state(const struct thin *a, struct ctt_edit *e, int i)
{
    return a->g->node[i].attr.state.like ?
           set_number(e, i, "c", left(a, i)) : 0;
}

static int slice(const struct thin *a, struct ctt_edit *e, int i)
{
    const struct ctt_node *n = &a->g->node[i];
    int rc;

    CTT_TRY(set_number(e, i, "from",
                       count_kept(a, n->in[0], n->attr.slice.from)));
    CTT_TRY(set_number(e, i, "to", count_kept(a, n->in[0], n->attr.slice.to)));
out:
    return rc;
}

static int reshape(const struct thin *a, struct ctt_edit *e, int i)
{
    return set_number(e, i, "c", left(a, i));
}

/* By the rule of the op's row. */
static int (*const lines[CTT_WIDTH_RULES])(const struct thin *a,
                                           struct ctt_edit *e, int i) = {
    [CTT_WIDTH_OUT] = conv, [CTT_WIDTH_LIKE] = state,
    [CTT_WIDTH_RANGE] = slice, [CTT_WIDTH_C] = reshape,
};

static int thin_node(const struct thin *a, struct ctt_edit *e, int i)
{
    const struct ctt_node *n = &a->g->node[i];
    enum ctt_width_rule rule = ctt_ops[n->op].width;
    int rc = 0;

    CTT_CHECK(left(a, i) > 0, CTT_EINVAL, "%s: no channel would be left",
              n->name);
    for (int64_t j = 0; j < n->out.c; j++)
        CTT_CHECK(channel_stays(a, i, j) || !a->t->whole[ctt_tie(a->t, i, j)],
                  CTT_EINVAL, "%s: channel %lld must stay", n->name,
                  (long long)j);
    if (lines[rule])
        CTT_TRY(lines[rule](a, e, i));
out:
    return rc;
}

int ctt_widen_graph(const struct ctt_graph *g,
                    const struct ctt_channel_groups *t, const uint8_t *copies,
                    struct ctt_graph **out)
{
    const struct thin a = { g, t, copies };
    struct ctt_edit *e = NULL;
    int rc;

    CTT_TRY(ctt_edit_begin(g, &e));
    for (int i = 0; i < g->count; i++)
        CTT_TRY(thin_node(&a, e, i));
    CTT_TRY(ctt_edit_graph(e, out));
out:
    ctt_edit_free(&e);
    return rc;
}

/* ---- the weights ---- */

/* Copies weight k of node i without the channels that go. */
static void copy_weight(const struct thin *a, const struct ctt_model *m, int i,
                        int k, struct ctt_model *to)
{
    const struct ctt_node *n = &a->g->node[i];
    int kernel = ctt_is_kernel(n, k);
    int reads = kernel && !ctt_is_grouped(n);
    int64_t c = n->w[k].c, size = ctt_volume(&n->w[k]);
    int64_t each = kernel ? size / n->out.c : 1;    /* or rows of a table */
    int64_t at = n->at[k], out = to->g->node[i].at[k];

    for (int64_t x = 0; x < size; x++) {
        if (!channel_stays(a, i, x / each % n->out.c) ||
            (reads && !channel_stays(a, n->in[0], x % c)))
            continue;
        to->w[out] = m->w[at + x];
        ctt_constraint_carry(&m->constraint, at + x, 1, &to->constraint,
                             out++);
    }
}

int ctt_thin_model(const struct ctt_model *m,
                   const struct ctt_channel_groups *t, const uint8_t *keep,
                   struct ctt_model **out)
{
    const struct thin a = { m->g, t, keep };
    struct ctt_edit *e = NULL;
    struct ctt_model *to = NULL;
    int rc = 0;

    CTT_TRY(ctt_edit_begin(m->g, &e));
    for (int i = 0; i < m->g->count; i++)
        CTT_TRY(thin_node(&a, e, i));
    CTT_TRY(ctt_edit_model(e, m, &to));
    for (int i = 0; i < m->g->count; i++)
        for (int k = 0; k < m->g->node[i].nw; k++)
            copy_weight(&a, m, i, k, to);
    *out = to;
out:
    ctt_edit_free(&e);
    return rc;
}
