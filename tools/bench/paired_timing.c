/* SPDX-License-Identifier: Apache-2.0
 * paired_timing.c: compares the times of two models, which run in turns. */
#include "tools/bench/bench_tool.h"
#include "base/clock.h"
#include "base/ctt.h"

enum { FRAMES = 4 };

static int time_frames(const struct ctt_turns *p, int which, double *ms)
{
    double start;
    int rc;

    CTT_TRY(p->run(p->arg, which, p->first));
    start = p->clock();
    CTT_TRY(p->run(p->arg, which, p->frames));
    *ms = 1e3 * (p->clock() - start) / p->frames;
out:
    return rc;
}

int ctt_ratios_steady(struct ctt_times *ratio)
{
    const double most = 1.2;
    int half = ratio->count / 2;
    struct ctt_times first = { ratio->ms, half, 0 };
    struct ctt_times second = { ratio->ms + half, ratio->count - half, 0 };
    double a = half ? ctt_times_spread(&first).median : 0;
    double b = half ? ctt_times_spread(&second).median : 0;
    struct ctt_spread all = ctt_times_spread(ratio);

    return a <= most * b && b <= most * a && all.q3 <= most * all.q1;
}

int ctt_paired_timing_of(const struct ctt_turns *p,
                         const struct ctt_pace *pace,
                         struct ctt_paired_timing *out)
{
    struct ctt_times each[2] = { { NULL, 0, 0 }, { NULL, 0, 0 } };
    struct ctt_times ratio = { NULL, 0, 0 };
    double start = ctt_seconds(), ms[2];
    int rc = 0, steady;

    for (int n = 0; ctt_pace_goes_on(pace, n, start); n++) {
        CTT_TRY(time_frames(p, n % 2, &ms[n % 2]));
        CTT_TRY(time_frames(p, !(n % 2), &ms[!(n % 2)]));
        CTT_TRY(ctt_times_add(&each[0], ms[0]));
        CTT_TRY(ctt_times_add(&each[1], ms[1]));
        CTT_TRY(ctt_times_add(&ratio, ms[1] / ms[0]));
    }
    steady = ctt_ratios_steady(&ratio);
    *out = (struct ctt_paired_timing){ { ctt_times_spread(&each[0]).median,
        ctt_times_spread(&each[1]).median }, ctt_times_spread(&ratio),
        steady };
out:
    ctt_free(each[0].ms);
    ctt_free(each[1].ms);
    ctt_free(ratio.ms);
    return rc;
}

static int run_runner(void *runners, int which, int frames)
{
    struct ctt_runner *r = runners;

    return ctt_runner_step(&r[which], frames);
}

int ctt_paired_timing_run(struct ctt_runner r[2], const struct ctt_pace *pace,
                          struct ctt_paired_timing *out)
{
    return ctt_paired_timing_of(&(struct ctt_turns){ .run = run_runner,
        .arg = r, .clock = ctt_seconds, .first = 1, .frames = FRAMES }, pace,
        out);
}
