/* SPDX-License-Identifier: Apache-2.0
 * dnn_run.cc: simulated cuDNN: convolutions and pointwise operations by plain
 * loops over dense floats, gathered and scattered by the tensors' strides. */
#include "tests/sim/dnn.h"
#include "base/half.h"

#include <cmath>

/* Pixels by channels, in floats. */
struct image {
    int64_t            n, c, s[3];
    std::vector<float> x;

    float *at(int64_t i, int64_t d, int64_t h, int64_t w)
    {
        return &x[(size_t)((((i * s[0] + d) * s[1] + h) * s[2] + w) * c)];
    }
    int64_t pixels() const { return s[0] * s[1] * s[2]; }
};

struct state {
    std::map<int64_t, image>  made;    /* virtual tensors */
    std::map<int64_t, void *> data;
    bool                      tf32;
};

static enum ctt_dtype dnn_type(const ctt_sim_tensor &t)
{
    return t.type == CUDNN_DATA_FLOAT ? CTT_F32
           : t.type == CUDNN_DATA_HALF ? CTT_F16
           : t.type == CUDNN_DATA_INT8 ? CTT_I8
           : t.type == CUDNN_DATA_INT32 ? CTT_I32 : CTT_BF16;
}

static image image_like(const ctt_sim_tensor &t)
{
    image m = { t.dim[0], t.dim[1], { t.dim[2], t.dim[3], t.dim[4] }, {} };

    m.x.resize((size_t)(m.n * m.c * m.pixels()));
    return m;
}

/* Calls f(offset of a pixel in the tensor, its channels in the image). */
template <class F>
static void each_pixel(const ctt_sim_tensor &t, image &m, F f)
{
    for (int64_t i = 0; i < m.n; i++)
        for (int64_t d = 0; d < m.s[0]; d++)
            for (int64_t h = 0; h < m.s[1]; h++)
                for (int64_t w = 0; w < m.s[2]; w++)
                    f(i * t.step[0] + d * t.step[2] + h * t.step[3] +
                      w * t.step[4], m.at(i, d, h, w));
}

static image fetch(state &s, const ctt_sim_tensor &t)
{
    enum ctt_dtype type = dnn_type(t);
    image m = image_like(t);
    const void *from;

    if (t.is_virtual)
        return s.made.at(t.uid);
    from = s.data.at(t.uid);
    each_pixel(t, m, [&](int64_t at, float *x) {
        for (int64_t c = 0; c < m.c; c++)
            x[c] = ctt_load(from, type, at + c * t.step[1]);
    });
    return m;
}

/* Virtual results are rounded too. */
static void store_image(state &s, const ctt_sim_tensor &t, image &m)
{
    enum ctt_dtype type = dnn_type(t);
    void *to = t.is_virtual ? NULL : s.data.at(t.uid);
    uint32_t one;

    each_pixel(t, m, [&](int64_t at, float *x) {
        for (int64_t c = 0; c < m.c; c++) {
            if (to && type == CTT_I32) {
                ((int32_t *)to)[at + c * t.step[1]] = (int32_t)x[c];
            } else if (to) {
                ctt_store(to, type, at + c * t.step[1], x[c]);
            } else {
                ctt_store(&one, type, 0, x[c]);
                x[c] = ctt_load(&one, type, 0);
            }
        }
    });
    if (!to)
        s.made[t.uid] = m;
}

/* Calls f(channels in the large image, in the small one, tap) for each pixel of
 * the small image and each tap of the kernel inside the large one. */
template <class F>
static void each_tap(const ctt_sim_dnn_op &op, image &x, image &y, F f)
{
    int64_t taps = op.w.dim[2] * op.w.dim[3] * op.w.dim[4];

    for (int64_t p = 0; p < y.n * y.pixels(); p++)
        for (int64_t t = 0; t < taps; t++) {
            int64_t q = p, k = t, in[3];
            bool inside = true;
            for (int i = 2; i >= 0; i--) {
                in[i] = q % y.s[i] * op.stride[i] - op.pad[i] +
                        k % op.w.dim[2 + i] * op.dilation[i];
                inside = inside && in[i] >= 0 && in[i] < x.s[i];
                q /= y.s[i];
                k /= op.w.dim[2 + i];
            }
            if (inside)
                f(x.at(q, in[0], in[1], in[2]), &y.x[(size_t)(p * y.c)], t);
        }
}

/* The kernel by tap, input and output channel. */
static std::vector<float> by_tap(const image &w)
{
    std::vector<float> v(w.x.size());
    int64_t taps = w.pixels();

    for (int64_t o = 0; o < w.n; o++)
        for (int64_t t = 0; t < taps; t++)
            for (int64_t c = 0; c < w.c; c++)
                v[(size_t)((t * w.c + c) * w.n + o)] =
                    w.x[(size_t)((o * taps + t) * w.c + c)];
    return v;
}

