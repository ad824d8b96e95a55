/* SPDX-License-Identifier: Apache-2.0
 * lint_time.c: times of two graphs, which run in turns: on one thread the time
 * that it computes, so that other programs hardly matter. */
#include "tools/info/lint.h"
#include "base/clock.h"
#include "net/init.h"

#include <math.h>

static const struct ctt_pace pace = { 5, 200, 0.8 };

/* Seconds of the frames that are timed together, at least one. */
static const double together = 0.01;

/* A model of a copy of the graph, with random weights, as all zeros would be
 * sparse. */
static int random_model(const struct ctt_graph *g, struct ctt_model **out)
{
    struct ctt_graph *copy = NULL;
    char *text = ctt_net_print(g);
    int rc = text ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_net_parse(text, &copy));
    CTT_TRY(ctt_model_new(copy, out));
    ctt_init_weights(*out, 1);
out:
    ctt_free(text);
    return rc;
}

static int run_frames(void *steppers, int which, int frames)
{
    struct ctt_stepper *s = steppers;
    int rc = 0;

    for (int i = 0; i < frames && rc >= 0; i++)
        rc = ctt_stepper_step(&s[which]);
    return rc;
}

static int time_pair(struct ctt_stepper s[2], int threads,
                     struct ctt_paired_timing *out)
{
    struct ctt_turns p = { .run = run_frames, .arg = s,
        .clock = threads == 1 ? ctt_thread_seconds : ctt_seconds };
    double start = p.clock(), frame;
    int rc;

    CTT_TRY(run_frames(s, 0, 1));
    frame = p.clock() - start;
    p.first = frame < together;
    p.frames = 1 + (int)fmin(together / frame, 1000);
    CTT_TRY(ctt_paired_timing_of(&p, &pace, out));
out:
    return rc;
}

int ctt_lint_time(const struct ctt_graph *g, const struct ctt_graph *other,
                  const char *device, int threads,
                  struct ctt_paired_timing *out)
{
    const struct ctt_graph *both[2] = { g, other };
    struct ctt_stepper s[2] = { { .g = NULL }, { .g = NULL } };
    struct ctt_model *m[2] = { NULL, NULL };
    int rc = 0;

    for (int i = 0; i < 2; i++) {
        CTT_TRY(random_model(both[i], &m[i]));
        CTT_TRY(ctt_stepper_open(m[i], device, threads, 0, &s[i]));
        CTT_TRY(run_frames(s, i, 2));
    }
    CTT_TRY(time_pair(s, threads, out));
out:
    for (int i = 0; i < 2; i++) {
        ctt_stepper_close(&s[i]);
        ctt_model_free(&m[i]);
    }
    return rc;
}
