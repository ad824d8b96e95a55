/* SPDX-License-Identifier: Apache-2.0
 * onnx_naive.c: the operators of ONNX by plain loops over indices, as its
 * documentation defines them. */
#include "tests/lib/onnx_made.h"
#include "tests/lib/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct made_tensor *arg(struct made *m, const struct made_line *l, int k)
{
    return k < l->nin && *l->in[k] ? made_find(m, l->in[k]) : NULL;
}

static double real(const struct made_line *l, const char *name, double none)
{
    char text[MADE_WORD];

    return *made_attr(l, name, text) ? strtod(text, NULL) : none;
}

static int64_t whole(const struct made_line *l, const char *name, int64_t none)
{
    int64_t x;

    made_ints(l, name, 1, none, &x);
    return x;
}

/* The index of flat number i of a shape. */
static void index_of(const struct made_tensor *t, int64_t i, int64_t *at)
{
    for (int a = t->rank - 1; a >= 0; a--) {
        at[a] = i % t->dim[a];
        i /= t->dim[a];
    }
}

/* Flat number of an index, whose last axes are t's; axes of size 1 are
 * broadcast. */
static int64_t flat(const struct made_tensor *t, int rank, const int64_t *at)
{
    int64_t i = 0;

    for (int a = 0; a < t->rank; a++) {
        int64_t k = at[rank - t->rank + a];

        i = i * t->dim[a] + (t->dim[a] == 1 ? 0 : k);
    }
    return i;
}

/* ---- windows ---- */

struct window { int64_t size[3], k[3], s[3], d[3], low[3], high[3], out[3]; };

/* Axes of an image are brought to three by ones in front. */
static void read_window(const struct made_line *l, const struct made_tensor *x,
                        const int64_t *shape, struct window *w)
{
    int n = x->rank - 2, ceil = (int)whole(l, "ceil_mode", 0);
    int64_t stride[3], dilation[3], pads[6];
    char same[MADE_WORD];

    made_ints(l, "strides", n, 1, stride);
    made_ints(l, "dilations", n, 1, dilation);
    made_ints(l, "pads", 2 * n, 0, pads);
    made_attr(l, "auto_pad", same);
    for (int j = 0; j < 3; j++) {
        int a = j - (3 - n), is = a >= 0;
        int64_t reach, room;

        w->size[j] = is ? x->dim[2 + a] : 1;
        w->k[j] = is ? shape[a] : 1;
        w->s[j] = is ? stride[a] : 1;
        w->d[j] = is ? dilation[a] : 1;
        w->low[j] = is ? pads[a] : 0;
        w->high[j] = is ? pads[n + a] : 0;
        reach = (w->k[j] - 1) * w->d[j] + 1;
        if (strncmp(same, "SAME", 4) == 0) {
            int64_t out = (w->size[j] + w->s[j] - 1) / w->s[j];
            int64_t all = (out - 1) * w->s[j] + reach - w->size[j];

            all = all > 0 ? all : 0;
            w->low[j] = strcmp(same, "SAME_UPPER") ? all - all / 2 : all / 2;
            w->high[j] = all - w->low[j];
        }
        room = w->size[j] + w->low[j] + w->high[j] - reach;
        w->out[j] = (ceil ? (room + w->s[j] - 1) / w->s[j] : room / w->s[j]) +
                    1;
        if ((w->out[j] - 1) * w->s[j] >= w->size[j] + w->low[j])
            w->out[j]--;
    }
}

static int64_t volume(const int64_t *v) { return v[0] * v[1] * v[2]; }

/* The pixel under tap k of window p; -1: outside, -2: beyond the padding. */
static int64_t pixel(const struct window *w, int64_t p, int64_t k)
{
    int64_t at[3];

    for (int j = 2; j >= 0; j--) {
        at[j] = p % w->out[j] * w->s[j] - w->low[j] + k % w->k[j] * w->d[j];
        p /= w->out[j];
        k /= w->k[j];
        if (at[j] >= w->size[j] + w->high[j])
            return -2;
    }
    for (int j = 0; j < 3; j++)
        if (at[j] < 0 || at[j] >= w->size[j])
            return -1;
    return (at[0] * w->size[1] + at[1]) * w->size[2] + at[2];
}

