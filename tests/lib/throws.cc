/* SPDX-License-Identifier: Apache-2.0
 * throws.cc: an operator new that fails on request; it replaces operator new in
 * all libraries of the program. */
#include "tests/lib/throws.h"

#include <cstdlib>
#include <new>

static thread_local long left, calls;

void throw_at(long k)
{
    left = k;
}

long new_calls(void)
{
    return calls;
}

void *operator new(std::size_t size)
{
    void *p = nullptr;

    calls++;
    if (left <= 0 || --left > 0)
        p = std::malloc(size ? size : 1);
    if (!p)
        throw std::bad_alloc();
    return p;
}

void *operator new[](std::size_t size)
{
    return operator new(size);
}

void operator delete(void *p) noexcept
{
    std::free(p);
}

void operator delete[](void *p) noexcept
{
    std::free(p);
}

void operator delete(void *p, std::size_t) noexcept
{
    std::free(p);
}

void operator delete[](void *p, std::size_t) noexcept
{
    std::free(p);
}
