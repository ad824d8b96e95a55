/* SPDX-License-Identifier: Apache-2.0
 * split.h: the splits of a data set and their usual spellings. */
#ifndef CTT_SPLIT_H
#define CTT_SPLIT_H

enum { CTT_SPELLINGS = 8 };

/* All spellings of a split's name, the given one first; NULL ends them. */
void ctt_split_spellings(const char *split, const char *out[CTT_SPELLINGS]);

/* 0 for "train", 1 for "validation", 2 for "test", each in any spelling;
 * -1 for any other name. */
int  ctt_split_number(const char *split);

/* 1 for two spellings of the same split; capitals do not matter. */
int  ctt_split_same(const char *a, const char *b);

#endif