static struct made_tensor *image(struct made *m, const struct made_line *l,
                                 const struct made_tensor *x, int64_t channels,
                                 const int64_t *out)
{
    int64_t dim[MADE_RANK] = { x->dim[0], channels };

    for (int a = 2; a < x->rank; a++)
        dim[a] = out[a - 2 + 5 - x->rank];
    return made_tensor(m, l->out[0], x->rank, dim);
}

static void conv(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *w = arg(m, l, 1), *b = arg(m, l, 2);
    struct made_tensor *y;
    int64_t groups = whole(l, "group", 1), each = w->dim[0] / groups;
    struct window win;

    read_window(l, x, w->dim + 2, &win);
    y = image(m, l, x, w->dim[0], win.out);
    for (int64_t i = 0; i < y->count; i++) {
        int64_t p = i % volume(win.out), o = i / volume(win.out) % w->dim[0];
        int64_t n = i / volume(win.out) / w->dim[0];
        double sum = b ? (double)b->x[o] : 0;

        for (int64_t c = 0; c < w->dim[1]; c++)
            for (int64_t k = 0; k < volume(win.k); k++) {
                int64_t at = pixel(&win, p, k), from = n * x->dim[1] +
                             o / each * w->dim[1] + c;

                if (at >= 0)
                    sum += (double)w->x[(o * w->dim[1] + c) * volume(win.k) +
                                        k] *
                           (double)x->x[from * volume(win.size) + at];
            }
        y->x[i] = (float)sum;
    }
}

/* Each number of the input is added to those under the kernel. */
static void deconv(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *w = arg(m, l, 1), *b = arg(m, l, 2);
    struct made_tensor *y;
    int64_t groups = whole(l, "group", 1), each = w->dim[1], more[3];
    int64_t outs = each * groups, in = x->dim[1], out[3], step[3], at;
    struct window v;

    read_window(l, x, w->dim + 2, &v);
    made_ints(l, "output_padding", x->rank - 2, 0, more);
    for (int j = 0; j < 3; j++) {
        int a = j - (5 - x->rank);

        out[j] = (v.size[j] - 1) * v.s[j] + (v.k[j] - 1) * v.d[j] + 1 -
                 v.low[j] - v.high[j] + (a >= 0 ? more[a] : 0);
    }
    y = image(m, l, x, outs, out);
    for (int64_t i = 0; i < y->count && b; i++)
        y->x[i] = b->x[i / volume(out) % outs];
    for (int64_t i = 0; i < x->count * each * volume(v.k); i++) {
        int64_t k = i % volume(v.k), o = i / volume(v.k) % each;
        int64_t from = i / volume(v.k) / each, p = from % volume(v.size);
        int64_t c = from / volume(v.size) % in, n = from / volume(v.size) / in;
        int64_t q = p, t = k, inside = 1;

        for (int j = 2; j >= 0; j--) {
            step[j] = q % v.size[j] * v.s[j] - v.low[j] + t % v.k[j] * v.d[j];
            q /= v.size[j];
            t /= v.k[j];
            inside &= step[j] >= 0 && step[j] < out[j];
        }
        at = ((n * outs + c / (in / groups) * each + o) * out[0] + step[0]) *
             out[1] * out[2] + step[1] * out[2] + step[2];
        if (inside)
            y->x[at] += w->x[(c * each + o) * volume(v.k) + k] * x->x[from];
    }
}

static void pool(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *y;
    int max = strcmp(l->op, "MaxPool") == 0;
    int all = (int)whole(l, "count_include_pad", 0);
    int64_t shape[3];
    struct window w;

    made_ints(l, "kernel_shape", x->rank - 2, 1, shape);
    read_window(l, x, shape, &w);
    y = image(m, l, x, x->dim[1], w.out);
    for (int64_t i = 0; i < y->count; i++) {
        int64_t p = i % volume(w.out), c = i / volume(w.out), count = 0;
        double sum = 0, top = -INFINITY;

        for (int64_t k = 0; k < volume(w.k); k++) {
            int64_t at = pixel(&w, p, k);
            double v = at >= 0 ? (double)x->x[c * volume(w.size) + at] : 0;

            count += at >= 0 || (all && at == -1);
            sum += v;
            top = at >= 0 && v > top ? v : top;
        }
        y->x[i] = (float)(max ? top : sum / (double)count);
    }
}

/* ---- matrices ---- */

