/* SPDX-License-Identifier: Apache-2.0
 * memo.h: a cache of compressed data, for programs that store many similar
 * models: the same bytes are not compressed again. */
#ifndef CTT_MEMO_H
#define CTT_MEMO_H

#include "base/ctt.h"

/* From now on ctt_deflate() keeps its latest inputs and results, up to `bytes`
 * bytes together; 0: none, and the cache is emptied.  Only one thread may store
 * models meanwhile. */
void ctt_memo_keep(int64_t bytes);

/* 1: these bytes with these cuts are in the cache; *out is a copy of the
 * result, *n bytes, which the caller frees.  0: they are not.  Or CTT_ENOMEM.
 * */
int  ctt_memo_find(const uint8_t *in, int64_t size, const int64_t *cut,
                   int cuts, uint8_t **out, int64_t *n);

/* Adds a result to the cache if there is memory for it. */
void ctt_memo_add(const uint8_t *in, int64_t size, const int64_t *cut, int cuts,
                  const uint8_t *out, int64_t n);

#endif
