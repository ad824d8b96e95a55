/* SPDX-License-Identifier: Apache-2.0
 * ops_conv.c: Conv and ConvTranspose. */
#include "exchange/onnx/ops.h"

#include <string.h>

/* A weight O, I / groups, k... as it is read: its strides by axis. */
struct kernel {
    const struct ctt_onnx_tensor *t;
    int64_t groups, out, in;         /* of the conv; in: of all groups */
    int64_t stride[CTT_ONNX_RANK];
};

static int read_kernel(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                       const struct ctt_op_image *m, struct kernel *k)
{
    int64_t all = 1;
    int rc, input = strcmp(n->op, "ConvTranspose") == 0;

    CTT_TRY(ctt_op_constant(o, n, 1, &k->t));
    CTT_CHECK(k->t && k->t->rank == m->rank && m->rank > 2 && k->t->count,
              CTT_EUNSUP, "a weight of other axes than the input");
    for (int a = m->rank - 1; a >= 0; a--) {
        k->stride[a] = all;
        all *= k->t->dim[a];
    }
    k->groups = ctt_onnx_int(n, "group", 1);
    CTT_CHECK(k->groups > 0 && k->groups <= CTT_MAX_SIZE, CTT_EUNSUP,
              "group: %lld", (long long)k->groups);
    k->out = k->t->dim[input] * (input ? k->groups : 1);
    k->in = k->t->dim[!input] * (input ? 1 : k->groups);
    CTT_CHECK(k->in == m->size[CTT_IN_C] && k->out % k->groups == 0 &&
              k->in % k->groups == 0, CTT_EUNSUP, "a weight for %lld channels; "
              "the input has %lld", (long long)k->in,
              (long long)m->size[CTT_IN_C]);
out:
    return rc;
}

static int check_shape(const struct ctt_onnx_node *n, const struct kernel *k)
{
    int64_t count;
    const int64_t *shape = ctt_onnx_ints(n, "kernel_shape", &count);
    int rc = 0;

    CTT_CHECK(!shape || count == k->t->rank - 2, CTT_EUNSUP, "kernel_shape: "
              "not one number an axis");
    for (int a = 2; shape && a < k->t->rank; a++)
        CTT_CHECK(shape[a - 2] == k->t->dim[a], CTT_EUNSUP, "kernel_shape: "
                  "not that of the weight");
out:
    return rc;
}

/* offsets[i] = first + i * stride; perm: perm[i] in place of i. */
static int offsets(struct ctt_onnx *o, int64_t count, int64_t first,
                   int64_t stride, const int64_t *perm, const int64_t **out)
{
    int64_t *at = ctt_arena_take(&o->arena, count, sizeof(*at));

    if (!at)
        return CTT_ENOMEM;
    for (int64_t i = 0; i < count; i++)
        at[i] = (first + (perm ? perm[i] : i)) * stride;
    *out = at;
    return 0;
}

/* Offsets of the kernel along d, h, w. */
static int kernel_offsets(struct ctt_onnx *o, const struct ctt_op_image *m,
                          const struct kernel *k,
                          const struct ctt_op_window *win,
                          struct ctt_onnx_weight *w)
{
    int rc = 0;

    for (int d = CTT_IN_D; d <= CTT_IN_W; d++)
        w->dim[d] = win->kernel[d];
    for (int a = 2; a < m->rank; a++) {
        int d = m->in[a];

        CTT_TRY(offsets(o, win->kernel[d], d == CTT_IN_D ? win->tap : 0,
                        k->stride[a], NULL, &w->off[d]));
    }
out:
    return rc;
}

static int add_bias(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                    int64_t channels, struct ctt_onnx_line *l,
                    const int64_t *perm)
{
    const struct ctt_onnx_tensor *b;
    int rc;

    CTT_TRY(ctt_op_constant(o, n, 2, &b));
    l->nw = 1 + (b != NULL);
    if (!b)
        goto out;
    CTT_CHECK(b->count == channels, CTT_EUNSUP, "a bias of %lld numbers for "
              "%lld channels", (long long)b->count, (long long)channels);
    l->w[1].dim[0] = channels;
    CTT_TRY(ctt_onnx_vector(o, channels, NULL, 0, &l->w[1].vec));
    for (int64_t i = 0; i < channels; i++)
        l->w[1].vec[i] = ctt_onnx_number(b, perm ? perm[i] : i);
out:
    return rc;
}

/* ---- Conv ---- */

/* Each channel alone: the result's channels lie as the input's. */
static int is_depthwise(const struct kernel *k)
{
    return k->groups > 1 && k->groups == k->in && k->groups == k->out;
}

