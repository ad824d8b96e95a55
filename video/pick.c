/* SPDX-License-Identifier: Apache-2.0
 * pick.c: counts the steps of a model's rate for which a frame is the nearest.
 */
#include "video/pick.h"

#include <math.h>

void ctt_pick_begin(struct ctt_pick *p, double now)
{
    p->zero = now;
    p->k = 0;
}

/* A whole number that counts exactly, as far as doubles and times have any. */
#define MOST ((int64_t)1 << 50)

static int64_t whole_number(double x)
{
    return x <= -(double)MOST ? -MOST : x < (double)MOST ? (int64_t)x : MOST;
}

/* The first step, from k on, for which not(later frame) or the end. */
static int64_t behind(const struct ctt_pick *p, double now, double next,
                      int ended)
{
    /* A guess that rounding may have put one or two steps off. */
    double at = ended ? next * p->fps - 0.5 :
                (now + next + CTT_PICK_TIE) / 2 * p->fps;
    int64_t k = whole_number(floor(at)) - 2;

    k = k > p->k ? k : p->k;
    for (; k < MOST; k++) {
        double t = (double)k / p->fps;

        if (ended ? !(k == 0 || ctt_pick_within(next, t, p->fps)) :
            ctt_pick_later(now, next, t))
            break;
    }
    return k;
}

int64_t ctt_pick_frame(struct ctt_pick *p, double now, double next, int ended,
                       int64_t *lost)
{
    int64_t from = p->k, first = 0;

    *lost = 0;
    if (p->fps <= 0) {
        p->k++;
        return 1;
    }
    now -= p->zero;
    next -= p->zero;
    p->k = behind(p, now, next, ended);
    if (p->fill > 0)
        first = whole_number(ceil((now - p->fill) * p->fps));
    first = first < p->k ? first : p->k;
    if (first > from)
        *lost = first - from;
    return p->k - from - *lost;
}
