/* SPDX-License-Identifier: Apache-2.0
 * ops_affine.c: a factor and an offset for each channel, folded into the conv
 * or the picture before them where they can be. */
#include "exchange/onnx/ops.h"
#include "exchange/onnx/fold.h"

#include <math.h>
#include <string.h>

/* ---- a number for each channel ---- */

int ctt_op_channels(struct ctt_onnx *o, const struct ctt_onnx_value *v,
                    const struct ctt_onnx_tensor *t, double **out)
{
    int64_t axis[CTT_ONNX_RANK], stride[CTT_PLACE_ATOMS], *at, c;
    const struct ctt_onnx_place *p = v->place;
    int rc;

    CTT_TRY(ctt_fold_strides(t, v->t.rank, v->t.dim, axis));
    ctt_place_strides(p, axis, stride);
    for (int i = 0; i < p->atoms; i++)
        CTT_CHECK(p->atom[i].dim == CTT_IN_C || !stride[i], CTT_EUNSUP,
                  "a constant that differs from %s", p->atom[i].dim ?
                  "pixel to pixel" : "sample to sample");
    c = o->line[p->line].size[CTT_IN_C];
    CTT_TRY(ctt_place_offsets(o, p, stride, CTT_IN_C, c, &at));
    CTT_TRY(ctt_onnx_vector(o, c, NULL, 0, out));
    for (int64_t i = 0; i < c; i++)
        (*out)[i] = ctt_onnx_number(t, at[i]);
out:
    return rc;
}

/* ---- factors ---- */

/* Where no other node reads it, a line with weights takes them along. */
static int folds_into(const struct ctt_onnx *o, const struct ctt_onnx_place *p)
{
    const struct ctt_onnx_line *l = &o->line[p->line];

    return !l->shared && !ctt_place_padded(p) && l->nw &&
           (strcmp(l->word, "conv") == 0 || strcmp(l->word, "deconv") == 0 ||
            strcmp(l->word, "norm") == 0);
}

static int scale_vector(struct ctt_onnx *o, int64_t n, const double *by,
                        double **v)
{
    int rc = 0;

    if (!*v)
        CTT_TRY(ctt_onnx_vector(o, n, NULL, 1, v));
    for (int64_t i = 0; i < n && by; i++)
        (*v)[i] *= by[i];
out:
    return rc;
}

static int fold_line(struct ctt_onnx *o, struct ctt_onnx_line *l,
                     const double *scale, const double *shift)
{
    int norm = strcmp(l->word, "norm") == 0, rc = 0;
    int64_t n = l->size[CTT_IN_C];

    l->folds++;
    if (scale)
        CTT_TRY(scale_vector(o, n, scale, norm ? &l->w[0].vec :
                             &l->w[0].scale));
    if (l->nw == 1 && shift) {
        l->w[1] = (struct ctt_onnx_weight){ .dim = { n } };
        CTT_TRY(ctt_onnx_vector(o, n, NULL, 0, &l->w[1].vec));
        l->nw = 2;
    }
    for (int64_t i = 0; i < n && l->nw > 1; i++)
        l->w[1].vec[i] = l->w[1].vec[i] * (scale ? scale[i] : 1) +
                         (shift ? shift[i] : 0);
out:
    return rc;
}

/* The line of the pictures that a place shows, which may be a window of them;
 * NULL: it is something else. */
static struct ctt_onnx_line *picture_of(const struct ctt_onnx *o,
                                        const struct ctt_onnx_place *p)
{
    struct ctt_onnx_line *l = &o->line[p->line];
    int64_t c = l->size[CTT_IN_C];

    if (l->shared || ctt_place_padded(p) || (c != 1 && c != 3))
        return NULL;
    l = strcmp(l->word, "window") == 0 ? &o->line[l->in[0]] : l;
    return strcmp(l->word, "input") == 0 && l->size[CTT_IN_D] == 1 ? l : NULL;
}

/* Mean and deviation of pictures are keys of their line. */
static int is_light(const struct ctt_onnx_line *l, const double *scale,
                    const double *shift)
{
    int64_t c = l ? l->size[CTT_IN_C] : 0;

    for (int64_t i = 0; i < c; i++) {
        double s = (scale ? scale[i] : 1) * (l->scale ? l->scale[i] : 1);
        double t = (l->shift ? l->shift[i] : 0) * (scale ? scale[i] : 1) +
                   (shift ? shift[i] : 0);

        if (!(s > 1e-3 && s < 1e3 && fabs(t / s) < 1000))
            return 0;
    }
    return l != NULL;
}

static int fold_picture(struct ctt_onnx *o, struct ctt_onnx_line *l,
                        const double *scale, const double *shift)
{
    int64_t c = l->size[CTT_IN_C];
    int rc = 0;

    CTT_TRY(scale_vector(o, c, scale, &l->scale));
    if (!l->shift)
        CTT_TRY(ctt_onnx_vector(o, c, NULL, 0, &l->shift));
    for (int64_t i = 0; i < c; i++)
        l->shift[i] = l->shift[i] * (scale ? scale[i] : 1) +
                      (shift ? shift[i] : 0);
out:
    return rc;
}

static int is_one(const double *scale, int64_t n)
{
    for (int64_t i = 0; i < n && scale; i++)
        if (scale[i] != 1)
            return 0;
    return 1;
}

int ctt_op_affine(struct ctt_onnx *o, struct ctt_onnx_place *p,
                  const double *scale, const double *shift,
                  struct ctt_onnx_place **out)
{
    struct ctt_onnx_weight bias = { .t = NULL };
    int64_t c = o->line[p->line].size[CTT_IN_C];
    int rc, line, alone = is_one(scale, c);

    *out = p;
    if (alone && !shift)
        return 0;
    if (folds_into(o, p))
        return fold_line(o, &o->line[p->line], scale, shift);
    if (is_light(picture_of(o, p), scale, shift))
        return fold_picture(o, picture_of(o, p), scale, shift);
    CTT_TRY(ctt_op_solid(o, p, &p));
    bias.dim[0] = c;
    CTT_TRY(ctt_onnx_vector(o, c, shift, 0, &bias.vec));
    if (alone) {
        CTT_TRY(ctt_onnx_emit(o, "add", 1, &p->line, o->line[p->line].size,
                              &line));
        CTT_TRY(ctt_onnx_keys(o, line, " bias=1"));
        o->line[line].w[0] = bias;
        o->line[line].nw = 1;
    } else {
        CTT_TRY(ctt_op_depthwise(o, p->line, scale, o->line[p->line].size,
                                 &line));
        o->line[line].w[1] = bias;
        o->line[line].nw += shift != NULL;
    }
    CTT_TRY(ctt_op_on(o, p, line, out));
out:
    return rc;
}
