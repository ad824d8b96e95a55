/* SPDX-License-Identifier: Apache-2.0
 * visible.h: text of strangers (labels, paths, texts of files) as text that a
 * terminal only shows. */
#ifndef CTT_VISIBLE_H
#define CTT_VISIBLE_H

#include <stddef.h>

/* Bytes of the UTF-8 character at s; 0: invalid. */
int   ctt_utf8_length(const char *s);

/* Whether a terminal obeys the UTF-8 character of n bytes at s instead of
 * showing it: a control character (C0, DEL, C1), a separator of lines or
 * paragraphs, or a mark that changes the direction of text. */
int   ctt_utf8_is_control(const char *s, int n);

/* Copies s to `to`, which has room for size bytes, as whole characters as far
 * as they fit.  What a terminal would obey becomes \n, \t, \r or \xHH per byte,
 * as does each byte that is not UTF-8.  keep: a control character that stays,
 * or 0.  Returns to. */
char *ctt_visible(const char *s, char keep, char *to, size_t size);

#endif
