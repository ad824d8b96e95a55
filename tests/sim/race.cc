/* SPDX-License-Identifier: Apache-2.0
 * race.cc: finds data races: two threads of a kernel access one number without
 * a barrier in between, one of them writing.  Kernels are compiled as for
 * ThreadSanitizer, and this file defines the functions that such code calls at
 * every access; the last writer and reader of each number are recorded.
 * Without this the simulation would hide races, as it runs threads one after
 * the other. */
#include "tests/sim/inside.h"

#include <link.h>
#include <sys/mman.h>

enum { GRAIN = 1 };    /* bytes of the smallest number that kernels write */

struct cell { ctt_sim_who write, read; };

ctt_sim_who ctt_sim_me;

static cell *of_device, *of_block;

/* The module's static variables, among them all __shared__ ones. */
static const char *first, *end;

static cell *reserve_cells(size_t bytes)
{
    void *p = mmap(NULL, bytes / GRAIN * sizeof(cell), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        ctt_sim_die("no memory to watch kernels");
    return (cell *)p;
}

/* Finds the segment of one of our own variables. */
static int find_stack(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &h = info->dlpi_phdr[i];
        const char *p = (const char *)(info->dlpi_addr + h.p_vaddr);
        if (h.p_type != PT_LOAD || (const char *)&of_block < p ||
            (const char *)&of_block >= p + h.p_memsz)
            continue;
        first = p;
        end = p + h.p_memsz;
        return 1;
    }
    return 0;
}

/* NULL: not checked, as are stacks. */
static cell *cell_of(const char *p)
{
    size_t at = (size_t)(p - ctt_sim_base());

    if (at < CTT_SIM_RANGE) {
        if (!of_device)
            of_device = reserve_cells(CTT_SIM_RANGE);
        return of_device + at / GRAIN;
    }
    if (!of_block) {
        if (!dl_iterate_phdr(find_stack, NULL))
            ctt_sim_die("no segment of static variables");
        of_block = reserve_cells((size_t)(end - first) + GRAIN);
    }
    return p < first || p >= end ? NULL : of_block + (p - first) / GRAIN;
}

static bool conflict(const ctt_sim_who &a, const ctt_sim_who &me, bool device)
{
    if (a.kernel != me.kernel || (!device && a.block != me.block))
        return false;
    if (a.block != me.block)
        return true;
    return a.thread != me.thread && a.phase == me.phase;
}

static void check_access(const ctt_sim_who &a, const char *what, const void *p)
{
    const ctt_sim_who &me = ctt_sim_me;

    if (conflict(a, me, ctt_sim_touches(p, 1)))
        ctt_sim_die("kernel %s: thread %u of block %u %s what thread %u of "
                    "block %u uses beside it",
                    ctt_sim_kernel_name().c_str(), me.thread, me.block, what,
                    a.thread, a.block);
}

static void note_read(ctt_sim_who *r, const ctt_sim_who &me)
{
    if (r->kernel != me.kernel)
        *r = me;
    else if (r->block != me.block)
        r->block = ~0u;                /* many */
    else if (r->phase != me.phase)
        *r = me;
    else if (r->thread != me.thread)
        r->thread = (uint16_t)~0u;     /* many */
}

static void access(const void *p, size_t bytes, bool writes)
{
    if (!ctt_sim_me.kernel)            /* not in a kernel */
        return;
    static const bool counted = ctt_sim_tally();
    static const char *const base = ctt_sim_base();
    if (counted) {
        if ((size_t)((const char *)p - base) < CTT_SIM_RANGE)
            ctt_sim_tally_access(p, writes);
        return;
    }
    for (size_t i = 0; i < bytes; i += GRAIN) {
        const char *q = (const char *)p + i;
        cell *c = cell_of(q);
        if (!c)
            return;
        check_access(c->write, writes ? "writes" : "reads", q);
        if (writes)
            check_access(c->read, "writes", q);
        if (writes)
            c->write = ctt_sim_me;
        else
            note_read(&c->read, ctt_sim_me);
    }
}

/* The simulation itself is not compiled to tell of accesses. */
void ctt_sim_read(const void *p, size_t bytes)
{
#ifndef CTT_SIM_UNWATCHED
    access(p, bytes, false);
#else
    (void)p;
    (void)bytes;
#endif
}

/* In a build with ThreadSanitizer these names belong to it: it checks the
 * host's code, and kernels are compiled without. */
#ifdef CTT_SIM_UNWATCHED
namespace unwatched {
#else
extern "C" {
#endif

void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}

#define SIZED(n)                                                        \
    void __tsan_read##n(void *p) { access(p, n, false); }               \
    void __tsan_write##n(void *p) { access(p, n, true); }               \
    void __tsan_unaligned_read##n(void *p) { access(p, n, false); }     \
    void __tsan_unaligned_write##n(void *p) { access(p, n, true); }
SIZED(1) SIZED(2) SIZED(4) SIZED(8) SIZED(16)

void __tsan_read_range(void *p, size_t n) { access(p, n, false); }
void __tsan_write_range(void *p, size_t n) { access(p, n, true); }

}
