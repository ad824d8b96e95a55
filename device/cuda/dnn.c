/* SPDX-License-Identifier: Apache-2.0
 * dnn.c: the provider "cudnn": conv and deconv by cuDNN.  A plan is made when a
 * shape is first seen, and shared by all calls, since cuDNN takes a second to
 * compile a fused one.  cuDNN gets dense tensors of one type: views and tensors
 * of other types are copied into scratch.  Any number of channels works without
 * padding.
 *
 * pool and norm use our own kernels, because cuDNN's differ.  Its batch norm
 * divides the running variance by n - 1, and has no engine for, say, 5
 * channels.  Its backward passes require numbers that our calls do not keep
 * from the forward pass (mean and deviation, or the index of the largest
 * value), and overwrite the gradients of weights instead of adding to them.
 * Forward pooling and the backward pass of mean pooling do match, but cost a
 * second of compilation each and gain nothing: they are limited by memory. */
#include "device/cuda/core.h"
#include "device/cuda/dnn_choose.h"
#include "device/cuda/kernels.h"
#include "base/half.h"

#include <string.h>

/* Plans per call: those of the last shapes.  SPARE: unused plans to keep for
 * later calls. */
enum { PLANS = 16, SPARE = 256 };

/* A call's cache; at: plans of the latest request for support. */
struct call_plans {
    struct ctt_dnn_plan *plan[PLANS];    /* most recently found first */
    struct ctt_dnn_plan *at[CTT_CONV_PARTS];
};

/* The plans of a device, shared by all calls. */
struct device_plans { struct ctt_dnn_plan *plans; };

/* ---- plans ---- */

static void let_go(struct ctt_dnn_plan *p)
{
    if (p)
        p->users--;
}

static void free_unused(struct device_plans *s)
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

/* Frees unused plans if there are too many.  Queued work and recorded graphs
 * may still run their kernels: waits first, and invalidates the graphs. */
static int limit_unused(struct ctt_cuda *u, struct device_plans *s)
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

static int find_plan(const struct ctt_conv_ask *q,
                     const struct ctt_dnn_key *key, struct ctt_dnn_plan **out);

/* The one that was kept, or a new one.  A fused one must be faster than the
 * plain convolution with a kernel for the rest, and so must one with `add`. */
static int make_plan(const struct ctt_conv_ask *q,
                     const struct ctt_dnn_key *key, struct ctt_dnn_plan **out)
{
    struct ctt_cuda *u = ctt_cuda_of(q->dev);
    const struct ctt_call *c = q->call;
    struct device_plans *s = q->state;
    struct ctt_dnn_plan *p = NULL, *apart = NULL;
    struct ctt_dnn_key plain = *key;
    int rc = 0;

    CTT_CHECK(!u->recording, CTT_EUNSUP,
              "%s: a new plan while a graph is recorded", c->node->name);
    CTT_TRY(limit_unused(u, s));
    p = ctt_dnn_kept(q->dev, key);
    plain.plus = plain.bias = plain.act = plain.add = 0;
    if (!p && memcmp(&plain, key, sizeof(plain)) != 0 &&
        ctt_dnn_is_timed(q->dev, key))
        CTT_TRY(find_plan(q, &plain, &apart));
    if (!p)
        CTT_TRY(ctt_dnn_choose(q->dev, c, key, apart && apart->exec ? apart
                                                                   : NULL,
                               &p));
    p->next = s->plans;
    s->plans = *out = p;
out:
    return rc;
}

static void keep_plan(struct call_plans *k, struct ctt_dnn_plan *p)
{
    p->users++;
    let_go(k->plan[PLANS - 1]);
    memmove(k->plan + 1, k->plan, (PLANS - 1) * sizeof(*k->plan));
    k->plan[0] = p;
}

/* Finds a plan among the call's, then the device's, or makes a new one. */
static int find_plan(const struct ctt_conv_ask *q,
                     const struct ctt_dnn_key *key, struct ctt_dnn_plan **out)
{
    struct ctt_dnn_plan *p = ((struct device_plans *)q->state)->plans;
    struct call_plans *k = *q->own;
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
    keep_plan(k, p);
    *out = p;
out:
    return rc;
}

