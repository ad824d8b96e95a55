/* SPDX-License-Identifier: Apache-2.0
 * ops_help.c: helpers of operators: their inputs and results, lines, images. */
#include "exchange/onnx/ops.h"

#include <string.h>

/* ---- inputs and results ---- */

int ctt_op_live(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                struct ctt_onnx_value **out)
{
    struct ctt_onnx_value *v = ctt_onnx_in(o, n, k);
    int rc = 0;

    CTT_CHECK(v, CTT_EUNSUP, "input %d is missing", k);
    CTT_CHECK(v->known == CTT_ONNX_LIVE, CTT_EUNSUP, "'%s' is a constant; a "
              "value is expected", v->name);
    *out = v;
out:
    return rc;
}

int ctt_op_constant(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                    int k, const struct ctt_onnx_tensor **out)
{
    const struct ctt_onnx_value *v = ctt_onnx_in(o, n, k);
    int rc = 0;

    CTT_CHECK(!v || v->known == CTT_ONNX_CONSTANT, CTT_EUNSUP, "'%s' is no "
              "constant", v->name);
    CTT_CHECK(!v || ctt_onnx_size(v->t.type), CTT_EUNSUP, "'%s' has elements "
              "of type %d", v->name, v->t.type);
    *out = v ? &v->t : NULL;
out:
    return rc;
}

int ctt_op_set(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
               int rank, const int64_t *dim, struct ctt_onnx_place *p)
{
    struct ctt_onnx_value *v;
    int rc = 0;

    if (k >= n->nout || n->out[k] < 0)
        return 0;
    v = &o->value[n->out[k]];
    v->known = CTT_ONNX_LIVE;
    v->place = p;
    v->folds = o->line[p->line].folds;
    v->t = (struct ctt_onnx_tensor){ .type = CTT_ONNX_FLOAT, .rank = rank };
    for (int a = 0; a < rank; a++)
        v->t.dim[a] = dim[a];
    CTT_TRY(ctt_onnx_count("a value", rank, dim, &v->t.count));
    if (v->readers > 1)
        o->line[p->line].shared = 1;
out:
    return rc;
}

int ctt_op_set_like(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                    const struct ctt_onnx_value *v, struct ctt_onnx_place *p)
{
    return ctt_op_set(o, n, k, v->t.rank, v->t.dim, p);
}

int ctt_op_scalar(struct ctt_onnx *o, const struct ctt_onnx_node *n, int k,
                  const char *name, double none, double *out)
{
    const struct ctt_onnx_attr *a = ctt_onnx_attr(n, name);
    const struct ctt_onnx_tensor *t;
    int rc;

    CTT_TRY(ctt_op_constant(o, n, k, &t));
    CTT_CHECK(!t || t->count == 1, CTT_EUNSUP, "%s: not one number", name);
    *out = t ? ctt_onnx_number(t, 0) : a ? (double)a->f : none;
out:
    return rc;
}

/* ---- lines ---- */

int ctt_op_on(struct ctt_onnx *o, const struct ctt_onnx_place *p, int line,
              struct ctt_onnx_place **out)
{
    struct ctt_onnx_place *q = ctt_arena_take(&o->arena, 1, sizeof(*q));

    if (!q)
        return CTT_ENOMEM;
    *q = *p;
    q->line = line;
    memset(q->low, 0, sizeof(q->low));
    memset(q->high, 0, sizeof(q->high));
    *out = q;
    return 0;
}

int ctt_op_line(struct ctt_onnx *o, const char *word,
                const struct ctt_onnx_place *p, struct ctt_onnx_place **out)
{
    int rc, line;

    CTT_TRY(ctt_onnx_emit(o, word, 1, &p->line, o->line[p->line].size, &line));
    CTT_TRY(ctt_op_on(o, p, line, out));
out:
    return rc;
}

int ctt_op_depthwise(struct ctt_onnx *o, int in, const double *scale,
                     const int64_t size[CTT_IN_DIMS], int *line)
{
    static const float one = 1;
    static const struct ctt_onnx_tensor ones = { .type = CTT_ONNX_FLOAT,
        .count = 1, .data = (const uint8_t *)&one };
    int64_t c = size[CTT_IN_C];
    struct ctt_onnx_weight *w;
    int rc;

    CTT_TRY(ctt_onnx_emit(o, "conv", 1, &in, size, line));
    w = o->line[*line].w;
    w[0] = (struct ctt_onnx_weight){ .dim = { c, 1, 1, 1, 1 }, .t = &ones };
    if (scale)
        CTT_TRY(ctt_onnx_vector(o, c, scale, 1, &w[0].scale));
    o->line[*line].nw = 1;
    CTT_TRY(ctt_onnx_keys(o, *line, " out=%lld groups=%lld", (long long)c,
                          (long long)c));
out:
    return rc;
}

/* The language wants as many zeros before as behind where the kernel is 1: one
 * of more numbers, of which one is 1, shifts the image. */
