/* SPDX-License-Identifier: Apache-2.0
 * memory.cc: simulated device memory: blocks in one range of addresses, none
 * used twice, inaccessible to the program while no work runs; and page-locked
 * host memory.  AddressSanitizer checks the gaps between blocks. */
#include "tests/sim/inside.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p))
#endif

static const size_t page = 4096, range = CTT_SIM_RANGE;
static char *base;
static size_t past;                        /* from here on never allocated */
static std::map<char *, size_t> blocks;    /* in use */
static std::map<char *, size_t> pinned;
static std::map<char *, size_t> own;       /* cudaMallocHost's */
static size_t used, limit;
static bool open_now;
static int guard = -1;                     /* closed every guard-th time */
static int times;

static size_t pages(size_t bytes)
{
    return (bytes + page - 1) / page * page;
}

static void map_range()
{
    const char *bytes = getenv("CTT_SIM_MEMORY"), *g = getenv("CTT_SIM_GUARD");

    if (base)
        return;
    base = (char *)mmap(NULL, range, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
                        MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        ctt_sim_die("no range of addresses");
    if (!limit)
        limit = bytes ? (size_t)strtoull(bytes, NULL, 10) : (size_t)8 << 30;
    if (guard < 0)
        guard = g ? atoi(g) : 16;
}

char *ctt_sim_base()
{
    return base;
}

static void protect(int how)
{
    for (auto &b : blocks)
        if (mprotect(b.first, pages(b.second), how))
            ctt_sim_die("mprotect failed");
}

void ctt_sim_open()
{
    if (open_now)
        return;
    open_now = true;
    protect(PROT_READ | PROT_WRITE);
}

void ctt_sim_close()
{
    if (!open_now || !guard || ++times % guard)
        return;
    protect(PROT_NONE);
    open_now = false;
}

void ctt_sim_guard(int often)
{
    ctt_sim_entry entry(false);

    map_range();
    guard = often;
    times = 0;
    open_now = !often;
    protect(often ? PROT_NONE : PROT_READ | PROT_WRITE);
}

void ctt_sim_memory(int64_t bytes)
{
    ctt_sim_entry entry(false);

    map_range();
    limit = (size_t)bytes > used ? (size_t)bytes : used;
}

/* Whether the bytes from p on are in one of these. */
static bool inside(const std::map<char *, size_t> &of, const void *p,
                   size_t bytes)
{
    auto b = of.upper_bound((char *)p);

    if (b == of.begin())
        return false;
    --b;
    return (char *)p + bytes <= b->first + b->second;
}

bool ctt_sim_is_device(const void *p, size_t bytes)
{
    return inside(blocks, p, bytes);
}

bool ctt_sim_touches(const void *p, size_t bytes)
{
    return base && (const char *)p + bytes > base &&
           (const char *)p < base + range;
}

bool ctt_sim_is_pinned(const void *p, size_t bytes)
{
    return inside(pinned, p, bytes);
}

cudaError_t cudaMalloc(void **p, size_t bytes)
{
    CTT_SIM_CUDA_ENTER();
    size_t room = pages(bytes);
    char *at;

    map_range();
    if (!p || ctt_sim_forbidden())
        return ctt_sim_error(p ? cudaErrorStreamCaptureUnsupported
                               : cudaErrorInvalidValue);
    *p = NULL;
    if (!bytes)
        return cudaSuccess;
    if (bytes > limit - used || room + page > range - past)
        return ctt_sim_error(cudaErrorMemoryAllocation);
    at = base + past;
    past += room + page;    /* and an inaccessible page */
    if (mprotect(at, room, PROT_READ | PROT_WRITE))
        ctt_sim_die("mprotect failed");
    if (!ctt_sim_tally())
        memset(at, 0xff, room);
    ASAN_POISON_MEMORY_REGION(at + bytes, room - bytes);
    if (!open_now && mprotect(at, room, PROT_NONE))
        ctt_sim_die("mprotect failed");
    blocks[at] = bytes;
    used += bytes;
    ctt_sim_count(CTT_SIM_BLOCK, 1);
    *p = at;
    return cudaSuccess;
}

/* Waits for all work, as the library does. */
cudaError_t cudaFree(void *p)
{
    ctt_sim_entry entry(false);
    auto b = blocks.find((char *)p);

    if (ctt_sim_forbidden())
        return ctt_sim_error(cudaErrorStreamCaptureUnsupported);
    if (!p)
        return cudaSuccess;
    if (b == blocks.end())
        return ctt_sim_error(cudaErrorInvalidValue);
    ctt_sim_finish_all();
    used -= b->second;
    if (madvise(b->first, pages(b->second), MADV_DONTNEED) ||
        mprotect(b->first, pages(b->second), PROT_NONE))
        ctt_sim_die("memory cannot be given back");
    ASAN_POISON_MEMORY_REGION(b->first, pages(b->second));
    blocks.erase(b);
    ctt_sim_count(CTT_SIM_BLOCK, -1);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *room, size_t *total)
{
    const char *jitter = getenv("CTT_SIM_JITTER");
    CTT_SIM_CUDA_ENTER();

    map_range();
    *room = limit - used;
    if (jitter)
        *room -= std::min(*room, (size_t)ctt_sim_chance(
            strtoull(jitter, NULL, 10) + 1));
    *total = limit;
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags)
{
    CTT_SIM_CUDA_ENTER();
    auto after = pinned.lower_bound((char *)p + bytes);

    (void)flags;
    if (!p || !bytes || ctt_sim_touches(p, bytes))
        return ctt_sim_error(cudaErrorInvalidValue);
    if (after != pinned.begin() &&
        (--after)->first + after->second > (char *)p)
        return ctt_sim_error(cudaErrorHostMemoryAlreadyRegistered);
    pinned[(char *)p] = bytes;
    ctt_sim_count(CTT_SIM_PINNED, 1);
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *p)
{
    ctt_sim_entry entry(false);

    if (!pinned.count((char *)p) || own.count((char *)p))
        return ctt_sim_error(cudaErrorHostMemoryNotRegistered);
    ctt_sim_finish_all();
    pinned.erase((char *)p);
    ctt_sim_count(CTT_SIM_PINNED, -1);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    CTT_SIM_CUDA_ENTER();
    void *q;

    if (ctt_sim_forbidden())
        return ctt_sim_error(cudaErrorStreamCaptureUnsupported);
    q = aligned_alloc(page, pages(bytes + !bytes));
    if (!q)
        return ctt_sim_error(cudaErrorMemoryAllocation);
    memset(q, 0xff, pages(bytes + !bytes));
    pinned[(char *)q] = own[(char *)q] = bytes;
    ctt_sim_count(CTT_SIM_PINNED, 1);
    *p = q;
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags)
{
    (void)flags;
    return cudaMallocHost(p, bytes);
}

cudaError_t cudaFreeHost(void *p)
{
    ctt_sim_entry entry(false);

    if (!p)
        return cudaSuccess;
    if (!own.count((char *)p))
        return ctt_sim_error(cudaErrorInvalidValue);
    ctt_sim_finish_all();
    own.erase((char *)p);
    pinned.erase((char *)p);
    free(p);
    ctt_sim_count(CTT_SIM_PINNED, -1);
    return cudaSuccess;
}