/* ---- scratch ---- */

/* A tensor of the call, and cuDNN's: the same or, if moved, a dense one of the
 * right type at byte `at` of scratch. */
struct operand {
    struct ctt_tensor own, t;
    size_t            at;
    int               moved;
};

static size_t reserve_scratch(size_t *all, int64_t bytes)
{
    size_t at = *all;

    *all += (size_t)ctt_align(bytes, 256);
    return at;
}

static struct operand operand(const struct ctt_tensor *own,
                              enum ctt_dtype type, int move, size_t *all)
{
    struct operand p = { .own = *own, .t = *own };

    p.moved = move || own->ld != own->c || own->dtype != type ||
              (uintptr_t)own->data % 16 != 0;
    if (!p.moved)
        return p;
    p.t.dtype = type;
    p.t.ld = own->c;
    p.at = reserve_scratch(all, ctt_volume(own) * ctt_dtype_size(type));
    return p;
}

static int copy_tensor(struct ctt_dev *d, const struct ctt_call *c,
                       struct ctt_tensor from, struct ctt_tensor to, int add)
{
    int rc = 0;

    CTT_CUDA(c, (cudaError_t)ctt_launch_copy(from, to, add,
                                             ctt_cuda_lane(d)->stream));
out:
    return rc;
}

/* Sets the addresses of moved operands and fills the first `read` of them. */
static int place_operands(struct ctt_dev *d, const struct ctt_call *c,
                          char *scratch, struct operand *p, int count, int read)
{
    int rc = 0;

    for (int i = 0; i < count; i++) {
        if (!p[i].moved)
            continue;
        p[i].t.data = scratch + p[i].at;
        if (i < read)
            CTT_TRY(copy_tensor(d, c, p[i].own, p[i].t, 0));
    }
out:
    return rc;
}

/* ---- images: y = conv x or its adjoint ---- */

struct image_conv {
    enum ctt_conv_way way;
    enum ctt_dtype    type;          /* of the computation */
    struct ctt_tensor x, y, plus;    /* plus.data NULL: none */
    float            *bias;          /* or NULL */
    int               act, add;
};

/* The type of a forward call's products: that of a 16-bit result; or the one to
 * which the call may round them, in floats by default. */
static enum ctt_dtype products_of(const struct ctt_call *c)
{
    return c->out.dtype == CTT_F16 || c->out.dtype == CTT_BF16 ? c->out.dtype
                                                               : c->mul;
}

/* 1 if a graph may add to t: a view would be copied twice. */
static int sums_in_place(const struct ctt_tensor *t, enum ctt_dtype type)
{
    return t->ld == t->c && t->dtype == type && (uintptr_t)t->data % 16 == 0;
}

/* Arguments of a part; for the gradient of the weights way, type and add. */
static struct image_conv conv_of(const struct ctt_conv_ask *q)
{
    const struct ctt_call *c = q->call;
    int up = c->node->op == CTT_OP_DECONV;
    struct image_conv m = {
        .way = up ? CTT_TO_LARGE : CTT_TO_SMALL, .type = products_of(c),
        .x = c->in[0], .y = c->out, .bias = c->w[1].t.data, .act = c->act,
    };

    if (q->part == CTT_CONV_DW)
        return (struct image_conv){
            .way = CTT_TO_WEIGHTS, .type = c->dout.dtype,
            .add = !c->sets && sums_in_place(&c->dw[0], c->dout.dtype),
        };
    if (q->part == CTT_CONV_DIN) {
        m = (struct image_conv){
            .way = up ? CTT_TO_SMALL : CTT_TO_LARGE, .type = c->dout.dtype,
            .x = c->dout, .y = c->din[0],
        };
        if (c->add & 1 && sums_in_place(&m.y, m.type))
            m.plus = m.y;
        else
            m.add = c->add & 1;
        return m;
    }
    if (c->node->plus)
        m.plus = c->in[1];
    return m;
}

