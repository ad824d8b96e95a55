/* SPDX-License-Identifier: Apache-2.0
 * memo.h: what was compressed before, for programs that store many models that
 * are alike: the same bytes are not compressed again. */
#ifndef CTT_MEMO_H
#define CTT_MEMO_H

#include "base/ctt.h"

/* From now on ctt_deflate() keeps what it was given and made of it, up to so
 * many bytes together, the latest; 0: no more, and forgets all.  One thread
 * calls it and stores models meanwhile. */
void ctt_memo_keep(int64_t bytes);

/* 1 and a copy of the result if these bytes with these cuts are known, which
 * the caller frees; 0 if not.  CTT_ENOMEM. */
int  ctt_memo_find(const uint8_t *in, int64_t size, const int64_t *cut,
                   int cuts, uint8_t **out, int64_t *n);

/* Keeps a result if there is memory for it. */
void ctt_memo_add(const uint8_t *in, int64_t size, const int64_t *cut, int cuts,
                  const uint8_t *out, int64_t n);

#endif
