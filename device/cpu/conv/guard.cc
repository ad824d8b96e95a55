/* SPDX-License-Identifier: Apache-2.0
 * guard.cc: catches the exceptions of a C++ library, which C cannot. */
#include "device/cpu/conv/guard.h"

#include <new>

extern "C" enum ctt_thrown ctt_guard(int (*work)(void *arg), void *arg,
                                     int *rc)
{
    try {
        *rc = work(arg);
        return CTT_THROWN_NOTHING;
    } catch (const std::bad_alloc &) {
        return CTT_THROWN_NO_MEMORY;
    } catch (...) {
        return CTT_THROWN_ELSE;
    }
}
