/* SPDX-License-Identifier: Apache-2.0
 * chain.c: one weight as a chain of cores: positions of the cuts, and costs of
 * the cores. */
#include "compress/stage/cores.h"

#include <stdio.h>
#include <string.h>

void ctt_chain_free(struct ctt_chain **c)
{
    if (!*c)
        return;
    for (int k = 0; k < CTT_MAX_CORES; k++)
        ctt_free((*c)->w[k]);
    ctt_free((*c)->bias);
    ctt_free(*c);
    *c = NULL;
}

/* ---- cuts ---- */

/* The modes of the window that are larger than 1; returns how many. */
static int wide_modes(const struct ctt_chain *c, int wide[3])
{
    int n = 0;

    for (int m = 1; m < 4; m++)
        if (c->dim[m] > 1)
            wide[n++] = m;
    return n;
}

/* The first mode of each core except the first; returns how many.  A mode of
 * size 1 joins its neighbour.  If the window is one pixel, its stride is
 * cheapest in the first core of a conv and in the last of a deconv. */
static int cuts(const struct ctt_chain *c, int form, int deconv, int at[4])
{
    int wide[3], n = wide_modes(c, wide), k = 0;

    if (n == 0) {
        at[k++] = deconv ? 1 : 4;
    } else if (form == CTT_TT_PAIR) {
        at[k++] = n > 1 ? wide[n - 1] : c->dim[0] > c->dim[4] ? 1 : 4;
    } else {
        at[k++] = 1;
        for (int i = 1; i < n && form == CTT_TT_TRAIN; i++)
            at[k++] = wide[i];
        at[k++] = 4;
    }
    return k;
}

static void first_cuts(struct ctt_chain *c, int form, int deconv)
{
    int at[4], n = cuts(c, form, deconv, at);

    for (int k = 0; k < n; k++)
        c->first[k + 1] = at[k];
    c->first[n + 1] = CTT_MODES;
    c->cores = n + 1;
    c->rank[0] = c->rank[n + 1] = 1;
}

static void drop_cut(struct ctt_chain *c, int k)
{
    for (int i = k; i < c->cores; i++) {
        c->first[i] = c->first[i + 1];
        c->rank[i] = c->rank[i + 1];
    }
    c->cores--;
}

struct ctt_chain_conv ctt_chain_core(const struct ctt_chain *c, int k,
                               const struct ctt_node *n)
{
    struct ctt_slide s = ctt_slide_of(n);
    struct ctt_chain_conv core = {
        { { 1, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 }, { 0, 0, 0 }, { 1, 1, 1 } },
        c->rank[k], c->rank[k + 1] };

    for (int m = c->first[k]; m < c->first[k + 1]; m++) {
        if (m == 0) {
            core.in = c->dim[0];
        } else if (m == 4) {
            core.out = c->dim[4];
        } else {
            core.slide.kernel[m - 1] = c->dim[m];
            core.slide.stride[m - 1] = s.stride[m - 1];
            core.slide.pad[m - 1] = s.pad[m - 1];
            core.slide.after[m - 1] = s.after[m - 1];
            core.slide.dilation[m - 1] = s.dilation[m - 1];
        }
    }
    return core;
}

static int64_t core_params(const struct ctt_chain_conv *r)
{
    const int *k = r->slide.kernel;

    return r->in * r->out * k[0] * k[1] * k[2];
}

void ctt_chain_count(struct ctt_chain *c, const struct ctt_graph *g,
                     const struct ctt_node *n)
{
    const struct ctt_tensor *x = &g->node[n->in[0]].out;
    int64_t size[3] = { x->d, x->h, x->w };

    c->params = c->macs = 0;
    for (int k = 0; k < c->cores; k++) {
        struct ctt_chain_conv r = ctt_chain_core(c, k, n);
        int64_t before = size[0] * size[1] * size[2];

        for (int i = 0; i < 3; i++) {
            if (n->op == CTT_OP_CONV)
                size[i] = (size[i] + r.slide.pad[i] + r.slide.after[i] -
                           ctt_slide_span(&r.slide, i)) /
                          r.slide.stride[i] + 1;
            else
                size[i] = (size[i] - 1) * r.slide.stride[i] -
                          2 * r.slide.pad[i] + r.slide.kernel[i];
        }
        c->params += core_params(&r);
        c->macs += core_params(&r) * (n->op == CTT_OP_CONV
                                      ? size[0] * size[1] * size[2] : before);
    }
}

