/* SPDX-License-Identifier: Apache-2.0
 * known.h: the table of libraries that do not survive a failed allocation
 * (known.txt). */
#ifndef CTT_FAULT_KNOWN_H
#define CTT_FAULT_KNOWN_H

#include "tests/fault/fault.h"

enum { KNOWN_MANY = 64 };

/* A row: a library's behaviour after a failed allocation, and the reason. */
struct known {
    char *text;
    int   times;    /* count of its uses */
};

struct known_list {
    struct known row[KNOWN_MANY];
    int          count;
};

void known_read(const char *path, struct known_list *out);

/* Row of the library that did not survive the fault in the answer or, with
 * `hides`, that hid it: a row whose reason begins with "hides".  NULL: none;
 * nothing excuses other faults than failed allocations. */
struct known *known_find(struct known_list *l, enum fault kind,
                         const struct fault_answer *a, int hides);

/* Prints the rows that were seen. */
void known_print(const struct known_list *l);

#endif