static void conv_forward(const ctt_sim_dnn_op &op, image &x, image &y,
                         const image &w)
{
    std::vector<float> v = by_tap(w);
    int64_t outs = y.c / op.groups();

    each_tap(op, x, y, [&](const float *from, float *to, int64_t t) {
        for (int64_t c = 0; c < x.c; c++) {
            const float *k = &v[(size_t)((t * w.c + c % w.c) * y.c)];
            int64_t first = c / w.c * outs;
            for (int64_t o = first; o < first + outs; o++)
                to[o] += from[c] * k[o];
        }
    });
}

static void backward_data(const ctt_sim_dnn_op &op, image &x, image &y,
                          const image &w)
{
    int64_t taps = w.pixels(), outs = y.c / op.groups();

    each_tap(op, x, y, [&](float *to, const float *from, int64_t t) {
        for (int64_t o = 0; o < y.c; o++) {
            const float *k = &w.x[(size_t)((o * taps + t) * w.c)];
            int64_t first = o / outs * w.c;
            for (int64_t c = 0; c < w.c; c++)
                to[first + c] += from[o] * k[c];
        }
    });
}

static void backward_filter(const ctt_sim_dnn_op &op, image &x, image &y,
                            image &w)
{
    int64_t taps = w.pixels(), outs = y.c / op.groups();

    each_tap(op, x, y, [&](const float *a, const float *b, int64_t t) {
        for (int64_t o = 0; o < y.c; o++) {
            float *k = &w.x[(size_t)((o * taps + t) * w.c)];
            int64_t first = o / outs * w.c;
            for (int64_t c = 0; c < w.c; c++)
                k[c] += b[o] * a[first + c];
        }
    });
}

/* result = alpha sum + beta result */
static void blend(state &s, const ctt_sim_dnn_op &op, image &sum)
{
    const ctt_sim_tensor &t = op.result();
    image old;

    if (op.beta != 0)
        old = fetch(s, t);
    for (size_t i = 0; i < sum.x.size(); i++)
        sum.x[i] = (float)op.alpha * sum.x[i] +
                   (op.beta != 0 ? (float)op.beta * old.x[i] : 0);
    store_image(s, t, sum);
}

/* What is multiplied. */
static image factor(state &s, const ctt_sim_tensor &t)
{
    image m = fetch(s, t);

    for (size_t i = 0; s.tf32 && i < m.x.size(); i++)
        m.x[i] = ctt_sim_tf32(m.x[i]);
    return m;
}

static void convolve(state &s, const ctt_sim_dnn_op &op)
{
    image sum = image_like(op.result()), a, b;

    switch (op.way) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        a = factor(s, op.x);
        b = factor(s, op.w);
        conv_forward(op, a, sum, b);
        break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        a = factor(s, op.y);
        b = factor(s, op.w);
        backward_data(op, sum, a, b);
        break;
    default:
        a = factor(s, op.x);
        b = factor(s, op.y);
        backward_filter(op, a, b, sum);
        break;
    }
    blend(s, op, sum);
}

static float act(int mode, float x)
{
    switch (mode) {
    case CUDNN_POINTWISE_RELU_FWD:
        return x < 0 ? 0 : x;
    case CUDNN_POINTWISE_TANH_FWD:
        return tanhf(x);
    case CUDNN_POINTWISE_SIGMOID_FWD:
        return 1 / (1 + expf(-x));
    }
    return x;
}

/* The added tensor may have size 1 on an axis and is broadcast along it. */
static void pointwise(state &s, const ctt_sim_dnn_op &op)
{
    image x = fetch(s, op.x), b = op.has_b ? fetch(s, op.b) : image();
    size_t at = 0;

    for (int64_t p = 0; p < x.n * x.pixels(); p++) {
        int64_t q = p, in[3];
        for (int i = 2; i >= 0; i--) {
            in[i] = op.has_b && b.s[i] == 1 ? 0 : q % x.s[i];
            q /= x.s[i];
        }
        for (int64_t c = 0; c < x.c; c++, at++) {
            if (op.has_b)
                x.x[at] += b.at(b.n == 1 ? 0 : q, in[0], in[1],
                                in[2])[b.c == 1 ? 0 : c];
            x.x[at] = act(op.mode, x.x[at]);
        }
    }
    store_image(s, op.y, x);
}

/* An engine may do that before it adds up parts: cuDNN does not say what it
 * reads first. */
static void clear_result(state &s, const ctt_sim_tensor &t)
{
    image m = image_like(t);

    store_image(s, t, m);
}

void ctt_sim_dnn_run(const std::vector<ctt_sim_dnn_op> &ops,
                     const std::map<int64_t, void *> &data, bool tf32)
{
    state s = { {}, data, tf32 };

    if (ops.size() > 1 && ctt_sim_engines_are("hasty"))
        clear_result(s, ops.back().result());
    for (const ctt_sim_dnn_op &op : ops) {
        if (op.way == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
            pointwise(s, op);
        else
            convolve(s, op);
    }
}
