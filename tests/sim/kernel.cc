/* SPDX-License-Identifier: Apache-2.0
 * kernel.cc: the threads of a simulated kernel.  One fiber runs the threads of
 * a block one after the other; a thread at a barrier, or at a collective of its
 * warp, keeps its fiber, and the remaining threads continue in another one,
 * until all wait there.  A kernel without either is therefore one plain
 * loop. */
#include "tests/sim/cuda_runtime.h"
#include "tests/sim/inside.h"

#include <map>

#ifndef __x86_64__
#include <ucontext.h>
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

static const size_t stack_bytes = 128 << 10;

/* The saved state of a fiber.  swapcontext() would make a system call on each
 * switch. */
#ifdef __x86_64__
using place = void *;    /* the stack, saved registers on its top */

extern "C" void ctt_sim_swap(place *from, place to);
asm(R"(
    .text
    .type ctt_sim_swap, @function
ctt_sim_swap:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size ctt_sim_swap, . - ctt_sim_swap
)");

static void switch_stack(place *from, place *to)
{
    ctt_sim_swap(from, *to);
}

static void start_fiber(place *at, char *stack, size_t bytes, void (*f)())
{
    uintptr_t top = ((uintptr_t)stack + bytes) / 16 * 16;
    void **p = (void **)top;

    *--p = NULL;             /* f never returns */
    *--p = (void *)f;
    for (int i = 0; i < 6; i++)
        *--p = NULL;
    *at = p;
}
#else
using place = ucontext_t;

static void switch_stack(place *from, place *to)
{
    swapcontext(from, to);
}

static void start_fiber(place *at, char *stack, size_t bytes, void (*f)())
{
    getcontext(at);
    at->uc_stack.ss_sp = stack;
    at->uc_stack.ss_size = bytes;
    at->uc_link = NULL;
    makecontext(at, f, 0);
}
#endif

struct fiber {
    place                   context;
    std::unique_ptr<char[]> stack;
    void                   *fake;      /* AddressSanitizer's stack */
    uint3                   thread;    /* the thread that waits */
    uint16_t                number;
};

/* What a thread has come to; call NULL: no collective. */
struct arrival { size_t fiber; ctt_sim_collective *call; };

static std::vector<std::unique_ptr<fiber>> fibers;    /* reused */
static std::vector<size_t> waiting, idle;
static std::vector<arrival> lanes;    /* of each thread of the block */
static size_t met;                    /* how many of them have a call */
static size_t at;                     /* the running fiber */
static place home;
static const std::function<void()> *body;
static unsigned next_thread, threads;
static uint32_t kernels;
static const char *kernel_type;
static std::map<const char *, int64_t> runs;    /* by function */

#ifdef __SANITIZE_ADDRESS__
static const void *home_stack;
static size_t home_bytes;
static void *home_fake;

static void leave_stack(void **fake, const void *stack, size_t bytes)
{
    __sanitizer_start_switch_fiber(fake, stack, bytes);
}
static void arrive(void *fake, const void **stack, size_t *bytes)
{
    __sanitizer_finish_switch_fiber(fake, stack, bytes);
}
#define LEAVE_HOME(f) \
    leave_stack(&home_fake, (f).stack.get(), stack_bytes)
#define BACK_HOME() arrive(home_fake, NULL, NULL)
#define LEAVE_FIBER(f) leave_stack(&(f).fake, home_stack, home_bytes)
#define IN_FIBER(f) arrive((f).fake, &home_stack, &home_bytes)
#else
#define LEAVE_HOME(f) ((void)(f))
#define BACK_HOME() ((void)0)
#define LEAVE_FIBER(f) ((void)(f))
#define IN_FIBER(f) ((void)(f))
#endif

static void to_fiber(size_t k)
{
    at = k;
    LEAVE_HOME(*fibers[k]);
    switch_stack(&home, &fibers[k]->context);
    BACK_HOME();
}

static void to_home(fiber &f)
{
    LEAVE_FIBER(f);
    switch_stack(&f.context, &home);
    IN_FIBER(f);
}

