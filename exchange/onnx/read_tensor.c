/* SPDX-License-Identifier: Apache-2.0
 * read_tensor.c: the constants of an ONNX file.  Elements stay where they lie
 * in the file, unless each is a number of variable length. */
#include "exchange/onnx/onnx.h"

#include <stdlib.h>
#include <string.h>

/* Fields of a TensorProto. */
enum { DIMS = 1, TYPE = 2, SEGMENT = 3, FLOATS = 4, INT32S = 5, INT64S = 7,
       NAME = 8, RAW = 9, DOUBLES = 10, UINT64S = 11, EXTERNAL = 13,
       LOCATION = 14 };

/* The message's words, before they are checked. */
struct draft {
    struct ctt_onnx_tensor t;
    const char     *name, *file;
    struct ctt_wire whole, raw;
    int             has_raw, elsewhere;
    int64_t         at, length;
};

static int read_string(struct ctt_onnx *o, const struct ctt_field *f,
                       const char **out)
{
    size_t n = (size_t)(f->part.end - f->part.at);
    int rc = 0;

    CTT_CHECK(f->type == CTT_WIRE_BYTES && (!n || !memchr(f->part.at, 0, n)),
              CTT_EFORMAT, "%s: damaged: a constant's name is no text",
              o->path);
    *out = ctt_arena_text(&o->arena, f->part.at, n);
    CTT_TRY(*out ? 0 : CTT_ENOMEM);
out:
    return rc;
}

static int add_dim(struct ctt_onnx *o, struct draft *d, uint64_t v)
{
    int rc = 0;

    CTT_CHECK(d->t.rank < CTT_ONNX_RANK, CTT_EUNSUP, "%s: a constant has more "
              "than %d axes", o->path, CTT_ONNX_RANK);
    d->t.dim[d->t.rank++] = ctt_wire_signed(v);
out:
    return rc;
}

static int add_dims(struct ctt_onnx *o, struct draft *d,
                    const struct ctt_field *f)
{
    struct ctt_wire p = f->part;
    uint64_t v;
    int rc = 0;

    if (f->type != CTT_WIRE_BYTES)
        return add_dim(o, d, f->value);
    while (p.at < p.end) {
        CTT_TRY(ctt_wire_varint(&p, &v));
        CTT_TRY(add_dim(o, d, v));
    }
out:
    return rc;
}

/* An entry of external_data: key and value. */
static int read_external(struct ctt_onnx *o, struct draft *d,
                         struct ctt_wire w)
{
    const char *key = "", *value = "";
    struct ctt_field f;
    int rc;

    while ((rc = ctt_wire_next(&w, &f)) > 0)
        if (f.number <= 2)
            CTT_TRY(read_string(o, &f, f.number == 1 ? &key : &value));
    CTT_TRY(rc);
    if (strcmp(key, "location") == 0)
        d->file = value;
    if (strcmp(key, "offset") == 0)
        d->at = strtoll(value, NULL, 10);
    if (strcmp(key, "length") == 0)
        d->length = strtoll(value, NULL, 10);
out:
    return rc;
}

static int read_field(struct ctt_onnx *o, struct draft *d,
                      const struct ctt_field *f)
{
    int rc = 0;

    switch (f->number) {
    case DIMS:
        return add_dims(o, d, f);
    case TYPE:
        d->t.type = f->value < 256 ? (int)f->value : 0;
        break;
    case NAME:
        return read_string(o, f, &d->name);
    case RAW:
        CTT_CHECK(f->type == CTT_WIRE_BYTES, CTT_EFORMAT, "%s: damaged: a "
                  "constant's bytes", o->path);
        d->raw = f->part;
        d->has_raw = 1;
        break;
    case EXTERNAL:
        return f->type == CTT_WIRE_BYTES ? read_external(o, d, f->part) : 0;
    case LOCATION:
        d->elsewhere = f->value == 1;
        break;
    case SEGMENT:
        return ctt_error(CTT_EUNSUP, "%s: a constant is cut into segments",
                         o->path);
    }
out:
    return rc;
}

/* The repeated field that has the elements of a type without raw_data. */
static int field_of(int type)
{
    switch (type) {
    case CTT_ONNX_FLOAT:  return FLOATS;
    case CTT_ONNX_DOUBLE: return DOUBLES;
    case CTT_ONNX_INT64:  return INT64S;
    case CTT_ONNX_UINT32:
    case CTT_ONNX_UINT64: return UINT64S;
    default:              return INT32S;
    }
}

