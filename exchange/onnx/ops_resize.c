/* SPDX-License-Identifier: Apache-2.0
 * ops_resize.c: images of another size. */
#include "exchange/onnx/ops.h"

#include <math.h>
#include <string.h>

/* ---- nearest pixels, whole factors ---- */

/* The pixel of the input that a pixel of the result shows (onnx.ai, "Resize").
 */
static double source(const char *mode, double x, double scale, double size,
                     double out)
{
    if (strcmp(mode, "asymmetric") == 0)
        return x / scale;
    if (strcmp(mode, "align_corners") == 0)
        return out > 1 ? x * (size - 1) / (out - 1) : 0;
    if (strcmp(mode, "pytorch_half_pixel") == 0 && out <= 1)
        return 0;
    return (x + 0.5) / scale - 0.5;    /* half_pixel and its like */
}

static double nearest(const char *mode, double x)
{
    if (strcmp(mode, "floor") == 0)
        return floor(x);
    if (strcmp(mode, "ceil") == 0)
        return ceil(x);
    return strcmp(mode, "round_prefer_ceil") == 0 ? floor(x + 0.5) :
           ceil(x - 0.5);
}

/* Whether each pixel becomes a block, as the language's upsample makes it. */
static int check_blocks(const struct ctt_onnx_node *n, int old, int64_t size,
                        int64_t by)
{
    const char *mode = old ? "asymmetric" : ctt_onnx_word(n,
        "coordinate_transformation_mode", "half_pixel");
    const char *round = old ? "floor" : ctt_onnx_word(n, "nearest_mode",
                                                      "round_prefer_floor");
    int rc = 0;

    for (int64_t i = 0; i < size * by && by > 1; i++) {
        double at = nearest(round, source(mode, (double)i, (double)by,
                                          (double)size, (double)(size * by)));

        at = at < 0 ? 0 : at > (double)size - 1 ? (double)size - 1 : at;
        CTT_CHECK(at == (double)(i / by), CTT_EUNSUP,
                  "coordinate_transformation_mode: %s with nearest_mode %s",
                  mode, round);
    }
out:
    return rc;
}

/* The factor of an axis from sizes or scales, whichever is given. */
static int factor(const struct ctt_onnx_tensor *scales,
                  const struct ctt_onnx_tensor *sizes, int k, int64_t size,
                  int64_t *by)
{
    double s = sizes ? ctt_onnx_number(sizes, k) / (double)size :
               ctt_onnx_number(scales, k);
    int rc = 0;

    *by = s >= 1 && s <= 99 ? (int64_t)s : 0;
    CTT_CHECK((double)*by == s, CTT_EUNSUP, "scales: %g; whole factors up to "
              "99 are possible", s);
out:
    return rc;
}

static int upsample_line(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                         struct ctt_op_image *m, const int64_t *by)
{
    int64_t size[CTT_IN_DIMS], dim[CTT_ONNX_RANK];
    struct ctt_onnx_place *p;
    int rc = 0, line;

    CTT_CHECK(m->size[CTT_IN_D] > 1 || by[CTT_IN_D] == 1 ||
              by[CTT_IN_H] != by[CTT_IN_D] || by[CTT_IN_W] != by[CTT_IN_D],
              CTT_EUNSUP, "scales: of an axis of size 1");
    for (int d = 0; d < CTT_IN_DIMS; d++)
        size[d] = m->size[d] * by[d];
    CTT_TRY(ctt_op_solid(o, m->p, &m->p));
    line = m->p->line;
    if (by[CTT_IN_D] * by[CTT_IN_H] * by[CTT_IN_W] > 1) {
        CTT_TRY(ctt_onnx_emit(o, "upsample", 1, &m->p->line, size, &line));
        CTT_TRY(ctt_onnx_keys(o, line, " by=%lld,%lld,%lld",
                              (long long)by[CTT_IN_D],
                              (long long)by[CTT_IN_H],
                              (long long)by[CTT_IN_W]));
    }
    CTT_TRY(ctt_op_image_place(o, m, line, size, 0, dim, &p));
    CTT_TRY(ctt_op_set(o, n, 0, m->rank, dim, p));
out:
    return rc;
}

