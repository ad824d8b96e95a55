/* SPDX-License-Identifier: Apache-2.0
 * shape.c: for each primitive, its shape rule. */
#include "net/shape_inside.h"
#include "net/op.h"
#include "net/part.h"
#include "net/pixels.h"

int ctt_shape_input(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_input *a = &n->attr.input;
    int rc = 0;

    (void)g;
    n->out = image(a->d, a->h, a->w, a->c);
    if (a->normalise == CTT_NORMALISE_SET)
        goto out;
    for (int k = 0; k < 3; k++)
        CTT_CHECK(a->mean[k] == 0 && a->std[k] == 1, CTT_EINVAL,
                  "%s: normalise=clip measures mean and deviation itself: "
                  "leave mean= and std= out", n->name);
    CTT_CHECK((double)a->d * a->h * a->w * a->c <= CTT_PIXELS_MOST, CTT_EINVAL,
              "%s: frames of more than 2^30 values have no normalise=clip",
              n->name);
out:
    return rc;
}

/* If the delayed node comes later, it has no shape yet: like and c give it, and
 * ctt_graph_seal() compares the two. */
int ctt_shape_state(const struct ctt_graph *g, struct ctt_node *n)
{
    int of, from, rc = 0;

    CTT_CHECK(n->attr.state.of, CTT_EFORMAT, "%s: 'of' must be given",
              n->name);
    of = ctt_graph_find(g, n->attr.state.of);
    if (of >= 0) {
        n->out = like(&g->node[of].out);
        return 0;
    }
    CTT_CHECK(n->attr.state.fill == CTT_FILL_ZERO, CTT_EFORMAT,
              "%s: fill=first needs the value of step 0, but '%s' comes later",
              n->name, n->attr.state.of);
    CTT_CHECK(n->attr.state.like && n->attr.state.c > 0, CTT_EFORMAT,
              "%s: '%s' comes later, so like= and c= must say its shape",
              n->name, n->attr.state.of);
    from = ctt_graph_find(g, n->attr.state.like);
    CTT_CHECK(from >= 0, CTT_EFORMAT, "%s: no node '%s'", n->name,
              n->attr.state.like);
    n->out = like(&g->node[from].out);
    n->out.c = n->out.ld = n->attr.state.c;
out:
    return rc;
}

int ctt_shape_cell(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_node *of = &g->node[n->in[0]];
    int rc = 0;

    CTT_CHECK(of->op == CTT_OP_LSTM && of->cell < 0, CTT_EFORMAT,
              "%s: '%s' is not an lstm without a cell node", n->name,
              of->name);
    n->out = like(&of->out);
out:
    return rc;
}

int ctt_shape_slice(const struct ctt_graph *g, struct ctt_node *n)
{
    int from = n->attr.slice.from, to = n->attr.slice.to, rc = 0;

    n->out = *in(g, n, 0);
    CTT_CHECK(from < to && to <= n->out.c, CTT_EINVAL,
              "%s: no channels %d to %d in %lld", n->name, from, to,
              (long long)n->out.c);
    n->out.c = to - from;    /* a view: ld stays */
out:
    return rc;
}

int ctt_shape_ahead(const struct ctt_graph *g, struct ctt_node *n)
{
    n->out = *in(g, n, 0);    /* a view */
    return 0;
}

