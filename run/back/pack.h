/* SPDX-License-Identifier: Apache-2.0
 * pack.h: offsets in one block of memory for values that are needed at known
 * times. */
#ifndef CTT_PACK_H
#define CTT_PACK_H

#include "base/ctt.h"

/* Needed from time `from` to time `to`, both included. */
struct ctt_packed { int64_t bytes, at; int from, to; };

/* Sets `at` of each so that no two that are needed at the same time overlap;
 * returns the size of the block, or CTT_ENOMEM. */
int64_t ctt_pack(struct ctt_packed *item, int count);

#endif
