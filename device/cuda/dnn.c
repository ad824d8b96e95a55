/* SPDX-License-Identifier: Apache-2.0
 * dnn.c: the provider "cudnn": conv and deconv by cuDNN.  What a call needs is
 * prepared when its shape is seen first; plans are shared by all calls, since
 * cuDNN compiles a fused one for a second.  cuDNN gets dense tensors of one
 * type: views, and what is of another type, are copied into scratch.  Channels
 * need no padding: engines take any number of them.
 *
 * pool and norm stay with our own kernels, because what cuDNN has is not what
 * these ops are.  Its running variance of a batch norm is that of n - 1, and it
 * has no engine for, say, 5 channels.  Its backward passes want what a call
 * does not keep from the forward pass: mean and deviation, or which value was
 * the largest; they write the gradients of weights, which are to be added.
 * What matches, pools forward and the mean back, it would compile for a second
 * each, to no gain: they only move memory.
 */
#include "device/cuda/core.h"
#include "device/cuda/dnn_plan.h"
#include "device/cuda/kernels.h"
#include "net/half.h"

#include <string.h>

/* A call that sees ever new shapes keeps the plans of the last few.  So many
 * plans that no call keeps stay for the next that wants them. */
enum { PLANS = 16, SPARE = 256 };

/* What stands in a call's cache; at: the plans that can() found. */
struct cache {
    struct ctt_dnn_plan *plan[PLANS];    /* the last found first */
    struct ctt_dnn_plan *at[CTT_CONV_PARTS];
};

/* What stands in the device: the plans, which calls share. */
struct shared { struct ctt_dnn_plan *plans; };

/* ---- plans ---- */

static void let_go(struct ctt_dnn_plan *p)
{
    if (p)
        p->users--;
}

static void free_unused(struct shared *s)
{
    for (struct ctt_dnn_plan **at = &s->plans, *p; (p = *at);) {
        if (p->users > 0) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        ctt_dnn_plan_free(&p);
    }
}

/* A plan holds the code of its kernels, which work under way and recorded work
 * may still run. */
static int sweep(struct ctt_cuda *u, struct shared *s)
{
    int unused = 0, rc = 0;

    for (const struct ctt_dnn_plan *p = s->plans; p; p = p->next)
        unused += p->users == 0;
    if (unused < SPARE)
        goto out;
    CTT_CUDA(NULL, ctt_cuda_idle(u));
    u->core->moved++;
    free_unused(s);
out:
    return rc;
}

/* Engines that were tried and refused may leave an error behind, which is not
 * the next kernel's. */
static int make_plan(const struct ctt_conv_ask *q,
                     const struct ctt_dnn_key *key, struct ctt_dnn_plan **out)
{
    struct ctt_dnn_site site = { .handle = ctt_cuda_lane(q->dev)->dnn };
    struct ctt_cuda *u = ctt_cuda_of(q->dev);
    const struct ctt_call *c = q->call;
    struct shared *s = q->state;
    struct ctt_dnn_plan *p = NULL;
    int rc = 0;

    CTT_CHECK(!u->recording, CTT_EUNSUP,
              "%s: a new plan while work is recorded", c->node->name);
    CTT_TRY(sweep(u, s));
    CTT_CUDNN(c, ctt_dnn_plan_new(&site, key, &p));
    cudaGetLastError();
    p->next = s->plans;
    s->plans = *out = p;
out:
    return rc;
}

static void keep(struct cache *k, struct ctt_dnn_plan *p)
{
    p->users++;
    let_go(k->plan[PLANS - 1]);
    memmove(k->plan + 1, k->plan, (PLANS - 1) * sizeof(*k->plan));
    k->plan[0] = p;
}

/* From the call's plans, from those of other calls, or a new one. */
static int find_plan(const struct ctt_conv_ask *q,
                     const struct ctt_dnn_key *key, struct ctt_dnn_plan **out)
{
    struct ctt_dnn_plan *p = ((struct shared *)q->state)->plans;
    struct cache *k = *q->own;
    int rc = 0;

    for (int i = 0; i < PLANS && k->plan[i]; i++)
        if (memcmp(&k->plan[i]->key, key, sizeof(*key)) == 0) {
            *out = k->plan[i];
            return 0;
        }
    while (p && memcmp(&p->key, key, sizeof(*key)) != 0)
        p = p->next;
    if (!p)
        CTT_TRY(make_plan(q, key, &p));
    keep(k, p);
    *out = p;
out:
    return rc;
}

/* ---- scratch ---- */

/* A tensor of the call, and as cuDNN takes it: itself, or a dense one of the
 * right type at `at` in scratch. */
struct part {
    struct ctt_tensor own, t;
    size_t            at;
    int               moved;
};