static void product(struct made *m, const struct made_line *l)
{
    struct made_tensor *a = arg(m, l, 0), *b = arg(m, l, 1), *c = arg(m, l, 2);
    struct made_tensor *y;
    int64_t dim[MADE_RANK], at[MADE_RANK];
    int turned = (int)whole(l, "transB", 0);
    int64_t inner = a->dim[a->rank - 1];
    int64_t columns = b->dim[b->rank - (turned ? 2 : 1)];

    for (int i = 0; i < a->rank; i++)
        dim[i] = a->dim[i];
    dim[a->rank - 1] = columns;
    y = made_tensor(m, l->out[0], a->rank, dim);
    for (int64_t i = 0; i < y->count; i++) {
        double sum = 0;

        for (int64_t k = 0; k < inner; k++)
            sum += (double)a->x[i / columns * inner + k] *
                   (double)b->x[turned ? i % columns * inner + k :
                                k * columns + i % columns];
        index_of(y, i, at);
        y->x[i] = (float)(real(l, "alpha", 1) * sum + (c ?
                  real(l, "beta", 1) * (double)c->x[flat(c, y->rank, at)] :
                  0));
    }
}

/* ---- number by number ---- */

static double binary(const char *op, double a, double b)
{
    return strcmp(op, "Add") == 0 ? a + b : strcmp(op, "Sub") == 0 ? a - b :
           strcmp(op, "Mul") == 0 ? a * b : strcmp(op, "Div") == 0 ? a / b :
           strcmp(op, "Max") == 0 ? fmax(a, b) : strcmp(op, "Min") == 0 ?
           fmin(a, b) : strcmp(op, "PRelu") == 0 ? (a < 0 ? a * b : a) : NAN;
}

static void two(struct made *m, const struct made_line *l)
{
    struct made_tensor *a = arg(m, l, 0), *b = arg(m, l, 1), *y;
    int64_t dim[MADE_RANK], at[MADE_RANK];
    int rank = a->rank > b->rank ? a->rank : b->rank;

    for (int i = 0; i < rank; i++) {
        int j = i - (rank - a->rank), k = i - (rank - b->rank);
        int64_t x = j >= 0 ? a->dim[j] : 1, z = k >= 0 ? b->dim[k] : 1;

        dim[i] = x > z ? x : z;
    }
    y = made_tensor(m, l->out[0], rank, dim);
    for (int64_t i = 0; i < y->count; i++) {
        index_of(y, i, at);
        y->x[i] = (float)binary(l->op, (double)a->x[flat(a, rank, at)],
                                (double)b->x[flat(b, rank, at)]);
    }
}

static double unary(struct made *m, const struct made_line *l, double x)
{
    const char *op = l->op;
    struct made_tensor *low = arg(m, l, 1), *high = arg(m, l, 2);
    double h = fmin(fmax(x / 6 + 0.5, 0), 1);

    if (strcmp(op, "Relu") == 0)
        return fmax(x, 0);
    if (strcmp(op, "Sigmoid") == 0)
        return 1 / (1 + exp(-x));
    if (strcmp(op, "Tanh") == 0)
        return tanh(x);
    if (strcmp(op, "HardSwish") == 0)
        return x * h;
    if (strcmp(op, "HardSigmoid") == 0)
        return fmin(fmax(real(l, "alpha", 0.2) * x + real(l, "beta", 0.5), 0),
                    1);
    if (strcmp(op, "LeakyRelu") == 0)
        return x < 0 ? real(l, "alpha", 0.01) * x : x;
    if (strcmp(op, "Gelu") == 0)
        return x * (1 + erf(x / sqrt(2))) / 2;
    if (strcmp(op, "Abs") == 0)
        return fabs(x);
    if (strcmp(op, "Neg") == 0)
        return -x;
    if (strcmp(op, "Clip") == 0)
        return fmin(fmax(x, low ? (double)low->x[0] : -INFINITY),
                    high ? (double)high->x[0] : INFINITY);
    return x;    /* Identity, Dropout */
}

static void one(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0);
    struct made_tensor *y = made_tensor(m, l->out[0], x->rank, x->dim);

    for (int64_t i = 0; i < y->count; i++)
        y->x[i] = (float)unary(m, l, (double)x->x[i]);
}

