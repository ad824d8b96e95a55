/* SPDX-License-Identifier: Apache-2.0
 * dnn_time.c: times plans of one convolution on the GPU. */
#include "device/cuda/dnn_choose.h"
#include "device/cuda/kernels.h"
#include "base/half.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each round runs every plan RUNS times between two events; the first round
 * warms up, and who takes SLOW times the fastest there is out.  Another than
 * the first must need less than `gain` of its time: noise must not choose. */
enum { ROUNDS = 6, RUNS = 3, SLOW = 3, TRIALS = CTT_DNN_OFFERS + 1 };
static const float gain = 0.97f;

/* finish: a kernel follows for plus, bias and act; out: it failed or is slow.
 */
struct trial {
    const struct ctt_dnn_plan *p;
    int                        finish, out;
    float                      ms[ROUNDS];
};

struct scene {
    const struct ctt_dnn_key *key;
    struct ctt_tensor         result, plus;
    void                     *block, *data[CTT_DNN_UIDS], *workspace;
    cudaEvent_t               from, to;
};

/* ---- operands ---- */

static struct ctt_tensor dense_image(const struct ctt_dnn_key *k, int small)
{
    const struct ctt_fold *f = &k->f;
    const int64_t *s = small ? f->small : f->large;
    int64_t c = small ? f->oc : f->ic;

    return (struct ctt_tensor){ .dtype = k->type, .n = f->n, .d = s[0],
                                .h = s[1], .w = s[2], .c = c, .ld = c };
}

static int64_t kernel_size(const struct ctt_fold *f)
{
    return f->oc * (f->ic / f->groups) * f->kernel[0] * f->kernel[1] *
           f->kernel[2];
}

/* Assigns memory; with block NULL only counts its bytes. */
static int64_t lay_operands(struct scene *s, int64_t workspace)
{
    const struct ctt_dnn_key *k = s->key;
    int small = k->f.way == CTT_TO_SMALL;
    struct ctt_tensor t[2] = { dense_image(k, 0), dense_image(k, 1) };
    int64_t size = (int64_t)ctt_dtype_size(k->type), at = 0;
    const int64_t bytes[CTT_DNN_UIDS] = {
        [CTT_DNN_LARGE] = ctt_volume(&t[0]) * size,
        [CTT_DNN_SMALL] = ctt_volume(&t[1]) * size,
        [CTT_DNN_KERNEL] = kernel_size(&k->f) * size,
        [CTT_DNN_PLUS] = k->plus ? ctt_volume(&t[small]) * size : 0,
        [CTT_DNN_BIAS] = k->bias ? t[small].c * (int64_t)sizeof(float) : 0,
    };

    for (int i = CTT_DNN_LARGE; i < CTT_DNN_UIDS; i++) {
        s->data[i] = s->block ? (char *)s->block + at : NULL;
        at += ctt_align(bytes[i], 256);
    }
    s->workspace = s->block ? (char *)s->block + at : NULL;
    s->result = s->plus = t[small];
    s->result.data = s->data[small ? CTT_DNN_SMALL : CTT_DNN_LARGE];
    s->plus.data = k->plus ? s->data[CTT_DNN_PLUS] : NULL;
    return at + workspace;
}

/* All numbers are alike and small; 0 if there is no memory. */
static int open_scene(struct scene *s, int64_t workspace, cudaStream_t stream)
{
    int64_t bytes = lay_operands(s, workspace);

    if (cudaMalloc(&s->block, (size_t)bytes) != cudaSuccess)
        return 0;
    lay_operands(s, workspace);
    return cudaMemsetAsync(s->block, 0x2c, (size_t)bytes, stream) ==
               cudaSuccess &&
           cudaEventCreate(&s->from) == cudaSuccess &&
           cudaEventCreate(&s->to) == cudaSuccess;
}

static void close_scene(struct scene *s)
{
    if (s->from)
        cudaEventDestroy(s->from);
    if (s->to)
        cudaEventDestroy(s->to);
    cudaFree(s->block);
    cudaGetLastError();
}

/* ---- times ---- */

static int run_trial(const struct ctt_lane *l, const struct scene *s,
                    const struct trial *t)
{
    const struct ctt_dnn_key *k = s->key;

    if (ctt_dnn_plan_run(l->dnn, t->p, s->data, s->workspace) !=
        CUDNN_STATUS_SUCCESS)
        return -1;
    return !t->finish ? 0
           : ctt_launch_finish(s->result, s->plus,
                               k->bias ? s->data[CTT_DNN_BIAS] : NULL, k->act,
                               s->result, l->stream);
}

static void time_round(const struct ctt_lane *l, const struct scene *s,
                       struct trial *t, int round)
{
    int bad = cudaEventRecord(s->from, l->stream) != cudaSuccess;

    for (int i = 0; i < RUNS; i++)
        bad |= run_trial(l, s, t) != 0;
    bad |= cudaEventRecord(s->to, l->stream) != cudaSuccess ||
           cudaEventSynchronize(s->to) != cudaSuccess ||
           cudaEventElapsedTime(&t->ms[round], s->from, s->to) != cudaSuccess;
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
    struct scene s = { .key = key };
    int64_t workspace = apart ? apart->room : 0;
    int all = count + (apart != NULL), best = 0;

    for (int i = 0; i < all; i++) {
        t[i].p = i < count ? p[i] : apart;
        t[i].finish = i == count;
        if (t[i].p->room > workspace)
            workspace = t[i].p->room;
    }
    *said = '\0';
    if (ctt_cuda_idle(ctt_cuda_of(d)) == cudaSuccess &&
        open_scene(&s, workspace, l->stream)) {
        for (int r = 0; r < ROUNDS; r++) {
            for (int i = 0; i < all; i++)
                if (!t[i].out)
                    time_round(l, &s, &t[i], r);
            if (r == 1)    /* the first one warms up */
                drop_slow(t, all, r);
        }
        best = fastest_of(t, all, said, room);
    }
    close_scene(&s);
    return best;
}
