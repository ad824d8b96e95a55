/* SPDX-License-Identifier: Apache-2.0
 * split.h: the splits of a data set and their usual spellings. */
#ifndef CTT_SPLIT_H
#define CTT_SPLIT_H

#include <stddef.h>

enum { CTT_SPELLINGS = 8 };

/* All spellings of a split's name, the given one first; NULL ends them. */
void ctt_split_spellings(const char *split, const char *out[CTT_SPELLINGS]);

/* 0 for "train", 1 for "validation", 2 for "test", each in any spelling;
 * -1 for any other name. */
int  ctt_split_number(const char *split);

/* Of an array of rows, each of `size` bytes with the name of its split (char *,
 * or NULL) at offset `at`, keeps those of this split and returns their number;
 * all, if not two rows have different ones.  Capitals do not matter. */
int  ctt_split_rows(void *row, int count, size_t size, size_t at,
                    const char *split);

#endif
