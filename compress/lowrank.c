/* SPDX-License-Identifier: Apache-2.0
 * lowrank.c: which weights of a model become chains, and the model with these
 * chains in their place: a new text and the numbers moved by name. */
#include "compress/chain.h"
#include "net/op.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
    char  *s;
    size_t len, room;
};

static int append(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int append(struct text *t, const char *fmt, ...)
{
    va_list ap;
    int n;

    if (t->len + CTT_MAX_LINE > t->room) {
        size_t room = 2 * t->room + 2 * CTT_MAX_LINE;
        char *more = ctt_realloc(t->s, room);
        if (!more)
            return CTT_ENOMEM;
        t->s = more;
        t->room = room;
    }
    va_start(ap, fmt);
    n = vsnprintf(t->s + t->len, t->room - t->len, fmt, ap);
    va_end(ap);
    if (n < 0 || n >= CTT_MAX_LINE)
        return ctt_error(CTT_EFORMAT, "line too long");
    t->len += (size_t)n;
    return 0;
}

/* ---- names ---- */

/* Without the ".t2" of a core. */
static void base_name(const char *name, char *base)
{
    size_t n = strlen(name);

    memcpy(base, name, n + 1);
    if (n > 3 && base[n - 3] == '.' && base[n - 2] == 't' &&
        base[n - 1] >= '1' && base[n - 1] <= '9')
        base[n - 3] = '\0';
}

int ctt_name_matches(const char *patterns, const char *name)
{
    char one[CTT_NAME], base[CTT_NAME];

    base_name(name, base);
    for (const char *p = patterns; p && *p; p += strspn(p, ",")) {
        size_t n = strcspn(p, ",");
        if (n < sizeof(one)) {
            memcpy(one, p, n);
            one[n] = '\0';
            if (fnmatch(one, name, 0) == 0 || fnmatch(one, base, 0) == 0)
                return 1;
        }
        p += n;
    }
    return 0;
}

enum { LONG_NAME = CTT_NAME + 16 };

/* The last core keeps the name, so that who reads it finds it.  Returns
 * whether it is short enough for a name. */
static int core_name(const struct ctt_node *n, int k, int cores,
                     char name[LONG_NAME])
{
    int len = k < cores - 1
        ? snprintf(name, LONG_NAME, "%s.t%d", n->name, k + 1)
        : snprintf(name, LONG_NAME, "%s", n->name);

    return len < CTT_NAME;
}

/* ---- which ---- */

static struct ctt_weight_row *row_of(const struct ctt_report *r,
                                     const char *name)
{
    for (int i = 0; i < r->weights; i++)
        if (strcmp(r->weight[i].name, name) == 0)
            return &r->weight[i];
    return NULL;
}

/* Whether the names of the cores are free; if not, says why in the row. */
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

static int pays(const struct ctt_chain *c, struct ctt_weight_row *row)
{
    if (c->cores > 1 && c->params < row->params && c->macs < row->macs)
        return 1;
    snprintf(row->reason, CTT_REASON, "a chain takes %lld parameters and %lld "
             "multiplications", (long long)c->params, (long long)c->macs);
    return 0;
}

static void fill_row(const struct ctt_chain *c, struct ctt_weight_row *row)
{
    row->cores = c->cores;
    for (int k = 1; k < c->cores; k++)
        row->rank[k - 1] = c->rank[k];
    ctt_chain_text(c, row->chain, sizeof(row->chain));
    row->reason[0] = '\0';
    row->error = c->error;
    row->params_after = c->params;
    row->macs_after = c->macs;
}

/* *out stays NULL if the weight is to be left as it was. */
static int choose(const struct ctt_model *m, int i,
                  const struct ctt_lowrank *o, struct ctt_weight_row *row,
                  struct ctt_chain **out)
{
    const struct ctt_node *n = &m->g->node[i];
    struct ctt_chain *c = NULL;
    int rc = 0;

    if (o->only && o->only != i + 1)
        return 0;
    if (ctt_name_matches(o->except, n->name)) {
        snprintf(row->reason, CTT_REASON, "excepted");
        return 0;
    }
    if (o->cost && o->cost[i] > o->harm) {
        snprintf(row->reason, CTT_REASON, "alone costs %.1f points of top-1",
                 100 * (double)o->cost[i]);
        return 0;
    }
    if (row->params < o->least) {
        snprintf(row->reason, CTT_REASON, "has fewer than %d numbers",
                 o->least);
        return 0;
    }
    if (!names_free(m->g, n, row))
        return 0;
    CTT_TRY(ctt_chain_new(m->g, i, m->w + n->at[0], o, &c));
    if (pays(c, row)) {
        fill_row(c, row);
        *out = c;
        c = NULL;
    }
out:
    ctt_chain_free(&c);
    return rc;
}

/* ---- the new text ---- */

static int core_line(const struct ctt_graph *g, const struct ctt_node *n,
                     const struct ctt_chain *c, int k, struct text *t)
{
    struct ctt_core r = ctt_chain_core(c, k, n);
    const int *f = r.kernel, *s = r.stride, *p = r.pad;
    int point = f[0] * f[1] * f[2] * s[0] * s[1] * s[2] == 1 &&
                p[0] + p[1] + p[2] == 0;
    int last = k == c->cores - 1, rc = 0;
    char name[LONG_NAME], in[LONG_NAME];

    core_name(n, k, c->cores, name);
    if (k > 0)
        core_name(n, k - 1, c->cores, in);
    /* A deconv that only mixes channels is a conv. */
    CTT_TRY(append(t, "%s %s in=%s", point ? "conv" : ctt_ops[n->op].name,
                   name, k > 0 ? in : g->node[n->in[0]].name));
    if (last && n->plus)
        CTT_TRY(append(t, " plus=%s", g->node[n->in[1]].name));
    CTT_TRY(append(t, " out=%lld kernel=%d,%d,%d stride=%d,%d,%d pad=%d,%d,%d "
                   "bias=%d\n", (long long)r.out, f[0], f[1], f[2], s[0], s[1],
                   s[2], p[0], p[1], p[2], last ? n->attr.conv.bias : 0));
out:
    return rc;
}

static int line_node(const struct ctt_graph *g, const char *line, size_t len)
{
    char name[CTT_NAME];
    size_t at = strcspn(line, " "), n;

    if (at >= len)
        return -1;    /* clip */
    at++;
    n = strcspn(line + at, " \n");
    if (n >= sizeof(name))
        return -1;
    memcpy(name, line + at, n);
    name[n] = '\0';
    return ctt_graph_find(g, name);
}

static int rewrite(const struct ctt_graph *g, struct ctt_chain *const *chain,
                   struct ctt_graph **out)
{
    char *old = ctt_net_print(g);
    struct text t = { NULL };
    int rc = 0;

    CTT_TRY(old ? 0 : CTT_ENOMEM);
    for (const char *p = old; *p; ) {
        size_t len = strcspn(p, "\n");
        int i = line_node(g, p, len);
        const struct ctt_chain *c = i >= 0 ? chain[i] : NULL;

        if (!c)
            CTT_TRY(append(&t, "%.*s\n", (int)len, p));
        for (int k = 0; c && k < c->cores; k++)
            CTT_TRY(core_line(g, &g->node[i], c, k, &t));
        p += len + (p[len] == '\n');
    }
    CTT_TRY(ctt_net_parse(t.s, out));
out:
    ctt_free(t.s);
    ctt_free(old);
    return rc;
}

/* ---- the numbers ---- */

static int new_node(const struct ctt_model *m, const struct ctt_node *n, int k,
                    int cores)
{
    char name[LONG_NAME];

    core_name(n, k, cores, name);
    return ctt_graph_find(m->g, name);
}

/* Copies w[k] of node n of `from` and its constraint. */
static void move(const struct ctt_model *from, const struct ctt_node *n, int k,
                 struct ctt_model *to, const struct ctt_node *d)
{
    int64_t size = ctt_volume(&n->w[k]);

    memcpy(to->w + d->at[k], from->w + n->at[k],
           (size_t)size * sizeof(*to->w));
    ctt_constraint_carry(&from->constraint, n->at[k], size, &to->constraint,
                         d->at[k]);
}

static int move_all(const struct ctt_model *from,
                    struct ctt_chain *const *chain, struct ctt_model *to)
{
    int rc = 0;

    for (int i = 0; i < from->g->count; i++) {
        const struct ctt_node *n = &from->g->node[i], *d;
        const struct ctt_chain *c = chain[i];
        int cores = c ? c->cores : 1, at = -1;

        for (int k = 0; k < cores; k++) {
            at = new_node(to, n, k, cores);
            CTT_CHECK(at >= 0, CTT_EFORMAT, "%s: lost on the way", n->name);
            d = &to->g->node[at];
            if (c)
                memcpy(to->w + d->at[0], c->w[k],
                       (size_t)ctt_volume(&d->w[0]) * sizeof(float));
        }
        d = &to->g->node[at];
        for (int k = c ? 1 : 0; k < n->nw; k++)
            move(from, n, k, to, d);
    }
out:
    return rc;
}

static int copy_rest(const struct ctt_model *from, struct ctt_model *to)
{
    int rc = 0;

    CTT_TRY(ctt_model_labels(to, from->label, from->labels));
    if (from->history) {
        ctt_free(to->history);
        to->history = ctt_strdup(from->history);
        CTT_TRY(to->history ? 0 : CTT_ENOMEM);
    }
    CTT_TRY(ctt_constraint_match(&from->constraint, to->g->weights,
                                 &to->constraint));
out:
    return rc;
}

int ctt_lowrank(const struct ctt_model *m, const struct ctt_lowrank *o,
                struct ctt_report *r, struct ctt_model **out)
{
    struct ctt_chain **chain = ctt_calloc((size_t)m->g->count, sizeof(*chain));
    struct ctt_graph *g = NULL;
    struct ctt_model *to = NULL;
    int rc = 0;

    CTT_TRY(chain ? 0 : CTT_ENOMEM);
    for (int i = 0; i < m->g->count; i++) {
        struct ctt_weight_row *row = row_of(r, m->g->node[i].name);
        if (row)
            CTT_TRY(choose(m, i, o, row, &chain[i]));
    }
    CTT_TRY(rewrite(m->g, chain, &g));
    CTT_TRY(ctt_model_new(g, &to));
    CTT_TRY(copy_rest(m, to));
    CTT_TRY(move_all(m, chain, to));
    *out = to;
    to = NULL;
out:
    for (int i = 0; chain && i < m->g->count; i++)
        ctt_chain_free(&chain[i]);
    ctt_free(chain);
    ctt_model_free(&to);
    return rc;
}
