/* SPDX-License-Identifier: Apache-2.0
 * asks.c: at which steps of a clip training computes a loss, and the weights of
 * these losses. */
#include "libtrain/recognise/recognise.h"
#include "libtrain/chance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int one_is_all(const struct ctt_asks *a)
{
    return a->points == 1 && !a->point[0].frames && a->point[0].ratio == 1;
}

int ctt_asks_parse(const struct ctt_train_cfg *cfg, struct ctt_asks *out)
{
    struct ctt_asks a = { 0 };
    const char *s = cfg->observe ? cfg->observe : "1";
    int rc = 0, end = 0;

    if (strncmp(s, "uniform:", 8) == 0) {
        a.random = 1;
        CTT_CHECK(sscanf(s, "uniform:%lf-%lf%n", &a.lo, &a.hi, &end) == 2 &&
                  !s[end] && a.lo > 0 && a.lo <= a.hi && a.hi <= 1,
                  CTT_EINVAL, "observe: bad value '%s' (uniform:0.1-1)", s);
    } else {
        rc = ctt_points_parse(s, a.point, &a.points);
        if (rc < 0)
            CTT_TRY(ctt_error(rc, "observe: %s", ctt_errmsg()));
        if (one_is_all(&a))
            a.points = 0;
    }
    a.frames = cfg->frame_loss != CTT_FRAME_NONE ? cfg->frame_asks : 0;
    a.total = a.random + a.points + a.frames + 1;
    *out = a;
out:
    return rc;
}

/* The weight after a fraction x of the clip.  Linear: Ma and others 2016;
 * exponential: Jain and others 2016, who use seconds instead of the
 * fraction. */
static double even(double x)         { return (void)x, 1; }
static double linear(double x)       { return x; }
static double exponential(double x)  { return exp(4 * x - 4); }

static double (*const frame_weights[])(double) = {
    [CTT_FRAME_NONE] = even, [CTT_FRAME_ALL] = even,
    [CTT_FRAME_LINEAR] = linear, [CTT_FRAME_EXP] = exponential,
};

void ctt_asks_make(const struct ctt_asks *a, const struct ctt_train_cfg *cfg,
                   int length, uint64_t key, struct ctt_want *want)
{
    struct ctt_point p = { 1, 0 };
    int n = 0;

    if (a->random) {
        p.ratio = a->lo + (a->hi - a->lo) * (double)ctt_uniform(key, 0);
        want[n++] = (struct ctt_want){ ctt_point_step(&p, length), 1 };
    }
    for (int i = 0; i < a->points; i++)
        want[n++] = (struct ctt_want){ ctt_point_step(&a->point[i], length),
                                       1 };
    for (int i = 1; i <= a->frames; i++) {
        p.ratio = (double)i / a->frames;
        want[n++] = (struct ctt_want){ ctt_point_step(&p, length),
            (float)frame_weights[cfg->frame_loss](p.ratio) };
    }
    want[n] = (struct ctt_want){ length - 1, 1 };
}
