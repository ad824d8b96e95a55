/* SPDX-License-Identifier: Apache-2.0
 * onnx_text.c: reads files of ONNX for tests, without any code that writes
 * them. */
#include "tests/lib/onnx_text.h"
#include "tests/lib/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char text[1 << 16];
static size_t used;

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    used += (size_t)vsnprintf(text + used, sizeof(text) - used, fmt, ap);
    va_end(ap);
    CU_ASSERT_FATAL(used < sizeof(text));
}

/* ---- the wire format ---- */

static uint64_t varint(struct wire *m)
{
    uint64_t x = 0;

    for (int shift = 0;; shift += 7) {
        CU_ASSERT_FATAL(m->p < m->end && shift < 64);
        x |= (uint64_t)(*m->p & 0x7f) << shift;
        if (!(*m->p++ & 0x80))
            return x;
    }
}

int wire_next(struct wire *m, struct wire_field *f)
{
    uint64_t key;

    if (m->p == m->end)
        return 0;
    key = varint(m);
    *f = (struct wire_field){ (int)(key >> 3), (int)(key & 7), 0,
                              { m->p, m->p } };
    if (f->kind == 5) {
        CU_ASSERT_FATAL(m->end - m->p >= 4);
        for (int i = 0; i < 4; i++)
            f->value |= (uint64_t)*m->p++ << 8 * i;
        return 1;
    }
    CU_ASSERT_FATAL(f->kind == 0 || f->kind == 2);
    f->value = varint(m);
    if (f->kind == 0)
        return 1;
    CU_ASSERT_FATAL(f->value <= (uint64_t)(m->end - m->p));
    f->bytes = (struct wire){ m->p, m->p + f->value };
    m->p += f->value;
    return 1;
}

struct wire_field wire_find(struct wire m, int number)
{
    struct wire_field f;

    while (wire_next(&m, &f))
        if (f.number == number)
            return f;
    return (struct wire_field){ 0, 0, 0, { NULL, NULL } };
}

static int is_text(struct wire m, const char *s)
{
    return (size_t)(m.end - m.p) == strlen(s) &&
           memcmp(m.p, s, strlen(s)) == 0;
}

/* ---- a graph ---- */

enum { MODEL_GRAPH = 7, MODEL_PROPERTY = 14 };
enum { GRAPH_NODE = 1, GRAPH_TENSOR = 5, GRAPH_IN = 11, GRAPH_OUT = 12 };

static struct wire graph_of(const uint8_t *file, int64_t size)
{
    struct wire m = { file, file + size };

    CU_ASSERT_FATAL(wire_find(m, MODEL_GRAPH).number);
    return wire_find(m, MODEL_GRAPH).bytes;
}

static int find_tensor(struct wire graph, struct wire name,
                       struct onnx_tensor *out)
{
    struct wire_field f, t;

    while (wire_next(&graph, &f)) {
        struct wire is = { NULL, NULL };

        if (f.number == GRAPH_TENSOR)
            is = wire_find(f.bytes, 8).bytes;
        if (is.p == is.end || is.end - is.p != name.end - name.p ||
            memcmp(is.p, name.p, (size_t)(is.end - is.p)) != 0)
            continue;
        *out = (struct onnx_tensor){ .raw = wire_find(f.bytes, 9).bytes,
            .type = (int)wire_find(f.bytes, 2).value };
        snprintf(out->name, sizeof(out->name), "%.*s", (int)(is.end - is.p),
                 (const char *)is.p);
        while (wire_next(&f.bytes, &t))
            if (t.number == 1)
                out->dim[out->rank++] = (int64_t)t.value;
        return 1;
    }
    return 0;
}

int onnx_tensor(const uint8_t *file, int64_t size, const char *name,
                struct onnx_tensor *out)
{
    struct wire n = { (const uint8_t *)name,
                      (const uint8_t *)name + strlen(name) };

    return find_tensor(graph_of(file, size), n, out);
}

