/* SPDX-License-Identifier: Apache-2.0
 * weight.h: a weight: its numbers, in which form they are stored, and which of
 * them are pruned. */
#ifndef CTT_WEIGHT_H
#define CTT_WEIGHT_H

#include "net/half.h"

/* t: shape, type and numbers, dense; (out, kd, kh, kw, in) for the kernel of a
 * conv, else a vector.  t.data NULL: there is no such weight.
 *
 * Legal are three forms.  The value of number x of output channel o (t.n of
 * them; a vector has one) is 0 where it is pruned, else
 *
 *   t.dtype            scale        codebook    value
 *   F32, F16, BF16     NULL         NULL        x
 *   I8                 t.n floats   NULL        scale[o] * x
 *   U8                 NULL         floats      codebook[x]
 *   U8                 t.n floats   floats      scale[o] * codebook[x]
 *
 * with x < codes for U8.  Products are made in floats and rounded once.
 *
 * t.data lies where its user says: for a kernel in the device's memory, for
 * ctt_weight_floats() in the program's.  scale, codebook and keep lie in the
 * program's memory on every device: a kernel that uses them prepares from them
 * what it needs when it is first called.  Where t.data are numbers of the first
 * form, the pruned ones are 0 there too, so a kernel may ignore keep.
 *
 * Files hold the first form only (f32, with keep); scale and codebook are
 * read by ctt_weight_floats() and made by programs and tests. */
struct ctt_weight {
    struct ctt_tensor t;
    const float      *scale;
    const float      *codebook;
    int               codes;    /* floats in codebook, at most 256 */
    const uint8_t    *keep;     /* a byte a number, 0: pruned; NULL: none is */
};

/* 1 if the numbers are floats that stand for themselves. */
static inline int ctt_weight_is_floats(const struct ctt_weight *w)
{
    return w->t.dtype == CTT_F32 && !w->scale && !w->codebook;
}

/* How many numbers are not pruned. */
int64_t ctt_weight_kept(const struct ctt_weight *w);

/* CTT_EINVAL, and the message says why, unless the form is legal, the shape is
 * dense and has data.  The numbers are not looked at. */
int ctt_weight_check(const struct ctt_weight *w);

/* The values as floats, one for each number, to `out`; all in the program's
 * memory.  The definition of the table above in plain C: what a kernel of any
 * other form must agree with.  CTT_EINVAL for a form that is not legal or a
 * code that the codebook has not. */
int ctt_weight_floats(const struct ctt_weight *w, float *out);

/* The form in words for reports: the type, the size of the codebook, the share
 * that is kept if some are pruned: "fp32", "fp32, 10% kept", "uint8 of 16". */
enum { CTT_WEIGHT_FORM = 64 };
void ctt_weight_form(const struct ctt_weight *w, char text[CTT_WEIGHT_FORM]);

#endif