static void quantise(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *s = arg(m, l, 1), *z = arg(m, l, 2);
    struct made_tensor *y = made_tensor(m, l->out[0], x->rank, x->dim);

    for (int64_t i = 0; i < y->count; i++)
        y->x[i] = *l->op == 'D' ? (x->x[i] - z->x[0]) * s->x[0] :
                  fminf(fmaxf(rintf(x->x[i] / s->x[0]) + z->x[0], 0), 255);
}

static void batch_norm(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *g = arg(m, l, 1), *b = arg(m, l, 2);
    struct made_tensor *mean = arg(m, l, 3), *var = arg(m, l, 4);
    struct made_tensor *y = made_tensor(m, l->out[0], x->rank, x->dim);
    double eps = real(l, "epsilon", 1e-5);

    for (int64_t i = 0; i < y->count; i++) {
        int64_t c = i / (x->count / x->dim[0] / x->dim[1]) % x->dim[1];

        y->x[i] = (float)(((double)x->x[i] - (double)mean->x[c]) /
                          sqrt((double)var->x[c] + eps) * (double)g->x[c] +
                          (double)b->x[c]);
    }
}

/* ---- axes ---- */

static void reshape(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *s = arg(m, l, 1), *y;
    int64_t dim[MADE_RANK] = { 1, 1 }, known = 1;
    int rank = s ? (int)s->count : 2, rest = -1;

    for (int a = 0; a < rank && s; a++) {
        dim[a] = s->x[a] == 0 ? x->dim[a] : (int64_t)s->x[a];
        rest = dim[a] < 0 ? a : rest;
        known *= dim[a] < 0 ? 1 : dim[a];
    }
    for (int a = 0; a < x->rank && !s; a++)    /* Flatten */
        dim[a >= whole(l, "axis", 1)] *= x->dim[a];
    if (rest >= 0)
        dim[rest] = x->count / known;
    y = made_tensor(m, l->out[0], rank, dim);
    memcpy(y->x, x->x, (size_t)x->count * sizeof(float));
}

static void transpose(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *y;
    int64_t perm[MADE_RANK], dim[MADE_RANK], at[MADE_RANK], from[MADE_RANK];

    made_ints(l, "perm", x->rank, 0, perm);
    for (int a = 0; a < x->rank; a++)
        dim[a] = x->dim[perm[a]];
    y = made_tensor(m, l->out[0], x->rank, dim);
    for (int64_t i = 0; i < y->count; i++) {
        index_of(y, i, at);
        for (int a = 0; a < x->rank; a++)
            from[perm[a]] = at[a];
        y->x[i] = x->x[flat(x, x->rank, from)];
    }
}

static void concat(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *y;
    int64_t dim[MADE_RANK], at[MADE_RANK], axis = whole(l, "axis", 1);

    for (int a = 0; a < x->rank; a++)
        dim[a] = x->dim[a];
    for (int k = 1; k < l->nin; k++)
        dim[axis] += arg(m, l, k)->dim[axis];
    y = made_tensor(m, l->out[0], x->rank, dim);
    for (int64_t i = 0; i < y->count; i++) {
        int k = 0;

        index_of(y, i, at);
        for (; at[axis] >= arg(m, l, k)->dim[axis]; k++)
            at[axis] -= arg(m, l, k)->dim[axis];
        y->x[i] = arg(m, l, k)->x[flat(arg(m, l, k), y->rank, at)];
    }
}

/* Slice with starts, ends, axes and steps; the parts of a Split. */
static void part(struct made *m, const struct made_line *l, int out,
                 const int64_t *from, const int64_t *count,
                 const int64_t *step)
{
    struct made_tensor *x = arg(m, l, 0);
    struct made_tensor *y = made_tensor(m, l->out[out], x->rank, count);
    int64_t at[MADE_RANK];

    for (int64_t i = 0; i < y->count; i++) {
        index_of(y, i, at);
        for (int a = 0; a < x->rank; a++)
            at[a] = from[a] + at[a] * step[a];
        y->x[i] = x->x[flat(x, x->rank, at)];
    }
}

