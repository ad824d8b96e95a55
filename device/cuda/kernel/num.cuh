/* SPDX-License-Identifier: Apache-2.0
 * num.cuh: reads and writes fp32, fp16 and bf16 numbers, and bytes of quantised
 * values (only as numbers of some type); kernels compute in floats.  Only this
 * file depends on how a number is stored. */
#ifndef CTT_NUM_CUH
#define CTT_NUM_CUH

#include "device/cuda/launch.h"
#include "base/byte.h"
#include "base/half.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <string.h>

#define CTT_GPU static __device__ __forceinline__
#ifdef CTT_SIM
#define CTT_UNROLL
#define CTT_UNROLL_ROWS
#else
#define CTT_UNROLL _Pragma("unroll")
#define CTT_UNROLL_ROWS _Pragma("unroll N::ROWS")
#endif

/* A tensor as a matrix; ld: numbers from one row to the next; scale, zero: of
 * bytes. */
struct view { void *p; int64_t ld; int type, zero; float scale; };

/* A position in such a matrix. */
struct spot { int64_t row, col; };

static inline struct view view_of(const struct ctt_tensor &t)
{
    struct view v = { t.data, t.ld, (int)t.dtype, t.zero, t.scale };

    return v;
}

/* Placeholder for the type named by a view, one of ctt_is_float_type() or
 * bytes: ctt_dev_run(), device/memory.c and by_form() refuse all others. */
struct some { };

CTT_GPU float wide(float x) { return x; }
CTT_GPU float wide(__half x) { return __half2float(x); }
CTT_GPU float wide(__nv_bfloat16 x) { return __bfloat162float(x); }
CTT_GPU void narrow(float x, float *y) { *y = x; }
CTT_GPU void narrow(float x, __half *y) { *y = __float2half_rn(x); }
CTT_GPU void narrow(float x, __nv_bfloat16 *y) { *y = __float2bfloat16_rn(x); }

/* V neighbouring numbers, read or written by one memory access. */
template <class T, int V> struct alignas(sizeof(T) * V) cells { T x[V]; };

template <class T, int V> CTT_GPU void widen(const cells<T, V> &from, float *x)
{
    CTT_UNROLL
    for (int i = 0; i < V; i++)
        x[i] = wide(from.x[i]);
}

template <class T, int V> CTT_GPU cells<T, V> narrowed(const float *x)
{
    cells<T, V> to;

    CTT_UNROLL
    for (int i = 0; i < V; i++)
        narrow(x[i], &to.x[i]);
    return to;
}

template <class T> CTT_GPU T *place(struct view v, struct spot s)
{
    return (T *)v.p + (s.row * v.ld + s.col);
}

/* num<T, V>: V neighbours of type T.  got: read and not yet converted: kernels
 * read all their operands before they convert the first, so that the accesses
 * overlap.  ROWS: how many rows a sum over rows reads at a time.  put() changes
 * x if it adds. */
template <class T, int Count> struct num {
    enum { V = Count, ROWS = 4 };
    struct got {
        cells<T, V> raw;
        __device__ __forceinline__ got(struct view v, struct spot s)
            : raw(*(const cells<T, V> *)place<T>(v, s)) { }
        __device__ __forceinline__ void give(float *x) const
        {
            widen<T, V>(raw, x);
        }
    };
    static __device__ __forceinline__ void put(struct view v, struct spot s,
                                               float *x, int add)
    {
        if (add) {
            float old[V];
            got(v, s).give(old);
            CTT_UNROLL
            for (int i = 0; i < V; i++)
                x[i] += old[i];
        }
        *(cells<T, V> *)place<T>(v, s) = narrowed<T, V>(x);
    }
};

/* Reinterprets the bytes as another type of the same size. */
template <class To, class From> CTT_GPU To as(const From &from)
{
    To to;

    static_assert(sizeof(to) == sizeof(from), "types of one size");
    memcpy(&to, &from, sizeof(to));
    return to;
}

/* Values of V bytes, as the CPU computes them (int8_epilogue.c). */
template <int V> CTT_GPU void from_bytes(struct view v, cells<int8_t, V> b,
                                         float *x)
{
    CTT_UNROLL
    for (int i = 0; i < V; i++)
        x[i] = __fmul_rn((float)(b.x[i] - v.zero), v.scale);
}