int ctt_shape_reshape(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *x = in(g, n, 0);
    int *a[] = { &n->attr.reshape.d, &n->attr.reshape.h, &n->attr.reshape.w,
                 &n->attr.reshape.c };
    int *rest = NULL, rc = 0;
    int64_t v = 1, all = ctt_volume(x);

    CTT_CHECK(x->ld == x->c, CTT_EUNSUP, "%s: cannot reshape a slice",
              n->name);
    for (size_t i = 0; i < CTT_LEN(a); i++) {
        CTT_CHECK(*a[i] || !rest, CTT_EINVAL, "%s: two sizes are 0", n->name);
        if (*a[i] == 0)
            rest = a[i];
        else if ((v *= *a[i]) > all)
            break;
    }
    CTT_CHECK(!rest || all / v <= CTT_MAX_SIZE, CTT_EINVAL,
              "%s: the rest is larger than %d", n->name, CTT_MAX_SIZE);
    if (rest && v <= all)
        *rest = (int)(all / v);
    CTT_CHECK(v <= all && v * (rest ? *rest : 1) == all, CTT_EINVAL,
              "%s: the sizes do not multiply to %lld", n->name,
              (long long)all);
    n->out = image(*a[0], *a[1], *a[2], *a[3]);
out:
    return rc;
}

/* For a window with spread=1 the values of its own steps are kept, and none
 * from before them. */
static int check_spread(const struct ctt_graph *g, const struct ctt_node *n)
{
    const struct ctt_node *from = &g->node[n->in[0]];
    int rc = 0;

    CTT_CHECK(n->attr.window.every == 1, CTT_EINVAL,
              "%s: spread=1 has no 'every': its steps are spread over all",
              n->name);
    CTT_CHECK(n->attr.window.fill == CTT_FILL_ZERO, CTT_EINVAL,
              "%s: spread=1 has no 'fill': it shows no step before the first",
              n->name);
    while (from->op == CTT_OP_SLICE || from->op == CTT_OP_RESHAPE)
        from = &g->node[from->in[0]];
    CTT_CHECK(from->op != CTT_OP_STATE, CTT_EINVAL,
              "%s: spread=1 cannot show the state '%s', only the node that "
              "it delays", n->name, from->name);
out:
    return rc;
}

/* The values of some steps become the depth of a volume, oldest first. */
int ctt_shape_window(const struct ctt_graph *g, struct ctt_node *n)
{
    int rc = 0;

    CTT_CHECK(g->clip >= 0 && n->in[0] < g->clip, CTT_EINVAL,
              "%s: a window stands after 'clip' and looks before it", n->name);
    CTT_CHECK(in(g, n, 0)->d == 1, CTT_EINVAL,
              "%s: the input has a depth already", n->name);
    if (n->attr.window.spread)
        CTT_TRY(check_spread(g, n));
    n->out = like(in(g, n, 0));
    n->out.d = n->attr.window.steps;
out:
    return rc;
}

int ctt_shape_groupnorm(const struct ctt_graph *g, struct ctt_node *n)
{
    int rc = 0;

    n->out = like(in(g, n, 0));
    CTT_CHECK(n->out.c % n->attr.groupnorm.groups == 0, CTT_EINVAL,
              "%s: %lld channels cannot be cut into %d groups", n->name,
              (long long)n->out.c, n->attr.groupnorm.groups);
    n->nw = 2;
    n->w[0] = n->w[1] = vector(n->out.c);
out:
    return rc;
}

/* Each pixel of the first input looks at all vectors of the second, which has
 * some of as many channels per pixel; the third says which of them count. */
int ctt_shape_attend(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *q = in(g, n, 0), *k = in(g, n, 1);
    int64_t groups = k->c / q->c;
    int rc = 0;

    CTT_CHECK(k->c % q->c == 0, CTT_EINVAL, "%s: %lld channels are no vectors "
              "of %lld", n->name, (long long)k->c, (long long)q->c);
    CTT_CHECK(n->nin < 3 || (ctt_volume(in(g, n, 2)) == groups &&
                             in(g, n, 2)->c == groups), CTT_EINVAL,
              "%s: the third input must be one pixel of %lld channels", n->name,
              (long long)groups);
    CTT_CHECK(ctt_rows(q) <= (INT64_C(1) << 59) / ctt_volume(k), CTT_EFORMAT,
              "%s: too many products of two vectors", n->name);
    n->out = like(q);
out:
    return rc;
}

