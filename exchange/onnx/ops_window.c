/* SPDX-License-Identifier: Apache-2.0
 * ops_window.c: kernels, strides, paddings and dilations of convs and pools. */
#include "exchange/onnx/ops.h"

#include <string.h>

enum { KERNEL_MOST = 4096, STRIDE_MOST = 99, PAD_MOST = 99 };

/* Numbers of an attribute for the axes of an image, or `none` for all. */
static int numbers(const struct ctt_onnx_node *n, const char *name, int axes,
                   int64_t none, int64_t *out)
{
    int64_t count;
    const int64_t *is = ctt_onnx_ints(n, name, &count);
    int rc = 0;

    CTT_CHECK(!is || count == axes, CTT_EUNSUP, "%s: not %d numbers", name,
              axes);
    for (int a = 0; a < axes; a++) {
        out[a] = is ? is[a] : none;
        CTT_CHECK(out[a] >= 0 && out[a] < CTT_MAX_SIZE, CTT_EUNSUP,
                  "%s: %lld", name, (long long)out[a]);
    }
out:
    return rc;
}

/* One axis of a window: sizes in numbers of pixels. */
struct axis { int64_t size, kernel, stride, dilation, low, high, out; };

static int64_t extent(const struct axis *a)
{
    return (a->kernel - 1) * a->dilation + 1;
}

/* Paddings that make the result size / stride, rounded up; the odd zero behind
 * (SAME_UPPER) or before. */
static void pad_same(struct axis *a, int upper)
{
    int64_t out = (a->size + a->stride - 1) / a->stride;
    int64_t all = (out - 1) * a->stride + extent(a) - a->size;

    all = all > 0 ? all : 0;
    a->low = upper ? all / 2 : all - all / 2;
    a->high = all - a->low;
}

/* With `ceil` a window that begins inside may end outside: so many zeros are
 * added behind. */
static int slide_axis(struct axis *a, int ceil)
{
    int64_t room, rest;
    int rc = 0;

    CTT_CHECK(a->kernel > 0 && a->stride > 0 && a->dilation > 0, CTT_EUNSUP,
              "a kernel, stride or dilation of 0");
    room = a->size + a->low + a->high - extent(a);
    CTT_CHECK(room >= 0, CTT_EUNSUP, "a kernel larger than the padded input");
    rest = room % a->stride;
    a->out = room / a->stride + 1;
    if (ceil && rest && a->out * a->stride < a->size + a->low) {
        a->out++;
        a->high += a->stride - rest;
    }
out:
    return rc;
}

/* Zeros behind that no window reads are left out, if the padding is then the
 * same on both sides. */
static void even_out(struct axis *a)
{
    if ((a->size + 2 * a->low - extent(a)) / a->stride + 1 == a->out &&
        a->size + 2 * a->low >= extent(a))
        a->high = a->low;
}

/* A kernel along d of an image without depth reads one number of it.  The
 * language takes three equal numbers for a kernel without depth. */
static int flatten(struct ctt_op_window *w, const struct ctt_op_image *image)
{
    int rc = 0;

    w->tap = 0;
    if (image->size[CTT_IN_D] != 1 ||
        w->kernel[CTT_IN_D] == 1)
        goto out;
    CTT_CHECK(w->out[CTT_IN_D] == 1 &&
              w->low[CTT_IN_D] % w->dilation[CTT_IN_D] == 0, CTT_EUNSUP,
              "a kernel along an axis of size 1 with more than one result");
    w->tap = w->low[CTT_IN_D] / w->dilation[CTT_IN_D];
    CTT_CHECK(w->tap < w->kernel[CTT_IN_D], CTT_EUNSUP, "a kernel that reads "
              "zeros only");
    w->kernel[CTT_IN_D] = w->stride[CTT_IN_D] = w->dilation[CTT_IN_D] = 1;
    w->low[CTT_IN_D] = w->high[CTT_IN_D] = 0;
out:
    return rc;
}

static int check_limits(const struct ctt_op_window *w)
{
    int rc = 0;

    for (int d = CTT_IN_D; d <= CTT_IN_W; d++) {
        CTT_CHECK(w->kernel[d] <= KERNEL_MOST && w->stride[d] <= STRIDE_MOST,
                  CTT_EUNSUP, "a kernel of %lld or a stride of %lld",
                  (long long)w->kernel[d], (long long)w->stride[d]);
        CTT_CHECK(w->low[d] <= PAD_MOST && w->high[d] <= PAD_MOST &&
                  w->low[d] >= 0 && w->high[d] >= 0, CTT_EUNSUP, "pads: %lld "
                  "and %lld; 0 to %d are possible", (long long)w->low[d],
                  (long long)w->high[d], PAD_MOST);
    }
out:
    return rc;
}

