/* SPDX-License-Identifier: Apache-2.0
 * crop.c: a part of a stored frame, resized to the model's frame. */
#include "libtrain/data/crop.h"

#include <math.h>
#include <string.h>

/* Which pixels of a side one pixel of the result is the mean of. */
struct reach { int from, n; };

struct side {
    struct reach *reach;    /* [to] */
    float        *weight;   /* [to][most] */
    int           to, stored, most;
};

struct ctt_crop {
    struct ctt_input in;
    struct side      x, y;
    float           *seen;      /* the part of the frame, as numbers */
    float           *row;       /* a row of it, weighed */
};

static int open_side(struct side *s, int to, int stored)
{
    *s = (struct side){ .to = to, .stored = stored,
                        .most = 2 * (stored / to + 1) + 2 };
    s->reach = ctt_calloc((size_t)to, sizeof(*s->reach));
    s->weight = ctt_calloc((size_t)to * (size_t)s->most, sizeof(*s->weight));
    return s->reach && s->weight ? 0 : CTT_ENOMEM;
}

int ctt_crop_new(const struct ctt_input *in, struct ctt_crop **out)
{
    struct ctt_crop *c = ctt_calloc(1, sizeof(*c));
    int w, h, rc = c ? 0 : CTT_ENOMEM;
    size_t row;

    CTT_TRY(rc);
    c->in = *in;
    ctt_frame_size(in, &w, &h);
    row = (size_t)w * (size_t)in->c;
    CTT_TRY(open_side(&c->x, in->w, w));
    CTT_TRY(open_side(&c->y, in->h, h));
    c->seen = ctt_calloc((size_t)h * row, sizeof(*c->seen));
    c->row = ctt_calloc(row, sizeof(*c->row));
    CTT_TRY(c->seen && c->row ? 0 : CTT_ENOMEM);
    *out = c;
    c = NULL;
out:
    ctt_crop_free(&c);
    return rc;
}

void ctt_crop_free(struct ctt_crop **c)
{
    if (!*c)
        return;
    ctt_free((*c)->x.reach);
    ctt_free((*c)->x.weight);
    ctt_free((*c)->y.reach);
    ctt_free((*c)->y.weight);
    ctt_free((*c)->seen);
    ctt_free((*c)->row);
    ctt_free(*c);
    *c = NULL;
}

/* The pixels and weights for the place `centre`, each pixel of the result being
 * `step` pixels wide. */
static void weigh(const struct side *s, double centre, double step,
                  struct reach *r, float *weight)
{
    double wide = step > 1 ? step : 1, sum = 0;
    int from = (int)floor(centre - wide), to = (int)ceil(centre + wide);

    from = from > 0 ? from : 0;
    to = to < s->stored ? to : s->stored;
    to = to < from + s->most ? to : from + s->most;
    for (int j = from; j < to; j++) {
        double far = fabs(j + 0.5 - centre) / wide;
        weight[j - from] = far < 1 ? (float)(1 - far) : 0;
        sum += (double)weight[j - from];
    }
    *r = (struct reach){ from, to - from };
    for (int j = 0; j < r->n; j++)
        weight[j] = (float)((double)weight[j] / sum);
}

static void set_side(struct side *s, double at, double size, int flip)
{
    double step = size / s->to;

    for (int i = 0; i < s->to; i++) {
        int k = flip ? s->to - 1 - i : i;
        weigh(s, at + (i + 0.5) * step, step, &s->reach[k],
              s->weight + k * s->most);
    }
}

void ctt_crop_set(struct ctt_crop *c, const struct ctt_area *a, int flip)
{
    set_side(&c->x, (double)a->x, (double)a->w, flip);
    set_side(&c->y, (double)a->y, (double)a->h, 0);
}

/* The first pixel that a side reads, and their number. */
static struct reach whole_reach(const struct side *s)
{
    const struct reach *a = &s->reach[0], *b = &s->reach[s->to - 1];
    const struct reach *low = a->from < b->from ? a : b;
    const struct reach *high = low == a ? b : a;

    return (struct reach){ low->from, high->from + high->n - low->from };
}

/* The numbers of the part that is read, in rows of so many pixels. */
static void look_up(struct ctt_crop *c, struct reach x, struct reach y,
                    const uint8_t *data, const float table[3][256])
{
    int n = c->in.c;
    float *to = c->seen;

    for (int r = 0; r < y.n; r++) {
        const uint8_t *p = data + ((size_t)(y.from + r) * c->x.stored +
                                   (size_t)x.from) * n;
        if (n == 1)
            for (int i = 0; i < x.n; i++)
                *to++ = table[0][p[i]];
        else
            for (int i = 0; i < x.n * n; i += n)
                for (int k = 0; k < n; k++)
                    *to++ = table[k][p[i + k]];
    }
}

/* A row of the result before its columns are weighed. */
static void weigh_rows(struct ctt_crop *c, int y, int first, int floats)
{
    const struct reach *r = &c->y.reach[y];
    const float *w = c->y.weight + y * c->y.most;
    const float *from = c->seen + (int64_t)(r->from - first) * floats;
    float *restrict to = c->row;

    for (int i = 0; i < floats; i++)
        to[i] = w[0] * from[i];
    for (int j = 1; j < r->n; j++) {
        from += floats;
        for (int i = 0; i < floats; i++)
            to[i] += w[j] * from[i];
    }
}

static void weigh_columns(const struct ctt_crop *c, int first, float *out)
{
    int n = c->in.c;

    for (int x = 0; x < c->x.to; x++, out += n) {
        const struct reach *r = &c->x.reach[x];
        const float *w = c->x.weight + x * c->x.most;
        const float *from = c->row + (r->from - first) * n;
        float sum[3] = { 0 };

        for (int j = 0; j < r->n; j++, from += n)
            for (int k = 0; k < n; k++)
                sum[k] += w[j] * from[k];
        for (int k = 0; k < n; k++)
            out[k] = sum[k];
    }
}

void ctt_crop_frame(struct ctt_crop *c, const uint8_t *data,
                    const float table[3][256], float *out)
{
    struct reach x = whole_reach(&c->x), y = whole_reach(&c->y);

    look_up(c, x, y, data, table);
    for (int i = 0; i < c->in.h; i++, out += c->in.w * c->in.c) {
        weigh_rows(c, i, y.from, x.n * c->in.c);
        weigh_columns(c, x.from, out);
    }
}
