/* SPDX-License-Identifier: Apache-2.0
 * int8_pixel_tmpl.h: from pixel to pixel of the result of a conv of quantised
 * values, whose elements are of the type elem. */

/* A pixel of the result, and the address of its window. */
struct pixel { int64_t w, h, d, sample; const elem *x; };

static const elem *first_of_window(const struct ctt_int8_job *j, const elem *x,
                                   const struct pixel *p)
{
    const int *s = j->c->node->attr.conv.stride;
    int64_t plane = p->sample * j->size[0] + p->d * s[0];

    return x + ((plane * j->size[1] + p->h * s[1]) * j->size[2] +
                p->w * s[2]) * j->pixel;
}

static struct pixel pixel_at(const struct ctt_int8_job *j, const elem *x,
                             int64_t row)
{
    int64_t up = row / j->out[2], further = up / j->out[1];
    struct pixel p = { row % j->out[2], up % j->out[1], further % j->out[0],
                       further / j->out[0], NULL };

    p.x = first_of_window(j, x, &p);
    return p;
}

/* Advances to the next pixel, mostly within the image's row: a division for
 * each would take as long as a small conv. */
static inline void step_on(const struct ctt_int8_job *j, const elem *x,
                           struct pixel *p)
{
    if (++p->w < j->out[2]) {
        p->x += j->c->node->attr.conv.stride[2] * j->pixel;
        return;
    }
    p->w = 0;
    if (++p->h == j->out[1]) {
        p->h = 0;
        if (++p->d == j->out[0]) {
            p->d = 0;
            p->sample++;
        }
    }
    p->x = first_of_window(j, x, p);
}
