/* SPDX-License-Identifier: Apache-2.0
 * letters.h: texts that look alike and are different bytes, since Unicode
 * writes a letter with an accent in two ways. */
#ifndef CTT_LETTERS_H
#define CTT_LETTERS_H

/* 1 if two texts of UTF-8 are different and only because letters with accents
 * are one character in one of them (NFC) and a letter and a combining mark in
 * the other (NFD), as macOS names files: those of Latin (U+00C0 to U+017F),
 * Cyrillic, kana and Hangul. */
int ctt_letters_differ_in_form(const char *a, const char *b);

#endif
