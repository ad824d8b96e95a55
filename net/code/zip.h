/* SPDX-License-Identifier: Apache-2.0
 * zip.h: compression and checksums. */
#ifndef CTT_ZIP_H
#define CTT_ZIP_H

#include "base/ctt.h"

/* Compresses to a deflate stream (RFC 1951), the shortest of three: with
 * matches or by Huffman codes only, with a new block at each of the `cuts`
 * offsets cut[] (ascending), where the statistics change, or one code for all.
 * CTT_EUNSUP for more than 1 GiB.  The caller frees *out. */
int ctt_deflate(const uint8_t *in, int64_t size, const int64_t *cut, int cuts,
                uint8_t **out, int64_t *n);

/* Expands a stream to out[room]; *n: bytes written.  CTT_EFORMAT unless the
 * stream ends exactly at in + size and fits. */
int ctt_inflate(const uint8_t *in, int64_t size, uint8_t *out, int64_t room,
                int64_t *n);

/* Compresses a text of n bytes to one gzip member (RFC 1952), and expands one:
 * *text has *n <= max bytes and a 0 after them.  The caller frees the result.
 */
int ctt_gzip(const char *text, int64_t n, uint8_t **out, int64_t *size);
int ctt_gunzip(const uint8_t *in, int64_t size, int64_t max, char **text,
               int64_t *n);

/* Continues the CRC-32 of gzip from crc (0: start) over count elements of
 * `size` bytes, each read lowest byte first, as in files, on every machine. */
uint32_t ctt_crc32(uint32_t crc, const void *p, int size, int64_t count);

/* The CRC-32 of two parts from theirs; n: bytes of the second. */
uint32_t ctt_crc32_join(uint32_t first, uint32_t second, int64_t n);

/* The same of n bytes in plain C: for the first and last bytes of crc.c, and
 * for tests. */
uint32_t ctt_crc32_plain(uint32_t crc, const uint8_t *p, int64_t n);

#endif
