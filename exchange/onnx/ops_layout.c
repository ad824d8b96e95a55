/* SPDX-License-Identifier: Apache-2.0
 * ops_layout.c: operators that change axes and no number, and padding. */
#include "exchange/onnx/ops.h"
#include "exchange/onnx/fold.h"

#include <string.h>

int ctt_op_same(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_onnx_value *v;
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, v->place));
out:
    return rc;
}

int ctt_op_cast(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int type = (int)ctt_onnx_int(n, "to", 0);

    if (ctt_onnx_is_whole(type))
        return ctt_error(CTT_EUNSUP, "to: type %d, whole numbers", type);
    return ctt_op_same(o, n);
}

int ctt_op_cast_like(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *t = ctt_onnx_constant(o, n, 1);

    if (t && ctt_onnx_is_whole(t->type))
        return ctt_error(CTT_EUNSUP, "a type of whole numbers");
    return ctt_op_same(o, n);
}

int ctt_op_dropout(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *t;
    int rc;

    CTT_TRY(ctt_op_constant(o, n, 2, &t));
    CTT_CHECK(!t || !ctt_onnx_whole(t, 0), CTT_EUNSUP, "training_mode: 1");
    CTT_CHECK(n->nout < 2 || n->out[1] < 0 || !o->value[n->out[1]].readers,
              CTT_EUNSUP, "mask: as a result");
    CTT_TRY(ctt_op_same(o, n));
out:
    return rc;
}

/* ---- axes ---- */

/* Where numbers lie in the order of the axes, another shape is a line. */
static int reshape_line(struct ctt_onnx *o, const struct ctt_onnx_value *v,
                        int rank, const int64_t *dim,
                        struct ctt_onnx_place **out)
{
    int64_t size[CTT_IN_DIMS] = { 1, 1, 1, 1, 1 };
    int in[CTT_ONNX_RANK], rc, line, samples = v->place->cut[0] > 0 &&
        v->place->atom[v->place->order[0]].dim == CTT_IN_N;
    struct ctt_onnx_place *p;

    CTT_TRY(ctt_op_solid(o, v->place, &p));
    for (int i = 0; i < p->atoms; i++)
        CTT_CHECK(p->order[i] == i && (p->atom[i].dim == CTT_IN_N) ==
                  (i < p->cut[0] && samples), CTT_EUNSUP, "shape: numbers "
                  "would have to change places while it runs");
    CTT_CHECK(rank >= 2 && rank <= 5 && dim[0] == (samples ? v->t.dim[0] : 1),
              CTT_EUNSUP, "shape: of %d axes, or with other samples", rank);
    for (int a = 0; a < rank; a++) {
        in[a] = a == 0 ? CTT_IN_N : CTT_IN_C - (rank - 1 - a);
        size[in[a]] = a == 0 ? 1 : dim[a];
    }
    if (strcmp(o->line[p->line].word, "slice") == 0)
        CTT_TRY(ctt_op_line(o, "add", p, &p));
    CTT_TRY(ctt_onnx_emit(o, "reshape", 1, &p->line, size, &line));
    CTT_TRY(ctt_onnx_keys(o, line, " d=%lld h=%lld w=%lld c=%lld",
                          (long long)size[1], (long long)size[2],
                          (long long)size[3], (long long)size[4]));
    CTT_TRY(ctt_place_new(o, line, rank, dim, in, out));
out:
    return rc;
}

int ctt_op_reshape(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int64_t dim[CTT_ONNX_RANK];
    struct ctt_onnx_place *p;
    struct ctt_onnx_value *v;
    int rank = 0, rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_fold_new_shape(o, n, &v->t, &rank, dim));
    CTT_TRY(ctt_op_solid(o, v->place, &p));
    rc = ctt_place_reshape(o, p, rank, dim, &p);
    if (rc == CTT_EUNSUP)
        rc = reshape_line(o, v, rank, dim, &p);
    CTT_TRY(rc);
    CTT_TRY(ctt_op_set(o, n, 0, rank, dim, p));
out:
    return rc;
}

int ctt_op_transpose(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int64_t dim[CTT_ONNX_RANK], count;
    const int64_t *perm = ctt_onnx_ints(n, "perm", &count);
    int to[CTT_ONNX_RANK], rank, rc;
    struct ctt_onnx_place *p;
    struct ctt_onnx_value *v;
    unsigned seen = 0;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    rank = v->t.rank;
    CTT_CHECK(!perm || count == rank, CTT_EUNSUP, "perm: not one number an "
              "axis");
    for (int a = 0; a < rank; a++) {
        CTT_TRY(ctt_onnx_axis(perm ? perm[a] : rank - 1 - a, rank, &to[a]));
        CTT_CHECK(!(seen >> to[a] & 1), CTT_EUNSUP, "perm: an axis twice");
        seen |= 1u << to[a];
        dim[a] = v->t.dim[to[a]];
    }
    CTT_TRY(ctt_op_solid(o, v->place, &p));
    CTT_TRY(ctt_place_permute(o, p, to, &p));
    CTT_TRY(ctt_op_set(o, n, 0, rank, dim, p));
out:
    return rc;
}

int ctt_op_expand(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    const struct ctt_onnx_tensor *s;
    struct ctt_onnx_value *v;
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(ctt_op_constant(o, n, 1, &s));
    CTT_CHECK(s && s->rank == 1 && s->count <= v->t.rank, CTT_EUNSUP, "shape: "
              "more axes than the value");
    for (int64_t i = 0; i < s->count; i++) {
        int64_t size = ctt_onnx_whole(s, i);

        CTT_CHECK(size == 1 || size == v->t.dim[v->t.rank - s->count + i],
                  CTT_EUNSUP, "shape: copies of a value");
    }
    CTT_TRY(ctt_op_same(o, n));
out:
    return rc;
}