const char *onnx_property(const uint8_t *file, int64_t size, const char *key)
{
    static char value[4096];
    struct wire m = { file, file + size };
    struct wire_field f;

    value[0] = 0;
    while (wire_next(&m, &f)) {
        struct wire v;

        if (f.number != MODEL_PROPERTY ||
            !is_text(wire_find(f.bytes, 1).bytes, key))
            continue;
        v = wire_find(f.bytes, 2).bytes;
        snprintf(value, sizeof(value), "%.*s", (int)(v.end - v.p),
                 (const char *)v.p);
    }
    return value;
}

/* ---- as text ---- */

static double number_at(const struct onnx_tensor *t, int i)
{
    int64_t whole = 0;
    float x = 0;

    if (t->type == 1) {
        memcpy(&x, t->raw.p + 4 * i, sizeof(x));
        return (double)x;
    }
    if (t->type == 3)
        return (double)(int8_t)t->raw.p[i];
    if (t->type == 2)
        return t->raw.p[i];
    memcpy(&whole, t->raw.p + 8 * i, sizeof(whole));
    return (double)whole;
}

static void say_in(struct wire graph, struct wire name)
{
    struct onnx_tensor t;
    int64_t n = 1;

    say(" ");
    if (name.p == name.end || *name.p != '/' ||
        !find_tensor(graph, name, &t)) {
        say("%.*s%s", (int)(name.end - name.p), (const char *)name.p,
            name.p == name.end ? "-" : "");
        return;
    }
    for (int i = 0; i < t.rank; i++)
        n *= t.dim[i];
    for (int i = 0; i < n; i++)
        say("%s%g", i ? "," : t.type == 3 ? "[int8 " : "[", number_at(&t, i));
    say("]");
}

static void say_attribute(struct wire a)
{
    struct wire name = wire_find(a, 1).bytes, word = wire_find(a, 4).bytes;
    struct wire_field f;
    const char *gap = "=";

    say(" %.*s", (int)(name.end - name.p), (const char *)name.p);
    if (word.p < word.end)
        say("=%.*s", (int)(word.end - word.p), (const char *)word.p);
    while (wire_next(&a, &f)) {
        uint32_t u = (uint32_t)f.value;
        float x;

        memcpy(&x, &u, sizeof(x));
        if (f.number == 3 || f.number == 8) {
            say("%s%" PRId64, gap, (int64_t)f.value);
            gap = ",";
        } else if (f.number == 2) {
            say("=%g", (double)x);
        }
    }
}

static void say_node(struct wire graph, struct wire node)
{
    struct wire kind = wire_find(node, 4).bytes, rest;
    struct wire_field f;

    say("%.*s", (int)(kind.end - kind.p), (const char *)kind.p);
    for (rest = node; wire_next(&rest, &f);)
        if (f.number == 1)
            say_in(graph, f.bytes);
    say(" ->");
    for (rest = node; wire_next(&rest, &f);)
        if (f.number == 2)
            say(" %.*s", (int)(f.bytes.end - f.bytes.p),
                (const char *)f.bytes.p);
    for (rest = node; wire_next(&rest, &f);)
        if (f.number == 5)
            say_attribute(f.bytes);
    say("\n");
}

static void say_value(const char *word, struct wire v)
{
    struct wire name = wire_find(v, 1).bytes;
    struct wire tensor = wire_find(wire_find(v, 2).bytes, 1).bytes;
    struct wire shape = wire_find(tensor, 2).bytes;
    struct wire_field f;
    const char *gap = " ";

    say("%s %.*s", word, (int)(name.end - name.p), (const char *)name.p);
    for (; wire_next(&shape, &f); gap = ",")
        say("%s%" PRIu64, gap, wire_find(f.bytes, 1).value);
    say("%s\n", wire_find(tensor, 1).value == 9 ? " bool" : "");
}

const char *onnx_text(const uint8_t *file, int64_t size)
{
    static const struct { int field; const char *word; } parts[] = {
        { GRAPH_IN, "in" }, { GRAPH_NODE, NULL }, { GRAPH_OUT, "out" },
    };
    struct wire graph = graph_of(file, size), rest;
    struct wire_field f;

    used = 0;
    for (size_t i = 0; i < CTT_LEN(parts); i++)
        for (rest = graph; wire_next(&rest, &f);)
            if (f.number == parts[i].field && parts[i].word)
                say_value(parts[i].word, f.bytes);
            else if (f.number == parts[i].field)
                say_node(graph, f.bytes);
    return text;
}
