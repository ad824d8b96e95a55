/* SPDX-License-Identifier: Apache-2.0
 * wire.c: the wire format of protocol buffers. */
#include "exchange/onnx/wire.h"

#include <string.h>

static int wire_error(const struct ctt_wire *w, const char *why)
{
    return ctt_error(CTT_EFORMAT, "%s: damaged, or no ONNX file: %s", w->path,
                     why);
}

int ctt_wire_varint(struct ctt_wire *w, uint64_t *out)
{
    uint64_t v = 0;

    for (int shift = 0; shift < 64 && w->at < w->end; shift += 7) {
        uint8_t byte = *w->at++;

        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = v;
            return 0;
        }
    }
    return wire_error(w, "a number does not end");
}

uint32_t ctt_wire_32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

uint64_t ctt_wire_64(const uint8_t *p)
{
    return ctt_wire_32(p) | (uint64_t)ctt_wire_32(p + 4) << 32;
}

float ctt_wire_float(const uint8_t *p)
{
    uint32_t u = ctt_wire_32(p);
    float x;

    memcpy(&x, &u, sizeof(x));
    return x;
}

double ctt_wire_double(const uint8_t *p)
{
    uint64_t u = ctt_wire_64(p);
    double x;

    memcpy(&x, &u, sizeof(x));
    return x;
}

static int take_bytes(struct ctt_wire *w, uint64_t n, struct ctt_wire *part)
{
    if (n > (uint64_t)(w->end - w->at))
        return wire_error(w, "a field is longer than what holds it");
    *part = (struct ctt_wire){ w->path, w->at, w->at + n };
    w->at += n;
    return 0;
}

static int take_fixed(struct ctt_wire *w, int n, struct ctt_field *f)
{
    int rc;

    CTT_TRY(take_bytes(w, (uint64_t)n, &f->part));
    f->value = n == 4 ? ctt_wire_32(f->part.at) : ctt_wire_64(f->part.at);
out:
    return rc;
}

static int take_value(struct ctt_wire *w, struct ctt_field *f)
{
    uint64_t n = 0;
    int rc;

    switch ((int)f->type) {
    case CTT_WIRE_VARINT:
        return ctt_wire_varint(w, &f->value);
    case CTT_WIRE_FIXED64:
        return take_fixed(w, 8, f);
    case CTT_WIRE_FIXED32:
        return take_fixed(w, 4, f);
    case CTT_WIRE_BYTES:
        CTT_TRY(ctt_wire_varint(w, &n));
        return take_bytes(w, n, &f->part);
    default:
        return wire_error(w, "a field of an unknown type");
    }
out:
    return rc;
}

int ctt_wire_next(struct ctt_wire *w, struct ctt_field *f)
{
    uint64_t tag = 0;
    int rc;

    if (w->at == w->end)
        return 0;
    CTT_TRY(ctt_wire_varint(w, &tag));
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
        return wire_error(w, "a field has no number");
    *f = (struct ctt_field){ .number = (int)(tag >> 3),
                             .type = (enum ctt_wire_type)(tag & 7) };
    CTT_TRY(take_value(w, f));
    rc = 1;
out:
    return rc;
}
