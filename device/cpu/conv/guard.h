/* SPDX-License-Identifier: Apache-2.0
 * guard.h: calls of a C++ library from C: an exception becomes an error. */
#ifndef CTT_GUARD_H
#define CTT_GUARD_H

#ifdef __cplusplus
extern "C" {
#endif

enum ctt_thrown { CTT_THROWN_NOTHING, CTT_THROWN_NO_MEMORY, CTT_THROWN_ELSE };

/* Writes the result of work(arg) to *rc and returns CTT_THROWN_NOTHING, or the
 * kind of exception, and then leaves *rc unchanged; results that work() has not
 * stored in *arg are lost. work() and its callees must be compiled with
 * -fexceptions.  An exception in another thread, such as in an OpenMP region,
 * ends the program. */
enum ctt_thrown ctt_guard(int (*work)(void *arg), void *arg, int *rc);

#ifdef __cplusplus
}
#endif

#endif
