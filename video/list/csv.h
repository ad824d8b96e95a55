/* SPDX-License-Identifier: Apache-2.0
 * csv.h: reads a text of records whose fields are separated by a comma, a
 * semicolon or a tab (RFC 4180). */
#ifndef CTT_CSV_H
#define CTT_CSV_H

enum { CTT_CSV_FIELDS = 256 };

struct ctt_csv {
    char *at;       /* the unread rest; reading changes it */
    char  sep;
    int   line;     /* where the last record began, from 1 */
    int   lines;    /* read so far */
};

/* The next record: the number of its fields, which are trimmed; 0 at the end;
 * -1 if a quote is not closed or there are too many fields.  "a, ""b""" is one
 * field.  Empty lines and those that begin with '#' are no records. */
int ctt_csv_next(struct ctt_csv *c, char *field[CTT_CSV_FIELDS]);

#endif
