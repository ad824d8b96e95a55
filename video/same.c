/* SPDX-License-Identifier: Apache-2.0
 * same.c: which clips occur in two sets, by checksums of their frames. */
#include "video/packfile.h"

uint64_t ctt_frames_sum(const struct ctt_frames *f)
{
    size_t n = (size_t)f->count * (size_t)f->h * (size_t)f->w * (size_t)f->c;
    uint64_t sum = ctt_pack_sum((uint64_t)f->count, f->data, n);

    return sum ? sum : 1;
}

/* Adds sum i of a to an open hash table, in which 0 is a free slot. */
static void put(const uint64_t *a, int i, int *slot, uint64_t mask)
{
    uint64_t k = a[i] & mask;

    while (slot[k] && a[slot[k] - 1] != a[i])
        k = (k + 1) & mask;
    if (!slot[k])
        slot[k] = i + 1;
}

static int find(const uint64_t *a, uint64_t sum, const int *slot,
                uint64_t mask)
{
    uint64_t k = sum & mask;

    while (slot[k] && a[slot[k] - 1] != sum)
        k = (k + 1) & mask;
    return slot[k] - 1;
}

int ctt_sums_shared(const uint64_t *a, int n, const uint64_t *b, int m, int *i,
                    int *k)
{
    uint64_t slots = 16;
    int *slot, shared = 0;

    while (slots < 2 * (uint64_t)n)
        slots *= 2;
    slot = ctt_calloc((size_t)slots, sizeof(*slot));
    if (!slot)
        return CTT_ENOMEM;
    for (int j = 0; j < n; j++)
        if (a[j])
            put(a, j, slot, slots - 1);
    for (int j = 0; j < m; j++) {
        int at = b[j] ? find(a, b[j], slot, slots - 1) : -1;
        if (at < 0)
            continue;
        if (shared++ == 0) {
            *i = at;
            *k = j;
        }
    }
    ctt_free(slot);
    return shared;
}