/* ---- Pad ---- */

/* Numbers before and behind each axis. */
static int read_pads(struct ctt_onnx *o, const struct ctt_onnx_node *n,
                     int rank, int64_t *pads, double *fill)
{
    const struct ctt_onnx_tensor *t, *axes;
    const struct ctt_onnx_attr *a = ctt_onnx_attr(n, "pads");
    const char *mode = ctt_onnx_word(n, "mode", "constant");
    int64_t count;
    int rc, axis;

    CTT_CHECK(strcmp(mode, "constant") == 0, CTT_EUNSUP, "mode: %s", mode);
    CTT_TRY(ctt_op_scalar(o, n, 2, "value", 0, fill));
    CTT_CHECK(*fill >= -100 && *fill <= 100, CTT_EUNSUP, "constant_value: %g; "
              "-100 to 100 is possible", *fill);
    CTT_TRY(ctt_op_constant(o, n, 1, &t));
    CTT_TRY(ctt_op_constant(o, n, 3, &axes));
    count = t ? t->count : a ? a->ints : 0;
    CTT_CHECK(count == 2 * (axes ? axes->count : rank), CTT_EUNSUP, "pads: not "
              "two numbers an axis");
    memset(pads, 0, 2 * (size_t)rank * sizeof(*pads));
    for (int64_t i = 0; i < count; i++) {
        int64_t k = i % (count / 2), pad = t ? ctt_onnx_whole(t, i) : a->is[i];

        CTT_TRY(ctt_onnx_axis(axes ? ctt_onnx_whole(axes, k) : k, rank,
                              &axis));
        CTT_CHECK(pad >= 0 && pad < CTT_MAX_SIZE, CTT_EUNSUP, "pads: %lld",
                  (long long)pad);
        pads[i < count / 2 ? axis : rank + axis] = pad;
    }
out:
    return rc;
}

/* Channels of zeros: a conv that copies the others. */
static int pad_channels(struct ctt_onnx *o, struct ctt_op_image *m,
                        int64_t low, int64_t high)
{
    int64_t size[CTT_IN_DIMS], c = m->size[CTT_IN_C], dim[CTT_ONNX_RANK];
    int64_t *pick = ctt_arena_take(&o->arena, c, sizeof(*pick));
    int rc = pick ? 0 : CTT_ENOMEM, line;

    CTT_TRY(rc);
    CTT_TRY(ctt_op_solid(o, m->p, &m->p));
    for (int64_t i = 0; i < c; i++)
        pick[i] = low + (m->channel ? m->channel[i] : i);
    memcpy(size, m->size, sizeof(size));
    size[CTT_IN_C] = low + c + high;
    CTT_TRY(ctt_onnx_emit(o, "conv", 1, &m->p->line, size, &line));
    o->line[line].w[0] = (struct ctt_onnx_weight){
        .dim = { low + c + high, 1, 1, 1, c }, .pick = pick };
    o->line[line].nw = 1;
    CTT_TRY(ctt_onnx_keys(o, line, " out=%lld", (long long)(low + c + high)));
    CTT_TRY(ctt_op_image_place(o, m, line, size, 1, dim, &m->p));
    memcpy(m->size, size, sizeof(size));
    m->channel = NULL;
out:
    return rc;
}

/* The same number added to all. */
static int shift(struct ctt_onnx *o, struct ctt_onnx_place *p, double by,
                 struct ctt_onnx_place **out)
{
    double *all;
    int rc;

    CTT_TRY(ctt_op_solid(o, p, &p));
    CTT_TRY(ctt_onnx_vector(o, o->line[p->line].size[CTT_IN_C], NULL, by,
                            &all));
    CTT_TRY(ctt_op_affine(o, p, NULL, all, out));
out:
    return rc;
}

/* Zeros around the image are left to the node that reads it.  Another number is
 * subtracted before and added behind. */
int ctt_op_pad(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    int64_t pads[2 * CTT_ONNX_RANK], dim[CTT_ONNX_RANK];
    struct ctt_onnx_place *p;
    struct ctt_onnx_value *v;
    struct ctt_op_image m;
    double fill;
    int rc, rank;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    rank = v->t.rank;
    CTT_TRY(read_pads(o, n, rank, pads, &fill));
    CTT_TRY(ctt_op_image(o, v, &m));
    if (fill != 0)
        CTT_TRY(shift(o, m.p, -fill, &m.p));
    CTT_CHECK(!pads[0] && !pads[rank], CTT_EUNSUP, "pads: more samples");
    if (pads[1] || pads[rank + 1])
        CTT_TRY(pad_channels(o, &m, pads[1], pads[rank + 1]));
    for (int a = 2; a < rank; a++)
        m.size[m.in[a]] += pads[a] + pads[rank + a];
    CTT_TRY(ctt_op_image_place(o, &m, m.p->line, m.size, 0, dim, &p));
    memcpy(p->low, m.p->low, sizeof(p->low));
    memcpy(p->high, m.p->high, sizeof(p->high));
    for (int a = 2; a < rank; a++) {
        p->low[m.in[a]] += (int)pads[a];
        p->high[m.in[a]] += (int)pads[rank + a];
    }
    if (fill != 0)
        CTT_TRY(shift(o, p, fill, &p));
    CTT_TRY(ctt_op_set(o, n, 0, rank, dim, p));
out:
    return rc;
}