static int resize(struct ctt_onnx *o, const struct ctt_onnx_node *n, int old,
                  const struct ctt_onnx_tensor *scales,
                  const struct ctt_onnx_tensor *sizes,
                  const struct ctt_onnx_tensor *axes)
{
    const char *mode = ctt_onnx_word(n, "mode", "nearest");
    int64_t by[CTT_IN_DIMS] = { 1, 1, 1, 1, 1 }, f, count;
    struct ctt_onnx_value *v;
    struct ctt_op_image m;
    int rc, axis;

    CTT_CHECK(strcmp(ctt_onnx_word(n, "keep_aspect_ratio_policy", "stretch"),
                     "stretch") == 0, CTT_EUNSUP,
              "keep_aspect_ratio_policy: not stretch");
    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_image(o, v, &m));
    CTT_CHECK(scales || sizes, CTT_EUNSUP, "scales: no constant");
    count = sizes ? sizes->count : scales->count;
    CTT_CHECK(count == (axes ? axes->count : m.rank), CTT_EUNSUP, "scales: not "
              "one number an axis");
    for (int k = 0; k < count; k++) {
        CTT_TRY(ctt_onnx_axis(axes ? ctt_onnx_whole(axes, k) : k, m.rank,
                              &axis));
        CTT_TRY(factor(scales, sizes, k, v->t.dim[axis], &f));
        CTT_CHECK(f == 1 || axis > 1, CTT_EUNSUP, "scales: of axis %d", axis);
        CTT_CHECK(f == 1 || strcmp(mode, "nearest") == 0, CTT_EUNSUP,
                  "mode: %s", mode);
        CTT_TRY(check_blocks(n, old, v->t.dim[axis], f));
        by[m.in[axis]] *= f;
    }
    CTT_TRY(upsample_line(o, n, &m, by));
out:
    return rc;
}

/* Version 10 had scales as input 1; later ones have a region of interest there.
 */
int ctt_op_resize(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *scales, *sizes, *axes = NULL;
    const struct ctt_onnx_attr *a = ctt_onnx_attr(n, "axes");
    struct ctt_onnx_tensor list = { .type = CTT_ONNX_INT64, .rank = 1 };
    uint8_t *data;
    int rc, old = o->opset < 11;

    CTT_TRY(ctt_op_constant(o, n, old ? 1 : 2, &scales));
    CTT_TRY(ctt_op_constant(o, n, 3, &sizes));
    scales = scales && scales->count ? scales : NULL;
    sizes = sizes && sizes->count ? sizes : NULL;
    if (a) {
        CTT_TRY(ctt_onnx_new(o, CTT_ONNX_INT64, 1, &a->ints, &list, &data));
        for (int64_t i = 0; i < a->ints; i++)
            ctt_onnx_put_whole(CTT_ONNX_INT64, data, i, a->is[i]);
        axes = &list;
    }
    CTT_TRY(resize(o, n, old, scales, sizes, axes));
out:
    return rc;
}

int ctt_op_upsample(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    const struct ctt_onnx_attr *a = ctt_onnx_attr(n, "scales");
    const struct ctt_onnx_tensor *scales;
    struct ctt_onnx_tensor list;
    uint8_t *data;
    int rc;

    CTT_TRY(ctt_op_constant(o, n, 1, &scales));
    if (a) {
        CTT_TRY(ctt_onnx_new(o, CTT_ONNX_FLOAT, 1, &a->floats, &list, &data));
        for (int64_t i = 0; i < a->floats; i++)
            ctt_onnx_put(CTT_ONNX_FLOAT, data, i, (double)a->fs[i]);
        scales = &list;
    }
    CTT_TRY(resize(o, n, 1, scales, NULL, NULL));
out:
    return rc;
}

/* ---- blocks of pixels and channels ---- */

/* A conv or deconv with kernel and stride of the block, whose weights are 0 and
 * 1. */
