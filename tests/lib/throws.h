/* SPDX-License-Identifier: Apache-2.0
 * throws.h: makes C++'s operator new fail in this thread. */
#ifndef CTT_TEST_THROWS_H
#define CTT_TEST_THROWS_H

#ifdef __cplusplus
extern "C" {
#endif

/* The k-th call from now on throws std::bad_alloc, once; 0: none does. */
void throw_at(long k);

/* Calls of operator new in this thread so far. */
long new_calls(void);

#ifdef __cplusplus
}
#endif

#endif
