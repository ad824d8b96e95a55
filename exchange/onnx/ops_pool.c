/* SPDX-License-Identifier: Apache-2.0
 * ops_pool.c: pools, and means and maxima along axes. */
#include "exchange/onnx/ops.h"

#include <string.h>

/* ---- windows ---- */

static int pool_image(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                      struct ctt_op_image *m)
{
    struct ctt_onnx_value *v;
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_image(o, v, m));
    CTT_CHECK(m->rank > 2, CTT_EUNSUP, "a pool of a value without pixels");
out:
    return rc;
}

static int pool_window(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                       const struct ctt_op_image *m, int ceil,
                       struct ctt_op_window *w)
{
    int64_t count;
    const int64_t *shape = ctt_onnx_ints(n, "kernel_shape", &count);
    int rc = 0;

    CTT_CHECK(shape && count == m->rank - 2, CTT_EUNSUP, "kernel_shape: not "
              "one number an axis");
    CTT_TRY(ctt_op_window(o, n, m, shape, ceil, w));
    w->out[CTT_IN_C] = m->size[CTT_IN_C];
out:
    return rc;
}

/* The result of a line that has the channels of the image. */
static int set_pooled(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                      const struct ctt_op_image *m, int line)
{
    int64_t dim[CTT_ONNX_RANK];
    struct ctt_onnx_place *p;
    int rc;

    CTT_TRY(ctt_op_image_place(o, m, line, o->line[line].size, 0, dim, &p));
    CTT_TRY(ctt_op_set(o, n, 0, m->rank, dim, p));
out:
    return rc;
}

static int pool_line(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                     const char *kind, const struct ctt_op_image *m,
                     const struct ctt_op_window *w)
{
    int rc, line;

    for (int d = CTT_IN_D; d <= CTT_IN_W; d++) {
        CTT_CHECK(w->dilation[d] == 1, CTT_EUNSUP, "dilations: %lld",
                  (long long)w->dilation[d]);
        CTT_CHECK(w->low[d] < w->kernel[d] && w->high[d] < w->kernel[d],
                  CTT_EUNSUP, "pads: not less than the kernel");
    }
    CTT_TRY(ctt_onnx_emit(o, "pool", 1, &m->p->line, w->out, &line));
    CTT_TRY(ctt_onnx_keys(o, line, " kind=%s", kind));
    CTT_TRY(ctt_op_window_keys(o, line, w));
    CTT_TRY(set_pooled(o, n, m, line));
out:
    return rc;
}

/* Zeros around a value that is not negative change no maximum. */
static int is_rectified(const struct ctt_onnx *o,
                        const struct ctt_onnx_place *p)
{
    return strcmp(o->line[p->line].word, "act") == 0 &&
           strncmp(o->line[p->line].keys, " kind=relu", 10) == 0;
}

int ctt_op_max_pool(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_op_window w;
    struct ctt_op_image m;
    int rc;

    CTT_CHECK(n->nout < 2 || n->out[1] < 0 || !o->value[n->out[1]].readers,
              CTT_EUNSUP, "Indices: places of maxima are not known");
    CTT_TRY(pool_image(o, n, &m));
    if (!is_rectified(o, m.p))
        CTT_TRY(ctt_op_solid(o, m.p, &m.p));
    CTT_TRY(pool_window(o, n, &m, (int)ctt_onnx_int(n, "ceil_mode", 0), &w));
    CTT_TRY(pool_line(o, n, "max", &m, &w));
out:
    return rc;
}

/* A mean that counts zeros around the image: a depthwise conv. */
static int mean_line(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                     const struct ctt_op_image *m,
                     const struct ctt_op_window *w)
{
    double taps = (double)(w->kernel[CTT_IN_D] * w->kernel[CTT_IN_H] *
                           w->kernel[CTT_IN_W]), *scale;
    int rc, line;

    CTT_TRY(ctt_onnx_vector(o, w->out[CTT_IN_C], NULL, 1 / taps, &scale));
    CTT_TRY(ctt_op_depthwise(o, m->p->line, scale, w->out, &line));
    for (int d = CTT_IN_D; d <= CTT_IN_W; d++)
        o->line[line].w[0].dim[d] = w->kernel[d];
    CTT_TRY(ctt_op_window_keys(o, line, w));
    CTT_TRY(set_pooled(o, n, m, line));
out:
    return rc;
}