static int conv_line(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                     const struct ctt_op_image *m, const struct kernel *k,
                     const struct ctt_op_window *win, int *line)
{
    int64_t size[CTT_IN_DIMS];
    const int64_t *perm = is_depthwise(k) ? m->channel : NULL;
    struct ctt_onnx_weight *w;
    int rc;

    memcpy(size, win->out, sizeof(size));
    size[CTT_IN_C] = k->out;
    CTT_TRY(ctt_onnx_emit(o, "conv", 1, &m->p->line, size, line));
    w = &o->line[*line].w[0];
    w->t = k->t;
    w->dim[0] = k->out;
    w->dim[4] = k->in / k->groups;
    CTT_TRY(offsets(o, w->dim[0], 0, k->stride[0], perm, &w->off[0]));
    CTT_TRY(offsets(o, w->dim[4], 0, k->stride[1], k->groups == 1 ?
                    m->channel : NULL, &w->off[4]));
    CTT_TRY(kernel_offsets(o, m, k, win, w));
    CTT_TRY(add_bias(o, n, k->out, &o->line[*line], perm));
    CTT_TRY(ctt_onnx_keys(o, *line, " out=%lld", (long long)k->out));
    CTT_TRY(ctt_op_window_keys(o, *line, win));
    if (k->groups > 1)
        CTT_TRY(ctt_onnx_keys(o, *line, " groups=%lld",
                              (long long)k->groups));
out:
    return rc;
}

/* Zeros of which a side has a whole window's, and the other not as many, become
 * part of the image. */
static int even_zeros(struct ctt_onnx *o, struct ctt_op_image *m,
                      struct ctt_op_window *w)
{
    struct ctt_onnx_place *p;
    int rc = 0, uneven = 0;

    for (int d = CTT_IN_D; d <= CTT_IN_W; d++)
        uneven |= w->low[d] != w->high[d] &&
                  w->high[d] > (w->kernel[d] - 1) * w->dilation[d];
    if (!uneven)
        goto out;
    CTT_TRY(ctt_place_drop(o, m->p, 0, m->p->line, &p));
    for (int d = CTT_IN_D; d <= CTT_IN_W; d++) {
        p->low[d] = (int)w->low[d];
        p->high[d] = (int)w->high[d];
        w->low[d] = w->high[d] = 0;
    }
    CTT_TRY(ctt_op_solid(o, p, &m->p));
out:
    return rc;
}

int ctt_op_conv(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int64_t dim[CTT_ONNX_RANK];
    struct ctt_onnx_place *p;
    struct ctt_onnx_value *v;
    struct ctt_op_window win;
    struct ctt_op_image m;
    struct kernel k;
    int rc, line;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_image(o, v, &m));
    CTT_TRY(read_kernel(o, n, &m, &k));
    CTT_TRY(check_shape(n, &k));
    if (k.groups > 1 && !is_depthwise(&k))
        CTT_TRY(ctt_op_straight(o, &m));
    CTT_TRY(ctt_op_window(o, n, &m, k.t->dim + 2, 0, &win));
    CTT_TRY(even_zeros(o, &m, &win));
    CTT_TRY(conv_line(o, n, &m, &k, &win, &line));
    CTT_TRY(ctt_op_image_place(o, &m, line, o->line[line].size,
                               !is_depthwise(&k), dim, &p));
    CTT_TRY(ctt_op_set(o, n, 0, m.rank, dim, p));
out:
    return rc;
}

/* ---- ConvTranspose ---- */

/* One axis: kernel: with zeros between, before (front) and behind. */
struct grown { int64_t size, taps, dilation, stride, low, high, more; };

static int read_grown(const struct ctt_onnx_node *n, int k, int axes,
                      struct grown *g)
{
    const char *same = ctt_onnx_word(n, "auto_pad", "NOTSET");
    int64_t count, all;
    const int64_t *p = ctt_onnx_ints(n, "strides", &count);
    int rc = 0;

    g->stride = p && count == axes ? p[k] : 1;
    p = ctt_onnx_ints(n, "dilations", &count);
    g->dilation = p && count == axes ? p[k] : 1;
    p = ctt_onnx_ints(n, "output_padding", &count);
    g->more = p && count == axes ? p[k] : 0;
    p = ctt_onnx_ints(n, "pads", &count);
    g->low = p && count == 2 * axes ? p[k] : 0;
    g->high = p && count == 2 * axes ? p[axes + k] : 0;
    CTT_CHECK(g->stride > 0 && g->stride <= 99 && g->dilation > 0 &&
              g->dilation < 4096 && g->more >= 0 && g->more < 4096 &&
              g->low >= 0 && g->high >= 0 && g->low < 4096 && g->high < 4096,
              CTT_EUNSUP, "strides, dilations or pads out of range");
    p = ctt_onnx_ints(n, "output_shape", &count);
    if (!(p && count == axes) && strncmp(same, "SAME", 4) != 0)
        goto out;
    all = (g->size - 1) * g->stride + g->more +
          (g->taps - 1) * g->dilation + 1 -
          (p && count == axes ? p[k] : g->size * g->stride);
    CTT_CHECK(all > -4096 && all < 4096, CTT_EUNSUP, "output_shape: out of "
              "range");
    g->more -= all < 0 ? all : 0;    /* a result that is larger */
    all = all > 0 ? all : 0;
    g->low = strcmp(same, "SAME_UPPER") == 0 ? all / 2 : all - all / 2;
    g->high = all - g->low;
out:
    return rc;
}

