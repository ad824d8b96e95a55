/* SPDX-License-Identifier: Apache-2.0
 * inside.h: common part of the simulation's files.  All of it requires the lock
 * that ctt_sim_entry takes. */
#ifndef CTT_SIM_INSIDE_H
#define CTT_SIM_INSIDE_H

#include "tests/sim/cuda_runtime_api.h"

#ifdef __cplusplus

#include "tests/sim/sim.h"

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

using ctt_sim_work = std::function<void()>;

/* Every function of the libraries begins with one.  refused: the test wants
 * this call to fail.  The destructor of the outermost one closes device
 * memory. */
struct ctt_sim_entry {
    bool refused;
    explicit ctt_sim_entry(bool may_fail = true);
    ~ctt_sim_entry();
};
#define CTT_SIM_ENTER(failure)                                          \
    ctt_sim_entry entry_;                                               \
    if (entry_.refused)                                                 \
        return (failure)
#define CTT_SIM_CUDA_ENTER() CTT_SIM_ENTER(ctt_sim_error(cudaErrorUnknown))

/* Remembers it for cudaGetLastError(), and returns it. */
cudaError_t ctt_sim_error(cudaError_t e);

/* Aborts with one line: for errors that a GPU does not report, but that lead to
 * wrong results. */
[[noreturn]] void ctt_sim_die(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* device.cc: the GPU that this thread works on.  Streams and events belong to
 * one. */
int ctt_sim_device();

/* sparse.cc: the simulated cuSPARSE as a library; NULL: it is not there
 * (CTT_SIM_SPARSE), or has no such function. */
extern const char ctt_sim_sparse_name[];
void *ctt_sim_sparse();
void *ctt_sim_sparse_function(const char *name);

/* lt.cc: the same for cuSPARSELt. */
extern const char ctt_sim_lt_name[];
void *ctt_sim_lt();
void *ctt_sim_lt_function(const char *name);

/* nccl.cc: a call of NCCL is still to fail (CTT_SIM_NCCL). */
bool ctt_sim_nccl_waits();

/* Counts live objects by kind; `by` is 1 or -1. */
enum ctt_sim_kind {
    CTT_SIM_BLOCK, CTT_SIM_PINNED, CTT_SIM_STREAM, CTT_SIM_EVENT,
    CTT_SIM_GRAPH, CTT_SIM_EXEC, CTT_SIM_DNN_HANDLE, CTT_SIM_DESCRIPTOR,
    CTT_SIM_BLAS_HANDLE, CTT_SIM_BLAS_DESCRIPTOR, CTT_SIM_COMMUNICATOR,
    CTT_SIM_SPARSE_HANDLE, CTT_SIM_SPARSE_DESCRIPTOR,
    CTT_SIM_KINDS
};
void ctt_sim_count(enum ctt_sim_kind kind, int by);
void ctt_sim_count_kernel();
void ctt_sim_count_graph();

/* memory.cc.  Device memory is accessible from ctt_sim_open() to the end of the
 * entry.  is_device: whether all bytes are in one live block; touches: whether
 * any of them is in the device's range of addresses. */
void ctt_sim_open();
void ctt_sim_close();
bool ctt_sim_is_device(const void *p, size_t bytes);
bool ctt_sim_touches(const void *p, size_t bytes);
bool ctt_sim_is_pinned(const void *p, size_t bytes);

/* The device's range of addresses: CTT_SIM_RANGE bytes from base on. */
const size_t CTT_SIM_RANGE = (size_t)1 << 38;
char *ctt_sim_base();

/* race.cc.  The running thread; kernel 0: none.  phase: barriers so far. */
struct ctt_sim_who {
    uint32_t kernel, block;
    uint16_t phase, thread;
};
extern ctt_sim_who ctt_sim_me;
void ctt_sim_read(const void *p, size_t bytes);    /* by that thread */

/* kernel.cc.  A collective of a warp, as one lane calls it: meet waits until
 * all lanes of the mask have, and one of them exchanges; calls: by lane;
 * first: the thread that is lane 0. */
enum { CTT_SIM_WARP = 32 };
struct ctt_sim_collective {
    const char *name, *file;
    int         line;
    unsigned    mask;
    void      (*exchange)(ctt_sim_collective *const *calls, unsigned first);
};
void ctt_sim_meet(ctt_sim_collective &c);

/* From within a kernel: one more ctt_sim_runs() of this name, which lasts. */
void ctt_sim_note_run(const char *name);

/* The types of its parameters; without a function of the running kernel. */
std::string ctt_sim_kernel_name(const char *function);
std::string ctt_sim_kernel_name();

/* stream.cc.  A point in a stream's work: reached once `at` pieces are done. */
struct ctt_sim_mark {
    std::shared_ptr<ctt_sim_cudaStream_t> stream;
    uint64_t                              at;
};

/* graph.cc.  Captured work, each piece with the ones that must run before. */
struct ctt_sim_node {
    ctt_sim_work     work;
    std::vector<int> after;
};
struct ctt_sim_recording {
    std::vector<ctt_sim_node>        nodes;
    std::set<ctt_sim_cudaStream_t *> streams;
    ctt_sim_cudaStream_t            *origin;
    enum cudaStreamCaptureMode       mode;
    std::thread::id                  thread;
    bool                             broken;
};

struct ctt_sim_op {
    ctt_sim_work work;       /* may be empty */
    ctt_sim_mark wait;       /* must be reached first */
    std::function<bool()> attempt;    /* in place of work, for work that waits
                                         for another process: tried until it
                                         returns true */
};
struct ctt_sim_cudaStream_t {
    std::deque<ctt_sim_op>           queue;    /* work not done yet */
    uint64_t                         given = 0, done = 0;
    bool                             blocking = true;
    int                              device = ctt_sim_device();
    std::shared_ptr<ctt_sim_recording> capture;
    std::vector<int>                 last;     /* its last nodes so far */
};

/* The stream of a handle; null if there is none, as for the NULL stream. */
std::shared_ptr<ctt_sim_cudaStream_t> ctt_sim_stream(cudaStream_t s);

/* Queues work on a stream, which may be NULL, or adds it to the graph that
 * captures the stream. */
cudaError_t ctt_sim_give(cudaStream_t s, ctt_sim_work work);

/* Does the work of a stream, of all streams. */
cudaError_t ctt_sim_finish(cudaStream_t s);
void ctt_sim_finish_all();

/* Appends to the queue of a stream that is not captured. */
void ctt_sim_queue(ctt_sim_cudaStream_t &s, ctt_sim_op op);

/* graph.cc.  The functions of captured streams.  forbidden: whether a running
 * capture forbids calls that may synchronize; such a call invalidates it.
 * legacy: the same for work on the NULL stream. */
bool ctt_sim_forbidden();
bool ctt_sim_forbidden_legacy();
cudaError_t ctt_sim_capture(ctt_sim_cudaStream_t &s, ctt_sim_work work);
cudaError_t ctt_sim_capture_wait(ctt_sim_cudaStream_t &s,
                                 const std::shared_ptr<ctt_sim_recording> &of,
                                 const std::vector<int> &last);
void ctt_sim_capture_forget(ctt_sim_cudaStream_t &s);

/* Destroys a live object; returns `unknown` if it is none. */
template <class Handle>
cudaError_t ctt_sim_destroy(std::set<Handle> &live, Handle h,
                            enum ctt_sim_kind kind, cudaError_t unknown)
{
    ctt_sim_entry entry(false);

    if (!live.erase(h))
        return ctt_sim_error(unknown);
    delete h;
    ctt_sim_count(kind, -1);
    return cudaSuccess;
}

/* tally.cc: whether work is counted in place of being done.  add: a run of what
 * is so named; kernel: of a kernel, of whose blocks `ran` ran, with the bytes
 * told by access; function: names its type. */
bool ctt_sim_tally();
void ctt_sim_tally_access(const void *p, bool writes);
void ctt_sim_tally_add(const char *what, int64_t bytes, double flop);
void ctt_sim_tally_kernel(const char *function, uint64_t blocks, uint64_t ran);

/* The compute capability of the GPUs, 80 for 8.0. */
int ctt_sim_capability();

/* stream.cc: the time in ms that such work takes by CTT_SIM_CLOCK, 0 if it does
 * not say; negative: no clock.  pass: work that took as long. */
double ctt_sim_clock(const char *what);
void ctt_sim_pass(const char *what);

/* blas.cc: rounded to the 10 bits of mantissa that TF32 has. */
float ctt_sim_tf32(float x);

/* A pseudorandom number below n. */
uint64_t ctt_sim_chance(uint64_t n);

#endif

#endif
