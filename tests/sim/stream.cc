/* SPDX-License-Identifier: Apache-2.0
 * stream.cc: simulated streams and events.  Work stays queued until it must
 * run; the test chooses the order in which streams take turns, so that a
 * missing wait gives wrong numbers. */
#include "tests/sim/inside.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

using stream = ctt_sim_cudaStream_t;

struct ctt_sim_cudaEvent_t {
    ctt_sim_mark                     mark;    /* last record, or none */
    std::shared_ptr<ctt_sim_recording> capture;
    std::vector<int>                 last;
    bool                             timed;
    int                              device = ctt_sim_device();
    std::shared_ptr<double>          ms;      /* time at which it was reached */
};

static std::map<cudaStream_t, std::shared_ptr<stream>> streams;
static std::set<cudaEvent_t> events;
static int order = -1;

static void take_order()
{
    static const char *const word[] = { "late", "early", "now" };
    const char *o = getenv("CTT_SIM_ORDER");

    order = CTT_SIM_LATE;
    for (int i = 0; o && i < 3; i++)
        if (!strcmp(o, word[i]))
            order = i;
    if (o && *o >= '0' && *o <= '9')
        order = CTT_SIM_SEEDS + atoi(o);
}

void ctt_sim_order(int o)
{
    ctt_sim_entry entry(false);

    order = o;
}

static bool reached(const ctt_sim_mark &m)
{
    return !m.stream || m.stream->done >= m.at;
}

static void run_to(stream &s, uint64_t at);

static void run_next(stream &s)
{
    ctt_sim_op op = s.queue.front();

    if (!reached(op.wait))
        run_to(*op.wait.stream, op.wait.at);
    if (op.attempt) {
        ctt_sim_open();
        if (!op.attempt())
            return;
    }
    s.queue.pop_front();
    if (op.work) {
        ctt_sim_open();
        op.work();
    }
    s.done++;
}

static void run_to(stream &s, uint64_t at)
{
    while (s.done < at)
        run_next(s);
}

/* Runs work of random streams until s has got to `at`. */
static void run_by_chance(stream &s, uint64_t at)
{
    std::vector<stream *> busy;

    while (s.done < at) {
        busy.clear();
        for (auto &t : streams)
            if (!t.second->queue.empty() &&
                reached(t.second->queue.front().wait))
                busy.push_back(t.second.get());
        run_next(busy.empty() ? s : *busy[ctt_sim_chance(busy.size())]);
    }
}

static void come_to(stream &s, uint64_t at)
{
    if (order == CTT_SIM_EARLY)
        for (auto &t : streams)
            if (t.second.get() != &s)
                run_to(*t.second, t.second->given);
    if (order >= CTT_SIM_SEEDS)
        run_by_chance(s, at);
    run_to(s, at);
}

void ctt_sim_finish_all()
{
    for (auto &t : streams)
        come_to(*t.second, t.second->given);
}

/* The NULL stream runs after all work of blocking streams. */
static void finish_blocking()
{
    for (auto &t : streams)
        if (t.second->blocking)
            come_to(*t.second, t.second->given);
}

cudaError_t ctt_sim_finish(cudaStream_t s)
{
    std::shared_ptr<stream> t = ctt_sim_stream(s);

    if (!s)
        finish_blocking();
    else
        come_to(*t, t->given);
    return cudaSuccess;
}

std::shared_ptr<stream> ctt_sim_stream(cudaStream_t s)
{
    auto t = streams.find(s);

    return t == streams.end() ? nullptr : t->second;
}

void ctt_sim_queue(stream &s, ctt_sim_op op)
{
    if (order < 0)
        take_order();
    s.queue.push_back(op);
    s.given++;
    if (order == CTT_SIM_NOW && !op.attempt)
        run_to(s, s.given);
}

cudaError_t ctt_sim_give(cudaStream_t s, ctt_sim_work work)
{
    std::shared_ptr<stream> t = ctt_sim_stream(s);

    if (s && (!t || t->device != ctt_sim_device()))
        return ctt_sim_error(cudaErrorInvalidResourceHandle);
    if (!s) {
        if (ctt_sim_forbidden_legacy())
            return ctt_sim_error(cudaErrorStreamCaptureImplicit);
        finish_blocking();
        ctt_sim_open();
        work();
        return cudaSuccess;
    }
    if (t->capture)
        return ctt_sim_capture(*t, work);
    ctt_sim_queue(*t, { work, {} });
    return cudaSuccess;
}

/* ---- streams ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
    CTT_SIM_CUDA_ENTER();
    std::shared_ptr<stream> t = std::make_shared<stream>();

    if (!s || flags > cudaStreamNonBlocking)
        return ctt_sim_error(cudaErrorInvalidValue);
    t->blocking = flags == cudaStreamDefault;
    streams[t.get()] = t;
    ctt_sim_count(CTT_SIM_STREAM, 1);
    *s = t.get();
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *s)
{
    return cudaStreamCreateWithFlags(s, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags,
                                         int priority)
{
    (void)priority;
    return cudaStreamCreateWithFlags(s, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    ctt_sim_entry entry(false);
    std::shared_ptr<stream> t = ctt_sim_stream(s);

    if (!t)
        return ctt_sim_error(cudaErrorInvalidResourceHandle);
    ctt_sim_capture_forget(*t);
    run_to(*t, t->given);
    streams.erase(s);
    ctt_sim_count(CTT_SIM_STREAM, -1);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    CTT_SIM_CUDA_ENTER();
    std::shared_ptr<stream> t = ctt_sim_stream(s);

    if (s && !t)
        return ctt_sim_error(cudaErrorInvalidResourceHandle);
    if (t && t->capture)
        t->capture->broken = true;
    if ((t && t->capture) || (!s && ctt_sim_forbidden_legacy()))
        return ctt_sim_error(cudaErrorStreamCaptureUnsupported);
    return ctt_sim_finish(s);
}

/* Runs one piece, so that repeated queries end. */
cudaError_t cudaStreamQuery(cudaStream_t s)
{
    CTT_SIM_CUDA_ENTER();
    std::shared_ptr<stream> t = ctt_sim_stream(s);

    if (!t)
        return ctt_sim_error(cudaErrorInvalidResourceHandle);
    if (t->capture) {
        t->capture->broken = true;
        return ctt_sim_error(cudaErrorStreamCaptureUnsupported);
    }
    if (t->queue.empty())
        return cudaSuccess;
    run_next(*t);
    return cudaErrorNotReady;
}

