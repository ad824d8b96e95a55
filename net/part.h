/* SPDX-License-Identifier: Apache-2.0
 * part.h: the division of rows and channels among processes: into neighbouring
 * parts that are as equal as they can be and depend on both numbers alone. */
#ifndef CTT_PART_H
#define CTT_PART_H

#include <stdint.h>

/* The index of the first of `all` rows that a part has; part == parts: all. */
static inline int64_t ctt_part_first(int64_t all, int part, int parts)
{
    return all * part / parts;
}

static inline int64_t ctt_part_size(int64_t all, int part, int parts)
{
    return ctt_part_first(all, part + 1, parts) -
           ctt_part_first(all, part, parts);
}

/* The size of the largest part. */
static inline int64_t ctt_part_most(int64_t all, int parts)
{
    return (all + parts - 1) / parts;
}

#endif