/* Finds a plan with plus, bias, act and add; without them if no engine can. */
static int choose_plan(const struct ctt_conv_ask *q, const struct image_conv *m,
                       struct ctt_dnn_plan **p)
{
    struct ctt_dnn_key key = ctt_dnn_key(q->call, m->way, m->type);
    int rc = 0;

    key.plus = m->plus.data != NULL;
    key.bias = m->bias != NULL;
    key.act = ctt_dnn_takes_act(m->act) ? m->act : 0;
    key.add = m->way == CTT_TO_WEIGHTS && m->add;
    key.deterministic = q->dev->deterministic;
    key.tf32 = m->type == CTT_F32 && q->dev->tf32;
    CTT_TRY(find_plan(q, &key, p));
    if (!(*p)->exec && (key.plus || key.bias || key.act || key.add)) {
        key.plus = key.bias = key.act = key.add = 0;
        CTT_TRY(find_plan(q, &key, p));
    }
    CTT_CHECK((*p)->exec, CTT_EUNSUP,
              "%s: cuDNN has no engine for this convolution in %s",
              q->call->node->name, ctt_dtype_word(m->type));
out:
    return rc;
}

/* Computes the steps that the plan has not fused; y: its result. */
static int run_unfused(struct ctt_dev *d, const struct ctt_call *c,
                       const struct ctt_dnn_plan *p, const struct image_conv *m,
                       const struct ctt_tensor *y)
{
    struct ctt_tensor plus = m->plus;
    int rc = 0;

    if (p->key.plus)
        plus.data = NULL;
    CTT_CUDA(c, (cudaError_t)ctt_launch_finish(
        *y, plus, p->key.bias ? NULL : m->bias, p->key.act ? 0 : m->act, m->y,
        ctt_cuda_lane(d)->stream));
out:
    return rc;
}

enum { X, W, PLUS, Y, PARTS };

/* Assigns scratch to operands; returns its bytes.  The result must go to
 * scratch first if it is added to y, and if plus is y itself, unless the plan
 * adds that, right in place. */
static size_t divide_scratch(const struct ctt_call *c,
                             const struct image_conv *m,
                             const struct ctt_dnn_plan *p,
                             struct operand o[PARTS], size_t *room)
{
    int later = m->add || (m->plus.data == m->y.data &&
                           !(p->key.plus && p->in_place > 0));
    size_t all = 0;

    o[X] = operand(&m->x, m->type, 0, &all);
    o[W] = operand(&c->w[0].t, m->type, 0, &all);
    o[PLUS] = (struct operand){ .own = m->plus };
    if (p->key.plus)
        o[PLUS] = operand(&m->plus, m->type, 0, &all);
    o[Y] = operand(&m->y, m->type, later, &all);
    *room = reserve_scratch(&all, p->room);
    return all;
}

static int run_images(const struct ctt_conv_ask *q, struct ctt_dnn_plan *p,
                    const struct image_conv *m)
{
    int small = m->way == CTT_TO_SMALL, rc = 0;
    const struct ctt_call *c = q->call;
    struct ctt_dev *d = q->dev;
    struct operand o[PARTS];
    void *scratch = NULL, *data[CTT_DNN_UIDS] = { NULL };
    size_t room, all;

    all = divide_scratch(c, m, p, o, &room);
    if (all)
        CTT_TRY(ctt_cuda_scratch(d, c, all, &scratch));
    CTT_TRY(place_operands(d, c, scratch, o, PARTS, Y));
    data[small ? CTT_DNN_LARGE : CTT_DNN_SMALL] = o[X].t.data;
    data[small ? CTT_DNN_SMALL : CTT_DNN_LARGE] = o[Y].t.data;
    data[CTT_DNN_KERNEL] = o[W].t.data;
    data[CTT_DNN_PLUS] = o[PLUS].t.data;
    data[CTT_DNN_BIAS] = m->bias;
    CTT_CUDNN(c, ctt_dnn_plan_run(ctt_cuda_lane(d)->dnn, p, data,
                                  (char *)scratch + room));
    if ((m->plus.data && !p->key.plus) || (m->bias && !p->key.bias) ||
        (m->act && !p->key.act))
        CTT_TRY(run_unfused(d, c, p, m, &o[Y].t));
    else if (o[Y].moved)
        CTT_TRY(copy_tensor(d, c, o[Y].t, m->y, m->add));
out:
    return rc;
}