int ctt_shape_norm(const struct ctt_graph *g, struct ctt_node *n)
{
    n->out = like(in(g, n, 0));
    n->nw = n->attr.norm.kind == CTT_NORM_BATCH ? 4 : 2;
    for (int k = 0; k < n->nw; k++)
        n->w[k] = vector(n->out.c);
    return 0;
}

int ctt_shape_act(const struct ctt_graph *g, struct ctt_node *n)
{
    n->out = like(in(g, n, 0));
    return 0;
}

int ctt_shape_quant(const struct ctt_graph *g, struct ctt_node *n)
{
    return ctt_shape_act(g, n);
}

int ctt_shape_dropout(const struct ctt_graph *g, struct ctt_node *n)
{
    return ctt_shape_act(g, n);
}

static int all_alike(const struct ctt_graph *g, struct ctt_node *n)
{
    int rc = 0;

    for (int i = 1; i < n->nin; i++)
        CTT_CHECK(same_rows(in(g, n, 0), in(g, n, i)) &&
                  in(g, n, 0)->c == in(g, n, i)->c, CTT_EINVAL,
                  "%s: the inputs differ in shape", n->name);
    n->out = like(in(g, n, 0));
out:
    return rc;
}

int ctt_shape_add(const struct ctt_graph *g, struct ctt_node *n)
{
    n->w[0] = vector(in(g, n, 0)->c);
    n->nw = n->attr.add.bias;
    return all_alike(g, n);
}

/* One of the two may have one pixel, which counts for all of the other. */
int ctt_shape_mul(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *a = in(g, n, 0), *b = in(g, n, 1);
    int rc = 0;

    CTT_CHECK(a->c == b->c && (same_rows(a, b) || a->d * a->h * a->w == 1 ||
                               b->d * b->h * b->w == 1), CTT_EINVAL,
              "%s: the inputs differ in shape, and none is one pixel of as "
              "many channels", n->name);
    n->out = like(b->d * b->h * b->w == 1 ? a : b);
out:
    return rc;
}

int ctt_shape_softmax(const struct ctt_graph *g, struct ctt_node *n)
{
    return ctt_shape_act(g, n);
}

int ctt_shape_embed(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *x = in(g, n, 0);
    int rc = 0;

    CTT_CHECK(g->node[n->in[0]].op == CTT_OP_INPUT, CTT_EINVAL, "%s: looks up "
              "symbols of an input, not results", n->name);
    CTT_CHECK(x->c == 1, CTT_EINVAL, "%s: a symbol is one number, the input "
              "has %lld channels", n->name, (long long)x->c);
    n->out = image(x->d, x->h, x->w, n->attr.embed.out);
    n->w[0] = image(1, 1, 1, n->attr.embed.out);
    n->w[0].n = n->attr.embed.vocab;
    n->nw = 1;
out:
    return rc;
}

int ctt_shape_lrn(const struct ctt_graph *g, struct ctt_node *n)
{
    return ctt_shape_act(g, n);
}

int ctt_shape_concat(const struct ctt_graph *g, struct ctt_node *n)
{
    int rc = 0;

    n->out = like(in(g, n, 0));
    for (int i = 1; i < n->nin; i++) {
        CTT_CHECK(same_rows(&n->out, in(g, n, i)), CTT_EINVAL,
                  "%s: the inputs differ in size", n->name);
        n->out.c += in(g, n, i)->c;
    }
    n->out.ld = n->out.c;
out:
    return rc;
}

/* In: gates i,f,o,g (4H channels) and the old cell state (H).  Out: the hidden
 * state; a cell node names the new cell state. */
int ctt_shape_lstm(const struct ctt_graph *g, struct ctt_node *n)
{
    int rc = 0;

    CTT_CHECK(same_rows(in(g, n, 0), in(g, n, 1)) &&
              in(g, n, 0)->c == 4 * in(g, n, 1)->c, CTT_EINVAL,
              "%s: the gates must have four times the cell's channels",
              n->name);
    n->out = like(in(g, n, 1));
out:
    return rc;
}

