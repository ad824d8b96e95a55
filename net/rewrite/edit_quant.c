/* SPDX-License-Identifier: Apache-2.0
 * edit_quant.c: a model in which convs read bytes: lines `quant` behind the
 * sources of their inputs, and copies of the views and windows between. */
#include "net/rewrite/edit.h"
#include "net/rewrite/edit_quant.h"
#include "net/op.h"
#include "net/quant.h"
#include "net/unit.h"
#include "net/winograd.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LONG_NAME = CTT_NAME + 8 };

/* 1 if quantised values pass through a node of one input as they are. */
static int passes_quant(const struct ctt_node *n)
{
    return ctt_ops[n->op].form(n) == CTT_FORM_KEPT &&
           (n->source >= 0 || n->nin == 1);
}

/* Marks all nodes from a conv's input back to its source, which gets 2.  One
 * that has been marked ends the way, so that a loop does too. */
static void mark(const struct ctt_graph *g, int i, char *marked)
{
    while (!marked[i] && !(g->node[i].out.scale > 0)) {
        marked[i] = passes_quant(&g->node[i]) ? 1 : 2;
        if (marked[i] == 2)
            break;
        i = ctt_node_input(&g->node[i], 0);
    }
}

/* 1 if the node repeats values of the model's answer, or is it. */
static int is_answer(const struct ctt_graph *g, int i)
{
    for (int k = 0; k < g->count && passes_quant(&g->node[i]); k++)
        i = ctt_node_input(&g->node[i], 0);
    return i == ctt_graph_output(g);
}

const char *ctt_quantise_cannot(const struct ctt_graph *g, int i)
{
    const struct ctt_node *n = &g->node[i];

    if (n->op != CTT_OP_CONV)
        return "no conv";
    if (ctt_is_int8(g, i))
        return "reads bytes already";
    if (ctt_volume(&n->w[0]) / n->w[0].n > CTT_QUANT_MOST)
        return "too many weights an output";
    return is_answer(g, n->in[0]) ? "reads the answer" : NULL;
}

static int mark_all(const struct ctt_graph *g, const char *take, char **out)
{
    char *marked = ctt_calloc((size_t)g->count + 1, 1);

    *out = marked;
    if (!marked)
        return CTT_ENOMEM;
    for (int i = 0; i < g->count; i++)
        if (take[i])
            mark(g, g->node[i].in[0], marked);
    return 0;
}

int ctt_quantise_known(const struct ctt_node *n, struct ctt_form_of *form)
{
    const struct ctt_input *in = &n->attr.input;

    if (n->op == CTT_OP_LSTM) {
        *form = (struct ctt_form_of){ 0x1p-7f, 128 };
        return 1;
    }
    if (n->op != CTT_OP_INPUT || in->normalise != CTT_NORMALISE_SET ||
        in->gamma != 1)
        return 0;
    for (int k = 0; k < 3; k++)
        if (in->std[k] != in->std[0] || in->mean[k] != in->mean[0] ||
            !(in->mean[k] >= 0 && in->mean[k] <= 1))
            return 0;
    *form = (struct ctt_form_of){ 1 / (255 * in->std[0]),
                                  (int)rintf(255 * in->mean[0]) };
    return 1;
}

/* The share of a conv's units of which something is kept. */
static double kept_share(const struct ctt_model *m, int i,
                         enum ctt_prune_form f)
{
    const struct ctt_node *n = &m->g->node[i];
    const uint8_t *keep = m->constraint.keep;
    int groups = n->attr.conv.groups;
    int64_t units = ctt_units(f, &n->w[0], groups), count = 0;

    if (!keep || groups > 1)
        return 1;
    for (int64_t k = 0; k < units; k++) {
        struct ctt_unit u = ctt_unit_at(f, &n->w[0], groups, k);
        count += ctt_unit_kept(&u, keep + n->at[0]) > 0;
    }
    return (double)count / (double)units;
}

/* Times are shares of that of a dense sum of bytes.  One of floats takes 4;
 * Winograd's 5x5, which also computes an LSTM along, takes 0.75.  Of pruned
 * weights a block of bytes takes 2.25, a row of floats hardly more than in a
 * dense sum.  (From bench/bench_sparse.c and bench/run_sparse.sh, on AVX-512.)
 */
int ctt_quantise_pays(const struct ctt_model *m, int i)
{
    double bytes = 2.25 * kept_share(m, i, CTT_PRUNE_BLOCK);
    double floats = 4.2 * kept_share(m, i, CTT_PRUNE_ROW);

    if (ctt_winograd_beats_bytes(&m->g->node[i]))
        floats = fmin(floats, 0.75);
    return fmin(bytes, 1) < floats;
}

int ctt_quantise_sources(const struct ctt_graph *g, const char *take,
                         char *source)
{
    char *marked = NULL;
    int rc = mark_all(g, take, &marked);

    for (int i = 0; rc >= 0 && i < g->count; i++)
        source[i] = marked[i] == 2;
    ctt_free(marked);
    return rc;
}

