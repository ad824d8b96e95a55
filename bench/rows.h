/* SPDX-License-Identifier: Apache-2.0
 * rows.h: which rows of a benchmark are asked for. */
#ifndef CTT_BENCH_ROWS_H
#define CTT_BENCH_ROWS_H

#include <stddef.h>
#include <string.h>

/* Whether a row's name begins with one of the list; NULL: of any. */
static inline int bench_wanted(const char *list, const char *name)
{
    if (!list)
        return 1;
    for (size_t n; *list; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (n && strncmp(list, name, n) == 0)
            return 1;
    }
    return 0;
}

#endif
