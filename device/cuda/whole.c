/* SPDX-License-Identifier: Apache-2.0
 * whole.c: the provider "int8": convs of quantised values that are bytes.
 * cuDNN sums whole numbers on tensor cores, our kernel makes results of the
 * sums; where cuDNN has no engine, and for few channels a group, for which it
 * has none on tensor cores, our kernel sums, too. */
#include "device/cuda/core.h"
#include "device/cuda/dnn_plan.h"
#include "device/cuda/kernels.h"
#include "base/half.h"

#include <string.h>

/* Channels of a group from which on cuDNN sums. */
enum { GROUP = 8 };

/* The weights of a conv in 8 bits, shared by all calls that read the same
 * floats. */
struct packed {
    struct packed   *next;
    int              users;
    const void      *w;
    uint64_t         stamp;
    int64_t          count;
    float            scale;
    struct ctt_whole in;    /* q begins its memory */
};

/* Of a device; its plans stay until it is closed. */
struct whole_state { struct ctt_dnn_plan *plans; struct packed *packed; };

/* A call's cache. */
struct whole_call {
    struct whole_state  *state;
    struct ctt_dnn_plan *plan;
    struct packed       *packed;
};

/* ---- plans ---- */

/* Sums in floats are whole if none reaches 2^24; more engines write floats. */
static int sums_fit_floats(const struct ctt_call *c)
{
    return ctt_volume(&c->w[0].t) / c->w[0].t.n * 128 * 127 < 1 << 24;
}

static int find_sums(const struct ctt_conv_ask *q, struct ctt_dnn_plan **out)
{
    struct ctt_dnn_key key = ctt_dnn_key(q->call, CTT_TO_SMALL, CTT_I8);
    const struct cudaDeviceProp *gpu = &ctt_cuda_of(q->dev)->prop;
    struct ctt_dnn_site site = { .handle = ctt_cuda_lane(q->dev)->dnn,
                                 .capability = 10 * gpu->major + gpu->minor };
    struct whole_state *s = q->state;
    struct ctt_dnn_plan *p = s->plans;
    int rc = 0;

    key.sums = sums_fit_floats(q->call) ? CTT_F32 : CTT_I32;
    while (p && memcmp(&p->key, &key, sizeof(key)) != 0)
        p = p->next;
    if (!p) {
        CTT_CHECK(!ctt_cuda_of(q->dev)->recording, CTT_EUNSUP,
                  "%s: a new plan while a graph is recorded",
                  q->call->node->name);
        CTT_CUDNN(q->call, ctt_dnn_plan_new(&site, &key, &p));
        cudaGetLastError();    /* of a refused engine */
        p->next = s->plans;
        s->plans = p;
    }
    *out = p;
out:
    return rc;
}

/* ---- weights ---- */

static int same_weights(const struct packed *p, const struct ctt_call *c)
{
    return p->w == c->w[0].t.data && c->stamp && p->stamp == c->stamp &&
           p->count == ctt_volume(&c->w[0].t) && p->scale == c->in[0].scale;
}

static int new_packed(const struct ctt_conv_ask *q, struct packed **out)
{
    const struct ctt_call *c = q->call;
    const struct ctt_tensor *w = &c->w[0].t;
    int64_t n = ctt_align(ctt_volume(w), 64), taps = w->d * w->h * w->w;
    struct packed *p = ctt_calloc(1, sizeof(*p));
    void *room;
    int rc = 0;

    *out = p;
    CTT_CHECK(p, CTT_ENOMEM, "%s: out of memory", c->node->name);
    CTT_CHECK(!ctt_cuda_of(q->dev)->recording, CTT_EUNSUP,
              "%s: new weights while a graph is recorded", c->node->name);
    p->w = w->data;
    p->stamp = c->stamp;
    p->count = ctt_volume(w);
    p->scale = c->in[0].scale;
    CTT_TRY(ctt_cuda_malloc("weights in 8 bits", n + 4 * w->n * (taps + 2),
                            &room));
    p->in.q = room;
    p->in.factor = (float *)(void *)(p->in.q + n);
    p->in.part = (int32_t *)(p->in.factor + w->n);
    CTT_CUDA(c, (cudaError_t)ctt_launch_whole_weights(
                    c, p->in, ctt_cuda_lane(q->dev)->stream));
out:
    return rc;
}

/* Waits for kernels that read it. */
static void free_packed(struct packed *p)
{
    if (p)
        cudaFree(p->in.q);
    ctt_free(p);
}