template <int V> CTT_GPU void put_bytes(struct view v, struct spot s,
                                        const float *x)
{
    float inv = CTT_QUOTIENT(1.0f, v.scale);
    float zero = (float)(v.zero + CTT_I8_LESS);
    cells<int8_t, V> b;

    CTT_UNROLL
    for (int i = 0; i < V; i++)
        b.x[i] = (int8_t)((int)ctt_quant(x[i], inv, zero) + v.zero);
    *(cells<int8_t, V> *)place<int8_t>(v, s) = b;
}

/* Eight numbers of a type known only at run time: 16 bytes, 32 as two reads, or
 * 8.  All threads take the same branch. */
template <> struct num<some, 8> {
    enum { V = 8, ROWS = 1 };
    typedef cells<uint32_t, 4> piece;
    struct got {
        piece a, b;
        struct view of;
        int   type;
        __device__ __forceinline__ got(struct view v, struct spot s)
            : of(v), type(v.type)
        {
            if (type == CTT_F32) {
                const piece *p = (const piece *)place<float>(v, s);
                a = p[0];
                b = p[1];
            } else if (type == CTT_I8) {
                cells<uint32_t, 2> c =
                    *(const cells<uint32_t, 2> *)place<int8_t>(v, s);
                a.x[0] = a.x[2] = c.x[0];
                a.x[1] = a.x[3] = c.x[1];
                b = a;
            } else {
                a = b = *(const piece *)place<uint16_t>(v, s);
            }
        }
        __device__ __forceinline__ void give(float *x) const
        {
            if (type == CTT_F32) {
                widen<float, 4>(as<cells<float, 4>>(a), x);
                widen<float, 4>(as<cells<float, 4>>(b), x + 4);
            } else if (type == CTT_F16) {
                widen<__half, 8>(as<cells<__half, 8>>(a), x);
            } else if (type == CTT_I8) {
                cells<uint32_t, 2> c = { { a.x[0], a.x[1] } };
                from_bytes<8>(of, as<cells<int8_t, 8>>(c), x);
            } else {
                widen<__nv_bfloat16, 8>(as<cells<__nv_bfloat16, 8>>(a), x);
            }
        }
    };
    static __device__ __forceinline__ void put(struct view v, struct spot s,
                                               float *x, int add)
    {
        if (v.type == CTT_F32) {
            struct spot next = { s.row, s.col + 4 };
            num<float, 4>::put(v, s, x, add);
            num<float, 4>::put(v, next, x + 4, add);
        } else if (v.type == CTT_F16) {
            num<__half, 8>::put(v, s, x, add);
        } else if (v.type == CTT_I8) {
            put_bytes<8>(v, s, x);
        } else {
            num<__nv_bfloat16, 8>::put(v, s, x, add);
        }
    }
};

/* One number: for views whose alignment or size does not allow more. */
template <> struct num<some, 1> {
    enum { V = 1, ROWS = 1 };
    struct got {
        float x0;
        __device__ __forceinline__ got(struct view v, struct spot s)
        {
            if (v.type == CTT_I8)
                from_bytes<1>(v, *(const cells<int8_t, 1> *)
                                 place<int8_t>(v, s), &x0);
            else
                x0 = v.type == CTT_F32 ? *place<float>(v, s)
               : v.type == CTT_F16 ? wide(*place<__half>(v, s))
                                   : wide(*place<__nv_bfloat16>(v, s));
        }
        __device__ __forceinline__ void give(float *x) const { *x = x0; }
    };
    static __device__ __forceinline__ void put(struct view v, struct spot s,
                                               float *x, int add)
    {
        if (v.type == CTT_F32)
            num<float, 1>::put(v, s, x, add);
        else if (v.type == CTT_F16)
            num<__half, 1>::put(v, s, x, add);
        else if (v.type == CTT_I8)
            put_bytes<1>(v, s, x);
        else
            num<__nv_bfloat16, 1>::put(v, s, x, add);
    }
};

/* V floats, from channel j on, of an array of one float per channel; 16-byte
 * aligned if V > 1. */
template <int V> CTT_GPU void channels(const float *p, int64_t j, float *x)
{
    enum { PIECE = V % 4 ? 1 : 4 };

    CTT_UNROLL
    for (int i = 0; i < V; i += PIECE) {
        cells<float, PIECE> of = *(const cells<float, PIECE> *)(p + j + i);
        widen<float, PIECE>(of, x + i);
    }
}

#endif
