/* SPDX-License-Identifier: Apache-2.0
 * tensor.c: constants of all types as numbers. */
#include "exchange/onnx/onnx.h"
#include "base/half.h"
#include "base/limits.h"

#include <math.h>
#include <string.h>

int ctt_onnx_size(int type)
{
    static const char size[] = {
        [CTT_ONNX_FLOAT] = 4, [CTT_ONNX_UINT8] = 1, [CTT_ONNX_INT8] = 1,
        [CTT_ONNX_UINT16] = 2, [CTT_ONNX_INT16] = 2, [CTT_ONNX_INT32] = 4,
        [CTT_ONNX_INT64] = 8, [CTT_ONNX_BOOL] = 1, [CTT_ONNX_FLOAT16] = 2,
        [CTT_ONNX_DOUBLE] = 8, [CTT_ONNX_UINT32] = 4, [CTT_ONNX_UINT64] = 8,
        [CTT_ONNX_BFLOAT16] = 2 };

    return type >= 0 && type < (int)sizeof(size) ? size[type] : 0;
}

int ctt_onnx_is_whole(int type)
{
    return type != CTT_ONNX_FLOAT && type != CTT_ONNX_DOUBLE &&
           type != CTT_ONNX_FLOAT16 && type != CTT_ONNX_BFLOAT16;
}

int ctt_onnx_count(const char *what, int rank, const int64_t *dim,
                   int64_t *count)
{
    int64_t n = 1;
    int rc = 0, none = 0;

    for (int i = 0; i < rank; i++) {
        CTT_CHECK(dim[i] >= 0, CTT_EUNSUP, "%s: a size of %lld", what,
                  (long long)dim[i]);
        none |= dim[i] == 0;
        CTT_CHECK(none || dim[i] <= CTT_ONNX_COUNT_MOST / n, CTT_EUNSUP,
                  "%s: more than 2^40 elements", what);
        n *= dim[i] ? dim[i] : 1;
    }
    *count = none ? 0 : n;
out:
    return rc;
}

int ctt_onnx_new(struct ctt_onnx *o, int type, int rank, const int64_t *dim,
                 struct ctt_onnx_tensor *out, uint8_t **data)
{
    struct ctt_onnx_tensor t = { .type = type, .rank = rank };
    int size = ctt_onnx_size(type), rc = 0;

    CTT_CHECK(size, CTT_EUNSUP, "elements of type %d", type);
    for (int i = 0; i < rank; i++)
        t.dim[i] = dim[i];
    CTT_TRY(ctt_onnx_count("a constant", rank, dim, &t.count));
    CTT_TRY(ctt_memory_check("constants that are computed",
                             t.count * size));
    *data = ctt_arena_take(&o->data, t.count, (size_t)size);
    CTT_TRY(*data ? 0 : CTT_ENOMEM);
    t.data = *data;
    *out = t;
out:
    return rc;
}

static uint64_t bits_at(const struct ctt_onnx_tensor *t, int64_t i, int size)
{
    const uint8_t *p = t->data + i * size;

    switch (size) {
    case 1:  return *p;
    case 2:  return (uint64_t)(p[0] | p[1] << 8);
    case 4:  return ctt_wire_32(p);
    default: return ctt_wire_64(p);
    }
}

double ctt_onnx_number(const struct ctt_onnx_tensor *t, int64_t i)
{
    int size = ctt_onnx_size(t->type);

    if (!size || i < 0 || i >= t->count)
        return NAN;
    switch (t->type) {
    case CTT_ONNX_FLOAT:
        return ctt_wire_float(t->data + 4 * i);
    case CTT_ONNX_DOUBLE:
        return ctt_wire_double(t->data + 8 * i);
    case CTT_ONNX_FLOAT16:
        return ctt_of_f16((uint16_t)bits_at(t, i, 2));
    case CTT_ONNX_BFLOAT16:
        return ctt_of_bf16((uint16_t)bits_at(t, i, 2));
    default:
        return (double)ctt_onnx_whole(t, i);
    }
}

static int64_t whole_of(double x)
{
    if (x != x)
        return 0;
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

int64_t ctt_onnx_whole(const struct ctt_onnx_tensor *t, int64_t i)
{
    int size = ctt_onnx_size(t->type);
    uint64_t u;

    if (!size || i < 0 || i >= t->count)
        return 0;
    if (!ctt_onnx_is_whole(t->type))
        return whole_of(ctt_onnx_number(t, i));
    u = bits_at(t, i, size);
    switch (t->type) {
    case CTT_ONNX_INT8:  return (int8_t)u;
    case CTT_ONNX_INT16: return (int16_t)u;
    case CTT_ONNX_INT32: return (int32_t)u;
    case CTT_ONNX_BOOL:  return u != 0;
    default:             return (int64_t)u;
    }
}

static void put_bits(uint8_t *p, int size, uint64_t u)
{
    for (int i = 0; i < size; i++)
        p[i] = (uint8_t)(u >> 8 * i);
}

void ctt_onnx_put_whole(int type, uint8_t *data, int64_t i, int64_t x)
{
    int size = ctt_onnx_size(type);

    /* Halves are their bits in fields of whole numbers. */
    put_bits(data + i * size, size, type == CTT_ONNX_BOOL ? x != 0 :
                                    (uint64_t)x);
}

void ctt_onnx_put(int type, uint8_t *data, int64_t i, double x)
{
    int size = ctt_onnx_size(type);
    float f = (float)x;
    uint64_t u = 0;
    uint32_t v;

    switch (type) {
    case CTT_ONNX_FLOAT:
        memcpy(&v, &f, sizeof(v));
        u = v;
        break;
    case CTT_ONNX_DOUBLE:
        memcpy(&u, &x, sizeof(u));
        break;
    case CTT_ONNX_FLOAT16:
        u = ctt_f16_of(f);
        break;
    case CTT_ONNX_BFLOAT16:
        u = ctt_bf16_of(f);
        break;
    case CTT_ONNX_BOOL:
        u = x != 0;
        break;
    default:
        u = (uint64_t)whole_of(x);
    }
    put_bits(data + i * size, size, u);
}