static int shift_kernel(struct ctt_onnx *o, int low, int high,
                        struct ctt_onnx_weight *w, int d, int64_t *pad)
{
    int more = high > low ? high - low : low - high, rc = 0;
    int64_t *at;

    *pad = high > low ? high : low;
    CTT_CHECK(*pad <= 99, CTT_EUNSUP, "pads: %lld zeros; 99 are possible",
              (long long)*pad);
    w->dim[d] = more + 1;
    at = ctt_arena_take(&o->arena, w->dim[d], sizeof(*at));
    CTT_TRY(at ? 0 : CTT_ENOMEM);
    for (int i = 0; i <= more; i++)
        at[i] = i == (high > low ? more : 0) ? 0 : -1;
    w->off[d] = at;
out:
    return rc;
}

int ctt_op_solid(struct ctt_onnx *o, struct ctt_onnx_place *p,
                 struct ctt_onnx_place **out)
{
    struct ctt_op_window w = { .tap = 0 };
    int64_t size[CTT_IN_DIMS];
    struct ctt_onnx_weight *k;
    int rc = 0, line;

    *out = p;
    if (!ctt_place_padded(p))
        goto out;
    for (int d = CTT_IN_D; d < CTT_IN_DIMS; d++)
        size[d] = o->line[p->line].size[d] + p->low[d] + p->high[d];
    CTT_TRY(ctt_op_depthwise(o, p->line, NULL, size, &line));
    k = o->line[line].w;
    for (int d = CTT_IN_D; d <= CTT_IN_W; d++) {
        CTT_TRY(shift_kernel(o, p->low[d], p->high[d], k, d, &w.low[d]));
        w.high[d] = w.low[d];
        w.kernel[d] = k->dim[d];
        w.stride[d] = w.dilation[d] = 1;
    }
    CTT_TRY(ctt_op_window_keys(o, line, &w));
    CTT_TRY(ctt_op_on(o, p, line, out));
out:
    return rc;
}

/* ---- images ---- */

/* The dimension of each axis: axes of one dimension each, or of size 1, which
 * take dimensions that are free. */
static int assign(const struct ctt_onnx_value *v, int *in)
{
    unsigned taken = 1u << CTT_IN_N | 1u << CTT_IN_C, dims;
    int rank = v->t.rank, whole;

    for (int a = 0; a < rank; a++) {
        dims = ctt_place_dims(v->place, a, &whole);
        in[a] = -1;
        if (!dims && a > 1)
            continue;
        if (a == 0 && (dims & ~(1u << CTT_IN_N)))
            return 0;
        if (a == 1 && (dims & ~(1u << CTT_IN_C)))
            return 0;
        in[a] = a == 0 ? CTT_IN_N : a == 1 ? CTT_IN_C : -1;
        for (int d = CTT_IN_D; a > 1 && d <= CTT_IN_W; d++)
            if (dims == 1u << d)
                in[a] = d;
        if (in[a] < 0 || !whole || (a > 1 && taken >> in[a] & 1))
            return 0;
        taken |= 1u << in[a];
    }
    for (int a = rank - 1; a > 1; a--)    /* free dimensions, w first */
        for (int d = CTT_IN_W; in[a] < 0 && d >= CTT_IN_D; d--)
            if (!(taken >> d & 1)) {
                in[a] = d;
                taken |= 1u << d;
            }
    for (int i = 0; i < v->place->atoms; i++)
        if (!(taken >> v->place->atom[i].dim & 1))
            return 0;
    return 1;
}

/* 1 if atoms lie in memory as samples, the axes from 2 on, channels. */
static int lies_so(const struct ctt_onnx_place *p)
{
    int at = 0, first = ctt_place_first(p, 1), channels = p->cut[1];

    for (int k = 0; k < p->atoms; k++) {
        int i = k < first ? k : k < p->atoms - channels ? k + channels :
                k - (p->atoms - channels) + first;

        if (p->order[i] != at++)
            return 0;
    }
    for (int i = 0; i < p->atoms; i++)
        if ((p->atom[i].dim == CTT_IN_N) != (i < first))
            return 0;
    return 1;
}

/* A line of a slice has gaps between its pixels, so it is copied first. */
static int reshape_line(struct ctt_onnx *o, const struct ctt_onnx_value *v,
                        struct ctt_onnx_place **out)
{
    int64_t size[CTT_IN_DIMS] = { 1, 1, 1, 1, 1 };
    int in[CTT_ONNX_RANK], rank = v->t.rank, line, rc;
    struct ctt_onnx_place *p = v->place;