cudaError_t cudaDeviceSynchronize()
{
    CTT_SIM_CUDA_ENTER();

    if (ctt_sim_forbidden())
        return ctt_sim_error(cudaErrorStreamCaptureUnsupported);
    ctt_sim_finish_all();
    return cudaSuccess;
}

/* ---- events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
    CTT_SIM_CUDA_ENTER();

    if (!e)
        return ctt_sim_error(cudaErrorInvalidValue);
    *e = new ctt_sim_cudaEvent_t();
    (*e)->timed = !(flags & cudaEventDisableTiming);
    events.insert(*e);
    ctt_sim_count(CTT_SIM_EVENT, 1);
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    return cudaEventCreateWithFlags(e, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    return ctt_sim_destroy(events, e, CTT_SIM_EVENT,
                           cudaErrorInvalidResourceHandle);
}

static double passed;    /* simulated ms */

double ctt_sim_clock(const char *what)
{
    const char *list = getenv("CTT_SIM_CLOCK");
    size_t n = strlen(what);

    for (const char *at = list; at && *at && n;) {
        if (!strncmp(at, what, n) && at[n] == '=')
            return atof(at + n + 1);
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return list ? 0 : -1;
}

void ctt_sim_pass(const char *what)
{
    double ms = ctt_sim_clock(what);

    passed += ms > 0 ? ms : 0;
}

static double now()
{
    if (ctt_sim_clock("") >= 0)
        return passed;

    auto t = std::chrono::steady_clock::now().time_since_epoch();

    return std::chrono::duration<double, std::milli>(t).count();
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    CTT_SIM_CUDA_ENTER();
    std::shared_ptr<stream> t = ctt_sim_stream(s);
    std::shared_ptr<double> ms = std::make_shared<double>(0);

    if (!events.count(e) || (s && !t))
        return ctt_sim_error(cudaErrorInvalidResourceHandle);
    if (!s && ctt_sim_forbidden_legacy())
        return ctt_sim_error(cudaErrorStreamCaptureImplicit);
    e->capture = nullptr;
    e->mark = {};
    e->ms = ms;
    if (!s) {
        finish_blocking();
        *ms = now();
    } else if (t->capture) {
        e->capture = t->capture;
        e->last = t->last;
    } else {
        if (e->timed)
            ctt_sim_queue(*t, { [=]() { *ms = now(); }, {} });
        e->mark = { t, t->given };
    }
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
    CTT_SIM_CUDA_ENTER();
    std::shared_ptr<stream> t = ctt_sim_stream(s);

    (void)flags;
    if (!events.count(e) || (s && !t))
        return ctt_sim_error(cudaErrorInvalidResourceHandle);
    if (!s) {
        if (e->mark.stream)
            come_to(*e->mark.stream, e->mark.at);
        return cudaSuccess;
    }
    if (t->capture || e->capture)
        return ctt_sim_capture_wait(*t, e->capture, e->last);
    if (e->mark.stream)
        ctt_sim_queue(*t, { nullptr, e->mark });
    return cudaSuccess;
}

/* The error if the program may not wait for or query this event; for a captured
 * one, that also invalidates the capture. */
static cudaError_t refuse_query(cudaEvent_t e)
{
    if (!events.count(e))
        return cudaErrorInvalidResourceHandle;
    if (!e->capture)
        return cudaSuccess;
    e->capture->broken = true;
    return cudaErrorCapturedEvent;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    CTT_SIM_CUDA_ENTER();
    cudaError_t error = refuse_query(e);

    if (error)
        return ctt_sim_error(error);
    if (e->device != ctt_sim_device())
        ctt_sim_die("a thread that waits for GPU %d takes memory of GPU %d",
                    e->device, ctt_sim_device());
    if (e->mark.stream)
        come_to(*e->mark.stream, e->mark.at);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
    CTT_SIM_CUDA_ENTER();
    cudaError_t error = refuse_query(e);

    if (error)
        return ctt_sim_error(error);
    if (reached(e->mark))
        return cudaSuccess;
    run_next(*e->mark.stream);
    return cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    CTT_SIM_CUDA_ENTER();

    if (!events.count(from) || !events.count(to) || !from->timed ||
        !to->timed || !from->ms || !to->ms)
        return ctt_sim_error(cudaErrorInvalidResourceHandle);
    if (!reached(from->mark) || !reached(to->mark))
        return cudaErrorNotReady;
    *ms = (float)(*to->ms - *from->ms);
    return cudaSuccess;
}
