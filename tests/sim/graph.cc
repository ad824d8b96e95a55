/* SPDX-License-Identifier: Apache-2.0
 * graph.cc: simulated captures and graphs.  Work for a captured stream becomes
 * nodes; a graph runs them in any order that its edges allow. */
#include "tests/sim/inside.h"

#include <algorithm>

using stream = ctt_sim_cudaStream_t;

struct ctt_sim_cudaGraph_t {
    std::vector<ctt_sim_node> nodes;
};
struct ctt_sim_cudaGraphExec_t {
    std::shared_ptr<std::vector<ctt_sim_node>> nodes;
};

static std::set<std::shared_ptr<ctt_sim_recording>> captures;    /* under way */
static std::set<cudaGraph_t> graphs;
static std::set<cudaGraphExec_t> execs;

static bool may_not(const ctt_sim_recording &c)
{
    return c.mode == cudaStreamCaptureModeGlobal ||
           (c.mode == cudaStreamCaptureModeThreadLocal &&
            c.thread == std::this_thread::get_id());
}

bool ctt_sim_forbidden()
{
    bool any = false;

    for (auto &c : captures)
        if (may_not(*c))
            any = c->broken = true;
    return any;
}

bool ctt_sim_forbidden_legacy()
{
    bool any = false;

    for (auto &c : captures)
        for (stream *s : c->streams)
            if (s->blocking)
                any = c->broken = true;
    return any || ctt_sim_forbidden();
}

cudaError_t ctt_sim_capture(stream &s, ctt_sim_work work)
{
    ctt_sim_recording &c = *s.capture;

    if (c.broken)
        return ctt_sim_error(cudaErrorStreamCaptureInvalidated);
    c.nodes.push_back({ work, s.last });
    s.last = { (int)c.nodes.size() - 1 };
    return cudaSuccess;
}

cudaError_t ctt_sim_capture_wait(stream &s,
                                 const std::shared_ptr<ctt_sim_recording> &of,
                                 const std::vector<int> &last)
{
    if (s.capture && !of) {    /* a capture cannot wait for work outside */
        s.capture->broken = true;
        return ctt_sim_error(cudaErrorStreamCaptureIsolation);
    }
    if (!captures.count(of))   /* the event's capture has ended */
        return ctt_sim_error(cudaErrorCapturedEvent);
    if (s.capture && s.capture != of) {
        s.capture->broken = of->broken = true;
        return ctt_sim_error(cudaErrorStreamCaptureMerge);
    }
    if (of->broken)
        return ctt_sim_error(cudaErrorStreamCaptureInvalidated);
    if (!s.capture) {
        s.capture = of;
        s.last.clear();
        of->streams.insert(&s);
    }
    for (int n : last)
        if (std::find(s.last.begin(), s.last.end(), n) == s.last.end())
            s.last.push_back(n);
    return cudaSuccess;
}

static void leave_recording(const std::shared_ptr<ctt_sim_recording> &c)
{
    for (stream *s : c->streams) {
        s->capture = nullptr;
        s->last.clear();
    }
    c->streams.clear();
    captures.erase(c);
}

/* Before a captured stream is destroyed. */
void ctt_sim_capture_forget(stream &s)
{
    std::shared_ptr<ctt_sim_recording> c = s.capture;

    if (c)
        leave_recording(c);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s,
                                   enum cudaStreamCaptureMode mode)
{
    CTT_SIM_CUDA_ENTER();
    std::shared_ptr<stream> t = ctt_sim_stream(s);
    auto c = std::make_shared<ctt_sim_recording>();

    if (!s)
        return ctt_sim_error(cudaErrorStreamCaptureUnsupported);
    if (!t)
        return ctt_sim_error(cudaErrorInvalidResourceHandle);
    if (t->capture)
        return ctt_sim_error(cudaErrorInvalidValue);
    c->origin = s;
    c->mode = mode;
    c->thread = std::this_thread::get_id();
    c->broken = false;
    c->streams.insert(s);
    captures.insert(c);
    t->capture = c;
    t->last.clear();
    return cudaSuccess;
}

/* These nodes and all before them. */
static std::vector<bool> joined(const ctt_sim_recording &c,
                                std::vector<int> todo)
{
    std::vector<bool> yes(c.nodes.size());

    while (!todo.empty()) {
        int n = todo.back();
        todo.pop_back();
        if (yes[(size_t)n])
            continue;
        yes[(size_t)n] = true;
        for (int k : c.nodes[(size_t)n].after)
            todo.push_back(k);
    }
    return yes;
}

