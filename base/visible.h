/* SPDX-License-Identifier: Apache-2.0
 * visible.h: text of strangers (labels, paths, texts of files) as text that a
 * terminal only shows. */
#ifndef CTT_VISIBLE_H
#define CTT_VISIBLE_H

#include <stddef.h>
#include <stdio.h>

/* Bytes of the UTF-8 character at s; 0: invalid. */
int   ctt_utf8_length(const char *s);

/* 1 if a terminal obeys the UTF-8 character of n bytes at s instead of showing
 * it: a control character (C0, DEL, C1), a separator of lines or
 * paragraphs, or a mark that changes the direction of text. */
int   ctt_utf8_is_control(const char *s, int n);

/* Copies s to `to`, which has room for size bytes, as whole characters as far
 * as they fit.  A character that a terminal would obey becomes \n, \t, \r or
 * \xHH per byte, as does each byte that is not UTF-8.  keep: a control
 * character that stays, or 0.  Returns to. */
char *ctt_visible(const char *s, char keep, char *to, size_t size);

/* Prints s as a JSON string.  A file name may be any bytes, but JSON is UTF-8:
 * an invalid byte becomes the text \xHH, so that names stay different.
 * Characters that a terminal would obey are escaped. */
void  ctt_json_put(FILE *f, const char *s);

/* Byte order marks, with which editors of Windows begin a text of n bytes.
 * utf8: the bytes of the mark of UTF-8, 3 or 0.  utf16: 1 if the text begins
 * with a mark of UTF-16, which no reader accepts. */
size_t ctt_mark_utf8(const char *s, size_t n);
int    ctt_mark_utf16(const char *s, size_t n);

#endif
