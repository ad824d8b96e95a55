/* SPDX-License-Identifier: Apache-2.0
 * onednn_plan.c: making the primitives of a convolution and their memory. */
#include "device/cpu/conv/onednn/onednn_plan.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

/* State during the making of a plan. */
struct making {
    const struct ctt_onednn     *o;
    const struct ctt_fold       *f;
    const struct ctt_plan_key   *key;
    struct ctt_plan             *p;     /* the plan */
    int                          nd;    /* dimensions of a tensor */
    struct dnnl_slide            slide;
    MD                           large, small, any, sums, plain, bias;
    dnnl_primitive_attr_t        attr, sum;
    dnnl_post_ops_t              post, post_sum;
    dnnl_primitive_desc_t        hint, pd, reorder;
};

static void free_making(struct making *m)
{
    MD *md[] = { &m->large, &m->small, &m->any, &m->sums, &m->plain,
                 &m->bias };
    dnnl_primitive_desc_t pd[] = { m->hint, m->pd, m->reorder };

    for (size_t i = 0; i < CTT_LEN(md); i++)
        md_free(md[i]);
    for (size_t i = 0; i < CTT_LEN(pd); i++)
        if (pd[i])
            dnnl_primitive_desc_destroy(pd[i]);
    if (m->post)
        dnnl_post_ops_destroy(m->post);
    if (m->post_sum)
        dnnl_post_ops_destroy(m->post_sum);
    if (m->attr)
        dnnl_primitive_attr_destroy(m->attr);
    if (m->sum)
        dnnl_primitive_attr_destroy(m->sum);
}

static dnnl_data_type_t value_type(const struct making *m)
{
    return m->key->type == CTT_BF16 ? dnnl_bf16 : dnnl_f32;
}

static int tensor_md(const struct making *m, int64_t c, const int64_t *size,
                     MD *md)
{
    const struct ctt_fold *f = m->f;
    dnnl_dims_t dims = { f->n, c };
    int rc = 0;

    for (int i = 0; i < f->axes; i++)
        dims[2 + i] = size[3 - f->axes + i];
    CTT_DNNL(md_by_tag(md, m->nd, dims, value_type(m),
                       m->nd == 4 ? dnnl_nhwc : dnnl_ndhwc));
out:
    return rc;
}

/* With groups, oneDNN's weights have one axis more, the first. */
static int weights_md(struct making *m)
{
    const struct ctt_fold *f = m->f;
    int64_t g = f->groups, oc = f->oc / g, ic = f->ic / g;
    dnnl_dims_t dims = { g, oc, ic };
    dnnl_dims_t steps = { oc * f->step_oc, f->step_oc, f->step_ic };
    dnnl_dims_t bias = { f->oc };
    int64_t step = f->step_tap, first = g == 1;
    int rc = 0;

    for (int i = f->axes - 1; i >= 0; i--) {
        dims[3 + i] = f->kernel[3 - f->axes + i];
        steps[3 + i] = step;
        step *= dims[3 + i];
    }
    CTT_DNNL(md_by_strides(&m->plain, m->nd + !first, dims + first,
                           f->way == CTT_TO_WEIGHTS ? dnnl_f32 : value_type(m),
                           steps + first));
    CTT_DNNL(md_by_tag(&m->any, m->nd + !first, dims + first,
                       value_type(m), dnnl_format_tag_any));
    CTT_DNNL(md_by_tag(&m->sums, m->nd + !first, dims + first,
                       dnnl_f32, dnnl_format_tag_any));
    CTT_DNNL(md_by_tag(&m->bias, 1, bias, dnnl_f32, dnnl_a));
out:
    return rc;
}

/* Kind 0: both versions of the interface have none; finish() computes it. */
static const struct { dnnl_alg_kind_t kind; float alpha, beta; }
acts[CTT_ACT_KINDS] = {
    [CTT_ACT_RELU] = { dnnl_eltwise_relu, 0, 0 },
    [CTT_ACT_SIGMOID] = { dnnl_eltwise_logistic, 0, 0 },
    [CTT_ACT_TANH] = { dnnl_eltwise_tanh, 0, 0 },
    [CTT_ACT_RELU6] = { dnnl_eltwise_clip, 0, 6 },
    [CTT_ACT_SILU] = { dnnl_eltwise_swish, 1, 0 },
    [CTT_ACT_GELU] = { dnnl_eltwise_gelu_erf, 0, 0 },
};

int ctt_plan_takes_act(int act)
{
    return act == 0 || acts[act - 1].kind;
}

