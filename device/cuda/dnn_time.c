/* SPDX-License-Identifier: Apache-2.0
 * dnn_time.c: times plans of one convolution on the GPU. */
#include "device/cuda/dnn_choose.h"
#include "device/cuda/dnn_scene.h"
#include "device/cuda/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each round runs every plan RUNS times between two events; the first round
 * warms up, and who takes SLOW times the fastest there is out.  Another than
 * the first must need less than `gain` of its time: noise must not choose. */
enum { ROUNDS = 6, RUNS = 3, SLOW = 3, TRIALS = CTT_DNN_OFFERS + 1 };
static const float gain = 0.97f;

/* finish: a kernel follows for plus, bias, act or add; out: it failed or is
 * slow. */
struct trial {
    const struct ctt_dnn_plan *p;
    int                        finish, out;
    float                      ms[ROUNDS];
};

struct clock { cudaEvent_t from, to; };

static int open_clock(struct clock *c)
{
    return cudaEventCreate(&c->from) == cudaSuccess &&
           cudaEventCreate(&c->to) == cudaSuccess;
}

static void close_clock(const struct clock *c)
{
    if (c->from)
        cudaEventDestroy(c->from);
    if (c->to)
        cudaEventDestroy(c->to);
}

static int run_trial(const struct ctt_lane *l, const struct ctt_dnn_scene *s,
                     const struct trial *t)
{
    const struct ctt_dnn_key *k = s->key;

    if (ctt_dnn_plan_run(l->dnn, t->p, s->data, s->workspace) !=
        CUDNN_STATUS_SUCCESS)
        return -1;
    if (!t->finish)
        return 0;
    return k->add ? ctt_launch_copy(s->result, s->plus, 1, l->stream)
                  : ctt_launch_finish(s->result, s->plus,
                                      s->data[CTT_DNN_BIAS], k->act, s->result,
                                      l->stream);
}

static void time_round(const struct ctt_lane *l, const struct ctt_dnn_scene *s,
                       const struct clock *c, struct trial *t, int round)
{
    int bad = cudaEventRecord(c->from, l->stream) != cudaSuccess;

    for (int i = 0; i < RUNS; i++)
        bad |= run_trial(l, s, t) != 0;
    bad |= cudaEventRecord(c->to, l->stream) != cudaSuccess ||
           cudaEventSynchronize(c->to) != cudaSuccess ||
           cudaEventElapsedTime(&t->ms[round], c->from, c->to) != cudaSuccess;
    t->ms[round] /= RUNS;
    t->out |= bad;
}

static int by_ms(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static float median_of(const struct trial *t)
{
    float ms[ROUNDS];

    memcpy(ms, t->ms, sizeof(ms));
    qsort(ms + 1, ROUNDS - 1, sizeof(ms[0]), by_ms);
    return ms[1 + (ROUNDS - 1) / 2];
}

static void drop_slow(struct trial *t, int count, int round)
{
    float best = 0;

    for (int i = 0; i < count; i++)
        if (!t[i].out && (!(best > 0) || t[i].ms[round] < best))
            best = t[i].ms[round];
    for (int i = 0; i < count; i++)
        t[i].out |= t[i].ms[round] > SLOW * best;
}

/* The fastest; the first unless another is faster by more than noise. */
static int fastest_of(const struct trial *t, int count, char *said,
                      size_t room)
{
    float best = t[0].out ? 0 : gain * median_of(&t[0]), ms;
    int which = 0, n = 0;

    for (int i = 0; i < count; i++) {
        if (t[i].out)
            continue;
        ms = median_of(&t[i]);
        if (n >= 0 && (size_t)n < room)
            n += snprintf(said + n, room - (size_t)n, "%s%s%s %.4f ms",
                          n ? ", " : "", t[i].p->impl,
                          t[i].finish ? " and a kernel" : "", (double)ms);
        if (i && (!(best > 0) || ms < best)) {
            best = ms;
            which = i;
        }
    }
    return which;
}

int ctt_dnn_time(struct ctt_dev *d, const struct ctt_dnn_key *key,
                 struct ctt_dnn_plan *const p[], int count,
                 const struct ctt_dnn_plan *apart, char *said, size_t room)
{
    const struct ctt_lane *l = ctt_cuda_lane(d);
    struct trial t[TRIALS] = { { .p = NULL } };
    struct clock clock = { NULL, NULL };
    struct ctt_dnn_scene s;
    int64_t workspace = apart ? apart->room : 0;
    int all = count + (apart != NULL), best = 0;

    for (int i = 0; i < all; i++) {
        t[i].p = i < count ? p[i] : apart;
        t[i].finish = i == count;
        if (t[i].p->room > workspace)
            workspace = t[i].p->room;
    }
    *said = '\0';
    if (ctt_dnn_scene_open(d, key, workspace, &s) && open_clock(&clock) &&
        ctt_cuda_idle(ctt_cuda_of(d)) == cudaSuccess) {
        for (int r = 0; r < ROUNDS; r++) {
            for (int i = 0; i < all; i++)
                if (!t[i].out)
                    time_round(l, &s, &clock, &t[i], r);
            if (r == 1)    /* the first one warms up */
                drop_slow(t, all, r);
        }
        best = fastest_of(t, all, said, room);
    }
    close_clock(&clock);
    ctt_dnn_scene_close(&s);
    return best;
}