/* ---- weights ---- */

/* cuDNN's result has the type of the images (cuDNN 9.19 has no engine for one
 * in fp32 of images in 16 bits).  A gradient of that type it writes or, if an
 * engine can, adds to; otherwise it is copied or added from scratch. */
static int run_weights(const struct ctt_conv_ask *q, struct ctt_dnn_plan *p,
                       enum ctt_dtype type)
{
    const struct ctt_call *c = q->call;
    struct ctt_dev *d = q->dev;
    int up = c->node->op == CTT_OP_DECONV, rc = 0;
    struct operand o[3];
    void *scratch = NULL, *data[CTT_DNN_UIDS] = { NULL };
    size_t all = 0, room;

    o[0] = operand(up ? &c->dout : &c->in[0], type, 0, &all);
    o[1] = operand(up ? &c->in[0] : &c->dout, type, 0, &all);
    o[2] = operand(&c->dw[0], type, !c->sets && !p->key.add, &all);
    room = reserve_scratch(&all, p->room);
    if (all)
        CTT_TRY(ctt_cuda_scratch(d, c, all, &scratch));
    CTT_TRY(place_operands(d, c, scratch, o, 3, 2));
    data[CTT_DNN_LARGE] = o[0].t.data;
    data[CTT_DNN_SMALL] = o[1].t.data;
    data[CTT_DNN_KERNEL] = o[2].t.data;
    CTT_CUDNN(c, ctt_dnn_plan_run(ctt_cuda_lane(d)->dnn, p, data,
                                  (char *)scratch + room));
    if (o[2].moved)
        CTT_TRY(copy_tensor(d, c, o[2].t, c->dw[0], !c->sets));
out:
    return rc;
}

/* ---- the provider ---- */

static int open_plans(struct ctt_dev *d, void **state)
{
    (void)d;
    *state = ctt_calloc(1, sizeof(struct device_plans));
    return *state ? 0 : ctt_error(CTT_ENOMEM, "device cuda: out of memory");
}

/* Called after all calls have freed their caches: every plan is unused. */
static void close_plans(void *state)
{
    free_unused(state);
    ctt_free(state);
}

/* cuDNN is the last provider: a conv that it cannot compute is an error. */
static int cudnn_supports(struct ctt_conv_ask *q)
{
    struct image_conv m = conv_of(q);
    struct call_plans *k;
    int rc = 0;

    CTT_TRY((k = ctt_conv_own(q, sizeof(*k))) ? 0 : CTT_ENOMEM);
    CTT_TRY(choose_plan(q, &m, &k->at[q->part]));
    rc = 1;
out:
    return rc;
}

static int cudnn_run(struct ctt_conv_ask *q)
{
    const struct call_plans *k = *q->own;
    struct ctt_dnn_plan *p = k->at[q->part];
    struct image_conv m = conv_of(q);

    q->code = p->impl;
    return q->part == CTT_CONV_DW ? run_weights(q, p, m.type)
                                  : run_images(q, p, &m);
}

static void cudnn_free(void *own)
{
    struct call_plans *k = own;

    for (int i = 0; i < PLANS; i++)
        let_go(k->plan[i]);
    ctt_free(k);
}

const struct ctt_conv_provider ctt_conv_cudnn = {
    .name = "cudnn", .int8 = 1, .any_threads = 1, .open = open_plans,
    .close = close_plans, .can = cudnn_supports, .run = cudnn_run,
    .forget = cudnn_free,
};
