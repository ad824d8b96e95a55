/* SPDX-License-Identifier: Apache-2.0
 * demux_join.c: whether other files follow the one that was read, as where
 * somebody joined them (cat a.flv b.flv). */
#include "video/demux_file.h"

#include <string.h>
#include <unistd.h>

/* How files of a format begin; '?' is any byte.  whole: it is looked for in all
 * of the file and not only behind its last packet, since FFmpeg goes on within
 * the second one and finds no frame there. */
static const struct begin {
    const char *format, *bytes;
    size_t      n;
    int         whole;
} begins[] = {
#define BYTES(s) s, sizeof(s) - 1
    { "flv", BYTES("FLV\1?\0\0\0\11\0\0\0\0"), 1 },
    { "mov", BYTES("\0\0\0?ftyp"), 0 },
    { "matroska", BYTES("\x1a\x45\xdf\xa3?\x42\x86\x81\1"), 0 },
    { "matroska", BYTES("\x1a\x45\xdf\xa3\1\0\0\0\0\0\0?\x42\x86\x81\1"), 0 },
    { "avi", BYTES("RIFF????AVI LIST"), 0 },
    { "asf", BYTES("\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\0\xaa\0\x62\xce"
                   "\x6c"), 0 },
    { "gif", BYTES("GIF8?a"), 0 },
#undef BYTES
};

enum { BLOCK = 1 << 16, MOST = 16 };    /* MOST: bytes of a begin */

static int begins_here(const struct begin *b, const uint8_t *p)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->bytes[i] != '?' && p[i] != (uint8_t)b->bytes[i])
            return 0;
    return 1;
}

/* Where the file has such a begin, from a byte on; its size: nowhere. */
static int64_t find_begin(const struct ctt_demux *d, const struct begin *b,
                          int64_t from)
{
    uint8_t block[BLOCK + MOST];
    ssize_t n;

    for (; from < d->size; from += BLOCK) {
        n = pread(d->fd, block, sizeof(block), from);
        for (ssize_t i = 0; i < BLOCK && i + (ssize_t)b->n <= n; i++)
            if (begins_here(b, block + i))
                return from + i;
    }
    return d->size;
}

static int is_format(const struct ctt_demux *d, const char *name)
{
    size_t n = strlen(name);
    const char *is = d->fmt->iformat->name;

    return strncmp(is, name, n) == 0 && (!is[n] || is[n] == ',');
}

int64_t ctt_demux_unread(const struct ctt_demux *d)
{
    int64_t least = d->size;

    for (size_t i = 0; i < CTT_LEN(begins) && d->fd >= 0; i++) {
        int64_t from = begins[i].whole || d->last < 1 ? 1 : d->last, at;

        if (!is_format(d, begins[i].format))
            continue;
        at = find_begin(d, &begins[i], from);
        least = at < least ? at : least;
    }
    return d->size - least;
}

/* A file above 1 GB goes on in chunks called AVIX, which are no new file. */
int ctt_demux_joined(const struct ctt_demux *d)
{
    uint8_t p[12];
    int64_t at = 0;
    int files = 0;

    if (!is_format(d, "avi") || d->fd < 0)
        return 0;
    while (pread(d->fd, p, sizeof(p), at) == (ssize_t)sizeof(p) &&
           memcmp(p, "RIFF", 4) == 0) {
        uint32_t n = (uint32_t)p[4] | (uint32_t)p[5] << 8 |
                     (uint32_t)p[6] << 16 | (uint32_t)p[7] << 24;

        files += memcmp(p + 8, "AVI ", 4) == 0;
        at += 8 + (int64_t)n + (n & 1);
    }
    return files > 1 ? files - 1 : 0;
}
