/* SPDX-License-Identifier: Apache-2.0
 * zip.c: compression and checksums by zlib. */
#include "net/code/memo.h"
#include "net/code/zip.h"

#include <zlib.h>

/* zlib counts bytes in 32 bits; RAW and GZIP are values of its windowBits. */
enum { MOST = 1 << 30, LEVEL = 9, MEMORY = 9, RAW = -15, GZIP = 15 + 16 };

static void *zip_alloc(void *none, unsigned count, unsigned size)
{
    (void)none;
    return ctt_calloc(count, size);
}

static void zip_free(void *none, void *p)
{
    (void)none;
    ctt_free(p);
}

static int zip_error(int code, const char *what)
{
    if (code == Z_MEM_ERROR)
        return ctt_error(CTT_ENOMEM, "out of memory: %s", what);
    return ctt_error(CTT_EFORMAT, "%s: damaged", what);
}

/* An upper bound of the size of a deflate stream of n bytes and some cuts:
 * stored blocks with 5 bytes each, headers, and as much again. */
static int64_t most_deflated(int64_t n, int cuts)
{
    return n + n / 1000 + 64 * (cuts + 1) + 64;
}

/* Z_BLOCK ends a block without aligning the next one to a byte. */
static int feed(z_stream *z, const uint8_t *in, int64_t size,
                const int64_t *cut, int cuts)
{
    int64_t at = 0;
    int code = Z_OK;

    for (int i = 0; i < cuts && code == Z_OK; i++) {
        z->next_in = (Bytef *)(uintptr_t)(in + at);
        z->avail_in = (uInt)(cut[i] - at);
        if (cut[i] > at)
            code = deflate(z, Z_BLOCK);
        at = cut[i];
    }
    if (code != Z_OK)
        return code;
    z->next_in = (Bytef *)(uintptr_t)(in + at);
    z->avail_in = (uInt)(size - at);
    return deflate(z, Z_FINISH);
}

static int compress_to(int window, int strategy, const uint8_t *in,
                       int64_t size, const int64_t *cut, int cuts,
                       uint8_t **out, int64_t *n)
{
    z_stream z = { .zalloc = zip_alloc, .zfree = zip_free };
    int64_t room = most_deflated(size, cuts);
    uint8_t *buf = NULL;
    int code, rc = 0;

    CTT_CHECK(size <= MOST, CTT_EUNSUP, "%lld bytes are too many to compress",
              (long long)size);
    buf = ctt_calloc((size_t)room, 1);
    CTT_TRY(buf ? 0 : CTT_ENOMEM);
    code = deflateInit2(&z, LEVEL, Z_DEFLATED, window, MEMORY, strategy);
    CTT_TRY(code == Z_OK ? 0 : zip_error(Z_MEM_ERROR, "compression"));
    z.next_out = buf;
    z.avail_out = (uInt)room;
    code = feed(&z, in, size, cut, cuts);
    deflateEnd(&z);
    CTT_TRY(code == Z_STREAM_END ? 0 : zip_error(code, "compression"));
    *n = (int64_t)z.total_out;
    *out = buf;
    buf = NULL;
out:
    ctt_free(buf);
    return rc;
}

static int expand_to(int window, const uint8_t *in, int64_t size, uint8_t *out,
                     int64_t room, int64_t *n)
{
    z_stream z = { .zalloc = zip_alloc, .zfree = zip_free };
    int code, rc = 0;

    CTT_CHECK(size <= 2 * (int64_t)MOST && room <= 2 * (int64_t)MOST,
              CTT_EFORMAT, "compressed bytes: too many");
    z.next_in = (Bytef *)(uintptr_t)in;
    z.avail_in = (uInt)size;
    z.next_out = out;
    z.avail_out = (uInt)room;
    code = inflateInit2(&z, window);
    CTT_TRY(code == Z_OK ? 0 : zip_error(Z_MEM_ERROR, "compressed bytes"));
    code = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    CTT_TRY(code == Z_STREAM_END && z.avail_in == 0
            ? 0 : zip_error(code, "compressed bytes"));
    *n = (int64_t)z.total_out;
out:
    return rc;
}

/* Matches pay where bytes repeat, and cost where only their frequencies differ
 * (a code for lengths and distances); a table per block pays where blocks are
 * large. */
int ctt_deflate(const uint8_t *in, int64_t size, const int64_t *cut, int cuts,
                uint8_t **out, int64_t *n)
{
    static const struct { int strategy, cut; } way[] = {
        { Z_DEFAULT_STRATEGY, 1 }, { Z_HUFFMAN_ONLY, 1 }, { Z_HUFFMAN_ONLY, 0 }
    };
    uint8_t *best = NULL, *one = NULL;
    int64_t least = 0, m = 0;
    int rc;

    CTT_TRY(ctt_memo_find(in, size, cut, cuts, out, n));
    if (rc)
        return 0;
    for (size_t i = 0; i < CTT_LEN(way); i++) {
        CTT_TRY(compress_to(RAW, way[i].strategy, in, size, cut,
                            way[i].cut ? cuts : 0, &one, &m));
        if (!best || m < least) {
            ctt_free(best);
            best = one;
            least = m;
        } else {
            ctt_free(one);
        }
        one = NULL;
    }
    ctt_memo_add(in, size, cut, cuts, best, least);
    *out = best;
    *n = least;
    best = NULL;
out:
    ctt_free(best);
    return rc;
}

int ctt_inflate(const uint8_t *in, int64_t size, uint8_t *out, int64_t room,
                int64_t *n)
{
    return expand_to(RAW, in, size, out, room, n);
}

int ctt_gzip(const char *text, int64_t n, uint8_t **out, int64_t *size)
{
    return compress_to(GZIP, Z_DEFAULT_STRATEGY, (const uint8_t *)text, n,
                       NULL, 0, out, size);
}

/* A gzip member ends with the length of its text.  It is checked before memory
 * is allocated: deflate expands a byte to at most 1032. */
int ctt_gunzip(const uint8_t *in, int64_t size, int64_t max, char **text,
               int64_t *n)
{
    int64_t want = 0, got = 0;
    char *s = NULL;
    int rc = 0;

    CTT_CHECK(size >= 18, CTT_EFORMAT, "compressed text: too short");
    for (int i = 0; i < 4; i++)
        want |= (int64_t)in[size - 4 + i] << 8 * i;
    CTT_CHECK(want <= max, CTT_EFORMAT, "%lld bytes of text are too many",
              (long long)want);
    CTT_CHECK(want <= 1032 * size, CTT_EFORMAT, "compressed text: damaged");
    s = ctt_calloc((size_t)want + 1, 1);
    CTT_TRY(s ? 0 : CTT_ENOMEM);
    CTT_TRY(expand_to(GZIP, in, size, (uint8_t *)s, want + 1, &got));
    CTT_CHECK(got == want, CTT_EFORMAT, "compressed text: damaged");
    s[want] = '\0';
    *n = want;
    *text = s;
    s = NULL;
out:
    ctt_free(s);
    return rc;
}

uint32_t ctt_crc32_plain(uint32_t crc, const uint8_t *p, int64_t n)
{
    while (n > 0) {
        uInt part = (uInt)(n < MOST ? n : MOST);
        crc = (uint32_t)crc32(crc, p, part);
        p += part;
        n -= part;
    }
    return crc;
}

uint32_t ctt_crc32_join(uint32_t first, uint32_t second, int64_t n)
{
    return (uint32_t)crc32_combine(first, second, (z_off_t)n);
}