static int has_zeros(const struct ctt_op_window *w)
{
    int zeros = 0;

    for (int d = CTT_IN_D; d <= CTT_IN_W; d++)
        zeros |= w->low[d] > 0 || w->high[d] > 0;
    return zeros;
}

static int is_dilated(const struct ctt_op_window *w)
{
    return w->dilation[CTT_IN_D] > 1 || w->dilation[CTT_IN_H] > 1 ||
           w->dilation[CTT_IN_W] > 1;
}

int ctt_op_avg_pool(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int all = (int)ctt_onnx_int(n, "count_include_pad", 0), rc;
    int ceil = (int)ctt_onnx_int(n, "ceil_mode", 0);
    struct ctt_op_window w, plain;
    struct ctt_op_image m;

    CTT_TRY(pool_image(o, n, &m));
    CTT_TRY(ctt_op_solid(o, m.p, &m.p));
    CTT_TRY(pool_window(o, n, &m, 0, &plain));
    CTT_TRY(pool_window(o, n, &m, ceil, &w));
    CTT_CHECK(o->opset > 6 || !has_zeros(&w), CTT_EUNSUP, "pads: operators of "
              "version 6 do not say whether they count");
    if (!has_zeros(&w) ? !is_dilated(&w) : !all)
        return pool_line(o, n, "avg", &m, &w);
    CTT_CHECK(!has_zeros(&w) || all, CTT_EUNSUP, "dilations: with padding that "
              "does not count");
    for (int d = CTT_IN_D; d <= CTT_IN_W; d++)
        CTT_CHECK(w.out[d] == plain.out[d], CTT_EUNSUP, "ceil_mode: windows "
                  "that end outside, with count_include_pad");
    CTT_CHECK(w.tap == 0, CTT_EUNSUP, "count_include_pad: zeros along an axis "
              "of size 1");
    CTT_TRY(mean_line(o, n, &m, &w));
out:
    return rc;
}

/* ---- along whole axes ---- */

/* The dimensions of axes, which must be no one else's. */
static int dims_of(const struct ctt_onnx_value *v, unsigned axes,
                   unsigned *out)
{
    unsigned dims;
    int rc = 0, whole;

    *out = 0;
    for (int a = 0; a < v->t.rank; a++) {
        if (!(axes >> a & 1))
            continue;
        dims = ctt_place_dims(v->place, a, &whole);
        CTT_CHECK(!(dims & 1u << CTT_IN_N), CTT_EUNSUP, "axes: over samples");
        *out |= dims;
    }
    for (int a = 0; a < v->t.rank; a++)
        CTT_CHECK(axes >> a & 1 ||
                  !(ctt_place_dims(v->place, a, &whole) & *out), CTT_EUNSUP,
                  "axes: parts of the image's");
out:
    return rc;
}

static int reduced_pool(struct ctt_onnx *o, const char *kind,
                        const struct ctt_onnx_place *p, unsigned dims,
                        int *line)
{
    int64_t size[CTT_IN_DIMS], kernel[CTT_IN_DIMS];
    int rc;

    memcpy(size, o->line[p->line].size, sizeof(size));
    for (int d = CTT_IN_D; d <= CTT_IN_W; d++) {
        kernel[d] = dims >> d & 1 ? size[d] : 1;
        size[d] = dims >> d & 1 ? 1 : size[d];
    }
    CTT_TRY(ctt_onnx_emit(o, "pool", 1, &p->line, size, line));
    CTT_TRY(ctt_onnx_keys(o, *line, " kind=%s", kind));
    if (size[CTT_IN_D] * size[CTT_IN_H] * size[CTT_IN_W] > 1)
        CTT_TRY(ctt_onnx_keys(o, *line, " kernel=%lld,%lld,%lld",
                              (long long)kernel[CTT_IN_D],
                              (long long)kernel[CTT_IN_H],
                              (long long)kernel[CTT_IN_W]));
out:
    return rc;
}