static void slice(struct made *m, const struct made_line *l)
{
    int64_t from[MADE_RANK] = { 0 }, count[MADE_RANK], step[MADE_RANK];
    struct made_tensor *x = arg(m, l, 0), *s = arg(m, l, 1), *e = arg(m, l, 2);
    struct made_tensor *axes = arg(m, l, 3), *by = arg(m, l, 4);

    for (int a = 0; a < x->rank; a++) {
        step[a] = 1;
        count[a] = x->dim[a];
    }
    for (int k = 0; k < s->count; k++) {
        int a = axes ? (int)axes->x[k] : k;
        int64_t end = e->x[k] > (float)x->dim[a] ? x->dim[a] :
                      (int64_t)e->x[k];

        step[a] = by ? (int64_t)by->x[k] : 1;
        from[a] = (int64_t)s->x[k];
        end = step[a] < 0 && end < 0 ? -1 : end;
        count[a] = (end - from[a] + (step[a] > 0 ? step[a] - 1 : step[a] + 1)) /
                   step[a];
    }
    part(m, l, 0, from, count, step);
}

static void split(struct made *m, const struct made_line *l)
{
    int64_t from[MADE_RANK] = { 0 }, count[MADE_RANK], step[MADE_RANK];
    int64_t axis = whole(l, "axis", 0);
    struct made_tensor *x = arg(m, l, 0);

    for (int a = 0; a < x->rank; a++) {
        count[a] = x->dim[a];
        step[a] = 1;
    }
    count[axis] /= l->nout;
    for (int k = 0; k < l->nout; k++, from[axis] += count[axis])
        part(m, l, k, from, count, step);
}

/* Pad with one number. */
static void pad(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *p = arg(m, l, 1), *y;
    struct made_tensor *v = arg(m, l, 2);
    int64_t dim[MADE_RANK], at[MADE_RANK];

    for (int a = 0; a < x->rank; a++)
        dim[a] = x->dim[a] + (int64_t)p->x[a] + (int64_t)p->x[x->rank + a];
    y = made_tensor(m, l->out[0], x->rank, dim);
    for (int64_t i = 0; i < y->count; i++) {
        int inside = 1;

        index_of(y, i, at);
        for (int a = 0; a < x->rank; a++) {
            at[a] -= (int64_t)p->x[a];
            inside &= at[a] >= 0 && at[a] < x->dim[a];
        }
        y->x[i] = inside ? x->x[flat(x, x->rank, at)] : v ? v->x[0] : 0;
    }
}

/* Means or maxima over axes; Global...: over all behind the channels. */
static void reduce(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *y;
    int64_t dim[MADE_RANK], axes[MADE_RANK], at[MADE_RANK];
    int global = *l->op == 'G', max = strstr(l->op, "Max") != NULL;
    int min = strstr(l->op, "Min") != NULL;

    made_ints(l, "axes", MADE_RANK, -1, axes);
    for (int a = 0; a < x->rank; a++) {
        dim[a] = x->dim[a];
        for (int k = 0; k < MADE_RANK; k++)
            if ((global && a > 1) || axes[k] == a)
                dim[a] = 1;
    }
    y = made_tensor(m, l->out[0], x->rank, dim);
    for (int64_t i = 0; i < y->count; i++)
        y->x[i] = max ? -INFINITY : min ? INFINITY : 0;
    for (int64_t i = 0; i < x->count; i++) {
        float *to;

        index_of(x, i, at);
        to = &y->x[flat(y, x->rank, at)];
        *to = max ? fmaxf(*to, x->x[i]) : min ? fminf(*to, x->x[i]) :
              *to + x->x[i];
    }
    for (int64_t i = 0; i < y->count && strstr(l->op, "Mean"); i++)
        y->x[i] *= (float)y->count / (float)x->count;
    for (int64_t i = 0; i < y->count && strstr(l->op, "Average"); i++)
        y->x[i] *= (float)y->count / (float)x->count;
}

/* Nearest neighbours by whole factors. */
static void resize(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *s = arg(m, l, 2), *y;
    int64_t dim[MADE_RANK], at[MADE_RANK];

    for (int a = 0; a < x->rank; a++)
        dim[a] = x->dim[a] * (int64_t)s->x[a];
    y = made_tensor(m, l->out[0], x->rank, dim);
    for (int64_t i = 0; i < y->count; i++) {
        index_of(y, i, at);
        for (int a = 0; a < x->rank; a++)
            at[a] /= (int64_t)s->x[a];
        y->x[i] = x->x[flat(x, x->rank, at)];
    }
}

