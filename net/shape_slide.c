/* SPDX-License-Identifier: Apache-2.0
 * shape_slide.c: the shape rules of windows that slide over pixels and of
 * blocks of pixels. */
#include "net/shape_inside.h"
#include "net/op.h"

#include <string.h>

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
