/* SPDX-License-Identifier: Apache-2.0
 * shape.c: for each primitive, its shape rule. */
#include "net/shape.h"
#include "net/op.h"
#include "net/part.h"
#include "net/pixels.h"

#include <string.h>

static const struct ctt_tensor *in(const struct ctt_graph *g,
                                   const struct ctt_node *n, int i)
{
    return &g->node[n->in[i]].out;
}

static int same_rows(const struct ctt_tensor *a, const struct ctt_tensor *b)
{
    return a->d == b->d && a->h == b->h && a->w == b->w;
}

static struct ctt_tensor image(int64_t d, int64_t h, int64_t w, int64_t c)
{
    return (struct ctt_tensor){ .n = 1, .d = d, .h = h, .w = w, .c = c,
                                .ld = c };
}

static struct ctt_tensor vector(int64_t c)
{
    return image(1, 1, 1, c);
}

/* The shape of an input, as a tensor of its own. */
static struct ctt_tensor like(const struct ctt_tensor *x)
{
    return image(x->d, x->h, x->w, x->c);
}

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

/* If the input has no depth, one number for three axes applies to rows and
 * columns only: the depth gets `alone`. */
static void flat(int v[3], int64_t d, int alone)
{
    if (d == 1 && v[0] == v[1] && v[1] == v[2])
        v[0] = alone;
}

/* Padding at the ends, after=: a value other than pad= is less than a window,
 * so that no window lies behind the input. */
static int flat_after(const struct ctt_node *n, int64_t d, const int pad[3],
                      int after[3])
{
    int rc = 0;

    if (after[0] == CTT_OPT_WORD)
        return 0;
    flat(after, d, 0);
    for (int i = 0; i < 3; i++) {
        struct ctt_slide s = ctt_slide_of(n);
        CTT_CHECK(after[i] == pad[i] || after[i] < ctt_slide_span(&s, i),
                  CTT_EINVAL, "%s: after=%d is not smaller than the window of "
                  "%lld", n->name, after[i],
                  (long long)ctt_slide_span(&s, i));
    }
    if (memcmp(after, pad, 3 * sizeof(*pad)) == 0)
        after[0] = after[1] = after[2] = CTT_OPT_WORD;
out:
    return rc;
}

/* out = (in + pad + after - span) / stride + 1 on each axis. */
static int slide(const struct ctt_node *n, const struct ctt_tensor *x,
                 int64_t out[3])
{
    const int64_t size[3] = { x->d, x->h, x->w };
    struct ctt_slide s = ctt_slide_of(n);
    int rc = 0;

    for (int i = 0; i < 3; i++) {
        int64_t span = ctt_slide_span(&s, i);
        int64_t room = size[i] + s.pad[i] + s.after[i] - span;
        CTT_CHECK(room >= 0, CTT_EINVAL,
                  "%s: kernel %lld is larger than the padded input %lld",
                  n->name, (long long)span, (long long)(room + span));
        out[i] = room / s.stride[i] + 1;
    }
out:
    return rc;
}

static void conv_weights(struct ctt_node *n, int64_t in_c)
{
    const int *k = n->attr.conv.kernel;

    n->w[0] = (struct ctt_tensor){ .n = n->attr.conv.out, .d = k[0],
        .h = k[1], .w = k[2], .c = in_c, .ld = in_c };
    n->w[1] = vector(n->attr.conv.out);
    n->nw = 1 + n->attr.conv.bias;
}

static void flat_conv(struct ctt_node *n, int64_t d)
{
    flat(n->attr.conv.kernel, d, 1);
    flat(n->attr.conv.stride, d, 1);
    flat(n->attr.conv.pad, d, 0);
    for (int i = 0; i < 3; i++)    /* a single tap is as far as any other */
        if (n->attr.conv.kernel[i] == 1)
            n->attr.conv.dilation[i] = 1;
}

int ctt_shape_conv(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *x = in(g, n, 0), *y;
    int groups = n->attr.conv.groups, rc = 0;
    int64_t o[3];

    flat_conv(n, x->d);
    CTT_TRY(flat_after(n, x->d, n->attr.conv.pad, n->attr.conv.after));
    CTT_TRY(slide(n, x, o));
    n->out = image(o[0], o[1], o[2], n->attr.conv.out);
    CTT_CHECK(n->nin == 1 + n->plus, CTT_EINVAL,
              "%s: a conv has one input; another is given by plus=", n->name);
    CTT_CHECK(x->c % groups == 0 && n->out.c % groups == 0, CTT_EINVAL,
              "%s: %lld channels in and %lld out cannot both be cut into %d "
              "groups", n->name, (long long)x->c, (long long)n->out.c, groups);
    if (n->plus) {
        y = in(g, n, 1);
        CTT_CHECK(same_rows(y, &n->out) && y->c == n->out.c, CTT_EINVAL,
                  "%s: plus=%s is not of its shape", n->name,
                  g->node[n->in[1]].name);
    }
    conv_weights(n, x->c / groups);
out:
    return rc;
}

