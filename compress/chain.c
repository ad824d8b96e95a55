/* SPDX-License-Identifier: Apache-2.0
 * chain.c: factorises a weight into a chain of cores by successive truncated
 * SVDs (Oseledets 2011), where that is cheaper, and balances their norms. */
#include "compress/chain.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Singular values below this share of the first are rounding errors of zero. */
static const double vanished = 1e-6;

struct work {
    double *a;                        /* the rest, to be factorised */
    double *u, *s, *vt;
    double *core[CTT_MAX_CORES];      /* (rank, modes, rank) */
    double *sigma[CTT_MAX_CORES];     /* values kept at the cut after core k */
    double  norm2, lost2;
};

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

static void forget(struct work *t)
{
    for (int k = 0; k < CTT_MAX_CORES; k++) {
        ctt_free(t->core[k]);
        ctt_free(t->sigma[k]);
        t->core[k] = t->sigma[k] = NULL;
    }
}

/* ---- where to cut ---- */

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
    struct ctt_chain_conv core = { { 1, 1, 1 }, { 1, 1, 1 }, { 0, 0, 0 },
                             c->rank[k], c->rank[k + 1] };

    for (int m = c->first[k]; m < c->first[k + 1]; m++) {
        if (m == 0) {
            core.in = c->dim[0];
        } else if (m == 4) {
            core.out = c->dim[4];
        } else {
            core.kernel[m - 1] = c->dim[m];
            core.stride[m - 1] = n->attr.conv.stride[m - 1];
            core.pad[m - 1] = n->attr.conv.pad[m - 1];
        }
    }
    return core;
}

static int64_t core_params(const struct ctt_chain_conv *r)
{
    return r->in * r->out * r->kernel[0] * r->kernel[1] * r->kernel[2];
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
                size[i] = (size[i] + 2 * r.pad[i] - r.kernel[i]) /
                          r.stride[i] + 1;
            else
                size[i] = (size[i] - 1) * r.stride[i] - 2 * r.pad[i] +
                          r.kernel[i];
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

/* ---- the numbers ---- */

static void load(const struct ctt_chain *c, const float *w, struct work *t)
{
    int in = c->dim[0], out = c->dim[4];
    int64_t taps = (int64_t)c->dim[1] * c->dim[2] * c->dim[3];

    t->norm2 = t->lost2 = 0;
    for (int64_t o = 0; o < out; o++)
        for (int64_t p = 0; p < taps; p++)
            for (int64_t i = 0; i < in; i++) {
                double x = w[(o * taps + p) * in + i];
                t->a[(i * taps + p) * out + o] = x;
                t->norm2 += x * x;
            }
}

/* How many of k singular values to keep if the squares of the others may sum to
 * lost2. */
static int choose_rank(const double *s, int k, const struct ctt_tt *o,
                       double lost2)
{
    double tail = 0;
    int r = k;

    while (r > 1 && s[r - 1] <= vanished * s[0])
        r--;
    while (r > 1 && (tail += s[r - 1] * s[r - 1]) <= lost2)
        r--;
    return o->rank && r > o->rank ? o->rank : r;
}

/* Cuts t->a, an m x n matrix: its first r left vectors are core k, the rest is
 * the new t->a. */
static int cut(struct work *t, int k, int m, int n,
               const struct ctt_tt *o, double lost2, int *rank)
{
    int all = m < n ? m : n, r, rc = 0;

    CTT_TRY(ctt_svd(m, n, t->a, t->u, t->s, t->vt));
    r = choose_rank(t->s, all, o, lost2);
    for (int i = r; i < all; i++)
        t->lost2 += t->s[i] * t->s[i];
    t->core[k] = ctt_calloc((size_t)m * (size_t)r, sizeof(double));
    t->sigma[k] = ctt_calloc((size_t)r, sizeof(double));
    CTT_TRY(t->core[k] && t->sigma[k] ? 0 : CTT_ENOMEM);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < r; j++)
            t->core[k][(int64_t)i * r + j] = t->u[(int64_t)i * all + j];
    for (int i = 0; i < r; i++) {
        t->sigma[k][i] = t->s[i];
        for (int j = 0; j < n; j++)
            t->a[(int64_t)i * n + j] = t->s[i] * t->vt[(int64_t)i * n + j];
    }
    *rank = r;
out:
    return rc;
}

static int64_t modes(const struct ctt_chain *c, int k)
{
    int64_t size = 1;

    for (int m = c->first[k]; m < c->first[k + 1]; m++)
        size *= c->dim[m];
    return size;
}

/* The allowed error is divided evenly among the cuts: their squared errors add
 * up, since the errors of different cuts are orthogonal. */
