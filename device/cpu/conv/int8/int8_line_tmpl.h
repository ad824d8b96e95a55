/* SPDX-License-Identifier: Apache-2.0
 * int8_line_tmpl.h: quantised values laid out pixel after pixel. */
#include "device/cpu/conv/int8/int8_layout_tmpl.h"

static void lay_none(const struct ctt_int8_job *j, elem *to, int64_t n)
{
    elem zero = nothing(j);

    SIMD for (int64_t i = 0; i < n; i++)
        to[i] = zero;
}

/* Lays out a line's pixels of a group, at once if they are contiguous. */
static void lay_pixels(const struct ctt_int8_job *j, struct line l,
                       int64_t group, elem *to)
{
    int64_t ld = j->c->in[0].ld;

    if (ld == j->ins && ld == j->pixel) {
        lay_some(j, l.row, 0, to, l.n * ld);
        return;
    }
    for (int64_t i = 0; i < l.n; i++)
        lay_some(j, l.row + i, group * j->ins, to + i * j->pixel, j->ins);
}

static void lay_line(const struct ctt_int8_job *j, int64_t line)
{
    struct line l = line_bounds(j, line);
    elem *to = (elem *)j->x + line * j->size[2] * j->pixel;

    for (int64_t g = 0; g < j->groups; g++, to += j->plane) {
        lay_none(j, to, l.left * j->pixel);
        lay_pixels(j, l, g, to + l.left * j->pixel);
        lay_none(j, to + (l.left + l.n) * j->pixel, l.right * j->pixel);
    }
}
