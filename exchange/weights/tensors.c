/* SPDX-License-Identifier: Apache-2.0
 * tensors.c: named tensors of a file of weights in memory. */
#include "exchange/weights/tensors.h"
#include "net/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers: little-endian in all files ---- */

static uint64_t little_endian(const uint8_t *p, int bytes)
{
    uint64_t u = 0;

    for (int i = 0; i < bytes; i++)
        u |= (uint64_t)p[i] << 8 * i;
    return u;
}

static float load_f32(const uint8_t *p)
{
    uint32_t u = (uint32_t)little_endian(p, 4);
    float x;

    memcpy(&x, &u, sizeof(x));
    return x;
}

static float load_f64(const uint8_t *p)
{
    uint64_t u = little_endian(p, 8);
    double x;

    memcpy(&x, &u, sizeof(x));
    return (float)x;
}

static float load_f16(const uint8_t *p)
{
    return ctt_of_f16((uint16_t)little_endian(p, 2));
}

static float load_bf16(const uint8_t *p)
{
    return ctt_of_bf16((uint16_t)little_endian(p, 2));
}

const struct ctt_number ctt_numbers[] = {
    { "F32", "FloatStorage", 4, load_f32 },
    { "F16", "HalfStorage", 2, load_f16 },
    { "BF16", "BFloat16Storage", 2, load_bf16 },
    { "F64", "DoubleStorage", 8, load_f64 },
    { "I64", "LongStorage", 8, NULL },
    { "U64", NULL, 8, NULL },
    { "I32", NULL, 4, NULL },
    { "U32", NULL, 4, NULL },
    { "I16", NULL, 2, NULL },
    { "U16", NULL, 2, NULL },
    { "I8", NULL, 1, NULL },
    { "U8", NULL, 1, NULL },
    { "BOOL", NULL, 1, NULL },
    { NULL, NULL, 0, NULL }
};

/* ---- a tensor ---- */

int64_t ctt_named_volume(const struct ctt_named *n)
{
    int64_t all = 1;

    for (int i = 0; i < n->rank; i++) {
        if (n->dim[i] == 0)
            return 0;
        if (n->dim[i] > CTT_MAX_VOLUME / all)
            all = -1;
        if (all < 0)
            break;
        all *= n->dim[i];
    }
    return all;
}

void ctt_named_dense(struct ctt_named *n)
{
    int64_t step = 1;

    for (int i = n->rank - 1; i >= 0; i--) {
        n->stride[i] = step;
        step *= n->dim[i] > 0 ? n->dim[i] : 1;
    }
}

float ctt_named_at(const struct ctt_named *n, const int64_t *index)
{
    int64_t at = 0;

    for (int i = 0; i < n->rank; i++)
        at += index[i] * n->stride[i];
    return n->type->load(n->data + at * n->type->size);
}

const char *ctt_named_shape(const int64_t *dim, int rank,
                            char text[CTT_NAMED_SHAPE])
{
    size_t used = 0;

    snprintf(text, CTT_NAMED_SHAPE, "1");
    for (int i = 0; i < rank; i++)
        used += (size_t)snprintf(text + used, CTT_NAMED_SHAPE - used, "%s%lld",
                                 i ? " x " : "", (long long)dim[i]);
    return text;
}

/* ---- all ---- */

int ctt_tensors_add(struct ctt_tensors *t, const struct ctt_named *n)
{
    struct ctt_named *p = ctt_grown(t->tensor, &t->room, t->count, sizeof(*p));

    if (!p)
        return CTT_ENOMEM;
    t->tensor = p;
    p[t->count] = *n;
    p[t->count].name = ctt_strdup(n->name);
    return p[t->count].name ? t->count++, 0 : CTT_ENOMEM;
}

int ctt_named_order(const void *a, const void *b)
{
    const struct ctt_named *x = a, *y = b;

    return strcmp(x->name, y->name);
}

const struct ctt_named *ctt_tensors_find(const struct ctt_tensors *t,
                                         const char *name)
{
    struct ctt_named key = { .name = (char *)(uintptr_t)name };

    return t->count ? bsearch(&key, t->tensor, (size_t)t->count,
                              sizeof(*t->tensor), ctt_named_order) : NULL;
}

void ctt_tensors_free(struct ctt_tensors **out)
{
    struct ctt_tensors *t = *out;

    for (int i = 0; t && i < t->count; i++)
        ctt_free(t->tensor[i].name);
    if (t) {
        ctt_free(t->tensor);
        ctt_free(t->image);
        ctt_free(t->path);
        ctt_free(t->net);
        ctt_free(t->labels);
    }
    ctt_free(t);
    *out = NULL;
}