static cudaError_t end_recording(const ctt_sim_recording &c, cudaStream_t s)
{
    std::vector<bool> yes = joined(c, s->last);

    if (c.origin != s)
        return cudaErrorStreamCaptureUnmatched;
    if (c.broken)
        return cudaErrorStreamCaptureInvalidated;
    for (stream *t : c.streams)
        for (int n : t->last)
            if (!yes[(size_t)n])
                return cudaErrorStreamCaptureUnjoined;
    return cudaSuccess;
}

/* Ends the capture, also on failure. */
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
    CTT_SIM_CUDA_ENTER();
    std::shared_ptr<stream> t = ctt_sim_stream(s);
    std::shared_ptr<ctt_sim_recording> c;
    cudaError_t e;

    *graph = NULL;
    if (!t || !t->capture)
        return ctt_sim_error(t ? cudaErrorInvalidValue
                               : cudaErrorInvalidResourceHandle);
    c = t->capture;
    e = end_recording(*c, s);
    if (e == cudaErrorStreamCaptureUnmatched) {
        c->broken = true;
        return ctt_sim_error(e);
    }
    leave_recording(c);
    if (e)
        return ctt_sim_error(e);
    *graph = new ctt_sim_cudaGraph_t { c->nodes };
    graphs.insert(*graph);
    ctt_sim_count(CTT_SIM_GRAPH, 1);
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t s,
                                  enum cudaStreamCaptureStatus *status)
{
    CTT_SIM_CUDA_ENTER();
    std::shared_ptr<stream> t = ctt_sim_stream(s);

    if (s && !t)
        return ctt_sim_error(cudaErrorInvalidResourceHandle);
    *status = !t || !t->capture ? cudaStreamCaptureStatusNone
              : t->capture->broken ? cudaStreamCaptureStatusInvalidated
                                   : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

/* ---- graphs ---- */

/* Runs each node after all before it; picks the next one of the ready nodes at
 * random. */
static void run_nodes(const std::vector<ctt_sim_node> &nodes)
{
    std::vector<std::vector<int>> next(nodes.size());
    std::vector<size_t> missing(nodes.size());
    std::vector<int> ready;

    for (size_t n = 0; n < nodes.size(); n++) {
        missing[n] = nodes[n].after.size();
        for (int k : nodes[n].after)
            next[(size_t)k].push_back((int)n);
        if (!missing[n])
            ready.push_back((int)n);
    }
    while (!ready.empty()) {
        size_t k = ctt_sim_chance(ready.size());
        int n = ready[k];
        ready[k] = ready.back();
        ready.pop_back();
        nodes[(size_t)n].work();
        for (int m : next[(size_t)n])
            if (--missing[(size_t)m] == 0)
                ready.push_back(m);
    }
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags)
{
    CTT_SIM_CUDA_ENTER();

    (void)flags;
    if (!exec || !graphs.count(graph))
        return ctt_sim_error(cudaErrorInvalidValue);
    *exec = new ctt_sim_cudaGraphExec_t {
        std::make_shared<std::vector<ctt_sim_node>>(graph->nodes)
    };
    execs.insert(*exec);
    ctt_sim_count(CTT_SIM_EXEC, 1);
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t s)
{
    CTT_SIM_CUDA_ENTER();

    if (!execs.count(exec) || (s && !ctt_sim_stream(s)))
        return ctt_sim_error(cudaErrorInvalidValue);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
    CTT_SIM_CUDA_ENTER();
    std::shared_ptr<std::vector<ctt_sim_node>> nodes;

    if (!execs.count(exec))
        return ctt_sim_error(cudaErrorInvalidValue);
    nodes = exec->nodes;
    ctt_sim_count_graph();
    return ctt_sim_give(s, [=]() { run_nodes(*nodes); });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
                              size_t *count)
{
    CTT_SIM_CUDA_ENTER();

    if (!count || nodes || !graphs.count(graph))
        return ctt_sim_error(cudaErrorInvalidValue);
    *count = graph->nodes.size();
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    return ctt_sim_destroy(graphs, graph, CTT_SIM_GRAPH,
                           cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    return ctt_sim_destroy(execs, exec, CTT_SIM_EXEC,
                           cudaErrorInvalidValue);
}