/* Elements of fixed length, of one packed field or of several fields. */
static int copy_fixed(const struct draft *d, int size, uint8_t *to,
                      int64_t *left)
{
    struct ctt_wire w = d->whole;
    struct ctt_field f;
    int rc;

    while ((rc = ctt_wire_next(&w, &f)) > 0) {
        int64_t n = f.part.end - f.part.at;

        if (f.number != field_of(d->t.type))
            continue;
        if (f.type == CTT_WIRE_VARINT || n % size || n / size > *left)
            return *left = -1, 0;
        memcpy(to, f.part.at, (size_t)n);
        to += n;
        *left -= n / size;
    }
    return rc;
}

static int copy_varints(const struct draft *d, uint8_t *to, int64_t *left)
{
    struct ctt_wire w = d->whole;
    struct ctt_field f;
    int64_t i = 0;
    int rc;

    while ((rc = ctt_wire_next(&w, &f)) > 0) {
        struct ctt_wire p = f.part;
        uint64_t v = f.value;

        if (f.number != field_of(d->t.type))
            continue;
        if (f.type == CTT_WIRE_VARINT) {
            if (--*left < 0)
                return 0;
            ctt_onnx_put_whole(d->t.type, to, i++, ctt_wire_signed(v));
        }
        while (f.type == CTT_WIRE_BYTES && p.at < p.end) {
            CTT_TRY(ctt_wire_varint(&p, &v));
            if (--*left < 0)
                return 0;
            ctt_onnx_put_whole(d->t.type, to, i++, ctt_wire_signed(v));
        }
    }
out:
    return rc;
}

/* One packed field of all elements stays where it is; others are copied.  An
 * element takes at least a byte of the file. */
static int read_elements(struct ctt_onnx *o, struct draft *d)
{
    int size = ctt_onnx_size(d->t.type), rc = 0;
    int64_t left = d->t.count;
    uint8_t *to;

    CTT_CHECK(left <= d->whole.end - d->whole.at, CTT_EFORMAT,
              "%s: the constant '%s' has less elements than its shape says",
              o->path, d->name ? d->name : "");
    to = ctt_arena_take(&o->data, left, (size_t)size);
    CTT_TRY(to ? 0 : CTT_ENOMEM);
    if (d->t.type == CTT_ONNX_FLOAT || d->t.type == CTT_ONNX_DOUBLE)
        CTT_TRY(copy_fixed(d, size, to, &left));
    else
        CTT_TRY(copy_varints(d, to, &left));
    CTT_CHECK(left == 0, CTT_EFORMAT, "%s: the constant '%s' has not the "
              "elements that its shape says", o->path, d->name ? d->name : "");
    d->t.data = to;
out:
    return rc;
}

static int find_elements(struct ctt_onnx *o, struct draft *d)
{
    int64_t bytes = d->t.count * ctt_onnx_size(d->t.type);
    const char *name = d->name ? d->name : "";
    int rc = 0;

    if (!ctt_onnx_size(d->t.type))
        goto out;    /* text and others: an error where they are read */
    if (d->elsewhere) {
        CTT_CHECK(d->file, CTT_EFORMAT, "%s: the constant '%s' lies in a file "
                  "without a name", o->path, name);
        CTT_CHECK(d->length < 0 || d->length == bytes, CTT_EFORMAT,
                  "%s: the constant '%s' has %lld bytes in '%s', not %lld",
                  o->path, name, (long long)d->length, d->file,
                  (long long)bytes);
        return ctt_onnx_external(o, d->file, d->at, bytes, &d->t.data);
    }
    if (!d->has_raw)
        return read_elements(o, d);
    CTT_CHECK(d->raw.end - d->raw.at == bytes, CTT_EFORMAT, "%s: the constant "
              "'%s' has %lld bytes, not %lld", o->path, name,
              (long long)(d->raw.end - d->raw.at), (long long)bytes);
    d->t.data = d->raw.at;
out:
    return rc;
}

int ctt_onnx_read_tensor(struct ctt_onnx *o, struct ctt_wire w,
                         const char **name, struct ctt_onnx_tensor *t)
{
    struct draft d = { .whole = w, .length = -1 };
    struct ctt_field f;
    int rc;

    while ((rc = ctt_wire_next(&w, &f)) > 0)
        CTT_TRY(read_field(o, &d, &f));
    CTT_TRY(rc);
    rc = ctt_onnx_count(d.name ? d.name : "a constant", d.t.rank, d.t.dim,
                        &d.t.count);
    if (rc < 0)
        CTT_TRY(ctt_error(CTT_EFORMAT, "%s: %s", o->path, ctt_errmsg()));
    CTT_TRY(find_elements(o, &d));
    *name = d.name;
    *t = d.t;
out:
    return rc;
}
