/* SPDX-License-Identifier: Apache-2.0
 * window.cu: the values of several steps as the depth of a volume. */
#include "device/cuda/kernels.h"
#include "device/cuda/walk.cuh"

/* Asks in host memory are kernel arguments, so many per launch. */
enum { ASKS = 64 };

struct asking {
    const struct ctt_ask *at;       /* in the GPU's memory, or NULL */
    struct ctt_ask        some[ASKS];
    int                   n;

    __device__ __forceinline__ struct ctt_ask of(int64_t a) const
    {
        return at ? at[a] : some[a];
    }
};

/* The rows of the result: an ask has `depth` slots, a slot `area` pixels.  The
 * steps of t are `stride` numbers apart. */
struct windows {
    struct view  t, y;
    struct quick area, depth;
    int64_t      stride;
    int          every, oldest;
};

/* The asks of the call from `from` on; returns their number. */
static int64_t take_asks(const struct ctt_call *c, int64_t from,
                         struct asking *asks)
{
    int64_t n = c->out.n - from;

    asks->at = c->live.ask;
    if (!asks->at) {
        n = n < ASKS ? n : (int64_t)ASKS;
        for (int64_t i = 0; i < n; i++)
            asks->some[i] = c->ask[from + i];
    }
    asks->n = (int)n;
    return n;
}

static struct windows windows_of(const struct ctt_call *c,
                                 const struct ctt_tensor &t,
                                 const struct ctt_tensor &y)
{
    int64_t rows = ctt_rows(&y);
    struct windows w = { view_of(t), view_of(y), quick_of(y.h * y.w, rows),
                         quick_of(y.d, rows), c->stride,
                         c->node->attr.window.every, c->oldest };

    return w;
}

/* Launches make<N> for the asks from `from` on; form: of their rows. */
template <class F>
static int run_windows(const struct ctt_call *c, struct ctt_tensor t,
                       struct ctt_tensor y, void *stream)
{
    int64_t all = y.n, each = y.d * y.h * y.w, n;
    int64_t size = ctt_dtype_size(y.dtype);
    struct ctt_tensor steps = t;
    int e = 0;

    steps.ld = c->stride;           /* alignment of steps counts too */
    for (int64_t from = 0; from < all && !e; from += n) {
        F f;
        struct form form;
        n = take_asks(c, from, &f.asks);
        y.n = n;
        form = form_of(y);
        look(&form, t);
        look(&form, steps);
        by_channel(&form);
        f.w = windows_of(c, t, y);
        e = run_each(f, form, stream);
        y.data = (char *)y.data + n * each * y.ld * size;
    }
    return e;
}

struct window_forward {
    struct windows w;
    struct asking  asks;

    template <class N> __device__ void at(struct spot s) const
    {
        int64_t slot, a;
        int64_t pixel = rest(w.area, s.row, &slot);
        int64_t j = rest(w.depth, slot, &a);
        struct ctt_ask ask = asks.of(a);
        int64_t step = ask.step - (w.depth.by - 1 - j) * w.every;
        float v[N::V];

        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] = 0;
        if (step >= w.oldest) {
            struct spot from = { ask.sample * w.area.by + pixel,
                                 step * w.stride + s.col };
            typename N::got(w.t, from).give(v);
        }
        N::put(w.y, s, v, 0);
    }
};

int ctt_launch_window_fwd(const struct ctt_call *c, void *scratch,
                          void *stream)
{
    (void)scratch;
    return run_windows<struct window_forward>(c, c->in[0], c->out, stream);
}

/* Several slots may show one step of a sample: the first of them gathers the
 * gradients of all, so that no two threads write the same number. */
struct window_backward {
    struct windows w;
    struct asking  asks;

    /* The slot of ask a that shows the step of a sample, or -1. */
    __device__ __forceinline__ int64_t slot(int64_t a, int sample,
                                            int64_t step) const
    {
        struct ctt_ask ask = asks.of(a);
        int64_t late = ask.step - step, j = late / w.every;

        if (ask.sample != sample || late < 0 || j >= w.depth.by ||
            j * w.every != late)
            return -1;
        return w.depth.by - 1 - j;
    }

    template <class N> __device__ void at(struct spot s) const
    {
        int64_t k, first;
        int64_t pixel = rest(w.area, s.row, &k);
        int64_t j = rest(w.depth, k, &first);
        struct ctt_ask ask = asks.of(first);
        int64_t step = ask.step - (w.depth.by - 1 - j) * w.every;
        struct spot to = { ask.sample * w.area.by + pixel,
                           step * w.stride + s.col };
        float sum[N::V];

        if (step < w.oldest)
            return;
        for (int64_t a = 0; a < first; a++)
            if (slot(a, ask.sample, step) >= 0)
                return;
        typename N::got(w.y, s).give(sum);
        for (int64_t a = first + 1; a < asks.n; a++) {
            float v[N::V];
            int64_t other = slot(a, ask.sample, step);
            struct spot from = { (a * w.depth.by + other) * w.area.by + pixel,
                                 s.col };
            if (other < 0)
                continue;
            typename N::got(w.y, from).give(v);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                sum[i] += v[i];
        }
        N::put(w.t, to, sum, 1);
    }
};

int ctt_launch_window_bwd(const struct ctt_call *c, void *scratch,
                          void *stream)
{
    (void)scratch;
    return !c->din[0].data ? 0 : run_windows<struct window_backward>(
        c, c->din[0], c->dout, stream);
}