/* Lets the others run until somebody returns to this thread. */
static void park()
{
    fiber &f = *fibers[at];

    f.thread = threadIdx;
    f.number = ctt_sim_me.thread;
    to_home(f);
    threadIdx = f.thread;
    ctt_sim_me.thread = f.number;
}

void __syncthreads()
{
    if (!ctt_sim_me.kernel)
        ctt_sim_die("__syncthreads() outside a kernel");
    waiting.push_back(at);
    park();
}

void ctt_sim_meet(ctt_sim_collective &c)
{
    unsigned lane = ctt_sim_me.thread % CTT_SIM_WARP;

    if (!ctt_sim_me.kernel)
        ctt_sim_die("%s outside a kernel (%s:%d)", c.name, c.file, c.line);
    if (!(c.mask >> lane & 1))
        ctt_sim_die("kernel %s: lane %u calls %s (%s:%d) for the lanes %#x",
                    ctt_sim_kernel_name().c_str(), lane, c.name, c.file,
                    c.line, c.mask);
    lanes[ctt_sim_me.thread] = { at, &c };
    met++;
    park();
}

/* The types of its parameters, of which the first is mostly a functor. */
std::string ctt_sim_kernel_name(const char *function)
{
    const char *p = strstr(function, "P = {");
    std::string s = p ? p + 5 : function;

    return s.substr(0, s.find('}'));
}

std::string ctt_sim_kernel_name()
{
    return ctt_sim_kernel_name(kernel_type);
}

void ctt_sim_note_run(const char *name)
{
    runs[name]++;
}

int64_t ctt_sim_runs(const char *types)
{
    ctt_sim_entry entry(false);
    int64_t n = 0;

    for (auto &r : runs)
        n += ctt_sim_kernel_name(r.first) == types ? r.second : 0;
    return n;
}

static void run_threads()
{
    while (next_thread < threads) {
        unsigned t = next_thread++;
        threadIdx.x = t % blockDim.x;
        threadIdx.y = t / blockDim.x % blockDim.y;
        threadIdx.z = t / blockDim.x / blockDim.y;
        ctt_sim_me.thread = (uint16_t)t;
        (*body)();
    }
}

/* A fiber is reused from block to block. */
static void fiber_main()
{
    IN_FIBER(*fibers[at]);
    for (;;) {
        fiber &f = *fibers[at];
        run_threads();
        idle.push_back(at);
        to_home(f);
    }
}

static size_t any_fiber()
{
    size_t k;

    if (idle.empty()) {
        fibers.push_back(std::make_unique<fiber>());
        fiber &f = *fibers.back();
        f.stack.reset(new char[stack_bytes]);
        start_fiber(&f.context, f.stack.get(), stack_bytes, fiber_main);
        return fibers.size() - 1;
    }
    k = idle.back();
    idle.pop_back();
    return k;
}

/* What lane `other` does in place of call c; empty: it is there, too. */
static std::string elsewhere(const ctt_sim_collective &c, unsigned other)
{
    const ctt_sim_collective *o = other < threads ? lanes[other].call : NULL;

    if (other >= threads)
        return "is not there";
    if (o && (o->line != c.line ||
              (o->file != c.file && strcmp(o->file, c.file) != 0)))
        return std::string("is at ") + o->name + " (" + o->file + ":" +
               std::to_string(o->line) + ")";
    if (o)
        return o->mask == c.mask ? "" : "calls it for other lanes";
    for (size_t k : waiting)
        if (fibers[k]->number == other)
            return "is at a barrier";
    return "never comes";
}

/* Ends the program if a lane of the call is elsewhere; `last`: no other thread
 * can run.  Returns 1 if all are there. */
static bool all_there(unsigned thread, bool last)
{
    const ctt_sim_collective &c = *lanes[thread].call;
    unsigned first = thread - thread % CTT_SIM_WARP;

    for (unsigned l = 0; l < CTT_SIM_WARP; l++) {
        std::string where = c.mask >> l & 1 ? elsewhere(c, first + l) : "";
        if (where.empty())
            continue;
        if (last)
            ctt_sim_die("kernel %s, block %u, warp %u: lane %u is at %s "
                        "(%s:%d), but lane %u %s", ctt_sim_kernel_name().
                        c_str(), blockIdx.x, first / CTT_SIM_WARP,
                        thread % CTT_SIM_WARP, c.name, c.file, c.line, l,
                        where.c_str());
        return false;
    }
    return true;
}