static size_t take(size_t *all, int64_t bytes)
{
    size_t at = *all;

    *all += (size_t)ctt_align(bytes, 256);
    return at;
}

static struct part part(const struct ctt_tensor *own, enum ctt_dtype type,
                        int move, size_t *all)
{
    struct part p = { .own = *own, .t = *own };

    p.moved = move || own->ld != own->c || own->dtype != type ||
              (uintptr_t)own->data % 16 != 0;
    if (!p.moved)
        return p;
    p.t.dtype = type;
    p.t.ld = own->c;
    p.at = take(all, ctt_volume(own) * ctt_dtype_size(type));
    return p;
}

static int copy(struct ctt_dev *d, const struct ctt_call *c,
                struct ctt_tensor from, struct ctt_tensor to, int add)
{
    int rc = 0;

    CTT_CUDA(c, (cudaError_t)ctt_launch_copy(from, to, add,
                                             ctt_cuda_lane(d)->stream));
out:
    return rc;
}

/* Gives the parts their memory; read: the first so many are filled. */
static int settle(struct ctt_dev *d, const struct ctt_call *c, char *scratch,
                  struct part *p, int count, int read)
{
    int rc = 0;

    for (int i = 0; i < count; i++) {
        if (!p[i].moved)
            continue;
        p[i].t.data = scratch + p[i].at;
        if (i < read)
            CTT_TRY(copy(d, c, p[i].own, p[i].t, 0));
    }
out:
    return rc;
}

/* ---- y = conv x or its adjoint ---- */

struct move {
    enum ctt_conv_way way;
    enum ctt_dtype    type;          /* it is computed in */
    struct ctt_tensor x, y, plus;    /* plus.data NULL: none */
    float            *bias;          /* or NULL */
    int               act, add;
};

/* The move that a part is; that of the weights has only a type. */
static struct move move_of(const struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    int up = c->node->op == CTT_OP_DECONV;
    struct move m = {
        .way = up ? CTT_TO_LARGE : CTT_TO_SMALL, .type = c->out.dtype,
        .x = c->in[0], .y = c->out, .bias = c->w[1].t.data, .act = c->act,
    };

    if (q->part == CTT_CONV_DW)
        return (struct move){ .way = CTT_TO_WEIGHTS, .type = c->dout.dtype };
    if (q->part == CTT_CONV_DIN)
        return (struct move){
            .way = up ? CTT_TO_SMALL : CTT_TO_LARGE, .type = c->dout.dtype,
            .x = c->dout, .y = c->din[0], .add = c->add & 1,
        };
    if (c->node->plus)
        m.plus = c->in[1];
    return m;
}

/* With all that is done to the result if an engine can, else without. */
static int choose(const struct ctt_conv_ask *q, const struct move *m,
                  struct ctt_dnn_plan **p)
{
    struct ctt_dnn_key key = ctt_dnn_key(q->call, m->way, m->type);
    int rc = 0;

    key.plus = m->plus.data != NULL;
    key.bias = m->bias != NULL;
    key.act = m->act;
    key.deterministic = q->dev->deterministic;
    CTT_TRY(find_plan(q, &key, p));
    if (!(*p)->exec && (key.plus || key.bias || key.act)) {
        key.plus = key.bias = key.act = 0;
        CTT_TRY(find_plan(q, &key, p));
    }
    CTT_CHECK((*p)->exec, CTT_EUNSUP,
              "%s: cuDNN has no engine for this convolution in %s",
              q->call->node->name, ctt_dtype_word(m->type));
out:
    return rc;
}

/* What the plan left undone. */
static int finish(struct ctt_dev *d, const struct ctt_call *c,
                  const struct move *m, const struct ctt_tensor *y)
{
    int rc = 0;

    CTT_CUDA(c, (cudaError_t)ctt_launch_finish(*y, m->plus, m->bias, m->act,
                                               m->y, ctt_cuda_lane(d)->stream));
out:
    return rc;
}

enum { X, W, PLUS, Y, PARTS };

/* Cuts up the scratch.  A result that something is still done with must not
 * take the place of what that needs. */
static size_t cut(const struct ctt_call *c, const struct move *m,
                  const struct ctt_dnn_plan *p, struct part part_of[PARTS],
                  size_t *room)
{
    int later = m->add || (!p->key.plus && m->plus.data == m->y.data);
    size_t all = 0;

    part_of[X] = part(&m->x, m->type, 0, &all);
    part_of[W] = part(&c->w[0].t, m->type, 0, &all);
    part_of[PLUS] = (struct part){ .own = m->plus };
    if (p->key.plus)
        part_of[PLUS] = part(&m->plus, m->type, 0, &all);
    part_of[Y] = part(&m->y, m->type, later, &all);
    *room = take(&all, p->room);
    return all;
}

