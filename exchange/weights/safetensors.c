/* SPDX-License-Identifier: Apache-2.0
 * safetensors.c: reads safetensors: the length of a header (8 bytes), the
 * header in JSON, {"NAME": {"dtype": "F32", "shape": [..], "data_offsets":
 * [begin, end]}, ..}, and the numbers, without holes. */
#include "exchange/weights/tensors.h"
#include "base/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 8 };
#define HEADER_MOST INT64_C(100000000)

/* ---- the header ---- */

static int header_bytes(const struct ctt_tensors *t, int64_t *bytes)
{
    uint64_t u = 0;
    int rc = 0;

    for (int i = 0; i < LENGTH; i++)
        u |= (uint64_t)t->image[i] << 8 * i;
    CTT_CHECK(u <= (uint64_t)HEADER_MOST, CTT_EFORMAT, "%s: a header of %"
              PRIu64 " bytes; safetensors allows %" PRId64, t->path, u,
              HEADER_MOST);
    CTT_CHECK((int64_t)u <= t->size - LENGTH, CTT_EFORMAT, "%s: the header "
              "ends behind the file", t->path);
    *bytes = (int64_t)u;
out:
    return rc;
}

static int tensor_shape(const struct ctt_json *j, const char *name,
                      const struct ctt_value *v, struct ctt_named *n)
{
    n->rank = ctt_json_kind(v) == '[' ? ctt_json_size(v) : -1;
    if (n->rank < 0 || n->rank > CTT_NAMED_RANK)
        return ctt_json_error(j, "%s: its shape is no list of at most %d "
                              "numbers", name, CTT_NAMED_RANK);
    for (int i = 0; i < n->rank; i++)
        if (!ctt_json_int64(ctt_json_at(v, i), 0, &n->dim[i]))
            return ctt_json_error(j, "%s: its shape has no whole number",
                                  name);
    if (ctt_named_volume(n) < 0)
        return ctt_json_error(j, "%s: its shape has too many numbers", name);
    ctt_named_dense(n);
    return 0;
}

static int read_type(const struct ctt_json *j, const char *name,
                     const struct ctt_value *v, struct ctt_named *n)
{
    const char *word = ctt_json_text(v);

    for (n->type = ctt_numbers; word && n->type->word; n->type++)
        if (strcmp(n->type->word, word) == 0)
            return 0;
    return ctt_json_error(j, "%s: its dtype is none that is read (F32, F16, "
                          "BF16, F64; whole numbers are skipped)", name);
}

/* Bytes begin .. end of those behind the header. */
static int read_place(const struct ctt_json *j, const char *name,
                      const struct ctt_value *v, const struct ctt_tensors *t,
                      int64_t data, struct ctt_named *n)
{
    int64_t begin, end, all = t->size - data;

    if (ctt_json_kind(v) != '[' || ctt_json_size(v) != 2 ||
        !ctt_json_int64(ctt_json_at(v, 0), 0, &begin) ||
        !ctt_json_int64(ctt_json_at(v, 1), begin, &end) || end > all)
        return ctt_json_error(j, "%s: its data_offsets are no place in the %"
                              PRId64 " bytes of data", name, all);
    if (end - begin != ctt_named_volume(n) * n->type->size)
        return ctt_json_error(j, "%s: %" PRId64 " bytes, and its shape and "
                              "dtype have %" PRId64, name, end - begin,
                              ctt_named_volume(n) * n->type->size);
    n->data = t->image + data + begin;
    return 0;
}

static int read_tensor(const struct ctt_json *j, const char *name,
                       const struct ctt_value *v, struct ctt_tensors *t,
                       int64_t data)
{
    struct ctt_named n = { .name = (char *)(uintptr_t)name };
    int rc = 0;

    if (ctt_json_kind(v) != '{' || ctt_json_size(v) != 3)
        return ctt_json_error(j, "%s: not dtype, shape and data_offsets",
                              name);
    CTT_TRY(read_type(j, name, ctt_json_get(v, "dtype"), &n));
    CTT_TRY(tensor_shape(j, name, ctt_json_get(v, "shape"), &n));
    CTT_TRY(read_place(j, name, ctt_json_get(v, "data_offsets"), t, data,
                       &n));
    CTT_TRY(ctt_tensors_add(t, &n));
out:
    return rc;
}