/* The lanes of a call that all have come to exchange and go on. */
static void go_on(unsigned thread)
{
    unsigned first = thread - thread % CTT_SIM_WARP;
    unsigned mask = lanes[thread].call->mask;
    ctt_sim_collective *calls[CTT_SIM_WARP] = { };

    for (unsigned l = 0; l < CTT_SIM_WARP; l++)
        if (mask >> l & 1)
            std::swap(calls[l], lanes[first + l].call);
    ctt_sim_me.thread = (uint16_t)thread;
    calls[thread - first]->exchange(calls, first);
    for (unsigned l = 0; l < CTT_SIM_WARP; l++)
        if (mask >> l & 1) {
            met--;
            to_fiber(lanes[first + l].fiber);
        }
}

/* Runs warps until all threads are at a barrier or at their end. */
static void run_warps()
{
    bool some = true;

    while (met) {
        bool last = !some;
        some = false;
        for (unsigned t = 0; t < threads; t++)
            if (lanes[t].call && all_there(t, last)) {
                go_on(t);
                some = true;
            }
    }
}

static void run_block()
{
    std::vector<size_t> now;

    next_thread = 0;
    ctt_sim_me.phase = 0;
    lanes.assign(threads, { 0, NULL });
    while (next_thread < threads)
        to_fiber(any_fiber());
    for (run_warps(); !waiting.empty(); run_warps()) {
        if (waiting.size() != threads)
            ctt_sim_die("%zu of %u threads of block %u came to a barrier",
                        waiting.size(), threads, blockIdx.x);
        ctt_sim_me.phase++;
        now.swap(waiting);
        waiting.clear();
        for (size_t k : now)
            to_fiber(k);
    }
}

/* Of a kernel that is counted some blocks run. */
enum { COUNTED = 2 };

/* Runs the blocks in a random order: they must not depend on each other. */
static void run_grid(dim3 grid, dim3 block, const std::function<void()> &f,
                     const char *function)
{
    uint64_t n = (uint64_t)grid.x * grid.y * grid.z;
    uint64_t step = ctt_sim_tally() && n > COUNTED ? n / COUNTED : 1;
    uint64_t first = ctt_sim_chance(n), back = ctt_sim_chance(2);

    gridDim = grid;
    blockDim = block;
    threads = block.x * block.y * block.z;
    body = &f;
    kernel_type = function;
    ctt_sim_me.kernel = kernels = kernels + 1 ? kernels + 1 : 1;
    for (uint64_t i = 0; i < n; i += step) {
        uint64_t b = (first + (back ? n - i : i)) % n;
        blockIdx.x = (unsigned)(b % grid.x);
        blockIdx.y = (unsigned)(b / grid.x % grid.y);
        blockIdx.z = (unsigned)(b / grid.x / grid.y);
        ctt_sim_me.block = (uint32_t)b;
        run_block();
    }
    ctt_sim_me.kernel = 0;
    ctt_sim_count_kernel();
    runs[function]++;
    if (ctt_sim_tally())
        ctt_sim_tally_kernel(function, n, (n + step - 1) / step);
    ctt_sim_pass("kernel");
}

static bool grid_fits(dim3 grid, dim3 block)
{
    return grid.x && grid.y && grid.z && block.x && block.y && block.z &&
           grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535 &&
           block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
           (uint64_t)block.x * block.y * block.z <= 1024;
}

void ctt_sim_kernel(dim3 grid, dim3 block, cudaStream_t s,
                    std::function<void()> f, const char *function)
{
    ctt_sim_entry entry;

    if (entry.refused)
        ctt_sim_error(cudaErrorUnknown);
    else if (!grid_fits(grid, block))
        ctt_sim_error(cudaErrorInvalidConfiguration);
    else
        ctt_sim_give(s, [=]() { run_grid(grid, block, f, function); });
}
