/* SPDX-License-Identifier: Apache-2.0
 * values.c: the values of a graph by name: a hash table (FNV-1a, Fowler and
 * others 1991). */
#include "exchange/onnx/onnx.h"

#include <string.h>

static uint32_t hash_of(const char *s)
{
    uint32_t h = 2166136261u;

    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h;
}

/* Where a name stands, or would: a slot of the table. */
static int value_slot(const struct ctt_onnx *o, const char *name)
{
    uint32_t at = hash_of(name), mask = (uint32_t)o->slots - 1;

    for (;; at++) {
        int v = o->slot[at & mask];

        if (!v || strcmp(o->value[v - 1].name, name) == 0)
            return (int)(at & mask);
    }
}

int ctt_onnx_find(const struct ctt_onnx *o, const char *name)
{
    return o->slots ? o->slot[value_slot(o, name)] - 1 : -1;
}

/* At least half of the table stays free. */
static int enlarge_table(struct ctt_onnx *o)
{
    int slots = o->slots ? 2 * o->slots : 1024, rc = 0;

    if (2 * o->values < o->slots)
        return 0;
    o->slot = ctt_arena_take(&o->arena, slots, sizeof(*o->slot));
    CTT_TRY(o->slot ? 0 : CTT_ENOMEM);
    o->slots = slots;
    for (int i = 0; i < o->values; i++)
        o->slot[value_slot(o, o->value[i].name)] = i + 1;
out:
    return rc;
}

static int enlarge_values(struct ctt_onnx *o)
{
    struct ctt_onnx_value *more;
    int room = o->room ? 2 * o->room : 256, rc = 0;

    if (o->values < o->room)
        return 0;
    more = ctt_arena_take(&o->arena, room, sizeof(*more));
    CTT_TRY(more ? 0 : CTT_ENOMEM);
    if (o->values)
        memcpy(more, o->value, (size_t)o->values * sizeof(*more));
    o->value = more;
    o->room = room;
out:
    return rc;
}

int ctt_onnx_value_of(struct ctt_onnx *o, const char *name)
{
    int rc, i = ctt_onnx_find(o, name);

    if (i >= 0)
        return i;
    CTT_CHECK(o->values < 1 << 24, CTT_EFORMAT, "%s: more than %d values",
              o->path, 1 << 24);
    CTT_TRY(enlarge_table(o));
    CTT_TRY(enlarge_values(o));
    o->value[o->values] = (struct ctt_onnx_value){ .name = name,
                                                   .maker = -1 };
    o->slot[value_slot(o, name)] = o->values + 1;
    rc = o->values++;
out:
    return rc;
}
