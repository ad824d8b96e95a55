/* SPDX-License-Identifier: Apache-2.0
 * zip.h: compressed bytes and checks, by zlib. */
#ifndef CTT_ZIP_H
#define CTT_ZIP_H

#include "net/ctt.h"

/* RFC 1951 without a header.  A new block starts behind each of the `cuts`
 * offsets cut[] (ascending), where the statistics change.  CTT_EUNSUP for more
 * than 1 GiB.  The caller frees *out. */
int ctt_deflate(const uint8_t *in, int64_t size, const int64_t *cut, int cuts,
                uint8_t **out, int64_t *n);

/* Back into out[room]; *n: bytes written.  CTT_EFORMAT unless the stream ends
 * exactly at in + size and fits. */
int ctt_inflate(const uint8_t *in, int64_t size, uint8_t *out, int64_t room,
                int64_t *n);

/* A text of n bytes as one gzip member (RFC 1952), and back: *text gets a 0
 * behind its n bytes, of which there may be at most max.  The caller frees. */
int ctt_gzip(const char *text, int64_t n, uint8_t **out, int64_t *size);
int ctt_gunzip(const uint8_t *in, int64_t size, int64_t max, char **text,
               int64_t *n);

/* The CRC-32 of gzip over what gave crc (0: nothing) and then count elements of
 * `size` bytes, each taken lowest byte first as in a file, whatever the
 * machine. */
uint32_t ctt_crc32(uint32_t crc, const void *p, int size, int64_t count);

#endif
