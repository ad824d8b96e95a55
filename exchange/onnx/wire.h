/* SPDX-License-Identifier: Apache-2.0
 * wire.h: the wire format of protocol buffers: fields one after the other, each
 * a number, a type and a value (protobuf.dev, "Encoding"). */
#ifndef CTT_WIRE_H
#define CTT_WIRE_H

#include "base/ctt.h"

/* Bytes of one message; path names the file in errors. */
struct ctt_wire { const char *path; const uint8_t *at, *end; };

enum ctt_wire_type { CTT_WIRE_VARINT = 0, CTT_WIRE_FIXED64 = 1,
                     CTT_WIRE_BYTES = 2, CTT_WIRE_FIXED32 = 5 };

/* A field: number from 1; value: of a varint or fixed field; part: the bytes of
 * any other, a message of its own, a string or packed numbers. */
struct ctt_field {
    int                number;
    enum ctt_wire_type type;
    uint64_t           value;
    struct ctt_wire    part;
};

/* Reads the next field and returns 1, or 0 at the end; CTT_EFORMAT: damaged. */
int ctt_wire_next(struct ctt_wire *w, struct ctt_field *f);

/* Reads one varint; CTT_EFORMAT: it does not end. */
int ctt_wire_varint(struct ctt_wire *w, uint64_t *out);

/* The number that a varint means in a field of signed integers. */
static inline int64_t ctt_wire_signed(uint64_t v)
{
    return v <= INT64_MAX ? (int64_t)v : -(int64_t)~v - 1;
}

/* 4 and 8 bytes, the lowest first, at any address. */
uint32_t ctt_wire_32(const uint8_t *p);
uint64_t ctt_wire_64(const uint8_t *p);
float    ctt_wire_float(const uint8_t *p);
double   ctt_wire_double(const uint8_t *p);

#endif
