/* SPDX-License-Identifier: Apache-2.0
 * weight.h: a weight: its elements, the form in which they are stored, and the
 * mask of pruned ones. */
#ifndef CTT_WEIGHT_H
#define CTT_WEIGHT_H

#include "base/half.h"

/* t: shape, type and elements, dense; (out, kd, kh, kw, in) for the kernel of a
 * conv, else a vector.  t.data NULL: there is no such weight.
 *
 * These forms are legal.  The value of an element x of output channel o (there
 * are t.n channels; a vector has one) is 0 if it is pruned, else
 *
 *   t.dtype            scale        codebook    value
 *   F32, F16, BF16     NULL         NULL        x
 *   I8                 t.n floats   NULL        scale[o] * x
 *   U8                 NULL         floats      codebook[x]
 *   U8                 t.n floats   floats      scale[o] * codebook[x]
 *
 * with x < codes for U8.  Products are computed in float and rounded once.
 *
 * t.data is in the device's memory for a kernel, in host memory for
 * ctt_weight_floats().  scale, codebook and keep are in host memory on every
 * device: a kernel that uses them prepares what it needs in its first call.
 * In the first form pruned elements of t.data are 0, so a kernel may ignore
 * keep.
 *
 * share, only of the first form, groups elements that hold one value together
 * (constraint.h); kernels may ignore it.
 *
 * Nothing here is owned.  Models hold F32 with keep and share; scale and
 * codebook are set by programs and tests. */
struct ctt_weight {
    struct ctt_tensor t;
    const float      *scale;
    const float      *codebook;
    int               codes;    /* floats in codebook, at most 256 */
    const uint8_t    *keep;     /* a byte per element, 0: pruned; NULL: none
                                   is pruned */
    const uint8_t    *share;    /* a byte per element, its code, 0: none; NULL:
                                   none has one */
    struct ctt_late  *late;     /* not NULL: t.data is NULL and the floats, of
                                   the first form, are in the model's file
                                   (late.h) */
};

/* 1 if the elements are floats and are their own values. */
static inline int ctt_weight_is_floats(const struct ctt_weight *w)
{
    return w->t.dtype == CTT_F32 && !w->scale && !w->codebook;
}

/* The number of elements that are not pruned. */
int64_t ctt_weight_kept(const struct ctt_weight *w);

/* CTT_EINVAL unless the form is legal, the shape is dense and has data (in host
 * memory), and all codes are in the codebook. */
int ctt_weight_check(const struct ctt_weight *w);

/* The value of element i, in host memory, of a weight that has been checked. */
float ctt_weight_value(const struct ctt_weight *w, int64_t i);

/* Writes the values to `out`, one float per element, all in host memory: the
 * table above in plain C, the reference for kernels that read other forms.
 * CTT_EINVAL for a form that is not legal or a code outside the codebook. */
int ctt_weight_floats(const struct ctt_weight *w, float *out);

/* The form in words for reports: the type, the size of the codebook, and the
 * share not pruned: "fp32", "fp32, 10% kept", "uint8 of 16". */
enum { CTT_WEIGHT_FORM = 64 };
void ctt_weight_form(const struct ctt_weight *w, char text[CTT_WEIGHT_FORM]);

#endif
