/* SPDX-License-Identifier: Apache-2.0
 * dnnl_compat.h: the few calls in which the interfaces 2 and 3 of oneDNN
 * differ.  Memory descriptors are a struct in one and a pointer in the other;
 * MD is the type, REF(md) the argument of a function. */
#ifndef CTT_DNNL_COMPAT_H
#define CTT_DNNL_COMPAT_H

#include <oneapi/dnnl/dnnl.h>

#define MD dnnl_memory_desc_t

/* A window by axis; gap: pixels between taps. */
struct dnnl_slide { dnnl_dims_t stride, gap, pad, after; };

#if DNNL_VERSION_MAJOR >= 3

#define REF(md) (md)

static inline int md_by_tag(MD *md, int nd, const dnnl_dim_t *dims,
                            dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_create_with_tag(md, nd, dims, type, tag);
}

static inline int md_by_strides(MD *md, int nd, const dnnl_dim_t *dims,
                                dnnl_data_type_t type,
                                const dnnl_dim_t *strides)
{
    return dnnl_memory_desc_create_with_strides(md, nd, dims, type,
                                                strides);
}

static inline void md_free(MD *md)
{
    if (*md)
        dnnl_memory_desc_destroy(*md);
    *md = NULL;
}

static inline size_t md_size(const_dnnl_memory_desc_t md)
{
    return md ? dnnl_memory_desc_get_size(md) : 0;
}

static inline int post_act(dnnl_post_ops_t po, dnnl_alg_kind_t alg,
                           float alpha, float beta)
{
    return dnnl_post_ops_append_eltwise(po, alg, alpha, beta);
}

static inline int post_sum(dnnl_post_ops_t po)
{
    return dnnl_post_ops_append_sum(po, 1, 0, dnnl_data_type_undef);
}

#define md_query(pd, what, i) dnnl_primitive_desc_query_md(pd, what, i)
typedef const_dnnl_memory_desc_t const_md;

/* x, w, b, y: descriptors, b may be NULL.  Primitive descriptors of the forward
 * pass, the gradient of the source (hint: the forward one) and the gradient of
 * the weights. */
static inline int pd_fwd(dnnl_primitive_desc_t *pd, dnnl_engine_t e, MD *x,
                         MD *w, MD *b, MD *y, const struct dnnl_slide *s,
                         dnnl_primitive_attr_t attr,
                         dnnl_prop_kind_t prop)
{
    return dnnl_convolution_forward_primitive_desc_create(
        pd, e, prop, dnnl_convolution_direct, *x, *w, b ? *b : NULL, *y,
        s->stride, s->gap, s->pad, s->after, attr);
}

static inline int pd_data(dnnl_primitive_desc_t *pd, dnnl_engine_t e, MD *x,
                          MD *w, MD *y, const struct dnnl_slide *s,
                          dnnl_primitive_attr_t attr,
                          const_dnnl_primitive_desc_t hint)
{
    return dnnl_convolution_backward_data_primitive_desc_create(
        pd, e, dnnl_convolution_direct, *x, *w, *y, s->stride,
        s->gap, s->pad, s->after, hint, attr);
}

static inline int pd_weights(dnnl_primitive_desc_t *pd, dnnl_engine_t e, MD *x,
                             MD *w, MD *b, MD *y, const struct dnnl_slide *s,
                             dnnl_primitive_attr_t attr,
                             const_dnnl_primitive_desc_t hint)
{
    return dnnl_convolution_backward_weights_primitive_desc_create(
        pd, e, dnnl_convolution_direct, *x, *w, b ? *b : NULL, *y,
        s->stride, s->gap, s->pad, s->after, hint, attr);
}

#else

#define REF(md) (&(md))
typedef const dnnl_memory_desc_t *const_md;

static inline int md_by_tag(MD *md, int nd, const dnnl_dim_t *dims,
                            dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    return dnnl_memory_desc_init_by_tag(md, nd, dims, type, tag);
}

static inline int md_by_strides(MD *md, int nd, const dnnl_dim_t *dims,
                                dnnl_data_type_t type,
                                const dnnl_dim_t *strides)
{
    return dnnl_memory_desc_init_by_strides(md, nd, dims, type, strides);
}

static inline void md_free(MD *md)
{
    (void)md;
}

static inline size_t md_size(const_md md)
{
    return md ? dnnl_memory_desc_get_size(md) : 0;
}

static inline int post_act(dnnl_post_ops_t po, dnnl_alg_kind_t alg,
                           float alpha, float beta)
{
    return dnnl_post_ops_append_eltwise(po, 1, alg, alpha, beta);
}

static inline int post_sum(dnnl_post_ops_t po)
{
    return dnnl_post_ops_append_sum(po, 1);
}

#define md_query(pd, what, i) dnnl_primitive_desc_query_md(pd, what, i)

static inline int pd_fwd(dnnl_primitive_desc_t *pd, dnnl_engine_t e, MD *x,
                         MD *w, MD *b, MD *y, const struct dnnl_slide *s,
                         dnnl_primitive_attr_t attr,
                         dnnl_prop_kind_t prop)
{
    dnnl_convolution_desc_t d;
    int rc = dnnl_dilated_convolution_forward_desc_init(
        &d, prop, dnnl_convolution_direct, x, w, b, y, s->stride,
        s->gap, s->pad, s->after);

    return rc ? rc : (int)dnnl_primitive_desc_create(pd, &d, attr, e, NULL);
}

static inline int pd_data(dnnl_primitive_desc_t *pd, dnnl_engine_t e, MD *x,
                          MD *w, MD *y, const struct dnnl_slide *s,
                          dnnl_primitive_attr_t attr,
                          const_dnnl_primitive_desc_t hint)
{
    dnnl_convolution_desc_t d;
    int rc = dnnl_dilated_convolution_backward_data_desc_init(
        &d, dnnl_convolution_direct, x, w, y, s->stride, s->gap,
        s->pad, s->after);

    return rc ? rc : (int)dnnl_primitive_desc_create(pd, &d, attr, e, hint);
}

static inline int pd_weights(dnnl_primitive_desc_t *pd, dnnl_engine_t e, MD *x,
                             MD *w, MD *b, MD *y, const struct dnnl_slide *s,
                             dnnl_primitive_attr_t attr,
                             const_dnnl_primitive_desc_t hint)
{
    dnnl_convolution_desc_t d;
    int rc = dnnl_dilated_convolution_backward_weights_desc_init(
        &d, dnnl_convolution_direct, x, w, b, y, s->stride,
        s->gap, s->pad, s->after);

    return rc ? rc : (int)dnnl_primitive_desc_create(pd, &d, attr, e, hint);
}

#endif
#endif
