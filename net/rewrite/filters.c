/* SPDX-License-Identifier: Apache-2.0
 * filters.c: a graph of which each process has some filters of every conv, and
 * so some channels of its result (Dryden and others 2019b).  Ops that treat
 * each channel alone continue with these; a conv reads all channels, which are
 * collected.
 *
 * The gates of an lstm are divided by the channels of its state: a part has the
 * four gates of its own states, which never pass between processes. */
#include "net/rewrite/split_in.h"
#include "net/op.h"
#include "net/part.h"

#include <stdio.h>
#include <string.h>

/* The share of a node's value that a part has. */
enum kind { WHOLE, CHANNELS, GATES };

/* wants: other forms in which a value is read: the whole; a part's channels;
 * the whole by filters, each of which gives a part of the gradient. */
enum { TO_WHOLE = 1, TO_CHANNELS = 2, TO_FILTERS = 4 };
struct making {
    const struct ctt_graph *g;
    struct ctt_edit        *e;
    int   part, parts;
    char *kind, *wants;
};

/* ---- gates ---- */

static int is_divided_lstm(const struct making *a, const struct ctt_node *n)
{
    return n->op == CTT_OP_LSTM && n->out.c >= a->parts;
}

/* 1 if input k of a node that has gates has gates, too. */
static int passes_gates(const struct ctt_node *n, int k)
{
    return n->op == CTT_OP_CONV ? k == 1 : 1;
}

static int can_have_gates(const struct ctt_node *n)
{
    return n->op == CTT_OP_ADD || n->op == CTT_OP_STATE ||
           (n->op == CTT_OP_CONV && !ctt_is_grouped(n));
}

/* Finds the values that are gates, from the lstms back. */
static void mark_gates(const struct making *a)
{
    const struct ctt_graph *g = a->g;

    for (int changed = 1; changed; ) {
        changed = 0;
        for (int i = g->count - 1; i >= 0; i--) {
            const struct ctt_node *n = &g->node[i];

            for (int k = 0; k < ctt_node_inputs(n); k++) {
                int of = ctt_node_input(n, k);
                int gates = k == 0 && is_divided_lstm(a, n);

                gates |= a->kind[i] == GATES && can_have_gates(n) &&
                         passes_gates(n, k);
                changed |= gates && a->kind[of] != GATES;
                if (gates)
                    a->kind[of] = GATES;
            }
        }
    }
}

/* 1 if input k of node n may be a part of gates, by the values found so far. */
static int takes_gates(const struct making *a, const struct ctt_node *n, int k)
{
    if (n->op == CTT_OP_LSTM)
        return k == 0 && is_divided_lstm(a, n);
    return a->kind[n - a->g->node] == GATES && passes_gates(n, k);
}

static int are_gates(const struct making *a, int node)
{
    const struct ctt_graph *g = a->g;
    const struct ctt_node *n = &g->node[node];

    if (!can_have_gates(n) || node == g->count - 1)
        return 0;
    for (int k = 0; k < ctt_node_inputs(n); k++)
        if (passes_gates(n, k) && a->kind[ctt_node_input(n, k)] != GATES)
            return 0;
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < ctt_node_inputs(&g->node[i]); k++)
            if (ctt_node_input(&g->node[i], k) == node &&
                !takes_gates(a, &g->node[i], k))
                return 0;
    return 1;
}

/* ---- channels ---- */

static int reads_kind(const struct making *a, const struct ctt_node *n,
                      int kind)
{
    for (int k = 0; k < ctt_node_inputs(n); k++)
        if (a->kind[ctt_node_input(n, k)] == kind)
            return 1;
    return 0;
}

