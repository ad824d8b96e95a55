/* SPDX-License-Identifier: Apache-2.0
 * proto.c: writes the wire format of protocol buffers (Google, "Encoding"):
 * a field is a key, field number times 8 plus kind, and its value. */
#include "exchange/write/proto.h"

#include <string.h>

enum { VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 5, LEAST_ROOM = 256 };

void ctt_proto_free(struct ctt_proto *b)
{
    ctt_free(b->p);
    *b = (struct ctt_proto){ NULL, 0, 0, 0 };
}

static int make_room(struct ctt_proto *b, int64_t n)
{
    int64_t room = 2 * b->room + n + LEAST_ROOM;
    uint8_t *p;

    if (b->rc < 0 || n <= b->room - b->n)
        return b->rc;
    p = ctt_realloc(b->p, (size_t)room);
    if (!p)
        return b->rc = CTT_ENOMEM;
    b->p = p;
    b->room = room;
    return 0;
}

void ctt_proto_add(struct ctt_proto *b, const void *p, int64_t n)
{
    if (n == 0 || make_room(b, n) < 0)
        return;
    memcpy(b->p + b->n, p, (size_t)n);
    b->n += n;
}

/* Seven bits a byte, the lowest first; the top bit: more follow. */
static void add_varint(struct ctt_proto *b, uint64_t x)
{
    uint8_t byte[10];
    int n = 0;

    for (; x > 0x7f; x >>= 7)
        byte[n++] = (uint8_t)(x | 0x80);
    byte[n++] = (uint8_t)x;
    ctt_proto_add(b, byte, n);
}

static void add_key(struct ctt_proto *b, int field, int kind)
{
    add_varint(b, (uint64_t)field << 3 | (uint64_t)kind);
}

void ctt_proto_int(struct ctt_proto *b, int field, int64_t x)
{
    add_key(b, field, VARINT);
    add_varint(b, (uint64_t)x);
}

void ctt_proto_float(struct ctt_proto *b, int field, float x)
{
    uint8_t byte[4];
    uint32_t u;

    memcpy(&u, &x, sizeof(u));
    for (int i = 0; i < 4; i++)
        byte[i] = (uint8_t)(u >> 8 * i);
    add_key(b, field, FOUR_BYTES);
    ctt_proto_add(b, byte, sizeof(byte));
}

void ctt_proto_real(struct ctt_proto *b, double x)
{
    uint8_t byte[8];
    uint64_t u;

    memcpy(&u, &x, sizeof(u));
    for (int i = 0; i < 8; i++)
        byte[i] = (uint8_t)(u >> 8 * i);
    ctt_proto_add(b, byte, sizeof(byte));
}

void ctt_proto_double(struct ctt_proto *b, int field, double x)
{
    add_key(b, field, EIGHT_BYTES);
    ctt_proto_real(b, x);
}

void ctt_proto_head(struct ctt_proto *b, int field, int64_t n)
{
    add_key(b, field, BYTES);
    add_varint(b, (uint64_t)n);
}

void ctt_proto_bytes(struct ctt_proto *b, int field, const void *p, int64_t n)
{
    ctt_proto_head(b, field, n);
    ctt_proto_add(b, p, n);
}

void ctt_proto_text(struct ctt_proto *b, int field, const char *s)
{
    ctt_proto_bytes(b, field, s, (int64_t)strlen(s));
}

void ctt_proto_message(struct ctt_proto *b, int field,
                       const struct ctt_proto *m)
{
    if (m->rc < 0)
        b->rc = m->rc;
    ctt_proto_bytes(b, field, m->p, m->n);
}