/* Texts by name; two of them are ours. */
static int read_metadata(const struct ctt_json *j, const struct ctt_value *v,
                         struct ctt_tensors *t)
{
    const struct ctt_value *member;
    const char *key;

    if (ctt_json_kind(v) != '{' || t->net || t->labels)
        return ctt_json_error(j, "__metadata__ is no object, or stands twice");
    for (void *at = NULL; ctt_json_each(v, &at, &key, &member);) {
        char **to = strcmp(key, "net") == 0 ? &t->net :
                    strcmp(key, "labels") == 0 ? &t->labels : NULL;

        if (!ctt_json_text(member))
            return ctt_json_error(j, "__metadata__: %s is no text", key);
        if (to && !(*to = ctt_strdup(ctt_json_text(member))))
            return CTT_ENOMEM;
    }
    return 0;
}

static int read_header(struct ctt_tensors *t, struct ctt_json *j, int64_t data)
{
    const struct ctt_value *v;
    char *name = NULL;
    const char *key;
    int rc;

    CTT_TRY(ctt_json_enter(j, '{'));
    while ((rc = ctt_json_next(j)) > 0) {
        CTT_TRY(ctt_json_key(j, &key));
        ctt_free(name);
        name = ctt_strdup(key);
        CTT_TRY(name ? 0 : CTT_ENOMEM);
        CTT_TRY(ctt_json_value(j, &v));
        CTT_TRY(strcmp(name, "__metadata__") == 0 ? read_metadata(j, v, t) :
                read_tensor(j, name, v, t, data));
    }
    CTT_TRY(rc);
    CTT_TRY(ctt_json_end(j));
out:
    ctt_free(name);
    return rc;
}

/* ---- no holes ---- */

static int by_place(const void *a, const void *b)
{
    const uint8_t *x = ((const struct ctt_named *)a)->data;
    const uint8_t *y = ((const struct ctt_named *)b)->data;

    return (x > y) - (x < y);
}

/* Bytes between tensors could be anything, and shared ones two things. */
static int check_holes(struct ctt_tensors *t, int64_t data)
{
    const uint8_t *at = t->image + data;
    int rc = 0;

    if (t->count)
        qsort(t->tensor, (size_t)t->count, sizeof(*t->tensor), by_place);
    for (int i = 0; i < t->count; i++) {
        const struct ctt_named *n = &t->tensor[i];

        if (ctt_named_volume(n) == 0)
            continue;
        CTT_CHECK(n->data == at, CTT_EFORMAT, "%s: %s does not begin where "
                  "the tensor before it ends", t->path, n->name);
        at += ctt_named_volume(n) * n->type->size;
    }
    CTT_CHECK(at == t->image + t->size, CTT_EFORMAT, "%s: %lld bytes behind "
              "the last tensor", t->path,
              (long long)(t->image + t->size - at));
out:
    return rc;
}

int ctt_safetensors_read(struct ctt_tensors *t)
{
    struct ctt_json *j = NULL;
    int64_t bytes = 0;
    char *text = NULL;
    int rc;

    CTT_TRY(header_bytes(t, &bytes));
    CTT_CHECK(!memchr(t->image + LENGTH, 0, (size_t)bytes), CTT_EFORMAT,
              "%s: a 0 in the header", t->path);
    text = ctt_calloc((size_t)bytes + 1, 1);
    CTT_TRY(text ? 0 : CTT_ENOMEM);
    memcpy(text, t->image + LENGTH, (size_t)bytes);
    rc = ctt_json_open(t->path, text, &j);
    text = NULL;
    CTT_TRY(rc);
    CTT_TRY(read_header(t, j, LENGTH + bytes));
    CTT_TRY(check_holes(t, LENGTH + bytes));
out:
    ctt_json_close(&j);
    ctt_free(text);
    return rc;
}
