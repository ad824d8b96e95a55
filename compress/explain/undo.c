/* SPDX-License-Identifier: Apache-2.0
 * undo.c: undoing the compression of weights of a model, given the dense model
 * that it was made of. */
#include "compress/explain/undo.h"
#include "compress/compress.h"
#include "net/rewrite/edit.h"
#include "net/rewrite/edit_quant.h"
#include "net/op.h"
#include "net/quant.h"

#include <math.h>
#include <string.h>

enum { ALL_BITS = 24 };    /* of a float */

const char *const ctt_done_words[] = { "channels", "factors", "pruning",
                                       "sharing", "int8", "rounding", NULL };

/* ---- changes ---- */

/* Whether rounding made the numbers of the kernel of conv i. */
static int is_rounded(const struct ctt_model *m, int i)
{
    return !ctt_is_int8(m->g, i) && !ctt_kernel_shares(m, i);
}

static int bits_of(const struct ctt_model *m, int i)
{
    const struct ctt_node *n = &m->g->node[i];

    return ctt_round_has(m->w + n->at[0], ctt_volume(&n->w[0]));
}

unsigned ctt_done_to(const struct ctt_lineage *o, int i)
{
    const struct ctt_graph *g = o->small->g;
    const struct ctt_node *n = &o->dense->g->node[i];
    struct ctt_parts p;
    unsigned done = 0;
    int last;

    ctt_parts_find(o->dense->g, i, g, &p);
    if (!p.count)
        return 0;
    last = p.node[p.count - 1];
    if (g->node[last].out.c < n->out.c ||
        g->node[p.node[0]].w[0].c < n->w[0].c)
        done |= CTT_DONE(CTT_DONE_CHANNELS);
    if (p.count > 1)
        done |= CTT_DONE(CTT_DONE_FACTORS);
    for (int k = 0; k < p.count; k++) {
        if (ctt_kernel_pruned(o->small, p.node[k]))
            done |= CTT_DONE(CTT_DONE_PRUNING);
        if (ctt_kernel_shares(o->small, p.node[k]))
            done |= CTT_DONE(CTT_DONE_SHARING);
        if (ctt_is_int8(g, p.node[k]) && !ctt_is_int8(o->dense->g, i))
            done |= CTT_DONE(CTT_DONE_INT8);
        if (o->bits < ALL_BITS && is_rounded(o->small, p.node[k]) &&
            bits_of(o->dense, i) > o->bits)
            done |= CTT_DONE(CTT_DONE_ROUNDING);
    }
    return done;
}

/* Whether the kept numbers of a weight are those of the dense one, rounded. */
static int is_round_of(const struct ctt_lineage *o, int i,
                       const struct ctt_parts *p)
{
    const struct ctt_node *d = &o->dense->g->node[i],
                          *s = &o->small->g->node[p->node[0]];
    int64_t n = ctt_volume(&d->w[0]);
    struct ctt_model *rounded = NULL;
    int same = 1;

    if (ctt_model_copy(o->dense, &rounded) < 0)
        return 0;
    ctt_round_kernel(rounded, i, o->bits);
    for (int64_t k = 0; k < n && same; k++)
        same = ctt_is_pruned(&o->small->constraint, s->at[0] + k) ||
               rounded->w[d->at[0] + k] == o->small->w[s->at[0] + k];
    ctt_model_free(&rounded);
    return same;
}

/* Whether all that was done to a weight is undone. */
static int is_restored(unsigned done, unsigned undo)
{
    return done && (done & ~undo) == 0;
}

const char *ctt_undo_why(const struct ctt_lineage *o, int i, unsigned undo)
{
    unsigned done = ctt_done_to(o, i), values = undo & done &
                    ~CTT_DONE(CTT_DONE_INT8);
    struct ctt_parts p;

    if (!values)
        return NULL;
    if (done & CTT_DONE(CTT_DONE_CHANNELS))
        return "channels were removed: dense values have no place";
    if (values & CTT_DONE(CTT_DONE_FACTORS))
        return NULL;
    if (done & CTT_DONE(CTT_DONE_FACTORS))
        return "the dense model has no values for cores";
    ctt_parts_find(o->dense->g, i, o->small->g, &p);
    if (values == CTT_DONE(CTT_DONE_ROUNDING) && !is_round_of(o, i, &p))
        return "the values before rounding are kept nowhere";
    return NULL;
}

/* ---- the structure ---- */

