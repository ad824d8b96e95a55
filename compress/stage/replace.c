/* SPDX-License-Identifier: Apache-2.0
 * replace.c: weights that may become chains of small convs, and the model with
 * these. */
#include "compress/stage/chain.h"
#include "net/rewrite/edit.h"
#include "net/op.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

enum { LONG_NAME = CTT_NAME + 16 };

/* The last core keeps the name of the node, which other nodes read.  Returns
 * whether the name is short enough. */
static int core_name(const struct ctt_node *n, int k, int cores,
                     char name[LONG_NAME])
{
    int len = k < cores - 1
        ? snprintf(name, LONG_NAME, "%s.t%d", n->name, k + 1)
        : snprintf(name, LONG_NAME, "%s", n->name);

    return len < CTT_NAME;
}

/* ---- choice of weights ---- */

struct ctt_weight_row *ctt_chain_row(const struct ctt_report *r,
                                     const char *name)
{
    for (int i = 0; i < r->weights; i++)
        if (strcmp(r->weight[i].name, name) == 0 && r->weight[i].cores == 1)
            return &r->weight[i];
    return NULL;
}

int ctt_chain_rows(const struct ctt_report *r)
{
    int n = 0;

    for (int i = 0; i < r->weights; i++)
        n += r->weight[i].cores > 1;
    return n;
}

static int check_weight(const struct ctt_model *m, const struct ctt_node *n,
                        const char *what, const char *option)
{
    int rc = 0;

    for (int64_t i = n->at[0]; i < n->at[0] + ctt_volume(&n->w[0]); i++)
        CTT_CHECK(!ctt_is_pruned(&m->constraint, i) &&
                  !ctt_code(&m->constraint, i), CTT_EINVAL, "%s is pruned or "
                  "shared, and %s of it would be neither: give a dense model, "
                  "or --%s", n->name, what, option);
out:
    return rc;
}

int ctt_chain_check(const struct ctt_model *m, int least, const char *except,
                    const char *what, const char *option)
{
    int rc = 0;

    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        if (ctt_is_conv(n) && !ctt_is_grouped(n) &&
            ctt_volume(&n->w[0]) >= least &&
            !ctt_name_matches(except, n->name))
            CTT_TRY(check_weight(m, n, what, option));
    }
out:
    return rc;
}

/* Whether the names of the cores are unused; if not, the row gets the reason.
 */
static int names_free(const struct ctt_graph *g, const struct ctt_node *n,
                      struct ctt_weight_row *row)
{
    char name[LONG_NAME];

    for (int k = 0; k < CTT_MAX_CORES - 1; k++) {
        if (!core_name(n, k, CTT_MAX_CORES, name)) {
            snprintf(row->reason, CTT_REASON, "its name leaves no room for "
                     "those of cores");
            return 0;
        }
        if (ctt_graph_find(g, name) >= 0) {
            snprintf(row->reason, CTT_REASON, "factorised before: there is "
                     "%s", name);
            return 0;
        }
    }
    return 1;
}

int ctt_chain_may(const struct ctt_graph *g, int i, int least,
                  const char *except, struct ctt_weight_row *row)
{
    const struct ctt_node *n = &g->node[i];

    if (ctt_name_matches(except, n->name)) {
        snprintf(row->reason, CTT_REASON, "excepted");
        return 0;
    }
    if (ctt_is_grouped(n)) {
        snprintf(row->reason, CTT_REASON, "has groups");
        return 0;
    }
    if (row->params_after < least) {
        snprintf(row->reason, CTT_REASON, row->params_after < row->params
                 ? "fewer than %d weights are left"
                 : "has fewer than %d weights", least);
        return 0;
    }
    return names_free(g, n, row);
}

int ctt_chain_pays(const struct ctt_chain *c, struct ctt_weight_row *row)
{
    if (c->cores > 1 && c->params < row->params_after &&
        c->macs < row->macs_after)
        return 1;
    snprintf(row->reason, CTT_REASON, "a chain takes %lld parameters and %lld "
             "multiplications", (long long)c->params, (long long)c->macs);
    return 0;
}

