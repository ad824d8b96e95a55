/* SPDX-License-Identifier: Apache-2.0
 * thread_tuner.c: how many threads a session shares its frames with. */
#include "infer/thread_tuner.h"

#include <stdlib.h>

/* ENOUGH: speedup required of more threads.  CLEAR: half a trial decides with
 * this speedup, or with none; for frames of LONG seconds the second slower one
 * decides.  A late frame takes LATE seconds, less than the wait for a thread
 * that lost its processor, and LATE_TIMES as long as with fewer threads.  WARM:
 * seconds of the first frames, while OpenMP's threads from the packing of
 * weights fall asleep.  REST: most seconds between trials, if these are at
 * least HOLD_LEAST frames, or EACH frames for each frame that more threads did
 * not make faster. */
static const double ENOUGH = 1.15, CLEAR = 1.35;
static const double LATE = 0.3e-3, LATE_TIMES = 1.25, WARM = 10e-3, REST = 2;
static const double LONG = 5e-3;

enum {
    TURN = CTT_THREAD_TUNER_SKIP + CTT_THREAD_TUNER_COUNT,
    WARM_FRAMES = 4,
    APART = 400,
    SLOW = 16,
    HOLD = 32,
    HOLD_LEAST = 256,
    HOLD_MOST = 4096,
    LASTS = 8,
    GROWS = 4,
    EACH = 200
};

void ctt_thread_tuner_begin(struct ctt_thread_tuner *g, int threads)
{
    *g =
        (struct ctt_thread_tuner){ .most = threads, .now = threads, .down = 1 };
}

static int is_high(const struct ctt_thread_tuner *g)
{
    return g->at / TURN % 2;
}

int ctt_thread_tuner_threads(const struct ctt_thread_tuner *g)
{
    if (!g->high)
        return g->now;
    return is_high(g) ? g->high : g->low;
}

static int half(int threads)
{
    return (threads + 1) / 2;
}

static void try(struct ctt_thread_tuner *g, int low, int high)
{
    g->low = low;
    g->high = high;
    g->at = g->slower = 0;
}

/* ---- outside trials ---- */

static void use_more(struct ctt_thread_tuner *g, double lower)
{
    g->now = g->high;
    g->lower = lower;
    g->since = g->slow = 0;
    g->late = -APART;
    g->down = 0;
    g->left = g->now < g->most ? HOLD : 0;
}

/* Returns to fewer threads after `lasted` frames with more, `vain` of which
 * were not faster. */
static void use_fewer(struct ctt_thread_tuner *g, int threads, int64_t lasted,
                      int vain, double time)
{
    int most = REST < HOLD_MOST * time ? (int)(REST / time) : HOLD_MOST;
    int least = EACH * vain < HOLD_MOST ? EACH * vain : HOLD_MOST;

    most = most > HOLD_LEAST ? most : HOLD_LEAST;
    g->hold = lasted >= LASTS * g->hold ? HOLD : GROWS * g->hold;
    g->hold = g->hold < most ? g->hold : most;
    g->hold = g->hold > least ? g->hold : least;
    g->left = g->hold;
    g->now = threads;
    g->lower = 0;
}

static int is_late(double seconds, double lower)
{
    return seconds > LATE_TIMES * lower + LATE;
}

/* 1 if fewer threads are faster, or as fast and never late. */
static int falls_short(struct ctt_thread_tuner *g, double seconds)
{
    int late = is_late(seconds, g->lower);
    int again = g->since - g->late < APART;

    if (late)
        g->late = g->since;
    g->slow += seconds > g->lower ? 1 : -(g->slow > 0);
    return (late && again) || g->slow > SLOW;
}

static void stay(struct ctt_thread_tuner *g, double seconds)
{
    g->since++;
    if (g->lower > 0 && falls_short(g, seconds))
        use_fewer(g, half(g->now), g->since, 0, g->lower);
    else if (g->left && --g->left == 0)
        try(g, g->now, 2 * g->now < g->most ? 2 * g->now : g->most);
}

/* ---- trials ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof(*x), by_value);
    return x[n / 2];
}

/* Count of the trial's frames with more threads. */
static int tried(const struct ctt_thread_tuner *g)
{
    int turns = g->at / (2 * TURN), rest = g->at % (2 * TURN) - TURN;

    return turns * TURN + (rest > 0 ? rest : 0);
}

static void end_trial(struct ctt_thread_tuner *g, double low, double high)
{
    if (high * ENOUGH <= low) {
        use_more(g, low);
    } else if (g->down && g->low > 1) {
        try(g, half(g->low), g->low);
        return;
    } else {
        use_fewer(g, g->low, 0, tried(g), low);
    }
    g->high = 0;
}

/* Records a frame of a trial.  The first frames of a turn do not count, as
 * threads wake up and fetch data from other caches; but a late one ends the
 * trial, and so do two slower long ones, in which waking up takes no time. */
static void trial_frame(struct ctt_thread_tuner *g, double seconds)
{
    int turn = g->at / TURN, high = is_high(g), last, n;
    int k = g->at++ % TURN - CTT_THREAD_TUNER_SKIP;
    double low, gain;

    if (k >= 0)
        g->time[high][turn / 2 * CTT_THREAD_TUNER_COUNT + k] = seconds;
    if (!high)
        return;
    n = (turn / 2 + 1) * CTT_THREAD_TUNER_COUNT;
    low = median(g->time[0], n);
    g->slower += low > LONG && seconds > low;
    if (is_late(seconds, low) || g->slower > 1) {
        end_trial(g, low, seconds);
    } else if (g->at % TURN == 0) {
        last = turn == CTT_THREAD_TUNER_TURNS - 1;
        gain = low / median(g->time[1], n);
        if (last || gain < 1 || gain > CLEAR)
            end_trial(g, low, low / gain);
    }
}

void ctt_thread_tuner_frame(struct ctt_thread_tuner *g, double seconds)
{
    if (g->most == 1)
        return;
    if (g->first < 0 && g->high) {
        trial_frame(g, seconds);
    } else if (g->first < 0) {
        stay(g, seconds);
    } else {
        g->seen += g->first ? seconds : 0;
        if (++g->first >= WARM_FRAMES && g->seen >= WARM) {
            g->first = -1;
            try(g, half(g->most), g->most);
        }
    }
}