static int attributes(struct making *m, int sums)
{
    int act = m->key->act - 1;
    int rc = 0;

    CTT_DNNL(dnnl_primitive_attr_create(&m->attr));
    CTT_DNNL(dnnl_primitive_attr_set_scratchpad_mode(
        m->attr, dnnl_scratchpad_mode_user));
    CTT_DNNL(dnnl_post_ops_create(&m->post));
    if (m->key->plus && sums)
        CTT_DNNL(post_sum(m->post));
    else if (m->key->plus)
        CTT_DNNL(dnnl_post_ops_append_binary(m->post, dnnl_binary_add,
                                             REF(m->small)));
    if (act >= 0)
        CTT_DNNL(post_act(m->post, acts[act].kind, acts[act].alpha,
                          acts[act].beta));
    CTT_DNNL(dnnl_primitive_attr_set_post_ops(m->attr, m->post));
    CTT_DNNL(dnnl_primitive_attr_create(&m->sum));
    CTT_DNNL(dnnl_post_ops_create(&m->post_sum));
    CTT_DNNL(post_sum(m->post_sum));
    CTT_DNNL(dnnl_primitive_attr_set_post_ops(m->sum, m->post_sum));
out:
    return rc;
}

/* The axes that are used. */
static void set_slide(struct making *m)
{
    const struct ctt_fold *f = m->f;

    for (int i = 0; i < f->axes; i++) {
        int from = 3 - f->axes + i;
        m->slide.stride[i] = f->stride[from];
        m->slide.gap[i] = f->dilation[from] - 1;
        m->slide.pad[i] = f->pad[from];
        m->slide.after[i] = f->after[from];
    }
}

static int describe_tensors(struct making *m)
{
    dnnl_engine_t e = m->o->engine;
    const struct dnnl_slide *s = &m->slide;
    MD *b = m->key->bias ? &m->bias : NULL;
    int rc = 0;

    if (m->f->way == CTT_TO_SMALL) {
        CTT_DNNL(pd_fwd(&m->pd, e, &m->large, &m->any, b, &m->small, s,
                        m->attr, dnnl_forward_inference));
        goto out;
    }
    CTT_DNNL(pd_fwd(&m->hint, e, &m->large, &m->any, b, &m->small, s, NULL,
                    dnnl_forward_training));
    if (m->f->way == CTT_TO_LARGE)
        CTT_DNNL(pd_data(&m->pd, e, &m->large, &m->any, &m->small, s, m->attr,
                         m->hint));
    else
        CTT_DNNL(pd_weights(&m->pd, e, &m->large, &m->sums, b, &m->small, s,
                            m->attr, m->hint));
out:
    return rc;
}

static const_md weights_of(const struct making *m)
{
    return m->f->way == CTT_TO_WEIGHTS
               ? md_query(m->pd, dnnl_query_diff_weights_md, 0)
               : md_query(m->pd, dnnl_query_weights_md, 0);
}

static int make_reorder(struct making *m, struct ctt_plan *p)
{
    int back = m->f->way == CTT_TO_WEIGHTS, rc = 0;
    const_md own = weights_of(m), node = REF(m->plain);

    CTT_DNNL(dnnl_reorder_primitive_desc_create(
        &m->reorder, back ? own : node, m->o->engine, back ? node : own,
        m->o->engine, back ? m->sum : NULL));
    CTT_DNNL(dnnl_primitive_create(&p->reorder, m->reorder));
out:
    return rc;
}

