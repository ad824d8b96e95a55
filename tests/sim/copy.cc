/* SPDX-License-Identifier: Apache-2.0
 * copy.cc: simulated copies.  Pageable host memory is read and written before
 * the call returns; page-locked memory is read and written when the stream gets
 * to the copy. */
#include "tests/sim/inside.h"

#include <cstring>

struct copy {
    char       *to;
    const char *from;
    size_t      to_pitch, from_pitch, width, height;

    size_t to_bytes() const { return to_pitch * (height - 1) + width; }
    size_t from_bytes() const { return from_pitch * (height - 1) + width; }
};

/* Nothing was computed: what comes back is 0. */
static void tally_copy(const copy &c)
{
    ctt_sim_tally_add("copy", (int64_t)(2 * c.width * c.height), 0);
    for (size_t i = 0; i < c.height && !ctt_sim_touches(c.to, 1); i++)
        memset(c.to + i * c.to_pitch, 0, c.width);
}

static void do_copy(const copy &c)
{
    if (ctt_sim_tally())
        return tally_copy(c);
    for (size_t i = 0; i < c.height; i++)
        memcpy(c.to + i * c.to_pitch, c.from + i * c.from_pitch, c.width);
}

/* All of the memory must be on the side that the direction says. */
static cudaError_t check_copy(const copy &c, enum cudaMemcpyKind kind)
{
    bool to = kind == cudaMemcpyHostToDevice ||
              kind == cudaMemcpyDeviceToDevice;
    bool from = kind == cudaMemcpyDeviceToHost ||
                kind == cudaMemcpyDeviceToDevice;

    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (kind == cudaMemcpyDefault) {
        to = ctt_sim_touches(c.to, c.to_bytes());
        from = ctt_sim_touches(c.from, c.from_bytes());
    }
    if (c.to_pitch < c.width || c.from_pitch < c.width ||
        to != ctt_sim_touches(c.to, c.to_bytes()) ||
        from != ctt_sim_touches(c.from, c.from_bytes()) ||
        (to && !ctt_sim_is_device(c.to, c.to_bytes())) ||
        (from && !ctt_sim_is_device(c.from, c.from_bytes())))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* Copies the present contents of host memory. */
static cudaError_t give_staged(cudaStream_t s, const copy &c)
{
    auto stage = std::make_shared<std::vector<char>>(c.from,
                                                     c.from + c.from_bytes());

    return ctt_sim_give(s, [=]() {
        copy staged = c;
        staged.from = stage->data();
        do_copy(staged);
    });
}

static bool capturing(cudaStream_t s)
{
    std::shared_ptr<ctt_sim_cudaStream_t> t = ctt_sim_stream(s);

    return t && t->capture;
}

static cudaError_t queue_copy(cudaStream_t s, const copy &c,
                              enum cudaMemcpyKind kind)
{
    cudaError_t e;
    bool stage, wait;

    if (!c.width || !c.height)
        return cudaSuccess;
    e = check_copy(c, kind);
    if (e)
        return ctt_sim_error(e);
    stage = !ctt_sim_touches(c.from, 1) &&
            !ctt_sim_is_pinned(c.from, c.from_bytes());
    wait = !ctt_sim_touches(c.to, 1) &&
           !ctt_sim_is_pinned(c.to, c.to_bytes());
    if (capturing(s))    /* a node stores addresses only */
        return ctt_sim_give(s, [=]() { do_copy(c); });
    if (stage)
        e = give_staged(s, c);
    else
        e = ctt_sim_give(s, [=]() { do_copy(c); });
    return e || !wait ? e : ctt_sim_finish(s);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind, cudaStream_t s)
{
    CTT_SIM_CUDA_ENTER();

    return queue_copy(s, { (char *)to, (const char *)from, bytes, bytes, bytes,
                          1 }, kind);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t s)
{
    CTT_SIM_CUDA_ENTER();

    return queue_copy(s, { (char *)to, (const char *)from, to_pitch, from_pitch,
                           width, height }, kind);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind)
{
    CTT_SIM_CUDA_ENTER();

    return queue_copy(NULL, { (char *)to, (const char *)from, bytes, bytes,
                              bytes, 1 }, kind);
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s)
{
    CTT_SIM_CUDA_ENTER();

    if (!bytes)
        return cudaSuccess;
    if (!ctt_sim_is_device(p, bytes))
        return ctt_sim_error(cudaErrorInvalidValue);
    return ctt_sim_give(s, [=]() {
        if (ctt_sim_tally())
            ctt_sim_tally_add("memset", (int64_t)bytes, 0);
        else
            memset(p, value, bytes);
    });
}

cudaError_t cudaMemset(void *p, int value, size_t bytes)
{
    return cudaMemsetAsync(p, value, bytes, NULL);
}
