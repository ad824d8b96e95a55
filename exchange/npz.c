/* SPDX-License-Identifier: Apache-2.0
 * npz.c: arrays of numbers that numpy saved: the directory of the zip, entries
 * that are stored or deflated, headers of .npy (numpy.lib.format). */
#include "exchange/npz.h"
#include "base/newfile.h"
#include "exchange/onnx/wire.h"
#include "net/code/zip.h"

#include <stdlib.h>
#include <string.h>

#define FILE_MOST (INT64_C(1) << 31)
enum { END_BYTES = 22, ENTRY_BYTES = 46, LOCAL_BYTES = 30,
       ARRAYS_MOST = 4096 };

struct image { const char *path; const uint8_t *p; int64_t size; };

static int npz_error(const struct image *z, const char *why)
{
    return ctt_error(CTT_EFORMAT, "%s: no .npz, or damaged: %s", z->path, why);
}

static int64_t two(const uint8_t *p)
{
    return p[0] | p[1] << 8;
}

/* ---- an array ---- */

/* The text behind 'key': in the header. */
static const char *value_of(const char *head, const char *key)
{
    const char *at = strstr(head, key);

    at = at ? strchr(at, ':') : NULL;
    return at ? at + 1 + strspn(at + 1, " ") : "";
}

static int read_npy_shape(const struct image *z, const char *s,
                      struct ctt_npz_array *a)
{
    char *end;
    int rc = 0;

    CTT_CHECK(*s++ == '(', CTT_EFORMAT, "%s: %s has no shape", z->path,
              a->name);
    a->count = 1;
    for (a->rank = 0; *s && *s != ')'; a->rank++) {
        CTT_CHECK(a->rank < CTT_NPZ_RANK, CTT_EUNSUP, "%s: %s has more than "
                  "%d axes", z->path, a->name, CTT_NPZ_RANK);
        a->dim[a->rank] = strtoll(s, &end, 10);
        CTT_CHECK(end > s && a->dim[a->rank] >= 0 &&
                  a->dim[a->rank] <= FILE_MOST / (a->count ? a->count : 1),
                  CTT_EFORMAT, "%s: %s has an impossible shape", z->path,
                  a->name);
        a->count *= a->dim[a->rank];
        s = end + strspn(end, ", ");
    }
out:
    return rc;
}

static float number_at(const char *type, const uint8_t *p, int64_t i)
{
    if (strncmp(type, "'<f4'", 5) == 0)
        return ctt_wire_float(p + 4 * i);
    if (strncmp(type, "'<f8'", 5) == 0)
        return (float)ctt_wire_double(p + 8 * i);
    return (float)(int64_t)ctt_wire_64(p + 8 * i);
}

static int read_array(const struct image *z, const uint8_t *p, int64_t size,
                      struct ctt_npz_array *a)
{
    const char *type, *order;
    char *head = NULL;
    int64_t length, each;
    int rc = 0;

    CTT_CHECK(size >= 10 && memcmp(p, "\x93NUMPY\x01", 7) == 0 &&
              (length = two(p + 8)) <= size - 10, CTT_EFORMAT, "%s: %s is no "
              "array of .npy's version 1", z->path, a->name);
    head = ctt_calloc((size_t)length + 1, 1);
    CTT_TRY(head ? 0 : CTT_ENOMEM);
    memcpy(head, p + 10, (size_t)length);
    type = value_of(head, "'descr'");
    order = value_of(head, "'fortran_order'");
    each = strncmp(type, "'<f4'", 5) == 0 ? 4 : 8;
    CTT_CHECK((each == 4 || strncmp(type, "'<f8'", 5) == 0 ||
               strncmp(type, "'<i8'", 5) == 0) &&
              strncmp(order, "False", 5) == 0, CTT_EUNSUP, "%s: %s is no "
              "row-major array of floats", z->path, a->name);
    CTT_TRY(read_npy_shape(z, value_of(head, "'shape'"), a));
    CTT_CHECK((size - 10 - length) / each == a->count, CTT_EFORMAT, "%s: %s "
              "has not the numbers that its shape says", z->path, a->name);
    a->x = ctt_calloc((size_t)a->count + 1, sizeof(float));
    CTT_TRY(a->x ? 0 : CTT_ENOMEM);
    for (int64_t i = 0; i < a->count; i++)
        a->x[i] = number_at(type, p + 10 + length, i);
out:
    ctt_free(head);
    return rc;
}