static size_t aligned(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static void set_sizes(const struct making *m, struct ctt_plan *p)
{
    int back = m->f->way == CTT_TO_WEIGHTS;

    p->size = (struct ctt_plan_size){
        .dw = aligned(back ? md_size(weights_of(m)) : 0),
        .db = aligned(back ? md_size(REF(m->bias)) : 0),
        .pad = aligned(md_size(md_query(m->pd, dnnl_query_scratchpad_md, 0))),
        .packed = aligned(back ? 0 : md_size(weights_of(m))),
    };
}

static int make_lane(const struct making *m, struct ctt_plan_lane *l)
{
    dnnl_engine_t e = m->o->engine;
    const_md pad = md_query(m->pd, dnnl_query_scratchpad_md, 0);
    void *none = DNNL_MEMORY_NONE;
    int rc = 0;

    CTT_DNNL(dnnl_stream_create(&l->stream, e, dnnl_stream_default_flags));
    CTT_DNNL(dnnl_memory_create(&l->large, REF(m->large), e, none));
    CTT_DNNL(dnnl_memory_create(&l->small, REF(m->small), e, none));
    CTT_DNNL(dnnl_memory_create(&l->plus, REF(m->small), e, none));
    CTT_DNNL(dnnl_memory_create(&l->weights, weights_of(m), e, none));
    CTT_DNNL(dnnl_memory_create(&l->bias, REF(m->bias), e, none));
    CTT_DNNL(dnnl_memory_create(&l->pad, pad, e, none));
out:
    return rc;
}

static int make_memory(const struct making *m, struct ctt_plan *p)
{
    int rc = 0;

    CTT_DNNL(dnnl_memory_create(&p->plain, REF(m->plain), m->o->engine,
                                DNNL_MEMORY_NONE));
    p->lane = ctt_calloc((size_t)p->key.lanes, sizeof(*p->lane));
    CTT_CHECK(p->lane, CTT_ENOMEM, "no memory for a plan");
    for (int i = 0; i < p->key.lanes; i++)
        CTT_TRY(make_lane(m, &p->lane[i]));
out:
    return rc;
}

static int is_ref(const char *impl)
{
    return strstr(impl, "ref") != NULL;
}

/* 1 for an implementation in 16 bits without AMX, which may be no faster than
 * floats. */
static int is_slow(const struct making *m, const char *impl)
{
    return m->key->type == CTT_BF16 && !strstr(impl, "amx");
}

/* 1 for an implementation with a bug: oneDNN's convolution by a matrix product
 * adds the wrong rows of a second operand on processors without AVX2 (2.6.3,
 * SSE4.1 and AVX). */
static int is_wrong(const struct making *m, const char *impl)
{
    return m->key->plus && !m->p->sums && strstr(impl, "gemm") != NULL;
}

static int make_one(void *arg)
{
    struct making *m = arg;
    struct ctt_plan *p = m->p;
    const char *impl = NULL;
    int rc = 0;

    omp_set_num_threads(p->key.threads);    /* a primitive knows its threads */
    CTT_TRY(tensor_md(m, m->f->ic, m->f->large, &m->large));
    CTT_TRY(tensor_md(m, m->f->oc, m->f->small, &m->small));
    CTT_TRY(weights_md(m));
    CTT_TRY(attributes(m, p->sums));
    CTT_TRY(describe_tensors(m));
    CTT_DNNL(dnnl_primitive_desc_query(m->pd, dnnl_query_impl_info_str, 0,
                                       &impl));
    snprintf(p->impl, sizeof(p->impl), "%s", impl);
    if (is_ref(impl) || is_slow(m, impl) || is_wrong(m, impl))
        goto out;    /* the caller tries something else */
    CTT_DNNL(dnnl_primitive_create(&p->prim, m->pd));
    omp_set_num_threads(p->key.team);
    CTT_TRY(make_reorder(m, p));
    set_sizes(m, p);
    CTT_TRY(make_memory(m, p));
out:
    return rc;
}

int ctt_dnnl_try(int (*work)(void *arg), void *arg)
{
    int rc = 0, room = 0;
    enum ctt_thrown thrown = ctt_guard(work, arg, &rc);

    if (thrown == CTT_THROWN_NOTHING)
        return rc;
    /* oneDNN's cache of primitives keeps an exception thrown while a primitive
     * was made, and throws it again for the same key. */
    if (dnnl_get_primitive_cache_capacity(&room) == dnnl_success &&
        dnnl_set_primitive_cache_capacity(0) == dnnl_success)
        dnnl_set_primitive_cache_capacity(room);
    if (thrown == CTT_THROWN_NO_MEMORY)
        return ctt_error(CTT_ENOMEM, "out of memory in oneDNN");
    return ctt_error(CTT_EUNSUP, "oneDNN fails with an exception");
}

int ctt_plan_new(const struct ctt_onednn *o, const struct ctt_plan_key *key,
                 struct ctt_plan **out)
{
    struct ctt_plan *p = NULL;
    int rc = 0;

    /* A plus input as a second operand needs no copy.  Without fast and correct
     * code for it, the plus input is copied to the result first. */
    for (int sums = key->here; sums <= key->plus; sums++) {
        struct making m = { .o = o, .f = &key->f, .key = key,
                            .nd = 2 + key->f.axes };
        set_slide(&m);
        ctt_plan_free(&p);
        p = ctt_calloc(1, sizeof(*p));
        CTT_CHECK(p, CTT_ENOMEM, "no memory for a plan");
        p->key = *key;
        p->sums = sums;
        m.p = p;
        rc = ctt_dnnl_try(make_one, &m);
        free_making(&m);
        CTT_TRY(rc);
        if (p->prim)
            break;
    }
    *out = p;
    p = NULL;
out:
    ctt_plan_free(&p);
    return rc;
}

static void free_lane(struct ctt_plan_lane *l)
{
    dnnl_memory_t mem[] = { l->large, l->small, l->weights, l->bias, l->plus,
                            l->pad };

    for (size_t i = 0; i < CTT_LEN(mem); i++)
        if (mem[i])
            dnnl_memory_destroy(mem[i]);
    if (l->stream)
        dnnl_stream_destroy(l->stream);
}

void ctt_plan_free(struct ctt_plan **p)
{
    if (!*p)
        return;
    for (int i = 0; (*p)->lane && i < (*p)->key.lanes; i++)
        free_lane(&(*p)->lane[i]);
    ctt_free((*p)->lane);
    dnnl_primitive_t prim[] = { (*p)->prim, (*p)->reorder };
    for (size_t i = 0; i < CTT_LEN(prim); i++)
        if (prim[i])
            dnnl_primitive_destroy(prim[i]);
    if ((*p)->plain)
        dnnl_memory_destroy((*p)->plain);
    ctt_free((*p)->packed);
    ctt_free(*p);
    *p = NULL;
}
