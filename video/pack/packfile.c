/* SPDX-License-Identifier: Apache-2.0
 * packfile.c: the common part of writing and reading a pack: the structure in
 * memory, little-endian words and checksums. */
#include "video/pack/packfile.h"

#include <unistd.h>

int ctt_pack_new(const char *path, struct ctt_pack **out)
{
    struct ctt_pack *p = ctt_calloc(1, sizeof(*p));
    int rc = p ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p->fd = -1;
    p->path = ctt_strdup(path);
    p->list = ctt_calloc(1, sizeof(*p->list));
    CTT_TRY(p->path && p->list ? 0 : CTT_ENOMEM);
    *out = p;
    p = NULL;
out:
    ctt_pack_free(&p);
    return rc;
}

void ctt_pack_free(struct ctt_pack **pack)
{
    struct ctt_pack *p = *pack;

    if (!p)
        return;
    if (p->fd >= 0)
        close(p->fd);
    ctt_list_free(&p->list);
    ctt_free(p->index);
    ctt_free(p->path);
    ctt_free(p);
    *pack = NULL;
}

void ctt_pack_put(uint8_t *p, uint64_t x)
{
    for (int i = 0; i < 8; i++, x >>= 8)
        p[i] = (uint8_t)x;
}

uint64_t ctt_pack_get(const uint8_t *p)
{
    uint64_t x = 0;

    for (int i = 7; i >= 0; i--)
        x = x << 8 | p[i];
    return x;
}

/* Both steps are invertible, so different words give different sums. */
static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum ^= word;
    return (sum << 29 | sum >> 35) * 0x9e3779b97f4a7c15u;
}

uint64_t ctt_pack_sum(uint64_t sum, const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t lane[4] = { sum, 1, 2, 3 };

    for (; n >= 32; p += 32, n -= 32)
        for (int i = 0; i < 4; i++)
            lane[i] = mix(lane[i], ctt_pack_get(p + 8 * i));
    for (; n > 0; p++, n--)
        lane[0] = mix(lane[0], *p);
    for (int i = 1; i < 4; i++)
        lane[0] = mix(lane[0], lane[i]);
    return lane[0];
}