static int to_floats(const struct ctt_lineage *o, const unsigned *undo,
                     struct ctt_model **m)
{
    const struct ctt_graph *g = (*m)->g;
    char *take = ctt_calloc((size_t)g->count + 1, 1);
    struct ctt_model *to = NULL;
    int any = 0, rc = take ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < o->dense->g->count; i++) {
        struct ctt_parts p;

        if (!(undo[i] & CTT_DONE(CTT_DONE_INT8)))
            continue;
        ctt_parts_find(o->dense->g, i, g, &p);
        for (int k = 0; k < p.count; k++)
            any |= take[p.node[k]] = (char)ctt_is_int8(g, p.node[k]);
    }
    if (!any)
        goto out;
    CTT_TRY(ctt_dequantise(*m, take, &to));
    ctt_model_free(m);
    *m = to;
out:
    ctt_free(take);
    return rc;
}

static int multiply_cores(const struct ctt_lineage *o, const unsigned *undo,
                          struct ctt_model **m)
{
    int rc = 0;

    for (int i = 0; i < o->dense->g->count; i++) {
        struct ctt_model *to = NULL;
        struct ctt_parts p;

        if (!(undo[i] & CTT_DONE(CTT_DONE_FACTORS)))
            continue;
        ctt_parts_find(o->dense->g, i, (*m)->g, &p);
        if (p.count < 2)
            continue;
        CTT_TRY(ctt_parts_multiply(*m, &p, &to));
        ctt_model_free(m);
        *m = to;
    }
out:
    return rc;
}

static void clear_constraints(struct ctt_model *m, int i, unsigned undo)
{
    const struct ctt_node *n = &m->g->node[i];
    size_t count = (size_t)ctt_volume(&n->w[0]);

    if (m->constraint.keep && (undo & CTT_DONE(CTT_DONE_PRUNING)))
        memset(m->constraint.keep + n->at[0], 1, count);
    if (m->constraint.share && (undo & CTT_DONE(CTT_DONE_SHARING)))
        memset(m->constraint.share + n->at[0], 0, count);
}

/* ---- values of the dense model ---- */

/* One weight of both, and of the result. */
struct restoring {
    const struct ctt_lineage *o;
    const struct ctt_node   *dense, *small, *to;
    unsigned                 done, undo;
};

static int is_dense_value(const struct restoring *p, int64_t k)
{
    const struct ctt_constraint *c = &p->o->small->constraint;
    unsigned undo = p->undo;

    if ((undo & CTT_DONE(CTT_DONE_FACTORS)) || is_restored(p->done, undo))
        return 1;
    if (ctt_is_pruned(c, p->small->at[0] + k))
        return (undo & CTT_DONE(CTT_DONE_PRUNING)) != 0;
    return (undo & (CTT_DONE(CTT_DONE_SHARING) |
                    CTT_DONE(CTT_DONE_ROUNDING))) != 0;
}

static int same_shape(const struct ctt_tensor *a, const struct ctt_tensor *b)
{
    return a->n == b->n && a->d == b->d && a->h == b->h && a->w == b->w &&
           a->c == b->c;
}

/* The bias of the dense weight replaces one that made up for losses. */
static void put_bias(const struct restoring *p, struct ctt_model *m)
{
    int64_t n = p->to->w[0].n;

    if (p->to->nw < 2)
        return;
    memset(m->w + p->to->at[1], 0, (size_t)n * sizeof(*m->w));
    if (p->dense->nw > 1)
        memcpy(m->w + p->to->at[1], p->o->dense->w + p->dense->at[1],
               (size_t)n * sizeof(*m->w));
}

static void put_back(const struct ctt_lineage *o, int i, unsigned undo,
                     struct ctt_model *m)
{
    struct ctt_parts was, now;
    struct restoring p = { o, &o->dense->g->node[i], NULL, NULL,
                           ctt_done_to(o, i), undo };
    int changed = 0, node;

    if (!(undo & ~CTT_DONE(CTT_DONE_INT8)) || ctt_undo_why(o, i, undo))
        return;
    ctt_parts_find(o->dense->g, i, o->small->g, &was);
    ctt_parts_find(o->dense->g, i, m->g, &now);
    node = now.node[now.count - 1];
    p.small = &o->small->g->node[was.node[was.count - 1]];
    p.to = &m->g->node[node];
    if (now.count > 1 || !same_shape(&p.to->w[0], &p.dense->w[0]))
        return;
    for (int64_t k = 0; k < ctt_volume(&p.to->w[0]); k++)
        if (is_dense_value(&p, k)) {
            m->w[p.to->at[0] + k] = o->dense->w[p.dense->at[0] + k];
            changed = 1;
        }
    if ((undo & CTT_DONE(CTT_DONE_FACTORS)) || is_restored(p.done, undo))
        put_bias(&p, m);
    if (changed && o->bits < ALL_BITS &&
        !(undo & CTT_DONE(CTT_DONE_ROUNDING)))
        ctt_round_kernel(m, node, o->bits);
}

