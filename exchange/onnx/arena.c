/* SPDX-License-Identifier: Apache-2.0
 * arena.c: blocks that live as long as an import and are freed together. */
#include "exchange/onnx/arena.h"

#include <string.h>

enum { CHUNK = 1 << 16, ALIGN = 16 };

struct ctt_arena_block {
    struct ctt_arena_block *before;
    size_t used, size;
    _Alignas(ALIGN) unsigned char data[];
};

static void *take_here(struct ctt_arena_block *b, size_t n)
{
    void *p = b->data + b->used;

    b->used += (size_t)ctt_align((int64_t)n, ALIGN);
    return p;
}

/* A large piece gets a block of its own, behind the one in use, which then
 * still has its room. */
static void *take_new(struct ctt_arena *a, size_t n)
{
    size_t size = n < CHUNK / 4 ? CHUNK : n;
    struct ctt_arena_block *b = ctt_calloc(1, sizeof(*b) + size + ALIGN);

    if (!b)
        return NULL;
    b->size = size;
    if (size > CHUNK && a->last) {
        b->before = a->last->before;
        a->last->before = b;
    } else {
        b->before = a->last;
        a->last = b;
    }
    return take_here(b, n);
}

void *ctt_arena_take(struct ctt_arena *a, int64_t count, size_t size)
{
    size_t n = (size_t)(count > 0 ? count : 1) * size;

    if (count > INT64_MAX / 2 / (int64_t)size) {
        ctt_error(CTT_ENOMEM, "%lld elements of %zu bytes do not fit into "
                  "memory", (long long)count, size);
        return NULL;
    }
    if (a->last && a->last->size >= a->last->used &&
        a->last->size - a->last->used >= n)
        return take_here(a->last, n);
    return take_new(a, n);
}

char *ctt_arena_text(struct ctt_arena *a, const void *p, size_t n)
{
    char *s = ctt_arena_take(a, (int64_t)n + 1, 1);

    if (s && n)
        memcpy(s, p, n);
    return s;
}

void ctt_arena_free(struct ctt_arena *a)
{
    while (a->last) {
        struct ctt_arena_block *b = a->last;

        a->last = b->before;
        ctt_free(b);
    }
}