/* ---- the zip ---- */

/* An entry of the directory: how it is stored, its sizes, where its header is.
 */
static int read_entry(const struct image *z, const uint8_t *e,
                      struct ctt_npz_array *a)
{
    int64_t method = two(e + 10), packed = ctt_wire_32(e + 20);
    int64_t size = ctt_wire_32(e + 24), at = ctt_wire_32(e + 42), n = two(e +
                                                                        28);
    uint8_t *plain = NULL;
    int64_t got;
    int rc = 0;

    CTT_CHECK(n < (int64_t)sizeof(a->name), CTT_EUNSUP, "%s: an array has a "
              "name of %lld bytes", z->path, (long long)n);
    memcpy(a->name, e + ENTRY_BYTES, (size_t)n);
    if (n > 4 && strcmp(a->name + n - 4, ".npy") == 0)
        a->name[n - 4] = '\0';
    CTT_CHECK(at <= z->size - LOCAL_BYTES, CTT_EFORMAT, "%s: %s lies outside "
              "the file", z->path, a->name);
    at += LOCAL_BYTES + two(z->p + at + 26) + two(z->p + at + 28);
    CTT_CHECK(at <= z->size && packed <= z->size - at &&
              size <= FILE_MOST, CTT_EFORMAT, "%s: %s lies outside the file",
              z->path, a->name);
    if (method == 0)
        return read_array(z, z->p + at, packed, a);
    CTT_CHECK(method == 8, CTT_EUNSUP, "%s: %s is compressed by method %lld",
              z->path, a->name, (long long)method);
    plain = ctt_calloc((size_t)size + 1, 1);
    CTT_TRY(plain ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_inflate(z->p + at, packed, plain, size, &got));
    CTT_TRY(read_array(z, plain, got, a));
out:
    ctt_free(plain);
    return rc;
}

/* The record at the end, which may have a comment behind it. */
static const uint8_t *find_end(const struct image *z)
{
    for (int64_t i = z->size - END_BYTES; i >= 0 && i > z->size - 70000; i--)
        if (memcmp(z->p + i, "PK\x05\x06", 4) == 0)
            return z->p + i;
    return NULL;
}

static int read_entries(const struct image *z, struct ctt_npz *out)
{
    const uint8_t *end = find_end(z);
    int64_t at, count;
    int rc = 0;

    if (!end)
        return npz_error(z, "it has no end");
    count = two(end + 10);
    at = ctt_wire_32(end + 16);
    if (count > ARRAYS_MOST)
        return npz_error(z, "too many arrays");
    out->array = ctt_calloc((size_t)count + 1, sizeof(*out->array));
    CTT_TRY(out->array ? 0 : CTT_ENOMEM);
    for (; out->count < count; out->count++) {
        const uint8_t *e = z->p + at;

        if (at > z->size - ENTRY_BYTES || memcmp(e, "PK\x01\x02", 4) != 0 ||
            two(e + 28) > z->size - at - ENTRY_BYTES)
            return npz_error(z, "its directory");
        CTT_TRY(read_entry(z, e, &out->array[out->count]));
        at += ENTRY_BYTES + two(e + 28) + two(e + 30) + two(e + 32);
    }
out:
    out->count += rc < 0;    /* the array that failed is freed too */
    return rc;
}

int ctt_npz_open(const char *path, struct ctt_npz **out)
{
    struct ctt_npz *z = ctt_calloc(1, sizeof(*z));
    struct image image = { .path = path };
    char *text = NULL;
    int rc = z ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_TRY(ctt_file_text(path, FILE_MOST, &text, &image.size));
    image.p = (const uint8_t *)text;
    CTT_TRY(read_entries(&image, z));
    *out = z;
    z = NULL;
out:
    ctt_free(text);
    ctt_npz_close(&z);
    return rc;
}

void ctt_npz_close(struct ctt_npz **z)
{
    if (!*z)
        return;
    for (int i = 0; i < (*z)->count && (*z)->array; i++)
        ctt_free((*z)->array[i].x);
    ctt_free((*z)->array);
    ctt_free(*z);
    *z = NULL;
}

const struct ctt_npz_array *ctt_npz_find(const struct ctt_npz *z,
                                         const char *name)
{
    for (int i = 0; i < z->count; i++)
        if (strcmp(z->array[i].name, name) == 0)
            return &z->array[i];
    return NULL;
}
