/* SPDX-License-Identifier: Apache-2.0
 * arena.h: blocks that live as long as an import and are freed together. */
#ifndef CTT_ARENA_H
#define CTT_ARENA_H

#include "base/ctt.h"

struct ctt_arena { struct ctt_arena_block *last; };

/* Zeroed memory for count elements, at least one byte, aligned for any number;
 * NULL, with a message: out of memory, or count * size overflows. */
void *ctt_arena_take(struct ctt_arena *a, int64_t count, size_t size);

/* A copy of n bytes, followed by a 0. */
char *ctt_arena_text(struct ctt_arena *a, const void *p, size_t n);

/* Frees all blocks. */
void ctt_arena_free(struct ctt_arena *a);

#endif