    CTT_CHECK(rank >= 2 && rank <= 5 && lies_so(p), CTT_EUNSUP, "the numbers "
              "of '%s' would have to change places while it runs: a transpose",
              v->name);
    if (strcmp(o->line[p->line].word, "slice") == 0)
        CTT_TRY(ctt_op_line(o, "add", p, &p));
    for (int a = 0; a < rank; a++) {
        in[a] = a == 0 ? CTT_IN_N : a == 1 ? CTT_IN_C :
                CTT_IN_W - (rank - 1 - a);
        if (a > 0)
            size[in[a]] = v->t.dim[a];
    }
    CTT_TRY(ctt_onnx_emit(o, "reshape", 1, &p->line, size, &line));
    CTT_TRY(ctt_onnx_keys(o, line, " d=%lld h=%lld w=%lld c=%lld",
                          (long long)size[1], (long long)size[2],
                          (long long)size[3], (long long)size[4]));
    CTT_TRY(ctt_place_new(o, line, rank, v->t.dim, in, out));
out:
    return rc;
}

static int find_channels(struct ctt_onnx *o, struct ctt_op_image *m)
{
    int64_t axis[CTT_ONNX_RANK] = { 0 }, stride[CTT_PLACE_ATOMS], *at;
    int rc = 0;

    m->channel = NULL;
    if (m->p->cut[1] < 2)
        goto out;
    axis[1] = 1;
    ctt_place_strides(m->p, axis, stride);
    CTT_TRY(ctt_place_offsets(o, m->p, stride, CTT_IN_C, m->size[CTT_IN_C],
                              &at));
    for (int64_t i = 0; i < m->size[CTT_IN_C]; i++)
        if (at[i] != i)
            m->channel = at;
out:
    return rc;
}

int ctt_op_image(struct ctt_onnx *o, const struct ctt_onnx_value *v,
                 struct ctt_op_image *out)
{
    struct ctt_onnx_value moved = *v;
    struct ctt_op_image m = { .rank = v->t.rank };
    int rc = 0;

    CTT_CHECK(v->t.rank >= 2 && v->t.rank <= 5, CTT_EUNSUP, "'%s' has %d axes; "
              "2 to 5 are possible", v->name, v->t.rank);
    if (!assign(v, m.in)) {
        CTT_TRY(ctt_op_solid(o, v->place, &moved.place));
        CTT_TRY(reshape_line(o, &moved, &moved.place));
        CTT_CHECK(assign(&moved, m.in), CTT_EUNSUP, "'%s' is no image",
                  v->name);
    }
    m.p = moved.place;
    for (int d = CTT_IN_N; d < CTT_IN_DIMS; d++)
        m.size[d] = o->line[m.p->line].size[d] + m.p->low[d] + m.p->high[d];
    CTT_TRY(find_channels(o, &m));
    *out = m;
out:
    return rc;
}

int ctt_op_straight(struct ctt_onnx *o, struct ctt_op_image *m)
{
    int64_t dim[CTT_ONNX_RANK], c = m->size[CTT_IN_C];
    struct ctt_onnx_line *l;
    int rc = 0, line;

    if (!m->channel)
        goto out;
    CTT_TRY(ctt_op_solid(o, m->p, &m->p));
    CTT_TRY(ctt_onnx_emit(o, "conv", 1, &m->p->line, m->size, &line));
    l = &o->line[line];
    l->w[0] = (struct ctt_onnx_weight){ .dim = { c, 1, 1, 1, c },
                                        .pick = m->channel };
    l->nw = 1;
    CTT_TRY(ctt_onnx_keys(o, line, " out=%lld", (long long)c));
    CTT_TRY(ctt_op_image_place(o, m, line, m->size, 1, dim, &m->p));
    m->channel = NULL;
out:
    return rc;
}

/* The factors of the channels of `from` in place of those of p.  Channels lie
 * last in memory, and behind the samples in the order of axes. */
static int copy_channels(struct ctt_onnx_place *p,
                         const struct ctt_onnx_place *from)
{
    int first = p->cut[0], own = p->cut[1], more = from->cut[1], rc = 0;
    int base = p->atoms - own, past = from->atoms - more;

    CTT_CHECK(base + more <= CTT_PLACE_ATOMS, CTT_EUNSUP, "its axes are "
              "divided into more than %d factors", CTT_PLACE_ATOMS);
    memmove(&p->order[first + more], &p->order[first + own],
            (size_t)(p->atoms - first - own) * sizeof(p->order[0]));
    for (int k = 0; k < more; k++) {
        p->atom[base + k] = from->atom[past + k];
        p->order[first + k] = from->order[from->cut[0] + k] - past + base;
    }
    p->cut[1] = more;
    p->atoms = base + more;
out:
    return rc;
}

int ctt_op_image_place(struct ctt_onnx *o, const struct ctt_op_image *m,
                       int line, const int64_t size[CTT_IN_DIMS], int channels,
                       int64_t *dim, struct ctt_onnx_place **out)
{
    int rc = 0;

    dim[0] = 1;
    for (int i = 0; i < m->p->cut[0]; i++)
        dim[0] *= m->p->atom[i].size;
    for (int a = 1; a < m->rank; a++)
        dim[a] = size[m->in[a]];
    CTT_TRY(ctt_place_new(o, line, m->rank, dim, m->in, out));
    if (!channels && m->channel)
        CTT_TRY(copy_channels(*out, m->p));
out:
    return rc;
}