/* The mean over channels: a conv with one result. */
static int channel_mean(struct ctt_onnx *o, int in, int *line)
{
    int64_t size[CTT_IN_DIMS], c = o->line[in].size[CTT_IN_C];
    double mean = 1 / (double)c;
    int rc;

    memcpy(size, o->line[in].size, sizeof(size));
    size[CTT_IN_C] = 1;
    CTT_TRY(ctt_op_depthwise(o, in, &mean, size, line));
    o->line[*line].w[0].dim[4] = c;
    o->line[*line].keys[0] = '\0';
    CTT_TRY(ctt_onnx_keys(o, *line, " out=1"));
out:
    return rc;
}

/* All numbers times one. */
static int scale_all(struct ctt_onnx *o, double by, struct ctt_onnx_place **p)
{
    double *scale;
    int rc;

    CTT_TRY(ctt_onnx_vector(o, o->line[(*p)->line].size[CTT_IN_C], NULL, by,
                            &scale));
    CTT_TRY(ctt_op_affine(o, *p, scale, NULL, p));
out:
    return rc;
}

/* A sum is a mean times how many numbers it is of, the least number the largest
 * of the negative ones, negative again. */
static double factor_behind(const struct ctt_onnx_value *v, const char *kind,
                            unsigned axes)
{
    double count = 1;

    for (int a = 0; a < v->t.rank; a++)
        count *= axes >> a & 1 ? (double)v->t.dim[a] : 1;
    return strcmp(kind, "min") == 0 ? -1 : strcmp(kind, "sum") == 0 ? count :
           1;
}

/* kind: of a pool, or "sum" or "min". */
static int reduce(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                  const char *kind, unsigned axes, int keep)
{
    struct ctt_onnx_place *p;
    struct ctt_onnx_value *v;
    int64_t dim[CTT_ONNX_RANK];
    unsigned dims;
    int rank = 0, rc, line;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_solid(o, v->place, &p));
    CTT_TRY(dims_of(v, axes, &dims));
    CTT_CHECK(!(dims >> CTT_IN_C & 1) || kind[0] != 'm', CTT_EUNSUP,
              "axes: a maximum over channels");
    if (strcmp(kind, "min") == 0)
        CTT_TRY(scale_all(o, -1, &p));
    line = p->line;
    if (dims & ~(1u << CTT_IN_C))
        CTT_TRY(reduced_pool(o, kind[0] == 'm' ? "max" : "avg", p, dims,
                             &line));
    if (dims >> CTT_IN_C & 1)
        CTT_TRY(channel_mean(o, line, &line));
    CTT_TRY(ctt_place_drop(o, p, dims, line, &p));
    if (factor_behind(v, kind, axes) != 1)
        CTT_TRY(scale_all(o, factor_behind(v, kind, axes), &p));
    for (int a = 0; a < v->t.rank; a++)
        if (!(axes >> a & 1) || keep) {
            p->cut[rank] = axes >> a & 1 ? 0 : p->cut[a];
            dim[rank++] = axes >> a & 1 ? 1 : v->t.dim[a];
        }
    p->rank = rank;
    CTT_TRY(ctt_op_set(o, n, 0, rank, dim, p));
out:
    return rc;
}

static int reduce_node(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                       const char *kind)
{
    struct ctt_onnx_value *v;
    unsigned axes, none;
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    none = ctt_onnx_int(n, "noop_with_empty_axes", 0) ? 0 :
           (1u << v->t.rank) - 1;
    CTT_TRY(ctt_onnx_axes(o, n, 1, v->t.rank, none, &axes));
    CTT_TRY(reduce(o, n, kind, axes, (int)ctt_onnx_int(n, "keepdims", 1)));
out:
    return rc;
}

int ctt_op_reduce_mean(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    return reduce_node(o, n, "avg");
}

int ctt_op_reduce_sum(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    return reduce_node(o, n, "sum");
}

int ctt_op_reduce_min(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    return reduce_node(o, n, "min");
}

int ctt_op_reduce_max(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    return reduce_node(o, n, "max");
}

/* All axes behind the channels. */
static int global(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                  const char *kind)
{
    struct ctt_onnx_value *v;
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(reduce(o, n, kind, ((1u << v->t.rank) - 1) & ~3u, 1));
out:
    return rc;
}

int ctt_op_global_avg(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    return global(o, n, "avg");
}

int ctt_op_global_max(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    return global(o, n, "max");
}
