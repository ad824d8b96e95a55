/* SPDX-License-Identifier: Apache-2.0
 * deflate.c: bytes "deflate": a deflate stream (RFC 1951) of the values in byte
 * planes, then the positions. */
#include "net/code/row.h"
#include "net/code/zip.h"

#include <string.h>

enum { MOST_WIDTH = 8 };

/* Byte k of value i goes to k * (number of values) + i.  This puts signs and
 * exponents, which are alike, together; the head and each plane are a block of
 * the stream. */
static void to_planes(const struct ctt_layout *l, const uint8_t *raw,
                      uint8_t *plane)
{
    int64_t each = l->values / l->width;

    for (int64_t i = 0; i < each; i++)
        for (int k = 0; k < l->width; k++)
            plane[k * each + i] = raw[l->width * i + k];
}

static void from_planes(const struct ctt_layout *l, const uint8_t *plane,
                        uint8_t *raw)
{
    int64_t each = l->values / l->width;

    for (int64_t i = 0; i < each; i++)
        for (int k = 0; k < l->width; k++)
            raw[l->width * i + k] = plane[k * each + i];
}

static int pack(const struct ctt_layout *l, const uint8_t *raw, int64_t size,
                uint8_t **out, int64_t *n)
{
    uint8_t *plane = ctt_calloc((size_t)size, 1);
    int64_t cut[MOST_WIDTH + 1] = { l->head };
    int rc = 0;

    CTT_TRY(plane ? 0 : CTT_ENOMEM);
    memcpy(plane, raw, (size_t)size);
    if (l->width > 1)
        to_planes(l, raw, plane);
    for (int k = 0; k < l->width; k++)
        cut[k + 1] = l->head + (k + 1) * (l->values / l->width);
    CTT_TRY(ctt_deflate(plane, size, cut, l->width + 1, out, n));
out:
    ctt_free(plane);
    return rc;
}

static int unpack(const struct ctt_layout *l, const uint8_t *in, int64_t n,
                  uint8_t *raw, int64_t room, int64_t *size)
{
    uint8_t *plane = NULL;
    int rc = 0;

    if (l->width == 1)
        return ctt_inflate(in, n, raw, room, size);
    plane = ctt_calloc_full((size_t)room, 1);
    CTT_TRY(plane ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_inflate(in, n, plane, room, size));
    CTT_CHECK(*size >= l->values, CTT_EFORMAT, "its values are missing");
    from_planes(l, plane, raw);
    memcpy(raw + l->values, plane + l->values, (size_t)(*size - l->values));
out:
    ctt_free(plane);
    return rc;
}

const struct ctt_bytes ctt_bytes_deflate = { "deflate", pack, unpack };