static int decompose(struct ctt_chain *c, const float *w,
                     const struct ctt_tt *o, struct work *t)
{
    int64_t rest = 1, last;
    double lost2;
    int rc = 0;

    forget(t);
    load(c, w, t);
    lost2 = (double)o->tol * o->tol * t->norm2 / (c->cores - 1);
    for (int m = 0; m < CTT_MODES; m++)
        rest *= c->dim[m];
    for (int k = 0; k < c->cores - 1; k++) {
        rest /= modes(c, k);
        CTT_TRY(cut(t, k, (int)(c->rank[k] * modes(c, k)), (int)rest, o,
                    lost2, &c->rank[k + 1]));
    }
    last = c->rank[c->cores - 1] * modes(c, c->cores - 1);
    t->core[c->cores - 1] = ctt_calloc((size_t)last, sizeof(double));
    CTT_TRY(t->core[c->cores - 1] ? 0 : CTT_ENOMEM);
    memcpy(t->core[c->cores - 1], t->a, (size_t)last * sizeof(double));
    c->error = t->norm2 > 0 ? sqrt(t->lost2 / t->norm2) : 0;
out:
    return rc;
}

/* All cores except the last are orthogonal.  Each singular value is split
 * evenly between both sides of its cut, then all cores are scaled to the same
 * norm, since training preserves the differences of squared norms (Du and
 * others 2018).
 */
static void balance(const struct ctt_chain *c, struct work *t)
{
    double norm[CTT_MAX_CORES], mean = 0;

    for (int k = 0; k < c->cores; k++) {
        int64_t size = modes(c, k), l = c->rank[k], r = c->rank[k + 1];
        norm[k] = 0;
        for (int64_t i = 0; i < l * size * r; i++) {
            double *x = &t->core[k][i];
            double before = k > 0 ? t->sigma[k - 1][i / (size * r)] : 1;
            double after = k < c->cores - 1 ? t->sigma[k][i % r] : 1;
            *x *= sqrt((after > 0 ? after : 1) / (before > 0 ? before : 1));
            norm[k] += *x * *x;
        }
        if (norm[k] == 0)
            return;
        norm[k] = sqrt(norm[k]);
        mean += log(norm[k]) / c->cores;
    }
    for (int k = 0; k < c->cores; k++)
        for (int64_t i = 0; i < c->rank[k] * modes(c, k) * c->rank[k + 1]; i++)
            t->core[k][i] *= exp(mean) / norm[k];
}

/* (in, taps, out) in double becomes (out, taps, in) in float. */
static int store(struct ctt_chain *c, int k, const struct ctt_node *n,
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

static int make_room(const struct ctt_chain *c, const char *name,
                     struct work *t)
{
    size_t all = 1;
    int rc = 0;

    for (int m = 0; m < CTT_MODES; m++)
        all *= (size_t)c->dim[m];
    CTT_CHECK(all <= INT_MAX, CTT_EUNSUP, "%s: too large for singular values",
              name);
    t->a = ctt_calloc(all, sizeof(double));
    t->u = ctt_calloc(all, sizeof(double));
    t->vt = ctt_calloc(all, sizeof(double));
    t->s = ctt_calloc((size_t)sqrt((double)all) + 1, sizeof(double));
    CTT_TRY(t->a && t->u && t->vt && t->s ? 0 : CTT_ENOMEM);
out:
    return rc;
}

int ctt_chain_new(const struct ctt_graph *g, int node, const float *w,
                  const struct ctt_tt *o, struct ctt_chain **out)
{
    const struct ctt_node *n = &g->node[node];
    const struct ctt_tensor *k = &n->w[0];
    struct ctt_chain *c = ctt_calloc(1, sizeof(*c));
    struct work t = { NULL };
    int rc = 0;

    CTT_TRY(c ? 0 : CTT_ENOMEM);
    memcpy(c->dim, (int[]){ (int)k->c, (int)k->d, (int)k->h, (int)k->w,
                            (int)k->n }, sizeof(c->dim));
    CTT_TRY(make_room(c, n->name, &t));
    first_cuts(c, o->form, n->op == CTT_OP_DECONV);
    for (int useless = 1; useless && c->cores > 1; ) {
        rc = decompose(c, w, o, &t);
        if (rc == CTT_ENAN || rc == CTT_EUNSUP)
            rc = ctt_error(rc, "%s: %s", n->name, ctt_errmsg());
        CTT_TRY(rc);
        ctt_chain_count(c, g, n);
        useless = useless_cut(c, g, n, ctt_node_macs(g, node));
        if (useless)
            drop_cut(c, useless);
    }
    if (c->cores > 1)
        balance(c, &t);
    for (int i = 0; c->cores > 1 && i < c->cores; i++)
        CTT_TRY(store(c, i, n, t.core[i]));
    *out = c;
    c = NULL;
out:
    forget(&t);
    ctt_free(t.a);
    ctt_free(t.u);
    ctt_free(t.s);
    ctt_free(t.vt);
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
