/* SPDX-License-Identifier: Apache-2.0
 * raw.c: bytes "raw": not compressed. */
#include "net/code/row.h"

#include <string.h>

static int pack(const struct ctt_layout *l, const uint8_t *raw, int64_t size,
                uint8_t **out, int64_t *n)
{
    uint8_t *p = ctt_calloc((size_t)size, 1);

    (void)l;
    if (!p)
        return CTT_ENOMEM;
    *out = memcpy(p, raw, (size_t)size);
    *n = size;
    return 0;
}

static int unpack(const struct ctt_layout *l, const uint8_t *in, int64_t n,
                  uint8_t *raw, int64_t room, int64_t *size)
{
    (void)l;
    if (n > room)
        return ctt_error(CTT_EFORMAT, "%lld bytes are too many", (long long)n);
    memcpy(raw, in, (size_t)n);
    *size = n;
    return 0;
}

const struct ctt_bytes ctt_bytes_raw = { "raw", pack, unpack };
