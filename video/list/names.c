/* SPDX-License-Identifier: Apache-2.0
 * names.c: a hash table of names, numbered in the order of adding; a pool of
 * texts. */
#include "video/list/names.h"

#include <string.h>

/* ---- a pool of texts ---- */

enum { PART = 1 << 16 };

struct ctt_pool_part {
    struct ctt_pool_part *older;
    size_t                used, size;
    char                  text[];
};

char *ctt_pool_add(struct ctt_pool_part **p, const char *s)
{
    struct ctt_pool_part *part = *p;
    size_t n = strlen(s) + 1, size = n > PART ? n : PART;

    if (!part || n > part->size - part->used) {
        part = ctt_realloc(NULL, sizeof(*part) + size);
        if (!part)
            return NULL;
        *part = (struct ctt_pool_part){ *p, 0, size };
        *p = part;
    }
    part->used += n;
    return memcpy(part->text + part->used - n, s, n);
}

char *ctt_pool_keep(struct ctt_pool_part **p, char *s)
{
    char *kept = s ? ctt_pool_add(p, s) : NULL;

    ctt_free(s);
    return kept;
}

void ctt_pool_clear(struct ctt_pool_part **p)
{
    for (struct ctt_pool_part *part; (part = *p) != NULL;) {
        *p = part->older;
        ctt_free(part);
    }
}

/* ---- names ---- */

/* FNV-1a (Fowler, Noll, Vo). */
static unsigned hash(const char *s)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return (unsigned)(h ^ h >> 32);
}

/* The slot that holds name, or the free one where it belongs. */
static int *slot_of(const struct ctt_names *n, const char *name)
{
    unsigned mask = (unsigned)n->slots - 1, i = hash(name) & mask;

    while (n->slot[i] && strcmp(n->name[n->slot[i] - 1], name) != 0)
        i = (i + 1) & mask;
    return &n->slot[i];
}

int ctt_names_find(const struct ctt_names *n, const char *name)
{
    return n->slots ? *slot_of(n, name) - 1 : -1;
}

/* At most half of the slots are taken. */
static int rehash(struct ctt_names *n)
{
    int slots = n->slots ? n->slots : 32;
    int *slot;

    if (n->slots && n->count < n->slots / 2)
        return 0;
    slots *= 2;
    slot = ctt_calloc((size_t)slots, sizeof(*slot));
    if (!slot)
        return CTT_ENOMEM;
    ctt_free(n->slot);
    n->slot = slot;
    n->slots = slots;
    for (int i = 0; i < n->count; i++)
        *slot_of(n, n->name[i]) = i + 1;
    return 0;
}

int ctt_names_add(struct ctt_names *n, const char *name)
{
    int rc = ctt_names_find(n, name);
    char **more, *copy;

    if (rc >= 0)
        return rc;
    CTT_TRY(rehash(n));
    more = ctt_grown(n->name, &n->room, n->count, sizeof(*more));
    CTT_TRY(more ? 0 : CTT_ENOMEM);
    n->name = more;
    copy = ctt_pool_add(&n->texts, name);
    CTT_TRY(copy ? 0 : CTT_ENOMEM);
    *slot_of(n, name) = n->count + 1;
    n->name[n->count] = copy;
    rc = n->count++;
out:
    return rc;
}

void ctt_names_clear(struct ctt_names *n)
{
    ctt_pool_clear(&n->texts);
    ctt_free(n->name);
    ctt_free(n->slot);
    memset(n, 0, sizeof(*n));
}