int ctt_shape_deconv(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *x = in(g, n, 0);
    const int *k = n->attr.conv.kernel, *s = n->attr.conv.stride;
    const int *p = n->attr.conv.pad;
    const int64_t size[3] = { x->d, x->h, x->w };
    int64_t o[3];
    int rc = 0;

    flat_conv(n, x->d);
    for (int i = 0; i < 3; i++) {
        o[i] = (size[i] - 1) * s[i] - 2 * p[i] + k[i];
        CTT_CHECK(o[i] > 0, CTT_EINVAL, "%s: padding %d leaves nothing",
                  n->name, p[i]);
    }
    n->out = image(o[0], o[1], o[2], n->attr.conv.out);
    n->attr.conv.groups = 1;
    for (int i = 0; i < 3; i++) {
        n->attr.conv.after[i] = CTT_OPT_WORD;
        n->attr.conv.dilation[i] = 1;
    }
    conv_weights(n, x->c);
out:
    return rc;
}

int ctt_shape_pool(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *x = in(g, n, 0);
    const int64_t size[3] = { x->d, x->h, x->w };
    int *k = n->attr.pool.kernel, *s = n->attr.pool.stride;
    int *p = n->attr.pool.pad, rc = 0;
    int64_t o[3];

    if (k[1])
        flat(k, x->d, 1);
    if (s[1])
        flat(s, x->d, 1);
    flat(p, x->d, 0);
    for (int i = 0; i < 3; i++) {
        k[i] = k[i] ? k[i] : (int)size[i];
        s[i] = s[i] ? s[i] : k[i];
        CTT_CHECK(p[i] < k[i], CTT_EINVAL,
                  "%s: padding %d is not smaller than the kernel %d", n->name,
                  p[i], k[i]);
    }
    CTT_TRY(flat_after(n, x->d, p, n->attr.pool.after));
    CTT_TRY(slide(n, x, o));
    n->out = image(o[0], o[1], o[2], x->c);
out:
    return rc;
}

int ctt_shape_upsample(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *x = in(g, n, 0);
    const int64_t size[3] = { x->d, x->h, x->w };
    int *by = n->attr.upsample.by, rc = 0;

    flat(by, x->d, 1);
    for (int i = 0; i < 3; i++)
        CTT_CHECK(size[i] <= CTT_MAX_SIZE / by[i], CTT_EINVAL,
                  "%s: %lld pixels times %d are more than %d", n->name,
                  (long long)size[i], by[i], CTT_MAX_SIZE);
    n->out = image(x->d * by[0], x->h * by[1], x->w * by[2], x->c);
out:
    return rc;
}

/* Depth, height and width of blocks become channels, or the reverse. */
int ctt_shape_patch(const struct ctt_graph *g, struct ctt_node *n)
{
    const struct ctt_tensor *x = in(g, n, 0);
    int64_t size[] = { x->d, x->h, x->w }, c = x->c, all;
    int *by = n->attr.patch.by, back = n->attr.patch.back, rc = 0;

    flat(by, x->d, 1);
    all = (int64_t)by[0] * by[1] * by[2];
    CTT_CHECK(back ? c % all == 0 : c * all <= CTT_MAX_SIZE, CTT_EINVAL,
              back ? "%s: %lld channels are no %lld equal parts"
                   : "%s: %lld channels times %lld are too many",
              n->name, (long long)c, (long long)all);
    for (int i = 0; i < 3; i++) {
        CTT_CHECK(back ? size[i] <= CTT_MAX_SIZE / by[i]
                       : size[i] % by[i] == 0, CTT_EINVAL,
                  back ? "%s: %lld pixels times %d are too many"
                       : "%s: %lld pixels are no blocks of %d",
                  n->name, (long long)size[i], by[i]);
        size[i] = back ? size[i] * by[i] : size[i] / by[i];
    }
    n->out = image(size[0], size[1], size[2], back ? c / all : c * all);
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