/* pads has all beginnings, then all ends. */
static int read_axis(const struct ctt_onnx_node *n, int k, int axes,
                     const int64_t *pads, struct axis *a)
{
    const char *same = ctt_onnx_word(n, "auto_pad", "NOTSET");
    int rc = 0;

    CTT_CHECK(strcmp(same, "NOTSET") == 0 || strcmp(same, "VALID") == 0 ||
              strcmp(same, "SAME_UPPER") == 0 ||
              strcmp(same, "SAME_LOWER") == 0, CTT_EUNSUP, "auto_pad: %s",
              same);
    a->low = a->high = 0;
    if (strncmp(same, "SAME", 4) == 0) {
        CTT_CHECK(a->stride > 0, CTT_EUNSUP, "strides: 0");
        pad_same(a, strcmp(same, "SAME_UPPER") == 0);
    } else if (strcmp(same, "NOTSET") == 0) {
        a->low = pads[k];
        a->high = pads[axes + k];
    }
out:
    return rc;
}

int ctt_op_window(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                  const struct ctt_op_image *m, const int64_t *shape, int ceil,
                  struct ctt_op_window *w)
{
    int64_t stride[CTT_ONNX_RANK], dilation[CTT_ONNX_RANK];
    int64_t pads[2 * CTT_ONNX_RANK];
    int axes = m->rank - 2, rc;

    (void)o;
    for (int d = 0; d < CTT_IN_DIMS; d++) {
        w->kernel[d] = w->stride[d] = w->dilation[d] = 1;
        w->low[d] = w->high[d] = 0;
        w->out[d] = m->size[d];
    }
    CTT_TRY(numbers(n, "strides", axes, 1, stride));
    CTT_TRY(numbers(n, "dilations", axes, 1, dilation));
    CTT_TRY(numbers(n, "pads", 2 * axes, 0, pads));
    for (int k = 0; k < axes; k++) {
        struct axis a = { .size = m->size[m->in[k + 2]], .kernel = shape[k],
            .stride = stride[k], .dilation = dilation[k] };
        int d = m->in[k + 2];

        CTT_TRY(read_axis(n, k, axes, pads, &a));
        CTT_TRY(slide_axis(&a, ceil));
        even_out(&a);
        w->kernel[d] = a.kernel;
        w->stride[d] = a.stride;
        w->dilation[d] = a.dilation;
        w->out[d] = a.out;
        w->low[d] = a.low + m->p->low[d];
        w->high[d] = a.high + m->p->high[d];
    }
    CTT_TRY(flatten(w, m));
    CTT_TRY(check_limits(w));
out:
    return rc;
}

/* " key=d,h,w", unless all are `none`. */
static int keys(struct ctt_onnx *o, int line, const char *key,
                const int64_t *v, int64_t none)
{
    if (v[CTT_IN_D] == none && v[CTT_IN_H] == none && v[CTT_IN_W] == none)
        return 0;
    return ctt_onnx_keys(o, line, " %s=%lld,%lld,%lld", key,
                         (long long)v[CTT_IN_D], (long long)v[CTT_IN_H],
                         (long long)v[CTT_IN_W]);
}

/* A pool has other defaults than a conv. */
int ctt_op_window_keys(struct ctt_onnx *o, int line,
                       const struct ctt_op_window *w)
{
    int pool = strcmp(o->line[line].word, "pool") == 0, rc, after = 0;

    for (int d = CTT_IN_D; d <= CTT_IN_W; d++)
        after |= w->low[d] != w->high[d];
    CTT_TRY(keys(o, line, "kernel", w->kernel, pool ? 0 : 1));
    CTT_TRY(keys(o, line, "stride", w->stride, pool ? 0 : 1));
    CTT_TRY(keys(o, line, "pad", w->low, 0));
    if (after)
        CTT_TRY(keys(o, line, "after", w->high, -1));
    CTT_TRY(keys(o, line, "dilation", w->dilation, 1));
out:
    return rc;
}