/* The call lets go of its weights; the last one frees them. */
static void drop_packed(struct whole_state *s, struct packed **mine)
{
    struct packed **at = &s->packed, *p = *mine;

    *mine = NULL;
    if (!p || --p->users > 0)
        return;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    free_packed(p);
}

static int find_packed(const struct ctt_conv_ask *q, struct packed **mine)
{
    struct whole_state *s = q->state;
    struct packed *p = NULL;
    int rc = 0;

    if (*mine && same_weights(*mine, q->call))
        goto out;
    drop_packed(s, mine);
    p = s->packed;
    while (p && !same_weights(p, q->call))
        p = p->next;
    if (!p) {
        CTT_TRY(new_packed(q, &p));
        p->next = s->packed;
        s->packed = p;
    }
    p->users++;
    *mine = p;
    p = NULL;
out:
    if (rc < 0)
        free_packed(p);
    return rc;
}

/* ---- the provider ---- */

static int open_whole(struct ctt_dev *d, void **state)
{
    (void)d;
    *state = ctt_calloc(1, sizeof(struct whole_state));
    return *state ? 0 : ctt_error(CTT_ENOMEM, "device cuda: out of memory");
}

static void close_whole(void *state)
{
    struct whole_state *s = state;

    for (struct ctt_dnn_plan *p; (p = s->plans);) {
        s->plans = p->next;
        ctt_dnn_plan_free(&p);
    }
    ctt_free(s);
}

static int whole_supports(struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    int64_t groups = ctt_call_groups(c);
    struct whole_call *k;
    int rc = 0;

    if (q->part != CTT_CONV_OUT || !ctt_is_bytes(&c->in[0])) {
        q->why = "reads no bytes";
        goto out;
    }
    CTT_TRY((k = ctt_conv_own(q, sizeof(*k))) ? 0 : CTT_ENOMEM);
    k->state = q->state;
    CTT_TRY(find_packed(q, &k->packed));
    k->plan = NULL;
    if (groups == 1 || c->in[0].c / groups >= GROUP)
        CTT_TRY(find_sums(q, &k->plan));
    rc = 1;
out:
    return rc;
}

/* Sums by cuDNN, in scratch. */
static int sum_by_cudnn(const struct ctt_conv_ask *q, struct ctt_dnn_plan *p,
                        int8_t *w, void **sums)
{
    const struct ctt_call *c = q->call;
    struct ctt_tensor x = c->in[0];
    int moves = x.ld != x.c || (uintptr_t)x.data % 16 != 0, rc = 0;
    size_t n = (size_t)ctt_align(4 * ctt_volume(&c->out), 256);
    size_t all = n + (size_t)ctt_align(moves ? ctt_volume(&x) : 0, 256);
    void *data[CTT_DNN_UIDS] = { NULL };

    CTT_TRY(ctt_cuda_scratch(q->dev, c, all + (size_t)p->room, sums));
    if (moves) {
        x.data = (char *)*sums + n;
        x.ld = x.c;
        CTT_CUDA(c, (cudaError_t)ctt_launch_copy(
                        c->in[0], x, 0, ctt_cuda_lane(q->dev)->stream));
    }
    data[CTT_DNN_LARGE] = x.data;
    data[CTT_DNN_SMALL] = *sums;
    data[CTT_DNN_KERNEL] = w;
    CTT_CUDNN(c, ctt_dnn_plan_run(ctt_cuda_lane(q->dev)->dnn, p, data,
                                  (char *)*sums + all));
out:
    return rc;
}

static int whole_run(struct ctt_conv_ask *q)
{
    struct whole_call *k = *q->own;
    struct ctt_dnn_plan *p = k->plan && k->plan->exec ? k->plan : NULL;
    const struct ctt_call *c = q->call;
    void *sums = NULL;
    int rc = 0;

    q->code = p ? p->impl : "direct";
    if (p)
        CTT_TRY(sum_by_cudnn(q, p, k->packed->in.q, &sums));
    CTT_CUDA(c, (cudaError_t)ctt_launch_whole_result(
                    c, k->packed->in, sums, p && p->key.sums == CTT_F32,
                    ctt_cuda_lane(q->dev)->stream));
out:
    return rc;
}

static void whole_forget(void *own)
{
    struct whole_call *k = own;

    drop_packed(k->state, &k->packed);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_whole = {
    .name = "int8", .int8 = 1, .any_threads = 1, .open = open_whole,
    .close = close_whole, .can = whole_supports, .run = whole_run,
    .forget = whole_forget,
};
