/* SPDX-License-Identifier: Apache-2.0
 * ops_join.c: parts of values, and values made of parts. */
#include "exchange/onnx/ops.h"
#include "exchange/onnx/fold.h"

#include <string.h>

/* ---- Concat ---- */

/* 1 if the axis is all channels, in the order in which they lie. */
static int is_channels(const struct ctt_onnx *o,
                       const struct ctt_onnx_place *p, int axis)
{
    int whole, first = ctt_place_first(p, axis);
    unsigned dims = ctt_place_dims(p, axis, &whole);

    if (!p->cut[axis])
        return o->line[p->line].size[CTT_IN_C] == 1;
    for (int k = 1; k < p->cut[axis]; k++)
        if (p->order[first + k] != p->order[first] + k)
            return 0;
    return whole && dims == 1u << CTT_IN_C;
}

/* Input k, with its channels in their order. */
static int concat_part(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                   int axis, struct ctt_onnx_place **out)
{
    struct ctt_onnx_value *v;
    struct ctt_op_image m;
    int rc;

    CTT_TRY(ctt_op_live(o, n, k, &v));
    CTT_CHECK(axis < v->t.rank, CTT_EUNSUP, "axis: %d of %d", axis,
              v->t.rank);
    CTT_TRY(ctt_op_solid(o, v->place, out));
    if (is_channels(o, *out, axis))
        goto out;
    CTT_CHECK(axis == 1, CTT_EUNSUP, "axis: %d; only channels can be "
              "concatenated", axis);
    CTT_TRY(ctt_op_image(o, v, &m));
    CTT_TRY(ctt_op_straight(o, &m));
    CTT_TRY(ctt_op_solid(o, m.p, out));
    CTT_CHECK(is_channels(o, *out, axis), CTT_EUNSUP, "axis: %d; only channels "
              "can be concatenated", axis);
out:
    return rc;
}

/* At most CTT_MAX_IN at a time. */
static int concat_lines(struct ctt_onnx *o, int count, const int *part,
                        int *line)
{
    int in[CTT_MAX_IN], used = 1, rc = 0;

    *line = part[0];
    while (used < count) {
        int64_t size[CTT_IN_DIMS];
        int n = 1;

        in[0] = *line;
        while (n < CTT_MAX_IN && used < count)
            in[n++] = part[used++];
        memcpy(size, o->line[in[0]].size, sizeof(size));
        for (int k = 1; k < n; k++)
            size[CTT_IN_C] += o->line[in[k]].size[CTT_IN_C];
        CTT_TRY(ctt_onnx_emit(o, "concat", n, in, size, line));
    }
out:
    return rc;
}

int ctt_op_concat(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_onnx_place *p, *first = NULL, *rest;
    struct ctt_onnx_value *v;
    int64_t dim[CTT_ONNX_RANK];
    int rc, axis, line = -1, *part;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    memcpy(dim, v->t.dim, sizeof(dim));
    CTT_TRY(ctt_onnx_axis(ctt_onnx_int(n, "axis", 1), v->t.rank, &axis));
    part = ctt_arena_take(&o->arena, n->nin, sizeof(*part));
    CTT_TRY(part ? 0 : CTT_ENOMEM);
    dim[axis] = 0;
    for (int k = 0; k < n->nin; k++) {
        CTT_TRY(concat_part(o, n, k, axis, &p));
        CTT_TRY(ctt_op_live(o, n, k, &v));
        dim[axis] += v->t.dim[axis];
        CTT_TRY(ctt_place_drop(o, p, 1u << CTT_IN_C, p->line, &rest));
        first = first ? first : rest;
        CTT_CHECK(ctt_place_same(first, rest), CTT_EUNSUP, "values of "
                  "different shapes");
        part[k] = p->line;
    }
    CTT_TRY(concat_lines(o, n->nin, part, &line));
    CTT_TRY(ctt_place_drop(o, first, 0, line, &p));
    CTT_TRY(ctt_place_add(p, axis, CTT_IN_C, dim[axis]));
    CTT_TRY(ctt_op_set(o, n, 0, v->t.rank, dim, p));
out:
    return rc;
}

/* ---- channels ---- */

/* Channels that are taken: for each its number in the result or -1; from and to
 * of the range, and 1 if that is not all there is to it. */
struct taken { int64_t *pick, from, to, count; int gaps; };

static int index_channels(struct ctt_onnx *o, const struct ctt_onnx_place *p,
                          int axis, const struct ctt_fold_range *r,
                          struct taken *t)
{
    int64_t strides[CTT_ONNX_RANK] = { 0 }, stride[CTT_PLACE_ATOMS], *at;
    int64_t c = o->line[p->line].size[CTT_IN_C];
    int rc;

