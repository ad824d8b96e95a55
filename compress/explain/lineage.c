/* SPDX-License-Identifier: Apache-2.0
 * lineage.c: whether a compressed model can have been made of a dense one, and
 * how its numbers were rounded. */
#include "compress/compress.h"
#include "compress/explain/undo.h"
#include "net/rewrite/edit.h"
#include "net/op.h"
#include "net/quant.h"

#include <math.h>
#include <string.h>

enum { ALL_BITS = 24, BITS = 8, BIAS_BITS = 8 };    /* BITS: of --round */

/* ---- the text ---- */

static int check_format(const struct ctt_model *small,
                        const struct ctt_model *dense)
{
    const struct ctt_node *a = &small->g->node[ctt_graph_input(small->g)],
                          *b = &dense->g->node[ctt_graph_input(dense->g)];
    int same = small->labels == dense->labels, rc = 0;

    CTT_CHECK(memcmp(&a->attr.input, &b->attr.input, sizeof(a->attr.input)) ==
              0, CTT_EINVAL, "the input lines differ");
    for (int k = 0; k < small->labels && same; k++)
        same = strcmp(small->label[k], dense->label[k]) == 0;
    CTT_CHECK(same, CTT_EINVAL, "the classes differ");
out:
    return rc;
}

/* Marks the nodes of `small` that node i has become. */
static int check_weight(const struct ctt_graph *small,
                        const struct ctt_graph *dense, int i, char *found)
{
    const struct ctt_node *n = &dense->node[i], *last;
    struct ctt_slide v, of = ctt_slide_of(n);
    struct ctt_parts p;
    int rc = 0;

    ctt_parts_find(dense, i, small, &p);
    CTT_CHECK(p.count, CTT_EINVAL, "the dense one has a weight %s, the other "
              "has none", n->name);
    last = &small->node[p.node[p.count - 1]];
    CTT_CHECK(ctt_parts_together(small, &p, &v) &&
              memcmp(&v, &of, sizeof(v)) == 0 &&
              last->out.c <= n->out.c &&
              small->node[p.node[0]].w[0].c <= n->w[0].c,
              CTT_EINVAL, "%s is another conv in the dense one", n->name);
    for (int k = 0; k < p.count; k++)
        found[p.node[k]] = 1;
out:
    return rc;
}

static int check_weights(const struct ctt_graph *small,
                         const struct ctt_graph *dense)
{
    char *found = ctt_calloc((size_t)small->count + 1, 1);
    int rc = found ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < dense->count; i++)
        if (ctt_is_conv(&dense->node[i]))
            CTT_TRY(check_weight(small, dense, i, found));
    for (int i = 0; i < small->count; i++)
        CTT_CHECK(found[i] || !ctt_is_conv(&small->node[i]), CTT_EINVAL,
                  "the dense one has no weight %s", small->node[i].name);
out:
    ctt_free(found);
    return rc;
}

/* ---- the numbers ---- */

/* Sums over numbers that both models have at one place. */
struct common {
    double  xx, yy, xy;
    int64_t count;
};

static void add_common(const struct ctt_lineage *o, int i, struct common *c)
{
    const struct ctt_node *d = &o->dense->g->node[i], *s;
    struct ctt_parts p;

    ctt_parts_find(o->dense->g, i, o->small->g, &p);
    s = &o->small->g->node[p.node[0]];
    if (p.count > 1 || ctt_volume(&s->w[0]) != ctt_volume(&d->w[0]))
        return;
    for (int64_t k = 0; k < ctt_volume(&d->w[0]); k++) {
        double x = (double)o->dense->w[d->at[0] + k],
               y = (double)o->small->w[s->at[0] + k];

        if (ctt_is_pruned(&o->small->constraint, s->at[0] + k))
            continue;
        c->xx += x * x;
        c->yy += y * y;
        c->xy += x * y;
        c->count++;
    }
}

/* Weights of two independent trainings have a cosine of about 0, with a
 * deviation of 1 / sqrt(count); retrained ones keep most of their direction. */
enum { ENOUGH = 1000 };
#define ALIKE 0.15

static int check_numbers(const struct ctt_lineage *o)
{
    struct common c = { 0, 0, 0, 0 };
    int rc = 0;

    for (int i = 0; i < o->dense->g->count; i++)
        if (ctt_is_conv(&o->dense->g->node[i]))
            add_common(o, i, &c);
    CTT_CHECK(c.count < ENOUGH || c.xy > ALIKE * sqrt(c.xx * c.yy),
              CTT_EINVAL, "the weights of the two have nothing in common "
              "(their cosine is %.2f)", c.xy / sqrt(c.xx * c.yy));
out:
    return rc;
}

/* ---- rounding ---- */

/* Bits of the rounded kernels; without one, the default of --round. */
static int kernel_bits(const struct ctt_model *m)
{
    int most = 0;

    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];

        if (ctt_is_conv(n) && !ctt_is_int8(m->g, i) &&
            !ctt_kernel_shares(m, i)) {
            int bits = ctt_round_has(m->w + n->at[0], ctt_volume(&n->w[0]));
            most = bits > most ? bits : most;
        }
    }
    return most ? most : BITS;
}

static int bias_bits(const struct ctt_model *m)
{
    struct ctt_model *to = NULL;
    int same;

    if (ctt_model_copy(m, &to) < 0)
        return 0;
    ctt_round_biases(to, BIAS_BITS);
    same = memcmp(to->w, m->w, (size_t)m->g->weights * sizeof(*m->w)) == 0;
    ctt_model_free(&to);
    return same ? BIAS_BITS : 0;
}

int ctt_lineage_of(const struct ctt_model *small, const struct ctt_model *dense,
                   struct ctt_lineage *out)
{
    struct ctt_lineage o = { small, dense, ALL_BITS, 0 };
    int rc;

    CTT_TRY(check_format(small, dense));
    CTT_TRY(check_weights(small->g, dense->g));
    CTT_TRY(check_numbers(&o));
    o.bits = kernel_bits(small);
    o.bias_bits = bias_bits(small);
    *out = o;
out:
    return rc;
}

/* ---- norms ---- */

int ctt_lineage_fold(const struct ctt_model *small,
                     const struct ctt_model *dense, struct ctt_model **out)
{
    if (ctt_foldable_norms(dense->g) > 0 &&
        ctt_foldable_norms(small->g) == 0)
        return ctt_without_norms(dense, out);
    return ctt_model_copy(dense, out);
}