/* DepthToSpace in both orders, and SpaceToDepth. */
static void blocks(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *y;
    int64_t b = whole(l, "blocksize", 1), up = *l->op == 'D', n[4], at[4];
    char mode[MADE_WORD];
    int last = strcmp(made_attr(l, "mode", mode), "CRD") == 0;
    int64_t few = up ? x->dim[1] / b / b : x->dim[1];
    int64_t dim[4] = { x->dim[0], up ? few : few * b * b,
                       up ? x->dim[2] * b : x->dim[2] / b,
                       up ? x->dim[3] * b : x->dim[3] / b };

    y = made_tensor(m, l->out[0], 4, dim);
    for (int64_t i = 0; i < y->count; i++) {
        int64_t block, c;

        index_of(y, i, n);
        memcpy(at, n, sizeof(at));
        if (up) {
            block = n[2] % b * b + n[3] % b;
            at[1] = last ? n[1] * b * b + block : block * few + n[1];
            at[2] = n[2] / b;
            at[3] = n[3] / b;
        } else {
            block = last ? n[1] % (b * b) : n[1] / few;
            c = last ? n[1] / (b * b) : n[1] % few;
            at[1] = c;
            at[2] = n[2] * b + block / b;
            at[3] = n[3] * b + block % b;
        }
        y->x[i] = x->x[flat(x, 4, at)];
    }
}

/* Over one axis. */
static void softmax(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0);
    struct made_tensor *y = made_tensor(m, l->out[0], x->rank, x->dim);
    int64_t axis = whole(l, "axis", x->rank - 1), at[MADE_RANK];

    for (int64_t i = 0; i < y->count; i++) {
        double sum = 0;

        index_of(x, i, at);
        for (at[axis] = 0; at[axis] < x->dim[axis]; at[axis]++)
            sum += exp((double)x->x[flat(x, x->rank, at)]);
        y->x[i] = (float)(exp((double)x->x[i]) / sum);
    }
}

static void shape(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *y;
    int64_t rank = x->rank;

    y = made_tensor(m, l->out[0], 1, &rank);
    for (int a = 0; a < x->rank; a++)
        y->x[a] = (float)x->dim[a];
}

/* Of a list. */
static void gather(struct made *m, const struct made_line *l)
{
    struct made_tensor *x = arg(m, l, 0), *s = arg(m, l, 1);
    struct made_tensor *y = made_tensor(m, l->out[0], s->rank, s->dim);

    for (int64_t i = 0; i < y->count; i++)
        y->x[i] = x->x[(int64_t)s->x[i]];
}

static const struct {
    const char *op;
    void      (*f)(struct made *m, const struct made_line *l);
} ops[] = {
    { "Abs", one }, { "Add", two }, { "AveragePool", pool },
    { "BatchNormalization", batch_norm }, { "Clip", one },
    { "Concat", concat }, { "Conv", conv }, { "ConvTranspose", deconv },
    { "DepthToSpace", blocks }, { "DequantizeLinear", quantise },
    { "Div", two }, { "Dropout", one }, { "Flatten", reshape },
    { "Gather", gather }, { "Gelu", one }, { "Gemm", product },
    { "GlobalAveragePool", reduce }, { "GlobalMaxPool", reduce },
    { "HardSigmoid", one }, { "HardSwish", one }, { "Identity", one },
    { "LeakyRelu", one }, { "MatMul", product }, { "Max", two },
    { "MaxPool", pool }, { "Min", two }, { "Mul", two }, { "Neg", one },
    { "PRelu", two }, { "Pad", pad }, { "QuantizeLinear", quantise },
    { "ReduceMax", reduce }, { "ReduceMean", reduce }, { "ReduceMin", reduce },
    { "ReduceSum", reduce }, { "Relu", one }, { "Reshape", reshape },
    { "Resize", resize }, { "Shape", shape }, { "Sigmoid", one },
    { "Slice", slice }, { "Softmax", softmax }, { "SpaceToDepth", blocks },
    { "Split", split }, { "Sub", two }, { "Tanh", one },
    { "Transpose", transpose },
};

void made_compute(struct made *m)
{
    for (int i = 0; i < m->lines; i++)
        for (size_t k = 0; k < CTT_LEN(ops); k++)
            if (strcmp(m->line[i].op, ops[k].op) == 0)
                ops[k].f(m, &m->line[i]);
}
