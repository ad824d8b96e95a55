/* SPDX-License-Identifier: Apache-2.0
 * ops_quant.c: pairs of QuantizeLinear and DequantizeLinear: the language's
 * quant. */
#include "exchange/onnx/ops.h"

#include <string.h>

/* The step and the byte that stands for 0, of inputs 1 and 2.  Signed bytes are
 * 128 less. */
static int read_step(const struct ctt_onnx *o, const struct ctt_onnx_node *n,
                     double *scale, int64_t *zero)
{
    const struct ctt_onnx_tensor *s, *z;
    int rc;

    CTT_TRY(ctt_op_constant(o, n, 1, &s));
    CTT_TRY(ctt_op_constant(o, n, 2, &z));
    CTT_CHECK(s && s->count == 1 && (!z || z->count == 1), CTT_EUNSUP,
              "y_scale: not one number");
    CTT_CHECK(!z || z->type == CTT_ONNX_UINT8 || z->type == CTT_ONNX_INT8,
              CTT_EUNSUP, "y_zero_point: of type %d; bytes are possible",
              z->type);
    *scale = ctt_onnx_number(s, 0);
    *zero = z ? ctt_onnx_whole(z, 0) + (z->type == CTT_ONNX_INT8 ? 128 : 0) :
            0;
    CTT_CHECK(*scale >= 1e-20 && *scale <= 1e20, CTT_EUNSUP, "y_scale: %g",
              *scale);
out:
    return rc;
}

/* The values are those that DequantizeLinear makes of the bytes. */
int ctt_op_quantize(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    struct ctt_onnx_place *p;
    struct ctt_onnx_value *v;
    double scale;
    int64_t zero;
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    CTT_TRY(read_step(o, n, &scale, &zero));
    CTT_TRY(ctt_op_solid(o, v->place, &p));
    CTT_TRY(ctt_op_line(o, "quant", p, &p));
    CTT_TRY(ctt_onnx_keys(o, p->line, " scale=%.9g zero=%lld", scale,
                          (long long)zero));
    CTT_TRY(ctt_op_set_like(o, n, 0, v, p));
out:
    return rc;
}

/* The other half of the pair, with the same numbers. */
int ctt_op_dequantize(struct ctt_onnx *o, struct ctt_onnx_node *n)
{
    const struct ctt_onnx_node *from;
    struct ctt_onnx_value *v;
    int64_t zero[2];
    double scale[2];
    int rc;

    CTT_TRY(ctt_op_live(o, n, 0, &v));
    from = v->maker >= 0 ? &o->node[v->maker] : NULL;
    CTT_CHECK(from && strcmp(from->op, "QuantizeLinear") == 0, CTT_EUNSUP,
              "bytes that are not a QuantizeLinear's");
    CTT_TRY(read_step(o, from, &scale[0], &zero[0]));
    CTT_TRY(read_step(o, n, &scale[1], &zero[1]));
    CTT_CHECK(scale[0] == scale[1] && zero[0] == zero[1], CTT_EUNSUP,
              "x_scale: another one than that of the QuantizeLinear");
    CTT_TRY(ctt_op_set_like(o, n, 0, v, v->place));
out:
    return rc;
}
