/* SPDX-License-Identifier: Apache-2.0
 * table.h: tables with aligned columns on standard output. */
#ifndef CTT_TABLE_H
#define CTT_TABLE_H

#include "base/ctt.h"

/* A row is its cells, separated by the tabs of fmt, or, if that has none, by
 * those of what it prints; the first row is the header.  Columns that hold only
 * numbers are right-aligned.  What a terminal would obey is made visible.  If a
 * row cannot be stored, print returns the error. */
struct ctt_table {
    char **row;
    int    rows, room, rc;
};
void ctt_table_row(struct ctt_table *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints to stdout and frees the rows. */
int  ctt_table_print(struct ctt_table *t);
void ctt_table_free(struct ctt_table *t);

#endif