/* The name of the node's values in bytes: its own, if they are quantised. */
static int byte_name(const struct ctt_graph *g, int i, char name[LONG_NAME])
{
    const struct ctt_node *n = &g->node[i];
    int rc = 0;

    if (n->out.scale > 0) {
        snprintf(name, LONG_NAME, "%s", n->name);
        goto out;
    }
    CTT_CHECK(snprintf(name, LONG_NAME, "%s.q8", n->name) < CTT_NAME,
              CTT_EINVAL, "%s: the name leaves no room for .q8", n->name);
    CTT_CHECK(ctt_graph_find(g, name) < 0, CTT_EINVAL, "there is a node %s "
              "already", name);
out:
    return rc;
}

/* The attributes of a line, from the word after "NAME " and "in=X " on. */
static const char *rest_of(const char *line)
{
    const char *at = strchr(line, ' ') + 1;

    at += strcspn(at, " \n");
    if (strncmp(at, " in=", 4) == 0)
        at += 1 + strcspn(at + 1, " \n");
    return at;
}

/* The names of nodes in another form. */
struct namer {
    int (*name)(const struct ctt_graph *g, int i, char name[LONG_NAME]);
};
static const struct namer bytes = { byte_name };

/* Adds a copy of the line of a node that only passes values on, whose name and
 * input are in the form of the namer. */
static int add_copy(struct ctt_edit *e, const struct ctt_graph *g, int i,
                    const struct namer *form, const char *line)
{
    const struct ctt_node *n = &g->node[i];
    char name[LONG_NAME], from[LONG_NAME], sizes[CTT_NAME + 32] = "";
    const char *fill = "";
    int rc = 0;

    CTT_TRY(form->name(g, i, name));
    CTT_TRY(form->name(g, ctt_node_input(n, 0), from));
    if (n->source < 0) {
        CTT_TRY(ctt_edit_after(e, i, "%s %s in=%s%.*s", ctt_ops[n->op].name,
                               name, from, (int)strcspn(rest_of(line), "\n"),
                               rest_of(line)));
        goto out;
    }
    if (n->source > i)
        snprintf(sizes, sizeof(sizes), " like=%s c=%d", n->attr.state.like,
                 n->attr.state.c);
    if (n->attr.state.fill == CTT_FILL_FIRST)
        fill = " fill=first";
    CTT_TRY(ctt_edit_after(e, i, "state %s of=%s%s delay=%d%s", name, from,
                           sizes, n->attr.state.delay, fill));
out:
    return rc;
}

static int add_quant(struct ctt_edit *e, const struct ctt_graph *g, int i,
                     const struct ctt_form_of *form)
{
    char name[LONG_NAME];
    int rc;

    CTT_TRY(byte_name(g, i, name));
    CTT_TRY(ctt_edit_after(e, i, "quant %s in=%s scale=%.9g zero=%d", name,
                           g->node[i].name, (double)form->scale, form->zero));
out:
    return rc;
}

/* Lets a conv read another form; of its plus input too, if that is there. */
static int read_as(struct ctt_edit *e, const struct ctt_graph *g, int i,
                   const struct namer *form, int plus)
{
    const struct ctt_node *n = &g->node[i];
    char name[LONG_NAME];
    int rc;

    CTT_TRY(form->name(g, n->in[0], name));
    CTT_TRY(ctt_edit_set(e, i, "in", name));
    if (n->plus && plus) {
        CTT_TRY(form->name(g, n->in[1], name));
        CTT_TRY(ctt_edit_set(e, i, "plus", name));
    }
out:
    return rc;
}

static const char *next_line(const char *s)
{
    s += strcspn(s, "\n");
    return s + (*s == '\n');
}

static int add_lines(struct ctt_edit *e, const struct ctt_graph *g,
                     const char *take, const char *marked,
                     const struct ctt_form_of *form, const char *text)
{
    int rc = 0;

    for (int i = 0; i < g->count; i++, text = next_line(text)) {
        if (i == g->clip)
            text = next_line(text);
        if (marked[i] == 1)
            CTT_TRY(add_copy(e, g, i, &bytes, text));
        if (marked[i] == 2)
            CTT_TRY(add_quant(e, g, i, &form[i]));
        if (take[i])
            CTT_TRY(read_as(e, g, i, &bytes, g->node[i].plus &&
                            marked[g->node[i].in[1]]));
    }
out:
    return rc;
}

static int sweep(struct ctt_model **m)
{
    struct ctt_edit *e = NULL;
    struct ctt_model *less = NULL;
    int rc;

    CTT_TRY(ctt_edit_begin((*m)->g, &e));
    CTT_TRY(ctt_edit_sweep(e));
    CTT_TRY(ctt_edit_model(e, *m, &less));
    ctt_edit_free(&e);
    ctt_model_free(m);
    *m = less;
out:
    ctt_edit_free(&e);
    return rc;
}

/* The model of an edit, without nodes that nothing reads any more. */
static int finish_edit(struct ctt_edit *e, const struct ctt_model *m,
                       struct ctt_model **out)
{
    struct ctt_model *to = NULL;
    int rc;

