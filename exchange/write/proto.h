/* SPDX-License-Identifier: Apache-2.0
 * proto.h: messages in the wire format of protocol buffers, in memory. */
#ifndef CTT_PROTO_H
#define CTT_PROTO_H

#include "base/ctt.h"

/* The fields of a message so far.  rc: CTT_ENOMEM after a failed allocation,
 * from when on nothing is added; the owner looks at it at the end. */
struct ctt_proto {
    uint8_t *p;
    int64_t  n, room;
    int      rc;
};

/* Frees the bytes; the message is empty again. */
void ctt_proto_free(struct ctt_proto *b);

/* Bytes without a field, a double without one (of a packed array). */
void ctt_proto_add(struct ctt_proto *b, const void *p, int64_t n);
void ctt_proto_real(struct ctt_proto *b, double x);

/* A field: an integer, a float, a double, bytes, a text, a message. */
void ctt_proto_int(struct ctt_proto *b, int field, int64_t x);
void ctt_proto_float(struct ctt_proto *b, int field, float x);
void ctt_proto_double(struct ctt_proto *b, int field, double x);
void ctt_proto_bytes(struct ctt_proto *b, int field, const void *p, int64_t n);
void ctt_proto_text(struct ctt_proto *b, int field, const char *s);
void ctt_proto_message(struct ctt_proto *b, int field,
                       const struct ctt_proto *m);

/* The head of a field whose n bytes come next, from elsewhere. */
void ctt_proto_head(struct ctt_proto *b, int field, int64_t n);

#endif