/* Random numbers are counted over all channels. */
static int has_channels(const struct making *a, const struct ctt_node *n)
{
    if (n->out.c < a->parts)
        return 0;
    if (ctt_is_conv(n))
        return !ctt_is_grouped(n);
    if (n->op == CTT_OP_LSTM)
        return a->kind[n->in[0]] == GATES;
    return ctt_ops[n->op].ties == CTT_GROUPS_ALONE && n->op != CTT_OP_DROPOUT &&
           reads_kind(a, n, CHANNELS);
}

/* A state reads a later node, so each of the two repeats until nothing
 * changes. */
static void find_kinds(const struct making *a)
{
    for (int changed = 1; changed; ) {
        changed = 0;
        for (int i = 0; i < a->g->count; i++)
            if (a->kind[i] == GATES && !are_gates(a, i)) {
                a->kind[i] = WHOLE;
                changed = 1;
            }
    }
    for (int i = 0; i < a->g->count; i++)
        if (a->kind[i] != GATES)
            a->kind[i] = CHANNELS;
    for (int changed = 1; changed; ) {
        changed = 0;
        for (int i = 0; i < a->g->count; i++)
            if (a->kind[i] == CHANNELS && !has_channels(a, &a->g->node[i])) {
                a->kind[i] = WHOLE;
                changed = 1;
            }
    }
}

static int check_filters(const struct making *a)
{
    int rc = 0, any = 0;

    CTT_TRY(ctt_split_check(a->g));
    for (int i = 0; i < a->g->count; i++)
        any |= a->kind[i] != WHOLE && ctt_is_conv(&a->g->node[i]);
    CTT_CHECK(any, CTT_EUNSUP, "no conv without groups has %d filters or more",
              a->parts);
out:
    return rc;
}

/* ---- the text ---- */

static const char *const suffix[] = { [TO_WHOLE] = "whole",
    [TO_CHANNELS] = "part", [TO_FILTERS] = "filters" };

/* The name of a node's value as it is wanted: 0: as it is. */
static void name_as(const struct making *a, int node, int want,
                    char name[CTT_NAME])
{
    if (a->kind[node] == WHOLE && want == TO_WHOLE)
        want = 0;
    if (a->kind[node] != WHOLE && want == TO_CHANNELS)
        want = 0;
    a->wants[node] |= want;
    if (want == TO_FILTERS && a->kind[node] != WHOLE)
        a->wants[node] |= TO_WHOLE;
    if (want)
        snprintf(name, CTT_NAME, "split.%s.%d", suffix[want], node);
    else
        snprintf(name, CTT_NAME, "%s", a->g->node[node].name);
}

static int set_names(struct making *a, int node, const char *key,
                     const int *of, int count, int want)
{
    char list[CTT_MAX_IN * (CTT_NAME + 1)] = "", name[CTT_NAME];

    for (int k = 0; k < count; k++) {
        size_t n = strlen(list);

        name_as(a, of[k], want, name);
        snprintf(list + n, sizeof(list) - n, "%s%s", k ? "," : "", name);
    }
    return count ? ctt_edit_set(a->e, node, key, list) : 0;
}

/* The channels of a node that belong to this part. */
static int64_t channels_of(const struct making *a, int node)
{
    int64_t c = a->g->node[node].out.c;

    if (a->kind[node] == GATES)
        return 4 * ctt_part_size(c / 4, a->part, a->parts);
    return ctt_part_size(c, a->part, a->parts);
}

static int set_channels(struct making *a, int node, const char *key)
{
    char text[24];

    snprintf(text, sizeof(text), "%lld", (long long)channels_of(a, node));
    return ctt_edit_set(a->e, node, key, text);
}

static int set_node(struct making *a, int node)
{
    const struct ctt_node *n = &a->g->node[node];
    int divided = a->kind[node] != WHOLE, filters = divided && ctt_is_conv(n);
    int want = divided ? TO_CHANNELS : TO_WHOLE, rc = 0;

    CTT_TRY(set_names(a, node, "in", n->in, n->nin - n->plus,
                      filters ? TO_FILTERS : want));
    CTT_TRY(set_names(a, node, "plus", n->in + n->nin - n->plus, n->plus,
                      want));
    if (filters)
        CTT_TRY(set_channels(a, node, "out"));
    if (divided && n->op == CTT_OP_STATE && n->attr.state.c > 0)
        CTT_TRY(set_channels(a, node, "c"));
out:
    return rc;
}