    strides[axis] = 1;
    ctt_place_strides(p, strides, stride);
    CTT_TRY(ctt_place_offsets(o, p, stride, CTT_IN_C, c, &at));
    *t = (struct taken){ .pick = ctt_arena_take(&o->arena, c,
                                                sizeof(*t->pick)) };
    CTT_TRY(t->pick ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < c; i++) {
        int64_t k = (at[i] - r->from) / r->step;

        t->pick[i] = -1;
        if ((at[i] - r->from) % r->step || k < 0 || k >= r->count)
            continue;
        t->from = t->count ? t->from : i;
        t->gaps |= t->count && i != t->to;
        t->to = i + 1;
        t->pick[i] = r->step < 0 ? k : t->count;
        t->count++;
    }
    t->gaps |= r->step < 0 && r->count > 1;
out:
    return rc;
}

/* Of the channels those whose index along the axis is in the range; the axis
 * must be one factor of them. */
static int take_channels(struct ctt_onnx *o, struct ctt_onnx_place *p,
                         int axis, const struct ctt_fold_range *r,
                         struct ctt_onnx_place **out)
{
    int64_t size[CTT_IN_DIMS], c = o->line[p->line].size[CTT_IN_C];
    struct taken t;
    int rc, line;

    CTT_TRY(index_channels(o, p, axis, r, &t));
    CTT_CHECK(r->step > 0 || t.count == r->count, CTT_EUNSUP, "steps: %lld",
              (long long)r->step);
    memcpy(size, o->line[p->line].size, sizeof(size));
    size[CTT_IN_C] = t.count;
    CTT_TRY(ctt_onnx_emit(o, t.gaps ? "conv" : "slice", 1, &p->line, size,
                          &line));
    if (t.gaps) {
        o->line[line].w[0] = (struct ctt_onnx_weight){
            .dim = { t.count, 1, 1, 1, c }, .pick = t.pick };
        o->line[line].nw = 1;
        CTT_TRY(ctt_onnx_keys(o, line, " out=%lld", (long long)t.count));
    } else {
        CTT_TRY(ctt_onnx_keys(o, line, " from=%lld to=%lld",
                              (long long)t.from, (long long)t.to));
    }
    CTT_TRY(ctt_place_drop(o, p, 0, line, out));
    (*out)->atom[(*out)->order[ctt_place_first(*out, axis)]].size = r->count;
out:
    return rc;
}

/* ---- pixels ---- */

/* A depthwise conv of which one weight is 1 picks pixels. */
static int take_pixels(struct ctt_onnx *o, struct ctt_onnx_place *p, int dim,
                       const struct ctt_fold_range *r,
                       struct ctt_onnx_place **out)
{
    enum { KERNEL = 16 };
    int64_t size[CTT_IN_DIMS], kernel, *at;
    struct ctt_op_window w = { .tap = 0 };
    int rc, line, a = 0;

    CTT_CHECK(r->step > 0 && r->step <= 99, CTT_EUNSUP, "steps: %lld",
              (long long)r->step);
    memcpy(size, o->line[p->line].size, sizeof(size));
    kernel = size[dim] - (r->count - 1) * r->step;
    CTT_CHECK(kernel <= KERNEL, CTT_EUNSUP, "%lld of %lld pixels: %d may be "
              "left out", (long long)r->count, (long long)size[dim],
              KERNEL - 1);
    size[dim] = r->count;
    CTT_TRY(ctt_op_depthwise(o, p->line, NULL, size, &line));
    at = ctt_arena_take(&o->arena, kernel, sizeof(*at));
    CTT_TRY(at ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < kernel; i++)
        at[i] = i == r->from ? 0 : -1;
    o->line[line].w[0].dim[dim] = kernel;
    o->line[line].w[0].off[dim] = at;
    for (int d = 0; d < CTT_IN_DIMS; d++)
        w.kernel[d] = w.stride[d] = w.dilation[d] = 1;
    w.kernel[dim] = kernel;
    w.stride[dim] = r->step;
    CTT_TRY(ctt_op_window_keys(o, line, &w));
    CTT_TRY(ctt_place_drop(o, p, 0, line, out));
    while ((*out)->atom[a].dim != dim)
        a++;
    (*out)->atom[a].size = r->count;
out:
    return rc;
}

/* ---- a range of an axis ---- */

/* One atom for an axis of which a part is taken. */
static int one_atom(struct ctt_onnx *o, const struct ctt_onnx_value *v,
                    int axis, struct ctt_onnx_place **p)
{
    struct ctt_onnx_place *q;
    struct ctt_op_image m;
    int rc;

    CTT_TRY(ctt_op_solid(o, v->place, p));
    CTT_TRY(ctt_place_reshape(o, *p, v->t.rank, v->t.dim, &q));
    if (q->cut[axis] == 1) {
        *p = q;
        goto out;
    }
    CTT_CHECK(axis == 1, CTT_EUNSUP, "axis %d: a part of an axis that does not "
              "lie in one piece", axis);
    CTT_TRY(ctt_op_image(o, v, &m));
    CTT_TRY(ctt_op_straight(o, &m));
    CTT_TRY(ctt_op_solid(o, m.p, &q));
    CTT_TRY(ctt_place_reshape(o, q, v->t.rank, v->t.dim, p));
    CTT_CHECK((*p)->cut[axis] == 1, CTT_EUNSUP, "axis %d: a part of an axis "
              "that does not lie in one piece", axis);
out:
    return rc;
}

