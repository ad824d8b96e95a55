/* SPDX-License-Identifier: Apache-2.0
 * redact.h: lines for the user without passwords. */
#ifndef CTT_REDACT_H
#define CTT_REDACT_H

#include <stddef.h>

/* Copies a line to `to`, at most size bytes, and returns it.  Each address in
 * it, up to a blank, gets its public name (ctt_live_name()); a mark that ends a
 * part of a sentence stays behind it. */
char *ctt_redact(const char *line, char *to, size_t size);

#endif
