/* SPDX-License-Identifier: Apache-2.0
 * glob.h: names that a pattern matches. */
#ifndef CTT_GLOB_H
#define CTT_GLOB_H

/* 1 if the pattern matches all of the name: '*' any characters, '?' one,
 * "[a-c]" or "[!abc]" one of a set, '\' the character behind it.  The time is
 * at most proportional to the product of their lengths. */
int ctt_glob(const char *pattern, const char *name);

#endif