static int block_line(struct ctt_onnx *o, const char *word,
                      const struct ctt_op_image *m, int64_t b, int64_t out,
                      int *line)
{
    int64_t size[CTT_IN_DIMS];
    int rc, up = strcmp(word, "deconv") == 0;

    memcpy(size, m->size, sizeof(size));
    size[CTT_IN_H] = up ? size[CTT_IN_H] * b : size[CTT_IN_H] / b;
    size[CTT_IN_W] = up ? size[CTT_IN_W] * b : size[CTT_IN_W] / b;
    size[CTT_IN_C] = out;
    CTT_TRY(ctt_onnx_emit(o, word, 1, &m->p->line, size, line));
    CTT_TRY(ctt_onnx_keys(o, *line, " out=%lld kernel=1,%lld,%lld "
                          "stride=1,%lld,%lld", (long long)out, (long long)b,
                          (long long)b, (long long)b, (long long)b));
out:
    return rc;
}

/* The weights as a constant of shape (out, b, b, in) with a 1 where a channel
 * of the many is channel c of the few at pixel i of the block: blocks follow
 * each other in the many (DCR), or, last, the pixels of a block (CRD). */
static int block_weight(struct ctt_onnx *o, int64_t few, int64_t b, int last,
                        int up, const int64_t *channel,
                        struct ctt_onnx_weight *w)
{
    int64_t many = few * b * b, dim[4] = { up ? few : many, b, b,
                                           up ? many : few };
    struct ctt_onnx_tensor *t = ctt_arena_take(&o->arena, 1, sizeof(*t));
    int64_t *off[5];
    uint8_t *data;
    int rc = t ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_onnx_new(o, CTT_ONNX_FLOAT, 4, dim, t, &data));
    for (int64_t c = 0; c < few; c++)
        for (int64_t i = 0; i < b * b; i++) {
            int64_t k = last ? c * b * b + i : i * few + c;
            int64_t row = up ? c : k, column = up ? k : c;

            ctt_onnx_put(CTT_ONNX_FLOAT, data, (row * b * b + i) * dim[3] +
                         column, 1);
        }
    *w = (struct ctt_onnx_weight){ .dim = { dim[0], 1, b, b, dim[3] },
                                   .t = t };
    for (int d = 0; d < 5; d++) {
        int64_t step = d == 0 ? b * b * dim[3] : d == 2 ? b * dim[3] :
                       d == 3 ? dim[3] : 1;

        off[d] = ctt_arena_take(&o->arena, w->dim[d], sizeof(**off));
        CTT_TRY(off[d] ? 0 : CTT_ENOMEM);
        for (int64_t i = 0; i < w->dim[d]; i++)
            off[d][i] = (d == 4 && channel ? channel[i] : i) * step;
        w->off[d] = off[d];
    }
out:
    return rc;
}

static int blocks(struct ctt_onnx *o, const struct ctt_onnx_node *n, int up)
{
    const char *mode = ctt_onnx_word(n, "mode", "DCR");
    int64_t b = ctt_onnx_int(n, "blocksize", 0), few, dim[CTT_ONNX_RANK];
    struct ctt_onnx_place *p;
    struct ctt_onnx_value *v;
    struct ctt_op_image m;
    int rc, line;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_image(o, v, &m));
    CTT_TRY(ctt_op_solid(o, m.p, &m.p));
    CTT_CHECK(m.rank == 4 && m.in[2] == CTT_IN_H && m.in[3] == CTT_IN_W,
              CTT_EUNSUP, "a value that is no image");
    CTT_CHECK(b > 0 && b <= 99 && (up ? m.size[CTT_IN_C] % (b * b) == 0 :
              m.size[CTT_IN_H] % b == 0 && m.size[CTT_IN_W] % b == 0),
              CTT_EUNSUP, "blocksize: %lld", (long long)b);
    few = up ? m.size[CTT_IN_C] / (b * b) : m.size[CTT_IN_C];
    CTT_TRY(block_line(o, up ? "deconv" : "conv", &m, b, up ? few :
                       few * b * b, &line));
    CTT_TRY(block_weight(o, few, b, strcmp(mode, "CRD") == 0, up,
                         m.channel, &o->line[line].w[0]));
    o->line[line].nw = 1;
    CTT_TRY(ctt_op_image_place(o, &m, line, o->line[line].size, 1, dim, &p));
    CTT_TRY(ctt_op_set(o, n, 0, m.rank, dim, p));
out:
    return rc;
}

int ctt_op_depth_to_space(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    return blocks(o, n, 1);
}

int ctt_op_space_to_depth(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    return blocks(o, n, 0);
}