static int add_collect(struct making *a, int node, int want)
{
    const struct ctt_node *n = &a->g->node[node];

    return ctt_edit_after(a->e, node, "collect split.%s.%d in=%s of=channels "
                          "pass=%s part=%d parts=%d all=%lld", suffix[want],
                          node, n->name, want == TO_WHOLE ? "forward"
                          : "backward", a->part, a->parts,
                          (long long)n->out.c);
}

static int add_lines(struct making *a, int node)
{
    char name[CTT_NAME];
    int rc = 0;

    if (a->wants[node] & TO_WHOLE)
        CTT_TRY(add_collect(a, node, TO_WHOLE));
    if (a->wants[node] & TO_CHANNELS)
        CTT_TRY(add_collect(a, node, TO_CHANNELS));
    if (!(a->wants[node] & TO_FILTERS))
        goto out;
    name_as(a, node, TO_WHOLE, name);
    CTT_TRY(ctt_edit_after(a->e, node, "total split.filters.%d in=%s "
                           "pass=backward", node, name));
out:
    return rc;
}

static int make_text(struct making *a)
{
    int last = a->g->count - 1, rc = 0;

    for (int i = 0; i < a->g->count; i++)
        CTT_TRY(set_node(a, i));
    if (a->kind[last] != WHOLE)
        a->wants[last] |= TO_WHOLE;
    for (int i = 0; i < a->g->count; i++)
        CTT_TRY(add_lines(a, i));
out:
    return rc;
}

/* ---- the result ---- */

/* The rows of a weight for a part's channels. */
static int add_piece(const void *arg, struct ctt_split *s, int node, int k)
{
    const struct making *a = arg;
    const struct ctt_node *n = &a->g->node[node];
    int gates = a->kind[node] == GATES ? 4 : 1;
    int64_t c = n->out.c / gates, row = ctt_volume(&n->w[k]) / n->out.c;

    if (a->kind[node] == WHOLE)
        return ctt_split_whole(s, a->g, node, k);
    return ctt_split_piece(s, a->g, node, k, n->name, (struct ctt_piece){
        .whole = ctt_part_first(c, a->part, a->parts) * row,
        .run = ctt_part_size(c, a->part, a->parts) * row, .count = gates,
        .whole_apart = c * row });
}

static int finish_split(const struct making *a, struct ctt_split *s)
{
    for (int i = 0; i < a->g->count; i++)
        s->partial[i] = a->kind[i] != WHOLE;
    return ctt_split_finish(s, a->g, add_piece, a);
}

int ctt_split_filters(const struct ctt_graph *g, int part, int parts,
                      struct ctt_split **out)
{
    struct making a = { .g = g, .part = part, .parts = parts };
    struct ctt_split *s = NULL;
    int rc;

    CTT_TRY(ctt_split_new(g, &s));
    a.kind = ctt_calloc((size_t)g->count, 1);
    a.wants = ctt_calloc((size_t)g->count, 1);
    CTT_TRY(a.kind && a.wants ? 0 : CTT_ENOMEM);
    mark_gates(&a);
    find_kinds(&a);
    CTT_TRY(check_filters(&a));
    CTT_TRY(ctt_edit_begin(g, &a.e));
    CTT_TRY(make_text(&a));
    CTT_TRY(ctt_edit_graph(a.e, &s->g));
    CTT_TRY(finish_split(&a, s));
    *out = s;
    s = NULL;
out:
    ctt_split_free(&s);
    ctt_edit_free(&a.e);
    ctt_free(a.kind);
    ctt_free(a.wants);
    return rc;
}
