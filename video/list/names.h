/* SPDX-License-Identifier: Apache-2.0
 * names.h: a hash table of names, numbered in the order of adding; a pool of
 * texts. */
#ifndef CTT_NAMES_H
#define CTT_NAMES_H

#include "base/ctt.h"

/* Texts that stay until the pool is cleared; a pool begins as NULL.  keep:
 * moves an allocated text, or NULL, there.  NULL: out of memory. */
struct ctt_pool_part;
char *ctt_pool_add(struct ctt_pool_part **p, const char *s);
char *ctt_pool_keep(struct ctt_pool_part **p, char *s);
void  ctt_pool_clear(struct ctt_pool_part **p);

struct ctt_names {
    char **name;       /* in the order of adding */
    int    count, room;
    int   *slot;       /* open addressing: number + 1, or 0 */
    int    slots;      /* a power of two */
    struct ctt_pool_part *texts;    /* that hold the names */
};

/* The number of a name, or -1. */
int  ctt_names_find(const struct ctt_names *n, const char *name);

/* The number of a name, which is added if new; or an error. */
int  ctt_names_add(struct ctt_names *n, const char *name);
void ctt_names_clear(struct ctt_names *n);

#endif