/* Rows that are added to a part, or left out, at both ends. */
int ctt_shape_halo(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *x = in(g, n, 0);
    int64_t up = n->attr.halo.up, down = n->attr.halo.down, h = x->h, rows;
    int rc = 0;

    rows = h + up + down;
    CTT_CHECK(h + (up < 0 ? up : 0) + (down < 0 ? down : 0) >= 0 && rows > 0,
              CTT_EINVAL, "%s: it leaves out %d and %d of %lld rows", n->name,
              up < 0 ? -n->attr.halo.up : 0, down < 0 ? -n->attr.halo.down : 0,
              (long long)h);
    CTT_CHECK(rows <= CTT_MAX_SIZE, CTT_EINVAL, "%s: %lld rows are more than "
              "%d", n->name, (long long)rows, CTT_MAX_SIZE);
    CTT_CHECK(n->attr.halo.above <= h && n->attr.halo.below <= h, CTT_EINVAL,
              "%s: other parts take %d and %d of %lld rows", n->name,
              n->attr.halo.above, n->attr.halo.below, (long long)h);
    n->out = image(x->d, rows, x->w, x->c);
out:
    return rc;
}

int ctt_shape_collect(const struct ctt_graph *g, struct ctt_node *n)
{
    int back = n->attr.collect.pass == CTT_IN_BACKWARD, rc = 0;
    int part = n->attr.collect.part, parts = n->attr.collect.parts;
    int64_t all = n->attr.collect.all, *size, mine;

    n->out = like(in(g, n, 0));
    size = n->attr.collect.of == CTT_AXIS_ROWS ? &n->out.h : &n->out.c;
    CTT_CHECK(part < parts && parts <= all, CTT_EINVAL, "%s: there is no part "
              "%d of %d of %lld", n->name, part, parts, (long long)all);
    mine = ctt_part_size(all, part, parts);
    CTT_CHECK(*size == (back ? all : mine), CTT_EINVAL, "%s: part %d of %d of "
              "%lld has %lld, not %lld", n->name, part, parts, (long long)all,
              (long long)(back ? all : mine), (long long)*size);
    *size = back ? mine : all;
    n->out.ld = n->out.c;
out:
    return rc;
}

int ctt_shape_total(const struct ctt_graph *g, struct ctt_node *n)
{
    int rc = 0;

    CTT_CHECK(n->nin == 1 || n->attr.total.pass == CTT_IN_FORWARD, CTT_EINVAL,
              "%s: with pass=backward there is nothing to add to", n->name);
    CTT_TRY(all_alike(g, n));
out:
    return rc;
}

/* The third input selects one of the first two for each sample. */
int ctt_shape_mix(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *a = in(g, n, 0), *b = in(g, n, 1);
    int rc = 0;

    CTT_CHECK(same_rows(a, b) && a->c == b->c, CTT_EINVAL,
              "%s: the first two inputs differ in shape", n->name);
    CTT_CHECK(ctt_volume(in(g, n, 2)) == 1, CTT_EINVAL,
              "%s: the third input must be one number", n->name);
    n->out = like(a);
out:
    return rc;
}

/* xent: the target is a class number and a weight; soft: two distributions;
 * binary: four weights per class; others: a number for each of the answer. */
int ctt_shape_loss(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *x = in(g, n, 0), *t = in(g, n, 1);
    int64_t c = n->attr.loss.kind == CTT_LOSS_XENT ? 2 :
                n->attr.loss.kind == CTT_LOSS_SOFT ? 2 * x->c :
                n->attr.loss.kind == CTT_LOSS_BINARY ? 4 * x->c : x->c;
    int rc = 0;

    CTT_CHECK(same_rows(x, t) && t->c == c, CTT_EINVAL,
              "%s: the target must have %lld channels and the answer's size",
              n->name, (long long)c);
    n->out = like(x);
    n->out.c = n->out.ld = 1;
out:
    return rc;
}
