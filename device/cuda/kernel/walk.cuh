/* SPDX-License-Identifier: Apache-2.0
 * walk.cuh: elementwise kernels on tensors of one shape: the loop over their
 * numbers, and the choice of 16-byte accesses at launch. */
#ifndef CTT_WALK_CUH
#define CTT_WALK_CUH

#include "device/cuda/kernel/num.cuh"

/* Division by an invariant: a product and a shift for dividends below 2^31
 * (Granlund and Montgomery 1994). */
struct quick { int64_t by; uint32_t mul; int shift, far; };

static inline struct quick quick_of(int64_t by, int64_t below)
{
    struct quick q = { by, 0, 31, below > INT64_C(1) << 31 };

    if (q.far || by > INT64_C(1) << 31)
        return q;           /* all quotients are 0, unless far is set */
    while (INT64_C(1) << (q.shift - 31) < by)
        q.shift++;
    q.mul = (uint32_t)(((UINT64_C(1) << q.shift) + (uint64_t)by - 1) /
                       (uint64_t)by);
    return q;
}

CTT_GPU int64_t quotient(struct quick q, int64_t n)
{
    if (q.far)
        return n / q.by;
    return (int64_t)((uint64_t)(uint32_t)n * q.mul >> q.shift);
}

/* The remainder of n, and its quotient. */
CTT_GPU int64_t rest(struct quick q, int64_t n, int64_t *quot)
{
    *quot = quotient(q, n);
    return n - *quot * q.by;
}

/* Common properties of a kernel's tensors, all of one shape: type; dense: all
 * are dense; odd, odd_rows: nonzero if addresses or row strides are no
 * multiples of 16 bytes (of bytes: 8). */
struct form { int64_t rows, c; int type, dense; uintptr_t odd, odd_rows; };
enum { MIXED = -1, UNKNOWN = -2 };

static inline void note_view(struct form *f, const struct ctt_tensor &t)
{
    int64_t size = ctt_dtype_size(t.dtype), unit = size == 1 ? 8 : 16;

    if (!t.data)
        return;
    if (t.dtype == CTT_I8 && f->type != UNKNOWN)
        f->type = MIXED;
    else if (!ctt_is_float_type(t.dtype))
        f->type = UNKNOWN;
    else if (f->type != (int)t.dtype && f->type != UNKNOWN)
        f->type = MIXED;
    f->dense = f->dense && t.ld == t.c;
    f->odd |= (uintptr_t)t.data % (uintptr_t)unit;
    f->odd_rows |= (uintptr_t)(t.ld * size % unit);
}

/* An array of one float per channel; NULL: none. */
static inline void note_view(struct form *f, const float *p)
{
    f->odd |= (uintptr_t)p % 16;
}

static inline struct form form_of(const struct ctt_tensor &t)
{
    struct form f = { ctt_rows(&t), t.c, (int)t.dtype, 1, 0, 0 };

    note_view(&f, t);
    return f;
}

/* Dense tensors are walked as one row, unless the kernel depends on the
 * channel. */
static inline void by_channel(struct form *f)
{
    f->dense = 0;
}

static inline int fits(const struct form &f, int v)
{
    if (f.dense)
        return !f.odd && f.rows * f.c % v == 0;
    return !f.odd && !f.odd_rows && f.c % v == 0;
}

/* Calls go(num<T, V>()) with the type and the widest access that the form
 * allows.  Other types than fp32, fp16, bf16 and bytes are refused. */
template <class G> static int by_form(const struct form &f, G go)
{
    if (f.type == UNKNOWN)
        return (int)cudaErrorInvalidValue;
    if (f.type == CTT_F32 && fits(f, 4))
        go(num<float, 4>());
    else if (f.type == CTT_F16 && fits(f, 8))
        go(num<__half, 8>());
    else if (f.type == CTT_BF16 && fits(f, 8))
        go(num<__nv_bfloat16, 8>());
    else if (f.type == MIXED && fits(f, 8))
        go(num<some, 8>());
    else
        go(num<some, 1>());
    return (int)cudaGetLastError();
}

/* n items of V neighbours each, cols.by of them per row. */
struct walk { int64_t n; struct quick cols; };

static inline struct walk walk_of(const struct form &f, int v)
{
    struct walk w;
    int64_t cols = f.dense ? f.rows * f.c : f.c;

    w.n = f.rows * f.c / v;
    w.cols = quick_of(cols / v, w.n);
    return w;
}

/* Calls f.at<num<T, V>>(spot) for every V neighbours. */
template <class N, class F>
static __global__ void __launch_bounds__(CTT_THREADS)
each(F f, struct walk w)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < w.n;
         i += step) {
        struct spot s;
        s.col = rest(w.cols, i, &s.row) * N::V;
        f.template at<N>(s);
    }
}

template <class F>
static int run_each(const F &f, const struct form &form, void *stream)
{
    if (form.rows * form.c == 0)
        return 0;
    return by_form(form, [&](auto n) {
        typedef decltype(n) N;
        struct walk w = walk_of(form, N::V);
        CTT_LAUNCH((each<N, F>), ctt_blocks(w.n), stream, f, w);
    });
}

#endif
