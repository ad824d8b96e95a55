/* SPDX-License-Identifier: Apache-2.0
 * memo.c: a list of compressed data, the latest first. */
#include "net/code/memo.h"
#include "net/code/zip.h"

#include <string.h>

/* CUTS: of an entry at most; SMALL: bytes that are compressed as fast as they
 * are found. */
enum { CUTS = 16, SMALL = 4096 };

struct entry {
    struct entry *next;
    uint32_t      crc;
    int64_t       size, n, cut[CUTS];
    int           cuts;
    uint8_t      *in, *out;
};

static struct { struct entry *first; int64_t most, used; } memo;

static void free_entry(struct entry *e)
{
    memo.used -= e->size + e->n;
    ctt_free(e->in);
    ctt_free(e->out);
    ctt_free(e);
}

/* Drops the oldest entries until `bytes` bytes have room. */
static void drop_oldest(int64_t bytes)
{
    while (memo.first && memo.used + bytes > memo.most) {
        struct entry **at = &memo.first, *e;

        while ((*at)->next)
            at = &(*at)->next;
        e = *at;
        *at = NULL;
        free_entry(e);
    }
}

void ctt_memo_keep(int64_t bytes)
{
    memo.most = bytes;
    drop_oldest(0);
}

static int is_of(const struct entry *e, uint32_t crc, const uint8_t *in,
                 int64_t size, const int64_t *cut, int cuts)
{
    return e->crc == crc && e->size == size && e->cuts == cuts &&
           memcmp(e->cut, cut, (size_t)cuts * sizeof(*cut)) == 0 &&
           memcmp(e->in, in, (size_t)size) == 0;
}

static int is_kept(int64_t size, int cuts)
{
    return memo.most > 0 && size >= SMALL && cuts > 0 && cuts <= CUTS;
}

static uint8_t *copy_bytes(const uint8_t *p, int64_t n)
{
    uint8_t *to = ctt_calloc((size_t)n, 1);

    if (to)
        memcpy(to, p, (size_t)n);
    return to;
}

int ctt_memo_find(const uint8_t *in, int64_t size, const int64_t *cut,
                  int cuts, uint8_t **out, int64_t *n)
{
    uint32_t crc;

    if (!is_kept(size, cuts))
        return 0;
    crc = ctt_crc32(0, in, 1, size);
    for (struct entry **at = &memo.first; *at; at = &(*at)->next) {
        struct entry *e = *at;

        if (!is_of(e, crc, in, size, cut, cuts))
            continue;
        *at = e->next;
        e->next = memo.first;
        memo.first = e;
        *out = copy_bytes(e->out, e->n);
        *n = e->n;
        return *out ? 1 : CTT_ENOMEM;
    }
    return 0;
}

void ctt_memo_add(const uint8_t *in, int64_t size, const int64_t *cut, int cuts,
                  const uint8_t *out, int64_t n)
{
    struct entry *e;

    if (!is_kept(size, cuts) || size + n > memo.most)
        return;
    drop_oldest(size + n);
    e = ctt_calloc(1, sizeof(*e));
    if (!e)
        return;
    *e = (struct entry){ memo.first, ctt_crc32(0, in, 1, size), size, n };
    e->cuts = cuts;
    memcpy(e->cut, cut, (size_t)cuts * sizeof(*cut));
    e->in = copy_bytes(in, size);
    e->out = copy_bytes(out, n);
    memo.used += size + n;
    memo.first = e;
    if (e->in && e->out)
        return;
    memo.first = e->next;    /* a full memo is no error */
    free_entry(e);
}