/* convtt pads both ends alike: zeros in the kernel make up for it. */
static int grow_kernel(struct ctt_onnx *o, const struct grown *g,
                       int64_t stride, int64_t *kernel, int64_t *pad,
                       const int64_t **off)
{
    int64_t high = g->high - g->more, front = 0, *at;
    int64_t taps = (g->taps - 1) * g->dilation + 1;
    int rc = 0;

    front = high > g->low ? high - g->low : 0;
    *pad = g->low + front;
    *kernel = taps + front + (g->low > high ? g->low - high : 0);
    CTT_CHECK(*kernel <= 4096 && *pad <= 99, CTT_EUNSUP, "a kernel of %lld "
              "or a padding of %lld", (long long)*kernel, (long long)*pad);
    at = ctt_arena_take(&o->arena, *kernel, sizeof(*at));
    CTT_TRY(at ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < *kernel; i++)
        at[i] = i >= front && i - front < taps &&
                (i - front) % g->dilation == 0 ?
                (i - front) / g->dilation * stride : -1;
    *off = at;
out:
    return rc;
}

static int deconv_window(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                         const struct ctt_op_image *m, const struct kernel *k,
                         struct ctt_op_window *win, struct ctt_onnx_weight *w)
{
    int rc = 0;

    for (int d = 0; d < CTT_IN_DIMS; d++) {
        win->kernel[d] = win->stride[d] = win->dilation[d] = 1;
        win->low[d] = win->high[d] = win->tap = 0;
        win->out[d] = m->size[d];
    }
    for (int a = 2; a < m->rank; a++) {
        int d = m->in[a];
        struct grown g = { .size = m->size[d], .taps = k->t->dim[a] };

        CTT_TRY(read_grown(n, a - 2, m->rank - 2, &g));
        CTT_TRY(grow_kernel(o, &g, k->stride[a], &win->kernel[d],
                            &win->low[d], &w->off[d]));
        win->high[d] = win->low[d];
        win->stride[d] = g.stride;
        win->out[d] = (g.size - 1) * g.stride - 2 * win->low[d] +
                      win->kernel[d];
    }
    CTT_CHECK(m->size[CTT_IN_D] > 1 || win->kernel[CTT_IN_D] == 1, CTT_EUNSUP,
              "a kernel along an axis of size 1");
    for (int d = CTT_IN_D; d <= CTT_IN_W; d++)
        w->dim[d] = win->kernel[d];
out:
    return rc;
}

static int deconv_line(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                       const struct ctt_op_image *m, const struct kernel *k,
                       int *line)
{
    struct ctt_onnx_weight w = { .t = k->t, .groups = k->groups };
    int64_t each = k->out / k->groups, *out;
    struct ctt_op_window win;
    int rc;

    CTT_TRY(deconv_window(o, n, m, k, &win, &w));
    win.out[CTT_IN_C] = k->out;
    CTT_TRY(ctt_onnx_emit(o, "deconv", 1, &m->p->line, win.out, line));
    w.dim[0] = k->out;
    w.dim[4] = k->in;
    CTT_TRY(offsets(o, k->in, 0, k->stride[0], m->channel, &w.off[4]));
    out = ctt_arena_take(&o->arena, k->out, sizeof(*out));
    CTT_TRY(out ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < k->out; i++)
        out[i] = i % each * k->stride[1];
    w.off[0] = out;
    o->line[*line].w[0] = w;
    CTT_TRY(add_bias(o, n, k->out, &o->line[*line], NULL));
    CTT_TRY(ctt_onnx_keys(o, *line, " out=%lld", (long long)k->out));
    CTT_TRY(ctt_op_window_keys(o, *line, &win));
out:
    return rc;
}

int ctt_op_deconv(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int64_t dim[CTT_ONNX_RANK];
    struct ctt_onnx_place *p;
    struct ctt_onnx_value *v;
    struct ctt_op_image m;
    struct kernel k;
    int rc, line;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_image(o, v, &m));
    CTT_TRY(ctt_op_solid(o, m.p, &m.p));
    CTT_TRY(read_kernel(o, n, &m, &k));
    CTT_TRY(check_shape(n, &k));
    if (k.groups > 1)
        CTT_TRY(ctt_op_straight(o, &m));
    CTT_TRY(deconv_line(o, n, &m, &k, &line));
    CTT_TRY(ctt_op_image_place(o, &m, line, o->line[line].size, 1, dim, &p));
    CTT_TRY(ctt_op_set(o, n, 0, m.rank, dim, p));
out:
    return rc;
}