static int run_move(const struct ctt_conv_ask *q, struct ctt_dnn_plan *p,
                    const struct move *m)
{
    int small = m->way == CTT_TO_SMALL, rc = 0;
    const struct ctt_call *c = q->call;
    struct ctt_dev *d = q->dev;
    struct part part_of[PARTS];
    void *scratch = NULL, *data[CTT_DNN_UIDS] = { NULL };
    size_t room, all;

    all = cut(c, m, p, part_of, &room);
    if (all)
        CTT_TRY(ctt_cuda_scratch(d, c, all, &scratch));
    CTT_TRY(settle(d, c, scratch, part_of, PARTS, Y));
    data[small ? CTT_DNN_LARGE : CTT_DNN_SMALL] = part_of[X].t.data;
    data[small ? CTT_DNN_SMALL : CTT_DNN_LARGE] = part_of[Y].t.data;
    data[CTT_DNN_KERNEL] = part_of[W].t.data;
    data[CTT_DNN_PLUS] = part_of[PLUS].t.data;
    data[CTT_DNN_BIAS] = m->bias;
    CTT_CUDNN(c, ctt_dnn_plan_run(ctt_cuda_lane(d)->dnn, p, data,
                                  (char *)scratch + room));
    if ((m->plus.data && !p->key.plus) || (m->bias && !p->key.bias) ||
        (m->act && !p->key.act))
        CTT_TRY(finish(d, c, m, &part_of[Y].t));
    else if (part_of[Y].moved)
        CTT_TRY(copy(d, c, part_of[Y].t, m->y, m->add));
out:
    return rc;
}

/* ---- weights ---- */

/* An engine's result has the type of the images; the sum over the calls is made
 * in floats. */
static int run_weights(const struct ctt_conv_ask *q, struct ctt_dnn_plan *p,
                       enum ctt_dtype type)
{
    const struct ctt_call *c = q->call;
    struct ctt_dev *d = q->dev;
    int up = c->node->op == CTT_OP_DECONV, rc = 0;
    struct part part_of[3];
    void *scratch, *data[CTT_DNN_UIDS] = { NULL };
    size_t all = 0, room;

    part_of[0] = part(up ? &c->dout : &c->in[0], type, 0, &all);
    part_of[1] = part(up ? &c->in[0] : &c->dout, type, 0, &all);
    part_of[2] = part(&c->dw[0], type, 1, &all);
    room = take(&all, p->room);
    CTT_TRY(ctt_cuda_scratch(d, c, all, &scratch));
    CTT_TRY(settle(d, c, scratch, part_of, 3, 2));
    data[CTT_DNN_LARGE] = part_of[0].t.data;
    data[CTT_DNN_SMALL] = part_of[1].t.data;
    data[CTT_DNN_KERNEL] = part_of[2].t.data;
    CTT_CUDNN(c, ctt_dnn_plan_run(ctt_cuda_lane(d)->dnn, p, data,
                                  (char *)scratch + room));
    CTT_TRY(copy(d, c, part_of[2].t, c->dw[0], 1));
out:
    return rc;
}

/* ---- the provider ---- */

static int open_plans(struct ctt_dev *d, void **state)
{
    (void)d;
    *state = ctt_calloc(1, sizeof(struct shared));
    return *state ? 0 : ctt_error(CTT_ENOMEM, "device cuda: out of memory");
}

/* By then every call has been forgotten. */
static void close_plans(void *state)
{
    free_unused(state);
    ctt_free(state);
}

/* What cuDNN cannot do nobody can: that is an error. */
static int can(struct ctt_conv_ask *q)
{
    struct move m = move_of(q);
    struct cache *k;
    int rc = 0;

    CTT_TRY((k = ctt_conv_own(q, sizeof(*k))) ? 0 : CTT_ENOMEM);
    CTT_TRY(choose(q, &m, &k->at[q->part]));
    rc = 1;
out:
    return rc;
}

static int run(struct ctt_conv_ask *q)
{
    const struct cache *k = *q->own;
    struct ctt_dnn_plan *p = k->at[q->part];
    struct move m = move_of(q);

    q->code = p->impl;
    return q->part == CTT_CONV_DW ? run_weights(q, p, m.type)
                                  : run_move(q, p, &m);
}

static void forget(void *own)
{
    struct cache *k = own;

    for (int i = 0; i < PLANS; i++)
        let_go(k->plan[i]);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_cudnn = {
    .name = "cudnn", .any_threads = 1, .open = open_plans,
    .close = close_plans, .can = can, .run = run, .forget = forget,
};
