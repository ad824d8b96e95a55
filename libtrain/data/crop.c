/* SPDX-License-Identifier: Apache-2.0
 * crop.c: a part of a stored frame, resized to the model's frame. */
#include "libtrain/data/augment.h"

#include <math.h>

struct side {
    struct ctt_taps *reach;    /* [to] */
    float            *weight;   /* [to][most] */
    int               to, stored, most;
};

struct ctt_crop {
    struct ctt_input  in;
    struct side       x, y;
    float            *room;
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

    CTT_TRY(rc);
    c->in = *in;
    ctt_frame_size(in, &w, &h);
    CTT_TRY(open_side(&c->x, in->w, w));
    CTT_TRY(open_side(&c->y, in->h, h));
    c->room = ctt_calloc((size_t)ctt_render_room(in->c, w, h),
                         sizeof(*c->room));
    CTT_TRY(c->room ? 0 : CTT_ENOMEM);
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
    ctt_free((*c)->room);
    ctt_free(*c);
    *c = NULL;
}

/* The pixels and weights for the place `centre`, each pixel of the result being
 * `step` pixels wide; without those at the ends that weigh nothing. */
static void weigh(const struct side *s, double centre, double step,
                  struct ctt_taps *r, float *weight)
{
    double wide = step > 1 ? step : 1, sum = 0;
    int from = (int)floor(centre - wide), to = (int)ceil(centre + wide);

    from = from > 0 ? from : 0;
    to = to < s->stored ? to : s->stored;
    to = to < from + s->most ? to : from + s->most;
    while (from + 1 < to && fabs(from + 0.5 - centre) >= wide)
        from++;
    while (from + 1 < to && fabs(to - 0.5 - centre) >= wide)
        to--;
    for (int j = from; j < to; j++) {
        double far = fabs(j + 0.5 - centre) / wide;
        weight[j - from] = far < 1 ? (float)(1 - far) : 0;
        sum += (double)weight[j - from];
    }
    *r = (struct ctt_taps){ from, to - from };
    for (int j = 0; j < s->most; j++)
        weight[j] = j < r->n ? (float)((double)weight[j] / sum) : 0;
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

struct ctt_render ctt_crop_render(const struct ctt_crop *c,
                                  const struct ctt_paint *paint)
{
    return (struct ctt_render){ c->in.c, c->x.to, c->y.to, c->x.stored,
        c->x.reach, c->y.reach, c->x.weight, c->y.weight, c->x.most,
        c->y.most, paint };
}

void ctt_crop_frame(struct ctt_crop *c, const uint8_t *data,
                    const struct ctt_paint *paint, float *out)
{
    const struct ctt_render r = ctt_crop_render(c, paint);

    ctt_render_frame(&r, data, c->room, out);
}