    CTT_TRY(ctt_edit_model(e, m, &to));
    CTT_TRY(sweep(&to));
    *out = to;
    to = NULL;
out:
    ctt_model_free(&to);
    return rc;
}

int ctt_quantise(const struct ctt_model *m, const char *take,
                 const struct ctt_form_of *form, struct ctt_model **out)
{
    struct ctt_edit *e = NULL;
    char *marked = NULL, *text = ctt_net_print(m->g);
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(mark_all(m->g, take, &marked));
    CTT_TRY(ctt_edit_begin(m->g, &e));
    CTT_TRY(add_lines(e, m->g, take, marked, form, text));
    CTT_TRY(finish_edit(e, m, out));
out:
    ctt_edit_free(&e);
    ctt_free(marked);
    ctt_free(text);
    return rc;
}

/* ---- back to floats ---- */

/* The node, of floats, that a node of quantised values is a copy of; or -1. */
static int copied(const struct ctt_graph *g, int i)
{
    const struct ctt_node *n = &g->node[i];
    size_t len = strlen(n->name);
    char name[CTT_NAME];
    int at;

    if (len < 4 || strcmp(n->name + len - 3, ".q8") != 0)
        return -1;
    snprintf(name, sizeof(name), "%.*s", (int)(len - 3), n->name);
    at = ctt_graph_find(g, name);
    return at >= 0 && g->node[at].op == n->op && !(g->node[at].out.scale > 0)
        ? at : -1;
}

/* The name of the floats that a node's values were before they were quantised:
 * its own, if they are floats. */
static int float_name(const struct ctt_graph *g, int i, char name[LONG_NAME])
{
    const struct ctt_node *n = &g->node[i];
    int at = n->op == CTT_OP_QUANT ? n->in[0] : copied(g, i), rc = 0;

    if (!(n->out.scale > 0) || at >= 0) {
        snprintf(name, LONG_NAME, "%s", g->node[at >= 0 ? at : i].name);
        goto out;
    }
    CTT_CHECK(snprintf(name, LONG_NAME, "%s.f32", n->name) < CTT_NAME,
              CTT_EINVAL, "%s: the name leaves no room for .f32", n->name);
    CTT_CHECK(ctt_graph_find(g, name) < 0, CTT_EINVAL, "there is a node %s "
              "already", name);
out:
    return rc;
}

static const struct namer floats = { float_name };

/* Marks the nodes of quantised values that need a copy of floats so that a node
 * can read floats in place of i. */
static int mark_floats(const struct ctt_graph *g, int i, char *marked)
{
    int rc = 0;

    while (g->node[i].out.scale > 0 && g->node[i].op != CTT_OP_QUANT &&
           copied(g, i) < 0 && !marked[i]) {
        CTT_CHECK(passes_quant(&g->node[i]), CTT_EUNSUP, "%s: bytes of several "
                  "values", g->node[i].name);
        marked[i] = 1;
        i = ctt_node_input(&g->node[i], 0);
    }
out:
    return rc;
}

static int mark_readers(const struct ctt_graph *g, const char *take,
                        char *marked)
{
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        if (!take[i])
            continue;
        CTT_TRY(mark_floats(g, g->node[i].in[0], marked));
        if (g->node[i].plus)
            CTT_TRY(mark_floats(g, g->node[i].in[1], marked));
    }
out:
    return rc;
}

static int add_floats(struct ctt_edit *e, const struct ctt_graph *g,
                      const char *take, const char *marked, const char *text)
{
    int rc = 0;

    for (int i = 0; i < g->count; i++, text = next_line(text)) {
        if (i == g->clip)
            text = next_line(text);
        if (marked[i])
            CTT_TRY(add_copy(e, g, i, &floats, text));
        if (take[i])
            CTT_TRY(read_as(e, g, i, &floats, 1));
    }
out:
    return rc;
}

int ctt_dequantise(const struct ctt_model *m, const char *take,
                   struct ctt_model **out)
{
    char *marked = ctt_calloc((size_t)m->g->count + 1, 1);
    char *text = ctt_net_print(m->g);
    struct ctt_edit *e = NULL;
    int rc = marked && text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(mark_readers(m->g, take, marked));
    CTT_TRY(ctt_edit_begin(m->g, &e));
    CTT_TRY(add_floats(e, m->g, take, marked, text));
    CTT_TRY(finish_edit(e, m, out));
out:
    ctt_edit_free(&e);
    ctt_free(marked);
    ctt_free(text);
    return rc;
}

/* ---- any range ---- */

static struct ctt_form_of some_form(const struct ctt_node *n)
{
    struct ctt_form_of form = { 1 / 32.0f, ctt_is_relu(n) ? 0 : 128 };

    ctt_quantise_known(n, &form);
    return form;
}

int ctt_quantise_some(const struct ctt_model *m, const char *take,
                      struct ctt_model **out)
{
    struct ctt_form_of *form = ctt_calloc((size_t)m->g->count, sizeof(*form));
    int rc = form ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < m->g->count; i++)
        form[i] = some_form(&m->g->node[i]);
    CTT_TRY(ctt_quantise(m, take, form, out));
out:
    ctt_free(form);
    return rc;
}