void ctt_chain_tell(const struct ctt_chain *c, struct ctt_weight_row *row)
{
    row->cores = c->cores;
    for (int k = 1; k < c->cores; k++)
        row->rank[k - 1] = c->rank[k];
    ctt_chain_text(c, row->chain, sizeof(row->chain));
    row->reason[0] = '\0';
    row->error = c->error;
    row->fitted = c->fitted;
    row->params_after = c->params;
    row->macs_after = c->macs;
}

/* ---- the new model ---- */

/* Adds the line of core k of the chain that replaces node i. */
static int add_core(struct ctt_edit *e, const struct ctt_graph *g, int i,
                    const struct ctt_chain *c, int k)
{
    const struct ctt_node *n = &g->node[i];
    struct ctt_chain_conv r = ctt_chain_core(c, k, n);
    const int *f = r.slide.kernel, *s = r.slide.stride, *p = r.slide.pad;
    int point = f[0] * f[1] * f[2] * s[0] * s[1] * s[2] == 1 &&
                p[0] + p[1] + p[2] == 0;
    int last = k == c->cores - 1, plus = last && n->plus;
    char name[LONG_NAME], in[LONG_NAME], text[CTT_SLIDE_TEXT];

    ctt_slide_text(&r.slide, text);
    core_name(n, k, c->cores, name);
    if (k > 0)
        core_name(n, k - 1, c->cores, in);
    /* A deconv that only mixes channels is a conv. */
    return ctt_edit_add(e, i, "%s %s in=%s%s%s out=%lld%s bias=%d",
                        point ? "conv" : ctt_ops[n->op].name, name,
                        k > 0 ? in : g->node[n->in[0]].name,
                        plus ? " plus=" : "",
                        plus ? g->node[n->in[1]].name : "", (long long)r.out,
                        text, last && (n->attr.conv.bias || c->bias));
}

/* Replaces nodes by their chains. */
static int add_chains(struct ctt_edit *e, const struct ctt_graph *g,
                      struct ctt_chain *const *chain)
{
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        if (!chain[i])
            continue;
        for (int k = 0; k < chain[i]->cores; k++)
            CTT_TRY(add_core(e, g, i, chain[i], k));
        ctt_edit_remove(e, i);
    }
out:
    return rc;
}

/* Copies the weights of the cores, and their biases. */
static int fill_cores(const struct ctt_graph *g,
                      struct ctt_chain *const *chain, struct ctt_model *to)
{
    char name[LONG_NAME];
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        for (int k = 0; chain[i] && k < chain[i]->cores; k++) {
            const struct ctt_node *d;
            int at;

            core_name(&g->node[i], k, chain[i]->cores, name);
            at = ctt_graph_find(to->g, name);
            CTT_CHECK(at >= 0, CTT_EFORMAT, "%s: lost on the way", name);
            d = &to->g->node[at];
            memcpy(to->w + d->at[0], chain[i]->w[k],
                   (size_t)ctt_volume(&d->w[0]) * sizeof(float));
            if (chain[i]->bias && k == chain[i]->cores - 1)
                memcpy(to->w + d->at[1], chain[i]->bias,
                       (size_t)d->w[0].n * sizeof(float));
        }
    }
out:
    return rc;
}

int ctt_chain_replace(const struct ctt_model *m,
                      struct ctt_chain *const *chain, struct ctt_model **out)
{
    struct ctt_edit *e = NULL;
    struct ctt_model *to = NULL;
    int rc = 0;

    CTT_TRY(ctt_edit_begin(m->g, &e));
    CTT_TRY(add_chains(e, m->g, chain));
    CTT_TRY(ctt_edit_model(e, m, &to));
    CTT_TRY(fill_cores(m->g, chain, to));
    *out = to;
    to = NULL;
out:
    ctt_model_free(&to);
    ctt_edit_free(&e);
    return rc;
}