/* The cut whose removal saves most multiplications and costs no parameters, or
 * 0; without the cut its error disappears too.  While the chain has `dense`
 * multiplications or more, parameters do not matter. */
static int useless_cut(const struct ctt_chain *c, const struct ctt_graph *g,
                       const struct ctt_node *n, int64_t dense)
{
    int64_t least = c->macs;
    int best = 0;

    for (int k = 1; k < c->cores; k++) {
        struct ctt_chain d = *c;
        drop_cut(&d, k);
        ctt_chain_count(&d, g, n);
        if (d.macs <= least && (d.params <= c->params || c->macs >= dense)) {
            least = d.macs;
            best = k;
        }
    }
    return best;
}

/* (in, taps, out) in double becomes (out, taps, in) in float. */
static int store_core(struct ctt_chain *c, int k, const struct ctt_node *n,
                      const double *core)
{
    struct ctt_chain_conv r = ctt_chain_core(c, k, n);
    int64_t taps = core_params(&r) / (r.in * r.out);

    c->w[k] = ctt_calloc((size_t)core_params(&r), sizeof(float));
    if (!c->w[k])
        return CTT_ENOMEM;
    for (int64_t i = 0; i < r.in; i++)
        for (int64_t p = 0; p < taps; p++)
            for (int64_t o = 0; o < r.out; o++)
                c->w[k][(o * taps + p) * r.in + i] =
                    (float)core[(i * taps + p) * r.out + o];
    return 0;
}

/* An error of LAPACK names the node. */
static int name_error(const struct ctt_node *n, int rc)
{
    return rc == CTT_ENAN || rc == CTT_EUNSUP
        ? ctt_error(rc, "%s: %s", n->name, ctt_errmsg()) : rc;
}

int ctt_chain_new(const struct ctt_graph *g, int node, const float *w,
                  const struct ctt_tt *o, const struct ctt_fit_to *to,
                  struct ctt_chain **out)
{
    const struct ctt_node *n = &g->node[node];
    const struct ctt_tensor *k = &n->w[0];
    struct ctt_chain *c = ctt_calloc(1, sizeof(*c));
    struct ctt_cores t = { NULL };
    int rc = 0;

    CTT_TRY(c ? 0 : CTT_ENOMEM);
    memcpy(c->dim, (int[]){ (int)k->c, (int)k->d, (int)k->h, (int)k->w,
                            (int)k->n }, sizeof(c->dim));
    CTT_TRY(ctt_cores_open(c, n->name, &t));
    first_cuts(c, o->form, n->op == CTT_OP_DECONV);
    for (int useless = 1; useless && c->cores > 1; ) {
        ctt_cores_load(c, w, t.a);
        CTT_TRY(name_error(n, ctt_cores_cut(c, o, &t)));
        ctt_chain_count(c, g, n);
        useless = useless_cut(c, g, n, ctt_node_macs(g, node));
        if (useless)
            drop_cut(c, useless);
    }
    if (to && c->cores > 1) {
        CTT_TRY(name_error(n, ctt_cores_fit(c, to, w, &t)));
        ctt_chain_count(c, g, n);
    }
    if (c->cores > 1)
        ctt_cores_balance(c, &t);
    for (int i = 0; c->cores > 1 && i < c->cores; i++)
        CTT_TRY(store_core(c, i, n, t.core[i]));
    *out = c;
    c = NULL;
out:
    ctt_cores_close(&t);
    ctt_chain_free(&c);
    return rc;
}

void ctt_chain_text(const struct ctt_chain *c, char *text, size_t size)
{
    static const char *const word[CTT_MODES] = { "in", "kd", "kh", "kw",
                                                 "out" };
    size_t n = 0;

    text[0] = '\0';
    for (int k = 0; k < c->cores; k++) {
        const char *mark = k ? "|" : "";
        for (int m = c->first[k]; m < c->first[k + 1] && n < size; m++) {
            if (m > 0 && m < 4 && c->dim[m] == 1)
                continue;
            n += (size_t)snprintf(text + n, size - n, "%s%s", mark, word[m]);
            mark = " ";
        }
    }
}