/* The axis then has that many; an atom of size 1 is none. */
static int take_range(struct ctt_onnx *o, const struct ctt_onnx_value *v,
                      int axis, const struct ctt_fold_range *r,
                      struct ctt_onnx_value *out)
{
    struct ctt_onnx_place *p;
    int rc = 0, dim, whole;

    *out = *v;
    if (r->count == v->t.dim[axis] && r->from == 0 && r->step == 1)
        goto out;
    CTT_CHECK(r->count > 0, CTT_EUNSUP, "axis %d: nothing of it", axis);
    CTT_TRY(one_atom(o, v, axis, &p));
    dim = p->atom[p->order[ctt_place_first(p, axis)]].dim;
    ctt_place_dims(p, axis, &whole);
    CTT_CHECK(dim != CTT_IN_N, CTT_EUNSUP, "axis %d: some of the samples",
              axis);
    if (dim == CTT_IN_C) {
        CTT_TRY(take_channels(o, p, axis, r, &p));
    } else {
        CTT_CHECK(whole, CTT_EUNSUP, "axis %d: a part of rows or columns",
                  axis);
        CTT_TRY(take_pixels(o, p, dim, r, &p));
    }
    out->t.dim[axis] = r->count;
    CTT_TRY(ctt_place_reshape(o, p, out->t.rank, out->t.dim, &out->place));
out:
    return rc;
}

int ctt_op_slice(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_fold_range r[CTT_ONNX_RANK];
    struct ctt_onnx_value *v, now;
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_fold_slice(o, n, &v->t, r));
    now = *v;
    for (int a = 0; a < v->t.rank; a++)
        CTT_TRY(take_range(o, &now, a, &r[a], &now));
    CTT_TRY(ctt_op_set_like(o, n, 0, &now, now.place));
out:
    return rc;
}

int ctt_op_split(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_fold_range r = { .step = 1 };
    struct ctt_onnx_value *v, part;
    int64_t *size;
    int rc, axis;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    size = ctt_arena_take(&o->arena, n->nout, sizeof(*size));
    CTT_TRY(size ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_fold_split(o, n, &v->t, &axis, size));
    o->line[v->place->line].shared = 1;
    for (int k = 0; k < n->nout; k++) {
        r.count = size[k];
        if (n->out[k] >= 0 && o->value[n->out[k]].readers) {
            CTT_TRY(take_range(o, v, axis, &r, &part));
            CTT_TRY(ctt_op_set_like(o, n, k, &part, part.place));
        }
        r.from += size[k];
    }
out:
    return rc;
}

/* Indices that follow each other; a single one without an axis takes the axis
 * away. */
int ctt_op_gather(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_fold_range r = { .step = 1 };
    const struct ctt_onnx_tensor *index;
    struct ctt_onnx_value *v, now;
    int64_t dim[CTT_ONNX_RANK];
    int rc, axis, rank = 0;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_constant(o, n, 1, &index));
    CTT_TRY(ctt_onnx_axis(ctt_onnx_int(n, "axis", 0), v->t.rank, &axis));
    CTT_CHECK(index && index->rank <= 1 && index->count, CTT_EUNSUP,
              "indices: no list");
    r.from = ctt_onnx_whole(index, 0);
    r.from += r.from < 0 ? v->t.dim[axis] : 0;
    r.count = index->count;
    if (r.count > 1)
        r.step = ctt_onnx_whole(index, 1) - ctt_onnx_whole(index, 0);
    for (int64_t i = 1; i < r.count; i++)
        CTT_CHECK(r.step && ctt_onnx_whole(index, i) ==
                  ctt_onnx_whole(index, 0) + i * r.step, CTT_EUNSUP,
                  "indices: not at one distance");
    CTT_CHECK(r.from >= 0 && r.from < v->t.dim[axis] &&
              r.from + (r.count - 1) * r.step >= 0 &&
              r.from + (r.count - 1) * r.step < v->t.dim[axis], CTT_EUNSUP,
              "indices: out of range");
    CTT_TRY(take_range(o, v, axis, &r, &now));
    for (int a = 0; a < v->t.rank; a++)
        if (a != axis || index->rank)
            dim[rank++] = now.t.dim[a];
    CTT_TRY(ctt_place_reshape(o, now.place, rank, dim, &now.place));
    CTT_TRY(ctt_op_set(o, n, 0, rank, dim, now.place));
out:
    return rc;
}
