/* SPDX-License-Identifier: Apache-2.0
 * window.cu: the values of several steps as the depth of a volume. */
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/walk.cuh"

/* Most asks per launch: asks in host memory are kernel arguments. */
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
    struct ctt_window_attr  attr;
    struct ctt_window_place place;

    /* Step shown by slot j of an ask. */
    __device__ __forceinline__ int64_t at(struct ctt_ask ask, int64_t j) const
    {
        return ctt_window_at(&attr, &place, j, ask.step);
    }

    /* First slot of an ask that shows this step or a later one, or the number
     * of slots: steps do not decrease from slot to slot, and CTT_WINDOW_NONE is
     * less than all. */
    __device__ __forceinline__ int64_t first(struct ctt_ask ask,
                                             int64_t shown) const
    {
        int64_t from = 0, to = depth.by;

        while (from < to) {
            int64_t mid = (from + to) / 2;

            if (at(ask, mid) < shown)
                from = mid + 1;
            else
                to = mid;
        }
        return from;
    }

    /* 1 if a slot of the ask shows this step of the sample; *j: the first such
     * slot. */
    __device__ __forceinline__ int shows(struct ctt_ask ask, int sample,
                                         int64_t shown, int64_t *j) const
    {
        if (ask.sample != sample)
            return 0;
        *j = first(ask, shown);
        return *j < depth.by && at(ask, *j) == shown;
    }
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
                         c->node->attr.window, c->place };

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
        note_view(&form, t);
        note_view(&form, steps);
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
        int64_t place = w.at(ask, j);
        float v[N::V];

        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] = 0;
        if (place != CTT_WINDOW_NONE) {
            struct spot from = { ask.sample * w.area.by + pixel,
                                 place * w.stride + s.col };
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

    /* Adds the gradients of ask a's slots, from j on, that show this step of
     * the sample. */
    template <class N>
    __device__ __forceinline__ void gather(int64_t a, int64_t j, int64_t place,
                                           struct spot s, float *sum) const
    {
        struct ctt_ask ask = asks.of(a);

        for (; j < w.depth.by && w.at(ask, j) == place; j++) {
            float v[N::V];
            struct spot from = { (a * w.depth.by + j) * w.area.by + s.row,
                                 s.col };
            typename N::got(w.y, from).give(v);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                sum[i] += v[i];
        }
    }

    template <class N> __device__ void at(struct spot s) const
    {
        int64_t k, first;
        int64_t pixel = rest(w.area, s.row, &k);
        int64_t j = rest(w.depth, k, &first), other;
        struct ctt_ask ask = asks.of(first);
        int64_t place = w.at(ask, j);
        struct spot to = { ask.sample * w.area.by + pixel, s.col };
        struct spot mine = { pixel, s.col };
        float sum[N::V];

        if (place == CTT_WINDOW_NONE || (j > 0 && w.at(ask, j - 1) == place))
            return;
        to.col += place * w.stride;
        for (int64_t a = 0; a < first; a++)
            if (w.shows(asks.of(a), ask.sample, place, &other))
                return;
        typename N::got(w.y, s).give(sum);
        gather<N>(first, j + 1, place, mine, sum);
        for (int64_t a = first + 1; a < asks.n; a++)
            if (w.shows(asks.of(a), ask.sample, place, &other))
                gather<N>(a, other, place, mine, sum);
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