/* ---- pruned numbers of shared weights ---- */

/* The shared value that is nearest to x, and its code. */
static int nearest_code(const float *value, const char *has, float x)
{
    int best = 0;

    for (int c = 1; c <= CTT_MOST_CODES; c++)
        if (has[c] && (!best || fabsf(value[c] - x) < fabsf(value[best] - x)))
            best = c;
    return best;
}

static void share_node(const struct ctt_constraint *was, int64_t was_at,
                       const struct ctt_node *n, struct ctt_model *m)
{
    float value[CTT_MOST_CODES + 1] = { 0 };
    char has[CTT_MOST_CODES + 1] = { 0 };
    float *w = m->w + n->at[0];

    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++) {
        int c = ctt_code(&m->constraint, n->at[0] + k);

        value[c] = w[k];
        has[c] = 1;
    }
    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++) {
        int c = nearest_code(value, has, w[k]);

        if (!c || !ctt_is_pruned(was, was_at + k))
            continue;
        w[k] = value[c];
        m->constraint.share[n->at[0] + k] = (uint8_t)c;
    }
}

void ctt_undo_share(const struct ctt_lineage *o, const unsigned *undo,
                    struct ctt_model *m)
{
    const unsigned both = CTT_DONE(CTT_DONE_PRUNING) |
                          CTT_DONE(CTT_DONE_SHARING) |
                          CTT_DONE(CTT_DONE_FACTORS);
    struct ctt_parts was, now;

    for (int i = 0; i < o->dense->g->count; i++) {
        if ((undo[i] & both) != CTT_DONE(CTT_DONE_PRUNING))
            continue;
        ctt_parts_find(o->dense->g, i, o->small->g, &was);
        ctt_parts_find(o->dense->g, i, m->g, &now);
        for (int k = 0; k < now.count && k < was.count; k++)
            if (ctt_kernel_shares(m, now.node[k]))
                share_node(&o->small->constraint,
                           o->small->g->node[was.node[k]].at[0],
                           &m->g->node[now.node[k]], m);
    }
}

/* ---- the model ---- */

/* Whether everything is undone of all weights, with dense values. */
static int is_all_undone(const struct ctt_lineage *o, const unsigned *undo)
{
    for (int i = 0; i < o->dense->g->count; i++) {
        unsigned done = ctt_done_to(o, i);

        if ((done & ~undo[i]) || ctt_undo_why(o, i, undo[i]))
            return 0;
    }
    return 1;
}

int ctt_undo(const struct ctt_lineage *o, const unsigned *undo, int back,
             struct ctt_model **out)
{
    struct ctt_model *m = NULL;
    struct ctt_parts p;
    int rc;

    CTT_TRY(ctt_model_copy(o->small, &m));
    CTT_TRY(to_floats(o, undo, &m));
    CTT_TRY(multiply_cores(o, undo, &m));
    for (int i = 0; i < o->dense->g->count; i++) {
        ctt_parts_find(o->dense->g, i, m->g, &p);
        for (int k = 0; k < p.count && undo[i]; k++)
            clear_constraints(m, p.node[k], undo[i]);
        if (back)
            put_back(o, i, undo[i], m);
    }
    if (back)
        ctt_undo_share(o, undo, m);
    if (back && is_all_undone(o, undo))
        CTT_TRY(ctt_model_move(o->dense, m));
    rc = 0;
    *out = m;
    m = NULL;
out:
    ctt_model_free(&m);
    return rc;
}

void ctt_undo_round(const struct ctt_lineage *o, const unsigned *undo,
                    const char *train, struct ctt_model *m)
{
    struct ctt_parts p;

    for (int i = 0; i < o->dense->g->count; i++) {
        if (!train[i] || (undo[i] & CTT_DONE(CTT_DONE_ROUNDING)))
            continue;
        ctt_parts_find(o->dense->g, i, m->g, &p);
        for (int k = 0; k < p.count; k++) {
            if (o->bits < ALL_BITS)
                ctt_round_kernel(m, p.node[k], o->bits);
            if (o->bias_bits)
                ctt_round_vectors(m, p.node[k], o->bias_bits);
        }
    }
}
